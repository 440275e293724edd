//! Commands that keep a server up: it answers, and it ends with them.

use std::net::SocketAddr;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::scene::Scene;
use crate::support::servers::{are_installed, get};

/// The address that follows `words` in a text.
#[track_caller]
pub(crate) fn address_after(text: &str, words: &str) -> SocketAddr {
    let rest = text.split_once(words).map(|(_, rest)| rest);
    let address = rest.and_then(|rest| rest.split(['/', '\n']).next());
    address.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

#[track_caller]
fn debug(contender: &str, workload: &str, body: &str, signal: Signal) {
    let scene = Scene::new();
    let server = contender.split('-').next().unwrap();
    if !are_installed(&scene, &[server]) {
        return;
    }
    let mut debug = scene.start(&["debug", contender, workload]);
    debug.wait_until("it is up", |it| it.stderr().contains("Ctrl-C"));
    let text = debug.stdout();
    let address = address_after(&text, "http://");
    let answer = get(address, "/");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with(body), "{answer}");
    assert!(text.contains("\ncommand  /"), "{text}");
    assert!(text.contains("\nlog      /"), "{text}");
    let port = address.port().to_string();
    assert!(text.matches(&port).count() >= 2, "no configuration: {text}");
    assert!(debug.below().iter().any(|it| it.name.starts_with(server)));
    debug.signal_group(signal);
    debug.finish().expect(0);
}

#[test]
fn debug_keeps_nginx_up_until_ctrl_c() {
    debug("nginx-default", "synthetic", "Hello, world!", Signal::INT);
}

#[test]
fn debug_keeps_a_proxy_and_its_origin_up_until_it_is_asked_to_end() {
    debug("caddy-default", "proxy", "", Signal::TERM);
}

#[track_caller]
fn serves_and_counts(name: &str) {
    let scene = Scene::new();
    let body = scene.write("body", "mustard").display().to_string();
    let mut served = scene.start(&[name, "--body", &body, "--content-type", "text/x-sauce"]);
    served.wait_until("it listens", |it| it.stdout().contains("counts on"));
    let address = address_after(&served.stdout(), "listening on ");
    let control = address_after(&served.stdout(), "counts on http://");
    let taken = address.to_string();
    scene
        .run(&[name, "--listen", &taken])
        .expect(1)
        .says(&taken);
    let answer = get(address, "/");
    assert!(answer.ends_with("\r\n\r\nmustard"), "{answer}");
    assert!(answer.contains("text/x-sauce"), "{answer}");
    let url = format!("http://{address}/");
    scene.run(&["load", &url, "-n", "250", "-c", "5"]).expect(0);
    let counts = get(control, "/counts");
    let (_, counts) = counts.split_once("\r\n\r\n").unwrap();
    let counts: Value = serde_json::from_str(counts).unwrap();
    assert_eq!(counts["requests"], 251, "{counts}");
    assert!(counts["connections"].as_u64() <= Some(6), "{counts}");
    served.signal_group(Signal::INT);
    served.finish().expect(0).says("answered 251 requests");
}

#[test]
fn the_origin_serves_and_counts() {
    serves_and_counts("origin");
}

#[test]
fn the_yardstick_serves_and_counts() {
    serves_and_counts("yardstick");
}
