//! Workloads that ask more than one thing, on real servers.

use serde_json::Value;

use crate::support::files::{measured, plan, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// How often each status came.
fn statuses(trial: &Value) -> Vec<(String, u64)> {
    let counts = trial["result"]["status"].as_object().unwrap();
    let counts = counts.iter();
    counts
        .map(|(status, count)| (status.clone(), count.as_u64().unwrap()))
        .collect()
}

#[test]
fn the_requests_of_a_site_come_as_often_as_their_weights_say() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let contenders = [("nginx", "nginx", "default"), ("caddy", "caddy", "default")];
    let text = plan(&contenders, "site", "requests = 2100\nduration = \"30s\"");
    let file = scene.write("site.toml", &text.replace("warmup = \"100ms\"\n", ""));
    let run = ["run", file.to_str().unwrap(), "--out", "site"];
    scene.run(&run).expect_measured();
    let record = scene.path("site");
    assert_eq!(measured(&record).len(), 2);
    for trial in trials(&record) {
        let result = &trial["result"];
        assert_eq!(result["requests"]["ok"], 2100, "a 404 is right: {trial:#}");
        let found = statuses(&trial);
        let [(ok, found_ok), (missing, found_missing)] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((ok.as_str(), missing.as_str()), ("200", "404"));
        assert_eq!(found_ok + found_missing, 2100);
        // One of 21 by weight is 100; four standard deviations are 39.
        assert!(found_missing.abs_diff(100) < 39, "{found:?}");
        let answers = trial["answers"].as_array().unwrap();
        let asked: Vec<&str> = answers
            .iter()
            .map(|it| it["request"].as_str().unwrap())
            .collect();
        let each = ["GET /", "GET /app.js", "GET /logo.png", "GET /favicon.ico"];
        assert_eq!(asked, [each, each].concat(), "before and after");
    }
}

#[test]
fn bodies_are_sent_and_a_wrong_answer_is_reported_with_its_request() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    scene.write("form.txt", "name=value");
    let contenders = [("nginx", "nginx", "default")];
    let own = |second: &str| {
        format!(
            "[[workload]]\nname = \"forms\"\ntemplate = \"proxy\"\nproxied = true\n\
             connections = \"new\"\n\
             [[workload.request]]\nmethod = \"POST\"\npath = \"/whole\"\n\
             body = {{ file = \"form.txt\" }}\nexpect.text = \"thanks\"\n\
             [[workload.request]]\nmethod = \"PUT\"\npath = \"/chunks\"\n\
             body = {{ text = \"name=value\", chunked = true }}\n{second}\n"
        )
    };
    let run = |name: &str, second: &str| {
        let text = plan(&contenders, "forms", "duration = \"300ms\"") + &own(second);
        let file = scene.write(&format!("{name}.toml"), &text);
        scene.run(&["run", file.to_str().unwrap(), "--out", name])
    };
    run("forms", "expect.text = \"thanks\"").expect_measured();
    let record = scene.path("forms");
    for trial in trials(&record) {
        let (requests, connections) = (
            &trial["result"]["requests"],
            &trial["result"]["connections"],
        );
        assert_eq!(requests["ok"], requests["completed"], "{trial:#}");
        assert!(requests["ok"].as_u64() > Some(0));
        assert_eq!(connections["reused"], 0, "{connections}");
    }
    let kept = std::fs::read_to_string(record.join("plan.toml")).unwrap();
    assert!(
        kept.contains("text = \"name=value\""),
        "what was sent is kept: {kept}"
    );
    assert!(!kept.contains("form.txt"));

    let missing = "[[workload]]\nname = \"pages\"\ntemplate = \"html-small\"\n\
                   [[workload.request]]\npath = \"/page\"\nexpect.text = \"hello\"\n\
                   [[workload.request]]\npath = \"/gone\"\nexpect.text = \"\"\n\
                   [[workload.file]]\npath = \"page\"\ntext = \"hello\"\n";
    let text = plan(&contenders, "pages", "duration = \"300ms\"") + missing;
    let file = scene.write("wrong.toml", &text);
    scene.run(&["run", file.to_str().unwrap(), "--out", "wrong"]);
    let trials = trials(&scene.path("wrong"));
    let cause = trials[0]["end"]["cause"].as_str().unwrap_or_default();
    assert!(
        cause.starts_with("the answer to `GET /gone` is wrong: status 404"),
        "{cause}"
    );
}

#[test]
fn a_log_is_replayed_and_what_is_left_out_is_reported() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    let line = |request: &str, rest: &str| {
        format!("::1 - - [21/Nov/2026:10:00:00 +0000] \"{request} HTTP/1.1\" {rest} \"-\" \"x\"\n")
    };
    let log = [
        line("GET /", "200 5000"),
        line("GET /", "200 5000"),
        line("GET /shop/?page=2", "200 700"),
        line("GET /app.js", "200 900"),
        line("GET /app.js", "304 0"),
        line("HEAD /app.js", "200 0"),
        line("GET /wp-login.php", "404 150"),
        line("POST /order", "303 0"),
        "\\x16\\x03\n".to_owned(),
    ];
    scene.write("access.log", &log.concat());
    let contenders = [("nginx", "nginx", "default"), ("caddy", "caddy", "default")];
    let own = "[[workload]]\nname = \"day\"\ntemplate = \"site\"\nprotocols = [\"h1\", \"h2c\"]\n\
               [workload.replay]\nfile = \"access.log\"\nformat = \"combined\"\n";
    // A machine that stands still for a moment still asks for each of them.
    let text = plan(&contenders, "day", "duration = \"3s\"") + own;
    let file = scene.write("day.toml", &text);
    let ran = scene.run(&["run", file.to_str().unwrap(), "--out", "day"]);
    let reported = [
        "day replays 7 of 9 lines in access.log as 6 different requests",
        "day leaves out 1 line with no request in the combined format, the first is line 9",
        "day leaves out 1 request that may change something (POST and such)",
    ];
    for note in reported {
        assert_eq!(
            ran.stderr.matches(note).count(),
            1,
            "{note}: {}",
            ran.stderr
        );
    }
    ran.expect_measured();
    let record = scene.path("day");
    std::fs::remove_file(scene.path("access.log")).unwrap();
    let measured = trials(&record);
    assert!(measured.len() >= 3, "nginx may lack HTTP/2 in the clear");
    for trial in measured {
        let requests = &trial["result"]["requests"];
        assert_eq!(requests["ok"], requests["completed"], "{trial:#}");
        let found: Vec<String> = statuses(&trial).into_iter().map(|it| it.0).collect();
        assert_eq!(found, ["200", "304", "404"], "{trial:#}");
    }
    let report = scene.run(&["report", "day", "--format", "json"]).json();
    let workload = &report["campaign"]["workloads"][0];
    assert_eq!(workload["notes"][0], reported[0]);
    assert_eq!(workload["requests_total"], 6);
}
