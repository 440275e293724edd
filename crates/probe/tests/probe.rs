//! The probe on real processes, which all end by themselves after a bounded time.

#![allow(clippy::unwrap_used, reason = "a test ends where its setting fails")]

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bakeoff_probe::{Probe, ProbeError, ProbeOptions, TreeSource, cpu_share_of_others};
use bakeoff_record::{Role, TreeTick, Usage};

/// Spins for `count` rounds of a shell's counting, and ends.
const SPIN: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

fn shell(script: &str) -> Child {
    shell_into(script, Stdio::null())
}

fn shell_into(script: &str, output: Stdio) -> Child {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(output);
    command.spawn().unwrap()
}

/// A shell whose script has come to its `echo`.
fn shell_at_echo(script: &str) -> Child {
    let mut child = shell_into(script, Stdio::piped());
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child
}

/// A shell that stands at the `read` before `script`: what it used to get there is behind it.
fn shell_at_read(script: &str) -> Child {
    let child = shell_at_echo(&format!("echo; read x; {script}"));
    // After its line the shell sleeps nowhere but in `read`.
    let (stat, started) = (format!("/proc/{}/stat", child.id()), Instant::now());
    while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
        assert!(started.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

fn tree(role: Role, root: u32) -> TreeSource {
    TreeSource {
        role,
        root,
        include_root: true,
        cgroup: None,
        limited: None,
    }
}

/// Waits for so many more readings.
fn read_on(probe: &Probe, more: u64) {
    let (before, started) = (probe.readings(), Instant::now());
    while probe.readings() < before + more {
        assert!(started.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn start(trees: Vec<TreeSource>) -> Probe {
    let period = Duration::from_millis(10);
    Probe::start(ProbeOptions {
        zero: Instant::now(),
        period,
        trees,
        listeners: Vec::new(),
        network: false,
        pin: None,
    })
    .unwrap()
}

fn cpu_s(tick: &TreeTick) -> f64 {
    tick.cpu_user_s + tick.cpu_system_s
}

/// Lets a child go past the `read` at the start of its script, and waits for its end.
fn release(child: &mut Child) {
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Waits until the shell is the `sleep` that ends its script.
fn until_it_sleeps(child: &Child) {
    let (comm, started) = (format!("/proc/{}/comm", child.id()), Instant::now());
    while std::fs::read_to_string(&comm).unwrap().trim() != "sleep" {
        assert!(started.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What is counted never shrinks, and time goes on.
fn check_ordered(usage: &Usage) {
    for tree in &usage.trees {
        for pair in tree.ticks.windows(2) {
            assert!(pair[0].at_s < pair[1].at_s);
            assert!(pair[0].cpu_user_s <= pair[1].cpu_user_s);
            assert!(pair[0].cpu_system_s <= pair[1].cpu_system_s);
            assert!(pair[0].switches_voluntary <= pair[1].switches_voluntary);
        }
    }
}

#[test]
fn a_busy_process_is_seen_at_work() {
    let mut child = shell_at_read(&format!("{SPIN}; exec sleep 60"));
    let probe = start(vec![tree(Role::Server, child.id())]);
    drop(child.stdin.take());
    until_it_sleeps(&child);
    read_on(&probe, 10);
    let usage = probe.stop();
    child.kill().unwrap();
    child.wait().unwrap();

    check_ordered(&usage);
    let ticks = &usage.trees[0].ticks;
    let (first, last) = (&ticks[0], &ticks[ticks.len() - 1]);
    assert_eq!(cpu_s(first), 0.0);
    assert!(cpu_s(last) > 0.0);
    assert_eq!((last.processes, last.threads), (1, 1));
    assert!(last.rss_bytes > 0 && last.pss_bytes.is_some_and(|pss| pss > 0));
    assert!(last.pss_bytes.unwrap() <= last.rss_bytes);
    assert!(last.open_files.is_some_and(|files| files >= 2));
    // Steps of a clock tick would make all differences whole multiples of 10 ms.
    assert!(
        ticks
            .iter()
            .any(|tick| (cpu_s(tick) * 100.0).fract() > 1e-6)
    );
    assert_eq!(usage.probe.ticks, ticks.len() as u64);
    assert!(usage.probe.cpu_s > 0.0 && usage.probe.tick_s_max > 0.0);
    assert!(!usage.host.is_empty() && usage.host[0].cpus.len() <= usage.host.len() * 1024);
    assert!(!usage.tcp.is_empty());
}

#[test]
fn work_of_children_that_ended_is_not_lost() {
    // Each command is a child that lives much shorter than the time between two readings.
    let script = "for i in 1 2 3 4 5 6; do sh -c 'i=0; while [ $i -lt 200000 ]; \
                  do i=$((i+1)); done'; done; read y; exec sleep 60";
    let mut child = shell_at_read(script);
    let period = Duration::from_secs(60);
    let trees = vec![tree(Role::Server, child.id())];
    let options = ProbeOptions {
        zero: Instant::now(),
        period,
        trees,
        listeners: Vec::new(),
        network: false,
        pin: None,
    };
    let probe = Probe::start(options).unwrap();
    drop(child.stdin.take());
    // The last command of the script keeps the shell there when its children are done.
    until_it_sleeps(&child);
    let usage = probe.stop();
    child.kill().unwrap();
    child.wait().unwrap();
    let ticks = &usage.trees[0].ticks;
    assert_eq!(
        ticks.len(),
        2,
        "only the first and the last reading were due"
    );
    // The shell itself only waited: 1,200,000 rounds are not its own.
    assert!(cpu_s(&ticks[1]) > 0.05, "{ticks:?}");
}

/// A line that a child prints.
fn line(child: &mut Child) -> String {
    let output = child.stdout.as_mut().unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while byte != [b'\n'] {
        output.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap().trim().to_owned()
}

/// Lets a child go past the `read` at the start of its script, until its worker has worked, and
/// then until that has ended; with the number of the worker.
fn work_and_end(probe: &Probe, child: &mut Child, until_it_has_ended: impl FnOnce(&Child, &str)) {
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"\n").unwrap();
    let worker = line(child);
    // Some readings with the worker in them.
    read_on(probe, 10);
    drop(input);
    until_it_has_ended(child, &worker);
}

fn check_worker(usage: &Usage) {
    let tree = &usage.trees[0];
    let ended = tree.ended.as_ref().unwrap();
    let [worker] = ended.as_slice() else {
        panic!("the worker alone did work and ended: {ended:?}");
    };
    let (first, last) = (&tree.ticks[0], &tree.ticks[tree.ticks.len() - 1]);
    assert!(first.at_s < worker.from_s && worker.from_s < worker.last_s);
    assert!(worker.last_s < last.at_s, "{worker:?}");
    let is_last = |tick: &TreeTick| (tick.at_s - worker.last_s).abs() < 1e-9;
    assert!(tree.ticks.iter().any(is_last), "{worker:?}");
    assert!(
        worker.cpu_s >= 0.01 && worker.cpu_s <= cpu_s(last) + 1e-6,
        "{worker:?}"
    );
}

#[test]
fn a_worker_that_ends_is_kept_with_what_it_used() {
    // What does next to nothing is not kept.
    let script = format!("sh -c '{SPIN}; echo $$; read y'; sh -c :; exec sleep 60");
    let mut child = shell_at_read(&script);
    let probe = start(vec![tree(Role::Server, child.id())]);
    work_and_end(&probe, &mut child, |child, _| until_it_sleeps(child));
    let usage = probe.stop();
    child.kill().unwrap();
    child.wait().unwrap();
    check_ordered(&usage);
    check_worker(&usage);
}

#[test]
fn a_worker_that_nobody_waits_for_ends_once() {
    // What runs in the background reads from nowhere, unless it is redirected.
    let worker = format!("sh -c '{SPIN}; echo $$; read y <&3'");
    let script = format!("exec 3<&0; {worker} & exec sleep 60");
    let mut child = shell_at_read(&script);
    let probe = start(vec![tree(Role::Server, child.id())]);
    work_and_end(&probe, &mut child, |_, worker| {
        let (stat, started) = (format!("/proc/{worker}/stat"), Instant::now());
        while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
            assert!(started.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    // Some readings with what is left of it.
    read_on(&probe, 3);
    let usage = probe.stop();
    child.kill().unwrap();
    child.wait().unwrap();
    check_worker(&usage);
}

#[test]
fn trees_do_not_take_what_belongs_to_others() {
    let mut child = shell_at_echo("sh -c 'read x' & sleep 60 & echo; read y; kill $!; wait");
    let probe = start(vec![
        tree(Role::Server, child.id()),
        tree(Role::Engine, std::process::id()),
    ]);
    read_on(&probe, 10);
    let usage = probe.stop();
    release(&mut child);
    let last = |index: usize| usage.trees[index].ticks.last().unwrap();
    assert!(last(0).processes >= 2, "{:?}", last(0));
    assert_eq!(
        last(1).processes,
        1,
        "the engine is one process, whatever it started"
    );
    assert!(last(1).threads >= 2 && cpu_s(last(1)) > 0.0);
    check_ordered(&usage);
}

#[test]
fn a_control_group_gives_its_members_and_their_time() {
    let mut child = shell("read x");
    let folder = std::env::temp_dir().join(format!("bakeoff-probe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("cgroup.procs", &format!("{}\n", child.id()));
    write(
        "cpu.stat",
        "usage_usec 3000000\nuser_usec 1000000\nsystem_usec 2000000\n",
    );
    let source = TreeSource {
        cgroup: Some(folder.clone()),
        limited: None,
        ..tree(Role::Server, child.id())
    };
    let probe = start(vec![source]);
    write(
        "cpu.stat",
        "usage_usec 3750000\nuser_usec 1250000\nsystem_usec 2500000\n",
    );
    let usage = probe.stop();
    release(&mut child);
    std::fs::remove_dir_all(&folder).unwrap();

    let tree = &usage.trees[0];
    let last = tree.ticks.last().unwrap();
    assert_eq!(tree.cpu_source, "cgroup");
    assert_eq!(
        (last.cpu_user_s, last.cpu_system_s, last.processes),
        (0.25, 0.5, 1)
    );
}

#[test]
fn only_descendants_where_the_root_is_left_out() {
    let mut child = shell_at_echo("sleep 60 & echo; read y; kill $!; wait");
    let source = TreeSource {
        include_root: false,
        ..tree(Role::Server, child.id())
    };
    let probe = start(vec![source]);
    read_on(&probe, 10);
    let usage = probe.stop();
    release(&mut child);
    assert_eq!(usage.trees[0].ticks.last().unwrap().processes, 1);
}

#[test]
fn a_tree_that_ends_keeps_what_it_used() {
    let mut child = shell_at_read(&format!("{SPIN}; echo; read y"));
    let probe = start(vec![tree(Role::Server, child.id())]);
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    line(&mut child);
    // One of them begins behind its work.
    read_on(&probe, 2);
    release(&mut child);
    read_on(&probe, 1);
    let usage = probe.stop();
    check_ordered(&usage);
    let last = usage.trees[0].ticks.last().unwrap();
    assert!(cpu_s(last) > 0.0);
    assert_eq!((last.processes, last.rss_bytes), (0, 0));
}

#[test]
fn the_axis_starts_where_it_is_set() {
    let probe = start(vec![tree(Role::Engine, std::process::id())]);
    read_on(&probe, 2);
    probe.set_zero(Instant::now());
    read_on(&probe, 2);
    let usage = probe.stop();
    let ticks = &usage.trees[0].ticks;
    assert!(ticks[0].at_s < 0.0 && ticks[ticks.len() - 1].at_s > 0.0);
    assert!(usage.tcp[0].at_s < 0.0);
    assert_eq!(
        (usage.tcp[0].retransmits, usage.tcp[0].listen_drops),
        (0, 0)
    );
}

#[test]
fn what_cannot_be_sampled_is_an_error() {
    let mut child = shell("exit 0");
    child.wait().unwrap();
    let mut options = ProbeOptions {
        zero: Instant::now(),
        period: Duration::from_millis(10),
        trees: vec![tree(Role::Server, child.id())],
        listeners: Vec::new(),
        network: false,
        pin: None,
    };
    let error = Probe::start(options.clone()).unwrap_err();
    assert!(
        error.to_string().contains(&child.id().to_string()),
        "{error}"
    );
    (options.trees, options.pin) = (Vec::new(), Some(vec![1000]));
    assert!(matches!(Probe::start(options), Err(ProbeError::Pin { .. })));
}

#[test]
fn others_take_a_share() {
    let share = cpu_share_of_others(Duration::from_millis(200)).unwrap();
    assert!((0.0..=1.0).contains(&share));
}

#[test]
fn the_machine_and_the_accept_queue_are_seen_beside_the_processes() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _waiting = std::net::TcpStream::connect(address).unwrap();
    let mut child = shell_at_read(&format!("{SPIN}; {SPIN}; exec sleep 60"));
    let probe = Probe::start(ProbeOptions {
        zero: Instant::now(),
        period: Duration::from_millis(20),
        trees: vec![tree(Role::Server, child.id())],
        listeners: vec![(Role::Server, address.port())],
        network: true,
        pin: None,
    })
    .unwrap();
    drop(child.stdin.take());
    until_it_sleeps(&child);
    read_on(&probe, 12);
    let usage = probe.stop();
    child.kill().unwrap();
    child.wait().unwrap();

    assert!(usage.listeners.iter().all(|tick| tick.queue == 1));
    assert_eq!(usage.listeners.len() as u64, usage.probe.ticks);
    let ticks = &usage.trees[0].ticks;
    let busiest = ticks.iter().filter_map(|tick| tick.busiest_thread);
    let busiest = busiest.fold(0.0, f64::max);
    assert!(busiest > 0.0 && busiest <= 1.0, "{busiest}");
    let looks = ticks.iter().filter(|tick| tick.busiest_thread.is_some());
    assert!(
        looks
            .map(|tick| tick.busiest_thread_waited)
            .all(|waited| { waited.is_some_and(|waited| (0.0..=1.0).contains(&waited)) })
    );
    assert!(ticks.iter().all(|tick| tick.major_faults.is_some()));
    let slow = || {
        usage
            .host
            .iter()
            .filter(|tick| tick.load_average_1m.is_some())
    };
    assert!(slow().count() > 0 && slow().count() < usage.host.len());
    assert!(slow().all(|tick| tick.memory_available_bytes.is_some_and(|bytes| bytes > 0)));
    let switches = usage.host.iter().map(|tick| tick.context_switches.unwrap());
    assert!(switches.is_sorted());
}
