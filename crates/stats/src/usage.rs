//! CPU time and memory of process trees inside the measured window.
//!
//! Nothing is extrapolated: a window that the readings do not reach gives no number.

use bakeoff_record::{Role, TreeUsage, TrialRecord, Usage, cpu_seconds_between};

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

fn tree(usage: &Usage, role: Role) -> Option<&TreeUsage> {
    usage.trees.iter().find(|tree| tree.role == role)
}

/// Mean number of processors that a tree kept busy in the measured window.
pub fn window_cores(trial: &TrialRecord, tree: Option<&TreeUsage>) -> Option<f64> {
    let measured_s = trial.result.as_ref()?.measured_s;
    Some(cpu_seconds_between(&tree?.ticks, 0.0, measured_s)? / measured_s)
}

/// Largest resident memory of a tree from the start of load to the end of the window, bytes.
///
/// The warm-up counts: memory that a server took for its first connections is part of its peak.
pub(crate) fn memory_peak(tree: &TreeUsage, measured_s: f64) -> Option<u64> {
    tree.ticks
        .iter()
        .filter(|tick| tick.at_s <= measured_s + EDGE_SLACK_S)
        .map(|tick| tick.rss_bytes)
        .max()
        .filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use bakeoff_record::TreeTick;

    use super::*;

    fn tick(at_s: f64, rss_bytes: u64) -> TreeTick {
        TreeTick {
            at_s,
            rss_bytes,
            ..TreeTick::default()
        }
    }

    #[test]
    fn peak_memory_ends_with_the_window() {
        let tree = TreeUsage {
            role: Role::Server,
            cpu_source: String::new(),
            ticks: vec![tick(-1.0, 7), tick(1.0, 5), tick(9.0, 99)],
            ended: None,
        };
        assert_eq!(memory_peak(&tree, 2.0), Some(7));
    }
}
