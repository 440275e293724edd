//! Searches that end before they are done: by time, by Ctrl-C, or by what does not run.

use super::*;
use crate::confirming::Confirming;

/// Whether the search itself found that full trials at a rate meet the goal.
fn met_in_full(progress: &Progress<'_>, rate_per_s: f64) -> bool {
    let judged = progress.judged(&progress.search.goals[0], Purpose::Search);
    let mut here = judged.filter(|(trial, _)| trial.rate_per_s == rate_per_s);
    here.any(|(trial, judged)| trial.length_s >= 10.0 && judged == Judged::Meets)
}

/// Ctrl-C after each trial, and a budget that is used up after each.
#[test]
fn a_bound_that_longer_trials_refuted_is_none_wherever_the_search_ends() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let (trials, refuted) = refuted(&load);
    let (mut stopped, mut spent) = (0, 0);
    for at in 0..=trials.len() {
        let made = trials[..at].to_vec();
        let seconds = made.iter().map(|trial| trial.took_s).sum();
        for budget in [WHOLE, seconds] {
            let progress = Progress::new(&load, made.clone(), budget).unwrap();
            let goal = &progress.search.goals[0];
            if !Confirming::of(&progress, goal, refuted).is_missed() {
                continue;
            }
            let found = &progress.found(None)[0];
            let standing = found.standing;
            assert!(standing.lower_per_s.is_none_or(|lower| lower < refuted));
            assert_eq!(standing.upper_per_s, Some(refuted));
            assert!(found.lowered_from_per_s >= Some(refuted));
            if found.confirmed == Some(true) {
                continue;
            }
            assert_eq!(found.confirmed, Some(false));
            let lower = standing.lower_per_s;
            assert!(lower.is_none_or(|lower| met_in_full(&progress, lower)));
            if budget == WHOLE {
                assert_eq!(found.irregular, Some(Irregular::Unfinished));
                stopped += 1;
            } else {
                assert_eq!(found.irregular, Some(Irregular::Budget));
                let why = "time ended before longer trials confirmed a lower bound";
                assert_eq!(found.why.as_deref(), Some(why));
                spent += 1;
            }
        }
    }
    assert!(stopped >= 3 && spent >= 3, "{stopped} and {spent}");
}

/// The bounds are found, and the first of three longer trials at the lower one is missing.
#[test]
fn a_bound_whose_longer_trials_are_missing_is_no_regular_result() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut sim = Sim::new(1, deterministic);
    let trials = run(&load, WHOLE, |step, number| sim.trial(step, number));
    let first = trials.iter().position(|it| it.purpose == Purpose::Confirm);
    for made in (0..3).map(|more| trials[..first.unwrap() + more].to_vec()) {
        let seconds = made.iter().map(|trial| trial.took_s).sum();
        let found = |budget| {
            let progress = Progress::new(&load, made.clone(), budget).unwrap();
            progress.found(None).remove(0)
        };
        let (stopped, spent) = (found(WHOLE), found(seconds));
        assert_eq!(stopped.irregular, Some(Irregular::Unfinished));
        assert_eq!(spent.irregular, Some(Irregular::Budget));
        for found in [stopped, spent] {
            assert!(found.standing.lower_per_s.is_some());
            assert_eq!(found.confirmed, None);
        }
    }
}

/// The same trial, which a lost host kept from its load.
fn lost(trial: &Seen) -> Seen {
    Seen {
        took_s: 0.1,
        came: Came::Lost("host sut was lost".to_owned()),
        ..trial.clone()
    }
}

/// A host that restarts at any moment of the search.
#[test]
fn what_was_found_before_trials_were_lost_stands_and_a_resumed_search_goes_on() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let mut sim = Sim::new(1, deterministic);
    let mut steps = Vec::new();
    let trials = run(&load, WHOLE, |step, number| {
        steps.push(*step);
        sim.trial(step, number)
    });
    for (at, step) in steps.iter().enumerate() {
        let made = &trials[..at];
        let again = vec![lost(&trials[at]); 3];
        let mut progress = Progress::new(&load, [made, &again].concat(), WHOLE).unwrap();
        assert_eq!(progress.next(), None);
        let found = &progress.found(None)[0];
        let before = &Progress::new(&load, made.to_vec(), WHOLE)
            .unwrap()
            .found(None)[0];
        assert_eq!(found.standing, before.standing);
        let why = found.why.as_deref();
        match step.purpose {
            // Nothing at a rate was ever measured: the first of the others is a closed loop.
            _ if at <= 1 => {
                assert_eq!(found.irregular, Some(Irregular::Failed));
                assert_eq!(why, Some("host sut was lost"));
            }
            Purpose::Closed | Purpose::Search | Purpose::Confirm => {
                assert_eq!(found.irregular, Some(Irregular::Unfinished));
                let said = "its last 3 trials did not come to their load: host sut was lost";
                assert_eq!(why, Some(said));
            }
            // The bounds and their confirmation lack nothing.
            Purpose::Curve { .. } => assert_eq!(found.irregular, None),
        }
        progress.resumed_at = at + 3;
        assert_eq!(progress.next().as_ref(), Some(step), "{at}");
    }
}

/// The closed loops of a server whose answers take so many seconds, all of them right or none.
fn of_slow_server(load: &Load, takes_s: f64, is_right: bool) -> Progress<'_> {
    let mut random = Random::new(1);
    let trials = run(load, WHOLE, |step, _| {
        let mut seen = threshold(25.0, 0.0, &mut random, step);
        if let (Came::Measured(measured), Purpose::Closed) = (&mut seen.came, seen.purpose) {
            // Each of 100 clients asks when the warm-up begins, and then after each answer.
            let answers = |until_s: f64| (until_s / takes_s).floor() as u64 * 100;
            measured.due = answers(WARMUP_S + step.length_s) - answers(WARMUP_S);
            measured.ok = if is_right { measured.due } else { 0 };
        }
        seen
    });
    Progress::new(load, trials, WHOLE).unwrap()
}

#[test]
fn a_server_that_takes_longer_than_the_first_closed_loop_is_searched() {
    let load = sought(&["p99<8s"], &[0.001]);
    let progress = of_slow_server(&load, 4.0, true);
    let closed = progress.trials.iter();
    let closed = closed.filter(|trial| trial.purpose == Purpose::Closed);
    let lengths: Vec<f64> = closed.map(|trial| trial.length_s).collect();
    assert_eq!(lengths, [CLOSED_S, 10.0]);
    assert_eq!(progress.closed_per_s(), Some(20.0));
    assert_eq!(progress.gave_up(), None);
    let why = |takes_s, is_right| of_slow_server(&load, takes_s, is_right).gave_up();
    let nothing = "no request ended in a closed loop of 10 s; give it a longer --duration";
    assert_eq!(why(20.0, true).as_deref(), Some(nothing));
    let wrong = "no answer was right in a closed loop";
    assert_eq!(why(4.0, false).as_deref(), Some(wrong));
}

/// `find a b c d --budget 15s`: less than four seconds for each.
#[test]
fn a_budget_that_is_too_small_for_the_closed_loop_is_named() {
    let load = sought(&["p99<10ms"], &[0.001]);
    let found = |seconds| {
        let progress = Progress::new(&load, Vec::new(), seconds).unwrap();
        progress.found(None).remove(0)
    };
    let small = found(3.75);
    assert_eq!(small.irregular, Some(Irregular::Budget));
    let why = "time ended before a closed loop showed where to begin";
    assert_eq!(small.why.as_deref(), Some(why));
    assert_eq!(found(4.0).irregular, Some(Irregular::Unfinished));
}
