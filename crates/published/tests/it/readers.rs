//! Every form, read from a file of its own.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its files; the library does not"
)]

use std::path::Path;

use bakeoff_published::{Format, Hidden, Row, read};

use crate::support::quantiles;

fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read_to_string(folder.join(name)).expect("the file is part of the tests")
}

/// The only row of a file.
fn only(name: &str, format: Format) -> Row {
    let published = read(&data(name), None, &[]).expect(name);
    assert_eq!(published.format, format, "{name}");
    assert_eq!(published.rows.len(), 1, "{name}");
    published.rows.into_iter().next().expect("a row")
}

#[track_caller]
fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("there is a figure");
    assert!(
        (found / expected - 1.0).abs() < 1e-6,
        "{found} is not {expected}"
    );
}

#[test]
fn what_mail_and_logs_put_before_lines_changes_no_figure() {
    for name in [
        "wrk.txt",
        "h2load.txt",
        "ab.txt",
        "vegeta.json",
        "autocannon.txt",
    ] {
        let text = data(name);
        let plain = read(&text, None, &[]).expect(name);
        for before in ["> ", ">> ", "load-1  | ", "2024-05-01T12:00:00.1234567Z "] {
            let lines = text.lines().map(|line| format!("{before}{line}\n"));
            let posted: String = lines.collect();
            let found = read(&posted, None, &[]);
            assert_eq!(found.as_ref(), Ok(&plain), "{name} behind `{before}`");
        }
    }
}

#[test]
fn wrk_with_latency() {
    let row = only("wrk.txt", Format::Wrk);
    let name = |name: &str, cell: &str| (name.to_owned(), cell.to_owned());
    assert_eq!(row.line, 1);
    let named = [
        name("url", "http://127.0.0.1:18431/"),
        name("threads", "1"),
        name("connections", "20"),
    ];
    assert_eq!(row.name, named);
    assert_eq!(
        (row.load.clients, row.load.duration_s),
        (Some(20.0), Some(12.1))
    );
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(151_054.0), Some(0.0))
    );
    let mean = row.latency.mean.unwrap();
    assert!(
        (mean.value - 2.86e6).abs() < 1.0 && (mean.step - 1e4).abs() < 1e-6,
        "{mean:?}"
    );
    assert_eq!(row.latency.max.unwrap().value, 44.47e6);
    let expected = [
        (0.5, 1.55e6),
        (0.75, 4.49e6),
        (0.9, 7.87e6),
        (0.99, 16.56e6),
    ];
    assert_eq!(quantiles(&row), expected);
    near(row.transfer.read_bytes, 603.6 * 1_048_576.0);
    assert!(row.latency.corrected);
}

#[test]
fn wrk_without_latency_with_errors_and_twice() {
    let text = "Running 2s test @ http://a/\n  2 threads and 8 connections\n  \
                Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                Latency     1.00s   123.00us   1.50m    89.12%\n    \
                Req/Sec    23.45k     1.23k   30.12k    78.00%\n  \
                900 requests in 2.00s, 1.00KB read\n  \
                Socket errors: connect 1, read 2, write 3, timeout 4\n  \
                Non-2xx or 3xx responses: 30\nRequests/sec:    450.00\nTransfer/sec:      1.00KB\n";
    let twice = read(&format!("{text}{text}"), None, &[]).unwrap();
    let [row, second] = twice.rows.as_slice() else {
        panic!("{} rows", twice.rows.len());
    };
    assert_eq!((row.line, second.line), (1, 11));
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(906.0), Some(40.0))
    );
    assert_eq!(
        (row.counts.untimed, row.counts.failed_timed),
        (10.0, Some(30.0))
    );
    assert_eq!(row.latency.max.unwrap().value, 90e9);
    assert!(row.latency.quantiles.is_empty());
}

#[test]
fn threads_of_wrk_share_connections_without_the_rest() {
    for (threads, connections, opened) in [(8, 50, 48.0), (2, 50, 50.0), (1, 7, 7.0)] {
        let text = format!(
            "Running 20s test @ http://a/\n  {threads} threads and {connections} connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
             Latency     5.07ms  640.68us  21.39ms   88.03%\n  \
             189551 requests in 20.02s, 1.00MB read\nRequests/sec: 9468.08\n"
        );
        let row = read(&text, None, &[]).unwrap().rows.remove(0);
        assert_eq!(row.load.clients, Some(opened));
        assert!(row.label().contains(&format!("connections={connections}")));
    }
}

#[test]
fn the_longest_of_wrk2_is_the_last_line_of_its_quantiles() {
    // The column is the lower edge of a bucket; in a fork it is the 99th percentile.
    for (third, column) in [("33.66ms", "Max"), ("2.79ms", "99%")] {
        let text = format!(
            "Running 30s test @ http://a/\n  2 threads and 100 connections\n  \
             Thread Stats   Avg      Stdev     {column}   +/- Stdev\n    \
             Latency     1.67ms    1.13ms  {third}   90.00%\n  \
             Latency Distribution (HdrHistogram - Recorded Latency)\n  \
             50.000%    1.50ms\n 99.000%    2.79ms\n 99.999%   33.69ms\n100.000%   33.69ms\n\
             59994 requests in 30.00s, 18.82MB read\nRequests/sec:   1999.81\n"
        );
        let row = read(&text, None, &[]).unwrap().rows.remove(0);
        near(row.latency.max.map(|max| max.value), 33.69e6);
        assert_eq!(row.latency.quantiles.len(), 3);
        let (short, rest) = text.split_once("  Latency Distribution").unwrap();
        let (_, end) = rest.split_once("33.69ms\n100.000%   33.69ms\n").unwrap();
        let row = read(&format!("{short}{end}"), None, &[]).unwrap();
        let max = row.rows[0].latency.max.map(|max| max.value);
        assert_eq!(max.is_some(), column == "Max");
    }
}

/// What wrk prints for these counts, with more lines of wrk2 in front.
fn wrk(wrk2: &str, ended: &str, errors: &str) -> Row {
    let text = format!(
        "Running 1s test @ http://a/\n  1 threads and 8 connections\n{wrk2}  \
         Thread Stats   Avg      Stdev     Max   +/- Stdev\n  {ended} read\n  \
         Socket errors: connect 0, read 0, write 0, {errors}\nRequests/sec: 1.00\n"
    );
    read(&text, Some(Format::Wrk), &[])
        .expect("it can be read")
        .rows
        .remove(0)
}

#[test]
fn timeouts_of_wrk_are_answers_that_came_late() {
    let row = wrk("", "1000 requests in 1.00s, 1.00KB", "timeout 900");
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(1000.0), Some(900.0))
    );
    assert_eq!(
        (row.counts.untimed, row.counts.failed_timed),
        (900.0, Some(0.0))
    );
    // A late answer with a wrong status is one failure, and no more fail than ended.
    let row = wrk(
        "",
        "10 requests in 1.00s, 1.00KB",
        "timeout 9\n  Non-2xx or 3xx responses: 5",
    );
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(10.0), Some(10.0))
    );
    assert_eq!(row.counts.failed_timed, Some(1.0));
}

#[test]
fn timeouts_of_wrk2_count_no_requests() {
    let calibrated = "  Thread calibration: mean lat.: 1.10ms, rate sampling interval: 10ms\n";
    let row = wrk(calibrated, "1000 requests in 1.00s, 1.00KB", "timeout 900");
    assert_eq!((row.counts.ended, row.counts.failed), (Some(1000.0), None));
    assert_eq!(row.counts.untimed, 0.0);
    let row = wrk(calibrated, "1000 requests in 1.00s, 1.00KB", "timeout 0");
    assert_eq!(row.counts.failed, Some(0.0));
}

#[test]
fn wrk_reads_terabytes_too() {
    for (printed, bytes) in [
        ("512.00B", 512.0),
        ("1.50KB", 1536.0),
        ("1.05TB", 1.05 * 1_099_511_627_776.0),
    ] {
        let row = wrk(
            "",
            &format!("1000 requests in 1.00s, {printed}"),
            "timeout 0",
        );
        near(row.transfer.read_bytes, bytes);
    }
}

#[test]
fn wrk2_counts_from_a_schedule() {
    let text = "Running 10s test @ http://a/\n  1 threads and 8 connections\n  \
                Thread calibration: mean lat.: 1.10ms, rate sampling interval: 10ms\n  \
                Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                Latency     1.10ms  123.00us   5.00ms    89.12%\n    \
                Req/Sec    23.45k     1.23k   30.12k    78.00%\n  \
                Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    1.00ms\n \
                99.900%    4.00ms\n100.000%    5.00ms\n\n  Detailed Percentile spectrum:\n       \
                Value   Percentile   TotalCount 1/(1-Percentile)\n\n       0.054     0.000000 \
                1         1.00\n----------\n\n  \
                Latency Distribution (HdrHistogram - Uncorrected Latency (measured without \
                taking delayed starts into account))\n 50.000%    0.50ms\n 99.900%    0.70ms\n  \
                9000 requests in 10.00s, 1.00MB read\nRequests/sec: 900.00\n";
    let row = read(text, None, &[]).unwrap().rows.remove(0);
    assert!(!row.latency.corrected && row.load.scheduled && row.latency.is_mean_apart);
    // Those of -U, which leave out how late requests were sent, are none of its latencies.
    assert_eq!(quantiles(&row), [(0.5, 1e6), (0.999, 4e6)]);
}

#[test]
fn h2load_by_time_and_by_count() {
    let row = only("h2load.txt", Format::H2load);
    assert_eq!(
        (row.load.clients, row.load.duration_s),
        (Some(20.0), Some(12.0))
    );
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(149_076.0), Some(0.0))
    );
    assert_eq!(row.latency.min.unwrap().value, 29e3);
    assert_eq!(row.latency.max.unwrap().value, 269.34e6);
    near(row.latency.mean.map(|mean| mean.value), 1.61e6);
    assert_eq!(row.transfer.read_bytes, Some(624_628_440.0));
    assert_eq!(row.label(), "clients=20 protocol=http/1.1");
    assert_eq!(
        (row.load.hidden, row.load.streams),
        (Some(Hidden::Streams), None)
    );
    // Two threads, by count, without line ends, as articles have it.
    let text = "starting benchmark... spawning thread #0: 75 total client(s). 500 total requests \
                spawning thread #1: 75 total client(s). 500 total requests finished in 450.21ms, \
                2221.19 req/s, 11.58MB/s requests: 1000 total, 1000 started, 990 done, \
                980 succeeded, 20 failed, 10 errored, 0 timeout \
                status codes: 980 2xx, 0 3xx, 10 4xx, 0 5xx \
                traffic: 5.21MB (5463000) total, 100B (100) headers (space savings 1.00%), \
                5.00MB (5242880) data min max median p95 p99 mean sd +/- sd \
                time for request: 1.00ms 9.00ms 2.00ms 5.00ms 8.00ms 3.00ms 1.00ms 70.00% \
                time for connect: 50.00ms 150.00ms 90.00ms 140.00ms 149.00ms 100.00ms 20.00ms \
                60.00% \
                time to 1st byte: 1ms 2ms 1ms 2ms 2ms 1ms 1ms 60.00% \
                req/s : 1.00 2.00 1.00 0.10 60.00%";
    let row = read(text, None, &[]).unwrap().rows.remove(0);
    assert_eq!(
        (row.load.clients, row.load.duration_s),
        (Some(150.0), Some(0.450_21))
    );
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(1000.0), Some(20.0))
    );
    assert_eq!(
        (row.counts.untimed, row.counts.failed_timed),
        (10.0, Some(10.0))
    );
    assert_eq!(quantiles(&row), [(0.5, 2e6), (0.95, 5e6), (0.99, 8e6)]);
    assert_eq!(row.load.connect_ns, Some(100e6));
}

/// What 1.69 and later print: its source was read for the titles and the columns.
fn h2load_of_1_69() -> String {
    let text = data("h2load.txt");
    let (before, _) = text.split_once("                     min").expect("times");
    let times = [
        (
            "request",
            "29us 269.34ms 1.50ms 2.50ms 5.00ms 1.61ms 1.00ms",
        ),
        ("connect", "78us 6.00s 5.00s 5.00s 5.00s 5.00s 7us"),
        ("TTFB", "258us 292us 275us 292us 292us 275us 16us"),
        ("req/s", "603.39 639.22 621.00 630.00 638.00 621.14 10.12"),
    ];
    let times = times.map(|(title, values)| {
        let values: Vec<&str> = values.split(' ').collect();
        format!("{title:12}:  {}     60.00%\n", values.join("    "))
    });
    let names = "min         max         median      p95         p99         mean        sd";
    format!(
        "{before}                 {names}         +/- sd\n{}",
        times.concat()
    )
}

#[test]
fn h2load_in_both_spellings() {
    let text = h2load_of_1_69();
    for text in [&text, &text.replace('\n', " ")] {
        let row = read(text, None, &[]).unwrap().rows.remove(0);
        assert_eq!(row.latency.min.unwrap().value, 29e3);
        near(row.latency.mean.map(|mean| mean.value), 1.61e6);
        assert_eq!(quantiles(&row), [(0.5, 1.5e6), (0.95, 2.5e6), (0.99, 5e6)]);
        assert_eq!(row.load.connect_ns, Some(5e9), "there was no warm-up");
    }
    let by_count = text.replace("of main duration", "");
    let row = read(&by_count, None, &[]).unwrap().rows.remove(0);
    assert_eq!(row.load.connect_ns, Some(5e9));
    let with_rate = text.replace(
        "total client(s).",
        "total client(s). Up to 10 client(s) will be created every 1s",
    );
    assert_ne!(with_rate, text);
    let row = read(&with_rate, None, &[]).unwrap().rows.remove(0);
    assert_eq!(row.load.clients, None);
}

#[test]
fn times_of_h2load_that_cannot_be_read_are_an_error_with_their_line() {
    let text = h2load_of_1_69();
    let line = 1 + text
        .lines()
        .position(|line| line.contains("+/- sd"))
        .unwrap();
    for (is, instead) in [("request     :", "took        :"), ("269.34ms", "-")] {
        let error = read(&text.replace(is, instead), None, &[]).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.problem.contains("`request :`"), "{error}");
    }
    // Quoted without its times, a result has none.
    let (short, _) = text.split_once("                 min").unwrap();
    let row = read(short, None, &[]).unwrap().rows.remove(0);
    assert_eq!((row.latency.mean, row.latency.max), (None, None));
}

#[test]
fn k6_in_both_shapes() {
    let row = only("k6-closed.json", Format::K6);
    assert_eq!(
        (row.load.clients, row.counts.ended),
        (Some(20.0), Some(51_475.0))
    );
    near(row.load.duration_s, 12.000_677_359);
    near(
        row.latency.mean.map(|mean| mean.value),
        4.591_479_230_597_386e6,
    );
    let shares: Vec<f64> = quantiles(&row).iter().map(|(share, _)| *share).collect();
    assert_eq!(shares, [0.5, 0.9, 0.95, 0.99]);
    let row = only("k6-saturated.json", Format::K6);
    assert_eq!(
        (row.load.clients, row.counts.ended),
        (Some(10.0), Some(3003.0))
    );
    assert_eq!((row.counts.failed, row.load.unsent), (Some(0.0), None));
    near(row.latency.max.map(|max| max.value), 265.982_464e6);
    // On a schedule there is no number of users that are always busy.
    let row = only("k6-arrival-saturated.json", Format::K6);
    assert_eq!((row.load.clients, row.load.unsent), (None, Some(47_719.0)));
}

#[test]
fn iterations_that_k6_dropped_are_as_many_requests_as_others_sent() {
    let text = r#"{"metrics": {"http_reqs": {"count": 9000, "rate": 300},
        "iterations": {"count": 900, "rate": 30}, "dropped_iterations": {"count": 80},
        "http_req_duration": {"avg": 2}}}"#;
    let row = read(text, None, &[]).unwrap().rows.remove(0);
    assert_eq!(row.load.unsent, Some(800.0));
}

#[test]
fn k6_calls_a_failed_request_one_that_passes() {
    let text = r#"{"metrics": {"http_reqs": {"count": 10, "rate": 1},
        "http_req_failed": {"passes": 3, "fails": 7, "value": 0.3},
        "http_req_duration": {"avg": 2, "med": null}}}"#;
    let row = read(text, None, &[]).unwrap().rows.remove(0);
    assert_eq!((row.counts.failed, row.load.clients), (Some(3.0), None));
    assert_eq!(row.latency.mean.unwrap().value, 2e6);
}

#[test]
fn vegeta_and_one_document_for_each_attack() {
    let row = only("vegeta.json", Format::Vegeta);
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(5000.0), Some(0.0))
    );
    near(row.load.duration_s, 9.997_788_05);
    near(row.counts.ended_within_s, 9.998_200_887);
    assert!(row.load.scheduled && !row.latency.is_mean_apart);
    assert_eq!(
        quantiles(&row),
        [(0.5, 325_001.0), (0.95, 613_057.0), (0.99, 811_483.0)]
    );
    let two = data("vegeta.json") + "\n" + &data("vegeta-saturated.json");
    let rows = read(&two, None, &[]).unwrap().rows;
    let rows: Vec<(usize, String)> = rows.iter().map(|row| (row.line, row.label())).collect();
    let expected = [(1, "rate=500/s".to_owned()), (3, "rate=310/s".to_owned())];
    assert_eq!(rows, expected);
}

#[test]
fn oha_leaves_what_it_broke_off_at_the_end_out() {
    let text = r#"{"summary": {"successRate": 1.0, "total": 10.0, "slowest": 0.09,
        "fastest": 0.0001, "average": 0.002, "requestsPerSec": 500.5, "totalData": 4096000},
        "latencyPercentiles": {"p50": 0.001, "p99": 0.05, "p99.9": null},
        "statusCodeDistribution": {"200": 900, "503": 100},
        "errorDistribution": {"aborted due to deadline": 20, "Connection refused": 5}}"#;
    let row = read(text, None, &[]).unwrap().rows.remove(0);
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(1005.0), Some(105.0))
    );
    assert_eq!(
        (row.counts.untimed, row.counts.failed_timed),
        (5.0, Some(100.0))
    );
    assert_eq!(quantiles(&row), [(0.5, 1e6), (0.99, 50e6)]);
}

#[test]
fn oha_as_it_writes_today() {
    let row = only("oha.json", Format::Oha);
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(97_952.0), Some(0.0))
    );
    near(row.load.duration_s, 12.001_363_345);
    near(row.transfer.read_bytes, 401_211_392.0);
    assert_eq!(row.latency.quantiles.len(), 9);
}
