//! `bakeoff run`, and `bakeoff report` of what it has recorded.

use std::process::Command;

use serde_json::Value;

use crate::support::plan;
use crate::support::scene::Scene;

/// The page loads nothing from anywhere.
#[track_caller]
fn assert_offline(page: &str) {
    assert!(page.contains("Content-Security-Policy"));
    assert!(page.contains("default-src 'none'"), "a policy of nothing");
    for attribute in ["src=", "href=", "url(", "@import "] {
        for quote in ["", "\"", "'"] {
            for scheme in ["http:", "https:", "//"] {
                let wanted = format!("{attribute}{quote}{scheme}");
                assert!(!page.contains(&wanted), "{wanted}");
            }
        }
    }
}

/// Writes a plan of two contenders.
fn write_own(scene: &Scene, load: &str) {
    let contenders = [("a", "nginx", "default"), ("b", "nginx", "optimized")];
    scene.write("own.toml", &plan(&contenders, "html-small", load));
}

const RUN_OWN: [&str; 4] = ["run", "./own.toml", "--out", "record"];

#[test]
fn smoke_measures_every_trial_and_its_record_is_complete() {
    let scene = Scene::new();
    let run = ["run", "smoke", "--out", "results/first", "--full"];
    let finished = scene.run(&run).expect(0);
    for column in [
        "min", "p50", "average", "p90", "p95", "max", "requests", "errors", "p99", "req/s", "CPU",
        "memory", "verdict",
    ] {
        assert!(finished.stdout.contains(column), "{column}: {finished:#?}");
    }
    for name in ["nginx-default", "caddy-default", "(yardstick)", "(origin)"] {
        assert!(finished.stdout.contains(name), "{name}: {finished:#?}");
    }
    assert_eq!(scene.measured("results/first").len(), 7);
    for name in ["plan.json", "plan.toml", "machine.json", "trials.jsonl"] {
        assert!(scene.path("results/first").join(name).is_file(), "{name}");
    }
    assert_offline(&scene.read("results/first/report.html"));
    for trial in scene.trials("results/first") {
        let answers = trial["answers"].as_array().unwrap();
        assert_eq!(answers.len(), 2, "before and after");
        assert!(answers.iter().all(|answer| answer["right"] == true));
    }
}

#[test]
fn a_record_without_a_name_gets_that_of_its_plan() {
    let scene = Scene::new();
    let run = ["run", "smoke", "--workload", "synthetic"];
    scene.run(&run).expect(0);
    let left = std::fs::read_dir(scene.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "the run folder goes with its bakeoff");
    let results = std::fs::read_dir(scene.path("bakeoff-results")).unwrap();
    let folder = results.flatten().next().unwrap().file_name();
    let name = folder.to_str().unwrap();
    assert!(name.starts_with("smoke-"), "{name}");
    let record = format!("bakeoff-results/{name}");
    assert_eq!(scene.measured(&record).len(), 3);
}

#[test]
fn a_record_is_reported_again_in_every_format() {
    let scene = Scene::new();
    let printed = scene.json(&["run", "smoke", "--out", "record", "--format", "json"]);
    assert_eq!(printed["schema"], "bakeoff.report/1");
    assert_eq!(printed["campaign"]["trials"]["measured"], 7);
    let cells = printed["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 7);
    for cell in cells {
        let rate = cell["estimates"]["rate_per_s"]["point"].as_f64();
        assert!(rate > Some(0.0), "{cell:#}");
    }
    let again = |format: &str| {
        let arguments = ["report", "record", "--format", format];
        scene.run(&arguments).expect(0).stdout
    };
    let json: Value = serde_json::from_str(&again("json")).unwrap();
    assert_eq!(json, printed, "what is reported again is the same");
    assert!(again("text").contains("nginx-default"));
    assert!(again("md").contains("| nginx-default"), "{}", again("md"));
    let csv = again("csv");
    assert_eq!(csv.lines().count(), 8, "a head and 7 cells: {csv}");
    let page = again("html");
    assert_offline(&page);
    assert_eq!(page.trim_end(), scene.read("record/report.html").trim_end());

    let output = ["report", "record", "--format", "md", "--output", "out.md"];
    assert!(scene.run(&output).expect(0).stdout.is_empty());
    assert_eq!(scene.read("out.md").trim_end(), again("md").trim_end());
    let output = ["report", "record", "--output", "absent/out.md"];
    let refused = scene.run(&output).expect(2).says("absent/out.md");
    refused.says("choose another file with --output");
}

#[test]
fn a_record_is_never_written_over() {
    let scene = Scene::new();
    let run = ["run", "smoke", "--workload", "synthetic", "--out", "record"];
    scene.run(&run).expect(0);
    let before = scene.read("record/trials.jsonl");
    scene.run(&run).expect(2).says("holds a record already");
    let resumed = scene.run(&["run", "--resume", "record"]).expect(0);
    resumed.prints("nginx-default");
    let after = scene.read("record/trials.jsonl");
    assert!(before == after, "nothing was missing");
}

#[test]
fn a_folder_without_a_record_is_reported() {
    let scene = Scene::new();
    let report = scene.run(&["report", "home"]);
    report.expect(2).says("holds no record");
    let resume = scene.run(&["run", "--resume", "absent"]);
    resume.expect(2).says("there is no absent; name a folder");
}

#[test]
fn rounds_and_open_loops_are_recorded() {
    let scene = Scene::new();
    write_own(&scene, "duration = \"300ms\"\nrate = 400");
    let run = [&RUN_OWN[..], &["--rounds", "2"]].concat();
    scene.run(&run).expect(0);
    assert_eq!(scene.measured("record").len(), 4);
    let trials = scene.trials("record");
    for trial in &trials {
        let requests = &trial["result"]["requests"];
        assert!(requests["planned"].as_u64() > Some(60), "about 120");
        assert!(requests["ok"].as_u64() > Some(0), "{requests}");
    }
    let planned = |index: usize| &trials[index]["result"]["requests"]["planned"];
    assert_eq!(planned(0), planned(1), "one schedule for all of a round");
    assert_eq!(planned(2), planned(3), "one schedule for all of a round");
    let name = |index: usize| &trials[index]["contender"];
    let orders = [[name(0), name(1)], [name(2), name(3)]];
    assert_ne!(orders[0], orders[1], "the order changes between rounds");
}

#[test]
fn a_table_that_nobody_reads_is_no_panic() {
    let scene = Scene::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
    command.args(["run", "smoke", "--out", "record"]);
    command.stdout(writer);
    scene.run_command(command).expect(0);
    assert_eq!(scene.measured("record").len(), 7);
}

#[test]
fn rounds_are_added_to_a_campaign_that_was_complete() {
    let scene = Scene::new();
    write_own(&scene, "duration = \"200ms\"");
    scene.run(&RUN_OWN).expect(0);
    assert_eq!(scene.measured("record").len(), 2);
    let more = ["run", "--resume", "record", "--rounds", "2"];
    let finished = scene.run(&more).expect(0);
    let finished = finished.says("4 trials, 2 of them recorded before");
    finished.says("round 2/2 html-small c3: ok/s a ");
    let ids = ["r1-a", "r1-b", "r2-a", "r2-b"].map(|id| format!("{id}-html-small-c3"));
    assert_eq!(scene.measured("record"), ids);
    let fewer = ["run", "--resume", "record", "--rounds", "1"];
    scene.run(&fewer).expect(2).says("rounds can only be added");
    assert_eq!(scene.measured("record"), ids, "nothing was run");
}

#[test]
fn a_rate_is_found_in_the_campaign_and_recorded() {
    let scene = Scene::of("contender.b.rate = 4_000");
    let load = "duration = \"300ms\"\n[[load]]\ncapacity_share = 0.5\nclients = 3\n\
                warmup = \"100ms\"\nduration = \"300ms\"";
    write_own(&scene, load);
    let ran = scene.run(&RUN_OWN).expect(0);
    ran.says("html-small share0.5p-c3: p99 a ");
    let trials = scene.trials("record");
    let (shares, closed): (Vec<&Value>, Vec<&Value>) = trials
        .iter()
        .partition(|it| it["load_name"] == "share0.5p-c3");
    let ok_rate = |trial: &&Value| {
        let result = &trial["result"];
        result["requests"]["ok"].as_f64().unwrap() / result["measured_s"].as_f64().unwrap()
    };
    let slowest = closed.iter().map(ok_rate).reduce(f64::min).unwrap();
    assert!((3_800.0..4_200.0).contains(&slowest), "{slowest}");
    assert_eq!(shares.len(), 2);
    for trial in shares {
        let rate = trial["load"]["model"]["rate_per_s"].as_f64().unwrap();
        let most = slowest / 2.0;
        assert!(rate <= most && rate > most * 0.9, "{rate} of {slowest}");
    }
}

#[test]
fn a_plan_names_what_is_missing_before_it_runs() {
    let scene = Scene::new();
    let missing = |commands: &[&str], contender: (&str, &str, &str), words: &str| {
        scene.write("own.toml", &plan(&[contender], "synthetic", ""));
        for command in commands {
            scene.run(&[command, "./own.toml"]).expect(2).says(words);
        }
    };
    let both = ["plan", "run"];
    let meant = "no server is called `ngins`; did you mean `nginx`?";
    missing(&both, ("a", "ngins", "default"), meant);
    missing(
        &both,
        ("a", "nginx", "./none.conf"),
        "none.conf; write a path",
    );
    // Invented servers have every variant.
    missing(
        &["plan"],
        ("a", "nginx", "optimised"),
        "no variant `optimised`",
    );
    assert!(!scene.path("bakeoff-results").exists());
}

#[test]
fn a_file_that_is_no_plan_is_named_with_the_commands_for_it() {
    let scene = Scene::new();
    std::fs::write(scene.path("nginx.conf"), "events {}\n").unwrap();
    let refused = scene.run(&["run", "nginx.conf"]).expect(2);
    refused
        .says("does not end in .toml")
        .says("bakeoff race nginx.conf OTHER");
}
