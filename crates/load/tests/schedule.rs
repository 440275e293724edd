//! Open loops: what was planned is what was asked for, and what was not sent is counted.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use bakeoff_load::{LoadSpec, Waiting};
use bakeoff_plan::{Arrival, LoadModel, RateShape};
use bakeoff_record::{LoadResult, Outcome};

use support::{HELLO, always, load, read_request, server, spec};

mod support;

/// An open loop of a second at `rate_per_s`, changing by `shape`.
fn open(address: SocketAddr, rate_per_s: f64, shape: RateShape) -> LoadSpec {
    let mut spec = spec(address);
    spec.load.model = LoadModel::Open {
        rate_per_s,
        arrival: Arrival::Constant,
        clients: 8,
    };
    spec.load.duration_s = 1.0;
    spec.load.timeout_s = 5.0;
    spec.count = None;
    spec.shape = shape;
    spec
}

/// The window held `planned` requests, and those were begun.
#[track_caller]
fn check(spec: &LoadSpec, planned: u64) -> LoadResult {
    // A machine that stands still at an edge of the window moves requests over it. A schedule that
    // is wrong is so every time.
    let moved = |result: &LoadResult| result.requests.started.abs_diff(planned) > 9;
    let mut result = load(spec);
    for _ in 0..2 {
        if moved(&result) {
            result = load(spec);
        }
    }
    let requests = &result.requests;
    assert!(
        requests.planned.is_some_and(|it| it.abs_diff(planned) <= 1),
        "{requests:?}, not {planned}"
    );
    // What is in flight at either edge of the window belongs to the neighbour.
    assert!(!moved(&result), "{requests:?}");
    assert_eq!(result.outcomes.errors(), 0, "{:?}", result.error_samples);
    result
}

#[test]
fn a_ramp_plans_the_area_below_it() {
    let ramp = || RateShape::Ramp { to_per_s: 600.0 };
    check(&open(always(HELLO), 200.0, ramp()), 400);
    check(&open(always(HELLO), 1000.0, ramp()), 800);
    // The ramp begins with the warm-up: the window holds its second half, from 400 on.
    let mut late = open(always(HELLO), 200.0, ramp());
    (late.load.warmup_s, late.load.duration_s) = (0.5, 0.5);
    check(&late, 250);
}

#[test]
fn steps_plan_the_sum_of_their_parts() {
    let steps = |then: &[f64]| RateShape::Steps {
        then_per_s: then.to_vec(),
    };
    check(&open(always(HELLO), 100.0, steps(&[300.0])), 200);
    let many = check(
        &open(always(HELLO), 800.0, steps(&[400.0, 200.0, 600.0])),
        500,
    );
    // Each step is a quarter of a second; tenths that lie within one hold its rate.
    let tenth = |index: usize| many.intervals[index].ok + many.intervals[index].errors;
    for (index, expected) in [(0, 80), (1, 80), (3, 40), (6, 20), (8, 60)] {
        let (got, around) = (tenth(index), expected / 2..=expected * 3 / 2);
        assert!(around.contains(&got), "tenth {index}: {got} of {expected}");
    }
}

#[test]
fn threads_share_a_ramp() {
    let mut spec = open(always(HELLO), 100.0, RateShape::Ramp { to_per_s: 500.0 });
    spec.threads = 2;
    let result = check(&spec, 300);
    assert_eq!(result.engine.busy_share.len(), 2);
}

#[test]
fn a_thread_that_spins_keeps_the_same_schedule() {
    let mut spec = open(always(HELLO), 300.0, RateShape::Level);
    spec.waiting = Waiting::Spin;
    let result = check(&spec, 300);
    // A thread that sleeps between 300 requests uses next to nothing of its second.
    let cpu_s = result.engine.cpu_user_s + result.engine.cpu_system_s;
    assert!(cpu_s > 0.1, "it slept: {cpu_s} s of processor");
}

/// Takes 50 ms for each answer.
fn slow() -> SocketAddr {
    server(|mut stream| {
        while read_request(&mut stream) {
            std::thread::sleep(Duration::from_millis(50));
            if stream.write_all(HELLO).is_err() {
                return;
            }
        }
    })
}

#[test]
fn past_its_deadline_a_request_is_shed_and_counted() {
    let mut spec = open(slow(), 400.0, RateShape::Level);
    spec.load.model = LoadModel::Open {
        rate_per_s: 400.0,
        arrival: Arrival::Constant,
        clients: 2,
    };
    spec.deadline = Some(Duration::from_millis(100));
    let result = load(&spec);
    let requests = &result.requests;
    let planned = requests.planned.expect("an open loop has a plan");
    // Two clients serve 40 of the 400 at the most, and 40 more can be waiting at the end.
    assert!(requests.started <= 42, "{requests:?}");
    assert!(requests.shed >= 300, "{requests:?}");
    let known = requests.started + requests.shed;
    let waiting = planned.checked_sub(known).expect("none is counted twice");
    assert!(waiting <= 42, "{requests:?}");
    assert_eq!(result.outcomes.errors(), 0, "{:?}", result.outcomes);
    // None that was begun had waited longer, but for the time to notice it.
    assert!(result.send_lag.max() < Some(500_000_000), "{result:?}");

    spec.deadline = None;
    let patient = load(&spec);
    assert_eq!(patient.requests.shed, 0);
    assert!(patient.send_lag.max() > Some(500_000_000));
    assert_eq!(patient.outcomes.of(Outcome::Ok), patient.requests.completed);
}
