//! Campaigns that time ends: who is decided leaves, and whoever interrupts them changes nothing.

use serde_json::Value;

use crate::support::scene::Scene;

/// Three contenders of which one is far behind, on a machine with the noise of shared ones.
const THREE: &str = "server.noise = 0.04\ncontender.caddy.rate = 2_500\n\
                     contender.haproxy.rate = 10_400";
const PLAN: &str = r#"
name = "three"
budget = "90s"
rest = "100ms"
workloads = ["synthetic", "html-small"]
[references]
duration = "1s"
[[contender]]
name = "nginx"
server = "nginx"
[[contender]]
name = "caddy"
server = "caddy"
[[contender]]
name = "haproxy"
server = "haproxy"
[[load]]
clients = 50
warmup = "300ms"
duration = "1s"
[[load]]
capacity_share = 0.5
clients = 50
warmup = "300ms"
duration = "1s"
"#;

fn ids(scene: &Scene, record: &str) -> Vec<String> {
    let trials = scene.trials(record).into_iter();
    let ended = trials.filter(|it| it["end"]["kind"] != "interrupted");
    let id = |it: Value| it["id"].as_str().map(str::to_owned);
    ended.filter_map(id).collect()
}

/// What the trials took, s.
fn took_s(scene: &Scene, record: &str) -> f64 {
    let steps = |it: &Value| it["steps"].as_array().cloned().unwrap_or_default();
    let trials = scene.trials(record);
    let all = trials.iter().flat_map(steps);
    let steps: f64 = all.filter_map(|step| step["took_s"].as_f64()).sum();
    steps + 0.1 * trials.len() as f64
}

#[test]
fn who_is_decided_is_measured_no_more_and_the_time_is_kept() {
    let scene = Scene::of(THREE);
    let plan = PLAN.replace("\"haproxy\"\nserver", "\"twin\"\nserver");
    scene.write(
        "plan.toml",
        &plan.replace("server = \"haproxy\"", "server = \"nginx\""),
    );
    let ran = scene
        .run(&["run", "plan.toml", "--out", "record"])
        .expect(0);
    for said in [
        "nginx is faster than caddy: ",
        "(shown, ",
        "requests/s: direction yes, size within ",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    for said in ["nginx is faster than twin", "twin is faster than nginx"] {
        assert!(!ran.stdout.contains(said), "{said}: {ran:?}");
    }
    assert!(took_s(&scene, "record") <= 90.0);
    let ids = ids(&scene, "record");
    let rounds_of = |name: &str| {
        let of = ids
            .iter()
            .filter(|id| id.ends_with(&format!("-{name}-synthetic-c50")));
        of.count()
    };
    assert_eq!(rounds_of("caddy"), 2, "{ids:?}");
    assert!(rounds_of("twin") > 3, "{ids:?}");
    // Where nobody is left, nothing is measured.
    let last = ids.last().map(String::as_str);
    assert!(last.is_some_and(|id| !id.contains("yardstick")), "{ids:?}");
}

#[test]
fn an_interrupted_campaign_has_the_order_and_the_answer_of_a_whole_one() {
    let whole = Scene::of(THREE);
    whole.write("plan.toml", PLAN);
    whole
        .run(&["run", "plan.toml", "--out", "record"])
        .expect(0);
    let report = |scene: &Scene| {
        let report = ["report", "record", "--format", "json"];
        scene.json(&report)["comparisons"].clone()
    };
    let (ids_of_whole, comparisons) = (ids(&whole, "record"), report(&whole));
    assert!(ids_of_whole.len() > 30, "{ids_of_whole:?}");
    for stop_after in (1..=39).step_by(2) {
        let scene = Scene::of(&format!("stop_after = {stop_after}\n{THREE}"));
        scene.write("plan.toml", PLAN);
        scene
            .run(&["run", "plan.toml", "--out", "record"])
            .expect(130);
        scene.becomes(THREE);
        scene.run(&["run", "--resume", "record"]).expect(0);
        assert_eq!(ids(&scene, "record"), ids_of_whole, "{stop_after}");
        assert_eq!(report(&scene), comparisons, "{stop_after}");
    }
}

#[test]
fn more_time_goes_on_where_the_first_ended() {
    let scene = Scene::of("server.noise = 0.05\ncontender.caddy.rate = 9_300");
    let race = [
        "race", "nginx", "caddy", "--budget", "20s", "--out", "record",
    ];
    let ran = scene.run(&race);
    assert!(!ran.stdout.contains("is faster than"), "{ran:?}");
    let before = ids(&scene, "record");
    let more = ["run", "--resume", "record", "--budget", "10m"];
    scene
        .run(&more)
        .expect(0)
        .prints("nginx is faster than caddy: ");
    let after = ids(&scene, "record");
    assert_eq!(after[..before.len()], before[..]);
    assert!(after.len() > before.len());
    let check = |flags: &[&str], said: &str| {
        let resume = [&["run", "--resume", "record"][..], flags].concat();
        scene.run(&resume).expect(2).says(said);
    };
    check(
        &["--budget", "5m"],
        "--budget 5m is not more than the 10m of the record",
    );
    check(&["--rounds", "40"], "time ends this campaign");
    check(&["--until", "3%"], "time ends this campaign");
    let scene = Scene::raced(&["--rounds", "3"]);
    let resume = ["run", "--resume", "record", "--budget", "5m"];
    let said = "--budget 5m is for a campaign that time ends, and a number of rounds ends this one";
    scene.run(&resume).expect(2).says(said);
}

/// One server against itself: the time goes by, and nobody wins.
#[test]
fn equals_have_no_winner() {
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let scene = Scene::of("server.noise = 0.05");
        let race = ["race", "nginx", "caddy", "--seed", seed, "--out", "record"];
        let ran = scene.run(&race);
        assert!(!ran.stdout.contains("faster"), "{seed}: {ran:?}");
        assert!(took_s(&scene, "record") <= 60.0);
    }
}
