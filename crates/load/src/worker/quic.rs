//! QUIC connections in the loop: opened, read, timed, and driven once a turn.

use std::net::{IpAddr, SocketAddr};

use bakeoff_record::{CloseKind, Outcome};
use rustix::io::Errno;

use super::Worker;
use super::exchange::ReadTime;
use super::streams::sink;
use crate::clock::now;
use crate::connection::Phase;
use crate::pace::Pace;
use crate::places::Places;
use crate::quic::{Lost, Polled, datagrams, lost_by};
use crate::socket;
use crate::target::Endpoint;
use crate::tls;

impl Worker<'_> {
    /// Starts a QUIC connection for `slot`, whose phase is told already.
    pub(super) fn connect_quic(
        &mut self,
        slot: u32,
        endpoint: &Endpoint,
        source: Option<IpAddr>,
        now: u64,
    ) {
        let connection = &mut self.connections[slot as usize];
        connection.phase = Phase::Handshaking;
        let streams = self.spec.load.streams.max(1);
        connection
            .places
            .get_or_insert_with(|| Box::new(Places::new(streams)));
        let Endpoint::Tcp(remote) = *endpoint else {
            let words = || "QUIC needs an address, not a socket file".to_owned();
            return self.fail(slot, Outcome::Local, now, words);
        };
        if let Err(words) = self.open_quic(slot, remote, source, now) {
            return self.fail(slot, Outcome::Local, now, || words);
        }
        self.mark_to_drive(slot);
        let session = self.connections[slot as usize].quic.as_ref();
        if session.is_some_and(|session| session.is_early()) {
            self.take_up(slot, now);
        }
    }

    fn open_quic(
        &mut self,
        slot: u32,
        remote: SocketAddr,
        source: Option<IpAddr>,
        now: u64,
    ) -> Result<(), String> {
        let Some(quic) = &mut self.quic else {
            return Ok(());
        };
        let connection = &mut self.connections[slot as usize];
        let failed = |errno: Errno| format!("set up a socket: {errno}");
        let socket = datagrams::open(remote, source).map_err(failed)?;
        if self.stamps_ahead.is_some() {
            socket::stamp_arrivals(&socket).map_err(failed)?;
        }
        let token = u64::from(connection.generation) << 32 | u64::from(slot);
        let added = self.poll.add_for_reading(&socket, token);
        added.map_err(|error| format!("set up a socket: {error}"))?;
        connection.socket = Some(socket);
        let session = quic.begin(remote, now);
        let session = session.map_err(|error| format!("begin a QUIC connection: {error}"))?;
        connection.quic = Some(Box::new(session));
        Ok(())
    }

    /// The socket of a QUIC connection is ready.
    pub(super) fn handle_quic(&mut self, slot: u32) {
        let free_before = self.free_places(slot);
        let mut polled = Polled::default();
        let failed = loop {
            match self.take_datagrams(slot, &mut polled) {
                Ok(()) => {}
                Err(Errno::AGAIN) => break None,
                Err(Errno::INTR) => {}
                Err(errno) => break Some(errno),
            }
        };
        self.mark_to_drive(slot);
        self.follow_quic(slot, free_before, polled, now());
        if let Some(errno) = failed {
            self.fail_quic_socket(slot, errno);
        }
    }

    /// Takes what one receive call brings.
    fn take_datagrams(&mut self, slot: u32, polled: &mut Polled) -> Result<(), Errno> {
        let connection = &mut self.connections[slot as usize];
        let (Some(socket), Some(session), Some(places), Some(quic)) = (
            &connection.socket,
            &mut connection.quic,
            &mut connection.places,
            &mut self.quic,
        ) else {
            return Err(Errno::AGAIN);
        };
        let received = datagrams::receive(socket, &mut quic.block)?;
        let mut time = ReadTime::now();
        if let (Some(stamp), Some(ahead)) = (received.stamp, self.stamps_ahead) {
            let arrived = stamp.wrapping_sub(ahead);
            time.arrived = if arrived <= time.now {
                arrived
            } else {
                time.now
            };
        }
        self.tally.read(received.bytes.len());
        session.last_received = time.now;
        if !session.is_established() {
            tls::forget_seen();
        }
        session.receive(received.bytes, received.segment, quic.instant(time.now));
        if !session.is_established() {
            connection.seen.add(tls::seen());
        }
        let mut sink = sink(&mut self.tally, self.spec, time);
        let news = session.poll(places, &mut quic.memo, &mut sink);
        polled.connected |= news.connected;
        polled.again += news.again;
        polled.lost = polled.lost.take().or(news.lost);
        polled.violation = polled.violation.or(news.violation);
        Ok(())
    }

    /// Goes on with what a connection's datagrams, or the time, came to.
    fn follow_quic(&mut self, slot: u32, free_before: usize, polled: Polled, now: u64) {
        if polled.connected {
            self.finish_quic_handshake(slot, polled.again, now);
        }
        if let Some(reason) = polled.lost {
            let is_established = self.is_quic_established(slot);
            return self.lose_quic(slot, lost_by(&reason, is_established), now);
        }
        if let Some(violation) = polled.violation {
            let lost = Lost {
                outcome: Outcome::Protocol,
                kind: CloseKind::Local,
                words: violation.to_string(),
            };
            return self.lose_quic(slot, lost, now);
        }
        if self.connections[slot as usize].phase == Phase::Multiplexed {
            self.follow_up(slot, free_before, now);
        }
    }

    /// `again` requests were refused as early data.
    fn finish_quic_handshake(&mut self, slot: u32, again: u32, now: u64) {
        let connection = &mut self.connections[slot as usize];
        let took_ns = now.saturating_sub(connection.begun);
        let seen = connection.seen;
        self.tally.counts.connections.opened += 1;
        let agreed = || tls::agreed_in_quic(seen);
        self.tally.handshake(took_ns, !seen.verified, agreed);
        let session = connection
            .quic
            .as_ref()
            .filter(|session| session.is_early());
        let Some(session) = session else {
            return self.take_up(slot, now);
        };
        let is_taken = session.early_was_taken();
        connection.carried -= again;
        let early = &mut self.tally.counts.quic.early_data;
        early.accepted += u64::from(is_taken);
        early.rejected += u64::from(!is_taken);
    }

    fn is_quic_established(&self, slot: u32) -> bool {
        let session = self.connections[slot as usize].quic.as_ref();
        session.is_some_and(|session| session.is_established())
    }

    /// A QUIC connection ended that this side did not close.
    fn lose_quic(&mut self, slot: u32, lost: Lost, now: u64) {
        let connection = &self.connections[slot as usize];
        let by_this_side = matches!(
            lost.kind,
            CloseKind::Local | CloseKind::Idle | CloseKind::Timeout
        );
        let is_established = self.is_quic_established(slot);
        let by_server = is_established && !by_this_side;
        // One that carried requests early has failed all the same.
        let is_early = connection.phase == Phase::Multiplexed && !is_established;
        self.tally.counts.connections.failed += u64::from(is_early);
        self.tally.count_close(lost.kind);
        self.tally.counts.connections.closed_by_server += u64::from(by_server);
        if by_server {
            let places = connection.places.as_ref();
            let withdrawn = places.map_or(0, |places| places.withdrawn);
            let taken = connection.carried.saturating_sub(withdrawn);
            self.tally.counts.carried.record(u64::from(taken));
        }
        // One that ends in order and carries nothing is no failure.
        let places = connection.places.as_ref();
        let is_unused = by_server && places.is_some_and(|places| places.in_flight() == 0);
        if is_unused && !self.has_waiting(slot) && matches!(self.pace, Pace::Open(_)) {
            self.close(slot);
            return self.spare(slot);
        }
        self.fail(slot, lost.outcome, now, || lost.words);
    }

    /// The kernel refused to receive or to send.
    fn fail_quic_socket(&mut self, slot: u32, errno: Errno) {
        let connection = &self.connections[slot as usize];
        if connection.quic.is_none() {
            return;
        }
        let outcome = match (errno, self.is_quic_established(slot)) {
            (Errno::CONNREFUSED, false) => Outcome::Refused,
            (Errno::CONNREFUSED, true) => Outcome::Reset,
            _ => Outcome::Local,
        };
        let lost = Lost {
            outcome,
            kind: CloseKind::Unreachable,
            words: format!("send or receive datagrams: {errno}"),
        };
        self.lose_quic(slot, lost, now());
    }

    /// Lets the connection send what it has to send, at the end of the turn.
    #[inline]
    pub(super) fn mark_to_drive(&mut self, slot: u32) {
        if let (Some(session), Some(quic)) =
            (&mut self.connections[slot as usize].quic, &mut self.quic)
            && !std::mem::replace(&mut session.is_marked, true)
        {
            quic.to_drive.push(slot);
        }
    }

    /// When a timer of a QUIC connection is due.
    #[inline]
    pub(super) fn next_quic_timer(&self) -> Option<u64> {
        self.quic.as_ref().and_then(|quic| quic.timers.next())
    }

    /// Lets time pass for the connections whose timers are due.
    pub(super) fn handle_quic_timers(&mut self, now: u64) {
        while let Some(quic) = &mut self.quic
            && let Some((at, slot)) = quic.timers.take(now)
        {
            let connection = &mut self.connections[slot as usize];
            let (Some(session), Some(places)) = (&mut connection.quic, &mut connection.places)
            else {
                continue;
            };
            if session.entered != Some(at) {
                continue;
            }
            session.entered = None;
            let free_before = places.free();
            session.handle_timeout(quic.instant(now));
            let mut sink = sink(&mut self.tally, self.spec, ReadTime { arrived: now, now });
            let polled = session.poll(places, &mut quic.memo, &mut sink);
            let has_news = polled.has_news() || places.free() > free_before;
            self.mark_to_drive(slot);
            if has_news {
                self.follow_quic(slot, free_before, polled, now);
            }
        }
    }

    /// Whether nothing was received on a QUIC connection for as long as a request may take.
    pub(super) fn is_quic_silent(&self, slot: u32, now: u64) -> bool {
        let session = self.connections[slot as usize].quic.as_ref();
        let last = session.map_or(now, |session| session.last_received);
        now.saturating_sub(last) >= self.timeout_ns
    }

    /// Gives up a connection whose server has fallen silent.
    pub(super) fn lose_silent(&mut self, slot: u32, now: u64) {
        let seconds = self.spec.load.timeout_s;
        let lost = Lost {
            outcome: Outcome::Timeout,
            kind: CloseKind::Timeout,
            words: format!("nothing came on the QUIC connection for {seconds} s"),
        };
        self.lose_quic(slot, lost, now);
    }

    /// Sends what the connections that were marked have to send, and sets their timers.
    pub(super) fn drive_quic(&mut self, now: u64) {
        let Some(quic) = &mut self.quic else { return };
        if quic.to_drive.is_empty() {
            return;
        }
        let mut slots = std::mem::take(&mut quic.to_drive);
        for slot in slots.drain(..) {
            if let Err(errno) = self.drive_one(slot, now) {
                self.fail_quic_socket(slot, errno);
            }
        }
        if let Some(quic) = &mut self.quic {
            // What failed may have marked others.
            slots.append(&mut quic.to_drive);
            quic.to_drive = slots;
        }
    }

    fn drive_one(&mut self, slot: u32, now: u64) -> Result<(), Errno> {
        let connection = &mut self.connections[slot as usize];
        let (Some(socket), Some(session), Some(quic)) =
            (&connection.socket, &mut connection.quic, &mut self.quic)
        else {
            return Ok(());
        };
        session.is_marked = false;
        let at = quic.instant(now);
        let written = session.transmit(socket, at, &mut quic.segments_max, &mut quic.outgoing)?;
        self.tally.wrote(written);
        if session.has_unsent() {
            let token = u64::from(connection.generation) << 32 | u64::from(slot);
            // Where that fails, a timer of the connection's sends it later.
            let _ = self.poll.watch_writing(socket, token);
        }
        if let Some(timeout) = session.timeout() {
            let timeout = quic.nanos(timeout);
            quic.timers.set(slot, timeout, &mut session.entered);
        }
        Ok(())
    }

    /// Tells the server that the connection ends, and forgets it.
    pub(super) fn close_quic(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        connection.seen = tls::Seen::default();
        let (Some(socket), Some(mut session), Some(quic)) =
            (&connection.socket, connection.quic.take(), &mut self.quic)
        else {
            return;
        };
        let at = quic.instant(now());
        session.close(at);
        // The server is told as a courtesy: that it cannot be told changes nothing.
        let _ = session.transmit(socket, at, &mut quic.segments_max, &mut quic.outgoing);
    }

    /// Adds what a connection counted by itself to the ledger.
    pub(super) fn note_quic(&mut self, slot: u32) {
        if let Some(session) = &self.connections[slot as usize].quic {
            session.note(&mut self.tally.counts.quic);
        }
    }
}
