//! A trial against a goal: whether it meets it.

use bakeoff_plan::Goal;
use schemars::JsonSchema;
use serde::Serialize;

use crate::seen::{Backlog, Came, Measured, Seen};

/// Share of the window that an engine's thread may work before its delays are in the latencies
/// (method R13).
const ENGINE_BUSY_MAX: f64 = 0.9;
/// How late an engine may send in any case, nanoseconds (method R9).
const SLIP_NS: f64 = 1e6;
/// The same as a share of the latency.
const SLIP_SHARE: f64 = 0.05;
/// The quantile that an engine's lateness is held against where a goal has none.
const USUAL_QUANTILE: f64 = 0.99;

/// What a trial says about a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// The server carried the rate.
    Meets,
    /// It did not.
    Exceeds(Why),
    /// The goal was missed, and the load engine may be why: that says nothing about the server.
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
    let Some(why) = missed(goal, seen, measured) else {
        return Some(Judged::Meets);
    };
    // However late it was asked, a server that answers wrong has failed.
    let is_wrong = measured.wrong as f64 > goal.errors() * measured.due as f64;
    Some(match is_engines_fault(goal, measured) && !is_wrong {
        true => Judged::Limited,
        false => Judged::Exceeds(why),
    })
}

fn missed(goal: &Goal, seen: &Seen, measured: &Measured) -> Option<Why> {
    let failed = measured.due.saturating_sub(measured.ok);
    if measured.ok == 0 || failed as f64 > goal.errors() * measured.due as f64 {
        return Some(Why::Failures);
    }
    let low_ns = goal.objective.and_then(|objective| {
        let low = measured.latency.quantile(objective.quantile())?;
        (u128::from(low) > objective.below.as_nanos()).then_some(low)
    });
    if low_ns.is_some() {
        return Some(Why::Latency);
    }
    let backlog = measured.backlog?;
    // By Little's law so many requests in flight wait for as long as the objective.
    let allowed = goal
        .objective
        .map(|objective| seen.rate_per_s * objective.below.as_secs_f64());
    let is_long = allowed.is_some_and(|allowed| backlog.end > allowed.max(1.0));
    let grows = backlog.growth > Backlog::growth_allowed(measured.due);
    (is_long || grows).then_some(Why::QueueGrows)
}

/// Whether the engine was too busy or too late for the miss to be the server's.
fn is_engines_fault(goal: &Goal, measured: &Measured) -> bool {
    let engine = measured.engine;
    let quantile = goal
        .objective
        .map_or(USUAL_QUANTILE, |objective| objective.quantile());
    let latency = measured.latency.quantile(quantile).unwrap_or(0) as f64;
    let is_late = |slip: u64| slip as f64 > SLIP_NS.max(SLIP_SHARE * latency);
    engine.local > 0
        || engine.busy.is_some_and(|busy| busy > ENGINE_BUSY_MAX)
        || engine.slip_p99_ns.is_some_and(is_late)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bakeoff_plan::Objective;
    use bakeoff_record::Histogram;

    use super::*;
    use crate::seen::{Engine, Purpose};

    /// 10 s at 1,000 requests per second, all of them right and in 1 ms.
    fn trial(change: impl Fn(&mut Measured)) -> Seen {
        let mut latency = Histogram::new();
        latency.record_n(1_000_000, 10_000);
        let mut measured = Measured {
            due: 10_000,
            ok: 10_000,
            wrong: 0,
            latency,
            backlog: Some(Backlog {
                growth: 0.0,
                end: 1.0,
            }),
            engine: Engine::default(),
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
        let backlog = |growth, end| Some(Backlog { growth, end });
        check(Judged::Meets, &|it| it.backlog = backlog(14.0, 9.0));
        check(Judged::Exceeds(Why::QueueGrows), &|it| {
            it.backlog = backlog(16.0, 9.0);
        });
        check(Judged::Exceeds(Why::QueueGrows), &|it| {
            it.backlog = backlog(0.0, 11.0);
        });
    }

    #[test]
    fn the_engine_is_blamed_only_for_what_was_missed() {
        let goal = Goal {
            objective: "p99<10ms".parse().ok(),
            errors_percent: 0.0,
        };
        let faults: [fn(&mut Engine); 3] = [
            |engine| engine.busy = Some(0.95),
            |engine| engine.slip_p99_ns = Some(2_000_000),
            |engine| engine.local = 1,
        ];
        for fault in faults {
            let met = trial(|it| fault(&mut it.engine));
            assert_eq!(judge(&goal, &met), Some(Judged::Meets));
            let missed = trial(|it| {
                it.latency.record_n(20_000_000, 1000);
                fault(&mut it.engine);
            });
            assert_eq!(judge(&goal, &missed), Some(Judged::Limited));
        }
        let late_beside_slow = trial(|it| {
            it.latency.record_n(200_000_000, 1000);
            it.engine.slip_p99_ns = Some(2_000_000);
        });
        let expected = Some(Judged::Exceeds(Why::Latency));
        assert_eq!(judge(&goal, &late_beside_slow), expected);
    }

    #[test]
    fn wrong_answers_are_the_servers_fault_however_late_the_engine_was() {
        let goal = Goal {
            objective: "p99<10ms".parse().ok(),
            errors_percent: 0.1,
        };
        let late = |wrong| {
            trial(move |it| {
                (it.ok, it.wrong) = (9_900, wrong);
                it.engine.slip_p99_ns = Some(5_000_000);
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
