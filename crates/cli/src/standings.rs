//! How the contenders stand while a campaign runs: in the block that ended, and in all of them. It
//! is a first look at medians; what they are worth is found out at the end.

use std::collections::BTreeMap;

use bakeoff_plan::{Plan, blocks};
use bakeoff_record::{ContenderKind, TrialEnd, TrialRecord};
use bakeoff_report::{count, whole};

/// Contenders that a line on all cells has, besides the one they are compared with.
const SHOWN_MOST: usize = 6;

/// Values of one contender at one workload and load, by round.
type Values = BTreeMap<u32, f64>;

/// Medians of the rounds so far.
#[derive(Debug)]
pub(crate) struct Standings {
    contenders: Vec<String>,
    /// Rounds that it has at least; `None` where time ends it.
    rounds: Option<u32>,
    blocks_of_round: usize,
    /// By workload and label of the load.
    cells: BTreeMap<(String, String), Cell>,
    /// The block of the last trial that ended.
    last: Option<Last>,
}

#[derive(Debug, Default)]
struct Cell {
    /// Whether its rate was given.
    is_open: bool,
    values: BTreeMap<String, Values>,
}

#[derive(Debug)]
struct Last {
    cell: (String, String),
    round: u32,
    is_repeated: bool,
}

/// A block that ended.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) round: u32,
    pub(crate) is_repeated: bool,
    /// Such as `round 2/7 html-small c50`.
    pub(crate) name: String,
    /// `None` where no contender has been measured there.
    pub(crate) medians: Option<String>,
}

impl Standings {
    /// Those of a campaign that has come as far as `earlier`.
    pub(crate) fn new(plan: &Plan, earlier: &[TrialRecord]) -> Self {
        let mut standings = Self {
            contenders: plan.contenders.iter().map(|it| it.name.clone()).collect(),
            rounds: plan.has_fixed_rounds().then(|| plan.rounds_at_least()),
            blocks_of_round: blocks(plan, 1).len(),
            cells: BTreeMap::new(),
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
        self.last = Some(Last {
            cell: cell.clone(),
            round: trial.round,
            is_repeated: trial.attempt > 1,
        });
        let is_open = trial.load.model.is_open();
        if let Some(value) = value(trial, is_open) {
            let cell = self.cells.entry(cell).or_default();
            cell.is_open = is_open;
            let values = cell.values.entry(trial.contender.clone()).or_default();
            values.insert(trial.round, value);
        }
    }

    /// The block that ended; `None` where no contender had a trial in it.
    pub(crate) fn block_ended(&mut self) -> Option<Block> {
        let Last {
            cell,
            round,
            is_repeated,
        } = self.last.take()?;
        let rounds = self.rounds.map(|rounds| format!("/{}", rounds.max(round)));
        let rounds = rounds.unwrap_or_default();
        let again = if is_repeated { " again" } else { "" };
        let medians = self.cells.get(&cell).map(|cell| self.medians(cell));
        let (workload, load) = cell;
        Some(Block {
            round,
            is_repeated,
            name: format!("round {round}{rounds}{again} {workload} {load}"),
            medians,
        })
    }

    /// Blocks that the rounds up to this one have.
    pub(crate) fn blocks_up_to(&self, round: u32) -> usize {
        self.blocks_of_round.saturating_mul(round as usize)
    }

    fn medians(&self, cell: &Cell) -> String {
        let known = self.contenders.iter().filter_map(|name| {
            let middle = cell.median(name)?;
            Some((name, middle))
        });
        let mut parts = Vec::new();
        let mut first = None;
        for (name, middle) in known {
            match first {
                None => parts.push(format!("{name} {}", shown(middle, cell.is_open))),
                Some(first) => parts.push(format!("{name} {:.2}x", middle / first)),
            }
            first = first.or(Some(middle));
        }
        let what = what(cell.is_open);
        format!("{what} {}{}", parts.join(", "), medians_of(cell.rounds()))
    }

    /// How the contenders stand in all cells, in one line; `None` where there is nothing to compare
    /// yet.
    pub(crate) fn overall(&self) -> Option<String> {
        let mut cells = self.cells.values();
        if let (Some(only), None) = (cells.next(), cells.next()) {
            return Some(self.medians(only));
        }
        let kinds = [false, true].into_iter();
        let parts: Vec<String> = kinds.filter_map(|open| self.ratios(open)).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The lowest and highest ratio of each contender to the first one that was measured, over
    /// cells in which both were.
    fn ratios(&self, is_open: bool) -> Option<String> {
        let cells = || self.cells.values().filter(|cell| cell.is_open == is_open);
        let is_known = |name: &&String| cells().any(|cell| cell.values.contains_key(*name));
        let mut known = self.contenders.iter().filter(is_known);
        let base = known.next()?;
        let spans = known.filter_map(|name| {
            let ratios = cells().filter_map(|cell| Some(cell.median(name)? / cell.median(base)?));
            let ratios: Vec<f64> = ratios.collect();
            let low = ratios.iter().copied().reduce(f64::min)?;
            let high = ratios.iter().copied().reduce(f64::max)?;
            Some(format!("{name} {}", span(low, high)))
        });
        let mut parts: Vec<String> = spans.collect();
        if parts.len() > SHOWN_MOST {
            let more = count((parts.len() - SHOWN_MOST) as u64);
            parts.truncate(SHOWN_MOST);
            parts.push(format!("{more} more"));
        }
        let what = what(is_open);
        let medians = medians_of(cells().map(Cell::rounds).max().unwrap_or(0));
        let said =
            |parts: &[String]| format!("{what} against {base}: {}{medians}", parts.join(", "));
        (!parts.is_empty()).then(|| said(&parts))
    }
}

impl Cell {
    fn median(&self, contender: &str) -> Option<f64> {
        median(self.values.get(contender)?)
    }

    /// Rounds that a contender has a value of, at most.
    fn rounds(&self) -> usize {
        self.values.values().map(BTreeMap::len).max().unwrap_or(0)
    }
}

/// What the numbers before it are, from the second round on.
fn medians_of(rounds: usize) -> String {
    match rounds {
        0 | 1 => String::new(),
        rounds => format!(" (medians of {rounds} rounds)"),
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

fn what(is_open: bool) -> &'static str {
    if is_open { "p99" } else { "ok/s" }
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
    whole(value)
}

/// `1.05x`, or `0.46x to 1.20x`.
fn span(low: f64, high: f64) -> String {
    let (low, high) = (format!("{low:.2}x"), format!("{high:.2}x"));
    if low == high {
        return low;
    }
    format!("{low} to {high}")
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

    #[test]
    fn ratios_that_read_the_same_are_one() {
        assert_eq!(span(0.461, 1.2), "0.46x to 1.20x");
        assert_eq!(span(1.051, 1.049), "1.05x");
    }
}
