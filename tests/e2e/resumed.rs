//! A record goes on where its trials ran, and nowhere else; a shared copy of it does not.

use bakeoff_record::{HostFacts, HostRole, Hosts, TrialRecord};

use crate::published_site::{made_up, store};
use crate::support::scene::Scene;

/// A record whose trials ran where `place` says it of each.
fn write(scene: &Scene, name: &str, place: impl Fn(&mut TrialRecord)) {
    let mut record = made_up::record_of_rounds(1);
    record.trials.iter_mut().for_each(place);
    store(&record, &scene.path(name));
}

/// The server on one host, and the load from another one.
fn on_hosts(trial: &mut TrialRecord) {
    let host = |name: &str, role| HostFacts {
        name: name.to_owned(),
        transport: "ssh".to_owned(),
        roles: vec![role],
        ..HostFacts::default()
    };
    trial.course.hosts = Some(Hosts {
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
fn a_record_of_hosts_goes_on_with_their_file() {
    let scene = Scene::new();
    write(&scene, "my record", on_hosts);
    let add = "my record was measured on the hosts of a file; add --hosts FILE: `bakeoff run \
               --resume 'my record' --hosts FILE` goes on with it";
    check(&scene, "my record", &[], add);
    check(&scene, "my record", &["--rounds", "2"], add);
    let confirm = "--confirm changes workers and processors of this machine, and my record was \
                   measured on the hosts of a file";
    check(&scene, "my record", &["--confirm"], confirm);
    scene.write("others.toml", "");
    let others = "others.toml has the server on home, the load from home, but the record was \
                  measured with the server on sut, the load from g1; give the file";
    check(&scene, "my record", &["--hosts", "others.toml"], others);
}

/// Where no trial came to its load, the command that began it says where it is at home.
#[test]
fn a_record_without_a_load_goes_on_where_it_began() {
    let scene = Scene::new();
    let mut record = made_up::record_of_rounds(1);
    record.trials.clear();
    for (name, flag) in [("one", "--hosts"), ("two", "--hosts=lab.toml")] {
        record.machine.command.push(flag.to_owned());
        store(&record, &scene.path(name));
        record.machine.command.pop();
        check(&scene, name, &[], "was measured on the hosts of a file");
    }
}

#[test]
fn a_record_of_this_machine_goes_on_without_hosts() {
    let scene = Scene::new();
    scene.write("lab.toml", "");
    write(&scene, "record", |_| {});
    let here = "record was measured on this machine alone; leave out --hosts";
    check(&scene, "record", &["--hosts", "lab.toml"], here);
    write(&scene, "both", |trial| {
        if trial.index % 2 == 0 {
            on_hosts(trial);
        }
    });
    let both = "both holds trials of this machine alone and trials of the hosts of a file";
    check(&scene, "both", &["--hosts", "lab.toml"], both);
    check(&scene, "both", &[], both);
}

#[test]
fn a_shared_copy_proposes_nothing_that_it_refuses() {
    let scene = Scene::new();
    store(&made_up::campaign(4), &scene.path("record"));
    let goes_on = "next: bakeoff run --resume record";
    let report = scene.run(&["report", "record"]).expect(0);
    assert!(report.stdout.contains(goes_on), "{report:#?}");
    scene
        .run(&["report", "record", "--share", "copy"])
        .expect(0);
    for format in ["text", "json", "html"] {
        let copy = scene.run(&["report", "copy", "--format", format]).expect(0);
        assert!(!copy.stdout.contains("--resume"), "{format}");
        assert!(copy.stdout.contains("--full"), "{format}");
    }
    let page = std::fs::read_to_string(scene.path("copy/report.html")).unwrap();
    assert!(!page.contains("run --resume"));
    scene.run(&["verify", "copy"]).expect(0);
    check(&scene, "copy", &[], "copy is a shared copy");
}
