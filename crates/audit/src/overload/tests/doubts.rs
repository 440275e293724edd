//! What looks like a class and is none, and what cannot be said.

use bakeoff_record::Histogram;

use super::*;

/// A machine that stands still at the very end, for a quarter of the last step.
#[test]
fn a_server_that_was_well_and_is_ill_again_at_the_end_is_not_metastable() {
    let ill_from = |ill_s: f64| {
        series(&move |at, rate, part| {
            if rate > CAPACITY || (80.0..82.0).contains(&at) || at >= ill_s {
                slow(part, 900);
            }
        })
    };
    let judged = check(&ill_from(97.0), &[OverloadClass::Queue]);
    assert_eq!(judged.recovery, Some(Recovery::NotWithin { seconds: 20.0 }));
    assert_eq!(
        texts(&judged.unsaid),
        [
            "whether it recovers: it was well from 2.0 s to 17.0 s after the load had gone back, \
             and ill again when the step ended; take more --rounds"
        ]
    );
    // Three parts are less than what must follow recovery.
    let judged = check(
        &ill_from(85.0),
        &[OverloadClass::Queue, OverloadClass::Metastable],
    );
    assert_eq!(texts(&judged.unsaid), [""; 0]);
}

/// Nobody sees the process of a server on another host.
fn ends_unseen(from_s: f64) -> Series {
    series(&move |at, _, part| {
        if at >= from_s {
            (part.ok, part.p50_ns, part.p99_ns) = (0, None, None);
            part.failed.add(Kind::Refused, part.due);
        } else if at >= from_s - 1.0 {
            part.ok = 100;
            part.failed.add(Kind::Reset, part.due - 100);
        }
    })
}

#[test]
fn what_failed_because_the_server_ended_unseen_is_no_other_class() {
    for from_s in [41.0, 55.0, 60.0, 61.0, 80.0] {
        let judged = check(&ends_unseen(from_s), &[OverloadClass::Crash]);
        assert_eq!(judged.recovery, Some(Recovery::Never));
        let expected = format!("from {from_s:.1} s on every connection was refused");
        let evidence = &judged.classes[0].evidence;
        assert!(evidence.starts_with(&expected), "{evidence}");
    }
    // What it did before that counts.
    let mut ill = ends_unseen(55.0);
    for part in &mut ill.parts[40..54] {
        part.failed.add(Kind::Refused, part.due - 300);
        ill.steps[2].failed.add(Kind::Refused, part.due - 300);
        part.ok = 300;
    }
    check(
        &ill,
        &[
            OverloadClass::Refuse,
            OverloadClass::Collapse,
            OverloadClass::Crash,
        ],
    );
}

/// The other way to end: its process is seen, and the load is stopped soon.
#[test]
fn a_step_that_was_cut_short_by_the_servers_end_is_no_collapse() {
    let mut died = ends_unseen(61.0);
    died.parts.truncate(62);
    died.steps[3].ok_per_s = Some(50.0);
    died.steps[3].due = 4000;
    died.steps[3].failed = Kinds::default();
    died.steps[3].failed.add(Kind::Reset, 1900);
    died.steps[3].failed.add(Kind::Refused, 2000);
    (died.steps[4].ok_per_s, died.steps[4].due) = (None, 0);
    died.died = Some("the server died under load: signal 9".to_owned());
    check(&died, &[OverloadClass::Crash]);
}

#[test]
fn a_last_step_in_which_nothing_was_due_is_no_crash() {
    let idle = series(&|at, _, part| {
        if at >= 80.0 {
            *part = Part {
                start_s: part.start_s,
                length_s: part.length_s,
                ..Part::default()
            };
        }
    });
    check(&idle, &[]);
}

/// A closed loop in which nothing failed.
fn closed_loop(at_a_time: u32) -> ClosedLoop {
    ClosedLoop {
        at_a_time,
        failed: 0.0,
    }
}

/// A server that gives so much to more connections than the closed loop had.
fn gives_beyond(most: u64, at_a_time: Option<u32>) -> OverloadRamp {
    let made = series(&|_, rate, part| {
        if rate >= CAPACITY {
            slow(part, 900);
            part.ok = most;
        }
    });
    let made = Series {
        closed_loop: at_a_time.map(closed_loop),
        ..made
    };
    let mut ramp = judge_series(&made);
    ramp.series = Some(made);
    ramp
}

#[test]
fn the_capacity_that_a_closed_loop_showed_is_a_peak() {
    use OverloadClass::{Collapse, Queue};
    for (most, classes, collapsed_at) in [
        (900, &[Queue][..], None),
        (600, &[Queue, Collapse], Some(3)),
        (300, &[Queue, Collapse], Some(1)),
    ] {
        let shown = gives_beyond(most, Some(100));
        let found: Vec<_> = shown.classes.iter().map(|one| one.class).collect();
        assert_eq!(found, classes, "{shown:?}");
        assert_eq!(shown.classes.get(1).map(|one| one.step), collapsed_at);
        assert_eq!(shown.peak_per_s, Some(CAPACITY));
        assert_eq!(shown.goodput_at_twice, Some(most as f64 / CAPACITY));
        assert!(judge_rounds(&[shown], &SHARES).unsaid.is_empty());
    }
}

#[test]
fn a_capacity_that_was_said_too_high_says_nothing_of_twice_the_capacity() {
    let said = gives_beyond(600, None);
    let found: Vec<_> = said.classes.iter().map(|one| one.class).collect();
    assert_eq!(found, [OverloadClass::Queue]);
    assert_eq!(
        (said.peak_per_s, said.goodput_at_twice),
        (Some(600.0), None)
    );
    assert_eq!(
        texts(&judge_rounds(&[said], &SHARES).unsaid),
        [
            "what it does at twice its capacity: no step gave more than 600/s, and 1,000/s was \
             taken as its capacity; take --capacity 600"
        ]
    );
    let near = gives_beyond(900, None);
    assert_eq!(near.goodput_at_twice, Some(1.0));
    assert!(judge_rounds(&[near], &SHARES).unsaid.is_empty());
    // It was never asked for as much.
    let mut less = series(&|_, _, _| ());
    less.steps.drain(1..4);
    assert_eq!(goodput::misjudged(&less, less.peak_per_s()), None);
}

/// A step at twice the capacity in which nothing was answered in time but so, each with the time
/// that it took.
fn fails(with: &[(Kind, u64, u64)]) -> Series {
    let mut made = series(&|_, rate, part| {
        if rate > 1.9 * CAPACITY {
            (part.ok, part.p50_ns, part.p99_ns) = (0, None, None);
        }
    });
    let mut times = Histogram::new();
    for (kind, requests, ms) in with {
        made.steps[3].failed.add(*kind, *requests);
        times.record_n(ms * MS, *requests);
        for part in &mut made.parts[60..80] {
            part.failed.add(*kind, requests / 20);
        }
    }
    let step = &mut made.steps[3];
    step.p50_ns = None;
    step.busy_p50_ns = series::busy_between(&times, &step.failed);
    made
}

#[test]
fn errors_shed_where_they_are_quick_whatever_else_fails() {
    use OverloadClass::{Collapse, Queue, Reset, Shed};
    // A gateway gives up after three seconds, and nothing else is answered.
    let late = check(&fails(&[(Kind::Busy, 40_000, 3000)]), &[Queue, Collapse]);
    assert_eq!(texts(&late.unsaid), [""; 0]);
    check(&fails(&[(Kind::Busy, 40_000, 3)]), &[Shed, Collapse]);
    // Who gave up has waited for longer than who was answered.
    let quick = fails(&[(Kind::Busy, 4000, 3), (Kind::Timeout, 24_000, 2000)]);
    let quick = check(&quick, &[Shed, Collapse]);
    let evidence = &quick.classes[0].evidence;
    assert!(evidence.contains("half of them within 3.0"), "{evidence}");
    // Resets come at once, and hide how long the few answers took.
    for ms in [1, 3000] {
        let mixed = fails(&[(Kind::Reset, 36_000, 1), (Kind::Busy, 800, ms)]);
        let classes = if ms == 1 {
            &[Reset, Shed, Collapse][..]
        } else {
            &[Reset, Collapse]
        };
        let mixed = check(&mixed, classes);
        let why = texts(&mixed.unsaid).join("; ");
        let is_unsaid = why.starts_with("whether it answers quickly that it is too busy at 200 %");
        assert_eq!(is_unsaid, ms > 1, "{why}");
    }
}

/// A proxy that gives less with more connections, which the closed loop does not show: seen of
/// Caddy, whose default keeps 32 connections to an upstream.
#[test]
fn a_server_that_queues_in_the_first_step_was_never_well() {
    let begins_with = |p50_ms: u64, at_a_time: Option<u32>| {
        let made = series(&move |at, _, part| {
            if at < STEP_S {
                slow(part, p50_ms)
            } else {
                slow(part, 2_100);
                part.ok = 450;
                part.failed.add(Kind::Unsent, part.due - part.ok);
            }
        });
        judge_series(&Series {
            closed_loop: at_a_time.map(closed_loop),
            ..made
        })
    };
    let classes = |judged: &OverloadRamp| -> Vec<OverloadClass> {
        judged.classes.iter().map(|one| one.class).collect()
    };
    // On average 10 ms in the closed loop.
    let judged = begins_with(990, Some(10));
    use OverloadClass::{Collapse, Metastable, Queue};
    assert_eq!(classes(&judged), [Queue, Collapse], "{judged:#?}");
    assert_eq!(judged.recovery, None);
    let evidence = &judged.classes[0].evidence;
    assert!(
        evidence.starts_with(
            "half of the answers took 990 ms or more, after 10 ms on average in the closed loop \
             at 50 % of the capacity that 10 requests at a time showed"
        ),
        "{evidence}"
    );
    assert_eq!(
        texts(&judged.unsaid),
        [
            "whether it recovers: at 50 % of the capacity half of the answers took 990 ms already, \
             and 10 ms on average in the closed loop of 10 requests at a time that showed the \
             capacity; it may give less with more of them, so take a lower --capacity"
        ]
    );
    // As slow as the closed loop is well, and so is any where nothing says how it should be.
    for (p50_ms, at_a_time) in [(39, Some(10)), (990, None)] {
        let judged = begins_with(p50_ms, at_a_time);
        assert!(classes(&judged).contains(&Metastable), "{judged:#?}");
        assert_eq!(texts(&judged.unsaid), [""; 0]);
    }
}

/// Two seconds of requests wait when the load goes back, and a step is short.
#[test]
fn a_queue_that_drains_until_the_end_is_not_metastable() {
    let ends_at = |end_ms: f64| {
        judge_series(&series(&move |at, rate, part| {
            let back = at - 4.0 * STEP_S;
            if back >= 0.0 {
                let ms = 2_000.0 + (end_ms - 2_000.0) * back / STEP_S;
                slow(part, ms as u64);
            } else if rate > CAPACITY {
                slow(part, 2_000);
            }
        }))
    };
    let is_metastable = |judged: &OverloadRamp| {
        let mut classes = judged.classes.iter();
        classes.any(|one| one.class == OverloadClass::Metastable)
    };
    let judged = ends_at(1_000.0);
    assert!(!is_metastable(&judged), "{judged:#?}");
    assert_eq!(judged.recovery, Some(Recovery::NotWithin { seconds: 20.0 }));
    assert_eq!(
        texts(&judged.unsaid),
        [
            "whether it recovers: half of the answers took 1.9 s when the load had gone back and \
             1.1 s when the step ended, so its queue was draining; take a longer --step"
        ]
    );
    let judged = ends_at(1_900.0);
    assert!(is_metastable(&judged), "{judged:#?}");
    assert_eq!(texts(&judged.unsaid), [""; 0]);
}

/// Seen of nginx with 512 connections: a pause in the first step made more than that, and closing
/// and opening them kept it busy, at half of what a closed loop of 100 clients showed.
#[test]
fn a_server_that_fails_in_the_first_step_is_held_against_the_closed_loop() {
    use OverloadClass::{Metastable, Reset};
    let closes = |is_ill: &dyn Fn(f64) -> bool, shown: Option<ClosedLoop>| {
        let made = series(&|at, _, part| {
            if is_ill(at) {
                part.ok = part.due / 10;
                part.failed.add(Kind::Reset, part.due - part.ok);
            }
        });
        judge_series(&Series {
            closed_loop: shown,
            ..made
        })
    };
    let classes = |judged: &OverloadRamp| -> Vec<(OverloadClass, usize)> {
        let classes = judged.classes.iter();
        classes.map(|one| (one.class, one.step)).collect()
    };
    let back_s = 4.0 * STEP_S;
    let judged = closes(&|at| (5.0..82.0).contains(&at), Some(closed_loop(10)));
    assert_eq!(classes(&judged)[0], (Reset, 0), "{judged:#?}");
    assert_eq!(
        judged.classes[0].evidence,
        "68 % had their connection closed before an answer at 50 % of the capacity that 10 \
         requests at a time showed"
    );
    assert_eq!(judged.recovery, Some(Recovery::After { seconds: 2.0 }));
    assert_eq!(texts(&judged.unsaid), [""; 0]);
    // It was never well at this rate, so it may be unable to be.
    let judged = closes(&|at| at >= 5.0, Some(closed_loop(10)));
    assert!(
        !classes(&judged)
            .iter()
            .any(|(class, _)| *class == Metastable)
    );
    assert_eq!(judged.recovery, None);
    assert_eq!(
        texts(&judged.unsaid),
        [
            "whether it recovers: at 50 % of the capacity 90 % of the requests failed already, and \
             none in the closed loop of 10 requests at a time that showed the capacity; it may \
             give less with more of them, so take a lower --capacity"
        ]
    );
    // What fails there fails at any rate, and no closed loop says how it should be.
    let fails = ClosedLoop {
        failed: 0.02,
        ..closed_loop(10)
    };
    for shown in [Some(fails), None] {
        let judged = closes(&move |at| at < back_s, shown);
        assert_eq!(judged.classes, []);
        assert!(
            judged.unsaid[0]
                .to_string()
                .starts_with("no class: at 50 % of the capacity requests failed")
        );
    }
}
