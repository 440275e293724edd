//! `--confirm`: a suspected bottleneck is put to the test. What is changed, and what is said of it.

use serde_json::Value;

use crate::support::scene::Scene;

/// One worker on two processors, which it cannot both use.
const PLAN: &str = r#"
name = "one"
rounds = 7
workloads = ["gzip"]
[pinning]
server = [0, 1]
engine = [2, 3]
[[contender]]
name = "one"
server = "nginx"
[[load]]
clients = 8
warmup = "100ms"
duration = "700ms"
"#;
const MACHINE: &str = "[contender.one]\nusage.cores = 1.0\nwork.workers = 1\n";
/// What becomes of it with one worker more.
const FASTER: &str = "[contender.\"one+worker-more\"]\nrate = 15_000\nwork.workers = 2\n";

fn scene(more: &str) -> Scene {
    let scene = Scene::of(&format!("{MACHINE}{more}"));
    scene.write("one.toml", PLAN);
    scene
}

fn bottleneck(document: &Value) -> &Value {
    let cells = document["cells"].as_array().unwrap();
    let own = cells.iter().find(|cell| cell["contender"] == "one");
    &own.unwrap()["bottleneck"]
}

/// What is said of one worker more.
fn found(document: &Value) -> &Value {
    assert_eq!(bottleneck(document)["name"], "single-core");
    let all = bottleneck(document)["confirmations"].as_array().unwrap();
    let found = all.iter().find(|one| one["change"] == "worker-more");
    let found = found.expect("one worker was suspected");
    assert_eq!(found["cause"], "single-core");
    found
}

const RUN: [&str; 7] = [
    "run",
    "./one.toml",
    "--out",
    "record",
    "--confirm",
    "--format",
    "json",
];

#[test]
fn a_bottleneck_that_a_change_removes_is_confirmed() {
    let scene = scene(FASTER);
    let run = scene.run(&RUN);
    let run = run.says("of what limits contenders: 18 more trials");
    let document = run.json();
    let found = found(&document);
    assert_eq!(found["answer"], "confirmed", "{found}");
    let least = found["range"][0].as_f64().unwrap();
    assert!(least > 1.0 + found["floor"].as_f64().unwrap(), "{found}");
    let text = found["text"].as_str().unwrap();
    let begins = "single-core is confirmed: with one worker more";
    assert!(text.starts_with(begins), "{text}");
    let shown = scene.run(&["report", "record"]).stdout;
    let shown: Vec<&str> = shown.split_whitespace().collect();
    let shown = shown.join(" ");
    assert!(shown.contains("with one worker more"), "{shown}");
    let trials = scene.trials("record/confirm");
    assert_eq!(trials.len(), 18);
    for trial in trials {
        assert_eq!(trial["end"]["kind"], "measured", "{trial}");
        let is_changed = trial["contender"] == "one+worker-more";
        let workers = if is_changed { 2 } else { 1 };
        assert_eq!(
            trial["work"]["crew"]["listening"], workers,
            "{}",
            trial["id"]
        );
    }
}

#[test]
fn a_change_that_changes_nothing_confirms_nothing() {
    let same = FASTER.replace("rate = 15_000", "");
    let document = scene(&same).run(&RUN).json();
    let found = found(&document);
    assert_eq!(found["answer"], "not-confirmed", "{found}");
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("is not confirmed"), "{text}");
}

#[test]
fn experiments_that_were_interrupted_go_on() {
    let scene = scene("");
    scene.run(&["run", "./one.toml", "--out", "record"]);
    let rounds = scene.trials("record").len();
    scene.becomes(&format!("stop_after = 3\n{MACHINE}{FASTER}"));
    let resume = ["run", "--resume", "record", "--confirm"];
    scene
        .run(&resume)
        .expect(130)
        .says("bakeoff run --resume record --confirm");
    let before = scene.trials("record/confirm");
    assert_eq!(before.len(), 4);
    scene.becomes(&format!("{MACHINE}{FASTER}"));
    scene.run(&resume);
    let after = scene.trials("record/confirm");
    assert_eq!(after[..4], before[..], "what was measured is kept");
    let measured = after.iter().filter(|it| it["end"]["kind"] == "measured");
    assert_eq!(measured.count(), 18);
    assert_eq!(
        scene.trials("record").len(),
        rounds,
        "no round was made again"
    );
}
