//! Every class on a made-up series, each with a healthy server under the same load.

use super::series::{Kind, Kinds, Part, Series, Step};
use super::*;

const CAPACITY: f64 = 1000.0;
const SHARES: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 0.5];
const STEP_S: f64 = 20.0;
const MS: u64 = 1_000_000;

/// The results of a part, beside its place: right answers, latency, and failures.
type Behaviour<'b> = &'b dyn Fn(f64, f64, &mut Part);

/// A ramp in parts of a second; `behaves` gets the time and the rate, and a part in which all that
/// was due was answered within 2 ms.
fn series(behaves: Behaviour<'_>) -> Series {
    let mut parts = Vec::new();
    let mut steps = Vec::new();
    for (index, share) in SHARES.into_iter().enumerate() {
        let rate = CAPACITY * share;
        let start_s = index as f64 * STEP_S;
        let mut step = Step {
            share,
            rate_per_s: rate,
            start_s,
            end_s: start_s + STEP_S,
            engine_busy: Some(0.3),
            ..Step::default()
        };
        let mut ok = 0;
        for second in 0..STEP_S as u64 {
            let at = start_s + second as f64;
            let mut part = Part {
                start_s: at,
                length_s: 1.0,
                due: rate as u64,
                ok: rate as u64,
                p50_ns: Some(MS),
                p99_ns: Some(2 * MS),
                ..Part::default()
            };
            behaves(at, rate, &mut part);
            ok += part.ok;
            step.due += part.due;
            step.failed.merge(&part.failed);
            step.p50_ns = part.p50_ns.or(step.p50_ns);
            step.p99_ns = step.p99_ns.max(part.p99_ns);
            step.failed_p50_ns = part.failed_p50_ns.or(step.failed_p50_ns);
            step.busy_p50_ns = step.failed_p50_ns.map(|ns| (ns, ns));
            parts.push(part);
        }
        step.ok_per_s = Some(ok as f64 / STEP_S);
        steps.push(step);
    }
    Series {
        parts,
        steps,
        patience_s: 2.0,
        p99_ns: Some(2 * MS),
        slip_p99_ns: Some(100_000),
        ..Series::default()
    }
}

/// What the server cannot carry fails in this way, within a time.
fn beyond(kind: Kind, took_ns: u64) -> impl Fn(f64, f64, &mut Part) {
    move |_, rate, part| {
        let too_many = (rate - CAPACITY).max(0.0) as u64;
        part.ok = part.due - too_many;
        if too_many > 0 {
            part.failed.add(kind, too_many);
            part.failed_p50_ns = Some(took_ns);
        }
    }
}

fn slow(part: &mut Part, ms: u64) {
    (part.p50_ns, part.p99_ns) = (Some(ms * MS), Some(2 * ms * MS));
    part.ok = part.due.min(CAPACITY as u64);
}

#[track_caller]
fn check(series: &Series, expected: &[OverloadClass]) -> OverloadRamp {
    let judged = judge_series(series);
    let classes: Vec<OverloadClass> = judged.classes.iter().map(|one| one.class).collect();
    assert_eq!(classes, expected, "{:#?}", judged.classes);
    judged
}

/// What cannot be said, as text.
fn texts<T: ToString>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn a_healthy_server_has_no_class() {
    let judged = check(&series(&|_, _, _| ()), &[]);
    assert_eq!(judged.recovery, Some(Recovery::After { seconds: 0.0 }));
    assert_eq!(
        judged.goodput_at_twice, None,
        "it was not at twice its capacity"
    );
    let why = texts(&judged.unsaid).join(" ");
    assert!(why.contains("a higher --capacity"), "{why}");
}

/// A hundred clients of a server that takes its time do not show what it can do.
#[test]
fn a_capacity_that_was_taken_too_low_says_nothing_of_twice_the_capacity() {
    let gives = |most: u64| {
        let made = series(&|_, rate, part| {
            if rate as u64 > most {
                slow(part, 900);
                part.ok = most;
            }
        });
        let mut ramp = check(&made, &[OverloadClass::Queue]);
        ramp.series = Some(made);
        ramp
    };
    let more = gives(1600);
    assert_eq!(more.goodput_at_twice, None);
    let rounds = judge_rounds(&[more.clone(), more], &SHARES);
    assert_eq!(
        texts(&rounds.unsaid),
        [
            "what it does at twice its capacity: it gave 1,600/s, and 1,000/s was taken as its \
             capacity; take --capacity 1600"
        ]
    );
    let near = gives(1100);
    assert_eq!(near.goodput_at_twice, Some(1.0));
    assert!(judge_rounds(&[near], &SHARES).unsaid.is_empty());
}

#[test]
fn single_failures_and_slow_parts_are_no_class() {
    let judged = check(
        &series(&|at, _, part| {
            if at as u64 % 9 == 4 {
                part.p99_ns = Some(9 * MS);
            }
            if at as u64 % 30 == 25 {
                part.failed.add(Kind::Reset, 1);
                part.ok -= 1;
            }
        }),
        &[],
    );
    assert_eq!(judged.recovery, Some(Recovery::After { seconds: 0.0 }));
}

#[test]
fn connections_that_are_refused_dropped_or_closed() {
    use OverloadClass::{Drop, Refuse, Reset};
    for (kind, class, what) in [
        (Kind::Refused, Refuse, "33 % of the requests were refused"),
        (Kind::Dropped, Drop, "33 % had no connection in 2 s"),
        (Kind::Reset, Reset, "33 % had their connection closed"),
    ] {
        let judged = check(&series(&beyond(kind, MS)), &[class]);
        let one = &judged.classes[0];
        assert!(one.evidence.contains(what), "{}", one.evidence);
        assert!(
            one.evidence.ends_with("at 150 % of the capacity"),
            "{}",
            one.evidence
        );
        assert_eq!(one.step, 2);
        assert_eq!(judged.goodput_at_twice, Some(1.0));
        assert_eq!(judged.recovery, Some(Recovery::After { seconds: 0.0 }));
    }
}

#[test]
fn a_quick_error_is_shed_and_a_late_one_has_queued() {
    check(&series(&beyond(Kind::Busy, 3 * MS)), &[OverloadClass::Shed]);
    let judged = check(
        &series(&beyond(Kind::Busy, 1800 * MS)),
        &[OverloadClass::Queue],
    );
    assert_eq!(judged.goodput_at_twice, Some(1.0));
    // A wrong answer that says nothing about load is no class.
    let wrong = check(&series(&beyond(Kind::Wrong, MS)), &[]);
    assert!(
        wrong.unsaid[0]
            .to_string()
            .contains("were answered wrongly"),
        "{wrong:?}"
    );
}

#[test]
fn answers_that_take_longer_are_a_queue_and_its_end_is_the_recovery() {
    let judged = check(
        &series(&|at, rate, part| {
            if rate > CAPACITY || (80.0..83.0).contains(&at) {
                slow(part, 900);
            }
        }),
        &[OverloadClass::Queue],
    );
    let evidence = &judged.classes[0].evidence;
    assert!(
        evidence.starts_with("half of the answers took 900 ms or more, after 99 % within 2.00 ms"),
        "{evidence}"
    );
    assert_eq!(judged.recovery, Some(Recovery::After { seconds: 3.0 }));
    // Clients that give up while others are answered show a queue, too.
    check(
        &series(&beyond(Kind::Timeout, 2000 * MS)),
        &[OverloadClass::Queue],
    );
    check(
        &series(&beyond(Kind::Unsent, 2000 * MS)),
        &[OverloadClass::Queue],
    );
}

#[test]
fn a_stall_is_two_seconds_without_any_answer() {
    let stands = |from: f64, to: f64| {
        series(&move |at, _, part| {
            if (from..to).contains(&at) {
                (part.ok, part.p50_ns, part.p99_ns) = (0, None, None);
            }
        })
    };
    let judged = check(&stands(50.0, 53.0), &[OverloadClass::Stall]);
    let evidence = &judged.classes[0].evidence;
    assert_eq!(evidence, "no answer came in time for 3.0 s from 50.0 s on");
    check(&stands(50.0, 51.0), &[]);
    // Before the load rose, it is not the load's doing.
    check(&stands(2.0, 5.0), &[]);
}

/// Parts of 0.2 s at some requests a second: in many of them nothing is due.
#[test]
fn a_stall_of_a_slow_server_goes_on_where_nothing_is_due() {
    let slow = |stands: std::ops::Range<f64>, due_in: &dyn Fn(usize) -> bool| {
        let mut series = series(&|_, _, _| ());
        let parts = (0..500).map(|index| {
            let start_s = index as f64 * 0.2;
            let due = u64::from(due_in(index));
            let is_answered = due > 0 && !stands.contains(&start_s);
            Part {
                start_s,
                length_s: 0.2,
                due,
                ok: u64::from(is_answered),
                p50_ns: is_answered.then_some(MS),
                p99_ns: is_answered.then_some(2 * MS),
                ..Part::default()
            }
        });
        series.parts = parts.collect();
        super::classes::stall(&series).map(|one| one.evidence)
    };
    let two_of_three = |index: usize| index % 3 != 2;
    assert_eq!(
        slow(50.1..53.1, &two_of_three).as_deref(),
        Some("no answer came in time for 2.8 s from 50.4 s on")
    );
    assert_eq!(slow(50.1..51.1, &two_of_three), None);
    // One request without an answer and then nobody who asks is no stall.
    let seldom = |index: usize| index.is_multiple_of(15);
    assert_eq!(slow(50.9..51.1, &seldom), None);
    assert_eq!(slow(0.0..0.0, &|_| false), None);
}

/// A server that gives so much at 150 % of its capacity and so much at twice.
fn gives(at_150: u64, at_twice: impl Fn(f64) -> u64) -> Series {
    series(&|at, rate, part| {
        let most = match rate {
            rate if rate > 1.9 * CAPACITY => at_twice(at),
            rate if rate > CAPACITY => at_150,
            _ => return,
        };
        slow(part, 900);
        part.failed.add(Kind::Timeout, part.due - most);
        part.ok = most;
    })
}

#[test]
fn goodput_below_80_percent_of_its_peak_at_twice_the_capacity_is_a_collapse() {
    use OverloadClass::{Collapse, Queue};
    for (most, goodput, what) in [
        (400, 0.4, "fell to 400/s, 40 % of the peak of 1,000/s"),
        (700, 0.7, "fell to 700/s, 70 % of the peak of 1,000/s"),
        (790, 0.79, "fell to 790/s, 79 % of the peak of 1,000/s"),
    ] {
        let judged = check(&gives(1000, |_| most), &[Queue, Collapse]);
        assert_eq!(judged.goodput_at_twice, Some(goodput));
        let evidence = &judged.classes[1].evidence;
        assert!(evidence.contains(what), "{evidence}");
        assert!(evidence.ends_with("at 200 % of the capacity"), "{evidence}");
    }
    for most in [810, 1000] {
        check(&gives(1000, |_| most), &[Queue]);
    }
}

#[test]
fn elsewhere_a_collapse_is_half_of_the_peak() {
    use OverloadClass::{Collapse, Queue};
    check(&gives(700, |_| 900), &[Queue]);
    let judged = check(&gives(400, |_| 900), &[Queue, Collapse]);
    assert_eq!(judged.classes[1].step, 2);
    // Where the capacity is more than was taken as it, the step of 200 % is not at twice of it.
    let more = series(&|_, rate, part| {
        let most = if rate > 1.9 * CAPACITY { 1100 } else { 1500 };
        if rate > CAPACITY {
            slow(part, 900);
            part.ok = most;
        }
    });
    check(&more, &[Queue]);
}

/// In a short step a pause takes much of its goodput, and one good moment makes a peak.
#[test]
fn neither_a_pause_nor_a_single_good_moment_makes_a_collapse() {
    use OverloadClass::{Collapse, Queue};
    let paused = gives(1000, |at| match at as u64 {
        61 | 63 | 65 | 67 | 69 => 0,
        _ => 900,
    });
    let judged = check(&paused, &[Queue]);
    assert!(judged.goodput_at_twice.is_some_and(|it| it < 0.8));
    // The same pauses throughout the step are how the server is.
    let always = gives(1000, |at| match at as u64 % 3 {
        0 => 0,
        _ => 900,
    });
    check(&always, &[Queue, Collapse]);
    // 1,300/s in half of a step is not what the server keeps up.
    let good_moment = series(&|at, rate, part| {
        if rate > CAPACITY {
            slow(part, 900);
            part.ok = if rate > 1.9 * CAPACITY { 850 } else { 900 };
            if (40.0..50.0).contains(&at) {
                part.ok = 1300;
            }
        }
    });
    let judged = check(&good_moment, &[Queue]);
    assert!(judged.goodput_at_twice.is_some_and(|it| it < 0.8));
}

#[test]
fn what_the_load_engine_could_not_send_is_no_collapse() {
    let unsent = series(&|_, rate, part| {
        if rate > CAPACITY {
            part.failed.add(Kind::Local, part.due - 600);
            part.ok = 600;
        }
    });
    let judged = check(&unsent, &[]);
    let why = texts(&judged.unsaid).join(" ");
    assert!(why.contains("no file, port or memory"), "{why}");
}

#[test]
fn a_server_that_ends_has_crashed_and_never_recovers() {
    let mut died = series(&beyond(Kind::Refused, MS));
    died.parts.truncate(50);
    for step in &mut died.steps[3..] {
        (step.ok_per_s, step.due) = (None, 0);
    }
    died.died = Some("the server died under load: signal 9".to_owned());
    let judged = check(&died, &[OverloadClass::Refuse, OverloadClass::Crash]);
    assert_eq!(judged.recovery, Some(Recovery::Never));
    let crash = &judged.classes[1];
    assert_eq!(
        (crash.step, crash.evidence.as_str()),
        (
            2,
            "the server died under load: signal 9, 50.0 s after the start"
        )
    );
    // Connections that are closed because it ended are no class of their own.
    for part in &mut died.parts {
        part.failed = Kinds::default();
    }
    for step in &mut died.steps {
        step.failed = Kinds::default();
    }
    let last = died.parts.len() - 1;
    died.parts[last].failed.add(Kind::Reset, 900);
    died.steps[2].failed.add(Kind::Reset, 900);
    check(&died, &[OverloadClass::Crash]);
}

/// A master process, or a loop of a shell, lives on and starts another one.
#[test]
fn a_server_that_crashes_and_comes_back_has_crashed_and_recovers() {
    use OverloadClass::{Crash, Metastable, Queue, Refuse, Reset};
    let crash = WorkersEnded {
        last_s: 65.1,
        gone_s: 65.2,
        processes: 1,
        share: 0.97,
        lost: 1500,
        is_abrupt: true,
    };
    let with = |crashes: Vec<WorkersEnded>| {
        let made = series(&|at, _, part| {
            if at as u64 == 65 {
                part.failed.add(Kind::Reset, 600);
                part.failed.add(Kind::Refused, 900);
                part.ok -= 1500;
            }
        });
        Series { crashes, ..made }
    };
    let judged = check(&with(vec![crash.clone()]), &[Crash]);
    let found = &judged.classes[0];
    assert_eq!(found.step, 3);
    assert_eq!(
        found.evidence,
        "a process that had done 97 % of the work ended 65.2 s after the start with the loss of \
         1,500 requests, and the server came back"
    );
    assert_eq!(judged.recovery, Some(Recovery::After { seconds: 0.0 }));
    let twice = check(&with(vec![crash.clone(), crash.clone()]), &[Crash]);
    let evidence = &twice.classes[0].evidence;
    assert!(evidence.ends_with(", the first of 2 times"), "{evidence}");
    // What fails at another time is not the crash's.
    let early = WorkersEnded {
        last_s: 62.1,
        gone_s: 62.2,
        ..crash.clone()
    };
    check(&with(vec![early]), &[Refuse, Reset, Crash]);
    check(&with(Vec::new()), &[Refuse, Reset]);
    let ill = series(&|at, rate, part| {
        if rate > CAPACITY || at >= 80.0 {
            slow(part, 900);
        }
    });
    let ill = Series {
        crashes: vec![crash],
        ..ill
    };
    check(&ill, &[Queue, Crash, Metastable]);
}

#[test]
fn a_server_that_stays_ill_is_metastable() {
    use OverloadClass::{Metastable, Queue};
    let stays = |until: f64| {
        series(&move |at, rate, part| {
            if rate > CAPACITY || (80.0..until).contains(&at) {
                slow(part, 900);
            }
        })
    };
    let judged = check(&stays(100.0), &[Queue, Metastable]);
    assert_eq!(judged.recovery, Some(Recovery::NotWithin { seconds: 20.0 }));
    assert_eq!(judged.recovery.unwrap().text(), "> 20 s");
    let judged = check(&stays(90.0), &[Queue]);
    assert_eq!(judged.recovery, Some(Recovery::After { seconds: 10.0 }));
}

#[test]
fn a_server_that_is_a_little_slower_afterwards_is_not_ill() {
    let judged = check(
        &series(&|at, rate, part| {
            if rate > CAPACITY {
                slow(part, 900);
            } else if at >= 80.0 {
                part.p99_ns = Some(30 * MS);
            }
        }),
        &[OverloadClass::Queue],
    );
    assert_eq!(judged.recovery, Some(Recovery::NotWithin { seconds: 20.0 }));
}

#[test]
fn what_the_load_engine_may_have_done_is_not_the_servers() {
    let mut queues = series(&|_, rate, part| {
        if rate > CAPACITY {
            slow(part, 900);
        }
    });
    for step in &mut queues.steps[2..4] {
        step.engine_busy = Some(0.97);
    }
    let judged = check(&queues, &[]);
    let why = texts(&judged.unsaid).join(" ");
    assert!(
        why.contains("150 % of the capacity (97 % busy), 200 %"),
        "{why}"
    );
    assert_eq!(judged.goodput_at_twice, None);
    // A refusal is the server's in any case.
    let mut refuses = series(&beyond(Kind::Refused, MS));
    refuses.steps[3].engine_busy = Some(0.97);
    check(&refuses, &[OverloadClass::Refuse]);
}

#[test]
fn without_a_sound_beginning_nothing_is_said() {
    let judged = check(
        &series(&|_, _, part| {
            part.ok = part.due / 2;
            part.failed.add(Kind::Refused, part.due / 2);
        }),
        &[],
    );
    assert_eq!(judged.recovery, None);
    assert!(
        judged.unsaid[0]
            .to_string()
            .contains("at 50 % of the capacity"),
        "{:?}",
        judged.unsaid
    );
}

mod doubts;
mod ladders;
mod rounds;
