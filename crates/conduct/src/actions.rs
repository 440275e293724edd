//! What is done to a server under load: carries the actions out when they are due, and reduces what
//! the engine noted to what clients noticed of each.
//!
//! It does not know how an action is carried out: the contestant does.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use bakeoff_load::{Logged, Noted};
use bakeoff_plan::{Action, Actions, Load, LoadModel};
use bakeoff_record::{
    ActionDone, ActionPart, Gap, Latencies, Lost, LostAt, Outcome, OutcomeCounts, TakenUp,
};
use bakeoff_stage::is_about_failure;

use crate::clock::Clock;
use crate::site::{Ask, Staged};

/// Requests that are noted one by one at the most: some 150 megabytes.
pub(crate) const NOTES_MAX: usize = 2_000_000;
/// Requests come by chance; this many more than expected never do.
const NOTES_MORE: (f64, f64) = (1.2, 1_000.0);
/// So long before an action what it is about is made: a key may take a while.
const READY_BEFORE: Duration = Duration::from_millis(250);
/// Characters of a line about a failure that are kept.
const LINE_MAX: usize = 300;
/// How far before and after an action latencies are compared, nanoseconds.
const NEAR_NS: i64 = 1_000_000_000;

/// Requests that a load with actions notes at the most; `None` for another load.
pub(crate) fn notes_of(load: &Load) -> Option<usize> {
    load.actions.as_ref()?;
    let LoadModel::Open { rate_per_s, .. } = load.model else {
        return None;
    };
    let (times, plus) = NOTES_MORE;
    Some((rate_per_s * load.duration_s * times + plus) as usize)
}

/// The actions of a load that is under way.
#[derive(Debug)]
pub(crate) struct Acting {
    actions: Actions,
    carried: Vec<Carried>,
    /// What came of making ready for the next one, once that was tried.
    ready: Option<Result<(), String>>,
    /// The end of the server's output before the next one.
    output: String,
}

/// An action that was due.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Carried {
    /// When it began, nanoseconds from the window's start.
    pub(crate) at_ns: i64,
    pub(crate) took: Duration,
    /// Why it could not be carried out.
    pub(crate) failed: Option<String>,
    pub(crate) taken_up: Option<TakenUp>,
    /// The last line about a failure that the server wrote since.
    pub(crate) said: Option<String>,
}

impl Acting {
    pub(crate) fn of(actions: Actions) -> Self {
        Self {
            actions,
            carried: Vec::new(),
            ready: None,
            output: String::new(),
        }
    }

    /// When there is something to do next in a window that began at `start`.
    pub(crate) fn next(&self, start: Instant) -> Option<Instant> {
        let due = self.due(start)?;
        Some(match self.ready {
            None => due - READY_BEFORE,
            Some(_) => due,
        })
    }

    /// When the next action is due.
    fn due(&self, start: Instant) -> Option<Instant> {
        let due = self.actions.due().nth(self.carried.len())?;
        Some(start + due)
    }

    /// Makes ready for the next action, and carries it out, if it is time for that.
    pub(crate) fn act(&mut self, start: Instant, clock: &Clock, contestant: &mut dyn Staged) {
        let is_time = |at: Option<Instant>| at.is_some_and(|at| at <= clock.now());
        if self.ready.is_none() && is_time(self.next(start)) {
            self.note_what_followed(contestant);
            self.ready = Some(match self.actions.action {
                Action::None => Ok(()),
                action => contestant.have(Ask::MakeReady(action)),
            });
        }
        let Some(due) = self.due(start).filter(|due| is_time(Some(*due))) else {
            return;
        };
        let ready = self.ready.take().unwrap_or(Ok(()));
        let began = clock.now();
        let done = if began >= due + self.actions.every / 2 {
            Err("begin it in time: the one before it took longer than the gap between two".into())
        } else {
            ready.and_then(|()| match self.actions.action {
                Action::None => Ok(()),
                action => contestant.have(Ask::Act(action)),
            })
        };
        self.carried.push(Carried {
            at_ns: nanos(began.saturating_duration_since(start)),
            took: clock.now().duration_since(began),
            failed: done.err().map(|cause| format!("failed to {cause}")),
            taken_up: None,
            said: None,
        });
    }

    /// Notes when what the last one was about was taken up, and what the server said since.
    pub(crate) fn note_what_followed(&mut self, contestant: &mut dyn Staged) {
        if self.actions.action == Action::None {
            return;
        }
        let output = contestant.log_tail();
        if let Some(last) = self.carried.last_mut() {
            last.said = of_failure(&self.output, &output);
            if self.actions.action.is_of_configuration() {
                last.taken_up = contestant.taken_up();
            }
        }
        self.output = output;
    }

    /// Why none of them could be carried out, if so.
    pub(crate) fn all_failed(&self) -> Option<&str> {
        let mut failed = self.carried.iter().map(|it| it.failed.as_deref());
        let first = failed.next()??;
        failed.all(|it| it.is_some()).then_some(first)
    }

    /// What was done, and what clients noticed of it.
    pub(crate) fn reduce(&self, noted: &Noted) -> Vec<ActionDone> {
        reduce(&self.actions, &self.carried, noted)
    }
}

/// What clients noticed of the actions of a window, from what was noted of its requests.
pub(crate) fn reduce(actions: &Actions, carried: &[Carried], noted: &Noted) -> Vec<ActionDone> {
    let every = nanos(actions.every);
    let mut ok_ends: Vec<i64> = noted.requests.iter().filter(is_ok).map(done).collect();
    ok_ends.sort_unstable();
    let mut stretches: Vec<Vec<&Logged>> = vec![Vec::new(); carried.len()];
    for one in &noted.requests {
        let at = usize::try_from(due(one).max(0) / every).unwrap_or(usize::MAX);
        if let Some(stretch) = stretches.get_mut(at) {
            stretch.push(one);
        }
    }
    let each = carried.iter().zip(&stretches).zip(0..);
    each.map(|((carried, requests), nth)| {
        let stretch = Stretch {
            from: nth * every,
            at: carried.at_ns,
            to: (nth + 1) * every,
            requests,
        };
        ActionDone {
            action: actions.action,
            at_s: seconds(carried.at_ns),
            took_s: carried.took.as_secs_f64(),
            failed: carried.failed.clone(),
            taken_up: carried.taken_up,
            said: carried.said.clone(),
            lost: stretch.lost(),
            due: requests.len() as u64,
            closed: closed(noted, stretch.at, stretch.to),
            closed_before: closed(noted, stretch.from, stretch.at),
            gap: stretch.gap(&ok_ends),
            before: stretch.latencies(stretch.at - NEAR_NS, stretch.at),
            after: stretch.latencies(stretch.at, stretch.at + NEAR_NS),
            parts: stretch.parts(),
        }
    })
    .collect()
}

/// The part of the window that belongs to one action. Times are nanoseconds from its start.
struct Stretch<'a> {
    from: i64,
    /// When the action began.
    at: i64,
    to: i64,
    /// The requests that were due in it.
    requests: &'a [&'a Logged],
}

impl Stretch<'_> {
    fn lost(&self) -> Vec<Lost> {
        let lost = self.requests.iter().filter(|one| !is_ok(one));
        Lost::summed(lost.map(|one| Lost {
            at: self.place(one),
            outcome: one.outcome,
            requests: 1,
        }))
    }

    /// Where a request was.
    fn place(&self, one: &Logged) -> LostAt {
        let sent = one.service_ns.map(|took| done(one) - signed(took));
        if due(one) < self.at && done(one) < self.at {
            return LostAt::Before;
        }
        match sent {
            Some(sent) if sent < self.at => LostAt::InFlight,
            Some(_) if !one.is_first => LostAt::Kept,
            _ => LostAt::New,
        }
    }

    /// The longest time without an `ok` answer that touches the time after the action, within the
    /// stretch but for its beginning.
    fn gap(&self, ok_ends: &[i64]) -> Option<Gap> {
        let first_after = ok_ends.partition_point(|end| *end <= self.at);
        let before = first_after
            .checked_sub(1)
            .map_or(self.from, |last| ok_ends[last]);
        let after = ok_ends[first_after..]
            .iter()
            .take_while(|end| **end < self.to);
        let mut answers = 0;
        let after = after.inspect(|_| answers += 1).copied();
        let (mut last, mut longest) = (before, None::<(i64, i64)>);
        for end in after.chain([self.to]) {
            // The first of several as long as each other.
            if longest.is_none_or(|(_, length)| end - last > length) {
                longest = Some((last, end - last));
            }
            last = end;
        }
        let has_any = answers > 0 || first_after > 0;
        let (from, length) = longest.filter(|_| has_any)?;
        Some(Gap {
            from_s: seconds(from - self.at),
            length_s: seconds(length),
        })
    }

    /// Latencies of its requests that were due from one time to another.
    fn latencies(&self, from: i64, to: i64) -> Latencies {
        let near = self.requests.iter().filter(|one| is_ok(one));
        let near = near.filter(|one| (from..to).contains(&due(one)));
        let mut all: Vec<u64> = near.map(|one| one.latency_ns).collect();
        all.sort_unstable();
        let ms = |ns: &u64| *ns as f64 / 1e6;
        // The smallest that so many are no longer than.
        let p99 = (all.len() * 99).div_ceil(100).saturating_sub(1);
        Latencies {
            ok: all.len() as u64,
            p99_ms: all.get(p99).map(ms),
            max_ms: all.last().map(ms),
        }
    }

    fn parts(&self) -> Vec<ActionPart> {
        let mut parts: Vec<ActionPart> = Vec::new();
        let mut requests = self.requests.to_vec();
        requests.sort_by_key(|one| one.done_ns);
        for one in requests {
            let length = i64::from(ActionDone::PART_MS);
            let at = (done(one) - self.at).div_euclid(length * 1_000_000) * length;
            let at_ms = i32::try_from(at).unwrap_or(i32::MAX);
            if parts.last().is_none_or(|last| last.at_ms != at_ms) {
                parts.push(ActionPart {
                    at_ms,
                    ended: OutcomeCounts::default(),
                });
            }
            if let Some(last) = parts.last_mut() {
                last.ended.add(one.outcome);
            }
        }
        parts
    }
}

/// The last line about a failure in the end of an output that was not in an earlier end of it.
fn of_failure(before: &str, now: &str) -> Option<String> {
    let known: HashSet<&str> = before.lines().collect();
    let mut lines = now.lines().rev().filter(|line| !known.contains(line));
    let line = lines.find(|line| is_about_failure(line))?;
    Some(line.trim().chars().take(LINE_MAX).collect())
}

/// Connections that the server closed from one time to another.
fn closed(noted: &Noted, from: i64, to: i64) -> u64 {
    let closed = noted.closed_ns.iter().map(|at| signed(*at));
    closed.filter(|at| (from..to).contains(at)).count() as u64
}

fn is_ok(one: &&Logged) -> bool {
    one.outcome == Outcome::Ok
}

/// When a request ended, nanoseconds from the window's start.
fn done(one: &Logged) -> i64 {
    signed(one.done_ns)
}

/// When it was due.
fn due(one: &Logged) -> i64 {
    done(one) - signed(one.latency_ns)
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn nanos(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests;
