//! Whole campaigns on invented machines.

use std::path::Path;

use bakeoff_plan::{Arrival, Builtin, LoadModel, Plan};
use bakeoff_record::{LoadResult, Outcome, Record, RecordFolder};

use super::*;
use crate::campaign::{CampaignEnd, Options, Rules, carry_out};

/// Two contenders under a closed loop.
const PLAN: &str = "name = \"p\"\nrounds = 2\nworkloads = [\"synthetic\"]\n\
    [references]\nyardstick = true\n\
    [[contender]]\nname = \"a\"\nserver = \"nginx\"\n\
    [[contender]]\nname = \"b\"\nserver = \"caddy\"\n\
    [[load]]\nclients = 10\nwarmup = \"1s\"\nduration = \"10s\"\n";

fn plan() -> Plan {
    bakeoff_plan::parse(PLAN, "p", Path::new("/"), &Builtin).expect("a plan")
}

fn invented(world: &str) -> Invented {
    let world = World::parse(world).expect("a machine");
    Invented::of(world, Arc::default()).expect("processors")
}

/// Carries a plan out on a machine, and returns how that ended and what was recorded.
fn carried_out(plan: &Plan, world: &str) -> (CampaignEnd, Vec<TrialRecord>) {
    let place = tempfile::tempdir().expect("a folder");
    let invented = invented(world);
    let machine = invented.machine(bakeoff_probe::machine());
    let path = place.path().join("record");
    let mut folder = RecordFolder::create(&path, plan, &machine).expect("a record");
    let options = Options {
        stop: invented.stop.clone(),
        earlier: Vec::new(),
        roles: invented.roles().clone(),
        warnings: Vec::new(),
        generators: Some(Box::new(invented.clone())),
    };
    let end = carry_out(
        plan,
        &mut folder,
        &invented,
        options,
        Rules::none(),
        &mut |_| {},
    );
    let record = Record::read(&path).expect("it was written");
    assert_eq!(record.machine.host, INVENTED);
    (end.expect("a folder to write"), record.trials)
}

/// How the first trial of `a` ends on a machine.
fn end_of(world: &str) -> TrialRecord {
    let (_, trials) = carried_out(&plan(), world);
    let first = trials.into_iter().find(|trial| trial.contender == "a");
    first.expect("it is of the plan")
}

/// The open load of `a` at a rate.
fn open(rate_per_s: f64, world: &str) -> LoadResult {
    let mut plan = plan();
    plan.loads[0].model = LoadModel::Open {
        rate_per_s,
        arrival: Arrival::Poisson,
        clients: 100,
    };
    let (_, trials) = carried_out(&plan, world);
    let first = trials.into_iter().find(|trial| trial.contender == "a");
    first
        .and_then(|trial| trial.result)
        .expect("it was measured")
}

fn holds(result: &LoadResult) {
    let requests = &result.requests;
    assert!(result.balance.holds(), "{result:?}");
    assert_eq!(
        requests.started,
        requests.completed + requests.in_flight_at_end
    );
    assert_eq!(requests.completed, result.outcomes.completed());
    assert_eq!(requests.ok, result.latency.count());
    let parts = result.intervals.iter().map(|part| part.ok).sum::<u64>();
    assert_eq!(requests.ok, parts);
}

#[test]
fn a_campaign_is_the_same_each_time_and_takes_the_time_of_its_plan() {
    let (end, first) = carried_out(&plan(), "contender.b.rate = 20_000");
    assert_eq!(end, CampaignEnd::Complete);
    assert_eq!(first.len(), 6);
    let (_, again) = carried_out(&plan(), "contender.b.rate = 20_000");
    assert_eq!(first, again);
    for trial in &first {
        assert_eq!(trial.end, TrialEnd::Measured);
        let expected = match trial.contender.as_str() {
            "a" => 10_000.0,
            "b" => 20_000.0,
            _ => 100_000.0,
        };
        let rate = trial.ok_per_s().expect("a rate");
        assert!((rate / expected - 1.0).abs() < 0.02, "{}: {rate}", trial.id);
        assert!(trial.disturbed.is_empty());
        holds(trial.result.as_ref().expect("it was measured"));
        let measured = trial.steps.iter().find(|it| it.step == Step::Measure);
        let took_s = measured.expect("it was measured").took_s;
        assert!((10.0..10.1).contains(&took_s), "{took_s}");
    }
    let date = |at: usize| first[at].started_at.as_str();
    assert_eq!(date(0), "2000-01-01T00:00:00Z");
    assert!(date(5) > "2000-01-01T00:00:55Z" && date(5) < "2000-01-01T00:01:30Z");
}

#[test]
fn what_happens_to_a_server_is_how_its_trial_ends() {
    let check = |world: &str, expected: &str| {
        let trial = end_of(&format!("[contender.a]\n{world}"));
        let end = format!("{:?}", trial.end);
        assert!(end.contains(expected), "{world}: {end}");
        assert_eq!(
            trial.result.is_some(),
            trial.ok_per_s().is_some() || end.contains("died")
        );
    };
    check(
        "fate.fails = \"it is broken\"",
        "step: Start, cause: \"it is broken\"",
    );
    check(
        "fate.unsupported = \"it has no TLS\"",
        "Unsupported { reason: \"it has no TLS\" }",
    );
    check(
        "fate.dies_s = 2.5",
        "step: Measure, cause: \"the server died under load: exit status 3\"",
    );
    check("fate.lost = \"g1\"", "Interrupted");
    check(
        "answer.wrong = \"before\"",
        "the answer to `GET /` is wrong",
    );
    check("answer.silent = true", "Measured");
    let trial = end_of("[contender.a]\nanswer.silent = true\n");
    assert_eq!(trial.warnings[0].code, "no-answer-after");
    let trial = end_of("[contender.a]\nfate.dies_s = 2.5\n");
    let measured_s = trial.result.map_or(0.0, |result| result.measured_s);
    assert!((2.5..2.6).contains(&measured_s), "{measured_s}");
    let trial = end_of("[contender.a]\nanswer.wrong = \"after\"\n");
    let right: Vec<bool> = trial.answers.iter().map(|answer| answer.right).collect();
    assert_eq!(right, [true, false]);
}

#[test]
fn a_machine_is_disturbed_where_the_file_says_so() {
    use bakeoff_record::Disturbance;
    let check = |machine: &str, expected: &[Disturbance]| {
        let trial = end_of(&format!("[[trial]]\nid = \"r1-*\"\nmachine.{machine}"));
        assert_eq!(trial.disturbed, expected, "{machine}");
    };
    check("steal = 0.2", &[Disturbance::Steal]);
    check("other_load = 0.15", &[]);
    check("engine_kept = 0.3", &[Disturbance::EngineKept]);
    let trial = end_of("server.usage.cores = 0.4\nserver.machine.other_load = 0.5\n");
    assert_eq!(trial.disturbed, [Disturbance::OtherLoad]);
}

#[test]
fn somebody_stops_the_campaign_after_as_many_loads_as_the_file_says() {
    let (end, trials) = carried_out(&plan(), "stop_after = 2");
    assert_eq!(end, CampaignEnd::Interrupted);
    let ends: Vec<bool> = trials
        .iter()
        .map(|it| it.end == TrialEnd::Measured)
        .collect();
    assert_eq!(ends, [true, true, false]);
    assert_eq!(trials[2].end, TrialEnd::Interrupted);
}

#[test]
fn requests_fail_in_the_shares_of_the_file() {
    let trial = end_of("[contender.a.failing]\nrefused = 0.1\nstatus = 0.02\n");
    let result = trial.result.expect("it was measured");
    holds(&result);
    let all = result.outcomes.completed() as f64;
    for (outcome, share) in [(Outcome::Refused, 0.1), (Outcome::Status, 0.02)] {
        let found = result.outcomes.of(outcome) as f64 / all;
        assert!((found - share).abs() < 0.001, "{outcome:?}: {found}");
    }
}

#[test]
fn below_its_capacity_a_server_answers_all_in_time() {
    let result = open(5_000.0, "");
    holds(&result);
    assert_eq!(result.requests.due, Some(50_000));
    assert_eq!(result.requests.ok, 50_000);
    let p99 = result.latency.quantile(0.99).expect("answers");
    assert!(p99 < 2_000_000, "{p99}");
}

#[test]
fn beyond_its_capacity_a_server_does_what_the_file_says() {
    let of = |beyond: &str| {
        let result = open(15_000.0, &format!("[contender.a]\nbeyond = \"{beyond}\"\n"));
        holds(&result);
        result
    };
    let queues = of("queue");
    // A third of 10 s is what it lacks.
    let p99 = queues.latency.quantile(0.99).expect("answers");
    assert!(p99 > 3_000_000_000, "{p99}");
    let refused = of("refuse").outcomes.of(Outcome::Refused);
    assert!((45_000..55_000).contains(&refused), "{refused}");
    let shed = of("shed");
    assert!(shed.status[&503] > 45_000, "{:?}", shed.status);
    assert_eq!(of("hold").outcomes.errors(), 0);
    let crashed = of("crash");
    assert!(crashed.measured_s < 2.0, "{}", crashed.measured_s);
    let stuck = of("stick");
    assert!(stuck.requests.ok < 20_000, "{}", stuck.requests.ok);
}

/// Two reloads, and two times nothing.
const CHANGE: &str = "name = \"p\"\nrounds = 1\nworkloads = [\"synthetic\"]\n\
    [references]\nyardstick = true\n\
    [[contender]]\nname = \"a\"\nserver = \"nginx\"\n\
    [[contender]]\nname = \"b\"\nserver = \"caddy\"\n\
    [[change]]\naction = \"reload\"\ntimes = 2\nevery = \"2s\"\nrate = 1000\n\
    [[change]]\naction = \"none\"\ntimes = 2\nevery = \"2s\"\nrate = 1000\n";

/// What becomes of each trial of that plan.
fn changed(world: &str) -> Vec<TrialRecord> {
    let plan = bakeoff_plan::parse(CHANGE, "p", Path::new("/"), &Builtin).expect("a plan");
    let (end, trials) = carried_out(&plan, world);
    assert_eq!(end, CampaignEnd::Complete);
    assert_eq!(trials.len(), 4, "references take no part");
    trials
}

#[test]
fn an_action_costs_what_the_file_says_and_nothing_costs_nothing() {
    let world = "server.change = { lost = 7, closed = 5, gap_ms = 120 }\n\
        [contender.b]\nchange = { lost = 0, closed = 0, gap_ms = 0 }\n";
    for trial in changed(world) {
        let is_reload = trial.load.actions.as_ref().unwrap().action == bakeoff_plan::Action::Reload;
        let costs = is_reload && trial.contender == "a";
        let (lost, closed, gap_s) = if costs { (7, 5, 0.12) } else { (0, 0, 0.0) };
        assert_eq!(trial.actions.len(), 2);
        for (action, at_s) in trial.actions.iter().zip([1.0, 3.0]) {
            assert_eq!((action.at_s, action.due), (at_s, 2_000));
            let requests: u64 = action.lost.iter().map(|it| it.requests).sum();
            assert_eq!(
                (requests, action.closed, action.closed_before),
                (lost, closed, 0)
            );
            let gap = action.gap.unwrap().length_s;
            assert!((gap - gap_s).abs() < 0.012, "{gap}");
            assert_eq!(action.failed, None);
            let ended: u64 = action.parts.iter().map(|part| part.ended.completed()).sum();
            assert_eq!(ended, action.due);
        }
        let result = trial.result.unwrap();
        assert_eq!(result.outcomes.of(Outcome::ClosedEarly), 2 * lost);
        assert_eq!(result.requests.due, Some(4_000));
    }
}

#[test]
fn a_trial_fails_where_no_action_could_be_carried_out() {
    let world = "[contender.a]\nchange.fails = \"run it\"\n\
        [contender.b]\nchange.unsupported = \"it cannot\"\n";
    for trial in changed(world) {
        let action = trial.load.actions.as_ref().unwrap().action;
        match (action, trial.contender.as_str()) {
            (bakeoff_plan::Action::None, _) => assert_eq!(trial.end, TrialEnd::Measured),
            (_, "a") => {
                let cause = "failed to run it".to_owned();
                assert!(
                    trial
                        .actions
                        .iter()
                        .all(|it| it.failed.as_ref() == Some(&cause))
                );
                assert_eq!(trial.end, TrialEnd::failed(Step::Measure, cause));
            }
            _ => {
                let reason = "it cannot".to_owned();
                assert_eq!(trial.end, TrialEnd::Unsupported { reason });
                assert!(trial.result.is_none());
            }
        }
    }
}
