//! Tables in CSV, and what is wrong with some.

use bakeoff_published::{Format, Published, ReadError, Row, read};

use crate::support::quantiles;

fn csv(text: &str, rules: &[&str]) -> Result<Published, ReadError> {
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| rule.parse().expect("a column rule"))
        .collect();
    read(text, Some(Format::Csv), &rules)
}

#[test]
fn a_table_whose_header_names_units() {
    let text = "Server;VUs;Requests/sec;avg (us);p99;errors %;MB/s;threads\n\
                a;10;\"1,234.5\";220;1.5ms;0;2;4\n\nb;20;1000;-;2 s;1.5;;8\n";
    let published = csv(text, &[]).unwrap();
    assert_eq!(published.unknown, ["Server", "threads"]);
    let [first, second] = published.rows.as_slice() else {
        panic!("{} rows", published.rows.len());
    };
    assert_eq!((first.line, second.line), (2, 4));
    assert_eq!(first.label(), "Server=a VUs=10 threads=4");
    let rate = first.counts.rate_per_s.unwrap();
    assert!(
        rate.value == 1234.5 && (rate.step - 0.1).abs() < 1e-9,
        "{rate:?}"
    );
    assert_eq!(first.latency.mean.unwrap().value, 220e3);
    assert_eq!(quantiles(second), [(0.99, 2e9)]);
    assert_eq!(
        (second.latency.mean, second.counts.failed_share),
        (None, Some(0.015))
    );
    assert_eq!(first.transfer.read_bytes_per_s, Some(2e6));
}

#[test]
fn decimals_may_stand_behind_a_comma() {
    let rows = "nginx 1.25;50;12.345,6;4,05 ms;1.012,5\ncaddy 2.7;50;9.876;5,06 ms;15,1\n";
    let semicolons = format!("server;clients;requests/s;mean;p99_ms\n{rows}");
    let cells = |line: &str| format!("|{}|\n", line.replace(';', "|"));
    let markdown: String = [
        "server;clients;requests/s;mean;p99_ms",
        "---;---;---;---;---",
    ]
    .into_iter()
    .chain(rows.lines())
    .map(cells)
    .collect();
    for (text, line) in [(semicolons, 2), (markdown, 3)] {
        let published = read(&text, None, &[]).unwrap();
        let [nginx, caddy] = published.rows.as_slice() else {
            panic!("{} rows", published.rows.len());
        };
        let rate = |row: &Row| row.counts.rate_per_s.unwrap().value;
        assert_eq!((rate(nginx), rate(caddy)), (12_345.6, 9876.0), "{text}");
        assert_eq!(nginx.latency.mean.unwrap().value.round(), 4_050_000.0);
        assert_eq!(quantiles(nginx), [(0.99, 1012.5e6)]);
        assert!(nginx.label().contains("nginx 1.25"), "{}", nginx.label());
        let comma = published.comma.expect("it has decimal commas");
        assert_eq!(
            (comma.because.line, comma.because.text.as_str()),
            (line, "12.345,6")
        );
        let both = comma.fits_both.expect("one fits both");
        assert_eq!((both.line, both.text.as_str()), (line + 1, "9.876"));
    }
    // What a cell of a name looks like decides nothing.
    let named = csv("version;requests;avg_ms\n1,25;5;0.5\n", &[]).unwrap();
    assert_eq!(
        (named.comma, named.rows[0].label().as_str()),
        (None, "version=1,25")
    );
}

#[test]
fn a_column_is_as_exact_as_its_most_exact_number() {
    let published = csv("requests,average_ms\n1,0.7\n2,0.53\n", &[]).unwrap();
    let step = published.rows[0].latency.mean.unwrap().step;
    assert!((step - 1e4).abs() < 1e-6, "{step}");
}

#[test]
fn rules_decide_what_a_column_holds() {
    let text = "n,tail,errors,note\n100,5,3,x\n";
    let rules = [
        "requests=n",
        "p99.9=tail:ms",
        "failed=errors:count",
        "ignore=note",
    ];
    let row = csv(text, &rules).unwrap().rows.remove(0);
    assert_eq!(
        (row.counts.ended, row.counts.failed),
        (Some(100.0), Some(3.0))
    );
    assert_eq!(quantiles(&row), [(0.999, 5e6)]);
    assert_eq!(row.label(), "");
}

#[test]
fn what_cannot_be_read_names_the_line_and_what_was_expected() {
    for (text, rules, line, part) in [
        ("requests,p99\n1,2\n", &[][..], 1, "--column 'p99=p99:ms'"),
        (
            "requests,errors\n1,2\n",
            &[],
            1,
            "--column 'failed=errors:count' or --column 'failed=errors:percent'",
        ),
        (
            "requests,latency_ms\n1,2\n",
            &[],
            1,
            "--column 'mean=latency_ms:UNIT'",
        ),
        ("requests,avg_ms,mean_ms\n1,2,3\n", &[], 1, "both hold mean"),
        ("server,note\na,b\n", &[], 1, "expected a header that names"),
        (
            "requests,avg_ms\n1,2\n\n3,x\n",
            &[],
            4,
            "`avg_ms`: expected a number",
        ),
        (
            "requests,avg_ms\n1,-2\n",
            &[],
            2,
            "expected a number of 0 or more",
        ),
        ("requests,avg_ms\n1;2\n3,4\n", &[], 2, "expected 2 cells"),
        ("requests,errors_percent\n1,150\n", &[], 2, "at most 100 %"),
        ("requests,avg_ms\n", &[], 1, "expected rows"),
        ("requests,avg_ms\n1,2\n", &["p99=tail:ms"], 1, "no column"),
        ("requests;avg_ms\n1;0,2\n2;0.5\n", &[], 2, "expected a num"),
        (
            "requests;avg_ms\n127.116;2\n",
            &[],
            2,
            "a point may stand between thousands",
        ),
        (
            "requests,requests,avg_ms\n1,1,2\n",
            &[],
            1,
            "--column 'ignore=requests#2'",
        ),
    ] {
        let error = csv(text, rules).expect_err(text);
        assert_eq!(error.line, line, "{error}");
        assert!(error.problem.contains(part), "{error}");
    }
    for (text, part) in [
        ("", "empty"),
        ("{\"metrics\": {\"iterations\": {}}}", "no HTTP request"),
        ("{\"latencies\": {}, \"requests\": 1", "EOF"),
        ("{\"latencies\": {}, \"requests\": -1}", "0 or more"),
        ("Running 1s test @ x\n  Thread Stats\n", "cut off"),
        ("finished in 1s, 2 req/s\nstatus codes: 1 2xx", "cut off"),
    ] {
        let error = read(text, None, &[]).expect_err(text);
        assert!(error.problem.contains(part), "{error}");
    }
    let error = read(
        include_str!("../data/wrk.txt"),
        None,
        &["ignore=x".parse().unwrap()],
    )
    .unwrap_err();
    assert!(error.problem.contains("--column is for tables"), "{error}");
}

#[test]
fn what_is_recommended_for_a_column_names_it() {
    for (text, part) in [
        (
            "requests,Success\n1,2\n",
            "--column 'ok=Success:count' or --column 'ok=Success:percent'; units",
        ),
        (
            "requests,p99_min\n1,2\n",
            "may hold p99 in minutes, or the shortest of several: say which one, as in --column \
             'p99=p99_min:UNIT'",
        ),
        (
            "requests,p0.99_ms\n1,2\n",
            "may hold p99 or the quantile of less than 1 %: say which one, as in --column \
             'p99=p0.99_ms:UNIT'",
        ),
    ] {
        let error = csv(text, &[]).expect_err(text);
        assert_eq!(error.line, 1, "{error}");
        assert!(error.problem.contains(part), "{error}");
    }
}

#[test]
fn columns_of_one_name_or_of_none_can_be_left_out() {
    let row = |text: &str, rules: &[&str]| csv(text, rules).unwrap().rows.remove(0);
    let twice = "requests,server,requests\n5,a,6\n";
    let ended = |rule: &str| row(twice, &[rule]).counts.ended;
    assert_eq!(ended("ignore=requests#2"), Some(5.0));
    let second = ["ignore=requests", "requests=requests#2"];
    assert_eq!(row(twice, &second).counts.ended, Some(6.0));
    // Rows that are counted have an index, and another column without a name is one of names.
    let index = ",server,requests\n0,a,5\n1,a,6\n";
    assert_eq!(row(index, &[]).label(), "server=a");
    let other = index.replace("1,a", "7,a");
    assert_eq!(row(&other, &[]).label(), "=0 server=a");
    assert_eq!(row(&other, &["ignore="]).label(), "server=a");
    assert_eq!(row("server,,requests\na,0,5\n", &[]).label(), "server=a =0");
}

#[test]
fn a_table_without_errors_needs_no_unit_for_them() {
    assert!(csv("requests,errors\n5,0\n6,0\n", &[]).is_ok());
}

#[test]
fn errors_of_sockets_are_no_bytes() {
    let of_wrk = "connections,requests,mean_ms,connect,read,write,timeout\n10,900,3,0,0,0,0\n";
    let error = csv(of_wrk, &[]).unwrap_err();
    let expected = "column `read` may hold more than one thing (bytes or failed): say which one, \
                    as in --column 'bytes=read:UNIT', or --column 'ignore=read'";
    assert!(error.problem.starts_with(expected), "{error}");
    let row = csv(of_wrk, &["failed=read:count"]).unwrap().rows.remove(0);
    assert_eq!(
        (row.counts.failed, row.transfer.read_bytes),
        (Some(0.0), None)
    );
    // Cells with units say what they are, and are wrk's, of 1,024s.
    let row = csv("requests,read\n900,1.5MB\n", &[])
        .unwrap()
        .rows
        .remove(0);
    let read = (row.transfer.read_bytes, row.transfer.read_bytes_most);
    assert_eq!(read, (Some(1.5 * 1_048_576.0), None));
    for name in ["received", "body"] {
        let error = csv(&format!("requests,{name}\n5,0\n6,0\n"), &[]).expect_err(name);
        assert!(error.problem.contains("names no unit"), "{error}");
    }
}

#[test]
fn bytes_in_thousands_may_be_of_1024s() {
    for (header, cell, read, most) in [
        ("transfer", "1.5GB", 1.5e9, Some(1.5 * 1_073_741_824.0)),
        ("received_kB", "30", 30e3, Some(30.0 * 1024.0)),
        ("received_KiB", "30", 30.0 * 1024.0, None),
        ("bytes", "30", 30.0, None),
    ] {
        let text = format!("requests,{header}\n900,{cell}\n");
        let row = csv(&text, &[]).unwrap().rows.remove(0);
        let found = (row.transfer.read_bytes, row.transfer.read_bytes_most);
        assert_eq!(found, (Some(read), most), "{text}");
    }
    for (header, read, most) in [
        ("MB/s", 2e6, Some(2.0 * 1_048_576.0)),
        ("Mbit/s", 250e3, None),
    ] {
        let transfer = csv(&format!("rps,{header}\n900,2\n"), &[]).unwrap().rows[0]
            .transfer
            .clone();
        let found = (transfer.read_bytes_per_s, transfer.read_bytes_per_s_most);
        assert_eq!(found, (Some(read), most), "{header}");
    }
}

#[test]
fn tables_as_people_publish_them() {
    // The fields of TechEmpower's raw results.
    let text = "framework,connections,totalRequests,latencyAvg,latencyMax,latencyStdev\n\
                actix,256,1000000,1.11ms,12.3ms,0.5ms\n";
    let published = csv(text, &[]).unwrap();
    assert_eq!(published.unknown, ["framework", "latencyStdev"]);
    let row = &published.rows[0];
    assert_eq!(
        (row.load.clients, row.counts.ended),
        (Some(256.0), Some(1e6))
    );
    let times = [row.latency.mean, row.latency.max].map(|time| time.unwrap().value.round());
    assert_eq!(times, [1.11e6, 12.3e6]);
    let german = |rate: &str| {
        let header = "Server;VUs;req/s;Lat p50 (us);Lat p99 (us);Mbps;Errors (%)";
        csv(
            &format!("{header}\nnginx;50;{rate};820;2400;941.5;0.02\n"),
            &[],
        )
    };
    let row = german("35409.2").unwrap().rows.remove(0);
    assert_eq!(row.counts.rate_per_s.unwrap().value, 35_409.2);
    assert_eq!(quantiles(&row), [(0.5, 820e3), (0.99, 2.4e6)]);
    assert_eq!(row.transfer.read_bytes_per_s, Some(941.5 * 125e3));
    assert_eq!(row.counts.failed_share, Some(0.02 * 0.01));
    for (rate, part) in [
        (
            "35.409,2",
            "a number of 0 or more, such as 1234.5, found `35.409,2`",
        ),
        (
            "35409,2",
            "between semicolons a comma may be a decimal point",
        ),
        (
            "35.409",
            "`req/s`: expected a number such as 35.41 or 35409, found `35.409`: between \
             semicolons a point may stand between thousands",
        ),
    ] {
        let error = german(rate).expect_err(rate);
        assert!(error.problem.contains(part), "{error}");
    }
    // Another number of the column says that it is a decimal point.
    let rates = csv("server;req/s\na;35.409\nb;7.5\n", &[]).unwrap();
    assert_eq!(rates.rows[0].counts.rate_per_s.unwrap().value, 35.409);
}

#[test]
fn a_comma_or_a_case_that_leaves_a_number_open_is_an_error() {
    for (text, line, part) in [
        (
            "requests;avg_ms\n1;1,123\n",
            2,
            "without a comma, such as 0.123 or 1234, found `1,123`",
        ),
        (
            "requests;avg_ms\n1;2\n1,234;2\n",
            3,
            "a comma may be a decimal point",
        ),
        (
            "requests,avg_ms\n1,\"0,123\"\n2,0.5\n",
            2,
            "expected a number",
        ),
        (
            "requests,throughput Kb/s\n1,2\n",
            1,
            "--column 'bytes-rate=throughput Kb/s:UNIT'",
        ),
    ] {
        let error = csv(text, &[]).expect_err(text);
        assert_eq!(error.line, line, "{error}");
        assert!(error.problem.contains(part), "{error}");
    }
}

#[test]
fn commas_that_can_only_part_thousands_are_read() {
    let published = csv("requests;avg_ms\n1,234,567;0.5\n\"1,234.5\";1.5ms\n", &[]);
    let ended: Vec<_> = published
        .unwrap()
        .rows
        .iter()
        .map(|row| row.counts.ended)
        .collect();
    assert_eq!(ended, [Some(1_234_567.0), Some(1234.5)]);
    let published = csv("requests,avg_ms\n\"1,234\",1\n", &[]).unwrap();
    assert_eq!(published.rows[0].counts.ended, Some(1234.0));
}

#[test]
fn what_was_asked_for_names_a_row() {
    let published = csv(
        "server,clients,target_rps,body_bytes,duration_s,rps\na,10,500,64,30,499\n",
        &[],
    );
    let row = published.unwrap().rows.remove(0);
    let name = "server=a clients=10 target_rps=500 body_bytes=64";
    assert_eq!((row.label().as_str(), row.is_repetition), (name, false));
    assert_eq!(
        (row.load.duration_s, row.load.duration_step_s),
        (Some(30.0), 1.0)
    );
}

#[test]
fn a_mark_of_the_byte_order_is_no_part_of_a_column_s_name() {
    let records = bakeoff_published::csv_records("\u{feff}name,city\nann,x\n").unwrap();
    assert_eq!(records, [["name", "city"], ["ann", "x"]]);
}
