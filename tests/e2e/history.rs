//! `bakeoff history` over records on disk: what is found, joined, left out and refused.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::alone;
use crate::support::scene::Scene;
use crate::support::scripted::always;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A record of two short rounds in `records/first`.
fn record(scene: &Scene) {
    let urls = [always(HELLO), always(HELLO)].map(|it| format!("http://{it}/"));
    let out = scene.path("records/first").display().to_string();
    fs::create_dir_all(scene.path("records")).unwrap();
    let arguments = [
        "race",
        &urls[0],
        &urls[1],
        "--rounds",
        "2",
        "--clients",
        "2",
    ];
    let more = ["--duration", "200ms", "--warmup", "50ms", "--out", &out];
    scene
        .run(&[&arguments[..], &more[..]].concat())
        .expect_measured();
}

/// Copies a record, as if it had been made that many hours later.
fn copy(from: &Path, to: &Path, hours: usize) {
    fs::create_dir(to).unwrap();
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
    let _alone = alone();
    let scene = Scene::new();
    record(&scene);
    let records = scene.path("records");
    // One is in a folder of its own.
    fs::create_dir(records.join("deeper")).unwrap();
    for hours in 1..8 {
        let parent = if hours == 7 { "deeper/" } else { "" };
        let to = records.join(format!("{parent}later-{hours}"));
        copy(&records.join("first"), &to, hours);
    }
    fs::create_dir(records.join("notes")).unwrap();
    // A record that was cut off is left out, with the reason.
    copy(&records.join("first"), &records.join("broken"), 9);
    fs::write(records.join("broken/machine.json"), "{").unwrap();

    let folder = records.display().to_string();
    let told = scene.run(&[
        "history", &folder, "--metric", "rate,cpu", "--format", "json",
    ]);
    // On a busy machine no number may be valid.
    assert!(
        [Some(0), Some(4)].contains(&told.status.code()),
        "{told:#?}"
    );
    let history = told.json();
    assert_eq!(history["schema"], "bakeoff.history/1");
    assert_eq!(history["machines"].as_array().unwrap().len(), 1);
    assert_eq!(
        history["machines"][0]["records"].as_array().unwrap().len(),
        8
    );
    let left_out = history["left_out"].as_array().unwrap();
    let broken = left_out
        .iter()
        .find(|it| it["record"] == "broken")
        .expect("it is named");
    assert!(
        broken["why"].as_str().unwrap().contains("machine.json"),
        "{broken}"
    );
    for series in history["series"].as_array().unwrap() {
        // Eight times the same value is no change.
        assert_eq!(series["points"].as_array().unwrap().len(), 8, "{series:#}");
        assert_eq!(series["changes"], Value::Array(Vec::new()));
        assert_eq!(series["why_not_looked_at"], Value::Null);
    }
    // What was taken from the records says the same, with an index and without.
    let index = scene.path("home/.cache/bakeoff/history");
    assert!(index.exists());
    for flags in [
        &["--metric", "rate,cpu"][..],
        &["--metric", "rate,cpu", "--no-index"],
    ] {
        let again = scene.run(&[&["history", &folder, "--format", "json"], flags].concat());
        assert_eq!(again.stdout, told.stdout);
    }
    let cleaned = scene.run(&["clean"]).expect(0);
    assert!(
        cleaned.stdout.contains("index of histories"),
        "{cleaned:#?}"
    );
    assert!(!index.exists());
    let page = scene.path("history.html").display().to_string();
    let first = records.join("first").display().to_string();
    let both = ["history", &first, &folder, "--metric", "rate,cpu"];
    let to_page = ["--format", "html", "--output", &page];
    let drawn = scene.run(&[&both[..], &to_page[..]].concat());
    assert_eq!(drawn.status.code(), told.status.code());
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("default-src 'none'") && !page.contains("<script"),
        "{page}"
    );
}

#[test]
fn a_folder_without_records_is_refused() {
    let scene = Scene::new();
    fs::create_dir(scene.path("empty")).unwrap();
    let empty = scene.path("empty").display().to_string();
    scene
        .run(&["history", &empty])
        .expect(2)
        .says("holds no record");
    scene.run(&["history", "nowhere"]).expect(2).says("nowhere");
}
