//! Latencies that hold the engine's own delay, as bounds of what an engine on time would measure.
//!
//! In an open loop a latency counts from when its request was due and ends with the kernel's stamp
//! of the answer. So a late engine makes it longer, never shorter: what was measured is the most
//! that it can be. The least is what is left without the delay, which the engine counts beside it
//! (`ScheduleKept::punctual`). Neither is ranked by itself; a difference that both ends show is.

use bakeoff_record::{LoadResult, TrialRecord};
use bakeoff_stats::{Metric, Number};

use crate::cell::JudgedCell;
use crate::check::Level;
use crate::checks::rounds::needed_among;
use crate::code::Code;
use crate::verdict::{Judgement, Verdict};

/// What the engine's delay is found by.
const DELAYS: [Code; 3] = [Code::SendLag, Code::EngineBusy, Code::EngineKept];

/// The least latency where nothing is known or left of it, ns. A ratio needs one.
const LEAST_NS: f64 = 1.0;

/// Whether the cell is ranked by a latency that is an upper bound, because the engine was late.
pub(crate) fn is_upper_bound(judged: &JudgedCell<'_>) -> bool {
    let verdict = judged.judgement.verdicts.of(Number::Latency);
    judged.ranked_by() == Number::Latency && verdict == Verdict::Suspect && is_all(judged)
}

/// The least that the latency of each round can be, where the engine's delay is all that keeps
/// enough rounds from being believed.
pub(super) fn least_of(judged: &JudgedCell<'_>, metric: Metric) -> Option<Vec<(u32, f64)>> {
    let quantile = metric.quantile()?;
    if !is_upper_bound(judged) {
        return None;
    }
    let least = |(trial, judgement): &(&TrialRecord, Judgement)| {
        let is_usable = judgement.level(Number::Latency) < Level::Disturbed;
        let result = trial.result.as_ref().filter(|_| is_usable)?;
        let value = metric.of(trial).ok()?;
        let least = if is_late(judgement) {
            least_of_result(result, quantile)
        } else {
            value
        };
        Some((trial.round, least))
    };
    Some(judged.rounds().filter_map(least).collect())
}

/// Whether enough rounds are sound or late, and late is all that the cell as a whole is.
fn is_all(judged: &JudgedCell<'_>) -> bool {
    let counts = |code: Code| {
        matches!(code, Code::RoundsAccepted | Code::NotSteady) || DELAYS.contains(&code)
    };
    let mut of_cell = judged.judgement.weak(Number::Latency);
    let (mut all, mut late, mut sound) = (0, 0, 0);
    for judgement in judged.counted() {
        all += 1;
        late += usize::from(is_late(judgement));
        sound += usize::from(judgement.level(Number::Latency) <= Level::Note);
    }
    of_cell.all(counts) && late > 0 && late + sound >= needed_among(all, all)
}

/// Whether a round's latency is weakened by the engine's delay alone. An engine that is late for a
/// part of a window leaves latencies on two levels.
fn is_late(judgement: &Judgement) -> bool {
    let is_late = |code: Code| judgement.weak(Number::Latency).any(|weak| weak == code);
    let mut checks = judgement
        .checks
        .iter()
        .filter(|check| check.of(Number::Latency) > Level::Note);
    let all = checks.all(|check| {
        let is_delay = match check.code {
            Code::NotSteady => is_late(Code::SendLag),
            code => DELAYS.contains(&code),
        };
        is_delay && check.of(Number::Latency) == Level::Suspect
    });
    all && DELAYS.into_iter().any(is_late)
}

/// What an engine that is never late would have seen at the least.
fn least_of_result(result: &LoadResult, quantile: f64) -> f64 {
    let least = result.punctual().and_then(|it| it.quantile(quantile));
    least.map_or(LEAST_NS, |ns| (ns as f64).max(LEAST_NS))
}
