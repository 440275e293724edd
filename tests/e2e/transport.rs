//! `bakeoff load` and a real nginx over all that connections can be: TLS, unix sockets, source
//! addresses, the PROXY protocol, IPv6. What nginx says that it met is what must come back.

use std::net::{SocketAddr, TcpListener};

use serde_json::Value;

use crate::support::certificates;
use crate::support::files::assert_accounted;
use crate::support::scene::Scene;
use crate::support::scripted::nobody;
use crate::support::servers::Nginx;
use crate::support::wait_until;

/// A server over TLS that answers with what it met.
const TLS: &str = "
access_log off;
ssl_certificate ../tls/server.pem; ssl_certificate_key ../tls/server.key;
ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:tests:1m;
ssl_client_certificate ../tls/ca.pem;
server {
    listen ADDRESS ssl;
    location = /version { return 200 '$ssl_protocol'; }
    location = /name { return 200 '$ssl_server_name'; }
    location = /reused { return 200 '$ssl_session_reused'; }
}
server {
    listen ADDRESS ssl; server_name two.test; ssl_verify_client on;
    location / { return 200 '$ssl_client_verify $ssl_client_s_dn'; }
}
";

/// What `bakeoff load ARGUMENTS --json` reports; all requests are accounted for, and their number
/// is `count`.
#[track_caller]
fn load(scene: &Scene, count: u64, arguments: &[&str]) -> Value {
    let count_flag = count.to_string();
    let mut all = vec!["load", "-n", &count_flag, "--json"];
    all.extend(arguments);
    let load = scene.json(&all);
    assert_accounted(&load);
    assert_eq!(load["requests"]["completed"], count, "{load:#}");
    load
}

/// The same, and each answer's body is `body`.
#[track_caller]
fn load_expecting(scene: &Scene, body: &str, arguments: &[&str]) -> Value {
    let expected = scene.write("expected", body).display().to_string();
    let mut all = vec!["--expect-body", &expected, "--check-every-body"];
    all.extend(arguments);
    let load = load(scene, 12, &all);
    assert_eq!(load["outcomes"]["ok"], 12, "expected {body:?}: {load:#}");
    load
}

/// nginx over TLS with certificates for it.
fn tls_server(scene: &Scene) -> Option<Nginx> {
    certificates::write(scene);
    Nginx::start_with(scene, nobody(), TLS)
}

#[track_caller]
fn check_versions(scene: &Scene, nginx: &Nginx) {
    let url = format!("https://{}/version", nginx.address);
    for (version, reported, suite) in [
        ("1.2", "TLSv1.2", "ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        ("1.3", "TLSv1.3", "TLS13_CHACHA20_POLY1305_SHA256"),
    ] {
        let suite = suite.replace("ECDHE", "TLS_ECDHE");
        let mut flags = vec![url.as_str(), "-c", "3", "--cacert", "tls/ca.pem"];
        flags.extend(["--tls-version", version, "--ciphers", &suite]);
        flags.extend(["--groups", "secp256r1"]);
        let load = load_expecting(scene, reported, &flags);
        let agreed = &load["negotiated"];
        assert_eq!(agreed["protocol"], "h1", "{agreed}");
        assert_eq!(agreed["tls_version"], reported, "{agreed}");
        assert_eq!(agreed["cipher"], suite.as_str(), "{agreed}");
        assert_eq!(agreed["group"], "secp256r1", "{agreed}");
        assert_eq!(agreed["alpn"], "http/1.1", "{agreed}");
        assert_eq!(load["connections"]["handshakes_full"], 3, "{load:#}");
        assert_eq!(load["connections"]["handshakes_resumed"], 0, "{load:#}");
        assert_eq!(load["handshake_ns"]["count"], 3, "{load:#}");
    }
    let both = load_expecting(scene, "TLSv1.3", &[&url, "-k"]);
    assert_eq!(both["negotiated"]["tls_version"], "TLSv1.3");
}

#[test]
fn what_is_agreed_over_tls_is_what_was_asked_for() {
    let scene = Scene::new();
    let Some(nginx) = tls_server(&scene) else {
        return;
    };
    check_versions(&scene, &nginx);
    check_refused_certificates(&scene, &nginx);
    check_resumption(&scene, &nginx);
    check_names_and_certificates(&scene, &nginx);
}

#[track_caller]
fn check_refused_certificates(scene: &Scene, nginx: &Nginx) {
    let url = format!("https://{}/version", nginx.address);
    for (flags, words) in [
        (vec!["--cacert", "tls/stranger.pem"], "UnknownIssuer"),
        (
            vec!["--cacert", "tls/ca.pem", "--server-name", "three.test"],
            "three.test",
        ),
    ] {
        let mut flags = [vec![url.as_str(), "-c", "3"], flags].concat();
        let refused = load(scene, 12, &flags);
        assert_eq!(refused["outcomes"]["tls"], 12, "{refused:#}");
        let sample = refused["error_samples"]["tls"].as_str().unwrap();
        assert!(sample.contains(words), "no {words} in {sample}");
        assert_eq!(refused["connections"]["failed"], 12, "{refused:#}");
        assert_eq!(refused["connections"]["handshakes_full"], 0, "{refused:#}");
        flags.push("--strict");
        let strict = [vec!["load", "-n", "1"], flags].concat();
        scene.run(&strict).expect(4);
    }
}

#[track_caller]
fn check_resumption(scene: &Scene, nginx: &Nginx) {
    let url = format!("https://{}/reused", nginx.address);
    for version in ["1.2", "1.3"] {
        for (resumption, resumed) in [("off", 0), ("on", 19)] {
            let mut flags = vec![url.as_str(), "-c", "1", "--cacert", "tls/ca.pem"];
            flags.extend(["--no-keepalive", "--tls-version", version]);
            flags.extend(["--resumption", resumption]);
            let load = load(scene, 20, &flags);
            let links = &load["connections"];
            assert_eq!(load["outcomes"]["ok"], 20, "{load:#}");
            assert_eq!(links["handshakes_resumed"], resumed, "TLS {version}");
            assert_eq!(links["handshakes_full"], 20 - resumed, "TLS {version}");
            // nginx answers `r` on a resumed session and `.` on a new one: one byte each.
            assert_eq!(load["bytes"]["body"], 20, "{load:#}");
        }
    }
}

#[track_caller]
fn check_names_and_certificates(scene: &Scene, nginx: &Nginx) {
    let to = nginx.address.to_string();
    let trust = ["--cacert", "tls/ca.pem", "--connect-to", to.as_str()];
    let with = |more: &[&'static str]| [&trust[..], more].concat();
    load_expecting(scene, "one.test", &with(&["https://one.test/name"]));
    let renamed = ["https://three.test/name", "--server-name", "localhost"];
    load_expecting(scene, "localhost", &with(&renamed));

    let shown = ["https://two.test/", "--cert", "tls/client.pem"];
    let shown = [&shown[..], &["--key", "tls/client.key"]].concat();
    load_expecting(scene, "SUCCESS CN=client", &with(&shown));
    // nginx lets the handshake end and refuses by an answer.
    let hidden = load(scene, 12, &with(&["https://two.test/"]));
    assert_eq!(hidden["status"]["400"], 12, "{hidden:#}");
    assert_eq!(hidden["outcomes"]["status"], 12, "{hidden:#}");
}

#[test]
fn a_unix_socket_takes_the_place_of_the_host_and_in_the_clear_nothing_of_tls_is_reported() {
    let scene = Scene::new();
    let http = "access_log off; server { listen ADDRESS; listen unix:here.sock;
                location / { return 200 '$host $server_addr'; } }";
    let socket = scene.path("nginx/here.sock").display().to_string();
    let http = http.replace("here.sock", &socket);
    let Some(nginx) = Nginx::start_with(&scene, nobody(), &http) else {
        return;
    };
    let flags = ["http://one.test/", "--unix-socket", &socket];
    load_expecting(&scene, &format!("one.test unix:{socket}"), &flags);
    let load = load(&scene, 3, &[&nginx.url()]);
    for key in ["tls_version", "cipher", "group", "alpn"] {
        assert!(load["negotiated"][key].is_null(), "{}", load["negotiated"]);
    }
    assert!(load["handshake_ns"].is_null(), "{load:#}");
    assert_eq!(load["connections"]["handshakes_full"], 0, "{load:#}");
}

/// Lines of nginx's log, once there are as many as `count`.
#[track_caller]
fn logged(scene: &Scene, count: usize) -> Vec<String> {
    let path = scene.path("nginx/access.log");
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    wait_until("all requests are logged", || {
        read().lines().count() >= count
    });
    let lines: Vec<String> = read().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), count);
    lines
}

#[test]
fn connections_come_from_the_named_addresses_in_turn() {
    let scene = Scene::new();
    let http = "log_format who '$remote_addr'; access_log access.log who;
                server { listen ADDRESS; location / { return 200; } }";
    let Some(nginx) = Nginx::start_with(&scene, nobody(), http) else {
        return;
    };
    let url = nginx.url();
    let mut flags = vec![url.as_str(), "-c", "4", "-t", "1", "--no-keepalive"];
    flags.extend(["--source", "127.0.0.7", "--source", "127.0.0.8"]);
    let load = load(&scene, 40, &flags);
    assert_eq!(load["requests"]["ok"], 40, "{load:#}");
    let lines = logged(&scene, 40);
    for source in ["127.0.0.7", "127.0.0.8"] {
        let from = lines.iter().filter(|line| *line == source).count();
        assert_eq!(from, 20, "{source} in {lines:?}");
    }
}

#[test]
fn the_proxy_protocol_names_whom_a_connection_is_for_over_ipv4_and_ipv6() {
    let scene = Scene::new();
    certificates::write(&scene);
    let secure = nobody();
    let http = format!(
        "access_log off; ssl_certificate ../tls/server.pem;
         ssl_certificate_key ../tls/server.key;
         server {{ listen ADDRESS proxy_protocol; listen {secure} ssl proxy_protocol;
         location / {{ return 200 '$proxy_protocol_addr for \
         $proxy_protocol_server_addr:$proxy_protocol_server_port'; }} }}"
    );
    let Some(nginx) = Nginx::start_with(&scene, nobody(), &http) else {
        return;
    };
    let check = |scheme: &str, address: SocketAddr, version: &str| {
        let url = format!("{scheme}://{address}/");
        let mut flags = vec![url.as_str(), "-k", "-c", "3"];
        flags.extend(["--proxy-protocol", version, "--source", "127.0.0.9"]);
        load_expecting(&scene, &format!("127.0.0.9 for {address}"), &flags);
    };
    for version in ["v1", "v2"] {
        check("http", nginx.address, version);
        check("https", secure, version);
    }
    let without = load(&scene, 3, &[&nginx.url()]);
    assert_eq!(without["requests"]["ok"], 0, "nginx refuses {without:#}");
    check_ipv6();
}

/// Its URL has brackets.
#[track_caller]
fn check_ipv6() {
    let scene = Scene::new();
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        return crate::support::pass_over("this machine has no ::1");
    };
    let address = listener.local_addr().unwrap();
    drop(listener);
    let http = "access_log off; server { listen ADDRESS proxy_protocol;
                location / { return 200 '$proxy_protocol_addr $http_host'; } }";
    let Some(nginx) = Nginx::start_with(&scene, address, http) else {
        return;
    };
    let url = nginx.url();
    for version in ["v1", "v2"] {
        let flags = [&url, "-c", "3", "--proxy-protocol", version];
        load_expecting(&scene, &format!("::1 {address}"), &flags);
    }
}

#[test]
fn a_body_arrives_whole_with_a_length_and_in_chunks() {
    let scene = Scene::new();
    certificates::write(&scene);
    let secure = nobody();
    // Behind `/up` nginx reports the length that it read; the log holds what it read.
    let http = format!(
        "log_format body escape=none '$request_body'; access_log off;
         log_format head '$http_transfer_encoding $http_content_length';
         client_body_buffer_size 64k; ssl_certificate ../tls/server.pem;
         ssl_certificate_key ../tls/server.key;
         server {{ listen ADDRESS; listen {secure} ssl;
         location /up {{ access_log access.log body; access_log head.log head;
         proxy_pass http://ADDRESS/length; }}
         location /length {{ return 200 '$http_content_length'; }} }}"
    );
    let Some(nginx) = Nginx::start_with(&scene, nobody(), &http) else {
        return;
    };
    let body: String = (0..40_000)
        .map(|n| char::from(b'a' + (n % 26) as u8))
        .collect();
    scene.write("body", &body);
    let plain = format!("{}up", nginx.url());
    for url in [plain, format!("https://{secure}/up")] {
        let mut flags = vec![url.as_str(), "-k", "-c", "3", "--method", "POST"];
        flags.extend(["--body", "body"]);
        for more in [None, Some("--chunked")] {
            flags.extend(more);
            let load = load_expecting(&scene, "40000", &flags);
            assert_eq!(load["connections"]["opened"], 3, "{load:#}");
        }
    }
    let bodies = logged(&scene, 48);
    assert!(bodies.iter().all(|read| *read == body));
    let heads = std::fs::read_to_string(scene.path("nginx/head.log")).unwrap();
    for (head, count) in [("chunked -", 24), ("- 40000", 24)] {
        let found = heads.lines().filter(|line| *line == head).count();
        assert_eq!(found, count, "{head} in {heads}");
    }
}

#[test]
fn several_urls_are_asked_as_often_as_their_weights_say() {
    let scene = Scene::new();
    let http = "log_format what '$request_uri'; access_log access.log what;
                server { listen ADDRESS; location / { return 200 '$request_uri'; }
                location /c { return 404; } }";
    let Some(nginx) = Nginx::start_with(&scene, nobody(), http) else {
        return;
    };
    let urls = ["a", "b", "c"].map(|path| format!("{}{path}", nginx.url()));
    let mut flags: Vec<&str> = urls.iter().map(String::as_str).collect();
    flags.extend(["--weights", "6,3,1", "--seed", "7", "-t", "1", "-c", "5"]);
    let load = load(&scene, 1000, &flags);
    let lines = logged(&scene, 1000);
    let reported = load["urls"].as_array().unwrap();
    assert_eq!(reported.len(), 3, "{load:#}");
    for ((url, reported), share) in urls.iter().zip(reported).zip([600_u64, 300, 100]) {
        assert_eq!(reported["url"], url.as_str());
        let outcome = if url.ends_with('c') { "status" } else { "ok" };
        let count = reported["outcomes"][outcome].as_u64().unwrap();
        let path = &url[url.len() - 2..];
        let asked = lines.iter().filter(|line| *line == path).count();
        assert_eq!(count, asked as u64, "{path}: {reported:#}");
        assert!(count.abs_diff(share) < 50, "{path}: {count} of 1000");
        let latencies = reported["latency_ns"]["count"].as_u64().unwrap_or(0);
        assert_eq!(latencies, if outcome == "ok" { count } else { 0 });
    }
}
