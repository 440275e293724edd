//! The worker's connections: opened, found open or refused, closed.

use std::cmp::Reverse;

use bakeoff_record::Outcome;
use rustix::io::Errno;

use super::Worker;
use crate::clock::{nanos, now};
use crate::connection::Phase;
use crate::pace::Pace;
use crate::socket;

impl Worker<'_> {
    /// Starts a connection for `slot`, whose phase becomes `phase`.
    pub(super) fn connect(&mut self, slot: u32, phase: Phase, now: u64) {
        let addresses = &self.spec.target.addresses;
        let address = addresses[self.next_address % addresses.len()];
        self.next_address = self.next_address.wrapping_add(1);
        let connection = &mut self.connections[slot as usize];
        connection.begun = now;
        connection.phase = phase;
        connection.generation = connection.generation.wrapping_add(1);
        connection.carried = 0;
        connection.reader.reset();
        self.next_sweep = self.next_sweep.min(now.saturating_add(self.timeout_ns));
        let token = u64::from(connection.generation) << 32 | u64::from(slot);
        let socket = match socket::start_connect(&address) {
            Ok(socket) => socket,
            Err(errno) => return self.fail_to_connect(slot, errno),
        };
        match self.poll.add(&socket, token) {
            Ok(()) => self.connections[slot as usize].socket = Some(socket),
            Err(error) => {
                self.fail(slot, Outcome::Local, now, || format!("epoll: {error}"));
            }
        }
    }

    /// The socket of a connection in progress became ready.
    pub(super) fn handle_connected(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        let Some(socket) = &connection.socket else {
            return;
        };
        if let Err(errno) = socket::connection_result(socket) {
            return self.fail_to_connect(slot, errno);
        }
        let now = now();
        let took = now.saturating_sub(connection.begun);
        self.tally.counts.connect.record(took);
        self.tally.counts.connections.opened += 1;
        if connection.phase == Phase::Connecting {
            return self.send(slot, now);
        }
        connection.phase = Phase::Idle;
        if let Pace::Open(pace) = &mut self.pace {
            pace.put_idle(slot);
        }
    }

    /// A connection without a request became ready: the server closed it, or it talks.
    pub(super) fn handle_idle(&mut self, slot: u32) {
        let connection = &self.connections[slot as usize];
        let Some(socket) = &connection.socket else {
            return;
        };
        let mut byte = [0];
        if socket::read(socket, &mut byte) == Err(Errno::AGAIN) {
            return;
        }
        self.tally.counts.connections.closed_by_server += 1;
        self.close(slot);
        if let Pace::Open(pace) = &mut self.pace {
            pace.remove_idle(slot);
            pace.put_spare(slot);
        }
    }

    pub(super) fn close(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        connection.socket = None;
        connection.phase = Phase::Spare;
        connection.reader.reset();
    }

    fn fail_to_connect(&mut self, slot: u32, errno: Errno) {
        let outcome = match errno {
            Errno::CONNREFUSED => Outcome::Refused,
            Errno::CONNRESET => Outcome::Reset,
            Errno::TIMEDOUT => Outcome::ConnectTimeout,
            // Everything else is this side's: files, ports, memory, routes (R11).
            _ => Outcome::Local,
        };
        self.fail(slot, outcome, now(), || format!("connect: {errno}"));
    }

    /// Ends the slot's request, if it has one, closes its connection and lets the slot rest.
    pub(super) fn fail(
        &mut self,
        slot: u32,
        outcome: Outcome,
        now: u64,
        words: impl FnOnce() -> String,
    ) {
        let connection = &self.connections[slot as usize];
        if matches!(connection.phase, Phase::Preparing | Phase::Connecting) {
            self.tally.counts.connections.failed += 1;
        }
        if connection.phase.has_request() {
            let intended = connection.intended;
            self.tally.end_error(outcome, intended, now, None, words);
        }
        self.close(slot);
        let pause = nanos(self.spec.retry_pause);
        if self.running {
            self.wakes.push(Reverse((now + pause, slot)));
        }
    }
}
