//! `--confirm`: a bottleneck that is real is put to the test with real servers. How much faster it
//! becomes is the machine's matter; what was changed, and what is said of it, is held here.

use serde_json::Value;

use crate::support::files::trials;
use crate::support::scene::Scene;
use crate::support::servers::are_installed;
use crate::support::{alone, pass_over};

/// nginx starts one worker by itself; it compresses, so that the engine has little to do.
const ONE_WORKER: &str = r#"
name = "one"
rounds = 1
rest = "0s"
workloads = ["gzip"]
[pinning]
server = [0, 1]
engine = [1]
[references]
yardstick = false
origin = false
[[contender]]
name = "one"
server = "nginx"
[[load]]
clients = 8
warmup = "100ms"
duration = "700ms"
"#;
/// On a machine that is busy otherwise the one worker may not be what limits it.
const ATTEMPTS: usize = 10;

/// A scene with nginx and two processors; `None` without.
fn scene() -> Option<Scene> {
    let scene = Scene::new();
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        pass_over("a second worker needs a second processor");
        return None;
    }
    are_installed(&scene, &["nginx"]).then(|| {
        scene.write("one.toml", ONE_WORKER);
        scene
    })
}

fn bottleneck(document: &Value) -> &Value {
    let cells = document["cells"].as_array().unwrap();
    let own = cells.iter().find(|cell| cell["contender"] == "one");
    &own.unwrap()["bottleneck"]
}

/// A record whose one worker was the limit; `None` where other programs took the processors in
/// every attempt.
#[track_caller]
fn limited(scene: &Scene) -> Option<String> {
    let mut others = Vec::new();
    for attempt in 0..ATTEMPTS {
        let record = format!("record{attempt}");
        let found = scene.run(&["run", "one.toml", "--out", &record, "--format", "json"]);
        match bottleneck(&found.json())["name"].as_str() {
            Some("single-core") => return Some(record),
            other => others.push(other.map(str::to_owned)),
        }
    }
    let is_busy = |name: &Option<String>| matches!(name.as_deref(), Some("other-load" | "steal"));
    assert!(
        others.iter().all(is_busy),
        "one worker is the limit: {others:?}"
    );
    // No missing program, which may not be passed over in CI, but a machine that others use.
    eprintln!("PASSED OVER: other programs keep the processors busy");
    None
}

#[test]
fn a_worker_more_is_started_and_the_answer_says_what_came_of_it() {
    let _alone = alone();
    let Some(scene) = scene() else { return };
    let Some(record) = limited(&scene) else {
        return;
    };
    let confirmed = scene.run(&["run", "--resume", &record, "--confirm", "--format", "json"]);
    confirmed.says("of what limits contenders: 18 more trials");
    let document = scene.json(&["report", &record, "--format", "json"]);
    let all = bottleneck(&document)["confirmations"].as_array().unwrap();
    let found = all.iter().find(|one| one["change"] == "worker-more");
    let found = found.expect("one worker was suspected");
    assert_eq!(found["cause"], "single-core");
    let answer = found["answer"].as_str().unwrap();
    let text = found["text"].as_str().unwrap();
    match answer {
        "confirmed" => {
            let least = found["range"][0].as_f64().unwrap();
            assert!(least > 1.0 + found["floor"].as_f64().unwrap(), "{found}");
            assert!(
                text.starts_with("single-core is confirmed: with one worker more"),
                "{text}"
            );
        }
        "not-confirmed" => assert!(text.contains("is not confirmed"), "{text}"),
        other => assert!(
            other == "not-tested" && text.contains("disturbed"),
            "{found}"
        ),
    }
    let trials = trials(&scene.path(&record).join("confirm"));
    let is_skipped = |trial: &&Value| trial["end"]["kind"] == "skipped";
    assert_eq!(trials.iter().filter(|it| !is_skipped(it)).count(), 18);
    for trial in trials.iter().filter(|it| !is_skipped(it)) {
        let is_changed = trial["contender"] == "one+worker-more";
        assert_eq!(trial["end"]["kind"], "measured", "{trial}");
        let workers = if is_changed { 2 } else { 1 };
        assert_eq!(
            trial["work"]["crew"]["listening"], workers,
            "{}",
            trial["id"]
        );
    }
    scene.assert_empty();
}
