//! `bakeoff history` over records on disk: what is found, joined, left out and refused.

use std::fs;

use serde_json::Value;

use crate::support::scene::Scene;

/// Copies a record, as if it had been made that many hours later.
fn copy(scene: &Scene, from: &str, to: &str, hours: usize) {
    let (from, to) = (scene.path(from), scene.path(to));
    fs::create_dir_all(&to).unwrap();
    for name in ["plan.json", "plan.toml", "trials.jsonl"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    let machine = fs::read_to_string(from.join("machine.json")).unwrap();
    let mut machine: Value = serde_json::from_str(&machine).unwrap();
    machine["started_at"] = format!("2030-01-01T{hours:02}:00:00Z").into();
    fs::write(to.join("machine.json"), machine.to_string()).unwrap();
}

#[test]
fn records_of_a_folder_are_one_history() {
    let scene = Scene::raced(&["--rounds", "2"]);
    fs::create_dir(scene.path("records")).unwrap();
    fs::rename(scene.path("record"), scene.path("records/first")).unwrap();
    // One is in a folder of its own.
    for hours in 1..8 {
        let parent = if hours == 7 { "deeper/" } else { "" };
        let to = format!("records/{parent}later-{hours}");
        copy(&scene, "records/first", &to, hours);
    }
    fs::create_dir(scene.path("records/notes")).unwrap();
    // A record that was cut off is left out, with the reason.
    copy(&scene, "records/first", "records/broken", 9);
    scene.write("records/broken/machine.json", "{");

    let all = ["history", "records", "--metric", "rate,cpu"];
    let told = scene
        .run(&[&all[..], &["--format", "json"]].concat())
        .expect(0);
    let history = told.json();
    assert_eq!(history["schema"], "bakeoff.history/1");
    let machines = history["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 1);
    assert_eq!(machines[0]["records"].as_array().unwrap().len(), 8);
    let left_out = history["left_out"].as_array().unwrap();
    let broken = left_out.iter().find(|it| it["record"] == "broken");
    let why = broken.expect("it is named")["why"].as_str().unwrap();
    assert!(why.contains("machine.json"), "{why}");
    let series = history["series"].as_array().unwrap();
    assert!(!series.is_empty());
    for series in series {
        // Eight times the same value is no change.
        assert_eq!(series["points"].as_array().unwrap().len(), 8, "{series:#}");
        assert_eq!(series["changes"], Value::Array(Vec::new()));
        assert_eq!(series["why_not_looked_at"], Value::Null);
    }
    // What was taken from the records says the same, with an index and without.
    let index = scene.path("home/.cache/bakeoff/history");
    assert!(index.exists());
    for flags in [&[][..], &["--no-index"]] {
        let again = scene.run(&[&all[..], &["--format", "json"], flags].concat());
        assert_eq!(again.stdout, told.stdout);
    }
    scene.run(&["clean"]).expect(0).prints("index of histories");
    assert!(!index.exists());
    let both = [
        "history",
        "records/first",
        "records",
        "--metric",
        "rate,cpu",
    ];
    let to_page = ["--format", "html", "--output", "history.html"];
    scene.run(&[&both[..], &to_page].concat()).expect(0);
    let page = scene.read("history.html");
    assert!(page.contains("default-src 'none'") && !page.contains("<script"));
}

#[test]
fn a_folder_without_records_is_refused() {
    let scene = Scene::new();
    fs::create_dir(scene.path("empty")).unwrap();
    scene
        .run(&["history", "empty"])
        .expect(2)
        .says("holds no record");
    scene.run(&["history", "nowhere"]).expect(2).says("nowhere");
}
