//! What bakeoff counts and times, held against what the server and the clock know.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::alone;
use crate::support::files::assert_accounted;
use crate::support::processes;
use crate::support::scene::Scene;
use crate::support::servers::{Nginx, get};

/// nginx's own counter lies between what was completed and what was started.
#[track_caller]
fn check_counts(clients: &str, load: &[&str]) {
    let scene = Scene::new();
    let Some(nginx) = Nginx::start(&scene) else {
        return;
    };
    let (url, before) = (nginx.url(), nginx.requests());
    let mut arguments = vec!["load", &url, "-c", clients, "--json"];
    arguments.extend(load);
    let result = scene.json(&arguments);
    // The question itself is counted.
    let counted = nginx.requests() - before - 1;
    assert_accounted(&result);
    let count = |name: &str| result["requests"][name].as_u64().unwrap();
    assert!(
        (count("completed")..=count("started")).contains(&counted),
        "nginx counted {counted}: {}",
        result["requests"]
    );
    assert!(count("ok") > 0);
    assert_eq!(count("ok"), count("completed"), "{:#}", result["outcomes"]);
}

#[test]
fn a_closed_loop_counts_as_nginx_does() {
    let _alone = alone();
    check_counts("10", &["-d", "1s"]);
    check_counts("1000", &["-d", "2s"]);
}

#[test]
fn an_open_loop_counts_as_nginx_does() {
    let _alone = alone();
    check_counts("20", &["-d", "1s", "-r", "500"]);
    let poisson = ["-d", "1s", "-r", "500", "--arrival", "poisson"];
    check_counts("20", &poisson);
}

#[test]
fn requests_on_connections_of_their_own_are_counted_too() {
    let _alone = alone();
    check_counts("5", &["-n", "300", "--no-keepalive"]);
}

/// Freezes these processes for a second, a second after the load has begun.
fn freeze(pids: &[u32], begun: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !begun() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_secs(1));
    for pid in pids {
        processes::signal(*pid, Signal::STOP);
    }
    std::thread::sleep(Duration::from_secs(1));
    for pid in pids {
        processes::signal(*pid, Signal::CONT);
    }
}

/// Frozen for S in T, the quantile q of latency is S - (1 - q) T: here 1 s - 0.01 x 5 s.
#[track_caller]
fn check_frozen(load: &Value) {
    assert_accounted(load);
    let count = |name: &str| load["requests"][name].as_u64().unwrap();
    assert_eq!(count("planned"), 5000);
    // The last may be under way, or due, when the window closes.
    assert!((4950..=5000).contains(&count("started")), "{load:#}");
    assert!(count("in_flight_at_end") <= 10, "{load:#}");
    assert_eq!(count("ok"), count("completed"), "{load:#}");
    let p99 = |name: &str| load[name]["p99"].as_f64().unwrap() / 1e9;
    assert!(p99("latency_ns") >= 0.95 * 0.85, "{}", load["latency_ns"]);
    assert!(
        p99("service_ns") < p99("latency_ns") / 3.0,
        "{}",
        load["service_ns"]
    );
}

#[test]
fn a_frozen_server_shows_in_latency_and_not_in_service_time() {
    let _alone = alone();
    let scene = Scene::new();
    let Some(nginx) = Nginx::start(&scene) else {
        return;
    };
    let url = nginx.url();
    let pids: Vec<u32> = nginx.processes().iter().map(|it| it.pid).collect();
    assert!(pids.len() >= 2, "a master and a worker");
    let load = scene.start(&["load", &url, "-r", "1000", "-d", "5s", "--json"]);
    freeze(&pids, || nginx.requests() > 50);
    check_frozen(&load.finish().expect(0).json());
}

#[test]
fn a_frozen_yardstick_shows_in_latency_too() {
    let _alone = alone();
    let scene = Scene::new();
    let mut yardstick = scene.start(&["yardstick"]);
    yardstick.wait_until("it listens", |it| it.stdout().contains("counts on"));
    let address = crate::commands::address_after(&yardstick.stdout(), "listening on ");
    let control = crate::commands::address_after(&yardstick.stdout(), "counts on http://");
    let url = format!("http://{address}/");
    let load = scene.start(&["load", &url, "-r", "1000", "-d", "5s", "--json"]);
    let none = || get(control, "/counts").contains("\"requests\":0,");
    freeze(&[yardstick.pid()], || !none());
    check_frozen(&load.finish().expect(0).json());
    yardstick.signal(Signal::INT);
    yardstick.finish().expect(0);
}
