//! Workloads that ask more than one thing, on real servers.

use serde_json::Value;

use crate::support::alone;
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
    let _alone = alone();
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
fn bodies_are_sent_and_a_wrong_answer_is_told_with_its_request() {
    let _alone = alone();
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
