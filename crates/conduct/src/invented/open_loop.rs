//! What an invented server does with requests that come at given times: a queue in the order of
//! arrival, looked at in small steps. It knows no single request.

use std::collections::VecDeque;

use bakeoff_record::Outcome;

use super::part::{Part, Shape};
use super::world::Beyond;

/// Looks at the queue in a part of the window.
const STEPS: u32 = 10;
/// Requests that wait, as seconds of work, from which there are too many.
const TOO_MANY_S: f64 = 0.3;
/// Seconds of work that a server which turns requests away has waiting at the most.
const FULL_S: f64 = 0.05;
/// What is left of the rate of a server that sticks.
const STUCK: f64 = 0.05;
/// How long it takes to be turned away, seconds.
const TURNED_AWAY_S: f64 = 0.000_2;

/// A load whose requests come at given times.
pub(super) struct Schedule<'a> {
    /// Rates of equal parts of the window, requests per second.
    pub(super) rates: &'a [f64],
    /// Parts of the window, and their length in seconds.
    pub(super) parts: u32,
    pub(super) part_s: f64,
    pub(super) timeout_s: f64,
    /// Requests that may be in flight at once.
    pub(super) places: f64,
    /// Most requests, where a count ends the load.
    pub(super) most: u64,
    /// When an action loses requests, seconds, and how many.
    pub(super) losses: &'a [(f64, u64)],
}

/// What came of it.
pub(super) struct Served {
    pub(super) parts: Vec<Part>,
    /// Those that ended after the window.
    pub(super) late: u64,
    /// When the server died, seconds.
    pub(super) dies_s: Option<f64>,
}

/// A server at work.
struct Queue<'a> {
    shape: &'a Shape,
    schedule: &'a Schedule<'a>,
    /// Requests that wait, with the times at which they were due.
    waiting: VecDeque<(f64, u64)>,
    /// Requests that it could answer and that are no whole ones yet.
    left: f64,
    rate: f64,
    part: Part,
    /// Answers of the part that had nothing to wait for.
    at_once: u64,
}

/// Carries the schedule out.
pub(super) fn served(shape: &Shape, schedule: &Schedule<'_>) -> Served {
    let step_s = schedule.part_s / f64::from(STEPS);
    let mut queue = Queue {
        shape,
        schedule,
        waiting: VecDeque::new(),
        left: 0.0,
        rate: shape.rate,
        part: Part::default(),
        at_once: 0,
    };
    let (mut parts, mut dies_s) = (Vec::new(), None);
    let (mut owed, mut came) = (0.0, 0);
    for number in 0..schedule.parts {
        let start_s = f64::from(number) * schedule.part_s;
        queue.part = Part::new(start_s, schedule.part_s);
        queue.part.owe(schedule.losses);
        let asked = schedule.rate_in(number);
        let mut in_flight = 0.0;
        for step in 0..STEPS {
            let now_s = start_s + f64::from(step) * step_s;
            owed += asked * step_s;
            // Sums of fractions fall short of whole numbers.
            let due = ((owed + 1e-9).floor() as u64).min(schedule.most - came);
            owed -= due as f64;
            came += due;
            queue.part.due += due;
            queue.take(now_s, step_s, due);
            if shape.beyond == Beyond::Crash && queue.is_too_long(TOO_MANY_S) {
                dies_s.get_or_insert(now_s);
            }
            queue.serve(now_s, step_s);
            in_flight += queue.in_flight(asked) / f64::from(STEPS);
        }
        queue.part.in_flight = in_flight.min(schedule.places);
        parts.push(queue.finish_part(asked));
    }
    let late = queue.drain(&mut parts, step_s);
    Served {
        parts,
        late,
        dies_s,
    }
}

impl Schedule<'_> {
    fn rate_in(&self, part: u32) -> f64 {
        let each = self.parts as usize / self.rates.len().max(1);
        let at = part as usize / each.max(1);
        self.rates[at.min(self.rates.len() - 1)]
    }
}

impl Queue<'_> {
    fn length(&self) -> u64 {
        self.waiting.iter().map(|(_, number)| number).sum()
    }

    fn is_too_long(&self, limit_s: f64) -> bool {
        self.length() as f64 > (limit_s * self.shape.rate).max(1.0)
    }

    /// Takes requests that are due, or turns away those that it will not come to soon.
    fn take(&mut self, now_s: f64, step_s: f64, due: u64) {
        let outcome = match self.shape.beyond {
            Beyond::Refuse => Some((Outcome::Refused, None)),
            Beyond::Shed => Some((Outcome::Status, Some(503))),
            Beyond::Queue | Beyond::Hold | Beyond::Crash | Beyond::Stick => None,
        };
        let taken = outcome.map_or(due, |(outcome, status)| {
            let most = (self.rate * (step_s + FULL_S)).ceil() as u64;
            let taken = due.min(most.saturating_sub(self.length()));
            self.part.fail(outcome, status, TURNED_AWAY_S, due - taken);
            taken
        });
        if taken > 0 {
            self.waiting.push_back((now_s, taken));
        }
        if self.shape.beyond == Beyond::Stick && self.is_too_long(TOO_MANY_S) {
            self.rate = self.shape.rate * STUCK;
        }
    }

    /// Answers as many as it can in a step, the oldest first. Those that waited too long are gone.
    fn serve(&mut self, now_s: f64, step_s: f64) {
        self.left = match self.shape.beyond {
            Beyond::Hold => f64::MAX,
            _ => self.left + self.rate * step_s,
        };
        while let Some((due_s, number)) = self.waiting.pop_front() {
            let waited_s = now_s - due_s;
            if waited_s > self.schedule.timeout_s {
                let age_s = self.schedule.timeout_s;
                self.part.fail(Outcome::Timeout, None, age_s, number);
                continue;
            }
            let answered = number.min(self.left as u64);
            self.left -= answered as f64;
            self.answer(waited_s, answered);
            if answered < number {
                self.waiting.push_front((due_s, number - answered));
                return;
            }
        }
        // What it did not need is no use later.
        self.left = self.left.min(1.0);
    }

    fn answer(&mut self, waited_s: f64, number: u64) {
        let failing = self
            .part
            .fail_shares(self.shape, number, self.schedule.timeout_s);
        let right = number - failing;
        if waited_s > 0.0 {
            let latency_s = waited_s + self.shape.mean_s;
            let most_s = self.schedule.places / self.rate;
            let service_s = latency_s.min(most_s.max(self.shape.mean_s));
            self.part.answer(latency_s, service_s, right);
        } else {
            self.at_once += right;
        }
    }

    fn in_flight(&self, asked: f64) -> f64 {
        self.length() as f64 + asked.min(self.rate) * self.mean_s(asked)
    }

    /// Mean latency without a queue that grows: the nearer the rate is to the capacity, the longer.
    fn mean_s(&self, asked: f64) -> f64 {
        if self.shape.beyond == Beyond::Hold {
            return self.shape.mean_s;
        }
        let load = (asked / self.rate).min(0.99);
        self.shape.mean_s + (load / (2.0 * self.rate * (1.0 - load))).min(FULL_S)
    }

    fn finish_part(&mut self, asked: f64) -> Part {
        let mut part = std::mem::take(&mut self.part);
        let at_once = std::mem::take(&mut self.at_once);
        part.spread(self.shape, self.mean_s(asked), at_once);
        part
    }

    /// Follows those that wait when the window closes to their end; how many these are. They are of
    /// the last part.
    fn drain(mut self, parts: &mut [Part], step_s: f64) -> u64 {
        let late = self.length();
        let Some(last) = parts.last_mut() else {
            return 0;
        };
        self.part = std::mem::take(last);
        let mut now_s = self.part.start_s + self.part.length_s;
        while !self.waiting.is_empty() {
            self.serve(now_s, step_s);
            now_s += step_s;
        }
        let in_flight = self.part.in_flight;
        *last = self.finish_part(0.0);
        last.in_flight = in_flight;
        late
    }
}
