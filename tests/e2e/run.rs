//! `bakeoff run` on real servers: what it keeps of them, and what it does where one changes.

use crate::support::files::{measured, plan, trials};
use crate::support::scene::Scene;
use crate::support::servers::{are_installed, on_path};
use crate::support::terminal::OnTerminal;

#[test]
fn smoke_measures_every_trial_and_its_record_is_complete() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx", "caddy"]) {
        return;
    }
    // A folder named from here, as a person would.
    let run = [
        "run",
        "smoke",
        "--duration",
        "300ms",
        "--out",
        "results/first",
    ];
    scene.run(&run).expect_measured();
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
    let left = std::fs::read_dir(scene.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "the run folder goes with its bakeoff");
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
fn a_terminal_that_cannot_be_drawn_over_gets_the_lines_of_a_log() {
    let scene = Scene::new();
    let machine = scene.write("machine.toml", "").display().to_string();
    let run = ["run", "smoke", "--out", "record"];
    let environment = [("TERM", "dumb"), ("BAKEOFF_INVENTED", &*machine)];
    let (_, written) = OnTerminal::start(&scene, (80, 24), &run, &environment).finish();
    let measured = measured(&scene.path("record"));
    assert_eq!(measured.len(), 7, "{written}");
    let line = "round 1/1 synthetic c5: ok/s ";
    assert!(written.contains(line), "no {line} in {written}");
}
