//! What a slot does with its connection: opens it, begins requests, reads answers, and goes on.
//!
//! ```text
//! open ─► serial            one request at a time
//!      ├► streams ─┬► many  many at once
//!      └► quic ────┘
//! ```
//!
//! Each function works on one slot and on what its thread shares, and never reaches into another
//! slot.

use crate::driver::{Driver, Ready};
use crate::end::{End, Late};
use crate::flight::Flight;
use crate::flights::{Lost, Requests};
use crate::ledger::Failure;
use crate::link::Link;
use crate::pace::Pace;
use crate::slot::{Phase, Slot};
use crate::thread::{Course, Thread};

pub(crate) mod many;
pub(crate) mod open;
pub(crate) mod quic;
pub(crate) mod serial;
pub(crate) mod streams;

/// Connections in a row that may end without taking a request, before those that wait for the
/// next one are given up.
const FRUITLESS_MAX: u8 = 2;

/// The slot's socket is ready, or was not read to its end before.
#[inline(always)]
pub(crate) fn handle<D: Driver>(
    slot: &mut Slot<D::Socket>,
    ready: Ready,
    thread: &mut Thread<'_, D>,
) {
    // The one that is cheapest and most frequent, before the others.
    if let Phase::Ready(Link::Serial(_)) = &slot.phase
        && slot.greed.held_until <= thread.clock
    {
        return serial::handle(slot, ready, thread);
    }
    handle_other(slot, ready, thread);
}

fn handle_other<D: Driver>(slot: &mut Slot<D::Socket>, ready: Ready, thread: &mut Thread<'_, D>) {
    match &mut slot.phase {
        Phase::Ready(link) if slot.greed.held_until > thread.clock => note_end(link, ready),
        Phase::Ready(Link::Serial(_)) => unreachable!("handled before"),
        Phase::Ready(Link::Streams(_)) => streams::handle(slot, ready, thread),
        Phase::Ready(Link::Quic(_)) | Phase::ShakingQuic(_) => quic::handle(slot, thread),
        Phase::Connecting(_) => open::connected(slot, ready, thread),
        Phase::Shaking(line) => {
            line.ended |= ready.ended;
            open::shake(slot, thread);
        }
        Phase::Spare | Phase::Resting | Phase::Knocking(_) => {}
    }
}

/// A connection that is held back is not read; that it has ended must not be forgotten.
#[cold]
fn note_end<S>(link: &mut Link<S>, ready: Ready) {
    match link {
        Link::Serial(serial) => serial.line.ended |= ready.ended,
        Link::Streams(streams) => streams.line.ended |= ready.ended,
        Link::Quic(_) => {}
    }
}

/// Begins a request that is due at `intended`; there must be a place for it.
#[inline]
pub(crate) fn begin<D: Driver>(
    slot: &mut Slot<D::Socket>,
    intended: u64,
    was_short: bool,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let mut origin = thread.supply.take(intended, now, was_short);
    thread.ledger.begin(&mut origin);
    match &mut slot.requests {
        Requests::One(one) => *one = Some(Flight::new(origin)),
        Requests::Many(flights) => {
            let may_be_long = thread.tools.lengths.may_be_long(origin.exchange);
            flights.enqueue(origin, may_be_long, now);
        }
    }
    match &slot.phase {
        Phase::Ready(Link::Serial(_)) => serial::send(slot, thread, now),
        Phase::Spare => open::connect(slot, thread, now),
        _ => {}
    }
}

/// In a closed loop: the client's next request begins now.
#[inline]
pub(crate) fn begin_next<D: Driver>(
    slot: &mut Slot<D::Socket>,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    if thread.may_begin() {
        begin(slot, now, false, thread, now);
    }
}

/// In a closed loop: each user without a request begins the next one.
pub(crate) fn begin_free<D: Driver>(
    slot: &mut Slot<D::Socket>,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    if thread.pace.is_closed() {
        (0..slot.requests.free()).for_each(|_| begin_next(slot, thread, now));
    }
}

/// The slot has no connection: requests that wait get another one, or in a closed loop its client
/// begins the next request at once.
pub(crate) fn go_on_unconnected<D: Driver>(
    slot: &mut Slot<D::Socket>,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    if thread.may_connect() && slot.has_waiting() {
        return open::connect(slot, thread, now);
    }
    match &mut thread.pace {
        Pace::Closed => begin_next(slot, thread, now),
        Pace::Open(pace) => pace.put_spare(slot.index, now),
    }
}

impl<S> Slot<S> {
    /// Ends what is on the connection, closes it, and lets the slot rest.
    #[cold]
    pub(crate) fn fail<D: Driver<Socket = S>>(
        &mut self,
        end: End,
        thread: &mut Thread<'_, D>,
        now: u64,
    ) {
        match self.phase {
            Phase::Knocking(_) | Phase::Connecting(_) | Phase::ShakingQuic(_) => {
                return open::fail(self, end, thread, now);
            }
            Phase::Shaking(_) => {
                thread.ledger.counts.links.connections.failed += 1;
                thread.agenda.opening -= 1;
            }
            Phase::Spare | Phase::Resting | Phase::Ready(_) => {}
        }
        self.leave_phase(thread, now);
        let is_ready = self.is_ready();
        let end = self.after_quiet(end, is_ready, thread, now);
        match &mut self.requests {
            Requests::One(one) => {
                if let Some(flight) = one.take() {
                    thread.ledger.fail(&flight, &Failure::by(&end, now));
                }
            }
            Requests::Many(flights) => {
                let is_served = is_ready && flights.answered > 0;
                let was_left = self.phase.was_left_in_order();
                // Where no request ends with the connection, this could go on for ever.
                let is_fruitless = was_left && !is_served && flights.in_flight() == 0;
                self.fruitless = if is_fruitless { self.fruitless + 1 } else { 0 };
                let lost = if is_served || (was_left && self.fruitless < FRUITLESS_MAX) {
                    Lost::Sent
                } else {
                    self.fruitless = 0;
                    Lost::All
                };
                flights.lose(&end, lost, now, &mut thread.ledger);
            }
        }
        self.close(thread);
        self.rest(thread, now);
    }

    /// Something of the slot may be too old: its entry at `entered` is due.
    pub(crate) fn expire<D: Driver<Socket = S>>(
        &mut self,
        entered: u64,
        thread: &mut Thread<'_, D>,
        now: u64,
    ) {
        if self.deadline != Some(entered) {
            return;
        }
        self.deadline = None;
        let late = match (&self.phase, &self.requests) {
            (Phase::Spare | Phase::Resting, _) => None,
            (Phase::Connecting(_) | Phase::Knocking(_), _) => Some(Late::Connection),
            (Phase::Shaking(_), _) => Some(Late::TlsHandshake),
            (Phase::ShakingQuic(_), _) => Some(Late::QuicHandshake),
            (Phase::Ready(_), Requests::One(one)) => one.as_ref().map(|_| Late::Answer),
            (Phase::Ready(_), Requests::Many(_)) => None,
        };
        let patience_ns = self.patience_ns(thread);
        if let Some(late) = late
            && self.since.saturating_add(patience_ns) <= now
        {
            let end = End::Late(late, patience_ns as f64 / 1e9);
            self.fail(end, thread, now);
        } else if matches!(self.requests, Requests::Many(_)) {
            many::expire(self, thread, now);
        }
        self.note_deadline(thread);
    }

    /// The slot's rest is over, or its turn to begin has come.
    pub(crate) fn wake<D: Driver<Socket = S>>(&mut self, thread: &mut Thread<'_, D>, now: u64) {
        match self.phase {
            // It was held back from being read.
            Phase::Ready(_) => return thread.agenda.leave_unread(self.index),
            // This entry was made before the failure.
            Phase::Resting if now < self.since.saturating_add(thread.pause_ns()) => return,
            Phase::Spare | Phase::Resting => {}
            Phase::Knocking(at) if at <= now => return open::knock(self, thread, now),
            Phase::Knocking(_)
            | Phase::Connecting(_)
            | Phase::Shaking(_)
            | Phase::ShakingQuic(_) => return,
        }
        if thread.course == Course::Connecting && self.generation > 0 {
            // A connection that has ended left this entry behind: it opens no other one, so that
            // no server can keep the load from its beginning.
            return;
        }
        self.leave_phase(thread, now);
        self.phase = Phase::Spare;
        if thread.course == Course::Connecting || self.has_waiting() {
            return open::connect(self, thread, now);
        }
        match &mut thread.pace {
            Pace::Closed => begin_next(self, thread, now),
            Pace::Open(pace) => pace.put_spare(self.index, now),
        }
    }
}
