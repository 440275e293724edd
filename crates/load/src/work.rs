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
use crate::link::Link;
use crate::slot::{Phase, Slot};
use crate::thread::Thread;

pub(crate) mod begin;
pub(crate) mod many;
pub(crate) mod open;
pub(crate) mod quic;
pub(crate) mod serial;
pub(crate) mod streams;

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
