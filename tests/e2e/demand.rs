//! An upstream that is slow and faulty on demand, behind a proxy and by itself.

use serde_json::Value;

use crate::support::files::{measured, trials};
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// A plan whose only workload is proxied by nginx, with these lines in its `[origin]`.
fn proxied(origin: &str, load: &str) -> String {
    format!(
        "name = \"demand\"\nrounds = 2\nrest = \"0s\"\n\
         [references]\nyardstick = false\norigin = true\n\
         [[contender]]\nname = \"nginx\"\nserver = \"nginx\"\n\
         [[load]]\nclients = 10\n{load}\n\
         [[workload]]\nname = \"faulty\"\ntemplate = \"proxy\"\nproxied = true\n\
         expect = {{ text = \"Mustard\" }}\n[workload.origin]\n{origin}\n"
    )
}

/// Carries out the plan and returns the trials of its record; `None` when nginx is missing.
fn carried_out(scene: &Scene, plan: &str) -> Option<(Vec<Value>, Value)> {
    if !are_installed(scene, &["nginx"]) {
        return None;
    }
    let file = scene.write("demand.toml", plan);
    let file = file.to_str().unwrap();
    let run = ["run", file, "--out", "record", "--format", "json"];
    let report = scene.run(&run).expect_measured().json();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 4, "nginx and the origin, twice");
    let trials = trials(&record);
    for trial in &trials {
        let answers = trial["answers"].as_array().unwrap();
        let right = answers.iter().filter(|answer| answer["right"] == true);
        assert_eq!(right.count(), 2, "checked without faults: {trial:#}");
    }
    Some((trials, report))
}

#[test]
fn a_delayed_upstream_is_in_every_latency_of_a_proxy() {
    let scene = Scene::new();
    let plan = proxied(
        "delay = \"20ms\"",
        "warmup = \"100ms\"\nduration = \"300ms\"",
    );
    let Some((trials, report)) = carried_out(&scene, &plan) else {
        return;
    };
    // Of trials: on a busy machine the cells' numbers may be withheld.
    for trial in report["trials"].as_array().unwrap() {
        let least = trial["values"]["latency_min_ns"].as_f64();
        assert!(least >= Some(20e6), "{trial:#}");
    }
    // Counts that a busy machine read too late are left out.
    let origins = trials.iter().map(|trial| &trial["origin"]);
    let origins: Vec<&Value> = origins.filter(|origin| !origin.is_null()).collect();
    assert!(!origins.is_empty(), "{trials:#?}");
    for origin in origins {
        assert!(origin["delayed"].as_u64() > Some(0), "{origin}");
        assert_eq!(origin["delayed"], origin["requests"]);
    }
}

#[test]
fn errors_of_an_upstream_come_in_their_share_and_again() {
    let scene = Scene::new();
    let load = "requests = 2000\nduration = \"30s\"";
    let Some((trials, _)) = carried_out(&scene, &proxied("errors = 0.1", load)) else {
        return;
    };
    let errors: Vec<u64> = trials
        .iter()
        .map(|trial| {
            let reported = trial["result"]["status"]["503"].as_u64().unwrap();
            assert_eq!(trial["result"]["outcomes"]["status"], reported, "{trial:#}");
            assert_eq!(trial["origin"]["errors"], reported, "{trial:#}");
            reported
        })
        .collect();
    // Three standard errors of 2,000 draws are 40.
    assert!((160..=240).contains(&errors[0]), "{errors:?}");
    let same = errors.iter().all(|count| *count == errors[0]);
    assert!(same, "the same requests in each round: {errors:?}");
}
