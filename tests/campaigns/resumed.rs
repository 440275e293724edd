//! A campaign that was stopped goes on, and says how.

use bakeoff_record::{HostFacts, HostRole, Hosts, TrialRecord};

use crate::support::PAGE_BUILT;
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

/// The server on one host, and the load from another one.
fn on_hosts(trial: &mut TrialRecord) {
    let host = |name: &str, role| HostFacts {
        name: name.to_owned(),
        transport: "ssh".to_owned(),
        roles: vec![role],
        ..HostFacts::default()
    };
    trial.hosts = Some(Hosts {
        hosts: vec![
            host("sut", HostRole::Server),
            host("g1", HostRole::Generator),
        ],
        ..Hosts::default()
    });
}

/// What `run --resume` is refused with.
#[track_caller]
fn check(scene: &Scene, record: &str, more: &[&str], expected: &str) {
    let resume = [&["run", "--resume", record][..], more].concat();
    let trials = scene.path(record).join("trials.jsonl");
    let before = std::fs::read(&trials).unwrap();
    scene.run(&resume).expect(2).says(expected);
    assert!(std::fs::read(&trials).unwrap() == before, "{resume:?}");
}

#[test]
fn a_campaign_that_was_stopped_at_once_keeps_no_measurement() {
    let scene = Scene::of("stop_after = 0");
    let race = ["race", "nginx", "caddy", "--rounds", "3", "--out", "record"];
    let stopped = scene.run(&race).expect(130);
    stopped.says(
        "interrupted; nothing was measured yet, `bakeoff run --resume record` begins with it",
    );
}

#[test]
fn a_record_of_hosts_goes_on_with_their_file() {
    let scene = Scene::raced(&["--rounds", "1"]);
    scene.change("record", "my record", |record| {
        record.trials.iter_mut().for_each(on_hosts);
    });
    let add = "my record was measured on the hosts of a file; add --hosts FILE: `bakeoff run \
               --resume 'my record' --hosts FILE` goes on with it";
    check(&scene, "my record", &[], add);
    check(&scene, "my record", &["--rounds", "2"], add);
    let confirm = "--confirm changes workers and processors of this machine, and my record was \
                   measured on the hosts of a file";
    check(&scene, "my record", &["--confirm"], confirm);
}

/// Where no trial came to its load, the command that began it says where it is at home.
#[test]
fn a_record_without_a_load_goes_on_where_it_began() {
    let scene = Scene::raced(&["--rounds", "1"]);
    for (name, flag) in [("one", "--hosts"), ("two", "--hosts=lab.toml")] {
        scene.change("record", name, |record| {
            record.trials.clear();
            record.machine.command.push(flag.to_owned());
        });
        check(&scene, name, &[], "was measured on the hosts of a file");
    }
}

#[test]
fn a_record_of_this_machine_goes_on_without_hosts() {
    let scene = Scene::raced(&["--rounds", "1"]);
    scene.write("lab.toml", "");
    let here = "record was measured on this machine alone; leave out --hosts";
    check(&scene, "record", &["--hosts", "lab.toml"], here);
    scene.change("record", "both", |record| {
        record.trials.iter_mut().step_by(2).for_each(on_hosts);
    });
    let both = "both holds trials of this machine alone and trials of the hosts of a file";
    check(&scene, "both", &["--hosts", "lab.toml"], both);
    check(&scene, "both", &[], both);
}

#[test]
fn what_was_invented_is_not_gone_on_with_by_measuring() {
    let scene = Scene::raced(&["--rounds", "1"]);
    scene.change("record", "real", |record| {
        record.machine.host = "bench".to_owned()
    });
    let expected = "a record of an invented machine goes on with BAKEOFF_INVENTED alone";
    check(&scene, "real", &["--rounds", "2"], expected);
}

#[test]
fn a_shared_copy_proposes_nothing_that_it_refuses() {
    let scene = Scene::raced(&["--rounds", "1"]);
    // A contender still waits for its first trial.
    scene.change("record", "begun", |record| record.trials.truncate(1));
    let report = scene.run(&["report", "begun"]).expect(0);
    report.prints("next: bakeoff run --resume begun");
    scene.run(&["report", "begun", "--share", "copy"]).expect(0);
    for format in ["text", "json", "html"] {
        let copy = scene.run(&["report", "copy", "--format", format]).expect(0);
        assert!(!copy.stdout.contains("--resume"), "{format}");
        if format != "html" || copy.stdout.contains(PAGE_BUILT) {
            assert!(copy.stdout.contains("--full"), "{format}");
        }
    }
    assert!(!scene.read("copy/report.html").contains("run --resume"));
    scene.run(&["verify", "copy"]).expect(0);
    check(&scene, "copy", &[], "copy is a shared copy");
}

/// The record can be read, and completed with what is missing of two rounds.
#[track_caller]
fn assert_resumable(scene: &Scene, kept: usize) {
    // Of a part of two rounds there may be nothing to compare.
    let report = scene.run(&["report", "record", "--format", "json"]);
    assert_eq!(report.json()["campaign"]["trials"]["measured"], kept);
    let resumed = scene.run(&["run", "--resume", "record"]).expect(0);
    if kept > 0 {
        resumed.says(&format!("6 trials, {kept} of them recorded before"));
    }
    assert_eq!(scene.measured("record").len(), 6);
    let report = scene.json(&["report", "record", "--format", "json"]);
    assert_eq!(report["campaign"]["trials"]["measured"], 6);
    assert_eq!(report["campaign"]["trials"]["recorded"], 6);
}

#[test]
fn a_line_that_a_death_has_torn_is_left_out_and_run_again() {
    let scene = Scene::raced(&["--rounds", "2"]);
    let path = scene.path("record/trials.jsonl");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 2000]).unwrap();
    assert_resumable(&scene, 5);
}

#[test]
fn a_record_without_a_whole_trial_can_be_resumed() {
    let scene = Scene::raced(&["--rounds", "2"]);
    let path = scene.path("record/trials.jsonl");
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 1000] {
        std::fs::write(&path, &whole[..length]).unwrap();
        scene.run(&["report", "record"]).expect(0);
        assert_resumable(&scene, 0);
    }
}

#[test]
fn a_record_of_a_newer_bakeoff_is_reported_and_left_alone() {
    let scene = Scene::raced(&["--rounds", "1"]);
    for (name, schema) in [
        ("machine.json", "bakeoff.machine/"),
        ("trials.jsonl", "bakeoff.trial/"),
    ] {
        let file = format!("record/{name}");
        let text = scene.read(&file);
        let (now, newer) = (format!("{schema}1"), format!("{schema}9"));
        assert!(text.contains(&now), "{text}");
        let newer_text = text.replace(&now, &newer);
        scene.write(&file, &newer_text);
        for arguments in [&["report", "record"][..], &["run", "--resume", "record"]] {
            let reported = scene.run(arguments).expect(2);
            reported.says(name).says(&newer).says("newer bakeoff");
        }
        assert!(scene.read(&file) == newer_text, "{name}");
        scene.write(&file, &text);
    }
    scene.run(&["report", "record"]).expect(0);
}
