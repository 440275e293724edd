//! A ladder of closed loops: with how many clients a server refuses, and with how many it slows.

use std::collections::BTreeMap;

use bakeoff_record::{LoadResult, TrialEnd, TrialRecord};
use serde::Serialize;

use super::OverloadClass;
use super::series::{Kind, Kinds, SHARE};
use crate::figures::{count, milliseconds, percent};
use crate::limits::ENGINE_BUSY_INVALID;

/// How many times as long as on the first rung 99 % of the answers take where it slows.
const SLOWER: f64 = 2.0;
/// Share of the best rung's goodput below which it has collapsed.
const COLLAPSED: f64 = 0.5;
/// How many times as long as 99 % of the answers take a load is in which a client without an answer
/// was left waiting.
const LONG: f64 = 3.0;

/// One closed loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Rung {
    /// Clients.
    pub clients: u32,
    /// Rounds that were measured.
    pub rounds: usize,
    /// Right answers per second; the median over rounds, as the others.
    pub ok_per_s: Option<f64>,
    /// Share of the requests that failed.
    pub failed_share: Option<f64>,
    /// Requests by how they failed, over all rounds.
    pub failed: Kinds,
    /// Clients without any answer.
    pub clients_without: Option<u64>,
    /// Median latency, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99 % of the right answers took no longer, nanoseconds.
    pub p99_ns: Option<u64>,
    /// What the server does there.
    pub classes: Vec<OverloadClass>,
    /// Why it was not measured, or what cannot be said of it.
    pub why: Option<String>,
}

/// All rungs of a contender.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ladder {
    /// The rungs, by rising number of clients.
    pub rungs: Vec<Rung>,
    /// What it does, and from how many clients on.
    pub summary: Vec<String>,
}

/// Judges the closed loops of one contender, each with its number of clients.
pub fn judge_ladder(trials: &[(u32, &TrialRecord)]) -> Ladder {
    let mut by_clients: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    for (clients, trial) in trials {
        by_clients.entry(*clients).or_default().push(trial);
    }
    let rungs = by_clients.into_iter();
    let mut rungs: Vec<Rung> = rungs
        .map(|(clients, trials)| rung(clients, &trials))
        .collect();
    let first_p99 = rungs.iter().find_map(|rung| rung.p99_ns);
    let best = best(&rungs);
    for rung in &mut rungs {
        classify(rung, first_p99, best);
    }
    Ladder {
        summary: summary(&rungs, first_p99),
        rungs,
    }
}

/// The rung with the most right answers per second, by its clients; the first one of equals.
fn best(rungs: &[Rung]) -> Option<(u32, f64)> {
    let known = rungs.iter();
    let known = known.filter_map(|rung| Some((rung.clients, rung.ok_per_s?)));
    known.reduce(|best, one| if one.1 > best.1 { one } else { best })
}

fn rung(clients: u32, trials: &[&TrialRecord]) -> Rung {
    let results: Vec<&LoadResult> = trials
        .iter()
        .filter(|trial| trial.end == TrialEnd::Measured)
        .filter_map(|trial| trial.result.as_ref())
        .collect();
    let mut rung = Rung {
        clients,
        rounds: results.len(),
        ..Rung::default()
    };
    for trial in trials {
        match &trial.end {
            TrialEnd::Failed { cause, .. } => {
                if trial.server_died().is_some() {
                    rung.classes = vec![OverloadClass::Crash];
                }
                rung.why.get_or_insert(cause.clone());
            }
            TrialEnd::Skipped { reason, .. } | TrialEnd::Unsupported { reason } => {
                rung.why.get_or_insert(reason.clone());
            }
            TrialEnd::Interrupted => {
                rung.why.get_or_insert("interrupted".to_owned());
            }
            TrialEnd::Measured => {}
        }
    }
    let (mut rates, mut shares, mut p50, mut p99, mut without) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for result in &results {
        let status = result.status.iter().map(|(status, n)| (*status, *n));
        let failed = Kinds::sorted(result.outcomes.iter(), status);
        rung.failed.merge(&failed);
        let ended = result.outcomes.completed().max(1) as f64;
        shares.push(failed.sum() as f64 / ended);
        if result.measured_s > 0.0 {
            rates.push(result.requests.ok as f64 / result.measured_s);
        }
        p50.extend(result.latency.quantile(0.5).map(|ns| ns as f64));
        p99.extend(result.latency.quantile(0.99).map(|ns| ns as f64));
        without.push(result.observed.clients.none as f64);
        if is_engine_busy(result) {
            let why = "the load engine was at its own limit: latencies are at most these";
            rung.why.get_or_insert(why.to_owned());
        }
    }
    let whole = |value: Option<f64>| value.map(|value| value as u64);
    rung.ok_per_s = middle(rates);
    rung.failed_share = middle(shares);
    rung.p50_ns = whole(middle(p50));
    rung.p99_ns = whole(middle(p99));
    rung.clients_without = whole(middle(without));
    let lengths = trials
        .iter()
        .map(|it| it.load.warmup_s + it.load.duration_s);
    if leaves_some(&rung, lengths.reduce(f64::min).unwrap_or(0.0)) {
        rung.classes.push(OverloadClass::Queue);
    }
    rung
}

/// Whether others are answered while clients wait, in a load that is too short for them to give up.
fn leaves_some(rung: &Rung, length_s: f64) -> bool {
    let is_long = |p99: u64| length_s * 1e9 > LONG * p99 as f64;
    let fails = rung.failed_share.is_some_and(|share| share >= SHARE);
    has_left(rung) && !fails && rung.p99_ns.is_some_and(is_long)
}

/// Whether enough clients have no answer to be what the server does.
fn has_left(rung: &Rung) -> bool {
    let without = rung.clients_without.unwrap_or(0) as f64;
    without > 0.0 && without >= SHARE * f64::from(rung.clients)
}

fn is_engine_busy(result: &LoadResult) -> bool {
    let threads = result.engine.threads.iter();
    let most = threads.map(|thread| thread.cpu_s).reduce(f64::max);
    most.is_some_and(|most| most > ENGINE_BUSY_INVALID * result.measured_s)
}

/// The median; the lower one of the two in the middle where their number is even.
fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

fn classify(rung: &mut Rung, first_p99: Option<u64>, best: Option<(u32, f64)>) {
    if rung.rounds == 0 {
        return;
    }
    let ok = rung.ok_per_s.unwrap_or(0.0);
    let failed = rung.failed;
    // A share of all requests, as the share that failed is.
    let share = |kinds: &[Kind]| {
        let of: u64 = kinds.iter().map(|kind| failed.of(*kind)).sum();
        let all = failed.sum().max(1) as f64;
        rung.failed_share.unwrap_or(0.0) * of as f64 / all
    };
    let mut classes = rung.classes.clone();
    let mut add = |class, is: bool| {
        if is && !classes.contains(&class) {
            classes.push(class);
        }
    };
    add(OverloadClass::Refuse, share(&[Kind::Refused]) >= SHARE);
    add(OverloadClass::Drop, share(&[Kind::Dropped]) >= SHARE);
    add(OverloadClass::Reset, share(&[Kind::Reset]) >= SHARE);
    add(OverloadClass::Shed, share(&[Kind::Busy]) >= SHARE);
    let slower = rung.p99_ns.zip(first_p99);
    let slower = slower.is_some_and(|(p99, first)| p99 as f64 >= SLOWER * first as f64);
    let late = share(&[Kind::Timeout]) >= SHARE;
    add(OverloadClass::Queue, ok > 0.0 && (slower || late));
    // In a short load no client gives up: then nothing has ended at all.
    let is_silent = late || failed.sum() == 0;
    add(OverloadClass::Stall, ok <= 0.0 && is_silent);
    // Fewer clients than those of the best rung may be too few to keep the server busy.
    let collapsed = best.is_some_and(|(clients, per_s)| {
        rung.clients > clients && per_s > 0.0 && ok < COLLAPSED * per_s
    });
    add(
        OverloadClass::Collapse,
        collapsed && failed.sum() > failed.of(Kind::Local),
    );
    classes.sort();
    rung.classes = classes;
}

/// Share of a rung's requests that a class is about.
fn share_of(rung: &Rung, class: OverloadClass) -> f64 {
    let kind = match class {
        OverloadClass::Refuse => Kind::Refused,
        OverloadClass::Drop => Kind::Dropped,
        OverloadClass::Reset => Kind::Reset,
        OverloadClass::Shed => Kind::Busy,
        _ => return rung.failed_share.unwrap_or(0.0),
    };
    let all = rung.failed.sum().max(1) as f64;
    rung.failed_share.unwrap_or(0.0) * rung.failed.of(kind) as f64 / all
}

fn summary(rungs: &[Rung], first_p99: Option<u64>) -> Vec<String> {
    let mut lines = Vec::new();
    for class in OverloadClass::ALL {
        let Some(from) = rungs.iter().find(|rung| rung.classes.contains(&class)) else {
            continue;
        };
        let last = rungs.iter().rfind(|rung| rung.classes.contains(&class));
        let last = last.unwrap_or(from);
        let (clients, most) = (clients_of(from), clients_of(last));
        let verb = class.verb();
        let without = last.clients_without.unwrap_or(0);
        lines.push(match (class, first_p99.zip(last.p99_ns)) {
            (OverloadClass::Queue, Some((first, p99)))
                if has_left(last) && (p99 as f64) < SLOWER * first as f64 =>
            {
                format!(
                    "{verb} from {clients} clients on: {} of {most} have no answer",
                    count(without)
                )
            }
            (OverloadClass::Stall, _) if last.failed.sum() == 0 => {
                format!("{verb} from {clients} clients on: none of {most} has an answer")
            }
            (OverloadClass::Queue, Some((first, p99))) => format!(
                "{verb} from {clients} clients on: p99 goes from {} to {} with {most}",
                milliseconds(first as f64),
                milliseconds(p99 as f64)
            ),
            (OverloadClass::Crash, _) => format!("{verb} under {clients} clients"),
            (OverloadClass::Queue | OverloadClass::Stall | OverloadClass::Collapse, _) => format!(
                "{verb} from {clients} clients on, and {} of the requests fail with {most}",
                percent(last.failed_share.unwrap_or(0.0))
            ),
            _ => format!(
                "{verb} from {clients} clients on: {} of the requests with {most}",
                percent(share_of(last, class))
            ),
        });
    }
    let mut measured = rungs.iter().filter(|rung| rung.rounds > 0);
    if lines.is_empty() {
        lines.extend(measured.clone().next_back().map(as_few));
    }
    // One that was measured all the same.
    let doubted = measured.find_map(|rung| Some((clients_of(rung), rung.why.as_ref()?)));
    lines.extend(doubted.map(|(clients, why)| format!("with {clients} clients: {why}")));
    for rung in rungs.iter().filter(|rung| rung.rounds == 0) {
        let why = rung.why.as_deref().unwrap_or("it was not measured");
        let clients = clients_of(rung);
        lines.push(format!("{clients} clients were not measured: {why}"));
    }
    lines
}

/// Its number of clients as text.
fn clients_of(rung: &Rung) -> String {
    count(u64::from(rung.clients))
}

/// What a rung does in which no class was found.
fn as_few(most: &Rung) -> String {
    if let Some(failed) = most.failed_share.filter(|share| *share >= SHARE) {
        return format!(
            "{} of the requests of {} clients failed, in none of the ways that have a name",
            percent(failed),
            clients_of(most)
        );
    }
    let without = most.clients_without.filter(|without| *without > 0);
    let without = without.map_or(String::new(), |without| {
        format!(", but for {} without an answer", count(without))
    });
    format!(
        "answers {} clients as it answers few{without}",
        clients_of(most)
    )
}
