//! HTTP/1.1 on a connection: one request and its answer at a time, with or without TLS.
//!
//! Sockets are edge-triggered. A ready socket is read until a read comes back short, until its end
//! if the kernel reported one, or until the turn's limit is reached. The clock is read once for an
//! answer and the request that is sent right after it.
//!
//! A TLS connection is closed without `close_notify`. The answer itself says where it ends, and the
//! alert would cost one more write. There is no pipelining.

use bakeoff_wire::h1::{EarlyEnd, Response, ResponseReader, Violation};
use rustix::io::Errno;

use super::Intake;
use crate::body::Look;
use crate::driver::{Driver, ReadTime};
use crate::end::End;
use crate::flight::Flight;
use crate::greed::Greed;
use crate::line::{Ciphertext, Line};
use crate::spec::LoadSpec;
use crate::thread::Thread;
use crate::tls::{Progress, Tls, TlsFailure};

/// Most bytes of a body dropped by one call, so that one of gigabytes lets the others have their
/// turn.
pub(crate) const DROP_BYTES_MAX: u64 = 8 << 20;

/// HTTP/1.1 on a connection.
pub(crate) struct Serial<S> {
    pub(crate) line: Line<S>,
    reader: ResponseReader,
    /// Bytes of the request written so far, where it is written as it is.
    written: usize,
    /// Something came before the request was sent.
    pub(crate) is_early: bool,
    /// Whether the socket can drop what is not looked at.
    drops: bool,
}

/// What reading a connection came to.
pub(crate) enum Read {
    /// A whole response; bytes beyond it were read too.
    Whole { response: Response, beyond: bool },
    /// Nothing more for now.
    Drained,
    /// The turn has read what it may.
    Unread,
    /// The request failed.
    Failed(Box<End>),
}

/// What became of a connection without a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Usable,
    /// The server ended it.
    Ended,
    /// The server sent what nobody asked for.
    Unasked,
}

/// What deciphering came to: TLS, the response when it became whole, the rule that was broken,
/// and whether bytes followed.
struct Deciphered {
    progress: Result<Progress, TlsFailure>,
    response: Option<Response>,
    broken: Option<Violation>,
    beyond: bool,
}

impl<S> Serial<S> {
    pub(crate) fn new(line: Line<S>) -> Self {
        Self {
            line,
            reader: ResponseReader::default(),
            written: 0,
            is_early: false,
            drops: true,
        }
    }

    /// Sends the request of `flight`.
    #[inline(always)]
    pub(crate) fn send<D: Driver<Socket = S>>(
        &mut self,
        flight: &mut Flight,
        thread: &mut Thread<'_, D>,
        now: u64,
    ) -> Result<(), Box<End>> {
        let exchange = &thread.spec.exchanges[flight.origin.exchange as usize];
        flight.sent = now;
        // A client of a closed loop means to send when it can: set-up is recorded apart.
        if thread.pace.is_closed() {
            flight.origin.intended = now;
        }
        thread.ledger.sent(&flight.origin, 0, now);
        if !self.is_early {
            self.reader.expect(exchange.to_head_request);
        }
        if self.line.tls.is_some() || !thread.tools.made.is_empty() {
            return self.send_made(&exchange.request, thread).map_err(Box::new);
        }
        self.written = 0;
        self.write_on(&exchange.request, thread);
        Ok(())
    }

    /// Sends a request under TLS, or behind what else is to be sent.
    fn send_made<D: Driver<Socket = S>>(
        &mut self,
        request: &[u8],
        thread: &mut Thread<'_, D>,
    ) -> Result<(), End> {
        self.written = request.len();
        let made = &mut thread.tools.made;
        match &mut self.line.tls {
            Some(tls) => {
                tls.encrypt(request, made).map_err(End::Tls)?;
                // Then no request can follow this one.
                self.line.ended |= tls.is_used_up();
            }
            None => made.extend_from_slice(request),
        }
        self.line.flush(thread)
    }

    /// Writes as much of a request that is sent as it is as the socket takes.
    #[inline(always)]
    fn write_on<D: Driver<Socket = S>>(&mut self, request: &[u8], thread: &mut Thread<'_, D>) {
        while self.written < request.len() && self.line.broken.is_none() {
            let rest = &request[self.written..];
            match thread.driver.send(&self.line.socket, rest) {
                Ok(written) => {
                    self.written += written;
                    thread.ledger.counts.meter.wrote(written);
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                // The answer may have arrived before the peer closed: reading shows that.
                Err(errno) => {
                    self.line.broken = Some(errno);
                    self.line.ended = true;
                }
            }
        }
    }

    /// Bytes of the answer's body that have come.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.reader.body_bytes()
    }

    /// Whether the socket has taken the whole request. One that was answered before is not sent
    /// to its end, and nothing can follow it.
    #[inline]
    pub(crate) fn has_sent(&self, flight: &Flight, spec: &LoadSpec) -> bool {
        let request = &spec.exchanges[flight.origin.exchange as usize].request;
        self.line.unsent.is_empty() && self.written >= request.len()
    }

    /// Expects an answer to a request that is not sent yet: something has come already.
    pub(crate) fn expect_early(&mut self, to_head_request: bool) {
        self.is_early = true;
        self.reader.expect(to_head_request);
    }

    /// Goes on with writing, and reads. Returns the time of the last read too.
    #[inline(always)]
    pub(crate) fn handle<D: Driver<Socket = S>>(
        &mut self,
        flight: &mut Flight,
        thread: &mut Thread<'_, D>,
        greed: &Greed,
        intake: &mut Intake,
    ) -> (Read, ReadTime) {
        let request = &thread.spec.exchanges[flight.origin.exchange as usize].request;
        if !self.line.unsent.is_empty() {
            if let Err(end) = self.line.flush(thread) {
                let now = thread.driver.now();
                return (failed(end), ReadTime::at(now));
            }
        } else if self.written < request.len() && flight.sent != 0 {
            self.write_on(request, thread);
        }
        if self.line.tls.is_some() {
            self.read_tls(flight, thread, greed, intake)
        } else {
            self.read(flight, thread, greed, intake)
        }
    }

    /// Reads until the response is whole or the socket is empty.
    #[inline(always)]
    fn read<D: Driver<Socket = S>>(
        &mut self,
        flight: &mut Flight,
        thread: &mut Thread<'_, D>,
        greed: &Greed,
        intake: &mut Intake,
    ) -> (Read, ReadTime) {
        let at = flight.origin.exchange;
        let exchange = &thread.spec.exchanges[at as usize];
        loop {
            let droppable = if flight.body.is_looked_at || !self.drops {
                0
            } else {
                self.reader.droppable()
            };
            if droppable > 0 {
                if let Some(dropped) = self.drop_body(droppable, thread, greed, intake) {
                    return dropped;
                }
                continue;
            }
            let taken = thread
                .driver
                .take(&self.line.socket, &mut thread.tools.buffer);
            let (read, time) = match taken {
                Ok((0, time)) => return (self.at_end(), time),
                Ok(read) => read,
                Err(Errno::AGAIN) => return (self.drained(), ReadTime::at(thread.driver.now())),
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    let now = thread.driver.now();
                    return (failed(End::Read(errno)), ReadTime::at(now));
                }
            };
            thread.ledger.counts.meter.read(read);
            intake.bytes += read as u64;
            if time.lag > 0 {
                thread.ledger.counts.meter.lagged(time.lag);
            }
            if flight.first_byte == 0 {
                flight.first_byte = time.arrived;
            }
            let answers = &mut thread.ledger.counts.observed.said;
            let mut look = Look::new(&mut flight.body, exchange, at, answers);
            let bytes = &thread.tools.buffer[..read];
            let handled = self.reader.handle(bytes, &mut thread.tools.memo, &mut look);
            match handled {
                Err(violation) => return (failed(End::H1(violation)), time),
                Ok(progress) => {
                    if self.reader.has_passed_interim() {
                        flight.first_byte = self.first_byte(flight.sent, time.arrived);
                    }
                    thread.tools.answers_are_short = progress.response.is_some();
                    if let Some(response) = progress.response {
                        let is_full = read == thread.tools.buffer.len();
                        let beyond =
                            progress.consumed < read || (is_full && self.is_more_behind(thread));
                        return (Read::Whole { response, beyond }, time);
                    }
                }
            }
            if read < thread.tools.buffer.len() && !self.line.ended {
                return (Read::Drained, time);
            }
            if intake.is_full(greed) {
                return (Read::Unread, time);
            }
        }
    }

    /// When the first byte came behind an interim response that ended in what arrived at `arrived`;
    /// 0 before. Before the request was sent nothing is to come at all.
    #[cold]
    fn first_byte(&mut self, sent: u64, arrived: u64) -> u64 {
        self.reader.take_passed_interim();
        if self.reader.awaits_head() && sent != 0 {
            0
        } else {
            arrived
        }
    }

    /// Whether more has come behind an answer whose last read was full. No event would report
    /// it: the socket reports what is new, and this is not.
    #[cold]
    fn is_more_behind<D: Driver<Socket = S>>(&mut self, thread: &mut Thread<'_, D>) -> bool {
        let rest = self.look_at_rest(thread);
        self.line.ended |= rest == Rest::Ended;
        rest == Rest::Unasked
    }

    /// Drops what has come of a body that nobody looks at. `None` if there may be more.
    ///
    /// It never asks for just what the body has left: bytes beyond it are to be seen, whether a
    /// body is looked at or not, and a socket that is not read to its end reports nothing.
    fn drop_body<D: Driver<Socket = S>>(
        &mut self,
        droppable: u64,
        thread: &mut Thread<'_, D>,
        greed: &Greed,
        intake: &mut Intake,
    ) -> Option<(Read, ReadTime)> {
        let most = if droppable > DROP_BYTES_MAX {
            DROP_BYTES_MAX as usize
        } else {
            droppable as usize + 1
        };
        let read = match thread.driver.discard(&self.line.socket, most) {
            Ok((0, _)) => Some(self.at_end()),
            Ok((dropped, time)) => {
                thread.ledger.counts.meter.read(dropped);
                intake.bytes += dropped as u64;
                let of_body = droppable.min(dropped as u64);
                if let Some(response) = self.reader.handle_dropped(of_body) {
                    let beyond = of_body < dropped as u64;
                    return Some((Read::Whole { response, beyond }, time));
                }
                if dropped < most && !self.line.ended {
                    return Some((Read::Drained, time));
                }
                None
            }
            Err(Errno::AGAIN) => Some(self.drained()),
            Err(Errno::INTR) => None,
            // A socket file's kernel code cannot drop.
            Err(Errno::FAULT) => {
                self.drops = false;
                None
            }
            Err(errno) => Some(failed(End::Read(errno))),
        };
        let read = read.or_else(|| intake.is_full(greed).then_some(Read::Unread))?;
        Some((read, ReadTime::at(thread.driver.now())))
    }

    /// The end of the stream in the clear.
    #[cold]
    fn at_end(&mut self) -> Read {
        match self.reader.handle_end() {
            Ok(response) => whole(response),
            Err(early) => failed(self.line.end(early.into())),
        }
    }

    #[cold]
    fn drained(&self) -> Read {
        self.line.broken().map_or_else(failed, |()| Read::Drained)
    }

    /// Reads and decrypts until the response is whole or the socket is empty.
    fn read_tls<D: Driver<Socket = S>>(
        &mut self,
        flight: &mut Flight,
        thread: &mut Thread<'_, D>,
        greed: &Greed,
        intake: &mut Intake,
    ) -> (Read, ReadTime) {
        loop {
            let (bytes, time) = match self.line.take_ciphertext(thread) {
                Ciphertext::Some(bytes, new, time) => {
                    intake.bytes += new as u64;
                    (bytes, time)
                }
                Ciphertext::Drained => {
                    return (self.drained(), ReadTime::at(thread.driver.now()));
                }
                Ciphertext::Failed(errno) => {
                    let now = thread.driver.now();
                    return (failed(End::Read(errno)), ReadTime::at(now));
                }
                Ciphertext::End => {
                    // Without close_notify the end could be anybody's: not the end of a body.
                    let end = self.reader.handle_end().err();
                    let end = end.unwrap_or(EarlyEnd::InsideResponse);
                    let now = thread.driver.now();
                    return (failed(self.line.end(end.into())), ReadTime::at(now));
                }
            };
            if time.lag > 0 {
                thread.ledger.counts.meter.lagged(time.lag);
            }
            let is_full_read = bytes == thread.tools.buffer.len();
            let read = self.decipher(flight, bytes, thread, time.arrived);
            if self.reader.has_passed_interim() {
                flight.first_byte = self.first_byte(flight.sent, time.arrived);
            }
            if !thread.tools.made.is_empty()
                && let Err(end) = self.line.flush(thread)
            {
                return (failed(end), time);
            }
            if let Some(mut read) = self.judge(read, thread) {
                if let Read::Whole { beyond, .. } = &mut read
                    && is_full_read
                {
                    *beyond |= self.is_more_behind(thread);
                }
                return (read, time);
            }
            if !is_full_read && !self.line.ended {
                return (Read::Drained, time);
            }
            if intake.is_full(greed) {
                return (Read::Unread, time);
            }
        }
    }

    /// What one read under TLS came to, unless there may be more.
    fn judge<D: Driver>(&mut self, read: Deciphered, thread: &mut Thread<'_, D>) -> Option<Read> {
        if let Some(violation) = read.broken {
            return Some(failed(End::H1(violation)));
        }
        // What comes with an answer is the end for the request behind it.
        self.line.ended |= !matches!(read.progress, Ok(Progress { closed: false, .. }));
        thread.tools.answers_are_short = read.response.is_some();
        if let Some(response) = read.response {
            let beyond = read.beyond;
            return Some(Read::Whole { response, beyond });
        }
        match read.progress {
            Err(failure) => Some(failed(End::Tls(failure))),
            Ok(Progress { closed: true, .. }) => Some(self.at_end()),
            Ok(_) => None,
        }
    }

    /// Decrypts `bytes` of the buffer and hands the plaintext to the response reader.
    fn decipher<D: Driver>(
        &mut self,
        flight: &mut Flight,
        bytes: usize,
        thread: &mut Thread<'_, D>,
        arrived: u64,
    ) -> Deciphered {
        let at = flight.origin.exchange;
        let tools = &mut thread.tools;
        let (reader, memo) = (&mut self.reader, &mut tools.memo);
        let first_byte = &mut flight.first_byte;
        let exchange = &thread.spec.exchanges[at as usize];
        let answers = &mut thread.ledger.counts.observed.said;
        let mut look = Look::new(&mut flight.body, exchange, at, answers);
        let (mut response, mut broken, mut beyond) = (None, None, false);
        let mut plain = |data: &[u8]| {
            if response.is_some() || broken.is_some() {
                beyond |= !data.is_empty();
                return;
            }
            if *first_byte == 0 && !data.is_empty() {
                *first_byte = arrived;
            }
            match reader.handle(data, memo, &mut look) {
                Ok(progress) => {
                    beyond = progress.response.is_some() && progress.consumed < data.len();
                    response = progress.response;
                }
                Err(violation) => broken = Some(violation),
            }
        };
        let progress = match &mut self.line.tls {
            Some(tls) => tls.handle(&mut tools.buffer[..bytes], &mut tools.made, &mut plain),
            None => Ok(Progress::default()),
        };
        Deciphered {
            progress,
            response,
            broken,
            beyond,
        }
    }

    /// Takes what came together with the end of the handshake, before any request was sent.
    pub(crate) fn take_early<D: Driver>(
        &mut self,
        flight: &mut Flight,
        thread: &mut Thread<'_, D>,
        now: u64,
    ) -> Read {
        let at = flight.origin.exchange;
        let exchange = &thread.spec.exchanges[at as usize];
        self.expect_early(exchange.to_head_request);
        flight.first_byte = now;
        let answers = &mut thread.ledger.counts.observed.said;
        let mut look = Look::new(&mut flight.body, exchange, at, answers);
        let (early, memo) = (&thread.tools.early, &mut thread.tools.memo);
        match self.reader.handle(early, memo, &mut look) {
            Err(violation) => failed(End::H1(violation)),
            Ok(progress) => match progress.response {
                Some(response) => Read::Whole {
                    response,
                    beyond: progress.consumed < early.len(),
                },
                None => Read::Drained,
            },
        }
    }

    /// What came on a connection without a request, which became ready: it may be tickets of TLS,
    /// but no data and no end.
    pub(crate) fn look_at_rest<D: Driver<Socket = S>>(
        &mut self,
        thread: &mut Thread<'_, D>,
    ) -> Rest {
        if self.line.tls.is_none() {
            let mut byte = [0];
            return match thread.driver.take(&self.line.socket, &mut byte) {
                Err(Errno::AGAIN) => Rest::Usable,
                Ok((0, _)) | Err(_) => Rest::Ended,
                Ok(_) => Rest::Unasked,
            };
        }
        // Tickets come in a few records: a server that sends on and on is of no use.
        for _ in 0..16 {
            let bytes = match self.line.take_ciphertext(thread) {
                Ciphertext::Some(bytes, ..) => bytes,
                Ciphertext::Drained => return Rest::Usable,
                Ciphertext::End | Ciphertext::Failed(_) => return Rest::Ended,
            };
            let (mut has_data, tools) = (false, &mut thread.tools);
            let mut plain = |data: &[u8]| has_data |= !data.is_empty();
            let incoming = &mut tools.buffer[..bytes];
            let handle = |tls: &mut Box<Tls>| tls.handle(incoming, &mut tools.made, &mut plain);
            let result = self.line.tls.as_mut().map(handle);
            let goes_on = matches!(result, Some(Ok(Progress { closed: false, .. })));
            if !goes_on || has_data || self.line.flush(thread).is_err() {
                thread.tools.made.clear();
                return if has_data { Rest::Unasked } else { Rest::Ended };
            }
        }
        Rest::Unasked
    }
}

#[inline]
fn whole(response: Response) -> Read {
    Read::Whole {
        response,
        beyond: false,
    }
}

#[cold]
fn failed(end: End) -> Read {
    Read::Failed(Box::new(end))
}
