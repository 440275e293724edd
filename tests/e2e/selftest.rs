//! `bakeoff selftest`: what is certain is found however busy the machine is, and nothing is left.

use rustix::process::Signal;

use crate::support::scene::Scene;

/// One of each kind; `make night` plants them all.
const FAULTS: [&str; 7] = [
    "wrong-body",
    "wrong-status",
    "die",
    "reset",
    "log",
    "keep-alive-off",
    "engine-files",
];

#[test]
fn certain_faults_are_found_and_nothing_is_left_running() {
    let scene = Scene::new();
    let mut selftest = vec!["selftest", "--quick", "--within", "10m", "--format", "json"];
    selftest.extend(FAULTS.iter().flat_map(|fault| ["--fault", *fault]));
    let document = scene.run(&selftest).expect(0).json();
    assert_eq!(document["schema"], "bakeoff.selftest/1");
    assert_eq!(document["missed"], serde_json::json!([]));
    let rows = document["selftest"]["faults"].as_array().unwrap();
    assert_eq!(rows.len(), FAULTS.len(), "{document:#}");
    for row in rows {
        assert_eq!(row["with"]["named"], 1, "{row}");
        assert_eq!(row["without"]["runs"], 1, "{row}");
        assert!(
            row["left_out"].is_null() && row["failed"].is_null(),
            "{row}"
        );
    }
    // Its servers and programs are looked for at the scene's end.
}

#[test]
fn an_interruption_ends_with_what_was_seen() {
    let scene = Scene::new();
    let mut started = scene.start(&["selftest", "--fault", "wrong-body", "--repeats", "100"]);
    // Found or not: a machine under test may leave its server no time to answer.
    started.wait_until("its first fault", |it| {
        it.stderr().contains("wrong-body 1: ")
    });
    started.signal_group(Signal::INT);
    let finished = started.finish().expect(130);
    assert!(
        finished.stdout.contains(" of 1 faults were found"),
        "{}",
        finished.stdout
    );
    assert!(
        finished.stdout.contains("it was interrupted"),
        "{}",
        finished.stdout
    );
}
