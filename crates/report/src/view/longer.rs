//! What more time would decide in a campaign that time ends.

use std::collections::BTreeMap;
use std::time::Duration;

use bakeoff_audit::{Comparison, Conclusion, Judged, ROUNDS_PROPOSED_MAX};
use bakeoff_plan::format_duration;
use bakeoff_record::Record;

/// Most time that is proposed, s: what a person would wait for.
const MOST_S: f64 = 1800.0;

/// The flags with which a campaign goes on, and about how long that takes, s; `None` where no time
/// that a person would wait for decides anything more.
pub(super) fn budget(record: &Record, judged: &Judged<'_>) -> Option<(String, Option<f64>)> {
    let now = record.plan.budget?.now.as_secs_f64();
    let took = took_s(record);
    if judged.goes_on {
        return Some((String::new(), Some(now - took).filter(|left| *left > 0.0)));
    }
    let each = took / record.trials.len().max(1) as f64;
    let mut cells: Vec<f64> = open_trials(&judged.comparisons)
        .into_iter()
        .map(|trials| trials as f64 * each)
        .collect();
    cells.sort_by(f64::total_cmp);
    let mut more = 0.0;
    for cell in cells {
        if more + cell > MOST_S {
            break;
        }
        more += cell;
    }
    if more <= 0.0 {
        return None;
    }
    let minutes = ((now.max(took) + more) / 60.0).ceil() as u64;
    let length = format_duration(Duration::from_secs(minutes * 60));
    Some((format!(" --budget {length}"), Some(more)))
}

/// The time that all trials took, with the rests between them, s.
fn took_s(record: &Record) -> f64 {
    let rest = record.plan.rest.as_secs_f64();
    let trials = record.trials.iter();
    trials.map(|trial| trial.took_s() + rest).sum()
}

/// For each workload and load with tested comparisons that more rounds would decide, the trials of
/// those rounds.
fn open_trials(comparisons: &[Comparison]) -> Vec<usize> {
    let mut cells: BTreeMap<(&str, &str), (u32, Vec<&str>)> = BTreeMap::new();
    for one in comparisons {
        let is_open = one.conclusion == Conclusion::CannotTell && one.metric.is_tested();
        let Some(needed) = one.rounds_needed.filter(|_| is_open) else {
            continue;
        };
        if needed > ROUNDS_PROPOSED_MAX {
            continue;
        }
        let has = one.ratio.map_or(0, |ratio| ratio.n as u32);
        let cell = cells
            .entry((&one.pair.workload, &one.pair.load))
            .or_default();
        cell.0 = cell.0.max(needed.saturating_sub(has));
        for name in [one.pair.first.as_str(), one.pair.second.as_str()] {
            if !cell.1.contains(&name) {
                cell.1.push(name);
            }
        }
    }
    let trials = |(rounds, names): (u32, Vec<&str>)| rounds as usize * (names.len() + 1);
    cells.into_values().map(trials).collect()
}
