//! The view model of an overload, `bakeoff.overload/1`: fields may be added, a hole is null.

use bakeoff_audit::overload::{
    Beyond, Ladder, OverloadRamp, judge_ladder, judge_ramp, judge_rounds,
};
use bakeoff_audit::own_limit;
use bakeoff_plan::{Contender, Load, Overload, Purpose, Workload};
use bakeoff_record::{ContenderKind, Record, TrialEnd, TrialRecord};
use serde::Serialize;

/// Version of the document.
pub const OVERLOAD_SCHEMA: &str = "bakeoff.overload/1";

/// One contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverloadRow {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// Label of the overload.
    pub overload: String,
    /// What was taken as its capacity, requests per second.
    pub capacity_per_s: Option<f64>,
    /// Where that is from: `said`, or `closed loop`.
    pub capacity_from: &'static str,
    /// Rounds that were planned.
    pub rounds_planned: u32,
    /// What it does, over all rounds.
    pub beyond: Beyond,
    /// Each round.
    pub ramps: Vec<OverloadRamp>,
    /// The ladder of closed loops; null where none was asked for, or none has begun.
    pub ladder: Option<Ladder>,
    /// Why nothing was measured.
    pub lost: Option<String>,
    /// The limit of its own configuration that is below what the smallest load needs that is
    /// beyond it; null where none is.
    pub own_limit: Option<String>,
    /// Trials that something on the machine disturbed.
    pub disturbed: Vec<String>,
}

impl OverloadRow {
    /// The round that pictures show: the first that was measured and shows what most rounds do.
    pub(super) fn shown(&self) -> Option<&OverloadRamp> {
        let mut measured = self.ramps.iter().filter(|ramp| ramp.series.is_some());
        let usual: Vec<_> = self.beyond.classes.iter().map(|one| one.class).collect();
        let is_usual = |ramp: &&OverloadRamp| {
            let own: Vec<_> = ramp.classes.iter().map(|one| one.class).collect();
            own == usual
        };
        measured.clone().find(is_usual).or_else(|| measured.next())
    }
}

/// The rows by workload, overload and contender, in the plan's order.
pub(super) fn rows(record: &Record) -> Vec<OverloadRow> {
    let mut rows = Vec::new();
    for workload in &record.plan.workloads {
        for load in &record.plan.loads {
            let Some(overload) = load.overload() else {
                continue;
            };
            let all = record.plan.contenders.iter();
            rows.extend(all.map(|contender| row(record, contender, workload, (load, overload))));
        }
    }
    rows
}

fn row(
    record: &Record,
    contender: &Contender,
    workload: &Workload,
    (load, overload): (&Load, &Overload),
) -> OverloadRow {
    let label = load.label();
    let of_row = record.trials.iter().filter(|trial| {
        trial.kind == ContenderKind::Contender
            && trial.contender == contender.name
            && trial.workload == workload.name
            && trial.end != TrialEnd::Interrupted
    });
    let trials: Vec<(Purpose, &TrialRecord)> = of_row
        .filter_map(|trial| Some((Purpose::of(trial.load_name.as_deref()?, &label)?, trial)))
        .collect();
    let of = |wanted: Purpose| {
        let own = trials.iter().filter(move |(purpose, _)| *purpose == wanted);
        own.map(|(_, trial)| *trial)
    };
    let shown = of(Purpose::Capacity).filter_map(|trial| Some((trial.ok_per_s()?, trial)));
    let shown = shown.max_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut ramps: Vec<OverloadRamp> = of(Purpose::Ramp)
        .map(|trial| judge_ramp(trial, overload, shown.map(|(_, trial)| trial)))
        .collect();
    ramps.sort_by_key(|ramp| ramp.round);
    let beyond = judge_rounds(&ramps, &overload.steps);
    let rungs: Vec<(u32, &TrialRecord)> = trials
        .iter()
        .filter_map(|(purpose, trial)| match purpose {
            Purpose::Rung { clients } => Some((*clients, *trial)),
            Purpose::Capacity | Purpose::Ramp => None,
        })
        .collect();
    let lost = (beyond.rounds == 0).then(|| {
        let all = of(Purpose::Ramp).chain(of(Purpose::Capacity));
        let mut whys = all.filter_map(why_lost);
        let none = || {
            if trials.is_empty() {
                "it was not measured yet".to_owned()
            } else {
                why_no_capacity(of(Purpose::Capacity)).to_owned()
            }
        };
        whys.next().unwrap_or_else(none)
    });
    let is_sound = |it: &TrialRecord| it.ok_per_s().is_some() && !it.is_disturbed();
    let has_capacity = of(Purpose::Capacity).any(is_sound);
    let disturbed = trials.iter().filter(|(purpose, it)| {
        // A capacity that was measured again is none of them.
        it.is_disturbed() && !(has_capacity && *purpose == Purpose::Capacity)
    });
    let mut by_clients: Vec<&TrialRecord> = trials.iter().map(|(_, trial)| *trial).collect();
    by_clients.sort_by_key(|trial| trial.load.clients());
    let mut limits = by_clients.into_iter();
    OverloadRow {
        own_limit: limits.find_map(|trial| own_limit(trial, Some(workload))),
        contender: contender.name.clone(),
        workload: workload.name.clone(),
        overload: label.clone(),
        capacity_per_s: overload.capacity_per_s.or(shown.map(|(rate, _)| rate)),
        capacity_from: match overload.capacity_per_s {
            Some(_) => "said",
            None => "closed loop",
        },
        rounds_planned: record.plan.rounds,
        beyond,
        ramps,
        ladder: (!rungs.is_empty()).then(|| judge_ladder(&rungs)),
        lost,
        disturbed: disturbed.map(|(_, trial)| trial.id.clone()).collect(),
    }
}

/// Why closed loops that failed in no other way show no capacity.
fn why_no_capacity<'r>(mut trials: impl Iterator<Item = &'r TrialRecord>) -> &'static str {
    let completed =
        |trial: &TrialRecord| trial.result.as_ref().map_or(0, |it| it.requests.completed);
    if trials.any(|trial| completed(trial) > 0) {
        "no answer was right in a closed loop"
    } else {
        "no request ended in its closed loops; take a --capacity"
    }
}

fn why_lost(trial: &TrialRecord) -> Option<String> {
    match &trial.end {
        TrialEnd::Failed { cause, .. } => Some(cause.clone()),
        TrialEnd::Skipped { reason, .. } | TrialEnd::Unsupported { reason } => Some(reason.clone()),
        TrialEnd::Measured | TrialEnd::Interrupted => None,
    }
}

/// Why nothing in it is a valid measurement; with `strict` why something is not.
pub(super) fn not_valid(rows: &[OverloadRow], strict: bool) -> Option<String> {
    let lost = rows.iter().find_map(|row| {
        let why = row.lost.as_ref()?;
        Some(format!("{}: {why}", row.contender))
    });
    let weak = || {
        rows.iter().find_map(|row| {
            let unsaid = row.beyond.unsaid.first();
            let disturbed = row.disturbed.first();
            let disturbed = disturbed.map(|id| format!("trial {id} was disturbed"));
            let why = unsaid.map(ToString::to_string).or(disturbed)?;
            Some(format!("{}: {why}, as --strict asks", row.contender))
        })
    };
    lost.or_else(|| strict.then(weak).flatten())
}
