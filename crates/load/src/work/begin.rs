//! Begins requests.

use super::{open, serial};
use crate::driver::Driver;
use crate::flights::{Flight, Requests};
use crate::link::Link;
use crate::pace::Pace;
use crate::slot::{Phase, Slot};
use crate::thread::Thread;

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

/// The slot has no connection: in a closed loop its client begins the next request at once.
pub(crate) fn go_on_unconnected<D: Driver>(
    slot: &mut Slot<D::Socket>,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    match &mut thread.pace {
        Pace::Closed => begin_next(slot, thread, now),
        Pace::Open(pace) => pace.put_spare(slot.index, now),
    }
}
