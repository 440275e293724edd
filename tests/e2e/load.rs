//! `bakeoff load` against addresses that refuse, stall, lie and close, and with wrong flags.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::alone;
use crate::support::files::assert_accounted;
use crate::support::scene::Scene;
use crate::support::scripted::{always, nobody, once, server, stalling};

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

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
fn a_right_server_gives_ok() {
    let load = check(always(HELLO), "ok");
    assert_eq!(load["status"]["200"], 12);
    assert_eq!(load["bytes"]["body"], 60);
    assert_eq!(load["bodies_checked"], 12);
}

#[test]
fn a_port_without_listener_refuses() {
    let load = check(nobody(), "refused");
    assert_eq!(load["connections"]["opened"], 0);
    assert_eq!(load["connections"]["failed"], 12);
}

#[test]
fn a_stalling_server_times_out() {
    let load = twelve(stalling(), &["--timeout", "500ms"]);
    assert_eq!(load["outcomes"]["timeout"], 12, "{:#}", load["outcomes"]);
}

#[test]
fn closing_early_and_inside_a_body_are_distinguished() {
    check(once(b""), "closed_early");
    check(once(b"HTTP/1.1 200 OK\r\nContent-Le"), "truncated");
    check(
        once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
        "truncated",
    );
}

#[test]
fn garbage_breaks_the_protocol() {
    let load = check(always(b"SSH-2.0-OpenSSH_9.2\r\n"), "protocol");
    assert!(load["error_samples"]["protocol"].is_string(), "{load:#}");
}

#[test]
fn bodies_longer_than_announced_or_other_than_expected_are_not_ok() {
    check(
        always(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more"),
        "too_long",
    );
    check(
        always(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHELLO"),
        "wrong_body",
    );
    check(
        always(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell"),
        "wrong_body",
    );
    check(
        always(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
        "status",
    );
}

#[test]
fn an_error_answer_can_be_what_is_expected() {
    let gone = always(b"HTTP/1.1 410 Gone\r\nContent-Length: 5\r\n\r\nhello");
    let load = twelve(gone, &["--expect-status", "410"]);
    assert_eq!(load["requests"]["ok"], 12);
    assert_eq!(load["status"]["410"], 12);
}

#[test]
fn a_load_without_a_right_answer_ends_with_exit_code_4() {
    let scene = Scene::new();
    let url = format!("http://{}/", nobody());
    for strict in [&[][..], &["--strict"]] {
        let arguments = [&["load", &url, "-n", "5"], strict].concat();
        let finished = scene.run(&arguments).expect(4);
        assert!(finished.stdout.contains("refused"), "{finished:#?}");
    }
}

/// Each command line is refused with these words, before anything is printed.
#[track_caller]
fn refused(cases: &[(Vec<&str>, &str)]) {
    let scene = Scene::new();
    for (arguments, words) in cases {
        let finished = scene.run(arguments).expect(2).says(words);
        assert!(finished.stdout.is_empty(), "{finished:#?}");
    }
}

#[test]
fn what_is_no_url_or_no_list_is_refused_with_exit_code_2() {
    let url = "http://127.0.0.1:9/";
    refused(&[
        (
            vec!["load", "example.com"],
            "http://example.com or https://example.com",
        ),
        (vec!["load", "-q", "100", url], "-r 100 for requests/s"),
        (vec!["load", "app:443"], "https://app or http://app:443"),
        (
            vec!["load", url, "http://127.0.0.1:8/"],
            "are on two servers",
        ),
        (vec!["load", url, "--urls", "a"], "cannot be used with"),
        (
            vec!["load", "--urls", "absent"],
            "--urls: failed to read absent: ",
        ),
        (vec!["load", "--urls", "."], "it is a folder"),
        (
            vec!["load", "--har", "absent"],
            "--har: failed to read absent: ",
        ),
    ]);
}

#[test]
fn wrong_flags_are_refused_with_exit_code_2() {
    let url = "http://127.0.0.1:9/";
    refused(&[
        (vec!["load"], "<URL>"),
        (
            vec!["load", url, "--clients", "0"],
            "'0' for '--clients <N>': expected a whole number from 1 to 1000000",
        ),
        (vec!["load", url, "--rate", "0"], "--rate"),
        (
            vec!["load", url, "--rate", "many"],
            "'many' for '--rate <R>': `many` is not a rate: write 500 or 2.5k",
        ),
        (
            vec!["load", url, "--duration", "0s"],
            "--duration is 0s; expected a longer time",
        ),
        (
            vec!["load", url, "-z", "soon"],
            "'soon' for '--duration <TIME>': `soon` is not a duration",
        ),
        (
            vec!["load", url, "--timeout", "0s"],
            "--timeout is 0s; expected a longer time",
        ),
        (vec!["load", url, "--requests", "0"], "--requests"),
        (
            vec!["load", url, "--requests", "1.2345k"],
            "'1.2345k' for '--requests <N>': expected a whole number",
        ),
        (
            vec!["load", url, "--weights", "1,2"],
            "--weights has 2 numbers for 1 URLs",
        ),
        (vec!["load", url, "--arrival", "poisson"], "--rate"),
        (vec!["load", url, "-H", "no colon"], "-H 'Name: value'"),
        (vec!["load", url, "--method", "G T"], "G T"),
        (
            vec!["load", url, "--body", "absent"],
            "--body: failed to read absent: ",
        ),
        (vec!["load", url, "--cleints", "5"], "--clients"),
        (vec!["load", url, "--connect", "last"], "as-needed"),
        (
            vec!["load", url, "-r", "5", "--connect", "as-needed"],
            "--rate",
        ),
        (
            vec!["load", url, "--max-udp-payload", "1400"],
            "--protocol h3",
        ),
        (
            vec!["load", url, "--max-udp-payload", "1199"],
            "expected a whole number from 1200 to 65527",
        ),
        (vec!["load", "http://127.0.0.1:99999/"], "99999"),
        (vec!["load", url, "-r", "100000000"], "at most 10,000,000"),
        (vec!["load", url, "--pin", "1000"], "may only use 0"),
        (
            vec!["load", url, "--unix-socket", "/no/such"],
            "the Unix socket /no/such: there is no such file",
        ),
        (vec!["load", url, "--source", "192.0.2.1"], "192.0.2.1"),
        (vec!["load", url, "--source", "::1"], "another family"),
        (vec!["load", url, "--ciphers", "NONSENSE"], "needs TLS"),
        (vec!["load", url, "--groups", "X25519"], "needs TLS"),
        (vec!["load", url, "--tls-version", "1.3"], "needs TLS"),
        (vec!["load", url, "--cacert", "a.pem"], "needs TLS"),
        (vec!["load", url, "--server-name", "a"], "needs TLS"),
    ]);
}

#[test]
fn what_to_connect_to_needs_a_port() {
    let load = vec!["load", "http://a.test/", "--connect-to", "localhost"];
    refused(&[(load, "--connect-to \"localhost\" is not HOST:PORT")]);
}

/// The clock had no room for them: the window ended before it began, and nothing was measured.
#[test]
fn times_that_never_end_are_refused() {
    let load = ["load", "http://127.0.0.1:9/"];
    for flag in ["--duration", "--warmup", "--timeout", "--retry-pause"] {
        let words = format!("{flag} is longer than a year");
        refused(&[([&load[..], &[flag, "5124095h"]].concat(), &words)]);
    }
}

/// It was spread over the longest time that a count may take, and ended at the first rate.
#[test]
fn a_rate_that_changes_needs_a_time_beside_a_count() {
    let load = ["load", "http://127.0.0.1:9/", "-n", "5"];
    let words = "add --duration";
    let steps = [&load[..], &["-r", "100,200"]].concat();
    let ramp = [&load[..], &["-r", "100..200"]].concat();
    refused(&[(steps.clone(), words), (ramp, words)]);
    let scene = Scene::new();
    scene.run(&[&steps[..], &["-d", "1s"]].concat()).expect(4);
}

#[test]
fn a_password_in_a_url_is_refused_and_not_printed() {
    let scene = Scene::new();
    let finished = scene
        .run(&["load", "http://user:sesame@127.0.0.1:9/"])
        .expect(2)
        .says("-H 'authorization");
    let printed = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!printed.contains("sesame"), "{finished:#?}");
}

#[test]
fn tls_is_set_up_from_names_and_files_or_says_what_is_wrong() {
    let scene = Scene::new();
    let url = "https://127.0.0.1:9/";
    let ciphers = ["load", url, "-k", "--ciphers", "RC4"];
    scene
        .run(&ciphers)
        .expect(2)
        .says("there is no cipher suite RC4");
    scene
        .run(&["load", url, "--cacert", "/nowhere.pem"])
        .expect(2)
        .says("/nowhere.pem");
    scene
        .run(&["load", url, "--tls-version", "1.1"])
        .expect(2)
        .says("1.1");
    scene
        .run(&["load", "ftp://127.0.0.1:9/"])
        .expect(2)
        .says("http:// or https://");
}

#[test]
fn a_count_ends_the_load_when_that_many_requests_have_ended() {
    let scene = Scene::new();
    let url = format!("http://{}/", always(HELLO));
    for count in ["1", "7", "1000"] {
        let load = scene.json(&["load", &url, "-n", count, "-c", "4", "--json"]);
        assert_accounted(&load);
        assert_eq!(load["requests"]["completed"].to_string(), count);
        assert_eq!(load["requests"]["in_flight_at_end"], 0);
    }
}

#[test]
fn headers_and_bodies_are_sent_as_given() {
    let scene = Scene::new();
    let (sender, requests) = std::sync::mpsc::channel();
    let address = server(move |mut stream| {
        let (mut request, mut chunk) = (Vec::new(), [0; 4096]);
        while !request.ends_with(b"sausage") {
            let length = stream.read(&mut chunk).unwrap();
            request.extend_from_slice(&chunk[..length]);
        }
        stream.write_all(HELLO).unwrap();
        let _ = sender.send(String::from_utf8(request).unwrap());
    });
    let url = format!("http://{address}/buns?with=mustard");
    let body = scene.write("body", "sausage").display().to_string();
    let mut arguments = vec!["load", &url, "-n", "1", "-c", "1", "--method", "POST"];
    arguments.extend(["-H", "X-Hotdogs: aplenty", "--body", &body]);
    scene.run(&arguments).expect(0);
    let request = requests.recv().unwrap();
    assert!(
        request.starts_with("POST /buns?with=mustard HTTP/1.1\r\n"),
        "{request}"
    );
    for line in ["X-Hotdogs: aplenty\r\n", "Content-Length: 7\r\n"] {
        let (wanted, found) = (line.to_lowercase(), request.to_lowercase());
        assert!(found.contains(&wanted), "no {line:?} in {request}");
    }
}

#[test]
fn the_answer_to_head_has_no_body() {
    let head = always(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    let scene = Scene::new();
    let url = format!("http://{head}/");
    let load = scene.json(&["load", &url, "-n", "12", "--method", "HEAD", "--json"]);
    assert_accounted(&load);
    assert_eq!(load["requests"]["ok"], 12, "{load:#}");
    assert_eq!(load["bytes"]["body"], 0, "{load:#}");
}

#[test]
fn a_body_of_gigabytes_takes_no_memory() {
    /// More than 32 bits can count.
    const BYTES: u64 = (4 << 30) + 5;
    let _alone = alone();
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
fn ctrl_c_prints_what_was_measured_and_ends_with_130() {
    for model in [["-c", "2"], ["-r", "100"]] {
        let scene = Scene::new();
        let (sender, reached) = std::sync::mpsc::channel();
        let address = server(move |mut stream| {
            let mut request = [0; 4096];
            while stream.read(&mut request).is_ok_and(|length| length > 0) {
                let _ = stream.write_all(HELLO);
                let _ = sender.send(());
            }
        });
        let url = format!("http://{address}/");
        let mut arguments = vec!["load", &url, "-d", "60s", "--json"];
        arguments.extend(model);
        let running = scene.start(&arguments);
        for _ in 0..20 {
            reached.recv().unwrap();
        }
        running.signal_group(Signal::INT);
        let load = running.finish().expect(130).json();
        assert_accounted(&load);
        assert!(load["requests"]["ok"].as_u64() >= Some(10), "{load:#}");
        assert!(load["measured_s"].as_f64() < Some(59.0), "{load:#}");
    }
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

#[test]
fn more_clients_than_files_are_refused_before_anything_is_sent() {
    let scene = Scene::new();
    let url = format!("http://{}/", nobody());
    let load = ["load", &url, "-c", "1000000", "-n", "1"];
    scene.run(&load).expect(2).says("ulimit");
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
fn an_address_with_a_port_needs_no_scheme() {
    let scene = Scene::new();
    let address = always(HELLO);
    for text in [
        format!("{address}"),
        format!("{address}/a?b"),
        format!("localhost:{}", address.port()),
    ] {
        let load = scene.json(&["load", &text, "-n", "0.01k", "--json"]);
        assert_eq!(load["requests"]["ok"], 10, "{load:#}");
        assert_eq!(load["url"], format!("http://{text}"));
    }
}

#[test]
fn a_list_of_urls_comes_from_a_file_or_from_standard_input() {
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
}

#[test]
fn a_wrong_list_is_refused_with_its_line() {
    let scene = Scene::new();
    for (text, words) in [
        (
            "http://127.0.0.1:9/\nget http://127.0.0.1:9/",
            "list.txt: line 2: `get` is no method",
        ),
        (
            "\nexample.com\n",
            "list.txt: line 2: `example.com` may mean http or https",
        ),
        (
            "127.0.0.1:9\n127.0.0.1:8\n",
            "list.txt: line 2: http://127.0.0.1:9 and",
        ),
        (
            "127.0.0.1:9/?k=sesame\n127.0.0.1:8/?k=sesame\n",
            "line 2: http://127.0.0.1:9/?... and http://127.0.0.1:8/?... are on two servers",
        ),
        ("# none\n", "list.txt: it lists no request"),
        ("http://me:sesame@127.0.0.1:9/", "line 1: URL"),
    ] {
        scene.write("list.txt", text);
        let finished = scene.run(&["load", "--urls", "list.txt"]).expect(2);
        assert!(!finished.stderr.contains("sesame"), "{finished:#?}");
        finished.says("--urls: failed to read").says(words);
    }
}

#[test]
fn a_page_is_requested_in_its_order_at_another_server() {
    let scene = Scene::new();
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
    let address = named().to_string();
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
    let deeper = format!("{address}/deeper");
    let page = ["load", &deeper, "--har", "page.har"];
    scene
        .run(&page)
        .expect(2)
        .says("a URL only names the server");
}
