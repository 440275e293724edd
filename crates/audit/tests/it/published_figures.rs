//! Figures that are missing, that contradict each other, or that hold for one run of several.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its files; the library does not"
)]

use bakeoff_audit::published::{Audit, Rig, audit};
use bakeoff_published::read;

fn audited(text: &str, rig: &Rig) -> Audit {
    audit(&read(text, None, &[]).expect("it can be read"), rig)
}

/// The codes of the only row of a table with this header and these cells.
fn codes(header: &str, cells: &str, rig: &Rig) -> Vec<&'static str> {
    let audit = audited(&format!("{header}\n{cells}\n"), rig);
    assert_eq!(audit.rows.len(), 1);
    let findings = audit.rows[0].findings.iter();
    findings.map(|it| it.code.name()).collect()
}

#[test]
fn every_rule_that_lacks_a_figure_is_listed() {
    let listed = |header: &str, cells: &str| -> Vec<&'static str> {
        let audit = audited(&format!("{header}\n{cells}\n"), &Rig::default());
        assert_eq!(audit.believable(), 1);
        audit.not_checked.iter().map(|it| it.code.name()).collect()
    };
    let few = listed("server,requests", "a,100000");
    for code in [
        "failed-share",
        "latency-of-failures",
        "little",
        "schedule-kept",
        "generator-ceiling",
        "engine-busy",
        "duration-short",
        "longer-than-run",
        "set-up-counted",
        "network-bound",
        "rate-differs",
        "impossible-bytes",
        "impossible-cpu",
        "quantile-unsupported",
        "quantile-order",
    ] {
        assert!(few.contains(&code), "{code} in {few:?}");
    }
    // What has its figures is not.
    let some = listed(
        "clients,requests,errors_percent,duration_s,rps,mean_ms,p99_ms",
        "100,100000,0,10,10000,10,30",
    );
    for code in [
        "rate-differs",
        "longer-than-run",
        "quantile-order",
        "little",
    ] {
        assert!(!some.contains(&code), "{code} in {some:?}");
    }
}

fn seconds(duration_s: f64) -> Rig {
    Rig {
        duration_s: Some(duration_s),
        ..Rig::default()
    }
}

#[test]
fn where_slow_requests_excuse_every_client_little_has_not_passed() {
    let header = "clients,duration_s,requests,mean_ms,p99_ms,max_ms";
    let little = |cells: &str| -> Vec<&'static str> {
        let audit = audited(&format!("{header}\n{cells}\n"), &Rig::default());
        assert_eq!(audit.rows[0].findings, [], "{cells}");
        let all = audit.not_checked.iter();
        let little = all.filter(|it| it.code.name() == "little");
        little.map(|it| it.missing).collect()
    };
    // 20 of 100 clients, and p99 half as long as the run.
    let long = "a measurement that is long beside its slowest requests";
    assert_eq!(little("100,30,3000,200,15000,16000"), [long]);
    // A quarter of the run excuses half of the clients, and more were busy.
    assert_eq!(little("100,30,3000,600,7500,8000"), [""; 0]);
}

#[test]
fn a_stated_rate_counts_more_than_a_flag_of_the_duration() {
    let header = "clients,requests,rps,mean_ms";
    let rig = Rig {
        bodies: vec![(None, 10_000.0)],
        link_bits_per_s: Some(0.6e9),
        ..seconds(30.0)
    };
    // 5,000/s x 20 ms are 100 clients; the flag makes it 10,000/s.
    let text = format!("{header}\n100,300000,5000,20\n");
    let row = &audited(&text, &rig).rows[0];
    assert_eq!(row.derived.rate_per_s, Some(5000.0));
    let [differs] = row.findings.as_slice() else {
        panic!("{:?}", row.findings);
    };
    assert_eq!(differs.code.name(), "rate-differs");
    assert!(differs.text.contains("--duration"), "{}", differs.text);
    let flagged = codes(header, "100,300000,5000,20", &seconds(60.0));
    assert_eq!(flagged, [""; 0]);
    // What the file states with all three is no fault of a flag.
    let stated = "clients,requests,duration_s,rps,mean_ms";
    let cells = "100,300000,60,5000,20";
    assert_eq!(codes(stated, cells, &seconds(30.0)), [""; 0]);
}

#[test]
fn requests_of_several_runs_are_taken_for_one_by_the_rate() {
    let header = "clients,runs,requests,duration_s,rps,mean_ms,bytes_read";
    let rig = Rig {
        link_bits_per_s: Some(1e9),
        bodies: vec![(None, 4000.0)],
        ceiling_per_s: Some(20_000.0),
        ..Rig::default()
    };
    for cells in [
        "100,6,600000,10,10000,10,2400000000",
        "100,6,100000,10,10000,10,400000000",
    ] {
        let text = format!("{header}\n{cells}\n");
        let row = &audited(&text, &rig).rows[0];
        assert_eq!(row.findings, [], "{cells}");
        let derived = &row.derived;
        assert_eq!(derived.rate_per_s, Some(10_000.0), "{cells}");
        assert!((derived.in_flight.unwrap() - 100.0).abs() < 1e-6);
        assert!((derived.link_share.unwrap() - 0.32).abs() < 1e-6);
        assert!(derived.duration_min_s.unwrap() < 10.1, "{derived:?}");
    }
    // Without a rate nothing says whose requests they are.
    let text = "clients,runs,requests,duration_s,mean_ms\n100,6,600000,10,10\n";
    let audit = audited(text, &rig);
    assert_eq!(audit.believable(), 1);
    let little = audit.not_checked.iter();
    let mut little = little.filter(|it| it.code.name() == "little");
    assert!(little.any(|it| it.missing.contains("several runs")));
}

#[test]
fn counts_that_contradict_each_other_are_found() {
    let none = Rig::default();
    for (header, clean, faulty) in [
        // More right answers, or more failures, than requests.
        ("requests,ok_count", "1000000,1000000", "1000000,1200000"),
        ("requests,failed_count", "1000000,0", "1000000,2000000"),
        // Both together are far from the requests.
        (
            "requests,ok_count,failed_count",
            "1000000,1000000,0",
            "1000000,500000,100",
        ),
        (
            "requests,ok_count,failed_percent",
            "1000000,1000000,0",
            "1000000,1000000,50",
        ),
        ("rps,ok_per_s", "10000,10000.4", "10000,12000"),
        (
            "rps,ok_per_s,failed_percent",
            "10000,10000,0",
            "10000,10000,50",
        ),
        (
            "requests,duration_s,ok_per_s",
            "100000,10,10300",
            "100000,10,20000",
        ),
        (
            "requests,ok_percent,failed_percent",
            "1000,100,0",
            "1000,100,40",
        ),
    ] {
        assert_eq!(codes(header, clean, &none), [""; 0], "{header}: {clean}");
        let found = codes(header, faulty, &none);
        assert!(
            found.contains(&"counts-differ"),
            "{header}: {faulty}: {found:?}"
        );
    }
    let text = "requests,ok_count\n1000,1200\n";
    let finding = &audited(text, &none).rows[0].findings[0];
    assert_eq!(
        finding.text,
        "1,200 right of 1,000 requests: that is impossible"
    );
    // A percentage to whole digits may be half of one off, and runs may be summed up.
    assert_eq!(
        codes(
            "requests,ok_count,failed_percent",
            "1000000,999999,0",
            &none
        ),
        [""; 0]
    );
    let summed = "runs,requests,ok_count,failed_percent";
    assert_eq!(codes(summed, "6,600000,100000,0", &none), [""; 0]);
}

/// What wrk prints where every connection is refused: zeros.
const WRK_REFUSED: &str = "Running 10s test @ http://a/\n  1 threads and 10 connections\n  \
     Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
     Latency     0.00us    0.00us   0.00us    -nan%\n    \
     Req/Sec     0.00      0.00     0.00      -nan%\n  \
     0 requests in 10.00s, 0.00B read\n  \
     Socket errors: connect 5000, read 0, write 0, timeout 0\nRequests/sec:      0.00\n";

/// The same of h2load.
const H2LOAD_REFUSED: &str = "spawning thread #0: 10 total client(s). 1000 total requests\n\
     finished in 12.00s, 0.00 req/s, 0B/s\n\
     requests: 1000 total, 0 started, 0 done, 0 succeeded, 1000 failed, 1000 errored, 0 timeout\n\
     status codes: 0 2xx, 0 3xx, 0 4xx, 0 5xx\n\
     traffic: 0B (0) total, 0B (0) headers (space savings 0.00%), 0B (0) data\n\
     min         max         median      p95         p99         mean        sd         +/- sd\n\
     request     :        0us         0us         0us         0us         0us         0us         \
     0us     0.00%\n\
     connect     :        0us         0us         0us         0us         0us         0us         \
     0us     0.00%\n";

#[test]
fn where_every_connection_is_refused_there_are_no_latencies() {
    for text in [WRK_REFUSED, H2LOAD_REFUSED] {
        let row = &audited(text, &Rig::default()).rows[0];
        let codes: Vec<_> = row.findings.iter().map(|it| it.code.name()).collect();
        assert_eq!(codes, ["failed-share"], "{text}");
        assert_eq!(row.derived.in_flight, None, "{text}");
    }
}

#[test]
fn bytes_and_answers_a_second_need_no_duration() {
    let rig = Rig {
        bodies: vec![(None, 4096.0)],
        ..Rig::default()
    };
    assert_eq!(codes("rps,MB/s", "10000,42", &rig), [""; 0]);
    assert_eq!(codes("rps,MB/s", "10000,4", &rig), ["impossible-bytes"]);
}

#[test]
fn bytes_that_may_be_of_1024s_have_the_benefit_of_both_readings() {
    // 345,000 bodies are 99.99e9 bytes, and 93.27 GB of wrk 100.15e9.
    let found = |header: &str, read: &str| {
        let header = format!("requests,{header},body_bytes,duration_s");
        let rig = Rig {
            link_bits_per_s: Some(9.9e9),
            ..Rig::default()
        };
        let found = codes(&header, &format!("345000,{read},289812,100"), &rig);
        let of_bytes = found.into_iter().filter(|code| *code != "network-bound");
        of_bytes.collect::<Vec<_>>()
    };
    for (header, read) in [
        ("transfer", "93.27GB"),
        ("transfer_GB", "93.27"),
        ("transfer", "93.27GiB"),
        ("read", "93.27GB"),
    ] {
        assert_eq!(found(header, read), [""; 0], "{header}");
    }
    for (header, read) in [
        ("transfer", "85GB"),
        ("read", "85GB"),
        ("bytes", "93270000000"),
    ] {
        assert_eq!(found(header, read), ["impossible-bytes"], "{header}");
    }
    // 118 GB in 100 s are 9.44 Gbit/s of thousands, and 10.1 of wrk's.
    assert_eq!(found("transfer", "118GB"), [""; 0]);
    assert_eq!(found("read", "118GB"), ["impossible-bytes"]);
    let rig = Rig {
        bodies: vec![(None, 4096.0)],
        ..Rig::default()
    };
    assert_eq!(codes("rps,MB/s", "10000,37.5", &rig), [""; 0]);
    assert_eq!(codes("rps,MB/s", "10000,37.0", &rig), ["impossible-bytes"]);
}

#[test]
fn a_mean_is_no_longer_than_its_quantiles_allow() {
    let header = "requests,min_ms,mean_ms,p50_ms,p90_ms,p99_ms,max_ms";
    // Half took up to 2 ms, 40 % up to 3, 9 % up to 4, and 1 % up to 50: 3.06 ms at most.
    let none = Rig::default();
    assert_eq!(codes(header, "100000,1,3.0,2,3,4,50", &none), [""; 0]);
    let found = codes(header, "100000,1,45.0,2,3,4,50", &none);
    assert_eq!(found, ["quantile-order"]);
    // The longest of few requests weighs more than its share.
    let few = "requests,mean_ms,p50_ms,max_ms";
    assert_eq!(codes(few, "3,340,10,1000", &none), [""; 0]);
}

#[test]
fn a_quantile_that_a_tool_always_prints_costs_no_row() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../published/tests/data/oha.json"
    );
    let oha = std::fs::read_to_string(path).expect("the file is part of the tests");
    let row = &audited(&oha, &Rig::default()).rows[0];
    assert_eq!(row.findings, []);
    let [note] = row.notes.as_slice() else {
        panic!("{:?}", row.notes);
    };
    assert_eq!(note.code.name(), "quantile-unsupported");
    assert!(note.text.contains("p99.99"), "{}", note.text);
    // Who writes a table chooses its quantiles.
    let found = codes("requests,p99_ms,p99.99_ms", "9000,5,6", &Rig::default());
    assert_eq!(found, ["quantile-unsupported"]);
    let k6 = |key: &str| {
        let text = format!(
            r#"{{"metrics": {{"http_reqs": {{"count": 100, "rate": 5}},
            "http_req_failed": {{"passes": 0, "fails": 100}},
            "http_req_duration": {{"p(90)": 5, "{key}": 6}}}}}}"#
        );
        audited(&text, &Rig::default()).rows[0].findings.len()
    };
    assert_eq!((k6("p(95)"), k6("p(99)")), (0, 1));
}

#[test]
fn a_size_for_no_row_or_two_sizes_for_one_are_refused() {
    let text = "server,requests\nnginx,100\n";
    let published = read(text, None, &[]).expect("it can be read");
    let check = |bodies: &[(Option<&str>, f64)]| {
        let own = |(name, bytes): &(Option<&str>, f64)| (name.map(str::to_owned), *bytes);
        let rig = Rig {
            bodies: bodies.iter().map(own).collect(),
            ..Rig::default()
        };
        rig.check_bodies(&published)
    };
    assert_eq!(check(&[(Some("nginx"), 5.0), (None, 6.0)]), Ok(()));
    let unknown = check(&[(Some("ngnix"), 5.0)]).unwrap_err();
    assert!(unknown.contains("`ngnix`") && unknown.contains("nginx"));
    for twice in [None, Some("nginx")] {
        let error = check(&[(twice, 5.0), (twice, 6.0)]).unwrap_err();
        assert!(error.contains("two sizes"), "{error}");
    }
}

#[test]
fn a_column_that_makes_each_repetition_a_measurement_is_named() {
    let rows = |index: &dyn Fn(usize) -> String| -> String {
        (0..6)
            .map(|row| format!("{},a,100,{}.5,1000\n", index(row), 200 + row))
            .collect()
    };
    let text = |first: &str, rows: String| format!("{first},server,clients,memory_mb,rps\n{rows}");
    let one_run = |text: &str| -> String {
        let audit = audited(text, &Rig::default());
        audit.table.iter().map(|it| it.text.clone()).collect()
    };
    // An index of pandas is none of it; a result is.
    let pandas = one_run(&text("", rows(&|row| row.to_string())));
    assert!(pandas.contains("--column 'ignore=memory_mb'"), "{pandas}");
    assert!(!pandas.contains("ignore=' "), "{pandas}");
    let odd = one_run(&text("", rows(&|row| (row * 7 + 3).to_string())));
    assert!(odd.contains("--column 'ignore='"), "{odd}");
    // Other servers are other measurements.
    let servers = one_run("server,rps\na,1\nb,2\n");
    assert!(!servers.contains("ignore"), "{servers}");
    let text = text("", rows(&|row| row.to_string()));
    let rules = ["ignore=memory_mb".parse().expect("a rule")];
    let published = read(&text, None, &rules).expect("it can be read");
    assert_eq!(audit(&published, &Rig::default()).table, []);
}

#[test]
fn a_count_of_failures_stands_beside_a_rounded_share() {
    let header = "requests,success_percent,errors_count,duration_s";
    let failed = |row: &str| codes(header, row, &Rig::default()).contains(&"failed-share");
    assert!(failed("1000000,100.0,400,30"));
    assert!(!failed("1000000,100.0,0,30"));
}
