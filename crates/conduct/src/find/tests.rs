use std::path::Path;

use bakeoff_plan::{Builtin, parse};
use bakeoff_record::{
    DuePart, EngineUsage, Histogram, Interval, LoadResult, ScheduleKept, StepTime, TrialEnd,
};

use super::*;

/// Two contenders and the null server.
fn plan() -> Plan {
    plan_with("")
}

/// The same, with more keys of the search.
fn plan_with(more: &str) -> Plan {
    let text = r#"
name = "capacity"
workloads = ["html-small"]
[[contender]]
name = "fast"
server = "nginx"
[[contender]]
name = "slow"
server = "caddy"
[[search]]
slo = ["p99<10ms"]
errors = ["0.001%"]
"#;
    parse(
        &(text.to_owned() + more),
        "capacity",
        Path::new("/"),
        &Builtin,
    )
    .unwrap()
}

/// A trial of a server that carries `capacity` requests a second.
fn record(trial: &Trial, capacity: f64) -> TrialRecord {
    let load = &trial.load;
    let mut result = LoadResult::empty(load.clone(), load.duration_s);
    let rate = match load.model {
        LoadModel::Open { rate_per_s, .. } => rate_per_s,
        _ => capacity,
    };
    let due = (rate * load.duration_s) as u64;
    (result.requests.due, result.requests.ok) = (Some(due), due);
    let mut latency = Histogram::new();
    let carried = rate <= capacity;
    latency.record_n(if carried { 1_000_000 } else { 90_000_000 }, due);
    result.latency = latency;
    // All that is due ends: no queue grows.
    let part = DuePart {
        length_s: load.duration_s,
        due,
        ..DuePart::default()
    };
    result.schedule = Some(ScheduleKept {
        parts: vec![part],
        ..ScheduleKept::default()
    });
    result.intervals = vec![Interval {
        start_s: 0.0,
        length_s: load.duration_s,
        ok: due,
        errors: 0,
        latency: Histogram::new(),
        failed: None,
    }];
    result.engine = EngineUsage::default();
    let step = StepTime {
        step: bakeoff_record::Step::Measure,
        took_s: load.duration_s + 1.5,
    };
    TrialRecord {
        steps: vec![step],
        end: TrialEnd::Measured,
        result: Some(result),
        ..TrialRecord::of(trial)
    }
}

fn capacity(trial: &Trial) -> f64 {
    match trial.contender.name.as_str() {
        "fast" => 9000.0,
        "slow" => 3000.0,
        _ => 100_000.0,
    }
}

fn carried_out(plan: &Plan) -> Vec<Trial> {
    let mut searches = Searches::new(plan, &[]);
    let (mut records, mut trials) = (Vec::new(), Vec::new());
    while let Some(trial) = searches.next(&records) {
        assert!(trials.len() < 300, "it ends");
        records.push(record(&trial, capacity(&trial)));
        trials.push(trial);
    }
    let found = quests(plan, &records);
    for (quest, expected) in found.iter().zip([9000.0, 3000.0]) {
        let standing = quest.progress.found(quest.yardstick_per_s)[0].standing;
        let (lower, upper) = (standing.lower_per_s.unwrap(), standing.upper_per_s.unwrap());
        assert!(lower <= expected && expected < upper, "{lower} to {upper}");
    }
    assert_eq!(searches.left(&records), Left::default());
    trials
}

#[test]
fn rests_and_the_null_server_are_part_of_the_budget() {
    let mut plan = plan_with("budget = \"4m\"\n");
    plan.rest = Duration::from_secs(3);
    let mut searches = Searches::new(&plan, &[]);
    let mut records = Vec::new();
    while let Some(trial) = searches.next(&records) {
        assert!(records.len() < 300, "it ends");
        records.push(record(&trial, capacity(&trial)));
    }
    let took = records
        .iter()
        .map(|it| it.took_s() + plan.rest.as_secs_f64());
    let took: f64 = took.sum();
    assert!(took <= 240.0, "{took}");
    assert!(records.len() > 4, "{} trials", records.len());
}

#[test]
fn contenders_take_turns_and_each_trial_has_its_own_schedule() {
    let plan = plan();
    let trials = carried_out(&plan);
    let names: Vec<&str> = trials.iter().map(|it| it.contender.name.as_str()).collect();
    assert_eq!(names[0], "yardstick");
    let together = names.iter().filter(|name| **name == "slow").count().min(20);
    assert_eq!(names[1..=2 * together], ["fast", "slow"].repeat(together));
    let last = trials[trials.len() - 8..].iter();
    let last: Vec<String> = last
        .map(|it| {
            format!(
                "{}{}",
                it.contender.name,
                it.load_label().replace("find-p99-10ms-c100", "")
            )
        })
        .collect();
    let curves = ["at25", "at50", "at75", "at90"];
    let expected = curves.map(|at| vec![format!("fast-{at}"), format!("slow-{at}")]);
    assert_eq!(last, expected.concat(), "curves are measured together");
    let mut ids: Vec<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), trials.len());
    let rounds = |name: &str| -> Vec<u32> {
        let own = trials.iter().filter(|it| it.contender.name == name);
        own.map(|trial| trial.round).collect()
    };
    assert!(rounds("fast").windows(2).all(|pair| pair[0] + 1 == pair[1]));
    assert!(
        trials
            .iter()
            .all(|trial| trial.load_label().starts_with("find-p99-10ms-c100"))
    );
}

#[test]
fn what_was_interrupted_is_run_again() {
    let plan = plan();
    let mut searches = Searches::new(&plan, &[]);
    let mut records = Vec::new();
    for _ in 0..9 {
        let trial = searches.next(&records).unwrap();
        records.push(record(&trial, capacity(&trial)));
    }
    let trial = searches.next(&records).unwrap();
    let mut interrupted = record(&trial, capacity(&trial));
    interrupted.end = TrialEnd::Interrupted;
    records.push(interrupted);
    let again = searches.next(&records).unwrap();
    assert_eq!((&again.id, &again.load), (&trial.id, &trial.load));
}

#[test]
fn a_null_server_that_does_not_run_is_not_waited_for() {
    let plan = plan();
    let mut searches = Searches::new(&plan, &[]);
    let first = searches.next(&[]).unwrap();
    let mut lost = record(&first, 1.0);
    lost.end = TrialEnd::Unsupported {
        reason: "it compresses".to_owned(),
    };
    assert_eq!(searches.next(&[lost]).unwrap().contender.name, "fast");
}

/// A host that restarts: every trial is lost for a while.
#[test]
fn a_contender_that_was_given_up_is_asked_again_on_resume() {
    let plan = plan();
    let mut searches = Searches::new(&plan, &[]);
    let mut records = Vec::new();
    while let Some(trial) = searches.next(&records) {
        assert!(records.len() < 100, "it gives up");
        let mut record = record(&trial, capacity(&trial));
        if records.len() > 30 {
            record.end = TrialEnd::failed(bakeoff_record::Step::Start, "host sut was lost");
        }
        records.push(record);
    }
    assert_eq!(searches.left(&records), Left::default());
    let mut resumed = Searches::new(&plan, &records);
    let mut asked: Vec<String> = Vec::new();
    for _ in 0..20 {
        let trial = resumed.next(&records).unwrap();
        assert!(records.iter().all(|it| it.id != trial.id), "{}", trial.id);
        asked.push(trial.contender.name.clone());
        records.push(record(&trial, capacity(&trial)));
    }
    assert!(asked.contains(&"fast".to_owned()) && asked.contains(&"slow".to_owned()));
}
