//! Secrets are in no format of a report and in no shared copy, wherever in a record they stand.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its files; the library does not"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::planting::Soil;
use bakeoff_plan::{Content, Plan, Requests, RunningUrl, ServerChoice, Url};
use bakeoff_record::{ConfigChange, ConfigFile, Record, TrialEnd};
use bakeoff_report::{
    HistoryRecord, MarkdownOptions, Redacted, Redaction, Report, TextOptions, csv, holdings, html,
    json, markdown, text, view, view_of,
};

/// The report in every format.
fn formats(report: &Report) -> BTreeMap<&'static str, String> {
    let options = |full, diffs, width| TextOptions {
        width,
        colour: diffs,
        full,
        diffs,
        record: Some("record"),
        needed_again: None,
    };
    BTreeMap::from([
        ("json", json(report)),
        ("html", html(report)),
        ("csv", csv(report)),
        ("md", markdown(report, MarkdownOptions { full: false })),
        (
            "md --full",
            markdown(report, MarkdownOptions { full: true }),
        ),
        ("text", text(report, options(false, false, 80))),
        ("text --full", text(report, options(true, false, 80))),
        ("text --diffs", text(report, options(true, true, 200))),
    ])
}

/// The files of a shared copy.
fn shared(record: &Record) -> String {
    let shared = Redacted::shared(record.clone());
    let record = shared.record();
    let mut files = record.plan.to_toml();
    files += &serde_json::to_string(&record.plan).expect("a plan is JSON");
    files += &serde_json::to_string(&record.machine).expect("a machine is JSON");
    files += &serde_json::to_string(&record.trials).expect("trials are JSON");
    files + &formats(&view_of(&shared)).into_values().collect::<String>()
}

/// Whether this place holds what tables and trials go by, or a fact of the machine or a file.
fn is_a_name(place: &str) -> bool {
    let ends = [
        "/name",
        "/template",
        "/contender",
        "/workload",
        "/server/server",
        "/server/version",
        "/id",
        "/load_name",
        "/host",
        "/config/variant",
        "/started_at",
        "/schema",
        "/address",
        "/binary_sha256",
        "/body_sha256",
        "/decoded_sha256",
        "/protocol",
        "/method",
        "/cpu_source",
        "/status",
        "/connect",
        "/waiting",
        "/code",
        "/certificate/key",
    ];
    let within = ["/negotiated/", "/secret_headers/", "/settings/"];
    let is_file = place.contains("/files/") && place.ends_with("/path");
    let is_header_name = place.contains("/headers/") && place.ends_with("/0");
    let is_overlay_name = place.contains("/overlays/") && place.ends_with("/0");
    let is_machine = place.starts_with("machine/") && !place.contains("/command/");
    ends.iter().any(|end| place.ends_with(end))
        || within.iter().any(|part| place.contains(part))
        || is_file
        || is_header_name
        || is_overlay_name
        || is_machine
}

#[test]
fn a_secret_in_any_text_is_in_no_format_and_no_copy() {
    let mut planted = BTreeSet::new();
    let record = Soil::new().planted(|place, old| {
        if is_a_name(place) {
            return old.to_owned();
        }
        planted.insert(place.to_owned());
        format!("{old} /x?token=PLANTED-{}-end", planted.len())
    });
    assert!(planted.len() > 45, "{planted:#?}");
    let shown = json(&view_of(&Redacted::shown(record.clone())));
    assert!(shown.matches("PLANTED").count() > 20, "nothing was planted");
    for (format, text) in formats(&view(&record)) {
        let at = text.find("PLANTED");
        let around = at.map(|at| &text[at.saturating_sub(200)..at + 30]);
        assert_eq!(around, None, "{format}");
    }
    // What a history takes is kept in an index.
    let taken = HistoryRecord::of(&Redacted::hidden(record.clone())).expect("it has rounds");
    let taken = serde_json::to_string(&taken).expect("it is kept as JSON");
    let at = taken.find("PLANTED");
    assert_eq!(at.map(|at| &taken[at.saturating_sub(200)..at + 30]), None);
    let files = shared(&record);
    let at = files.find("PLANTED");
    assert_eq!(at.map(|at| &files[at.saturating_sub(200)..at + 30]), None);
}

const HEADER: &str = "Bearer PLANTED-header-1";
const MARKED: &str = "PLANTED-marked-2";
const PASSWORD: &str = "PLANTED-password-3";
const INCLUDED: &str = "PLANTED-included-4";
const QUERY: &str = "PLANTED-query-5";
const COOKIE: &str = "sid=PLANTED-cookie-6; Path=/";

/// A campaign with secrets where people have them.
fn with_secrets() -> Record {
    let mut record = bakeoff_testing::record_of_rounds(1);
    for workload in &mut record.plan.workloads {
        let mut request = workload.requests.first().clone();
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        request.headers.push(header("Authorization", HEADER));
        request.headers.push(header("X-Internal", MARKED));
        request.secret_headers = vec!["X-Internal".to_owned()];
        request.path = format!("/a?page=1&token={QUERY}");
        workload.requests = Requests::from(request);
        workload.notes = vec![format!("replayed from /a?token={QUERY}")];
    }
    record.machine.command = vec!["-H".into(), format!("Authorization: {HEADER}")];
    for trial in &mut record.trials {
        for answer in &mut trial.answers {
            answer.headers.push(("Set-Cookie".into(), COOKIE.into()));
            answer
                .headers
                .push(("X-Request-Id".into(), "0123456789".into()));
        }
        if let Some(result) = &mut trial.result {
            let sample = format!("GET /a?token={QUERY}: reset after {MARKED}");
            result.error_samples.insert("reset".into(), sample);
        }
        if let TrialEnd::Failed { message, .. } = &mut trial.end {
            *message = Some(format!("cannot log in with {PASSWORD} and {INCLUDED}"));
        }
        let Some(server) = &mut trial.server else {
            continue;
        };
        server.configs.push(ConfigFile {
            path: "included/secrets.conf".into(),
            text: format!(
                "password {PASSWORD}-{};\nset $api_key {INCLUDED};\n",
                trial.contender
            ),
            filled: BTreeMap::new(),
        });
        server.configs[0].text += &format!("auth_secret \"{PASSWORD}\";\n");
        server.config_changes = vec![ConfigChange {
            file: "nginx.conf".into(),
            line: 3,
            before: format!("proxy_pass http://app:{INCLUDED}@10.0.0.1;"),
            after: format!("# {PASSWORD}"),
            why: "the port".into(),
        }];
    }
    record
}

#[test]
fn a_copy_does_not_say_where_the_command_was_given() {
    let mut record = bakeoff_testing::campaign(7);
    record.machine.command = [
        "/home/me/bin/bakeoff",
        "run",
        "/home/me/acme/plan.toml",
        "--out=/home/me/out/",
        "http://127.0.0.1:1/a/b",
        "/",
    ]
    .map(str::to_owned)
    .to_vec();
    let shared = Redacted::shared(record);
    assert_eq!(
        shared.record().machine.command,
        [
            "bakeoff",
            "run",
            "plan.toml",
            "--out=out",
            "http://127.0.0.1:1/a/b",
            ""
        ]
    );
}

#[test]
fn a_copy_does_not_say_which_folders_were_filled_into_configurations() {
    let mut record = bakeoff_testing::record_of_rounds(1);
    for trial in &mut record.trials {
        for config in trial.server.iter_mut().flat_map(|it| &mut it.configs) {
            let log = "/home/me/acme/record/trials/1/log".to_owned();
            config.text += &format!("error_log {log};\n");
            config.filled.insert("log".to_owned(), log);
        }
    }
    record.confirming = record.trials.clone();
    let shared = Redacted::shared(record.clone());
    let shared = shared.record();
    for trials in [&shared.trials, &shared.confirming] {
        let text = serde_json::to_string(trials).expect("trials are JSON");
        assert!(text.contains("\"configs\""), "{text}");
        assert!(!text.contains("/home/me"), "{text}");
        assert!(!text.contains("\"filled\""), "{text}");
    }
    // The record itself keeps them: its texts are compared without them.
    let hidden = Redacted::hidden(record);
    let text = serde_json::to_string(&hidden.record().trials).expect("trials are JSON");
    assert!(text.contains("/home/me/acme/record"));
}

#[test]
fn a_copy_s_command_has_no_more_of_a_header_than_its_plan() {
    let mut record = bakeoff_testing::campaign(7);
    record.machine.command = [
        "bakeoff",
        "race",
        "-H",
        "X-Customer: 0815-4711",
        "--header",
        "Accept: text/html",
        "--header=X-Mode: cached",
        "-HX-Auth: s3cret99",
        "--start",
        "/srv/acme/app --data /srv/acme/data --up http://127.0.0.1:1/a",
    ]
    .map(str::to_owned)
    .to_vec();
    assert_eq!(
        Redacted::shared(record).record().machine.command,
        [
            "bakeoff",
            "race",
            "-H",
            "X-Customer: [left out]",
            "--header",
            "Accept: text/html",
            "--header=X-Mode: [left out]",
            "-HX-Auth: [left out]",
            "--start",
            "app --data data --up http://127.0.0.1:1/a",
        ]
    );
}

#[test]
fn a_workload_s_secrets_have_the_same_numbers_beside_other_contenders() {
    let first = with_secrets();
    let mut second = first.clone();
    let setting = ("API_TOKEN".to_owned(), "tabasco-31".to_owned());
    second.plan.contenders[0].overlays.extend([setting]);
    let [first, second] = [first, second].map(Redacted::hidden);
    let workloads = |it: &Redacted| it.record().plan.workloads.clone();
    assert_eq!(workloads(&first), workloads(&second));
    let contenders = &second.record().plan.contenders;
    assert!(format!("{contenders:?}").contains("[secret-"));
}

#[test]
fn a_secret_is_hidden_wherever_its_value_stands_again() {
    let record = with_secrets();
    let shown = json(&view_of(&Redacted::shown(record.clone())));
    for secret in [HEADER, MARKED, PASSWORD, INCLUDED, QUERY, COOKIE] {
        assert!(shown.contains(secret), "--show-secrets shows {secret}");
    }
    let report = view(&record);
    let all = formats(&report);
    for (format, text) in &all {
        assert!(!text.contains("PLANTED"), "{format}");
    }
    assert!(
        all["json"].contains("[secret-"),
        "it says that something is hidden"
    );
    // Two contenders with different passwords still differ in them.
    assert!(
        all["text --diffs"].contains("+password [secret-"),
        "{}",
        all["text --diffs"]
    );
    let files = shared(&record);
    assert!(!files.contains("PLANTED"));
    // Nor does the copy hold configurations and values of headers.
    for text in ["auth_secret", "api_key", "0123456789"] {
        let record = serde_json::to_string(&record.trials).expect("trials are JSON");
        assert!(!files.contains(text), "{text} is in the copy");
        assert!(record.contains(text), "{text} is in the record");
    }
}

#[test]
fn hiding_changes_no_number_and_no_verdict() {
    let record = with_secrets();
    let (hidden, shown) = (view(&record), view_of(&Redacted::shown(record.clone())));
    let verdicts = |report: &Report| {
        let cells = report.cells.iter();
        let verdicts: Vec<_> = cells.map(|cell| cell.verdict.verdict).collect();
        let facts = report.equivalence.iter().flat_map(|table| &table.rows);
        let facts: Vec<_> = facts.map(|row| (row.title.clone(), row.class)).collect();
        (verdicts, facts)
    };
    assert_eq!(verdicts(&hidden), verdicts(&shown));
    assert_eq!(csv(&hidden), csv(&shown));
    // A shared copy is reported on as the record is, but for what it does not hold.
    let shared = Redacted::shared(record);
    let again = Redacted::hidden(shared.record().clone());
    assert_eq!(json(&view_of(&again)), json(&view_of(&shared)));
    assert_eq!(csv(&view_of(&shared)), csv(&hidden));
    assert_eq!(verdicts(&view_of(&shared)).0, verdicts(&hidden).0);
}

#[test]
fn bodies_keep_their_length() {
    let mut record = bakeoff_testing::record_of_rounds(1);
    let mut request = record.plan.workloads[0].requests.first().clone();
    let text = "user=joe&password=PLANTED-body-7&x=1";
    request.expect.body = Some(Content::Text(text.to_owned()));
    record.plan.workloads[0].requests = Requests::from(request);
    let hidden = Redacted::hidden(record);
    let request = hidden.record().plan.workloads[0].requests.first();
    let Some(Content::Text(body)) = &request.expect.body else {
        panic!("it has a body");
    };
    assert!(
        body.len() == text.len() && !body.contains("PLANTED"),
        "{body}"
    );
}

#[test]
fn a_record_says_what_it_holds() {
    let line = holdings(&Redacted::hidden(with_secrets())).expect("it holds some");
    assert!(!line.contains('\n') && !line.contains("PLANTED"), "{line}");
    for part in [
        "the record holds the text of 8 configuration files",
        "3 request headers (Authorization, X-Hotdogs, X-Internal)",
        "values look secret and are hidden in reports",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let mut record = bakeoff_testing::record_of_rounds(1);
    let line = holdings(&Redacted::hidden(record.clone())).expect("it holds some");
    assert!(line.ends_with("; no value in it looks secret"), "{line}");
    for trial in &mut record.trials {
        trial.server = None;
    }
    let line = holdings(&Redacted::hidden(record.clone())).expect("it holds headers");
    assert!(
        line.starts_with("the record holds ") && !line.contains(" 0 "),
        "{line}"
    );
    record.trials.clear();
    for workload in &mut record.plan.workloads {
        workload.requests = workload
            .requests
            .changed(0, |request| request.headers.clear());
    }
    assert_eq!(holdings(&Redacted::hidden(record)), None);
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().expect("the folder can be read").flatten();
    let below = entries.map(|entry| entry.path());
    below
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn configurations_without_secrets_stay_as_they_are() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for folder in ["../stage/tests/snapshots", "../../tests/own"] {
        for path in files(&here.join(folder)) {
            let text = std::fs::read_to_string(&path).expect("it is a text");
            let hidden = Redaction::default().configuration(&text);
            for (line, hidden) in text.lines().zip(hidden.lines()) {
                // The one password in all of them.
                let expected =
                    line.replace("insecure-password secret", "insecure-password [secret]");
                assert_eq!(hidden, expected, "{}", path.display());
            }
            count += 1;
        }
    }
    assert!(count > 100, "{count} files");
}

#[test]
fn a_copy_with_a_secret_in_a_url_can_be_read() {
    let mut record = bakeoff_testing::record_of_rounds(1);
    let url = format!("http://127.0.0.1:18099/?token={QUERY}");
    record.plan.contenders[0].server = ServerChoice::Url(RunningUrl {
        url: Url::parse(&url).expect("it is a URL"),
        fresh: Vec::new(),
        folder: PathBuf::new(),
    });
    let mut request = record.plan.workloads[0].requests.first().clone();
    request.path = format!("/a?token={QUERY}");
    record.plan.workloads[0].requests = Requests::from(request);
    record.machine.command = vec!["race".to_owned(), url.clone()];
    let shared = Redacted::shared(record.clone());
    let plan = serde_json::to_string(&shared.record().plan).expect("a plan is JSON");
    let again: Plan = serde_json::from_str(&plan).expect("the copy's plan can be read");
    assert!(plan.contains("18099/?token=[secret-1]"), "{plan}");
    assert_eq!(again, shared.record().plan);
    // A sentence around the same URL keeps its signs, and the value its number.
    let line = Redaction::of(&mut record).line(&format!("{url}: no answer"));
    assert_eq!(line, "http://127.0.0.1:18099/?token=[secret-1]: no answer");
}

#[test]
fn a_copy_proposes_no_command_that_needs_the_record() {
    let mut record = bakeoff_testing::campaign(4);
    bakeoff_testing::waver(&mut record, "caddy-default");
    let next = |redacted: &Redacted| view_of(redacted).answer.next;
    let full = "bakeoff report RECORD --full";
    let own = next(&Redacted::hidden(record.clone()));
    assert!(
        own[0].starts_with("bakeoff run --resume RECORD --rounds "),
        "{own:?}"
    );
    assert_eq!(own[1..], [full]);
    let shared = Redacted::shared(record);
    assert_eq!(next(&shared), [full]);
    // As it is read again.
    assert_eq!(next(&Redacted::hidden(shared.record().clone())), [full]);
}
