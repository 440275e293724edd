//! What one side brings to a comparison: its values, and whether they are bounds.

use bakeoff_record::{TrialEnd, TrialRecord};
use bakeoff_stats::{ERROR_SHARE_APART, Metric, Missing, Number};

use crate::cell::JudgedCell;
use crate::check::Level;
use crate::code::Code;
use crate::comparisons::{late, shown_only};
use crate::conclusion::Reason;
use crate::limits::{DOUBTED_SHARE, TAKEN_MOST};
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

/// What the machine does to a round whatever the server in it does. It meets all contenders alike,
/// and takes a share of what they do.
pub(crate) const DISTURBS: [Code; 5] = [
    Code::OtherLoad,
    Code::Steal,
    Code::Throttled,
    Code::EngineKept,
    Code::Drift,
];

/// One side of a comparison.
pub(crate) struct Standing {
    /// The value of each round that has one.
    pub(crate) values: Vec<(u32, f64)>,
    /// The rate of each round of which the machine took at most a share, whether it counts or not.
    /// None that the load made, and none of another metric, which may be off by any factor.
    pub(super) measured: Vec<(u32, f64)>,
    /// Those of the values that the machine left alone.
    pub(super) untaken: Vec<(u32, f64)>,
    /// Those of these that nothing else weakens either.
    pub(super) undisturbed: Vec<(u32, f64)>,
    /// Whether the values are lower bounds.
    pub(crate) is_bound: bool,
    /// The least that the value of each round can be, where the engine's delay is in them.
    pub(super) late: Option<Vec<(u32, f64)>>,
    /// Whether what weakens the values may be all that a difference rests on: they may lie far
    /// below the server's own, or the server itself is the cause.
    pub(super) may_mislead: bool,
    /// Whether one or two rounds are all that weakens them.
    pub(super) is_few: bool,
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
        let of_rounds: Vec<(u32, Weakness)> = judged
            .rounds()
            .map(|round| (round.0.round, weakness(judged, round, number)))
            .collect();
        let mut standing = Self {
            values: Vec::new(),
            measured: measured(judged, metric, &of_rounds),
            untaken: Vec::new(),
            undisturbed: Vec::new(),
            is_bound: is_held_down || is_shown_as_bound,
            late: late::least_of(judged, metric),
            may_mislead: is_rate && hides_the_rate(judged, is_held_down)
                || verdict != Verdict::Valid && !rests_on_others(judged, number, &of_rounds),
            is_few: only_few(judged, number),
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
        for trial in &usable.trials {
            standing.take(trial, metric);
        }
        let of = |wanted: &[Weakness]| {
            let is_wanted = |(round, _): &&(u32, f64)| {
                let mut known = of_rounds.iter().filter(|(known, _)| known == round);
                known.any(|(_, weakness)| wanted.contains(weakness))
            };
            standing.values.iter().filter(is_wanted).copied().collect()
        };
        standing.untaken = of(&[Weakness::Nothing, Weakness::Doubted]);
        standing.undisturbed = of(&[Weakness::Nothing]);
        if is_held_down {
            // A round that others disturbed is a bound as well.
            standing.values.clear();
            for trial in &judged.cell.trials {
                standing.take(trial, metric);
            }
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

    fn take(&mut self, trial: &TrialRecord, measure: Metric) {
        match measure.of(trial) {
            Ok(value) => self.values.push((trial.round, value)),
            Err(Missing::AtLeast { bound, .. }) => {
                self.is_bound = true;
                self.may_mislead = true;
                self.values.push((trial.round, bound));
            }
            Err(Missing::Because(_)) => {}
        }
    }
}

/// What weakens a number in one round, the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weakness {
    /// Nothing.
    Nothing,
    /// What the machine did to it, which the values of other rounds do not share.
    Taken,
    /// What may be the machine's or the server's: no reading of the machine explains it.
    Doubted,
    /// What other rounds may share without showing it.
    Lasting,
}

fn weakness(
    judged: &JudgedCell<'_>,
    (trial, judgement): &(&TrialRecord, Judgement),
    number: Number,
) -> Weakness {
    match trial.end {
        TrialEnd::Measured => {}
        TrialEnd::Skipped { .. } | TrialEnd::Interrupted => return Weakness::Taken,
        TrialEnd::Failed { .. } | TrialEnd::Unsupported { .. } => return Weakness::Lasting,
    }
    let is_by_server = |code: Code| match code {
        // What is compared in spite of its failures is not made by them.
        Code::FailedShare => fails(judged),
        // What was answered is not the work that was asked for.
        Code::OriginAsked | Code::BodyBytes => true,
        code => code.is_correctness(),
    };
    if judgement.weak(number).any(is_by_server) {
        return Weakness::Lasting;
    }
    if has_no_value(judgement, number) {
        return Weakness::Taken;
    }
    let is_disturbed = is_disturbed(judgement);
    let weakness = |code: Code| match code {
        Code::FailedShare => Weakness::Nothing,
        // What others take for a part of the window leaves it on two levels.
        Code::NotSteady if is_disturbed => Weakness::Taken,
        code if DISTURBS.contains(&code) => Weakness::Taken,
        code if HIDES_THE_RATE.contains(&code) => Weakness::Lasting,
        _ => Weakness::Doubted,
    };
    let of_codes = judgement.weak(number).map(weakness);
    of_codes.max().unwrap_or(Weakness::Nothing)
}

/// The rates of all rounds of which the machine took no more than [`TAKEN_MOST`].
fn measured(
    judged: &JudgedCell<'_>,
    metric: Metric,
    of_rounds: &[(u32, Weakness)],
) -> Vec<(u32, f64)> {
    if metric != Metric::RatePerS || shown_only(metric, judged).is_some() {
        return Vec::new();
    }
    let rounds = judged.rounds().zip(of_rounds);
    let known = rounds.filter_map(|((trial, judgement), (round, found))| {
        let is_hidden = judgement
            .weak(Number::Rate)
            .any(|code| HIDES_THE_RATE.contains(&code));
        let is_share = share_taken(judgement).is_some_and(|share| share <= TAKEN_MOST);
        let is_whole = trial.end == TrialEnd::Measured && *found < Weakness::Lasting;
        let value = (is_whole && is_share && !is_hidden).then(|| metric.of(trial).ok());
        Some((*round, value??))
    });
    known.collect()
}

/// What the machine took of a rate by all readings that weaken it; `None` where one has no figure.
fn share_taken(judgement: &Judgement) -> Option<f64> {
    let readings = judgement.checks.iter();
    let readings = readings.filter(|check| DISTURBS.contains(&check.code));
    let readings = readings.filter(|check| check.of(Number::Rate) > Level::Note);
    readings.map(|check| check.value).sum()
}

/// Whether more requests fail, over all rounds, than two sides that are compared may differ by.
fn fails(judged: &JudgedCell<'_>) -> bool {
    let share = judged.cell.error_share();
    share.is_none_or(|share| share > ERROR_SHARE_APART)
}

/// Whether the machine weakens any number of a round.
pub(crate) fn is_disturbed(judgement: &Judgement) -> bool {
    let disturbs = |code: Code| DISTURBS.contains(&code);
    let mut numbers = Number::ALL.into_iter();
    numbers.any(|any| judgement.weak(any).any(disturbs))
}

/// Whether the machine took the number of a round away, with whatever else it brought about: a
/// yardstick that drifted lets a server look too fast for the engine.
fn has_no_value(judgement: &Judgement, number: Number) -> bool {
    judgement.level(number) >= Level::Disturbed && is_disturbed(judgement)
}

/// Whether a rate may be many times what was measured, by a round whose value counts.
fn hides_the_rate(judged: &JudgedCell<'_>, is_held_down: bool) -> bool {
    let counts = |round: &&Judgement| is_held_down || !has_no_value(round, Number::Rate);
    let mut codes = judged
        .counted()
        .filter(counts)
        .flat_map(|round| round.weak(Number::Rate));
    codes.any(|code| HIDES_THE_RATE.contains(&code))
}

/// Whether all that is wrong with a number is wrong with single rounds of it: the machine disturbed
/// some, and at most [`DOUBTED_SHARE`] of them are doubted without a reading that explains it.
fn rests_on_others(judged: &JudgedCell<'_>, number: Number, of_rounds: &[(u32, Weakness)]) -> bool {
    let count = |wanted: Weakness| {
        let rounds = of_rounds.iter();
        rounds.filter(|(_, weakness)| *weakness == wanted).count()
    };
    let is_of_a_round = |code: Code| {
        let counts = [Code::RoundsAccepted, Code::RoundsComplete, Code::NotSteady];
        let of_a_round = |round: &Judgement| round.weak(number).any(|known| known == code);
        counts.contains(&code)
            || DISTURBS.contains(&code)
            || !code.is_correctness() && judged.counted().any(of_a_round)
    };
    count(Weakness::Lasting) == 0
        && count(Weakness::Doubted) as f64 <= DOUBTED_SHARE * of_rounds.len() as f64
        && judged.judgement.weak(number).all(is_of_a_round)
}

/// Whether a number lacks nothing but a third round.
fn only_few(judged: &JudgedCell<'_>, number: Number) -> bool {
    let of_rounds = judged.counted().flat_map(|round| round.weak(number));
    let mut codes = of_rounds.chain(judged.judgement.weak(number));
    judged.judgement.verdicts.of(number) <= Verdict::Suspect
        && codes.all(|code| code == Code::RoundsAgree)
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
    let of_cell = judged.judgement.weak(Number::Rate);
    let of_cell = of_cell.filter(|code| *code != Code::RoundsAccepted);
    let of_rounds = judged.counted();
    of_rounds
        .flat_map(|it| it.weak(Number::Rate))
        .chain(of_cell)
}
