//! Latency curves of which some trials say nothing.

use super::*;
use crate::curve::CurvePoint;

/// The curve of a server, where `changes` makes something else of the trials at half of its bound,
/// by their number from 1; and how many there were. What of them missed the goal was set aside.
fn at_half(changes: impl Fn(usize, &mut Seen)) -> (CurvePoint, usize) {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut random = Random::new(1);
    let mut made = 0;
    let half = Purpose::Curve { percent: 50.0 };
    let trials = run(&load, WHOLE, |step, _| {
        let mut seen = threshold(1000.0, 0.0, &mut random, step);
        if step.purpose == half {
            made += 1;
            changes(made, &mut seen);
        }
        seen
    });
    let progress = Progress::new(&load, trials, WHOLE).unwrap();
    let found = &progress.found(None)[0];
    let aside = found.tally.set_aside_missed > 0;
    let expected = aside.then_some(Irregular::SetAsideMissed);
    assert_eq!((found.irregular, found.confirmed), (expected, Some(!aside)));
    let curve = progress.curve();
    let percents: Vec<f64> = curve.iter().map(|point| point.percent).collect();
    assert_eq!(percents, [25.0, 50.0, 75.0, 90.0]);
    for point in curve.iter().filter(|point| point.percent != 50.0) {
        assert!(point.why.is_none() && point.count.is_some(), "{point:?}");
    }
    (curve[1].clone(), made)
}

fn lose(seen: &mut Seen) {
    seen.came = Came::Lost("failed to start: the port is taken".to_owned());
}

/// Answers take 200 ms while something else has the processor.
fn disturb(seen: &mut Seen) {
    seen.is_disturbed = true;
    if let Came::Measured(measured) = &mut seen.came {
        measured.latency = Histogram::new();
        measured.latency.record_n(200_000_000, measured.due);
    }
}

fn p50(point: &CurvePoint) -> Option<u64> {
    point.latency_ns[0].1
}

#[test]
fn a_point_that_is_lost_or_disturbed_is_measured_again_once() {
    let (sound, made) = at_half(|_, _| ());
    assert_eq!((made, sound.why.as_deref()), (1, None));
    let spoils: [fn(&mut Seen); 2] = [lose, disturb];
    for spoil in spoils {
        let (point, made) = at_half(|number, seen| {
            if number == 1 {
                spoil(seen);
            }
        });
        assert_eq!((made, p50(&point)), (2, p50(&sound)));
        assert_eq!(point.why, None);
    }
}

#[test]
fn a_point_that_stays_spoiled_says_why() {
    let check = |spoil: fn(&mut Seen), is_measured: bool, why: &str| {
        let (point, made) = at_half(|_, seen| spoil(seen));
        assert_eq!((made, point.count.is_some()), (2, is_measured));
        assert_eq!(p50(&point).is_some(), is_measured);
        assert_eq!(point.why.as_deref(), Some(why));
    };
    check(lose, false, "failed to start: the port is taken");
    check(disturb, true, "something else on the machine disturbed it");
}

#[test]
fn a_server_that_ends_below_its_bound_has_a_lower_one() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut random = Random::new(1);
    let mut died_at = None;
    let trials = run(&load, WHOLE, |step, _| {
        let mut seen = threshold(1000.0, 0.0, &mut random, step);
        if step.purpose == (Purpose::Curve { percent: 50.0 }) && died_at.is_none() {
            died_at = step.rate_per_s;
            seen.came = Came::Died;
        }
        seen
    });
    let found = &Progress::new(&load, trials, WHOLE).unwrap().found(None)[0];
    assert!(found.standing.lower_per_s < died_at);
    assert_eq!(found.irregular, Some(Irregular::Inversion));
}

/// What it measured is at most this, and it is measured once.
#[test]
fn a_point_at_which_the_engine_was_late_says_so() {
    let (point, made) = at_half(|_, seen| {
        if let Came::Measured(measured) = &mut seen.came {
            measured.engine.busy = Some(0.97);
        }
    });
    let why = "the load engine was too late or too busy";
    assert_eq!((made, point.why.as_deref()), (1, Some(why)));
}

/// The search stops after the first point, or its time does, or nothing runs any more.
#[test]
fn points_that_were_not_measured_say_why() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut random = Random::new(1);
    let mut trials = run(&load, WHOLE, |step, _| {
        threshold(1000.0, 0.0, &mut random, step)
    });
    trials.truncate(trials.len() - 3);
    let spent = trials.iter().map(|trial| trial.took_s).sum();
    let whys = |trials: &[Seen], seconds: f64| {
        let progress = Progress::new(&load, trials.to_vec(), seconds).unwrap();
        let curve = progress.curve().into_iter();
        curve.map(|point| point.why).collect::<Vec<_>>()
    };
    let rest = |why: &str| vec![Some(why.to_owned()); 3];
    assert_eq!(whys(&trials, 1200.0)[0], None);
    assert_eq!(whys(&trials, 1200.0)[1..], rest("not measured yet"));
    assert_eq!(whys(&trials, spent)[1..], rest("time ended before it"));
    let mut lost = trials[trials.len() - 1].clone();
    lose(&mut lost);
    lost.took_s = 0.1;
    let gone = trials.iter().cloned().chain(std::iter::repeat_n(lost, 3));
    let gone: Vec<Seen> = gone.collect();
    let expected = "the last 3 trials did not come to their load: failed to start: the port is \
                    taken";
    assert_eq!(whys(&gone, 1200.0)[1..], rest(expected));
}
