//! Connections that carry many requests at once: HTTP/2 over TLS or in the clear, and what
//! HTTP/3 has in common with it.
//!
//! All that is read at once is taken before anything is sent: the requests that follow the
//! answers of one read leave in one write.

use bakeoff_record::Outcome;
use bakeoff_wire::h2::Violation;

use super::exchange::{Read, ReadTime, failed_read, receive};
use super::secure::Ciphertext;
use super::{H2, Worker};
use crate::clock::now;
use crate::connection::Phase;
use crate::multiplex::{Multiplex, Room};
use crate::pace::Pace;
use crate::places::{Due, Loss, Places, Sink};
use crate::tls::{Progress, TlsFailure};

/// What reading a connection came to.
enum Taken {
    /// It goes on.
    Drained,
    /// The server will send nothing more.
    End,
    Failed(Outcome, String),
}

impl Worker<'_> {
    /// The connection of `slot` is ready and speaks HTTP/2.
    pub(super) fn make_multiplexed(&mut self, slot: u32, now: u64) {
        let Some(h2) = &mut self.h2 else { return };
        let connection = &mut self.connections[slot as usize];
        let mut multiplex = Multiplex::new(&h2.config, &h2.requests);
        multiplex.client.begin(&mut h2.frames);
        match &mut connection.multiplex {
            Some(earlier) => **earlier = multiplex,
            none => *none = Some(Box::new(multiplex)),
        }
        self.take_up(slot, now);
    }

    /// The connection of `slot` can carry requests: takes up those that wait for it.
    pub(super) fn take_up(&mut self, slot: u32, now: u64) {
        self.opening -= 1;
        let streams = self.spec.load.streams.max(1);
        let connection = &mut self.connections[slot as usize];
        connection.phase = Phase::Multiplexed;
        let places = connection
            .places
            .get_or_insert_with(|| Box::new(Places::new(streams)));
        places.restart(now);
        if std::mem::take(&mut connection.has_request) {
            let due = Due {
                exchange: connection.exchange,
                intended: connection.intended,
                check: connection.body.on,
            };
            places.enqueue(due, now);
        }
        if let Pace::Open(pace) = &mut self.pace {
            (0..places.free()).for_each(|_| pace.put_idle(slot));
        }
        self.begin_free(slot, now);
        self.send_streams(slot, now);
        self.begin_due(now);
    }

    /// In a closed loop: each user without a request begins the next one.
    fn begin_free(&mut self, slot: u32, now: u64) {
        let free = self.free_places(slot);
        if matches!(self.pace, Pace::Closed) {
            (0..free).for_each(|_| self.begin_next(slot, now));
        }
    }

    /// Puts a request that has begun behind those that wait on its connection.
    pub(super) fn enqueue(&mut self, slot: u32, due: Due, now: u64) {
        let connection = &mut self.connections[slot as usize];
        if let Some(places) = &mut connection.places {
            places.enqueue(due, now);
        }
        if connection.phase == Phase::Spare {
            self.connect(slot, now);
        }
    }

    /// Whether requests of `slot` wait for a connection.
    pub(super) fn has_waiting(&self, slot: u32) -> bool {
        let places = &self.connections[slot as usize].places;
        places.as_ref().is_some_and(|places| places.has_waiting())
    }

    /// Opens streams for what waits, if the connection is ready.
    #[inline]
    pub(super) fn open_waiting(&mut self, slot: u32, now: u64) {
        if self.connections[slot as usize].phase == Phase::Multiplexed {
            self.send_streams(slot, now);
        }
    }

    /// Opens streams for what waits, as many as there is room for, and writes.
    fn send_streams(&mut self, slot: u32, now: u64) {
        let connection = &mut self.connections[slot as usize];
        let Some(places) = &mut connection.places else {
            return;
        };
        let most = self.spec.requests_per_connection.unwrap_or(u32::MAX);
        let is_closed_loop = matches!(self.pace, Pace::Closed);
        let before = connection.carried;
        while connection.carried < most {
            let opened = match (
                &mut connection.quic,
                &mut connection.multiplex,
                &mut self.h2,
            ) {
                (Some(session), _, _) => {
                    let opened = session.open_next(places, is_closed_loop, now);
                    let is_early = opened.is_some() && !session.is_established();
                    self.tally.counts.quic.early_data.requests += u64::from(is_early);
                    opened
                }
                (None, Some(multiplex), Some(h2)) => {
                    multiplex.open_next(places, is_closed_loop, now, &mut h2.frames)
                }
                _ => None,
            };
            let Some(opened) = opened else { break };
            self.tally.blocked(opened.blocked_ns);
            if !is_closed_loop && opened.is_first {
                self.tally.sent_late(now.saturating_sub(opened.intended));
            }
            self.tally.counts.connections.reused += u64::from(connection.carried > 0);
            connection.carried += 1;
        }
        places.is_draining |= connection.carried >= most;
        if places.is_draining
            && let Pace::Open(pace) = &mut self.pace
        {
            // What is due goes elsewhere, or waits in the schedule.
            pace.remove_idle(slot);
        }
        if connection.carried > before || places.has_waiting() {
            self.next_sweep = self.next_sweep.min(now.saturating_add(self.timeout_ns));
        }
        if connection.quic.is_some() {
            self.mark_to_drive(slot);
        } else {
            self.write_frames(slot, now);
        }
    }

    /// Writes the frames that were made for `slot`, and request bodies as far as the server's
    /// windows and the socket take them.
    fn write_frames(&mut self, slot: u32, now: u64) {
        loop {
            self.write_made(slot, now);
            let connection = &mut self.connections[slot as usize];
            let (Some(h2), Some(multiplex)) = (&mut self.h2, &mut connection.multiplex) else {
                return;
            };
            let may_send = connection.phase == Phase::Multiplexed && connection.unsent.is_empty();
            if !may_send || !multiplex.client.has_to_send() {
                return;
            }
            multiplex.client.send(&mut h2.frames);
        }
    }

    /// Encrypts and writes what is in `frames`.
    fn write_made(&mut self, slot: u32, now: u64) {
        let Some(h2) = &mut self.h2 else { return };
        if h2.frames.is_empty() {
            if !self.made.is_empty() {
                self.flush(slot);
            }
            return;
        }
        let result = match &mut self.connections[slot as usize].tls {
            Some(tls) => tls.encrypt(&h2.frames, &mut self.made),
            None => {
                self.made.extend_from_slice(&h2.frames);
                Ok(())
            }
        };
        h2.frames.clear();
        match result {
            Ok(()) => self.flush(slot),
            Err(failure) => self.fail(slot, Outcome::Tls, now, || failure.to_string()),
        }
    }

    /// The socket of a multiplexed connection is ready.
    pub(super) fn handle_multiplexed(&mut self, slot: u32, ended: bool) {
        if !self.connections[slot as usize].unsent.is_empty() {
            self.flush(slot);
        }
        let free_before = self.free_places(slot);
        let taken = loop {
            match self.take_some(slot, ended) {
                Ok(true) => {}
                Ok(false) => break Taken::Drained,
                Err(taken) => break taken,
            }
        };
        let now = now();
        match taken {
            Taken::Drained => self.follow_up(slot, free_before, now),
            Taken::End => self.end_multiplexed(slot, now),
            Taken::Failed(outcome, words) => {
                // What the client has to say, such as GOAWAY, is said before the end.
                self.write_frames(slot, now);
                if self.connections[slot as usize].phase != Phase::Multiplexed {
                    return;
                }
                self.tally.counts.connections.closed_by_server +=
                    u64::from(outcome == Outcome::Reset);
                self.fail(slot, outcome, now, || words);
            }
        }
    }

    /// Takes what the server said together with the end of its handshake.
    pub(super) fn take_early(&mut self, slot: u32, now: u64) {
        let free_before = self.free_places(slot);
        let Some(h2) = &mut self.h2 else { return };
        let early = std::mem::take(&mut h2.early);
        let connection = &mut self.connections[slot as usize];
        if let (false, Some(multiplex), Some(places)) = (
            early.is_empty(),
            &mut connection.multiplex,
            &mut connection.places,
        ) {
            let time = ReadTime { arrived: now, now };
            let mut sink = sink(&mut self.tally, self.spec, time);
            match multiplex.take(places, &early, room(h2), &mut sink) {
                Ok(()) => self.follow_up(slot, free_before, now),
                Err(violation) => {
                    self.fail(slot, Outcome::Protocol, now, || violation.to_string());
                }
            }
        }
        if let Some(h2) = &mut self.h2 {
            h2.early = early;
            h2.early.clear();
        }
    }

    pub(super) fn free_places(&self, slot: u32) -> usize {
        let places = &self.connections[slot as usize].places;
        places.as_ref().map_or(0, |places| places.free())
    }

    /// Reads once, and takes what was read. Returns whether there may be more.
    fn take_some(&mut self, slot: u32, ended: bool) -> Result<bool, Taken> {
        if self.connections[slot as usize].tls.is_some() {
            return self.take_encrypted(slot, ended);
        }
        let connection = &mut self.connections[slot as usize];
        let (Some(socket), Some(multiplex), Some(places), Some(h2)) = (
            &connection.socket,
            &mut connection.multiplex,
            &mut connection.places,
            &mut self.h2,
        ) else {
            return Ok(false);
        };
        let (read, time) = match receive(socket, &mut self.buffer, self.stamps_ahead) {
            Ok((0, _)) => return Err(Taken::End),
            Ok(read) => read,
            Err(rustix::io::Errno::AGAIN) => return Ok(false),
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(errno) => return Err(failed(errno)),
        };
        self.tally.read(read);
        let mut sink = sink(&mut self.tally, self.spec, time);
        let bytes = &self.buffer[..read];
        let broken = multiplex.take(places, bytes, room(h2), &mut sink).err();
        let more = read == self.buffer.len() || ended;
        broken.map_or(Ok(more), |violation| Err(protocol(violation)))
    }

    fn take_encrypted(&mut self, slot: u32, ended: bool) -> Result<bool, Taken> {
        let (bytes, time) = match self.read_ciphertext(slot) {
            Ciphertext::Some(bytes, time) => (bytes, time),
            Ciphertext::Drained => return Ok(false),
            Ciphertext::End => return Err(Taken::End),
            Ciphertext::Failed(errno) => return Err(failed(errno)),
        };
        let connection = &mut self.connections[slot as usize];
        let (Some(tls), Some(multiplex), Some(places), Some(h2)) = (
            &mut connection.tls,
            &mut connection.multiplex,
            &mut connection.places,
            &mut self.h2,
        ) else {
            return Ok(false);
        };
        let mut sink = sink(&mut self.tally, self.spec, time);
        let mut broken = None;
        let mut plain = |data: &[u8]| {
            if broken.is_none() {
                broken = multiplex.take(places, data, room(h2), &mut sink).err();
            }
        };
        let result = tls.handle(&mut self.buffer[..bytes], &mut self.made, &mut plain);
        if let Some(violation) = broken {
            return Err(protocol(violation));
        }
        match result {
            Ok(Progress { closed: true, .. }) => Err(Taken::End),
            Ok(_) => Ok(bytes == self.buffer.len() || ended),
            Err(failure) => Err(broken_tls(&failure)),
        }
    }

    /// Begins what follows the answers that were taken, and writes.
    pub(super) fn follow_up(&mut self, slot: u32, free_before: usize, now: u64) {
        let ended = self.free_places(slot).saturating_sub(free_before);
        if let Pace::Open(pace) = &mut self.pace {
            (0..ended).for_each(|_| pace.put_idle(slot));
        } else if ended > 0 {
            self.begin_free(slot, now);
        }
        self.answers_are_short = ended > 0;
        self.send_streams(slot, now);
        if self.is_drained(slot) {
            self.end_multiplexed(slot, now);
        }
        self.begin_due(now);
    }

    /// Whether the connection takes no more streams and carries none.
    fn is_drained(&self, slot: u32) -> bool {
        let connection = &self.connections[slot as usize];
        let places = connection.places.as_ref();
        connection.phase == Phase::Multiplexed
            && places.is_some_and(|places| places.is_draining && places.in_flight() == 0)
    }

    /// The connection has ended, or carried all that it may: another takes its place.
    fn end_multiplexed(&mut self, slot: u32, now: u64) {
        let connection = &self.connections[slot as usize];
        let places = connection.places.as_ref();
        let (lost, withdrawn) =
            places.map_or((0, 0), |places| (places.in_flight(), places.withdrawn));
        let most = self.spec.requests_per_connection.unwrap_or(u32::MAX);
        if connection.carried < most {
            let taken = connection.carried.saturating_sub(withdrawn);
            self.tally.counts.connections.closed_by_server += 1;
            self.tally.counts.carried.record(u64::from(taken));
        }
        if lost > 0 {
            let words = || "the server closed the connection before answering".to_owned();
            return self.fail(slot, Outcome::ClosedEarly, now, words);
        }
        self.close(slot);
        if let Pace::Open(pace) = &mut self.pace {
            pace.remove_idle(slot);
        }
        if self.running && self.has_waiting(slot) {
            self.connect(slot, now);
        } else if matches!(self.pace, Pace::Closed) {
            self.begin_next(slot, now);
        } else {
            self.spare(slot);
        }
    }

    /// Ends the requests of a connection that failed. Those that were never sent wait for the
    /// next one, unless it is the connection that could not be made.
    pub(super) fn lose_streams(&mut self, slot: u32, outcome: Outcome, now: u64, words: &str) {
        let connection = &mut self.connections[slot as usize];
        let loss = Loss {
            outcome,
            with_waiting: connection.phase != Phase::Multiplexed,
            now,
            words,
        };
        if let Some(places) = &mut connection.places {
            places.lose(loss, &mut self.tally);
        }
        if let Pace::Open(pace) = &mut self.pace {
            pace.remove_idle(slot);
        }
    }

    /// Adds what a connection that is closed tells by itself to the counts.
    pub(super) fn note_streams(&mut self, slot: u32) {
        self.note_quic(slot);
        let connection = &self.connections[slot as usize];
        if connection.phase == Phase::Multiplexed
            && let Some(multiplex) = &connection.multiplex
        {
            let bytes = multiplex.client.header_bytes();
            self.tally.read_headers(bytes.wire, bytes.text);
        }
    }

    /// Ends the connection's requests that are older than the timeout.
    pub(super) fn sweep_streams(&mut self, slot: u32, now: u64) -> u64 {
        let words = format!("no whole response within {} s", self.spec.load.timeout_s);
        let free_before = self.free_places(slot);
        let is_ready = self.connections[slot as usize].phase == Phase::Multiplexed;
        let mut sink = sink(&mut self.tally, self.spec, ReadTime { arrived: now, now });
        let connection = &mut self.connections[slot as usize];
        let Some(places) = &mut connection.places else {
            return u64::MAX;
        };
        let cancel = |token| match (
            &mut connection.quic,
            &mut connection.multiplex,
            &mut self.h2,
        ) {
            (Some(session), _, _) => session.cancel(token),
            (None, Some(multiplex), Some(h2)) => multiplex.client.cancel(token, &mut h2.frames),
            _ => {}
        };
        let next = places.expire(self.timeout_ns, is_ready, &words, &mut sink, cancel);
        let has_expired = is_ready && self.free_places(slot) > free_before;
        if has_expired && self.is_quic_silent(slot, now) {
            self.lose_silent(slot, now);
        } else if has_expired {
            self.follow_up(slot, free_before, now);
        }
        next
    }
}

pub(super) fn sink<'a>(
    tally: &'a mut crate::tally::Tally,
    spec: &'a crate::LoadSpec,
    time: ReadTime,
) -> Sink<'a> {
    Sink {
        tally,
        exchanges: &spec.exchanges,
        arrived: time.arrived,
        now: time.now,
    }
}

fn room(h2: &mut H2) -> Room<'_> {
    Room {
        events: &mut h2.events,
        frames: &mut h2.frames,
    }
}

fn failed(errno: rustix::io::Errno) -> Taken {
    match failed_read(errno) {
        Read::Failed(outcome, words) => Taken::Failed(outcome, words),
        Read::Whole { .. } | Read::Drained => Taken::Drained,
    }
}

fn protocol(violation: Violation) -> Taken {
    Taken::Failed(Outcome::Protocol, violation.to_string())
}

fn broken_tls(failure: &TlsFailure) -> Taken {
    Taken::Failed(Outcome::Tls, failure.to_string())
}
