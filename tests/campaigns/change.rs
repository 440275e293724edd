//! `bakeoff change`: what is done to servers under load and what that costs; interrupted and
//! continued.

use crate::support::scene::Scene;

#[test]
fn what_is_asked_becomes_rounds_with_a_control() {
    let scene = Scene::new();
    let saved = [
        "change",
        "nginx",
        "caddy",
        "--times",
        "2",
        "--every",
        "1s",
        "--rounds",
        "1",
        "--with",
        "kill -HUP $BAKEOFF_PID",
        "--save-plan",
        "mine.toml",
    ];
    let asked = scene.run(&saved);
    asked.says("nginx, caddy: 2 x none, 2 x reload in each of 1 rounds");
    let plan = scene.read("mine.toml");
    assert_eq!(plan.matches("[[change]]").count(), 2, "{plan}");
    assert_eq!(
        plan.matches("change = \"kill -HUP $BAKEOFF_PID\"").count(),
        2
    );
    scene
        .run(&["plan", "mine.toml"])
        .expect(0)
        .prints("round 1");
    scene.run(&["plan", "change"]).expect(0).prints("reloadx10");
}

#[test]
fn what_has_no_sense_is_refused() {
    let scene = Scene::new();
    let check = |arguments: &[&str], expected: &str| {
        let command = [&["change"], arguments].concat();
        scene.run(&command).expect(2).says(expected);
    };
    check(&[], "a change needs a contender");
    check(&["nginx", "--do", "restart"], "`restart` is no action");
    check(&["nginx", "--kept", "80"], "write 0% to 100%");
    check(
        &["nginx", "--every", "100ms"],
        "write a time from 1s to 60s",
    );
    let formats = "possible values: text, html, md, csv, json";
    check(&["nginx", "--format", "junit"], formats);
}

#[test]
fn a_share_is_of_what_the_slowest_carries_and_the_same_for_all() {
    let scene = Scene::of("[contender.nginx]\nrate = 9000\n[contender.caddy]\nrate = 2000\n");
    let share = ["--share", "50%", "--save-plan", "mine.toml"];
    let saved = scene.run(&[&SHORT[..9], &share].concat());
    saved
        .expect(0)
        .says("3 x none, 3 x reload in each of 2 rounds");
    let plan = scene.read("mine.toml");
    assert_eq!(plan.matches("capacity_share = 0.5").count(), 2, "{plan}");
    assert!(!plan.contains("[[load]]"), "{plan}");
    let run = ["run", "mine.toml", "--out", "record", "--format", "json"];
    let document = scene.json(&run);
    let costs = document["costs"].as_array().unwrap();
    assert_eq!(costs.len(), 4, "{document}");
    for cost in costs {
        let rate = cost["rate_per_s"].as_f64().unwrap();
        assert!((980.0..=1000.0).contains(&rate), "{rate}");
        assert_eq!(cost["actions"], 6);
    }
    let check = |arguments: &[&str], expected: &str| {
        let command = [&["change", "nginx"], arguments].concat();
        scene.run(&command).expect(2).says(expected);
    };
    check(&["--share", "50%", "--rate", "5"], "cannot be used with");
    check(&["--share", "200%"], "write 1% to 100%");
}

/// One server loses seven requests and pauses at each reload, the other closes connections.
const MACHINE: &str = r#"
[contender.nginx]
change = { closed = 5 }
[contender.caddy]
change = { lost = 7, gap_ms = 120 }
"#;

const SHORT: [&str; 11] = [
    "change", "nginx", "caddy", "--times", "3", "--every", "1s", "--rounds", "2", "--out", "record",
];

#[test]
fn what_each_loses_is_counted_for_each_action() {
    let scene = Scene::of(MACHINE);
    let document = scene.json(&[&SHORT[..], &["--format", "json"]].concat());
    assert_eq!(document["schema"], "bakeoff.change/1");
    let costs = document["costs"].as_array().unwrap();
    let cost = |contender: &str, action: &str| {
        let mut all = costs.iter();
        let found = all.find(|it| it["contender"] == contender && it["action"] == action);
        found.unwrap_or_else(|| panic!("no {contender}, {action} in {document}"))
    };
    for contender in ["nginx", "caddy"] {
        let control = cost(contender, "none");
        assert_eq!(
            (&control["actions"], &control["lost"]),
            (&6.into(), &0.into())
        );
    }
    let nginx = cost("nginx", "reload");
    assert_eq!((&nginx["actions"], &nginx["lost"]), (&6.into(), &0.into()));
    assert_eq!(nginx["closed_each"]["least"], 5);
    let caddy = cost("caddy", "reload");
    assert_eq!(
        (&caddy["lost_each"]["least"], &caddy["lost_each"]["most"]),
        (&7.into(), &7.into())
    );
    let gap_s = caddy["gap_s"]["median"].as_f64().unwrap();
    assert!((0.118..0.13).contains(&gap_s), "{gap_s}");
    let report = |format: &str| {
        let command = ["report", "record", "--format", format];
        scene.run(&command).expect(0)
    };
    assert_eq!(report("json").json(), document);
    report("text").prints("nginx loses 0 of 6,000 requests in 6 reloads (at most 3)");
    report("md").prints("| contender |");
    report("csv").prints("contender,workload,setting,action");
    report("html").prints("<svg viewBox");
    let refused = |command: &[&str], why: &str| scene.run(command).expect(2).says(why);
    refused(
        &["compare", "record", "nginx", "caddy"],
        "is of a change, which has no rounds",
    );
    refused(
        &["report", "record", "--format", "junit"],
        "a change, --format is text",
    );
    scene
        .run(&["history", "record"])
        .expect(4)
        .prints("a change has no rounds to compare");
    scene.run(&["verify", "record"]).expect(0);
}

#[test]
fn what_a_server_cannot_do_is_said_with_its_reason() {
    let machine = MACHINE.replace("closed = 5", "unsupported = \"it has no way to\"");
    let scene = Scene::of(&machine);
    let found = scene.run(&SHORT).expect(0);
    found.prints("nginx: no reload was measured: it has no way to");
}

#[test]
fn what_was_measured_is_kept_and_gone_on_with() {
    let scene = Scene::of(&format!("stop_after = 2\n{MACHINE}"));
    let stopped = scene.run(&SHORT).expect(130);
    stopped.says("`bakeoff change --resume record` goes on");
    scene.becomes(MACHINE);
    let document = scene.json(&["change", "--resume", "record", "--format", "json"]);
    let costs = document["costs"].as_array().unwrap();
    let is_whole = |cost: &serde_json::Value| cost["rounds"] == 2;
    assert!(costs.len() == 4 && costs.iter().all(is_whole), "{document}");
    scene
        .run(&["overload", "--resume", "record"])
        .expect(2)
        .says("holds no overload");
}
