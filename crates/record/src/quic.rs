//! What QUIC did beneath HTTP/3.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// What QUIC did beneath HTTP/3, warm-up and handshakes included, on connections that ended or
/// were open at the end of the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuicLedger {
    /// Round-trip time that each connection had estimated last, nanoseconds.
    pub rtt: Histogram,
    /// Packets that this side sent, probes of the path's size left out.
    pub packets_sent: u64,
    /// Those of them that were taken for lost (RFC 9002, 6.1): a later one was acknowledged, and
    /// they were not within three packets or 9/8 of the round-trip time. What the server sent and
    /// lost is not among them: this side does not see it.
    pub packets_lost: u64,
    /// Times that a connection slowed down because of loss.
    pub congestion_events: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Calls that sent datagrams; the kernel cuts what one call hands over (GSO).
    pub send_calls: u64,
    /// Calls that received datagrams; the kernel joins what one call takes (GRO).
    pub receive_calls: u64,
    /// Longest datagram that this side announced it takes, bytes of UDP payload.
    pub payload_announced_bytes: u32,
    /// Longest datagram that came, bytes of UDP payload.
    pub datagram_received_bytes_max: u32,
    /// Longest datagram that was sent, bytes of UDP payload, probes of the path's size included.
    pub datagram_sent_bytes_max: u32,
    /// Retry packets that were followed, each by a handshake begun anew.
    pub retries: u64,
    /// What became of early data.
    pub early_data: EarlyData,
    /// Connections by why they ended, where this side had not ended them in order.
    pub closes: BTreeMap<CloseKind, u64>,
}

/// What became of requests that were sent before the handshake's end (0-RTT).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyData {
    /// Handshakes whose early data the server took. They are resumed ones.
    pub accepted: u64,
    /// Handshakes whose early data the server refused, resumed or not.
    pub rejected: u64,
    /// Requests that were sent as early data.
    pub requests: u64,
    /// Those of them that were sent again because the server had refused: the same requests,
    /// and their time went on.
    pub sent_again: u64,
}

bakeoff_plan::named! {
    /// Why a QUIC connection ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CloseKind {
        /// Nothing was received for too long.
        Idle = "idle",
        /// The handshake did not end in time.
        Timeout = "timeout",
        /// The server closed it with a code of QUIC's or an alert of TLS.
        Transport = "transport",
        /// The server closed it with a code of HTTP/3.
        Application = "application",
        /// The server said that it does not know the connection.
        StatelessReset = "stateless_reset",
        /// No version of QUIC is spoken by both sides.
        Version = "version",
        /// Nobody listens on the server's port, or no way leads there.
        Unreachable = "unreachable",
        /// This side closed it, because the server broke a rule.
        Local = "local",
    }
}

impl QuicLedger {
    /// Adds what another thread counted.
    pub fn merge(&mut self, other: &Self) {
        self.rtt.merge(&other.rtt);
        self.packets_sent += other.packets_sent;
        self.packets_lost += other.packets_lost;
        self.congestion_events += other.congestion_events;
        self.datagrams_sent += other.datagrams_sent;
        self.datagrams_received += other.datagrams_received;
        self.send_calls += other.send_calls;
        self.receive_calls += other.receive_calls;
        raise(
            &mut self.payload_announced_bytes,
            other.payload_announced_bytes,
        );
        raise(
            &mut self.datagram_received_bytes_max,
            other.datagram_received_bytes_max,
        );
        raise(
            &mut self.datagram_sent_bytes_max,
            other.datagram_sent_bytes_max,
        );
        self.retries += other.retries;
        self.early_data.accepted += other.early_data.accepted;
        self.early_data.rejected += other.early_data.rejected;
        self.early_data.requests += other.early_data.requests;
        self.early_data.sent_again += other.early_data.sent_again;
        for (kind, n) in &other.closes {
            *self.closes.entry(*kind).or_default() += n;
        }
    }

    /// Share of the packets sent that were taken for lost; `None` without packets.
    pub fn lost_share(&self) -> Option<f64> {
        (self.packets_sent > 0).then(|| self.packets_lost as f64 / self.packets_sent as f64)
    }
}

fn raise(max: &mut u32, other: u32) {
    *max = (*max).max(other);
}
