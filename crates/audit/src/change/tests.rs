//! Costs of a made-up change, and what takes away from them.

use bakeoff_record::{Disturbance, Record};
use bakeoff_testing::changed;

use super::*;

fn cost(record: &Record, contender: &str, action: Action) -> Cost {
    let mut all = costs(record).into_iter();
    let found = all.find(|it| it.contender == contender && it.action == action);
    found.expect("the plan has it")
}

fn reload(record: &Record, contender: &str) -> Cost {
    cost(record, contender, Action::Reload)
}

fn of(record: &mut Record, action: Action) -> impl Iterator<Item = &mut ActionDone> {
    let trials = record.trials.iter_mut();
    let all = trials.flat_map(|trial| &mut trial.actions);
    all.filter(move |done| done.action == action)
}

#[test]
fn what_is_lost_is_counted_by_where_it_was_and_beside_what_was_due() {
    let caddy = reload(&changed(), "caddy-default");
    assert_eq!((caddy.rounds, caddy.actions), (2, 9));
    assert_eq!((caddy.due, caddy.lost), (9_000, 63));
    let by: Vec<_> = caddy
        .lost_by
        .iter()
        .map(|it| (it.at, it.requests))
        .collect();
    assert_eq!(by, [(LostAt::InFlight, 18), (LostAt::New, 45)]);
    let each = caddy.lost_each.unwrap();
    assert_eq!((each.least, each.most, each.mean), (7, 7, 7.0));
    let share = caddy.lost_share.unwrap();
    assert!(share.low < 0.007 && 0.007 < share.high, "{share:?}");
    let gap = caddy.gap_s.unwrap();
    assert_eq!((gap.median, gap.high, gap.n), (Some(0.12), Some(0.12), 9));
    let failed = &caddy.failed[0];
    assert_eq!((failed.actions, failed.lost), (1, 0));
    assert_eq!(caddy.doubts, []);
}

#[test]
fn none_lost_is_at_most_three() {
    let nginx = reload(&changed(), "nginx-default");
    assert_eq!((nginx.due, nginx.lost), (10_000, 0));
    assert_eq!(nginx.lost_share.unwrap().high, 3e-4);
    let closed = nginx.closed_each.unwrap();
    assert_eq!((closed.least, closed.most, closed.mean), (40, 44, 42.0));
    assert_eq!(nginx.first_new_s.unwrap().median, Some(0.012));
}

#[test]
fn processes_and_memory_are_those_before_at_the_peak_and_at_the_end() {
    let nginx = reload(&changed(), "nginx-default");
    let processes = nginx.processes.unwrap();
    assert_eq!((processes.before, processes.peak), (2.0, 3.0));
    assert_eq!((processes.at_end, processes.most), (2.0, 3.0));
    let memory = nginx.memory_bytes.unwrap();
    assert!(memory.peak > memory.before + 3.9e6, "{memory:?}");
    let mut record = changed();
    for trial in &mut record.trials {
        trial.usage.trees.clear();
    }
    assert_eq!(reload(&record, "nginx-default").processes, None);
}

#[test]
fn a_trial_that_was_not_measured_to_its_end_is_left_out() {
    let ended = reload(&changed(), "nginx-optimized");
    assert_eq!(
        (ended.rounds, ended.rounds_planned, ended.actions),
        (1, 2, 5)
    );
    assert!(matches!(
        &ended.left_out[..],
        [LeftOut {
            why: WhyLeftOut::Ended(TrialEnd::Failed { .. }),
            ..
        }]
    ));
}

#[test]
fn what_the_control_loses_is_held_against_the_action() {
    let mut record = changed();
    for done in of(&mut record, Action::None).take(1) {
        done.lost.push(Lost {
            at: LostAt::Kept,
            outcome: Outcome::Reset,
            requests: 2,
        });
    }
    let doubts = reload(&record, "nginx-default").doubts;
    assert_eq!(
        doubts,
        [Doubt::ControlLoses {
            lost: 2,
            due: 10_000
        }]
    );
    assert_eq!(reload(&record, "caddy-default").doubts, []);
    record.trials.retain(|trial| {
        let actions = trial.load.actions.as_ref();
        actions.is_some_and(|it| it.action != Action::None)
    });
    assert_eq!(reload(&record, "nginx-default").doubts, [Doubt::NoControl]);
}

#[test]
fn what_was_lost_before_or_here_is_no_loss_but_a_doubt() {
    let mut record = changed();
    for done in of(&mut record, Action::Reload).take(1) {
        let lost = |at, outcome| Lost {
            at,
            outcome,
            requests: 3,
        };
        done.lost = vec![
            lost(LostAt::Before, Outcome::Reset),
            lost(LostAt::New, Outcome::Local),
        ];
    }
    record.trials[0].disturbed.push(Disturbance::Drift);
    let contender = record.trials[0].contender.clone();
    let id = record.trials[0].id.clone();
    let control = cost(&record, &contender, Action::None);
    assert_eq!(control.doubts, [Doubt::Disturbed { trials: vec![id] }]);
    let nginx = reload(&record, "nginx-default");
    assert_eq!((nginx.lost, nginx.lost_by.len()), (0, 0));
    assert_eq!(
        nginx.doubts,
        [
            Doubt::LostBefore { requests: 3 },
            Doubt::Unsent { requests: 3 }
        ]
    );
}

#[test]
fn no_answer_at_all_is_a_gap_without_an_end() {
    let mut record = changed();
    of(&mut record, Action::Reload).for_each(|done| done.gap = None);
    let gap = reload(&record, "nginx-default").gap_s.unwrap();
    assert_eq!((gap.median, gap.high), (None, None));
}

#[test]
fn what_was_not_measured_yet_has_no_numbers() {
    let mut record = changed();
    record.trials.clear();
    let nginx = reload(&record, "nginx-default");
    assert_eq!(
        (nginx.rounds, nginx.lost_share, nginx.gap_s),
        (0, None, None)
    );
    assert_eq!(nginx.doubts, []);
}
