//! What an action costs the clients of an invented server, request by request.

use std::time::Duration;

use bakeoff_load::{Logged, Noted};
use bakeoff_plan::{Action, Actions, Load, LoadModel};
use bakeoff_record::Outcome;
use serde::Deserialize;

/// What an action costs each time.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Changed {
    /// Requests that get no answer: half of them were in flight.
    pub(super) lost: u64,
    /// Kept connections that it closes.
    pub(super) closed: u64,
    /// How long it answers nobody.
    pub(super) gap_ms: f64,
    /// Why it cannot be done.
    pub(super) fails: Option<String>,
    /// Why the server cannot do it at all.
    pub(super) unsupported: Option<String>,
}

/// How a request gets lost.
pub(super) const LOST: Outcome = Outcome::ClosedEarly;

impl Changed {
    /// What it costs in this load: nothing where nothing is done.
    fn cost(&self, actions: &Actions) -> Option<&Self> {
        (actions.action != Action::None && self.fails.is_none()).then_some(self)
    }

    /// When requests get lost, seconds from the window's start, and how many at each time.
    pub(super) fn losses(&self, load: &Load) -> Vec<(f64, u64)> {
        let actions = load.actions.as_ref();
        let cost = actions.and_then(|actions| self.cost(actions).map(|cost| (actions, cost)));
        cost.map_or(Vec::new(), |(actions, cost)| {
            let due = actions.due().map(|at| (at.as_secs_f64(), cost.lost));
            due.collect()
        })
    }

    /// What would have been noted of a load until then.
    pub(super) fn noted(&self, load: &Load, mean_s: f64, until_s: f64) -> Noted {
        let (Some(actions), LoadModel::Open { rate_per_s, .. }) = (&load.actions, &load.model)
        else {
            return Noted::default();
        };
        let mut noted = Noted::default();
        let gap_ns = (self.gap_ms * 1e6) as i64;
        let mean_ns = mean_s * 1e9;
        let numbers = (0_u32..).map(|number| (number, f64::from(number) / rate_per_s));
        for (number, due_s) in numbers.take_while(|(_, due_s)| *due_s < until_s) {
            let due = (due_s * 1e9) as i64;
            // Latencies are apart, and evenly so.
            let latency = (mean_ns * (0.8 + f64::from(number % 100) / 250.0)) as i64;
            let (mut done, mut outcome) = (due + latency, Outcome::Ok);
            let nth = (due_s / actions.every.as_secs_f64()) as u32;
            if let Some(cost) = self.cost(actions) {
                let at = (actions.every * nth + actions.every / 2).as_nanos() as i64;
                let after = ((due - at) as f64 / 1e9 * rate_per_s).floor() as i64;
                let in_flight = (cost.lost / 2) as i64;
                if (-in_flight..cost.lost as i64 - in_flight).contains(&after) {
                    (done, outcome) = (done.max(at + 1_000_000), LOST);
                } else if (0..gap_ns).contains(&(due - at)) {
                    done = at + gap_ns + latency;
                }
            }
            noted.requests.push(logged((due, done), outcome));
        }
        if let Some(cost) = self.cost(actions) {
            let due = actions.due().filter(|at| at.as_secs_f64() < until_s);
            let each = |at: Duration| (1..=cost.closed).map(move |more| nanos(at) + more * 1_000);
            noted.closed_ns = due.flat_map(each).collect();
        }
        noted
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// A request on a kept connection that was sent when it was due.
fn logged((due, done): (i64, i64), outcome: Outcome) -> Logged {
    let took = (done - due).unsigned_abs();
    Logged {
        exchange: 0,
        done_ns: done.unsigned_abs(),
        latency_ns: took,
        service_ns: Some(took),
        first_byte_ns: None,
        is_first: false,
        outcome,
        status: (outcome == Outcome::Ok).then_some(200),
        body_bytes: 0,
    }
}
