//! `bakeoff load` against addresses that refuse, stall, lie and close.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;

use serde_json::Value;

use crate::support::files::assert_accounted;
use crate::support::scene::Scene;
use crate::support::scripted::{always, nobody, once, server, stalling};

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

/// Twelve requests to `address`, with `hello` as the expected body.
#[track_caller]
fn twelve(address: SocketAddr, more: &[&str]) -> Value {
    let scene = Scene::new();
    let body = scene.write("expected", "hello").display().to_string();
    let url = format!("http://{address}/");
    let mut arguments = vec!["load", &url, "-n", "12", "-c", "3", "--json"];
    arguments.extend(["--expect-body", &body, "--check-every-body"]);
    // Only who waits for a time-out asks for a short one.
    if !more.contains(&"--timeout") {
        arguments.extend(["--timeout", "60s"]);
    }
    arguments.extend(more);
    let load = scene.json(&arguments);
    assert_accounted(&load);
    assert_eq!(load["requests"]["completed"], 12, "{load:#}");
    load
}

/// All twelve come out as `outcome`; without `--strict` that is a result and no failure.
#[track_caller]
fn check(address: SocketAddr, outcome: &str) -> Value {
    let load = twelve(address, &[]);
    assert_eq!(load["outcomes"][outcome], 12, "{:#}", load["outcomes"]);
    if outcome != "ok" {
        assert_eq!(load["requests"]["ok"], 0);
        assert_eq!(load["latency_ns"]["count"].as_u64().unwrap_or(0), 0);
    }
    load
}

#[test]
fn each_answer_has_the_outcome_that_is_its_own() {
    let load = check(always(HELLO), "ok");
    assert_eq!(load["status"]["200"], 12);
    assert_eq!(load["bytes"]["body"], 60);
    assert_eq!(load["bodies_checked"], 12);
    let load = check(nobody(), "refused");
    assert_eq!(load["connections"]["opened"], 0);
    assert_eq!(load["connections"]["failed"], 12);
    let load = check(always(b"SSH-2.0-OpenSSH_9.2\r\n"), "protocol");
    assert!(load["error_samples"]["protocol"].is_string(), "{load:#}");
    for (closed, outcome) in [
        (&b""[..], "closed_early"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "truncated"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
            "truncated",
        ),
    ] {
        check(once(closed), outcome);
    }
    for (answer, outcome) in [
        (
            &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more"[..],
            "too_long",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHELLO",
            "wrong_body",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell",
            "wrong_body",
        ),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "status"),
    ] {
        check(always(answer), outcome);
    }
    let load = twelve(stalling(), &["--timeout", "500ms"]);
    assert_eq!(load["outcomes"]["timeout"], 12, "{:#}", load["outcomes"]);
    let gone = always(b"HTTP/1.1 410 Gone\r\nContent-Length: 5\r\n\r\nhello");
    let load = twelve(gone, &["--expect-status", "410"]);
    assert_eq!(load["requests"]["ok"], 12);
    assert_eq!(load["status"]["410"], 12);
}

#[test]
fn a_load_without_a_right_answer_says_so_last_and_ends_with_4() {
    let scene = Scene::new();
    let url = format!("http://{}/", nobody());
    for more in [
        &["-n", "5"][..],
        &["-n", "5", "--strict"],
        &["-n", "96", "-c", "2", "-d", "5s"],
        &["-n", "5", "-r", "100,200", "-d", "300ms"],
    ] {
        let finished = scene.run(&[&["load", &url], more].concat()).expect(4);
        assert!(finished.stdout.contains("refused"), "{finished:#?}");
        let last = finished.stderr.lines().last().unwrap();
        assert!(
            last.contains("no answer was right") && last.contains("`refused`"),
            "{last}"
        );
    }
    let expected = scene.write("expected", "jello").display().to_string();
    let url = format!("http://{}/", always(HELLO));
    let compared = ["load", &url, "-n", "130", "-c", "1", "-t", "1"];
    let compared = [&compared[..], &["--expect-body", &expected]].concat();
    let finished = scene.run(&compared).expect(4);
    assert!(finished.stdout.contains("3 of 3 compared bodies are wrong"));
    finished.says("3 of 3 compared bodies are wrong");
    let load = scene.run(&[&compared[..], &["--json"]].concat());
    let load = load.expect(4).json();
    assert_eq!(
        (&load["bodies_wrong"], &load["bodies_checked"]),
        (&3.into(), &3.into())
    );
    assert_eq!(load["interrupted"], false);
}

#[test]
fn a_count_ends_the_load_when_that_many_requests_have_ended() {
    let scene = Scene::new();
    let (address, head) = (always(HELLO), always(HEAD));
    let url = format!("http://{address}/");
    for count in ["1", "7", "1000"] {
        let load = scene.json(&["load", &url, "-n", count, "-c", "4", "--json"]);
        assert_accounted(&load);
        assert_eq!(load["requests"]["completed"].to_string(), count);
        assert_eq!(load["requests"]["in_flight_at_end"], 0);
    }
    // At a rate it is measured at that rate.
    for (count, measured_s) in [("1", 0.1), ("3", 0.3)] {
        let load = scene.json(&["load", &url, "-r", "10", "-n", count, "--json"]);
        assert_eq!(load["measured_s"], measured_s, "{load:#}");
        let rate = load["rate_per_s"]["ok"].as_f64().unwrap();
        assert!((rate - 10.0).abs() < 1e-9, "{rate}");
    }
    // An address with a port needs no scheme.
    for text in [
        format!("{address}"),
        format!("{address}/a?b"),
        format!("localhost:{}", address.port()),
    ] {
        let load = scene.json(&["load", &text, "-n", "0.01k", "--json"]);
        assert_eq!(load["requests"]["ok"], 10, "{load:#}");
        assert_eq!(load["url"], format!("http://{text}"));
    }
    // The answer to HEAD has no body.
    let url = format!("http://{head}/");
    let load = scene.json(&["load", &url, "-n", "12", "--method", "HEAD", "--json"]);
    assert_accounted(&load);
    assert_eq!(load["requests"]["ok"], 12, "{load:#}");
    assert_eq!(load["bytes"]["body"], 0, "{load:#}");
}

#[test]
fn headers_and_bodies_are_sent_as_given() {
    let scene = Scene::new();
    let (sender, requests) = std::sync::mpsc::channel();
    let address = server(move |mut stream| {
        let (mut request, mut chunk) = (Vec::new(), [0; 4096]);
        while !request.ends_with(b"sausage") {
            let length = stream.read(&mut chunk).unwrap();
            if length == 0 {
                return;
            }
            request.extend_from_slice(&chunk[..length]);
        }
        stream.write_all(HELLO).unwrap();
        let _ = sender.send(String::from_utf8(request).unwrap());
    });
    let url = format!("http://{address}/buns?with=mustard");
    let body = scene.write("body", "sausage").display().to_string();
    let mut arguments = vec!["load", &url, "-n", "1", "-c", "1", "-u", "me:sesame"];
    arguments.extend(["-H", "X-Hotdogs: aplenty", "--body", &body]);
    let files = ["result.txt", "seconds.csv", "requests.csv"].map(|name| scene.path(name));
    let [result, seconds, log] = files.each_ref().map(|it| it.to_str().unwrap());
    arguments.extend(["-o", result, "--csv", seconds, "--log", log]);
    assert_eq!(scene.run(&arguments).expect(0).stdout, "");
    let written = |file: &str| std::fs::read_to_string(file).unwrap();
    assert!(written(result).contains("no errors"), "{}", written(result));
    assert!(written(seconds).contains(",1,0,"), "{}", written(seconds));
    let request = written(log);
    assert!(
        request.contains(&format!(",ok,200,5,http://{address}/buns?")),
        "{request}"
    );
    let request = requests.recv().unwrap();
    assert!(
        request.starts_with("POST /buns?with=mustard HTTP/1.1\r\n"),
        "{request}"
    );
    for line in [
        "X-Hotdogs: aplenty\r\n",
        "Content-Length: 7\r\n",
        "Authorization: Basic bWU6c2VzYW1l\r\n",
    ] {
        let (wanted, found) = (line.to_lowercase(), request.to_lowercase());
        assert!(found.contains(&wanted), "no {line:?} in {request}");
    }
    let list = format!(
        "PUT http://{address}/a\nX-Account-ID: 99\n@{body}\n{{\"url\": \"http://{address}/b\", \
         \"body\": \"c2F1c2FnZQ==\"}}\n"
    );
    let commands = format!(
        "curl -X PATCH -H 'X-Account-ID: 98' -d @{body} http://{address}/c\n\
         curl http://{address}/d -H 'X-Id: {{n}}' --data-raw 'a={{uuid}}{{random x}}sausage'\n"
    );
    for (text, expected) in [
        (list, ["PUT /a HTTP/1.1|99", "POST /b HTTP/1.1|sausage"]),
        (
            commands,
            [
                "PATCH /c HTTP/1.1|98",
                "POST /d HTTP/1.1|a={uuid}{random x}sausage",
            ],
        ),
    ] {
        let list = scene.write("list.txt", &text).display().to_string();
        let load = ["load", "--urls", &list, "-n", "40", "--no-keepalive"];
        scene.run(&load).expect(0);
        let sent: Vec<String> = requests.try_iter().collect();
        for words in expected {
            let (first, inside) = words.split_once('|').unwrap();
            let is_it = |it: &&String| it.starts_with(first) && it.contains(inside);
            assert!(sent.iter().any(|it| is_it(&it)), "no {words} in {sent:#?}");
        }
    }
}

#[test]
fn a_body_of_gigabytes_takes_no_memory() {
    /// More than 32 bits can count.
    const BYTES: u64 = (4 << 30) + 5;
    let scene = Scene::new();
    // What the program that starts it has used is not the engine's.
    let others = std::hint::black_box(vec![1_u8; 100 << 20]);
    let address = server(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        let part = vec![b'x'; 1 << 20];
        let mut left = BYTES;
        while left > 0 {
            let length = left.min(part.len() as u64);
            if stream.write_all(&part[..length as usize]).is_err() {
                return;
            }
            left -= length;
        }
    });
    let url = format!("http://{address}/");
    let mut arguments = vec!["load", &url, "-n", "1", "-c", "1", "--json"];
    arguments.extend(["--timeout", "100s", "-d", "100s"]);
    let load = scene.json(&arguments);
    assert_accounted(&load);
    assert_eq!(load["requests"]["ok"], 1, "{load:#}");
    assert_eq!(load["bytes"]["body"], BYTES, "{load:#}");
    let memory = load["engine"]["rss_bytes_max"].as_u64().unwrap();
    assert!(memory < 64 << 20, "{memory} bytes");
    drop(others);
}

#[test]
fn an_output_that_closes_early_is_no_panic() {
    let scene = Scene::new();
    let url = format!("http://{}/", always(HELLO));
    for format in [None, Some("--json")] {
        let mut arguments = vec!["load", url.as_str(), "-n", "20"];
        arguments.extend(format);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = scene.command(&arguments);
        let output = command.stdout(writer).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?} {errors}", output.status);
        assert!(!errors.contains("panicked"), "{errors}");
    }
}

/// Answers every request with a body that names it, and a favicon with 404.
fn named() -> SocketAddr {
    server(|mut stream| {
        let mut head = [0; 4096];
        while let Ok(length) = stream.read(&mut head)
            && length > 0
        {
            let text = String::from_utf8_lossy(&head[..length]).into_owned();
            let line = text.lines().next().unwrap_or_default();
            let status = if line.contains("favicon") {
                "404 No"
            } else {
                "200 OK"
            };
            let length = line.len();
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{line}");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// How often each URL was answered rightly.
fn by_url(load: &Value) -> Vec<(String, u64)> {
    let urls = load["urls"].as_array().unwrap().iter();
    let each = urls.map(|it| {
        let ok = it["outcomes"]["ok"].as_u64().unwrap_or(0);
        (it["url"].as_str().unwrap().to_owned(), ok)
    });
    each.collect()
}

#[test]
fn urls_come_from_a_file_from_standard_input_or_from_a_page() {
    let scene = Scene::new();
    let address = named();
    let list = format!(
        "# weights, methods and URLs\n\n9 http://{address}/often\n{address}/seldom\n\
         POST http://{address}/sent\n"
    );
    let path = scene.write("urls.txt", &list);
    let arguments = ["load", "--urls", "urls.txt", "-n", "2k", "--json"];
    let from_file = scene.json(&arguments);
    let input = [arguments[0], arguments[1], "-", "-n", "2k", "--json"];
    let mut command = scene.command(&input);
    command.stdin(std::fs::File::open(path).unwrap());
    let from_input = scene.start_command(command).finish().expect(0).json();
    for load in [from_file, from_input] {
        assert_accounted(&load);
        let by_url = by_url(&load);
        let names: Vec<&str> = by_url.iter().map(|(url, _)| url.as_str()).collect();
        let expected = ["often", "seldom", "sent"].map(|name| format!("http://{address}/{name}"));
        assert_eq!(names, expected);
        let counts: Vec<u64> = by_url.iter().map(|(_, ok)| *ok).collect();
        assert_eq!(counts.iter().sum::<u64>(), 2_000);
        // 9 of 11 are 1,636.
        assert!((1_500..1_770).contains(&counts[0]), "{counts:?}");
        assert!(counts[1] > 100 && counts[2] > 100, "{counts:?}");
    }

    // The requests of a page come in their order, and go to another server.
    let entry = |url: &str, status: u16| {
        format!(
            r#"{{"request": {{"method": "GET", "url": "{url}"}},
                "response": {{"status": {status}}}}}"#
        )
    };
    let entries = [
        entry("https://www.example/", 200),
        entry("https://www.example/style.css", 200),
        entry("https://cdn.example/font", 200),
        entry("https://www.example/favicon.ico", 404),
    ];
    let text = format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(","));
    scene.write("page.har", &text);
    let address = address.to_string();
    let page = ["load", &address, "--har", "page.har", "-n", "40", "-c", "2"];
    let load = scene.json(&[&page[..], &["-t", "1", "--json"]].concat());
    assert_accounted(&load);
    // Forty requests in turn are thirteen of each, and one more of the first.
    let expected = [("/", 14), ("/style.css", 13), ("/favicon.ico", 13)];
    let expected = expected.map(|(path, ok)| (format!("http://{address}{path}"), ok));
    assert_eq!(by_url(&load), expected, "{load:#}");
    scene
        .run(&page)
        .expect(0)
        .says("page.har: 3 requests of www.example; left out: 1 to another server");
}
