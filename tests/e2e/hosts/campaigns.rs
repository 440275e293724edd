//! Campaigns with the servers at home and the load from hosts over a real ssh: what the record
//! holds of them, and what is left when home ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::lab::{Lab, Nature};
use crate::support::files::{measured, plan, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;
use crate::support::wait_until;

/// Every address of the lab begins so.
const ADDRESS: &str = "10.99.0.";
const FORMATS: [&str; 13] = [
    "text",
    "html",
    "md",
    "csv",
    "json",
    "summary",
    "junit",
    "bencher",
    "github-bigger",
    "github-smaller",
    "openmetrics",
    "gobench",
    "otava",
];

/// A lab of generators, and a plan with nginx under this load.
fn lab<'s>(scene: &'s Scene, generators: &[&str], load: &str) -> Option<Lab<'s>> {
    if !are_installed(scene, &["nginx"]) {
        return None;
    }
    let hosts = generators.iter().map(|name| (*name, Nature::default()));
    let lab = Lab::new(scene, &hosts.collect::<Vec<_>>())?;
    scene.write("lab.toml", &lab.file_with_home(generators));
    let contenders = [("web", "nginx", "default")];
    scene.write("plan.toml", &plan(&contenders, "synthetic", load));
    Some(lab)
}

/// Files below a folder that hold an address of the lab.
fn holding(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path));
        } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(ADDRESS) {
            found.push(path);
        }
    }
    found
}

/// No file of the record, no export of it and no copy of it holds an address.
#[track_caller]
fn assert_without_addresses(scene: &Scene, record: &str) {
    assert_eq!(holding(&scene.path(record)), [] as [PathBuf; 0]);
    for format in FORMATS {
        let report = scene.run(&["report", record, "--full", "--format", format]);
        let code = report.status.code();
        assert!(matches!(code, Some(0 | 4)), "{format}: {report:#?}");
        assert!(!report.stdout.contains(ADDRESS), "{format}: {report:#?}");
    }
    let copy = format!("{record}-copy");
    scene.run(&["report", record, "--share", &copy]).expect(0);
    assert_eq!(holding(&scene.path(&copy)), [] as [PathBuf; 0]);
    let compared = scene.run(&["compare", record, &copy, "--force", "--format", "json"]);
    assert!(!compared.stdout.contains(ADDRESS), "{compared:#?}");
}

#[test]
fn a_record_holds_no_address_of_a_host_unless_it_is_asked_for() {
    let scene = Scene::new();
    let load = "duration = \"300ms\"";
    let Some(lab) = lab(&scene, &["g1", "g2"], load) else {
        return;
    };
    let run = ["run", "plan.toml", "--hosts", "lab.toml", "--out"];
    let closed = lab.start_home(&[&run[..], &["closed"]].concat()).finish();
    closed.expect_measured();
    assert_eq!(measured(&scene.path("closed")).len(), 1);
    let trial = &trials(&scene.path("closed"))[0];
    let address = trial["server"]["address"].as_str().unwrap();
    assert!(address.starts_with("home:"), "{address}");
    assert_without_addresses(&scene, "closed");
    let kernels: Vec<&Value> = trial["hosts"]["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| &host["kernel"])
        .collect();
    assert!(kernels.iter().all(|it| *it == kernels[0]), "{kernels:?}");
    // One generator's links are measured sooner than those of two.
    scene.write("lab.toml", &lab.file_with_home(&["g1"]));
    let open = [&run[..], &["open", "--addresses"]].concat();
    lab.start_home(&open).finish().expect_measured();
    let holding = holding(&scene.path("open"));
    let holds = |name: &str| holding.iter().any(|path| path.ends_with(name));
    assert!(holds("trials.jsonl"), "{holding:?}");
    wait_until("nothing is left on any host", || lab.is_empty());
}

/// A firewall between one generator and the server: that generator is named, before the first
/// round and in the trial, and what failed says no address.
#[test]
fn a_generator_behind_a_firewall_is_named() {
    let scene = Scene::new();
    let Some(lab) = lab(&scene, &["g1", "g2"], "duration = \"300ms\"") else {
        return;
    };
    if !lab.drop_from("g2") {
        return;
    }
    let run = ["run", "plan.toml", "--hosts", "lab.toml", "--out", "record"];
    // What the server used may stand; whether it does is the machine's to say.
    let finished = lab.start_home(&run).finish().expect_measured();
    finished
        .says("link home -> g2 was not measured: host g2: ")
        .says("link home -> g1: ");
    let record = scene.path("record");
    // The engine there could send nothing, and says so: what g1 sent is not the whole load.
    let parts = &trials(&record)[0]["hosts"]["generators"];
    let ok = |index: usize| parts[index]["result"]["requests"]["ok"].as_u64();
    assert!(ok(0) > Some(0) && ok(1) == Some(0), "{parts:#}");
    let report = scene.run(&["report", "record", "--format", "json"]);
    let report = report.stdout;
    let invalid = "g2 had no answer while g1 had some: the load was not the whole one";
    assert!(report.contains(invalid), "{report}");
    assert_without_addresses(&scene, "record");
    wait_until("nothing is left on any host", || lab.is_empty());
}

/// Neither agents nor servers outlive home, in whichever namespace they are.
#[test]
fn nothing_of_a_campaign_runs_on_after_home_is_killed() {
    let scene = Scene::new();
    let Some(lab) = lab(&scene, &["g1", "g2"], "duration = \"60s\"") else {
        return;
    };
    let run = ["run", "plan.toml", "--hosts", "lab.toml", "--out", "record"];
    let mut running = lab.start_home(&run);
    // A check of its configuration is one process.
    running.wait_until("the server runs", |_| {
        lab.ours().iter().filter(|name| *name == "nginx").count() > 1
    });
    std::thread::sleep(Duration::from_secs(2));
    let before = lab.ours();
    let has = |name: &str| before.iter().any(|process| process == name);
    assert!(has("nginx") && has("bakeoff") && has("ssh"), "{before:?}");
    let since = Instant::now();
    running.signal(Signal::KILL);
    wait_until("nothing is left in any namespace", || lab.ours().is_empty());
    eprintln!("all of a campaign is gone after {:?}", since.elapsed());
    running.finish().expect_signal(Signal::KILL);
}
