//! Comparisons that somebody published, repeated: what of them holds.

use serde_json::json;

use crate::support::scene::{Finished, Scene};

#[test]
fn experiments_are_listed_with_what_they_answer_and_how_long_they_take() {
    let scene = Scene::new();
    let listed = scene.run(&["experiments"]).expect(0);
    let listed = listed.prints("hotdog\n").prints("14 September 2022");
    listed.prints("answers whether 60 published ratios hold here; takes about 1 h");
}

/// Repeats one cell of the article, in so many rounds, into the folder `out`.
fn repeat(scene: &Scene, rounds: &str, out: &str) -> Finished {
    let cell = [
        "run",
        "hotdog",
        "--clients",
        "10",
        "--workload",
        "synthetic",
    ];
    let short = ["--duration", "1s", "--warmup", "300ms"];
    let more = ["--rounds", rounds, "--out", out];
    scene.run(&[&cell[..], &short, &more].concat())
}

/// With 10 clients nginx by default was ahead of Caddy by 1.13, and the tuned one level with it.
#[test]
fn what_was_published_stands_beside_what_was_measured() {
    let scene = Scene::of("contender.caddy-default.rate = 2_500");
    repeat(&scene, "8", "r")
        .prints("Published ratios that hold here: 3 of 3; that do not: 0; not decided here: 0.");
    let report = scene.json(&["report", "r", "--format", "json"]);
    let ratio = &report["published"]["ratios"][1];
    assert_eq!(ratio["metric"], "rate_per_s");
    assert_eq!(ratio["holds"], json!("holds"), "{ratio}");
    let scene = Scene::of("contender.nginx-default.rate = 2_500");
    repeat(&scene, "8", "r")
        .prints("Published ratios that hold here: 0 of 3; that do not: 3; not decided here: 0.");
    scene
        .run(&["report", "r", "--format", "md", "--full"])
        .prints("does not hold");
    // One round decides nothing, and says so of each ratio.
    repeat(&scene, "1", "once");
    let report = scene.json(&["report", "once", "--format", "json"]);
    for ratio in report["published"]["ratios"].as_array().unwrap() {
        assert_eq!(ratio["holds"], json!("undecided"), "{ratio}");
        assert_eq!(ratio["says"], json!("cannot tell; about 3 rounds would"));
    }
}
