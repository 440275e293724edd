//! `bakeoff load` over HTTP/2 and real servers: what came back is what was asked for, and a server
//! that ends its connections ends no load.

use std::process::Command;

use serde_json::Value;

use crate::support::files::assert_accounted;
use crate::support::scene::Scene;
use crate::support::scripted::nobody;
use crate::support::servers::Nginx;
use crate::support::{certificates, pass_over, wait_until};

/// Requests to each server that `tests/interop.sh` finds.
const INTEROP_REQUESTS: u64 = 2_000;

/// nginx over HTTP/2, in the clear and over TLS, that ends each connection after 1,000 requests,
/// with `more` in its `server`. `INNER` there is a server that reports the length of a body.
fn nginx(scene: &Scene, more: &str) -> Option<(Nginx, [Vec<String>; 2])> {
    certificates::write(scene);
    let (secure, inner) = (nobody(), nobody().to_string());
    let more = more.replace("INNER", &inner);
    let http = format!(
        "log_format what '$request_uri $server_protocol';
         log_format body escape=none '$request_body';
         server {{ listen {inner}; access_log off;
         location / {{ return 200 '$http_content_length'; }} }}
         ssl_certificate ../tls/server.pem; ssl_certificate_key ../tls/server.key;
         server {{ listen ADDRESS http2 backlog=4096; listen {secure} ssl http2 backlog=4096;
         keepalive_requests 1000; access_log off;
         location / {{ return 200 'Hello, world!'; }} {more} }}"
    );
    let nginx = Nginx::start_with(scene, nobody(), &http)?;
    let plain = [&nginx.url(), "--protocol", "h2c"].map(str::to_owned);
    let secure = [&format!("https://{secure}/"), "--cacert", "tls/ca.pem"].map(str::to_owned);
    Some((nginx, [plain.to_vec(), secure.to_vec()]))
}

/// What `bakeoff load ARGUMENTS --json` reports; all requests are accounted for and came out `ok`.
#[track_caller]
fn load(scene: &Scene, to: &[String], more: &[&str]) -> Value {
    let mut arguments = vec!["load", "--json"];
    arguments.extend(to.iter().map(String::as_str));
    arguments.extend(more);
    let load = scene.json(&arguments);
    assert_accounted(&load);
    let requests = &load["requests"];
    assert_eq!(requests["ok"], requests["completed"], "{load:#}");
    load
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_load_outlives_the_connections_that_nginx_ends() {
    let scene = Scene::new();
    let Some((_nginx, targets)) = nginx(&scene, "") else {
        return;
    };
    scene.write("expected", "Hello, world!");
    for to in targets {
        let flags = ["-c", "4", "-m", "16", "-n", "10000"];
        let flags = [
            &flags[..],
            &["--expect-body", "expected", "--check-every-body"],
        ]
        .concat();
        let load = load(&scene, &to, &flags);
        let links = &load["connections"];
        assert!(number(&links["goaways"]) > 0, "{load:#}");
        assert_eq!(links["goaways"], links["closed_by_server"], "{load:#}");
        // Four live on at the end; one of them may have been reported already.
        let opened = number(&links["opened"]);
        let ended = number(&links["closed_by_server"]);
        assert!((ended..=ended + 4).contains(&opened), "{load:#}");
        let carried = &load["requests_per_ended_connection"];
        assert_eq!(number(&carried["min"]), 1000, "{carried}");
        assert_eq!(number(&carried["max"]), 1000, "{carried}");
    }
}

#[test]
fn what_was_agreed_and_carried_is_reported() {
    let scene = Scene::new();
    let Some((_nginx, targets)) = nginx(&scene, "http2_max_concurrent_streams 8;") else {
        return;
    };
    for (to, protocol, alpn) in targets.iter().zip(["h2c", "h2"]).map(|(to, protocol)| {
        let alpn = (protocol == "h2").then_some("h2");
        (to, protocol, alpn)
    }) {
        let load = load(
            &scene,
            to,
            &["-n", "500", "-c", "2", "-m", "24", "--gather", "off"],
        );
        let agreed = &load["negotiated"];
        assert_eq!(agreed["protocol"], protocol, "{agreed}");
        assert_eq!(agreed["alpn"].as_str(), alpn, "{agreed}");
        assert_eq!(agreed["settings"]["max_concurrent_streams"], 8, "{agreed}");
        assert_eq!(load["load"]["streams"], 24, "{load:#}");
        assert_eq!(load["requests"]["completed"], 500);
        assert!(number(&load["blocked_ns"]["count"]) > 0, "{load:#}");
        let headers = &load["header_bytes"];
        assert!(number(&headers["wire"]) > 0, "{headers}");
        assert!(
            number(&headers["decoded"]) > number(&headers["wire"]),
            "{headers}"
        );
    }
}

#[test]
fn urls_and_bodies_arrive_as_they_were_asked_for() {
    let scene = Scene::new();
    let reported = "location /up { proxy_pass http://INNER; access_log body.log body;
                client_max_body_size 1m; client_body_buffer_size 1m; }
                location /a { access_log access.log what; return 200 'a'; }
                location /b { access_log access.log what; return 200 'b'; }";
    let Some((nginx, [plain, _])) = nginx(&scene, reported) else {
        return;
    };
    let (a, b) = (format!("{}a", nginx.url()), format!("{}b", nginx.url()));
    let urls = [a, b, "--protocol".to_owned(), "h2c".to_owned()];
    let flags = [
        "-n",
        "600",
        "-c",
        "3",
        "-m",
        "5",
        "--weights",
        "3,1",
        "--seed",
        "7",
    ];
    let load_of_two = load(&scene, &urls, &flags);
    let lines = |name: &str, count: usize| {
        let read = || std::fs::read_to_string(scene.path(name)).unwrap_or_default();
        wait_until(&format!("{name} has {count} lines"), || {
            read().lines().count() >= count
        });
        read().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let asked = lines("nginx/access.log", 600);
    for (index, path) in ["/a HTTP/2.0", "/b HTTP/2.0"].iter().enumerate() {
        let asked = asked.iter().filter(|line| line == path).count();
        let reported = &load_of_two["urls"][index]["outcomes"]["ok"];
        assert_eq!(number(reported), asked as u64, "{path}");
        let share = [450, 150][index];
        assert!(asked.abs_diff(share) < 50, "{path}: {asked} of 600");
    }
    // Larger than nginx's windows, which are 64 KiB.
    let body: String = (0..300_000)
        .map(|n| char::from(b'a' + (n % 26) as u8))
        .collect();
    scene.write("body", &body);
    let mut up = plain;
    up[0] = format!("{}up", nginx.url());
    scene.write("expected", "300000");
    let flags = ["-n", "40", "-m", "4", "--method", "POST", "--body", "body"];
    let flags = [&flags[..], &["--expect-body", "expected"]].concat();
    let uploads = load(&scene, &up, &flags);
    assert_eq!(number(&uploads["requests"]["ok"]), 40);
    let bodies = lines("nginx/body.log", 40);
    assert_eq!(bodies.len(), 40);
    assert!(bodies.iter().all(|read| *read == body));
}

#[test]
fn a_server_of_http1_alone_is_distinguished_and_leaves_streams_unused() {
    let scene = Scene::new();
    certificates::write(&scene);
    let secure = nobody();
    let http = format!(
        "access_log off; server {{ listen ADDRESS; listen {secure} ssl;
         ssl_certificate ../tls/server.pem; ssl_certificate_key ../tls/server.key;
         location / {{ return 200 'Hello, world!'; }} }}"
    );
    let Some(nginx) = Nginx::start_with(&scene, nobody(), &http) else {
        return;
    };
    let to = [&format!("https://{secure}/"), "--cacert", "tls/ca.pem"].map(str::to_owned);
    let codes = |flags: &[&str]| {
        let load = load(&scene, &to, flags);
        let warnings = load["warnings"].as_array().unwrap().iter();
        let codes = warnings.map(|warning| warning["code"].as_str().unwrap().to_owned());
        codes.collect::<Vec<_>>()
    };
    let unused = "streams-unused".to_owned();
    assert!(codes(&["-n", "20", "-m", "8"]).contains(&unused));
    assert!(!codes(&["-n", "20"]).contains(&unused));
    let url = nginx.url();
    let flags = ["load", &url, "-n", "4", "--json", "--protocol", "h2c"];
    let load = scene.json(&flags);
    assert_accounted(&load);
    assert_eq!(load["outcomes"]["protocol"], 4, "{load:#}");
    let sample = load["error_samples"]["protocol"].as_str().unwrap();
    assert!(sample.contains("not SETTINGS"), "{sample}");
}

#[test]
fn every_server_that_is_here_answers_each_request_rightly() {
    let scene = Scene::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/interop.sh");
    let mut command = Command::new(script);
    command
        .arg(INTEROP_REQUESTS.to_string())
        .env("BAKEOFF", env!("CARGO_BIN_EXE_bakeoff"))
        .env("TMPDIR", scene.path("tmp"));
    let reported = scene.start_command(command).finish().expect(0).stdout;
    let rows = reported
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    for row in rows {
        match row[..] {
            [server, "not", "here"] => pass_over(&format!("{server} is not here")),
            [_, _, _, ok, errors, bodies, ..] => {
                assert_eq!(ok, INTEROP_REQUESTS.to_string(), "{reported}");
                assert_eq!((errors, bodies), ("0", ok), "{reported}");
            }
            _ => panic!("{reported}"),
        }
    }
    for server in ["nginx", "caddy", "haproxy", "h2o", "apache", "nghttpd"] {
        assert!(reported.contains(server), "{reported}");
    }
}
