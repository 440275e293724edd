//! A bottleneck that is suspected, and what an experiment in the record says about it.

use bakeoff_audit::{ConfirmAnswer, Confirmation, Limiter, judge, suspected};
use bakeoff_plan::Change;
use bakeoff_record::{ContenderKind, Disturbance, Record, TrialEnd, TrialRecord};

const NAME: &str = "nginx-optimized";

/// A record in which one thread of the contender's server worked all the time and half of its
/// processors was idle.
fn single_core() -> Record {
    busy_thread(bakeoff_testing::record())
}

/// The same record with that thread.
fn busy_thread(mut record: Record) -> Record {
    for trial in record.trials.iter_mut().filter(|it| it.contender == NAME) {
        trial.pinned.server = vec![0, 1];
        for tree in &mut trial.usage.trees {
            for tick in &mut tree.ticks {
                tick.busiest_thread = Some(0.99);
            }
        }
    }
    record
}

/// The trial that the experiment is about.
fn suspect(record: &Record) -> TrialRecord {
    let found = suspected(record);
    let one = found
        .iter()
        .find(|it| it.contender == NAME && it.change == Change::WorkerMore);
    let one = one.expect("one thread was full").clone();
    let mut own = record.trials.iter();
    let trial = own.find(|it| {
        it.contender == NAME && it.workload == one.workload && it.load_label() == one.load
    });
    trial.expect("the cell has it").clone()
}

/// Adds an experiment with the rate of the changed arm in each round, and of the second equal one.
fn experiment(record: &mut Record, changed: &[f64], again: f64) {
    let pattern = suspect(record);
    for (round, changed) in (1..).zip(changed) {
        let arms = [
            (NAME.to_owned(), ContenderKind::Contender, 1000.0),
            (format!("{NAME}~"), ContenderKind::Control, again),
            (
                Change::WorkerMore.name_of(NAME),
                ContenderKind::Contender,
                *changed,
            ),
        ];
        for (name, kind, rate) in arms {
            let mut trial = pattern.clone();
            trial.id = format!("e1-r{round}-{name}");
            trial.round = round;
            (trial.contender, trial.kind) = (name, kind);
            let crew = trial.work.as_mut().and_then(|work| work.crew.as_mut());
            if let Some(crew) = crew.filter(|_| Change::of_name(&trial.contender).is_some()) {
                crew.listening += 1;
            }
            let result = trial.result.as_mut().expect("it was measured");
            result.requests.ok = (rate * result.measured_s) as u64;
            record.confirming.push(trial);
        }
    }
}

fn found(record: &Record) -> Vec<Confirmation> {
    let pattern = suspect(record);
    let judged = judge(record);
    let cell = judged.cells.iter().find(|cell| {
        let key = &cell.cell.key;
        (&key.contender, &key.workload, &key.load)
            == (&pattern.contender, &pattern.workload, &pattern.load_label())
    });
    let bottleneck = cell.and_then(|cell| cell.bottleneck.clone());
    bottleneck.expect("it was measured").confirmations
}

#[test]
fn an_experiment_confirms_a_bottleneck_or_does_not() {
    let plain = single_core();
    assert_eq!(found(&plain), [], "nobody asked");
    let check = |changed: &[f64], again, expected, text: &str| {
        let mut record = single_core();
        experiment(&mut record, changed, again);
        let all = found(&record);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!((all[0].answer, all[0].rounds), (expected, changed.len()));
        assert!(all[0].text.starts_with(text), "{}", all[0].text);
    };
    let twice = [1900.0, 1950.0, 1880.0, 1910.0, 1990.0, 1870.0];
    let text = "single-core is confirmed: with one worker more the rate was 1.9";
    check(&twice, 1000.0, ConfirmAnswer::Confirmed, text);
    let same = [1010.0, 990.0, 1020.0, 1005.0, 980.0, 1000.0];
    let text = "single-core is not confirmed: with one worker more the rate was 0.99";
    check(&same, 1030.0, ConfirmAnswer::NotConfirmed, text);
    let few = "single-core was not tested with one worker more: it was interrupted";
    check_few(&twice[..3], few);
}

fn check_few(changed: &[f64], expected: &str) {
    let mut record = single_core();
    experiment(&mut record, changed, 1000.0);
    let all = found(&record);
    assert_eq!(
        (all[0].answer, all[0].ratio),
        (ConfirmAnswer::NotTested, None)
    );
    assert_eq!(all[0].text, expected);
}

/// A thread that is full is no bottleneck of a server that keeps up, and no change makes it answer
/// more than it is asked.
#[test]
fn at_a_given_rate_nothing_is_put_to_the_test() {
    let given = busy_thread(bakeoff_testing::record_at_constant_rate());
    let judged = judge(&given);
    let also =
        |it: &bakeoff_audit::Bottleneck| it.also.iter().any(|it| it.name == Limiter::SingleCore);
    let mut bottlenecks = judged
        .cells
        .iter()
        .filter_map(|cell| cell.bottleneck.as_ref());
    assert!(bottlenecks.any(also), "the figures speak for it");
    assert_eq!(suspected(&given), []);
}

#[test]
fn disturbed_rounds_and_what_cannot_be_changed_test_nothing() {
    let mut record = single_core();
    experiment(&mut record, &[1900.0; 6], 1000.0);
    for trial in record.confirming.iter_mut().filter(|it| it.round <= 2) {
        trial.disturbed = vec![Disturbance::OtherLoad];
    }
    let all = found(&record);
    assert_eq!(
        (all[0].answer, all[0].rounds),
        (ConfirmAnswer::NotTested, 4)
    );
    let text = "something else on the machine disturbed 6 of 18 runs";
    assert!(all[0].text.ends_with(text), "{}", all[0].text);
    let mut record = single_core();
    experiment(&mut record, &[1900.0], 1000.0);
    record
        .confirming
        .retain(|it| Change::of_name(&it.contender).is_some());
    record.confirming[0].result = None;
    record.confirming[0].end = TrialEnd::Skipped {
        reason: "its one processor cannot be taken away".to_owned(),
        fix: String::new(),
    };
    let all = found(&record);
    assert_eq!(all[0].answer, ConfirmAnswer::NotTested);
    assert!(
        all[0]
            .text
            .ends_with("its one processor cannot be taken away"),
        "{}",
        all[0].text
    );
}

/// Trials of another contender, workload, load or change are not taken for those of an experiment,
/// whatever their ids begin with.
#[test]
fn trials_of_another_experiment_are_left_out() {
    let twice = [1900.0, 1950.0, 1880.0, 1910.0, 1990.0, 1870.0];
    let mut record = single_core();
    experiment(&mut record, &twice, 1000.0);
    let expected = found(&record);
    assert_eq!(expected[0].answer, ConfirmAnswer::Confirmed);
    let others: [fn(&mut TrialRecord); 3] = [
        |trial| trial.contender = trial.contender.replace(NAME, "other"),
        |trial| trial.workload = "elsewhere".to_owned(),
        |trial| trial.load_name = Some("c999".to_owned()),
    ];
    for other in others {
        let mut mixed = record.clone();
        let mut more = mixed.confirming.clone();
        for trial in &mut more {
            other(trial);
            let result = trial.result.as_mut().expect("it was measured");
            result.requests.ok /= 4;
        }
        mixed.confirming.splice(0..0, more);
        assert_eq!(found(&mixed), expected);
    }
    // Another change of the same server, whose changed arm is none of this one.
    let changed = Change::ProcessorLess.name_of(NAME);
    let is_changed = |it: &&TrialRecord| Change::of_name(&it.contender).is_some();
    let changed = record.confirming.iter().filter(is_changed).map(|trial| {
        let mut trial = trial.clone();
        trial.contender.clone_from(&changed);
        trial.disturbed = vec![Disturbance::OtherLoad];
        trial
    });
    let changed: Vec<TrialRecord> = changed.collect();
    let mut mixed = record.clone();
    mixed.confirming.splice(0..0, changed);
    assert_eq!(found(&mixed), expected);
}
