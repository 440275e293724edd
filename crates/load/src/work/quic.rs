//! What a slot does on a connection with HTTP/3, except for what HTTP/2 does too.

use rustix::io::Errno;

use super::many;
use crate::driver::Driver;
use crate::flights::Requests;
use crate::link::quic::Arrived;
use crate::link::{Intake, Link};
use crate::quic::Polled;
use crate::slot::{Phase, Slot};
use crate::thread::Thread;
use crate::tls;

/// The socket of a QUIC connection is ready.
pub(crate) fn handle<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>) {
    let free_before = slot.requests.free();
    let from = thread.clock;
    let mut intake = Intake::default();
    let (Some(quic), Requests::Many(flights)) = (slot.phase.quic_mut(), &mut slot.requests) else {
        unreachable!("only HTTP/3 comes here");
    };
    let (polled, arrived) = quic.read(flights, thread, &slot.greed, &mut intake);
    quic.mark_to_drive(slot.index, &mut thread.tools.quic);
    let now = thread.driver.now();
    thread.clock = now;
    if !follow(slot, polled, thread, now) {
        return;
    }
    match arrived {
        Arrived::Drained => {
            many::go_on(slot, free_before, intake, (false, from), thread, now);
        }
        Arrived::Unread => {
            many::go_on(slot, free_before, intake, (true, from), thread, now);
        }
        Arrived::Failed(errno) => lose_socket(slot, errno, thread, now),
    }
}

/// The QUIC connection can carry requests.
pub(crate) fn take_up<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) {
    let Phase::ShakingQuic(quic) = std::mem::replace(&mut slot.phase, Phase::Spare) else {
        unreachable!("it has just become ready");
    };
    slot.phase = Phase::Ready(Link::Quic(quic));
    slot.quiet_since = now;
    slot.opened(thread, now);
    if let Requests::Many(flights) = &mut slot.requests {
        flights.restart(now);
    }
    many::take_up(slot, thread, now);
}

/// Goes on with what a connection's datagrams, or the time, came to. Returns whether it is
/// still there.
pub(super) fn follow<D: Driver>(
    slot: &mut Slot<D::Socket>,
    mut polled: Polled,
    thread: &mut Thread<'_, D>,
    now: u64,
) -> bool {
    if polled.connected {
        finish_handshake(slot, polled.again, thread, now);
    }
    let Some(quic) = slot.phase.quic() else {
        return false;
    };
    if let Some(lost) = quic.lost(&mut polled) {
        many::lose(slot, lost, thread, now);
        return false;
    }
    true
}

/// `again` requests were refused as early data.
fn finish_handshake<D: Driver>(
    slot: &mut Slot<D::Socket>,
    again: u32,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let Some(quic) = slot.phase.quic() else {
        return;
    };
    let (seen, is_early) = (quic.seen, quic.session.is_early());
    let is_taken = is_early && quic.session.early_was_taken();
    let took_ns = now.saturating_sub(slot.since);
    let links = &mut thread.ledger.counts.links;
    links.connections.opened += 1;
    thread.ways.opened(slot.endpoint);
    links.protocol.get_or_insert("h3");
    links.handshake(took_ns, !seen.verified, || tls::agreed_in_quic(seen));
    if !is_early {
        slot.leave_phase(thread, now);
        return take_up(slot, thread, now);
    }
    slot.carried -= again;
    let early = &mut thread.ledger.counts.links.quic.early_data;
    early.accepted += u64::from(is_taken);
    early.rejected += u64::from(!is_taken);
}

/// A timer of a QUIC connection is due, its entry being at `at`.
pub(crate) fn pass_time<D: Driver>(
    slot: &mut Slot<D::Socket>,
    at: u64,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let free_before = slot.requests.free();
    let (Some(quic), Requests::Many(flights)) = (slot.phase.quic_mut(), &mut slot.requests) else {
        return;
    };
    if quic.session.entered != Some(at) {
        return;
    }
    quic.session.entered = None;
    let polled = quic.pass_time(flights, thread, now);
    quic.mark_to_drive(slot.index, &mut thread.tools.quic);
    if polled.more {
        thread.agenda.leave_unread(slot.index);
    }
    let has_news = polled.has_news() || slot.requests.free() > free_before;
    if has_news && follow(slot, polled, thread, now) && slot.is_ready() {
        many::follow_up(slot, free_before, thread, now);
    }
}

/// Sends what a marked QUIC connection has to send.
pub(crate) fn drive<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) {
    let at = (slot.index, slot.token());
    let Some(quic) = slot.phase.quic_mut() else {
        return;
    };
    let driven = quic.drive(thread, at, now);
    if quic.session.has_unsent() {
        thread.agenda.watch(&mut slot.is_watched, true);
    }
    if let Err(errno) = driven {
        lose_socket(slot, errno, thread, now);
    }
}

fn lose_socket<D: Driver>(
    slot: &mut Slot<D::Socket>,
    errno: Errno,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let Some(quic) = slot.phase.quic() else {
        return;
    };
    let lost = quic.lost_socket(errno);
    many::lose(slot, lost, thread, now);
}
