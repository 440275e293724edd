//! Figures and columns that could mean two things, and text beside a tool's own.

use bakeoff_published::{Format, Published, ReadError, read};

fn csv(text: &str) -> Result<Published, ReadError> {
    read(text, Some(Format::Csv), &[])
}

#[test]
fn a_point_or_a_comma_that_may_mean_two_things_is_an_error() {
    for (text, part) in [
        (
            "server\tclients\trequests\tmean_ms\nnginx\t17\t402.115\t1,243\n",
            "`requests`: expected a whole number, such as 1234, found `402.115`: between tabs",
        ),
        (
            "server\trequests\tmean_ms\nnginx\t402115\t1,243\n",
            "`mean_ms`: expected a number without a comma, such as 0.123 or 1234, found `1,243`: \
             between tabs a comma may be a decimal point",
        ),
        (
            "server;requests;mean_ms\nnginx;402115;1,243\n",
            "between semicolons a comma may be a decimal point",
        ),
        // A part of a request, or thousands.
        (
            "server,requests,mean_ms\nnginx,402.115,\"1,243\"\n",
            "found `402.115`: the point may stand between thousands",
        ),
    ] {
        let error = csv(text).expect_err(text);
        assert_eq!(error.line, 2, "{error}");
        assert!(error.problem.contains(part), "{error}");
    }
    for text in [
        "requests\tmean_ms\n402115\t1.243\n",
        "requests,mean_ms\n\"402,115\",1.243\n",
        "runs,requests,mean_ms\n6,402.115,1.243\n",
        "requests,mean_ms\n402.5,1.243\n",
    ] {
        let rows = csv(text).expect(text).rows;
        let mean = rows[0].latency.mean.expect("it has a mean");
        assert_eq!(mean.value.round(), 1.243e6, "{text}");
    }
}

const WRK: &str = "Running 30s test @ http://a/\n  2 threads and 8 connections\n  \
                   Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                   Latency     1.00ms  123.00us   1.50s    89.12%\n  \
                   900 requests in 30.00s, 1.00KB read\nRequests/sec:    30.00\n";

const H2LOAD: &str = "spawning thread #0: 10 total client(s). 900 total requests\n\
                      finished in 12.00s, 75.00 req/s, 1.00KB/s\n\
                      requests: 900 total, 900 started, 900 done, 900 succeeded, 0 failed, \
                      0 errored, 0 timeout\nstatus codes: 900 2xx, 0 3xx, 0 4xx, 0 5xx\n\
                      traffic: 1.00KB (1024) total\n";

#[test]
fn lines_of_a_log_that_begin_as_a_run_does_are_none() {
    for (before, run, behind, lines) in [
        ("Running nginx with 4 workers\n", WRK, "", [2_usize, 8]),
        ("", WRK, "Running the next one\n", [1, 8]),
        ("warm-up finished in 5 s\n", H2LOAD, "", [3, 8]),
        ("warm-up finished in 5 s, nginx\n", H2LOAD, "", [3, 8]),
        ("", H2LOAD, "all finished in 60 s\n", [2, 8]),
    ] {
        let text = format!("{before}{run}{behind}{run}");
        let rows = read(&text, None, &[]).expect(&text).rows;
        let found: Vec<(usize, Option<f64>)> = rows
            .iter()
            .map(|row| (row.line, row.counts.ended))
            .collect();
        assert_eq!(found, lines.map(|line| (line, Some(900.0))), "{text}");
    }
    // Nor are they runs where there is no other.
    for (text, from) in [
        ("Running nginx with 4 workers\n", Format::Wrk),
        ("warm-up finished in 5 s\n", Format::H2load),
    ] {
        let error = read(text, Some(from), &[]).expect_err(text);
        assert!(error.problem.starts_with("expected"), "{error}");
    }
}

#[test]
fn what_wrk2_prints_of_no_latency_is_none() {
    let text = |requests: u32| {
        format!(
            "Running 30s test @ http://a/\n  2 threads and 8 connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
             Latency    -nanus    -nanus   0.00us    0.00%\n    \
             Req/Sec    -nan      -nan     0.00      0.00%\n  \
             Latency Distribution (HdrHistogram - Recorded Latency)\n \
             50.000%    0.00us\n 99.000%    0.00us\n100.000%    0.00us\n  \
             {requests} requests in 30.00s, 1.00KB read\n  \
             Socket errors: connect 0, read 0, write 0, timeout 120\nRequests/sec:    0.00\n"
        )
    };
    // A server that never answers, and a run that ends while wrk2 calibrates.
    for (requests, ended) in [(0, 0.0), (900, 900.0)] {
        let whole = text(requests) + WRK;
        let title = "Latency Distribution (HdrHistogram - Recorded Latency)\n";
        let without = whole.replace(title, "");
        for text in [whole, without] {
            let rows = read(&text, None, &[]).expect(&text).rows;
            let [none, next] = rows.as_slice() else {
                panic!("{} rows", rows.len());
            };
            assert_eq!(none.counts.ended, Some(ended));
            assert_eq!((none.latency.mean, none.latency.max), (None, None));
            assert_eq!(none.latency.quantiles, []);
            assert!(none.load.scheduled && none.counts.failed.is_none());
            assert!(next.latency.mean.is_some() && !next.load.scheduled);
        }
    }
}

#[test]
fn the_new_layout_of_k6_is_named_with_the_flag_that_avoids_it() {
    let text = r#"{"version": "1.0.0", "config": {}, "results": {"metrics": [
        {"name": "http_reqs", "type": "counter", "values": {"count": 10}}]}}"#;
    let error = read(text, None, &[]).expect_err(text);
    let flag = "run k6 with --new-machine-readable-summary=false";
    assert!(error.problem.contains(flag), "{error}");
}
