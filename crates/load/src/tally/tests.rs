//! Which part of the window, and which count, a request falls into.

use super::*;

const MS: u64 = 1_000_000;

fn tally() -> Tally {
    let window = Window {
        start: 100 * MS,
        end: 350 * MS,
        interval: 100 * MS,
    };
    Tally::new(window, 1, true)
}

fn times(intended: u64, done: u64) -> Times {
    Times {
        intended: intended * MS,
        sent: intended * MS,
        first_byte: done * MS,
        done: done * MS,
    }
}

#[test]
fn a_thread_kept_from_running_is_busy() {
    let mut counts = Counts {
        measured_ns: 1_000 * MS,
        waited_ns: 900 * MS,
        ..Counts::default()
    };
    assert!((counts.busy_share() - 0.1).abs() < 1e-9);
    counts.cpu.user_s = 0.1;
    counts.cpu.kept_s = 0.85;
    assert!((counts.busy_share() - 0.95).abs() < 1e-9);
}

#[test]
fn each_request_falls_in_the_part_in_which_it_ended() {
    let mut tally = tally();
    for (intended, done) in [(0, 99), (90, 100), (100, 199), (199, 200), (349, 350)] {
        tally.begin();
        tally.end_ok(0, times(intended, done), 200, 13);
    }
    assert!(tally.is_closed());
    let counts = &tally.counts;
    let parts: Vec<_> = counts
        .intervals
        .iter()
        .map(|part| (part.start_s, part.ok))
        .collect();
    assert_eq!(parts, [(0.0, 2), (0.1, 1), (0.2, 0)]);
    assert_eq!(counts.intervals[2].length_s, 0.05);
    assert_eq!(counts.outcomes.completed(), 3);
    assert_eq!(
        counts.in_flight_at_end, 1,
        "what ended at the end was in flight at the end"
    );
    assert_eq!(counts.measured_ns, 250 * MS);
}

#[test]
fn started_is_completed_and_in_flight() {
    let mut tally = tally();
    for _ in 0..5 {
        tally.begin();
    }
    tally.end_ok(0, times(120, 130), 200, 0);
    tally.end_error(0, Outcome::Reset, 120 * MS, 140 * MS, None, || {
        "reset".to_owned()
    });
    tally.close_now(200 * MS);
    assert_eq!(
        tally.counts.outcomes.completed() + tally.counts.in_flight_at_end,
        5
    );
    assert_eq!(tally.counts.error_samples["reset"], "reset");
    assert_eq!(tally.counts.measured_ns, 100 * MS);
}

#[test]
fn errors_enter_no_latency() {
    let mut tally = tally();
    tally.begin();
    tally.end_error(0, Outcome::Refused, 120 * MS, 121 * MS, None, String::new);
    tally.close_now(300 * MS);
    assert_eq!(tally.counts.service.count(), 0);
    assert!(
        tally
            .counts
            .intervals
            .iter()
            .all(|part| part.latency.count() == 0)
    );
    assert_eq!(tally.counts.error_latencies[&Outcome::Refused].count(), 1);
}
