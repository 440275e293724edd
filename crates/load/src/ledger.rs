//! Counts the requests of one thread: which of them belong to the window, and how each one ended.
//!
//! ```text
//! begin ─► answer | fail        each exactly once
//! advance, settle               when time passes the window's edges
//! ```
//!
//! In a closed loop a request belongs to the window in which it ended. Its own time decides, to the
//! nanosecond, not the time at which the loop noticed it. In an open loop a request belongs to the
//! window in which it was due, and may end after it.
//!
//! Requests in flight at an edge of the window are counted from the slots. They are not computed by
//! subtraction, so a request that got lost in between shows up as a difference; see
//! [`Ledger::settle`].

use bakeoff_record::Outcome;

use crate::end::End;
use crate::flight::{Flight, Origin};
use crate::pulse::Live;
use crate::spec::Exchange;
use crate::usage::CpuTime;

mod clock;
mod counts;
mod log;
mod looks;
mod parts;
#[cfg(test)]
mod tests;

use clock::Clock;
pub(crate) use counts::{Counts, ObservedCounts};
pub(crate) use log::{Log, closed_by_server};
pub use log::{Logged, Noted};

/// Send gaps kept one by one.
const GAPS_MAX: usize = 1_000;

/// A whole response to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    /// When it was whole.
    pub(crate) done: u64,
    /// When it was read.
    pub(crate) now: u64,
}

/// A request's end without a right answer.
#[derive(Debug)]
pub(crate) struct Failure<'a> {
    end: &'a End,
    /// That of a whole response.
    status: Option<u16>,
    done: u64,
}

impl<'a> Failure<'a> {
    /// No whole response came until `done`.
    pub(crate) fn by(end: &'a End, done: u64) -> Self {
        let status = None;
        Self { end, status, done }
    }
}

/// Start and end of the window and the length of its parts, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) start: u64,
    /// When it closed; before that, when it is to.
    pub(crate) end: u64,
    pub(crate) interval: u64,
    /// Whether the rate of an open loop changes in it.
    pub(crate) is_shaped: bool,
}

impl Window {
    /// The part of `from..to` that lies in it, nanoseconds.
    pub(crate) fn inside(self, from: u64, to: u64) -> u64 {
        to.min(self.end).saturating_sub(from.max(self.start))
    }

    #[inline]
    fn holds(self, at: u64) -> bool {
        self.start <= at && at < self.end
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Before,
    Open,
    Closed,
}

/// An edge of the window that was passed while the loop was at work on one slot.
#[derive(Debug, Clone, Copy)]
struct Crossing {
    at: u64,
    /// Requests that were in flight at the edge and have ended since: the slots hold them no more.
    ended: u64,
}

/// What one thread counts.
pub(crate) struct Ledger {
    pub(crate) window: Window,
    pub(crate) stage: Stage,
    is_open_loop: bool,
    /// Begun and not ended, by counting both.
    pub(crate) in_flight: u64,
    /// Edges that the slots have not been asked about: the window's start and its end.
    crossings: [Option<Crossing>; 2],
    /// Latency of the last `ok` response, nanoseconds; 0 before.
    pub(crate) last_latency: u64,
    /// When a request was last sent.
    last_sent: u64,
    /// When a request last ended.
    pub(crate) last_done: u64,
    /// The most that this thread was late since nothing was in flight, in beginning requests or in
    /// turning to what is due and to answers, nanoseconds.
    pub(crate) late_ns: u64,
    /// Whether latencies are still kept one by one.
    samples_latencies: bool,
    /// Whether they are, or requests are noted: one question for each answer.
    takes_notes: bool,
    pub(crate) log: Option<Box<Log>>,
    clock: Clock,
    pub(crate) counts: Counts,
}

impl Ledger {
    /// One for so many requests with so many variants each.
    pub(crate) fn new(requests: usize, variants: usize, is_open_loop: bool) -> Self {
        let never = Window {
            start: u64::MAX,
            end: u64::MAX,
            interval: u64::MAX,
            is_shaped: false,
        };
        Self {
            window: never,
            stage: Stage::Before,
            is_open_loop,
            in_flight: 0,
            crossings: [None; 2],
            last_latency: 0,
            last_sent: 0,
            last_done: 0,
            late_ns: 0,
            samples_latencies: true,
            takes_notes: true,
            log: None,
            clock: Clock::new(),
            counts: Counts::new(requests, variants),
        }
    }

    /// Sets the window, once it is known; the load begins at `zero`.
    pub(crate) fn set_window(&mut self, zero: u64, window: Window) {
        self.window = window;
        self.clock.begin(zero, &window);
    }

    /// A request begins.
    #[inline(always)]
    pub(crate) fn begin(&mut self, origin: &mut Origin) {
        self.advance(origin.began);
        // A request that begins after an edge was passed is after it, whatever time it is given.
        origin.began = origin.began.max(self.clock.passed);
        self.clock.begun = origin.began;
        if self.in_flight == 0 {
            self.late_ns = 0;
        }
        self.in_flight += 1;
        self.counts.clock.balance.begun += u64::from(self.stage == Stage::Open);
        if self.is_open_loop && self.window.holds(origin.intended) {
            self.counts.schedule.due += 1;
            self.counts.schedule.begun += 1;
            let part = self.due_part(origin.intended);
            part.due += 1;
            part.begun += 1;
        }
    }

    /// A request was due in the window and left out at `until`: it was never begun.
    pub(crate) fn leave_out(&mut self, intended: u64, until: u64) {
        if self.counts.clock.is_cut_off(intended, until) {
            self.counts.schedule.cut_off += u64::from(self.window.holds(intended));
        } else if self.window.holds(intended) {
            self.counts.schedule.due += 1;
            self.due_part(intended).due += 1;
            self.counts.requests.unended(intended, until);
            let origin = Origin {
                intended,
                ..Origin::default()
            };
            log::note_unended(self, &origin, until);
        }
    }

    fn due_part(&mut self, intended: u64) -> &mut bakeoff_record::DuePart {
        self.clock.due_part(self.window.start, intended)
    }

    /// A request was sent at `now`; `blocked_ns` is how long the limit of streams kept it.
    ///
    /// Where its connection was ready it is sent in the moment in which it begins. Otherwise it
    /// waits from then on for the server: for a connection, its handshakes or room for a stream.
    #[inline(always)]
    pub(crate) fn sent(&mut self, origin: &Origin, blocked_ns: u64, now: u64) {
        if self.samples_latencies && self.stage == Stage::Open {
            let gap_ns = now.saturating_sub(self.last_sent);
            self.counts.observed.send_gaps.push_up_to(GAPS_MAX, gap_ns);
        }
        if blocked_ns > 0 && self.stage == Stage::Open {
            self.counts.schedule.blocked.record(blocked_ns);
        }
        self.last_sent = now;
        if !self.is_open_loop {
            return;
        }
        let lag_ns = now.saturating_sub(origin.intended);
        let wait_ns = if origin.was_short {
            lag_ns
        } else {
            now.saturating_sub(origin.began)
        };
        let slip_ns = lag_ns.saturating_sub(wait_ns);
        self.late_ns = self.late_ns.max(slip_ns);
        if self.window.holds(origin.intended) {
            let schedule = &mut self.counts.schedule;
            schedule.send_lag.record(lag_ns);
            if !origin.was_short {
                schedule.slip.record(slip_ns);
            }
            if origin.was_short || wait_ns > 0 {
                schedule.wait.record(wait_ns);
            }
        }
    }

    /// A whole response ended a request. Returns whether it was `ok` and counted.
    #[inline(always)]
    pub(crate) fn answer(
        &mut self,
        flight: &Flight,
        answer: &Answer,
        exchanges: &[Exchange],
    ) -> bool {
        let exchange = &exchanges[flight.origin.exchange as usize];
        let body_is_right = exchange
            .body
            .as_deref()
            .is_none_or(|expected| flight.body.is_right(expected, answer.body_bytes));
        if exchange.status.accepts(answer.status) && body_is_right {
            return self.end_ok(flight, answer);
        }
        self.answer_wrong(flight, answer, exchanges, End::WrongBody(answer.body_bytes));
        false
    }

    /// A whole response ended a request that is not `ok`: by its status, or else by `wrong`.
    #[cold]
    pub(crate) fn answer_wrong(
        &mut self,
        flight: &Flight,
        answer: &Answer,
        exchanges: &[Exchange],
        wrong: End,
    ) {
        let exchange = &exchanges[flight.origin.exchange as usize];
        let end = if exchange.status.accepts(answer.status) {
            wrong
        } else {
            End::Status(answer.status)
        };
        let failure = Failure {
            end: &end,
            status: Some(answer.status),
            done: answer.now,
        };
        self.fail(flight, &failure);
    }

    #[inline(always)]
    fn end_ok(&mut self, flight: &Flight, answer: &Answer) -> bool {
        let origin = &flight.origin;
        self.end_any(answer.done, origin);
        let latency = answer.done.saturating_sub(origin.intended);
        self.last_latency = latency;
        self.clock.parts.ok(latency);
        if self.is_open_loop {
            if !self.end_ok_by_due(flight, answer, latency) {
                return false;
            }
        } else if self.stage != Stage::Open {
            self.note_unended(origin);
            return false;
        }
        let requests = &mut self.counts.requests;
        requests.usual.count(answer.status, &mut requests.status);
        requests.outcomes.add(Outcome::Ok);
        requests.body_bytes += answer.body_bytes;
        requests.bodies_checked += u64::from(flight.body.on);
        let first_byte = flight.first_byte.saturating_sub(flight.sent);
        requests.first_byte.record(first_byte);
        if let Some(url) = requests.url(origin.exchange) {
            url.outcomes.add(Outcome::Ok);
            url.latency.record(latency);
        }
        if self.takes_notes {
            log::note_ok(self, flight, answer, latency);
        }
        true
    }

    /// In a closed loop service time and latency are the same and are counted once, by part; in
    /// an open loop each by itself, of what was due in the window.
    fn end_ok_by_due(&mut self, flight: &Flight, answer: &Answer, latency: u64) -> bool {
        if !self.window.holds(flight.origin.intended) {
            return false;
        }
        let requests = &mut self.counts.requests;
        requests.latency.record(latency);
        let service = answer.done.saturating_sub(flight.sent);
        requests.service.record(service);
        let punctual = latency.saturating_sub(self.late_ns);
        self.counts.schedule.punctual.record(punctual);
        self.due_part(flight.origin.intended).ended += 1;
        true
    }

    /// Anything else ended a request.
    #[cold]
    pub(crate) fn fail(&mut self, flight: &Flight, failure: &Failure<'_>) {
        let origin = &flight.origin;
        self.end_any(failure.done, origin);
        let age = failure.done.saturating_sub(origin.intended);
        let parts = &mut self.clock.parts;
        parts.error(failure.end.outcome(), failure.status, age);
        if !self.belongs(origin) {
            return self.note_unended(origin);
        }
        if let Some(log) = &mut self.log {
            log.note_failure(flight, failure, self.window.start);
        }
        let requests = &mut self.counts.requests;
        let was_compared = failure.status.is_some() && flight.body.on;
        requests.bodies_checked += u64::from(was_compared);
        let is_wrong = was_compared && matches!(failure.end, End::WrongBody(_));
        self.counts.observed.bodies_wrong += u64::from(is_wrong);
        requests.fail(origin.exchange, failure.end, failure.status, age);
        if self.is_open_loop {
            self.due_part(origin.intended).ended += 1;
        }
    }

    /// A request ended by `done`, in whatever outcome.
    #[inline(always)]
    fn end_any(&mut self, done: u64, origin: &Origin) {
        self.advance(done);
        self.clock.looks.end(done);
        self.last_done = done;
        self.in_flight -= 1;
        if self.clock.is_unsettled {
            note_crossed(&mut self.crossings, origin.began);
        }
    }

    /// Whether a request that ends now is the window's.
    #[inline(always)]
    fn belongs(&self, origin: &Origin) -> bool {
        if self.is_open_loop {
            self.window.holds(origin.intended)
        } else {
            self.stage == Stage::Open
        }
    }

    /// In a closed loop, what ends after the window was in flight at its end.
    fn note_unended(&mut self, origin: &Origin) {
        if !self.is_open_loop && self.stage == Stage::Closed {
            self.counts
                .requests
                .unended(origin.intended, self.window.end);
        }
    }

    /// Adds to the live counters what has ended since the last time.
    pub(crate) fn show(&mut self, live: &Live, now: u64) {
        self.clock.parts.show(live, now);
        live.took(self.counts.requests.longest_ns().max(self.last_latency));
    }

    /// When the window's next edge is.
    pub(crate) fn next_edge(&self) -> u64 {
        match self.stage {
            Stage::Before => self.window.start,
            Stage::Open => self.window.end,
            Stage::Closed => u64::MAX,
        }
    }

    /// Whether an edge was passed that the slots have not been asked about.
    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.clock.is_unsettled
    }

    /// Passes every edge up to `now`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: u64) {
        while now >= self.clock.next {
            self.pass_next();
        }
    }

    #[cold]
    fn pass_next(&mut self) {
        let at = self.clock.next;
        self.clock.pass_inner(at, self.in_flight);
        match self.stage {
            Stage::Before if at >= self.window.start => self.open(),
            Stage::Open if at >= self.window.end => self.close(self.window.end),
            _ => {}
        }
        self.clock.set_next(self.next_edge());
    }

    fn open(&mut self) {
        self.stage = Stage::Open;
        self.counts.meter.is_open = true;
        self.cross(0, self.window.start);
        self.counts.clock.warmup = self.clock.parts.restart(self.window.start);
        self.clock.looks.begin(self.window.start);
        self.last_sent = self.last_sent.max(self.window.start);
    }

    fn close(&mut self, at: u64) {
        self.stage = Stage::Closed;
        self.counts.meter.is_open = false;
        self.cross(1, at);
        self.window.end = at;
        self.clock.parts.finish(at);
        let intervals = self.clock.parts.restart(at);
        let ended = intervals.iter().map(|part| part.ok + part.errors).sum();
        self.counts.clock.balance.ended = ended;
        self.counts.clock.intervals = intervals;
        self.counts.clock.measured_ns = at.saturating_sub(self.window.start);
        self.counts.observed.in_flight = self.clock.looks.take();
    }

    fn cross(&mut self, edge: usize, at: u64) {
        self.crossings[edge] = Some(Crossing { at, ended: 0 });
        self.clock.passed = at;
        self.clock.is_unsettled = true;
    }

    /// Closes the window early: the count was reached, or somebody asked to stop. What has begun
    /// is before its end, also in this very moment.
    pub(crate) fn close_now(&mut self, now: u64) {
        self.advance(now);
        let at = now.max(self.clock.begun + 1);
        match self.stage {
            Stage::Before => {
                self.window.start = self.window.start.min(at);
                self.open();
                self.close(at);
            }
            // What ended in the moment in which it opened needs a part to be in.
            Stage::Open => self.close(at.max(self.window.start + 1)),
            Stage::Closed => {}
        }
        self.clock.set_next(u64::MAX);
    }

    /// Counts what was in flight at the edges that were passed: `origins` hands over all requests
    /// that the slots hold. To be called between two slots' turns, soon after an edge was passed.
    pub(crate) fn settle(&mut self, cpu: CpuTime, origins: impl Fn(&mut dyn FnMut(&Origin))) {
        let passed = std::mem::take(&mut self.crossings);
        self.clock.is_unsettled = false;
        for (edge, crossing) in passed.into_iter().enumerate() {
            let Some(crossing) = crossing else { continue };
            let (mut held, mut oldest) = (0, u64::MAX);
            origins(&mut |origin| {
                if origin.began < crossing.at {
                    held += 1;
                    oldest = oldest.min(origin.intended);
                }
            });
            let clock = &mut self.counts.clock;
            if edge == 0 {
                clock.balance.carried_in = held + crossing.ended;
                clock.cpu_at_start = cpu;
            } else {
                clock.balance.in_flight = held + crossing.ended;
                clock.cpu = cpu.since(clock.cpu_at_start);
                let age = crossing.at.saturating_sub(oldest);
                self.counts.observed.oldest_age_ns = (held > 0).then_some(age);
            }
        }
    }

    /// Ends the counting: `origins` hands over what had not ended at `until`, when it was no
    /// longer waited for.
    pub(crate) fn finish(
        mut self,
        until: u64,
        origins: impl Fn(&mut dyn FnMut(&Origin)),
    ) -> Counts {
        self.counts
            .requests
            .usual
            .finish(&mut self.counts.requests.status);
        let mut left = Vec::new();
        origins(&mut |origin| left.push(*origin));
        // In a closed loop they were in flight when the window closed, unless they began after it.
        let at = if self.is_open_loop {
            until
        } else {
            self.window.end
        };
        left.retain(|origin| {
            if self.is_open_loop {
                self.window.holds(origin.intended)
            } else {
                origin.began < at
            }
        });
        left.retain(|origin| {
            let is_cut_off = self.is_open_loop && self.counts.clock.is_cut_off(origin.intended, at);
            if is_cut_off {
                let part = self.clock.due_part(self.window.start, origin.intended);
                self.counts.schedule.take_back(part);
            }
            !is_cut_off
        });
        for origin in &left {
            self.counts.requests.unended(origin.intended, at);
            log::note_unended(&mut self, origin, at);
        }
        self.counts.clock.in_flight_at_end = if self.is_open_loop {
            left.len() as u64
        } else {
            self.counts.clock.balance.in_flight
        };
        self.counts.schedule.parts = self.clock.take_due_parts();
        self.counts.observed.noted = self.log.take().map(|log| log.notes()).unwrap_or_default();
        self.counts
    }
}

/// Counts a request that was in flight at an edge and ends before the slots are asked.
#[cold]
fn note_crossed(crossings: &mut [Option<Crossing>; 2], began: u64) {
    for crossing in crossings.iter_mut().flatten() {
        crossing.ended += u64::from(began < crossing.at);
    }
}
