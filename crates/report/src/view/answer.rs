//! The answer: which, by how much, how far to trust it, and what to do next.

use bakeoff_audit::{
    Comparison, Conclusion, Finding, Floor, Judged, JudgedCell, More, Trust, widest_interval,
};
use bakeoff_plan::Until;
use bakeoff_record::{Record, TrialEnd, shell_word};
use bakeoff_stats::{Estimate, Metric, Number};
use schemars::JsonSchema;
use serde::Serialize;

use super::campaign::{Campaign, short_load};
use super::cell::Cell;
use super::comparison::sign;
use super::failing::failing;
use super::late::late;
use super::longer;
use super::no_finding::{NoFinding, no_finding};

/// What going on with a record takes besides, where several hosts took part.
const HOSTS_FILE: &str = " --hosts FILE";

/// The answer of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// What holds over several cells, most important first.
    pub findings: Vec<Finding>,
    /// Why there is no finding, in a sentence; null where there is one.
    #[schemars(with = "Option<String>")]
    pub no_finding: Option<NoFinding>,
    /// Contenders' cells that were not measured, whose server died, or whose answers failed or
    /// were wrong, a sentence each, and one for a campaign that was broken off. Where there is
    /// none, what cannot be decided takes more rounds or a quieter machine.
    pub failing: Vec<String>,
    /// Contenders whose server answered late after its load, or not at all, a sentence each.
    pub late: Vec<String>,
    /// Ratios to the first contender, a table for each metric that is compared.
    pub tables: Vec<RatioTable>,
    /// How far to trust it, the worst reason first.
    pub trust: Trust,
    /// Command lines that come next; `RECORD` stands for the record folder, and `FILE` for the
    /// file of hosts that it was measured with.
    pub next: Vec<String>,
    /// The flags with which the record goes on, and what else that takes.
    #[serde(skip)]
    pub(crate) goes_on: Option<[String; 2]>,
    /// About how long going on with the record takes, seconds, by what its rounds took; null where
    /// nothing goes on.
    pub next_takes_s: Option<f64>,
    /// Name of the record folder, without the folders that it is in; null where it is not known.
    pub record: Option<String>,
    /// How far two runs of one and the same server are apart, by metric.
    pub floors: Vec<Floor>,
}

impl Answer {
    /// The command lines that come next for the record at a path, with that of the tables or
    /// without. `needed_again` are the flags that going on with it takes, where they are known.
    pub(crate) fn commands(
        &self,
        record: &str,
        needed_again: Option<&str>,
        with_tables: bool,
    ) -> Vec<String> {
        let record = shell_word(record);
        let mut lines = lines(self.goes_on.as_ref(), &record, needed_again);
        // A shell reads no more from there on.
        if let (Some(takes_s), true) = (self.next_takes_s, self.goes_on.is_some()) {
            lines[0] += &format!("  # {}", about(takes_s));
        }
        if !with_tables {
            lines.pop();
        }
        lines
    }
}

/// The command that goes on with a record, where it can, and that of the tables behind the answer.
fn lines(goes_on: Option<&[String; 2]>, record: &str, needed_again: Option<&str>) -> Vec<String> {
    let go_on = goes_on.map(|[flags, besides]| {
        let besides = needed_again.unwrap_or(besides);
        format!("bakeoff run --resume {record}{flags}{besides}")
    });
    let tables = format!("bakeoff report {record} --full");
    go_on.into_iter().chain([tables]).collect()
}

/// Ratios to the first contender that ran, by one metric.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioTable {
    /// What is compared.
    pub metric: Metric,
    /// The same for people.
    pub title: String,
    /// The contender that the others are divided by.
    pub baseline: String,
    /// Contenders in the plan's order, the baseline first; those that never ran last.
    pub columns: Vec<String>,
    /// A row for each workload and load that is compared by this metric.
    pub rows: Vec<RatioRow>,
}

/// One workload and load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioRow {
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// The load in a few characters: `10 c`, `500/s`.
    pub title: String,
    /// A cell for each column.
    pub cells: Vec<RatioCell>,
}

/// One contender in a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioCell {
    /// Contender's name.
    pub contender: String,
    /// Its own value; null where it is missing or withheld.
    pub value: Option<Estimate>,
    /// `>=` where the value is only known to be at least that.
    pub value_bound: Option<&'static str>,
    /// Its value over the baseline's; null for the baseline itself and where there is none.
    pub ratio: Option<Estimate>,
    /// `^` higher, `v` lower, `=` equal, `~` more rounds are needed, empty where no difference is
    /// shown or nothing is concluded.
    pub mark: &'static str,
    /// `>=` or `<=` where the ratio is only known to be at least or at most that.
    pub bound: Option<&'static str>,
    /// Why there is no ratio; for the baseline, why there is no value.
    pub reason: Option<String>,
}

pub(super) fn draw(
    record: &Record,
    judged: &Judged<'_>,
    campaign: &Campaign,
    cells: &[Cell],
) -> Answer {
    let all = All {
        judged,
        campaign,
        cells,
    };
    let table = |metric| table(metric, &all);
    let planned = record.plan.contenders.len();
    let without = || no_finding(planned, cells, &judged.comparisons);
    let (goes_on, next_takes_s) = next(record, judged);
    let besides = if on_hosts(record) { HOSTS_FILE } else { "" };
    let goes_on = goes_on.map(|flags| [flags, besides.to_owned()]);
    Answer {
        findings: judged.findings.clone(),
        no_finding: judged.findings.is_empty().then(without),
        failing: failing(cells, judged),
        late: late(cells),
        tables: Metric::RANKED.into_iter().filter_map(table).collect(),
        trust: judged.trust.clone(),
        next: lines(goes_on.as_ref(), "RECORD", None),
        goes_on,
        next_takes_s,
        record: None,
        floors: judged.floors.clone(),
    }
}

/// What the tables are drawn from.
struct All<'a> {
    judged: &'a Judged<'a>,
    campaign: &'a Campaign,
    cells: &'a [Cell],
}

/// A table with a row for each load that the metric means something at; `None` with fewer than
/// two contenders or without a row.
fn table(metric: Metric, all: &All<'_>) -> Option<RatioTable> {
    let compared: Vec<&Cell> = all
        .cells
        .iter()
        .filter(|cell| cell.is_contender())
        .collect();
    let contenders = all.campaign.contenders.iter();
    let mut columns: Vec<String> = contenders
        .filter(|one| one.kind == bakeoff_record::ContenderKind::Contender)
        .map(|one| one.name.clone())
        .collect();
    // A contender that never ran is nothing to divide by.
    let ran = |name: &String| {
        let mut own = compared.iter().filter(|cell| cell.contender == *name);
        own.any(|cell| cell.rounds_measured > 0)
    };
    columns.sort_by_key(|name| !ran(name));
    let baseline = columns.first()?;
    let same =
        |left: &&Cell, right: &&Cell| left.workload == right.workload && left.load == right.load;
    let groups = compared.chunk_by(same);
    let rows: Vec<RatioRow> = groups
        .filter(|group| metric.fits_loop(all.campaign.is_open(&group[0].load)))
        .map(|group| row(metric, all, group, &columns))
        .filter(|row| row.cells.iter().any(|cell| cell.value.is_some()))
        .collect();
    (columns.len() > 1 && !rows.is_empty()).then(|| RatioTable {
        metric,
        title: title(metric),
        baseline: baseline.clone(),
        columns: columns.clone(),
        rows,
    })
}

fn title(metric: Metric) -> String {
    match metric.number() {
        Number::Latency => format!("{}, ms", metric.short_name()),
        Number::Cpu => "CPU µs/request".to_owned(),
        Number::Memory => "peak memory".to_owned(),
        Number::Rate | Number::Counts => metric.phrase().to_owned(),
    }
}

fn row(metric: Metric, all: &All<'_>, group: &[&Cell], columns: &[String]) -> RatioRow {
    let (workload, load) = (&group[0].workload, &group[0].load);
    let baseline = columns.first().map_or("", String::as_str);
    let comparisons = all.judged.comparisons.iter();
    let of_row: Vec<&Comparison> = comparisons
        .filter(|one| one.metric == metric && one.pair.workload == *workload)
        .filter(|one| one.pair.load == *load && one.pair.first == baseline)
        .collect();
    let cell = |contender: &String| {
        let mine = group.iter().find(|cell| cell.contender == *contender);
        let compared = of_row.iter().find(|one| one.pair.second == *contender);
        ratio_cell(
            metric,
            contender,
            mine.copied(),
            compared.copied(),
            *contender == baseline,
        )
    };
    RatioRow {
        workload: workload.clone(),
        load: load.clone(),
        title: load_as_run(all.judged, workload, load),
        cells: columns.iter().map(cell).collect(),
    }
}

/// The load of a row in a few characters: with its rate, where that was found in the campaign.
fn load_as_run(judged: &Judged<'_>, workload: &str, load: &str) -> String {
    let here = |one: &&JudgedCell<'_>| {
        let key = &one.cell.key;
        key.workload == workload && key.load == load
    };
    let trials = judged.cells.iter().filter(here).flat_map(|one| &one.trials);
    let mut trials = trials.map(|(trial, _)| trial);
    // A trial that did not run has the load as the plan has it.
    let ran = trials.clone().find(|trial| trial.result.is_some());
    let found = ran.or_else(|| trials.next());
    found.map_or_else(|| load.to_owned(), |trial| short_load(&trial.load))
}

fn ratio_cell(
    metric: Metric,
    contender: &str,
    cell: Option<&Cell>,
    compared: Option<&Comparison>,
    is_baseline: bool,
) -> RatioCell {
    let value = cell.and_then(|cell| cell.estimate(metric)).copied();
    let is_bound = metric == Metric::RatePerS && cell.is_some_and(|it| it.rate_is_lower_bound);
    let ratio = compared.and_then(|one| one.ratio);
    let missing = || match cell {
        None => Some("not measured".to_owned()),
        Some(cell) => cell.missing.get(&metric).cloned(),
    };
    let reason = match (compared, &ratio) {
        (_, Some(_)) => None,
        (Some(one), None) => missing().or_else(|| Some(one.reason?.text().to_owned())),
        (None, None) => missing().or_else(|| (!is_baseline).then(|| "not compared".to_owned())),
    };
    RatioCell {
        contender: contender.to_owned(),
        value,
        value_bound: value.filter(|_| is_bound).map(|_| ">="),
        ratio,
        mark: compared.map_or("", |one| mark(one.conclusion)),
        bound: compared.and_then(|one| one.bound).map(sign),
        reason,
    }
}

fn mark(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Higher => "^",
        Conclusion::Lower => "v",
        Conclusion::Equal => "=",
        Conclusion::CannotTell | Conclusion::PlainNotProven(_) => "~",
        Conclusion::NoDifferenceShown | Conclusion::NotCompared | Conclusion::NotComparable => "",
    }
}

/// The flags for more rounds where they would decide something and are worth it, or make up for
/// spoiled ones, and for the rest of a campaign that has nothing to say yet, where the record can
/// go on; and what that takes, seconds.
fn next(record: &Record, judged: &Judged<'_>) -> (Option<String>, Option<f64>) {
    if record.is_copy {
        return (None, None);
    }
    if !record.plan.has_fixed_rounds() {
        return longer::budget(record, judged).map_or((None, None), |(flags, s)| (Some(flags), s));
    }
    let decide = More::of(&judged.comparisons).rounds;
    let rounds = decide.max(judged.rounds_enough);
    let asked = rounds.and_then(|rounds| asking_for(rounds, record, judged));
    let rest = || (awaits_a_contender(record, judged) || is_broken_off(record)).then(String::new);
    let asked = asked.or_else(rest);
    let rounds = rounds.unwrap_or(0).max(record.plan.rounds_at_least());
    let takes_s = asked.as_ref().and_then(|_| missing_s(record, rounds));
    (asked, takes_s.filter(|takes_s| *takes_s > 0.0))
}

fn on_hosts(record: &Record) -> bool {
    record.trials.iter().any(|trial| trial.hosts.is_some())
}

/// Whether somebody stopped it in a trial that is missing.
fn is_broken_off(record: &Record) -> bool {
    let last = record.trials.last();
    last.is_some_and(|trial| trial.end == TrialEnd::Interrupted)
}

/// What the trials of so many rounds take that have not ended yet, as long as those that have,
/// seconds.
fn missing_s(record: &Record, rounds: u32) -> Option<f64> {
    let first = record.trials.iter().filter(|trial| trial.attempt == 1);
    let ended: Vec<_> = first.filter(|it| it.end != TrialEnd::Interrupted).collect();
    let steps = ended.iter().flat_map(|trial| &trial.steps);
    let all_s: f64 = steps.map(|step| step.took_s).sum();
    let plan = &record.plan;
    let of_round = bakeoff_plan::trials(plan).len() as f64 / f64::from(plan.rounds_at_least());
    let missing = (of_round * f64::from(rounds) - ended.len() as f64).max(0.0);
    (!ended.is_empty()).then(|| all_s / ended.len() as f64 * missing)
}

/// `about 40 s`, `about 7 min`, `about 2.5 h`.
fn about(time_s: f64) -> String {
    match time_s {
        s if s < 90.0 => format!("about {s:.0} s"),
        s if s < 5400.0 => format!("about {:.0} min", s / 60.0),
        s => format!("about {:.1} h", s / 3600.0),
    }
}

/// Whether there is no finding while a contender still waits for its first trial.
fn awaits_a_contender(record: &Record, judged: &Judged<'_>) -> bool {
    let has_begun = |name: &str| {
        let mut trials = record.trials.iter();
        trials.any(|one| one.contender == name && one.end != TrialEnd::Interrupted)
    };
    let mut contenders = record.plan.contenders.iter();
    let waits = contenders.any(|one| !has_begun(&one.name));
    judged.findings.is_empty() && !record.is_copy && waits
}

/// The flags with which a campaign goes on to `rounds` rounds; `None` where there are none.
///
/// `--rounds` takes a stopping rule away, and with it what the rounds that it added make up for:
/// numbers that are valid would be so no longer.
fn asking_for(rounds: u32, record: &Record, judged: &Judged<'_>) -> Option<String> {
    let Some(until) = record.plan.until else {
        // A campaign that goes on adds them by itself.
        let is_added = judged.rounds_enough == Some(rounds);
        let by_itself = is_added && rounds <= record.plan.rounds_at_most();
        return Some(if by_itself {
            String::new()
        } else {
            format!(" --rounds {rounds}")
        });
    };
    let begun = record.rounds_begun();
    let widest = widest_interval(&judged.comparisons).unwrap_or(until.width);
    // The rule awaits undisturbed rounds, and a width that its last round did not reach.
    let was_cut_short = begun >= until.max_rounds && widest > until.width;
    let mut flags = String::new();
    if judged.rounds_enough.is_none() && !was_cut_short {
        let narrower = (f64::from(begun) / f64::from(rounds)).sqrt();
        let tenths = (widest.min(until.width) * narrower * 1000.0).floor();
        if !Until::WIDTHS.contains(&(tenths / 1000.0)) {
            return None;
        }
        flags = format!(" --until {}%", tenths / 10.0);
    }
    if rounds > until.max_rounds {
        flags += &format!(" --max-rounds {rounds}");
    }
    Some(flags)
}
