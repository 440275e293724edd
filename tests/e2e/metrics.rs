//! Live metrics: served while a load or a campaign runs, gone when it has ended.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use rustix::process::Signal;

use crate::support::RUN_OWN;
use crate::support::files::plan;
use crate::support::scene::{Running, Scene};
use crate::support::scripted::server;
use crate::support::servers::script_server;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Where the metrics are, once that is said.
fn address(running: &mut Running<'_>) -> SocketAddr {
    let at = |text: &str| -> Option<SocketAddr> {
        let (_, rest) = text.split_once("metrics: http://")?;
        rest.split_once("/metrics")?.0.parse().ok()
    };
    running.wait_until("the address of the metrics", |it| {
        at(&it.stderr()).is_some()
    });
    at(&running.stderr()).unwrap()
}

fn page(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("it is served");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        .unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(
        page.contains("application/openmetrics-text; version=1.0.0"),
        "{page}"
    );
    assert!(page.ends_with("# EOF\n"), "{page}");
    page
}

/// The value of a sample, by its name and labels.
fn value(page: &str, name: &str) -> Option<f64> {
    let mut lines = page.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn a_load_shows_its_answers_failures_and_latencies() {
    // Every fifth connection is closed without an answer.
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let address_of_server = server(move |mut stream: TcpStream| {
        let mut head = [0; 4096];
        while stream.read(&mut head).is_ok_and(|n| n > 0) {
            let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if number % 5 == 4 || stream.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let scene = Scene::new();
    let url = format!("http://{address_of_server}/");
    let load = [
        "load",
        &url,
        "-c",
        "2",
        "-r",
        "200",
        "-d",
        "600s",
        "--quiet",
        "--metrics",
        "127.0.0.1:0",
    ];
    let mut running = scene.start(&load);
    let address = address(&mut running);
    let ok = "bakeoff_requests_total{result=\"ok\"}";
    let closed = "bakeoff_failed_requests_total{outcome=\"closed_early\"}";
    running.wait_until("answers and failures", |_| {
        let page = page(address);
        let is_known = |name: &str| value(&page, name).is_some_and(|value| value > 0.0);
        let median = "bakeoff_latency_seconds{quantile=\"0.5\"}";
        [ok, closed, "bakeoff_ok_per_second", median]
            .into_iter()
            .all(is_known)
    });
    let (first, second) = (page(address), page(address));
    assert!(value(&second, ok) >= value(&first, ok), "{first}{second}");
    assert_eq!(
        value(&second, "bakeoff_phase{bakeoff_phase=\"measuring\"}"),
        Some(1.0)
    );
    running.signal(Signal::INT);
    running.finish().expect(130);
    assert!(
        TcpStream::connect(address).is_err(),
        "it is gone with the load"
    );
}

#[test]
fn a_campaign_shows_how_far_it_is() {
    let scene = Scene::new();
    if !script_server(&scene, 2_000, &[("plain", "serve()")]) {
        return;
    }
    let load = "duration = \"600s\"\nrate = 200";
    scene.write(
        "own.toml",
        &plan(&[("it", "script", "plain")], "synthetic", load),
    );
    let metrics = ["--metrics", "127.0.0.1:0"];
    let mut running = scene.start(&[&RUN_OWN[..], &metrics[..]].concat());
    let address = address(&mut running);
    let measuring = "bakeoff_trial_running{trial=\"r1-it-synthetic-r200p-c3\",contender=\"it\",\
                     workload=\"synthetic\",step=\"measure\"}";
    running.wait_until("the trial and its rate", |_| {
        let page = page(address);
        let is_known = |name: &str| value(&page, name).is_some_and(|value| value > 0.0);
        [measuring, "bakeoff_ok_per_second"]
            .into_iter()
            .all(is_known)
    });
    let page = page(address);
    assert_eq!(value(&page, "bakeoff_trials_planned"), Some(1.0), "{page}");
    assert_eq!(
        value(&page, "bakeoff_trials_ended_total"),
        Some(0.0),
        "{page}"
    );
    running.signal(Signal::INT);
    running.finish().expect(130);
    assert!(
        TcpStream::connect(address).is_err(),
        "it is gone with the campaign"
    );
}
