//! How `bakeoff load` ends: by count, by a signal, and with which exit code.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;

use crate::support::processes::signal;
use crate::support::scene::Scene;
use crate::support::scripted::{always, server};

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that answers each request after so many milliseconds, and says when one has come.
fn slow(answer_ms: u64) -> (SocketAddr, Receiver<()>) {
    let (sender, reached) = channel();
    let address = server(move |mut stream| {
        let mut request = [0; 4096];
        while stream.read(&mut request).is_ok_and(|length| length > 0) {
            let _ = sender.send(());
            std::thread::sleep(Duration::from_millis(answer_ms));
            let _ = stream.write_all(HELLO);
        }
    });
    (address, reached)
}

#[test]
fn what_ctrl_c_cuts_off_is_no_failure_and_that_it_came_is_said() {
    let (address, reached) = slow(200);
    let (scene, url) = (Scene::new(), format!("http://{address}/"));
    let running = scene.start(&["load", &url, "-d", "60s", "-r", "50", "-c", "50"]);
    for _ in 0..60 {
        reached.recv().unwrap();
    }
    running.signal(Signal::TERM);
    let finished = running.finish().expect(130);
    let first = finished.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("interrupted after "), "{first}");
    assert!(first.contains(" s of 60 s: "), "{first}");
    assert!(first.contains("; no errors"), "{first}");
    assert!(
        finished.stdout.contains("due shortly before"),
        "{finished:#?}"
    );
}

#[test]
fn two_signals_at_once_are_one() {
    for model in [["-c", "3"], ["-r", "100"]] {
        let (address, reached) = slow(1);
        let (scene, url) = (Scene::new(), format!("http://{address}/"));
        let mut arguments = vec!["load", &url, "-d", "60s", "--json"];
        arguments.extend(model);
        let running = scene.start(&arguments);
        for _ in 0..20 {
            reached.recv().unwrap();
        }
        // As `timeout` does.
        running.signal(Signal::TERM);
        running.signal_group(Signal::TERM);
        let load = running.finish().expect(130).json();
        assert_eq!(load["interrupted"], true, "{load:#}");
        assert_eq!(load["planned_s"], 60.0);
        assert!(load["requests"]["ok"].as_u64() > Some(0), "{load:#}");
    }
}

#[test]
fn a_later_signal_ends_at_once_and_says_so() {
    let (address, reached) = slow(1);
    let (scene, url) = (Scene::new(), format!("http://{address}/"));
    // Nobody reads the result: it is stuck with it.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    std::thread::spawn(move || filler.write_all(&vec![b'x'; 1 << 20]));
    let mut command = scene.command(&["load", &url, "-d", "60s"]);
    command.stdout(writer).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    for _ in 0..20 {
        reached.recv().unwrap();
    }
    // Signals that come within half a second of the first one are the same.
    while child.try_wait().unwrap().is_none() {
        signal(child.id(), Signal::TERM);
        std::thread::sleep(Duration::from_millis(600));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a second signal: ended at once"), "{said}");
    drop(reader);
}

#[test]
fn a_load_whose_compared_bodies_are_all_wrong_ends_with_4() {
    let scene = Scene::new();
    let expected = scene.write("expected", "jello").display().to_string();
    let url = format!("http://{}/", always(HELLO));
    let arguments = ["load", &url, "-n", "130", "-c", "1", "-t", "1"];
    let with = |more: &[&str]| {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--expect-body", &expected]);
        arguments.extend(more);
        scene.run(&arguments).expect(4)
    };
    let finished = with(&[]).says("3 of 3 compared bodies are wrong");
    assert!(finished.stdout.contains("3 of 3 compared bodies are wrong"));
    let load = with(&["--json"]).json();
    assert_eq!(
        (&load["bodies_wrong"], &load["bodies_checked"]),
        (&3.into(), &3.into())
    );
    assert_eq!(load["interrupted"], false);
}

#[test]
fn a_count_at_a_rate_is_measured_at_that_rate() {
    let scene = Scene::new();
    let url = format!("http://{}/", always(HELLO));
    for (rate, count, measured_s) in [("10", "1", 0.1), ("10", "3", 0.3)] {
        let load = scene.json(&["load", &url, "-r", rate, "-n", count, "--json"]);
        assert_eq!(load["measured_s"], measured_s, "{load:#}");
        let rate = load["rate_per_s"]["ok"].as_f64().unwrap();
        assert!((rate - 10.0).abs() < 1e-9, "{rate}");
    }
}
