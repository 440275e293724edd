//! How `bakeoff load` ends by a signal.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;

use crate::support::files::assert_accounted;
use crate::support::processes::signal;
use crate::support::scene::Scene;
use crate::support::scripted::server;

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
fn a_signal_ends_a_load_with_what_was_measured() {
    let scene = Scene::new();
    let (address, reached) = slow(200);
    let url = format!("http://{address}/");
    let running = scene.start(&["load", &url, "-d", "60s", "-r", "50", "-c", "50"]);
    for _ in 0..60 {
        reached.recv().unwrap();
    }
    running.signal(Signal::TERM);
    let finished = running.finish().expect(130);
    let first = finished.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("interrupted after "), "{first}");
    assert!(first.contains(" s of 60 s: "), "{first}");
    assert!(
        first.contains("; no errors"),
        "what it cut off is no failure: {first}"
    );
    assert!(
        finished.stdout.contains("due shortly before"),
        "{finished:#?}"
    );

    for model in [["-c", "3"], ["-r", "100"]] {
        // As Ctrl-C does, and as `timeout` does: two signals at once are one.
        for signals in [1, 2] {
            let (address, reached) = slow(1);
            let url = format!("http://{address}/");
            let load = [&["load", &url, "-d", "60s", "--json"][..], &model].concat();
            let running = scene.start(&load);
            for _ in 0..20 {
                reached.recv().unwrap();
            }
            if signals == 2 {
                running.signal(Signal::TERM);
                running.signal_group(Signal::TERM);
            } else {
                running.signal_group(Signal::INT);
            }
            let load = running.finish().expect(130).json();
            assert_accounted(&load);
            assert_eq!(load["interrupted"], true, "{load:#}");
            assert_eq!(load["planned_s"], 60.0);
            assert!(load["requests"]["ok"].as_u64() >= Some(10), "{load:#}");
            assert!(load["measured_s"].as_f64() < Some(59.0), "{load:#}");
        }
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
