//! A made-up change: five reloads a second apart in each of two rounds, and as long without one.
//!
//! nginx-default loses nothing and closes kept connections. nginx-optimized does the same, and ends
//! in the second round. caddy-default pauses for 120 ms and loses 7 requests at each, and the last
//! of its reloads could not be carried out.

use std::time::Duration;

use bakeoff_plan::{Action, Actions, Arrival, Load, LoadModel};
use bakeoff_record::{
    ActionDone, ActionPart, ContenderKind, Gap, Latencies, Lost, LostAt, Outcome, OutcomeCounts,
    Record, Role, Step, TakenUp, TrialEnd, TrialRecord,
};

use crate::{MEASURED_S, load, plan, record_of, traffic, unmeasured};

/// Requests per second.
const RATE: u64 = 1000;
/// Length of a pause.
const PAUSE_MS: i32 = 120;

/// The change.
pub fn changed() -> Record {
    let mut plan = plan(2);
    plan.name = "change".into();
    plan.description = "Two servers, reloaded.".into();
    plan.workloads.truncate(1);
    plan.loads = [Action::None, Action::Reload].map(asked).into();
    plan.references.yardstick = false;
    plan.references.origin = false;
    let mut record = record_of(plan, false);
    record
        .trials
        .retain(|it| it.kind == ContenderKind::Contender);
    record.trials.iter_mut().for_each(carry_out);
    record
}

fn asked(action: Action) -> Load {
    let model = LoadModel::Open {
        rate_per_s: RATE as f64,
        arrival: Arrival::Constant,
        clients: 50,
    };
    let times = MEASURED_S as u32;
    let actions = Actions {
        action,
        times,
        every: Duration::from_secs(1),
        kept: 0.8,
    };
    Load {
        model,
        ..load(50).with_actions(actions)
    }
}

fn carry_out(trial: &mut TrialRecord) {
    let Some(actions) = trial.load.actions.clone() else {
        return;
    };
    let is_reload = actions.action == Action::Reload;
    if is_reload && trial.contender == "nginx-optimized" && trial.round == 2 {
        unmeasured(trial);
        trial.end = TrialEnd::Failed {
            step: Step::Measure,
            cause: "nginx-optimized ended under load".into(),
            message: Some("worker process 7 exited on signal 11".into()),
        };
        return;
    }
    if let Some(result) = &mut trial.result {
        traffic::keep_time(result, &trial.load);
    }
    let pauses = is_reload && trial.contender == "caddy-default";
    let round = trial.round;
    trial.actions = (0_u8..)
        .zip(actions.due())
        .map(|(nth, due)| {
            let at_s = due.as_secs_f64() + 0.0004;
            match (is_reload, pauses) {
                (true, true) if (round, nth) == (2, 4) => ActionDone {
                    failed: Some("`caddy reload` ended with exit status 1".into()),
                    ..quiet(Action::Reload, at_s)
                },
                (true, true) => paused(at_s),
                (true, false) => reloaded(at_s, u64::from(nth)),
                (false, _) => quiet(Action::None, at_s),
            }
        })
        .collect();
    if is_reload {
        grow(trial);
    }
}

/// Nothing happens: an answer every millisecond.
fn quiet(action: Action, at_s: f64) -> ActionDone {
    let latencies = |max_ms| Latencies {
        ok: RATE / 2,
        p99_ms: Some(1.25),
        max_ms: Some(max_ms),
    };
    let parts = (-50..50).map(|part| part_of(part * ActionDone::PART_MS, RATE / 100, 0));
    ActionDone {
        action,
        at_s,
        took_s: if action == Action::None { 0.0 } else { 0.0021 },
        failed: None,
        taken_up: None,
        said: None,
        lost: Vec::new(),
        due: RATE,
        closed: 0,
        closed_before: 0,
        gap: Some(Gap {
            from_s: 0.31,
            length_s: 0.0017,
        }),
        before: latencies(2.5),
        after: latencies(3.1),
        parts: parts.collect(),
    }
}

fn part_of(at_ms: i32, ok: u64, refused: u64) -> ActionPart {
    let mut ended = OutcomeCounts::default();
    ended.add_many(Outcome::Ok, ok);
    ended.add_many(Outcome::Refused, refused);
    ActionPart { at_ms, ended }
}

/// Nothing is lost, and kept connections are closed.
fn reloaded(at_s: f64, nth: u64) -> ActionDone {
    ActionDone {
        closed: 40 + nth,
        taken_up: Some(TakenUp {
            first_new_s: Some(0.012),
            last_old_s: Some(0.019),
        }),
        after: Latencies {
            p99_ms: Some(4.5),
            max_ms: Some(11.0),
            ..quiet(Action::Reload, at_s).after
        },
        ..quiet(Action::Reload, at_s)
    }
}

/// Two requests are cut off and five refused, and the others wait for the end of the pause.
fn paused(at_s: f64) -> ActionDone {
    let lost = |at, outcome, requests| Lost {
        at,
        outcome,
        requests,
    };
    let mut done = quiet(Action::Reload, at_s);
    for part in &mut done.parts {
        let held = RATE * PAUSE_MS as u64 / 1000;
        *part = match part.at_ms {
            at if at == ActionDone::PART_MS => part_of(at, 0, 7),
            at if (0..PAUSE_MS).contains(&at) => part_of(at, 0, 0),
            PAUSE_MS => part_of(PAUSE_MS, RATE / 100 + held - 7, 0),
            at => part_of(at, RATE / 100, 0),
        };
    }
    done.parts.retain(|part| part.ended.completed() > 0);
    ActionDone {
        lost: vec![
            lost(LostAt::InFlight, Outcome::Reset, 2),
            lost(LostAt::New, Outcome::Refused, 5),
        ],
        said: Some("10:00:01 [error] worker 7 failed to drain".to_owned()),
        closed: 5,
        gap: Some(Gap {
            from_s: 0.0003,
            length_s: f64::from(PAUSE_MS) / 1e3,
        }),
        taken_up: Some(TakenUp {
            first_new_s: Some(0.121),
            last_old_s: None,
        }),
        after: Latencies {
            ok: RATE / 2 - 7,
            p99_ms: Some(118.0),
            max_ms: Some(121.0),
        },
        ..done
    }
}

/// A process more for three tenths of a second after each action.
fn grow(trial: &mut TrialRecord) {
    let times: Vec<f64> = trial.actions.iter().map(|done| done.at_s).collect();
    let trees = trial.usage.trees.iter_mut();
    for tree in trees.filter(|tree| tree.role == Role::Server) {
        for tick in &mut tree.ticks {
            if times
                .iter()
                .any(|at_s| (*at_s..at_s + 0.3).contains(&tick.at_s))
            {
                tick.processes += 1;
                tick.rss_bytes += 4_000_000;
            }
        }
    }
}
