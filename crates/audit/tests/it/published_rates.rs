//! Right answers and failures that are given as rates, beside counts, shares and lengths of time.

use bakeoff_audit::published::{Audit, AuditedRow, Rig, audit};
use bakeoff_published::read;

fn audited(header: &str, cells: &str, rig: &Rig) -> Audit {
    let text = format!("{header}\n{cells}\n");
    audit(&read(&text, None, &[]).expect("it can be read"), rig)
}

fn row(header: &str, cells: &str, rig: &Rig) -> AuditedRow {
    let mut rows = audited(header, cells, rig).rows;
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

fn codes(row: &AuditedRow) -> Vec<&'static str> {
    row.findings.iter().map(|it| it.code.name()).collect()
}

/// The share that `failed-share` found.
fn share(row: &AuditedRow) -> Option<f64> {
    let mut found = row.findings.iter();
    let found = found.find(|it| it.code.name() == "failed-share");
    found.map(|it| (it.value * 1e6).round() / 1e6)
}

/// What a rule lacked.
fn missing(header: &str, cells: &str, rig: &Rig, code: &str) -> &'static str {
    let not_checked = audited(header, cells, rig).not_checked;
    let found = not_checked.iter().find(|it| it.code.name() == code);
    found.map_or("", |it| it.missing)
}

fn seconds(duration_s: f64) -> Rig {
    Rig {
        duration_s: Some(duration_s),
        ..Rig::default()
    }
}

#[test]
fn rates_of_right_answers_and_failures_make_the_rate_of_all() {
    let header = "server,clients,ok/s,errors/s,mean_ms";
    for rig in [Rig::default(), seconds(30.0)] {
        // 50,000/s x 1 ms are the 50 clients.
        let found = row(header, "x,50,45000,5000,1.00", &rig);
        assert_eq!(codes(&found), ["failed-share", "latency-of-failures"]);
        assert_eq!(share(&found), Some(0.1));
        assert_eq!(found.derived.rate_per_s, Some(50_000.0));
        assert_eq!(codes(&row(header, "x,50,50000,0,1.00", &rig)), [""; 0]);
        let few = row(header, "x,60,50000,0,1.00", &rig);
        assert_eq!(codes(&few), ["little"]);
    }
    // What was asked for is what was sent, not what came out right.
    let planned = "server,target req/s,ok/s,errors/s";
    let kept = row(planned, "x,50000,45000,5000", &seconds(30.0));
    assert_eq!(codes(&kept), ["failed-share"]);
    let late = row(planned, "x,60000,50000,0", &seconds(30.0));
    assert_eq!(codes(&late), ["schedule-kept"]);
}

#[test]
fn failures_of_a_rate_are_beside_right_answers_that_are_counted() {
    let header = "server,clients,ok_count,errors/s,mean_ms";
    let found = row(header, "x,50,1350000,5000,1.00", &seconds(30.0));
    assert_eq!(codes(&found), ["failed-share", "latency-of-failures"]);
    assert_eq!(share(&found), Some(0.1));
    assert_eq!(found.derived.rate_per_s, Some(50_000.0));
}

#[test]
fn right_answers_alone_say_nothing_of_how_many_were_sent() {
    let rig = Rig {
        ceiling_per_s: Some(60_000.0),
        bodies: vec![(None, 1000.0)],
        link_bits_per_s: Some(0.4e9),
        planned_per_s: None,
        ..seconds(30.0)
    };
    for (header, cells) in [
        ("server,clients,ok/s,mean_ms", "x,60,45000,1.00"),
        ("server,clients,ok_count,mean_ms", "x,60,1350000,1.00"),
    ] {
        let found = row(header, cells, &rig);
        // What they fill the link with, they fill it with.
        assert_eq!(codes(&found), ["network-bound"], "{header}");
        assert_eq!(found.derived.rate_per_s, None, "{header}");
        assert_eq!(found.derived.ok_per_s, Some(45_000.0), "{header}");
        for code in ["little", "generator-ceiling"] {
            let why = missing(header, cells, &rig, code);
            assert!(why.contains("only right answers"), "{header}: {why}");
        }
    }
    let open = Rig {
        duration_s: None,
        ..rig.clone()
    };
    let why = missing("server,ok_count", "x,1350000", &open, "network-bound");
    assert!(why.contains("--duration"), "{why}");
    let planned = "server,target req/s,ok/s";
    let why = missing(planned, "x,50000,45000", &rig, "schedule-kept");
    assert!(why.contains("only right answers"), "{why}");
    // A generator sends no fewer than come out right.
    let near = row("server,ok/s", "x,49000", &rig);
    assert!(codes(&near).contains(&"generator-ceiling"), "{near:?}");
}

#[test]
fn a_rate_of_failures_is_held_against_what_is_counted() {
    for (header, clean, faulty) in [
        (
            "server,requests,failed_count,errors/s,duration_s",
            "x,30000,3000,100,30",
            "x,30000,0,100,30",
        ),
        (
            "server,requests,errors_percent,errors/s,duration_s",
            "x,30000,10.00,100,30",
            "x,30000,0.00,100,30",
        ),
        (
            "server,ok_count,failed_count,errors/s,duration_s",
            "x,27000,3000,100,30",
            "x,30000,0,100,30",
        ),
        (
            "server,ok/s,errors/s,errors_percent",
            "x,900,100,10.0",
            "x,900,100,0.0",
        ),
    ] {
        let found = |cells: &str| codes(&row(header, cells, &Rig::default()));
        assert_eq!(found(clean), ["failed-share"], "{header}");
        assert_eq!(found(faulty), ["failed-share", "counts-differ"], "{header}");
    }
    // A run of 30 s may end a little later, and counts may be of all runs.
    let runs = "server,runs,requests,failed_count,errors/s,duration_s";
    let found = |cells: &str| codes(&row(runs, cells, &Rig::default()));
    assert_eq!(found("x,5,150000,75000,490,30.0"), ["failed-share"]);
    assert_eq!(found("x,5,150000,0,490,30.0"), ["counts-differ"]);
    // Counts are apart by no more than tools are, and still some failed.
    let header = "server,requests,failed_count,errors/s,duration_s";
    let found = |cells: &str| codes(&row(header, cells, &Rig::default()));
    assert_eq!(found("x,30000,0,5,30"), ["failed-share"]);
    assert_eq!(found("x,30000,0,0,30"), [""; 0]);
}

#[test]
fn more_right_answers_than_a_rate_allows_are_found() {
    let found = |header: &str, cells: &str, rig: &Rig| codes(&row(header, cells, rig));
    let header = "server,ok_count,req/s,duration_s";
    let none = Rig::default();
    assert_eq!(found(header, "x,30000,800,30", &none), ["rate-differs"]);
    let text = &row(header, "x,30000,800,30", &none).findings[0].text;
    assert_eq!(
        text,
        "the row states 800/s, and 30,000 right answers in 30.0 s are 1,000/s: one of the three is \
         wrong"
    );
    // Of a higher rate the rest may have failed, and nothing says so.
    for rate in ["960", "1000", "1500"] {
        let cells = format!("x,30000,{rate},30");
        assert_eq!(found(header, &cells, &none), [""; 0]);
        let why = missing(header, &cells, &none, "rate-differs");
        assert!(why.contains("only right answers"), "{why}");
    }
    let flagged = "server,ok_count,req/s";
    assert_eq!(
        found(flagged, "x,30000,800", &seconds(30.0)),
        ["rate-differs"]
    );
    // Counted over all runs, they fit the rate of one.
    let runs = "server,runs,ok_count,req/s,duration_s";
    assert_eq!(found(runs, "x,5,150000,1000,30", &none), [""; 0]);
    assert_eq!(found(runs, "x,5,150000,900,30", &none), ["rate-differs"]);
    // Their own rate has to be neither less nor more.
    let own = "server,ok_count,ok/s,duration_s";
    for (rate, expected) in [
        ("800", &["rate-differs"][..]),
        ("1000", &[]),
        ("1300", &["rate-differs"]),
    ] {
        let cells = format!("x,30000,{rate},30");
        assert_eq!(found(own, &cells, &none), expected, "{rate}");
        assert_eq!(missing(own, &cells, &none, "rate-differs"), "");
    }
}

#[test]
fn two_rates_that_agree_are_no_failures_of_a_length_that_is_a_little_short() {
    let found = |header: &str, cells: &str| codes(&row(header, cells, &Rig::default()));
    let header = "server,requests,req/s,ok/s,duration_s";
    assert_eq!(found(header, "x,1500000,50000,50000,29.7"), [""; 0]);
    assert_eq!(
        found(header, "x,1500000,50000,49000,29.7"),
        ["failed-share"]
    );
    let failures = "server,requests,ok/s,errors/s,duration_s";
    assert_eq!(found(failures, "x,1500000,50000,0,29.7"), [""; 0]);
    // Where the rate is of the right ones, only the requests say that others failed.
    let fifth = found(header, "x,1500000,40000,40000,30.0");
    assert_eq!(fifth, ["failed-share", "counts-differ"]);
}

#[test]
fn requests_beside_a_rate_of_zero_are_found() {
    let header = "server,requests,req/s,duration_s";
    let found = row(header, "x,30000,0,30", &Rig::default());
    assert!(codes(&found).contains(&"rate-differs"), "{found:?}");
}

#[test]
fn failures_of_all_runs_are_not_added_to_the_right_answers_of_one() {
    let header = "server,runs,clients,ok/s,failed_count,mean_ms,p99_ms";
    // 3,000,000 in 5 runs of 30 s are 20,000/s, or 100,000/s in one of them: at least 10 %.
    let cells = "x,5,200,180000,3000000,1.00,3";
    let found = row(header, cells, &seconds(30.0));
    assert_eq!(codes(&found), ["failed-share", "latency-of-failures"]);
    assert_eq!(share(&found), Some(0.1));
    assert_eq!(found.derived.rate_per_s, None);
    let why = missing(header, cells, &seconds(30.0), "little");
    assert!(why.contains("several runs"), "{why}");
    // With the rate of all it is one run that is compared.
    let stated = "server,runs,clients,req/s,failed_count,mean_ms,p99_ms";
    let found = row(stated, "x,5,200,200000,3000000,1.00,3", &seconds(30.0));
    assert_eq!(share(&found), Some(0.1));
    assert_eq!(found.derived.in_flight, Some(200.0));
    // Of a single run both are known.
    let found = row(header, "x,1,200,180000,600000,1.00,3", &seconds(30.0));
    assert_eq!(found.derived.rate_per_s, Some(200_000.0));
}
