//! From start to stop with scripts as servers: none of their processes may survive, whatever
//! they do.

use std::path::Path;
use std::time::Duration;

use crate::support::{
    PATIENCE, SERVE, Theatre, contender, fetch, hello, kill, runs, wait_until, workload,
};
use bakeoff_plan::{Contender, Expected, OwnCommand, Readiness, Request, ServerChoice, Stopping};
use bakeoff_record::When;
use bakeoff_stage::{Cause, CgroupKind, Helper, Running, check_command};
use rustix::process::Signal;

/// Makes itself a daemon twice over and leaves a second one beside it.
const DAEMON: &str = "
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
if os.fork() == 0:
    os.setsid()
    while True: time.sleep(60)
signal.signal(signal.SIGTERM, signal.SIG_IGN) if 'stubborn' in sys.argv else None
serve({{ port }})
";

#[test]
fn a_server_answers_and_stops_when_asked() {
    let theatre = Theatre::new();
    let script = theatre.script("print('good morning')\nserve({{ port }})");
    let mut running = theatre.start(&script, PATIENCE).unwrap();
    assert!(running.address().ip().is_loopback());
    assert_eq!(running.died(), None);
    let answer = fetch(&running, &hello(), When::After).unwrap().check;
    assert!(answer.right);
    assert_eq!((answer.status, answer.body_bytes), (200, 5));
    assert_eq!(
        answer.body_sha256,
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    );
    let mut other = hello();
    other.requests = workload("hello", "/", "goodbye").requests;
    assert!(!fetch(&running, &other, When::After).unwrap().check.right);
    let facts = running.facts();
    assert_eq!(facts.server_header.as_deref(), Some("script"));
    assert_eq!(facts.binary_sha256.len(), 64);
    assert_eq!(facts.configs[0].path, "logs/trial/main.py");
    assert!(
        facts.configs[0]
            .text
            .contains(&format!("serve({})", running.address().port()))
    );
    let (pids, log) = (running.pids(), running.log().to_owned());
    assert!(pids.contains(&running.tree().main_pid));
    let stopped = running.stop().unwrap();
    assert!(stopped.graceful);
    assert_eq!(stopped.status.as_deref(), Some("killed by signal 15"));
    assert!(!pids.into_iter().any(runs));
    assert_eq!(std::fs::read_to_string(log).unwrap(), "good morning\n");
    assert_eq!(
        std::fs::read_dir(theatre.folder.path().join("run"))
            .unwrap()
            .count(),
        0
    );
}

/// Whether a process can get no more rights than it has.
fn is_confined(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("NoNewPrivs:"));
    line.unwrap().trim() == "1"
}

#[test]
fn a_server_of_a_folder_gets_no_more_rights_and_a_command_may() {
    let theatre = Theatre::new();
    let script = theatre.script("serve({{ port }})");
    let running = theatre.start(&script, PATIENCE).unwrap();
    assert!(is_confined(running.tree().main_pid));
    running.stop().unwrap();
    let own = command(&theatre, "serve(int(os.environ['PORT']))");
    let running = start_command(&theatre, &own);
    // Whoever runs the tests may be confined already, and who is behind sudo is for the command.
    if std::env::var_os("SUDO_UID").is_none() {
        let caller = is_confined(std::process::id());
        assert_eq!(is_confined(running.tree().main_pid), caller);
    }
    running.stop().unwrap();
}

#[test]
fn daemons_are_held_and_ended() {
    let theatre = Theatre::new();
    let mut running = theatre.start(&theatre.script(DAEMON), PATIENCE).unwrap();
    let pids = running.pids();
    assert!(pids.len() >= 2, "{pids:?}");
    assert!(
        !runs(running.tree().main_pid),
        "it has left the stage to its daemons"
    );
    assert_eq!(running.died(), None, "becoming a daemon is no death");
    running.stop().unwrap();
    assert!(!pids.into_iter().any(runs));
}

#[test]
fn a_daemon_that_ends_by_itself_has_died() {
    let theatre = Theatre::new();
    let mut running = theatre.start(&theatre.script(DAEMON), PATIENCE).unwrap();
    for pid in running.pids() {
        kill(pid, Signal::KILL);
    }
    wait_until("the death is known", || running.died().is_some());
}

#[test]
fn a_server_that_ignores_the_signal_is_killed() {
    let theatre = Theatre::new();
    let body = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nserve({{ port }})";
    let running = theatre.start(&theatre.script(body), PATIENCE).unwrap();
    let pids = running.pids();
    let stopped = running.stop().unwrap();
    assert!(!stopped.graceful);
    assert_eq!(stopped.status.as_deref(), Some("killed by signal 9"));
    assert!(!pids.into_iter().any(runs));
}

#[test]
fn a_frozen_server_is_stopped_all_the_same() {
    let theatre = Theatre::new();
    let running = theatre
        .start(&theatre.script("serve({{ port }})"), PATIENCE)
        .unwrap();
    kill(running.tree().main_pid, Signal::STOP);
    assert!(running.stop().unwrap().graceful);
}

#[test]
fn dropping_ends_everything() {
    let theatre = Theatre::new();
    let running = theatre.start(&theatre.script(DAEMON), PATIENCE).unwrap();
    let (pids, tree) = (running.pids(), running.tree());
    drop(running);
    assert!(!pids.into_iter().any(runs));
    assert!(!runs(tree.keeper_pid));
    assert!(tree.cgroup.is_none_or(|group| !group.exists()));
}

#[test]
fn a_death_in_mid_trial_is_reported_with_its_status() {
    let theatre = Theatre::new();
    let mut running = theatre
        .start(&theatre.script("serve({{ port }})"), PATIENCE)
        .unwrap();
    kill(running.tree().main_pid, Signal::KILL);
    let mut died = None;
    wait_until("the death is known", || {
        died = running.died();
        died.is_some()
    });
    assert_eq!(died.as_deref(), Some("killed by signal 9"));
    assert!(fetch(&running, &hello(), When::After).is_err());
    running.stop().unwrap();
}

#[test]
fn a_killed_keeper_takes_the_server_along() {
    let theatre = Theatre::new();
    let body = "
if os.fork() == 0:
    while True: time.sleep(60)
serve({{ port }})";
    let mut running = theatre.start(&theatre.script(body), PATIENCE).unwrap();
    let (pids, tree) = (running.pids(), running.tree());
    assert_eq!(pids.len(), 2);
    kill(tree.keeper_pid, Signal::KILL);
    wait_until("the server itself has ended", || !runs(tree.main_pid));
    wait_until("the death is known", || running.died().is_some());
    running.stop().unwrap();
    assert!(!pids.into_iter().any(runs));
}

#[test]
fn the_tree_is_alone_in_its_group_and_on_its_processor() {
    let theatre = Theatre::new();
    let script = theatre.script(DAEMON);
    let mut surroundings = theatre.surroundings();
    surroundings.cpus = vec![0];
    let prepared = theatre
        .stage
        .prepare(&script, &hello(), &surroundings)
        .unwrap();
    let running = prepared.start(PATIENCE).unwrap();
    let tree = running.tree();
    for pid in running.pids() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
    match theatre.stage.cgroup_kind() {
        CgroupKind::V2 | CgroupKind::V2BesideV1 => {
            let group = tree.cgroup.expect("a group was to be had");
            let members = std::fs::read_to_string(group.join("cgroup.procs")).unwrap();
            let mut members: Vec<u32> = members.lines().map(|pid| pid.parse().unwrap()).collect();
            let mut pids = running.pids();
            members.sort_unstable();
            pids.sort_unstable();
            assert_eq!(members, pids);
            assert!(!members.contains(&tree.keeper_pid));
            running.stop().unwrap();
            assert!(!group.exists());
        }
        CgroupKind::V1 | CgroupKind::None => assert_eq!(tree.cgroup, None),
    }
}

#[test]
fn a_helper_is_ready_when_it_says_so() {
    let theatre = Theatre::new();
    let helper = |script: &str, within| Helper {
        name: "origin".to_owned(),
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        cpus: Vec::new(),
        log: theatre.folder.path().join("helper.log"),
        within,
        certificate: None,
        boxed: None,
        body: None,
    };
    let good = helper(
        "echo warming up; echo listening on 127.0.0.1:9; exec sleep 600",
        PATIENCE,
    );
    let running = theatre.stage.start_helper(&good).unwrap();
    assert_eq!(running.address().to_string(), "127.0.0.1:9");
    assert_eq!(running.facts().server, "origin");
    assert_eq!(running.said("warming ").as_deref(), Some("up"));
    assert_eq!(running.said("cooling "), None);
    let main = running.tree().main_pid;
    running.stop().unwrap();
    assert!(!runs(main));

    let silent = helper("exec sleep 600", Duration::from_millis(100));
    let error = theatre.stage.start_helper(&silent).unwrap_err();
    assert!(
        matches!(*error.cause, Cause::NeverListened { .. }),
        "{error}"
    );

    let dead = helper("echo no room >&2; exit 7", PATIENCE);
    let error = theatre.stage.start_helper(&dead).unwrap_err();
    assert!(error.to_string().contains("exit code 7"), "{error}");
    assert!(error.message.unwrap().contains("no room"));
}

#[test]
fn a_helper_is_given_a_certificate_that_goes_with_it() {
    let theatre = Theatre::new();
    let script = "grep -l BEGIN $2 $4; echo listening on 127.0.0.1:9; exec sleep 600";
    let helper = Helper {
        name: "yardstick".to_owned(),
        command: ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec(),
        cpus: Vec::new(),
        log: theatre.folder.path().join("helper.log"),
        within: PATIENCE,
        certificate: Some(bakeoff_plan::CertificateKey::EcdsaP256),
        boxed: None,
        body: None,
    };
    let running = theatre.stage.start_helper(&helper).unwrap();
    let flags = running.facts().command[4..].to_vec();
    assert_eq!([&flags[0], &flags[2]], ["--certificate", "--key"]);
    let log = std::fs::read_to_string(&helper.log).unwrap();
    let files = [&flags[1], &flags[3]].map(Path::new);
    assert!(
        files
            .iter()
            .all(|file| log.contains(&*file.to_string_lossy())),
        "{log}"
    );
    assert!(running.authority().unwrap().is_file());
    running.stop().unwrap();
    assert!(!files.iter().any(|file| file.exists()));
}

#[test]
fn a_reference_is_not_prepared_as_a_program() {
    let theatre = Theatre::new();
    let mut yardstick = contender(
        "script",
        bakeoff_plan::ConfigSource::Variant("x".to_owned()),
    );
    yardstick.server = bakeoff_plan::ServerChoice::Yardstick;
    let error = theatre.prepare(&yardstick).unwrap_err();
    assert!(matches!(*error.cause, Cause::BuiltIn { .. }), "{error}");
}

/// Where `hold_two_servers` says what it holds.
const HELD: &str = "BAKEOFF_TEST_HELD";

/// No test but a stage of its own in another process, for the test below.
#[test]
#[ignore = "is started by `nothing_survives_a_kill_of_the_program_itself`"]
fn hold_two_servers() {
    let Some(file) = std::env::var_os(HELD) else {
        return;
    };
    let theatre = Theatre::new();
    let script = theatre.script(DAEMON);
    let first = theatre.start(&script, PATIENCE).unwrap();
    let second = theatre.start(&script, PATIENCE).unwrap();
    let mut text = String::new();
    for running in [&first, &second] {
        let tree = running.tree();
        for pid in running.pids().into_iter().chain([tree.keeper_pid]) {
            text += &format!("/proc/{pid}\n");
        }
        text += &tree
            .cgroup
            .map(|group| format!("{}\n", group.display()))
            .unwrap_or_default();
    }
    std::fs::write(file, text + "end\n").unwrap();
    std::thread::sleep(10 * PATIENCE);
}

#[test]
fn nothing_survives_a_kill_of_the_program_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("held");
    let mut program = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "life::hold_two_servers", "--ignored"])
        .env(HELD, &file)
        .env("TMPDIR", folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let held = || std::fs::read_to_string(&file).unwrap_or_default();
    wait_until("both servers are held", || held().ends_with("end\n"));
    let held = held();
    let paths: Vec<&str> = held.lines().filter(|line| line.starts_with('/')).collect();
    assert!(paths.len() >= 6, "{held}");
    let there = |path: &&&str| match path.strip_prefix("/proc/") {
        Some(pid) => runs(pid.parse().unwrap()),
        None => std::path::Path::new(path).exists(),
    };
    assert!(paths.iter().all(|path| there(&path)), "{held}");
    program.kill().unwrap();
    program.wait().unwrap();
    wait_until("all is gone", || !paths.iter().any(|path| there(&path)));
}

/// A command line of a user's own, with the program `body` as `app.py`.
fn command(theatre: &Theatre, body: &str) -> (Contender, OwnCommand) {
    let folder = theatre.folder.path().to_owned();
    std::fs::write(folder.join("app.py"), format!("{SERVE}\n{body}\n")).unwrap();
    let own = OwnCommand {
        command: "python3 -u app.py".to_owned(),
        environment: Vec::new(),
        folder,
        fresh: Vec::new(),
        ready: Readiness::default(),
        stop: Stopping::default(),
    };
    let server = ServerChoice::Command(own.clone());
    (Contender::plain("app".to_owned(), server), own)
}

/// Starts the command for a workload that takes any answer.
fn start_command(theatre: &Theatre, (contender, own): &(Contender, OwnCommand)) -> Running {
    let mut any = hello();
    any.requests = Request {
        expect: Expected::first_answer(),
        ..any.requests.first().clone()
    }
    .into();
    let surroundings = theatre.surroundings();
    let stage = &theatre.stage;
    let running = stage.start_command(contender, own, &any, &surroundings, PATIENCE);
    running.unwrap()
}

#[test]
fn a_command_is_asked_at_the_port_that_it_was_given_and_else_at_its_own() {
    let theatre = Theatre::new();
    // Port 0 is any: below it or above it, it answers first, and nothing is wrong with that.
    let beside = "
import threading
threading.Thread(target=serve, args=(0, b'beside'), daemon=True).start()
";
    let late = format!("{beside}time.sleep(0.1)\nserve(int(os.environ['PORT']))");
    let running = start_command(&theatre, &command(&theatre, &late));
    let answer = fetch(&running, &hello(), When::Before).unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.body), "hello");
    running.stop().unwrap();

    let alone = format!("{beside}time.sleep(600)");
    let running = start_command(&theatre, &command(&theatre, &alone));
    let answer = fetch(&running, &hello(), When::Before).unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.body), "beside");
    running.stop().unwrap();
}

#[test]
fn a_server_that_takes_long_for_each_answer_is_waited_for() {
    let theatre = Theatre::new();
    let slow = "
_recv = socket.socket.recv
def recv(self, count):
    time.sleep(2.5)
    return _recv(self, count)
socket.socket.recv = recv
serve(int(os.environ['PORT']))
";
    let running = start_command(&theatre, &command(&theatre, slow));
    running.stop().unwrap();
}

#[test]
fn a_command_that_is_no_program_is_refused_with_what_to_do() {
    let theatre = Theatre::new();
    let (_, mut own) = command(&theatre, "");
    own.command = "./app.py --fast".to_owned();
    let error = check_command(&own).unwrap_err().to_string();
    assert!(error.contains("chmod +x"), "{error}");
    own.command = "A=$PATH ./app.py".to_owned();
    check_command(&own).unwrap();
}
