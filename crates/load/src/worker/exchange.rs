//! A request and its response on one connection.

use std::os::fd::OwnedFd;

use bakeoff_record::Outcome;
use bakeoff_wire::h1::{EarlyEnd, Response};
use rustix::io::Errno;

use super::Worker;
use crate::clock::now;
use crate::connection::{BodyComparison, Phase};
use crate::pace::Pace;
use crate::places::{self, Due};
use crate::poll::Ready;
use crate::socket;
use crate::tally::Times;

/// Most bytes dropped by one call, so that a body of gigabytes lets the others have their turn.
const DROP_BYTES_MAX: u64 = 8 << 20;

/// When something was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadTime {
    /// When it had arrived in the kernel, if it was stamped; else `now`.
    pub(super) arrived: u64,
    /// When it was read.
    pub(super) now: u64,
}

impl ReadTime {
    pub(super) fn now() -> Self {
        let now = now();
        Self { arrived: now, now }
    }
}

/// What reading a socket came to.
pub(super) enum Read {
    /// A whole response; bytes beyond it were read too.
    Whole { response: Response, beyond: bool },
    /// Nothing more for now.
    Drained,
    /// The request failed.
    Failed(Outcome, String),
}

impl Worker<'_> {
    /// Begins a request that is due at `intended`.
    pub(super) fn begin(&mut self, slot: u32, intended: u64, now: u64) {
        self.tally.begin();
        self.quota -= 1;
        let exchange = self.choice.next();
        let check = self.take_check(exchange);
        let connection = &mut self.connections[slot as usize];
        if connection.places.is_some() {
            let due = Due {
                exchange,
                intended,
                check,
            };
            return self.enqueue(slot, due, now);
        }
        connection.has_request = true;
        connection.exchange = exchange;
        connection.intended = intended;
        connection.body = BodyComparison::start(check);
        if connection.socket.is_some() {
            self.send(slot, now);
        } else {
            self.connect(slot, now);
        }
    }

    /// Sends the request on a connection that is ready.
    pub(super) fn send(&mut self, slot: u32, now: u64) {
        let connection = &mut self.connections[slot as usize];
        let exchange = &self.spec.exchanges[connection.exchange as usize];
        connection.phase = Phase::InFlight;
        connection.begun = now;
        connection.sent = now;
        connection.first_byte = 0;
        connection.written = 0;
        connection.reader.expect(exchange.to_head_request);
        match &self.pace {
            // A client of a closed loop means to send when it can: set-up is told apart.
            Pace::Closed => connection.intended = now,
            Pace::Open(_) => self
                .tally
                .sent_late(now.saturating_sub(connection.intended)),
        }
        if connection.carried > 0 {
            self.tally.counts.connections.reused += 1;
        }
        connection.carried += 1;
        self.next_sweep = self.next_sweep.min(now.saturating_add(self.timeout_ns));
        if let Some(tls) = &mut connection.tls {
            connection.written = exchange.request.len();
            match tls.encrypt(&exchange.request, &mut self.made) {
                Ok(()) => self.flush(slot),
                Err(failure) => self.fail(slot, Outcome::Tls, now, || failure.to_string()),
            }
        } else if !self.made.is_empty() {
            connection.written = exchange.request.len();
            self.made.extend_from_slice(&exchange.request);
            self.flush(slot);
        } else {
            self.write_on(slot);
        }
    }

    /// Writes as much of a request that is sent as it is as the socket takes.
    fn write_on(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        let Some(socket) = &connection.socket else {
            return;
        };
        let request = &self.spec.exchanges[connection.exchange as usize].request;
        while connection.written < request.len() {
            match socket::write(socket, &request[connection.written..]) {
                Ok(written) => {
                    connection.written += written;
                    self.tally.wrote(written);
                }
                Err(Errno::AGAIN) => return,
                // The answer may have come before the peer closed: reading tells.
                Err(_) if connection.written > 0 => return,
                Err(errno) => {
                    return self.fail(slot, Outcome::Reset, now(), || format!("write: {errno}"));
                }
            }
        }
    }

    /// A socket is ready.
    #[inline]
    pub(super) fn handle_ready(&mut self, ready: Ready) {
        let slot = ready.token as u32;
        let generation = (ready.token >> 32) as u32;
        let Some(connection) = self.connections.get(slot as usize) else {
            return;
        };
        if connection.generation != generation || connection.socket.is_none() {
            return;
        }
        match connection.phase {
            Phase::InFlight => self.handle_in_flight(slot, ready.ended),
            Phase::Connecting => self.handle_connected(slot),
            Phase::Handshaking | Phase::Multiplexed if connection.quic.is_some() => {
                self.handle_quic(slot);
            }
            Phase::Handshaking => self.handle_handshaking(slot),
            Phase::Multiplexed => self.handle_multiplexed(slot, ready.ended),
            Phase::Idle => self.handle_idle(slot),
            Phase::Spare => {}
        }
    }

    // Left to itself the compiler takes it into the loop or not by what else is in the crate.
    #[inline(always)]
    fn handle_in_flight(&mut self, slot: u32, ended: bool) {
        let connection = &self.connections[slot as usize];
        let request = &self.spec.exchanges[connection.exchange as usize].request;
        if !connection.unsent.is_empty() {
            self.flush(slot);
        } else if connection.written < request.len() {
            self.write_on(slot);
        }
        let (read, time) = match self.connections[slot as usize].tls {
            Some(_) => self.read_tls(slot, ended),
            None => self.read(slot, ended),
        };
        match read {
            Read::Drained => {}
            Read::Whole { response, beyond } => self.complete(slot, response, beyond, ended, time),
            Read::Failed(outcome, words) => {
                if !matches!(outcome, Outcome::Protocol | Outcome::Tls | Outcome::Local) {
                    self.tally.counts.connections.closed_by_server += 1;
                }
                self.fail(slot, outcome, time.now, || words);
            }
        }
    }

    /// Reads until the response is whole or the socket is empty. Returns the time of the last
    /// read too.
    #[inline]
    fn read(&mut self, slot: u32, ended: bool) -> (Read, ReadTime) {
        let connection = &mut self.connections[slot as usize];
        let Some(socket) = &connection.socket else {
            return (Read::Drained, ReadTime::now());
        };
        let exchange = &self.spec.exchanges[connection.exchange as usize];
        let expected = exchange.body.as_deref().unwrap_or_default();
        let comparison = &mut connection.body;
        loop {
            let droppable = if comparison.on {
                0
            } else {
                connection.reader.droppable()
            };
            if droppable > 0 {
                let most = droppable.min(DROP_BYTES_MAX) as usize;
                let dropped = socket::drop_unread(socket, most);
                if dropped == Err(Errno::AGAIN) {
                    return (Read::Drained, ReadTime::now());
                }
                // The end or an error: the ordinary read below tells which.
                if let Ok(dropped @ 1..) = dropped {
                    self.tally.read(dropped);
                    if let Some(response) = connection.reader.handle_dropped(dropped as u64) {
                        return (whole(response), ReadTime::now());
                    }
                    if dropped < most && !ended {
                        return (Read::Drained, ReadTime::now());
                    }
                    continue;
                }
            }
            let (read, time) = match receive(socket, &mut self.buffer, self.stamps_ahead) {
                Ok(read) => read,
                Err(Errno::AGAIN) => return (Read::Drained, ReadTime::now()),
                Err(Errno::INTR) => continue,
                Err(errno) => return (failed_read(errno), ReadTime::now()),
            };
            if read == 0 {
                let end = connection.reader.handle_end();
                return (end.map_or_else(early_end, whole), time);
            }
            self.tally.read(read);
            if connection.first_byte == 0 {
                connection.first_byte = time.arrived;
            }
            let mut compare = |part: &[u8]| comparison.compare(expected, part);
            let bytes = &self.buffer[..read];
            match connection
                .reader
                .handle(bytes, &mut self.memo, &mut compare)
            {
                Err(violation) => {
                    return (Read::Failed(Outcome::Protocol, violation.to_string()), time);
                }
                Ok(progress) => {
                    self.answers_are_short = progress.response.is_some();
                    if let Some(response) = progress.response {
                        let beyond = progress.consumed < read;
                        return (Read::Whole { response, beyond }, time);
                    }
                }
            }
            if read < self.buffer.len() && !ended {
                return (Read::Drained, time);
            }
        }
    }

    /// A whole response ended the request.
    #[inline]
    fn complete(
        &mut self,
        slot: u32,
        response: Response,
        beyond: bool,
        ended: bool,
        time: ReadTime,
    ) {
        let connection = &mut self.connections[slot as usize];
        connection.has_request = false;
        let index = connection.exchange;
        let exchange = &self.spec.exchanges[index as usize];
        let body_is_right = exchange
            .body
            .as_deref()
            .is_none_or(|expected| connection.body.is_right(expected, response.body_bytes));
        self.tally.counts.bodies_checked += u64::from(connection.body.on);
        if exchange.status.accepts(response.status) && !beyond && body_is_right {
            let times = Times {
                intended: connection.intended,
                sent: connection.sent,
                first_byte: connection.first_byte,
                done: time.arrived.max(connection.sent),
            };
            self.tally
                .end_ok(index, times, response.status, response.body_bytes);
        } else {
            let accepted = exchange.status.accepts(response.status);
            let (outcome, words) = wrong_answer(accepted, beyond, response);
            let intended = connection.intended;
            let status = Some(response.status);
            self.tally
                .end_error(index, outcome, intended, time.now, status, || words);
        }
        self.after_response(slot, response.keep_alive && !beyond, ended, time.now);
    }

    /// Keeps or closes the connection, and begins what is next.
    #[inline]
    fn after_response(&mut self, slot: u32, keep_alive: bool, ended: bool, now: u64) {
        let connection = &mut self.connections[slot as usize];
        let carried = connection.carried;
        let used_up = self
            .spec
            .requests_per_connection
            .is_some_and(|most| carried >= most);
        if ended || !keep_alive || used_up {
            self.tally.counts.connections.closed_by_server += u64::from(!used_up);
            self.close(slot);
        } else {
            connection.phase = Phase::Idle;
        }
        let is_open = self.connections[slot as usize].socket.is_some();
        match &mut self.pace {
            Pace::Closed => self.begin_next(slot, now),
            Pace::Open(pace) => {
                if is_open {
                    pace.put_idle(slot);
                } else {
                    pace.put_spare(slot);
                }
                self.begin_due(now);
            }
        }
    }
}

/// Reads what there is, and tells when it came. `stamps_ahead` is how far the kernel's stamps are
/// ahead of the engine's clock, where they were asked for.
#[inline(always)]
pub(super) fn receive(
    socket: &OwnedFd,
    buffer: &mut [u8],
    stamps_ahead: Option<u64>,
) -> Result<(usize, ReadTime), Errno> {
    let Some(ahead) = stamps_ahead else {
        return socket::read(socket, buffer).map(|read| (read, ReadTime::now()));
    };
    receive_stamped(socket, buffer, ahead)
}

/// Apart, so that the room for a stamp is not made where none is asked for.
#[inline(never)]
fn receive_stamped(
    socket: &OwnedFd,
    buffer: &mut [u8],
    ahead: u64,
) -> Result<(usize, ReadTime), Errno> {
    let (read, stamp) = socket::read_stamped(socket, buffer)?;
    let mut time = ReadTime::now();
    // A stamp after now is one of a clock that was set meanwhile.
    let arrived = stamp.map(|stamp| stamp.wrapping_sub(ahead));
    time.arrived = arrived.filter(|at| *at <= time.now).unwrap_or(time.now);
    Ok((read, time))
}

/// What is wrong with a whole response that is not `ok`.
fn wrong_answer(accepted: bool, beyond: bool, response: Response) -> (Outcome, String) {
    let Response {
        status, body_bytes, ..
    } = response;
    if accepted && beyond {
        let words = "bytes after the end of the response".to_owned();
        (Outcome::TooLong, words)
    } else {
        places::wrong_answer(accepted, status, body_bytes)
    }
}

pub(super) fn whole(response: Response) -> Read {
    Read::Whole {
        response,
        beyond: false,
    }
}

pub(super) fn early_end(end: EarlyEnd) -> Read {
    let (outcome, words) = match end {
        EarlyEnd::BeforeFirstByte => (
            Outcome::ClosedEarly,
            "the server closed the connection before answering",
        ),
        EarlyEnd::InsideResponse => (
            Outcome::Truncated,
            "the server closed the connection inside its answer",
        ),
    };
    Read::Failed(outcome, words.to_owned())
}

pub(super) fn failed_read(errno: Errno) -> Read {
    let outcome = match errno {
        Errno::CONNRESET | Errno::PIPE | Errno::CONNREFUSED => Outcome::Reset,
        Errno::TIMEDOUT => Outcome::Timeout,
        _ => Outcome::Local,
    };
    Read::Failed(outcome, format!("read: {errno}"))
}
