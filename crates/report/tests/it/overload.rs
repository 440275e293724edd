//! What servers do beyond their capacity, in every format, from a made-up record.
//!
//! When a change is wanted: `BLESS=1 cargo test -p bakeoff-report --test it overload`, then
//! read the difference.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its files; the library does not"
)]

use std::path::Path;
use std::time::Duration;

use bakeoff_plan::{Arrival, Load, LoadModel, Overload, Purpose, RateShape};
use bakeoff_record::{
    ContenderKind, Disturbance, DuePart, EndedProcess, Failed, Histogram, Interval, LoadResult,
    Outcome, Record, Role, ScheduleKept, Step, TreeTick, TreeUsage, TrialEnd, TrialRecord, Usage,
};
use bakeoff_report::{OverloadReport, OwnReport, Redacted, TextOptions, overload_view};

const STEPS: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 0.5];
const CAPACITY: f64 = 1000.0;
const STEP_S: usize = 10;
const MS: u64 = 1_000_000;

/// Two contenders, the first of which refuses what is too much, while the second queues it and
/// ends in the way back of the second round.
fn carried_out() -> Record {
    let mut record = bakeoff_testing::record();
    let overload = Overload {
        steps: STEPS.to_vec(),
        capacity_per_s: Some(CAPACITY),
        arrival: Arrival::Poisson,
        clients: 1000,
        ladder: vec![10, 1000],
        rung: Duration::from_secs(10),
    };
    let load = Load::beyond(overload, Duration::from_secs(10), Duration::from_secs(1));
    let label = load.label();
    record.plan.loads = vec![load];
    record.plan.rounds = 2;
    record.plan.contenders.remove(1);
    record.plan.workloads.truncate(1);
    let is_plain = |trial: &&TrialRecord| {
        trial.kind == ContenderKind::Contender && trial.end == TrialEnd::Measured
    };
    let pattern = record.trials.iter().find(is_plain).unwrap().clone();
    let names: Vec<String> = record
        .plan
        .contenders
        .iter()
        .map(|it| it.name.clone())
        .collect();
    let workload = record.plan.workloads[0].name.clone();
    record.trials.clear();
    for round in 1..=2 {
        for (index, name) in names.iter().enumerate() {
            let mut trial = ramp(&pattern, index == 0, index == 1 && round == 2);
            trial.load_name = Some(Purpose::Ramp.load_name(&label));
            trial.id = format!("r{round}-{name}-ramp");
            (trial.round, trial.contender) = (round, name.clone());
            record.trials.push(trial);
        }
    }
    for clients in [10, 1000] {
        for (index, name) in names.iter().enumerate() {
            let mut trial = rung(&pattern, clients, index == 0);
            trial.load_name = Some(Purpose::Rung { clients }.load_name(&label));
            trial.id = format!("r1-{name}-ladder{clients}");
            (trial.round, trial.contender) = (1, name.clone());
            record.trials.push(trial);
        }
    }
    for trial in &mut record.trials {
        trial.workload.clone_from(&workload);
    }
    record
}

fn blank(pattern: &TrialRecord, load: Load, result: LoadResult) -> TrialRecord {
    TrialRecord {
        load,
        attempt: 1,
        disturbed: Vec::new(),
        doubted: None,
        result: Some(result),
        usage: Usage::default(),
        ..pattern.clone()
    }
}

/// A second for each part. What refuses does it at once; what queues answers after 0.8 s.
fn ramp(pattern: &TrialRecord, refuses: bool, ends: bool) -> TrialRecord {
    let load = Load {
        model: LoadModel::Open {
            rate_per_s: CAPACITY / 2.0,
            arrival: Arrival::Poisson,
            clients: 1000,
        },
        duration_s: (STEP_S * STEPS.len()) as f64,
        timeout_s: 1.0,
        warmup_s: 0.0,
        ..pattern.load.clone()
    };
    let mut result = LoadResult::empty(load.clone(), load.duration_s);
    result.shape = RateShape::Steps {
        then_per_s: STEPS[1..].iter().map(|share| share * CAPACITY).collect(),
    };
    let mut kept = ScheduleKept::default();
    let mut ticks = Vec::new();
    let seconds = if ends { 43 } else { STEP_S * STEPS.len() };
    for second in 0..seconds {
        let due = (STEPS[second / STEP_S] * CAPACITY) as u64;
        let too_many = due.saturating_sub(CAPACITY as u64);
        let drains = !refuses && (40..42).contains(&second);
        let slow = !refuses && (too_many > 0 || drains);
        let mut latency = Histogram::new();
        latency.record_n(if slow { 800 * MS } else { 2 * MS }, due - too_many);
        let mut failed = Failed::default();
        for _ in 0..too_many {
            if refuses {
                failed.count(Outcome::Refused, None, MS)
            } else {
                failed.count(Outcome::Timeout, None, 1000 * MS)
            }
        }
        result.intervals.push(Interval {
            start_s: second as f64,
            length_s: 1.0,
            ok: due - too_many,
            errors: too_many,
            latency: latency.trimmed(),
            failed: failed.take(),
        });
        kept.parts.push(DuePart {
            start_s: second as f64,
            length_s: 1.0,
            due,
            begun: due,
            ended: due,
        });
        ticks.push(TreeTick {
            at_s: second as f64 + 0.5,
            rss_bytes: (8 << 20) + too_many * if refuses { 1_000 } else { 20_000 },
            ..TreeTick::default()
        });
    }
    result.schedule = Some(kept);
    let mut trial = blank(pattern, load, result);
    trial.usage.trees = vec![TreeUsage {
        role: Role::Server,
        cpu_source: "process-clock".to_owned(),
        ticks,
        ended: Some(Vec::new()),
    }];
    if ends {
        trial.end = TrialEnd::failed(
            Step::Measure,
            "the server died under load: signal 9 (SIGKILL)",
        );
    }
    trial
}

fn rung(pattern: &TrialRecord, clients: u32, refuses: bool) -> TrialRecord {
    let load = Load {
        model: LoadModel::Closed { clients },
        duration_s: 10.0,
        ..pattern.load.clone()
    };
    let mut result = LoadResult::empty(load.clone(), 10.0);
    let failed = if refuses && clients > 512 { 40_000 } else { 0 };
    result.requests.ok = 10_000;
    result.outcomes.add_many(Outcome::Ok, 10_000);
    result.outcomes.add_many(Outcome::Refused, failed);
    let mut latency = Histogram::new();
    latency.record_n(if refuses { 10 } else { u64::from(clients) } * MS, 10_000);
    result.latency = latency.trimmed();
    let mut trial = blank(pattern, load, result);
    if !refuses && clients == 1000 {
        trial.result = None;
        trial.end = TrialEnd::Skipped {
            reason: "1000 clients need 1064 open files, but this process may open 1024".to_owned(),
            fix: "raise the limit".to_owned(),
        };
    }
    trial
}

fn view(record: Record) -> OverloadReport {
    overload_view(&Redacted::hidden(record)).unwrap()
}

fn check_golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(actual, expected, "{name}");
}

const OPTIONS: TextOptions<'static> = TextOptions {
    width: 120,
    colour: false,
    full: true,
    diffs: false,
    record: None,
    needed_again: None,
};

/// Lines of two workloads read alike: only the answer and the first table named them.
#[test]
fn figures_and_ladders_of_several_workloads_name_theirs() {
    let mut record = carried_out();
    let mut second = record.plan.workloads[0].clone();
    second.name = "files".to_owned();
    let mut trials = record.trials.clone();
    for trial in &mut trials {
        trial.id = trial.id.replace("r1", "r1-files").replace("r2", "r2-files");
        trial.workload.clone_from(&second.name);
    }
    record.plan.workloads.push(second);
    record.trials.extend(trials);
    let text = view(record).text(OPTIONS);
    for name in ["nginx-default (synthetic)", "nginx-default (files)"] {
        let (_, figures) = text.split_once("Figures behind it").unwrap();
        assert!(
            figures.contains(&format!("  {name}\n")),
            "{name}: {figures}"
        );
    }
    let (_, ladder) = text.split_once("Ladder of closed loops").unwrap();
    let (ladder, _) = ladder.split_once("\n\n").unwrap();
    for workload in ["synthetic", "files"] {
        let of = ladder
            .lines()
            .filter(|line| line.starts_with("nginx-default"));
        let of = of.filter(|line| line.split_whitespace().nth(1) == Some(workload));
        assert_eq!(of.count(), 2, "{workload}: {ladder}");
    }
}

#[test]
fn every_format_has_the_classes_and_what_they_rest_on() {
    let report = view(carried_out());
    check_golden("overload.txt", &report.text(OPTIONS));
    check_golden("overload.md", &report.markdown(true));
    check_golden("overload.csv", &report.csv());
    check_golden("overload.html", &report.html());
    check_golden("overload.json", &report.json());
}

#[test]
fn the_first_line_says_what_each_does() {
    let report = view(carried_out());
    assert_eq!(
        report.answer[0],
        "Beyond its capacity nginx-default (peak 1,000/s) refuses connections from 150 % on. At \
         twice its capacity it gives 100 % of its peak. It recovers at once."
    );
    let end = "In 1 of 2 rounds it crashes.";
    let says = |answer: &String| answer.ends_with(end);
    assert!(report.answer.iter().any(says), "{:#?}", report.answer);
    let csv = report.csv();
    assert_eq!(csv.lines().count(), 1 + 2 * 2 * STEPS.len());
    assert_eq!(report.why_not_valid(false), None);
    assert_eq!(report.why_not_valid(true), None);
}

/// The process that did the work ended at 200 %, and its master process started another one.
#[test]
fn a_server_that_crashes_and_comes_back_is_no_server_that_ended() {
    let mut record = carried_out();
    let name = record.trials[0].contender.clone();
    let own = record.trials.iter_mut().filter(|it| it.contender == name);
    for tree in own.flat_map(|trial| &mut trial.usage.trees) {
        for tick in &mut tree.ticks {
            tick.cpu_user_s = tick.at_s;
        }
        tree.ended = Some(vec![EndedProcess {
            from_s: 0.5,
            last_s: 35.5,
            cpu_s: 34.5,
        }]);
    }
    let report = view(record);
    assert_eq!(
        report.answer[0],
        "Beyond its capacity nginx-default (peak 1,000/s) refuses connections from 150 % on and \
         crashes at 200 %. It comes back after that. At twice its capacity it gives 100 % of its \
         peak. It recovers at once."
    );
    let text = report.text(OPTIONS);
    assert!(text.contains("the server came back"), "{text}");
}

/// Leaves the capacity to closed loops; the load name that their trials have.
fn leave_capacity_to_closed_loops(record: &mut Record) -> String {
    let load = &mut record.plan.loads[0];
    let LoadModel::Overload(overload) = &mut load.model else {
        panic!("the plan has an overload");
    };
    overload.capacity_per_s = None;
    Purpose::Capacity.load_name(&load.label())
}

/// The first closed loop of a contender was disturbed, and another one made.
#[test]
fn a_capacity_that_was_measured_again_is_the_best_one() {
    let mut record = carried_out();
    let name = leave_capacity_to_closed_loops(&mut record);
    let pattern = record.trials[0].clone();
    let closed = |id: &str, ok: u64, is_disturbed: bool| {
        let mut trial = rung(&pattern, 100, true);
        trial.result.as_mut().unwrap().requests.ok = ok;
        (trial.id, trial.load_name) = (id.to_owned(), Some(name.clone()));
        if is_disturbed {
            trial.disturbed = vec![Disturbance::OtherLoad];
        }
        trial
    };
    let (bad, good) = (closed("c1", 5_000, true), closed("c1-a2", 10_000, false));
    record.trials.insert(0, bad);
    let disturbed = view(record.clone());
    assert_eq!(disturbed.rows[0].capacity_per_s, Some(500.0));
    assert_eq!(disturbed.rows[0].disturbed, ["c1"]);
    record.trials.insert(1, good);
    let again = view(record);
    assert_eq!(again.rows[0].capacity_per_s, Some(1000.0));
    assert!(again.rows[0].disturbed.is_empty());
}

/// Its closed loop has no failures, and at half of that rate most requests fail.
#[test]
fn a_server_that_fails_below_its_capacity_says_so() {
    let mut record = carried_out();
    let name = leave_capacity_to_closed_loops(&mut record);
    let contender = record.trials[0].contender.clone();
    let mut closed = rung(&record.trials[0], 100, true);
    (closed.id, closed.load_name) = ("c1".to_owned(), Some(name));
    for trial in record.trials.iter_mut().take(4) {
        let result = trial.result.as_mut().unwrap();
        let first = result.intervals.iter_mut().take(STEP_S);
        for interval in first.filter(|_| trial.contender == contender) {
            let mut failed = Failed::default();
            (0..400).for_each(|_| failed.count(Outcome::ClosedEarly, None, MS));
            (interval.ok, interval.errors, interval.failed) = (100, 400, failed.take());
        }
    }
    record.trials.push(closed);
    let report = view(record);
    assert_eq!(
        report.answer[0],
        "Below its capacity already nginx-default (peak 1,000/s) closes connections without an \
         answer from 50 % on and refuses connections from 150 % on. At twice its capacity it gives \
         100 % of its peak. It recovers at once."
    );
}

#[test]
fn what_was_not_measured_says_why_and_is_not_valid() {
    let mut record = carried_out();
    record.trials.truncate(1);
    let report = view(record);
    let why = report.why_not_valid(false).unwrap();
    assert!(why.ends_with("it was not measured yet"), "{why}");
    let text = report.text(OPTIONS);
    assert!(text.contains("caddy-default was not measured"), "{text}");
}

#[test]
fn what_cannot_be_decided_is_no_absence_of_overload() {
    let mut record = carried_out();
    // Requests fail in the first step already, so that nothing shows what is usual.
    for result in record.trials.iter_mut().filter_map(|it| it.result.as_mut()) {
        if let Some(bad) = result.intervals.iter().find(|it| it.errors > 0).cloned() {
            for interval in result.intervals.iter_mut().take(STEP_S) {
                (interval.ok, interval.errors) = (0, bad.errors);
                interval.failed = bad.failed.clone();
            }
        }
    }
    let report = view(record);
    let row = &report.rows[0];
    assert!(row.beyond.classes.is_empty(), "{:?}", row.beyond.classes);
    let unsaid = row.beyond.unsaid[0].of_no_class();
    let text = report.text(OPTIONS);
    let line = &report.answer[0];
    assert!(
        line.starts_with("What nginx-default ") && line.contains(&unsaid),
        "{line}"
    );
    assert!(
        !text.contains("+ What") && text.contains("cannot be said"),
        "{text}"
    );
    assert!(!text.contains("no sign of overload"), "{text}");
    // It is not said twice.
    assert!(
        !text.contains("Not known of nginx-default: no class"),
        "{text}"
    );
    assert!(report.html().contains("what it does cannot be said"));
}

#[test]
fn a_server_that_was_never_over_its_capacity_recovers_from_nothing() {
    let mut record = carried_out();
    let is_ramp = |it: &&mut TrialRecord| {
        it.contender == "nginx-default"
            && it
                .load_name
                .as_deref()
                .is_some_and(|it| it.contains("ramp"))
    };
    for trial in record.trials.iter_mut().filter(is_ramp) {
        for interval in trial.result.iter_mut().flat_map(|it| &mut it.intervals) {
            interval.ok += std::mem::take(&mut interval.errors);
            interval.failed = Failed::default().take();
        }
    }
    let report = view(record);
    let row = &report.rows[0];
    assert!(row.beyond.was_never_over(), "{:#?}", row.beyond);
    assert!(!report.rows[1].beyond.was_never_over());
    let (text, page) = (report.text(OPTIONS), report.html());
    assert!(text.contains("was never over it"), "{text}");
    assert!(page.contains("it was never over its capacity"), "{page}");
    assert!(!page.contains("back to normal at once"), "{page}");
}

#[test]
fn names_of_others_cannot_become_a_part_of_the_page() {
    let mut record = carried_out();
    let hostile = "</svg><script>alert(1)</script>\u{1b}[31m";
    for trial in record
        .trials
        .iter_mut()
        .filter(|it| it.contender == "nginx-default")
    {
        trial.contender = hostile.to_owned();
    }
    record.plan.contenders[0].name = hostile.to_owned();
    let report = view(record);
    let page = report.html();
    assert!(!page.contains("<script") && page.matches("</svg>").count() == 2);
    assert!(!report.text(OPTIONS).contains('\u{1b}'));
}
