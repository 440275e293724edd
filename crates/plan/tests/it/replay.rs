//! Logs become lists: what is asked, what is expected, what is served, and what is reported.

use std::io::{self, BufRead, Cursor};
use std::path::{Path, PathBuf};

use bakeoff_plan::{
    AccessLog, Content, ContentKind, Library, LogFormat, Plan, Workload, parse, parse_workload,
};
use proptest::prelude::*;

/// A library of one workload and one log.
struct Shelf {
    workload: String,
    log: Vec<u8>,
}

impl Library for Shelf {
    fn workload(&self, _: &str) -> Option<String> {
        Some(self.workload.clone())
    }

    fn workload_names(&self) -> Vec<String> {
        vec!["day".to_owned()]
    }

    fn workload_folder(&self, _: &str) -> PathBuf {
        PathBuf::from("/logs")
    }

    fn open(&self, folder: &Path, name: &str) -> io::Result<Box<dyn BufRead>> {
        assert_eq!(folder.join(name), Path::new("/logs/day.log"));
        Ok(Box::new(Cursor::new(self.log.clone())))
    }
}

const PLAN: &str = "name = \"p\"\nworkloads = [\"day\"]\n[[contender]]\nname = \"a\"\n\
                    server = \"nginx\"\n[[load]]\nclients = 1\n";

fn plan(keys: &str, log: &[u8]) -> Result<Plan, String> {
    let shelf = Shelf {
        workload: format!("name = \"day\"\ntemplate = \"site\"\n{keys}"),
        log: log.to_owned(),
    };
    let plan = parse(PLAN, "p.toml", Path::new("/plans"), &shelf);
    plan.map_err(|error| error.to_string())
}

/// The workload that `keys` and `log` make.
#[track_caller]
fn replayed(keys: &str, log: &str) -> Workload {
    let plan = plan(keys, log.as_bytes()).unwrap();
    // A record needs no log: what was made of it is written.
    let again = parse(
        &plan.to_toml(),
        "again.toml",
        Path::new("/"),
        &bakeoff_plan::Builtin,
    );
    assert_eq!(again.unwrap(), plan);
    plan.workloads.into_iter().next().unwrap()
}

#[track_caller]
fn refused(keys: &str, log: &str, expected: &str) {
    assert_eq!(plan(keys, log.as_bytes()).unwrap_err(), expected);
}

const COMBINED: &str = "[replay]\nfile = \"day.log\"\nformat = \"combined\"\n";

/// A line of the combined format.
fn line(request: &str, status: u16, bytes: u64) -> String {
    format!(
        "::1 - - [21/Nov/2026:10:00:00 +0000] \"{request} HTTP/1.1\" {status} {bytes} \"-\" \"x\"\n"
    )
}

/// Weight, name, status and length of the expected body of a request.
type Row = (u32, String, u16, Option<usize>);

fn list(workload: &Workload) -> Vec<Row> {
    let each = workload.requests.iter().map(|one| {
        let bytes = one.expect.body.as_ref().map(Content::length);
        (one.weight, one.name(), one.expect.status, bytes)
    });
    each.collect()
}

fn files(workload: &Workload) -> Vec<(&str, usize)> {
    let each = workload.files.iter();
    each.map(|file| (file.path.as_str(), file.content.length()))
        .collect()
}

fn row(weight: u32, name: &str, status: u16, bytes: Option<usize>) -> Row {
    (weight, name.to_owned(), status, bytes)
}

#[test]
fn a_day_of_a_site() {
    let day = [
        line("GET /", 200, 5000),
        line("GET /", 200, 5000),
        line("GET /", 200, 1200),
        line("GET /app.js?v=1", 200, 900),
        line("GET /app.js?v=1", 304, 0),
        line("GET /app.js?v=2", 200, 800),
        line("GET /app.js?v=2", 200, 800),
        line("GET /%7Ejo/a.png", 200, 70),
        line("HEAD /", 200, 0),
        line("GET /favicon.ico", 404, 150),
        line("POST /login", 303, 0),
        line("GET /old", 301, 169),
        line("GET /video.mp4", 206, 1000),
        line("GET /slow", 504, 160),
        line("GET /gone", 499, 0),
        line("GET /a%20b", 200, 10),
        line("GET http://proxy.example/", 400, 150),
        "\n".to_owned(),
        line("", 400, 150),
    ];
    let workload = replayed(COMBINED, &day.concat());
    assert_eq!(
        list(&workload),
        [
            row(3, "GET /", 200, Some(5000)),
            row(2, "GET /app.js?v=2", 200, Some(800)),
            row(1, "GET /%7Ejo/a.png", 200, Some(70)),
            row(1, "GET /app.js?v=1", 200, Some(800)),
            row(1, "GET /app.js?v=1", 304, None),
            row(1, "GET /favicon.ico", 404, None),
            row(1, "HEAD /", 200, Some(5000)),
        ]
    );
    let made = [("app.js", 800), ("index.html", 5000), ("~jo/a.png", 70)];
    assert_eq!(files(&workload), made);
    let kinds = workload.files.iter().map(|file| match file.content {
        Content::Generated { kind, .. } => kind,
        Content::Text(_) => panic!("generated"),
    });
    let expected = [ContentKind::Script, ContentKind::Html, ContentKind::Random];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    let conditions: Vec<bool> = workload
        .requests
        .iter()
        .map(|one| one.headers == [("If-None-Match".to_owned(), "*".to_owned())])
        .collect();
    assert_eq!(conditions, [false, false, false, false, true, false, false]);
    assert_eq!(
        workload.notes,
        [
            "day replays 10 of 18 lines in day.log as 7 different requests",
            "day leaves out 1 line with no request in the combined format, the first is line 19",
            "day leaves out 1 request that may change something (POST and such)",
            "day leaves out 1 request for what is no path of a site",
            "day leaves out 2 requests whose answer no file gives (a redirect, a part, a refusal)",
            "day leaves out 2 requests at which the server failed or the client gave up",
            "day leaves out 1 request for paths that no generated file can have",
        ]
    );
}

#[test]
fn folders_are_no_files() {
    let day = [
        line("GET /docs", 200, 10),
        line("GET /docs", 404, 10),
        line("GET /docs/", 404, 10),
        line("GET /docs/a/b.html", 200, 10),
        line("GET /docs/c", 404, 10),
        line("GET /own/x", 200, 10),
        line("GET /docs/a/b.html", 404, 10),
    ];
    let own = format!("{COMBINED}[[file]]\npath = \"own\"\ntext = \"mine\"\n");
    let workload = replayed(&own, &day.concat());
    let rest = [
        row(1, "GET /docs/a/b.html", 200, Some(10)),
        row(1, "GET /docs/c", 404, None),
    ];
    assert_eq!(list(&workload), rest);
    assert_eq!(files(&workload), [("own", 4), ("docs/a/b.html", 10)]);
    assert!(workload.notes.contains(
        &"day leaves out 4 requests for paths that are folders of other files".to_owned()
    ));
}

#[test]
fn an_own_file_stands_for_a_logged_answer() {
    let own = format!("{COMBINED}[[file]]\npath = \"a\"\ntext = \"mine\"\n");
    let workload = replayed(&own, &line("GET /a", 200, 5000));
    assert_eq!(list(&workload), [row(1, "GET /a", 200, Some(4))]);
    assert_eq!(files(&workload), [("a", 4)]);
}

#[test]
fn the_servers_own_content_is_asked_for_its_status() {
    let day = [
        line("GET /a%20b", 200, 10),
        line("GET /old", 301, 169),
        line("OPTIONS /", 405, 0),
        line("GET /video.mp4", 206, 1000),
        line("GET /a", 500, 0),
    ];
    let keys = "headers = [\"Accept: */*\"]\n".to_owned() + COMBINED + "answers = \"status\"\n";
    let workload = replayed(&keys, &day.concat());
    assert_eq!(
        list(&workload),
        [
            row(1, "GET /a%20b", 200, None),
            row(1, "GET /old", 301, None),
            row(1, "OPTIONS /", 405, None),
        ]
    );
    assert_eq!(files(&workload), []);
    let accept = [("Accept".to_owned(), "*/*".to_owned())];
    assert!(workload.requests.iter().all(|one| one.headers == accept));
}

#[test]
fn one_answer_is_expected_of_an_upstream() {
    let day = [
        line("GET /a", 200, 10),
        line("GET /a", 500, 10),
        line("GET /b", 301, 10),
    ];
    let keys = "proxied = true\nexpect.text = \"hello\"\n".to_owned() + COMBINED;
    let workload = replayed(&keys, &day.concat());
    let both = [
        row(2, "GET /a", 200, Some(5)),
        row(1, "GET /b", 200, Some(5)),
    ];
    assert_eq!(list(&workload), both);
}

#[test]
fn the_most_frequent_are_kept() {
    let day: String = (0..30).map(|n| line("GET /", 200, n)).collect();
    let rest: String = (0..20)
        .map(|n| line(&format!("GET /{n:02}"), 200, 1))
        .collect();
    let huge = line("GET /huge", 200, 65 << 20);
    let keys = format!("{COMBINED}requests = 3\n");
    let workload = replayed(&keys, &(rest + &day + &huge + &huge));
    // All sizes of the page came once: the largest is the one that was not cut off.
    let kept = [
        row(30, "GET /", 200, Some(29)),
        row(1, "GET /00", 200, Some(1)),
    ];
    assert_eq!(list(&workload), kept);
    assert_eq!(
        workload.notes[1..],
        [
            "day leaves out 2 requests for files above 64 MiB",
            "day leaves out 19 requests that came less often than the 3 most frequent: `requests` \
             keeps more",
        ]
    );
}

#[test]
fn caddys_lines_are_those_of_the_host_that_was_asked_most() {
    let line = |host: &str, uri: &str| {
        format!(
            "{{\"level\":\"info\",\"request\":{{\"method\":\"GET\",\"host\":\"{host}\",\
             \"uri\":\"{uri}\"}},\"size\":7,\"status\":200}}\n"
        )
    };
    let day = [
        line("192.0.2.1", "/scan"),
        "{\"level\":\"info\",\"msg\":\"other\"}\n".to_owned(),
        line("Www.example:8443", "/a"),
        line("www.example:8443", "/b"),
    ];
    let keys = COMBINED.replace("combined", "caddy");
    let workload = replayed(&keys, &day.concat());
    let two = [
        row(1, "GET /a", 200, Some(7)),
        row(1, "GET /b", 200, Some(7)),
    ];
    assert_eq!(list(&workload), two);
    assert_eq!(
        workload.notes,
        [
            "day replays 2 of 4 lines in day.log to www.example:8443 as 2 different requests",
            "day leaves out 1 line with no request in Caddy's format, the first is line 2",
            "day leaves out 1 request to other hosts: `host` chooses another",
        ]
    );
    let other = replayed(&(keys.clone() + "host = \"192.0.2.1\"\n"), &day.concat());
    assert_eq!(list(&other), [row(1, "GET /scan", 200, Some(7))]);
    refused(
        &(keys + "host = \"b\"\n"),
        &line("a", "/"),
        "workloads/day.toml:4:8: nothing in day.log can be replayed: 1 request to other hosts: \
         none is to the `host` that is named; write the `host` as it stands there, or take it out",
    );
}

#[test]
fn an_archive_is_of_its_first_host() {
    let entry = |url: &str, status: i32, size: i32| {
        format!(
            "{{\"request\": {{\"method\": \"GET\", \"url\": \"{url}\", \"headers\": []}}, \
             \"response\": {{\"status\": {status}, \"content\": {{\"size\": {size}}}, \
             \"bodySize\": 10}}}}"
        )
    };
    let entries = [
        entry("https://a.example/?q", 200, 900),
        entry("https://cdn.example/x.js", 200, 5),
        entry("https://cdn.example/y.js", 200, 5),
        entry("https://a.example/z.css#f", 200, 30),
        entry("data:text/plain,a", 200, 1),
        entry("https://a.example/blocked", 0, 0),
    ];
    let text = format!("{{\"log\": {{\"entries\": [{}]}}}}", entries.join(","));
    let workload = replayed(&COMBINED.replace("combined", "har"), &text);
    let two = [
        row(1, "GET /?q", 200, Some(900)),
        row(1, "GET /z.css", 200, Some(30)),
    ];
    assert_eq!(list(&workload), two);
    assert_eq!(
        workload.notes,
        [
            "day replays 2 of 6 entries in day.log to a.example as 2 different requests",
            "day leaves out 1 entry with no answered request by HTTP, the first is entry 5",
            "day leaves out 2 requests to other hosts: `host` chooses another",
            "day leaves out 1 request whose answer no file gives (a redirect, a part, a refusal)",
        ]
    );
}

#[test]
fn refusals() {
    refused(
        COMBINED,
        "{}\n\nx\n",
        "workloads/day.toml:4:8: nothing in day.log can be replayed: 2 lines with no request in \
         the combined format, the first is line 1; write the `format` that it has",
    );
    refused(
        COMBINED,
        &line("POST /", 200, 1),
        "workloads/day.toml:4:8: nothing in day.log can be replayed: 1 request that may change \
         something (POST and such); `answers = \"status\"` replays what no file answers, beside a \
         server with its own content",
    );
    refused(
        COMBINED,
        "",
        "workloads/day.toml:4:8: nothing in day.log can be replayed: it is empty; name a log with \
         requests in it",
    );
    refused(
        &COMBINED.replace("combined", "har"),
        "[]",
        "workloads/day.toml:4:8: failed to read /logs/day.log: it is not an HTTP Archive: invalid \
         length 0, expected struct Archive with 1 element at line 1 column 2; name a log beside \
         this file, not compressed",
    );
    refused(
        &format!("path = \"/\"\n{COMBINED}"),
        "",
        "workloads/day.toml:3:8: `path` stands beside `replay`, which says what is asked; take one \
         of them out",
    );
    refused(
        &format!("{COMBINED}host = \"a\"\n"),
        "",
        "workloads/day.toml:6:8: a log in this format does not say which host was asked; take \
         `host` out",
    );
    refused(
        &format!("proxied = true\n{COMBINED}"),
        "",
        "workloads/day.toml:3:11: the upstream behind the server has one answer, and a log has \
         many; add an `expect` table: every request of the log then expects this answer",
    );
    refused(
        &format!("expect.text = \"a\"\n{COMBINED}answers = \"status\"\n"),
        "",
        "workloads/day.toml:7:11: `answers` and `expect` contradict each other; keep one of them",
    );
    let alone = parse_workload(&format!("name = \"day\"\n{COMBINED}"), "w.toml");
    assert_eq!(
        alone.unwrap_err().to_string(),
        "w.toml:3:8: failed to read day.log: no files are read here; name a log beside this file, \
         not compressed"
    );
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_counted() {
    let mut log = vec![b'x'; 200_000];
    log.push(b'\n');
    log.extend_from_slice(line("GET /", 200, 1).as_bytes());
    log.extend_from_slice(&[0xff, 0xfe]);
    let read = AccessLog::read(LogFormat::Combined, None, &mut log.as_slice()).unwrap();
    assert_eq!((read.total(), read.kept(), read.left_out()), (3, 1, 2));
}

/// Lines that are nearly right.
fn nearly() -> impl Strategy<Value = String> {
    let target = prop_oneof!["/[a-c.%/?20]{0,9}", "[ -~ä]{0,12}", Just("/a".to_owned())];
    let method = prop_oneof![Just("GET"), Just("HEAD"), Just("POST"), Just("")];
    let status = prop_oneof![Just(200_u16), Just(304), Just(404), any::<u16>()];
    (method, target, status, any::<u64>(), any::<bool>()).prop_map(
        |(method, target, status, bytes, caddy)| {
            if caddy {
                let target = target.escape_default();
                format!(
                    "{{\"request\":{{\"method\":\"{method}\",\"host\":\"h\",\"uri\":\"{target}\"}},\
                     \"status\":{status},\"size\":{bytes}}}\n"
                )
            } else {
                line(&format!("{method} {target}"), status, bytes)
            }
        },
    )
}

fn formats() -> impl Strategy<Value = LogFormat> {
    prop_oneof![
        Just(LogFormat::Combined),
        Just(LogFormat::Caddy),
        Just(LogFormat::Har)
    ]
}

proptest! {
    #[test]
    fn every_line_is_kept_or_left_out(
        format in formats(),
        lines in proptest::collection::vec(nearly(), 0..20),
        noise in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let bytes = [lines.concat().as_bytes(), noise.as_slice()].concat();
        if let Ok(log) = AccessLog::read(format, None, &mut bytes.as_slice()) {
            prop_assert_eq!(log.total(), log.kept() + log.left_out());
        }
    }

    #[test]
    fn what_a_log_becomes_is_a_plan(
        format in formats(),
        status in any::<bool>(),
        lines in proptest::collection::vec(nearly(), 0..20),
    ) {
        let name = format!("{format:?}").to_lowercase();
        let mut keys = COMBINED.replace("combined", &name);
        if status {
            keys += "answers = \"status\"\n";
        }
        if let Ok(plan) = plan(&keys, lines.concat().as_bytes()) {
            let text = plan.to_toml();
            let again = parse(&text, "again.toml", Path::new("/"), &bakeoff_plan::Builtin);
            prop_assert_eq!(again.map_err(|error| error.to_string()), Ok(plan));
        }
    }
}
