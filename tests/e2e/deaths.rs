//! The end of bakeoff in mid-trial: by force, by request, by a full disk. No server survives it,
//! what was measured is kept, and `--resume` runs what is missing.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::support::files::{measured, plan, trials};
use crate::support::processes;
use crate::support::scene::{Finished, Running, Scene};
use crate::support::servers::{are_installed, script_server};
use crate::support::{RUN_OWN, in_ci, wait_until};

/// Runs the scene's own plan.
const RUN: [&str; 4] = ["run", "./own.toml", "--out", "record"];

/// Writes a plan of one contender behind which the origin stands.
fn write_plan(scene: &Scene, server: &str, rounds: u32) {
    let load = "duration = \"1500ms\"";
    let text = plan(&[("it", server, "default")], "proxy", load);
    let rounds = format!("rounds = {rounds}");
    scene.write("own.toml", &text.replace("rounds = 1", &rounds));
}

/// Waits until the server and the origin run.
#[track_caller]
fn until_they_run(running: &mut Running<'_>, server: &str) {
    running.wait_until("the server and the origin run", |it| {
        let below = it.below();
        let is = |name: &str| below.iter().any(|process| process.name == name);
        // The server's and the origin's.
        is(server) && is("bakeoff") && below.iter().filter(|it| it.name == "keeper").count() >= 2
    });
}

/// Starts two rounds, and waits until the second has begun.
fn in_second_round<'s>(scene: &'s Scene, server: &str) -> Running<'s> {
    write_plan(scene, server, 2);
    let mut running = scene.start(&RUN);
    let record = scene.path("record");
    running.wait_until("the first round has ended", |_| trials(&record).len() == 1);
    until_they_run(&mut running, server);
    // Into the warm-up or the window, wherever the machine is by then.
    std::thread::sleep(std::time::Duration::from_millis(400));
    running
}

/// The record can be read, and completed with what is missing.
#[track_caller]
fn assert_resumable(scene: &Scene) {
    let record = scene.path("record");
    assert_eq!(measured(&record), ["r1-it-proxy-c3"]);
    let report = scene.json(&["report", "record", "--format", "json"]);
    assert_eq!(report["campaign"]["trials"]["measured"], 1);
    let resumed = scene.run(&["run", "--resume", "record"]).expect_measured();
    resumed.says("2 trials, 1 of them recorded before");
    assert_eq!(measured(&record), ["r1-it-proxy-c3", "r2-it-proxy-c3"]);
    let report = scene.json(&["report", "record", "--format", "json"]);
    assert_eq!(report["campaign"]["trials"]["measured"], 2);
    assert_eq!(report["campaign"]["trials"]["recorded"], 2);
    assert!(record.join("report.html").is_file());
    let left = std::fs::read_dir(scene.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "run folders of the dead are removed too");
}

#[track_caller]
fn check_death(server: &str, signal: Signal, ended: impl Fn(Finished)) {
    let scene = Scene::new();
    if !are_installed(&scene, &[server]) {
        return;
    }
    let running = in_second_round(&scene, server);
    running.signal(signal);
    ended(running.finish());
    scene.assert_empty();
    assert_resumable(&scene);
}

#[test]
fn nothing_of_nginx_survives_kill_9() {
    check_death("nginx", Signal::KILL, |it| {
        it.expect_signal(Signal::KILL);
    });
}

#[test]
fn nothing_of_caddy_survives_an_abort() {
    check_death("caddy", Signal::ABORT, |it| {
        it.expect_signal(Signal::ABORT);
    });
}

/// Kills bakeoff by `strike` in a trial of nginx, as root with and without namespaces and groups,
/// and looks for what is left after the next command.
#[track_caller]
fn check_strike(strike: impl Fn(&Running<'_>)) {
    for without in ["", "namespace", "namespace,groups"] {
        let scene = Scene::new();
        if !are_installed(&scene, &["nginx"]) {
            return;
        }
        write_plan(&scene, "nginx", 1);
        let mut command = scene.command(&RUN);
        command.env("BAKEOFF_WITHOUT", without);
        let mut running = scene.start_command(command);
        until_they_run(&mut running, "nginx");
        strike(&running);
        running.finish().expect_signal(Signal::KILL);
        scene.run(&["report", "record"]).expect(0);
        scene.assert_empty();
        let left = std::fs::read_dir(scene.path("tmp")).unwrap().count();
        assert_eq!(left, 0, "run folders of the dead are removed too");
    }
}

/// Signals the processes of these names below a bakeoff.
fn signal_named(running: &Running<'_>, names: &[&str], signal: Signal) {
    for process in running.below() {
        if names.contains(&process.name.as_str()) {
            processes::signal(process.pid, signal);
        }
    }
}

#[test]
fn nothing_survives_the_death_of_all_that_are_called_bakeoff() {
    check_strike(|it| {
        signal_named(it, &["bakeoff"], Signal::KILL);
        it.signal(Signal::KILL);
    });
}

#[test]
fn nothing_survives_a_stopped_keeper_and_the_death_of_bakeoff() {
    check_strike(|it| {
        signal_named(it, &["keeper", "guard"], Signal::STOP);
        it.signal(Signal::KILL);
    });
}

#[test]
fn the_next_command_ends_what_the_death_of_everybody_has_left() {
    check_strike(|it| {
        let below = it.below();
        it.signal(Signal::KILL);
        for process in below.iter().filter(|it| it.name != "nginx") {
            processes::signal(process.pid, Signal::KILL);
        }
    });
}

#[test]
fn another_command_leaves_a_campaign_alone_and_a_request_to_quit_leaves_nothing() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let running = in_second_round(&scene, "nginx");
    let of_nginx = || {
        let mut below = running.below();
        below.retain(|process| process.name == "nginx");
        below
    };
    // A trial may end by itself meanwhile.
    wait_until("a command leaves a trial alone", || {
        let before = of_nginx();
        scene.run(&["report", "record"]).expect(0);
        !before.is_empty() && of_nginx() == before
    });
    running.signal(Signal::QUIT);
    assert_interrupted(running.finish());
    scene.assert_empty();
    assert_resumable(&scene);
}

#[test]
fn a_new_version_put_in_place_of_a_running_one_changes_nothing() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let copy = scene.path("bakeoff");
    std::fs::copy(env!("CARGO_BIN_EXE_bakeoff"), &copy).unwrap();
    let mut command = Command::new(&copy);
    let template = scene.command(&RUN);
    command.args(template.get_args()).process_group(0);
    command.current_dir(template.get_current_dir().unwrap());
    for (name, value) in template.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let text = plan(
        &[("it", "nginx", "default")],
        "proxy",
        "duration = \"300ms\"",
    );
    let text = text.replace("yardstick = false", "yardstick = true");
    scene.write("own.toml", &text.replace("rounds = 1", "rounds = 2"));
    let mut running = scene.start_command(command);
    let record = scene.path("record");
    running.wait_until("a trial has ended", |_| !trials(&record).is_empty());
    let other = scene.write("other", "#!/bin/sh\nexit 1\n");
    std::fs::rename(other, &copy).unwrap();
    let finished = running.finish().expect_measured();
    assert_eq!(measured(&record).len(), 4, "{finished:#?}");
    let trials = trials(&record);
    let digests = trials.iter().filter(|it| it["contender"] == "yardstick");
    let digests: Vec<_> = digests.map(|it| &it["server"]["binary_sha256"]).collect();
    assert_eq!(digests.len(), 2);
    assert_eq!(digests[0], digests[1]);
}

#[track_caller]
fn assert_interrupted(finished: Finished) -> Finished {
    let hint = "`bakeoff run --resume record` goes on";
    let finished = finished.expect(130).says(hint);
    assert!(finished.stderr.contains("interrupted"), "{finished:#?}");
    finished
}

#[test]
fn a_request_to_terminate_ends_the_trial_and_keeps_the_record() {
    check_death("caddy", Signal::TERM, |finished| {
        assert_interrupted(finished);
    });
}

#[test]
fn ctrl_c_at_a_terminal_ends_the_trial_and_keeps_the_record() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let running = in_second_round(&scene, "nginx");
    running.signal_group(Signal::INT);
    let finished = assert_interrupted(running.finish());
    scene.assert_empty();
    // A busy machine may not come to the report in the time that an end may take.
    let has_page = scene.path("record/report.html").is_file();
    assert!(has_page || finished.stdout.is_empty(), "{finished:#?}");
    assert_resumable(&scene);
}

/// A server that does not stop when it is asked to, in mid-load.
fn with_deaf_server(scene: &Scene) -> Option<Running<'_>> {
    let deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nserve()";
    // The server may take an hour to stop.
    if !script_server(scene, 3_600_000, &[("deaf", deaf)]) {
        return None;
    }
    let text = plan(
        &[("it", "script", "deaf")],
        "synthetic",
        "duration = \"60s\"",
    );
    scene.write("own.toml", &text);
    let mut running = scene.start(&RUN_OWN);
    running.wait_until("the server runs", |it| {
        let below = it.below();
        below
            .iter()
            .any(|process| process.name.starts_with("python"))
            && it.stderr().contains("record: ")
    });
    std::thread::sleep(std::time::Duration::from_millis(800));
    Some(running)
}

#[test]
fn ctrl_c_waits_for_no_server_that_does_not_stop() {
    let scene = Scene::new();
    let Some(running) = with_deaf_server(&scene) else {
        return;
    };
    running.signal_group(Signal::INT);
    running.finish().expect(130).says("interrupted");
    scene.assert_empty();
    scene.run(&["report", "record"]).expect(0);
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let scene = Scene::new();
    let Some(running) = with_deaf_server(&scene) else {
        return;
    };
    running.signal_group(Signal::INT);
    // Until the first has been heard.
    std::thread::sleep(std::time::Duration::from_millis(50));
    running.signal_group(Signal::INT);
    running.finish().expect(130);
    scene.assert_empty();
    scene.run(&["report", "record"]).expect(0);
}

/// A small disk of its own at a folder; gone when dropped.
pub(crate) struct Disk(PathBuf);

impl Disk {
    /// `None` when this user may not mount anything.
    pub(crate) fn mount(path: PathBuf, bytes: u32) -> Option<Self> {
        std::fs::create_dir_all(&path).unwrap();
        let size = format!("size={bytes},mode=0755");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "bakeoff-test"])
            .arg(&path)
            .output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        assert!(!in_ci(), "a test needs to mount a tmpfs: run it as root");
        eprintln!("PASSED OVER: no tmpfs can be mounted here; run it as root");
        None
    }

    /// Lets nobody write to it any more.
    pub(crate) fn make_read_only(&self) {
        let remount = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&self.0)
            .status();
        assert!(remount.unwrap().success());
    }

    /// Takes all room that is left with a file, and returns its path.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = std::fs::File::create(&path).unwrap();
        let mut size = 64 * 1024;
        while size > 0 {
            if file.write_all(&vec![b'x'; size]).is_err() {
                size /= 2;
            }
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_the_campaign_and_keeps_what_was_measured() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let Some(disk) = Disk::mount(scene.path("record"), 16 << 20) else {
        return;
    };
    let running = in_second_round(&scene, "nginx");
    let filler = disk.fill();
    let finished = running.finish().expect(1);
    let file = scene.path("record/trials.jsonl").display().to_string();
    let finished = finished.says(&file).says("No space left on device");
    finished.says("make room");
    scene.assert_empty();
    scene.run(&["report", "record"]).expect(0);
    std::fs::remove_file(filler).unwrap();
    assert_resumable(&scene);
}

#[test]
fn no_room_for_a_trials_files_is_not_the_servers_failure() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    let Some(disk) = Disk::mount(scene.path("record"), 16 << 20) else {
        return;
    };
    let contenders = [("it", "nginx", "default")];
    let text = plan(&contenders, "proxy", "duration = \"200ms\"");
    let text = text.replace("rounds = 1", "rounds = 2");
    scene.write("own.toml", &text.replace("rest = \"0s\"", "rest = \"2s\""));
    // From the first.
    let filler = disk.fill();
    let full = scene.run(&RUN).expect(1);
    full.says("record/").says("No space left on device");
    std::fs::remove_file(filler).unwrap();

    let record = scene.path("record");
    let mut running = scene.start(&RUN);
    running.wait_until("the first round has ended", |_| trials(&record).len() == 1);
    let filler = disk.fill();
    let finished = running.finish().expect(1).says("make room");
    finished
        .says("record/logs/")
        .says("No space left on device");
    assert_eq!(trials(&record).len(), 1, "no failure is recorded");
    std::fs::remove_file(filler).unwrap();
    assert_resumable(&scene);
}
