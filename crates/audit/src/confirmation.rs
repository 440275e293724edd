//! Whether a suspected bottleneck is one: the rate with one resource changed against the rate
//! without, beyond what two equal runs differ by (R35).

use bakeoff_plan::{Change, LoadModel, control_name};
use bakeoff_record::{ContenderKind, Record, TrialEnd, TrialRecord};
use bakeoff_stats::{FLOOR_MIN, Metric, median};
use serde::Serialize;

use crate::attribution::Bottleneck;
use crate::judged::Judged;

/// Rounds below which nothing is said.
const ROUNDS_LEAST: usize = 5;

/// The result of changing one resource.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Confirmation {
    /// The suspected bottleneck, such as `single-core`.
    pub cause: &'static str,
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

/// A bottleneck that can be put to the test, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspected {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
    /// What is to be changed.
    pub change: Change,
    /// Workers that the server was seen to have.
    pub workers: Option<u32>,
}

/// What to change to see whether a bottleneck is one; `None` of those that no such change is
/// known for.
fn change_for(cause: &str) -> Option<Change> {
    match cause {
        "single-core" => Some(Change::WorkerMore),
        "cpu-bound" => Some(Change::ProcessorLess),
        "network" => Some(Change::HalfBody),
        "backend-bound" | "cpu-shared-with-origin" => Some(Change::NullOrigin),
        "client-cpu" | "generator-ceiling" | "co-saturated" => Some(Change::EngineThreadMore),
        _ => None,
    }
}

/// Every suspected bottleneck of the contenders of a record that can be put to the test: those of
/// closed loops. Where the rate was given, it cannot follow, and one that was kept has no
/// bottleneck, whatever was busy.
pub fn suspected(judged: &Judged<'_>) -> Vec<Suspected> {
    let mut all: Vec<Suspected> = Vec::new();
    for cell in &judged.cells {
        let is_contender = cell.cell.kind == ContenderKind::Contender;
        let is_closed = |trial: &&TrialRecord| matches!(trial.load.model, LoadModel::Closed { .. });
        let can_follow = is_contender && cell.cell.trials.iter().all(is_closed);
        let Some(bottleneck) = cell.bottleneck.as_ref().filter(|_| can_follow) else {
            continue;
        };
        let key = &cell.cell.key;
        let crews = cell
            .cell
            .trials
            .iter()
            .filter_map(|trial| trial.work.as_ref());
        let crew = crews.filter_map(|work| work.crew.as_ref()).next();
        for change in causes(bottleneck).filter_map(change_for) {
            let one = Suspected {
                contender: key.contender.clone(),
                workload: key.workload.clone(),
                load: key.load.clone(),
                change,
                workers: crew.map(|crew| crew.listening.max(1)),
            };
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
}

fn causes(bottleneck: &Bottleneck) -> impl Iterator<Item = &'static str> {
    let also = bottleneck.also.iter().map(|cause| cause.name);
    std::iter::once(bottleneck.name).chain(also)
}

/// What the experiments of a record say about a bottleneck of a contender at a workload and load.
pub(crate) fn confirmations(
    record: &Record,
    (contender, workload, load): (&str, &str, &str),
    bottleneck: &Bottleneck,
) -> Vec<Confirmation> {
    let mut all: Vec<Confirmation> = Vec::new();
    for cause in causes(bottleneck) {
        let Some(change) = change_for(cause) else {
            continue;
        };
        let name = change.name_of(contender);
        let names = [contender, &control_name(contender), &name];
        let arms = record.confirming.iter().filter(|trial| {
            names.contains(&trial.contender.as_str())
                && trial.workload == workload
                && trial.load_label() == load
        });
        let arms: Vec<&TrialRecord> = arms.collect();
        let is_known = all.iter().any(|one| one.change == change.name());
        let changed = arms.iter().find(|trial| trial.contender == name);
        let Some(changed) = changed.filter(|_| !is_known) else {
            continue;
        };
        let own = experiment_of(changed);
        let mut arms = arms.clone();
        arms.retain(|trial| experiment_of(trial) == own);
        all.push(weigh(cause, change, &arms));
    }
    all
}

/// What the ids of an experiment's trials begin with: `e1`.
fn experiment_of(trial: &TrialRecord) -> &str {
    trial.id.split('-').next().unwrap_or_default()
}

/// Rates of one round: as it is, the same once more, and changed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Round {
    base: f64,
    again: f64,
    changed: f64,
}

fn weigh(cause: &'static str, change: Change, arms: &[&TrialRecord]) -> Confirmation {
    let mut numbers: Vec<u32> = arms.iter().map(|trial| trial.round).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let rounds = numbers.into_iter().filter_map(|number| {
        let rate = |is_arm: &dyn Fn(&TrialRecord) -> bool| {
            let mut here = arms.iter().filter(|trial| trial.round == number);
            let trial = here.find(|trial| is_arm(trial))?;
            let rate = Metric::RatePerS.of(trial).ok()?;
            (rate > 0.0 && !trial.is_disturbed()).then_some(rate)
        };
        let is_changed = |trial: &TrialRecord| Change::of_name(&trial.contender).is_some();
        Some(Round {
            base: rate(&|it| it.kind == ContenderKind::Contender && !is_changed(it))?,
            again: rate(&|it| it.kind == ContenderKind::Control)?,
            changed: rate(&is_changed)?,
        })
    });
    let rounds: Vec<Round> = rounds.collect();
    if rounds.len() < ROUNDS_LEAST {
        return not_tested(cause, change, rounds.len(), why_not(arms));
    }
    if change == Change::WorkerMore && !has_more_workers(arms) {
        let why = "its configuration sets how many it starts".to_owned();
        return not_tested(cause, change, rounds.len(), why);
    }
    concluded(cause, change, &rounds)
}

/// Whether the changed server was seen to have more workers, by processes, threads or event loops;
/// where none was looked at, it is taken to have.
fn has_more_workers(arms: &[&TrialRecord]) -> bool {
    let most = |is_changed: bool| {
        let own = arms
            .iter()
            .filter(|trial| Change::of_name(&trial.contender).is_some() == is_changed);
        let crews = own.filter_map(|trial| trial.work.as_ref()?.crew.as_ref());
        crews
            .map(|crew| crew.listening.max(crew.loops) + crew.listening_threads)
            .max()
    };
    match (most(false), most(true)) {
        (Some(before), Some(after)) => after > before,
        _ => true,
    }
}

/// Why there are too few rounds: why the changed arm did not run, or what disturbed them.
fn why_not(arms: &[&TrialRecord]) -> String {
    let changed = arms
        .iter()
        .filter(|trial| Change::of_name(&trial.contender).is_some());
    let ends = changed.filter_map(|trial| match &trial.end {
        TrialEnd::Skipped { reason, .. } | TrialEnd::Unsupported { reason } => Some(reason.clone()),
        TrialEnd::Failed { cause, .. } => Some(cause.clone()),
        TrialEnd::Measured | TrialEnd::Interrupted => None,
    });
    let disturbed = arms.iter().filter(|trial| trial.is_disturbed()).count();
    ends.into_iter().next().unwrap_or_else(|| match disturbed {
        0 => "it was interrupted".to_owned(),
        _ => format!(
            "something else on the machine disturbed {disturbed} of {} runs",
            arms.len()
        ),
    })
}

fn not_tested(cause: &'static str, change: Change, rounds: usize, why: String) -> Confirmation {
    Confirmation {
        cause,
        change: change.name(),
        answer: ConfirmAnswer::NotTested,
        ratio: None,
        range: None,
        floor: None,
        rounds,
        text: format!("{cause} was not tested {change}: {why}"),
    }
}

/// Confirmed where every round moved the same way, by more than the largest difference of two equal
/// runs. With six rounds that is the 97 % interval of the median on the far side of the floor.
fn concluded(cause: &'static str, change: Change, rounds: &[Round]) -> Confirmation {
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
            "{cause} is {word}: {change} the rate was {middle:.2} times as high ({low:.2} to \
             {high:.2} in {} rounds; two equal runs differed by up to {:.1} %)",
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
        concluded("single-core", change, &rounds(changed, again)).answer
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
        let found = concluded("single-core", Change::WorkerMore, &rounds(&twice, 1000.0));
        assert_eq!(
            found.text,
            "single-core is confirmed: with one worker more the rate was 1.90 times as high (1.80 \
             to 2.00 in 6 rounds; two equal runs differed by up to 1.0 %)"
        );
    }
}
