//! Why no finding stands in the answer, where none does.

use bakeoff_audit::{Comparison, Conclusion, Metric};

use super::cell::Cell;

/// The sentence that stands in place of findings, for a plan of `planned` contenders.
pub(super) fn no_finding(planned: usize, cells: &[Cell], comparisons: &[Comparison]) -> String {
    let measured = measured(cells);
    let is_weighed = |one: &&Comparison| {
        let is_left_out = matches!(
            one.conclusion,
            Conclusion::NotComparable | Conclusion::NotCompared
        );
        !is_left_out
    };
    let weighed: Vec<&Comparison> = comparisons.iter().filter(is_weighed).collect();
    let is_of_speed =
        |one: &&Comparison| matches!(one.metric, Metric::RatePerS | Metric::LatencyP99Ns);
    let text = match measured.as_slice() {
        _ if cells.iter().all(|cell| cell.rounds_measured == 0) => "Nothing was measured.",
        [] => "No contender was measured, so nothing is compared.",
        _ if planned == 1 => "There is one contender, so nothing is compared.",
        [one] => return format!("Only {one} was measured, so nothing is compared."),
        _ if comparisons.is_empty() => {
            "No two contenders were measured at the same workload and load, so nothing is compared."
        }
        _ if weighed.is_empty() => {
            "Nothing could be compared: the numbers of too few contenders can be believed."
        }
        _ if !weighed.iter().any(is_of_speed) => {
            "Which one is faster is not known: the rates and latencies of too few contenders can \
             be believed."
        }
        _ => "No difference between contenders is shown.",
    };
    text.to_owned()
}

/// Names of the contenders that have a measured round.
fn measured(cells: &[Cell]) -> Vec<&str> {
    let ran = cells
        .iter()
        .filter(|cell| cell.is_contender() && cell.rounds_measured > 0);
    let mut names: Vec<&str> = Vec::new();
    for cell in ran {
        if !names.contains(&cell.contender.as_str()) {
            names.push(&cell.contender);
        }
    }
    names
}
