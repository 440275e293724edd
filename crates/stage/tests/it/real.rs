//! The configurations of the servers' folders with the real programs. A program that is not
//! installed is said and passed over, but not where `CI=true`: there it fails.

#![allow(
    clippy::print_stdout,
    reason = "the output says which program was tested"
)]

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{
    ORIGIN_BODY, PATIENCE, Theatre, contender, fetch, is_installed, kill, origin, runs, served,
    wait_until, workload,
};
use bakeoff_plan::{CertificateKey, ConfigSource, Contender, Encoding, Protocol, Workload};
use bakeoff_record::When;
use bakeoff_stage::{Cause, Running, Surroundings};
use rustix::process::Signal;

fn workloads() -> [Workload; 5] {
    let file = |name: &str, path: &str, bytes: usize| {
        let body = "0123456789abcdef\n".repeat(bytes / 17 + 1)[..bytes].to_owned();
        let mut workload = workload(name, &format!("/{path}"), &body);
        workload.files = vec![served(path, &body), served("deeper/still.txt", "here")];
        workload
    };
    let mut proxy = workload("proxy", "/", ORIGIN_BODY);
    proxy.proxied = true;
    let mut gzip = file("gzip", "page.html", 12_288);
    gzip.requests = gzip.requests.map(|request| {
        let mut request = request.clone();
        let accepted = ("Accept-Encoding".to_owned(), "gzip".to_owned());
        request.headers.push(accepted);
        request.expect.encoding = Encoding::Gzip;
        request
    });
    [
        workload("synthetic", "/", "Hello, world!"),
        file("html-small", "index.html", 4500),
        file("html-large", "jquery-3.6.1.js", 289_812),
        proxy,
        gzip,
    ]
}

/// What only a server that reads files can do.
const FILES: [&str; 3] = ["html-small", "html-large", "gzip"];

/// A server that reloads its configuration keeps running and answers as before.
fn reloads(running: &mut Running, workload: &Workload, what: &str) {
    let Some(signal) = running.reload_signal() else {
        return;
    };
    let signal = match signal {
        "HUP" => Signal::HUP,
        "USR1" => Signal::USR1,
        other => panic!("{what}: {other}"),
    };
    let pid = running.tree().main_pid;
    let begun = running.pids();
    if begun.len() == 1 {
        // Nothing shows when one process is done with it.
        return;
    }
    kill(pid, signal);
    wait_until("its workers are others", || running.pids() != begun);
    let right = |running: &mut Running| {
        let fetched = fetch(running, workload, When::After);
        fetched.is_ok_and(|fetched| fetched.check.right)
    };
    wait_until("it answers", || right(running));
    assert_eq!(running.died(), None, "{what}");
    assert_eq!(running.tree().main_pid, pid, "{what}");
}

/// Each workload over each protocol, and what the folder says is not supported, by the name of a
/// workload or of a protocol.
fn everything(server: &str, variant: &str, unsupported: &[&str]) {
    let theatre = Theatre::new();
    if !is_installed(&theatre, server) {
        return;
    }
    let contender = contender(server, ConfigSource::Variant(variant.to_owned()));
    let surroundings = Surroundings {
        origin: Some(origin()),
        boxed: None,
        ..theatre.surroundings()
    };
    for (workload, protocol) in workloads()
        .iter()
        .flat_map(|workload| Protocol::ALL.map(|protocol| (workload, protocol)))
    {
        let workload = Workload {
            protocol,
            ..workload.clone()
        };
        let prepared = theatre.stage.prepare(&contender, &workload, &surroundings);
        let asked = [workload.name.as_str(), protocol.name()];
        if asked.iter().any(|name| unsupported.contains(name)) {
            let error = prepared.unwrap_err();
            assert!(matches!(*error.cause, Cause::Unsupported { .. }), "{error}");
            continue;
        }
        // The distribution's nginx and servers without HTTP/3 say so.
        if protocol == Protocol::H3
            && let Err(error) = &prepared
            && matches!(*error.cause, Cause::Unsupported { .. })
        {
            continue;
        }
        let prepared = prepared.unwrap();
        prepared.check_config().unwrap();
        let mut running = prepared.start(PATIENCE).unwrap();
        let answer = fetch(&running, &workload, When::Before).unwrap().check;
        let what = format!("{server} {variant} {} {}", workload.name, protocol.name());
        assert!(answer.right, "{what}");
        let negotiated = answer.negotiated;
        let expected = match protocol {
            Protocol::H1 | Protocol::H1Tls => "h1",
            Protocol::H2 | Protocol::H2c => "h2",
            Protocol::H3 => "h3",
        };
        assert_eq!(negotiated.protocol, expected, "{what}");
        assert_eq!(
            negotiated.tls_version.is_some(),
            protocol.is_secure(),
            "{what}"
        );
        assert_eq!(
            answer.decoded_bytes.is_some(),
            workload.name == "gzip",
            "{what}"
        );
        assert_eq!(running.died(), None);
        reloads(&mut running, &workload, &what);
        let pids = running.pids();
        let stopped = running.stop().unwrap();
        assert!(stopped.graceful, "{what}: {stopped:?}");
        assert!(!pids.into_iter().any(runs));
    }
}

#[test]
fn nginx_default_serves_everything() {
    everything("nginx", "default", &[]);
}

#[test]
fn nginx_optimized_serves_everything() {
    everything("nginx", "optimized", &[]);
}

#[test]
fn caddy_default_serves_everything() {
    everything("caddy", "default", &[]);
}

#[test]
fn h2o_default_serves_everything() {
    everything("h2o", "default", &[]);
}

#[test]
fn apache_default_serves_everything() {
    everything("apache", "default", &[]);
}

#[test]
fn haproxy_default_forwards_and_serves_no_files() {
    everything("haproxy", "default", &FILES);
}

#[test]
fn envoy_default_serves_everything() {
    everything("envoy", "default", &[]);
}

#[test]
fn lighttpd_default_serves_everything() {
    everything("lighttpd", "default", &[]);
}

#[test]
fn traefik_default_forwards_and_has_no_answers_of_its_own() {
    let unsupported = [&["synthetic"], &FILES[..]].concat();
    everything("traefik", "default", &unsupported);
}

#[test]
fn varnish_default_forwards_in_the_clear_and_serves_no_files() {
    let unsupported = [&["h1-tls", "h2"], &FILES[..]].concat();
    everything("varnish", "default", &unsupported);
}

/// A listener without HTTP/2 would be measured over what it fell back to.
#[test]
fn a_listener_that_does_not_speak_http_2_is_not_ready_for_it() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "nginx") {
        return;
    }
    let [synthetic, ..] = workloads();
    let start = |protocol, listen: &str, within| {
        let path = theatre.folder.path().join("nginx.conf");
        // A distribution's nginx stores below a folder that is root's.
        let stored: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {{{{ run }}}}/{name};\n"))
            .concat();
        let text = format!(
            "events {{}}\nhttp {{ access_log off; {stored} server {{\n\
             listen 127.0.0.1:{{{{ port }}}}{listen}\n\
             return 200 \"Hello, world!\"; }} }}\n"
        );
        std::fs::write(&path, text).unwrap();
        let workload = Workload {
            protocol,
            ..synthetic.clone()
        };
        let contender = contender("nginx", ConfigSource::File(path));
        let surroundings = theatre.surroundings();
        let prepared = theatre.stage.prepare(&contender, &workload, &surroundings);
        prepared.unwrap().start(within)
    };
    let tls = " ssl; ssl_certificate {{ certificate }}; ssl_certificate_key {{ key }};";
    for (protocol, listen) in [(Protocol::H2, tls), (Protocol::H2c, ";")] {
        // It is asked until then.
        let error = start(protocol, listen, Duration::from_secs(3)).unwrap_err();
        assert!(matches!(*error.cause, Cause::WrongAnswer { .. }), "{error}");
    }
    let running = start(Protocol::H1Tls, tls, PATIENCE).unwrap();
    assert!(running.authority().is_some(), "it was given a certificate");
    running.stop().unwrap();
}

/// The key that a full handshake uses is the contender's choice.
#[test]
fn a_contender_may_have_an_rsa_key() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "nginx") {
        return;
    }
    let [mut synthetic, ..] = workloads();
    synthetic.protocol = Protocol::H1Tls;
    let key_of = |certificate| {
        let variant = ConfigSource::Variant("default".to_owned());
        let contender = Contender {
            certificate,
            ..contender("nginx", variant)
        };
        let surroundings = theatre.surroundings();
        let prepared = theatre.stage.prepare(&contender, &synthetic, &surroundings);
        let running = prepared.unwrap().start(PATIENCE).unwrap();
        let answer = fetch(&running, &synthetic, When::Before).unwrap().check;
        assert!(answer.right);
        let folder = running.authority().unwrap().parent().unwrap().to_owned();
        let key = std::fs::read(folder.join("key.pem")).unwrap();
        running.stop().unwrap();
        assert!(!folder.exists(), "the key goes with the trial");
        key.len()
    };
    let (ecdsa, rsa) = (
        key_of(CertificateKey::EcdsaP256),
        key_of(CertificateKey::Rsa2048),
    );
    assert!(ecdsa * 3 < rsa, "{ecdsa} and {rsa} bytes");
}

#[test]
fn nginx_default_has_one_worker_and_optimized_more_and_both_can_be_extended() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "nginx") {
        return;
    }
    let [synthetic, ..] = workloads();
    let processes = |variant: &str| {
        let contender = contender("nginx", ConfigSource::Variant(variant.to_owned()));
        let prepared = theatre
            .stage
            .prepare(&contender, &synthetic, &theatre.surroundings());
        let running = prepared.unwrap().start(PATIENCE).unwrap();
        let processes = running.pids().len();
        running.stop().unwrap();
        processes
    };
    assert_eq!(processes("default"), 2, "a master and one worker");
    let online = std::thread::available_parallelism().unwrap().get();
    assert!(
        processes("optimized") > online,
        "a master and a worker for each processor"
    );

    let mut extended = contender("nginx", ConfigSource::Variant("default".to_owned()));
    extended.overlays = vec![("events".to_owned(), "worker_connections 64;".to_owned())];
    let prepared = theatre
        .stage
        .prepare(&extended, &synthetic, &theatre.surroundings())
        .unwrap();
    prepared.check_config().unwrap();
    assert!(
        std::fs::read_to_string(prepared.config())
            .unwrap()
            .contains("worker_connections 64;")
    );
}

fn own_nginx(theatre: &Theatre, text: &str) -> Option<Running> {
    let path: PathBuf = theatre.folder.path().join("own.conf");
    std::fs::write(&path, text).unwrap();
    let contender = contender("nginx", ConfigSource::File(path));
    let [synthetic, ..] = workloads();
    let prepared = theatre
        .stage
        .prepare(&contender, &synthetic, &theatre.surroundings())
        .unwrap();
    prepared.check_config().unwrap();
    Some(prepared.start(PATIENCE).unwrap())
}

#[test]
fn nginx_with_a_file_of_the_users_own_even_as_a_daemon() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "nginx") {
        return;
    }
    let probe = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = probe.local_addr().unwrap().port();
    drop(probe);
    let server = format!(
        "events {{}}\nhttp {{ access_log off; include more.conf; server {{\n\
         listen 127.0.0.1:{port}; return 200 \"Hello, world!\"; }} }}\n"
    );
    std::fs::write(
        theatre.folder.path().join("more.conf"),
        "server_tokens off;\n",
    )
    .unwrap();
    for first in ["", "daemon on;\n"] {
        let mut running = own_nginx(&theatre, &format!("{first}{server}")).unwrap();
        assert_eq!(running.address().port(), port);
        assert_eq!(running.facts().server_header.as_deref(), Some("nginx"));
        assert_eq!(running.died(), None);
        let pids = running.pids();
        assert!(pids.len() >= 2);
        assert!(running.stop().unwrap().graceful);
        assert!(!pids.into_iter().any(runs));
    }
}

#[test]
fn nginx_workers_do_not_survive_their_master() {
    let theatre = Theatre::new();
    if !is_installed(&theatre, "nginx") {
        return;
    }
    let [synthetic, ..] = workloads();
    let contender = contender("nginx", ConfigSource::Variant("default".to_owned()));
    let prepared = theatre
        .stage
        .prepare(&contender, &synthetic, &theatre.surroundings())
        .unwrap();
    let mut running = prepared.start(PATIENCE).unwrap();
    let pids = running.pids();
    kill(running.tree().main_pid, Signal::KILL);
    wait_until("the death is known", || running.died().is_some());
    drop(running);
    assert!(!pids.into_iter().any(runs));
}

#[test]
fn rejected_configurations_show_the_servers_own_words() {
    let theatre = Theatre::new();
    let [synthetic, ..] = workloads();
    for (server, text, expected) in [
        (
            "nginx",
            "events {}\nhttp { sendfiel on; server { listen 8080; } }\n",
            "unknown directive \"sendfiel\"",
        ),
        (
            "caddy",
            ":{{ port }} {\n\tresopnd \"x\"\n}\n",
            "unrecognized directive: resopnd",
        ),
    ] {
        if !is_installed(&theatre, server) {
            continue;
        }
        let path = theatre.folder.path().join("own.conf");
        std::fs::write(&path, text).unwrap();
        let contender = contender(server, ConfigSource::File(path));
        let prepared = theatre
            .stage
            .prepare(&contender, &synthetic, &theatre.surroundings());
        let error = prepared.unwrap().check_config().unwrap_err();
        assert!(
            matches!(*error.cause, Cause::ConfigRejected { .. }),
            "{error}"
        );
        assert!(
            error.message.as_ref().unwrap().contains(expected),
            "{error:?}"
        );
    }
}
