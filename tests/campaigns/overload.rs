//! `bakeoff overload`: servers that each fail in a way of their own, named from their answers
//! alone; interrupted and continued.

use std::process::Command;

use serde_json::Value;

use crate::support::scene::Scene;

/// Servers that take a hundred requests a second, and what they do with more.
const MACHINE: &str = r#"
server.rate = 100
[contender.holds]
beyond = "hold"
[contender.refuses]
beyond = "refuse"
[contender.sheds]
beyond = "shed"
[contender.sticks]
beyond = "stick"
[contender.crashes]
beyond = "crash"
"#;

/// From 20 requests a second to 250 and back.
const SHORT: [&str; 16] = [
    "overload",
    "--out",
    "record",
    "--capacity",
    "100",
    "--steps",
    "20%,250%,20%",
    "--step",
    "4s",
    "--patience",
    "1s",
    "--rounds",
    "1",
    "--clients",
    "200",
    "--quick",
];

/// What each has to show, and what it must not.
const EXPECTED: [(&str, &[&str], &[&str]); 6] = [
    (
        "holds",
        &[],
        &[
            "queue", "refuse", "drop", "reset", "shed", "stall", "collapse", "crash",
        ],
    ),
    ("refuses", &["refuse"], &["shed", "crash", "metastable"]),
    (
        "queues",
        &["queue"],
        &["refuse", "shed", "crash", "metastable"],
    ),
    (
        "sheds",
        &["shed"],
        &["refuse", "crash", "collapse", "metastable"],
    ),
    ("crashes", &["crash"], &["shed", "metastable"]),
    (
        "sticks",
        &["queue", "metastable"],
        &["refuse", "shed", "crash"],
    ),
];

fn overload<'a>(starts: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let starts = starts.iter().flat_map(|start| ["--start", *start]);
    SHORT[..15]
        .iter()
        .copied()
        .chain(starts)
        .chain(more.iter().copied())
        .collect()
}

#[test]
fn each_server_is_named_by_what_it_does_beyond_its_capacity() {
    let scene = Scene::of(MACHINE);
    let starts = EXPECTED.map(|(name, ..)| name);
    let document = scene.json(&overload(&starts, &["--format", "json"]));
    assert_eq!(document["schema"], "bakeoff.overload/1");
    let rows = document["contenders"].as_array().unwrap();
    assert_eq!(rows.len(), EXPECTED.len());
    for (row, (name, shows, shows_not)) in rows.iter().zip(EXPECTED) {
        let evidence = &row["beyond"];
        let seen = evidence["classes"].as_array().unwrap();
        let classes: Vec<&str> = seen
            .iter()
            .filter_map(|one| one["class"].as_str())
            .collect();
        for class in shows {
            assert!(classes.contains(class), "{name} is {classes:?}: {evidence}");
        }
        for class in shows_not {
            assert!(
                !classes.contains(class),
                "{name} is {classes:?}: {evidence}"
            );
        }
        let steps = row["ramps"][0]["series"]["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 3, "{name}");
    }
    let report = |format: &str| {
        scene
            .run(&["report", "record", "--format", format])
            .expect(0)
    };
    assert_eq!(report("json").json(), document);
    let plan = scene.read("record/plan.toml");
    assert!(plan.contains("[[overload]]"), "{plan}");
    report("text").prints("goodput");
    report("md").prints("| contender |");
    report("csv").prints("contender,workload,round,share");
    report("html").prints("<svg viewBox");
}

#[test]
fn a_ladder_follows_and_ends_where_the_machine_does() {
    let scene = Scene::of(&format!("open_files = 4096\n{MACHINE}"));
    let more = [
        "--ladder=2,40,10000",
        "--rung",
        "1s",
        "--warmup",
        "100ms",
        "--format",
        "json",
    ];
    // The last rung needs more files than a process may have here.
    let mut command = Command::new("/bin/sh");
    let script = "ulimit -n 4096; exec \"$@\"";
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_bakeoff")]);
    command.args(overload(&["holds"], &more));
    let found = scene.run_command(command).expect(0);
    let row = &found.json()["contenders"][0];
    let rungs = row["ladder"]["rungs"].as_array().unwrap();
    let clients: Vec<u64> = rungs
        .iter()
        .filter_map(|it| it["clients"].as_u64())
        .collect();
    assert_eq!(clients, [2, 40, 10_000]);
    assert!(rungs[0]["ok_per_s"].as_f64() > Some(0.0), "{row}");
    assert_eq!(rungs[2]["rounds"], 0);
    let why = rungs[2]["why"].as_str().unwrap();
    assert!(why.contains("open files"), "{why}");
    found.says("the ladder ends before 10000 clients");
}

#[test]
fn what_was_measured_is_kept_and_gone_on_with() {
    let scene = Scene::of(&format!("stop_after = 1\n{MACHINE}"));
    let stopped = scene.run(&overload(&["holds", "sheds"], &[])).expect(130);
    stopped.says("`bakeoff overload --resume record` goes on");
    let before = scene.trials("record");
    scene.becomes(MACHINE);
    let document = scene.json(&["overload", "--resume", "record", "--format", "json"]);
    let rows = document["contenders"].as_array().unwrap();
    let is_whole = |row: &Value| row["beyond"]["rounds"] == 1;
    assert!(rows.len() == 2 && rows.iter().all(is_whole), "{document}");
    let after = scene.trials("record");
    assert_eq!(after.len(), 3, "what was measured is not measured again");
    assert_eq!(after[..2], before[..]);
}

#[test]
fn what_has_no_sense_is_refused() {
    let scene = Scene::new();
    let check = |arguments: &[&str], expected: &str| {
        let command = [&["overload"], arguments].concat();
        scene.run(&command).expect(2).says(expected);
    };
    check(&[], "an overload needs a contender");
    check(
        &["nginx", "--steps", "50%,200%,150%"],
        "begins or ends near the capacity",
    );
    check(
        &["nginx", "--step", "2s", "--patience", "1s"],
        "25 % of `step`",
    );
    let formats = "possible values: text, html, md, csv, json";
    check(&["nginx", "--format", "junit"], formats);
}
