//! How far the connections of a load were taken in a trial, and how busy the server was.

use bakeoff_plan::{Load, LoadModel};
use bakeoff_record::{LoadResult, Role, TreeTick, TreeUsage, TrialRecord};

/// Share of the places for requests from which all of them count as taken.
const TAKEN: f64 = 0.95;
/// Share of its time that a server works which is not at its own limit (method R34).
const BUSY_MAX: f64 = 0.7;
/// How many times as long as in the quickest trial a server takes for an answer that does not queue
/// inside it.
const SLOWER: f64 = 1.5;

/// How far the places for requests were taken, and what the server did meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Places {
    /// Median share of them that were taken; `None` in a closed loop.
    pub taken: Option<f64>,
    /// Share of its processors that the server used, or of one by its busiest thread where that is
    /// more; `None` where nobody saw it.
    pub server_busy: Option<f64>,
    /// Median time from sending a request to its right answer, nanoseconds.
    pub service_ns: Option<u64>,
}

impl Places {
    pub(crate) fn of(record: &TrialRecord, result: &LoadResult) -> Self {
        Self {
            taken: taken(record, result),
            server_busy: server_busy(record, result.measured_s),
            service_ns: result.service.quantile(0.5),
        }
    }

    /// How busy the server was where all places were taken and it took no longer than at a rate at
    /// which half of the answers came within `quickest_ns`.
    pub(crate) fn busy_beside_taken(&self, quickest_ns: u64) -> Option<f64> {
        let is_taken = self.taken? >= TAKEN;
        let is_quick = self.service_ns? as f64 <= SLOWER * quickest_ns as f64;
        self.server_busy
            .filter(|busy| is_taken && is_quick && *busy < BUSY_MAX)
    }
}

/// Requests that may be in flight at a time; `None` in a closed loop.
fn places(load: &Load) -> Option<u64> {
    let is_open = matches!(load.model, LoadModel::Open { .. });
    is_open.then(|| u64::from(load.clients()) * u64::from(load.streams))
}

fn taken(record: &TrialRecord, result: &LoadResult) -> Option<f64> {
    let places = places(&record.load)?;
    let mut looks = result.observed.in_flight.counts.clone();
    looks.sort_unstable();
    let median = *looks.get(looks.len() / 2)?;
    (places > 0).then(|| median as f64 / places as f64)
}

/// What else works on the server's processors counts as the server: they have no time left then.
fn server_busy(record: &TrialRecord, measured_s: f64) -> Option<f64> {
    let pinned = &record.pinned;
    let processors = match pinned.server.len() {
        0 => record.usage.host.last()?.cpus.len(),
        pinned => pinned,
    };
    let shares = |other: &[usize]| {
        let is_any = pinned.server.is_empty() || other.is_empty();
        is_any || other.iter().any(|cpu| pinned.server.contains(cpu))
    };
    let is_there = |tree: &&TreeUsage| match tree.role {
        Role::Server => true,
        Role::Origin => shares(&pinned.origin),
        Role::Engine | Role::Bakeoff => shares(&pinned.engine),
    };
    let trees = &record.usage.trees;
    let server = trees.iter().find(|tree| tree.role == Role::Server)?;
    let used = trees.iter().filter(is_there);
    let used: Option<Vec<f64>> = used.map(|tree| cores(tree, measured_s)).collect();
    let used: f64 = used?.iter().sum();
    let thread = server.busiest_thread(measured_s).unwrap_or(0.0);
    (processors > 0).then(|| (used / processors as f64).max(thread))
}

/// Processors that a tree kept busy.
fn cores(tree: &TreeUsage, measured_s: f64) -> Option<f64> {
    let mut inside = tree.in_window(measured_s);
    let (first, last) = (inside.next()?, inside.next_back()?);
    let cpu_s = |tick: &TreeTick| tick.cpu_user_s + tick.cpu_system_s;
    let length_s = last.at_s - first.at_s;
    (length_s > 0.0).then(|| (cpu_s(last) - cpu_s(first)) / length_s)
}
