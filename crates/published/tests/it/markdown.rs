//! Tables in Markdown, and columns of counts.

use bakeoff_published::{Format, Published, ReadError, Row, read};

use crate::support::quantiles;

fn markdown(text: &str, rules: &[&str]) -> Result<Published, ReadError> {
    let rules = rules
        .iter()
        .map(|rule| rule.parse().expect("a column rule"));
    read(text, None, &rules.collect::<Vec<_>>())
}

fn rates(published: &Published) -> Vec<f64> {
    let rate = |row: &Row| row.counts.rate_per_s.expect("it has one").value;
    published.rows.iter().map(rate).collect()
}

const README: &str = "# A server\n\nFast, small, and *tested*, with 50 connections.\n\n\
                      | Option | Default |\n|--------|---------|\n| `--port` | 80 |\n\n\
                      ## Plain text\n\n\
                      | Server | Requests/sec | Mean (ms) | p99 | Errors |\n\
                      | :----- | -----------: | --------: | --- | -----: |\n\
                      | **[one](http://a/)** 🥇 | **41,200** | 1.20 | 3.1 ms | 0 % |\n\
                      | two \\| 2<br> | ~20.1k | 2.48 ± 0.2 | `6.0ms` (+90 %) | 12.5 % |\n\n\
                      Measured in May.\n\n## JSON\n\n\
                      Server | RPS | Mean (ms)\n--- | --: | ---\none | 30,100 | 1.5\n";

#[test]
fn tables_of_a_readme_are_read_with_their_prose_and_markup() {
    let published = markdown(README, &[]).expect("it can be read");
    assert_eq!(published.format, Format::Markdown);
    let labels: Vec<String> = published.rows.iter().map(Row::label).collect();
    let expected = [
        "table=Plain text Server=one",
        "table=Plain text Server=two | 2",
        "table=JSON Server=one",
    ];
    assert_eq!(labels, expected);
    assert_eq!(rates(&published), [41_200.0, 20_100.0, 30_100.0]);
    let [first, second, third] = published.rows.as_slice() else {
        panic!("{} rows", published.rows.len());
    };
    assert_eq!([first.line, second.line, third.line], [13, 14, 22]);
    assert_eq!(quantiles(second), [(0.99, 6e6)]);
    let failed = |row: &Row| row.counts.failed_share;
    assert_eq!(
        (failed(first), failed(second), failed(third)),
        (Some(0.0), Some(0.125), None)
    );
    assert_eq!(published.unknown, ["Server"]);
}

#[test]
fn rules_are_about_the_tables_that_have_the_column() {
    let text = README.replace("p99 |", "tail |");
    let published = markdown(&text, &["p99=tail:ms"]).expect("it can be read");
    assert_eq!(quantiles(&published.rows[0]), [(0.99, 3.1e6)]);
    let error = markdown(&text, &["p99=tall:ms"]).expect_err("there is no such column");
    assert!(
        error.problem.contains("`tall`, which is no column"),
        "{error}"
    );
}

#[test]
fn quantities_below_each_other_are_turned_round() {
    let text = "| | one | two |\n|---|---|---|\n| Requests/sec | 41 200 | 20,100 |\n\
                | Latency avg | 1.2 ms | 2 ms |\n";
    let published = markdown(text, &[]).expect("it can be read");
    assert_eq!(rates(&published), [41_200.0, 20_100.0]);
    assert_eq!(published.rows[1].label(), "=two");
}

#[test]
fn cells_say_what_a_throughput_is_of() {
    let text = "| Server | Throughput |\n|---|---|\n| a | 41.2k req/s |\n| b | 500 rps |\n";
    assert_eq!(
        rates(&markdown(text, &[]).expect("it can be read")),
        [41_200.0, 500.0]
    );
    let bytes = text
        .replace("41.2k req/s", "5 MB/s")
        .replace("500 rps", "7.5 MB/s");
    let error = markdown(&bytes, &[]).expect_err("nothing says how many requests");
    assert!(
        error
            .problem
            .contains("expected a header that names requests"),
        "{error}"
    );
}

#[test]
fn a_table_of_signs_is_one_too() {
    let text = "+------+-----+\n| name | rps |\n+------+-----+\n| a    | 1.5M |\n+------+-----+\n";
    assert_eq!(
        rates(&markdown(text, &[]).expect("it can be read")),
        [1.5e6]
    );
}

#[test]
fn markdown_without_results_says_what_was_expected() {
    let text = "| Option | Default |\n|---|---|\n| port | 80 |\n";
    let error = read(text, Some(Format::Markdown), &[]).expect_err(text);
    assert!(
        error
            .problem
            .contains("table in Markdown whose header names"),
        "{error}"
    );
    // A column that may be two things is asked for where no other table has results.
    let text = "| Server | Latency |\n|---|---|\n| a | 8 ms |\n";
    let error = markdown(text, &[]).expect_err(text);
    assert!(
        error
            .problem
            .contains("`Latency` may hold more than one thing"),
        "{error}"
    );
}

#[test]
fn counts_need_no_unit_where_they_can_be_nothing_else() {
    for (text, failed) in [
        // More than a share can be.
        (
            "requests,ok,failed\n20000,18600,1400\n30000,30000,0\n",
            1400.0,
        ),
        ("rps,errors\n500,3\n500,101\n", 3.0),
        // Both together are the requests.
        ("requests,ok,failed\n50,48,2\n90,90,0\n", 2.0),
        // What is called requests counts them.
        ("requests,Failed Requests\n900,7\n", 7.0),
        ("requests,error count\n900,7\n", 7.0),
    ] {
        let published = markdown(text, &[]).expect(text);
        assert_eq!(published.rows[0].counts.failed, Some(failed), "{text}");
    }
}

#[test]
fn all_columns_in_doubt_are_named_at_once() {
    let text = "requests,ok,errors,latency,p99\n100,99.5,12,3,4\n";
    let error = markdown(text, &[]).expect_err(text);
    for flag in [
        "--column 'ok=ok:count' or --column 'ok=ok:percent'",
        "--column 'failed=errors:count'",
        "--column 'mean=latency:UNIT'",
        "--column 'p99=p99:ms'",
        "; units: ns",
    ] {
        assert!(error.problem.contains(flag), "{flag}: {error}");
    }
}
