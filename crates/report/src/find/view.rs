//! The view model of a search, `bakeoff.find/1`: fields may be added, a hole is null.

use std::collections::BTreeMap;

use bakeoff_plan::{Goal, grouped};
use bakeoff_record::{Disturbance, TrialRecord};
use bakeoff_search::{
    CurvePoint, Found, Irregular, Judged, Purpose, Quest, TRIALS_MAX, Tally, TrialFound, Why,
};
use serde::{Serialize, Serializer};

use crate::words::bounds::{self, BoundsTrust};

/// Version of the document.
pub const FIND_SCHEMA: &str = "bakeoff.find/1";

/// One contender and one goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundRow {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// What is to be met.
    pub goal: GoalFacts,
    /// The highest rate that meets it below the upper bound, requests per second.
    pub lower_per_s: Option<f64>,
    /// The lowest rate that does not.
    pub upper_per_s: Option<f64>,
    /// Right answers per second at the lower bound.
    pub achieved_per_s: Option<f64>,
    /// Why it is no regular result; null where it is one.
    pub irregular: Option<Irregular>,
    /// The same in a sentence, where there is more to say.
    pub why: Option<String>,
    /// Whether longer trials confirmed the lower bound, and no trial at or below it missed the
    /// goal; null where no longer ones were made.
    pub confirmed: Option<bool>,
    /// Trials at or below the lower bound, with those that missed the goal there.
    pub tally: Tally,
    /// How far the bounds can be trusted.
    pub trust: BoundsTrust,
    /// What stands behind the bounds.
    pub behind: Servers,
    /// Every trial of the contender, with what it says about this goal.
    pub trials: Vec<TrialRow>,
    /// Latency at shares of the lower bound of the first goal that has one, by rising rate.
    pub curve: Vec<CurveRow>,
}

/// What stands behind the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Servers {
    /// Fresh servers that met the goal at the lower bound in full trials.
    pub lower_servers: usize,
    /// Fresh servers that missed it at the upper bound.
    pub upper_servers: usize,
    /// Disturbed trials that were set aside.
    pub set_aside: usize,
    /// Trials that bounds may rest on and that were disturbed.
    pub disturbed: Disturbed,
    /// Median over the trials at the lower bound of the goal's quantile, or of p99, nanoseconds.
    pub lower_latency_ns: Option<u64>,
    /// The same at the upper bound.
    pub upper_latency_ns: Option<u64>,
    /// The lower bound that was found first, where trials at or below it missed the goal, requests
    /// per second.
    pub lowered_from_per_s: Option<f64>,
    /// Whether longer trials hold at the lower bound; null where none were made. It is confirmed
    /// where no trial at or below it missed the goal, too.
    pub held: Option<bool>,
    /// Whether it is not confirmed because the load engine was too late or too busy in the
    /// confirming trials, which says nothing about the server.
    pub confirmation_spoiled: bool,
    /// Right answers per second of the null server in a closed loop.
    pub yardstick_per_s: Option<f64>,
    /// Seconds that all trials of the contender at the workload took.
    pub spent_s: f64,
    /// Seconds that they could take.
    pub budget_s: f64,
}

/// Disturbed trials of rates, those of the curve left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Disturbed {
    /// Trials of rates.
    pub of: usize,
    /// Those of them that were disturbed.
    pub trials: usize,
    /// Those of these that count, because too many were disturbed to set them all aside.
    pub counted: usize,
    /// What disturbed most of them; null where there are none.
    pub most_by: Option<Disturbance>,
}

/// What is to be met.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoalFacts {
    /// Label of the search that it is a goal of.
    pub search: String,
    /// The goal as text: `p99<10ms, at most 0.001 % failed`.
    pub text: String,
    /// The quantile, 0 to 1; null where only failures count.
    pub quantile: Option<f64>,
    /// What it is to stay below, nanoseconds.
    pub below_ns: Option<u64>,
    /// Share of the requests due that may fail.
    pub errors: f64,
}

/// A trial of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialRow {
    /// Id in the record.
    pub id: String,
    /// `closed`, `search`, `confirm` or `curve`.
    #[serde(serialize_with = "by_name")]
    pub purpose: Purpose,
    /// Rate offered, requests per second; null in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Measured time, seconds.
    pub length_s: f64,
    /// Right answers per second.
    pub achieved_per_s: Option<f64>,
    /// The quantile of the goal, or p99, at the least, nanoseconds.
    pub latency_ns: Option<u64>,
    /// Share of the requests due that did not come out right.
    pub failed_share: Option<f64>,
    /// `meets`, `exceeds`, `limited`, `set-aside`, `measured` or `lost`.
    pub outcome: &'static str,
    /// What kept it from the goal.
    pub why: Option<Why>,
}

/// Latency at a share of the lower bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurveRow {
    /// Share of the lower bound.
    pub share: f64,
    /// Rate offered, requests per second.
    pub rate_per_s: f64,
    /// Requests due; null where nothing was measured.
    pub count: Option<u64>,
    /// Latencies.
    pub quantiles: Vec<QuantileRow>,
    /// Share of the requests due that did not come out right.
    pub failed_share: Option<f64>,
    /// Why nothing was measured, or what weakens it; null where nothing does.
    pub why: Option<String>,
}

/// A quantile of latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QuantileRow {
    /// 0 to 1.
    pub quantile: f64,
    /// Nanoseconds; null where there were too few requests for it.
    pub latency_ns: Option<u64>,
}

impl FoundRow {
    /// The bounds with the latency there, where that is known: the ends of the curve.
    pub(super) fn ends(&self) -> impl Iterator<Item = (f64, u64)> + use<> {
        let lower = self.lower_per_s.zip(self.behind.lower_latency_ns);
        let upper = self.upper_per_s.zip(self.behind.upper_latency_ns);
        lower.into_iter().chain(upper)
    }
}

impl CurveRow {
    /// A quantile of it; `None` where it is not known.
    pub(super) fn latency_ns(&self, quantile: Option<f64>) -> Option<u64> {
        let mut own = self.quantiles.iter();
        own.find(|one| Some(one.quantile) == quantile)?.latency_ns
    }
}

impl QuantileRow {
    /// Its name in tables: `p99`.
    pub(super) fn name(&self) -> String {
        format!("p{}", (self.quantile * 1e6).round() / 1e4)
    }
}

/// The rows by workload, search, goal and contender, in the plan's order.
pub(super) fn rows(all: &[Quest<'_>], records: &[TrialRecord]) -> Vec<FoundRow> {
    let mut rows = Vec::new();
    let place = |quest: &Quest<'_>| (quest.workload.name.clone(), quest.load.label());
    for (_, of_group) in grouped(all.iter().map(|quest| (place(quest), quest))) {
        let found: Vec<(&Quest<'_>, Vec<Found>)> = of_group
            .into_iter()
            .map(|quest| (quest, quest.progress.found(quest.yardstick_per_s)))
            .collect();
        let goals = found.first().map_or(0, |(_, goals)| goals.len());
        for goal in 0..goals {
            let found = found.iter();
            rows.extend(found.map(|(quest, goals)| row(quest, &goals[goal], records)));
        }
    }
    rows
}

fn row(quest: &Quest<'_>, found: &Found, records: &[TrialRecord]) -> FoundRow {
    let standing = found.standing;
    let disturbed = disturbed(found, records);
    FoundRow {
        contender: quest.contender.name.clone(),
        workload: quest.workload.name.clone(),
        goal: goal(&found.goal, quest.load.label()),
        lower_per_s: standing.lower_per_s,
        upper_per_s: standing.upper_per_s,
        achieved_per_s: standing.achieved_per_s,
        irregular: found.irregular,
        why: found.why.clone(),
        confirmed: found.confirmed,
        tally: found.tally,
        trust: bounds::weigh(found, disturbed.counted),
        behind: Servers {
            lower_servers: standing.lower_servers,
            upper_servers: standing.upper_servers,
            set_aside: found.trials.iter().filter(|it| it.is_set_aside).count(),
            disturbed,
            lower_latency_ns: latency_at(found, standing.lower_per_s),
            upper_latency_ns: latency_at(found, standing.upper_per_s),
            lowered_from_per_s: found.lowered_from_per_s,
            held: found.held,
            confirmation_spoiled: found.is_confirmation_spoiled,
            yardstick_per_s: quest.yardstick_per_s,
            spent_s: (quest.progress.spent_s() * 10.0).round() / 10.0,
            budget_s: quest.budget_s(),
        },
        trials: found.trials.iter().map(trial).collect(),
        curve: quest.progress.curve().iter().map(point).collect(),
    }
}

fn disturbed(found: &Found, records: &[TrialRecord]) -> Disturbed {
    let is_of_a_rate = |it: &&TrialFound| matches!(it.purpose, Purpose::Search | Purpose::Confirm);
    let of_rates: Vec<&TrialFound> = found.trials.iter().filter(is_of_a_rate).collect();
    let hit = of_rates.iter().filter(|it| it.is_disturbed);
    let hit: Vec<&TrialFound> = hit.copied().collect();
    let own = records
        .iter()
        .filter(|record| hit.iter().any(|it| it.id == record.id));
    let causes: Vec<Disturbance> = own
        .flat_map(|record| record.doubted.as_ref().unwrap_or(&record.disturbed))
        .copied()
        .collect();
    Disturbed {
        of: of_rates.len(),
        trials: hit.len(),
        counted: hit.iter().filter(|it| !it.is_set_aside).count(),
        most_by: Disturbance::most_of(&causes),
    }
}

/// The median latency of the longest trials at a rate that count. Those that the engine spoiled do
/// not: what they show is the engine's.
fn latency_at(found: &Found, rate_per_s: Option<f64>) -> Option<u64> {
    let counts = |trial: &&TrialFound| {
        let is_here = trial.rate_per_s.is_some() && trial.rate_per_s == rate_per_s;
        is_here && !trial.is_set_aside && trial.judged != Some(Judged::Limited)
    };
    let here = || found.trials.iter().filter(counts);
    let longest_s = here().map(|trial| trial.length_s).reduce(f64::max)?;
    let full = here().filter(|trial| trial.length_s >= longest_s);
    let mut all: Vec<u64> = full.filter_map(|trial| trial.latency_ns).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

fn goal(goal: &Goal, search: String) -> GoalFacts {
    let objective = goal.objective;
    GoalFacts {
        search,
        text: goal.to_string(),
        quantile: objective.map(|it| it.quantile()),
        below_ns: objective.map(|it| u64::try_from(it.below.as_nanos()).unwrap_or(u64::MAX)),
        errors: goal.errors(),
    }
}

fn trial(trial: &TrialFound) -> TrialRow {
    TrialRow {
        id: trial.id.clone(),
        purpose: trial.purpose,
        rate_per_s: trial.rate_per_s,
        length_s: trial.length_s,
        achieved_per_s: trial.achieved_per_s,
        latency_ns: trial.latency_ns,
        failed_share: trial.failed_share,
        outcome: trial.outcome(),
        why: trial.why(),
    }
}

fn point(point: &CurvePoint) -> CurveRow {
    let quantile = |(percent, latency_ns): &(f64, Option<u64>)| QuantileRow {
        quantile: percent / 100.0,
        latency_ns: *latency_ns,
    };
    CurveRow {
        share: point.percent / 100.0,
        rate_per_s: point.rate_per_s,
        count: point.count,
        quantiles: point.latency_ns.iter().map(quantile).collect(),
        failed_share: point.failed_share,
        why: point.why.clone(),
    }
}

fn by_name<S: Serializer>(purpose: &Purpose, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(purpose.name())
}

/// The flags with which a search goes on: twice the time where time ended before its bounds were
/// near enough and confirmed, and no other where a contender ceased to run.
pub(super) fn flags_to_go_on(rows: &[FoundRow]) -> Option<String> {
    // It ended by its time, and not by its number of trials.
    let takes_more_time =
        |row: &&FoundRow| row.irregular == Some(Irregular::Budget) && row.trials.len() < TRIALS_MAX;
    let Some(spent) = rows.iter().find(takes_more_time) else {
        let is_unfinished = |row: &FoundRow| row.irregular == Some(Irregular::Unfinished);
        return rows.iter().any(is_unfinished).then(String::new);
    };
    // Its goals share the time of a contender at a workload.
    let cells = rows
        .iter()
        .filter(|row| row.goal.search == spent.goal.search);
    let cells = cells.map(|row| ((&row.contender, &row.workload), row.behind.budget_s));
    let cells: BTreeMap<_, _> = cells.collect();
    let minutes = (cells.values().sum::<f64>() * 2.0 / 60.0).ceil().max(1.0);
    Some(format!(" --budget {minutes}m"))
}

/// Why nothing in it is a valid measurement; with `strict` why something is not.
pub(super) fn not_valid(rows: &[FoundRow], strict: bool) -> Option<String> {
    let lost = rows
        .iter()
        .find(|row| row.irregular == Some(Irregular::Failed));
    if let Some(row) = lost {
        let why = row.why.as_deref().unwrap_or("it never ran");
        return Some(format!("{}: {why}", row.contender));
    }
    let has_any = |row: &FoundRow| row.lower_per_s.is_some() || row.upper_per_s.is_some();
    if !rows.iter().any(has_any) {
        return Some("no bound was found".to_owned());
    }
    let weak = rows
        .iter()
        .find(|row| row.irregular.is_some() || row.confirmed != Some(true));
    weak.filter(|_| strict).map(|row| {
        let what = row.irregular.map_or("not confirmed", Irregular::name);
        format!(
            "{} at {}: {what}, as --strict asks",
            row.contender, row.goal.text
        )
    })
}
