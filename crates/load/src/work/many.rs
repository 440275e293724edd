//! What a slot does on a connection that carries many requests at once: HTTP/2 or HTTP/3.

use bakeoff_record::{CloseKind, Outcome};

use super::{FRUITLESS_MAX, begin_free, go_on_unconnected, serial};
use crate::driver::{Driver, ReadTime};
use crate::end::{End, Late};
use crate::flights::{Lost as LostRequests, Requests};
use crate::ledger::closed_by_server;
use crate::link::streams::sink;
use crate::link::{Intake, Link};
use crate::pace::Pace;
use crate::quic::Lost;
use crate::slot::{Phase, Slot};
use crate::thread::Thread;

/// The connection can carry requests: those that wait for it, and new ones.
pub(super) fn take_up<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) {
    let (permit, free) = (slot.permit(), slot.requests.free());
    if let Pace::Open(pace) = &mut thread.pace {
        (0..free).for_each(|_| pace.put_idle(permit, now));
    }
    begin_free(slot, thread, now);
    open_streams(slot, thread, now);
}

/// Goes on after a turn of a connection that carries many requests at once.
pub(super) fn go_on<D: Driver>(
    slot: &mut Slot<D::Socket>,
    free_before: usize,
    intake: Intake,
    (unread, from): (bool, u64),
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let has_ended = slot.requests.free() > free_before;
    if has_ended {
        slot.quiet_since = now;
        slot.greed.forget();
    }
    if !has_ended {
        serial::feed(slot, intake, unread, thread, from);
    } else if unread {
        thread.agenda.leave_unread(slot.index);
    }
    follow_up(slot, free_before, thread, now);
}

/// Begins what follows the answers that were taken, and writes.
pub(crate) fn follow_up<D: Driver>(
    slot: &mut Slot<D::Socket>,
    free_before: usize,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let ended = slot.requests.free().saturating_sub(free_before);
    let permit = slot.permit();
    if let Pace::Open(pace) = &mut thread.pace {
        let since = thread.ledger.last_done;
        (0..ended).for_each(|_| pace.put_idle(permit, since));
    } else if ended > 0 {
        begin_free(slot, thread, now);
    }
    thread.tools.answers_are_short = ended > 0;
    open_streams(slot, thread, now);
    if is_drained(slot) {
        let whose = if slot.phase.was_left() {
            Ended::Left
        } else {
            Ended::GivenUp
        };
        end_in_order(slot, whose, thread, now);
    }
}

/// By whom a connection was ended in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The server closed it, and had not said that it would.
    Closed,
    /// The server said that it would.
    Left,
    /// This side sends no more requests on it.
    GivenUp,
}

/// Whether the connection takes no more streams and carries none.
pub(super) fn is_drained<S>(slot: &Slot<S>) -> bool {
    match &slot.requests {
        Requests::Many(flights) => {
            slot.is_ready() && flights.is_draining && flights.in_flight() == 0
        }
        Requests::One(_) => false,
    }
}

/// Opens streams for what waits, if the connection is ready, as many as there is room for,
/// and writes.
pub(crate) fn open_streams<D: Driver>(
    slot: &mut Slot<D::Socket>,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let (Phase::Ready(link), Requests::Many(flights)) = (&mut slot.phase, &mut slot.requests)
    else {
        return;
    };
    let most = thread.spec.connections.requests_per_connection;
    let most = most.unwrap_or(u32::MAX);
    let is_closed_loop = thread.pace.is_closed();
    while slot.carried < most && !flights.is_draining {
        let opened = match link {
            Link::Quic(quic) => {
                let opened = quic.session.open_next(flights, is_closed_loop, now);
                let is_early = opened.is_some() && !quic.session.is_established();
                let early = &mut thread.ledger.counts.links.quic.early_data;
                early.requests += u64::from(is_early);
                opened
            }
            Link::Streams(streams) => thread
                .tools
                .h2
                .as_mut()
                .and_then(|h2| streams.open_next(flights, is_closed_loop, now, h2)),
            Link::Serial(_) => unreachable!("it carries one request at a time"),
        };
        let Some(opened) = opened else { break };
        if opened.is_first {
            thread.ledger.sent(&opened.origin, opened.blocked_ns, now);
        }
        let connections = &mut thread.ledger.counts.links.connections;
        connections.reused += u64::from(slot.carried > 0);
        slot.carried += 1;
    }
    flights.is_draining |= slot.carried >= most;
    let written = match link {
        Link::Quic(quic) => {
            quic.mark_to_drive(slot.index, &mut thread.tools.quic);
            Ok(false)
        }
        Link::Streams(streams) => {
            let written = streams.write(thread);
            flights.is_draining |= streams.line.is_used_up();
            written.map(|()| streams.line.broken.is_some())
        }
        Link::Serial(_) => unreachable!("it carries one request at a time"),
    };
    if !is_closed_loop {
        // Answers to several that are read together would all get the time of the last one.
        let is_busy = flights.in_flight() > 1 || flights.has_waiting() || flights.may_be_long();
        let is_busy = is_busy || link.has_unsent();
        thread.agenda.watch(&mut slot.is_watched, is_busy);
    }
    slot.note_deadline(thread);
    match written {
        Ok(false) => {}
        Ok(true) => thread.agenda.leave_unread(slot.index),
        Err(end) => fail(slot, end, thread, now),
    }
}

/// Ends the requests of a connection that carries many at once that are too old.
pub(crate) fn expire<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) {
    let (free_before, is_ready) = (slot.requests.free(), slot.is_ready());
    let Requests::Many(flights) = &mut slot.requests else {
        return;
    };
    let (ledger, lengths) = (&mut thread.ledger, &mut thread.tools.lengths);
    let mut sink = sink(ledger, lengths, thread.spec, ReadTime::at(now));
    let is_never_allowed = match &slot.phase {
        Phase::Ready(Link::Streams(streams)) => {
            flights.in_flight() == 0 && streams.allows_no_streams()
        }
        _ => false,
    };
    let seconds = thread.spec.load.timeout_s;
    let (link, h2) = (&mut slot.phase, &mut thread.tools.h2);
    let cancel = |token| {
        let was_held = match (&mut *link, &mut *h2) {
            (Phase::Ready(Link::Streams(streams)), Some(h2)) => streams.cancel(token, h2),
            (Phase::Ready(Link::Quic(quic)), _) => {
                quic.session.cancel(token);
                false
            }
            _ => false,
        };
        let late = if was_held { Late::Window } else { Late::Answer };
        End::Late(late, seconds)
    };
    let unsent = if is_never_allowed {
        Late::Stream
    } else {
        Late::Answer
    };
    let unsent = End::Late(unsent, seconds);
    flights.expire(thread.timeout_ns, is_ready, &unsent, &mut sink, cancel);
    if !is_ready || slot.requests.free() == free_before {
        return;
    }
    if let Phase::Ready(Link::Quic(quic)) = &slot.phase
        && quic.is_silent(thread.timeout_ns, now)
    {
        let lost = Lost {
            outcome: Outcome::Timeout,
            kind: CloseKind::Timeout,
            message: format!("nothing came on the QUIC connection for {seconds} s"),
        };
        return lose(slot, lost, thread, now);
    }
    follow_up(slot, free_before, thread, now);
}

/// The connection has ended in order, or carried all that it may: another takes its place.
pub(super) fn end_in_order<D: Driver>(
    slot: &mut Slot<D::Socket>,
    ended: Ended,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let Requests::Many(flights) = &mut slot.requests else {
        unreachable!("a connection that carries many at once ended");
    };
    let most = thread.spec.connections.requests_per_connection;
    let is_used_up = most.is_some_and(|most| slot.carried >= most);
    let taken = slot.carried.saturating_sub(flights.withdrawn);
    if !is_used_up && ended != Ended::GivenUp {
        closed_by_server(&mut thread.ledger, now);
        thread.ledger.counts.links.carried.record(u64::from(taken));
    }
    let was_closed = ended == Ended::Closed;
    let is_unserved = was_closed && flights.has_waiting() && flights.answered == 0;
    if flights.in_flight() > 0 || (is_unserved && !is_used_up) {
        return slot.fail(End::BEFORE_ANSWER, thread, now);
    }
    let is_fruitless = taken == 0 && flights.answered == 0 && flights.has_waiting();
    slot.fruitless = if is_fruitless { slot.fruitless + 1 } else { 0 };
    if slot.fruitless >= FRUITLESS_MAX {
        slot.fruitless = 0;
        flights.lose(
            &End::NothingTaken,
            LostRequests::All,
            now,
            &mut thread.ledger,
        );
    }
    slot.close(thread);
    if is_fruitless {
        slot.rest(thread, now);
    } else {
        go_on_unconnected(slot, thread, now);
    }
}

/// A connection with HTTP/2 failed: what the client has to say, such as GOAWAY, is said
/// before the end.
#[cold]
pub(super) fn fail<D: Driver>(
    slot: &mut Slot<D::Socket>,
    end: End,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    if let Phase::Ready(Link::Streams(streams)) = &mut slot.phase {
        // That it cannot be said changes nothing.
        let _ = streams.write(thread);
    }
    if end.is_by_server() {
        closed_by_server(&mut thread.ledger, now);
    }
    slot.fail(end, thread, now);
}

/// A QUIC connection ended that this side did not close.
pub(super) fn lose<D: Driver>(
    slot: &mut Slot<D::Socket>,
    lost: Lost,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let Some(quic) = slot.phase.quic() else {
        return;
    };
    let is_established = quic.session.is_established();
    let was_left = quic.session.is_going_away() && lost.outcome == Outcome::ClosedEarly;
    let is_ours = matches!(
        lost.kind,
        CloseKind::Local | CloseKind::Idle | CloseKind::Timeout
    );
    let by_server = is_established && !is_ours;
    // One that carried requests early has failed all the same.
    let is_early = slot.is_ready() && !is_established;
    let (in_flight, withdrawn) = match &slot.requests {
        Requests::Many(flights) => (flights.in_flight(), flights.withdrawn),
        Requests::One(_) => (0, 0),
    };
    let links = &mut thread.ledger.counts.links;
    if by_server && was_left && in_flight == 0 {
        links.count_close(lost.kind);
        return end_in_order(slot, Ended::Left, thread, now);
    }
    links.connections.failed += u64::from(is_early);
    links.count_close(lost.kind);
    if by_server {
        let taken = slot.carried.saturating_sub(withdrawn);
        links.carried.record(u64::from(taken));
        closed_by_server(&mut thread.ledger, now);
    }
    // One that ends in order and carries nothing is no failure.
    if by_server && in_flight == 0 && !slot.has_waiting() && !thread.pace.is_closed() {
        slot.close(thread);
        return go_on_unconnected(slot, thread, now);
    }
    slot.fail(End::Quic(lost), thread, now);
}
