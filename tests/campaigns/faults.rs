//! Plans that name what is not there, and servers that fail: each is reported with its cause and
//! the right exit code, and the rest of the campaign goes on.

use serde_json::Value;

use crate::support::plan;
use crate::support::scene::Scene;

const SHORT: &str = "duration = \"200ms\"";

const MOST_CLIENTS: &str = "expected a whole number from 1 to 10000";

#[test]
fn unknown_names_are_reported_with_the_nearest_one() {
    let scene = Scene::new();
    for (arguments, words) in [
        (vec!["run", "smok"], "did you mean smoke?"),
        (vec!["run", "./absent.toml"], "absent.toml"),
        (
            vec!["run", "smoke", "--contender", "nginx-defualt"],
            "did you mean `nginx-default`?",
        ),
        (
            vec!["run", "smoke", "--workload", "syntetic"],
            "did you mean `synthetic`?",
        ),
        (vec!["run", "smoke", "--clients", "0"], "clients"),
        (vec!["run", "smoke", "--clients", "10001"], MOST_CLIENTS),
        (vec!["race", "nginx", "caddy", "-c", "20k"], MOST_CLIENTS),
        (vec!["find", "nginx", "-c", "20k"], MOST_CLIENTS),
        (vec!["overload", "nginx", "-c", "20k"], MOST_CLIENTS),
        (vec!["run", "smoke", "--rounds", "0"], "rounds"),
        (vec!["run", "smoke", "--duraton", "1s"], "--duration"),
        (vec!["plan", "smok"], "did you mean smoke?"),
        (vec!["run", "--resume", "x", "--clients", "2"], "--resume"),
        (vec!["run", "smoke", "--resume", "x"], "[PLAN]"),
    ] {
        scene.run(&arguments).expect(2).says(words);
    }
    assert!(!scene.path("bakeoff-results").exists());
}

#[test]
fn an_unknown_key_is_reported_with_line_column_and_the_nearest_key() {
    let scene = Scene::new();
    let good = plan(&[("a", "nginx", "default")], "synthetic", SHORT);
    scene.write("own.toml", &good.replace("warmup", "wramup"));
    let reported = scene.run(&["run", "./own.toml"]).expect(2);
    let line = good.lines().position(|it| it.starts_with("warmup"));
    let place = format!("own.toml:{}:1", line.unwrap() + 1);
    reported.says("wramup").says("warmup").says(&place);

    scene.write("own.toml", &good.replace("\"nginx\"", "\"ngnix\""));
    let reported = scene.run(&["run", "./own.toml"]).expect(2);
    reported.says("ngnix").says("`nginx`");
}

/// A format that has no place for the result is refused before anything is measured.
#[test]
fn searches_and_overloads_have_formats_of_their_own() {
    let scene = Scene::new();
    let known = "[possible values: text, html, md, csv, json]";
    for command in ["find", "overload"] {
        let asked = [command, "nginx", "--format", "junit"];
        scene.run(&asked).expect(2).says(known);
        let help = scene.run(&[command, "--help"]).expect(0).stdout;
        assert!(!help.contains("bakeoff.report/1"), "{help}");
    }
    let closed = plan(&[("a", "nginx", "default")], "synthetic", "");
    let (before, _) = closed.split_once("[[load]]").unwrap();
    for table in ["search", "overload"] {
        scene.write("own.toml", &format!("{before}[[{table}]]\n"));
        let run = ["run", "./own.toml", "--format", "junit", "--out", "record"];
        scene
            .run(&run)
            .expect(2)
            .says("--format is text, html, md, csv or json");
        assert!(!scene.path("record").exists());
    }
}

/// The trial's end as its record has it.
fn end_of(scene: &Scene, id: &str) -> Value {
    let trials = scene.trials("record");
    let trial = trials.iter().find(|trial| trial["id"] == id);
    trial.unwrap_or_else(|| panic!("no {id}"))["end"].clone()
}

const SMOKE: [&str; 6] = ["run", "smoke", "--workload", "synthetic", "--out", "record"];

#[test]
fn a_campaign_with_nothing_measured_ends_with_4() {
    let scene = Scene::of("server.fate.fails = \"exit code 1\"");
    scene.run(&SMOKE).expect(4).says("exit code 1");
}

#[test]
fn a_server_that_fails_is_reported_and_the_rest_is_measured() {
    for (fate, step, cause) in [
        ("fails = \"out of mustard\"", "start", "out of mustard"),
        ("dies_s = 0.4", "measure", "exit status 3"),
    ] {
        let scene = Scene::of(&format!("[contender.caddy-default]\nfate = {{ {fate} }}"));
        let ran = scene.run(&SMOKE).expect(4);
        let ran = ran
            .says("ok/s nginx-default ")
            .says(&format!("; caddy-default: failed at {step}"));
        ran.prints("failed").prints(cause);
        let end = end_of(&scene, "r1-caddy-default-synthetic-c5");
        assert_eq!(
            (&end["kind"], &end["step"]),
            (&"failed".into(), &step.into())
        );
        assert!(end["cause"].as_str().unwrap().contains(cause), "{end:#}");
        let report = scene.run(&["report", "record", "--format", "json"]);
        assert_eq!(report.json()["campaign"]["trials"]["failed"], 1);
    }
}

#[test]
fn what_cannot_do_the_work_is_named_and_the_rest_is_measured() {
    let scene = Scene::of("contender.caddy-default.fate.unsupported = \"it speaks no mustard\"");
    let ran = scene.run(&SMOKE);
    ran.says("it speaks no mustard").prints("nginx");
    let end = end_of(&scene, "r1-caddy-default-synthetic-c5");
    assert_eq!(end["kind"], "unsupported", "{end:#}");
    assert!(!scene.measured("record").is_empty());
}

#[test]
fn a_server_that_turns_wrong_is_not_valid() {
    let scene = Scene::of("contender.caddy-default.answer.wrong = \"after\"");
    scene
        .run(&SMOKE)
        .expect(4)
        .prints("Nothing could be compared");
    let report = ["report", "record", "--format", "json"];
    let report = scene.run(&report).expect(4).json();
    let mut cells = report["cells"].as_array().unwrap().iter();
    let cell = cells
        .find(|cell| cell["contender"] == "caddy-default")
        .unwrap();
    assert_eq!(cell["verdict"]["verdict"], "invalid", "{cell:#}");
}

#[test]
fn a_server_that_is_silent_after_the_load_keeps_what_was_measured() {
    let scene = Scene::of("contender.caddy-default.answer.silent = true");
    scene
        .run(&SMOKE)
        .expect(4)
        .prints("Nothing could be compared");
    let report = scene.run(&["report", "record", "--full"]).expect(4);
    report.prints("caddy-default, synthetic, c5: slow to recover");
    let trials = scene.trials("record");
    let trial = trials
        .iter()
        .find(|it| it["contender"] == "caddy-default")
        .unwrap();
    assert_eq!(trial["end"]["kind"], "measured", "{trial:#}");
    assert_eq!(trial["warnings"][0]["code"], "no-answer-after", "{trial:#}");
    assert_eq!(trial["answers"].as_array().unwrap().len(), 1);
    assert!(trial["result"]["requests"]["ok"].as_u64() > Some(0));
}
