//! What only several rounds together can show (family D).

use bakeoff_record::{TrialEnd, TrialRecord};
use bakeoff_stats::{Cell, Measure};

use crate::check::{Check, Level};
use crate::limits::RATE_VARIATION;

/// Checks of a cell over its rounds.
pub(crate) fn check(cell: &Cell<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    checks.extend(complete(cell));
    checks.extend(steady(cell));
    checks
}

fn complete(cell: &Cell<'_>) -> Option<Check> {
    let lost: Vec<&&TrialRecord> = cell
        .trials
        .iter()
        .filter(|trial| trial.end != TrialEnd::Measured)
        .collect();
    if lost.is_empty() {
        return None;
    }
    let rounds: Vec<String> = lost.iter().map(|trial| trial.round.to_string()).collect();
    let text = format!(
        "{} of {} rounds were not measured (round {}): the numbers are of the others",
        lost.len(),
        cell.trials.len(),
        rounds.join(", ")
    );
    let figures = (lost.len() as f64, 0.0);
    Some(Check::new(
        ("rounds-complete", "R40"),
        Level::Suspect,
        figures,
        text,
    ))
}

/// Coefficient of variation of the rate over rounds; from three rounds on.
fn steady(cell: &Cell<'_>) -> Option<Check> {
    let rates: Vec<f64> = cell
        .trials
        .iter()
        .filter_map(|trial| Measure::RatePerS.of(trial).ok())
        .collect();
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    if rates.len() < 3 || mean <= 0.0 {
        return None;
    }
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let variation = variance.sqrt() / mean;
    let level = if variation < RATE_VARIATION {
        Level::Passed
    } else {
        Level::Suspect
    };
    let text = format!(
        "the rate varies by {:.1} % (standard deviation over mean) from round to round",
        variation * 100.0
    );
    Some(Check::new(
        ("rounds-agree", "R25"),
        level,
        (variation, RATE_VARIATION),
        text,
    ))
}
