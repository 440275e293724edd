//! Links whose capacity the kernel sets, so that what they come to is known.

use serde_json::Value;

use super::lab::{Lab, Nature};
use crate::support::alone;
use crate::support::files::{plan, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// Bytes of an answer to `html-large`, and what carrying them in frames takes beside it.
const ANSWER_BITS: f64 = 289_812.0 * 8.0 * 1.05;

/// A rate of html-large over a link of so many bits per second is that of the link.
#[track_caller]
fn assert_fills(rate_per_s: f64, link_bits: f64) {
    let share = rate_per_s * ANSWER_BITS / link_bits;
    assert!((0.85..=1.15).contains(&share), "{rate_per_s} ok/s");
}

/// What html-large comes to over the link to the only generator: the rate, and the check of the
/// link with its level and text.
fn measured(lab: &Lab<'_>, scene: &Scene, record: &str) -> (f64, String, String) {
    let run = ["run", "plan.toml", "--hosts", "lab.toml", "--out", record];
    lab.start_home(&run).finish().expect_measured();
    let result = &trials(&scene.path(record))[0]["result"];
    let ok = result["requests"]["ok"].as_f64().unwrap();
    let rate = ok / result["measured_s"].as_f64().unwrap();
    let report = scene.run(&["report", record, "--format", "json"]);
    let report = report.expect_loaded().json();
    let check = found(&report, &|value| {
        // The reasons not to rank a rate have the code too.
        let is_of_link = value["text"]
            .as_str()
            .is_some_and(|it| it.contains("carried"));
        value["code"] == "link-room" && value["level"].is_string() && is_of_link
    });
    let check = check.unwrap_or_else(|| panic!("no link-room: {report:#}"));
    let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let (level, text) = (text("level"), text("text"));
    let cells = report["cells"].as_array().unwrap();
    let bottleneck = &cells[0]["bottleneck"];
    eprintln!("{record}: {rate:.1} ok/s, {level}: {text}; bottleneck {bottleneck}");
    (rate, level, text)
}

/// The first object that fits, wherever it is.
fn found<'v>(value: &'v Value, fits: &dyn Fn(&Value) -> bool) -> Option<&'v Value> {
    if value.is_object() && fits(value) {
        return Some(value);
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| found(item, fits)),
        Value::Object(fields) => fields.values().find_map(|item| found(item, fits)),
        _ => None,
    }
}

/// Four bodies of 1 MiB take longer over it than they are waited for. Alone, because the link must
/// be what holds it down, and not the processor.
#[test]
fn a_link_that_is_slower_than_its_measurement_is_measured() {
    let _alone = alone();
    let scene = Scene::new();
    let plain = Nature::default();
    let Some(lab) = Lab::new(&scene, &[("sut", plain), ("g1", plain)]) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1"], false));
    lab.hold_link("g1", "10mbit", "32kb");
    let check = ["hosts", "check", "lab.toml", "--format", "json"];
    let found = lab.start_home(&check).finish().expect(0).json();
    let bits_per_s = found["links"][0]["bits_per_s"].as_f64().unwrap();
    // A busy machine measures less of it, and no more than bursts add.
    assert!((4e6..12e6).contains(&bits_per_s), "{bits_per_s}");
}

/// Alone for the same reason.
#[test]
fn a_link_that_is_full_is_what_was_measured() {
    let _alone = alone();
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let Some(lab) = Lab::new(&scene, &[("g1", Nature::default())]) else {
        return;
    };
    scene.write("lab.toml", &lab.file_with_home(&["g1"]));
    let contenders = [("web", "nginx", "default")];
    let text = plan(&contenders, "html-large", "duration = \"2s\"");
    scene.write("plan.toml", &text.replace("\"100ms\"", "\"1s\""));
    lab.hold_link("g1", "100mbit", "64kb");
    let (rate, level, text) = measured(&lab, &scene, "slow");
    assert_fills(rate, 100e6);
    assert_eq!(level, "suspect", "{text}");
    // Both figures: what crossed it, and what it carries.
    let figures: Vec<f64> = text
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    // The link lets bursts through, and a busy machine has more of them.
    let is_near = |mbit: &f64| (70.0..120.0).contains(mbit);
    assert!(text.starts_with("home -> g1 carried "), "{text}");
    assert!(figures.len() == 2 && figures.iter().all(is_near), "{text}");
    lab.free_link("g1");
    // What held it down then is the machine's: not the link as it was.
    let (rate, level, text) = measured(&lab, &scene, "free");
    let is_passed = ["passed", "note"].contains(&level.as_str());
    assert!(is_passed || rate * ANSWER_BITS > 2.0 * 100e6, "{text}");
}
