//! HTTP/2 on a connection, as far as its requests go.
//!
//! ```text
//! bytes ─► Streams::take ─► Client::handle ─► events ─► Flights ─► Ledger
//! ```
//!
//! All that is read at once is taken before anything is sent: the requests that follow the
//! answers of one read leave in one write.

use bakeoff_wire::h2::{Blocked, Client, ErrorCode, Event, Violation};
use rustix::io::Errno;

use super::Intake;
use crate::driver::{Driver, ReadTime};
use crate::end::End;
use crate::flights::{Attempt, Flights, Opened, Sink};
use crate::greed::Greed;
use crate::ledger::Ledger;
use crate::lengths::Lengths;
use crate::line::{Ciphertext, Line};
use crate::spec::LoadSpec;
use crate::thread::{H2, LONG_BYTES_MIN, Thread};
use crate::tls::Progress;

/// Acknowledgements that a server lets lie before it is given up, bytes.
const ACK_BYTES_MAX: usize = 64 * 1024;

/// HTTP/2 on a connection.
pub(crate) struct Streams<S> {
    pub(crate) line: Line<S>,
    /// Whether what waits was seen to do so for the server's limit, because its settings had come.
    pub(crate) has_limit: bool,
    /// Whether both sides have read the other's settings, or that is not waited for: then the
    /// connection counts as open.
    pub(crate) is_known: bool,
    session: Session,
}

/// What is spoken, apart from the bytes it travels in.
struct Session {
    client: Client,
    /// The server said GOAWAY.
    is_left: bool,
    /// It said so without an error.
    is_graceful: bool,
    /// The error that it gave.
    said: Option<Box<str>>,
    /// Acknowledgements among what is unsent, bytes.
    unread_acks: usize,
    /// Bytes of request bodies that the server has let through since the last turn.
    let_through: u64,
}

/// What reading a connection came to.
pub(crate) enum Taken {
    /// It goes on.
    Drained,
    /// The turn has read what it may.
    Unread,
    /// The server will send nothing more.
    End,
    Failed(End),
}

impl<S> Streams<S> {
    /// HTTP/2 begins on `line`: what a client says first is made.
    pub(crate) fn new(line: Line<S>, h2: &mut H2) -> Self {
        let mut client = Client::new(&h2.config, h2.requests.clone());
        client.begin(&mut h2.frames);
        let session = Session {
            client,
            is_left: false,
            is_graceful: false,
            said: None,
            unread_acks: 0,
            let_through: 0,
        };
        Self {
            line,
            has_limit: false,
            is_known: false,
            session,
        }
    }

    /// Whether the socket has not taken all that was made, or the server's windows may keep back
    /// a part of a request that is not long.
    pub(crate) fn has_unsent(&self) -> bool {
        let window = self.session.client.peer_settings().initial_window_size;
        !self.line.unsent.is_empty() || (window as usize) < LONG_BYTES_MIN
    }

    /// Whether the server has said what it allows.
    pub(crate) fn has_settings(&self) -> bool {
        self.session.client.has_settings()
    }

    /// Whether the server has said what it allows, and has read what this side allows. Go's
    /// server closes a connection whose settings it has not read within 2 s, whenever they came.
    pub(crate) fn is_settled(&self) -> bool {
        self.session.client.is_settled()
    }

    /// Opens a stream for the request that waits longest, if there is one and room for it.
    #[inline]
    pub(crate) fn open_next(
        &mut self,
        flights: &mut Flights,
        is_closed_loop: bool,
        now: u64,
        h2: &mut H2,
    ) -> Option<Opened> {
        let client = &mut self.session.client;
        flights.open_next(is_closed_loop, now, |exchange, token| {
            match client.open(exchange, token, &mut h2.frames) {
                Ok(()) => Attempt::Opened,
                Err(Blocked::Full) => Attempt::Full,
                Err(Blocked::GoingAway | Blocked::UsedUp) => Attempt::Draining,
            }
        })
    }

    /// Ends the stream of a request whose answer is not wanted any more. Returns whether the
    /// server's windows kept it from being sent whole.
    pub(crate) fn cancel(&mut self, token: u32, h2: &mut H2) -> bool {
        self.session.client.cancel(token, &mut h2.frames)
    }

    /// Writes the frames that were made, and request bodies as far as the server's windows and
    /// the socket take them.
    pub(crate) fn write<D: Driver<Socket = S>>(
        &mut self,
        thread: &mut Thread<'_, D>,
    ) -> Result<(), End> {
        loop {
            self.write_made(thread)?;
            let Some(h2) = &mut thread.tools.h2 else {
                return Ok(());
            };
            let is_empty = self.line.unsent.is_empty() && self.line.broken.is_none();
            if !is_empty || !self.session.client.has_to_send() {
                return Ok(());
            }
            self.session.let_through += self.session.client.send(&mut h2.frames);
        }
    }

    /// Encrypts and writes what is in `frames`.
    fn write_made<D: Driver<Socket = S>>(&mut self, thread: &mut Thread<'_, D>) -> Result<(), End> {
        let tools = &mut thread.tools;
        if let Some(h2) = &mut tools.h2
            && !h2.frames.is_empty()
        {
            self.session.unread_acks += self.session.client.take_ack_bytes() as usize;
            let made = match &mut self.line.tls {
                Some(tls) => tls.encrypt(&h2.frames, &mut tools.made),
                None => {
                    tools.made.extend_from_slice(&h2.frames);
                    Ok(())
                }
            };
            h2.frames.clear();
            made.map_err(End::Tls)?;
        }
        if !tools.made.is_empty() || !self.line.unsent.is_empty() {
            self.line.flush(thread)?;
        }
        if self.line.unsent.is_empty() {
            self.session.unread_acks = 0;
        }
        Ok(())
    }

    /// Says what is to be said to a server that sends what has to be acknowledged and does not
    /// read it.
    #[cold]
    fn calm(&mut self, h2: &mut H2) -> Taken {
        h2.frames.clear();
        Taken::Failed(End::H2(self.session.client.calm(&mut h2.frames)))
    }

    /// Reads until the socket is empty or the turn has read what it may.
    pub(crate) fn read<D: Driver<Socket = S>>(
        &mut self,
        flights: &mut Flights,
        thread: &mut Thread<'_, D>,
        greed: &Greed,
        intake: &mut Intake,
    ) -> Taken {
        let body_bytes_before = flights.body_bytes;
        let taken = loop {
            match self.read_once(flights, thread, intake) {
                Ok(false) => break Taken::Drained,
                Ok(true) if intake.is_full(greed) => break Taken::Unread,
                Ok(true) => {}
                Err(taken) => break taken,
            }
            if let Some(h2) = &mut thread.tools.h2
                && self.session.unread_acks + h2.frames.len() > ACK_BYTES_MAX
                && self.write(thread).is_err()
            {
                break Taken::Failed(End::Unread);
            }
            if self.session.unread_acks > ACK_BYTES_MAX
                && let Some(h2) = &mut thread.tools.h2
            {
                break self.calm(h2);
            }
        };
        intake.body_bytes += flights.body_bytes - body_bytes_before;
        intake.body_bytes += std::mem::take(&mut self.session.let_through);
        taken
    }

    /// Reads once, and takes what was read. Returns whether there may be more.
    fn read_once<D: Driver<Socket = S>>(
        &mut self,
        flights: &mut Flights,
        thread: &mut Thread<'_, D>,
        intake: &mut Intake,
    ) -> Result<bool, Taken> {
        if self.line.tls.is_some() {
            return self.read_encrypted(flights, thread, intake);
        }
        let taken = thread
            .driver
            .take(&self.line.socket, &mut thread.tools.buffer);
        let (read, time) = match taken {
            Ok((0, _)) => return Err(self.at_end()),
            Ok(read) => read,
            Err(Errno::AGAIN) => return self.nothing(),
            Err(Errno::INTR) => return Ok(true),
            Err(errno) => return Err(Taken::Failed(End::Read(errno))),
        };
        thread.ledger.counts.meter.read(read);
        intake.bytes += read as u64;
        let tools = &mut thread.tools;
        let Some(h2) = &mut tools.h2 else {
            return Ok(false);
        };
        let mut sink = sink(&mut thread.ledger, &mut tools.lengths, thread.spec, time);
        let bytes = &tools.buffer[..read];
        let broken = self.session.take(flights, bytes, h2, &mut sink).err();
        let more = read == tools.buffer.len() || self.line.ended;
        broken.map_or(Ok(more), |violation| Err(Taken::Failed(End::H2(violation))))
    }

    /// The server sends nothing more; if a write was answered by a reset, that is why.
    #[cold]
    fn at_end(&self) -> Taken {
        match self.line.end(End::BEFORE_ANSWER) {
            End::Closed(_) => Taken::End,
            reset => Taken::Failed(reset),
        }
    }

    #[cold]
    fn nothing(&self) -> Result<bool, Taken> {
        self.line.broken().map_err(Taken::Failed).map(|()| false)
    }

    fn read_encrypted<D: Driver<Socket = S>>(
        &mut self,
        flights: &mut Flights,
        thread: &mut Thread<'_, D>,
        intake: &mut Intake,
    ) -> Result<bool, Taken> {
        let (bytes, time) = match self.line.take_ciphertext(thread) {
            Ciphertext::Some(bytes, new, time) => {
                intake.bytes += new as u64;
                (bytes, time)
            }
            Ciphertext::Drained => return self.nothing(),
            Ciphertext::End => return Err(self.at_end()),
            Ciphertext::Failed(errno) => return Err(Taken::Failed(End::Read(errno))),
        };
        let tools = &mut thread.tools;
        let (Some(h2), Some(tls)) = (&mut tools.h2, &mut self.line.tls) else {
            return Ok(false);
        };
        let mut sink = sink(&mut thread.ledger, &mut tools.lengths, thread.spec, time);
        let session = &mut self.session;
        let mut broken = None;
        let mut plain = |data: &[u8]| {
            if broken.is_none() {
                broken = session.take(flights, data, h2, &mut sink).err();
            }
        };
        let is_full_read = bytes == tools.buffer.len();
        let result = tls.handle(&mut tools.buffer[..bytes], &mut tools.made, &mut plain);
        if let Some(violation) = broken {
            return Err(Taken::Failed(End::H2(violation)));
        }
        match result {
            Ok(Progress { closed: true, .. }) => Err(Taken::End),
            Ok(_) => Ok(is_full_read || self.line.ended),
            Err(failure) => Err(Taken::Failed(End::Tls(failure))),
        }
    }

    /// Takes what came together with the end of the handshake.
    pub(crate) fn take_early<D: Driver>(
        &mut self,
        flights: &mut Flights,
        thread: &mut Thread<'_, D>,
        now: u64,
    ) -> Result<(), End> {
        let tools = &mut thread.tools;
        let Some(h2) = &mut tools.h2 else {
            return Ok(());
        };
        let (ledger, lengths) = (&mut thread.ledger, &mut tools.lengths);
        let mut sink = sink(ledger, lengths, thread.spec, ReadTime::at(now));
        let taken = self.session.take(flights, &tools.early, h2, &mut sink);
        taken.map_err(End::H2)
    }

    /// Adds what the connection counted by itself.
    pub(crate) fn note(&self, ledger: &mut Ledger) {
        let bytes = self.session.client.header_bytes();
        let counted = &mut ledger.counts.links.header_bytes;
        counted.wire += bytes.wire;
        counted.decoded += bytes.text;
    }

    /// Whether the server allows no stream at all, and will not before it says otherwise.
    pub(crate) fn allows_no_streams(&self) -> bool {
        let client = &self.session.client;
        client.has_settings() && client.peer_settings().max_concurrent_streams == Some(0)
    }

    /// The error by which the server said that it ends the connection.
    pub(crate) fn said(&self) -> Option<Box<str>> {
        self.session.said.clone()
    }

    /// Whether the server said GOAWAY.
    pub(crate) fn was_left(&self) -> bool {
        self.session.is_left
    }

    /// Whether the server ended the connection in order, by GOAWAY.
    pub(crate) fn was_left_in_order(&self) -> bool {
        self.session.is_left && self.session.is_graceful
    }
}

impl Session {
    /// Takes what the server sent, and counts what has ended by it.
    fn take(
        &mut self,
        flights: &mut Flights,
        bytes: &[u8],
        h2: &mut H2,
        sink: &mut Sink<'_>,
    ) -> Result<(), Violation> {
        let result = self.client.handle(bytes, &mut h2.events, &mut h2.frames);
        for event in h2.events.drain(..) {
            self.handle(flights, event, bytes, sink);
        }
        result.map(|_| ())
    }

    #[inline]
    fn handle(&mut self, flights: &mut Flights, event: Event, bytes: &[u8], sink: &mut Sink<'_>) {
        match event {
            Event::Head { token, status } => {
                flights.head(token, status, sink);
                if (300..400).contains(&status) {
                    let answers = &mut sink.ledger.counts.observed.said;
                    answers.locate(|status| self.client.location(status));
                }
            }
            Event::Data {
                token,
                start,
                length,
            } => {
                let part = &bytes[start as usize..(start + length) as usize];
                flights.data(token, part, sink);
            }
            Event::End {
                token, body_bytes, ..
            } => flights.end(token, body_bytes, sink),
            Event::Reset { token, code } => {
                flights.fail(token, &End::StreamReset(code.to_string()), sink);
            }
            Event::BeyondGoAway { token } if self.is_graceful => flights.withdraw(token, sink),
            Event::BeyondGoAway { token } => {
                let said = self.said.clone().unwrap_or_default();
                flights.fail(token, &End::GoneAway(said), sink);
            }
            Event::Refused { token } => flights.fail(token, &End::StreamRefused, sink),
            Event::Malformed { token, violation } => {
                flights.fail(token, &End::H2(violation), sink);
            }
            Event::GoAway { code, .. } => {
                flights.is_draining = true;
                self.is_graceful = code == ErrorCode::NO_ERROR;
                self.said =
                    (!self.is_graceful).then(|| goaway_text(code, self.client.goaway_debug()));
                // A server may say it twice: that it will end, and later where.
                if !std::mem::replace(&mut self.is_left, true) {
                    sink.ledger.counts.links.connections.goaways += 1;
                }
            }
            Event::SettingsChanged => {
                let settings = *self.client.peer_settings();
                let first = &mut sink.ledger.counts.links.peer_settings;
                first.get_or_insert(settings);
            }
            Event::Informational { .. } => {}
        }
    }
}

/// The code of a GOAWAY, and what it says for people, without what no text has in it.
#[cold]
fn goaway_text(code: ErrorCode, debug: &[u8]) -> Box<str> {
    let debug = String::from_utf8_lossy(debug);
    let is_text = |letter: &char| !letter.is_control() && *letter != char::REPLACEMENT_CHARACTER;
    let debug: String = debug.chars().filter(is_text).collect();
    match debug.trim() {
        "" => code.to_string().into(),
        debug => format!("{code}, {debug:?}").into(),
    }
}

pub(crate) fn sink<'a>(
    ledger: &'a mut Ledger,
    lengths: &'a mut Lengths,
    spec: &'a LoadSpec,
    time: ReadTime,
) -> Sink<'a> {
    if time.lag > 0 {
        ledger.counts.meter.lagged(time.lag);
    }
    Sink {
        ledger,
        lengths,
        exchanges: &spec.exchanges,
        arrived: time.arrived,
        now: time.now,
    }
}
