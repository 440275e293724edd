//! How the contenders stand while a campaign runs: a line for each block that ended. It is a first
//! look at medians; what they are worth is found out at the end.

use std::collections::BTreeMap;

use bakeoff_plan::{LoadModel, Plan};
use bakeoff_record::{ContenderKind, TrialEnd, TrialRecord};

/// Values of one contender at one workload and load, by round.
type Values = BTreeMap<u32, f64>;

/// Workload and label of the load.
type Cell = (String, String);

/// Medians of the rounds so far.
#[derive(Debug)]
pub(crate) struct Standings {
    contenders: Vec<String>,
    rounds: u32,
    values: BTreeMap<Cell, BTreeMap<String, Values>>,
    /// The block of the last trial that ended.
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    cell: Cell,
    round: u32,
    is_repeated: bool,
    /// Whether its rate was given.
    is_open: bool,
}

impl Standings {
    /// Those of a campaign that has come as far as `earlier`.
    pub(crate) fn new(plan: &Plan, earlier: &[TrialRecord]) -> Self {
        let mut standings = Self {
            contenders: plan.contenders.iter().map(|it| it.name.clone()).collect(),
            rounds: plan.rounds_at_least(),
            values: BTreeMap::new(),
            last: None,
        };
        earlier.iter().for_each(|trial| standings.ended(trial));
        standings
    }

    /// Takes a trial in. A later attempt takes the place of the one that was disturbed.
    pub(crate) fn ended(&mut self, trial: &TrialRecord) {
        if trial.kind != ContenderKind::Contender {
            return;
        }
        let cell = (trial.workload.clone(), trial.load_label());
        let is_open = !matches!(trial.load.model, LoadModel::Closed { .. });
        self.last = Some(Last {
            cell: cell.clone(),
            round: trial.round,
            is_repeated: trial.attempt.number > 1,
            is_open,
        });
        if let Some(value) = value(trial, is_open) {
            let of_cell = self.values.entry(cell).or_default();
            let values = of_cell.entry(trial.contender.clone()).or_default();
            values.insert(trial.round, value);
        }
    }

    /// The line of the block that ended; `None` where no contender was measured.
    pub(crate) fn block_ended(&mut self) -> Option<String> {
        let Last {
            cell,
            round,
            is_repeated,
            is_open,
        } = self.last.take()?;
        let of_cell = self.values.get(&cell)?;
        let known = self.contenders.iter().filter_map(|name| {
            let middle = median(of_cell.get(name)?)?;
            Some((name, middle))
        });
        let mut parts = Vec::new();
        let mut first = None;
        for (name, middle) in known {
            match first {
                None => parts.push(format!("{name} {}", shown(middle, is_open))),
                Some(first) => parts.push(format!("{name} {:.2}x", middle / first)),
            }
            first = first.or(Some(middle));
        }
        let ((workload, load), rounds) = (cell, self.rounds.max(round));
        let what = if is_open { "p99" } else { "requests/s" };
        let again = if is_repeated { " again" } else { "" };
        let parts = parts.join(", ");
        Some(format!(
            "round {round}/{rounds}{again} {workload} {load}: {what} {parts}"
        ))
    }
}

/// What a contender is looked at by: right answers per second in a closed loop, and in an open
/// one, where the rate is given, the 99th percentile of latency in nanoseconds.
fn value(trial: &TrialRecord, is_open: bool) -> Option<f64> {
    let result = trial.result.as_ref();
    let result = result.filter(|_| trial.end == TrialEnd::Measured)?;
    let value = if is_open {
        result.latency.quantile(0.99)? as f64
    } else {
        result.requests.ok as f64 / result.measured_s
    };
    (value > 0.0 && value.is_finite()).then_some(value)
}

fn median(values: &Values) -> Option<f64> {
    let mut sorted: Vec<f64> = values.values().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        even if even.is_multiple_of(2) => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        _ => Some(sorted[middle]),
    }
}

/// A rate such as `63,859`, or a latency such as `1.25 ms`.
fn shown(value: f64, is_open: bool) -> String {
    if is_open {
        return format!("{:.2} ms", value / 1e6);
    }
    bakeoff_report::whole(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_groups_and_latencies_a_unit() {
        assert_eq!(shown(63_859.4, false), "63,859");
        assert_eq!(shown(999.0, false), "999");
        assert_eq!(shown(1_000_000.0, false), "1,000,000");
        assert_eq!(shown(1_250_000.0, true), "1.25 ms");
    }

    #[test]
    fn the_middle_of_even_rounds_lies_between_two() {
        let values = |list: &[f64]| -> Values { (1..).zip(list.iter().copied()).collect() };
        assert_eq!(median(&values(&[])), None);
        assert_eq!(median(&values(&[3.0, 1.0, 2.0])), Some(2.0));
        assert_eq!(median(&values(&[3.0, 1.0])), Some(2.0));
    }
}
