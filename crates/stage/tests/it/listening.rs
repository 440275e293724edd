//! Servers that listen on another address than the usual one, as they do where clients are on
//! other hosts, with the real programs. A program that is not installed is said and passed over,
//! but not where `CI=true`: there it fails.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bakeoff_plan::{ConfigSource, Protocol, Workload};
use bakeoff_record::When;
use bakeoff_stage::{Cause, Listening, Prepared, Running, StageError, Surroundings};

use crate::support::{
    ORIGIN_BODY, PATIENCE, Theatre, contender, fetch, is_installed, origin, workload,
};

/// Any address of 127.0.0.0/8 is this machine's. It stands for that of a network interface.
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

fn theatre() -> Theatre {
    Theatre::listening(Listening {
        address: OTHER,
        names: vec!["server.test".to_owned()],
    })
}

/// The server over each protocol that it speaks answers at the address, and at no other. With
/// `has_counters` its own counters are still asked on loopback.
fn check(server: &str, workload: &Workload, has_counters: bool) {
    let theatre = theatre();
    if !is_installed(&theatre, server) {
        return;
    }
    let mut spoken = 0;
    for protocol in Protocol::ALL {
        let workload = Workload {
            protocol,
            ..workload.clone()
        };
        let what = format!("{server} {}", protocol.name());
        match prepared(&theatre, server, &workload) {
            Err(error) => assert!(matches!(*error.cause, Cause::Unsupported { .. }), "{error}"),
            Ok(prepared) => {
                prepared.check_config().unwrap();
                let running = prepared.start(PATIENCE).unwrap();
                answers_there(&running, &workload, &what);
                let elsewhere = running.listening();
                let mut elsewhere = elsewhere.iter().filter(|address| address.ip() != OTHER);
                let counts = elsewhere.any(|address| address.ip() == Ipv4Addr::LOCALHOST);
                assert_eq!(counts, has_counters, "{what}");
                running.stop().unwrap();
                spoken += 1;
            }
        }
    }
    assert!(spoken > 0, "{server}");
}

fn prepared(theatre: &Theatre, server: &str, asked: &Workload) -> Result<Prepared, StageError> {
    let surroundings = Surroundings {
        origin: Some(origin()),
        boxed: None,
        ..theatre.surroundings()
    };
    let contender = contender(server, ConfigSource::Variant("default".to_owned()));
    theatre.stage.prepare(&contender, asked, &surroundings)
}

fn answers_there(running: &Running, workload: &Workload, what: &str) {
    assert_eq!(running.address().ip(), OTHER, "{what}");
    let answer = fetch(running, workload, When::Before).unwrap().check;
    assert!(answer.right, "{what}");
    let usual = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), running.address().port());
    // Another test's server may be there.
    assert!(!running.listening().contains(&usual), "{what} at {usual}");
}

fn synthetic() -> Workload {
    workload("synthetic", "/", "Hello, world!")
}

fn proxy() -> Workload {
    Workload {
        proxied: true,
        ..workload("proxy", "/", ORIGIN_BODY)
    }
}

#[test]
fn nginx() {
    check("nginx", &synthetic(), true);
}

#[test]
fn caddy() {
    check("caddy", &synthetic(), false);
}

#[test]
fn h2o() {
    check("h2o", &synthetic(), false);
}

#[test]
fn apache() {
    check("apache", &synthetic(), false);
}

#[test]
fn haproxy() {
    check("haproxy", &proxy(), true);
}

#[test]
fn envoy() {
    check("envoy", &synthetic(), true);
}

#[test]
fn lighttpd() {
    check("lighttpd", &synthetic(), false);
}

#[test]
fn traefik() {
    check("traefik", &proxy(), false);
}

#[test]
fn varnish() {
    check("varnish", &proxy(), false);
}

/// What listens on loopback alone is not what clients on other hosts would reach.
#[test]
fn a_server_on_loopback_is_not_ready_where_another_address_was_asked_for() {
    let theatre = theatre();
    let contender = theatre.script("serve({{ port }})");
    let error = theatre
        .start(&contender, std::time::Duration::from_millis(500))
        .unwrap_err();
    assert!(
        matches!(*error.cause, Cause::NeverListened { .. }),
        "{error}"
    );
}

#[test]
fn a_server_on_all_addresses_is_reached_at_the_one_asked_for() {
    let theatre = theatre();
    let contender = theatre.script("listen_on = \"0.0.0.0\"\nserve({{ port }}, at=listen_on)");
    let running = theatre.start(&contender, PATIENCE).unwrap();
    assert_eq!(running.address().ip(), OTHER);
}

/// A user's own file listens there too, whatever address it names.
fn own_file_answers_there(server: &str, name: &str, text: &str) {
    let theatre = theatre();
    if !is_installed(&theatre, server) {
        return;
    }
    let path = theatre.folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let contender = contender(server, ConfigSource::File(path));
    let surroundings = Surroundings {
        origin: Some(origin()),
        boxed: None,
        ..theatre.surroundings()
    };
    let asked = if server == "haproxy" {
        proxy()
    } else {
        synthetic()
    };
    let prepared = theatre
        .stage
        .prepare(&contender, &asked, &surroundings)
        .unwrap();
    let running = prepared.start(PATIENCE).unwrap();
    answers_there(&running, &asked, server);
    running.stop().unwrap();
}

#[test]
fn own_files_listen_where_they_are_asked() {
    let text = "events {}\nhttp { server { listen 80; return 200 'Hello, world!'; } }\n";
    own_file_answers_there("nginx", "nginx.conf", text);
    own_file_answers_there(
        "caddy",
        "Caddyfile",
        ":80 {\n\trespond \"Hello, world!\"\n}\n",
    );
    let text = "defaults\n  mode http\n  timeout connect 1s\n  timeout client 9s\n  \
                timeout server 9s\nfrontend web\n  bind :80\n  default_backend app\n\
                backend app\n  server a app:8080\n";
    own_file_answers_there("haproxy", "haproxy.cfg", text);
}
