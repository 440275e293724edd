//! Texts planted in every place of a record that takes one: whatever the types accept.

use std::collections::BTreeMap;

use bakeoff_plan::Plan;
use bakeoff_record::{Machine, Record, TrialEnd, TrialRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A record as JSON, with the places of its texts.
pub(crate) struct Soil {
    plan: (Value, Vec<String>),
    machine: (Value, Vec<String>),
    trials: Vec<(Value, Vec<String>)>,
}

impl Soil {
    /// Soil of a small campaign: one round, and a trial of each kind of end.
    pub(crate) fn new() -> Self {
        let mut record = bakeoff_testing::record_of_rounds(1);
        record.plan.contenders[0].overlays = vec![("workers".into(), "4".into())];
        record.plan.contenders[0].replacements = vec![bakeoff_plan::Replacement {
            from: "a".into(),
            to: "b".into(),
        }];
        record.plan.workloads[0].notes = vec!["a note".into()];
        record.machine.command = vec!["bakeoff".into(), "run".into()];
        let first = record.plan.loads[0].clone();
        record.trials.retain(|trial| trial.load == first);
        let count = record.trials.len();
        for (index, trial) in record.trials.iter_mut().enumerate() {
            fill(trial);
            match count - index {
                1 => {
                    trial.end = TrialEnd::Unsupported {
                        reason: "why".into(),
                    }
                }
                2 => {
                    let (reason, fix) = ("why".into(), "how".into());
                    trial.end = TrialEnd::Skipped { reason, fix };
                }
                3 => {
                    trial.end = TrialEnd::Failed {
                        step: bakeoff_record::Step::Start,
                        cause: "why".into(),
                        message: Some("the server's message".into()),
                    };
                }
                _ => {}
            }
        }
        let mut known = BTreeMap::new();
        Self {
            plan: with_places::<Plan>(&record.plan, &mut BTreeMap::new()),
            machine: with_places::<Machine>(&record.machine, &mut BTreeMap::new()),
            trials: record
                .trials
                .iter()
                .map(|trial| with_places::<TrialRecord>(trial, &mut known))
                .collect(),
        }
    }

    /// The record with each text made another by `change`, which gets its place too: the same
    /// place in every trial.
    pub(crate) fn planted(&self, mut change: impl FnMut(&str, &str) -> String) -> Record {
        let mut of = |part: &str, (value, places): &(Value, Vec<String>)| {
            let mut value = value.clone();
            for place in places {
                let text = value.pointer_mut(place).expect("the place was found in it");
                let old = text.as_str().expect("it is a text").to_owned();
                *text = Value::String(change(&format!("{part}{place}"), &old));
            }
            value
        };
        let read = "every place takes a text";
        Record {
            plan: serde_json::from_value(of("plan", &self.plan)).expect(read),
            machine: serde_json::from_value(of("machine", &self.machine)).expect(read),
            confirming: Vec::new(),
            is_copy: false,
            trials: self
                .trials
                .iter()
                .map(|trial| serde_json::from_value(of("trial", trial)).expect(read))
                .collect(),
        }
    }
}

/// Gives a trial what few have.
fn fill(trial: &mut TrialRecord) {
    let text = || "text".to_owned();
    if let Some(server) = &mut trial.server {
        server.config_changes = vec![bakeoff_record::ConfigChange {
            file: text(),
            line: 1,
            before: text(),
            after: text(),
            why: text(),
        }];
        server.remedies.insert("access-log".into(), text());
    }
    if let Some(result) = &mut trial.result {
        result.error_samples.insert("reset".into(), text());
        result.urls = vec![bakeoff_record::UrlResult {
            url: text(),
            ..Default::default()
        }];
    }
    if let Some(work) = &mut trial.work {
        work.unknown.insert("grown".into(), text());
        work.grown_under_load = Some(vec![bakeoff_record::GrownFile {
            path: text(),
            bytes: 1,
        }]);
    }
}

/// The value as JSON, and the places in it that take any text. A place is tried once, since the
/// same one of another trial takes what this one takes.
fn with_places<T: Serialize + DeserializeOwned>(
    value: &T,
    known: &mut BTreeMap<String, bool>,
) -> (Value, Vec<String>) {
    let value = serde_json::to_value(value).expect("it is written as JSON");
    let mut all = Vec::new();
    texts(&value, "", &mut all);
    let takes_any = |place: &String| {
        let mut other = value.clone();
        let text = other.pointer_mut(place);
        *text.expect("the place was found in it") = Value::String("\u{1b} any text".to_owned());
        serde_json::from_value::<T>(other).is_ok()
    };
    all.retain(|place| {
        let known = known.entry(place.clone());
        *known.or_insert_with(|| takes_any(place))
    });
    (value, all)
}

fn texts(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(place.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, &format!("{place}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                texts(field, &format!("{place}/{key}"), found);
            }
        }
        _ => {}
    }
}
