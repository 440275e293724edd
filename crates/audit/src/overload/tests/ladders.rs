//! Rungs and ramps of made trials: what counts, and what a trial that failed says.

use std::time::Duration;

use bakeoff_plan::{Arrival, Load, LoadModel, Overload, RateShape};
use bakeoff_record::{
    Histogram, Hosts, Interval, LoadResult, LostHost, Outcome, Step, ThreadUsage, TrialEnd,
    TrialRecord,
};

use super::super::{Ladder, OverloadClass, OverloadRamp, judge_ladder, judge_ramp};
use super::{MS, texts};

/// A closed loop of ten seconds.
fn rung(clients: u32, ok: u64, ms: u64, failed: (Outcome, u64)) -> (u32, TrialRecord) {
    let mut record = blank();
    let mut result = LoadResult::empty(record.load.clone(), 10.0);
    let mut latency = Histogram::new();
    latency.record_n(ms * MS, ok);
    result.latency = latency;
    result.requests.ok = ok;
    result.outcomes.add_many(Outcome::Ok, ok);
    result.outcomes.add_many(failed.0, failed.1);
    record.result = Some(result);
    (clients, record)
}

fn blank() -> TrialRecord {
    TrialRecord {
        end: TrialEnd::Measured,
        ..TrialRecord::begun(
            "r1",
            "a",
            "w",
            Load {
                timeout_s: 5.0,
                ..Load::new(LoadModel::Closed { clients: 10 }, 10.0)
            },
        )
    }
}

fn judged(rungs: &[(u32, TrialRecord)]) -> Ladder {
    let trials: Vec<_> = rungs
        .iter()
        .map(|(clients, trial)| (*clients, trial))
        .collect();
    judge_ladder(&trials)
}

#[test]
fn a_ladder_says_who_refuses_and_who_slows() {
    let none = (Outcome::Reset, 0);
    let refuses = judged(&[
        rung(10, 10_000, 1, none),
        rung(1000, 9_000, 1, (Outcome::Refused, 91_000)),
    ]);
    assert_eq!(refuses.rungs[0].classes, []);
    assert_eq!(refuses.rungs[1].classes, [OverloadClass::Refuse]);
    assert_eq!(
        refuses.summary,
        ["refuses connections from 1,000 clients on: 91 % of the requests with 1,000"]
    );
    let slows = judged(&[
        rung(10, 10_000, 1, none),
        rung(1000, 9_900, 100, none),
        rung(10_000, 9_500, 990, none),
    ]);
    assert_eq!(slows.rungs[2].classes, [OverloadClass::Queue]);
    assert!(
        slows.summary[0].starts_with("slows down from 1,000 clients on: p99 goes from 1.00 ms"),
        "{:?}",
        slows.summary
    );
    let even = judged(&[rung(10, 10_000, 1, none), rung(20, 20_000, 1, none)]);
    assert_eq!(even.summary, ["answers 20 clients as it answers few"]);
}

/// A server that takes 50 ms for an answer gives 4,000/s to 200 clients, whatever it could give.
#[test]
fn only_more_clients_than_the_best_rung_has_show_a_collapse() {
    let one = (Outcome::Reset, 1);
    let rises = judged(&[
        rung(10, 2_000, 50, one),
        rung(200, 40_000, 50, one),
        rung(1000, 200_000, 50, one),
    ]);
    for rung in &rises.rungs {
        assert_eq!(rung.classes, [], "{rung:?}");
    }
    let falls = judged(&[
        rung(10, 2_000, 50, one),
        rung(200, 40_000, 50, one),
        rung(1000, 10_000, 50, one),
    ]);
    assert_eq!(falls.rungs[2].classes, [OverloadClass::Collapse]);
}

#[test]
fn what_fails_otherwise_is_no_health_and_an_engine_at_its_limit_is_named() {
    let few = || rung(10, 10_000, 1, (Outcome::Reset, 0));
    for outcome in [Outcome::WrongBody, Outcome::Local] {
        let ladder = judged(&[few(), rung(1000, 6_000, 1, (outcome, 4_000))]);
        assert_eq!(ladder.rungs[1].classes, [], "{outcome:?}");
        let expected = "40 % of the requests of 1,000 clients failed, in none of the ways";
        assert!(ladder.summary[0].starts_with(expected), "{ladder:?}");
    }
    let (clients, mut busy) = rung(1000, 9_900, 1, (Outcome::Reset, 0));
    let result = busy.result.as_mut().unwrap();
    result.engine.threads = vec![ThreadUsage {
        cpu_s: result.measured_s,
        kept_s: 0.0,
        longest_turn_s: 0.0,
    }];
    let ladder = judged(&[few(), (clients, busy)]);
    let last = ladder.summary.last().unwrap();
    assert!(
        last.starts_with("with 1,000 clients: the load engine was at its own limit"),
        "{last}"
    );
}

/// Two seconds are too short for clients that wait for ten to give up.
#[test]
fn clients_that_are_left_waiting_are_not_answered() {
    let none = (Outcome::Reset, 0);
    let left = |clients: u32, ok: u64, ms: u64, without: u64| {
        let (clients, mut trial) = rung(clients, ok, ms, none);
        trial.load.duration_s = 2.0;
        let result = trial.result.as_mut().unwrap();
        (result.measured_s, result.observed.clients.none) = (2.0, without);
        (clients, trial)
    };
    let few = || left(10, 10_000, 1, 0);
    let hangs = judged(&[few(), left(10_000, 0, 1, 10_000)]);
    assert_eq!(hangs.rungs[1].classes, [OverloadClass::Stall]);
    assert_eq!(
        hangs.summary,
        ["stalls from 10,000 clients on: none of 10,000 has an answer"]
    );
    let some = judged(&[few(), left(10_000, 10_000, 1, 9_000)]);
    assert_eq!(some.rungs[1].classes, [OverloadClass::Queue]);
    assert_eq!(
        some.summary,
        ["slows down from 10,000 clients on: 9,000 of 10,000 have no answer"]
    );
    // One in a thousand is no class, and is said.
    let one = judged(&[few(), left(1000, 10_000, 1, 1)]);
    assert_eq!(one.rungs[1].classes, []);
    assert_eq!(
        one.summary,
        ["answers 1,000 clients as it answers few, but for 1 without an answer"]
    );
    // Those that were sent away are left without an answer by that.
    let (clients, mut sent_away) = rung(1000, 9_000, 1, (Outcome::Refused, 91_000));
    let result = sent_away.result.as_mut().unwrap();
    (result.measured_s, result.observed.clients.none) = (2.0, 900);
    let refuses = judged(&[few(), (clients, sent_away)]);
    assert_eq!(refuses.rungs[1].classes, [OverloadClass::Refuse]);
}

fn failed(step: Step, cause: &str) -> TrialEnd {
    TrialEnd::failed(step, cause)
}

fn without(host: &str) -> Hosts {
    Hosts {
        lost: vec![LostHost {
            host: host.to_owned(),
            at_s: None,
            message: "no answer for 10 s".to_owned(),
        }],
        ..Hosts::default()
    }
}

#[test]
fn only_the_servers_own_end_is_a_crash() {
    let none = (Outcome::Reset, 0);
    let classes = |end, hosts| {
        let (clients, mut trial) = rung(1000, 9_000, 1, none);
        (trial.end, trial.hosts) = (end, hosts);
        let ladder = judged(&[(clients, trial)]);
        (ladder.rungs[0].classes.clone(), ladder.rungs[0].why.clone())
    };
    let died = "the server died under load: signal 9";
    let (found, _) = classes(failed(Step::Measure, died), None);
    assert_eq!(found, [OverloadClass::Crash]);
    for (step, cause, hosts) in [
        (Step::Stop, "process 123 still runs", None),
        (Step::Origin, "failed to reach the upstream", None),
        (Step::Measure, "host g1 was lost", Some(without("g1"))),
    ] {
        let (found, why) = classes(failed(step, cause), hosts);
        assert_eq!(found, [], "{cause}");
        assert_eq!(why.as_deref(), Some(cause));
    }
}

/// A ramp of ten seconds to twice 100/s and back, with all answers right.
fn ramp(end: TrialEnd, hosts: Option<Hosts>) -> OverloadRamp {
    let mut record = blank();
    record.load.model = LoadModel::Open {
        rate_per_s: 50.0,
        arrival: Arrival::Constant,
        clients: 10,
    };
    let mut result = LoadResult::empty(record.load.clone(), 10.0);
    result.shape = RateShape::Steps {
        then_per_s: vec![200.0, 50.0],
    };
    let mut latency = Histogram::new();
    latency.record_n(MS, 10);
    let part = |index| Interval {
        start_s: f64::from(index) * 0.1,
        length_s: 0.1,
        ok: 10,
        latency: latency.clone(),
        errors: 0,
        failed: None,
    };
    result.intervals = (0..100).map(part).collect();
    record.result = Some(result);
    (record.end, record.hosts) = (end, hosts);
    let overload = Overload {
        steps: vec![0.5, 2.0, 0.5],
        capacity_per_s: Some(100.0),
        arrival: Arrival::Constant,
        clients: 10,
        ladder: Vec::new(),
        rung: Duration::from_secs(10),
    };
    judge_ramp(&record, &overload, None)
}

#[test]
fn a_ramp_that_failed_beside_the_server_is_judged_and_says_so() {
    let died = |ramp: &OverloadRamp| ramp.series.as_ref().map(|it| it.died.is_some());
    let cause = "the server died under load: signal 9";
    assert_eq!(died(&ramp(failed(Step::Measure, cause), None)), Some(true));
    for (step, cause) in [
        (Step::Stop, "process 123 still runs"),
        (Step::Origin, "failed to reach the upstream"),
    ] {
        let judged = ramp(failed(step, cause), None);
        assert_eq!(died(&judged), Some(false), "{cause}");
        assert_eq!(judged.classes, [], "{cause}");
        let unsaid = texts(&judged.unsaid).join("; ");
        assert!(unsaid.ends_with(cause), "{unsaid}");
    }
    let lost = ramp(
        failed(Step::Measure, "host g1 was lost"),
        Some(without("g1")),
    );
    assert_eq!(died(&lost), None, "it counts in no figure");
    assert_eq!(texts(&lost.unsaid), ["host g1 was lost"]);
}

#[test]
fn a_rung_that_the_machine_cannot_carry_says_why() {
    let mut skipped = blank();
    skipped.end = TrialEnd::Skipped {
        reason: "10000 clients need 10064 open files".to_owned(),
        fix: "ulimit".to_owned(),
    };
    let ladder = judged(&[(10_000, skipped)]);
    assert_eq!(
        ladder.summary,
        ["10,000 clients were not measured: 10000 clients need 10064 open files"]
    );
}
