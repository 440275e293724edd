//! Other people's results, held against the rules: a table of 2022 whose findings were worked out
//! by hand, real output of tools with and without a planted fault, and each rule with its clean
//! twin.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its files; the library does not"
)]

use std::collections::BTreeMap;
use std::path::Path;

use bakeoff_audit::published::{Audit, Rig, audit};
use bakeoff_published::read;

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).expect("the file is part of the tests")
}

fn audited(text: &str, rig: &Rig) -> Audit {
    audit(&read(text, None, &[]).expect("it can be read"), rig)
}

/// The codes of the only row.
fn codes(text: &str, rig: &Rig) -> Vec<&'static str> {
    let audit = audited(text, rig);
    assert_eq!(audit.rows.len(), 1);
    audit.rows[0]
        .findings
        .iter()
        .map(|it| it.code.name())
        .collect()
}

fn by_line(audit: &Audit) -> BTreeMap<usize, Vec<&'static str>> {
    let rows = audit.rows.iter().filter(|row| !row.findings.is_empty());
    rows.map(|row| {
        let mut codes: Vec<_> = row.findings.iter().map(|it| it.code.name()).collect();
        codes.sort_unstable();
        (row.line, codes)
    })
    .collect()
}

fn rig_of_2022() -> Rig {
    Rig {
        duration_s: Some(30.0),
        bodies: vec![(Some("html-large".to_owned()), 289_812.0)],
        link_bits_per_s: Some(10e9),
        ..Rig::default()
    }
}

#[test]
fn the_hot_dogs_have_the_findings_worked_out_by_hand_and_no_others() {
    let audit = audited(&file("tests/published/hotdog-2022.csv"), &rig_of_2022());
    let expected = file("tests/published/hotdog-2022.expected");
    let expected: BTreeMap<usize, Vec<&str>> = expected
        .lines()
        .map(|line| {
            let mut parts = line.split(' ');
            (parts.next().unwrap().parse().unwrap(), parts.collect())
        })
        .collect();
    assert_eq!((audit.rows.len(), expected.len()), (72, 56));
    let found = by_line(&audit);
    for line in 2..=73 {
        assert_eq!(found.get(&line), expected.get(&line), "line {line}");
    }
    assert_eq!(audit.believable(), 16);
    let table: Vec<&str> = audit.table.iter().map(|it| it.code.name()).collect();
    assert_eq!(table, ["one-run"]);
    // What the article hid, with its figures: 10 users, and a fifth of their time went to k6.
    let first = &audit.rows[0];
    assert!((first.derived.in_flight.unwrap() - 7.79).abs() < 0.01);
    assert_eq!(first.findings[0].limit, 0.02);
    let network = &audit.rows[3].derived;
    assert!((network.link_share.unwrap() - 0.9815).abs() < 0.0001);
    // 53,751 ms in a run of 30 s.
    assert!((audit.rows[40].derived.duration_min_s.unwrap() - 53.751).abs() < 0.001);
}

#[test]
fn without_flags_nothing_is_guessed() {
    let audit = audited(&file("tests/published/hotdog-2022.csv"), &Rig::default());
    let found = by_line(&audit);
    assert!(
        found
            .values()
            .flatten()
            .all(|code| code.starts_with("failed") || code.starts_with("lat"))
    );
    assert_eq!(audit.rows[0].derived.rate_per_s, None);
    let missing: Vec<&str> = audit.not_checked.iter().map(|it| it.code.name()).collect();
    for code in [
        "little",
        "network-bound",
        "longer-than-run",
        "duration-short",
    ] {
        assert!(missing.contains(&code), "{code} in {missing:?}");
    }
}

const DATA: &str = "../published/tests/data";

#[test]
fn real_output_has_a_finding_only_where_a_fault_was_planted() {
    let rate = |planned| Rig {
        planned_per_s: Some(planned),
        ..Rig::default()
    };
    let ceiling = |per_s| Rig {
        ceiling_per_s: Some(per_s),
        clients: Some(20.0),
        ..Rig::default()
    };
    let none = Rig::default();
    for (name, rig, expected) in [
        ("h2load.txt", &none, &[][..]),
        ("h2load-rate.txt", &rate(2000.0), &[]),
        ("h2load-saturated.txt", &rate(10_000.0), &["schedule-kept"]),
        ("k6-closed.json", &none, &[]),
        ("k6-saturated.json", &none, &["little"]),
        ("k6-arrival-saturated.json", &none, &["schedule-kept"]),
        ("vegeta.json", &rate(500.0), &[]),
        ("vegeta-saturated.json", &rate(500.0), &["schedule-kept"]),
        ("oha.json", &none, &[]),
        ("oha-rate.json", &rate(500.0), &[]),
        (
            "oha-rate-saturated.json",
            &rate(10_000.0),
            &["schedule-kept"],
        ),
        ("wrk.txt", &none, &[]),
        ("wrk-200.txt", &none, &[]),
        // The ceilings are of other runs of the same tools at a null server.
        ("h2load-slow.txt", &ceiling(26_155.0), &[]),
        (
            "h2load-full.txt",
            &ceiling(26_155.0),
            &["generator-ceiling"],
        ),
        ("oha-slow.json", &ceiling(17_586.0), &[]),
        ("oha-full.json", &ceiling(17_586.0), &["generator-ceiling"]),
        ("wrk-slow.txt", &ceiling(20_757.0), &[]),
        ("wrk-full.txt", &ceiling(20_757.0), &["generator-ceiling"]),
    ] {
        assert_eq!(
            codes(&file(&format!("{DATA}/{name}")), rig),
            expected,
            "{name}"
        );
    }
}

/// What the documentation says cannot be found. A change that finds it has to say so there.
#[test]
fn a_starved_closed_loop_of_wrk_oha_or_h2load_is_not_found() {
    for name in ["oha-starved.json", "wrk-saturated.txt", "wrk-starved.txt"] {
        let text = file(&format!("{DATA}/{name}"));
        assert_eq!(codes(&text, &Rig::default()), [""; 0], "{name}");
    }
}

#[test]
fn latencies_that_wrk_adds_prove_no_saturation_and_do_not_pass() {
    // 2.86 ms at 12,484/s: 35.7 in flight of 20, by wrk's own additions.
    let audit = audited(&file(&format!("{DATA}/wrk.txt")), &Rig::default());
    let missing = audit.not_checked.iter();
    let little = missing.clone().find(|it| it.code.name() == "little");
    assert!(little.is_some_and(|it| it.missing.contains("wrk adds some")));
    // Additions can only lengthen: too few in flight beside them are too few.
    let text = file(&format!("{DATA}/wrk.txt"));
    let short = text.replace("Latency     2.86ms", "Latency     1.20ms");
    assert_eq!(codes(&short, &Rig::default()), ["little"]);
    // Nor is such a mean held against quantiles: 9 ms are a hundredth of 900 ms.
    let long = text.replace("16.56ms", "900.00ms");
    let long = long.replace("44.47ms", "950.00ms");
    assert_eq!(codes(&long, &Rig::default()), [""; 0]);
}

/// The rules that could not be held against rows, with what is missing.
fn missing(audit: &Audit) -> Vec<(&'static str, &'static str)> {
    let all = audit.not_checked.iter();
    all.map(|it| (it.code.name(), it.missing)).collect()
}

#[test]
fn on_the_schedule_of_vegeta_no_number_of_clients_is_expected_but_a_mean_is() {
    let text = file(&format!("{DATA}/vegeta.json"));
    let rig = Rig {
        clients: Some(10.0),
        ..Rig::default()
    };
    // 500/s x 0.39 ms: a fifth of a request in flight, of as many clients as it takes.
    assert_eq!(codes(&text, &rig), [""; 0]);
    let unknown = missing(&audited(&text, &rig));
    let rate = "the rate that was asked for (--rate), or for a closed loop --rate 0 and --clients";
    assert!(unknown.contains(&("little", rate)), "{unknown:?}");
    // 0.39 ms are less than a hundredth of 100 ms.
    let long = text
        .replace("811483", "100000000")
        .replace("20940099", "200000000");
    assert_eq!(codes(&long, &rig), ["quantile-order"]);
}

#[test]
fn on_the_schedule_of_wrk2_no_number_of_clients_is_expected() {
    let text = "Running 30s test @ http://a/\n  1 threads and 100 connections\n  \
                Thread calibration: mean lat.: 1.10ms, rate sampling interval: 10ms\n  \
                Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                Latency     1.10ms  123.00us   5.00ms    89.12%\n  \
                60000 requests in 30.00s, 1.00MB read\nRequests/sec: 2000.00\n";
    assert_eq!(codes(text, &Rig::default()), [""; 0]);
    let rate = "the rate that was asked for (--rate)";
    let unknown = missing(&audited(text, &Rig::default()));
    for code in ["little", "schedule-kept"] {
        assert!(unknown.contains(&(code, rate)), "{code} in {unknown:?}");
    }
    let known = Rig {
        planned_per_s: Some(4000.0),
        ..Rig::default()
    };
    assert_eq!(codes(text, &known), ["schedule-kept"]);
    let known = missing(&audited(text, &known));
    assert!(!known.iter().any(|(_, what)| *what == rate), "{known:?}");
}

#[test]
fn streams_that_h2load_does_not_print_explain_many_in_flight() {
    // 12,423/s x 3.2 ms are 39.8 in flight, of 20 clients.
    let text = file(&format!("{DATA}/h2load.txt"));
    let many = text.replace("1.61ms", "3.20ms");
    let audit = audited(&many, &Rig::default());
    assert_eq!(audit.believable(), 1);
    let mut missing = missing(&audit).into_iter();
    assert!(missing.any(|(code, what)| code == "little" && what.contains("--streams")));
    let streams = |streams| Rig {
        streams: Some(streams),
        ..Rig::default()
    };
    assert_eq!(codes(&many, &streams(2.0)), [""; 0]);
    assert_eq!(codes(&many, &streams(1.0)), ["little"]);
    // With more streams there would be even more that were not in flight.
    let few = text.replace("1.61ms", "1.00ms");
    assert_eq!(codes(&few, &Rig::default()), ["little"]);
}

/// One row in CSV with these columns and cells.
fn row(header: &str, cells: &str) -> String {
    format!("{header}\n{cells}\n")
}

/// A row with these columns that has no finding, and one that has these.
#[track_caller]
fn twins(header: &str, clean: &str, faulty: &str, expected: &[&str]) {
    let rig = Rig {
        link_bits_per_s: Some(1e9),
        cores: Some(2.0),
        client_cores: Some(2.0),
        ..Rig::default()
    };
    assert_eq!(
        codes(&row(header, clean), &rig),
        [""; 0],
        "{header}: {clean}"
    );
    assert_eq!(
        codes(&row(header, faulty), &rig),
        expected,
        "{header}: {faulty}"
    );
}

#[test]
fn rules_on_time_have_clean_twins() {
    let load = "clients,duration_s,requests,mean_ms,p99_ms";
    twins(
        load,
        "10,30,300000,1.00,2",
        "10,30,300000,0.97,2",
        &["little"],
    );
    twins(
        load,
        "10,30,300000,0.99,2",
        "10,30,300000,1.10,2",
        &["little"],
    );
    // Long requests at the edges of the run explain more: 2 x 0.6 s / 30 s.
    twins(
        load,
        "10,30,3000,97.0,600",
        "10,30,3000,97.0,200",
        &["little"],
    );
    // A hundredth of the requests took 20 s: the mean is 200 ms or more. Such a tail, which is in
    // another unit, excuses no clients that were not busy.
    twins(
        load,
        "10,30,30000,10.0,900",
        "10,30,30000,1.00,20000",
        &["little", "quantile-order"],
    );
    twins("min_ms,mean_ms", "6,5", "7,5", &["quantile-order"]);
    twins(
        "duration_s,requests",
        "10,1000",
        "9,1000",
        &["duration-short"],
    );
    twins(
        "duration_s,max_s",
        "30,29.9",
        "30,31.1",
        &["longer-than-run"],
    );
    twins(
        "duration_s,requests,p99_s",
        "30,1000,29.9",
        "30,1000,31.1",
        &["longer-than-run"],
    );
    twins(
        "requests,p99_ms",
        "1000,5",
        "999,5",
        &["quantile-unsupported"],
    );
    // Rounded to whole ms, 6 may have been less than 5.5.
    twins("p50_ms,p99_ms", "6,5", "7,5", &["quantile-order"]);
    twins("mean_ms,max_ms", "6,5", "7,5", &["quantile-order"]);
}

#[test]
fn rules_on_amounts_and_bytes_have_clean_twins() {
    let failed = "requests,failed_count";
    twins(failed, "1000000,10", "1000000,11", &["failed-share"]);
    twins("rps,target_rps", "991,1000", "989,1000", &["schedule-kept"]);
    let bytes = "duration_s,requests,body_bytes";
    twins(
        bytes,
        "10,99000,10000",
        "10,100100,10000",
        &["network-bound"],
    );
    let both = ["network-bound", "impossible-bytes"];
    twins(bytes, "10,99000,10000", "10,126000,10000", &both);
    let read = "duration_s,requests,body_bytes,bytes_read";
    twins(
        read,
        "10,1000,100,95000",
        "10,1000,100,94000",
        &["impossible-bytes"],
    );
    twins("rps,cpu_percent", "5,200", "5,210", &["impossible-cpu"]);
    twins("rps,client_cpu_percent", "5,100", "5,102", &["engine-busy"]);
    let rates = "requests_per_s,ok_per_s";
    twins(rates, "10000,9999.6", "10000,5000", &["failed-share"]);
    // 10 s may have been 10.01 s.
    let right = "requests,duration_s,ok_per_s";
    twins(
        right,
        "100100,10,10000",
        "100100,10,9000",
        &["failed-share"],
    );
    let stated = "requests,duration_s,requests_per_s";
    twins(stated, "1000,10.0,104", "1000,10.0,107", &["rate-differs"]);
    twins(stated, "1000,10.0,96", "1000,10,100000", &["rate-differs"]);
    // What ten runs together made, and what was right of it.
    let of_runs = "requests,duration_s,requests_per_s,runs";
    twins(
        of_runs,
        "10000,10.0,100,10",
        "10000,10.0,100,9",
        &["rate-differs"],
    );
    let right = row("requests,failed_count,duration_s,rps", "1000,500,10.0,50");
    assert_eq!(codes(&right, &Rig::default()), ["failed-share"]);
    let failures = "requests,failed_percent,p50_ms";
    let none = Rig::default();
    assert_eq!(codes(&row(failures, "1000,0.1,5"), &none), ["failed-share"]);
    let both = ["failed-share", "latency-of-failures"];
    assert_eq!(codes(&row(failures, "1000,0.2,5"), &none), both);
}

#[test]
fn what_is_known_of_the_rig_completes_a_row() {
    let rig = Rig {
        clients: Some(10.0),
        duration_s: Some(30.0),
        think_s: Some(0.001),
        ceiling_per_s: Some(6000.0),
        ..Rig::default()
    };
    // 5,000/s x (1 ms + 1 ms of rest) are 10 clients; without the rest it would be half of them.
    let text = row("requests,mean_ms", "150000,1.00");
    assert_eq!(codes(&text, &rig), ["generator-ceiling"]);
    let busy = Rig {
        think_s: None,
        ceiling_per_s: Some(7000.0),
        ..rig.clone()
    };
    assert_eq!(codes(&text, &busy), ["little"]);
    let streams = Rig {
        streams: Some(32.0),
        ceiling_per_s: None,
        clients: Some(1.0),
        ..busy
    };
    assert_eq!(
        codes(&row("requests,mean_ms", "960000,1.00"), &streams),
        [""; 0]
    );
}

#[test]
fn failures_that_a_tool_does_not_time_are_in_no_latency() {
    let text = |wrong: u32, errors: u32| {
        format!(
            "Running 10s test @ x\n  1 threads and 1 connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
             Latency     1.00ms   10.00us   2.00ms    89.12%\n  \
             10000 requests in 10.00s, 1.00MB read\n  \
             Socket errors: connect 0, read {errors}, write 0, timeout 0\n  \
             Non-2xx or 3xx responses: {wrong}\nRequests/sec: 1000.00\n"
        )
    };
    assert_eq!(codes(&text(0, 100), &Rig::default()), ["failed-share"]);
    let both = ["failed-share", "latency-of-failures"];
    assert_eq!(codes(&text(100, 0), &Rig::default()), both);
}

#[test]
fn connecting_inside_a_short_run_is_found() {
    let text = "spawning thread #0: 150 total client(s). 1000 total requests\n\
                finished in 450.21ms, 2221.19 req/s, 11.58MB/s\n\
                requests: 1000 total, 1000 started, 1000 done, 1000 succeeded, 0 failed, \
                0 errored, 0 timeout\nstatus codes: 1000 2xx, 0 3xx, 0 4xx, 0 5xx\n\
                traffic: 5.21MB (5463000) total\n\
                                     min         max         mean         sd        +/- sd\n\
                time for request:     1.00ms    200.00ms     60.00ms    1.00ms    70.00%\n\
                time for connect:    50.00ms    150.00ms    100.00ms   20.00ms    60.00%\n";
    let found = codes(text, &Rig::default());
    assert_eq!(found, ["duration-short", "set-up-counted"]);
}

#[test]
fn a_run_without_an_answer_is_not_believable() {
    let oha = r#"{"summary": {"successRate": 0.0, "total": 10.0, "slowest": null, "fastest": null,
        "average": null, "requestsPerSec": 0.0, "totalData": 0}, "latencyPercentiles": {},
        "statusCodeDistribution": {},
        "errorDistribution": {"aborted due to deadline": 20}}"#;
    let vegeta = r#"{"latencies": {"mean": 0, "max": 0, "99th": 0}, "requests": 0, "rate": 0,
        "duration": 10000000000, "success": 0, "status_codes": {}, "bytes_in": {"total": 0}}"#;
    let wrk = "Running 10s test @ http://a/\n  2 threads and 10 connections\n  \
               Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
               Latency     0.00us    0.00us   0.00us    -nan%\n    \
               Req/Sec     0.00      0.00     0.00      -nan%\n  \
               0 requests in 10.00s, 0.00B read\nRequests/sec:      0.00\n";
    let csv = row("clients,duration_s,requests,mean_ms", "10,30,0,0");
    let rates = row("clients,rps,mean_ms", "10,0,0");
    for text in [oha, vegeta, wrk, &csv, &rates] {
        let audit = audited(text, &Rig::default());
        assert_eq!(codes(text, &Rig::default()), ["failed-share"], "{text}");
        let finding = &audit.rows[0].findings[0];
        assert_eq!(finding.text, "no request came to an answer");
    }
}

#[test]
fn a_link_is_as_full_as_what_was_read_or_the_bodies_if_they_are_more() {
    // 300,000/s with bodies of 100 bytes, 340 with their heads.
    let text = "Running 10s test @ http://a/\n  2 threads and 60 connections\n  \
                Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                Latency   200.00us   10.00us   2.00ms    89.12%\n  \
                3000000 requests in 10.00s, 972.75MB read\nRequests/sec: 300000.00\n";
    let rig = |body| Rig {
        link_bits_per_s: Some(1e9),
        bodies: vec![(None, body)],
        ..Rig::default()
    };
    let texts = |body| -> Vec<String> {
        let audit = audited(text, &rig(body));
        let findings = audit.rows[0].findings.iter();
        findings.map(|it| it.text.clone()).collect()
    };
    let read = "the tool read 816.0 Mbit/s, 81.6 % of the link's 1.00 Gbit/s";
    assert_eq!(texts(100.0), [read]);
    let bodies = "300,000/s right answers x 350 bytes = 840.0 Mbit/s, 84.0 % of the link's 1.00 \
                  Gbit/s";
    assert_eq!(texts(350.0), [bodies]);
}

/// How often each of these findings is in a table, and the text of `one-run`.
fn repeats(text: &str) -> (usize, String) {
    let audit = audited(text, &Rig::default());
    let found = by_line(&audit).into_values().flatten();
    let differ = found.filter(|code| *code == "repeat-differs").count();
    let table = audit.table.iter().map(|it| it.text.clone());
    (differ, table.collect())
}

#[test]
fn measurements_that_differ_in_what_was_asked_for_are_no_repetitions() {
    for (header, rows) in [
        ("server,target_rps,rps", ["a,100,100", "a,500,500"]),
        ("server,body_bytes,rps", ["a,64,9000", "a,65536,700"]),
        ("server,duration_s,rps", ["a,10,100", "a,60,50"]),
        ("rps,p99_ms", ["100,5", "500,5"]),
    ] {
        let (differ, runs) = repeats(&format!("{header}\n{}\n{}\n", rows[0], rows[1]));
        assert_eq!(differ, 0, "{header}");
        assert!(runs.starts_with("2 of 2 measurements"), "{header}: {runs}");
    }
    for (header, rows) in [
        // Seconds that were measured, and a number of requests that was asked for.
        ("server,duration_s,requests", ["a,30.1,3000", "a,29.9,4500"]),
        ("server,duration_s,requests", ["a,5,10000", "a,10,10000"]),
        // A column says so.
        ("run,rps", ["1,100", "2,130"]),
        ("run,duration_s,rps", ["1,10,100", "2,60,130"]),
    ] {
        let (differ, runs) = repeats(&format!("{header}\n{}\n{}\n", rows[0], rows[1]));
        assert_eq!(differ, 2, "{header}");
        assert!(runs.contains("at most 2 times"), "{header}: {runs}");
    }
}

#[test]
fn runs_of_a_tool_are_told_apart_by_what_it_prints() {
    let wrk = |connections: u32, requests: u32| {
        format!(
            "Running 10s test @ http://a/\n  1 threads and {connections} connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n  \
             {requests} requests in 10.00s, 1.00MB read\nRequests/sec: {}.00\n",
            requests / 10
        )
    };
    // As often as runs of one name would differ, if they are of one server.
    let differ = |text: &str| {
        let audit = audited(text, &Rig::default());
        assert_eq!(repeats(text).0, 0, "no row is blamed");
        let table = audit.table.iter();
        let found = table.filter(|it| it.code.name() == "repeat-differs");
        found.count()
    };
    assert_eq!(differ(&(wrk(10, 1000) + &wrk(50, 5000))), 0);
    assert_eq!(differ(&(wrk(10, 1000) + &wrk(10, 1500))), 1);
    let h2load = |clients: &str| {
        let text = file(&format!("{DATA}/h2load.txt"));
        text.replace("20 total client(s)", &format!("{clients} total client(s)"))
    };
    let slower = h2load("20").replace("149076", "100000");
    assert_eq!(differ(&(h2load("20") + &slower)), 1);
    assert_eq!(differ(&(h2load("10") + &slower)), 0);
    // oha's document says nothing of what was asked.
    let oha = file(&format!("{DATA}/oha.json"));
    let two = oha.clone() + "\n" + &file(&format!("{DATA}/oha-slow.json"));
    assert_eq!(differ(&two), 0);
    let (_, runs) = repeats(&two);
    assert!(runs.starts_with("2 of 2"), "{runs}");
    let vegeta = file(&format!("{DATA}/vegeta.json"));
    let other = file(&format!("{DATA}/vegeta-saturated.json"));
    assert_eq!(differ(&(vegeta + "\n" + &other)), 0);
}

#[test]
fn repetitions_are_compared_and_counted() {
    let table = |rates: &[u32]| {
        let rows = rates.iter().enumerate();
        let rows: String = rows
            .map(|(index, rate)| format!("a,{index},{rate}\n"))
            .collect();
        format!("server,run,rps\n{rows}")
    };
    let steady = audited(&table(&[100, 101, 99, 100, 102, 98]), &Rig::default());
    assert_eq!((steady.believable(), steady.table.len()), (6, 0));
    let apart = audited(&table(&[100, 130]), &Rig::default());
    let found: Vec<&str> = by_line(&apart).into_values().flatten().collect();
    assert_eq!(found, ["repeat-differs", "repeat-differs"]);
    assert_eq!(apart.table[0].value, 2.0);
    let summed = audited("server,runs,rps\na,10,5\n", &Rig::default());
    assert_eq!(summed.table, []);
}
