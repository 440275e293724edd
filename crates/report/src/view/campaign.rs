//! What was run, and on what.

use bakeoff_plan::{Arrival, Content, Load, LoadModel, Request, Requests, Workload};
use bakeoff_record::{ContenderKind, Machine, Record, TrialEnd};
use bakeoff_stats::{CONFIDENCE_ROUNDS, Cell, IntervalKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::Link;
use crate::number::{bytes, counted, digits, share, trimmed};

/// Requests of a list that a report shows.
const REQUESTS_SHOWN: usize = 5;

/// What was run, and on what.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Campaign {
    /// Name of the plan.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Rounds planned.
    pub rounds: u32,
    /// Seed of the order of trials.
    pub seed: u64,
    /// Pause between trials, seconds.
    pub rest_s: f64,
    /// What each number is, for people.
    pub caption: String,
    /// What `low` and `high` of an estimate are in this campaign.
    pub interval: IntervalFacts,
    /// The machine.
    pub machine: Machine,
    /// What the network between hosts carried; left out where one machine did everything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Contenders in the plan's order, then the references that were measured.
    pub contenders: Vec<ContenderFacts>,
    /// Workloads in the plan's order.
    pub workloads: Vec<WorkloadFacts>,
    /// Loads in the plan's order.
    pub loads: Vec<LoadFacts>,
    /// Trials by how they ended.
    pub trials: TrialCounts,
}

/// What `low` and `high` of an estimate are.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IntervalFacts {
    /// Kind, as in every estimate.
    pub kind: IntervalKind,
    /// The caption as text.
    pub text: String,
    /// Rounds behind the numbers of the contender that has fewest.
    pub rounds_least: usize,
    /// Rounds behind the numbers of the contender that has most.
    pub rounds_most: usize,
}

/// A contender as it ran.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ContenderFacts {
    /// Name.
    pub name: String,
    /// What it is to the campaign.
    pub kind: ContenderKind,
    /// Folder name of the server; `None` when no trial came so far.
    pub server: Option<String>,
    /// Version as the program reports it; several when it changed during the campaign.
    pub versions: Vec<String>,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkloadFacts {
    /// Name.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// What is asked, as text: method and target, or how many requests and the first few.
    pub request: String,
    /// What is expected, as text.
    pub expects: String,
    /// Requests in the list.
    pub requests_total: usize,
    /// The first of them.
    pub requests: Vec<RequestFacts>,
    /// Whether an upstream answers behind the server.
    pub proxied: bool,
    /// What was demanded of that upstream, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// How requests travel: `h1`, `h1-tls`, `h2`, `h2c`.
    pub protocol: &'static str,
    /// What a reader should know of it: what was left out of a replay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One of the requests of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RequestFacts {
    /// Method and target.
    pub request: String,
    /// How often it is sent, relative to the others.
    pub weight: u32,
    /// Request headers.
    pub headers: Vec<(String, String)>,
    /// Length of the body that is sent with it, bytes; null without one.
    pub sent_bytes: Option<usize>,
    /// Expected status.
    pub expect_status: u16,
    /// Length of the expected body, bytes; null where any will do.
    pub body_bytes: Option<usize>,
}

/// How hard it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LoadFacts {
    /// Label, as in cells.
    pub label: String,
    /// The load as text: `10 clients`.
    pub title: String,
    /// The load in a few characters: `10 c`, `500/s`.
    pub short: String,
    /// `closed` or `open`.
    pub model: &'static str,
    /// Whether it gives the rate.
    #[serde(skip)]
    pub is_open: bool,
    /// Connections.
    pub clients: u32,
    /// Requests in flight on each.
    pub streams: u32,
    /// Requests that it ended after; null by time alone.
    pub requests: Option<u64>,
    /// Requests per second of an open loop.
    pub rate_per_s: Option<f64>,
    /// Warm-up, seconds.
    pub warmup_s: f64,
    /// Measured time, seconds.
    pub duration_s: f64,
}

/// Trials by how they ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrialCounts {
    /// All in the record.
    pub recorded: usize,
    /// A window was measured.
    pub measured: usize,
    /// Something went wrong at a step.
    pub failed: usize,
    /// Trials that were not attempted.
    pub skipped: usize,
    /// The server cannot do the workload.
    pub unsupported: usize,
    /// Stopped by the user, or not begun because a host was lost.
    pub interrupted: usize,
}

pub(super) fn draw(record: &Record, cells: &[Cell<'_>], shown: &[super::Cell]) -> Campaign {
    let plan = &record.plan;
    let interval = interval(shown);
    Campaign {
        name: plan.name.clone(),
        description: plan.description.clone(),
        rounds: if plan.has_fixed_rounds() {
            plan.rounds
        } else {
            record.rounds_begun()
        },
        seed: plan.seed,
        rest_s: plan.rest.as_secs_f64(),
        caption: caption(&interval, fewest(shown)),
        interval,
        machine: record.machine.clone(),
        links: super::links::draw(record),
        contenders: contenders(record, cells),
        workloads: plan.workloads.iter().map(workload).collect(),
        loads: loads(record, cells),
        trials: trials(cells),
    }
}

/// What the intervals are, by the rounds that were measured, which may be fewer than were planned.
fn interval(shown: &[super::Cell]) -> IntervalFacts {
    let estimates = shown
        .iter()
        .flat_map(|cell| cell.estimates.values().flatten());
    let kinds: Vec<IntervalKind> = estimates.map(|one| one.interval).collect();
    let contenders = shown.iter().filter(|cell| cell.is_contender());
    let measured = contenders.map(|cell| cell.rounds_measured);
    let measured: Vec<usize> = measured.filter(|rounds| *rounds > 0).collect();
    let range = kinds
        .iter()
        .filter(|kind| **kind == IntervalKind::Range)
        .count();
    let kind = if range < kinds.len() {
        IntervalKind::MedianConfidence95
    } else {
        IntervalKind::Range
    };
    let text = if range > 0 && range < kinds.len() {
        format!(
            "{}, of fewer than {CONFIDENCE_ROUNDS} rounds the {}",
            IntervalKind::MedianConfidence95.caption(),
            IntervalKind::Range.caption()
        )
    } else {
        kind.caption().to_owned()
    };
    IntervalFacts {
        kind,
        text,
        rounds_least: measured.iter().copied().min().unwrap_or(0),
        rounds_most: measured.iter().copied().max().unwrap_or(0),
    }
}

/// Rounds of the number that has fewest: those that were set aside for it alone are its cell's.
fn fewest(shown: &[super::Cell]) -> usize {
    let estimates = shown.iter().flat_map(|cell| cell.estimates.values());
    let fewest = estimates.flatten().map(|one| one.n).min();
    fewest.unwrap_or(usize::MAX)
}

fn caption(interval: &IntervalFacts, fewest: usize) -> String {
    let rounds = match (interval.rounds_least.min(fewest), interval.rounds_most) {
        (_, 0) => return "Nothing was measured.".to_owned(),
        (1, 1) => "of one round".to_owned(),
        (least, most) if least == most => format!("the median of {most} rounds"),
        (least, most) => format!("the median of {least} to {most} rounds"),
    };
    format!(
        "Each number is {rounds}, each with a fresh server; low to high is the {}. Latencies are \
         of ok responses only; requests are of one round; errors are the share of all requests \
         asked for, over all rounds.",
        interval.text
    )
}

impl Campaign {
    /// Whether a load gives the rate.
    pub(crate) fn is_open(&self, label: &str) -> bool {
        let mut loads = self.loads.iter();
        loads.any(|load| load.label == label && load.is_open)
    }
}

/// The plan's loads, and after them those that were found during the campaign.
fn loads(record: &Record, cells: &[Cell<'_>]) -> Vec<LoadFacts> {
    let mut facts: Vec<LoadFacts> = Vec::new();
    let trials = cells
        .iter()
        .filter_map(|cell| Some((&cell.key.load, *cell.trials.first()?)));
    let found = trials.map(|(label, trial)| (label.clone(), &trial.load));
    let planned = record.plan.loads.iter().map(|load| (load.label(), load));
    for (label, one) in planned.chain(found) {
        if !facts.iter().any(|known| known.label == label) {
            facts.push(load(label, one));
        }
    }
    facts
}

fn contenders(record: &Record, cells: &[Cell<'_>]) -> Vec<ContenderFacts> {
    let mut facts: Vec<ContenderFacts> = Vec::new();
    let blank = |name: &str, kind| ContenderFacts {
        name: name.into(),
        kind,
        server: None,
        versions: Vec::new(),
    };
    for contender in &record.plan.contenders {
        facts.push(blank(&contender.name, ContenderKind::Contender));
    }
    for trial in cells.iter().flat_map(|cell| &cell.trials) {
        let known = facts.iter().position(|one| one.name == trial.contender);
        let index = known.unwrap_or_else(|| {
            facts.push(blank(&trial.contender, trial.kind));
            facts.len() - 1
        });
        let Some(server) = &trial.server else {
            continue;
        };
        let one = &mut facts[index];
        one.kind = trial.kind;
        one.server = Some(server.server.clone());
        // A command and a URL have none.
        if !server.version.is_empty() && !one.versions.contains(&server.version) {
            one.versions.push(server.version.clone());
        }
    }
    facts.sort_by_key(|one| one.kind != ContenderKind::Contender);
    facts
}

fn workload(workload: &Workload) -> WorkloadFacts {
    WorkloadFacts {
        name: workload.name.clone(),
        description: workload.description.clone(),
        request: asked_text(&workload.requests),
        expects: expected_text(&workload.requests),
        requests_total: workload.requests.len(),
        requests: workload
            .requests
            .iter()
            .take(REQUESTS_SHOWN)
            .map(request)
            .collect(),
        proxied: workload.proxied,
        origin: workload.origin.as_ref().map(ToString::to_string),
        protocol: workload.protocol.name(),
        notes: workload.notes.clone(),
    }
}

fn request(request: &Request) -> RequestFacts {
    RequestFacts {
        request: request.name(),
        weight: request.weight,
        headers: request.headers.clone(),
        sent_bytes: request.body.as_ref().map(|body| body.content.length()),
        expect_status: request.expect.status,
        body_bytes: request.expect.body.as_ref().map(Content::length),
    }
}

/// The one request, or how many there are and the first few with their weights.
fn asked_text(requests: &Requests) -> String {
    if requests.len() == 1 {
        return requests.first().name();
    }
    let first = requests.iter().take(REQUESTS_SHOWN);
    let first: Vec<String> = first
        .map(|one| format!("{} x{}", one.name(), one.weight))
        .collect();
    let more = if requests.len() > first.len() {
        ", ..."
    } else {
        ""
    };
    format!("{} requests: {}{more}", requests.len(), first.join(", "))
}

/// The answer that the one request expects, or the statuses of several, each once.
fn expected_text(requests: &Requests) -> String {
    let expect = &requests.first().expect;
    if requests.len() == 1 {
        return match &expect.body {
            Some(body) => format!("{} and {}", expect.status, bytes(body.length() as f64)),
            None => format!("{} and any body", expect.status),
        };
    }
    let mut statuses: Vec<u16> = requests.iter().map(|one| one.expect.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
    statuses.join(", ")
}

fn load(label: String, load: &Load) -> LoadFacts {
    let clients = load.clients();
    let mut clients_text = counted(u64::from(clients), "client");
    if load.streams > 1 {
        clients_text += &format!(" x {} streams", load.streams);
    }
    if let Some(requests) = load.requests {
        clients_text += &format!(", {}", counted(requests, "request"));
    }
    let (asked, arrival, rate_per_s) = match &load.model {
        LoadModel::Closed { .. } => (String::new(), None, None),
        LoadModel::Open {
            rate_per_s,
            arrival,
            ..
        } => {
            let asked = format!("{} requests/s", digits(*rate_per_s));
            (asked, Some(arrival), Some(*rate_per_s))
        }
        LoadModel::OpenShare {
            capacity_share,
            arrival,
            ..
        } => {
            let share = share(*capacity_share);
            let asked = format!("{share} % of the slowest contender's capacity");
            (asked, Some(arrival), None)
        }
        LoadModel::Sought(it) => ("sought rate".to_owned(), Some(&it.arrival), None),
        LoadModel::Overload(it) => ("overload".to_owned(), Some(&it.arrival), None),
    };
    let gaps = arrival.map(|arrival| match arrival {
        Arrival::Constant => format!("{asked}, constant, "),
        Arrival::Poisson => format!("{asked}, Poisson, "),
    });
    let title = gaps.unwrap_or_default() + &clients_text;
    let is_open = load.model.is_open();
    LoadFacts {
        label,
        title,
        short: short_load(load),
        model: if is_open { "open" } else { "closed" },
        is_open,
        clients,
        streams: load.streams,
        requests: load.requests,
        rate_per_s,
        warmup_s: load.warmup_s,
        duration_s: load.duration_s,
    }
}

/// A load in a few characters: `10 c`, `500/s`, `1.6/s`, `50 %`.
pub(super) fn short_load(load: &Load) -> String {
    let short = match &load.model {
        LoadModel::Closed { clients } => format!("{clients} c"),
        LoadModel::Open { rate_per_s, .. } => format!("{}/s", trimmed(*rate_per_s)),
        LoadModel::OpenShare { capacity_share, .. } => format!("{} %", share(*capacity_share)),
        LoadModel::Sought(_) => "sought".to_owned(),
        LoadModel::Overload(_) => "overload".to_owned(),
    };
    match load.streams {
        1 => short,
        streams => format!("{short} x {streams}"),
    }
}

fn trials(cells: &[Cell<'_>]) -> TrialCounts {
    let mut counts = TrialCounts::default();
    for trial in cells.iter().flat_map(|cell| &cell.trials) {
        counts.recorded += 1;
        match trial.end {
            TrialEnd::Measured => counts.measured += 1,
            TrialEnd::Failed { .. } => counts.failed += 1,
            TrialEnd::Skipped { .. } => counts.skipped += 1,
            TrialEnd::Unsupported { .. } => counts.unsupported += 1,
            TrialEnd::Interrupted => counts.interrupted += 1,
        }
    }
    counts
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Twice the capacity was "100 % of the slowest contender's capacity", and 12.5 % were 12 %.
    #[test]
    fn a_load_beyond_the_capacity_is_named_as_one() {
        let rows = [
            (0.5, "50 %"),
            (0.125, "12.5 %"),
            (1.0, "100 %"),
            (1.5, "150 %"),
            (10.0, "1000 %"),
        ];
        for (capacity_share, text) in rows {
            let model = LoadModel::OpenShare {
                capacity_share,
                arrival: Arrival::Poisson,
                clients: 50,
            };
            let one = Load {
                warmup_s: 1.0,
                ..Load::new(model, 5.0)
            };
            let facts = load(one.label(), &one);
            let title = format!("{text} of the slowest contender's capacity, Poisson, 50 clients");
            assert_eq!((facts.title, facts.short), (title, text.to_owned()));
        }
    }
}
