//! What a history takes from a record: a line of facts for each cell, without secrets, small enough
//! to be kept in an index.

use std::collections::BTreeMap;

use bakeoff_audit::{Verdict, asked, engine_settings};
use bakeoff_plan::{Load, Pinning};
use bakeoff_record::{Machine, hex};
use bakeoff_stats::{Cell as Trials, Metric, Number, cells};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::redaction::Redacted;
use crate::view::{Cell, Report, view_of};

/// Version of [`HistoryRecord`]: what an index holds of another one is read again.
pub const EXTRACT_SCHEMA: &str = "bakeoff.history-record/1";
/// Why a workload of a shared copy has no numbers.
const NOT_KNOWN: &str = "the shared copy leaves out values of headers, so it is not known in full \
                         what was asked; take the record that it was made of";
/// Bytes of the digest that names what was asked.
const DIGEST: usize = 8;

/// A number whose history can be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryMetric {
    /// Right answers per second, of closed loops.
    Rate,
    /// 99th percentile of latency, nanoseconds, of open loops.
    P99,
    /// Processor time of the server for each request, nanoseconds.
    Cpu,
}

impl HistoryMetric {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rate, Self::P99, Self::Cpu];

    /// The name used in flags and in every format.
    pub fn name(self) -> &'static str {
        self.metric().short_name()
    }

    pub(super) fn metric(self) -> Metric {
        match self {
            Self::Rate => Metric::RatePerS,
            Self::P99 => Metric::LatencyP99Ns,
            Self::Cpu => Metric::CpuNsPerRequest,
        }
    }
}

/// A record as a history needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryRecord {
    /// Name of its plan.
    pub plan: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// The machine, without the command line.
    pub machine: Machine,
    /// Processors of the roles.
    pub pinning: Pinning,
    /// Its contenders' cells.
    pub cells: Vec<HistoryCell>,
}

/// A contender at a workload and a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryCell {
    /// Contender's name.
    pub contender: String,
    /// Its server's version, as the program reports it.
    pub version: Option<String>,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// How requests travel.
    pub protocol: String,
    /// Digest of what was asked, how hard and by how many threads, in which names don't matter.
    pub asks: String,
    /// Whether the rate of the load was found in each campaign anew.
    pub rate_was_found: bool,
    /// Its numbers that fit the load.
    pub numbers: BTreeMap<HistoryMetric, HistoryNumber>,
}

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HistoryNumber {
    /// Median over rounds.
    Known {
        /// The value.
        value: f64,
        /// Lower end of its interval.
        low: f64,
        /// Upper end.
        high: f64,
        /// Rounds.
        n: usize,
        /// Whether its verdict is suspect; else it is valid.
        suspect: bool,
    },
    /// There is none that can be believed: why.
    Missing(String),
}

impl HistoryRecord {
    /// Takes them from a record; `None` where its plan has no rounds to compare.
    pub fn of(redacted: &Redacted) -> Option<Self> {
        let record = redacted.record();
        if !record.plan.question().has_rounds() {
            return None;
        }
        let report = view_of(redacted);
        let grouped = cells(record);
        let contenders = report.cells.iter().filter(|cell| cell.is_contender());
        let one = |shown: &Cell| {
            let mut same = grouped.iter();
            let same = same.find(|one| {
                let key = &one.key;
                [&key.contender, &key.workload, &key.load]
                    == [&shown.contender, &shown.workload, &shown.load]
            })?;
            Some(cell(redacted, &report, shown, same))
        };
        Some(Self {
            plan: record.plan.name.clone(),
            started_at: record.machine.started_at.clone(),
            machine: Machine {
                // It may name what nobody else should read, and no two are alike.
                command: Vec::new(),
                load_average: None,
                ..record.machine.clone()
            },
            pinning: record.plan.pinning.clone(),
            cells: contenders.filter_map(one).collect(),
        })
    }
}

fn cell(redacted: &Redacted, report: &Report, shown: &Cell, same: &Trials<'_>) -> HistoryCell {
    let plan = &redacted.record().plan;
    let workload = plan.workloads.iter().find(|it| it.name == shown.workload);
    let load: Option<&Load> = plan.loads.iter().find(|it| it.label() == shown.load);
    let asks = (workload.map(asked), load, engine_settings(same.measured()));
    let asks = serde_json::to_vec(&asks).unwrap_or_default();
    let mut facts = report.campaign.contenders.iter();
    let facts = facts.find(|it| it.name == shown.contender);
    let is_open = report.campaign.is_open(&shown.load);
    let fits = HistoryMetric::ALL.into_iter();
    let fits = fits.filter(|it| it.metric().fits_loop(is_open));
    // Two copies that leave out a header look alike, whatever it was.
    let is_known = workload.is_none_or(|it| redacted.asks(&it.name).is_some());
    let number = |metric| {
        if is_known {
            number(shown, metric)
        } else {
            HistoryNumber::Missing(NOT_KNOWN.to_owned())
        }
    };
    HistoryCell {
        contender: shown.contender.clone(),
        version: facts
            .filter(|it| !it.versions.is_empty())
            .map(|it| it.versions.join(", ")),
        workload: shown.workload.clone(),
        load: shown.load.clone(),
        protocol: workload.map_or("", |it| it.protocol.name()).to_owned(),
        asks: hex(&Sha256::digest(&asks)[..DIGEST]),
        rate_was_found: same.trials.iter().any(|trial| trial.load_name.is_some()),
        numbers: fits.map(|metric| (metric, number(metric))).collect(),
    }
}

fn number(cell: &Cell, metric: HistoryMetric) -> HistoryNumber {
    let metric = metric.metric();
    let number = metric.number();
    let verdict = cell.verdicts.of(number);
    let missing = |why: &str| HistoryNumber::Missing(why.to_owned());
    if verdict > Verdict::Suspect {
        return missing(&format!("{} is {}", number.name(), verdict.name()));
    }
    if number == Number::Rate && cell.rate_is_lower_bound {
        return missing("its rate is only known to be at least what was measured");
    }
    match cell.estimate(metric) {
        Some(one)
            if [one.point, one.low, one.high]
                .iter()
                .all(|it| it.is_finite() && *it > 0.0) =>
        {
            HistoryNumber::Known {
                value: one.point,
                low: one.low,
                high: one.high,
                n: one.n,
                suspect: verdict == Verdict::Suspect,
            }
        }
        _ => {
            let why = cell.missing.get(&metric);
            missing(why.map_or("not measured", String::as_str))
        }
    }
}
