//! The keeper by itself, as bakeoff would meet it after a `kill -9`.

#![allow(clippy::print_stdout, reason = "the output says what was passed over")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::support::{keeper_program, kill, runs, wait_until};
use bakeoff_stage::{CgroupKind, cgroup_kind, keeper};
use rustix::process::Signal;

/// A launch as bakeoff writes it: these entries, and a command for the shell.
fn launch(script: &str, entries: &[&str]) -> Vec<u8> {
    let command = ["arg=/bin/sh", "arg=-c"]
        .into_iter()
        .chain(entries.iter().copied());
    let mut text: String = command.map(|entry| format!("{entry}\0")).collect();
    text += &format!("arg={script}\0\0");
    text.into_bytes()
}

/// A keeper, what it says, and the numbers of its program and its guard.
struct Keeping {
    keeper: Child,
    events: BufReader<ChildStdout>,
    main: u32,
    guard: u32,
}

fn keep(script: &str, folder: &Path) -> Keeping {
    keep_with(script, &[], folder)
}

fn keep_with(script: &str, entries: &[&str], folder: &Path) -> Keeping {
    let mut keeper = Command::new(keeper_program())
        .arg0(keeper::NAME)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let orders = launch(script, entries);
    keeper.stdin.as_mut().unwrap().write_all(&orders).unwrap();
    let mut events = BufReader::new(keeper.stdout.take().unwrap());
    let mut line = String::new();
    events.read_line(&mut line).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["started", main, "ungrouped", guard] = words.as_slice() else {
        panic!("{line}");
    };
    Keeping {
        main: main.parse().unwrap(),
        guard: guard.parse().unwrap(),
        keeper,
        events,
    }
}

/// A server, a worker that ignores signals, and a daemon in a session of its own, each of which
/// writes its number into a file.
const FAMILY: &str = "
sh -c 'trap \"\" TERM INT HUP; echo $$ > worker; while :; do sleep 1; done' &
setsid sh -c '(trap \"\" TERM; sh -c \"echo \\$PPID\" > daemon; while :; do sleep 1; done) &'
while :; do sleep 1; done
";

fn family(folder: &Path) -> Vec<u32> {
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
    let mut it = keep(FAMILY, folder.path());
    let mut pids = family(folder.path());
    pids.extend([it.main, it.guard]);
    assert!(pids.iter().all(|&pid| runs(pid)), "{pids:?}");
    drop(it.keeper.stdin.take());
    assert!(it.keeper.wait().unwrap().success());
    assert!(!pids.iter().any(|&pid| runs(pid)), "{pids:?}");
}

/// Kills or stops the keeper or its guard, which of them by `hit`, ends the pipe, and waits until
/// nothing is left.
#[track_caller]
fn check_nothing_left(hit: impl Fn(&Keeping)) {
    let folder = tempfile::tempdir().unwrap();
    let mut it = keep(FAMILY, folder.path());
    let mut pids = family(folder.path());
    pids.extend([it.main, it.guard]);
    hit(&it);
    drop(it.keeper.stdin.take());
    wait_until("nothing is left", || {
        let _ = it.keeper.try_wait();
        !pids.iter().any(|&pid| runs(pid))
    });
    it.keeper.wait().unwrap();
}

#[test]
fn nothing_survives_a_keeper_that_was_killed() {
    check_nothing_left(|it| kill(it.keeper.id(), Signal::KILL));
}

#[test]
fn nothing_survives_a_guard_that_was_killed() {
    check_nothing_left(|it| kill(it.guard, Signal::KILL));
}

#[test]
fn a_guard_that_was_stopped_is_woken() {
    check_nothing_left(|it| kill(it.guard, Signal::STOP));
}

#[test]
fn a_guard_that_was_stopped_is_woken_by_the_death_of_its_keeper() {
    check_nothing_left(|it| {
        kill(it.guard, Signal::STOP);
        kill(it.keeper.id(), Signal::KILL);
    });
}

/// In a PID namespace, the kernel does it. Takes root; elsewhere there is nothing to test.
#[test]
fn nothing_survives_both_where_they_may_use_a_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo $$ >inner; setsid sleep 600 & sleep 600 & wait";
    let mut it = keep_with(script, &["namespace=yes"], folder.path());
    wait_until("the script has started", || {
        std::fs::read_to_string(folder.path().join("inner")).is_ok_and(|text| text.len() > 1)
    });
    let inner = std::fs::read_to_string(folder.path().join("inner")).unwrap();
    let below = |parent: u32| -> Vec<u32> {
        let path = format!("/proc/{parent}/task/{parent}/children");
        let children = std::fs::read_to_string(path).unwrap_or_default();
        children
            .split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect()
    };
    assert_eq!(below(it.guard), [it.main], "numbers are those outside");
    if inner.trim() == it.main.to_string() {
        assert!(!rustix::process::geteuid().is_root() || std::env::var_os("CI").is_none());
        println!("PASSED OVER: no PID namespace can be had here");
        drop(it.keeper.stdin.take());
        it.keeper.wait().unwrap();
        return;
    }
    wait_until("both sleep", || below(it.main).len() == 2);
    let mut pids = below(it.main);
    pids.extend([it.main, it.guard]);
    kill(it.guard, Signal::STOP);
    kill(it.keeper.id(), Signal::STOP);
    kill(it.keeper.id(), Signal::KILL);
    wait_until("nothing is left", || !pids.iter().any(|&pid| runs(pid)));
    it.keeper.wait().unwrap();
}

#[test]
fn nobody_finds_a_keeper_by_the_name_of_what_it_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let mut it = keep("sleep 600", folder.path());
    for pid in [it.keeper.id(), it.guard] {
        let read = |file| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
        assert_eq!(read("cmdline"), "keeper\0");
    }
    drop(it.keeper.stdin.take());
    it.keeper.wait().unwrap();
}

#[test]
fn a_keeper_lists_itself_before_it_starts_anything() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("keepers");
    std::fs::write(&list, "boot x\n").unwrap();
    let note = format!("note={}", list.display());
    let mut it = keep_with("cp keepers seen", &[&note], folder.path());
    let seen = folder.path().join("seen");
    wait_until("it has looked", || {
        std::fs::read_to_string(&seen).is_ok_and(|text| text.lines().count() == 3)
    });
    let text = std::fs::read_to_string(seen).unwrap();
    for (line, pid) in text.lines().skip(1).zip([it.keeper.id(), it.guard]) {
        assert!(line.starts_with(&format!("keeper {pid} ")), "{text}");
    }
    drop(it.keeper.stdin.take());
    it.keeper.wait().unwrap();
}

#[test]
fn a_program_runs_as_the_user_that_is_asked_for() {
    if !rustix::process::geteuid().is_root() {
        return println!("PASSED OVER: only root can become another user");
    }
    let folder = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let user = ["uid=65534", "gid=65533"];
    let mut it = keep_with(
        "id -u >user; id -g >>user; id -G >>user",
        &user,
        folder.path(),
    );
    let mut line = String::new();
    it.events.read_line(&mut line).unwrap();
    assert_eq!(line, "exited ok exit code 0\n");
    let text = std::fs::read_to_string(folder.path().join("user")).unwrap();
    assert_eq!(text, "65534\n65533\n65533\n");
    drop(it.keeper.stdin.take());
    it.keeper.wait().unwrap();
}

#[test]
fn signals_do_not_move_the_keeper() {
    let folder = tempfile::tempdir().unwrap();
    let mut it = keep(FAMILY, folder.path());
    family(folder.path());
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        kill(it.keeper.id(), signal);
        kill(it.guard, signal);
    }
    assert!(it.keeper.try_wait().unwrap().is_none());
    assert!(runs(it.guard) && runs(it.main));
    drop(it.keeper.stdin.take());
    assert!(it.keeper.wait().unwrap().success());
    assert!(!runs(it.main));
}

#[test]
fn a_child_has_the_signals_of_a_fresh_program_and_no_files_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status > signals; ls /proc/self/fd > files";
    let mut it = keep(script, folder.path());
    let mut line = String::new();
    it.events.read_line(&mut line).unwrap();
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
    drop(it.keeper.stdin.take());
    it.keeper.wait().unwrap();
}

#[test]
fn a_program_that_is_not_there_is_line() {
    let mut keeper = Command::new(keeper_program())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let orders = b"arg=/no/such/program\0\0";
    keeper.stdin.as_mut().unwrap().write_all(orders).unwrap();
    let mut lines = BufReader::new(keeper.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(
        line.starts_with("failed run `/no/such/program`: "),
        "{line}"
    );
    assert_eq!(lines.next().unwrap().unwrap(), "errno 2");
    assert_eq!(keeper.wait().unwrap().code(), Some(1));
}

/// Number, start and PID namespace of this process, as the name of a group has them.
fn own_group() -> [String; 3] {
    let pid = std::process::id().to_string();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // After the name in brackets, which may hold anything.
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19);
    let namespace = std::fs::metadata("/proc/self/ns/pid").unwrap().ino();
    [pid, started.unwrap().to_owned(), namespace.to_string()]
}

#[test]
fn groups_of_bakeoffs_that_have_ended_are_removed_with_what_is_in_them() {
    let theatre = crate::support::Theatre::new();
    let Some(base) = theatre.stage.group_folder() else {
        return assert!(!matches!(
            cgroup_kind(),
            CgroupKind::V2 | CgroupKind::V2BesideV1
        ));
    };
    let own = own_group();
    let named = |pid: &str, started: &str, number: &str| {
        base.join(format!("bakeoff-{pid}-{started}-{}-{number}", own[2]))
    };
    // No process has a number as high as this.
    let left_over = named("999999999", "1", "0");
    let of_this_process = named(&own[0], &own[1], "999999");
    // This process's number, and another start.
    let of_an_earlier_one = named(&own[0], "1", "0");
    std::fs::create_dir_all(&of_an_earlier_one).unwrap();
    std::fs::create_dir_all(&of_this_process).unwrap();
    let mut orphan = Command::new("sleep").arg("600").spawn().unwrap();
    // Another bakeoff of this machine may remove the group before anything is in it.
    wait_until("the orphan is in its group", || {
        std::fs::create_dir_all(&left_over).is_ok()
            && std::fs::write(left_over.join("cgroup.procs"), orphan.id().to_string()).is_ok()
    });
    // A busy machine takes a moment to end the orphan; until then its group cannot be removed, and
    // the next bakeoff tries again.
    wait_until("both groups are gone", || {
        crate::support::Theatre::new();
        !left_over.exists() && !of_an_earlier_one.exists()
    });
    assert!(!orphan.wait().unwrap().success());
    assert!(of_this_process.exists());
    std::fs::remove_dir(of_this_process).unwrap();
}
