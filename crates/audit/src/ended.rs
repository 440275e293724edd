//! Processes of the server that ended although they did its work (R38).
//!
//! A process that ends is no fault by itself: servers renew theirs after so many requests, some
//! start one for each request, and helpers end when they have helped. So a process must have done
//! a good part of the work and have lived for a while. Whether it ended in order is seen from the
//! requests: one that crashes, or is killed, loses most of those that it had.

use bakeoff_record::{EndedProcess, LoadResult, Outcome, TreeTick, TreeUsage};
use serde::Serialize;

use crate::figures::{counted, percent};
use crate::limits::{
    WORKER_CPU_S, WORKER_LIVED_S, WORKER_LOST_SHARE, WORKER_LOST_WITHIN_S, WORKER_SHARE,
};

/// How far two times of one reading may be apart, seconds.
const SAME_S: f64 = 1e-6;

/// Processes that did the work, and were gone at the same reading.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkersEnded {
    /// The last reading with them, seconds from the start of the window.
    pub last_s: f64,
    /// The reading without them, seconds.
    pub gone_s: f64,
    /// How many they were.
    pub processes: usize,
    /// Their share of the CPU time that the server had used since its first reading, 0 to 1.
    pub share: f64,
    /// Requests that had their connection closed or refused at that time.
    pub lost: u64,
    /// Whether these are so many that the processes did not end in order.
    pub is_abrupt: bool,
}

impl WorkersEnded {
    /// What ended: `a process that had done 97 % of the work`.
    pub(crate) fn what(&self) -> String {
        let who = match self.processes {
            1 => "a process".to_owned(),
            several => format!("{several} processes"),
        };
        format!("{who} that had done {} of the work", percent(self.share))
    }

    /// What was lost: `1,012 requests`.
    pub(crate) fn lost(&self) -> String {
        counted(self.lost, "request")
    }
}

/// All of the tree that ended inside the window although they did the work, in order; `None` where
/// the record does not say which processes ended.
pub(crate) fn workers_ended(tree: &TreeUsage, result: &LoadResult) -> Option<Vec<WorkersEnded>> {
    let ended = tree.ended.as_deref()?;
    let first_s = tree.ticks.first()?.at_s;
    let pairs = tree.ticks.windows(2).map(|pair| (&pair[0], &pair[1]));
    let in_window = pairs.filter(|(last, gone)| gone.at_s > 0.0 && last.at_s < result.measured_s);
    let found = in_window.filter_map(|(last, gone)| {
        let own = ended.iter().filter(|one| {
            let is_then = one.last_s > last.at_s - SAME_S && one.last_s < gone.at_s - SAME_S;
            is_then && is_established(one, first_s)
        });
        let (processes, cpu_s) = own.fold((0, 0.0), |(n, sum), one| (n + 1, sum + one.cpu_s));
        let share = share(cpu_s, last)?;
        let lost = lost(result, last.at_s, gone.at_s + WORKER_LOST_WITHIN_S);
        let expected = WORKER_LOST_SHARE * share * in_flight(result, last.at_s);
        Some(WorkersEnded {
            last_s: last.at_s,
            gone_s: gone.at_s,
            processes,
            share,
            lost,
            is_abrupt: lost as f64 >= expected.max(1.0),
        })
    });
    Some(found.collect())
}

/// Whether it was there before the load, or for long enough.
fn is_established(process: &EndedProcess, first_s: f64) -> bool {
    process.from_s < first_s + SAME_S || process.last_s - process.from_s >= WORKER_LIVED_S
}

/// Share of the work until a reading; `None` where it is not much.
fn share(cpu_s: f64, last: &TreeTick) -> Option<f64> {
    let all_s = last.cpu_user_s + last.cpu_system_s;
    let share = (cpu_s / all_s).min(1.0);
    (cpu_s >= WORKER_CPU_S && share >= WORKER_SHARE).then_some(share)
}

/// Requests that were refused, or lost on their way, in parts of the window between two times.
fn lost(result: &LoadResult, from_s: f64, to_s: f64) -> u64 {
    let parts = result.intervals.iter();
    let near = parts.filter(|part| part.start_s < to_s && part.start_s + part.length_s > from_s);
    let outcomes = near.filter_map(|part| part.failed.as_ref().map(|failed| &failed.outcomes));
    let lost = outcomes.flatten().filter(|(outcome, _)| is_loss(**outcome));
    lost.map(|(_, requests)| requests).sum()
}

fn is_loss(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Refused | Outcome::Reset | Outcome::ClosedEarly | Outcome::Truncated
    )
}

/// Requests in flight at a time; 0 where nobody looked.
fn in_flight(result: &LoadResult, at_s: f64) -> f64 {
    let looks = &result.observed.in_flight;
    let index = (at_s.max(0.0) / looks.step_s.max(1e-3)) as usize;
    looks.counts.get(index).map_or(0.0, |count| *count as f64)
}
