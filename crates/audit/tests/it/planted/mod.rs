//! Trials with a fault put into them, and what is reported about it.

use std::sync::LazyLock;

use bakeoff_audit::{Ceilings, Code, Judgement, Level, judge_trial};
use bakeoff_record::{LoadResult, Record, TrialRecord};

pub(crate) static RECORD: LazyLock<Record> = LazyLock::new(bakeoff_testing::record);
pub(crate) const SOUND: &str = "r1-nginx-optimized-synthetic-c10";
pub(crate) const PROXIED: &str = "r1-nginx-optimized-proxy-c10";
pub(crate) const CEILINGS: Ceilings = Ceilings {
    yardstick: Some(92_000.0),
    origin: Some(85_000.0),
    drift: None,
    frequency_mhz: None,
};

/// What is put into a trial.
pub(crate) type Fault = fn(&mut TrialRecord);

/// Judges the trial named `id` after `fault` has been put into it.
pub(crate) fn judge(id: &str, fault: impl FnOnce(&mut TrialRecord)) -> Judgement {
    judge_beside(id, CEILINGS, fault)
}

pub(crate) fn judge_beside(
    id: &str,
    ceilings: Ceilings,
    fault: impl FnOnce(&mut TrialRecord),
) -> Judgement {
    let record = &*RECORD;
    let found = record.trials.iter().find(|trial| trial.id == id);
    let mut trial = found.expect("the made-up record has this trial").clone();
    fault(&mut trial);
    judge_trial(record, &trial, ceilings)
}

/// Judges a sound trial in an open loop after `fault` has been put into it.
pub(crate) fn judge_open(fault: impl FnOnce(&mut LoadResult)) -> Judgement {
    let mut trial = bakeoff_testing::open_loop_trial();
    fault(result(&mut trial));
    judge_trial(&RECORD, &trial, CEILINGS)
}

pub(crate) fn result(trial: &mut TrialRecord) -> &mut LoadResult {
    trial
        .result
        .as_mut()
        .expect("the made-up trial is measured")
}

/// Half as much CPU time for the server, so that it does not set the pace.
pub(crate) fn idle_server(trial: &mut TrialRecord) {
    for tick in &mut trial.usage.trees[0].ticks {
        tick.cpu_user_s *= 0.5;
        tick.cpu_system_s *= 0.5;
    }
    for tick in &mut trial.usage.host {
        let cpu = &mut tick.cpus[0];
        (cpu.user, cpu.system, cpu.softirq, cpu.idle) = (0.18, 0.28, 0.02, 0.52);
    }
}

/// What weakens numbers: `engine-busy: rate invalid, latency invalid`.
pub(crate) fn reported(judgement: &Judgement) -> Vec<String> {
    let bad = judgement
        .checks
        .iter()
        .filter(|check| check.level > Level::Note);
    let one = |check: &bakeoff_audit::Check| {
        let numbers = check
            .numbers
            .iter()
            .filter(|(_, level)| *level > Level::Note);
        let numbers = numbers.map(|(number, level)| format!("{} {}", number.name(), level.name()));
        format!("{}: {}", check.code, numbers.collect::<Vec<_>>().join(", "))
    };
    bad.map(one).collect()
}

/// Each fault is reported as expected; an empty text expects a clean twin.
#[track_caller]
pub(crate) fn each(id: &str, table: &[(Fault, &str)]) {
    for (row, (fault, expected)) in table.iter().enumerate() {
        let judgement = judge(id, fault);
        let expected: Vec<&str> = expected.split("; ").filter(|it| !it.is_empty()).collect();
        assert_eq!(reported(&judgement), expected, "row {row}: {judgement:#?}");
    }
}

#[track_caller]
pub(crate) fn text_of(judgement: &Judgement, code: Code) -> &str {
    &judgement.check(code).expect("the check was made").text
}

pub(crate) const ALL_INVALID: &str = "rate invalid, latency invalid, cpu invalid, memory invalid";
pub(crate) const TIMED_DISTURBED: &str = "rate disturbed, latency disturbed, cpu disturbed";
pub(crate) const TIMED_SUSPECT: &str = "rate suspect, latency suspect, cpu suspect";
