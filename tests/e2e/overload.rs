//! `bakeoff overload` with servers that close their port, or whose worker ends and is started
//! again. The other ways to fail, what is said of them and how it goes on are in `tests/campaigns`.

use serde_json::Value;

use crate::support::scene::Scene;
use crate::support::servers::on_path;
use crate::support::{alone, pass_over};

/// A server that takes about a hundred requests a second, and what it does with more by its
/// argument.
const SERVER: &str = r#"
import collections, os, selectors, socket, sys, time

MODE = sys.argv[1]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nfine\n"
CLOSE = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
recent = collections.deque()
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
    global closed_until, listener
    recent.append(now)
    while recent[0] < now - 1:
        recent.popleft()
    too_many = len(recent) > 130
    if MODE == "restarts":
        sum(range(20000))
    if MODE == "restarts" and too_many:
        os._exit(3)
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
const EXPECTED: [(&str, &[&str], &[&str]); 2] = [
    ("refuses", &["refuse"], &["shed", "crash", "metastable"]),
    ("restarts", &["crash"], &["shed", "metastable"]),
];

#[test]
fn what_real_processes_do_beyond_their_capacity_is_seen() {
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
}
