//! Two cells to their ratio over the rounds, for whoever shows it. What it means is not said here.

use crate::cell::Cell;
use crate::estimate::Estimate;
use crate::metric::{Metric, Missing};
use crate::paired::Paired;

/// Error shares further apart than this make latencies incomparable (R6): 0.1 point.
pub const ERROR_SHARE_APART: f64 = 0.001;

/// Second over first, from the ratios within each round.
///
/// # Errors
/// Says why there is none.
pub fn ratio_over_rounds(
    first: &Cell<'_>,
    second: &Cell<'_>,
    measure: Metric,
) -> Result<Estimate, &'static str> {
    if measure.is_latency() && error_shares_apart(first, second) {
        return Err("error shares differ by more than 0.1 point, so latencies do not compare");
    }
    let [base, other] = [values(first, measure)?, values(second, measure)?];
    let ratio = Paired::new(&base, &other).ratio();
    ratio.ok_or("no round has a value of both")
}

fn values(cell: &Cell<'_>, measure: Metric) -> Result<Vec<(u32, f64)>, &'static str> {
    let mut values = Vec::new();
    for trial in cell.measured() {
        match measure.of(trial) {
            Ok(value) => values.push((trial.round, value)),
            Err(Missing::AtLeast { .. }) => {
                return Err("in some rounds it is only known to be at least something");
            }
            Err(Missing::Because(_)) => {}
        }
    }
    Ok(values)
}

/// Whether latencies of the two are of different shares of the requests; also where a share is not
/// known.
fn error_shares_apart(first: &Cell<'_>, second: &Cell<'_>) -> bool {
    let share = |cell: &Cell<'_>| cell.estimate(Metric::ErrorShare).ok().map(|one| one.point);
    match (share(first), share(second)) {
        (Some(first), Some(second)) => (first - second).abs() > ERROR_SHARE_APART,
        _ => true,
    }
}
