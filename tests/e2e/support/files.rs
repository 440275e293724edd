//! Plans that tests write, and records that they read.

use std::path::Path;

use serde_json::Value;

/// A plan of these contenders (name, server, configuration) under one closed load.
pub(crate) fn plan(contenders: &[(&str, &str, &str)], workload: &str, load: &str) -> String {
    let mut text = format!(
        "name = \"test\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"{workload}\"]\n\
         [references]\nyardstick = false\norigin = false\n"
    );
    for (name, server, config) in contenders {
        text.push_str(&format!(
            "[[contender]]\nname = \"{name}\"\nserver = \"{server}\"\nconfig = \"{config}\"\n"
        ));
    }
    text + &format!("[[load]]\nclients = 3\nwarmup = \"100ms\"\ntimeout = \"5s\"\n{load}\n")
}

/// Trials of a record as its file holds them.
pub(crate) fn trials(record: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(record.join("trials.jsonl")).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|it| it.ends_with('\n'));
    whole
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Ids of the trials that were measured, sorted; each must be there once.
#[track_caller]
pub(crate) fn measured(record: &Path) -> Vec<String> {
    let trials = trials(record);
    let measured = trials.iter().filter(|it| it["end"]["kind"] == "measured");
    let mut ids: Vec<String> = measured
        .map(|trial| trial["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "measured twice: {ids:?}");
    ids
}

/// Asserts that all requests of a load's result are accounted for; `load` is `bakeoff.load/1`.
#[track_caller]
pub(crate) fn assert_accounted(load: &Value) {
    assert_eq!(load["schema"], "bakeoff.load/1");
    let requests = &load["requests"];
    let count = |name: &str| requests[name].as_u64().unwrap();
    assert_eq!(
        count("started"),
        count("completed") + count("in_flight_at_end"),
        "{requests}"
    );
    let outcomes = load["outcomes"].as_object().unwrap().values();
    let sum: u64 = outcomes.map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(count("completed"), sum, "{load:#}");
    assert_eq!(load["outcomes"]["ok"], requests["ok"]);
    assert_eq!(
        load["latency_ns"]["count"].as_u64().unwrap_or(0),
        count("ok"),
        "latencies are of ok responses only"
    );
}
