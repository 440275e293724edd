//! The loop of one engine thread: it waits, reads answers, records them, and begins the requests
//! that are due.
//!
//! A turn is one pass of the loop. Each turn takes a limited part of what is ready and of what is
//! due. A server that sends a lot therefore cannot delay the end of the window, timeouts, or a
//! request to stop.
//!
//! Sockets and time belong to the driver, the schedule to `pace.rs`, protocols to `link/`.

use std::io;

use bakeoff_plan::RateShape;
use bakeoff_record::Outcome;

use crate::control::Control;
use crate::driver::{Driver, Ready, Wait};
use crate::flight::Origin;
use crate::gathering::Gathering;
use crate::ledger::{Counts, Stage, Window};
use crate::pace::Pace;
use crate::slot::{Phase, Slot};
use crate::spec::{LoadSpec, Waiting};
use crate::thread::{Course, Thread};
use crate::work::{self, quic};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::several;

/// How often live counters are written and a request to stop is seen.
const TICK_NS: u64 = 100_000_000;
/// Connecting ahead of the load goes on as long as a connection gets on in such a time.
const CONNECT_NS_MAX: u64 = 250_000_000;
/// Connecting ahead of the load takes so long at the most, beside the gaps of the ramp.
const CONNECT_ALL_NS_MAX: u64 = 10_000_000_000;
/// How often an engine that is held looks whether its start is named.
const HELD_NS: u64 = 1_000_000;
/// Longest time after the window of a closed loop in which answers may still arrive, uncounted.
const DRAIN_NS_MAX: u64 = 250_000_000;
/// It ends before that where none has arrived for so long, and at once where none ever has.
const QUIET_NS_MAX: u64 = 150_000_000;
/// What of one kind is done in one turn at the most: wake-ups, timeouts, begins.
const EACH_MAX: usize = 256;
/// Connections begun in one turn at the most: each takes the kernel some 20 us.
const CONNECTS_MAX: usize = 64;

/// One engine thread.
pub(crate) struct Loop<'a, D: Driver> {
    slots: Vec<Slot<D::Socket>>,
    thread: Thread<'a, D>,
    control: &'a Control,
    /// How long answers gather; `None` where they do not.
    gathering: Option<Gathering>,
    /// How long past its due time a request may be sent.
    slack_ns: u64,
    /// When the last turn ended.
    turned: u64,
    /// Whether somebody asked to stop before the load was over.
    is_cut_off: bool,
    /// Slots whose client has begun, of those that were connected ahead of a closed loop.
    begun: usize,
}

impl<'a, D: Driver> Loop<'a, D> {
    /// A loop with so many clients.
    pub(crate) fn new(thread: Thread<'a, D>, clients: u32, control: &'a Control) -> Self {
        let spec = thread.spec;
        let gathers = spec.pacing.gather && thread.pace.is_closed() && spec.load.streams > 1;
        Self {
            slots: (0..clients).map(Slot::new).collect(),
            thread,
            control,
            gathering: gathers.then(Gathering::default),
            slack_ns: match spec.pacing.waiting {
                Waiting::Slack(slack) => crate::clock::nanos(slack),
                Waiting::Nap | Waiting::Spin => 0,
            },
            turned: 0,
            is_cut_off: false,
            begun: clients as usize,
        }
    }

    /// Opens connections ahead of the load, handshakes and settings included, if it is to.
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        if self.thread.spec.connects_as_needed() {
            return Ok(());
        }
        let start = self.thread.driver.now();
        self.turned = start;
        self.thread.agenda.progressed_at = start;
        self.spread_wakes(start);
        let ramp = ramp_gap_ns(self.thread.spec).saturating_mul(self.slots.len() as u64);
        let most = start.saturating_add(ramp.saturating_add(CONNECT_ALL_NS_MAX));
        let patience = CONNECT_NS_MAX.min(self.thread.timeout_ns);
        let mut has_begun_all = false;
        while !self.control.is_stopping() && self.turned < most {
            if !has_begun_all && self.thread.begun == self.slots.len() {
                has_begun_all = true;
                // The last one has its time, too.
                self.thread.agenda.progressed_at = self.turned;
            }
            let agenda = &self.thread.agenda;
            let deadline = if has_begun_all {
                agenda.progressed_at + patience
            } else {
                // The ramp's next connection comes first, or all of its gaps are over.
                self.turned + CONNECT_NS_MAX
            };
            if has_begun_all && (agenda.opening == 0 || deadline <= self.turned) {
                break;
            }
            self.turn(deadline)?;
        }
        let opening_ns = &mut self.thread.ledger.counts.observed.opening_ns;
        *opening_ns = self.turned.saturating_sub(start);
        Ok(())
    }

    /// Carries out the load from `zero`, and returns what was counted.
    pub(crate) fn run(mut self, zero: u64) -> io::Result<Counts> {
        self.wait_until(|_| zero)?;
        self.begin(zero);
        if self.control.is_stopping() {
            self.is_cut_off = true;
            self.thread.ledger.close_now(self.turned);
        } else {
            while self.goes_on()? {}
        }
        self.end()
    }

    /// Turns as long as `until`, which gets the time, names a later one: connections that are open
    /// live on.
    pub(crate) fn wait_until(&mut self, until: impl Fn(u64) -> u64) -> io::Result<()> {
        self.turned = self.thread.driver.now();
        loop {
            let until = until(self.turned);
            if until <= self.turned || self.control.is_stopping() {
                return Ok(());
            }
            self.turn(until)?;
        }
    }

    /// The window is known, and the load begins.
    fn begin(&mut self, zero: u64) {
        let spec = self.thread.spec;
        let start = zero + (spec.load.warmup_s * 1e9) as u64;
        let mut end = start + (spec.load.duration_s * 1e9) as u64;
        if let Pace::Open(pace) = &self.thread.pace {
            end = end.min(zero.saturating_add(pace.length()));
        }
        let start = start.min(end);
        let interval = crate::clock::nanos(spec.interval);
        let window = Window {
            start,
            end,
            interval,
            is_shaped: spec.shape != RateShape::Level,
        };
        self.thread.ledger.set_window(zero, window);
        self.turned = self.thread.driver.now();
        self.control.note_began(self.turned);
        self.start(zero, end);
    }

    /// One turn within the load. Returns whether another one follows.
    #[inline]
    fn goes_on(&mut self) -> io::Result<bool> {
        self.turn(self.thread.ledger.window.end)?;
        let now = self.turned;
        self.thread.ledger.advance(now);
        if self.has_ended_count() {
            self.thread.ledger.close_now(now);
        } else if self.thread.ledger.stage != Stage::Closed && self.control.is_stopping() {
            self.is_cut_off = true;
            self.thread.ledger.close_now(now);
        }
        Ok(self.thread.ledger.stage != Stage::Closed)
    }

    /// The window is closed.
    fn end(mut self) -> io::Result<Counts> {
        self.settle();
        self.drain()?;
        Ok(self.finish())
    }

    /// The load begins at `zero`.
    fn start(&mut self, zero: u64, end: u64) {
        self.thread.course = Course::Running;
        self.thread.clock = self.turned;
        let is_as_needed = self.thread.spec.connects_as_needed();
        match &mut self.thread.pace {
            Pace::Closed if is_as_needed => self.spread_wakes(zero),
            Pace::Closed => self.begun = 0,
            Pace::Open(pace) => {
                pace.begin_at(zero, end);
                let spare = self.slots.iter();
                let spare = spare.filter(|slot| matches!(slot.phase, Phase::Spare));
                spare.for_each(|slot| pace.put_spare(slot.index, zero));
            }
        }
    }

    /// Lets the clients that were connected ahead begin, a bounded number in a turn. One whose
    /// connection could not be made begins like any other, and connects.
    fn begin_first(&mut self) {
        let (slots, thread) = (&mut self.slots, &mut self.thread);
        let opening = thread.agenda.opening;
        for slot in slots.iter_mut().skip(self.begun).take(EACH_MAX) {
            self.begun += 1;
            let now = thread.driver.now();
            if slot.is_ready() {
                work::begin_free(slot, thread, now);
                work::many::open_streams(slot, thread, now);
            } else if !slot.has_begun() {
                work::begin_next(slot, thread, now);
            }
            if thread.agenda.opening >= opening + CONNECTS_MAX {
                return;
            }
        }
    }

    /// Lets every connection start in turn, a ramp gap apart.
    fn spread_wakes(&mut self, from: u64) {
        let gap = ramp_gap_ns(self.thread.spec);
        for slot in &self.slots {
            let at = from.saturating_add(u64::from(slot.index).saturating_mul(gap));
            self.thread.agenda.wake(slot.index, at);
        }
    }

    /// Whether a closed loop's count of requests has ended. An open loop's ends by the schedule:
    /// N requests are N gaps, and the last one begins with the last request.
    fn has_ended_count(&self) -> bool {
        let is_closed_loop = self.thread.pace.is_closed();
        is_closed_loop && self.thread.supply.is_used_up() && self.thread.ledger.in_flight == 0
    }

    /// Lets answers arrive. In a closed loop they are not counted: the server sees few broken
    /// requests. In an open loop what was due in the window is begun, and followed to its end.
    /// A server that answered nothing in a closed loop's window is not waited for: with thousands
    /// of connections the rest of the time is needed to close them.
    fn drain(&mut self) -> io::Result<()> {
        self.thread.course = Course::Draining;
        let is_closed_loop = self.thread.pace.is_closed();
        let most = if is_closed_loop {
            DRAIN_NS_MAX
        } else {
            self.thread.timeout_ns
        };
        let deadline = self.turned.saturating_add(most);
        let mut in_flight = self.thread.ledger.in_flight;
        let has_answered = self.thread.ledger.counts.requests.outcomes.of(Outcome::Ok) > 0;
        let mut quiet_at = if has_answered {
            self.turned.saturating_add(QUIET_NS_MAX)
        } else {
            self.turned
        };
        while self.turned < deadline {
            let is_due = match &mut self.thread.pace {
                Pace::Open(pace) => !self.thread.supply.is_used_up() && pace.next_due().is_some(),
                Pace::Closed => false,
            };
            let left = self.thread.ledger.in_flight;
            if left == 0 && !is_due {
                break;
            }
            if self.control.is_stopping() {
                // What a closed loop waits for now is not counted, however it ends.
                self.is_cut_off |= !is_closed_loop;
                break;
            }
            if left < in_flight {
                (in_flight, quiet_at) = (left, self.turned.saturating_add(QUIET_NS_MAX));
            } else if is_closed_loop && self.turned >= quiet_at {
                break;
            }
            self.turn(if is_closed_loop {
                deadline.min(quiet_at)
            } else {
                deadline
            })?;
        }
        Ok(())
    }

    /// Somebody asked to stop. A request that has not waited for twice as long as the slowest one
    /// that ended was cut off, and is no sign of anything; one that has is the server's.
    fn cut_off(&mut self) {
        let (live, ledger) = (self.control.live(), &mut self.thread.ledger);
        ledger.show(live, self.turned);
        let grace_ns = live.longest_ns().saturating_mul(2);
        ledger.counts.clock.grace_ns = Some(grace_ns);
    }

    /// Counts what is left, and closes the connections.
    fn finish(mut self) -> Counts {
        let now = self.turned;
        if self.is_cut_off {
            self.cut_off();
        }
        let thread = &mut self.thread;
        if let Pace::Open(pace) = &mut thread.pace {
            // Beyond a count nothing is due.
            while !thread.supply.is_used_up()
                && let Some(due) = pace.skip()
            {
                thread.ledger.leave_out(due, now);
            }
            thread.ledger.counts.schedule.shed = pace.shed();
        }
        for slot in &mut self.slots {
            slot.note_score(thread);
            slot.close(thread);
        }
        if let Some(quic) = &thread.tools.quic {
            let bytes = quic.memo.header_bytes();
            let counted = &mut thread.ledger.counts.links.header_bytes;
            counted.wire += bytes.wire;
            counted.decoded += bytes.text;
            let answers = &mut thread.ledger.counts.observed.said;
            answers.locate(|status| quic.memo.location(status));
        }
        self.thread.ledger.counts.observed.addresses = self.thread.ways.uses();
        let slots = &self.slots;
        self.thread
            .ledger
            .finish(now, |look| each_origin(slots, look))
    }

    /// One turn: waits until something is ready or due, at most until `deadline`.
    fn turn(&mut self, deadline: u64) -> io::Result<()> {
        let before = self.turned;
        let wait = self.wait(deadline, before);
        let ready = self.thread.driver.wait(&wait)?;
        let woke = self.thread.driver.now();
        self.thread.clock = woke;
        self.thread.ledger.counts.meter.waited(before, woke);
        self.thread.ledger.advance(woke);
        self.settle();
        self.note_late(before, woke);
        let unread = self.thread.agenda.unread();
        for index in 0..ready {
            let ready = self.thread.driver.ready(index);
            self.handle(ready);
        }
        if unread > 0 {
            self.handle_unread(unread);
        }
        let now = self.thread.driver.now();
        self.handle_wakes(now);
        self.handle_deadlines(now);
        self.handle_quic_timers(now);
        self.begin_due(now);
        if self.begun < self.slots.len() {
            self.begin_first();
        }
        if now >= self.thread.agenda.next_tick {
            self.thread.agenda.next_tick = now + TICK_NS;
            self.thread.ledger.show(self.control.live(), now);
        }
        let now = now.max(self.thread.clock);
        self.drive_quic(now);
        self.thread.ledger.counts.meter.turned(woke, now);
        self.turned = now;
        Ok(())
    }

    /// What is due and has a place, and was not begun, shows how long nobody looked: answers may
    /// have waited as long. The loop waited from `from` until `now`.
    #[inline]
    fn note_late(&mut self, from: u64, now: u64) {
        if let Pace::Open(pace) = &mut self.thread.pace {
            pace.waited(from);
            let late_ns = &mut self.thread.ledger.late_ns;
            *late_ns = (*late_ns).max(pace.left_alone_ns(now));
        }
    }

    #[inline]
    fn handle(&mut self, ready: Ready) {
        let generation = (ready.token >> 32) as u32;
        let Some(slot) = self.slots.get_mut(ready.token as u32 as usize) else {
            return;
        };
        if slot.generation != generation {
            return;
        }
        work::handle(slot, ready, &mut self.thread);
        if !self.thread.pace.is_closed() {
            self.begin_due(self.thread.clock);
        }
    }

    /// Reads on where turns ended before all was read.
    #[cold]
    fn handle_unread(&mut self, count: usize) {
        for _ in 0..count {
            let Some(index) = self.thread.agenda.take_unread() else {
                return;
            };
            let slot = &self.slots[index as usize];
            if let Phase::Connecting(_) = slot.phase {
                // It was of the connection before.
                continue;
            }
            let token = slot.token();
            self.handle(Ready {
                token,
                readable: true,
                ended: false,
            });
        }
    }

    /// What to wait for.
    fn wait(&mut self, deadline: u64, from: u64) -> Wait {
        let thread = &mut self.thread;
        let edge = thread.ledger.next_edge();
        let mut until = deadline.min(edge).min(thread.agenda.next());
        if self.begun < self.slots.len() {
            until = from;
        }
        if let Some(timer) = thread
            .tools
            .quic
            .as_ref()
            .and_then(|quic| quic.timers.next())
        {
            until = until.min(timer);
        }
        let (mut is_exact, mut is_blind) = (false, false);
        if let Pace::Open(pace) = &mut thread.pace
            && thread.course != Course::Connecting
            && !thread.supply.is_used_up()
            && pace.may_have_free()
            && let Some(due) = pace.next_due()
        {
            let send = due.saturating_add(self.slack_ns);
            is_exact = send <= until;
            is_blind = is_exact && thread.may_look_away();
            until = until.min(send);
        }
        let last_latency = thread.ledger.last_latency;
        let gather = self.gathering.as_mut();
        Wait {
            from,
            until,
            is_exact,
            is_blind,
            gather: gather.and_then(|gathering| gathering.next(last_latency)),
        }
    }

    fn handle_wakes(&mut self, now: u64) {
        let mut connects = 0;
        for _ in 0..EACH_MAX {
            if connects >= CONNECTS_MAX {
                return;
            }
            let Some(index) = self.thread.agenda.take_wake(now) else {
                return;
            };
            let opening = self.thread.agenda.opening;
            self.slots[index as usize].wake(&mut self.thread, now);
            connects += usize::from(self.thread.agenda.opening > opening);
        }
    }

    fn handle_deadlines(&mut self, now: u64) {
        for _ in 0..EACH_MAX {
            let Some((entered, index)) = self.thread.agenda.take_deadline(now) else {
                return;
            };
            self.slots[index as usize].expire(entered, &mut self.thread, now);
        }
    }

    fn handle_quic_timers(&mut self, now: u64) {
        for _ in 0..EACH_MAX {
            let Some(quic) = &mut self.thread.tools.quic else {
                return;
            };
            let Some((at, index)) = quic.timers.take(now) else {
                return;
            };
            quic::pass_time(&mut self.slots[index as usize], at, &mut self.thread, now);
        }
    }

    /// Lets the QUIC connections that were marked send what they have to send.
    fn drive_quic(&mut self, now: u64) {
        let Some(quic) = &mut self.thread.tools.quic else {
            return;
        };
        if quic.to_drive.is_empty() {
            return;
        }
        let mut marked = std::mem::take(&mut quic.to_drive);
        for index in marked.drain(..) {
            quic::drive(&mut self.slots[index as usize], &mut self.thread, now);
        }
        if let Some(quic) = &mut self.thread.tools.quic {
            // What failed may have marked others.
            marked.append(&mut quic.to_drive);
            quic.to_drive = marked;
        }
    }

    /// Begins what the schedule says is due by `now`, as long as places are free. Each request but
    /// the first has the time at which it is begun: those before it took some.
    #[inline]
    fn begin_due(&mut self, now: u64) {
        if self.thread.pace.is_closed() || self.thread.course == Course::Connecting {
            return;
        }
        let mut connects = 0;
        for before in 0..EACH_MAX {
            let (slots, thread) = (&mut self.slots, &mut self.thread);
            let Pace::Open(pace) = &mut thread.pace else {
                return;
            };
            if thread.supply.is_used_up() || connects >= CONNECTS_MAX {
                return;
            }
            while let Some(due) = pace.shed_next(now) {
                thread.ledger.leave_out(due, now);
            }
            let is_free = |index: u32, generation| slots[index as usize].is_free(generation);
            let Some(due) = pace.take(now, is_free) else {
                return;
            };
            let slot = &mut slots[due.slot as usize];
            let opening = thread.agenda.opening;
            let at = if before == 0 {
                now
            } else {
                thread.driver.now()
            };
            thread.clock = at;
            work::begin(slot, due.at, due.was_short, thread, at);
            work::many::open_streams(slot, thread, at);
            connects += usize::from(thread.agenda.opening > opening);
        }
    }

    /// Counts what is in flight at the edge of the window that was passed.
    #[inline]
    fn settle(&mut self) {
        if !self.thread.ledger.is_unsettled() {
            return;
        }
        let (slots, thread) = (&self.slots, &mut self.thread);
        if thread.ledger.stage == Stage::Closed {
            let end = thread.ledger.window.end;
            slots.iter().for_each(|slot| slot.note_phase(thread, end));
        }
        let cpu = thread.driver.cpu();
        let ledger = &mut thread.ledger;
        ledger.settle(cpu, |look| each_origin(slots, look));
    }
}

/// Hands over where each request that has begun and not ended came from.
fn each_origin<S>(slots: &[Slot<S>], look: &mut dyn FnMut(&Origin)) {
    for slot in slots {
        slot.requests.each_unended(|origin| look(origin));
    }
}

/// The gap between connections of one thread, nanoseconds.
fn ramp_gap_ns(spec: &LoadSpec) -> u64 {
    let threads = u64::from(spec.threads.of_load().max(1));
    crate::clock::nanos(spec.connections.ramp_gap).saturating_mul(threads)
}

/// How long an engine that is held waits, now that it is `now`: until it looks again whether its
/// start is named, and no more once it is.
pub(crate) fn held_until(control: &Control, now: u64) -> u64 {
    match control.named_start() {
        None => now + HELD_NS,
        Some(_) => now,
    }
}
