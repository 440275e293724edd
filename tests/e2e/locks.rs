//! One writer for each record, and one campaign on the machine unless more are asked for.

use std::os::unix::process::CommandExt as _;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::deaths::Disk;
use crate::support::RUN_OWN;
use crate::support::files::{measured, plan, trials};
use crate::support::scene::{Running, Scene};
use crate::support::servers::script_server;

/// Writes a plan of one contender, and one that is over soon; `false` where they cannot run.
pub(crate) fn write_plans(scene: &Scene) -> bool {
    if !script_server(scene, 2000, &[("good", "serve()")]) {
        return false;
    }
    let contenders = [("it", "script", "good")];
    for (name, duration) in [("own.toml", "60s"), ("short.toml", "200ms")] {
        let load = format!("duration = \"{duration}\"");
        scene.write(name, &plan(&contenders, "synthetic", &load));
    }
    true
}

/// A campaign that measures for a minute.
pub(crate) fn campaign(scene: &Scene) -> Running<'_> {
    let mut running = scene.start(&RUN_OWN);
    until_it_measures(&mut running);
    running
}

fn until_it_measures(running: &mut Running<'_>) {
    running.wait_until("the server runs", |it| {
        let below = it.below();
        below.iter().any(|it| it.name.starts_with("python")) && it.stderr().contains("record: ")
    });
}

fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let run = [
        "run",
        "./short.toml",
        "--library",
        "library",
        "--out",
        "other",
    ];
    [&run[..], more].concat()
}

/// Files that a process has open, as paths.
fn open_files(pid: u32) -> Vec<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter();
    let links = entries.flatten().flatten().map(|it| it.path().read_link());
    links.flatten().map(|it| it.display().to_string()).collect()
}

#[test]
fn a_record_that_is_being_written_has_no_second_writer_and_any_reader() {
    let scene = Scene::new();
    if !write_plans(&scene) {
        return;
    }
    let running = campaign(&scene);
    std::os::unix::fs::symlink("record", scene.path("link")).unwrap();
    let by = format!("is being written by process {}, `", running.pid());
    for name in ["record", "link"] {
        // Not even where campaigns may run beside each other.
        for more in [&[][..], &["--beside"], &["--wait"]] {
            let resume = [&["run", "--resume", name, "--library", "library"][..], more].concat();
            scene.run(&resume).expect(2).says(&by).says("`, since 20");
        }
    }
    scene.run(&RUN_OWN).expect(2).says("holds a record already");
    scene.run(&["report", "record"]).expect(0);
    let plan = ["plan", "./own.toml", "--library", "library"];
    scene.run(&plan).expect(0);
    // What it has started does not hold the lock when it is gone.
    for process in running.below() {
        let open = open_files(process.pid);
        let holds = open.iter().any(|path| path.ends_with("trials.jsonl"));
        assert!(!holds, "{process:?}: {open:?}");
    }
    running.signal(Signal::KILL);
    running.finish().expect_signal(Signal::KILL);
    assert!(scene.path("record/writer.json").exists(), "left behind");
    let resume = ["run", "--resume", "record", "--library", "library"];
    let mut resumed = scene.start(&resume);
    until_it_measures(&mut resumed);
    let by = format!("is being written by process {}, `", resumed.pid());
    scene.run(&resume).expect(2).says(&by);
    resumed.signal(Signal::INT);
    resumed.finish().expect(130);
    assert!(!scene.path("record/writer.json").exists());
}

#[test]
fn of_two_that_make_a_record_at_once_one_does() {
    let scene = Scene::new();
    if !write_plans(&scene) {
        return;
    }
    let run = [&RUN_OWN[..], &["--beside", "--duration", "200ms"]].concat();
    let both = [scene.start(&run), scene.start(&run)];
    let ends = both.map(Running::finish);
    let (good, bad): (Vec<_>, Vec<_>) = ends
        .into_iter()
        .partition(|it| matches!(it.status.code(), Some(0 | 4)));
    assert_eq!((good.len(), bad.len()), (1, 1), "{good:#?}{bad:#?}");
    let refused = bad.into_iter().next().unwrap().expect(2);
    let is_named = ["is being written by process", "holds a record already"]
        .iter()
        .any(|text| refused.stderr.contains(text));
    assert!(is_named, "{refused:#?}");
    assert_eq!(measured(&scene.path("record")).len(), 1);
}

#[test]
fn a_second_campaign_is_refused_with_the_first_named_and_goes_on_by_a_flag() {
    let scene = Scene::new();
    if !write_plans(&scene) {
        return;
    }
    let first = campaign(&scene);
    let by = format!("process {} of ", first.pid());
    let refused = scene.run(&short(&[])).expect(2);
    let refused = refused
        .says("another campaign is running on this machine")
        .says(&by);
    refused
        .says("own.toml")
        .says("since 20")
        .says("--wait")
        .says("--beside");
    assert!(!scene.path("other").exists());
    // Another user sees it too.
    if rustix::process::geteuid().is_root() {
        let mut command = scene.command(&short(&[]));
        command.uid(65534).gid(65534);
        let second = scene.start_command(command).finish().expect(2);
        second.says(&format!("process {} of root, `", first.pid()));
    } else {
        crate::support::pass_over("only root can be another user");
    }
    // What measures no campaign is none.
    scene.run(&["list"]).expect(0);

    let beside = scene.run(&short(&["--beside"])).expect_measured();
    beside.says("beside another campaign").says(&by);
    let trials = trials(&scene.path("other"));
    let warning = &trials[0]["warnings"][0];
    assert_eq!(warning["code"], "other-campaign", "{}", trials[0]);
    let text = warning["text"].as_str().unwrap();
    assert!(text.contains(&by), "{text}");

    // The one that goes on beside is seen when the first has ended.
    let second = scene.start(&[&RUN_OWN[..5], &["second", "--beside"]].concat());
    let mut second = second;
    until_it_measures(&mut second);
    first.signal(Signal::KILL);
    first.finish().expect_signal(Signal::KILL);
    let by = format!("process {} of ", second.pid());
    let again = ["--out", "third"];
    let run = [&short(&[])[..4], &again].concat();
    scene.run(&run).expect(2).says(&by);
    second.signal(Signal::KILL);
    second.finish().expect_signal(Signal::KILL);
    scene.run(&run).expect_measured();
}

#[test]
fn a_second_campaign_waits_for_the_end_of_the_first() {
    let scene = Scene::new();
    if !write_plans(&scene) {
        return;
    }
    let first = campaign(&scene);
    let by = format!("waiting for the end of process {} of ", first.pid());
    let mut stopped = scene.start(&short(&["--wait"]));
    stopped.wait_until("it waits", |it| it.stderr().contains(&by));
    stopped.signal(Signal::INT);
    stopped.finish().expect(130).says("nothing was measured");
    assert!(!scene.path("other").exists());

    let mut second = scene.start(&short(&["--wait"]));
    second.wait_until("it waits", |it| it.stderr().contains(&by));
    first.signal(Signal::KILL);
    first.finish().expect_signal(Signal::KILL);
    let second = second.finish().expect_measured();
    assert_eq!(
        second.stderr.matches("waiting for").count(),
        1,
        "{second:#?}"
    );
    let trials = trials(&scene.path("other"));
    assert_eq!(
        trials[0]["warnings"],
        Value::Array(Vec::new()),
        "measured alone"
    );
}

#[test]
fn a_record_on_a_disk_that_cannot_be_written_is_read_and_not_resumed() {
    let scene = Scene::new();
    if !write_plans(&scene) {
        return;
    }
    let Some(disk) = Disk::mount(scene.path("disk"), 16 << 20) else {
        return;
    };
    let run = [&short(&[])[..4], &["--out", "disk/record"]].concat();
    scene.run(&run).expect_measured();
    disk.make_read_only();
    scene.run(&["report", "disk/record"]).expect(0);
    let resume = ["run", "--resume", "disk/record", "--library", "library"];
    let refused = scene.run(&resume).expect(1);
    refused.says("trials.jsonl").says("Read-only file system");
    assert_eq!(measured(Path::new(&scene.path("disk/record"))).len(), 1);
}
