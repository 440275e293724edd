//! One QUIC connection with HTTP/3 on it, and the requests in flight on its streams.
//!
//! Datagrams go in with the time, and datagrams to send come out. The session opens no socket and
//! reads no clock. It does not decide when a request begins: a slot does.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use bakeoff_record::QuicLedger;
use bakeoff_wire::h3::{self, ControlEvent, ErrorCode, Event as Part, Response, Violation};
use bytes::Bytes;
use quinn_proto::{
    Connection, ConnectionError, Dir, Event, ReadError, StreamEvent, StreamId, VarInt, WriteError,
};
use rustix::io::Errno;

use super::datagrams::Datagrams;
use super::link::Link;
use super::reading::Reading;
use super::silence::Silence;
use super::streams::Streams;
use super::uploads::Uploads;
use super::{ASKED_TO_STOP_MAX, GIVEN_UP_MAX, Quic, Ready, UNACKNOWLEDGED_MAX};
use crate::driver::Driver;
use crate::end::End;
use crate::flights::{Attempt, Flights, Opened, Sink};

/// One connection's QUIC and HTTP/3.
pub(crate) struct Session {
    link: Link,
    connection: Connection,
    http: h3::Connection,
    requests: Rc<[Ready]>,
    streams: Streams,
    /// The stream of each place, by token.
    flights: Vec<Flight>,
    stage: Stage,
    reading: Reading,
    /// Whether it is among those that are to be driven.
    pub(crate) is_marked: bool,
    /// The earliest entry among the timers.
    pub(crate) entered: Option<u64>,
    /// When a datagram was last received.
    pub(crate) last_received: u64,
    silence: Silence,
}

/// How far a connection has come.
struct Stage {
    is_established: bool,
    /// Whether requests go before the handshake's end.
    is_early: bool,
    /// The server said GOAWAY.
    is_going_away: bool,
    /// Streams that were given up before the server had ended them.
    given_up: u32,
    /// Streams of the server's own that it was asked to stop.
    asked_to_stop: u32,
    /// What the connection is closed with.
    close_code: ErrorCode,
}

impl Stage {
    /// Notes a rule that the server broke: the connection is closed with its code.
    fn note(&mut self, result: Result<(), Violation>, polled: &mut Polled) {
        if let Err(violation) = result {
            self.close_code = violation.code();
            polled.violation.get_or_insert(violation);
        }
    }
}

/// A request on its stream.
struct Flight {
    stream: StreamId,
    response: Response,
    /// What the server's windows have not let through of the request.
    unsent: Bytes,
}

/// What became of a connection by what it received or by the time.
#[derive(Debug, Default)]
pub(crate) struct Polled {
    /// Its handshake ended.
    pub(crate) connected: bool,
    /// Requests that the server refused as early data, and that wait again.
    pub(crate) again: u32,
    pub(crate) lost: Option<ConnectionError>,
    /// A rule that the server broke and that ends the connection.
    pub(crate) violation: Option<Violation>,
    /// There is more than one turn should take for one connection: it is to be received and
    /// polled again in the next turn, without an event of its socket.
    pub(crate) more: bool,
}

impl Polled {
    /// Adds what became of it by what came after.
    pub(crate) fn add(&mut self, later: Self) {
        self.connected |= later.connected;
        self.again += later.again;
        self.lost = self.lost.take().or(later.lost);
        self.violation = self.violation.take().or(later.violation);
        self.more = later.more;
    }

    /// Whether no more is to be received in this turn.
    pub(crate) fn is_last(&self) -> bool {
        self.more || self.violation.is_some()
    }

    /// Whether anything became of it.
    pub(crate) fn has_news(&self) -> bool {
        self.connected || self.lost.is_some() || self.violation.is_some()
    }
}

impl Session {
    pub(super) fn begin(
        quic: &Quic,
        remote: SocketAddr,
        now: u64,
    ) -> Result<Self, quinn_proto::ConnectError> {
        let client = quic.dialing.client.clone();
        let opened = Link::open(&quic.dialing, client, remote, quic.instant(now));
        let (link, connection) = opened?;
        let flight = || Flight {
            stream: StreamId::new(quinn_proto::Side::Client, Dir::Bi, 0),
            response: Response::new(false),
            unsent: Bytes::new(),
        };
        let mut session = Self {
            link,
            connection,
            http: h3::Connection::new(&h3::Config::default()),
            requests: quic.requests.clone(),
            streams: Streams::default(),
            flights: (0..quic.dialing.streams).map(|_| flight()).collect(),
            stage: Stage {
                is_established: false,
                is_early: false,
                is_going_away: false,
                given_up: 0,
                asked_to_stop: 0,
                close_code: ErrorCode::NO_ERROR,
            },
            reading: Reading::default(),
            is_marked: false,
            entered: None,
            last_received: now,
            silence: Silence::default(),
        };
        if quic.dialing.early_data && session.connection.has_0rtt() {
            session.stage.is_early = true;
            session.open_control();
        }
        Ok(session)
    }

    /// Whether requests go, or went, before the handshake's end.
    pub(crate) fn is_early(&self) -> bool {
        self.stage.is_early
    }

    /// Whether the server took what went before the handshake's end.
    pub(crate) fn early_was_taken(&self) -> bool {
        self.connection.accepted_0rtt()
    }

    pub(crate) fn is_established(&self) -> bool {
        self.stage.is_established
    }

    /// Whether the server said that it ends the connection.
    pub(crate) fn is_going_away(&self) -> bool {
        self.stage.is_going_away
    }

    /// Whether the socket has not taken all that was to be sent.
    pub(crate) fn has_unsent(&self) -> bool {
        self.link.has_unsent()
    }

    /// Adds what the connection counted to the ledger.
    pub(crate) fn note(&self, ledger: &mut QuicLedger) {
        self.link
            .note(&self.connection, self.stage.is_established, ledger);
    }

    /// Takes datagrams, and the length of each but the last. Returns how many bytes of requests
    /// they acknowledge.
    pub(crate) fn receive(&mut self, datagrams: (Datagrams, usize), now: Instant) -> u64 {
        self.link.receive(&mut self.connection, datagrams, now)
    }

    /// When the connection wants to be looked at.
    pub(crate) fn timeout(&mut self, quic: &Quic) -> Option<u64> {
        if self.reading.is_behind() {
            // What was left is due now, or as long ago.
            return Some(quic.nanos(self.link.begun()));
        }
        let timeout = self.connection.poll_timeout().map(|at| quic.nanos(at));
        let owes = !self.streams.is_empty();
        let asks_at = owes.then(|| self.silence.asks_at(self.last_received));
        timeout.into_iter().chain(asks_at).min()
    }

    pub(crate) fn handle_timeout(&mut self, quic: &Quic, now: u64) {
        self.connection.handle_timeout(quic.instant(now));
        if !self.streams.is_empty() && self.silence.asks(self.last_received, now) {
            self.connection.ping();
        }
    }

    /// Opens a stream for the request that waits longest, if there is one and room for it.
    #[inline]
    pub(crate) fn open_next(
        &mut self,
        flights: &mut Flights,
        is_closed_loop: bool,
        now: u64,
    ) -> Option<Opened> {
        flights.open_next(is_closed_loop, now, |exchange, token| {
            if self.stage.is_going_away || self.stage.given_up >= GIVEN_UP_MAX {
                return Attempt::Draining;
            }
            if self.connection.streams().send_streams() >= UNACKNOWLEDGED_MAX {
                return Attempt::Full;
            }
            let Some(stream) = self.connection.streams().open(Dir::Bi) else {
                return Attempt::Full;
            };
            let request = &self.requests[exchange as usize];
            let flight = &mut self.flights[token as usize];
            flight.response.begin(request.is_to_head);
            flight.stream = stream;
            flight.unsent = request.bytes.clone();
            if self.streams.is_empty() {
                self.silence.begin(now);
                self.link.uploads = Uploads::default();
            }
            self.streams.open(stream, token);
            let written = write(&mut self.connection, flight);
            self.link.uploads.wrote(written);
            Attempt::Opened
        })
    }

    /// Ends a request's stream, whose answer is not wanted any more.
    pub(crate) fn cancel(&mut self, token: u32) {
        let stream = self.flights[token as usize].stream;
        self.give_up(stream, ErrorCode::REQUEST_CANCELLED);
    }

    /// Ends a stream that the server has not ended, and may never end: quinn-proto keeps it as
    /// long as that, so a connection with many of them takes no more requests.
    fn give_up(&mut self, stream: StreamId, code: ErrorCode) {
        self.stage.given_up += 1;
        self.abandon(stream, code);
    }

    fn abandon(&mut self, stream: StreamId, code: ErrorCode) {
        let code = varint(code);
        self.streams.end(stream);
        // A stream that ended by itself needs neither.
        let _ = self.connection.recv_stream(stream).stop(code);
        let _ = self.connection.send_stream(stream).reset(code);
    }

    /// Takes what the connection has to say, and counts what has ended by it. Nothing is taken
    /// behind a broken rule: no answer is one on a connection that has ended (RFC 9114, 8).
    pub(crate) fn poll(
        &mut self,
        flights: &mut Flights,
        memo: &mut h3::Memo,
        sink: &mut Sink<'_>,
    ) -> Polled {
        let mut polled = Polled::default();
        for id in self.reading.begin() {
            if polled.violation.is_none() {
                self.read(id, flights, memo, sink, &mut polled);
            }
        }
        while polled.violation.is_none()
            && let Some(event) = self.connection.poll()
        {
            match event {
                Event::Connected => {
                    self.stage.is_established = true;
                    polled.connected = true;
                    if self.stage.is_early && !self.connection.accepted_0rtt() {
                        polled.again = self.start_over(flights, sink);
                    }
                    if !(self.stage.is_early && self.connection.accepted_0rtt()) {
                        self.open_control();
                    }
                }
                Event::ConnectionLost { reason } => {
                    // No more comes, and what came whole is an answer.
                    for id in self.reading.begin_without_limit() {
                        self.read(id, flights, memo, sink, &mut polled);
                    }
                    polled.lost = Some(reason);
                }
                Event::Stream(event) => {
                    let result = self.handle_stream(event, flights, memo, sink);
                    self.stage.note(result, &mut polled);
                }
                Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {
                }
            }
        }
        polled.more = self.reading.is_behind();
        polled
    }

    /// Goes on with a stream that was left.
    #[cold]
    fn read(
        &mut self,
        id: StreamId,
        flights: &mut Flights,
        memo: &mut h3::Memo,
        sink: &mut Sink<'_>,
        polled: &mut Polled,
    ) {
        let event = StreamEvent::Readable { id };
        let result = self.handle_stream(event, flights, memo, sink);
        self.stage.note(result, polled);
    }

    /// The server took no early data: no stream was ever opened, to it.
    #[cold]
    fn start_over(&mut self, flights: &mut Flights, sink: &mut Sink<'_>) -> u32 {
        self.http = h3::Connection::new(&h3::Config::default());
        let streams = std::mem::take(&mut self.streams);
        // Those that wait again are put in front one by one: the first shall be the foremost.
        let mut again = 0;
        for token in streams.tokens_from_last() {
            self.flights[token as usize].unsent = Bytes::new();
            flights.send_again(token, sink);
            again += 1;
        }
        flights.is_draining = false;
        again
    }

    fn open_control(&mut self) {
        let Some(stream) = self.connection.streams().open(Dir::Uni) else {
            // A server that allows no such stream speaks no HTTP/3; it will not answer.
            return;
        };
        let mut bytes = Vec::new();
        self.http.begin(&mut bytes);
        // Fresh windows of less than a few dozen bytes are no server's.
        let _ = self.connection.send_stream(stream).write(&bytes);
    }

    #[inline]
    fn handle_stream(
        &mut self,
        event: StreamEvent,
        flights: &mut Flights,
        memo: &mut h3::Memo,
        sink: &mut Sink<'_>,
    ) -> Result<(), Violation> {
        match event {
            StreamEvent::Readable { id } if id.dir() == Dir::Bi => {
                self.read_response(id, flights, memo, sink)
            }
            StreamEvent::Readable { id } => self.read_uni(id, flights, sink),
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = self.connection.streams().accept(Dir::Uni) {
                    self.read_uni(id, flights, sink)?;
                }
                Ok(())
            }
            StreamEvent::Writable { id } => {
                if let Some(token) = self.streams.token(id) {
                    let flight = &mut self.flights[token as usize];
                    let written = write(&mut self.connection, flight);
                    self.link.uploads.wrote(written);
                }
                Ok(())
            }
            // The server has heard enough of the request; its answer may come all the same.
            StreamEvent::Stopped { id, .. } => {
                if let Some(token) = self.streams.token(id) {
                    self.flights[token as usize].unsent = Bytes::new();
                }
                let code = varint(ErrorCode::NO_ERROR);
                let _ = self.connection.send_stream(id).reset(code);
                Ok(())
            }
            StreamEvent::Opened { dir: Dir::Bi }
            | StreamEvent::Finished { .. }
            | StreamEvent::Available { .. } => Ok(()),
        }
    }

    /// Reads what came of a response, to its end if that came too.
    fn read_response(
        &mut self,
        id: StreamId,
        flights: &mut Flights,
        memo: &mut h3::Memo,
        sink: &mut Sink<'_>,
    ) -> Result<(), Violation> {
        let Some(token) = self.streams.token(id) else {
            return Ok(());
        };
        let flight = &mut self.flights[token as usize];
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return Ok(());
        };
        let ended = loop {
            let Some(most) = self.reading.left_for(id) else {
                break Ok(None);
            };
            match chunks.next(most) {
                Ok(Some(chunk)) => {
                    self.reading.take(chunk.bytes.len());
                    let read = flight
                        .response
                        .handle(&chunk.bytes, memo, |part| match part {
                            Part::Head { status } => flights.head(token, status, sink),
                            Part::Data(part) => flights.data(token, part, sink),
                            Part::Informational { .. } => {}
                        });
                    if let Err(violation) = read {
                        break Err(violation);
                    }
                }
                Ok(None) => break flight.response.finish().map(Some),
                Err(ReadError::Blocked) => break Ok(None),
                Err(ReadError::Reset(code)) => {
                    let _ = chunks.finalize();
                    self.end_reset(id, token, ErrorCode(code.into_inner()), flights, sink);
                    return Ok(());
                }
            }
        };
        let _ = chunks.finalize();
        match ended {
            Ok(None) => Ok(()),
            Ok(Some(end)) => {
                if !flight.unsent.is_empty() {
                    // A request whose answer is whole is of no more use to either side.
                    flight.unsent = Bytes::new();
                    let code = varint(ErrorCode::NO_ERROR);
                    let _ = self.connection.send_stream(id).reset(code);
                }
                self.streams.end(id);
                flights.end(token, end.body_bytes, sink);
                Ok(())
            }
            Err(violation) if violation.ends_connection() => Err(violation),
            Err(violation) => {
                self.give_up(id, violation.code());
                flights.fail(token, &End::H3(violation.to_string()), sink);
                Ok(())
            }
        }
    }

    /// The server ended a request by resetting its stream.
    #[cold]
    fn end_reset(
        &mut self,
        id: StreamId,
        token: u32,
        code: ErrorCode,
        flights: &mut Flights,
        sink: &mut Sink<'_>,
    ) {
        self.abandon(id, ErrorCode::REQUEST_CANCELLED);
        // What is beyond a GOAWAY was withdrawn with it.
        let end = match code {
            ErrorCode::REQUEST_REJECTED => End::StreamRefused,
            code => End::StreamReset(code.to_string()),
        };
        flights.fail(token, &end, sink);
    }

    /// Reads what came on a stream of the server's own.
    fn read_uni(
        &mut self,
        id: StreamId,
        flights: &mut Flights,
        sink: &mut Sink<'_>,
    ) -> Result<(), Violation> {
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return Ok(());
        };
        let mut unwanted = false;
        let mut first_refused = None;
        let number = u64::from(VarInt::from(id));
        let result = loop {
            let on_event = |event| match event {
                ControlEvent::GoAway { first_refused: id } => first_refused = Some(id),
                ControlEvent::Unwanted { .. } => unwanted = true,
                ControlEvent::Settings => {}
            };
            let Some(most) = self.reading.left_for(id) else {
                break Ok(());
            };
            let result = match chunks.next(most) {
                Ok(Some(chunk)) => {
                    self.reading.take(chunk.bytes.len());
                    self.http.handle_uni(number, &chunk.bytes, false, on_event)
                }
                Ok(None) => break self.http.handle_uni(number, &[], true, on_event),
                Err(ReadError::Blocked) => break Ok(()),
                Err(ReadError::Reset(_)) => break self.http.handle_uni_reset(number),
            };
            if result.is_err() {
                break result;
            }
        };
        let _ = chunks.finalize();
        if unwanted && self.stage.asked_to_stop < ASKED_TO_STOP_MAX {
            self.stage.asked_to_stop += 1;
            let code = varint(ErrorCode::STREAM_CREATION_ERROR);
            let _ = self.connection.recv_stream(id).stop(code);
            // Nothing of it is read any more, its end neither.
            let _ = self.http.handle_uni_reset(number);
        }
        if let Some(first_refused) = first_refused {
            self.go_away(first_refused, flights, sink);
        }
        result
    }

    /// The server takes no more requests: those from `first_refused` on go on the next
    /// connection.
    #[cold]
    fn go_away(&mut self, first_refused: u64, flights: &mut Flights, sink: &mut Sink<'_>) {
        if !std::mem::replace(&mut self.stage.is_going_away, true) {
            sink.ledger.counts.links.connections.goaways += 1;
        }
        flights.is_draining = true;
        for index in self.streams.open_from(first_refused / 4) {
            let id = StreamId::new(quinn_proto::Side::Client, Dir::Bi, index);
            if let Some(token) = self.streams.token(id) {
                self.abandon(id, ErrorCode::REQUEST_CANCELLED);
                flights.withdraw(token, sink);
            }
        }
    }

    /// Closes the connection; what is to be sent for it is to be transmitted.
    pub(crate) fn close(&mut self, now: Instant) {
        let code = varint(self.stage.close_code);
        self.connection.close(now, code, Bytes::new());
    }

    /// Sends all that is to be sent, datagrams of one size together. Returns the bytes written.
    pub(crate) fn transmit<D: Driver>(
        &mut self,
        to: (&mut D, &D::Socket),
        now: Instant,
        segments_max: &mut usize,
        outgoing: &mut Vec<u8>,
    ) -> Result<usize, Errno> {
        let connection = &mut self.connection;
        self.link
            .transmit(connection, to, now, segments_max, outgoing)
    }
}

/// Writes as much of a request as the server's windows let through, and its end. Returns the bytes.
fn write(connection: &mut Connection, flight: &mut Flight) -> u64 {
    let before = flight.unsent.len();
    let mut stream = connection.send_stream(flight.stream);
    while !flight.unsent.is_empty() {
        let mut chunk = [std::mem::take(&mut flight.unsent)];
        let written = stream.write_chunks(&mut chunk);
        [flight.unsent] = chunk;
        match written {
            Ok(_) => {}
            Err(WriteError::Blocked) => return (before - flight.unsent.len()) as u64,
            Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                flight.unsent = Bytes::new();
                return 0;
            }
        }
    }
    // It fails where the stream has ended already.
    let _ = stream.finish();
    before as u64
}

fn varint(code: ErrorCode) -> VarInt {
    VarInt::from_u64(code.0).unwrap_or(VarInt::MAX)
}

#[cfg(test)]
mod tests;
