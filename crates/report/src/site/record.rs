//! What the site shows of one record: its name, its answer, what it can be filtered by, and the
//! numbers that may be ranked.
//!
//! It reads one record at a time. Rankings across records are in `site/`.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_audit::{blame, engine_settings};
use bakeoff_plan::{Plan, distinct};
use bakeoff_record::{ContenderKind, HostRole, Machine, Record, hex};
use bakeoff_stats::Metric;
use sha2::{Digest as _, Sha256};

use crate::document::findings_of;
use crate::find::{FindReport, FoundRow};
use crate::number::{counted, plain};
use crate::own::OwnReport;
use crate::redaction::Redacted;
use crate::view::{Cell, Class, Comparison, Report};
use crate::words::find::searches_apart;

/// Characters of a plan's name that go into the name of a page.
const NAME_CHARACTERS: usize = 40;
/// Bytes of the digest that go into it.
const NAME_BYTES: usize = 4;

/// What the site has of one record.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteRecord {
    /// Name of its page: made of what the campaign is, so it stays when rounds are added, when
    /// the record lies elsewhere, and when other records come.
    pub name: String,
    /// Trials in the record.
    pub trials: usize,
    /// The plan's name.
    pub(super) title: String,
    /// When it began, as the record has it.
    pub(super) started_at: String,
    /// The answer in sentences, most important first.
    pub(super) answer: Vec<String>,
    pub(super) facets: Facets,
    /// Contenders with their versions.
    pub(super) contenders: Vec<String>,
    /// How many of its numbers came out how: `7 valid`.
    pub(super) verdicts: Vec<(String, usize)>,
    pub(super) numbers: Vec<Number>,
    /// Conclusions between its contenders.
    pub(super) comparisons: Vec<Comparison>,
    /// What the contenders of a workload do not do the same work in, by workload.
    pub(super) unequal: Vec<(String, String)>,
    /// What says whether another record may be compared with it.
    pub(super) ground: RecordGround,
}

/// What says whether two records may be held against each other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecordGround {
    pub(super) machine: Machine,
    pub(super) plan: Plan,
    /// How the load engine was set, and on which hosts it ran.
    pub(super) engine: BTreeSet<String>,
    /// What each workload asks, by its name, as a digest; without one it is not known in full.
    pub(super) asks: BTreeMap<String, String>,
}

/// What records can be filtered by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facets {
    pub(super) servers: Vec<String>,
    pub(super) workloads: Vec<String>,
    pub(super) protocols: Vec<String>,
    /// Host and processors.
    pub(super) machine: String,
    /// Kernel and system.
    pub(super) system: String,
    /// Where servers and load ran.
    pub(super) hosts: String,
}

/// What a number is, and so which is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Right answers per second in a closed loop; more is better.
    Rate,
    /// 99th percentile of latency in an open loop, nanoseconds; less is better.
    Latency,
    /// The highest rate that meets a goal, requests per second; more is better.
    Capacity,
}

/// One contender's number at one workload and load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    pub(super) kind: Kind,
    pub(super) workload: String,
    /// Label of the load.
    pub(super) load: String,
    /// The load for people, and the goal of a search.
    pub(super) title: String,
    pub(super) contender: String,
    pub(super) versions: String,
    pub(super) value: Option<Span>,
    /// How far, as a factor, the value of an equal may lie beyond its interval.
    pub(super) apart: f64,
    /// Rounds behind it; for a search, servers at the lower bound.
    pub(super) rounds: usize,
    /// Why it is not ranked.
    pub(super) unranked: Option<String>,
    /// The value of the null server of the record beside it; `None` where it did not run.
    pub(super) yardstick: Option<f64>,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) low: f64,
    /// `None` of a search, which gives bounds alone.
    pub(super) point: Option<f64>,
    /// Infinite where the value is only known to be at least that.
    pub(super) high: f64,
}

impl SiteRecord {
    /// The folder of its files, below that of the site.
    pub(super) fn folder(&self) -> String {
        format!("records/{}", self.name)
    }

    /// The first sentence of the answer.
    pub(super) fn headline(&self) -> &str {
        self.answer.first().map_or("", String::as_str)
    }

    /// How the requests of a workload travel.
    pub(super) fn protocol_of(&self, workload: &str) -> Option<&'static str> {
        let mut all = self.ground.plan.workloads.iter();
        let found = all.find(|one| one.name == workload);
        found.map(|one| one.protocol.name())
    }

    /// The day it began: `2026-11-22`.
    pub(super) fn day(&self) -> &str {
        self.started_at.get(..10).unwrap_or(&self.started_at)
    }

    /// The minute it began: `2026-11-22 07:26 UTC`.
    pub(super) fn minute(&self) -> String {
        let time = self.started_at.get(11..16);
        let time = time.filter(|_| is_time(&self.started_at));
        match time {
            Some(time) => format!("{} {time} UTC", self.day()),
            None => self.started_at.clone(),
        }
    }

    pub(super) fn of_rounds(shared: &Redacted, report: &Report) -> Self {
        let mut verdicts = BTreeMap::new();
        for cell in report.cells.iter().filter(|cell| cell.is_contender()) {
            *verdicts.entry(cell.verdict.verdict).or_insert(0) += 1;
        }
        let lines = findings_of(report).into_iter().map(|line| line.text);
        Self {
            verdicts: verdicts
                .into_iter()
                .map(|(verdict, count)| (verdict.name().to_owned(), count))
                .collect(),
            numbers: numbers(report),
            comparisons: report.comparisons.clone(),
            unequal: unequal(report),
            ..Self::of(shared, lines.collect())
        }
    }

    pub(super) fn of_search(shared: &Redacted, report: &FindReport) -> Self {
        let mut verdicts = BTreeMap::new();
        for row in &report.rows {
            let name = not_regular(row).unwrap_or_else(|| "confirmed".to_owned());
            *verdicts.entry(name).or_insert(0) += 1;
        }
        let one = Self::of(shared, report.answer.clone());
        let versions = versions(shared.record());
        let number = |row: &FoundRow| found(row, versions.get(&row.contender));
        Self {
            verdicts: verdicts.into_iter().collect(),
            numbers: report.rows.iter().map(number).collect(),
            ..one
        }
    }

    pub(super) fn of_own(shared: &Redacted, report: &dyn OwnReport) -> Self {
        let counts = ["measured", "not measured"]
            .into_iter()
            .zip(report.measured());
        let counts = counts.filter(|(_, count)| *count > 0);
        Self {
            verdicts: counts
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
            ..Self::of(shared, report.answer().to_vec())
        }
    }

    fn of(shared: &Redacted, answer: Vec<String>) -> Self {
        let record = shared.record();
        let versions = versions(record);
        let contender = |name: &str| match versions.get(name) {
            Some((server, versions)) => named(name, Some(server), versions),
            None => name.to_owned(),
        };
        let contenders = record.plan.contenders.iter();
        let asks = record.plan.workloads.iter().filter_map(|it| {
            let asks = shared.asks(&it.name)?;
            Some((it.name.clone(), asks.to_owned()))
        });
        Self {
            name: name_of(record),
            trials: record.trials.len(),
            title: record.plan.name.clone(),
            started_at: record.machine.started_at.clone(),
            answer: answer.iter().map(|line| plain(line)).collect(),
            facets: facets(record, &versions),
            contenders: contenders.map(|one| contender(&one.name)).collect(),
            verdicts: Vec::new(),
            numbers: Vec::new(),
            comparisons: Vec::new(),
            unequal: Vec::new(),
            ground: RecordGround {
                machine: record.machine.clone(),
                plan: record.plan.clone(),
                engine: engine_settings(&record.trials),
                asks: asks.collect(),
            },
        }
    }
}

/// The name of a record's page: plan and time for people, and a digest of what the campaign is.
/// Nothing in it changes when a campaign goes on.
fn name_of(record: &Record) -> String {
    let (plan, machine) = (&record.plan, &record.machine);
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    };
    add(&plan.name);
    add(&machine.host);
    add(&machine.started_at);
    plan.contenders.iter().for_each(|one| add(&one.name));
    plan.workloads.iter().for_each(|one| add(&one.name));
    let digest = hex(&digest.finalize()[..NAME_BYTES]);
    let time = machine.started_at.bytes().filter(u8::is_ascii_alphanumeric);
    // To the second: `20261122t072659`.
    let time: String = time
        .take(15)
        .map(|byte| char::from(byte).to_ascii_lowercase())
        .collect();
    let parts = [slug(&plan.name), time, digest];
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|it| !it.is_empty())
        .collect();
    parts.join("-")
}

/// Letters and digits of a text in lower case, and `-` between them.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        if slug.len() >= NAME_CHARACTERS {
            break;
        }
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// The server's folder name and the versions of each contender that ran.
fn versions(record: &Record) -> BTreeMap<String, (String, Vec<String>)> {
    let mut all: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for trial in &record.trials {
        let Some(server) = &trial.server else {
            continue;
        };
        if trial.kind != ContenderKind::Contender {
            continue;
        }
        let (_, versions) = all
            .entry(trial.contender.clone())
            .or_insert_with(|| (server.server.clone(), Vec::new()));
        if !server.version.is_empty() && !versions.contains(&server.version) {
            versions.push(server.version.clone());
        }
    }
    all
}

/// `nginx-tuned (nginx 1.28.0)`.
fn named(name: &str, server: Option<&str>, versions: &[String]) -> String {
    let what = version(server, versions);
    if what.is_empty() || what == name {
        name.to_owned()
    } else {
        format!("{name} ({what})")
    }
}

/// `nginx 1.28.0`.
fn version(server: Option<&str>, versions: &[String]) -> String {
    let parts = server.into_iter().map(str::to_owned);
    let parts = parts.chain((!versions.is_empty()).then(|| versions.join(", ")));
    parts.collect::<Vec<String>>().join(" ")
}

fn facets(record: &Record, versions: &BTreeMap<String, (String, Vec<String>)>) -> Facets {
    let (plan, machine) = (&record.plan, &record.machine);
    let mut servers: Vec<String> = versions
        .values()
        .map(|(server, _)| server.clone())
        .collect();
    servers.sort();
    servers.dedup();
    let protocols = plan
        .workloads
        .iter()
        .map(|it| it.protocol.name().to_owned());
    let protocols = distinct(protocols);
    let model = machine.cpu_model.as_deref();
    let hypervisor = machine.hypervisor_name();
    let parts = [
        Some(counted(u64::from(machine.cpus), "CPU")),
        model.map(str::to_owned),
        hypervisor.map(|name| format!("under {name}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let os = machine.os.as_deref();
    Facets {
        servers,
        workloads: plan.workloads.iter().map(|one| one.name.clone()).collect(),
        protocols,
        machine: format!("{}: {}", machine.host, parts.join(", ")),
        system: match os {
            Some(os) => format!("Linux {}, {os}", machine.kernel),
            None => format!("Linux {}", machine.kernel),
        },
        hosts: hosts(record),
    }
}

/// Where servers and load ran.
fn hosts(record: &Record) -> String {
    let mut trials = record.trials.iter();
    let Some(hosts) = trials.find_map(|trial| trial.hosts.as_ref()) else {
        return "servers and load on one machine".to_owned();
    };
    let names = |role: HostRole| -> Vec<&str> {
        let of_role = hosts.hosts.iter().filter(|host| host.roles.contains(&role));
        of_role.map(|host| host.name.as_str()).collect()
    };
    let part = |what: &str, names: Vec<&str>| {
        (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
    };
    let parts = [
        part("servers on", names(HostRole::Server)),
        part("upstream on", names(HostRole::Origin)),
        part("load from", names(HostRole::Generator)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let hosts = counted(hosts.hosts.len() as u64, "host");
    format!("{hosts}: {}", parts.join("; "))
}

/// The facts in which contenders of a workload do not do the same work.
fn unequal(report: &Report) -> Vec<(String, String)> {
    let workloads = report.equivalence.iter();
    let facts = workloads.flat_map(|one| {
        let unfair = one.rows.iter().filter(|row| row.class == Class::Unfair);
        unfair.map(|row| (one.workload.clone(), row.title.clone()))
    });
    facts.collect()
}

/// The numbers of a campaign: rates where they are free, latencies where the rate is given.
fn numbers(report: &Report) -> Vec<Number> {
    let cells = report.cells.iter().filter(|cell| cell.is_contender());
    cells.map(|cell| number(report, cell)).collect()
}

fn number(report: &Report, cell: &Cell) -> Number {
    let is_open = report.campaign.is_open(&cell.load);
    let (kind, metric) = if is_open {
        (Kind::Latency, Metric::LatencyP99Ns)
    } else {
        (Kind::Rate, Metric::RatePerS)
    };
    let verdict = cell.verdicts.of(metric.number());
    let estimate = cell.estimate(metric);
    let is_bound = kind == Kind::Rate && cell.rate_is_lower_bound;
    let value = estimate.map(|one| Span {
        low: one.low,
        point: Some(one.point),
        high: if is_bound { f64::INFINITY } else { one.high },
    });
    let unranked = match (verdict, value) {
        (crate::Verdict::Valid, Some(_)) => None,
        (crate::Verdict::Valid, None) => {
            let why = cell.missing.get(&metric);
            Some(why.cloned().unwrap_or_else(|| "no value".to_owned()))
        }
        (other, _) => Some(match blame(&cell.verdict.checks, metric.number()) {
            None => other.name().to_owned(),
            Some(check) => format!("{}: {}", other.name(), check.text),
        }),
    };
    let beside = |one: &&Cell| {
        one.kind == ContenderKind::Yardstick
            && one.workload == cell.workload
            && one.load == cell.load
    };
    let yardstick = report.cells.iter().find(beside);
    // As `bakeoff compare` takes it: its rate where that is free, else its cost.
    let of_yardstick = if is_open {
        Metric::CpuNsPerRequest
    } else {
        Metric::RatePerS
    };
    let load = report
        .campaign
        .loads
        .iter()
        .find(|one| one.label == cell.load);
    let mut facts = report.campaign.contenders.iter();
    let facts = facts.find(|one| one.name == cell.contender);
    Number {
        kind,
        workload: cell.workload.clone(),
        load: cell.load.clone(),
        title: load.map_or_else(|| cell.load.clone(), |load| load.title.clone()),
        contender: cell.contender.clone(),
        versions: facts.map_or_else(String::new, |one| {
            version(one.server.as_deref(), &one.versions)
        }),
        value,
        apart: 1.0,
        rounds: cell.rounds_measured,
        unranked,
        yardstick: yardstick.and_then(|one| Some(one.estimate(of_yardstick)?.point)),
    }
}

/// Why the result of a search is no confirmed pair of bounds.
fn not_regular(row: &FoundRow) -> Option<String> {
    match (row.irregular, row.confirmed) {
        (Some(irregular), _) => Some(irregular.name().to_owned()),
        (None, Some(true)) => None,
        (None, _) => Some("not confirmed".to_owned()),
    }
}

fn found(row: &FoundRow, known: Option<&(String, Vec<String>)>) -> Number {
    let value = row.lower_per_s.zip(row.upper_per_s);
    Number {
        kind: Kind::Capacity,
        workload: row.workload.clone(),
        load: row.goal.search.clone(),
        title: format!("highest rate with {}", row.goal.text),
        contender: row.contender.clone(),
        versions: known.map_or_else(String::new, |(server, versions)| {
            version(Some(server), versions)
        }),
        value: value.map(|(low, high)| Span {
            low,
            point: None,
            high,
        }),
        apart: searches_apart(row),
        rounds: row.behind.lower_servers,
        unranked: not_regular(row).or_else(|| value.is_none().then(|| "no bounds".to_owned())),
        yardstick: row.behind.yardstick_per_s,
    }
}

impl Kind {
    /// The metric by which a report compares such numbers.
    pub(super) fn metric(self) -> Option<Metric> {
        match self {
            Self::Rate => Some(Metric::RatePerS),
            Self::Latency => Some(Metric::LatencyP99Ns),
            Self::Capacity => None,
        }
    }

    /// Whether more of it is better.
    pub(super) fn more_is_better(self) -> bool {
        match self {
            Self::Rate | Self::Capacity => true,
            Self::Latency => false,
        }
    }
}

/// Whether a text is a time of RFC 3339 in UTC, as records have it: `2026-11-22T07:26:59Z`, with or
/// without parts of a second.
pub(super) fn is_time(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd";
    let Some((seconds, rest)) = text.split_at_checked(form.len()) else {
        return false;
    };
    let digits = rest.strip_prefix('.').and_then(|it| it.strip_suffix('Z'));
    let has_end = match digits {
        Some(digits) => {
            (1..=9).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit())
        }
        None => rest == "Z",
    };
    let pairs = seconds.bytes().zip(form.bytes());
    let is_formed = pairs.into_iter().all(|(byte, wanted)| match wanted {
        b'd' => byte.is_ascii_digit(),
        other => byte == other,
    });
    let within = |from: usize, least: u32, most: u32| {
        let number = seconds.get(from..from + 2).and_then(|it| it.parse().ok());
        number.is_some_and(|number: u32| (least..=most).contains(&number))
    };
    let is_day = within(5, 1, 12) && within(8, 1, 31);
    has_end && is_formed && is_day && within(11, 0, 23) && within(14, 0, 59) && within(17, 0, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_are_times() {
        for time in ["2026-11-22T07:26:59Z", "2026-11-22T07:26:59.123456789Z"] {
            assert!(is_time(time), "{time}");
        }
        for other in [
            "",
            "now",
            "2026-11-22",
            "2026-13-22T07:26:59Z",
            "2026-11-22T07:26:59",
            "2026-11-22T07:26:59.Z",
            "2026-11-22T07:26:59Z<script>",
            "2026-11-22T07:26:5\u{e9}Z",
        ] {
            assert!(!is_time(other), "{other}");
        }
    }
}
