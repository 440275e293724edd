//! `bakeoff find`: a search from its command line to its report, interrupted and continued. That
//! bounds are right is shown with simulated servers (`crates/search`); no speed is judged here.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::files::trials;
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
fn a_search_ends_with_bounds_and_a_record_that_says_them_again() {
    let _alone = alone();
    let Some(scene) = scene() else { return };
    let arguments = find("record", &["--budget", "60s", "--format", "json"]);
    let found = scene.run(&arguments);
    let code = found.status.code();
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {}", found.stderr);
    assert!(
        found.stderr.contains("searching at most 1 min 0 s"),
        "{}",
        found.stderr
    );
    let document = found.json();
    assert_eq!(document["schema"], "bakeoff.find/1");
    let contenders = document["contenders"].as_array().unwrap();
    assert_eq!(contenders.len(), 2, "one contender, two goals");
    contenders.iter().for_each(assert_sound);
    let plan = std::fs::read_to_string(scene.path("record/plan.toml")).unwrap();
    assert!(
        plan.contains("[[search]]") && plan.contains("p90<200ms"),
        "{plan}"
    );
    let again = scene.json(&["report", "record", "--format", "json"]);
    assert_eq!(again, document);
    for (format, expected) in [
        ("text", "Bounds"),
        ("md", "| contender |"),
        ("html", "<table>"),
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
    let csv = scene
        .run(&["report", "record", "--format", "csv"])
        .expect(0);
    assert_eq!(csv.stdout.lines().count(), 3, "{}", csv.stdout);
    scene.assert_empty();
}

#[test]
fn an_interrupted_search_goes_on_with_what_it_knows() {
    let _alone = alone();
    let Some(scene) = scene() else { return };
    let mut running = scene.start(&find("record", &["--budget", "5m"]));
    let record = scene.path("record");
    running.wait_until("four trials", |_| {
        record.join("trials.jsonl").exists() && trials(&record).len() >= 4
    });
    running.signal(Signal::INT);
    running.finish().expect(130);
    let before = trials(&record);
    // The time is used up soon, so that it ends.
    let resumed = scene.run(&[
        "find", "--resume", "record", "--budget", "20s", "--format", "json",
    ]);
    let code = resumed.status.code();
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {}", resumed.stderr);
    let document = resumed.json();
    let contenders = document["contenders"].as_array().unwrap();
    contenders.iter().for_each(assert_sound);
    // Where time ended, a command gives more of it.
    let is_spent = contenders.iter().any(|it| it["irregular"] == "budget");
    let next = "next: bakeoff find --resume record --budget 1m\n";
    assert_eq!(
        resumed.stderr.contains(next),
        is_spent,
        "{}",
        resumed.stderr
    );
    let after = trials(&record);
    assert!(after.len() >= before.len());
    let ended = |trial: &&Value| trial["end"]["kind"] != "interrupted";
    let kept = before.iter().filter(ended);
    assert!(kept.clone().count() >= 3);
    for trial in kept {
        assert!(after.contains(trial), "{}", trial["id"]);
    }
    scene.assert_empty();
}

#[test]
fn what_a_search_cannot_do_is_refused_plainly() {
    let scene = Scene::new();
    let check = |arguments: &[&str], expected: &str| {
        let mut command = vec!["find"];
        command.extend_from_slice(arguments);
        scene.run(&command).expect(2).says(expected);
    };
    check(&["--slo", "p99<10ms"], "a search needs a contender");
    check(&["nginx", "--slo", "10ms"], "is not an objective");
    check(
        &["nginx", "--errors", "2"],
        "is not a share of failed requests",
    );
    check(&["ngnix", "--slo", "p99<1s"], "did you mean nginx");
    check(
        &["nginx", "--slo", "p99<1s", "--duration", "100ms"],
        "`trial` is out of range",
    );
}
