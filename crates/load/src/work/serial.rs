//! What a slot does on a connection that carries one request at a time.

use bakeoff_wire::h1::Response;

use super::{begin_next, go_on_unconnected};
use crate::driver::{Driver, Ready};
use crate::end::End;
use crate::flight::Flight;
use crate::flights::Requests;
use crate::ledger::{Answer, closed_by_server};
use crate::link::serial::{Read, Rest};
use crate::link::{Intake, Link};
use crate::pace::Pace;
use crate::slot::{self, Phase, Slot};
use crate::thread::{Course, Thread};

/// The socket of a connection that carries one request at a time is ready: reads the answer, and
/// in a closed loop sends the next request at once. Whatever is not the usual course is apart.
#[inline(always)]
pub(crate) fn handle<D: Driver>(
    slot: &mut Slot<D::Socket>,
    ready: Ready,
    thread: &mut Thread<'_, D>,
) {
    let (Phase::Ready(Link::Serial(serial)), Requests::One(one)) =
        (&mut slot.phase, &mut slot.requests)
    else {
        unreachable!("a serial connection carries one request at a time");
    };
    serial.line.ended |= ready.ended;
    let Some(flight) = one else {
        return handle_idle(slot, thread);
    };
    let mut intake = Intake::default();
    let (read, time) = serial.handle(flight, thread, &slot.greed, &mut intake);
    let (from, now) = (std::mem::replace(&mut thread.clock, time.now), time.now);
    let Read::Whole { response, beyond } = read else {
        return follow(slot, read, intake, from, now, thread);
    };
    if beyond || serial.is_early || time.arrived < flight.sent {
        return complete_oddly(slot, response, beyond, now, thread);
    }
    let answer = Answer {
        status: response.status,
        body_bytes: response.body_bytes,
        done: time.arrived,
        now,
    };
    if thread
        .ledger
        .answer(flight, &answer, &thread.spec.exchanges)
    {
        slot.score
            .add(answer.done.saturating_sub(flight.origin.intended));
    }
    slot.quiet_since = now;
    slot.greed.forget();
    let most = thread.spec.connections.requests_per_connection;
    let is_used_up = most.is_some_and(|most| slot.carried >= most);
    let can_go_on = response.keep_alive && !serial.line.ended && !is_used_up;
    let can_go_on = can_go_on && serial.has_sent(flight, thread.spec);
    if !can_go_on || !thread.may_begin_at_once() {
        return go_on(slot, response.keep_alive, answer.done, thread, now);
    }
    let mut origin = thread.supply.take(now, now, false);
    thread.ledger.begin(&mut origin);
    *flight = Flight::new(origin);
    slot.since = now;
    thread.ledger.counts.links.connections.reused += 1;
    slot.carried += 1;
    let sent = serial.send(flight, thread, now);
    if sent.is_err() || serial.line.broken.is_some() || slot.has_no_deadline() {
        after_sending(slot, sent, thread, now);
    }
}

/// A connection without a request became ready: tickets of TLS, the server's end, or talk.
#[cold]
fn handle_idle<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>) {
    let Phase::Ready(Link::Serial(serial)) = &mut slot.phase else {
        return;
    };
    let rest = serial.look_at_rest(thread);
    if rest != Rest::Usable {
        let now = thread.driver.now();
        lose_idle(slot, rest, thread, now);
    }
}

/// The connection carries one request at a time, and is ready. `readable` if something may
/// have come on it already.
pub(crate) fn take_up<D: Driver>(
    slot: &mut Slot<D::Socket>,
    readable: bool,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    if slot.flight().is_some() {
        let is_answered = (!thread.tools.early.is_empty() && take_early(slot, thread, now))
            || (readable && read_before_sending(slot, thread));
        if !is_answered {
            send(slot, thread, now);
        }
        return;
    }
    let Phase::Ready(Link::Serial(serial)) = &mut slot.phase else {
        unreachable!("it has just become ready");
    };
    if let Err(end) = serial.line.flush(thread) {
        return slot.fail(end, thread, now);
    }
    if !thread.tools.early.is_empty() {
        return lose_idle(slot, Rest::Unasked, thread, now);
    }
    if readable {
        thread.agenda.leave_unread(slot.index);
    }
    let permit = slot.permit();
    match &mut thread.pace {
        Pace::Closed => begin_next(slot, thread, now),
        Pace::Open(pace) => pace.put_idle(permit, now),
    }
}

/// Takes what came with the end of the handshake. Returns whether it ended the request.
#[cold]
fn take_early<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) -> bool {
    let (Phase::Ready(Link::Serial(serial)), Requests::One(Some(flight))) =
        (&mut slot.phase, &mut slot.requests)
    else {
        return false;
    };
    let read = serial.take_early(flight, thread, now);
    let is_over = matches!(read, Read::Whole { .. } | Read::Failed(_));
    follow(slot, read, Intake::default(), now, now, thread);
    is_over
}

/// Reads what came before the request was sent. Returns whether it ended the request.
#[cold]
fn read_before_sending<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>) -> bool {
    let greed = slot.greed;
    let (Phase::Ready(Link::Serial(serial)), Requests::One(Some(flight))) =
        (&mut slot.phase, &mut slot.requests)
    else {
        return false;
    };
    let exchange = &thread.spec.exchanges[flight.origin.exchange as usize];
    let was_early = serial.is_early;
    if !was_early {
        serial.expect_early(exchange.to_head_request);
    }
    let mut intake = Intake::default();
    let (read, time) = serial.handle(flight, thread, &greed, &mut intake);
    let is_over = matches!(read, Read::Whole { .. } | Read::Failed(_));
    if !is_over && !was_early {
        // Tickets of TLS are no answer.
        serial.is_early = flight.first_byte != 0;
    }
    follow(slot, read, intake, time.now, time.now, thread);
    is_over
}

/// Sends the request of a connection that carries one at a time.
pub(super) fn send<D: Driver>(slot: &mut Slot<D::Socket>, thread: &mut Thread<'_, D>, now: u64) {
    let (Phase::Ready(Link::Serial(serial)), Requests::One(Some(flight))) =
        (&mut slot.phase, &mut slot.requests)
    else {
        unreachable!("a request is sent on a serial connection that is ready");
    };
    slot.since = now;
    thread.ledger.counts.links.connections.reused += u64::from(slot.carried > 0);
    flight.origin.is_first = slot.carried == 0;
    slot.carried += 1;
    let sent = serial.send(flight, thread, now);
    after_sending(slot, sent, thread, now);
}

/// Looks after a request that was sent, or could not be.
#[cold]
fn after_sending<D: Driver>(
    slot: &mut Slot<D::Socket>,
    sent: Result<(), Box<End>>,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    if let Err(end) = sent {
        return slot.fail(*end, thread, now);
    }
    slot.note_deadline(thread);
    let (Phase::Ready(Link::Serial(serial)), Requests::One(Some(flight))) =
        (&slot.phase, &slot.requests)
    else {
        return;
    };
    // The rest follows when the socket has room again, and that of a long answer when it is read.
    let is_half_sent = !serial.has_sent(flight, thread.spec);
    let may_be_long = thread.tools.lengths.may_be_long(flight.origin.exchange);
    thread
        .agenda
        .watch(&mut slot.is_watched, is_half_sent || may_be_long);
    if serial.line.broken.is_some() {
        thread.agenda.leave_unread(slot.index);
    }
}

/// Goes on with what reading came to, where that is no whole response.
#[cold]
fn follow<D: Driver>(
    slot: &mut Slot<D::Socket>,
    read: Read,
    mut intake: Intake,
    from: u64,
    now: u64,
    thread: &mut Thread<'_, D>,
) {
    if let Phase::Ready(Link::Serial(serial)) = &slot.phase {
        intake.body_bytes = slot.greed.body_bytes_since(serial.body_bytes());
    }
    match read {
        Read::Whole { response, beyond } => complete_oddly(slot, response, beyond, now, thread),
        Read::Drained | Read::Unread => {
            // The rest of a long answer follows what is read of it.
            thread.agenda.watch(&mut slot.is_watched, true);
            feed(slot, intake, matches!(read, Read::Unread), thread, from);
        }
        Read::Failed(end) => {
            if end.is_by_server() {
                closed_by_server(&mut thread.ledger, now);
            }
            slot.fail(*end, thread, now);
        }
    }
}

/// A whole response ended the request, and more came than was asked for: bytes behind it, or the
/// response before its request was sent. The connection is of no more use.
#[cold]
fn complete_oddly<D: Driver>(
    slot: &mut Slot<D::Socket>,
    response: Response,
    beyond: bool,
    now: u64,
    thread: &mut Thread<'_, D>,
) {
    if let Requests::One(one) = &mut slot.requests
        && let Some(flight) = one.take()
    {
        let answer = Answer {
            status: response.status,
            body_bytes: response.body_bytes,
            done: now.max(flight.sent),
            now,
        };
        let wrong = if beyond { End::Beyond } else { End::Early };
        let exchanges = &thread.spec.exchanges;
        thread
            .ledger
            .answer_wrong(&flight, &answer, exchanges, wrong);
    }
    slot.quiet_since = now;
    // It is this side that ends it, unless the server has or will.
    let has_ended = match &slot.phase {
        Phase::Ready(Link::Serial(serial)) => serial.line.ended && !serial.line.is_used_up(),
        _ => true,
    };
    let by_server = has_ended || !response.keep_alive;
    if by_server {
        closed_by_server(&mut thread.ledger, now);
    }
    slot.requests = Requests::One(None);
    slot.close(thread);
    go_on_unconnected(slot, thread, now);
}

/// The request has ended: keeps or closes the connection, and begins what is next.
#[inline(never)]
fn go_on<D: Driver>(
    slot: &mut Slot<D::Socket>,
    keep_alive: bool,
    done: u64,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    let most = thread.spec.connections.requests_per_connection;
    let is_used_up = most.is_some_and(|most| slot.carried >= most)
        || matches!(&slot.phase, Phase::Ready(Link::Serial(it)) if it.line.is_used_up());
    let (has_ended, is_half_sent) = match (&slot.phase, &slot.requests) {
        (Phase::Ready(Link::Serial(serial)), Requests::One(Some(flight))) => {
            let exchange = flight.origin.exchange;
            thread.tools.lengths.note(exchange, serial.body_bytes());
            (serial.line.ended, !serial.has_sent(flight, thread.spec))
        }
        (Phase::Ready(Link::Serial(serial)), _) => (serial.line.ended, false),
        _ => (true, false),
    };
    slot.requests = Requests::One(None);
    if has_ended || !keep_alive || is_used_up || is_half_sent {
        if !is_used_up && !is_half_sent {
            closed_by_server(&mut thread.ledger, now);
        }
        slot.close(thread);
        return go_on_unconnected(slot, thread, now);
    }
    thread.agenda.watch(&mut slot.is_watched, false);
    let permit = slot.permit();
    match &mut thread.pace {
        Pace::Closed => begin_next(slot, thread, now),
        Pace::Open(pace) => pace.put_idle(permit, done),
    }
}

/// A turn ended no request: the connection is read again if it is `unread`, and seldom if it
/// is greedy.
#[cold]
pub(super) fn feed<D: Driver>(
    slot: &mut Slot<D::Socket>,
    intake: Intake,
    unread: bool,
    thread: &mut Thread<'_, D>,
    from: u64,
) {
    let now = thread.driver.now();
    match slot.greed.feed(intake.bytes, intake.body_bytes, from, now) {
        Some(at) => {
            slot::stop_awaiting(slot, thread);
            thread.agenda.wake(slot.index, at);
        }
        None if unread => thread.agenda.leave_unread(slot.index),
        None => {}
    }
}

/// An idle connection cannot be used any more.
fn lose_idle<D: Driver>(
    slot: &mut Slot<D::Socket>,
    rest: Rest,
    thread: &mut Thread<'_, D>,
    now: u64,
) {
    match rest {
        Rest::Unasked => thread.ledger.counts.observed.unasked += 1,
        Rest::Usable | Rest::Ended => closed_by_server(&mut thread.ledger, now),
    }
    slot.close(thread);
    if thread.course == Course::Connecting {
        return;
    }
    go_on_unconnected(slot, thread, now);
}
