//! Which attempt at a block counts where something disturbed each of them.

use super::*;

/// The attempt at round 2 that counts, of three in which these trials were disturbed.
fn counted(disturbed: [&[(&str, Disturbance)]; 3]) -> u32 {
    let mut record = rounds(3);
    let second = again(&record);
    let third = second.iter().map(|trial| TrialRecord {
        attempt: 3,
        disturbed: Vec::new(),
        doubted: None,
        id: trial.id.replace("-a2", "-a3"),
        ..trial.clone()
    });
    record.trials.extend(third.collect::<Vec<_>>());
    record.trials.extend(second);
    for (number, disturbed) in (1..).zip(disturbed) {
        for (name, what) in disturbed {
            let of_attempt = |it: &&mut TrialRecord| (it.round, it.attempt) == (2, number);
            for trial in of(&mut record, name).filter(of_attempt) {
                trial.disturbed.push(*what);
            }
        }
    }
    let judged = judge(&record);
    let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
    cell.cell.trials[1].attempt
}

#[test]
fn of_attempts_that_were_all_disturbed_the_one_that_lost_the_fewest_trials_counts() {
    use Disturbance::{Drift, OtherLoad, Steal};
    const CADDY: &str = "caddy-default";
    let one: &[(&str, Disturbance)] = &[(CONTENDER, OtherLoad)];
    let other: &[(&str, Disturbance)] = &[(CADDY, Steal)];
    let both: &[(&str, Disturbance)] = &[(CONTENDER, Steal), (CADDY, OtherLoad)];
    let twice: &[(&str, Disturbance)] = &[(CADDY, Steal), (CADDY, OtherLoad)];
    let yardstick: &[(&str, Disturbance)] = &[("yardstick", Steal)];
    let drifted: &[(&str, Disturbance)] = &[("yardstick", Drift)];
    for (disturbed, expected) in [
        ([one, both, both], 1),
        ([both, one, both], 2),
        // The last of equals, whoever it was, and a trial that was disturbed twice is one trial.
        ([one, other, both], 2),
        ([one, both, twice], 3),
        ([both, both, both], 3),
        // What took the yardstick's time leaves the others as they are; its drift is theirs.
        ([both, yardstick, one], 2),
        ([one, drifted, both], 1),
        // One that nothing disturbed is the first choice still.
        ([one, &[], &[]], 2),
    ] {
        assert_eq!(counted(disturbed), expected, "{disturbed:?}");
    }
}
