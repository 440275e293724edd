//! CPU time and memory of process trees inside the measured window.
//!
//! Readings do not fall on the window's edges, so the cumulative CPU time is interpolated there.
//! Nothing is extrapolated: a window that the readings do not reach gives no number.

use bakeoff_record::{Role, TreeTick, TreeUsage, TrialRecord, Usage};

/// How far beyond the last reading an edge may lie and still take its value, seconds: two and a
/// half of the probe's 100-ms periods.
const EDGE_SLACK_S: f64 = 0.25;

/// The server's process tree.
pub fn server_tree(usage: &Usage) -> Option<&TreeUsage> {
    tree(usage, Role::Server)
}

/// The upstream's process tree.
pub fn origin_tree(usage: &Usage) -> Option<&TreeUsage> {
    tree(usage, Role::Origin)
}

/// bakeoff's own process.
pub fn engine_tree(usage: &Usage) -> Option<&TreeUsage> {
    tree(usage, Role::Engine)
}

fn tree(usage: &Usage, role: Role) -> Option<&TreeUsage> {
    usage.trees.iter().find(|tree| tree.role == role)
}

/// CPU seconds (user and system) that a tree used from `from_s` to `to_s` on the trial's axis;
/// `None` when the readings do not cover the span.
pub fn cpu_seconds_in(ticks: &[TreeTick], from_s: f64, to_s: f64) -> Option<f64> {
    let used = cpu_at(ticks, to_s)? - cpu_at(ticks, from_s)?;
    (to_s > from_s && used >= 0.0).then_some(used)
}

/// Mean number of processors that a tree kept busy in the measured window.
pub fn window_cores(trial: &TrialRecord, tree: Option<&TreeUsage>) -> Option<f64> {
    let measured_s = trial.result.as_ref()?.measured_s;
    Some(cpu_seconds_in(&tree?.ticks, 0.0, measured_s)? / measured_s)
}

/// Largest resident memory of a tree from the start of load to the end of the window, bytes.
///
/// The warm-up counts: memory that a server took for its first connections is part of its peak.
pub fn memory_peak(tree: &TreeUsage, measured_s: f64) -> Option<u64> {
    tree.ticks
        .iter()
        .filter(|tick| tick.at_s <= measured_s + EDGE_SLACK_S)
        .map(|tick| tick.rss_bytes)
        .max()
        .filter(|bytes| *bytes > 0)
}

/// Cumulative CPU seconds at a time, between the two readings around it.
fn cpu_at(ticks: &[TreeTick], at_s: f64) -> Option<f64> {
    let total = |tick: &TreeTick| tick.cpu_user_s + tick.cpu_system_s;
    let after = ticks.partition_point(|tick| tick.at_s < at_s);
    match (
        after.checked_sub(1).and_then(|before| ticks.get(before)),
        ticks.get(after),
    ) {
        (Some(before), Some(after)) => {
            let share = (at_s - before.at_s) / (after.at_s - before.at_s);
            Some(total(before) + share * (total(after) - total(before)))
        }
        (None, Some(first)) => (first.at_s - at_s <= EDGE_SLACK_S).then(|| total(first)),
        (Some(last), None) => (at_s - last.at_s <= EDGE_SLACK_S).then(|| total(last)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(at_s: f64, cpu_user_s: f64, rss_bytes: u64) -> TreeTick {
        TreeTick {
            at_s,
            cpu_user_s,
            rss_bytes,
            ..TreeTick::default()
        }
    }

    #[test]
    fn cpu_is_interpolated_at_the_edges_of_the_window() {
        let ticks = [
            tick(-0.5, 0.0, 1),
            tick(0.5, 1.0, 2),
            tick(1.5, 1.5, 3),
            tick(2.5, 3.5, 4),
        ];
        // At 0 it is half of 1.0, at 2 half-way from 1.5 to 3.5: 2.5 - 0.5 = 2.0.
        assert_eq!(cpu_seconds_in(&ticks, 0.0, 2.0), Some(2.0));
    }

    #[test]
    fn nothing_is_extrapolated() {
        let ticks = [tick(0.1, 0.0, 1), tick(1.0, 0.9, 2)];
        assert!(cpu_seconds_in(&ticks, 0.0, 1.2).is_some());
        assert_eq!(cpu_seconds_in(&ticks, 0.0, 2.0), None);
        assert_eq!(cpu_seconds_in(&[], 0.0, 1.0), None);
    }

    #[test]
    fn peak_memory_ends_with_the_window() {
        let tree = TreeUsage {
            role: Role::Server,
            cpu_source: String::new(),
            ticks: vec![tick(-1.0, 0.0, 7), tick(1.0, 0.0, 5), tick(9.0, 0.0, 99)],
            ended: None,
        };
        assert_eq!(memory_peak(&tree, 2.0), Some(7));
    }
}
