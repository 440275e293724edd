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
