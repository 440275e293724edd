//! Conditions of `--fail-if`, held against the rounds of a made-up campaign.

use std::sync::LazyLock;

use bakeoff_audit::{Condition, Held, Ruling, judge};
use bakeoff_record::{Disturbance, Outcome, Record, Step, TrialEnd, TrialRecord};

const CONTENDER: &str = "nginx-optimized";
static RECORD: LazyLock<Record> =
    LazyLock::new(|| bakeoff_testing::at_one_load(bakeoff_testing::record_of_rounds(10)));

/// The result of a condition over ten rounds, some of which have been changed.
fn held(condition: &str, rounds: usize, change: fn(&mut TrialRecord)) -> Held {
    let mut record = RECORD.clone();
    let trials = record.trials.iter_mut();
    let mine = trials.filter(|it| it.contender == CONTENDER);
    mine.take(rounds).for_each(change);
    let judged = judge(&record);
    let mut cells = judged.cells.iter();
    let cell = cells.find(|one| one.cell.key.contender == CONTENDER);
    let condition = Condition::parse(condition).expect("it is a condition");
    condition.of_cell(cell.expect("the made-up record has it"))
}

fn fail(trial: &mut TrialRecord, step: Step, cause: &str) {
    trial.end = TrialEnd::failed(step, cause);
}

fn die(trial: &mut TrialRecord) {
    fail(trial, Step::Measure, "the server died under load: signal 9");
}

/// Adds a wrong answer for each right one.
fn fail_half(trial: &mut TrialRecord) {
    let result = trial.result.as_mut().expect("it was measured");
    let wrong = result.requests.ok;
    result.outcomes.add_many(Outcome::Status, wrong);
    result.requests.begun += wrong;
    result.requests.started += wrong;
    result.requests.completed += wrong;
    result.balance.begun += wrong;
    result.balance.ended += wrong;
}

#[test]
fn a_server_that_died_under_load_has_too_many_errors() {
    for rounds in [1, 3, 9, 10] {
        let found = held("errors > 0.1%", rounds, die);
        assert_eq!(found.ruling, Ruling::Breached, "{rounds}: {found:?}");
        let expected = "the server died under load: signal 9 (in round 1)";
        assert_eq!(found.text, expected, "{rounds}");
    }
    assert_eq!(held("errors > 0.1%", 0, die).ruling, Ruling::Passed);
    // A condition that errors are few is not met by it, and the other rounds do not speak for it.
    let few = held("errors <= 1%", 3, die).ruling;
    assert_eq!(few, Ruling::CannotTell);
}

#[test]
fn a_round_that_failed_otherwise_leaves_errors_open() {
    let others: [fn(&mut TrialRecord); 3] = [
        |trial| fail(trial, Step::Start, "it did not answer"),
        // The load engine failed.
        |trial| {
            die(trial);
            trial.result = None;
        },
        // Others on the machine may have had a part in it.
        |trial| {
            die(trial);
            trial.disturbed = vec![Disturbance::OtherLoad];
        },
    ];
    for (row, change) in others.into_iter().enumerate() {
        let found = held("errors > 0.1%", 1, change);
        assert_eq!(found.ruling, Ruling::CannotTell, "row {row}: {found:?}");
        let says = found.text.starts_with("round 1 was not measured: ");
        assert!(says, "row {row}: {found:?}");
    }
    // What the other rounds breach is breached.
    let found = held("errors > 10%", 10, |trial| match trial.round {
        1 => fail(trial, Step::Start, "it did not answer"),
        _ => fail_half(trial),
    });
    assert_eq!(found.ruling, Ruling::Breached, "{found:?}");
}
