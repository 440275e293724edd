//! The keeper by itself, as bakeoff would meet it after a `kill -9`.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use bakeoff_stage::{CgroupKind, cgroup_kind};
use rustix::process::Signal;
use support::{keeper_program, kill, runs, wait_until};

fn keep(script: &str, folder: &std::path::Path) -> (Child, BufReader<ChildStdout>, u32) {
    let mut keeper = Command::new(keeper_program())
        .args(["--", "/bin/sh", "-c", script])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(keeper.stdout.take().unwrap());
    let mut line = String::new();
    events.read_line(&mut line).unwrap();
    let pid = line.split_whitespace().nth(1).unwrap_or_default().parse();
    (keeper, events, pid.unwrap_or_else(|_| panic!("{line}")))
}

/// A server, a worker that ignores signals, and a daemon in a session of its own, each of which
/// writes its number into a file.
const FAMILY: &str = "
sh -c 'trap \"\" TERM INT HUP; echo $$ > worker; while :; do sleep 1; done' &
setsid sh -c '(trap \"\" TERM; sh -c \"echo \\$PPID\" > daemon; while :; do sleep 1; done) &'
while :; do sleep 1; done
";

fn family(folder: &std::path::Path) -> Vec<u32> {
    let mut pids = Vec::new();
    for name in ["worker", "daemon"] {
        let path = folder.join(name);
        let read = || {
            std::fs::read_to_string(&path)
                .ok()
                .and_then(|it| it.trim().parse::<u32>().ok())
        };
        wait_until("the family has started", || read().is_some());
        pids.extend(read());
    }
    pids
}

#[test]
fn the_end_of_the_pipe_is_the_end_of_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (mut keeper, _events, main) = keep(FAMILY, folder.path());
    let mut pids = family(folder.path());
    pids.push(main);
    assert!(pids.iter().all(|&pid| runs(pid)), "{pids:?}");
    drop(keeper.stdin.take());
    assert!(keeper.wait().unwrap().success());
    assert!(!pids.iter().any(|&pid| runs(pid)), "{pids:?}");
}

#[test]
fn signals_do_not_move_the_keeper() {
    let folder = tempfile::tempdir().unwrap();
    let (mut keeper, _events, main) = keep(FAMILY, folder.path());
    family(folder.path());
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        kill(keeper.id(), signal);
    }
    assert!(keeper.try_wait().unwrap().is_none());
    assert!(runs(main));
    drop(keeper.stdin.take());
    assert!(keeper.wait().unwrap().success());
    assert!(!runs(main));
}

#[test]
fn a_child_has_the_signals_of_a_fresh_program_and_no_files_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status > signals; ls /proc/self/fd > files";
    let (mut keeper, mut events, _) = keep(script, folder.path());
    let mut line = String::new();
    events.read_line(&mut line).unwrap();
    assert_eq!(line, "exited ok exit code 0\n");
    let signals = std::fs::read_to_string(folder.path().join("signals")).unwrap();
    // Signals 32 and 33 belong to the C library, which lets nobody touch them.
    let library = 0b11 << 31;
    for mask in signals
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
    {
        assert_eq!(
            u64::from_str_radix(mask, 16).unwrap() & !library,
            0,
            "{signals}"
        );
    }
    let files = std::fs::read_to_string(folder.path().join("files")).unwrap();
    // The fourth is the folder that `ls` reads.
    let files: Vec<&str> = files.lines().collect();
    assert_eq!(files, ["0", "1", "2", "3"]);
    drop(keeper.stdin.take());
    keeper.wait().unwrap();
}

#[test]
fn a_program_that_is_not_there_is_line() {
    let keeper = Command::new(keeper_program())
        .args(["--", "/no/such/program"])
        .stdin(Stdio::piped())
        .output()
        .unwrap();
    let line = String::from_utf8(keeper.stdout).unwrap();
    assert!(
        line.starts_with("failed run `/no/such/program`: "),
        "{line}"
    );
    assert_eq!(keeper.status.code(), Some(1));
}

#[test]
fn groups_of_bakeoffs_that_have_ended_are_removed_with_what_is_in_them() {
    let theatre = support::Theatre::new();
    let Some(base) = theatre.stage.group_folder() else {
        return assert!(!matches!(
            cgroup_kind(),
            CgroupKind::V2 | CgroupKind::V2BesideV1
        ));
    };
    // No process has a number as high as this.
    let left_over = base.join("bakeoff-999999999-0");
    let of_this_process = base.join(format!("bakeoff-{}-999999", std::process::id()));
    std::fs::create_dir(&left_over).unwrap();
    std::fs::create_dir(&of_this_process).unwrap();
    let mut orphan = Command::new("sleep").arg("600").spawn().unwrap();
    std::fs::write(left_over.join("cgroup.procs"), orphan.id().to_string()).unwrap();
    support::Theatre::new();
    assert!(!left_over.exists());
    assert!(!orphan.wait().unwrap().success());
    assert!(of_this_process.exists());
    std::fs::remove_dir(of_this_process).unwrap();
}
