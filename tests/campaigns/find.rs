//! `bakeoff find`: a search from its command line to its report, interrupted and continued. That
//! bounds are right is shown with simulated servers (`crates/search`).

use serde_json::Value;

use crate::support::scene::Scene;

/// A server that takes a thousand requests a second.
const SLOW: &str = "contender.nginx.rate = 1_000";
const FIND: [&str; 8] = [
    "find",
    "nginx",
    "--slo",
    "p90<200ms",
    "--errors",
    "0.1%,1%",
    "--out",
    "record",
];

/// What holds of a found goal.
fn assert_sound(found: &Value) {
    let rate = |key: &str| found[key].as_f64().unwrap();
    let (lower, upper) = (rate("lower_per_s"), rate("upper_per_s"));
    assert_eq!(found["irregular"], Value::Null, "{found}");
    assert!(
        lower < upper && (upper - lower) / upper <= 0.0201,
        "{found}"
    );
    // Its queue has 10 s to grow to 200 ms.
    assert!(lower > 900.0 && upper < 1_100.0, "{lower} to {upper}");
    let behind = &found["behind"];
    assert!(behind["lower_servers"].as_u64() >= Some(3), "{behind}");
    for trial in found["trials"].as_array().unwrap() {
        assert!(trial["length_s"].as_f64() > Some(0.0), "{trial}");
    }
}

fn assert_all_sound(document: &Value) {
    assert_eq!(document["schema"], "bakeoff.find/1");
    let contenders = document["contenders"].as_array().unwrap();
    assert_eq!(contenders.len(), 2, "one contender, two goals");
    contenders.iter().for_each(assert_sound);
}

#[test]
fn a_search_ends_with_bounds_and_a_record_that_says_them_again() {
    let scene = Scene::of(SLOW);
    let found = scene.run(&[&FIND[..], &["--budget", "30m", "--format", "json"]].concat());
    let found = found.expect(0).says("searching at most 30 min");
    let document = found.json();
    assert_all_sound(&document);
    let plan = scene.read("record/plan.toml");
    assert!(
        plan.contains("[[search]]") && plan.contains("p90<200ms"),
        "{plan}"
    );
    let report = |format: &str| {
        scene
            .run(&["report", "record", "--format", format])
            .expect(0)
    };
    assert_eq!(report("json").json(), document);
    report("text").prints("Bounds");
    report("md").prints("| contender |");
    report("html").prints("<table>");
    let csv = report("csv").stdout;
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

/// Every other start of the server is slow, whatever it is asked.
#[test]
fn a_server_with_two_modes_has_no_bound_that_its_trials_refute() {
    let odd = [1, 3, 5, 7, 9]
        .map(|digit| format!("[[trial]]\nid = \"n*{digit}-nginx*\"\nlatency.mean_ms = 400\n"));
    let scene = Scene::of(&format!("{SLOW}\n{}", odd.concat()));
    let find = ["find", "nginx", "--slo", "p90<200ms", "--out", "record"];
    let document = scene.json(&[&find[..], &["--format", "json"]].concat());
    let found = &document["contenders"][0];
    assert_ne!(found["confirmed"], true, "{found}");
    assert_ne!(found["irregular"], Value::Null, "{found}");
    let lower = found["lower_per_s"].as_f64().unwrap_or(0.0);
    for trial in found["trials"].as_array().unwrap() {
        let is_below = trial["rate_per_s"]
            .as_f64()
            .is_some_and(|rate| rate <= lower);
        let is_full = trial["length_s"].as_f64() >= Some(10.0);
        let refutes = is_below && is_full && trial["outcome"] == "exceeds";
        assert!(!refutes, "{lower}: {trial}");
    }
    let text = scene.run(&["report", "record"]).expect(0);
    text.prints("How far to trust it")
        .prints("nginx: lower bound no");
}

#[test]
fn an_interrupted_search_goes_on_with_what_it_knows() {
    let scene = Scene::of(&format!("{SLOW}\n"));
    scene.becomes(&format!("stop_after = 4\n{SLOW}"));
    let stopped = scene.run(&FIND).expect(130);
    stopped.says("`bakeoff find --resume record` goes on");
    let before = scene.trials("record");
    assert_eq!(before.len(), 5);
    scene.becomes(SLOW);
    let resume = ["find", "--resume", "record", "--format", "json"];
    let resumed = scene.run(&resume).expect(0);
    assert_all_sound(&resumed.json());
    assert!(!resumed.stderr.contains("next: "), "{}", resumed.stderr);
    let after = scene.trials("record");
    assert_eq!(after[..5], before[..], "what was measured is kept");
    assert!(after.len() > 15);
}

#[test]
fn where_time_ends_a_command_gives_more_of_it() {
    let scene = Scene::of(SLOW);
    let found = scene.run(&[&FIND[..], &["--budget", "60s", "--format", "json"]].concat());
    let contenders = found.json()["contenders"].clone();
    for found in contenders.as_array().unwrap() {
        assert_eq!(found["irregular"], "budget", "{found}");
    }
    found.says("next: bakeoff find --resume record --budget 2m\n");
    let before = scene.trials("record").len();
    let more = [
        "find", "--resume", "record", "--budget", "30m", "--format", "json",
    ];
    assert_all_sound(&scene.json(&more));
    assert!(scene.trials("record").len() > before);
}

#[test]
fn what_a_search_cannot_do_is_refused_plainly() {
    let scene = Scene::new();
    let check = |arguments: &[&str], expected: &str| {
        let command = [&["find"], arguments].concat();
        scene.run(&command).expect(2).says(expected);
    };
    check(&["--slo", "p99<10ms"], "a search needs a contender");
    check(&["nginx", "--slo", "10ms"], "is not an objective");
    check(
        &["nginx", "--errors", "2"],
        "is not a share of failed requests",
    );
    check(&["ngnix", "--slo", "p99<1s"], "did you mean nginx");
    let short = ["nginx", "--slo", "p99<1s", "--duration", "100ms"];
    check(&short, "`trial` is out of range");
}
