//! The output of tools whose files are small: hey, ab, autocannon, bombardier, fortio and Locust,
//! what k6, vegeta and oha show on a console, and the project's own document.

use bakeoff_published::{Format, Row, read};

use crate::support::quantiles;

/// The only row of a text of this form.
#[track_caller]
fn only(text: &str, format: Format) -> Row {
    let published = read(text, None, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(published.format, format, "{text}");
    assert_eq!(published.rows.len(), 1, "{text}");
    published.rows.into_iter().next().expect("a row")
}

fn ended_and_failed(row: &Row) -> (Option<f64>, Option<f64>) {
    (row.counts.ended, row.counts.failed)
}

/// Mean and longest, ns.
fn mean_and_max(row: &Row) -> (Option<f64>, Option<f64>) {
    let of = |time: Option<bakeoff_published::Figure>| time.map(|time| time.value.round());
    (of(row.latency.mean), of(row.latency.max))
}

const HEY: &str = "\nSummary:\n  Total:\t10.0100 secs\n  Slowest:\t0.0500 secs\n  \
                   Fastest:\t0.0002 secs\n  Average:\t0.0050 secs\n  Requests/sec:\t1998.0020\n  \
                   \n  \
                   Total data:\t200000 bytes\n  Size/request:\t10 bytes\n\n\
                   Response time histogram:\n  0.000 [1]\t|\n  0.050 [19999]\t|■■\n\n\n\
                   Latency distribution:\n  50% in 0.0040 secs\n  99%% in 0.0210 secs\n\n\
                   Details (average, fastest, slowest):\n  DNS+dialup:\t0.0001 secs, 0.0000 secs, \
                   0.0020 secs\n\nStatus code distribution:\n  [200]\t19900 responses\n  \
                   [503]\t90 responses\n\nError distribution:\n  [10]\tGet \"http://a/\": EOF\n\n";

#[test]
fn hey_counts_answers_by_status_and_errors_beside_them() {
    let row = only(HEY, Format::Hey);
    assert_eq!(ended_and_failed(&row), (Some(20_000.0), Some(100.0)));
    assert_eq!(
        (row.counts.untimed, row.counts.failed_timed),
        (10.0, Some(90.0))
    );
    // The rate of old versions leaves out errors.
    assert_eq!(
        (row.load.duration_s, row.counts.rate_per_s),
        (Some(10.01), None)
    );
    assert_eq!(mean_and_max(&row), (Some(5e6), Some(50e6)));
    assert_eq!(quantiles(&row), [(0.5, 4e6), (0.99, 21e6)]);
    assert_eq!(row.transfer.read_bytes, Some(200_000.0));
    let (right, _) = HEY.split_once("Error distribution").expect("it has errors");
    let row = only(right, Format::Hey);
    assert_eq!(row.counts.rate_per_s.map(|rate| rate.value), Some(1998.002));
    // Of more than a million answers the mean is another's, and two runs are two rows.
    let many = right.replace("19900 resp", "1990000 resp");
    assert_eq!(only(&many, Format::Hey).latency.mean, None);
    let twice = read(&format!("{HEY}{HEY}"), None, &[]).expect("it can be read");
    assert_eq!(
        twice.rows.iter().map(|row| row.line).collect::<Vec<_>>(),
        [2, 32]
    );
}

#[test]
fn the_text_of_oha_has_units_of_its_own() {
    let text = "Summary:\n  Success rate:\t100.00%\n  Total:\t5001.5000 ms\n  \
                Slowest:\t58.3000 ms\n  Fastest:\t0.0500 ms\n  Average:\t1.2500 ms\n  \
                Requests/sec:\t8001.2000\n\n  Total data:\t39.06 MiB\n  Size/request:\t1.00 KiB\n  \
                Size/sec:\t7.81 MiB\n\nResponse time histogram:\n   0.050 ms [1]     |\n\n\
                Response time distribution:\n  10.00% in 0.3000 ms\n  99.99% in 55.1000 ms\n\n\n\
                Details (average, fastest, slowest):\n  DNS+dialup:\t0.5000 ms, 0.1, 0.9\n\n\
                Status code distribution:\n  [200] 40000 responses\n\nError distribution:\n  \
                [20] aborted due to deadline\n  [5] connection refused\n";
    let row = only(text, Format::Oha);
    assert_eq!(ended_and_failed(&row), (Some(40_005.0), Some(5.0)));
    assert_eq!(row.load.duration_s, Some(5.0015));
    assert_eq!(quantiles(&row), [(0.1, 300e3), (0.9999, 55.1e6)]);
    assert_eq!(mean_and_max(&row), (Some(1.25e6), Some(58.3e6)));
    // In a terminal's colours it is the same.
    let coloured = text
        .replace("Slowest:", "\u{1b}[33mSlowest:")
        .replace("ms\n", "ms\u{1b}[0m\n");
    assert_eq!(only(&coloured, Format::Oha), row);
    // Where no request came to an answer, there are no times.
    let none = text
        .replace("[200] 40000 responses", "")
        .replace("1.2500 ms", "NaN ms");
    assert_eq!(only(&none, Format::Oha).latency.max, None);
}

#[test]
fn ab_takes_another_length_for_a_failure_and_has_no_mean_but_in_its_table() {
    let text = include_str!("../data/ab.txt");
    let row = only(text, Format::Ab);
    assert_eq!(row.label(), "path=/rand clients=10");
    assert_eq!(ended_and_failed(&row), (Some(3000.0), Some(0.0)));
    assert!(
        row.counts
            .checks
            .is_some_and(|checks| checks.failed > 2000.0)
    );
    assert_eq!(mean_and_max(&row), (Some(14e6), Some(64e6)));
    assert_eq!(quantiles(&row).last(), Some(&(0.99, 46e6)));
    // What people paste often is the middle.
    let begins = text.find("Concurrency Level").expect("it has one");
    let ends = text.find("Connection Times").expect("it has them");
    let row = only(&text[begins..ends], Format::Ab);
    assert_eq!((row.load.clients, row.latency.mean), (Some(10.0), None));
    let wrong = text.replace(
        "Total transferred",
        "Non-2xx responses: 7\nTotal transferred",
    );
    assert_eq!(only(&wrong, Format::Ab).counts.failed, Some(7.0));
}

#[test]
fn autocannon_is_read_as_json_and_as_tables() {
    let row = only(include_str!("../data/autocannon.json"), Format::Autocannon);
    assert_eq!(row.label(), "url=http://127.0.0.1:18765/");
    assert_eq!(
        (row.load.clients, row.load.streams),
        (Some(10.0), Some(1.0))
    );
    assert_eq!(ended_and_failed(&row), (Some(5760.0), Some(0.0)));
    // Times are of whole ms, so 2.95 may be 2.5 or 3.5.
    let mean = row.latency.mean.expect("it has one");
    assert_eq!((mean.value, mean.step), (2.95e6, 2e6));
    assert_eq!(quantiles(&row).last(), Some(&(0.9999, 99e6)));
    let row = only(include_str!("../data/autocannon.txt"), Format::Autocannon);
    assert_eq!(ended_and_failed(&row), (Some(1640.0), Some(1640.0)));
    assert_eq!(row.counts.rate_per_s.map(|rate| rate.value), None);
    assert_eq!(
        (row.load.clients, row.load.duration_s),
        (Some(10.0), Some(2.11))
    );
    assert_eq!(mean_and_max(&row), (Some(11.75e6), Some(96e6)));
    let expected = [(0.025, 2e6), (0.5, 10e6), (0.975, 31e6), (0.99, 38e6)];
    assert_eq!(quantiles(&row), expected);
}

#[test]
fn bombardier_is_read_as_json_and_as_text() {
    let json = r#"{"spec":{"numberOfConnections":10,"testType":"timed","testDurationSeconds":10,
        "method":"GET","url":"http://a/","rate":4000},"result":{"bytesRead":9000000,
        "timeTakenSeconds":10.01,"req1xx":0,"req2xx":39000,"req3xx":0,"req4xx":0,"req5xx":900,
        "others":100,"latency":{"mean":1900.5,"stddev":1,"max":40000,
        "percentiles":{"50":1000,"99":9000}},"rps":{"mean":4000.1}}}"#;
    let row = only(json, Format::Bombardier);
    assert_eq!(ended_and_failed(&row), (Some(40_000.0), Some(1000.0)));
    assert_eq!(
        (row.load.planned_per_s, row.load.scheduled),
        (Some(4000.0), true)
    );
    assert_eq!(mean_and_max(&row), (Some(1_900_500.0), Some(40e6)));
    assert_eq!(quantiles(&row), [(0.5, 1e6), (0.99, 9e6)]);
    let text = "Bombarding http://a/ for 10s using 125 connection(s)\n[====] 10s\nDone!\n\
                Statistics        Avg      Stdev        Max\n  Reqs/sec      4010.50     300.00    \
                5000.00\n  Latency        1.90ms     2.10ms    40.00ms\n  \
                Latency Distribution\n     \
                50%     1.00ms\n     99%     9.00ms\n  HTTP codes:\n    1xx - 0, 2xx - 39000, \
                3xx - 0, 4xx - 0, 5xx - 900\n    others - 100\n  Errors:\n    \
                dial tcp: refused - 100\n  Throughput:     1.00MB/s\n";
    let row = only(text, Format::Bombardier);
    assert_eq!(ended_and_failed(&row), (Some(40_000.0), Some(1000.0)));
    assert_eq!(
        (row.load.clients, row.load.duration_s),
        (Some(125.0), Some(10.0))
    );
    assert_eq!(mean_and_max(&row), (Some(1.9e6), Some(40e6)));
    assert_eq!(quantiles(&row), [(0.5, 1e6), (0.99, 9e6)]);
    assert_eq!(row.counts.rate_per_s.map(|rate| rate.value), Some(4010.5));
}

#[test]
fn fortio_keeps_a_rate_or_none() {
    let json = |qps: &str| {
        format!(
            r#"{{"RunType": "HTTP", "Labels": "a b", "RequestedQPS": "{qps}",
            "ActualQPS": 499.2, "ActualDuration": 10000000000, "NumThreads": 8,
            "DurationHistogram": {{"Count": 4992, "Avg": 0.002, "Max": 0.05, "Percentiles":
            [{{"Percentile": 99, "Value": 0.01}}]}}, "RetCodes": {{"200": 4990, "-1": 2}}}}"#
        )
    };
    let row = only(&json("500"), Format::Fortio);
    assert_eq!(ended_and_failed(&row), (Some(4992.0), Some(2.0)));
    assert_eq!(
        (row.load.planned_per_s, row.load.clients),
        (Some(500.0), Some(8.0))
    );
    assert_eq!(quantiles(&row), [(0.99, 10e6)]);
    let row = only(&json("max"), Format::Fortio);
    assert!(row.load.planned_per_s.is_none() && !row.load.scheduled);
    let grpc = json("max").replace("HTTP", "GRPC Ping");
    let error = read(&grpc, None, &[]).expect_err(&grpc);
    assert!(error.problem.contains("only runs of HTTP"), "{error}");
}

#[test]
fn of_locust_the_row_of_all_requests_is_read() {
    let text = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,\
                Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,\
                99%,99.9%,100%\nGET,/,900,10,3,4.5,1.2,147.3,12,90.1,1.0,3,90,150,150\n\
                ,Aggregated,1000,12,3,4.6,1.2,147.3,12,100.1,1.2,3,92,150,150\n";
    let row = only(text, Format::Locust);
    assert_eq!((row.line, row.label().as_str()), (3, "Name=Aggregated"));
    assert_eq!(ended_and_failed(&row), (Some(1000.0), Some(12.0)));
    assert_eq!(mean_and_max(&row), (Some(4.6e6), Some(147.3e6)));
    assert_eq!(quantiles(&row), [(0.5, 3e6), (0.99, 92e6), (0.999, 150e6)]);
    // It is rounded to tens, so it is no longer than the longest.
    let high = row.latency.quantiles.last().expect("it has some").value;
    assert_eq!(high.low(), 145e6);
    let old = "\"Name\",\"# requests\",\"# failures\",\"Median response time\",\
               \"Average response time\",\"Requests/s\"\n\"Total\",50,0,3,4,5.00\n";
    assert_eq!(
        ended_and_failed(&only(old, Format::Locust)),
        (Some(50.0), Some(0.0))
    );
}

#[test]
fn the_console_of_k6_is_read_in_both_layouts() {
    let metrics = |checks: &str, failed: &str| {
        format!(
            "     {checks}\n     data_received..................: 5.9 MB  295 kB/s\n   \
             ✓ http_req_duration..............: avg=1.17ms min=264.58µs med=798µs max=1m2s \
             p(90)=2.08ms p(95)=3.06ms\n       { }\
             http_req_failed................: {failed}\n     \
             http_reqs......................: 48450 \
             2422.5/s\n     iteration_duration.............: avg=2ms min=1ms\n     \
             iterations.....................: 48450 2422.5/s\n     \
             vus............................: 5       min=5      max=5\n     \
             vus_max........................: 5 min=5 max=5\n",
            "{ expected_response:true }...: avg=1.1ms min=1ms\n     "
        )
    };
    let old = metrics(
        "checks.........................: 99.00% ✓ 47965       ✗ 485",
        "1.00%   ✓ 485         ✗ 47965",
    );
    let new = metrics(
        "checks_total...................: 48450  2422.5/s\n    checks_succeeded...: 99.00% 47965 \
         out of 48450\n",
        "1.00%  485 out of 48450",
    );
    for text in [
        old.clone(),
        format!("█ TOTAL RESULTS\n{new}\n█ GROUP: a\n{new}"),
    ] {
        let row = only(&text, Format::K6);
        assert_eq!(ended_and_failed(&row), (Some(48_450.0), Some(485.0)));
        assert_eq!(mean_and_max(&row), (Some(1.17e6), Some(62e9)));
        assert_eq!(
            quantiles(&row),
            [(0.5, 798e3), (0.9, 2.08e6), (0.95, 3.06e6)]
        );
        assert_eq!(row.load.duration_s.map(f64::round), Some(20.0));
        assert_eq!(row.counts.checks.map(|checks| checks.failed), Some(485.0));
        assert_eq!(row.transfer.read_bytes, Some(5.9e6));
        // They were not in iterations most of the time: 2,422/s x 2 ms are 4.8 of 5.
        assert_eq!(row.load.clients, Some(5.0));
    }
    assert_eq!(
        read(&format!("{old}{old}"), None, &[])
            .expect("two runs")
            .rows
            .len(),
        2
    );
    let cut = "http_req_duration..............: avg=1ms\n";
    let error = read(cut, None, &[]).expect_err(cut);
    assert!(error.problem.contains("http_reqs"), "{error}");
}

#[test]
fn the_text_of_vegeta_is_its_document() {
    let text = "Requests      [total, rate, throughput]         5000, 500.11, 499.50\n\
                Duration      [total, attack, wait]             9.999s, 9.998s, 412.837µs\n\
                Latencies     [min, mean, 50, 90, 95, 99, max]  201.113µs, 385.502µs, 325.001µs, \
                500µs, 613.057µs, 811.483µs, 1m0.5s\n\
                Bytes In      [total, mean]                     100000, 20.00\n\
                Bytes Out     [total, mean]                     0, 0.00\n\
                Success       [ratio]                           99.90%\n\
                Status Codes  [code:count]                      0:2  200:4995  503:3  \n\
                Error Set:\n";
    let row = only(text, Format::Vegeta);
    assert_eq!(ended_and_failed(&row), (Some(5000.0), Some(5.0)));
    assert_eq!(
        (row.load.duration_s, row.load.scheduled),
        (Some(9.998), true)
    );
    assert_eq!(row.label(), "rate=500/s");
    assert_eq!(mean_and_max(&row), (Some(385_502.0), Some(60.5e9)));
    assert_eq!(quantiles(&row).len(), 4);
    assert_eq!(row.transfer.read_bytes, Some(100_000.0));
    let cut = text.replace("Duration ", "Drift ");
    let error = read(&cut, None, &[]).expect_err(&cut);
    assert!(error.problem.contains("there is no `duration`"), "{error}");
}

#[test]
fn our_own_document_is_read() {
    let row = only(include_str!("../data/bakeoff-load.json"), Format::Bakeoff);
    assert_eq!(row.label(), "url=http://127.0.0.1:8080/");
    assert_eq!(ended_and_failed(&row), (Some(358_546.0), Some(125_490.0)));
    assert_eq!(
        (row.load.clients, row.load.duration_s),
        (Some(200.0), Some(5.0))
    );
    assert_eq!(
        (row.counts.untimed, row.counts.failed_timed),
        (125_490.0, Some(0.0))
    );
    assert_eq!(quantiles(&row).last(), Some(&(0.9999, 57_209_743.0)));
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    for (text, line, part) in [
        (
            HEY.replace("0.0050 secs", "much"),
            6,
            "expected a time behind `Average:`, found `much`",
        ),
        (
            HEY.replace("Total:\t10.0100 secs", "Total:"),
            3,
            "expected a time",
        ),
        (
            "Concurrency Level: 5\nTime taken for tests: 1 seconds\n".to_owned(),
            1,
            "no line `Complete requests:`: it was cut off",
        ),
    ] {
        let error = read(&text, None, &[]).expect_err(&text);
        assert_eq!(error.line, line, "{error}");
        assert!(error.problem.contains(part), "{error}");
    }
}
