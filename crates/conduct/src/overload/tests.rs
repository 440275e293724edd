use std::path::Path;

use bakeoff_plan::{Builtin, parse};
use bakeoff_record::{LoadResult, Step};

use super::*;

fn plan(keys: &str) -> Plan {
    let text = format!(
        "name = \"beyond\"\nworkloads = [\"html-small\"]\nrounds = 2\n\
         [[contender]]\nname = \"fast\"\nserver = \"nginx\"\n\
         [[contender]]\nname = \"slow\"\nserver = \"caddy\"\n\
         [[overload]]\nstep = \"4s\"\npatience = \"500ms\"\n{keys}"
    );
    parse(&text, "beyond", Path::new("/"), &Builtin).unwrap()
}

/// A trial of a server that answers `ok_per_s` requests a second, all of them right.
fn record(trial: &Trial, ok_per_s: f64) -> TrialRecord {
    let load = trial.load.clone();
    let mut result = LoadResult::empty(load.clone(), load.duration_s);
    result.requests.ok = (ok_per_s * load.duration_s) as u64;
    TrialRecord {
        end: TrialEnd::Measured,
        result: Some(result),
        ..TrialRecord::of(trial)
    }
}

fn capacity(trial: &Trial) -> f64 {
    match trial.contender.name.as_str() {
        "fast" => 9000.0,
        _ => 3000.0,
    }
}

fn carried_out(plan: &Plan) -> Vec<Trial> {
    let mut overloads = Overloads::new(plan, &[]);
    let (mut records, mut trials) = (Vec::new(), Vec::new());
    while let Some(trial) = overloads.next(&records) {
        assert!(trials.len() < 100, "it ends");
        let expected = overloads.left(&records);
        records.push(record(&trial, capacity(&trial)));
        let after = overloads.left(&records);
        assert_eq!(after.trials + 1, expected.trials, "{}", trial.id);
        trials.push(trial);
    }
    assert_eq!(overloads.left(&records), Left::default());
    trials
}

fn ids(trials: &[Trial]) -> Vec<&str> {
    trials.iter().map(|trial| trial.id.as_str()).collect()
}

#[test]
fn capacities_come_first_then_ramps_in_turn_then_the_ladder() {
    let plan = plan("ladder = [10, 200]");
    let trials = carried_out(&plan);
    let cell = |round: u32, name: &str, what: &str| {
        format!("r{round}-{name}-html-small-overload-c1000-{what}")
    };
    let mut expected = vec![cell(1, "fast", "capacity"), cell(1, "slow", "capacity")];
    let turns = [(1, ["fast", "slow"]), (2, ["slow", "fast"])];
    for (round, names) in turns {
        expected.extend(names.map(|name| cell(round, name, "ramp")));
    }
    for (round, names) in turns {
        for rung in ["ladder10", "ladder200"] {
            expected.extend(names.map(|name| cell(round, name, rung)));
        }
    }
    assert_eq!(ids(&trials), expected);
    let fast = &trials[2];
    assert_eq!(
        fast.load.model,
        LoadModel::Open {
            rate_per_s: 4500.0,
            arrival: bakeoff_plan::Arrival::Poisson,
            clients: 1000
        }
    );
    let ramp = fast.ramp.as_ref().unwrap();
    assert_eq!(
        ramp.then_per_s,
        [9900.0, 12_600.0, 18_000.0, 36_000.0, 4500.0]
    );
    let load = &fast.load;
    assert_eq!((load.warmup_s, load.duration_s), (0.0, 24.0));
    assert_eq!((load.timeout_s, load.connect), (0.5, Connect::AsNeeded));
    let rung = &trials[6];
    assert_eq!(rung.load.model, LoadModel::Closed { clients: 10 });
    assert_eq!((rung.load.duration_s, rung.ramp.as_ref()), (10.0, None));
}

#[test]
fn a_capacity_that_is_said_is_not_measured() {
    let plan = plan("capacity = 100.0\nsteps = [0.5, 3.0, 0.4]");
    let trials = carried_out(&plan);
    assert_eq!(trials.len(), 4, "a ramp each in two rounds");
    let ramp = trials[0].ramp.as_ref().unwrap();
    assert_eq!(ramp.then_per_s, [300.0, 40.0]);
}

#[test]
fn without_a_capacity_there_is_no_ramp_for_that_contender() {
    let plan = plan("");
    let mut overloads = Overloads::new(&plan, &[]);
    let mut records = Vec::new();
    while let Some(trial) = overloads.next(&records) {
        let dead = trial.contender.name == "fast";
        let mut record = record(&trial, if dead { 0.0 } else { 500.0 });
        if dead {
            record.end = TrialEnd::failed(Step::Start, "it did not answer");
        }
        records.push(record);
    }
    let ramps = records.iter().filter(|it| it.id.ends_with("ramp"));
    assert!(ramps.clone().all(|it| it.contender == "slow"));
    assert_eq!(ramps.count(), 2);
}

fn lost(trial: &Trial) -> TrialRecord {
    let mut record = record(trial, 1.0);
    record.end = TrialEnd::failed(Step::Start, "the port is taken");
    record.result = None;
    record
}

fn disturbed(trial: &Trial, ok_per_s: f64) -> TrialRecord {
    let mut record = record(trial, ok_per_s);
    record.disturbed = vec![Disturbance::OtherLoad];
    record
}

/// The closed loops of the first contender as `makes` has them, by their number from 1: their ids,
/// and the first rate of its ramp.
fn capacities(makes: &dyn Fn(usize, &Trial) -> TrialRecord) -> (Vec<String>, Option<f64>) {
    let plan = plan("");
    let mut overloads = Overloads::new(&plan, &[]);
    let (mut records, mut made, mut first) = (Vec::new(), Vec::new(), None);
    while let Some(trial) = overloads.next(&records) {
        assert!(records.len() < 100, "it ends");
        let is_capacity = trial.id.contains("-capacity");
        match (trial.contender.name.as_str(), &trial.load.model) {
            ("fast", _) if is_capacity => {
                made.push(trial.id.clone());
                records.push(makes(made.len(), &trial));
                continue;
            }
            ("fast", LoadModel::Open { rate_per_s, .. }) => {
                first.get_or_insert(*rate_per_s);
            }
            _ => {}
        }
        records.push(record(&trial, 3000.0));
    }
    (made, first)
}

#[test]
fn a_capacity_that_was_lost_or_disturbed_is_measured_again() {
    let id = |attempt: &str| format!("r1-fast-html-small-overload-c1000-capacity{attempt}");
    let all = [id(""), id("-a2"), id("-a3")];
    let sound = capacities(&|_, trial| record(trial, 9000.0));
    assert_eq!(sound, (all[..1].to_vec(), Some(4500.0)));
    let second = capacities(&|number, trial| match number {
        1 => lost(trial),
        _ => record(trial, 9000.0),
    });
    assert_eq!(second, (all[..2].to_vec(), Some(4500.0)));
    let third = capacities(&|number, trial| match number {
        1 => disturbed(trial, 4000.0),
        2 => lost(trial),
        _ => record(trial, 9000.0),
    });
    assert_eq!(third, (all.to_vec(), Some(4500.0)));
    // What is disturbed every time counts as far as it goes.
    let worse = capacities(&|number, trial| disturbed(trial, 2000.0 * number as f64));
    assert_eq!(worse, (all.to_vec(), Some(3000.0)));
    let none = capacities(&|_, trial| lost(trial));
    assert_eq!(none, (all.to_vec(), None));
    // What this machine cannot carry it cannot carry the next time.
    let skipped = capacities(&|_, trial| {
        let mut record = lost(trial);
        record.end = TrialEnd::Skipped {
            reason: "100 clients need 164 open files".to_owned(),
            fix: "ulimit".to_owned(),
        };
        record
    });
    assert_eq!(skipped, (all[..1].to_vec(), None));
}

#[test]
fn a_contender_without_a_capacity_is_asked_again_on_resume() {
    let plan = plan("");
    let mut records = Vec::new();
    let mut overloads = Overloads::new(&plan, &[]);
    while let Some(trial) = overloads.next(&records) {
        assert!(records.len() < 100, "it ends");
        records.push(match trial.contender.name.as_str() {
            "fast" => lost(&trial),
            _ => record(&trial, 3000.0),
        });
    }
    let mut resumed = Overloads::new(&plan, &records);
    let first = records.len();
    while let Some(trial) = resumed.next(&records) {
        assert!(records.len() < 100, "it ends");
        records.push(record(&trial, 9000.0));
    }
    let more: Vec<&str> = records[first..].iter().map(|it| it.id.as_str()).collect();
    let id = |what: &str| format!("-fast-html-small-overload-c1000-{what}");
    let expected = [
        format!("r1{}", id("capacity-a4")),
        format!("r1{}", id("ramp")),
        format!("r2{}", id("ramp")),
    ];
    assert_eq!(more, expected);
}

#[test]
fn what_was_interrupted_is_run_again() {
    let plan = plan("");
    let mut overloads = Overloads::new(&plan, &[]);
    let mut records = Vec::new();
    for _ in 0..3 {
        let trial = overloads.next(&records).unwrap();
        records.push(record(&trial, capacity(&trial)));
    }
    let trial = overloads.next(&records).unwrap();
    let mut interrupted = record(&trial, 1.0);
    interrupted.end = TrialEnd::Interrupted;
    records.push(interrupted);
    let again = overloads.next(&records).unwrap();
    assert_eq!((&again.id, &again.load), (&trial.id, &trial.load));
}
