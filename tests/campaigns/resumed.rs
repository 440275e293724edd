//! A campaign that was stopped goes on, and says how.

use crate::support::scene::Scene;

#[test]
fn a_campaign_that_was_stopped_goes_on_with_what_it_has() {
    let scene = Scene::of("stop_after = 4");
    let race = ["race", "nginx", "caddy", "--rounds", "3", "--out", "record"];
    let stopped = scene.run(&race).expect(130);
    let goes_on = "interrupted; what was measured is kept, `bakeoff run --resume record` goes on";
    stopped.says(goes_on);
    let before = scene.trials("record");
    let ends: Vec<&str> = before
        .iter()
        .filter_map(|it| it["end"]["kind"].as_str())
        .collect();
    assert_eq!(
        ends,
        [
            "measured",
            "measured",
            "measured",
            "measured",
            "interrupted"
        ]
    );
    scene.becomes("");
    scene.run(&["run", "--resume", "record"]).expect(0);
    let after = scene.trials("record");
    assert_eq!(after[..5], before[..], "what was there is kept");
    // Two contenders and the yardstick, and the trial that was stopped once more.
    assert_eq!(after.len(), 9 + 1);
    assert!(after[5..].iter().all(|it| it["end"]["kind"] == "measured"));
    scene
        .run(&["verify", "record"])
        .expect(0)
        .prints("all of it holds");
}
