//! `bakeoff find` with a real server. What it says and how it goes on is in `tests/campaigns`, and
//! that bounds are right is shown with simulated servers (`crates/search`).

use serde_json::Value;

use crate::support::scene::Scene;
use crate::support::servers::on_path;
use crate::support::{alone, pass_over};

/// One worker that spins for 1 ms a request, in the order of arrival.
const SPIN: &str = r#"
import os, selectors, socket, time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nspin\n"
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(os.environ["PORT"])))
listener.listen(256)
ready = selectors.DefaultSelector()
ready.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in ready.select():
        if key.fileobj is listener:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ready.register(connection, selectors.EVENT_READ)
            continue
        connection = key.fileobj
        try:
            data = connection.recv(65536)
            end = time.monotonic() + 0.001
            while time.monotonic() < end:
                pass
            if data:
                connection.sendall(ANSWER)
        except OSError:
            data = b""
        if not data:
            ready.unregister(connection)
            connection.close()
"#;

/// What makes a search short. 37 requests a second are enough to have a p90 of 1 s.
const SHORT: [&str; 12] = [
    "--slo",
    "p90<200ms",
    "--errors",
    "0.1%,1%",
    "--duration",
    "1s",
    "--warmup",
    "100ms",
    "--confirm",
    "1s",
    "--clients",
    "8",
];
/// Names of results that are no pair of bounds near each other.
const IRREGULAR: [&str; 6] = [
    "generator-limited",
    "no-lower",
    "no-upper",
    "inversion",
    "budget",
    "unfinished",
];

/// A scene with the server in it; `None` without Python.
fn scene() -> Option<Scene> {
    let Some(_) = on_path("python3") else {
        pass_over("no python3 was found");
        return None;
    };
    let scene = Scene::new();
    scene.write("spin.py", SPIN);
    Some(scene)
}

fn find<'a>(record: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut command = vec!["find", "--start", "python3 spin.py", "--out", record];
    command.extend(SHORT);
    command.extend_from_slice(more);
    command
}

/// What holds of a found goal, however fast or disturbed the machine was.
fn assert_sound(found: &Value) {
    let rate = |key: &str| found[key].as_f64();
    match (rate("lower_per_s"), rate("upper_per_s")) {
        (Some(lower), Some(upper)) => {
            assert!(lower < upper, "{found}");
            if found["irregular"].is_null() {
                assert!((upper - lower) / upper <= 0.0201, "{found}");
                let behind = &found["behind"];
                assert!(behind["lower_servers"].as_u64() >= Some(3), "{behind}");
            }
        }
        _ => assert!(!found["irregular"].is_null(), "{found}"),
    }
    if let Some(name) = found["irregular"].as_str() {
        assert!(IRREGULAR.contains(&name), "{name}");
    }
    for trial in found["trials"].as_array().unwrap() {
        assert!(trial["length_s"].as_f64() > Some(0.0), "{trial}");
    }
}

#[test]
fn a_search_of_a_real_server_ends_with_what_it_found() {
    let _alone = alone();
    let Some(scene) = scene() else { return };
    let arguments = find("record", &["--budget", "20s", "--format", "json"]);
    let found = scene.run(&arguments);
    let code = found.status.code();
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {}", found.stderr);
    assert!(
        found.stderr.contains("searching at most 20 s"),
        "{}",
        found.stderr
    );
    let document = found.json();
    assert_eq!(document["schema"], "bakeoff.find/1");
    let contenders = document["contenders"].as_array().unwrap();
    assert_eq!(contenders.len(), 2, "one contender, two goals");
    contenders.iter().for_each(assert_sound);
    scene.assert_empty();
}
