//! What a slot does on a connection with HTTP/2, except for what HTTP/3 does too.

use super::many;
use crate::driver::{Driver, Ready};
use crate::flights::Requests;
use crate::link::streams::Taken;
use crate::link::{Intake, Link};
use crate::slot::{Phase, Slot};
use crate::thread::Thread;

/// The socket of a connection with HTTP/2 is ready.
pub(crate) fn handle<D: Driver>(
    slot: &mut Slot<D::Socket>,
    ready: Ready,
    thread: &mut Thread<'_, D>,
) {
    let Phase::Ready(Link::Streams(streams)) = &mut slot.phase else {
        unreachable!("only HTTP/2 comes here");
    };
    streams.line.ended |= ready.ended;
    read(slot, thread);
}

/// The connection carries many requests at once, and its bytes can be exchanged.
pub(crate) fn take_up<D: Driver>(
    slot: &mut Slot<D::Socket>,
    readable: bool,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let (Phase::Ready(Link::Streams(streams)), Requests::Many(flights)) =
        (&mut slot.phase, &mut slot.requests)
    else {
        unreachable!("it has just become ready");
    };
    flights.restart(now);
    // What the server said first may be that it takes nothing.
    let early = streams.take_early(flights, thread, now);
    let end = early.and_then(|()| streams.write(thread)).err();
    if let Some(end) = end {
        return many::fail(slot, end, thread, now);
    }
    if readable && !read(slot, thread) {
        return;
    }
    note_settings(slot, thread, now);
    many::take_up(slot, thread, now);
}

/// Both sides have read the other's settings, if they have: the connection counts as open. The
/// server's may come before it acknowledges this side's, and streams are opened from then on.
fn note_settings<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) {
    let (Phase::Ready(Link::Streams(streams)), Requests::Many(flights)) =
        (&mut slot.phase, &mut slot.requests)
    else {
        return;
    };
    if (streams.is_known && streams.has_limit) || !streams.has_settings() {
        return;
    }
    if !streams.has_limit {
        streams.has_limit = true;
        flights.wait_from(now);
    }
    if !streams.is_known && streams.is_settled() {
        streams.is_known = true;
        slot.opened(thread, now);
    }
}

/// Reads, and goes on with what came of it. Returns whether the connection is still there.
pub(super) fn read<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>) -> bool {
    let generation = slot.generation;
    let free_before = slot.requests.free();
    let (Phase::Ready(Link::Streams(streams)), Requests::Many(flights)) =
        (&mut slot.phase, &mut slot.requests)
    else {
        unreachable!("only HTTP/2 comes here");
    };
    let mut intake = Intake::default();
    let from = thread.clock;
    if !streams.line.unsent.is_empty()
        && let Err(end) = streams.write(thread)
    {
        let now = thread.driver.now();
        many::fail(slot, end, thread, now);
        return false;
    }
    let taken = streams.read(flights, thread, &slot.greed, &mut intake);
    let ended = if streams.was_left_in_order() {
        many::Ended::Left
    } else {
        many::Ended::Closed
    };
    let now = thread.driver.now();
    thread.clock = now;
    note_settings(slot, thread, now);
    match taken {
        Taken::Drained => many::go_on(slot, free_before, intake, (false, from), thread, now),
        Taken::Unread => many::go_on(slot, free_before, intake, (true, from), thread, now),
        Taken::End => many::end_in_order(slot, ended, thread, now),
        Taken::Failed(end) => many::fail(slot, end, thread, now),
    }
    slot.generation == generation && slot.is_ready()
}
