//! Contenders that do the same, and one inequality at a time planted into one of them.

use bakeoff_audit::{Class, Equivalence, equivalences};
use bakeoff_record::{CertificateFacts, GrownFile, Negotiated, Record, TrialRecord, Work};

/// The contender that something is planted into, and the one that it is compared with.
const ODD: &str = "nginx-optimized";
const PLAIN: &str = "nginx-default";

/// The made-up campaign, in which all do the same: its own inequality is taken out.
fn equal_campaign() -> Record {
    let mut record = bakeoff_testing::record();
    for trial in &mut record.trials {
        trial.each_work(|work| {
            if let Some(upstream) = &mut work.upstream {
                (upstream.connections, upstream.http_1_0, upstream.close) = (1, 0, 0);
            }
        });
        for answer in &mut trial.answers {
            answer.negotiated = Negotiated {
                protocol: "h1".into(),
                tls_version: Some("TLSv1.3".into()),
                cipher: Some("TLS13_AES_128_GCM_SHA256".into()),
                group: Some("X25519".into()),
                alpn: None,
                settings: None,
            };
        }
        trial.each_work(|work| {
            work.certificate = Some(CertificateFacts {
                key: "ECDSA".into(),
                bits: Some(256),
            });
        });
    }
    record
}

trait EachWork {
    fn each_work(&mut self, change: impl Fn(&mut Work));
}

impl EachWork for TrialRecord {
    fn each_work(&mut self, change: impl Fn(&mut Work)) {
        self.work.iter_mut().for_each(change);
    }
}

fn table(record: &Record, workload: &str) -> Equivalence {
    let tables = equivalences(&record.plan, &record.trials);
    let mut found = tables.into_iter().filter(|it| it.workload == workload);
    found.next().expect("the workload has a table")
}

/// The table of `proxy` after something was planted into all trials of one contender.
fn planted(change: impl Fn(&mut TrialRecord)) -> Equivalence {
    let mut record = equal_campaign();
    let odd = record.trials.iter_mut().filter(|it| it.contender == ODD);
    odd.for_each(change);
    table(&record, "proxy")
}

/// The one thing that is unfair is this, in these words, and this is to be changed in the odd one.
#[track_caller]
fn blames(
    change: impl Fn(&mut TrialRecord),
    (code, rule): (&str, &str),
    words: &str,
    remedy: Option<&str>,
) {
    let table = planted(change);
    let codes: Vec<&str> = table
        .inequalities
        .iter()
        .map(|it| it.check.code.name())
        .collect();
    assert_eq!(codes, [code]);
    let one = &table.inequalities[0];
    assert_eq!(one.check.rule, rule);
    assert!(one.check.text.contains(words), "{}", one.check.text);
    assert!(table.between(ODD, PLAIN).any(|it| it == one));
    assert!(table.between(PLAIN, ODD).any(|it| it == one));
    assert_eq!(table.between(PLAIN, "caddy-default").count(), 0);
    let changed: Vec<(&str, Option<&str>)> = one
        .remedies
        .iter()
        .map(|it| (it.contender.as_str(), it.line.as_deref()))
        .collect();
    assert_eq!(changed, [(ODD, remedy)]);
    let unfair: Vec<&str> = table
        .rows
        .iter()
        .filter(|row| row.class == Class::Unfair)
        .map(|row| row.fact.as_str())
        .collect();
    assert_eq!(unfair, [one.fact]);
}

/// As [`blames`], for what the answers say.
#[track_caller]
fn blames_answer(
    change: impl Fn(&mut bakeoff_record::AnswerCheck),
    check: (&str, &str),
    words: &str,
) {
    let all = |trial: &mut TrialRecord| trial.answers.iter_mut().for_each(&change);
    blames(all, check, words, None);
}

#[track_caller]
fn blames_work(change: impl Fn(&mut Work), check: (&str, &str), words: &str, remedy: Option<&str>) {
    blames(|trial| trial.each_work(&change), check, words, remedy);
}

#[test]
fn equal_work_is_no_inequality() {
    let record = equal_campaign();
    for workload in ["synthetic", "proxy"] {
        let table = table(&record, workload);
        assert_eq!(table.contenders.len(), 3);
        assert_eq!(table.inequalities, []);
        assert_eq!(table.unknown, []);
        // Caddy is another program.
        let rows: Vec<&str> = table.rows.iter().map(|row| row.fact.as_str()).collect();
        assert_eq!(rows, ["version"]);
        let has = |fact: &str| table.equal.iter().any(|it| it.fact == fact);
        assert!(has("cipher") && has("access-log") && has("workers"));
        assert_eq!(has("upstream-version"), workload == "proxy");
    }
}

#[test]
fn another_answer_is_reported() {
    blames_answer(
        |answer| answer.status = 302,
        ("equal-status", "R15"),
        "200 in nginx-default and caddy-default; 302 in nginx-optimized",
    );
    // Another body of the same length.
    blames_answer(
        |answer| answer.body_sha256 = "b2".repeat(32),
        ("equal-body", "R15"),
        "a1a1a1a1a1a1 in nginx-default and caddy-default; b2b2b2b2b2b2 in nginx-optimized",
    );
}

#[test]
fn compression_on_one_side_is_reported() {
    let compress = |answer: &mut bakeoff_record::AnswerCheck| {
        let header = ("content-encoding".to_owned(), "gzip".to_owned());
        answer.headers.push(header);
        answer.decoded_bytes = Some(13);
        answer.decoded_sha256 = Some(answer.body_sha256.clone());
    };
    blames_answer(
        compress,
        ("equal-encoding", "R16"),
        "content encoding: none in nginx-default and caddy-default; gzip in nginx-optimized",
    );
    // Where nothing is compressed, a shorter body is another body, and no level of compression.
    let shorter = |bytes| {
        move |trial: &mut TrialRecord| {
            trial
                .answers
                .iter_mut()
                .for_each(|it| it.body_bytes = bytes)
        }
    };
    assert_eq!(planted(shorter(11)).inequalities, []);
    // All compress, one harder: a few bytes are an accident of the library, many are a level.
    let compressed = |bytes| {
        let mut record = equal_campaign();
        let answers = record.trials.iter_mut().flat_map(|it| &mut it.answers);
        answers.for_each(compress);
        let odd = record.trials.iter_mut().filter(|it| it.contender == ODD);
        odd.for_each(shorter(bytes));
        table(&record, "proxy").inequalities
    };
    assert_eq!(compressed(12), []);
    let [one] = &compressed(11)[..] else {
        panic!("a level is one inequality");
    };
    assert_eq!(one.check.code.name(), "equal-body-bytes");
    let words = "body as sent, bytes: 13 in nginx-default and caddy-default; 11 in nginx-optimized";
    assert!(one.check.text.contains(words), "{}", one.check.text);
}

#[test]
fn another_tls_is_reported() {
    let with = |change: fn(&mut Negotiated)| {
        move |answer: &mut bakeoff_record::AnswerCheck| {
            change(&mut answer.negotiated);
        }
    };
    blames_answer(
        with(|it| it.cipher = Some("TLS13_AES_256_GCM_SHA384".into())),
        ("equal-cipher", "R16"),
        "TLS13_AES_256_GCM_SHA384 in nginx-optimized",
    );
    // The same cipher by the name that it has in TLS 1.2.
    let older = with(|it| it.cipher = Some("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".into()));
    let table = planted(|trial| trial.answers.iter_mut().for_each(&older));
    assert_eq!(table.inequalities, []);
    blames_answer(
        with(|it| it.tls_version = Some("TLSv1.2".into())),
        ("equal-tls-version", "R16"),
        "TLSv1.2 in nginx-optimized",
    );
    blames_answer(
        with(|it| it.protocol = "h2".into()),
        ("equal-protocol", "R16"),
        "h2 in nginx-optimized",
    );
    blames_work(
        |work| {
            work.certificate = Some(CertificateFacts {
                key: "RSA".into(),
                bits: Some(2048),
            });
        },
        ("equal-certificate", "R16"),
        "ECDSA 256 in nginx-default and caddy-default; RSA 2048 in nginx-optimized",
        None,
    );
    let group = with(|it| it.group = Some("SECP256R1".into()));
    let table = planted(|trial| trial.answers.iter_mut().for_each(&group));
    assert_eq!(table.inequalities, []);
    let row = table.rows.iter().find(|row| row.fact == "group");
    assert_eq!(row.map(|row| row.class), Some(Class::Differs));
}

#[test]
fn connections_that_are_not_kept_are_reported() {
    blames_work(
        |work| work.connections = Some(10),
        ("equal-keep-alive", "R16"),
        "closed after each answer in nginx-optimized",
        None,
    );
    let upstream = |change: fn(&mut bakeoff_record::UpstreamWork)| {
        move |work: &mut Work| work.upstream.iter_mut().for_each(change)
    };
    blames_work(
        upstream(|it| it.connections = 10),
        ("equal-upstream-connections", "R16"),
        "a new one for each request in nginx-optimized",
        Some("keepalive 64;"),
    );
    blames_work(
        upstream(|it| it.http_1_0 = 10),
        ("equal-upstream-version", "R16"),
        "HTTP/1.0 in nginx-optimized",
        Some("proxy_http_version 1.1;"),
    );
    // A cache: nothing is known of version and connections then, and nothing is said.
    blames_work(
        upstream(|it| (it.requests, it.connections) = (0, 0)),
        ("equal-cache", "R32"),
        "asked for 0 of 10 requests in nginx-optimized",
        None,
    );
}

#[test]
fn a_log_is_reported_when_it_is_written_before_the_load_or_under_it() {
    let file = |bytes| {
        let path = "/run/access.log".to_owned();
        vec![GrownFile { path, bytes }]
    };
    blames_work(
        |work| work.grown = Some(file(920)),
        ("equal-access-log", "R16"),
        "on, 92 bytes a request in access.log in nginx-optimized",
        Some("access_log off;"),
    );
    // Lines that are gathered show only where there are many.
    blames(
        |trial| {
            let requests = trial.result.as_ref().map(|it| it.requests.completed);
            let bytes = requests.unwrap_or(0) * 80;
            trial.each_work(|work| work.grown_under_load = Some(file(bytes)));
        },
        ("equal-access-log", "R16"),
        "on, 80 bytes a request in access.log",
        Some("access_log off;"),
    );
    // A word now and then is no line for each request.
    let table = planted(|trial| trial.each_work(|work| work.grown = Some(file(150))));
    assert_eq!(table.inequalities, []);
}

#[test]
fn upstream_connections_are_compared_under_load_too() {
    let opened = |share: f64| {
        planted(|trial| {
            if let Some(origin) = trial.origin.as_mut() {
                origin.connections = (origin.requests as f64 * share) as u64;
            }
        })
    };
    assert_eq!(opened(0.09).inequalities, []);
    let table = opened(0.4);
    let one = &table.inequalities[0];
    assert_eq!(one.check.code.name(), "equal-upstream-connections");
    assert!(
        one.check
            .text
            .contains("often a new one under load, 0.4 for each")
    );
}

#[test]
fn fewer_workers_and_files_are_reported() {
    let crew = |change: fn(&mut bakeoff_record::Crew)| {
        move |work: &mut Work| work.crew.iter_mut().for_each(change)
    };
    // On one processor it is the two workers of the odd one that do not fit; Caddy has one process
    // by nature.
    let table = planted(|trial| {
        trial.each_work(crew(|it| (it.loops, it.listening_threads) = (2, 2)));
    });
    let one = &table.inequalities[0];
    assert_eq!(table.inequalities.len(), 1);
    assert_eq!(one.check.code.name(), "equal-workers");
    assert_eq!(one.pairs, [[PLAIN.to_owned(), ODD.to_owned()]]);
    assert_eq!(one.remedies[0].contender, ODD);
    assert_eq!(one.remedies[0].line.as_deref(), Some("worker_processes 1;"));
    let text = &one.check.text;
    assert!(text.contains("2 workers on 1 of its processors"), "{text}");
    // With two processors it matters beside other servers too.
    let mut record = equal_campaign();
    for trial in &mut record.trials {
        let both = |it: &mut bakeoff_record::Crew| (it.processors, it.listening_threads) = (2, 4);
        trial.each_work(|work| work.crew.iter_mut().for_each(both));
        if trial.contender == ODD {
            trial.each_work(crew(|it| it.listening_threads = 1));
        }
    }
    let table = self::table(&record, "proxy");
    let codes: Vec<&str> = table
        .inequalities
        .iter()
        .map(|it| it.check.code.name())
        .collect();
    assert_eq!(codes, ["equal-processors"]);
    assert_eq!(table.inequalities[0].pairs.len(), 2);
    // 200 clients through a proxy need 400 files.
    blames_work(
        crew(|it| it.open_files = Some(399)),
        ("equal-open-files", "R16"),
        "20,000 in nginx-default and caddy-default; 399 in nginx-optimized",
        None,
    );
    let table = planted(|trial| trial.each_work(crew(|it| it.open_files = Some(400))));
    assert_eq!(table.inequalities, []);
}

#[test]
fn what_is_not_known_is_no_difference() {
    let table = planted(|trial| {
        trial.each_work(|work| {
            work.crew = None;
            let why = "no process was seen".to_owned();
            work.unknown.insert("crew".to_owned(), why);
        });
    });
    assert_eq!(table.inequalities, []);
    let workers = table.unknown.iter().find(|it| it.fact == "workers");
    let workers = workers.expect("it is said");
    assert_eq!(workers.contenders, [ODD]);
    assert_eq!(workers.reason, "no process was seen");
    assert!(table.equal.iter().all(|it| it.fact != "workers"));
    // Where nothing was looked at there are no such facts at all.
    let mut record = equal_campaign();
    record.trials.iter_mut().for_each(|trial| trial.work = None);
    let table = self::table(&record, "proxy");
    assert_eq!(
        (table.inequalities, table.unknown),
        (Vec::new(), Vec::new())
    );
}

#[test]
fn headers_are_reported_and_matter_to_no_comparison() {
    let table = planted(|trial| {
        for answer in &mut trial.answers {
            let headers = [
                ("Via", "1.1 x"),
                ("content-type", "text/html"),
                ("Date", "now"),
            ];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            answer.headers.extend(headers);
        }
    });
    assert_eq!(table.inequalities, []);
    let row = |fact: &str| {
        let row = table.rows.iter().find(|row| row.fact == fact);
        row.map(|row| row.values[1].clone().unwrap_or_default())
    };
    assert_eq!(
        row("header-names").as_deref(),
        Some("content-type, date, via")
    );
    assert_eq!(row("headers").as_deref(), Some("4, 68 bytes"));
    assert_eq!(row("header:date"), None);
}
