//! What one side brings to a comparison: its values, and whether they are bounds.

use bakeoff_record::TrialRecord;
use bakeoff_stats::{ERROR_SHARE_APART, Measure, Missing};

use crate::check::Level;
use crate::code::Code;
use crate::conclusion::{Metric, Reason};
use crate::judged::JudgedCell;
use crate::number::Number;
use crate::verdict::{Judgement, Verdict};

/// What can only have held a rate down: the engine, the upstream, or others on the machine. The
/// server does what was measured, or more.
const LOWERS_THE_RATE: [Code; 7] = [
    Code::GeneratorCeiling,
    Code::BackendBound,
    Code::EngineBusy,
    Code::EngineKept,
    Code::OtherLoad,
    Code::Steal,
    Code::Throttled,
];

/// Those of them that have no end: a server may be many times as fast as the engine, or as its
/// upstream. What others on the machine take is a share of it.
const HIDES_THE_RATE: [Code; 3] = [Code::GeneratorCeiling, Code::BackendBound, Code::EngineBusy];

/// One side of a comparison.
pub(crate) struct Standing {
    /// The value of each round that has one.
    pub(crate) values: Vec<(u32, f64)>,
    /// Whether the values are lower bounds.
    pub(crate) is_bound: bool,
    /// Whether the values may lie far below the server's own.
    pub(super) may_be_far: bool,
    /// Why nothing is concluded from them.
    pub(crate) silence: Option<Reason>,
    /// Share of the requests that have no latency.
    error_share: Option<f64>,
}

impl Standing {
    pub(crate) fn of(judged: &JudgedCell<'_>, metric: Metric) -> Self {
        let number = metric.number();
        let verdict = judged.judgement.verdicts.of(number);
        let is_rate = number == Number::Rate;
        let is_held_down = is_rate && held_down(judged);
        // What a cell shows as "at least" is no less of a bound where more is wrong with it.
        let is_shown_as_bound = is_rate && judged.rate_bound.is_some();
        let mut standing = Self {
            values: Vec::new(),
            is_bound: is_held_down || is_shown_as_bound,
            may_be_far: is_shown_as_bound
                || is_rate && weak_codes(judged).any(|code| HIDES_THE_RATE.contains(&code)),
            error_share: None,
            silence: match verdict {
                Verdict::Valid => None,
                Verdict::Suspect if is_held_down => None,
                Verdict::Suspect => Some(Reason::NotValid),
                _ => Some(Reason::Withheld),
            },
        };
        if verdict > Verdict::Suspect {
            return standing;
        }
        let usable = judged.usable(number);
        standing.error_share = usable.error_share();
        let trials = match is_held_down {
            // A round that others disturbed is a bound as well.
            true => &judged.cell.trials,
            false => &usable.trials,
        };
        for trial in trials {
            standing.take(trial, metric.measure());
        }
        standing
    }

    /// Whether latencies of the two are of different shares of the requests; also where a share
    /// is not known.
    pub(crate) fn errors_apart(&self, other: &Self) -> bool {
        match (self.error_share, other.error_share) {
            (Some(first), Some(second)) => (first - second).abs() > ERROR_SHARE_APART,
            _ => true,
        }
    }

    fn take(&mut self, trial: &TrialRecord, measure: Measure) {
        match measure.of(trial) {
            Ok(value) => self.values.push((trial.round, value)),
            Err(Missing::AtLeast { bound, .. }) => {
                self.is_bound = true;
                self.may_be_far = true;
                self.values.push((trial.round, bound));
            }
            Err(Missing::Because(_)) => {}
        }
    }
}

/// Whether all that weakens the rate of a cell can only have lowered it.
fn held_down(judged: &JudgedCell<'_>) -> bool {
    if judged.judgement.level(Number::Rate) <= Level::Note {
        return false;
    }
    let mut codes = weak_codes(judged).peekable();
    codes.peek().is_some() && codes.all(|code| LOWERS_THE_RATE.contains(&code))
}

/// The checks that weaken the rate of a cell or of one of its trials, without those that only count
/// such trials.
fn weak_codes(judged: &JudgedCell<'_>) -> impl Iterator<Item = Code> {
    let of_cell = weak(&judged.judgement).filter(|code| *code != Code::RoundsAccepted);
    judged.counted().flat_map(weak).chain(of_cell)
}

/// The checks that weaken the rate.
fn weak(judgement: &Judgement) -> impl Iterator<Item = Code> {
    let checks = judgement.checks.iter();
    checks
        .filter(|check| check.of(Number::Rate) > Level::Note)
        .map(|check| check.code)
}
