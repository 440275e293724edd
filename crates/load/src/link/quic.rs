//! HTTP/3 on a connection: its socket of datagrams, its session, and what was seen of its
//! handshake.

use bakeoff_record::CloseKind;
use rustix::io::Errno;

use super::Intake;
use super::streams::sink;
use crate::driver::{Driver, ReadTime};
use crate::flights::Flights;
use crate::greed::Greed;
use crate::quic::{Lost, Polled, Quic, Session, lost_by};
use crate::thread::Thread;
use crate::tls;

/// What a receive call counts for at the least, bytes: datagrams may be empty.
const RECEIVED_BYTES_MIN: u64 = 128;

/// HTTP/3 on a connection.
pub(crate) struct QuicLink<S> {
    pub(crate) socket: S,
    pub(crate) session: Session,
    /// What was seen of the handshake.
    pub(crate) seen: tls::Seen,
}

/// How a turn of a connection's datagrams ended.
pub(crate) enum Arrived {
    /// None is left.
    Drained,
    /// The turn has read what it may.
    Unread,
    /// The kernel refused to receive.
    Failed(Errno),
}

impl<S> QuicLink<S> {
    /// Takes the datagrams that have come, as many as the turn may.
    pub(crate) fn read<D: Driver<Socket = S>>(
        &mut self,
        flights: &mut Flights,
        thread: &mut Thread<'_, D>,
        greed: &Greed,
        intake: &mut Intake,
    ) -> (Polled, Arrived) {
        let mut polled = Polled::default();
        let body_bytes_before = flights.body_bytes;
        let arrived = loop {
            match self.read_once(flights, thread, &mut polled, intake) {
                Ok(()) if polled.is_last() || intake.is_full(greed) => break Arrived::Unread,
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break Arrived::Drained,
                Err(errno) => break Arrived::Failed(errno),
            }
        };
        intake.body_bytes += flights.body_bytes - body_bytes_before;
        (polled, arrived)
    }

    /// Takes what one receive call brings.
    fn read_once<D: Driver<Socket = S>>(
        &mut self,
        flights: &mut Flights,
        thread: &mut Thread<'_, D>,
        polled: &mut Polled,
        intake: &mut Intake,
    ) -> Result<(), Errno> {
        let Some(quic) = &mut thread.tools.quic else {
            return Err(Errno::AGAIN);
        };
        let received = thread
            .driver
            .take_datagrams(&self.socket, &mut quic.block)?;
        let (time, bytes) = (received.time, received.datagrams.len());
        thread.ledger.counts.meter.read(bytes);
        intake.bytes += (bytes as u64).max(RECEIVED_BYTES_MIN);
        self.session.last_received = time.now;
        let is_shaking = !self.session.is_established();
        if is_shaking {
            tls::forget_seen();
        }
        let at = quic.instant(time.now);
        let datagrams = (received.datagrams, received.segment);
        intake.body_bytes += self.session.receive(datagrams, at);
        if is_shaking {
            self.seen.add(tls::seen());
        }
        let (ledger, lengths) = (&mut thread.ledger, &mut thread.tools.lengths);
        let mut sink = sink(ledger, lengths, thread.spec, time);
        polled.add(self.session.poll(flights, &mut quic.memo, &mut sink));
        Ok(())
    }

    /// Lets time pass, because a timer is due at `now`.
    pub(crate) fn pass_time<D: Driver<Socket = S>>(
        &mut self,
        flights: &mut Flights,
        thread: &mut Thread<'_, D>,
        now: u64,
    ) -> Polled {
        let Some(quic) = &mut thread.tools.quic else {
            return Polled::default();
        };
        self.session.handle_timeout(quic, now);
        let (ledger, lengths) = (&mut thread.ledger, &mut thread.tools.lengths);
        let mut sink = sink(ledger, lengths, thread.spec, ReadTime::at(now));
        self.session.poll(flights, &mut quic.memo, &mut sink)
    }

    /// How the connection was lost, if what it polled says so.
    pub(crate) fn lost(&self, polled: &mut Polled) -> Option<Lost> {
        if let Some(reason) = polled.lost.take() {
            return Some(lost_by(&reason, self.session.is_established()));
        }
        let violation = polled.violation.take()?;
        Some(Lost {
            outcome: bakeoff_record::Outcome::Protocol,
            kind: CloseKind::Local,
            message: violation.to_string(),
        })
    }

    /// The kernel refused to receive or to send.
    pub(crate) fn lost_socket(&self, errno: Errno) -> Lost {
        use bakeoff_record::Outcome;
        let outcome = match (errno, self.session.is_established()) {
            (Errno::CONNREFUSED, false) => Outcome::Refused,
            (Errno::CONNREFUSED, true) => Outcome::Reset,
            _ => Outcome::Local,
        };
        Lost {
            outcome,
            kind: CloseKind::Unreachable,
            message: format!("send or receive datagrams: {errno}"),
        }
    }

    /// Lets the connection of `slot` send what it has to send, at the end of the turn.
    #[inline]
    pub(crate) fn mark_to_drive(&mut self, slot: u32, quic: &mut Option<Quic>) {
        if let Some(quic) = quic
            && !std::mem::replace(&mut self.session.is_marked, true)
        {
            quic.to_drive.push(slot);
        }
    }

    /// Sends what there is to send, and sets the timer. `token` is the socket's.
    pub(crate) fn drive<D: Driver<Socket = S>>(
        &mut self,
        thread: &mut Thread<'_, D>,
        (slot, token): (u32, u64),
        now: u64,
    ) -> Result<(), Errno> {
        let Some(quic) = &mut thread.tools.quic else {
            return Ok(());
        };
        self.session.is_marked = false;
        let at = quic.instant(now);
        let to = (&mut thread.driver, &self.socket);
        let written = self
            .session
            .transmit(to, at, &mut quic.segments_max, &mut quic.outgoing)?;
        thread.ledger.counts.meter.wrote(written);
        if self.session.has_unsent() {
            thread.driver.watch_writing(&self.socket, token);
        }
        if let Some(timeout) = self.session.timeout(quic) {
            quic.timers.set(slot, timeout, &mut self.session.entered);
        }
        Ok(())
    }

    /// Lets the server know that the connection ends.
    pub(crate) fn say_close<D: Driver<Socket = S>>(&mut self, thread: &mut Thread<'_, D>) {
        let now = thread.driver.now();
        let Some(quic) = &mut thread.tools.quic else {
            return;
        };
        let at = quic.instant(now);
        self.session.close(at);
        let to = (&mut thread.driver, &self.socket);
        let outgoing = &mut quic.outgoing;
        // A courtesy to the server: if it cannot be sent, nothing changes.
        let _ = self
            .session
            .transmit(to, at, &mut quic.segments_max, outgoing);
    }

    /// Whether nothing was received for `timeout_ns`.
    pub(crate) fn is_silent(&self, timeout_ns: u64, now: u64) -> bool {
        now.saturating_sub(self.session.last_received) >= timeout_ns
    }
}
