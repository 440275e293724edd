//! What is between a connection and its socket: datagrams in, datagrams out, and their counts.
//!
//! It knows nothing of streams, and decides nothing: what is sent and when is quinn-proto's.

use std::net::SocketAddr;
use std::time::Instant;

use bakeoff_record::QuicLedger;
use quinn_proto::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, DatagramEvent, Endpoint,
};
use rustix::io::Errno;

use super::Dialing;
use super::datagrams::{Datagrams, SEND_MAX};
use super::uploads::{self, Uploads};
use crate::clock::nanos;
use crate::driver::Driver;

/// What is between a connection and its socket.
pub(super) struct Link {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    remote: SocketAddr,
    /// Datagrams that the socket would not take, and the length of each.
    unsent: Option<(Vec<u8>, usize)>,
    begun: Instant,
    /// What of requests is on its way.
    pub(super) uploads: Uploads,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    retries: u64,
    send_calls: u64,
    receive_calls: u64,
    /// Bytes of the longest datagram that the server may send, as announced to it.
    announced: u32,
    /// Bytes of the longest datagrams that came and went.
    received_max: u32,
    sent_max: u32,
}

impl Link {
    pub(super) fn open(
        dialing: &Dialing,
        client: ClientConfig,
        remote: SocketAddr,
        now: Instant,
    ) -> Result<(Self, Connection), ConnectError> {
        let mut endpoint = Endpoint::new(dialing.endpoint.clone(), None, true, None);
        let begun = endpoint.connect(now, client, remote, &dialing.server_name);
        let (handle, connection) = begun?;
        let announced = dialing.endpoint.get_max_udp_payload_size();
        let link = Self {
            endpoint,
            handle,
            remote,
            unsent: None,
            begun: now,
            uploads: Uploads::default(),
            counts: Counts {
                announced: u32::try_from(announced).unwrap_or(u32::MAX),
                ..Counts::default()
            },
        };
        Ok((link, connection))
    }

    /// When the connection began.
    pub(super) fn begun(&self) -> Instant {
        self.begun
    }

    /// Whether the socket has not taken all that was to be sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent.is_some()
    }

    /// Adds what was counted to the ledger.
    pub(super) fn note(&self, connection: &Connection, is_established: bool, to: &mut QuicLedger) {
        let stats = connection.stats();
        let path = &stats.path;
        if is_established {
            to.rtt.record(nanos(path.rtt));
        }
        let counts = &self.counts;
        to.packets_sent += path.sent_packets.saturating_sub(path.sent_plpmtud_probes);
        to.packets_lost += path.lost_packets;
        to.congestion_events += path.congestion_events;
        to.datagrams_sent += stats.udp_tx.datagrams;
        to.datagrams_received += stats.udp_rx.datagrams;
        to.send_calls += counts.send_calls;
        to.receive_calls += counts.receive_calls;
        to.retries += counts.retries;
        to.payload_announced_bytes = to.payload_announced_bytes.max(counts.announced);
        to.datagram_received_bytes_max = to.datagram_received_bytes_max.max(counts.received_max);
        to.datagram_sent_bytes_max = to.datagram_sent_bytes_max.max(counts.sent_max);
    }

    /// Takes datagrams of `segment` bytes each but the last. Returns how many bytes of requests
    /// they acknowledge.
    pub(super) fn receive(
        &mut self,
        connection: &mut Connection,
        (mut datagrams, segment): (Datagrams, usize),
        now: Instant,
    ) -> u64 {
        self.counts.receive_calls += 1;
        uploads::take_acknowledged();
        let mut answer = Vec::new();
        while let Some(datagram) = datagrams.next(segment) {
            self.counts.received_max = self.counts.received_max.max(datagram.len() as u32);
            if connection.is_handshaking() {
                self.counts.retries += u64::from(is_retry(&datagram));
            }
            let event = self
                .endpoint
                .handle(now, self.remote, None, None, datagram, &mut answer);
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                connection.handle_event(event);
            }
        }
        self.uploads.arrived(uploads::take_acknowledged())
    }

    /// Sends all that is to be sent, datagrams of one size together. Returns the bytes written.
    pub(super) fn transmit<D: Driver>(
        &mut self,
        connection: &mut Connection,
        (driver, socket): (&mut D, &D::Socket),
        now: Instant,
        segments_max: &mut usize,
        outgoing: &mut Vec<u8>,
    ) -> Result<usize, Errno> {
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                connection.handle_event(event);
            }
        }
        let mut written = 0;
        if let Some((bytes, segment)) = self.unsent.take() {
            written += self.send(driver, socket, &bytes, segment, segments_max)?;
        }
        while self.unsent.is_none() {
            outgoing.clear();
            // The kernel takes no more in one call than one datagram may be long.
            let fitting = SEND_MAX / usize::from(connection.current_mtu()).max(1);
            let segments = fitting.clamp(1, *segments_max);
            let transmit = connection.poll_transmit(now, segments, outgoing);
            let Some(transmit) = transmit else { break };
            let segment = transmit.segment_size.unwrap_or(transmit.size);
            let bytes = &outgoing[..transmit.size];
            written += self.send(driver, socket, bytes, segment, segments_max)?;
        }
        Ok(written)
    }

    fn send<D: Driver>(
        &mut self,
        driver: &mut D,
        socket: &D::Socket,
        bytes: &[u8],
        segment: usize,
        segments_max: &mut usize,
    ) -> Result<usize, Errno> {
        self.counts.send_calls += 1;
        match driver.send_datagrams(socket, bytes, segment) {
            Ok(()) => {
                let longest = segment.min(bytes.len()) as u32;
                self.counts.sent_max = self.counts.sent_max.max(longest);
                Ok(bytes.len())
            }
            Err(Errno::AGAIN) => {
                self.unsent = Some((bytes.to_vec(), segment));
                Ok(0)
            }
            // A kernel or a device that cannot cut: one at a time from now on.
            Err(Errno::IO | Errno::INVAL) if bytes.len() > segment => {
                *segments_max = 1;
                bytes.chunks(segment).try_fold(0, |sent, datagram| {
                    Ok(sent + self.send(driver, socket, datagram, segment, segments_max)?)
                })
            }
            // Too long for the path, or no memory for it: lost, and sent again if it matters.
            Err(Errno::MSGSIZE | Errno::NOBUFS | Errno::INTR) => Ok(0),
            Err(errno) => Err(errno),
        }
    }
}

/// Whether a datagram is a Retry of QUIC's version 1 (RFC 9000, 17.2.5).
fn is_retry(datagram: &[u8]) -> bool {
    matches!(datagram, [first, 0, 0, 0, 1, ..] if first & 0xb0 == 0xb0)
}
