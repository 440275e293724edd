//! What one run of the engine is to do, as ready values.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bakeoff_plan::{Connect, Load, ProxyVersion, RateShape};
use bakeoff_record::bytes;
use bakeoff_wire::h1::Request;
use bakeoff_wire::{h2, h3};
use serde::{Deserialize, Serialize};

use crate::sent::{exchanges, h2_request};
use crate::{Part, Target, TlsSettings};

/// What one run of the engine is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadSpec {
    /// Where requests go.
    pub target: Target,
    /// What is spoken on a connection.
    pub speaking: Speaking,
    /// Requests and their right answers; at least one. Variants of a request follow each other.
    #[serde(with = "exchanges")]
    pub exchanges: Vec<Exchange>,
    /// Model, warm-up, duration and timeout.
    pub load: Load,
    /// How the rate of an open loop changes over warm-up and duration.
    pub shape: RateShape,
    /// End when so many requests have ended, or after the duration, whichever comes first; in an
    /// open loop when the request after them would be due.
    pub count: Option<u64>,
    /// How connections are opened and used.
    pub connections: ConnectionUse,
    /// Threads of the engine.
    pub threads: Threads,
    /// Seed of the open loop's schedule and of the choice among exchanges.
    pub seed: u64,
    /// Which bodies are compared byte by byte; the length is compared always.
    pub check: BodyCheck,
    /// How requests are timed, and which is next.
    pub pacing: Pacing,
    /// Length of the parts that the window is cut into.
    pub interval: Duration,
}

/// Which of several requests is next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Each as often as its weight says, by chance from the seed.
    #[default]
    ByWeight,
    /// Each thread begins them one after the other, as they are listed, and then again.
    InTurn,
}

/// Threads of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    /// How many there are; each owns its share of the connections.
    pub count: u32,
    /// Processors that they are pinned to in turn; none when empty.
    pub pin: Vec<usize>,
    /// Which threads of the load they are, where several engines carry it out together; `None`
    /// where this engine carries out all of it.
    pub part: Option<Part>,
}

/// How requests are timed, and which is next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pacing {
    /// Which of several requests is next.
    pub order: Order,
    /// How many variants there are of each request: so many exchanges each, which are begun one
    /// after the other and then again. 0 is 1.
    pub variants: u32,
    /// In an open loop: do not send a request any more that has waited so long.
    pub deadline: Option<Duration>,
    /// How a thread waits for the next request of an open loop to be due.
    pub waiting: Waiting,
    /// In a closed loop of several streams: let answers gather for a 64th of what requests take
    /// lately, at most 2 ms, and send what follows them together.
    pub gather: bool,
}

/// What is spoken on a connection, and how TLS is set up where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speaking {
    /// HTTP/1.1.
    H1 {
        /// `None` in the clear.
        tls: Option<TlsSettings>,
    },
    /// What a TLS server chooses of HTTP/2 and HTTP/1.1.
    Auto {
        /// How TLS is set up.
        tls: TlsSettings,
    },
    /// HTTP/2 over TLS; another choice of the server's is a failure.
    H2 {
        /// How TLS is set up.
        tls: TlsSettings,
    },
    /// HTTP/2 in the clear, known beforehand.
    H2c,
    /// HTTP/3 over QUIC, known beforehand.
    H3 {
        /// How TLS inside QUIC is set up.
        tls: TlsSettings,
    },
}

impl Speaking {
    /// How TLS is set up; `None` in the clear.
    pub(crate) fn tls(&self) -> Option<&TlsSettings> {
        match self {
            Self::H1 { tls } => tls.as_ref(),
            Self::Auto { tls } | Self::H2 { tls } | Self::H3 { tls } => Some(tls),
            Self::H2c => None,
        }
    }

    /// How TLS is set up, to be changed; `None` in the clear.
    pub fn tls_mut(&mut self) -> Option<&mut TlsSettings> {
        match self {
            Self::H1 { tls } => tls.as_mut(),
            Self::Auto { tls } | Self::H2 { tls } | Self::H3 { tls } => Some(tls),
            Self::H2c => None,
        }
    }

    /// Whether it is HTTP/1.1 whatever the server says.
    pub fn is_h1(&self) -> bool {
        matches!(self, Self::H1 { .. })
    }

    /// Whether it is HTTP/3.
    pub fn is_h3(&self) -> bool {
        matches!(self, Self::H3 { .. })
    }

    /// Whether it may come to HTTP/2.
    pub(crate) fn may_be_h2(&self) -> bool {
        matches!(self, Self::Auto { .. } | Self::H2 { .. } | Self::H2c)
    }

    /// The names offered in a TLS handshake, in order (RFC 7301).
    pub(crate) fn alpn(&self) -> &'static [&'static [u8]] {
        match self {
            Self::Auto { .. } => &[b"h2", b"http/1.1"],
            Self::H1 { .. } => &[b"http/1.1"],
            Self::H2 { .. } | Self::H2c => &[b"h2"],
            Self::H3 { .. } => &[b"h3"],
        }
    }
}

/// How a thread waits for the next request of an open loop to be due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waiting {
    /// Sleeps until shortly before it is due, and spins the rest.
    #[default]
    Nap,
    /// Never sleeps: the most exact schedule, for a whole processor for each thread.
    Spin,
    /// Sleeps up to so long past it, and sends what is due by then at once: the cheapest. The
    /// delay is part of the latency and of the send lag; service times are as exact as ever.
    Slack(Duration),
}

/// How connections are opened and used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionUse {
    /// Gap between the starts of two connections at the beginning. Ten thousand in one
    /// millisecond overflow every accept queue and measure the kernel's SYN timer.
    pub ramp_gap: Duration,
    /// Rest of a client after its connection failed, before the next attempt. Without it a
    /// closed loop turns a refusal into as many requests as the processor can make.
    pub retry_pause: Duration,
    /// Close a connection after so many requests.
    pub requests_per_connection: Option<u32>,
    /// Addresses that connections come from, in turn; empty lets the kernel choose.
    pub sources: Vec<IpAddr>,
    /// Send a PROXY protocol header that says whom a connection is for.
    pub proxy_protocol: Option<ProxyVersion>,
    /// Longest datagram that the server may send, bytes; HTTP/3 only.
    pub max_udp_payload: Option<u16>,
}

impl Default for ConnectionUse {
    fn default() -> Self {
        Self {
            ramp_gap: Duration::from_micros(25),
            retry_pause: Duration::from_millis(10),
            requests_per_connection: None,
            sources: Vec::new(),
            proxy_protocol: None,
            max_udp_payload: None,
        }
    }
}

impl LoadSpec {
    /// Requests, each with all of its variants.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().step_by(self.variants())
    }

    /// Variants of each request; at least 1.
    pub(crate) fn variants(&self) -> usize {
        self.pacing.variants.max(1) as usize
    }

    /// Whether connections are opened only as requests need them. Where an open loop does that,
    /// more clients come as answers take longer.
    pub(crate) fn connects_as_needed(&self) -> bool {
        self.load.connect == Connect::AsNeeded
    }

    /// The limits that an HTTP/2 connection begins with.
    pub(crate) fn h2_config(&self) -> h2::Config {
        h2::Config {
            streams: self.load.streams.max(1),
            ..h2::Config::default()
        }
    }

    /// The requests as HTTP/2 connections share them.
    pub(crate) fn h2_requests(&self) -> Arc<h2::Requests> {
        let requests = self.exchanges.iter().filter_map(|each| each.h2.clone());
        Arc::new(h2::Requests::new(requests.collect()))
    }

    /// The requests as HTTP/3 streams carry them.
    pub(crate) fn h3_requests(&self) -> h3::Requests {
        let requests = self.exchanges.iter().filter_map(|each| each.h2.clone());
        h3::Requests::new(requests.collect())
    }

    /// Parts of a window of this length: tenths of a second below ten seconds, else seconds.
    pub fn interval_for(duration: Duration) -> Duration {
        let long = duration >= Duration::from_secs(10);
        if long {
            Duration::from_secs(1)
        } else {
            Duration::from_millis(100)
        }
    }
}

/// A request and what a right answer to it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exchange {
    /// What results call it: its URL or path.
    pub name: String,
    /// The request, encoded for HTTP/1.1.
    #[serde(with = "bytes")]
    pub request: Arc<[u8]>,
    /// The request for HTTP/2 and HTTP/3; there where the protocol allows it.
    #[serde(with = "h2_request")]
    pub h2: Option<h2::Request>,
    /// Whether the request's method is `HEAD`, whose answer has no body.
    pub to_head_request: bool,
    /// Status of a right answer.
    pub status: ExpectedStatus,
    /// Body of a right answer; `None` accepts any.
    #[serde(skip)]
    pub body: Option<Arc<[u8]>>,
    /// How often it is sent, relative to the others; at least 1.
    pub weight: u32,
}

impl Exchange {
    /// `request` for HTTP/2 or HTTP/3; over TLS or QUIC if `secure`.
    pub fn over_h2(request: &Request<'_>, secure: bool) -> Result<h2::Request, h2::RequestError> {
        h2::Request::new(
            request.method,
            if secure { "https" } else { "http" },
            request.host,
            request.target,
            request.headers,
            request.body.to_vec(),
        )
    }
}

/// Which status comes out as `ok`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExpectedStatus {
    /// Any from 200 to 399.
    Success,
    /// This one only.
    Exactly(u16),
}

impl ExpectedStatus {
    /// Whether `status` comes out as `ok`.
    #[inline]
    pub fn accepts(self, status: u16) -> bool {
        match self {
            Self::Success => (200..400).contains(&status),
            Self::Exactly(expected) => status == expected,
        }
    }
}

/// Which bodies are compared byte by byte with the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BodyCheck {
    /// Every one.
    All,
    /// The first on each thread, and one in so many after it.
    OneIn(u32),
}
