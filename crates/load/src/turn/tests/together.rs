//! Several engines that carry out one load together do what one engine would have done: the same
//! requests at the same times, and the same counts.

use std::cell::RefCell;

use bakeoff_record::{LoadResult, UrlResult};

use super::schedule::planned;
use super::*;
use crate::driver::invented::Act;
use crate::turn::held_until;

/// When every engine begins: all have connected by then.
const START: u64 = BEGIN + SECOND;

/// What one engine comes to that begins at [`START`]; adds the time of each request to `times`.
/// How long an answer takes depends on the time alone.
fn engine(spec: &LoadSpec, times: &RefCell<Vec<u64>>) -> LoadResult {
    let control = Control::held();
    control.begin_at(START);
    assert_eq!(control.began_ns(), None);
    let server = || {
        Server::new(|asked| {
            times.borrow_mut().push(asked.now - START);
            asked.hello(us(200 + asked.now / ms(1) % 7 * 300))
        })
    };
    let thread = |share| {
        let server = match spec.speaking {
            Speaking::H2c => server().over_h2(),
            _ => server(),
        };
        let mut prepared = prepared(spec, server, share, Costs::default(), &control);
        prepared.prepare().expect("nothing fails in memory");
        prepared.run(START).expect("nothing fails in memory")
    };
    let counts = spec.shares().into_iter().map(thread).collect();
    assert_eq!(control.began_ns(), Some(START));
    let mut result = result(spec, counts);
    // That of the test's own process.
    result.engine.rss_bytes_max = 0;
    result
}

/// The load over engines of so many threads each: when each request was sent, and what the
/// engines came to together.
fn together(spec: &LoadSpec, engines: &[u32]) -> (Vec<u64>, LoadResult) {
    let times = RefCell::new(Vec::new());
    let threads = Threads::divide(spec.load.clients(), engines).expect("enough clients");
    let part = |threads| {
        let spec = LoadSpec {
            threads,
            ..spec.clone()
        };
        engine(&spec, &times)
    };
    let parts: Vec<LoadResult> = threads.into_iter().map(part).collect();
    let merged = LoadResult::merge(&parts).expect("they are parts of one load");
    (sorted(times), merged)
}

/// The same by one engine.
fn alone(spec: &LoadSpec, threads: u32) -> (Vec<u64>, LoadResult) {
    let mut spec = spec.clone();
    spec.threads.count = threads;
    let times = RefCell::new(Vec::new());
    let result = engine(&spec, &times);
    (sorted(times), result)
}

fn sorted(times: RefCell<Vec<u64>>) -> Vec<u64> {
    let mut times = times.into_inner();
    times.sort_unstable();
    times
}

/// Engines of so many threads each do exactly what one engine with all of them does.
#[track_caller]
fn check(spec: &LoadSpec, engines: &[u32]) {
    let (one_by_one, whole) = alone(spec, engines.iter().sum());
    let (together, merged) = together(spec, engines);
    assert!(whole.requests.ok > 0);
    assert_eq!(together, one_by_one);
    assert_eq!(merged, whole);
}

fn poisson(rate_per_s: f64, clients: u32) -> LoadSpec {
    let mut spec = open(rate_per_s, clients);
    spec.load.model = LoadModel::Open {
        rate_per_s,
        arrival: Arrival::Poisson,
        clients,
    };
    spec
}

/// The load with three kinds of requests, distinguished in the results only.
fn mixed(mut spec: LoadSpec) -> LoadSpec {
    let names = ["/one", "/two", "/three"].into_iter().zip([1, 5, 3]);
    let kinds = names.map(|(name, weight)| Exchange {
        name: name.to_owned(),
        weight,
        ..spec.exchanges[0].clone()
    });
    spec.exchanges = kinds.collect();
    spec
}

#[test]
fn engines_with_the_same_threads_are_one_engine() {
    let mut warm = mixed(poisson(2_000.0, 50));
    warm.load.warmup_s = 0.5;
    check(&warm, &[2, 2]);
    check(&warm, &[1, 3, 2]);
    check(&mixed(closed(10)), &[3, 1]);
    check(&counted(7, 1_000), &[2, 2]);
    let mut by_count = poisson(2_000.0, 50);
    by_count.count = Some(1_001);
    check(&by_count, &[2, 1]);
    check(&over_h2(open(1_000.0, 4), 8), &[1, 1]);
    let mut ramp = open(200.0, 9);
    ramp.shape = RateShape::Ramp { to_per_s: 900.0 };
    check(&ramp, &[2, 1]);
}

#[test]
fn two_generators_keep_the_schedule_of_one_to_the_request() {
    let mut spec = poisson(10_000.0, 100);
    spec.load.warmup_s = 0.25;
    // Who sleeps until the next request is due counts answers to the part in which it wakes.
    spec.pacing.waiting = Waiting::Spin;
    let (one_by_one, whole) = alone(&spec, 1);
    let (together, merged) = together(&spec, &[1, 1]);
    assert_eq!(one_by_one, planned(&spec));
    assert_eq!(together, planned(&spec));
    // One thread more spreads requests over connections in another way. All else is the same.
    let reported = |result: &LoadResult| LoadResult {
        threads: 0,
        engine: Default::default(),
        observed: Default::default(),
        ..result.clone()
    };
    assert_eq!(reported(&merged), reported(&whole));
    assert_eq!(merged.observed.in_flight, whole.observed.in_flight);
    assert_eq!(merged.requests.due, Some(whole.requests.ok));
    let kept = merged.schedule.as_ref().expect("an open loop has one");
    assert_eq!((kept.slip.max(), kept.wait.count()), (Some(0), 0));
}

#[test]
fn a_count_is_divided_and_every_request_is_of_one_generator() {
    let (times, merged) = together(&mixed(counted(5, 997)), &[1, 1]);
    assert_eq!((times.len(), merged.requests.ok), (997, 997));
    assert_eq!(merged.connections.opened, 5);
    let by_url = |each: &UrlResult| each.outcomes.completed();
    assert_eq!(merged.urls.iter().map(by_url).sum::<u64>(), 997);
}

#[test]
fn the_start_is_waited_for_when_connections_are_open() {
    let (spec, control) = (open(1_000.0, 100), Control::held());
    let server = Server::after(us(100)).on_open(|number, _| {
        // Whoever names the start does so after the last connection.
        if number == 99 {
            control.begin_at(START);
        }
        Vec::new()
    });
    let mut prepared = prepared(&spec, server, ALONE, Costs::default(), &control);
    prepared.prepare().expect("nothing fails in memory");
    let held = prepared.wait_until(|now| held_until(&control, now));
    held.expect("nothing fails in memory");
    let counts = prepared.run(START).expect("nothing fails in memory");
    assert_eq!(control.began_ns(), Some(START));
    let result = result(&spec, vec![counts]);
    assert_eq!(
        (result.requests.ok, result.connections.opened),
        (1_000, 100)
    );
    let kept = result.schedule.expect("an open loop has one");
    assert_eq!(kept.slip.max(), Some(0));
}

#[test]
fn a_ramp_of_many_gaps_is_kept_to_its_end() {
    let mut spec = closed(100);
    spec.load.connect = Connect::First;
    spec.connections.ramp_gap = Duration::from_millis(500);
    let opened = RefCell::new(Vec::new());
    let server = Server::after(us(100)).on_open(|_, now| {
        opened.borrow_mut().push(now);
        Vec::new()
    });
    let control = Control::default();
    let mut prepared = prepared(&spec, server, ALONE, Costs::default(), &control);
    prepared.prepare().expect("nothing fails in memory");
    drop(prepared);
    let opened = opened.into_inner();
    assert_eq!(opened.len(), 100);
    let gaps = opened.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.clone().all(|gap| gap >= ms(499)), "{:?}", gaps.min());
}

#[test]
fn a_start_that_is_named_too_early_shows_when_the_load_began() {
    let (spec, control) = (open(1_000.0, 100), Control::held());
    let start = BEGIN + ms(1);
    let server = Server::after(us(100));
    let mut prepared = prepared(&spec, server, ALONE, Costs::default(), &control);
    prepared.prepare().expect("nothing fails in memory");
    let counts = prepared.run(start).expect("nothing fails in memory");
    assert_eq!(control.began_ns(), Some(zero(100)));
    // What was due before is sent then, late by the engine's doing.
    let result = result(&spec, vec![counts]);
    assert_eq!(result.requests.ok, 1_000);
    let kept = result.schedule.expect("an open loop has one");
    assert_eq!(kept.slip.max(), Some(zero(100) - start));
}

#[test]
fn while_the_start_is_waited_for_connections_live_on() {
    // The server closes each connection after 100 ms, and takes the next one.
    let spec = open(1_000.0, 4);
    let control = Control::held();
    let server = Server::after(us(100)).on_open(|_, now| match now {
        early if early < START => vec![Act::Close(ms(100))],
        _ => Vec::new(),
    });
    let mut prepared = prepared(&spec, server, ALONE, Costs::default(), &control);
    prepared.prepare().expect("nothing fails in memory");
    let counts = prepared.run(START).expect("nothing fails in memory");
    let result = result(&spec, vec![counts]);
    assert_eq!(result.requests.ok, 1_000);
    assert!(result.connections.closed_by_server >= 4);
}
