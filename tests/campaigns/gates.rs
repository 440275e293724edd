//! What CI asks for: one exit code for two versions, conditions, and whether a record still holds.

use serde_json::Value;

use crate::support::scene::Scene;

/// A race that a gate decides.
const RACE: [&str; 8] = [
    "race", "nginx", "caddy", "--rounds", "7", "--out", "record", "--gate",
];

#[test]
fn a_race_with_a_gate_and_its_record_say_the_same() {
    let scene = Scene::of("contender.caddy.rate = 5_000");
    let raced = scene.run(&[&RACE[..], &["rate=5%"]].concat()).expect(3);
    assert!(raced.stderr.contains("breached"), "{raced:#?}");
    let compare = |more: &[&str]| {
        let sides = ["compare", "record", "nginx", "caddy", "--gate", "rate=5%"];
        scene.run(&[&sides, more].concat()).expect(3)
    };
    let document = compare(&["--format", "json"]).json();
    assert_eq!(document["schema"], "bakeoff.compare/1");
    let rows = document["rows"].as_array().expect("rows");
    let rate = rows.iter().find(|row| row["metric"] == "rate_per_s");
    let rate = rate.expect("a rate");
    assert_eq!(rate["ruling"], "breached");
    assert_eq!(rate["reason"], Value::Null);
    let worse = rate["worse"]["point"].as_f64().expect("by how much it is worse");
    assert!(
        (worse - 1.0).abs() < 0.02,
        "half the rate is as bad as twice the time: {worse}"
    );
    compare(&["--format", "junit"]).prints("<testcase ");
    compare(&[]).prints("gate 5 %");
    // The other way round nothing is worse.
    let back = ["compare", "record", "caddy", "nginx", "--gate", "rate=5%"];
    scene.run(&back).expect(0);
}

/// What verify says of the record as it is, and after changes to it.
#[test]
fn a_record_that_was_changed_anywhere_does_not_hold() {
    let scene = Scene::raced(&["--rounds", "2"]);
    let verify = |code: i32| scene.run(&["verify", "record"]).expect(code);
    verify(0).prints("all of it holds");
    let file = scene.path("record/trials.jsonl");
    let bytes = std::fs::read(&file).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let mut before = 0;
    for (index, line) in lines.iter().enumerate() {
        let mut flipped = bytes.clone();
        flipped[before + line.len() * (index + 1) / (lines.len() + 1)] ^= 1 << (index % 8);
        before += line.len();
        std::fs::write(&file, flipped).unwrap();
        let trial: Value = serde_json::from_slice(line).unwrap();
        let id = trial["id"].as_str().unwrap();
        verify(1).prints(&format!("trial {id}: line {}", index + 1));
    }
    std::fs::write(&file, &bytes).unwrap();
    let machine = scene.path("record/machine.json");
    let whole = std::fs::read(&machine).unwrap();
    std::fs::write(&machine, "nonsense").unwrap();
    verify(1).prints("machine.sum");
    std::fs::write(&machine, whole).unwrap();
    // Each trial of this version has a checksum.
    std::fs::remove_file(scene.path("record/trials.sum")).unwrap();
    verify(1).prints("no checksum in trials.sum");
    std::fs::write(&file, "nonsense\n").unwrap();
    verify(1).prints("line 1 is damaged");
    std::fs::write(&file, &bytes).unwrap();
    let page = scene.path("record/report.html");
    let mut flipped = std::fs::read(&page).unwrap();
    // The highest bit of a letter: it is no text any more.
    flipped[20] ^= 1 << 7;
    std::fs::write(&page, flipped).unwrap();
    verify(1).prints("report.html: it is not text in UTF-8");
}

/// A secret in the plan made every baseline one of another plan.
#[test]
fn a_baseline_of_the_same_plan_with_a_secret_is_compared() {
    let scene = Scene::new();
    let url = "http://127.0.0.1:8080/?token=abc1234567";
    let secret = ["-H", "Authorization: Bearer abc1234567"];
    let monday = [
        "--rounds",
        "7",
        "--save-plan",
        "own.toml",
        "--out",
        "monday",
    ];
    scene
        .run(&[&["race", url, url][..], &secret, &monday].concat())
        .expect(0);
    let gate = ["--baseline", "monday", "--gate", "rate=90%"];
    let tuesday = ["run", "./own.toml", "--out", "tuesday"];
    let said = scene.run(&[&tuesday[..], &gate].concat()).expect(0);
    assert!(!said.stderr.contains("could not be compared"), "{said:#?}");
}

/// All of it was measured, and could only end with 4.
#[test]
fn a_baseline_that_can_decide_nothing_is_refused_before_anything_is_measured() {
    let scene = Scene::raced(&["--rounds", "1", "--save-plan", "own.toml"]);
    let plan = scene.read("own.toml");
    let share = "[[load]]\ncapacity_share = 0.5\nduration = \"300ms\"\n\n[[workload]]\n";
    let with_share = plan.replacen("[[workload]]\n", share, 1);
    scene.write("share.toml", &with_share);
    let without = plan.replacen("yardstick = true", "yardstick = false", 1);
    assert!(with_share != plan && without != plan, "{plan}");
    scene.write("without.toml", &without);
    let run = |plan: &str, gate: &str| {
        let held = ["--baseline", "record", "--gate", gate];
        scene.run(&[&["run", plan, "--out", "none"], &held[..]].concat())
    };
    let refused = run("./without.toml", "rate=5%").expect(2);
    refused.says("yardstick: one of the two plans says `yardstick = false`");
    let refused = run("./share.toml", "p99=5%").expect(2);
    refused.says("loads at a share of the capacity are not compared");
    assert!(!scene.path("none").exists());
}
