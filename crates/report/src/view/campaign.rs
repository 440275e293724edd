//! What was run, and on what.

use bakeoff_plan::{Arrival, Content, Load, LoadModel, Request, Requests, Workload};
use bakeoff_record::{ContenderKind, Machine, Record, TrialEnd};
use bakeoff_stats::{CONFIDENCE_ROUNDS, Cell, IntervalKind};
use serde::Serialize;

use crate::number::{bytes, counted, digits};

/// Requests of a list that a report shows.
const REQUESTS_SHOWN: usize = 5;

/// What was run, and on what.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// What `low` and `high` of an estimate are in this campaign.
    pub interval: IntervalFacts,
    /// The machine.
    pub machine: Machine,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IntervalFacts {
    /// Kind, as in every estimate.
    pub kind: IntervalKind,
    /// In words.
    pub text: String,
}

/// A contender as it ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContenderFacts {
    /// Name.
    pub name: String,
    /// What it is to the campaign.
    pub kind: ContenderKind,
    /// Folder name of the server; `None` when no trial came so far.
    pub server: Option<String>,
    /// Version as the program told it; several when it changed during the campaign.
    pub versions: Vec<String>,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadFacts {
    /// Name.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// What is asked, in words: method and target, or how many requests and the first few.
    pub request: String,
    /// What is expected, in words.
    pub expects: String,
    /// Requests in the list.
    pub requests_total: usize,
    /// The first of them.
    pub requests: Vec<RequestFacts>,
    /// Whether an upstream answers behind the server.
    pub proxied: bool,
    /// What was demanded of that upstream, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// How requests travel: `h1`, `h1-tls`, `h2`, `h2c`.
    pub protocol: &'static str,
    /// What a reader should know of it: of a replay, what was left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One of the requests of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadFacts {
    /// Label, as in cells.
    pub label: String,
    /// In words: `10 clients`.
    pub title: String,
    /// `closed` or `open`.
    pub model: &'static str,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TrialCounts {
    /// All in the record.
    pub recorded: usize,
    /// A window was measured.
    pub measured: usize,
    /// Something went wrong at a step.
    pub failed: usize,
    /// Not attempted.
    pub skipped: usize,
    /// The server cannot do the workload.
    pub unsupported: usize,
    /// Stopped by the user.
    pub interrupted: usize,
}

pub(super) fn draw(record: &Record, cells: &[Cell<'_>]) -> Campaign {
    let plan = &record.plan;
    Campaign {
        name: plan.name.clone(),
        description: plan.description.clone(),
        rounds: plan.rounds,
        seed: plan.seed,
        rest_s: plan.rest.as_secs_f64(),
        interval: interval(plan.rounds),
        machine: record.machine.clone(),
        contenders: contenders(record, cells),
        workloads: plan.workloads.iter().map(workload).collect(),
        loads: plan.loads.iter().map(load).collect(),
        trials: trials(cells),
    }
}

fn interval(rounds: u32) -> IntervalFacts {
    let kind = if rounds as usize >= CONFIDENCE_ROUNDS {
        IntervalKind::MedianConfidence95
    } else {
        IntervalKind::Range
    };
    IntervalFacts {
        kind,
        text: kind.words().into(),
    }
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
        if !one.versions.contains(&server.version) {
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
        request: asked_words(&workload.requests),
        expects: expected_words(&workload.requests),
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
fn asked_words(requests: &Requests) -> String {
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
fn expected_words(requests: &Requests) -> String {
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

fn load(load: &Load) -> LoadFacts {
    let clients = load.clients();
    let mut clients_text = counted(u64::from(clients), "client");
    if load.streams > 1 {
        clients_text += &format!(" x {} streams", load.streams);
    }
    if let Some(requests) = load.requests {
        clients_text += &format!(", {}", counted(requests, "request"));
    }
    let (model, title, rate_per_s) = match &load.model {
        LoadModel::Closed { .. } => ("closed", clients_text, None),
        LoadModel::OpenShare { capacity_share, .. } => {
            let share = digits(*capacity_share * 100.0);
            let title = format!("{share} % of the slowest capacity, {clients_text}");
            ("open", title, None)
        }
        LoadModel::Open {
            rate_per_s,
            arrival,
            ..
        } => {
            let gaps = match arrival {
                Arrival::Constant => "constant",
                Arrival::Poisson => "Poisson",
            };
            let title = format!("{} requests/s, {gaps}, {clients_text}", digits(*rate_per_s));
            ("open", title, Some(*rate_per_s))
        }
    };
    LoadFacts {
        label: load.label(),
        title,
        model,
        clients,
        streams: load.streams,
        requests: load.requests,
        rate_per_s,
        warmup_s: load.warmup_s,
        duration_s: load.duration_s,
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
