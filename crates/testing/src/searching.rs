//! A made-up search, carried out with servers of a capacity each.

use std::time::Duration;

use bakeoff_plan::{Arrival, Load, LoadModel, Search, goals};
use bakeoff_record::{
    ContenderKind, DuePart, Histogram, Interval, LoadResult, Record, ScheduleKept, StepTime,
    TrialEnd, TrialRecord,
};
use bakeoff_search::{Step, quests};

/// A search of two contenders whose trials are still to come.
pub fn search() -> Record {
    let mut record = crate::record();
    let search = Search {
        goals: goals(&["p99<10ms".parse().expect("a goal")], &[0.001, 0.5]),
        arrival: Arrival::Poisson,
        clients: 100,
        sum: Duration::from_secs(60),
        exceed: 0.5,
        width: 0.02,
        budget: Duration::from_secs(3600),
        confirm: Duration::from_secs(30),
        curve: vec![0.5, 0.9],
    };
    let second = Duration::from_secs(1);
    record.plan.loads = vec![Load::sought(search, 10 * second, second)];
    record.plan.contenders.remove(1);
    record.plan.workloads.truncate(1);
    record
}

/// Carries the search out with servers of a capacity each.
pub fn carried_out(capacities: &[(&str, f64)]) -> Record {
    carried_out_of(search(), capacities)
}

/// Carries this search out with servers of a capacity each.
pub fn carried_out_of(mut record: Record, capacities: &[(&str, f64)]) -> Record {
    let is_plain = |trial: &TrialRecord| {
        trial.kind == ContenderKind::Contender && trial.end == TrialEnd::Measured
    };
    let pattern = record
        .trials
        .iter()
        .find(|it| is_plain(it))
        .expect("a trial that was measured")
        .clone();
    record.trials.clear();
    loop {
        let all = quests(&record.plan, &record.trials);
        let open = all.iter().filter_map(|it| Some((it, it.progress.next()?)));
        let Some((quest, step)) = open.min_by_key(|(quest, _)| quest.ended()) else {
            break;
        };
        let name = quest.contender.name.clone();
        let capacity = capacities
            .iter()
            .find(|(other, _)| *other == name)
            .expect("it was measured")
            .1;
        let label = quest.load.label();
        let mut trial = trial(&pattern, &step, capacity);
        trial.id = format!("n{}-{name}-synthetic-{label}", quest.ended() + 1);
        trial.contender = name;
        trial.load_name = Some(step.purpose.load_name(&label));
        record.trials.push(trial);
    }
    record
}

/// Latencies that rise towards the capacity, as those of a queue do, and 40 ms beyond.
pub fn trial(pattern: &TrialRecord, step: &Step, capacity: f64) -> TrialRecord {
    let rate = step.rate_per_s.unwrap_or(capacity);
    let load = Load {
        model: match step.rate_per_s {
            None => LoadModel::Closed { clients: 100 },
            Some(rate_per_s) => LoadModel::Open {
                rate_per_s,
                arrival: Arrival::Poisson,
                clients: 100,
            },
        },
        duration_s: step.length_s,
        ..pattern.load.clone()
    };
    let mut result = LoadResult::empty(load.clone(), step.length_s);
    let due = (rate * step.length_s).round() as u64;
    (result.requests.due, result.requests.ok) = (Some(due), due);
    let mut latency = Histogram::new();
    if rate <= capacity {
        let mean_ns = 400_000.0 / (1.05 - rate / capacity);
        let slow = [(0.6, 0.4), (0.35, 0.8), (0.05, 1.1)];
        for (share, times) in slow {
            latency.record_n((mean_ns * times) as u64, (share * due as f64) as u64);
        }
    } else {
        latency.record_n(40_000_000, due);
    }
    result.latency = latency.trimmed();
    // All that is due ends: no queue grows.
    let length_s = step.length_s;
    let part = DuePart {
        length_s,
        due,
        ..DuePart::default()
    };
    result.schedule = Some(ScheduleKept {
        parts: vec![part],
        ..ScheduleKept::default()
    });
    result.intervals = vec![Interval {
        start_s: 0.0,
        length_s,
        ok: due,
        errors: 0,
        latency: result.latency.clone(),
        failed: None,
    }];
    TrialRecord {
        load,
        steps: vec![StepTime {
            step: bakeoff_record::Step::Measure,
            took_s: step.length_s + 1.6,
        }],
        started_at: String::new(),
        warnings: Vec::new(),
        hosts: None,
        attempt: 1,
        disturbed: Vec::new(),
        doubted: None,
        result: Some(result),
        ..pattern.clone()
    }
}
