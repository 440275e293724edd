//! A trial as a search sees it: what it offered, and what decides whether it meets a goal.

use bakeoff_record::{Histogram, LoadResult, Outcome, TrialEnd, TrialRecord};

use crate::places::Places;

/// What a trial of a search is for. It is a part of the trial's load name, so that trials of
/// different purposes are cells of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Purpose {
    /// A closed loop, to know where to begin.
    Closed,
    /// One of those that the bounds are found by.
    Search,
    /// One of those that confirm the lower bound.
    Confirm,
    /// A point of the latency curve, at so many percent of the lower bound.
    Curve {
        /// Percent.
        percent: f64,
    },
}

impl Purpose {
    /// The load name of such a trial in the search of a label.
    pub fn load_name(self, label: &str) -> String {
        match self {
            Self::Closed => format!("{label}-closed"),
            Self::Search => label.to_owned(),
            Self::Confirm => format!("{label}-confirm"),
            Self::Curve { percent } => format!("{label}-at{percent}"),
        }
    }

    /// The purpose of a trial with a load name; `None` where it is not one of the search of that
    /// label.
    pub(crate) fn of(load_name: &str, label: &str) -> Option<Self> {
        match load_name.strip_prefix(label)? {
            "" => Some(Self::Search),
            "-closed" => Some(Self::Closed),
            "-confirm" => Some(Self::Confirm),
            other => {
                let percent = other.strip_prefix("-at")?.parse().ok()?;
                Some(Self::Curve { percent })
            }
        }
    }

    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Search => "search",
            Self::Confirm => "confirm",
            Self::Curve { .. } => "curve",
        }
    }
}

/// A trial as a search sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Id in the record.
    pub id: String,
    /// What it was for.
    pub purpose: Purpose,
    /// Rate that was offered, requests per second; 0 in a closed loop.
    pub rate_per_s: f64,
    /// Measured time, seconds.
    pub length_s: f64,
    /// From its first step to its last, seconds.
    pub took_s: f64,
    /// Whether something on the machine disturbed it, judged by what the machine did. A trial that
    /// a bound rests on is taken for disturbed where it is in doubt.
    pub is_disturbed: bool,
    /// What came of it.
    pub came: Came,
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum Came {
    /// Its window was measured.
    Measured(Measured),
    /// The server ended under load.
    Died,
    /// It did not come to its load, or a host or the load engine was lost in it: why.
    Lost(String),
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Requests due; those that ended in a closed loop.
    pub due: u64,
    /// Requests that came out right.
    pub ok: u64,
    /// Requests whose end was not right, without those that could not be sent.
    pub wrong: u64,
    /// Latencies of right answers, and the ages of requests without an end.
    pub latency: Histogram,
    /// The same as an engine on time would have seen them, at the least; `None` where that is not
    /// known of each request.
    pub punctual: Option<Box<Histogram>>,
    /// How many requests waited for their answer; `None` where that is not known.
    pub backlog: Option<Backlog>,
    /// What the engine did.
    pub engine: Engine,
    /// How far the connections were taken.
    pub places: Box<Places>,
}

impl Measured {
    /// Requests that were due and did not come out right.
    pub(crate) fn failed(&self) -> u64 {
        self.due.saturating_sub(self.ok)
    }

    /// The same as a share of the requests due.
    pub(crate) fn failed_share(&self) -> Option<f64> {
        (self.due > 0).then(|| self.failed() as f64 / self.due as f64)
    }
}

/// Requests that were due and had no end yet, by a straight line fitted over the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backlog {
    /// By how many they grew over the window.
    pub growth: f64,
}

/// What the load engine did, as far as it may be at fault.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Engine {
    /// Share of the window that its busiest thread worked; `None` where that is not known.
    pub busy: Option<f64>,
    /// How late it was by itself; `None` where nothing was sent or it is not known.
    pub slip: Option<Slip>,
    /// Requests that could not be sent: no file, port or memory on this side.
    pub local: u64,
    /// Requests that were due and never begun.
    pub unbegun: u64,
}

/// How late requests were begun that did not wait for the server, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slip {
    /// 99 % of them no later than this.
    pub p99_ns: u64,
    /// None of them later than this.
    pub max_ns: u64,
}

impl Engine {
    /// Requests that were sent late together, at the most, at a rate.
    pub(crate) fn late_requests(&self, rate_per_s: f64) -> Option<f64> {
        self.slip.map(|slip| rate_per_s * slip.max_ns as f64 / 1e9)
    }
}

impl Seen {
    /// A recorded trial of the search of a label; `None` of other trials and of what was
    /// interrupted.
    pub(crate) fn of(record: &TrialRecord, label: &str) -> Option<Self> {
        let purpose = Purpose::of(record.load_name.as_deref()?, label)?;
        if record.end == TrialEnd::Interrupted {
            return None;
        }
        Some(Self {
            id: record.id.clone(),
            purpose,
            rate_per_s: record.load.model.rate_per_s().unwrap_or(0.0),
            length_s: record.load.duration_s,
            took_s: record.steps.iter().map(|step| step.took_s).sum(),
            is_disturbed: match purpose {
                Purpose::Search | Purpose::Confirm => record.is_in_doubt(),
                Purpose::Closed | Purpose::Curve { .. } => record.is_disturbed(),
            },
            came: came(record),
        })
    }

    /// What was measured.
    pub(crate) fn measured(&self) -> Option<&Measured> {
        match &self.came {
            Came::Measured(measured) => Some(measured),
            Came::Died | Came::Lost(_) => None,
        }
    }

    /// Right answers per second.
    pub(crate) fn ok_per_s(&self) -> Option<f64> {
        let measured = self.measured()?;
        (self.length_s > 0.0).then(|| measured.ok as f64 / self.length_s)
    }
}

fn came(record: &TrialRecord) -> Came {
    if record.server_died().is_some() {
        return Came::Died;
    }
    match (&record.end, &record.result) {
        (TrialEnd::Measured, Some(result)) => Came::Measured(measured(record, result)),
        (TrialEnd::Measured, None) => Came::Lost("nothing was measured".to_owned()),
        (TrialEnd::Failed { cause, .. }, _) => Came::Lost(cause.clone()),
        (TrialEnd::Skipped { reason, .. } | TrialEnd::Unsupported { reason }, _) => {
            Came::Lost(reason.clone())
        }
        (TrialEnd::Interrupted, _) => Came::Lost("interrupted".to_owned()),
    }
}

fn measured(record: &TrialRecord, result: &LoadResult) -> Measured {
    let schedule = result.schedule.as_ref();
    Measured {
        due: result.requests.asked(),
        ok: result.requests.ok,
        wrong: result
            .requests
            .completed
            .saturating_sub(result.requests.ok + result.outcomes.of(Outcome::Local)),
        latency: result.latency_with_unended().trimmed(),
        punctual: punctual(result),
        backlog: backlog(result),
        engine: Engine {
            busy: busy(result),
            slip: schedule.and_then(|kept| slip(&kept.slip)),
            local: result.outcomes.of(Outcome::Local),
            unbegun: result
                .requests
                .asked()
                .saturating_sub(result.requests.begun),
        },
        places: Box::new(Places::of(record, result)),
    }
}

fn slip(slip: &Histogram) -> Option<Slip> {
    Some(Slip {
        p99_ns: slip.quantile(0.99)?,
        max_ns: slip.max()?,
    })
}

/// Latencies without the lateness of the engine, with requests without an end at their age.
fn punctual(result: &LoadResult) -> Option<Box<Histogram>> {
    let mut all = result.punctual()?.clone();
    let kept = result.schedule.as_ref()?;
    let most = kept.slip.max().unwrap_or(0);
    for (age_ns, times) in result.at_least.buckets() {
        all.record_n(age_ns.saturating_sub(most), times);
    }
    Some(Box::new(all.trimmed()))
}

fn busy(result: &LoadResult) -> Option<f64> {
    let threads = result.engine.threads.iter();
    let most = threads.map(|thread| thread.cpu_s).reduce(f64::max)?;
    (result.measured_s > 0.0).then(|| most / result.measured_s)
}

/// What was due and had not ended, over the window. What is in flight would not do: a request that
/// waits for a free connection is due and not begun.
fn backlog(result: &LoadResult) -> Option<Backlog> {
    let mut due = result.schedule.as_ref()?.parts.iter().peekable();
    let mut waiting = result.balance.carried_in as f64;
    let mut points = vec![(0.0, waiting)];
    let mut ended = result.intervals.iter().peekable();
    while let Some(part) = ended.next() {
        let end_s = part.start_s + part.length_s;
        let is_last = ended.peek().is_none();
        // The two kinds of parts need not be of one length, and nothing may be due in the last.
        while let Some(due) =
            due.next_if(|due| is_last || due.start_s + due.length_s <= end_s + 1e-3)
        {
            waiting += due.due as f64;
        }
        waiting -= (part.ok + part.errors) as f64;
        if due.peek().is_none_or(|due| due.start_s >= end_s - 1e-3) {
            points.push((end_s, waiting));
        }
    }
    fitted(&points)
}

impl Backlog {
    /// At the least, where up to so many of the requests waited because they were sent late. Any
    /// number of them, at any time, moves the slope of the line by at most 3/2 of that over the
    /// window.
    pub(crate) fn without(self, late: f64) -> Self {
        Self {
            growth: self.growth - 1.5 * late,
        }
    }

    /// By how many requests a backlog may grow over a window in which `due` are due, at a rate
    /// that the server can carry for good.
    ///
    /// Poisson arrivals at exactly the rate of the server make a backlog that wanders like a sum of
    /// steps, about as far as the square root of their number. 15 % of that is exceeded as often as
    /// not within 2 % of the edge, and hardly ever at 90 % of it, where the backlog returns to its
    /// mean within the window. At a high rate that is little, and what a stall or some slower
    /// seconds leave is more; so 0.3 % of what is due is always allowed, less than a sixth of the
    /// bounds' width. In 1,600 simulated searches no lower bound then was 1 % above the capacity;
    /// with 0.4 % some were.
    pub(crate) fn growth_allowed(due: u64) -> f64 {
        let due = due as f64;
        (0.15 * due.sqrt()).max(0.003 * due)
    }
}

/// The straight line through points (time, number) with the least squares.
pub(crate) fn fitted(points: &[(f64, f64)]) -> Option<Backlog> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_t, mean_n) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(t, _)| (t - mean_t).powi(2)).sum();
    let (first, last) = (points.first()?.0, points.last()?.0);
    if spread <= 0.0 {
        return None;
    }
    let together = points.iter().map(|(t, n)| (t - mean_t) * (n - mean_n));
    let slope = together.sum::<f64>() / spread;
    Some(Backlog {
        growth: slope * (last - first),
    })
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Arrival, Load, LoadModel};
    use bakeoff_record::{Disturbance, DuePart, Hosts, Interval, LostHost, ScheduleKept, Step};

    use super::*;

    #[test]
    fn a_load_name_says_the_purpose() {
        let label = "find-p99-10ms-c100";
        let all = [
            Purpose::Closed,
            Purpose::Search,
            Purpose::Confirm,
            Purpose::Curve { percent: 25.0 },
            Purpose::Curve { percent: 12.5 },
        ];
        for purpose in all {
            assert_eq!(Purpose::of(&purpose.load_name(label), label), Some(purpose));
        }
        for other in ["find-p99-10ms-c10", "find-p99-10ms-c1000", "c100", ""] {
            assert_eq!(Purpose::of(other, label), None, "{other}");
        }
    }

    const LABEL: &str = "find-p99-10ms-c100";

    /// An open loop of one second.
    fn open_load(rate_per_s: f64, clients: u32) -> Load {
        Load {
            timeout_s: 5.0,
            ..Load::new(
                LoadModel::Open {
                    rate_per_s,
                    arrival: Arrival::Constant,
                    clients,
                },
                1.0,
            )
        }
    }

    /// One that ended so; with a result where something was measured.
    fn record(end: TrialEnd, is_measured: bool) -> TrialRecord {
        let load = open_load(10.0, 1);
        TrialRecord {
            load_name: Some(LABEL.to_owned()),
            end,
            result: is_measured.then(|| LoadResult::empty(load.clone(), 1.0)),
            ..TrialRecord::begun("n1", "a", "w", load)
        }
    }

    fn failed(step: Step, cause: &str) -> TrialEnd {
        TrialEnd::failed(step, cause)
    }

    #[test]
    fn what_a_bound_rests_on_is_set_aside_where_it_is_in_doubt() {
        let is_disturbed = |purpose: Purpose, doubted: &[Disturbance]| {
            let mut record = record(TrialEnd::Measured, true);
            record.load_name = Some(purpose.load_name(LABEL));
            record.doubted = Some(doubted.to_vec());
            Seen::of(&record, LABEL).unwrap().is_disturbed
        };
        let steal = [Disturbance::Steal];
        assert!(is_disturbed(Purpose::Search, &steal));
        assert!(is_disturbed(Purpose::Confirm, &steal));
        assert!(!is_disturbed(Purpose::Search, &[]));
        assert!(!is_disturbed(Purpose::Curve { percent: 50.0 }, &steal));
    }

    #[test]
    fn only_the_end_of_the_server_is_a_death() {
        let came = |record: &TrialRecord| Seen::of(record, LABEL).unwrap().came;
        for step in [Step::WarmUp, Step::Measure, Step::CheckAgain] {
            let died = record(failed(step, "the server died under load"), true);
            assert_eq!(came(&died), Came::Died, "{step:?}");
            let mut lost = record(failed(step, "host g1 was lost"), true);
            lost.hosts = Some(Hosts {
                lost: vec![LostHost {
                    host: "g1".to_owned(),
                    at_s: None,
                    message: "no answer for 10 s".to_owned(),
                }],
                ..Hosts::default()
            });
            let expected = Came::Lost("host g1 was lost".to_owned());
            assert_eq!(came(&lost), expected, "{step:?}");
        }
        for (step, cause, is_measured) in [
            (Step::Measure, "failed to start a thread", false),
            (Step::Measure, "the load engine failed: no memory", false),
            (Step::Stop, "process 123 still runs", true),
        ] {
            let lost = record(failed(step, cause), is_measured);
            assert_eq!(came(&lost), Came::Lost(cause.to_owned()));
        }
    }

    /// At 10/s the last parts of the window often have nothing that is due.
    #[test]
    fn a_backlog_is_known_where_the_parts_differ() {
        let backlog = |due: &[(f64, f64, u64)], ended: &[(f64, f64, u64)]| {
            let mut record = record(TrialEnd::Measured, true);
            let result = record.result.as_mut().unwrap();
            let part = |&(start_s, length_s, due)| DuePart {
                start_s,
                length_s,
                due,
                ..DuePart::default()
            };
            result.schedule = Some(ScheduleKept {
                parts: due.iter().map(part).collect(),
                ..ScheduleKept::default()
            });
            let part = |&(start_s, length_s, ok)| Interval {
                start_s,
                length_s,
                ok,
                errors: 0,
                latency: Histogram::new(),
                failed: None,
            };
            result.intervals = ended.iter().map(part).collect();
            backlog(result)
        };
        let fitted = |points: &[(f64, f64)]| fitted(points);
        let due = [(0.0, 0.5, 3), (0.5, 0.5, 2)];
        let ended = [(0.0, 0.5, 1), (0.5, 0.5, 2)];
        let expected = fitted(&[(0.0, 0.0), (0.5, 2.0), (1.0, 2.0)]);
        assert_eq!(backlog(&due, &ended), expected);
        let expected = fitted(&[(0.0, 0.0), (0.5, 2.0), (1.0, 0.0)]);
        assert_eq!(backlog(&due[..1], &ended), expected, "nothing was due last");
        let expected = fitted(&[(0.0, 0.0), (1.0, 2.0)]);
        assert_eq!(backlog(&due, &[(0.0, 1.0, 3)]), expected, "longer parts");
        let due = [(0.0, 0.7, 3), (0.7, 0.7, 2)];
        assert_eq!(backlog(&due, &ended), expected, "only ends that both have");
        assert_eq!(backlog(&due, &[]), None);
    }

    #[test]
    fn a_line_is_fitted() {
        let line = fitted(&[(0.0, 5.0), (1.0, 7.0), (2.0, 9.0)]).unwrap();
        assert!((line.growth - 4.0).abs() < 1e-9);
        let spike = fitted(&[(0.0, 5.0), (1.0, 500.0), (2.0, 5.0)]).unwrap();
        assert!(
            spike.growth.abs() < 1e-9,
            "a stall that is made up for is no growth"
        );
        assert_eq!(fitted(&[(1.0, 5.0)]), None);
    }
}
