//! What packages need: manual pages, completions, and a command that removes what was left.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::locks;
use crate::support::scene::{Finished, Scene};

const COPY: &str = "home/.cache/bakeoff/\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const PROGRAM: &str = "home/.cache/bakeoff/programs/caddy/9.9";
/// Of a process that never was: numbers end far below.
const RUN: &str = "tmp/bakeoff-run-999999999-5-00ff";

/// What `clean` finds, and what it must not touch.
fn litter(scene: &Scene) -> Vec<&'static str> {
    scene.write(&format!("{COPY}/bakeoff"), &"x".repeat(50_000));
    scene.write(&format!("{PROGRAM}/installed.toml"), "");
    scene.write(&format!("{PROGRAM}/caddy"), &"x".repeat(50_000));
    scene.write(&format!("{RUN}/www/page.html"), "page");
    let kept = [
        "tmp/bakeoff-run-mine/notes",
        "tmp/other/file",
        "home/.cache/bakeoff/programs/caddy/own/caddy",
        "home/.cache/bakeoff/notes/file",
        "home/.cache/other",
        "bakeoff-results/quick/trials.jsonl",
    ];
    for path in kept {
        scene.write(path, "precious");
    }
    let outside = scene.write("outside/file", "precious");
    let link = scene.path("tmp/bakeoff-run-999999998-5-00ff");
    std::os::unix::fs::symlink(outside.parent().unwrap(), link).unwrap();
    [&kept[..], &["outside/file"]].concat()
}

/// Away from the programs that tests share.
fn clean(scene: &Scene, flags: &[&str]) -> Finished {
    let mut command = scene.command(&[&["clean"], flags].concat());
    command.env_remove("BAKEOFF_PROGRAMS");
    scene.start_command(command).finish().expect(0)
}

#[track_caller]
fn check(scene: &Scene, there: &[&str], gone: &[&str]) {
    for path in there {
        assert!(scene.path(path).exists(), "{path} was removed");
    }
    for path in gone {
        assert!(!scene.path(path).exists(), "{path} was left");
    }
}

#[test]
fn clean_removes_what_was_left_and_nothing_else() {
    let scene = Scene::new();
    let kept = litter(&scene);
    let dry = clean(&scene, &["--dry-run"]).stdout;
    check(&scene, &[&kept[..], &[RUN, COPY, PROGRAM]].concat(), &[]);
    for (path, what) in [
        (RUN, "would be removed"),
        (COPY, "would be removed"),
        (PROGRAM, "kept; --programs removes it"),
    ] {
        let line = dry.lines().find(|line| line.contains(path));
        assert!(line.is_some_and(|line| line.contains(what)), "{dry}");
    }
    assert!(dry.contains("would free"), "{dry}");

    let done = clean(&scene, &[]).stdout;
    check(&scene, &[&kept[..], &[PROGRAM]].concat(), &[RUN, COPY]);
    assert!(done.contains("\nfreed ") && done.contains(" KB"), "{done}");

    clean(&scene, &["--programs"]);
    check(&scene, &kept, &[PROGRAM]);
    let again = clean(&scene, &["--programs"]).stdout;
    assert_eq!(again, "freed 0 B\n");
}

#[test]
fn clean_fails_where_something_cannot_be_removed() {
    let scene = Scene::new();
    litter(&scene);
    let closed = scene.path(&format!("{RUN}/www"));
    let let_write = |mode| fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
    let_write(0o500);
    let mut command = scene.command_without_powers(&["clean"]);
    command.env_remove("BAKEOFF_PROGRAMS");
    let done = scene.start_command(command).finish().expect(1).stdout;
    let_write(0o700);
    let line = done.lines().find(|line| line.contains(RUN));
    let cause = "failed to remove it: Permission denied";
    assert!(line.is_some_and(|line| line.contains(cause)), "{done}");
    // The rest goes all the same.
    check(&scene, &[RUN], &[COPY]);
    clean(&scene, &[]);
    check(&scene, &[], &[RUN]);
}

#[test]
fn clean_keeps_what_a_running_campaign_uses() {
    let scene = Scene::new();
    if !locks::write_plans(&scene) {
        return;
    }
    litter(&scene);
    let running = locks::campaign(&scene);
    let done = clean(&scene, &["--programs"]).stdout;
    let kept = "kept, because another bakeoff is running";
    assert!(done.contains(kept), "{done}");
    assert!(done.contains("(in use, kept)"), "{done}");
    check(&scene, &[PROGRAM], &[RUN]);
    running.signal(rustix::process::Signal::INT);
    running.finish().expect(130);
}

/// Names and help of all commands that a user sees: `run`, `hosts check`.
fn commands(scene: &Scene) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut to_ask = vec![String::new()];
    while let Some(command) = to_ask.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = scene.run(&words).expect(0).stdout;
        // Those of the program itself are in groups.
        let heading = if command.is_empty() {
            "Usage:"
        } else {
            "\nCommands:\n"
        };
        let (_, list) = help.split_once(heading).unwrap_or_default();
        let (list, _) = list.split_once("\nOptions:").unwrap_or((list, ""));
        let names = list.lines().filter_map(|line| line.strip_prefix("  "));
        for name in names.filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        {
            // A long description goes on further to the right.
            let name = name.split(' ').next().unwrap_or_default();
            if name != "help" {
                to_ask.push(format!("{command} {name}").trim().to_owned());
            }
        }
        found.push((command, help));
    }
    assert!(found.len() > 15, "{} commands were found", found.len());
    found
}

/// Flags that a help names: `--dry-run`.
fn flags(help: &str) -> Vec<String> {
    let lines = help.lines().map(str::trim_start);
    let lines = lines.filter(|line| line.starts_with('-'));
    let named = lines.flat_map(|line| line.split([' ', ',', '=', '[']));
    let flags = named.filter(|word| word.len() > 2 && word.starts_with("--"));
    flags.map(str::to_owned).collect()
}

#[test]
fn every_command_has_a_manual_page_with_its_flags() {
    let scene = Scene::new();
    let mut command = scene.command(&["man", "--output", "man/man1"]);
    command.env("BAKEOFF_LIBRARY", "of-this-machine");
    scene.start_command(command).finish().expect(0);
    let mut pages = fs::read_dir(scene.path("man/man1")).unwrap().count();
    for (command, help) in commands(&scene) {
        let name = format!("bakeoff {command}").trim().replace(' ', "-");
        let page = scene.path(&format!("man/man1/{name}.1"));
        let page = fs::read_to_string(&page).unwrap_or_else(|_| panic!("no page {name}.1"));
        for flag in flags(&help) {
            let flag = flag.replace('-', "\\-");
            assert!(page.contains(&flag), "{name}.1 does not describe {flag}");
        }
        assert!(
            !page.contains("of-this-machine"),
            "{name}.1 names this machine"
        );
        pages -= 1;
    }
    assert_eq!(pages, 0, "pages of no command");
    let one = scene.run(&["man"]).expect(0).stdout;
    assert!(one.contains(".TH bakeoff 1"), "{one}");
    scene.write("file", "");
    scene
        .run(&["man", "--output", "file/man"])
        .expect(1)
        .says("file/man");
}

#[test]
fn every_shell_completes_every_command() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = scene.run(&["completions", shell]).expect(0).stdout;
        for (command, help) in commands(&scene) {
            for word in command.split_whitespace() {
                assert!(script.contains(word), "{shell} does not complete {word}");
            }
            for flag in flags(&help) {
                let short = flag.trim_start_matches('-');
                assert!(script.contains(short), "{shell}: no {flag} of {command}");
            }
        }
        assert!(
            !script.contains("agent\n"),
            "{shell} completes a hidden command"
        );
        let file = scene.write(shell, &script);
        if shell == "bash" {
            assert!(is_accepted(&file), "bash does not read its script");
        }
    }
}

fn is_accepted(script: &Path) -> bool {
    let bash = Command::new("bash").arg("-n").arg(script).status();
    bash.is_ok_and(|status| status.success())
}
