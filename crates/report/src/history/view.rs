//! Histories: the numbers of many records in order of time, which of them may be joined, and where
//! they changed.
//!
//! This is the view that the formats draw. The search for changes is in `stats`.

use bakeoff_audit::machine_mismatches;
use bakeoff_plan::distinct;
use bakeoff_stats::{CORRELATION, HISTORY_MAX, HISTORY_MIN, LEVEL_ALPHA, LevelTest, Levels};
use serde::Serialize;

use super::extract::{HistoryCell, HistoryMetric, HistoryNumber, HistoryRecord};
use crate::number::counted;

/// Version of the document.
pub const HISTORY_SCHEMA: &str = "bakeoff.history/1";

/// A record that was looked at, by the name of its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct HistorySource {
    /// Name of the folder.
    pub name: String,
    /// What it holds, or why it is left out.
    pub record: Result<HistoryRecord, String>,
}

/// Histories over records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// [`HISTORY_SCHEMA`].
    pub schema: &'static str,
    /// How changes were looked for.
    pub method: Method,
    /// Records that gave a point, and the first and last of them.
    pub records: Span,
    /// Machines, in the order in which they appeared. Histories of two are never joined.
    pub machines: Vec<MachineRow>,
    /// A contender's number at a workload and a load on a machine, over time.
    pub series: Vec<SeriesRow>,
    /// Records that gave no point.
    pub left_out: Vec<LeftOut>,
}

/// How changes were looked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Method {
    /// Chance of any false change in histories that have none, whatever the others have.
    pub false_alarm: f64,
    /// How chances are corrected over all histories together: `holm`.
    pub correction: &'static str,
    /// Made-up histories of each length that chances are drawn from.
    pub draws: usize,
    /// Correlation of neighbours that it allows for.
    pub correlation: f64,
    /// Records from which a history is looked at.
    pub records_least: usize,
    /// Latest records that are looked at.
    pub records_most: usize,
}

/// The records of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// How many.
    pub count: usize,
    /// Start of the first, RFC 3339 in UTC.
    pub first: Option<String>,
    /// Start of the last.
    pub last: Option<String>,
}

/// A machine, as far as two records must have it in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineRow {
    /// Number from 1, in the order of its first record.
    pub number: usize,
    /// Host, processors, kernel.
    pub text: String,
    /// What it differs in from the machine before; empty for the first.
    pub differs: Vec<String>,
    /// Names of its records.
    pub records: Vec<String>,
}

/// A number over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesRow {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// How requests travel.
    pub protocol: String,
    /// Number of the machine.
    pub machine: usize,
    /// Number from 1: workloads or loads of one name that ask for something else are not joined.
    pub edition: usize,
    /// Digest of what was asked and how hard.
    pub asks: String,
    /// The number.
    pub metric: HistoryMetric,
    /// Its unit: `1/s` or `ns`.
    pub unit: &'static str,
    /// Its points in the order of time.
    pub points: Vec<PointRow>,
    /// Where it changed; empty where it did not, or that is not known.
    pub changes: Vec<ChangeRow>,
    /// Why it is not known whether it changed.
    pub why_not_looked_at: Option<String>,
    /// Whether each record asked at another rate, which was found in its campaign.
    pub rate_was_found: bool,
    /// Records that have the cell and no number that can be believed.
    pub missing: Vec<LeftOut>,
}

/// A record's number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointRow {
    /// Name of the record's folder.
    pub record: String,
    /// Start of its campaign, RFC 3339 in UTC.
    pub started_at: String,
    /// Version of the contender's server.
    pub version: Option<String>,
    /// Median over rounds.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Rounds.
    pub n: usize,
    /// `valid` or `suspect`.
    pub verdict: &'static str,
}

/// A change between two records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeRow {
    /// Position of the first point of the new level.
    pub at: usize,
    /// Change as a share of the level before: -0.1 is 10 % less.
    pub size: f64,
    /// Lower end of its interval, 95 %.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Points of the level before and of the level after, which the size is of.
    pub n: [usize; 2],
    /// Whether it is one for the better.
    pub is_better: bool,
    /// The last record before it.
    pub before: Neighbour,
    /// The first record after it.
    pub after: Neighbour,
}

/// A record next to a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    /// Name of its folder.
    pub record: String,
    /// Start.
    pub started_at: String,
    /// Version of the server.
    pub version: Option<String>,
}

/// A record without a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Name of its folder.
    pub record: String,
    /// The number that it lacks, where it has others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<HistoryMetric>,
    /// Why.
    pub why: String,
}

impl PointRow {
    /// Whether low and high are more than the one round itself.
    pub(super) fn has_interval(&self) -> bool {
        self.n > 1
    }
}

impl History {
    /// Whether any record gave a number.
    pub fn has_points(&self) -> bool {
        self.records.count > 0
    }

    /// Changes with their histories, the largest first.
    pub fn changes(&self) -> Vec<(&SeriesRow, &ChangeRow)> {
        let each = self.series.iter();
        let mut all: Vec<_> = each
            .flat_map(|one| one.changes.iter().map(move |change| (one, change)))
            .collect();
        let weight = |change: &ChangeRow| change.size.ln_1p().abs();
        all.sort_by(|left, right| weight(right.1).total_cmp(&weight(left.1)));
        all
    }
}

/// The histories of these numbers; without any named, of the one that each load is for: the rate of
/// closed loops and p99 of open ones.
pub fn history_view(sources: &[HistorySource], metrics: &[HistoryMetric]) -> History {
    let usual = [HistoryMetric::Rate, HistoryMetric::P99];
    let metrics = if metrics.is_empty() { &usual } else { metrics };
    let mut read: Vec<(&str, &HistoryRecord)> = sources
        .iter()
        .filter_map(|one| Some((one.name.as_str(), one.record.as_ref().ok()?)))
        .collect();
    read.sort_by(|left, right| (&left.1.started_at, left.0).cmp(&(&right.1.started_at, right.0)));
    let (machines, places) = machines(&read);
    let mut series: Vec<SeriesRow> = Vec::new();
    for ((name, record), machine) in read.iter().zip(&places) {
        for cell in &record.cells {
            for metric in metrics {
                if let Some(number) = cell.numbers.get(metric) {
                    let key = (*machine, *metric);
                    add(&mut series, (name, record), cell, key, number);
                }
            }
        }
    }
    let draws = look(&mut series);
    let left_out = left_out(sources, &read, &series);
    series.retain(|one| !one.points.is_empty());
    sort(&mut series);
    History {
        schema: HISTORY_SCHEMA,
        method: Method {
            false_alarm: LEVEL_ALPHA,
            correction: "holm",
            draws,
            correlation: CORRELATION,
            records_least: HISTORY_MIN,
            records_most: HISTORY_MAX,
        },
        records: span(&read, &left_out),
        machines,
        series,
        left_out,
    }
}

/// The machines, and the number of each record's.
fn machines(read: &[(&str, &HistoryRecord)]) -> (Vec<MachineRow>, Vec<usize>) {
    let mut firsts: Vec<&HistoryRecord> = Vec::new();
    let (mut rows, mut places): (Vec<MachineRow>, _) = (Vec::new(), Vec::new());
    for (name, record) in read {
        let apart = |other: &&HistoryRecord| {
            machine_mismatches(
                (&other.machine, &other.pinning),
                (&record.machine, &record.pinning),
            )
        };
        let place = firsts.iter().position(|other| apart(other).is_empty());
        let place = place.unwrap_or_else(|| {
            let before = firsts.last().map(apart).unwrap_or_default();
            rows.push(MachineRow {
                number: rows.len() + 1,
                text: format!("{}: {}", record.machine.host, on_one_line(record)),
                differs: before.into_iter().map(|one| one.text).collect(),
                records: Vec::new(),
            });
            firsts.push(record);
            firsts.len() - 1
        });
        rows[place].records.push((*name).to_owned());
        places.push(place + 1);
    }
    (rows, places)
}

fn on_one_line(record: &HistoryRecord) -> String {
    let machine = &record.machine;
    let model = machine.cpu_model.as_deref();
    format!(
        "{} CPUs ({}), Linux {}, bakeoff {}",
        machine.cpus,
        model.unwrap_or("model unknown"),
        machine.kernel,
        machine.bakeoff
    )
}

/// Adds a record's number to its history, which may be a new one.
fn add(
    series: &mut Vec<SeriesRow>,
    (name, record): (&str, &HistoryRecord),
    cell: &HistoryCell,
    (machine, metric): (usize, HistoryMetric),
    number: &HistoryNumber,
) {
    let names = |one: &&SeriesRow| {
        one.contender == cell.contender
            && one.workload == cell.workload
            && one.load == cell.load
            && (one.machine, one.metric) == (machine, metric)
    };
    let same = |one: &SeriesRow| names(&one) && one.asks == cell.asks;
    let place = series.iter().position(same);
    let place = place.unwrap_or_else(|| {
        let others = series.iter().filter(names).count();
        series.push(SeriesRow {
            contender: cell.contender.clone(),
            workload: cell.workload.clone(),
            load: cell.load.clone(),
            protocol: cell.protocol.clone(),
            machine,
            edition: others + 1,
            asks: cell.asks.clone(),
            metric,
            unit: if metric == HistoryMetric::Rate {
                "1/s"
            } else {
                "ns"
            },
            points: Vec::new(),
            changes: Vec::new(),
            why_not_looked_at: None,
            rate_was_found: cell.rate_was_found,
            missing: Vec::new(),
        });
        series.len() - 1
    });
    match number {
        HistoryNumber::Known {
            value,
            low,
            high,
            n,
            suspect,
        } => series[place].points.push(PointRow {
            record: name.to_owned(),
            started_at: record.started_at.clone(),
            version: cell.version.clone(),
            value: *value,
            low: *low,
            high: *high,
            n: *n,
            verdict: if *suspect { "suspect" } else { "valid" },
        }),
        HistoryNumber::Missing(why) => series[place].missing.push(LeftOut {
            record: name.to_owned(),
            metric: None,
            why: why.clone(),
        }),
    }
}

/// Looks for changes in all histories together, and says how many were made up for that.
fn look(series: &mut [SeriesRow]) -> usize {
    let looked_at: Vec<usize> = (0..series.len())
        .filter(|place| !series[*place].rate_was_found)
        .collect();
    let values = |place: &usize| series[*place].points.iter().map(|one| one.value).collect();
    let values: Vec<Vec<f64>> = looked_at.iter().map(values).collect();
    let mut test = LevelTest::default();
    for (place, levels) in looked_at.into_iter().zip(test.changes(&values)) {
        let one = &mut series[place];
        match levels {
            Levels::TooFew(count) => {
                one.why_not_looked_at = Some(format!(
                    "too few records for a change ({count} of at least {HISTORY_MIN})"
                ));
            }
            Levels::Known(changes) => {
                let rows = changes.iter().map(|change| change_row(one, change));
                one.changes = rows.collect();
            }
        }
    }
    for one in series.iter_mut().filter(|one| one.rate_was_found) {
        let why = "each record asked at a rate of its own, so they are not compared";
        one.why_not_looked_at = Some(why.to_owned());
    }
    test.draws()
}

fn change_row(one: &SeriesRow, change: &bakeoff_stats::LevelChange) -> ChangeRow {
    let neighbour = |point: &PointRow| Neighbour {
        record: point.record.clone(),
        started_at: point.started_at.clone(),
        version: point.version.clone(),
    };
    let is_rate = one.metric == HistoryMetric::Rate;
    ChangeRow {
        at: change.at,
        size: change.size,
        low: change.low,
        high: change.high,
        n: change.n,
        is_better: (change.size > 0.0) == is_rate,
        before: neighbour(&one.points[change.at - 1]),
        after: neighbour(&one.points[change.at]),
    }
}

/// Every record without a point, with the reason that most of its numbers have; and of the others
/// those that have none of one metric, where it was asked for with others.
fn left_out(
    sources: &[HistorySource],
    read: &[(&str, &HistoryRecord)],
    series: &[SeriesRow],
) -> Vec<LeftOut> {
    let unread = sources.iter().filter_map(|one| {
        Some(LeftOut {
            record: one.name.clone(),
            metric: None,
            why: one.record.as_ref().err()?.clone(),
        })
    });
    let has_point = |name: &str, metric: Option<HistoryMetric>| {
        let of = |one: &&SeriesRow| metric.is_none_or(|metric| one.metric == metric);
        let mut points = series.iter().filter(of).flat_map(|one| &one.points);
        points.any(|point| point.record == name)
    };
    let lacking = |name: &str, metric: Option<HistoryMetric>| {
        let of = |one: &&SeriesRow| metric.is_none_or(|metric| one.metric == metric);
        let whys = series.iter().filter(of).flat_map(|one| &one.missing);
        let whys: Vec<&LeftOut> = whys.filter(|one| one.record == name).collect();
        let why = match whys.split_first()? {
            (one, []) => format!("no number can be used: {}", one.why),
            (one, others) => {
                let others = counted(others.len() as u64, "other reason");
                format!("no number can be used: {}, and {others}", one.why)
            }
        };
        Some((metric, why))
    };
    let metrics = distinct(series.iter().map(|one| one.metric));
    let without = read.iter().flat_map(|(name, _)| {
        let whys: Vec<_> = if has_point(name, None) {
            let lacks = metrics
                .iter()
                .filter(|metric| !has_point(name, Some(**metric)));
            lacks
                .filter_map(|metric| lacking(name, Some(*metric)))
                .collect()
        } else {
            let none = || (None, "it has none of these numbers".to_owned());
            vec![lacking(name, None).unwrap_or_else(none)]
        };
        whys.into_iter().map(|(metric, why)| LeftOut {
            record: (*name).to_owned(),
            metric,
            why,
        })
    });
    unread.chain(without).collect()
}

fn span(read: &[(&str, &HistoryRecord)], left_out: &[LeftOut]) -> Span {
    let used = read.iter().filter(|(name, _)| {
        let mut left_out = left_out.iter().filter(|one| one.metric.is_none());
        left_out.all(|one| one.record != *name)
    });
    let times: Vec<&String> = used.map(|(_, record)| &record.started_at).collect();
    Span {
        count: times.len(),
        first: times.first().map(|time| (*time).clone()),
        last: times.last().map(|time| (*time).clone()),
    }
}

/// Sorts by number, machine, workload, load and contender, as they came first.
fn sort(series: &mut [SeriesRow]) {
    let names = |of: fn(&SeriesRow) -> &String| distinct(series.iter().map(|one| of(one).clone()));
    let workloads = names(|one| &one.workload);
    let (loads, contenders) = (names(|one| &one.load), names(|one| &one.contender));
    let place = |names: &[String], name: &String| names.iter().position(|one| one == name);
    series.sort_by_key(|one| {
        (
            one.metric,
            one.machine,
            place(&workloads, &one.workload),
            place(&loads, &one.load),
            place(&contenders, &one.contender),
            one.edition,
        )
    });
}
