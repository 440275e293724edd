//! An overload trial over time: the parts of its window and the steps of its rate, each with the
//! requests that were due and their outcomes.
//!
//! It only sorts and adds up. What the numbers mean is decided in the other files of `overload/`.

use bakeoff_plan::{LoadModel, Overload, RateShape};
use bakeoff_record::{
    Failed, Histogram, Interval, LoadResult, Outcome, Role, TreeTick, TrialEnd, TrialRecord, Usage,
};
use bakeoff_stats::server_tree;
use serde::Serialize;

use crate::ended::{WorkersEnded, workers_ended};
use crate::limits::ENGINE_BUSY_INVALID;
use bakeoff_plan::named;

/// Share of the requests due from which a way to fail is what the server does.
pub(super) const SHARE: f64 = 0.01;
/// Parts that show how a server is: what is usual in the first step, and what it gave in a step
/// before it ended.
pub(super) const PARTS_LEAST: usize = 3;

named! {
    /// How a request failed, as far as it says what the server does.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Kind {
        /// The connection was refused.
        Refused = "refused",
        /// No connection was made in time.
        Dropped = "no connection",
        /// The connection was closed or reset before a whole answer.
        Reset = "closed",
        /// The answer was 429 or 5xx, or the stream was refused.
        Busy = "busy",
        /// There was a connection, and no answer in time.
        Timeout = "timeout",
        /// All connections waited for answers until it was too late to send.
        Unsent = "not sent",
        /// Any other wrong answer.
        Wrong = "wrong",
        /// The load engine could not send.
        Local = "local",
    }
}

impl Kind {
    fn of(outcome: Outcome) -> Option<Self> {
        Some(match outcome {
            Outcome::Ok => return None,
            Outcome::Refused => Self::Refused,
            Outcome::ConnectTimeout => Self::Dropped,
            Outcome::Reset | Outcome::ClosedEarly | Outcome::Truncated => Self::Reset,
            Outcome::RefusedStream => Self::Busy,
            Outcome::Timeout => Self::Timeout,
            Outcome::Local => Self::Local,
            Outcome::Status
            | Outcome::TooLong
            | Outcome::WrongBody
            | Outcome::Tls
            | Outcome::Protocol => Self::Wrong,
        })
    }
}

/// Requests by how they failed; written as names with counts, without counts of zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds([u64; Kind::ALL.len()]);

impl Kinds {
    /// Requests of a kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    /// All of them.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds requests of a kind.
    pub fn add(&mut self, kind: Kind, count: u64) {
        self.0[kind as usize] += count;
    }

    /// Adds other requests.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Requests by outcome; those with the status of a busy server are counted apart.
    pub(super) fn sorted(
        outcomes: impl Iterator<Item = (Outcome, u64)>,
        status: impl Iterator<Item = (u16, u64)>,
    ) -> Self {
        let mut kinds = Self::default();
        for (outcome, count) in outcomes {
            if let Some(kind) = Kind::of(outcome) {
                kinds.add(kind, count);
            }
        }
        let is_busy = |status: u16| status == 429 || (500..600).contains(&status);
        let busy: u64 = status.filter(|(it, _)| is_busy(*it)).map(|(_, n)| n).sum();
        let busy = busy.min(kinds.of(Kind::Wrong));
        kinds.0[Kind::Wrong as usize] -= busy;
        kinds.add(Kind::Busy, busy);
        kinds
    }
}

impl Serialize for Kinds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = Kind::ALL.map(|kind| (kind, self.of(kind)));
        serializer.collect_map(counts.into_iter().filter(|(_, count)| *count > 0))
    }
}

/// A part of the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Part {
    /// Start, seconds from the start of the window.
    pub start_s: f64,
    /// Length, seconds.
    pub length_s: f64,
    /// Requests due in it.
    pub due: u64,
    /// Right answers in it.
    pub ok: u64,
    /// Requests that failed in it.
    pub failed: Kinds,
    /// Median latency of right answers, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99 % of the right answers took no longer, nanoseconds; the longest of a few.
    pub p99_ns: Option<u64>,
    /// Median time until a request had failed, nanoseconds.
    pub failed_p50_ns: Option<u64>,
    /// Most resident memory of the server, bytes.
    pub memory_bytes: Option<u64>,
}

/// A step of the rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Step {
    /// Share of the capacity.
    pub share: f64,
    /// Rate that was asked for, requests per second.
    pub rate_per_s: f64,
    /// Start, seconds from the start of the window.
    pub start_s: f64,
    /// End, seconds.
    pub end_s: f64,
    /// Requests due in it.
    pub due: u64,
    /// Right answers per second; null where nothing of it was measured.
    pub ok_per_s: Option<f64>,
    /// Requests that failed in it.
    pub failed: Kinds,
    /// Median latency of its right answers, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99 % of them took no longer, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Median time until a request had failed, nanoseconds.
    pub failed_p50_ns: Option<u64>,
    /// The least and the most that the median time of the answers 429 and 5xx can be, nanoseconds.
    #[serde(skip)]
    pub busy_p50_ns: Option<(u64, u64)>,
    /// Share of its processors that the load engine used, 0 to 1.
    pub engine_busy: Option<f64>,
}

impl Step {
    /// Whether it was reached.
    pub fn is_measured(&self) -> bool {
        self.ok_per_s.is_some() && self.due > 0
    }

    /// Share of the requests due that failed so.
    pub fn share_of(&self, kind: Kind) -> f64 {
        self.failed.of(kind) as f64 / self.due.max(1) as f64
    }

    /// Whether the load engine was at its own limit (R13).
    pub fn is_engine_busy(&self) -> bool {
        self.engine_busy
            .is_some_and(|busy| busy > ENGINE_BUSY_INVALID)
    }
}

/// A closed loop that showed a capacity.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClosedLoop {
    /// Requests at a time.
    pub at_a_time: u32,
    /// Share of its requests that failed, 0 to 1.
    pub failed: f64,
}

impl ClosedLoop {
    /// What is needed of the trial; `None` where it has no result.
    pub(super) fn of(record: &TrialRecord, overload: &Overload) -> Option<Self> {
        let clients = overload.closed_loop_clients()?;
        let outcomes = &record.result.as_ref()?.outcomes;
        Some(Self {
            at_a_time: clients.saturating_mul(record.load.streams),
            failed: outcomes.errors() as f64 / outcomes.completed().max(1) as f64,
        })
    }
}

/// A trial over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Series {
    /// The window in parts.
    pub parts: Vec<Part>,
    /// The steps, the last of which is the way back.
    pub steps: Vec<Step>,
    /// The closed loop that showed the capacity; `None` where it was said.
    #[serde(skip)]
    pub closed_loop: Option<ClosedLoop>,
    /// Time after which a client gives up, seconds.
    pub patience_s: f64,
    /// How the server ended by itself.
    pub died: Option<String>,
    /// When processes that did the work ended and requests were lost with them; absent where none
    /// did, and where nobody looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<WorkersEnded>,
    /// 99 % of the requests that did not wait for the server were begun within this, nanoseconds.
    pub slip_p99_ns: Option<u64>,
    /// 99 % of all right answers took no longer, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Connections dropped at full accept queues of this machine while it was measured.
    pub listen_overflows: Option<u64>,
}

impl Series {
    /// The series of a trial of an overload, and the closed loop that showed its capacity.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(
        record: &TrialRecord,
        overload: &Overload,
        closed_loop: Option<&TrialRecord>,
    ) -> Result<Self, String> {
        let is_whole = record.result.is_some() && record.lost().is_empty();
        match &record.end {
            TrialEnd::Measured => {}
            TrialEnd::Failed { .. } if is_whole => {}
            TrialEnd::Failed { cause, .. } => return Err(cause.clone()),
            TrialEnd::Skipped { reason, .. } | TrialEnd::Unsupported { reason } => {
                return Err(reason.clone());
            }
            TrialEnd::Interrupted => return Err("the trial was interrupted".to_owned()),
        }
        let nothing = || "nothing was measured".to_owned();
        let result = record.result.as_ref().ok_or_else(nothing)?;
        let LoadModel::Open { rate_per_s, .. } = record.load.model else {
            return Err("its load has no rate".to_owned());
        };
        let RateShape::Steps { then_per_s } = &result.shape else {
            return Err("its rate did not change".to_owned());
        };
        let rates: Vec<f64> = [&[rate_per_s], then_per_s.as_slice()].concat();
        let shares = &overload.steps;
        if rates.len() != shares.len() {
            return Err("its steps are not those of the plan".to_owned());
        }
        let parts = parts(record, result);
        if parts.is_empty() {
            return Err(nothing());
        }
        let step_s = record.load.duration_s / rates.len() as f64;
        let steps = rates.iter().zip(shares).enumerate();
        let steps = steps.map(|(index, (rate_per_s, share))| {
            let start_s = index as f64 * step_s;
            let step = Step {
                share: *share,
                rate_per_s: *rate_per_s,
                start_s,
                end_s: start_s + step_s,
                ..Step::default()
            };
            filled(step, record, result, &parts)
        });
        let schedule = result.schedule.as_ref();
        let tcp = &record.usage.tcp;
        Ok(Self {
            steps: steps.collect(),
            closed_loop: closed_loop.and_then(|shown| ClosedLoop::of(shown, overload)),
            patience_s: record.load.timeout_s,
            died: record.server_died().map(str::to_owned),
            crashes: crashes(record, result),
            slip_p99_ns: schedule.and_then(|kept| kept.slip.quantile(0.99)),
            p99_ns: result.latency.quantile(0.99),
            listen_overflows: tcp
                .first()
                .zip(tcp.last())
                .map(|(first, last)| last.listen_overflows.saturating_sub(first.listen_overflows)),
            parts,
        })
    }

    /// Whether a part is one in which requests failed because processes of the server had ended:
    /// from then on, until others answer.
    pub(super) fn is_after_crash(&self, part: &Part) -> bool {
        let end_s = |part: &Part| part.start_s + part.length_s;
        self.crashes.iter().any(|one| {
            let mut later = self.parts.iter().filter(|part| part.start_s >= one.gone_s);
            let back = later.find(|part| part.ok > 0).map(end_s);
            end_s(part) > one.last_s && back.is_none_or(|back_s| part.start_s < back_s)
        })
    }

    /// Parts that begin in a step.
    pub fn parts_of(&self, step: &Step) -> &[Part] {
        let from = self
            .parts
            .partition_point(|part| part.start_s < step.start_s - 1e-6);
        let to = self
            .parts
            .partition_point(|part| part.start_s < step.end_s - 1e-6);
        &self.parts[from..to.max(from)]
    }

    /// What was taken as the server's capacity, requests per second.
    pub fn capacity_per_s(&self) -> Option<f64> {
        let first = self.steps.iter().find(|step| step.share > 0.0)?;
        Some(first.rate_per_s / first.share)
    }

    /// Right answers per second that a closed loop showed as the capacity.
    pub(super) fn shown_per_s(&self) -> Option<f64> {
        self.capacity_per_s().filter(|_| self.closed_loop.is_some())
    }

    /// The mean latency of that closed loop, nanoseconds: by Little's law, as nobody waits between
    /// an answer and the next request.
    pub(super) fn closed_loop_mean_ns(&self) -> Option<f64> {
        let shown_per_s = self.shown_per_s().filter(|rate| *rate > 0.0)?;
        Some(f64::from(self.closed_loop?.at_a_time) / shown_per_s * 1e9)
    }

    /// Most right answers per second in a step, or in the closed loop that showed the capacity:
    /// a server that gives less from the first step beyond it on has not its peak there.
    pub fn peak_per_s(&self) -> Option<f64> {
        let rates = self.steps.iter().filter_map(|step| step.ok_per_s);
        let most = rates.reduce(f64::max)?;
        Some(self.shown_per_s().map_or(most, |shown| shown.max(most)))
    }
}

fn crashes(record: &TrialRecord, result: &LoadResult) -> Vec<WorkersEnded> {
    let tree = server_tree(&record.usage);
    let ended = tree.and_then(|tree| workers_ended(tree, result));
    let ended = ended.into_iter().flatten();
    ended.filter(|one| one.is_abrupt).collect()
}

fn parts(record: &TrialRecord, result: &LoadResult) -> Vec<Part> {
    let due = result.schedule.as_ref().map_or(&[][..], |kept| &kept.parts);
    let server = ticks(&record.usage, Role::Server);
    let part = |(index, one): (usize, &Interval)| {
        let end_s = one.start_s + one.length_s;
        let due = due.get(index).copied().unwrap_or_default();
        let mut failed = kinds(one.failed.as_ref());
        // Those due in it that were given up before they could be sent.
        failed.add(Kind::Unsent, due.due.saturating_sub(due.begun));
        let seen = server.iter();
        let seen = seen.filter(|tick| tick.at_s >= one.start_s && tick.at_s < end_s);
        Part {
            start_s: one.start_s,
            length_s: one.length_s,
            due: due.due,
            ok: one.ok,
            failed,
            p50_ns: one.latency.quantile(0.5),
            p99_ns: one.latency.quantile(0.99),
            failed_p50_ns: one.failed.as_ref().and_then(|it| it.latency.quantile(0.5)),
            memory_bytes: seen.map(|tick| tick.rss_bytes).max(),
        }
    };
    result.intervals.iter().enumerate().map(part).collect()
}

fn kinds(failed: Option<&Failed>) -> Kinds {
    failed.map_or_else(Kinds::default, |failed| {
        let outcomes = failed.outcomes.iter().map(|(outcome, n)| (*outcome, *n));
        Kinds::sorted(
            outcomes,
            failed.status.iter().map(|(status, n)| (*status, *n)),
        )
    })
}

fn ticks(usage: &Usage, role: Role) -> &[TreeTick] {
    let mut trees = usage.trees.iter();
    trees
        .find(|tree| tree.role == role)
        .map_or(&[], |tree| &tree.ticks)
}

/// The step with the results of its parts.
fn filled(mut step: Step, record: &TrialRecord, result: &LoadResult, parts: &[Part]) -> Step {
    let is_in = |start_s: f64| start_s >= step.start_s - 1e-6 && start_s < step.end_s - 1e-6;
    let (mut latency, mut failures) = (Histogram::new(), Histogram::new());
    let (mut ok, mut length_s) = (0, 0.0);
    for (one, part) in result.intervals.iter().zip(parts) {
        if !is_in(part.start_s) {
            continue;
        }
        latency.merge(&one.latency);
        if let Some(failed) = &one.failed {
            failures.merge(&failed.latency);
        }
        ok += part.ok;
        length_s += part.length_s;
        step.due += part.due;
        step.failed.merge(&part.failed);
    }
    step.ok_per_s = (length_s > 0.0).then(|| ok as f64 / length_s);
    step.p50_ns = latency.quantile(0.5);
    step.p99_ns = latency.quantile(0.99);
    step.failed_p50_ns = failures.quantile(0.5);
    step.busy_p50_ns = busy_between(&failures, &step.failed);
    step.engine_busy = engine_busy(&step, record, result);
    step
}

/// The least and the most that the median of the answers 429 and 5xx can be, nanoseconds; `None`
/// where there are none.
pub(super) fn busy_between(times: &Histogram, failed: &Kinds) -> Option<(u64, u64)> {
    let all = times.count();
    let busy = failed.of(Kind::Busy).min(all);
    if busy == 0 {
        return None;
    }
    // Who gave up has waited for longer than anybody who got an answer.
    let gave_up = failed.of(Kind::Timeout) + failed.of(Kind::Dropped);
    let others = (all - busy).saturating_sub(gave_up);
    let half = busy as f64 / 2.0;
    let at = |rank: f64| times.quantile((rank / all as f64).min(1.0));
    // All others are slower, or all are quicker.
    at(half).zip(at(others as f64 + half))
}

/// What the load engine used of its threads' processors in a step; the busiest host's where there
/// are several. The probe and the display are in it, which is little.
fn engine_busy(step: &Step, record: &TrialRecord, result: &LoadResult) -> Option<f64> {
    let Some(hosts) = &record.hosts else {
        return busy(step, &record.usage, result.threads);
    };
    let each = hosts.generators.iter().map(|part| {
        let usage = hosts.host(&part.host)?.usage.as_ref()?;
        busy(step, usage, part.result.threads)
    });
    let each: Option<Vec<f64>> = each.collect();
    each?.into_iter().reduce(f64::max)
}

fn busy(step: &Step, usage: &Usage, threads: u32) -> Option<f64> {
    let inside = ticks(usage, Role::Engine).iter();
    let mut inside = inside.filter(|it| it.at_s >= step.start_s && it.at_s <= step.end_s);
    let first = inside.next()?;
    let last = inside.next_back()?;
    let used = |tick: &TreeTick| tick.cpu_user_s + tick.cpu_system_s;
    let length_s = last.at_s - first.at_s;
    let threads = f64::from(threads.max(1));
    (length_s > 0.0).then(|| (used(last) - used(first)) / length_s / threads)
}
