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
