//! What a person reads who wrote a wrong workload: one row for each thing that can be wrong.

use std::io::{BufRead, Error};
use std::path::Path;

use bakeoff_plan::{Library, parse, parse_workload};

const WORKLOAD: &str = r#"name = "page"
path = "/index.html"
headers = ["Accept: text/html"]

[expect]
status = 200
file = "index.html"

[[file]]
path = "index.html"
generated = { kind = "html", bytes = 4608 }
"#;

#[track_caller]
fn workload(old: &str, new: &str, expected: &str) {
    assert!(WORKLOAD.contains(old), "{old}");
    let error = parse_workload(&WORKLOAD.replacen(old, new, 1), "w.toml").unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn it_is_right_before_it_is_broken() {
    parse_workload(WORKLOAD, "w.toml").unwrap();
}

#[test]
fn workloads() {
    workload(
        "path = \"/index.html\"",
        "path = \"index.html\"",
        "w.toml:2:8: `index.html` is not a request target; begin with a slash, and write \
         blanks and other signs as %20 and so on",
    );
    workload(
        "path = \"/index.html\"",
        "method = \"get\"",
        "w.toml:2:10: `get` is not a request method; write it in capitals, such as `method \
         = \"GET\"`",
    );
    workload(
        "Accept: text/html",
        "Accept text/html",
        "w.toml:3:12: `Accept text/html` is not a header; write it as `Name: value`, such \
         as `Accept: text/html`",
    );
    workload(
        "Accept: text/html",
        "A: b\\r\\nB: c",
        "w.toml:3:12: `A: b\\r\\nB: c` is not a header; write it as `Name: value`, such as \
         `Accept: text/html`",
    );
    workload(
        "Accept: text/html",
        "Host: x",
        "w.toml:3:12: `Host` is written by the load engine itself; take this header out",
    );
    workload(
        "\"Accept: text/html\"",
        "{ name = \"X-Session\", value = \"a\\nb\", secret = true }",
        "w.toml:3:12: a header with `secret = true` is not a header; write it as `Name: value`, \
         such as `Accept: text/html`",
    );
    workload(
        "\"Accept: text/html\"",
        "{ name = \"X-Session\", secret = true }",
        "w.toml:3:12: `value` is missing in `headers`: write `value = \"0123456789\"`",
    );
}

#[test]
fn a_header_may_be_marked_as_secret() {
    let marked = WORKLOAD.replacen(
        "\"Accept: text/html\"",
        "\"Accept: text/html\", { name = \"X-Session\", value = \"abc\", secret = true }, \
         { name = \"X-Plain\", value = \"def\" }",
        1,
    );
    let workload = parse_workload(&marked, "w.toml").unwrap();
    let request = workload.requests.first();
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [
        header("Accept", "text/html"),
        header("X-Session", "abc"),
        header("X-Plain", "def"),
    ];
    assert_eq!(request.headers, expected);
    assert_eq!(request.secret_headers, ["X-Session"]);
}

#[test]
fn workload_bodies() {
    workload(
        "status = 200",
        "status = 99",
        "w.toml:6:10: `status` is 99; write a number from 200 to 599, such as `status = \
         200`",
    );
    workload(
        "file = \"index.html\"",
        "file = \"index.htm\"",
        "w.toml:7:8: no `[[file]]` is called `index.htm`; did you mean `index.html`?",
    );
    workload(
        "file = \"index.html\"",
        "",
        "w.toml:5:1: nothing says what the content is; write one of `text`, `generated`, \
         `file`, such as `text = \"Hello, world!\"`",
    );
    workload(
        "file = \"index.html\"",
        "file = \"index.html\"\ntext = \"\"",
        "w.toml:7:8: `file` stands beside another body; keep one of them",
    );
    workload(
        "\"html\"",
        "\"htlm\"",
        "w.toml:11:22: `kind` cannot be `htlm`; did you mean `html`?",
    );
    workload(
        "4608",
        "-1",
        "w.toml:11:38: `bytes` is -1; write a number from 0 to 67108864, such as `bytes = \
         4608`",
    );
    workload(
        "path = \"index.html\"",
        "path = \"../index.html\"",
        "w.toml:10:8: `../index.html` is not a path below the document root; write it \
         without a leading slash, `..` or blanks, such as `index.html`",
    );
    workload(
        "generated",
        "text = \"\"\ngenerated",
        "w.toml:12:13: `text` and `generated` contradict each other; keep one of them",
    );
    workload(
        "[expect]",
        "[expects]",
        "w.toml:5:2: unknown key `expects`; did you mean `expect`?",
    );
    workload(
        "[[file]]",
        "[[file]]\npath = \"index.html\"\ntext = \"\"\n[[file]]",
        "w.toml:13:8: file `index.html` appears twice; give each `[[file]]` a path of its \
         own",
    );
}

#[test]
fn encodings_and_protocols() {
    workload(
        "path =",
        "protocol = \"h2\"\nprotocols = [\"h2\"]\npath =",
        "w.toml:3:13: `protocol` and `protocols` contradict each other; keep one of them",
    );
    workload(
        "status = 200",
        "encoding = \"gzip\"",
        "w.toml:6:12: a compressed answer is expected and not asked for; \
         add `headers = [\"Accept-Encoding: gzip\"]`",
    );
}

const LIST: &str = r#"name = "list"

[[request]]
path = "/page"
weight = 8
expect.text = "hello"

[[request]]
method = "POST"
path = "/form"
body = { text = "name=value", chunked = true }
expect = { status = 303, body = "any" }
"#;

#[track_caller]
fn list(old: &str, new: &str, expected: &str) {
    assert!(LIST.contains(old), "{old}");
    let error = parse_workload(&LIST.replacen(old, new, 1), "w.toml").unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn lists_of_requests() {
    parse_workload(LIST, "w.toml").unwrap();
    list(
        "name = \"list\"",
        "name = \"list\"\npath = \"/\"",
        "w.toml:2:8: `path` stands beside `[[request]]` tables; write it in each of them, or \
         take them out",
    );
    list(
        "weight = 8",
        "weight = 0",
        "w.toml:5:10: `weight` is 0; write a number from 1 to 1000000000, such as `weight = 10`",
    );
    list(
        "text = \"name=value\", ",
        "",
        "w.toml:11:8: nothing says what the content is; write one of `text`, `generated`, \
         `file`, such as `text = \"Hello, world!\"`",
    );
    list(
        "text = \"name=value\"",
        "file = \"form.json\"",
        "w.toml:11:17: failed to read form.json: no files are read here; name a file of text \
         in the folder of this workload",
    );
    list(
        "body = \"any\"",
        "body = \"any\", text = \"\"",
        "w.toml:12:33: `body` stands beside another body; keep one of them",
    );
    list(
        "body = \"any\"",
        "body = \"any\", encoding = \"gzip\"",
        "w.toml:12:51: nothing is looked at in a body that may be any; take `encoding` out, or \
         say what the body is",
    );
    list(
        "name = \"list\"",
        "name = \"list\"\nproxied = true",
        "w.toml:2:11: the upstream behind the server has one answer, and these requests expect \
         several; expect one status and body of all of them, or make a workload of each",
    );
    list(
        "name = \"list\"",
        "name = \"list\"\nprotocol = \"h2\"",
        "w.toml:2:12: workload `list` sends a body in chunks, and h2 has frames instead; take \
         `chunked` out, or ask it over h1 or h1-tls",
    );
    list(
        "name = \"list\"",
        "name = \"list\"\nconnections = \"new\"\nrequests_per_connection = 5",
        "w.toml:3:27: `connections` and `requests_per_connection` contradict each other; keep \
         one of them",
    );
}

#[test]
fn an_answer_that_is_not_said_is_what_contenders_answer_first() {
    let is_open = |text: &str| -> Vec<bool> {
        let requests = parse_workload(text, "w.toml").unwrap().requests;
        requests
            .iter()
            .map(|request| request.expect.is_open())
            .collect()
    };
    assert_eq!(is_open("name = \"page\""), [true]);
    assert_eq!(is_open("name = \"page\"\nexpect.body = \"first\""), [true]);
    assert_eq!(is_open(WORKLOAD), [false]);
    let without = LIST.replace("expect.text = \"hello\"", "");
    assert_eq!(is_open(&without), [true, false]);
}

#[test]
fn a_body_may_be_said_by_what_it_is_like() {
    let digest = "315f5bdb76d078c43b8ac0064e4a0164612b1fce77c869345bfc94c75894edd3";
    let said = format!("bytes = 13\nsha256 = \"{digest}\"");
    let text = WORKLOAD.replace("file = \"index.html\"", &said);
    let workload = parse_workload(&text, "w.toml").unwrap();
    let sent = workload.requests.first().expect.sent().cloned().unwrap();
    assert_eq!(
        (sent.bytes, sent.sha256.as_deref()),
        (Some(13), Some(digest))
    );
    self::workload(
        "file = \"index.html\"",
        "file = \"index.html\"\nbytes = 13",
        "w.toml:8:9: `bytes` stands beside another body; keep one of them",
    );
    self::workload(
        "file = \"index.html\"",
        "sha256 = \"315f\"",
        "w.toml:7:10: `315f` is no SHA-256; write 64 hexadecimal digits, as sha256sum prints them",
    );
}

/// A proxied workload whose `[origin]` holds `lines` is refused in the words `expected`.
#[track_caller]
fn origin(lines: &str, expected: &str) {
    let text =
        format!("name = \"page\"\nproxied = true\n[origin]\n{lines}\n[expect]\ntext = \"hi\"\n");
    let error = parse_workload(&text, "w.toml").unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn demands_on_the_origin() {
    workload(
        "[expect]",
        "[origin]\ndelay = \"5ms\"\n[expect]",
        "w.toml:5:1: `origin` asks something of an upstream that this workload does not have; \
         write `proxied = true`, or take `origin` out",
    );
    origin(
        "dealy = \"5ms\"",
        "w.toml:4:1: unknown key `dealy` in `origin`; did you mean `delay`?",
    );
    origin(
        "delay = 5",
        "w.toml:4:9: `delay` must be text in quotes or a table, not a whole number: write it as \
         `delay = \"5ms\"`",
    );
    origin(
        "delay = \"5\"",
        "w.toml:4:9: `5` is not a duration: write a number and a unit, such as 5s, 200ms or 1m30s",
    );
    origin(
        "delay = { lognormal = { median = \"5ms\" } }",
        "w.toml:4:23: `p99` is missing in `lognormal`: write `p99 = \"5s\"`",
    );
    origin(
        "delay = { lognormal = { median = \"5ms\", p99 = \"1ms\" } }",
        "w.toml:4:9: `p99` is below `median`; write how long half of the answers take as \
         `median`, 99 of 100 as `p99`",
    );
    origin(
        "delay = {}",
        "w.toml:4:9: `delay` must name one distribution; write one of `uniform`, `exponential` \
         and `lognormal`, such as `delay = { lognormal = { median = \"5ms\", p99 = \"50ms\" } }`",
    );
    origin(
        "errors = 10",
        "w.toml:4:10: `errors` is 10; write a number from 0 to 1, such as `errors = 0.01`",
    );
    origin(
        "errors = 0.6\nresets = 0.6",
        "w.toml:4:10: `errors`, `resets` and `closes` are more than 1 together; write shares of \
         all requests",
    );
    origin(
        "slow_body = { bytes = 0, every = \"1ms\" }",
        "w.toml:4:23: `bytes` is 0; write a number from 1 to 67108864, such as `bytes = 1024`",
    );
}

#[test]
fn limits_of_the_origins_workers() {
    origin(
        "workers = 4",
        "w.toml:4:11: `workers` limits nothing where no answer takes time; add a `delay`, such \
         as `delay = \"5ms\"`, or a `slow_body`",
    );
    origin(
        "queue = 4",
        "w.toml:4:9: nobody waits in a `queue` without `workers`; add `workers`, such as \
         `workers = 16`",
    );
}

/// It read "no `[[file]]` is called `../page.html`", and nothing said what would allow it.
#[test]
fn a_body_in_a_file_that_may_not_be_read_says_why() {
    struct Fenced;
    impl Library for Fenced {
        fn workload(&self, _: &str) -> Option<String> {
            None
        }

        fn workload_names(&self) -> Vec<String> {
            Vec::new()
        }

        fn open(&self, _: &Path, _: &str) -> std::io::Result<Box<dyn BufRead>> {
            Err(Error::other("it lies outside /plans"))
        }
    }
    let text = "name = \"p\"\n[[contender]]\nname = \"a\"\nserver = \"nginx\"\n\
                [[load]]\nclients = 1\n[[workload]]\nname = \"page\"\n\
                expect = { file = \"../page.html\" }\n";
    let read = parse(text, "p.toml", Path::new("/plans"), &Fenced);
    let message = read.map(|_| ()).unwrap_err().to_string();
    let expected = "p.toml:9:19: failed to read /plans/../page.html: it lies outside /plans; name \
                    a file of text in the folder of this workload";
    assert_eq!(message, expected);
}
