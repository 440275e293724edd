//! Whether a trial meets a goal.

use bakeoff_plan::{Goal, Objective};
use bakeoff_record::limits::{ENGINE_BUSY_INVALID, SEND_LAG_NS, SEND_LAG_SHARE, STARTED_SHARE};
use schemars::JsonSchema;
use serde::Serialize;

use crate::seen::{Backlog, Came, Measured, Seen};

/// The quantile that an engine's lateness is held against where a goal has none.
const USUAL_QUANTILE: f64 = 0.99;

/// What a trial says about a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// The server carried the rate.
    Meets,
    /// It did not.
    Exceeds(Why),
    /// The load engine may be why the goal was missed, or did not offer the rate, or it is not
    /// known how many requests waited: that says nothing about the server.
    Limited,
}

/// In what a trial missed its goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The quantile is above the objective, with requests without an end at the age they reached.
    Latency,
    /// More of the requests due failed, had no end or were never begun.
    Failures,
    /// Requests came in faster than they ended: with more time the latency would be any.
    QueueGrows,
    /// The server ended.
    Died,
}

impl Why {
    /// As a part of a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Failures => "failures",
            Self::QueueGrows => "growing queue",
            Self::Died => "server ended",
        }
    }
}

/// Holds a trial against a goal; `None` of a trial that did not come to its load.
pub fn judge(goal: &Goal, seen: &Seen) -> Option<Judged> {
    let measured = match &seen.came {
        Came::Measured(measured) => measured,
        Came::Died => return Some(Judged::Exceeds(Why::Died)),
        Came::Lost(_) => return None,
    };
    let fault = fault(goal, measured);
    Some(match missed(goal, seen, measured, Lateness::None) {
        // What was sent late counts from when it was due, and what comes late ends no earlier. So
        // an engine on time would have met the goal too, as long as it sent all that was due.
        // Without a backlog a queue may have grown, and nobody has seen it.
        None if measured.backlog.is_none() => Judged::Limited,
        None if fault.is_none() || measured.is_offered() => Judged::Meets,
        None => Judged::Limited,
        Some(why) => match fault {
            None => Judged::Exceeds(why),
            Some(fault) => {
                missed_anyway(goal, seen, measured, fault).map_or(Judged::Limited, Judged::Exceeds)
            }
        },
    })
}

/// Whether the quantile that an objective is for is above it, nanoseconds.
pub(crate) fn is_above(objective: &Objective, quantile_ns: Option<u64>) -> bool {
    quantile_ns.is_some_and(|ns| u128::from(ns) > objective.below.as_nanos())
}

/// What the engine did that may be why a goal was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It sent late, and how late is known of each request.
    Late,
    /// It had no time or no ports left: what it saw late is not known.
    Short,
}

/// How much of what was measured is taken to be the engine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lateness {
    None,
    All,
}

/// In what the server missed the goal by itself, whatever the engine did.
fn missed_anyway(goal: &Goal, seen: &Seen, measured: &Measured, fault: Fault) -> Option<Why> {
    // However late it was asked, a server that answers wrong has failed.
    if measured.wrong as f64 > goal.errors() * measured.due as f64 {
        return Some(Why::Failures);
    }
    match fault {
        Fault::Late => missed(goal, seen, measured, Lateness::All),
        Fault::Short => None,
    }
}

fn missed(goal: &Goal, seen: &Seen, measured: &Measured, lateness: Lateness) -> Option<Why> {
    let is_servers = lateness == Lateness::None;
    let tolerated = goal.errors() * measured.due as f64;
    let fails = measured.ok == 0 || measured.failed() as f64 > tolerated;
    if fails && is_servers {
        return Some(Why::Failures);
    }
    let is_slow = |objective: &Objective| {
        let q = objective.quantile();
        let low = match lateness {
            Lateness::None => measured.latency.quantile(q),
            Lateness::All => measured.punctual(q),
        };
        is_above(objective, low)
    };
    if goal.objective.as_ref().is_some_and(is_slow) {
        return Some(Why::Latency);
    }
    let mut backlog = measured.backlog?;
    if lateness == Lateness::All {
        backlog = backlog.without(measured.engine.late_requests(seen.rate_per_s)?);
    }
    // How many wait says nothing of a quantile: where one request of ten takes long, the mean is
    // beyond an objective for the median.
    let grows = backlog.growth > Backlog::growth_allowed(measured.due);
    grows.then_some(Why::QueueGrows)
}

/// Whether the engine was too busy or too late for a miss to be the server's without more ado.
fn fault(goal: &Goal, measured: &Measured) -> Option<Fault> {
    let engine = measured.engine;
    let quantile = goal
        .objective
        .map_or(USUAL_QUANTILE, |objective| objective.quantile());
    let latency = measured.latency.quantile(quantile).unwrap_or(0) as f64;
    let is_late = |slip: u64| slip as f64 > SEND_LAG_NS.max(SEND_LAG_SHARE * latency);
    let is_busy = engine.busy.is_some_and(|busy| busy > ENGINE_BUSY_INVALID);
    if engine.local > 0 || is_busy {
        return Some(Fault::Short);
    }
    let slip = engine.slip.filter(|slip| is_late(slip.p99_ns));
    slip.map(|_| Fault::Late)
}

/// Whether the load engine may be why latencies are as long as they are.
pub(crate) fn is_late_or_busy(goal: &Goal, measured: &Measured) -> bool {
    fault(goal, measured).is_some()
}

impl Measured {
    /// Whether nearly all that was due was sent, however late.
    fn is_offered(&self) -> bool {
        self.engine.unbegun as f64 <= (1.0 - STARTED_SHARE) * self.due as f64 + 1e-6
    }

    /// A quantile of the latencies that an engine on time would have seen, at the least,
    /// nanoseconds. Engines of several threads do not know how late the others were; then the
    /// latest request stands for all of them.
    fn punctual(&self, quantile: f64) -> Option<u64> {
        if let Some(punctual) = &self.punctual {
            return punctual.quantile(quantile);
        }
        let slip = self.engine.slip?;
        let latency = self.latency.quantile(quantile)?;
        Some(latency.saturating_sub(slip.max_ns))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bakeoff_record::Histogram;

    use super::*;
    use crate::seen::{Engine, Purpose, Slip};

    /// 10 s at 1,000 requests per second, all of them right and in 1 ms.
    fn trial(change: impl Fn(&mut Measured)) -> Seen {
        let mut latency = Histogram::new();
        latency.record_n(1_000_000, 10_000);
        let mut measured = Measured {
            due: 10_000,
            ok: 10_000,
            wrong: 0,
            latency,
            punctual: None,
            backlog: Some(Backlog { growth: 0.0 }),
            engine: Engine::default(),
            places: Box::default(),
        };
        change(&mut measured);
        Seen {
            id: "n1".to_owned(),
            purpose: Purpose::Search,
            rate_per_s: 1000.0,
            length_s: 10.0,
            took_s: 11.0,
            is_disturbed: false,
            came: Came::Measured(measured),
        }
    }

    #[test]
    fn a_trial_is_held_against_the_objective_the_failures_and_the_queue() {
        let goal = Goal {
            objective: Some(Objective {
                percent: 99.0,
                below: Duration::from_millis(10),
            }),
            errors_percent: 0.1,
        };
        let check = |expected, change: &dyn Fn(&mut Measured)| {
            assert_eq!(judge(&goal, &trial(change)), Some(expected));
        };
        let slow = |measured: &mut Measured, slow| measured.latency.record_n(20_000_000, slow);
        check(Judged::Meets, &|_| ());
        check(Judged::Meets, &|it| slow(it, 100));
        check(Judged::Exceeds(Why::Latency), &|it| slow(it, 102));
        check(Judged::Meets, &|it| it.ok = 9_990);
        check(Judged::Exceeds(Why::Failures), &|it| it.ok = 9_989);
        let backlog = |growth| Some(Backlog { growth });
        check(Judged::Meets, &|it| it.backlog = backlog(29.0));
        check(Judged::Exceeds(Why::QueueGrows), &|it| {
            it.backlog = backlog(31.0);
        });
    }

    fn p99_below_10_ms(errors_percent: f64) -> Goal {
        Goal {
            objective: "p99<10ms".parse().ok(),
            errors_percent,
        }
    }

    /// 99 % of the requests were at most 2 ms late, and one was 8 ms late.
    const LATE: Slip = Slip {
        p99_ns: 2_000_000,
        max_ns: 8_000_000,
    };

    fn histogram(all: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for (ms, times) in all {
            histogram.record_n(ms * 1_000_000, *times);
        }
        histogram
    }

    #[test]
    fn a_goal_that_is_met_is_met_however_late_the_engine_was() {
        let goal = p99_below_10_ms(0.0);
        let faults: [fn(&mut Engine); 3] = [
            |engine| engine.busy = Some(0.95),
            |engine| engine.slip = Some(LATE),
            |engine| engine.local = 1,
        ];
        for fault in faults {
            let met = trial(|it| fault(&mut it.engine));
            assert_eq!(judge(&goal, &met), Some(Judged::Meets));
            let missed = trial(|it| {
                it.latency = histogram(&[(1, 9_000), (12, 1_000)]);
                fault(&mut it.engine);
            });
            assert_eq!(judge(&goal, &missed), Some(Judged::Limited));
        }
    }

    #[test]
    fn a_rate_that_was_not_offered_is_not_met() {
        let goal = p99_below_10_ms(5.0);
        let left_out = |unbegun, slip| {
            trial(move |it| {
                it.ok = 10_000 - unbegun;
                (it.engine.unbegun, it.engine.slip) = (unbegun, slip);
            })
        };
        let judged = |unbegun, slip| judge(&goal, &left_out(unbegun, slip));
        assert_eq!(judged(100, Some(LATE)), Some(Judged::Meets));
        assert_eq!(judged(101, Some(LATE)), Some(Judged::Limited));
        let on_time = Slip {
            p99_ns: 100_000,
            ..LATE
        };
        let met = Some(Judged::Meets);
        assert_eq!(
            judged(101, Some(on_time)),
            met,
            "the server's connections were taken"
        );
    }

    /// The same latencies: in one trial the engine sent them late, in the other the server was
    /// slow beside a late engine.
    #[test]
    fn what_is_missed_without_the_engines_lateness_too_is_the_servers() {
        let goal = p99_below_10_ms(0.0);
        let latency = histogram(&[(1, 9_000), (12, 1_000)]);
        let check = |punctual: &[(u64, u64)], expected| {
            let trial = trial(|it| {
                it.latency = latency.clone();
                it.punctual = Some(Box::new(histogram(punctual)));
                it.engine.slip = Some(LATE);
            });
            assert_eq!(judge(&goal, &trial), Some(expected), "{punctual:?}");
        };
        check(&[(1, 9_000), (11, 1_000)], Judged::Exceeds(Why::Latency));
        check(
            &[(1, 9_000), (4, 700), (11, 300)],
            Judged::Exceeds(Why::Latency),
        );
        check(&[(1, 9_000), (4, 950), (11, 50)], Judged::Limited);
        check(&[(1, 9_000), (4, 1_000)], Judged::Limited);
    }

    #[test]
    fn without_knowing_each_request_the_latest_stands_for_all() {
        let goal = p99_below_10_ms(0.0);
        let slow = |ms| {
            trial(move |it| {
                it.latency = histogram(&[(1, 9_000), (ms, 1_000)]);
                it.engine.slip = Some(LATE);
            })
        };
        assert_eq!(judge(&goal, &slow(17)), Some(Judged::Limited));
        let expected = Some(Judged::Exceeds(Why::Latency));
        assert_eq!(judge(&goal, &slow(19)), expected);
    }

    #[test]
    fn a_queue_that_grows_by_more_than_was_sent_late_is_the_servers() {
        let goal = Goal {
            objective: "p99<1s".parse().ok(),
            errors_percent: 0.0,
        };
        // At 1,000 requests per second 8 are sent late at once, at the most.
        let growing = |growth| {
            trial(move |it| {
                it.backlog = Some(Backlog { growth });
                it.engine.slip = Some(LATE);
            })
        };
        assert_eq!(judge(&goal, &growing(29.0)), Some(Judged::Meets));
        assert_eq!(judge(&goal, &growing(41.0)), Some(Judged::Limited));
        let expected = Some(Judged::Exceeds(Why::QueueGrows));
        assert_eq!(judge(&goal, &growing(43.0)), expected);
    }

    #[test]
    fn lateness_that_is_little_beside_the_latency_is_none() {
        let goal = p99_below_10_ms(0.0);
        let late_beside_slow = trial(|it| {
            it.latency.record_n(200_000_000, 1000);
            it.engine.slip = Some(LATE);
        });
        let expected = Some(Judged::Exceeds(Why::Latency));
        assert_eq!(judge(&goal, &late_beside_slow), expected);
    }

    #[test]
    fn a_queue_that_nobody_saw_may_have_grown() {
        let goal = p99_below_10_ms(0.0);
        let unseen = trial(|it| it.backlog = None);
        assert_eq!(judge(&goal, &unseen), Some(Judged::Limited));
        let slow = trial(|it| {
            it.backlog = None;
            it.latency = histogram(&[(12, 10_000)]);
        });
        let expected = Some(Judged::Exceeds(Why::Latency));
        assert_eq!(judge(&goal, &slow), expected);
    }

    #[test]
    fn wrong_answers_are_the_servers_fault_however_late_the_engine_was() {
        let goal = p99_below_10_ms(0.1);
        let late = |wrong| {
            trial(move |it| {
                (it.ok, it.wrong) = (9_900, wrong);
                it.engine.slip = Some(LATE);
            })
        };
        assert_eq!(judge(&goal, &late(0)), Some(Judged::Limited), "never begun");
        let expected = Some(Judged::Exceeds(Why::Failures));
        assert_eq!(judge(&goal, &late(100)), expected);
    }

    #[test]
    fn a_server_that_ends_under_load_did_not_carry_it() {
        let goal = Goal {
            objective: None,
            errors_percent: 50.0,
        };
        let came = |came| Seen {
            came,
            ..trial(|_| ())
        };
        assert_eq!(
            judge(&goal, &came(Came::Died)),
            Some(Judged::Exceeds(Why::Died))
        );
        assert_eq!(judge(&goal, &came(Came::Lost("no port".to_owned()))), None);
        let nothing = trial(|it| it.ok = 0);
        assert_eq!(judge(&goal, &nothing), Some(Judged::Exceeds(Why::Failures)));
    }
}
