//! What further rounds are for: when a stopping rule goes on.

#[allow(dead_code, unused_imports)]
mod support;

use bakeoff_plan::Until;
use bakeoff_record::{Outcome, Record, TrialRecord};
use bakeoff_report::{Gates, widest, widest_gated};

/// Three contenders at one workload and load that they all carry, in so many rounds.
fn rounds(n: u32) -> Record {
    let mut record = support::campaign(n);
    record
        .trials
        .retain(|it| it.workload == "synthetic" && it.load.label() == "c10");
    record.plan.workloads.truncate(1);
    record.plan.loads.truncate(1);
    record
}

/// The same where a rule decided when to stop.
fn ruled(n: u32, width: f64, max_rounds: u32) -> Record {
    let mut record = rounds(n);
    record.plan.rounds = 7;
    record.plan.until = Some(Until { width, max_rounds });
    record
}

/// The first rounds of a contender.
fn first<'r>(
    record: &'r mut Record,
    name: &'r str,
    rounds: u32,
) -> impl Iterator<Item = &'r mut TrialRecord> {
    let trials = record.trials.iter_mut();
    trials.filter(move |it| it.contender == name && it.round <= rounds)
}

/// Lets the hypervisor take a processor's time.
fn disturb(trial: &mut TrialRecord) {
    for tick in &mut trial.usage.host {
        tick.cpus[0].steal += 0.3;
    }
}

/// Lets one request of two fail.
fn fail(trial: &mut TrialRecord) {
    let result = trial.result.as_mut().expect("it was measured");
    let failed = result.requests.ok / 2;
    result.requests.ok -= failed;
    result.outcomes.add_many(Outcome::Status, failed);
}

/// A contender without enough undisturbed rounds is compared with nobody, so that its intervals
/// have no width: the others' would end the campaign.
#[test]
fn a_stopping_rule_waits_for_rounds_that_were_disturbed() {
    let mut record = ruled(10, 0.03, 40);
    assert!(widest(&record).is_some());
    first(&mut record, "caddy-default", 3).for_each(disturb);
    assert_eq!(widest(&record), None);
    // With so many that the machine has to become quiet first, or with failures of its own, it is
    // not waited for.
    first(&mut record, "caddy-default", 6).for_each(disturb);
    assert!(widest(&record).is_some());
    let mut record = ruled(10, 0.03, 40);
    first(&mut record, "caddy-default", 3).for_each(fail);
    assert!(widest(&record).is_some());
}

/// Where the engine is what limits one side in every round, more rounds bring the other side
/// nothing to be held against.
#[test]
fn no_rounds_are_promised_for_a_gate_with_a_side_that_stays_as_it_is() {
    let gates = Gates::parse("rate=5%").expect("it is a gate");
    for (other, expected) in [("nginx-default", None), ("nginx-optimized", Some(0.0))] {
        let mut record = rounds(10);
        let contenders = &mut record.plan.contenders;
        contenders.retain(|it| it.name == "caddy-default" || it.name == other);
        first(&mut record, "caddy-default", 3).for_each(disturb);
        assert_eq!(widest_gated(&record, &gates), expected, "{other}");
    }
}
