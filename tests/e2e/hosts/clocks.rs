//! Hosts whose clocks are off, in a whole campaign: what each is off by is known within its bound,
//! and everything is on one axis.

use serde_json::Value;

use super::lab::{Lab, Nature};
use crate::support::files::{measured, plan, trials};
use crate::support::scene::Scene;
use crate::support::{alone, wait_until};

const DAY_S: u64 = 86_400;
/// From the start of a host's readings to the window: checks and the start of the load.
const BEFORE_S: f64 = 60.0;

/// A host whose monotonic clock is ahead.
fn ahead(days: u64) -> Nature {
    Nature {
        ahead_s: days * DAY_S,
        ..Nature::default()
    }
}

/// The clock of a host is off by so much, within what is said to be its error.
#[track_caller]
fn assert_off(host: &Value, days: u64) {
    let truth = i64::try_from(days * DAY_S * 1_000_000_000).unwrap();
    for when in ["before", "after"] {
        let clock = &host["clock"][when];
        let offset = clock["offset_ns"].as_i64().unwrap();
        let error = clock["error_ns"].as_u64().unwrap();
        let off = offset.abs_diff(truth);
        assert!(off <= error, "{when}: {offset} is not {truth} ± {error}");
        eprintln!("{} {when}: off by {off} ns, ± {error} ns", host["name"]);
    }
}

/// The readings begin shortly before the window and end with it or shortly after.
#[track_caller]
fn assert_on_axis(usage: &Value, window_s: f64) {
    let trees = usage["trees"].as_array().unwrap().iter();
    for ticks in trees
        .map(|tree| &tree["ticks"])
        .chain([&usage["host"], &usage["tcp"]])
    {
        let ticks = ticks.as_array().unwrap().iter();
        let at: Vec<f64> = ticks.map(|tick| tick["at_s"].as_f64().unwrap()).collect();
        let (first, last) = (at[0], at[at.len() - 1]);
        assert!(at.is_sorted(), "{at:?}");
        assert!((-BEFORE_S..=0.1).contains(&first), "{at:?}");
        assert!(
            (window_s * 0.8..window_s + BEFORE_S).contains(&last),
            "{at:?}"
        );
    }
}

/// Alone, because readings must begin and end with the window.
#[test]
fn clocks_that_are_off_by_days_leave_everything_on_one_axis() {
    let _alone = alone();
    let scene = Scene::new();
    let hosts = [("sut", ahead(2)), ("g1", ahead(0)), ("g2", ahead(1))];
    let Some(lab) = Lab::new(&scene, &hosts) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1", "g2"], false));
    let empty = plan(&[], "synthetic", "rate = 400.0\nduration = \"700ms\"");
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    let text = format!(
        "{}[[contender]]\nname = \"command\"\n\
         command = \"{bakeoff} yardstick --listen 0.0.0.0:{{port}}\"\n\
         [[workload]]\nname = \"any\"\n[[workload.request]]\npath = \"/\"\n\
         expect = {{ status = 200, body = \"any\" }}\n",
        empty
            .replace("clients = 3", "clients = 4")
            .replace("synthetic", "any")
    );
    scene.write("plan.toml", &text);
    let run = ["run", "plan.toml", "--hosts", "lab.toml", "--out", "record"];
    lab.start_home(&run).finish().expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 1);
    let trial = &trials(&record)[0];
    let host = |name: &str| {
        let hosts = trial["hosts"]["hosts"].as_array().unwrap();
        hosts.iter().find(|host| host["name"] == name).unwrap()
    };
    assert_off(host("sut"), 2);
    assert_off(host("g1"), 0);
    assert_off(host("g2"), 1);
    let result = &trial["result"];
    let window_s = result["measured_s"].as_f64().unwrap();
    assert!((0.5..10.0).contains(&window_s), "{window_s}");
    let parts = trial["hosts"]["generators"].as_array().unwrap();
    let whole = parts.iter().map(|part| &part["result"]).chain([result]);
    for result in whole {
        let intervals = result["intervals"].as_array().unwrap();
        let begins: Vec<f64> = intervals
            .iter()
            .map(|it| it["start_s"].as_f64().unwrap())
            .collect();
        assert_eq!(begins[0], 0.0, "{begins:?}");
        assert!(begins.is_sorted(), "{begins:?}");
    }
    for part in parts {
        let began_ns = part["began_ns"].as_i64().unwrap();
        assert!(began_ns.abs() < 60_000_000_000, "{began_ns}");
    }
    assert_on_axis(&trial["usage"], window_s);
    assert_on_axis(&host("g1")["usage"], window_s);
    assert_on_axis(&host("g2")["usage"], window_s);
    wait_until("nothing is left on any host", || lab.is_empty());
}
