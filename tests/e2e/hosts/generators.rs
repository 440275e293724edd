//! One load from several hosts.

use serde_json::Value;

use super::lab::{Lab, Nature};
use crate::support::files::assert_accounted;
use crate::support::scene::Scene;
use crate::support::{alone, wait_until};

fn sum(load: &Value, of: impl Fn(&Value) -> u64) -> u64 {
    let generators = load["generators"].as_array().unwrap();
    generators.iter().map(|each| of(&each["load"])).sum()
}

/// The whole is the sum of its parts, which are those of `generators`, of which g3 has a clock that
/// is off by a day.
#[track_caller]
fn assert_merged(merged: &Value, generators: &[&str]) {
    let ok = merged["requests"]["ok"].as_u64().unwrap();
    assert_eq!(
        sum(merged, |part| part["requests"]["ok"].as_u64().unwrap()),
        ok
    );
    assert_eq!(
        sum(merged, |part| part["latency_ns"]["count"].as_u64().unwrap()),
        ok
    );
    let parts = merged["generators"].as_array().unwrap();
    let longest = parts
        .iter()
        .map(|part| part["load"]["latency_ns"]["max"].as_u64())
        .max();
    assert_eq!(merged["latency_ns"]["max"].as_u64(), longest.flatten());
    let names: Vec<&str> = parts
        .iter()
        .map(|it| it["host"].as_str().unwrap())
        .collect();
    assert_eq!(names, generators);
    for part in parts {
        let day = part["host"] == "g3";
        let offset = part["clock"]["before"]["offset_ns"].as_i64().unwrap();
        assert_eq!(offset > 80_000_000_000_000, day, "{part:#}");
        // On home's clock, so it is a day off for nobody.
        assert!(part["began_after_first_ns"].as_u64().unwrap() < 60_000_000_000);
    }
}

#[test]
fn one_load_is_divided_over_four_hosts_and_merged_exactly() {
    let _alone = alone();
    let scene = Scene::new();
    let plain = Nature::default();
    let ahead = Nature {
        ahead_s: 86_400,
        ..plain
    };
    let hosts = [
        ("sut", plain),
        ("g1", plain),
        ("g2", plain),
        ("g3", ahead),
        ("g4", plain),
    ];
    let Some(lab) = Lab::new(&scene, &hosts) else {
        return;
    };
    let generators = ["g1", "g2", "g3", "g4"];
    scene.write("lab.toml", &lab.file(&generators, false));
    let url = lab.serve("sut");
    let open = ["-r", "801", "-c", "8", "-t", "1", "-d", "1s", "--json"];
    let load = [&["load", &url, "--hosts", "lab.toml"], &open[..]].concat();
    let merged = lab.start_home(&load).finish().expect(0).json();
    assert_accounted(&merged);
    // 801 requests in the window, whoever sends them: the schedule has no gap and no overlap.
    assert_eq!(merged["requests"]["due"], 801, "{merged:#}");
    assert_eq!(
        sum(&merged, |part| part["requests"]["due"].as_u64().unwrap()),
        801
    );
    assert_merged(&merged, &generators);
    eprintln!(
        "start spread {} ns, clock error {} ns",
        merged["start_spread_ns"], merged["clock_error_ns"]
    );
    assert_eq!(merged["lost"], serde_json::json!([]));
    let one = lab.start_home(&[&["load", &url], &open[..]].concat());
    let one = one.finish().expect(0).json();
    assert_eq!(one["requests"]["due"], merged["requests"]["due"]);
    let counted = [
        "load", &url, "--hosts", "lab.toml", "-n", "1001", "-c", "8", "--json",
    ];
    let counted = lab.start_home(&counted).finish().expect(0).json();
    assert_eq!(counted["requests"]["completed"], 1001, "{counted:#}");
    let chosen = [
        "load",
        &url,
        "--hosts",
        "lab.toml",
        "--generators",
        "g2,g4",
        "-d",
        "1s",
    ];
    let chosen = lab.start_home(&chosen).finish().expect(0);
    assert!(
        chosen.stdout.contains("g4 ") && !chosen.stdout.contains("g1 "),
        "{chosen:#?}"
    );
    wait_until("nothing is left on any host", || lab.is_empty());
}

#[test]
fn a_second_campaign_on_a_host_is_refused_and_the_first_named() {
    let _alone = alone();
    let scene = Scene::new();
    let plain = Nature::default();
    let Some(lab) = Lab::new(&scene, &[("sut", plain), ("g1", plain)]) else {
        return;
    };
    scene.write("lab.toml", &lab.file(&["g1"], false));
    let url = lab.serve("sut");
    let load = ["load", &url, "--hosts", "lab.toml", "-d", "60s"];
    let mut first = lab.start_home(&load);
    first.wait_until("the agent runs", |_| !lab.agents("g1").is_empty());
    first.wait_until("it has taken the host", |_| {
        lab.files("g1")
            .iter()
            .any(|file| file.extension().is_some_and(|it| it == "lock"))
    });
    let second = lab.start_home(&load).finish().expect(4);
    let owner = format!("process {}", first.pid());
    second
        .says("host g1: another campaign uses it")
        .says(&owner);
    first.signal(rustix::process::Signal::INT);
    let first = first.finish().expect(130);
    assert!(
        first.stdout.contains("ok/s"),
        "what was measured is shown: {first:#?}"
    );
    wait_until("nothing is left on any host", || lab.is_empty());
    assert_eq!(lab.files("g1").len(), 0, "no lock is left");
}

#[test]
fn flags_that_make_no_sense_on_several_hosts_are_refused() {
    let scene = Scene::new();
    scene.write("lab.toml", "");
    let load = ["load", "http://host.invalid/", "--hosts", "lab.toml"];
    let refused = scene.run(&[&load[..], &["--source", "127.0.0.1"]].concat());
    refused.expect(2).says("--source");
    let refused = scene.run(&[&load[..], &["--generators", "hme"]].concat());
    refused.expect(2).says("did you mean `home`?");
    let unresolved = scene.run(&load).expect(2);
    unresolved.says("host home: its agent refused (failed to resolve host");
}
