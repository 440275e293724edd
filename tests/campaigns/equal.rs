//! What is said where contenders do different work for an answer. That it is found in real servers
//! is shown in `tests/e2e/equal.rs`.

use serde_json::Value;

use crate::support::scene::Scene;

/// Proxies, each of which does one thing otherwise than `plain`.
const MACHINE: &str = r#"
[contender.old]
work = { http_1_0 = true, keeps_upstream = false }
[contender.logged]
work = { log_bytes = 90 }
[contender.one-worker]
work = { workers = 1 }
"#;
const PLAN: &str = r#"
name = "equal"
rounds = 1
workloads = ["proxy"]
protocols = ["h1-tls"]
pinning = { server = [0, 1], engine = [2], origin = [3] }
references = { yardstick = false, origin = false }
[[load]]
clients = 2
duration = "1s"
"#;
/// What of them speaks against a comparison with the plain one, and what is reported.
const EXPECTED: [(&str, &[&str], &str); 4] = [
    ("plain", &[], ""),
    (
        "old",
        &["equal-upstream-version", "equal-upstream-connections"],
        "HTTP/1.0 in old",
    ),
    (
        "logged",
        &["equal-access-log"],
        "bytes a request in access.log",
    ),
    ("one-worker", &["equal-workers"], "1 in one-worker"),
];

/// Codes of the checks against a comparison of these two.
fn between(table: &Value, first: &str, second: &str) -> Vec<String> {
    let inequalities = table["inequalities"].as_array().unwrap();
    let of_pair = inequalities.iter().filter(|one| {
        let mut pairs = one["pairs"].as_array().unwrap().iter();
        pairs.any(|pair| pair[0] == first && pair[1] == second)
    });
    let code = |one: &Value| one["check"]["code"].as_str().unwrap().to_owned();
    of_pair.map(code).collect()
}

#[test]
fn each_inequality_is_named_before_the_load_that_it_would_spoil() {
    let scene = Scene::of(MACHINE);
    let contender = |(name, ..): &(&str, _, _)| {
        format!("[[contender]]\nname = \"{name}\"\nserver = \"nginx\"\n")
    };
    let contenders: String = EXPECTED.iter().map(contender).collect();
    scene.write("equal.toml", &format!("{PLAN}{contenders}"));
    let run = scene.run(&["run", "./equal.toml", "--out", "record", "--full"]);
    let report = scene.run(&["report", "record", "--format", "json"]).json();
    let table = &report["equivalence"][0];
    assert_eq!(table["workload"], "proxy-h1-tls");
    // The summary is wrapped to the width of a terminal.
    let summary = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let place = |words: &str| {
        let at = run.stderr.find(words);
        at.unwrap_or_else(|| panic!("no `{words}` in {}", run.stderr))
    };
    for (name, codes, words) in EXPECTED {
        let found = between(table, "plain", name);
        let found: Vec<&String> = found
            .iter()
            .filter(|it| *it != "equal-processors")
            .collect();
        assert_eq!(found, codes, "{name}");
        assert!(summary.contains(words), "no `{words}` in {summary}");
        if !words.is_empty() {
            let round = place("round 1/1 proxy-h1-tls");
            assert!(place(words) < round, "{name}: {}", run.stderr);
        }
    }
    for trial in scene.trials("record") {
        let steps = trial["steps"].as_array().unwrap();
        let step = |name: &str| steps.iter().position(|it| it["step"] == name);
        assert!(
            step("observe").unwrap() < step("measure").unwrap(),
            "{trial:#}"
        );
    }
}

#[test]
fn a_wrong_answer_ends_its_trial_before_the_load_or_spoils_its_numbers() {
    let scene = Scene::of("contender.caddy.answer.wrong = \"before\"");
    scene.write(
        "equal.toml",
        &format!("{PLAN}\n[[contender]]\nname = \"caddy\"\nserver = \"caddy\"\n"),
    );
    scene
        .run(&["run", "./equal.toml", "--out", "record"])
        .expect(4);
    let trial = &scene.trials("record")[0];
    let end = &trial["end"];
    assert_eq!(
        (&end["kind"], &end["step"]),
        (&"failed".into(), &"start".into())
    );
    let cause = end["cause"].as_str().unwrap();
    assert!(
        cause.starts_with("the answer to `GET /` is wrong: status 200"),
        "{cause}"
    );
    assert!(trial["result"].is_null());
    let steps = trial["steps"].as_array().unwrap();
    assert!(steps.iter().all(|it| it["step"] != "warm-up"), "{steps:?}");
}
