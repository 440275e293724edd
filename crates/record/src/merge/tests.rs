//! The tallies of one engine, cut in parts and added up again, are those of the uncut engine.

use bakeoff_plan::{Load, LoadModel, Random};

use super::*;
use crate::observed::Balance;
use crate::outcome::{Outcome, OutcomeCounts};
use crate::quic::QuicLedger;

const PARTS: usize = 10;

/// A request that ended.
struct Ended {
    client: usize,
    url: usize,
    outcome: Outcome,
    latency_ns: u64,
    part: usize,
}

fn load() -> Load {
    Load {
        timeout_s: 5.0,
        ..Load::new(LoadModel::Closed { clients: 40 }, 1.0)
    }
}

fn ended(random: &mut Random, clients: u64) -> Vec<Ended> {
    let many = random.below(3_000);
    let one = |_| Ended {
        client: random.below(clients) as usize,
        url: random.below(3) as usize,
        outcome: match random.below(10) {
            0 => Outcome::Reset,
            1 => Outcome::Timeout,
            _ => Outcome::Ok,
        },
        latency_ns: 1 << random.below(36),
        part: random.below(PARTS as u64) as usize,
    };
    (0..many).map(one).collect()
}

/// What an engine with the clients `own` saw.
fn tally(all: &[Ended], own: std::ops::Range<usize>, keeps_each: bool) -> LoadResult {
    let mut result = LoadResult::empty(load(), 1.0);
    let mut clients = vec![(0_u64, 0_u64); own.len()];
    result.urls = (0..3).map(|at| url(&format!("/{at}"))).collect();
    result.intervals = (0..PARTS).map(interval).collect();
    result.schedule = Some(ScheduleKept {
        parts: (0..PARTS).map(due_part).collect(),
        ..ScheduleKept::default()
    });
    result.observed.in_flight = InFlight {
        step_s: 0.01,
        counts: vec![own.len() as u64; 100],
    };
    for each in all.iter().filter(|each| own.contains(&each.client)) {
        count(&mut result, each, &mut clients[each.client - own.start]);
    }
    let ended = result.outcomes.completed();
    result.requests.completed = ended;
    (result.requests.started, result.requests.begun) = (ended, ended);
    result.balance = Balance {
        begun: ended,
        ended,
        ..Balance::default()
    };
    result.quic = Some(QuicLedger {
        packets_sent: ended,
        ..QuicLedger::default()
    });
    result.connections.opened = own.len() as u64;
    result.engine.busy_share = vec![0.5; own.len()];
    result.threads = own.len() as u32;
    let usual_ns = result.latency.quantile(0.5).unwrap_or(0);
    result.observed.clients = Clients::of(&clients, usual_ns, 1.0, Some(0.25), keeps_each);
    result
}

fn count(result: &mut LoadResult, each: &Ended, client: &mut (u64, u64)) {
    let (outcome, latency_ns) = (each.outcome, each.latency_ns);
    result.outcomes.add(outcome);
    result.urls[each.url].outcomes.add(outcome);
    let part = &mut result.intervals[each.part];
    let kept = result.schedule.as_mut().expect("it has one");
    (kept.parts[each.part].due, kept.parts[each.part].ended) = (
        kept.parts[each.part].due + 1,
        kept.parts[each.part].ended + 1,
    );
    if outcome != Outcome::Ok {
        part.errors += 1;
        let ages = result.error_latencies.entry(outcome).or_default();
        ages.record(latency_ns);
        result.at_least.record(latency_ns);
        return;
    }
    part.ok += 1;
    part.latency.record(latency_ns);
    result.requests.ok += 1;
    *result.status.entry(200).or_default() += 1;
    result.latency.record(latency_ns);
    result.service.record(latency_ns / 2);
    result.first_byte.record(latency_ns / 3);
    result.urls[each.url].latency.record(latency_ns);
    result.bytes.read += latency_ns % 97;
    result.bytes.body += latency_ns % 89;
    *client = (client.0 + 1, client.1.max(latency_ns));
}

fn url(name: &str) -> UrlResult {
    UrlResult {
        url: name.to_owned(),
        outcomes: OutcomeCounts::default(),
        ..UrlResult::default()
    }
}

fn interval(at: usize) -> Interval {
    Interval {
        start_s: at as f64 / 10.0,
        length_s: 0.1,
        ok: 0,
        errors: 0,
        latency: Histogram::new(),
        failed: None,
    }
}

fn due_part(at: usize) -> DuePart {
    DuePart {
        start_s: at as f64 / 10.0,
        length_s: 0.1,
        ..DuePart::default()
    }
}

#[test]
fn parts_of_an_engine_add_up_to_the_whole() {
    for seed in 0..40 {
        let mut random = Random::labelled(seed, "merge");
        let clients = 1 + random.below(40) as usize;
        let all = ended(&mut random, clients as u64);
        let mut edges = vec![0, clients];
        let cuts = random.below(clients as u64);
        edges.extend((0..cuts).map(|_| random.below(clients as u64) as usize));
        edges.sort_unstable();
        edges.dedup();
        let parts = edges.windows(2);
        let parts: Vec<LoadResult> = parts
            .map(|edge| tally(&all, edge[0]..edge[1], true))
            .collect();
        let whole = tally(&all, 0..clients, false);
        assert_eq!(LoadResult::merge(&parts), Ok(whole.clone()), "seed {seed}");
        // What travels as JSON adds up the same.
        let text = serde_json::to_string(&parts).expect("it can be written");
        let read: Vec<LoadResult> = serde_json::from_str(&text).expect("it can be read");
        assert_eq!(LoadResult::merge(&read), Ok(whole), "seed {seed}");
    }
}

#[test]
fn percentiles_are_those_of_all_answers_and_no_mean_of_the_parts() {
    let mut fast = LoadResult::empty(load(), 1.0);
    fast.latency.record_n(1_000_000, 990);
    let mut slow = LoadResult::empty(load(), 1.0);
    slow.latency.record_n(100_000_000, 10);
    let all = LoadResult::merge(&[fast, slow]).expect("they add up");
    let near = |q, expected: u64| {
        let found = all.latency.quantile(q).expect("there are answers");
        assert!(found.abs_diff(expected) <= expected / 128, "{q}: {found}");
    };
    near(0.99, 1_000_000);
    near(0.999, 100_000_000);
}

#[test]
fn the_window_is_the_longest_and_warnings_come_once() {
    let mut short = LoadResult::empty(load(), 0.75);
    let mut long = LoadResult::empty(load(), 1.0);
    let warning = crate::load::Warning {
        code: "a".to_owned(),
        text: String::new(),
        hint: String::new(),
    };
    short.warnings.push(warning.clone());
    long.warnings.push(warning);
    short.negotiated.protocol = String::new();
    long.negotiated.protocol = "h2".to_owned();
    let all = LoadResult::merge(&[short, long]).expect("they add up");
    assert_eq!((all.measured_s, all.warnings.len()), (1.0, 1));
    assert_eq!(all.negotiated.protocol, "h2");
}

#[test]
fn where_clients_were_not_kept_one_by_one_the_worst_engine_counts() {
    let part = |min, p5, median, max| {
        let mut part = LoadResult::empty(load(), 1.0);
        part.observed.clients = Clients {
            count: 20,
            min,
            p5,
            median,
            max,
            none: 1,
            ..Clients::default()
        };
        part
    };
    let all = LoadResult::merge(&[part(0, 4, 50, 60), part(2, 3, 55, 90)]);
    let clients = all.expect("they add up").observed.clients;
    let figures = (clients.min, clients.p5, clients.median, clients.max);
    assert_eq!(figures, (0, 3, 50, 90));
    assert_eq!((clients.count, clients.none), (40, 2));
}

/// An agent may say anything.
#[test]
fn looks_without_a_time_between_them_are_not_added() {
    let looks = |step_s, counts: &[u64]| InFlight {
        step_s,
        counts: counts.to_vec(),
    };
    let own = looks(0.01, &[1, 2, 3]);
    for step_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut merged = own.clone();
        merged.merge(looks(step_s, &[5, 5, 5]));
        assert_eq!(merged, own, "{step_s}");
        let mut merged = looks(step_s, &[5]);
        merged.merge(own.clone());
        assert_eq!(merged.counts, [5], "{step_s}");
    }
    let mut merged = own;
    merged.merge(looks(1e300, &[7]));
    assert_eq!(merged.counts, [8]);
}

#[test]
fn parts_of_different_loads_are_refused_and_named() {
    let one = LoadResult::empty(load(), 1.0);
    let mut other = one.clone();
    other.seed = 2;
    let error = LoadResult::merge(&[one.clone(), one, other]).expect_err("another seed");
    assert_eq!(
        error.to_string(),
        "part 1 and part 3 are not of one load: they differ in the seed"
    );
    assert_eq!(LoadResult::merge(&[]), Err(MergeError::Nothing));
}
