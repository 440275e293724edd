//! What bakeoff counts and times, held against what the server and the clock know.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::files::assert_accounted;
use crate::support::processes;
use crate::support::scene::Scene;
use crate::support::servers::{Nginx, get};
use crate::support::{alone, wait_until};

/// nginx's own counter lies between what was completed and what was started.
#[test]
fn loads_count_as_nginx_does() {
    let scene = Scene::new();
    let Some(nginx) = Nginx::start(&scene) else {
        return;
    };
    let url = nginx.url();
    for load in [
        &["-c", "10", "-d", "300ms"][..],
        &["-c", "1000", "-d", "600ms"],
        &["-c", "20", "-d", "300ms", "-r", "500"],
        &[
            "-c",
            "20",
            "-d",
            "300ms",
            "-r",
            "500",
            "--arrival",
            "poisson",
        ],
        &["-c", "5", "-n", "300", "--no-keepalive"],
    ] {
        let before = nginx.requests();
        let result = scene.json(&[&["load", &url, "--json"], load].concat());
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
}

/// How long servers stand still.
const FROZEN: Duration = Duration::from_millis(600);

/// Frozen for S in T, the quantile q of latency is S - (1 - q) T: here 0.6 s - 0.01 x 3 s.
#[track_caller]
fn check_frozen(load: &Value) {
    assert_accounted(load);
    let count = |name: &str| load["requests"][name].as_u64().unwrap();
    assert_eq!(count("planned"), 3000);
    // The last may be under way, or due, when the window closes.
    assert!((2950..=3000).contains(&count("started")), "{load:#}");
    assert!(count("in_flight_at_end") <= 10, "{load:#}");
    assert_eq!(count("ok"), count("completed"), "{load:#}");
    let p99 = |name: &str| load[name]["p99"].as_f64().unwrap() / 1e9;
    assert!(p99("latency_ns") >= 0.57 * 0.85, "{}", load["latency_ns"]);
    assert!(
        p99("service_ns") < p99("latency_ns") / 3.0,
        "{}",
        load["service_ns"]
    );
}

/// Alone, because the schedules of both loads must be kept to within a hundredth.
#[test]
fn frozen_servers_show_in_latency_and_not_in_service_time() {
    let _alone = alone();
    let scene = Scene::new();
    let Some(nginx) = Nginx::start(&scene) else {
        return;
    };
    wait_until("a master and a worker run", || nginx.processes().len() >= 2);
    let mut pids: Vec<u32> = nginx.processes().iter().map(|it| it.pid).collect();
    let mut yardstick = scene.start(&["yardstick"]);
    yardstick.wait_until("it listens", |it| it.stdout().contains("counts on"));
    let address = crate::commands::address_after(&yardstick.stdout(), "listening on ");
    let control = crate::commands::address_after(&yardstick.stdout(), "counts on http://");
    pids.push(yardstick.pid());
    let urls = [nginx.url(), format!("http://{address}/")];
    let loads = urls
        .each_ref()
        .map(|url| scene.start(&["load", url, "-r", "1000", "-d", "3s", "--json"]));
    wait_until("both loads have begun", || {
        nginx.requests() > 50 && !get(control, "/counts").contains("\"requests\":0,")
    });
    std::thread::sleep(Duration::from_millis(500));
    for pid in &pids {
        processes::signal(*pid, Signal::STOP);
    }
    std::thread::sleep(FROZEN);
    for pid in &pids {
        processes::signal(*pid, Signal::CONT);
    }
    for load in loads {
        check_frozen(&load.finish().expect(0).json());
    }
    yardstick.signal(Signal::INT);
    yardstick.finish().expect(0);
}
