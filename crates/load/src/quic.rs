//! HTTP/3: QUIC by `quinn-proto`, which owns no socket and no clock, on the engine's own loop.
//!
//! ```text
//! a socket ─► datagrams::receive ─► Session::receive ─► Session::poll ─► Flights ─► Ledger
//! Flights::open_next ─► Session ─► Session::transmit, once a turn ─► datagrams::send_segments
//! Session::timeout ─► Timers, of all connections of a thread
//! ```
//!
//! Retry, version negotiation, key updates and stateless resets are quinn-proto's. Connections
//! do not migrate and send no datagrams (RFC 9221).

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bakeoff_wire::h3;
use bytes::Bytes;
use quinn_proto::{
    ClientConfig, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, NoneTokenStore,
    RandomConnectionIdGenerator, TokenMemoryCache, TokenStore, TransportConfig, VarInt,
};

use crate::clock::now;
use crate::spec::LoadSpec;
use crate::timers::Timers;
use crate::tls::QuicTls;

pub(crate) mod datagrams;
mod link;
mod loss;
mod reading;
mod session;
mod silence;
mod streams;
mod uploads;

use datagrams::PAYLOAD_MAX;
pub(crate) use loss::{Lost, lost_by};
pub(crate) use session::{Polled, Session};

/// Streams that the server may open for itself: HTTP/3 needs three, and some open one more to
/// see whether unknown ones are skipped (RFC 9114, 6.2.3).
const PEER_STREAMS: u32 = 8;
/// What servers may send on all connections before this side reads, bytes. It reads at once, so
/// all that a server can make it hold is what comes behind gaps. For that quinn-proto allocates up
/// to two and a half times as much, and 32 KiB more for each stream.
const WINDOWS: u32 = 64 << 20;
/// The part of it that a connection and a stream have, at least and at the most.
const WINDOW: std::ops::RangeInclusive<u32> = 256 << 10..=16 << 20;
/// Streams that a connection gives up before it takes no more requests.
const GIVEN_UP_MAX: u32 = 1_024;
/// Requests that a connection has sent, answered or not, whose arrival the server has yet to
/// acknowledge: then no more are. quinn-proto keeps some 500 bytes for each. A server can answer
/// without acknowledging anything, even what was not sent yet. Servers that mean well acknowledge
/// within 25 ms (RFC 9000, 18.2), in which one connection has carried less than 3,000 requests.
const UNACKNOWLEDGED_MAX: usize = 8_192;
/// Streams of unknown types that a server is asked to stop on a connection; what comes on later
/// ones is read and dropped. Each time is to be acknowledged, and is kept until then.
const ASKED_TO_STOP_MAX: u32 = 64;
/// What a datagram of QUIC's first flight has at least, and every path carries (RFC 9000, 14).
const INITIAL_BYTES: u16 = 1_200;
/// What Ethernet carries behind the headers of IPv6 and UDP.
const ETHERNET_BYTES: u16 = 1_452;
/// The longest datagram that the server may send, unless another limit is asked for. A
/// server looks for what the path carries with datagrams of padding: up to 65,527 bytes, nginx
/// 1.28 sent so many on 50 connections that small answers cost 6 us of CPU instead of 2 in the
/// first seconds, and a body's byte cost no less than with this.
const ANNOUNCED_BYTES: u16 = 16_384;
/// The longest datagram that is sent where the path and the server take it.
const SENT_BYTES: u16 = 16_384;
/// Shortest idle timeout, whatever the timeout of requests.
const IDLE_MIN: Duration = Duration::from_secs(30);

/// What the QUIC connections of a thread have in common.
pub(crate) struct Quic {
    dialing: Dialing,
    requests: Rc<[Ready]>,
    start: (u64, Instant),
    pub(crate) memo: h3::Memo,
    /// Memory that datagrams are received into.
    pub(crate) block: datagrams::Block,
    /// Datagrams that are made and sent.
    pub(crate) outgoing: Vec<u8>,
    /// Connections that may have something to send.
    pub(crate) to_drive: Vec<u32>,
    pub(crate) timers: Timers,
    /// Most datagrams that are sent in one call; 1 where the kernel cannot cut them.
    pub(crate) segments_max: usize,
}

/// How connections are begun.
struct Dialing {
    endpoint: Arc<EndpointConfig>,
    client: ClientConfig,
    server_name: String,
    streams: u32,
    /// Whether requests go before the end of a resumed handshake.
    early_data: bool,
}

/// A request as it goes on a stream.
#[derive(Debug)]
struct Ready {
    bytes: Bytes,
    is_to_head: bool,
}

impl Quic {
    pub(crate) fn new(spec: &LoadSpec, tls: &QuicTls) -> Self {
        let requests = spec.h3_requests();
        let ready = (0..requests.len() as u32).map(|index| Ready {
            bytes: Bytes::copy_from_slice(requests.bytes(index)),
            is_to_head: requests.is_to_head(index),
        });
        let requests: Rc<[Ready]> = ready.collect();
        let request_bytes = requests.iter().map(|ready| ready.bytes.len()).max();
        Self {
            dialing: Dialing::new(spec, tls, request_bytes.unwrap_or_default()),
            requests,
            start: (now(), Instant::now()),
            memo: h3::Memo::new(&h3::Config::default()),
            block: datagrams::Block::default(),
            outgoing: Vec::new(),
            to_drive: Vec::new(),
            timers: Timers::default(),
            segments_max: 32,
        }
    }

    /// A connection to `remote` that begins at `now`.
    pub(crate) fn begin(
        &self,
        remote: SocketAddr,
        now: u64,
    ) -> Result<Session, quinn_proto::ConnectError> {
        Session::begin(self, remote, now)
    }

    /// The engine's time as quinn-proto's.
    #[inline]
    pub(crate) fn instant(&self, at_ns: u64) -> Instant {
        self.start.1 + Duration::from_nanos(at_ns.saturating_sub(self.start.0))
    }

    /// quinn-proto's time as the engine's.
    #[inline]
    pub(crate) fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.start.1);
        self.start.0.saturating_add(crate::clock::nanos(since))
    }
}

impl Dialing {
    fn new(spec: &LoadSpec, tls: &QuicTls, request_bytes: usize) -> Self {
        let asked = spec.connections.max_udp_payload;
        let payload_max = asked.unwrap_or(ANNOUNCED_BYTES);
        let payload_max = payload_max.clamp(INITIAL_BYTES, PAYLOAD_MAX);
        let mut endpoint = EndpointConfig::default();
        endpoint
            .max_udp_payload_size(payload_max)
            .expect("it is within what may be announced");
        // A socket carries one connection, so datagrams need no identifier.
        endpoint.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(0)));
        let mut client = ClientConfig::new(tls.config.clone());
        client.transport_config(Arc::new(transport(spec, request_bytes, payload_max)));
        let tokens: Arc<dyn TokenStore> = if spec.speaking.tls().is_some_and(|tls| tls.resumption) {
            Arc::new(TokenMemoryCache::default())
        } else {
            Arc::new(NoneTokenStore)
        };
        client.token_store(tokens);
        Self {
            endpoint: Arc::new(endpoint),
            client,
            server_name: tls.server_name.clone(),
            streams: spec.load.streams.max(1),
            early_data: spec.speaking.tls().is_some_and(|tls| tls.early_data),
        }
    }
}

fn transport(spec: &LoadSpec, request_bytes: usize, payload_max: u16) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let idle = Duration::from_secs_f64(spec.load.timeout_s).max(IDLE_MIN);
    let window = WINDOWS / spec.load.clients().max(1);
    let window = VarInt::from_u32(window.clamp(*WINDOW.start(), *WINDOW.end()));
    let mut path = MtuDiscoveryConfig::default();
    path.upper_bound(sent_max(request_bytes).min(payload_max));
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(PEER_STREAMS))
        .stream_receive_window(window)
        .receive_window(window)
        .datagram_receive_buffer_size(None)
        .mtu_discovery_config(Some(path))
        .max_idle_timeout(IdleTimeout::try_from(idle).ok())
        .congestion_controller_factory(uploads::noting());
    transport
}

/// The longest datagram that this side asks the path for: each such question is a datagram of
/// that length, so requests that are short do not ask for more than Ethernet's.
fn sent_max(request_bytes: usize) -> u16 {
    u16::try_from(request_bytes)
        .unwrap_or(u16::MAX)
        .clamp(ETHERNET_BYTES, SENT_BYTES)
}
