//! Golden files of what `try` prints. `BLESS=1` writes them anew.

use std::path::{Path, PathBuf};

use bakeoff_plan::Protocol;
use bakeoff_record::{AnswerCheck, ConfigChange, Negotiated, When};
use bakeoff_report::Redaction;
use bakeoff_stage::{
    Choice, FileFound, Listener, ListenerKind, Named, Place, Problem, Upstream, UpstreamKind,
};
use clap::Parser;

use super::{End, OwnFile, Tried, hint, json, text};
use crate::flags::{Command, Flags, MeasureCommand, TryFlags};

fn at(line: usize) -> Place {
    Place {
        file: PathBuf::from("/srv/nginx.conf"),
        line,
    }
}

fn named(text: &str, line: usize) -> Named {
    Named {
        text: text.to_owned(),
        place: at(line),
    }
}

fn own_file(path: &str, found: FileFound) -> OwnFile {
    OwnFile {
        path: PathBuf::from(path),
        server: "nginx".to_owned(),
        title: "nginx".to_owned(),
        has_upstream: !found.upstreams.is_empty(),
        found,
    }
}

/// A file with things of each kind.
fn found() -> FileFound {
    let listener = |port: u16, kind: ListenerKind, protocols: &[Protocol]| Listener {
        address: "*".to_owned(),
        port: Some(port),
        protocols: protocols.to_vec(),
        hosts: vec!["shop.test".to_owned()],
        kind,
        place: at(usize::from(port)),
    };
    FileFound {
        listeners: vec![
            listener(80, ListenerKind::Redirect, &[Protocol::H1]),
            listener(443, ListenerKind::Http, &[Protocol::H2, Protocol::H1Tls]),
        ],
        roots: (1..=14)
            .map(|line| named(if line < 3 { "/srv/shop" } else { "/srv/blog" }, line))
            .chain((15..30).map(|line| named(&format!("/srv/{line}"), line)))
            .collect(),
        upstreams: vec![Upstream {
            kind: UpstreamKind::FastCgi,
            address: "unix:/run/php.sock".to_owned(),
            place: at(30),
        }],
        logs: vec![named("/var/log/nginx/access.log", 7)],
        certificates: vec![named("/etc/ssl/shop.key", 8)],
        modules: vec![named("ngx_http_brotli", 1)],
        placeholders: vec![named("$DOMAIN", 2)],
        path: None,
        paths: Vec::new(),
        forbids: None,
        problems: Vec::new(),
    }
}

fn answer(status: u16, headers: &[(&str, &str)]) -> AnswerCheck {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    AnswerCheck {
        when: When::Before,
        request: "GET /".to_owned(),
        status,
        body_bytes: 4608,
        body_sha256: "00".repeat(32),
        decoded_bytes: None,
        decoded_sha256: None,
        negotiated: Negotiated {
            protocol: "h2".to_owned(),
            ..Negotiated::default()
        },
        headers: headers.collect(),
        right: true,
    }
}

fn choice() -> Choice {
    Choice {
        protocol: Protocol::H2,
        port: Some(443),
        host: Some("shop.test".to_owned()),
        path: "/".to_owned(),
        reasons: vec!["asked over h2: it listens with http2".to_owned()],
    }
}

fn tried(name: &str, file: Option<OwnFile>, end: End) -> Tried {
    Tried {
        named: PathBuf::from(format!("{name}.conf")),
        file,
        contender: name.to_owned(),
        choice: None,
        of_upstream: false,
        changes: Vec::new(),
        version: None,
        end,
    }
}

/// One of each end; the first with a change that shows a password.
fn each_end() -> Vec<Tried> {
    let mut first = tried(
        "nginx",
        Some(own_file("/srv/nginx.conf", found())),
        End::Answered(answer(
            200,
            &[("Content-Type", "text/html"), ("Server", "nginx")],
        )),
    );
    first.choice = Some(choice());
    first.version = Some("1.28.3".to_owned());
    first.changes.push(ConfigChange {
        file: "/srv/nginx.conf".to_owned(),
        line: 12,
        before: "proxy_set_header Authorization \"Bearer s3cr3t-token-of-a-user\";".to_owned(),
        after: String::new(),
        why: "a made line".to_owned(),
    });
    let moved = answer(302, &[("Location", "https://login.test/")]);
    let mut refused = FileFound::default();
    refused.problems.push(Problem {
        place: at(3),
        what: "uwsgi upstreams are not supported".to_owned(),
        hint: "use --start".to_owned(),
    });
    let plain = |name: &str| own_file(&format!("/srv/{name}.conf"), FileFound::default());
    vec![
        first,
        tried(
            "moved",
            Some(plain("moved")),
            End::Wrong(moved, "ask with --path".to_owned()),
        ),
        tried(
            "silent",
            Some(plain("silent")),
            End::Silent("it ended\nexit code 1".to_owned()),
        ),
        tried(
            "refused",
            Some(own_file("/srv/refused.conf", refused)),
            End::Refused("/srv/nginx.conf:3: uwsgi upstreams are not supported".to_owned()),
        ),
        tried(
            "unknown",
            None,
            End::Refused("unknown.conf: whose it is is not known".to_owned()),
        ),
    ]
}

fn flags(more: &[&str]) -> TryFlags {
    let line = ["bakeoff", "try", "nginx.conf"].iter().chain(more);
    match Flags::parse_from(line).command {
        Command::Measure(MeasureCommand::Try(flags)) => flags,
        _ => unreachable!("the command line names `try`"),
    }
}

#[track_caller]
fn check(name: &str, drawn: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/measure/trying/golden");
    let path = folder.join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, drawn).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(drawn, golden, "{name}; BLESS=1 writes it anew");
}

#[test]
fn each_end_for_eyes_and_for_scripts() {
    let tried = each_end();
    let plan = "name = \"try\"\nbudget = \"1m\"\n\n[[contender]]\nname = \"nginx\"\n";
    let redaction = Redaction::default();
    let drawn = text::drawn(&tried, Some(plan), &flags(&[]), &redaction);
    check("try.txt", &drawn);
    let document = json::document(&tried, Some(plan), &redaction);
    check("try.json", &document);
    for text in [drawn, document] {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}

#[test]
fn only_a_file_with_an_upstream_has_one_that_does_not_answer() {
    let hint = |status: u16, has_upstream| {
        let found = if has_upstream {
            found()
        } else {
            FileFound::default()
        };
        hint(&answer(status, &[]), &own_file("/srv/nginx.conf", found)).unwrap()
    };
    for status in [502, 503, 504] {
        assert!(hint(status, true).starts_with("its upstream does not answer it"));
        assert!(!hint(status, false).contains("upstream"));
    }
    assert!(hint(503, false).starts_with("it refuses by a limit"));
    for has_upstream in [true, false] {
        assert!(hint(429, has_upstream).starts_with("it limits how often it is asked"));
    }
}

#[test]
fn paths_that_the_file_has_are_named_where_there_is_nothing() {
    let found = FileFound {
        paths: ["/json", "/db"].map(str::to_owned).to_vec(),
        ..FileFound::default()
    };
    let file = own_file("/srv/nginx.conf", found);
    let hint = hint(&answer(404, &[]), &file).unwrap();
    assert!(
        hint.ends_with("with --path; the file has /json, /db"),
        "{hint}"
    );
}

#[test]
fn only_what_the_server_says_is_hidden_in_a_hint() {
    let realm = "Basic realm=\"Staff only\"";
    for (status, name, value, shown) in [
        (
            401,
            "WWW-Authenticate",
            realm,
            "add an `Authorization` header to the plan",
        ),
        (401, "WWW-Authenticate", realm, "Staff only"),
        (
            401,
            "WWW-Authenticate",
            "Basic c3R4ZmY6c2VjcjN0",
            "it asks for credentials: add",
        ),
        (
            302,
            "Location",
            "/in?token=c3R4ZmY6c2VjcjN0&a=1",
            "it redirects to /in?token=[secret]&a=1",
        ),
    ] {
        let answer = answer(status, &[(name, value)]);
        let file = own_file("/srv/nginx.conf", FileFound::default());
        let hint = hint(&answer, &file).unwrap();
        let tried = [tried("nginx", Some(file), End::Wrong(answer, hint))];
        let redaction = Redaction::default();
        let drawn = text::drawn(&tried, None, &flags(&[]), &redaction);
        let document = json::document(&tried, None, &redaction);
        for text in [drawn, document] {
            assert!(text.contains(shown), "{text}");
            assert!(!text.contains("c3R4ZmY6c2VjcjN0"), "{text}");
        }
    }
}

#[test]
fn an_answer_with_nothing_in_it_says_what_to_ask() {
    let mut empty = answer(200, &[]);
    empty.body_bytes = 0;
    let file = own_file("/srv/nginx.conf", FileFound::default());
    let tried = [tried("nginx", Some(file), End::Answered(empty))];
    assert_eq!(tried[0].end.exit_code(), 0);
    let drawn = text::drawn(&tried, None, &flags(&[]), &Redaction::default());
    assert!(
        drawn.contains("  hint      nothing is in that answer"),
        "{drawn}"
    );
    let document = json::document(&tried, None, &Redaction::default());
    assert!(
        document.contains("\"hint\": \"nothing is in that answer"),
        "{document}"
    );
}

#[test]
fn a_plan_that_was_written_is_not_printed() {
    let saved = flags(&["--save-plan", "plan.toml"]);
    let drawn = text::drawn(&[], Some("name = \"try\"\n"), &saved, &Redaction::default());
    assert_eq!(
        drawn,
        "plan      written to plan.toml: bakeoff run plan.toml\n"
    );
}
