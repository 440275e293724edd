//! `bakeoff run` on real servers, and `bakeoff report` of what it has recorded.

use crate::support::files::{measured, plan, trials};
use crate::support::scene::{Finished, Scene};
use crate::support::servers::{are_installed, on_path};
use crate::support::terminal::OnTerminal;

/// A campaign of the smoke plan; `None` when a program is missing.
fn smoke(scene: &Scene, more: &[&str]) -> Option<Finished> {
    if !are_installed(scene, &["nginx", "caddy"]) {
        return None;
    }
    let mut arguments = vec!["run", "smoke"];
    arguments.extend(more);
    Some(scene.run(&arguments).expect_measured())
}

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

#[test]
fn smoke_measures_every_trial_and_its_record_is_complete() {
    let scene = Scene::new();
    // A folder named from here, as a person would.
    let Some(finished) = smoke(&scene, &["--out", "results/first", "--full"]) else {
        return;
    };
    for column in [
        "min", "p50", "average", "p90", "p95", "max", "requests", "errors", "p99", "req/s", "CPU",
        "memory", "verdict",
    ] {
        assert!(finished.stdout.contains(column), "{column}: {finished:#?}");
    }
    for name in ["nginx-default", "caddy-default", "(yardstick)", "(origin)"] {
        assert!(finished.stdout.contains(name), "{name}: {finished:#?}");
    }
    let record = scene.path("results/first");
    assert_eq!(measured(&record).len(), 7);
    for name in [
        "plan.json",
        "plan.toml",
        "machine.json",
        "trials.jsonl",
        "report.html",
    ] {
        assert!(record.join(name).is_file(), "{name}");
    }
    assert_offline(&std::fs::read_to_string(record.join("report.html")).unwrap());
    for trial in trials(&record) {
        let logs = record.join("logs").join(trial["id"].as_str().unwrap());
        for config in trial["server"]["configs"].as_array().unwrap() {
            let path = record.join(config["path"].as_str().unwrap());
            assert!(path.starts_with(&logs), "{path:?}");
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text, config["text"].as_str().unwrap());
            let address = trial["server"]["address"].as_str().unwrap();
            let port = address.rsplit(':').next().unwrap();
            assert!(text.contains(port), "the text used has {port}: {text}");
        }
        let program = trial["kind"] == "contender";
        assert_eq!(logs.join("server.log").is_file(), program);
        assert_eq!(logs.join("command.txt").is_file(), program);
        assert_eq!(trial["server"]["stopped"]["graceful"], true, "{trial:#}");
        let answers = trial["answers"].as_array().unwrap();
        assert_eq!(answers.len(), 2, "before and after");
        assert!(answers.iter().all(|answer| answer["right"] == true));
    }
}

#[test]
fn nothing_is_left_in_the_temporary_folder() {
    let scene = Scene::new();
    if smoke(&scene, &["--workload", "synthetic"]).is_some() {
        let left = std::fs::read_dir(scene.path("tmp")).unwrap().count();
        assert_eq!(left, 0, "the run folder goes with its bakeoff");
        let results = std::fs::read_dir(scene.path("bakeoff-results")).unwrap();
        let folder = results.flatten().next().unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("smoke-"), "{name}");
        assert_eq!(measured(&folder).len(), 3);
    }
}

#[test]
fn a_record_is_reported_again_in_every_format() {
    let scene = Scene::new();
    let Some(finished) = smoke(&scene, &["--out", "record", "--format", "json"]) else {
        return;
    };
    let printed = finished.json();
    assert_eq!(printed["schema"], "bakeoff.report/1");
    assert_eq!(printed["campaign"]["trials"]["measured"], 7);
    assert_eq!(printed["cells"].as_array().unwrap().len(), 7);
    for cell in printed["cells"].as_array().unwrap() {
        // A machine with others at work may make one invalid, and then no rate is reported.
        let is_reported = cell["estimates"]["rate_per_s"]["point"].as_f64() > Some(0.0);
        let verdict = cell["verdict"]["verdict"].as_str().unwrap();
        assert!(is_reported || verdict == "invalid", "{cell:#}");
    }
    let again = |format: &str| {
        let arguments = ["report", "record", "--format", format];
        scene.run(&arguments).expect(0).stdout
    };
    let json: serde_json::Value = serde_json::from_str(&again("json")).unwrap();
    assert_eq!(json, printed, "what is reported again is the same");
    assert!(again("text").contains("nginx-default"));
    assert!(again("md").contains("| nginx-default"), "{}", again("md"));
    let csv = again("csv");
    assert_eq!(csv.lines().count(), 8, "a head and 7 cells: {csv}");
    let page = again("html");
    assert_offline(&page);
    let stored = std::fs::read_to_string(scene.path("record/report.html")).unwrap();
    assert_eq!(page.trim_end(), stored.trim_end());

    let output = ["report", "record", "--format", "md", "--output", "out.md"];
    assert!(scene.run(&output).expect(0).stdout.is_empty());
    assert_eq!(
        std::fs::read_to_string(scene.path("out.md"))
            .unwrap()
            .trim_end(),
        again("md").trim_end()
    );
    let output = ["report", "record", "--output", "absent/out.md"];
    let refused = scene.run(&output).expect(2).says("absent/out.md");
    refused.says("choose another file with --output");
}

#[test]
fn a_record_is_never_written_over() {
    let scene = Scene::new();
    let only = ["--contender", "nginx-default", "--workload", "synthetic"];
    let more = [&["--out", "record"][..], &only].concat();
    if smoke(&scene, &more).is_none() {
        return;
    }
    let before = std::fs::read(scene.path("record/trials.jsonl")).unwrap();
    let again = [&["run", "smoke", "--out", "record"][..], &only].concat();
    scene.run(&again).expect(2).says("holds a record already");
    let resumed = scene.run(&["run", "--resume", "record"]).expect_measured();
    assert!(resumed.stdout.contains("nginx-default"));
    let after = std::fs::read(scene.path("record/trials.jsonl")).unwrap();
    assert_eq!(before, after, "nothing was missing");
}

#[test]
fn a_folder_without_a_record_is_reported() {
    let scene = Scene::new();
    scene
        .run(&["report", "home"])
        .expect(2)
        .says("holds no record");
    scene
        .run(&["run", "--resume", "absent"])
        .expect(2)
        .says("absent holds no record");
}

#[test]
fn rounds_and_open_loops_are_recorded() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let text = plan(
        &[("a", "nginx", "default"), ("b", "nginx", "optimized")],
        "html-small",
        "duration = \"300ms\"\nrate = 400",
    );
    scene.write("own.toml", &text.replace("rounds = 1", "rounds = 2"));
    scene
        .run(&["run", "./own.toml", "--out", "record"])
        .expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 4);
    let trials = trials(&record);
    for trial in &trials {
        let requests = &trial["result"]["requests"];
        assert!(requests["planned"].as_u64() > Some(60), "about 120");
        assert!(requests["ok"].as_u64() > Some(0), "{requests}");
    }
    let planned = |index: usize| &trials[index]["result"]["requests"]["planned"];
    assert_eq!(planned(0), planned(1), "one schedule for all of a round");
    assert_eq!(planned(2), planned(3), "one schedule for all of a round");
    let order: Vec<String> = trials
        .iter()
        .map(|trial| trial["contender"].as_str().unwrap().to_owned())
        .collect();
    assert_ne!(order[..2], order[2..], "the order changes between rounds");
}

#[test]
fn a_table_that_nobody_reads_is_no_panic() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let only = ["--contender", "nginx-default", "--workload", "synthetic"];
    let run = [&["run", "smoke", "--out", "record"][..], &only].concat();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = scene.command(&run).stdout(writer).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    assert_eq!(measured(&scene.path("record")).len(), 2);
}

#[test]
fn rounds_are_added_to_a_campaign_that_was_complete() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let contenders = [("a", "nginx", "default"), ("b", "nginx", "optimized")];
    let text = plan(&contenders, "html-small", "duration = \"200ms\"");
    scene.write("own.toml", &text);
    let run = ["run", "./own.toml", "--out", "record"];
    scene.run(&run).expect_measured();
    let record = scene.path("record");
    assert_eq!(measured(&record).len(), 2);
    let more = ["run", "--resume", "record", "--rounds", "2"];
    let finished = scene.run(&more).expect_measured();
    let finished = finished.says("4 trials, 2 of them recorded before");
    finished.says("round 2/2 html-small c3: requests/s a ");
    let ids = ["r1-a", "r1-b", "r2-a", "r2-b"].map(|id| format!("{id}-html-small-c3"));
    assert_eq!(measured(&record), ids);
    let fewer = ["run", "--resume", "record", "--rounds", "1"];
    scene.run(&fewer).expect(2).says("rounds can only be added");
    assert_eq!(measured(&record), ids, "nothing was run");
}

#[test]
fn a_rate_is_found_in_the_campaign_and_recorded() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let load = "duration = \"300ms\"\n[[load]]\ncapacity_share = 0.5\nclients = 3\n\
                warmup = \"100ms\"\nduration = \"300ms\"";
    let contenders = [("a", "nginx", "default"), ("b", "nginx", "optimized")];
    scene.write("own.toml", &plan(&contenders, "html-small", load));
    let run = ["run", "./own.toml", "--out", "record"];
    scene
        .run(&run)
        .expect_measured()
        .says("html-small share0.5p-c3: p99 a ");
    let all = trials(&scene.path("record"));
    let closed = all
        .iter()
        .filter(|it| it["load"]["model"]["kind"] == "closed");
    let ok_rate = |trial: &serde_json::Value| {
        let result = &trial["result"];
        result["requests"]["ok"].as_f64().unwrap() / result["measured_s"].as_f64().unwrap()
    };
    let slowest = closed.map(ok_rate).reduce(f64::min).unwrap();
    let shares: Vec<_> = all
        .iter()
        .filter(|it| it["load_name"] == "share0.5p-c3")
        .collect();
    assert_eq!(shares.len(), 2);
    for trial in shares {
        let rate = trial["load"]["model"]["rate_per_s"].as_f64().unwrap();
        assert!(
            rate <= slowest / 2.0 && rate > slowest / 2.0 * 0.9,
            "{rate} of {slowest}"
        );
    }
}

#[test]
fn a_program_that_changes_during_a_campaign_ends_its_trials() {
    let scene = Scene::new();
    let Some(nginx) = on_path("nginx") else {
        return;
    };
    let text = plan(
        &[("a", "nginx", "default")],
        "synthetic",
        "duration = \"200ms\"",
    );
    let text = text
        .replace("rounds = 1", "rounds = 2")
        .replace("\"0s\"", "\"3s\"");
    let text = text.replace("server = ", "binary = \"./nginx\"\nserver = ");
    scene.write("own.toml", &text);
    std::fs::copy(&nginx, scene.path("nginx")).unwrap();
    let record = scene.path("record");
    let mut running = scene.start(&["run", "./own.toml", "--out", "record"]);
    running.wait_until("the first round has ended", |_| trials(&record).len() == 1);
    // Another program that does the same, as an upgrade would put it there.
    let mut other = std::fs::read(&nginx).unwrap();
    other.push(0);
    std::fs::copy(&nginx, scene.path("other")).unwrap();
    std::fs::write(scene.path("other"), other).unwrap();
    std::fs::rename(scene.path("other"), scene.path("nginx")).unwrap();
    running.finish().says("the program of a has changed");
    let all = trials(&record);
    assert_eq!(all[0]["end"]["kind"], "measured");
    assert_eq!(all[1]["end"]["kind"], "failed");
    let resumed = scene.run(&["run", "--resume", "record"]).expect(2);
    resumed.says("the program of a has changed");
}

#[test]
fn a_plan_names_what_is_missing_before_it_runs() {
    let scene = Scene::new();
    let missing = |contender: (&str, &str, &str), words: &str| {
        scene.write("own.toml", &plan(&[contender], "synthetic", ""));
        for command in ["plan", "run"] {
            scene.run(&[command, "./own.toml"]).expect(2).says(words);
        }
    };
    missing(
        ("a", "ngins", "default"),
        "no server is called `ngins`; did you mean `nginx`?",
    );
    missing(("a", "nginx", "optimised"), "no variant `optimised`");
    missing(("a", "nginx", "./none.conf"), "none.conf; write a path");
    assert!(!scene.path("bakeoff-results").exists());
}

#[test]
fn a_terminal_that_cannot_be_drawn_over_gets_the_lines_of_a_log() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let contenders = [("a", "nginx", "default")];
    let text = plan(&contenders, "synthetic", "duration = \"200ms\"");
    scene.write("own.toml", &text);
    let run = ["run", "./own.toml", "--out", "record"];
    let running = OnTerminal::start(&scene, (80, 24), &run, &[("TERM", "dumb")]);
    let (_, written) = running.finish();
    let measured = measured(&scene.path("record"));
    assert_eq!(measured.len(), 1, "{written}");
    let line = "round 1/1 synthetic c3: requests/s a ";
    assert!(written.contains(line), "no {line} in {written}");
}
