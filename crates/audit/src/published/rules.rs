//! The rules that a row of a table is checked against.
//!
//! A rule has passed only if it had every figure that it needs. If rounding leaves room, the row
//! passes.

mod amount;
mod bytes;
mod counts;
mod rates;
mod time;

use super::Finding;
use super::code::Code;
use super::derived::Subject;
use super::length::{all_per_s, runs};

/// The result of a rule.
pub(super) enum Outcome {
    /// The row breaks it.
    Found(Finding),
    /// A figure of the row breaks it, and its others stand.
    Noted(Finding),
    /// The row keeps it, or it says nothing about such a row.
    Passed,
}

/// The result, or which figure is missing and what flag gives it.
pub(super) type Ruled = Result<Outcome, &'static str>;

/// Every rule of a row, in the order in which findings are listed.
pub(super) fn all(subject: &Subject<'_>) -> Vec<(Code, Ruled)> {
    vec![
        (Code::FailedShare, amount::failed_share(subject)),
        (Code::FailedShare, amount::checks_failed(subject)),
        (
            Code::LatencyOfFailures,
            amount::latency_of_failures(subject),
        ),
        (Code::Little, amount::little(subject)),
        (Code::ScheduleKept, amount::schedule_kept(subject)),
        (Code::GeneratorCeiling, amount::ceiling(subject)),
        (Code::EngineBusy, amount::engine_busy(subject)),
        (Code::DurationShort, time::duration_short(subject)),
        (Code::LongerThanRun, time::longer_than_run(subject)),
        (Code::SetUpCounted, time::set_up_counted(subject)),
        (Code::NetworkBound, bytes::network_bound(subject)),
        (Code::RateDiffers, rates::rate_differs(subject)),
        (Code::CountsDiffer, counts::counts_differ(subject)),
        (Code::ImpossibleBytes, bytes::impossible_bytes(subject)),
        (Code::ImpossibleCpu, amount::impossible_cpu(subject)),
        (
            Code::QuantileUnsupported,
            time::quantile_unsupported(subject),
        ),
        (Code::QuantileOrder, time::quantile_order(subject)),
    ]
}

const RUNS: &str = "a rate: a row of several runs may count the requests of one or of all";

const RIGHT_ALONE: &str = "how many requests ended or failed: only right answers are known";

/// What is missing where a row has no rate of all requests.
fn no_rate(subject: &Subject<'_>) -> &'static str {
    let counts = &subject.row.counts;
    let is_right_known = counts.ok.is_some() || counts.ok_per_s.is_some();
    let are_right_alone = is_right_known && are_parts_apart(subject);
    if are_right_alone && !are_runs_in_doubt(subject) {
        RIGHT_ALONE
    } else {
        no_rate_of_any(subject)
    }
}

/// What is missing where it has no rate of right answers either.
fn no_rate_of_any(subject: &Subject<'_>) -> &'static str {
    if are_runs_in_doubt(subject) {
        RUNS
    } else {
        "a rate, or requests and --duration"
    }
}

/// Whether nothing says if counts are of one run or of all that the row sums up, where that decides
/// the rate.
fn are_runs_in_doubt(subject: &Subject<'_>) -> bool {
    let is_of_several = runs(subject.row) > 1.0 && subject.row.counts.failed.is_some();
    subject.length.are_runs_in_doubt() || is_of_several && are_parts_apart(subject)
}

/// Whether nothing says how many requests ended, right and failed ones together.
fn are_parts_apart(subject: &Subject<'_>) -> bool {
    !subject.ended.are_all && all_per_s(&subject.row.counts).is_none()
}

fn found(code: Code, value: f64, limit: f64, text: String) -> Ruled {
    Ok(Outcome::Found(Finding {
        code,
        value,
        limit,
        text,
    }))
}
