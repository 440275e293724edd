//! Which part of the window, and which count, a request falls into.

use super::*;
use crate::spec::ExpectedStatus;

const MS: u64 = 1_000_000;

fn exchanges() -> [Exchange; 1] {
    [Exchange {
        name: String::new(),
        request: b"".as_slice().into(),
        h2: None,
        to_head_request: false,
        status: ExpectedStatus::Success,
        body: None,
        weight: 1,
    }]
}

/// From 100 to 350 ms, in parts of 100; the load begins at 50.
fn ledger(is_open_loop: bool) -> Ledger {
    let mut ledger = Ledger::new(1, 1, is_open_loop);
    let window = Window {
        start: 100 * MS,
        end: 350 * MS,
        interval: 100 * MS,
        is_shaped: false,
    };
    ledger.set_window(50 * MS, window);
    ledger
}

fn begin(ledger: &mut Ledger, at: u64) -> Flight {
    let mut origin = Origin {
        began: at * MS,
        intended: at * MS,
        ..Origin::default()
    };
    ledger.begin(&mut origin);
    let mut flight = Flight::new(origin);
    flight.sent = origin.began;
    flight
}

fn end(ledger: &mut Ledger, flight: &Flight, done: u64) {
    let answer = Answer {
        status: 200,
        body_bytes: 13,
        done: done * MS,
        now: done * MS,
    };
    ledger.answer(flight, &answer, &exchanges());
}

fn settle(ledger: &mut Ledger, held: &[Flight]) {
    ledger.settle(CpuTime::default(), |look| {
        held.iter().for_each(|flight| look(&flight.origin));
    });
}

fn finish(ledger: Ledger, held: &[Flight], until: u64) -> Counts {
    ledger.finish(until * MS, |look| {
        held.iter().for_each(|flight| look(&flight.origin));
    })
}

#[test]
fn a_thread_kept_from_running_is_busy() {
    let mut clock = counts::ClockCounts {
        measured_ns: 1_000 * MS,
        ..counts::ClockCounts::default()
    };
    assert!((clock.busy_share(900 * MS) - 0.1).abs() < 1e-9);
    clock.cpu.user_s = 0.1;
    clock.cpu.kept_s = 0.85;
    assert!((clock.busy_share(900 * MS) - 0.95).abs() < 1e-9);
}

#[test]
fn in_a_closed_loop_each_request_falls_in_the_part_in_which_it_ended() {
    let mut ledger = ledger(false);
    ledger.log = Some(Box::new(Log::new(10)));
    for (began, done) in [(60, 99), (90, 100), (100, 199), (199, 200), (349, 350)] {
        let flight = begin(&mut ledger, began);
        end(&mut ledger, &flight, done);
    }
    assert_eq!(ledger.stage, Stage::Closed);
    settle(&mut ledger, &[]);
    let counts = finish(ledger, &[], 400);
    let parts = |parts: &[bakeoff_record::Interval]| -> Vec<_> {
        parts.iter().map(|part| (part.start_s, part.ok)).collect()
    };
    assert_eq!(parts(&counts.clock.warmup), [(0.0, 1)]);
    assert_eq!(
        parts(&counts.clock.intervals),
        [(0.0, 2), (0.1, 1), (0.2, 0)]
    );
    assert_eq!(counts.clock.intervals[2].length_s, 0.05);
    assert_eq!(counts.requests.outcomes.completed(), 3);
    let balance = counts.clock.balance;
    assert!(balance.holds(), "{balance:?}");
    assert_eq!((balance.carried_in, balance.begun), (1, 3));
    assert_eq!((balance.ended, balance.in_flight), (3, 1));
    assert_eq!(counts.clock.in_flight_at_end, 1, "it ended at the end");
    assert_eq!(counts.requests.at_least.max(), Some(MS));
    assert_eq!(counts.clock.measured_ns, 250 * MS);
    let logged = counts.observed.noted.requests.iter();
    let logged: Vec<_> = logged
        .map(|one| (one.done_ns / MS, one.latency_ns / MS))
        .collect();
    assert_eq!(logged, [(0, 10), (99, 99), (100, 1)], "the window's alone");
}

#[test]
fn a_request_that_gets_lost_shows() {
    let mut ledger = ledger(false);
    let kept = begin(&mut ledger, 110);
    let lost = begin(&mut ledger, 120);
    end(&mut ledger, &kept, 130);
    ledger.close_now(200 * MS);
    // The slots do not hold it, and it has not ended.
    settle(&mut ledger, &[]);
    let balance = ledger.counts.clock.balance;
    assert!(!balance.holds(), "{balance:?}");
    assert_eq!((balance.begun, balance.ended, balance.in_flight), (2, 1, 0));
    settle(&mut ledger, &[lost]);
}

#[test]
fn in_an_open_loop_each_request_falls_in_the_part_in_which_it_was_due() {
    let mut ledger = ledger(true);
    let early = begin(&mut ledger, 90);
    let first = begin(&mut ledger, 110);
    end(&mut ledger, &early, 120);
    let late = begin(&mut ledger, 340);
    end(&mut ledger, &first, 345);
    ledger.leave_out(345 * MS, 400 * MS);
    ledger.advance(360 * MS);
    settle(&mut ledger, &[late]);
    end(&mut ledger, &late, 390);
    let never = begin(&mut ledger, 349);
    let counts = finish(ledger, &[never], 500);
    assert_eq!(counts.requests.outcomes.completed(), 2, "not the warm-up's");
    assert_eq!(counts.requests.latency.max(), Some(235 * MS));
    assert_eq!(counts.clock.in_flight_at_end, 1);
    let schedule = &counts.schedule;
    assert_eq!((schedule.due, schedule.begun), (4, 3));
    let parts: Vec<_> = schedule
        .parts
        .iter()
        .map(|part| (part.due, part.begun, part.ended))
        .collect();
    assert_eq!(parts, [(1, 1, 1), (0, 0, 0), (3, 2, 1)]);
    assert_eq!(counts.requests.at_least.count(), 2);
    assert_eq!(counts.requests.at_least.max(), Some(151 * MS));
    let by_clock: u64 = counts.clock.intervals.iter().map(|part| part.ok).sum();
    assert_eq!(by_clock, 2, "the warm-up's, and the first");
    assert!(counts.clock.balance.holds());
}

#[test]
fn an_edge_passed_in_the_middle_of_a_turn_is_settled_exactly() {
    let mut ledger = ledger(false);
    let one = begin(&mut ledger, 80);
    let other = begin(&mut ledger, 81);
    end(&mut ledger, &one, 101);
    assert!(ledger.is_unsettled());
    let next = begin(&mut ledger, 101);
    settle(&mut ledger, &[other, next]);
    assert_eq!(ledger.counts.clock.balance.carried_in, 2);
    end(&mut ledger, &other, 110);
    ledger.close_now(120 * MS);
    settle(&mut ledger, &[next]);
    assert!(ledger.counts.clock.balance.holds());
    assert_eq!(ledger.counts.observed.oldest_age_ns, Some(19 * MS));
}

#[test]
fn errors_enter_no_latency() {
    let mut ledger = ledger(false);
    let flight = begin(&mut ledger, 120);
    ledger.fail(&flight, &Failure::by(&End::BEFORE_ANSWER, 121 * MS));
    ledger.close_now(300 * MS);
    settle(&mut ledger, &[]);
    let counts = finish(ledger, &[], 300);
    let is_empty = |part: &bakeoff_record::Interval| part.latency.count() == 0;
    assert!(counts.clock.intervals.iter().all(is_empty));
    let ages = &counts.requests.error_latencies[&Outcome::ClosedEarly];
    assert_eq!(ages.count(), 1);
    assert_eq!(counts.requests.outcomes.errors(), 1);
}
