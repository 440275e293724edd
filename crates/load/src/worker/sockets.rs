//! The worker's connections: opened, found open or refused, made ready, closed.

use std::cmp::Reverse;
use std::net::SocketAddr;

use bakeoff_record::Outcome;
use bakeoff_wire::proxy_protocol;
use rustix::io::Errno;

use super::Worker;
use crate::clock::{nanos, now};
use crate::connection::Phase;
use crate::pace::Pace;
use crate::socket;
use crate::spec::Protocol;
use crate::target::Endpoint;
use crate::tls::Tls;

impl Worker<'_> {
    /// Starts a connection for `slot`.
    pub(super) fn connect(&mut self, slot: u32, now: u64) {
        let endpoints = &self.spec.target.endpoints;
        let endpoint = &endpoints[self.next_connection % endpoints.len()];
        let sources = &self.spec.sources;
        let source = sources
            .get(self.next_connection % sources.len().max(1))
            .copied();
        self.next_connection = self.next_connection.wrapping_add(1);
        let connection = &mut self.connections[slot as usize];
        connection.begun = now;
        connection.phase = Phase::Connecting;
        connection.generation = connection.generation.wrapping_add(1);
        connection.carried = 0;
        self.opening += 1;
        connection.reader.reset();
        self.next_sweep = self.next_sweep.min(now.saturating_add(self.timeout_ns));
        if self.quic.is_some() {
            return self.connect_quic(slot, endpoint, source, now);
        }
        let token = u64::from(connection.generation) << 32 | u64::from(slot);
        let socket = match socket::start_connect(endpoint, source) {
            Ok(socket) => socket,
            Err(errno) => return self.fail_to_connect(slot, errno),
        };
        let stamped = match self.stamps_ahead {
            Some(_) => socket::stamp_arrivals(&socket),
            None => Ok(()),
        };
        match stamped
            .map_err(Into::into)
            .and_then(|()| self.poll.add(&socket, token))
        {
            Ok(()) => self.connections[slot as usize].socket = Some(socket),
            Err(error) => {
                self.fail(slot, Outcome::Local, now, || {
                    format!("set up a socket: {error}")
                });
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
        self.tally
            .counts
            .connect
            .record(now.saturating_sub(connection.begun));
        self.tally.counts.connections.opened += 1;
        self.announce_client(slot);
        let Some(client) = &self.tls else {
            return match self.spec.protocol {
                Protocol::H2c => self.make_multiplexed(slot, now),
                _ => self.make_ready(slot, now),
            };
        };
        let connection = &mut self.connections[slot as usize];
        connection.phase = Phase::Handshaking;
        connection.begun = now;
        self.next_sweep = self.next_sweep.min(now.saturating_add(self.timeout_ns));
        match Tls::begin(&client.config, &client.name, &mut self.made) {
            Ok(tls) => {
                connection.tls = Some(Box::new(tls));
                self.flush(slot);
            }
            Err(failure) => self.fail(slot, Outcome::Tls, now, || failure.to_string()),
        }
    }

    /// Makes the PROXY protocol's header, if one is to be sent.
    fn announce_client(&mut self, slot: u32) {
        let Some(version) = self.spec.proxy_protocol else {
            return;
        };
        let socket = self.connections[slot as usize].socket.as_ref();
        let source = socket.and_then(socket::local_address);
        let destination = self
            .spec
            .target
            .endpoints
            .iter()
            .find_map(|endpoint| match endpoint {
                Endpoint::Tcp(address) => Some(*address),
                Endpoint::Unix(_) => None,
            });
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let (source, destination) = (source.unwrap_or(unknown), destination.unwrap_or(unknown));
        self.made
            .extend_from_slice(&proxy_protocol::encode(version, source, destination));
    }

    /// A connection can carry requests from now on.
    pub(super) fn make_ready(&mut self, slot: u32, now: u64) {
        let connection = &mut self.connections[slot as usize];
        self.opening -= 1;
        if connection.has_request {
            return self.send(slot, now);
        }
        connection.phase = Phase::Idle;
        self.flush(slot);
        if let Pace::Open(pace) = &mut self.pace
            && self.connections[slot as usize].phase == Phase::Idle
        {
            pace.put_idle(slot);
        }
    }

    /// Writes what was made for `slot`, and keeps what its socket does not take.
    pub(super) fn flush(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        let Some(socket) = &connection.socket else {
            return self.made.clear();
        };
        // What was made earlier goes first.
        let waiting = !connection.unsent.is_empty();
        if waiting {
            connection.unsent.append(&mut self.made);
        }
        let bytes = if waiting {
            &mut connection.unsent
        } else {
            &mut self.made
        };
        let mut at = 0;
        let mut broken = None;
        while at < bytes.len() {
            match socket::write(socket, &bytes[at..]) {
                Ok(written) => {
                    at += written;
                    self.tally.wrote(written);
                }
                Err(Errno::AGAIN) => break,
                Err(errno) => {
                    broken = Some(errno);
                    break;
                }
            }
        }
        if waiting {
            connection.unsent.drain(..at);
        } else if at < self.made.len() {
            connection.unsent.extend_from_slice(&self.made[at..]);
        }
        self.made.clear();
        if connection.unsent.is_empty() {
            connection.unsent = Vec::new();
        }
        // The answer may have come before the peer closed: then reading tells more.
        if let Some(errno) = broken
            && connection.carried <= 1
            && at == 0
        {
            self.fail(slot, Outcome::Reset, now(), || format!("write: {errno}"));
        }
    }

    /// A connection without a request became ready: the server closed it, or it talks.
    pub(super) fn handle_idle(&mut self, slot: u32) {
        if self.connections[slot as usize].tls.is_some() {
            return self.handle_idle_tls(slot);
        }
        let Some(socket) = &self.connections[slot as usize].socket else {
            return;
        };
        let mut byte = [0];
        if socket::read(socket, &mut byte) != Err(Errno::AGAIN) {
            self.lose_idle(slot);
        }
    }

    /// An idle connection cannot be used any more.
    pub(super) fn lose_idle(&mut self, slot: u32) {
        self.tally.counts.connections.closed_by_server += 1;
        self.close(slot);
        self.spare(slot);
    }

    /// In an open loop: the slot may open a connection for the next request that is due.
    pub(super) fn spare(&mut self, slot: u32) {
        if let Pace::Open(pace) = &mut self.pace {
            pace.remove_idle(slot);
            pace.put_spare(slot);
        }
    }

    /// Closes the connection. What was made for it and not written must not reach the next one.
    pub(super) fn close(&mut self, slot: u32) {
        self.note_streams(slot);
        self.made.clear();
        if let Some(h2) = &mut self.h2 {
            h2.frames.clear();
        }
        self.close_quic(slot);
        let connection = &mut self.connections[slot as usize];
        connection.socket = None;
        connection.tls = None;
        connection.phase = Phase::Spare;
        connection.unsent = Vec::new();
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
        let connection = &mut self.connections[slot as usize];
        if matches!(connection.phase, Phase::Connecting | Phase::Handshaking) {
            self.tally.counts.connections.failed += 1;
            self.opening -= 1;
        }
        if connection.has_request {
            connection.has_request = false;
            let (exchange, intended) = (connection.exchange, connection.intended);
            self.tally
                .end_error(exchange, outcome, intended, now, None, words);
        } else if connection.places.is_some() {
            self.lose_streams(slot, outcome, now, &words());
        }
        self.close(slot);
        let pause = nanos(self.spec.opening.retry_pause);
        if self.running {
            self.wakes.push(Reverse((now + pause, slot)));
        }
    }
}
