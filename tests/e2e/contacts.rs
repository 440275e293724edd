//! Users' own configurations with upstreams and listeners that no rule knows: no server is measured
//! that speaks to an address that has no part in the trial.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::files::trials;
use crate::support::scene::{Finished, Scene};
use crate::support::scripted;
use crate::support::servers::script_server;

/// A server that asks an upstream for each answer but the first `KNOWN` ones.
const PROXY: &str = r#"
import itertools, socket, threading

count = itertools.count()

def ask():
    with socket.create_connection(("127.0.0.1", UPSTREAM)) as upstream:
        upstream.sendall(b"GET / HTTP/1.1\r\n\r\n")
        return upstream.recv(65536)

def answer(connection):
    with connection:
        while connection.recv(65536):
            body = b"Hello, world!" if next(count) < KNOWN else ask()
            head = "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(head.encode() + body)

listener = socket.socket()
listener.bind(("ADDRESS", 0))
listener.listen(64)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=answer, args=[connection], daemon=True).start()
"#;

/// An upstream of the user's own, which takes its time, and how often it was asked.
fn upstream() -> (SocketAddr, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let address = scripted::server(move |mut stream| {
        let mut request = [0; 4096];
        if stream.read(&mut request).is_ok_and(|length| length > 0) {
            count.fetch_add(1, Ordering::Relaxed);
            // A look at sockets takes long where thousands of them have just been closed, or the
            // machine is busy.
            std::thread::sleep(Duration::from_secs(4));
            let _ = stream.write_all(b"Hello, world!");
        }
    });
    (address, asked)
}

/// Runs a plan with `script` as the user's own file of a server with a rule.
fn run(scene: &Scene, script: &str) -> Option<(Finished, Value)> {
    if !script_server(scene, 1000, &[("default", "")]) {
        return None;
    }
    let path = scene.path("library/servers/script/server.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let rule = "[[own.change]]\npattern = '^upstream .*'\nto = ''\nwhy = 'a test'\n";
    std::fs::write(&path, text + rule).unwrap();
    scene.write("own.py", script);
    let plan = "name = \"own\"\nrounds = 1\nrest = \"0s\"\nworkloads = [\"synthetic\"]\n\
                references = { yardstick = false, origin = false }\n\
                [[contender]]\nname = \"ours\"\nserver = \"script\"\nconfig = \"own.py\"\n\
                [[load]]\nclients = 3\nwarmup = \"5s\"\nduration = \"60s\"\ntimeout = \"5s\"\n";
    scene.write("own.toml", plan);
    let run = ["run", "./own.toml", "--library", "library", "--out", "own"];
    let finished = scene.run(&run);
    let trials = trials(&scene.path("own"));
    assert_eq!(trials.len(), 1, "{finished:#?}");
    Some((finished, trials[0].clone()))
}

#[track_caller]
fn assert_failed(trial: &Value, words: &[&str]) {
    let end = &trial["end"];
    assert_eq!(end["kind"], "failed", "{trial:#}");
    let cause = end["cause"].as_str().unwrap();
    for words in words {
        assert!(cause.contains(words), "no `{words}` in {cause}");
    }
}

#[test]
fn an_upstream_that_no_rule_knows_gets_no_load() {
    let scene = Scene::new();
    let (address, asked) = upstream();
    let port = address.port().to_string();
    let script = PROXY.replace("ADDRESS", "127.0.0.1");
    let script = script.replace("UPSTREAM", &port).replace("KNOWN", "0");
    let Some((finished, trial)) = run(&scene, &script) else {
        return;
    };
    finished.expect(4);
    let peer = format!("Script is connected to {address}, ");
    assert_failed(&trial, &[&peer, "`{{ origin }}`", "docs/plan-files.md"]);
    assert_eq!(trial["result"], Value::Null, "no load was sent");
    let asked = asked.load(Ordering::Relaxed);
    assert_eq!(asked, 1, "once, to see whether it is ready");
}

#[test]
fn a_load_ends_as_soon_as_it_reaches_an_upstream_that_no_rule_knows() {
    let scene = Scene::new();
    let (address, asked) = upstream();
    let port = address.port().to_string();
    let script = PROXY.replace("ADDRESS", "127.0.0.1");
    // More than are asked for before the load.
    let script = script.replace("UPSTREAM", &port).replace("KNOWN", "100");
    let Some((finished, trial)) = run(&scene, &script) else {
        return;
    };
    finished.expect(4);
    let peer = format!("Script is connected to {address}, ");
    assert_failed(&trial, &[&peer]);
    assert_eq!(trial["result"], Value::Null, "it did not die by itself");
    assert!(asked.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_listener_that_other_machines_reach_is_refused() {
    let scene = Scene::new();
    let script = PROXY.replace("ADDRESS", "0.0.0.0").replace("KNOWN", "1e9");
    let Some((finished, trial)) = run(&scene, &script.replace("UPSTREAM", "9")) else {
        return;
    };
    finished.expect(4);
    let words = ["Script listens at 0.0.0.0:", "other machines", "127.0.0.1"];
    assert_failed(&trial, &words);
    assert_eq!(trial["end"]["step"], "start", "{trial:#}");
}
