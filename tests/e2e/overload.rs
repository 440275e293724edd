//! `bakeoff overload`: servers that each fail in a way of their own, named from their answers
//! alone; interrupted and continued. How fast anything is, is not judged here.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::files::trials;
use crate::support::scene::Scene;
use crate::support::servers::on_path;
use crate::support::{alone, pass_over};

/// A server that takes about a hundred requests a second, and what it does with more by its
/// argument.
const SERVER: &str = r#"
import collections, os, selectors, socket, sys, time

MODE = sys.argv[1]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nfine\n"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
CLOSE = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
recent = collections.deque()
tripped = False
listener = None
closed_until = 0

def listen():
    global listener
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ["PORT"])))
    listener.listen(1024)
    ready.register(listener, selectors.EVENT_READ)

def answer(now):
    """What is sent; beyond 130 requests in a second it is too much."""
    global tripped, closed_until, listener
    recent.append(now)
    while recent[0] < now - 1:
        recent.popleft()
    too_many = len(recent) > 130
    tripped = tripped or too_many
    if MODE == "queues":
        time.sleep(0.01)
    if MODE == "sheds" and too_many:
        recent.pop()
        return BUSY
    if MODE == "restarts":
        sum(range(20000))
    if MODE in ("crashes", "restarts") and too_many:
        os._exit(3)
    if MODE == "sticks" and tripped:
        time.sleep(0.2)
    if MODE == "refuses":
        if too_many and listener is not None:
            ready.unregister(listener)
            listener.close()
            listener = None
            closed_until = now + 0.6
            recent.clear()
        return CLOSE
    return OK

# A master process that starts its worker again.
while MODE == "restarts" and os.fork():
    os.wait()
    time.sleep(0.2)
# Not the one that its master process has, too.
ready = selectors.DefaultSelector()
listen()
while True:
    if listener is None and time.monotonic() > closed_until:
        listen()
    for key, _ in ready.select(0.05):
        if key.fileobj is listener:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ready.register(connection, selectors.EVENT_READ)
            continue
        if key.fileobj.fileno() < 0:
            continue
        connection = key.fileobj
        try:
            data = connection.recv(65536)
            if data:
                sent = answer(time.monotonic())
                connection.sendall(sent)
        except OSError:
            data = b""
        if not data or sent is CLOSE:
            ready.unregister(connection)
            connection.close()
"#;

/// From 20 requests a second to 250 and back, four seconds each: a machine that stands still for
/// less than a second is not taken for the server.
const SHORT: [&str; 12] = [
    "--capacity",
    "100",
    "--steps",
    "20%,250%,20%",
    "--step",
    "4s",
    "--patience",
    "1s",
    "--rounds",
    "1",
    "--clients",
    "200",
];

/// A scene with the server in it; `None` without Python.
fn scene() -> Option<Scene> {
    let Some(_) = on_path("python3") else {
        pass_over("no python3 was found");
        return None;
    };
    let scene = Scene::new();
    scene.write("server.py", SERVER);
    Some(scene)
}

fn overload<'a>(starts: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let mut command = vec!["overload", "--out", "record"];
    for start in starts {
        command.extend(["--start", start]);
    }
    command.extend(SHORT);
    command.extend_from_slice(more);
    command
}

fn starts(modes: &[&str]) -> Vec<String> {
    let start = |mode: &&str| format!("python3 server.py {mode}");
    modes.iter().map(start).collect()
}

fn classes(row: &Value) -> Vec<&str> {
    let seen = row["beyond"]["classes"].as_array().unwrap();
    let names = seen.iter().map(|one| one["class"].as_str().unwrap());
    names.collect()
}

/// What each has to show, and what it must not.
const EXPECTED: [(&str, &[&str], &[&str]); 7] = [
    (
        "holds",
        &[],
        &[
            // Queues are a matter of time, and so the machine's too.
            "refuse", "drop", "reset", "shed", "stall", "collapse", "crash",
        ],
    ),
    ("refuses", &["refuse"], &["shed", "crash", "metastable"]),
    (
        "queues",
        &["queue"],
        &["refuse", "shed", "crash", "metastable"],
    ),
    (
        "sheds",
        &["shed"],
        &["refuse", "crash", "collapse", "metastable"],
    ),
    ("crashes", &["crash"], &["shed", "metastable"]),
    ("restarts", &["crash"], &["shed", "metastable"]),
    (
        "sticks",
        &["queue", "metastable"],
        &["refuse", "shed", "crash"],
    ),
];

#[test]
fn each_server_is_named_by_what_it_does_beyond_its_capacity() {
    let _alone = alone();
    let Some(scene) = scene() else { return };
    let modes = EXPECTED.map(|(mode, _, _)| mode);
    let starts = starts(&modes);
    let found = scene.run(&overload(&starts, &["--format", "json"]));
    let found = found.expect(0);
    let document = found.json();
    assert_eq!(document["schema"], "bakeoff.overload/1");
    let rows = document["contenders"].as_array().unwrap();
    assert_eq!(rows.len(), EXPECTED.len());
    for (row, (mode, shows, shows_not)) in rows.iter().zip(EXPECTED) {
        let classes = classes(row);
        let evidence = &row["beyond"];
        for class in shows {
            assert!(classes.contains(class), "{mode} is {classes:?}: {evidence}");
        }
        for class in shows_not {
            assert!(
                !classes.contains(class),
                "{mode} is {classes:?}: {evidence}"
            );
        }
        let is_back = evidence["classes"]
            .to_string()
            .contains("the server came back");
        assert_eq!(is_back, mode == "restarts", "{mode}: {evidence}");
        let series = &row["ramps"][0]["series"];
        assert_eq!(series["steps"].as_array().unwrap().len(), 3, "{mode}");
    }
    let again = scene.json(&["report", "record", "--format", "json"]);
    assert_eq!(again, document);
    let plan = std::fs::read_to_string(scene.path("record/plan.toml")).unwrap();
    assert!(plan.contains("[[overload]]"), "{plan}");
    for (format, expected) in [
        ("text", "goodput"),
        ("md", "| contender |"),
        ("csv", "contender,workload,round,share"),
        ("html", "<svg viewBox"),
    ] {
        let shown = scene
            .run(&["report", "record", "--format", format])
            .expect(0);
        assert!(
            shown.stdout.contains(expected),
            "{format}: {}",
            shown.stdout
        );
    }
}

#[test]
fn a_ladder_follows_and_ends_where_the_machine_does() {
    let _alone = alone();
    let Some(scene) = scene() else { return };
    let starts = starts(&["holds"]);
    let more = [
        "--ladder=2,40,10000",
        "--rung",
        "1s",
        "--warmup",
        "100ms",
        "--format",
        "json",
    ];
    // The last rung needs more files than a process may have here.
    let arguments = overload(&starts, &more);
    let script = "ulimit -n 4096; exec \"$@\"";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_bakeoff")]);
    command.args(&arguments);
    let found = scene
        .start_command(scene.settle(command))
        .finish()
        .expect(0);
    assert!(
        found
            .stderr
            .contains("the ladder ends before 10000 clients"),
        "{}",
        found.stderr
    );
    let row = &found.json()["contenders"][0];
    let rungs = row["ladder"]["rungs"].as_array().unwrap();
    let clients: Vec<u64> = rungs
        .iter()
        .map(|it| it["clients"].as_u64().unwrap())
        .collect();
    assert_eq!(clients, [2, 40, 10_000]);
    assert!(rungs[0]["ok_per_s"].as_f64() > Some(0.0), "{row}");
    assert_eq!(rungs[2]["rounds"], 0);
    let why = rungs[2]["why"].as_str().unwrap();
    assert!(why.contains("open files"), "{why}");
}

#[test]
fn what_was_measured_is_kept_and_gone_on_with() {
    let Some(scene) = scene() else { return };
    let starts = starts(&["holds", "sheds"]);
    let mut running = scene.start(&overload(&starts, &[]));
    let record = scene.path("record");
    running.wait_until("a trial", |_| {
        record.join("trials.jsonl").exists() && !trials(&record).is_empty()
    });
    running.signal(Signal::INT);
    let goes_on = "`bakeoff overload --resume record` goes on";
    running.finish().expect(130).says(goes_on);
    let before = trials(&record);
    let resumed = scene.run(&["overload", "--resume", "record", "--format", "json"]);
    let document = resumed.expect(0).json();
    let rows = document["contenders"].as_array().unwrap();
    let is_whole = |row: &Value| row["beyond"]["rounds"] == 1;
    assert!(rows.iter().all(is_whole), "{document}");
    let after = trials(&record);
    assert!(
        after.contains(&before[0]),
        "what was measured is not measured again"
    );
    scene.assert_empty();
}

#[test]
fn what_has_no_sense_is_refused() {
    let Some(scene) = scene() else { return };
    for (arguments, expected) in [
        (&["overload"][..], "an overload needs a contender"),
        (
            &["overload", "nginx", "--steps", "50%,200%,150%"][..],
            "begins or ends near the capacity",
        ),
        (
            &["overload", "nginx", "--step", "2s", "--patience", "1s"][..],
            "25 % of `step`",
        ),
        (
            &["overload", "nginx", "--format", "junit"][..],
            "possible values: text, html, md, csv, json",
        ),
    ] {
        scene.run(arguments).expect(2).says(expected);
    }
}
