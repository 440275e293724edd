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
    let worse = rate["worse"]["point"]
        .as_f64()
        .expect("by how much it is worse");
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

/// A build waits for its gates and for nothing else: `quick` compares three contenders at eight
/// loads, and only the rate of closed loops is gated.
#[test]
fn a_campaign_with_gates_ends_once_they_are_decided() {
    let slower = ["caddy", "caddy-default"].map(|name| format!("contender.{name}.rate = 5_000\n"));
    let scene = Scene::of(&slower.concat());
    let measured = |record: &str, open: &str| {
        let trials = scene.trials(record);
        let rounds = trials.iter().map(|it| it["round"].as_u64().unwrap()).max();
        let is_asked = |id: &Value| id.as_str().unwrap().contains(open);
        let contenders = trials.iter().filter(|it| it["kind"] == "contender");
        let asked = contenders.filter(|it| is_asked(&it["id"]));
        (rounds.unwrap(), asked.count())
    };
    let race = |gate: &str, record: &str, code: i32| {
        let race = ["race", "nginx", "caddy", "--gate", gate, "--out", record];
        scene.run(&race).expect(code)
    };
    race("rate=5%", "slower", 3).says("breached");
    let (rounds, _) = measured("slower", "");
    assert!((3..=5).contains(&rounds), "{rounds}");
    race("rate=300%", "wide", 0).says("passed");
    let (rounds, _) = measured("wide", "");
    assert!((3..=5).contains(&rounds), "{rounds}");
    let quick = ["run", "quick", "--gate", "rate=5%", "--out", "quick"];
    let ran = scene.run(&quick).expect(3).says("breached");
    ran.says("measured enough after round 2: synthetic c50, html-small c50, html-large c50");
    let (rounds, open) = measured("quick", "share");
    // What no gate is of is measured in two rounds.
    assert!(
        (2..=7).contains(&rounds) && open <= 2 * 3 * 4,
        "{rounds} {open}"
    );
    // The same gate of the record, whoever asks for it.
    let compare = ["compare", "quick", "nginx-default", "caddy-default"];
    scene
        .run(&[&compare[..], &["--gate", "rate=5%"]].concat())
        .expect(3);
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
    verify(1).prints("report.html is damaged: it is no text in UTF-8 any more");
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
    let scene = Scene::raced(&["--rounds", "3", "--save-plan", "own.toml"]);
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
    // Its one round has no interval, however many the new campaign has.
    let one = Scene::raced(&["--rounds", "1"]);
    one.write("own.toml", &plan);
    let held = ["--baseline", "record", "--gate", "rate=5%"];
    let run = [&["run", "./own.toml", "--out", "none"][..], &held].concat();
    let expected = "--baseline can decide no gate: 1 round has no interval; 3 have one";
    one.run(&run).expect(2).says(expected);
}

/// 21 rounds of 400 ms were run, and none of them could be judged.
#[test]
fn gates_and_conditions_that_no_campaign_can_decide_are_refused() {
    let scene = Scene::new();
    let refused = |arguments: &[&str], problem: &str| {
        let arguments = [arguments, &["--out", "none"]].concat();
        scene.run(&arguments).expect(2).says(problem);
        assert!(!scene.path("none").exists());
    };
    let race = |more: &[&'static str]| [&["race", "nginx", "caddy"][..], more].concat();
    let short = "the gate rate can never be decided: a window of 400ms does not show whether it \
                 came to rest; the shortest that does is 600ms (--duration)";
    refused(&race(&["--gate", "rate=5%", "--duration", "400ms"]), short);
    let short = "the condition `rate < 10` can never be decided: a window of 500ms";
    refused(
        &race(&["--fail-if", "rate < 10", "--duration", "500ms"]),
        short,
    );
    let few = "the gate p99 can never be decided: it takes 1,000 requests in a window, and 100/s \
               for 2s are fewer; give it 10s (--duration) or a higher rate";
    let slow = ["--rate", "100", "--duration", "2s"];
    refused(&race(&[&["--gate", "p99=5%"], &slow[..]].concat()), few);
    let rounds = "the gate rate can never be decided: 2 rounds have no interval; 3 have one";
    refused(&race(&["--gate", "rate=5%", "--rounds", "2"]), rounds);
    let load = [
        "load",
        "http://127.0.0.1:9/",
        "-n",
        "50",
        "--fail-if",
        "p99 > 1s",
    ];
    let few = "--fail-if 'p99 > 1s': it takes 1,000 requests, and 50 are asked for (--requests)";
    scene.run(&load).expect(2).says(few);
}

#[test]
fn wrong_gates_and_conditions_are_refused_before_anything_is_measured() {
    let scene = Scene::new();
    let refused = |arguments: &[&str], more: &[&str], problem: &str| {
        let arguments = [arguments, more, &["--out", "none"]].concat();
        scene.run(&arguments).expect(2).says(problem);
        assert!(!scene.path("none").exists());
    };
    let race = ["race", "nginx", "caddy"];
    refused(&race, &["--gate", "p99=5%"], "fits no load here");
    refused(&race, &["--gate", "rate=5"], "is not a gate");
    refused(&race, &["--fail-if", "p99 > 5"], "is not a limit for p99");
    let fits_nothing = "the condition `rate < 400` fits no load here";
    refused(
        &race,
        &["--rate", "500", "--fail-if", "rate < 400"],
        fits_nothing,
    );
    let run = ["run", "smoke", "--contender", "nginx-default"];
    refused(&run, &["--gate", "rate=5%"], "the plan has one alone");
    let baseline = ["--gate", "rate=5%", "--baseline", "missing"];
    refused(&run, &baseline, "there is no missing");
    let load = ["load", "http://127.0.0.1:9/", "--fail-if", "cpu > 1ms"];
    scene
        .run(&load)
        .expect(2)
        .says("does not see the server's process");
    scene.run(&["verify", "missing"]).expect(2);
    scene.run(&["compare", "missing", "a", "b"]).expect(2);
}

/// A plan to which a search or an overload is added.
const NO_ROUNDS: &str = r#"
name = "no-rounds"
workloads = ["synthetic"]

[[contender]]
name = "nginx"
server = "nginx"

[[contender]]
name = "caddy"
server = "caddy"
"#;

/// Neither was held against anything, and the exit code was 0.
#[test]
fn a_search_or_an_overload_takes_no_gates() {
    let scene = Scene::new();
    for kind in ["search", "overload"] {
        scene.write("plan.toml", &format!("{NO_ROUNDS}\n[[{kind}]]\n"));
        for held in [["--gate", "p99=5%"], ["--fail-if", "p99 > 1ns"]] {
            let run = ["run", "./plan.toml", "--out", "none", held[0], held[1]];
            let said = scene.run(&run).expect(2);
            said.says("--gate and --fail-if are for plans with rounds");
            assert!(!scene.path("none").exists(), "{kind} {held:?}");
        }
    }
}

/// Trials at different rates were held against each other.
#[test]
fn the_records_of_a_search_and_an_overload_are_not_compared() {
    let scene = Scene::raced(&["--rounds", "1"]);
    let made = ["nginx", "caddy", "--quick", "--out"];
    for (command, name) in [("find", "a search"), ("overload", "an overload")] {
        let folder = name.replace(' ', "-");
        let goal: &[&str] = if command == "find" {
            &["--slo", "p99<10ms"]
        } else {
            &[]
        };
        scene
            .run(&[&[command], &made[..], &[&folder], goal].concat())
            .expect(0);
        let expected = format!("{folder} is of {name}, which has no rounds to compare");
        let within = ["compare", &folder, "nginx", "caddy"];
        scene.run(&within).expect(2).says(&expected);
        for across in [["record", &folder], [&folder, "record"]] {
            let across = ["compare", across[0], across[1], "--force"];
            scene.run(&across).expect(2).says(&expected);
        }
        let gate = ["--gate", "rate=5%", "--baseline", &folder];
        let run = [&["run", "smoke", "--out", "none"][..], &gate].concat();
        scene.run(&run).expect(2).says(&expected);
    }
}

/// A record in which nothing was measured.
fn measured_nothing() -> Scene {
    let scene = Scene::of("stop_after = 0");
    let race = ["race", "nginx", "caddy", "--rounds", "1", "--out", "none"];
    scene.run(&race).expect(130);
    scene
}

/// Otava takes a `nan` for a number, and then finds nothing.
#[test]
fn a_line_for_otava_says_what_it_lacks() {
    let scene = Scene::raced(&["--rounds", "3", "--duration", "1s"]);
    // Of a server that did not start.
    scene.change("record", "some", |record| {
        let mut trials = record.trials.iter_mut();
        let trial = trials.find(|it| it.contender == "caddy").unwrap();
        trial.result = None;
    });
    let report = |scene: &Scene, record: &str| scene.run(&["report", record, "--format", "otava"]);
    report(&scene, "some")
        .expect(4)
        .says(" values are nan, because");
    let none = measured_nothing();
    report(&none, "none")
        .expect(4)
        .says(" values are nan, because");
}

/// github-action-benchmark refuses an empty list, in the next step and without a reason.
#[test]
fn a_file_without_a_number_for_another_tool_ends_with_4() {
    let (some, none) = (Scene::raced(&["--rounds", "3"]), measured_nothing());
    for format in ["bencher", "github-bigger", "gobench"] {
        some.run(&["report", "record", "--format", format])
            .expect(0);
        let said = none.run(&["report", "none", "--format", format]);
        said.expect(4).says("no number of this record");
    }
    none.run(&["report", "none", "--format", "github-smaller"])
        .expect(4);
}

/// Trials of which one has a smallest latency above its largest, in lines as long as they were.
pub(crate) fn contradicting(trials: &str) -> String {
    let (before, after) = trials.split_once("\"max_ns\":").unwrap();
    let digits = after.find(|one: char| !one.is_ascii_digit()).unwrap();
    let changed = format!("{before}\"max_ns\":{:digits$}{}", 1, &after[digits..]);
    assert_eq!(changed.len(), trials.len());
    changed
}

/// Each ended in a panic.
#[test]
fn a_record_that_nobody_can_judge_is_refused_and_left_out() {
    let scene = Scene::raced(&["--rounds", "1"]);
    scene.change("record", "both/good", |_| {});
    scene.change("record", "both/bad", |_| {});
    let trials = scene.read("both/bad/trials.jsonl");
    scene.write("both/bad/trials.jsonl", &contradicting(&trials));
    let commands = [
        (&["report", "both/bad"][..], 2),
        (&["compare", "both/bad", "a", "b"], 2),
        (&["site", "both/bad"], 2),
        (&["history", "both/bad", "--no-index"], 4),
    ];
    for (command, code) in commands {
        let said = scene.run(command).expect(code);
        let all = said.stdout + &said.stderr;
        assert!(all.contains("is above max_ns"), "{all}");
    }
    // Beside another it is left out.
    let said = scene.run(&["site", "both"]).expect(2);
    said.says("left out: both/bad: ")
        .prints("1 record, 1 left out");
}

/// A record is no worse than itself, so every gate was passed.
#[test]
fn a_record_is_not_compared_with_itself() {
    let scene = Scene::raced(&["--rounds", "7"]);
    let compare = |second: &str, force: &[&str]| {
        let command = ["compare", "record", second, "--gate", "rate=5%"];
        scene.run(&[&command, force].concat())
    };
    compare("./record", &[])
        .expect(2)
        .says("is compared with itself");
    scene
        .run(&["report", "record", "--share", "copy"])
        .expect(0);
    compare("copy", &[])
        .expect(2)
        .says("are of the same campaign");
    compare("copy", &["--force"]).expect(0);
    for baseline in ["record", "copy"] {
        let gate = ["--gate", "rate=5%", "--baseline", baseline];
        let run = [&["run", "--resume", "record"][..], &gate].concat();
        let expected = format!("--baseline {baseline} is of the campaign that goes on");
        scene.run(&run).expect(2).says(&expected);
    }
    scene.change("record", "later", |record| {
        record.machine.started_at = "2036-11-22T04:00:00Z".to_owned();
    });
    compare("later", &[]).expect(0);
}

/// Thirteen failures in a file for CI went with exit code 0.
#[test]
fn failures_in_a_file_for_ci_never_go_with_exit_code_0() {
    let race: &[&str] = &["race", "nginx", "caddy", "--out", "record"];
    let quick: &[&str] = &["run", "quick", "--rounds", "1", "--out", "record"];
    let mut counts = Vec::new();
    for (machine, asked) in [
        ("", race),
        ("", quick),
        ("server.machine.other_load = 0.2", race),
        ("server.answer.wrong = \"after\"", quick),
        ("contender.caddy.failing = { reset = 0.5 }", race),
        ("contender.caddy.fate.fails = \"out of mustard\"", race),
        ("server.fate.fails = \"out of mustard\"", quick),
    ] {
        let scene = Scene::of(machine);
        for command in [
            asked,
            &["report", "record"],
            &["compare", "record", "record", "--gate", "rate=5%"],
        ] {
            let ran = scene.run(&[command, &["--format", "junit"]].concat());
            let failures = ran.stdout.matches("<failure").count();
            assert!(failures == 0 || ran.code != Some(0), "{machine}: {ran:#?}");
            counts.push(failures);
        }
    }
    assert!(counts.iter().any(|count| *count >= 13), "{counts:?}");
    assert!(counts.contains(&0), "{counts:?}");
}
