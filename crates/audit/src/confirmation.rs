//! Whether a suspected bottleneck is one: the rate with one resource changed against the rate
//! without, beyond what two equal runs differ by (R35).

use bakeoff_plan::{Change, control_name};
use bakeoff_record::{Record, TrialEnd, TrialRecord};
use bakeoff_stats::{FLOOR_MIN, Metric, median};
use serde::Serialize;

use crate::limiter::Limiter;

/// Rounds below which nothing is said.
const ROUNDS_LEAST: usize = 5;

/// The result of changing one resource.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Confirmation {
    /// The suspected bottleneck, such as `single-core`.
    #[schemars(with = "String")]
    pub cause: Limiter,
    /// What was changed, such as `worker-more`.
    pub change: &'static str,
    /// What it shows.
    pub answer: ConfirmAnswer,
    /// Median over rounds of the rate with the change over that without; null where it was not
    /// measured.
    pub ratio: Option<f64>,
    /// The smallest and the largest of them.
    pub range: Option<(f64, f64)>,
    /// What two equal runs differed by at the most in these rounds, and 1 % at the least.
    pub floor: Option<f64>,
    /// Rounds that all three runs were measured in, undisturbed.
    pub rounds: usize,
    /// The answer as a part of a sentence.
    pub text: String,
}

/// What changing one resource shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmAnswer {
    /// The rate followed in every round, by more than two equal runs differ.
    Confirmed,
    /// It did not.
    NotConfirmed,
    /// It could not be changed, or too few rounds were measured.
    NotTested,
}

/// What to change to see whether a bottleneck is one; `None` of those that no such change is
/// known for.
pub(crate) fn change_for(cause: Limiter) -> Option<Change> {
    match cause {
        Limiter::SingleCore => Some(Change::WorkerMore),
        Limiter::CpuBound => Some(Change::ProcessorLess),
        Limiter::Network => Some(Change::HalfBody),
        Limiter::BackendBound | Limiter::CpuSharedWithOrigin => Some(Change::NullOrigin),
        Limiter::ClientCpu | Limiter::GeneratorCeiling | Limiter::CoSaturated => {
            Some(Change::EngineThreadMore)
        }
        _ => None,
    }
}

/// What the experiments of a record say about what may have held the rate of a trial down.
pub(crate) fn confirmations(
    record: &Record,
    of: &TrialRecord,
    causes: &[Limiter],
) -> Vec<Confirmation> {
    let mut all: Vec<Confirmation> = Vec::new();
    let here = record
        .confirming
        .iter()
        .filter(|trial| trial.workload == of.workload && trial.load_label() == of.load_label());
    let here: Vec<&TrialRecord> = here.collect();
    for (cause, change) in causes.iter().filter_map(|it| Some((*it, change_for(*it)?))) {
        let names = [
            of.contender.clone(),
            control_name(&of.contender),
            change.name_of(&of.contender),
        ];
        let changed = here.iter().find(|trial| trial.contender == names[2]);
        let Some(changed) = changed.filter(|_| all.iter().all(|it| it.change != change.name()))
        else {
            continue;
        };
        let own = experiment_of(changed);
        let arms = names.map(|name| {
            let arm = here
                .iter()
                .filter(|it| it.contender == name && experiment_of(it) == own);
            arm.copied().collect()
        });
        all.push(Arms(arms).weigh(cause, change));
    }
    all
}

/// What the ids of an experiment's trials begin with, which is all that a record has of it: `e1`.
fn experiment_of(trial: &TrialRecord) -> &str {
    trial.id.split('-').next().unwrap_or_default()
}

/// The trials of an experiment: as it is, the same once more, and changed.
struct Arms<'r>([Vec<&'r TrialRecord>; 3]);

/// Rates of one round: as it is, the same once more, and changed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Round {
    base: f64,
    again: f64,
    changed: f64,
}

impl Arms<'_> {
    fn weigh(&self, cause: Limiter, change: Change) -> Confirmation {
        let [base, again, changed] = &self.0;
        let rate = |arm: &[&TrialRecord], round: u32| {
            let trial = arm.iter().find(|trial| trial.round == round)?;
            let rate = Metric::RatePerS.of(trial).ok()?;
            (rate > 0.0 && !trial.is_disturbed()).then_some(rate)
        };
        let mut numbers: Vec<u32> = base.iter().map(|trial| trial.round).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let rounds = numbers.into_iter().filter_map(|number| {
            Some(Round {
                base: rate(base, number)?,
                again: rate(again, number)?,
                changed: rate(changed, number)?,
            })
        });
        let rounds: Vec<Round> = rounds.collect();
        if rounds.len() < ROUNDS_LEAST {
            return not_tested(cause, change, rounds.len(), self.why_not());
        }
        if change == Change::WorkerMore && !self.has_more_workers() {
            let why = "its configuration sets how many it starts".to_owned();
            return not_tested(cause, change, rounds.len(), why);
        }
        concluded(cause, change, &rounds)
    }

    /// Whether the changed server was seen to have more workers, by processes, threads or event
    /// loops; where none was looked at, it is taken to have.
    fn has_more_workers(&self) -> bool {
        let [base, again, changed] = &self.0;
        let most = |arms: &[&[&TrialRecord]]| {
            let own = arms.iter().copied().flatten();
            let crews = own.filter_map(|trial| trial.work.as_ref()?.crew.as_ref());
            crews
                .map(|crew| crew.listening.max(crew.loops) + crew.listening_threads)
                .max()
        };
        match (most(&[base, again]), most(&[changed])) {
            (Some(before), Some(after)) => after > before,
            _ => true,
        }
    }

    /// Why there are too few rounds: why the changed arm did not run, or what disturbed them.
    fn why_not(&self) -> String {
        let mut ends = self.0[2].iter().filter_map(|trial| match &trial.end {
            TrialEnd::Skipped { reason, .. } | TrialEnd::Unsupported { reason } => Some(reason),
            TrialEnd::Failed { cause, .. } => Some(cause),
            TrialEnd::Measured | TrialEnd::Interrupted => None,
        });
        let arms = || self.0.iter().flatten();
        let disturbed = arms().filter(|trial| trial.is_disturbed()).count();
        ends.next().cloned().unwrap_or_else(|| match disturbed {
            0 => "it was interrupted".to_owned(),
            _ => format!(
                "something else on the machine disturbed {disturbed} of {} runs",
                arms().count()
            ),
        })
    }
}

fn not_tested(cause: Limiter, change: Change, rounds: usize, why: String) -> Confirmation {
    Confirmation {
        cause,
        change: change.name(),
        answer: ConfirmAnswer::NotTested,
        ratio: None,
        range: None,
        floor: None,
        rounds,
        text: format!("{} was not tested {change}: {why}", cause.name()),
    }
}

/// Confirmed where every round moved the same way, by more than the largest difference of two equal
/// runs. With six rounds that is the 97 % interval of the median on the far side of the floor.
fn concluded(cause: Limiter, change: Change, rounds: &[Round]) -> Confirmation {
    let logs = rounds
        .iter()
        .map(|one| (one.changed / (one.base * one.again).sqrt()).ln());
    let logs: Vec<f64> = logs.collect();
    let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let apart = rounds.iter().map(|one| (one.again / one.base).ln().abs());
    let floor = apart.fold(FLOOR_MIN.ln_1p(), f64::max);
    let is_beyond = if change.should_raise() {
        least > floor
    } else {
        most < -floor
    };
    let (answer, word) = if is_beyond {
        (ConfirmAnswer::Confirmed, "confirmed")
    } else {
        (ConfirmAnswer::NotConfirmed, "not confirmed")
    };
    let middle = median(&logs).unwrap_or(0.0).exp();
    let (low, high) = (least.exp(), most.exp());
    Confirmation {
        cause,
        change: change.name(),
        answer,
        ratio: Some(middle),
        range: Some((low, high)),
        floor: Some(floor.exp_m1()),
        rounds: rounds.len(),
        text: format!(
            "{} is {word}: {change} the rate was {middle:.2} times as high ({low:.2} to \
             {high:.2} in {} rounds; two equal runs differed by up to {:.1} %)",
            cause.name(),
            rounds.len(),
            floor.exp_m1() * 100.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of a server at about 1,000/s, with the changed rate of each.
    fn rounds(changed: &[f64], again: f64) -> Vec<Round> {
        let one = |changed: &f64| Round {
            base: 1000.0,
            again,
            changed: *changed,
        };
        changed.iter().map(one).collect()
    }

    fn answer(change: Change, changed: &[f64], again: f64) -> ConfirmAnswer {
        concluded(Limiter::SingleCore, change, &rounds(changed, again)).answer
    }

    #[test]
    fn a_bottleneck_is_confirmed_only_beyond_what_equal_runs_differ_by() {
        use ConfirmAnswer::{Confirmed, NotConfirmed};
        let more = Change::WorkerMore;
        let twice = [1900.0, 1950.0, 1880.0, 1910.0, 1990.0, 1870.0];
        assert_eq!(answer(more, &twice, 1010.0), Confirmed);
        let once_less = [1900.0, 1950.0, 1880.0, 1910.0, 1990.0, 990.0];
        assert_eq!(answer(more, &once_less, 1010.0), NotConfirmed);
        let little = [1030.0; 6];
        assert_eq!(answer(more, &little, 1000.0), Confirmed);
        assert_eq!(answer(more, &little, 1050.0), NotConfirmed);
        assert_eq!(
            answer(more, &[1005.0; 6], 1000.0),
            NotConfirmed,
            "below 1 %"
        );
    }

    #[test]
    fn the_rate_has_to_move_the_way_that_the_resource_did() {
        use ConfirmAnswer::{Confirmed, NotConfirmed};
        let half = [500.0, 510.0, 490.0, 505.0, 500.0];
        assert_eq!(answer(Change::ProcessorLess, &half, 1000.0), Confirmed);
        assert_eq!(answer(Change::WorkerMore, &half, 1000.0), NotConfirmed);
        let twice = [2000.0; 5];
        assert_eq!(answer(Change::ProcessorLess, &twice, 1000.0), NotConfirmed);
    }

    #[test]
    fn the_sentence_has_the_figures() {
        let twice = [1900.0, 2000.0, 1800.0, 1900.0, 1900.0, 1900.0];
        let found = concluded(
            Limiter::SingleCore,
            Change::WorkerMore,
            &rounds(&twice, 1000.0),
        );
        assert_eq!(
            found.text,
            "single-core is confirmed: with one worker more the rate was 1.90 times as high (1.80 \
             to 2.00 in 6 rounds; two equal runs differed by up to 1.0 %)"
        );
    }
}
