//! What the slots of one engine thread share: the driver, the pace, the ledger, and the tools of
//! its connections.

use std::sync::Arc;

use bakeoff_wire::h1::HeadMemo;
use bakeoff_wire::h2;

use crate::agenda::Agenda;
use crate::clock::nanos;
use crate::driver::Driver;
use crate::ledger::Ledger;
use crate::lengths::Lengths;
use crate::pace::Pace;
use crate::quic::Quic;
use crate::share::Share;
use crate::spec::{LoadSpec, Waiting};
use crate::supply::Supply;
use crate::target::Endpoint;
use crate::tls::{TlsClient, TlsSide};
use crate::ways::Ways;

/// What one read takes at most. Large bodies are dropped unread, so more would seldom be used.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// A request of so many bytes may wait for a server's windows where it shares a connection: those
/// that servers of HTTP/2 and HTTP/3 begin with are larger.
pub(crate) const LONG_BYTES_MIN: usize = 4 * 1024;

/// Where the load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// Connections are opened, and nothing is sent.
    Connecting,
    /// Requests begin.
    Running,
    /// What was due is still begun, and answers are waited for.
    Draining,
}

/// What one thread of the engine has beside its slots.
pub(crate) struct Thread<'a, D: Driver> {
    pub(crate) spec: &'a LoadSpec,
    pub(crate) driver: D,
    pub(crate) course: Course,
    pub(crate) pace: Pace,
    pub(crate) supply: Supply<'a>,
    pub(crate) agenda: Agenda,
    pub(crate) ledger: Ledger,
    pub(crate) tools: Tools,
    pub(crate) timeout_ns: u64,
    /// The last time that was looked at.
    pub(crate) clock: u64,
    /// Where connections lead.
    pub(crate) ways: Ways<'a>,
    /// Clients that have begun a connection.
    pub(crate) begun: usize,
}

impl<'a, D: Driver> Thread<'a, D> {
    pub(crate) fn new(
        spec: &'a LoadSpec,
        driver: D,
        tls: Option<TlsSide>,
        share: Share,
        pace: Pace,
    ) -> Self {
        let is_open_loop = !pace.is_closed();
        let left = spec.count.map_or(u64::MAX, |count| share.of(count));
        Self {
            spec,
            driver,
            course: Course::Connecting,
            pace,
            supply: Supply::new(spec, share.thread, left),
            agenda: Agenda::default(),
            ledger: Ledger::new(spec.requests().count(), spec.variants(), is_open_loop),
            tools: Tools::new(spec, tls),
            timeout_ns: (spec.load.timeout_s * 1e9) as u64,
            clock: 0,
            ways: Ways::new(spec, share.thread),
            begun: 0,
        }
    }

    /// Rest of a slot after a failure, nanoseconds.
    pub(crate) fn pause_ns(&self) -> u64 {
        nanos(self.spec.connections.retry_pause)
    }

    /// Whether a client of a closed loop may begin a request.
    #[inline]
    pub(crate) fn may_begin(&self) -> bool {
        self.course == Course::Running
            && self.ledger.next_edge() != u64::MAX
            && !self.supply.is_used_up()
    }

    /// Whether a client whose request has ended begins the next one by itself, and may.
    #[inline]
    pub(crate) fn may_begin_at_once(&self) -> bool {
        self.pace.is_closed() && self.may_begin()
    }

    /// Whether what comes may lie until a request is due: nothing follows it, and it has a time of
    /// its own.
    #[inline]
    pub(crate) fn may_look_away(&self) -> bool {
        self.agenda.may_look_away()
            && self.tools.answers_are_short
            && self.tools.may_be_late
            && self.spec.pacing.waiting != Waiting::Spin
    }

    /// Whether connections are still opened.
    pub(crate) fn may_connect(&self) -> bool {
        match self.course {
            Course::Connecting | Course::Running => true,
            Course::Draining => !self.pace.is_closed(),
        }
    }
}

/// What the connections of a thread share.
pub(crate) struct Tools {
    pub(crate) tls: Option<TlsClient>,
    pub(crate) memo: HeadMemo,
    pub(crate) buffer: Box<[u8]>,
    /// Bytes made for the connection that is worked on, until they are written.
    pub(crate) made: Vec<u8>,
    /// What a server said together with the end of its handshake.
    pub(crate) early: Vec<u8>,
    /// What HTTP/2 connections share; `None` where none can come up.
    pub(crate) h2: Option<H2>,
    /// What QUIC connections share; `None` where none are asked for.
    pub(crate) quic: Option<Quic>,
    /// Whether the last answer came whole in one read: then a nap delays no body.
    pub(crate) answers_are_short: bool,
    /// Which answers a nap would keep from coming.
    pub(crate) lengths: Lengths,
    /// Whether each arrival has a stamp, and no request waits for a server's windows.
    may_be_late: bool,
    /// What the requests that one connection carries at once take at the most, bytes.
    pub(crate) asked_bytes_max: usize,
}

/// What the HTTP/2 connections of a thread share.
pub(crate) struct H2 {
    pub(crate) config: h2::Config,
    pub(crate) requests: Arc<h2::Requests>,
    /// Frames made for the connection that is worked on, before TLS.
    pub(crate) frames: Vec<u8>,
    pub(crate) events: Vec<h2::Event>,
}

impl Tools {
    fn new(spec: &LoadSpec, tls: Option<TlsSide>) -> Self {
        let (tls, quic) = match tls {
            None => (None, None),
            Some(TlsSide::Tcp(tls)) => (Some(tls), None),
            Some(TlsSide::Quic(tls)) => (None, Some(Quic::new(spec, &tls))),
        };
        let longest = spec.exchanges.iter().map(|each| each.request.len()).max();
        let streams = spec.load.streams.max(1) as usize;
        let is_long = longest.is_some_and(|bytes| bytes >= LONG_BYTES_MIN);
        let may_be_many = spec.speaking.may_be_h2() || quic.is_some();
        // The kernel stamps nothing that comes through a socket file.
        let mut endpoints = spec.target.endpoints.iter();
        let is_stamped = endpoints.all(|endpoint| matches!(endpoint, Endpoint::Tcp(_)));
        Self {
            tls,
            memo: HeadMemo::default(),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            made: Vec::new(),
            early: Vec::new(),
            h2: spec.speaking.may_be_h2().then(|| H2 {
                config: spec.h2_config(),
                requests: spec.h2_requests(),
                frames: Vec::new(),
                events: Vec::new(),
            }),
            quic,
            answers_are_short: false,
            lengths: Lengths::new(spec),
            may_be_late: is_stamped && !(is_long && may_be_many),
            asked_bytes_max: longest.unwrap_or(0).saturating_mul(streams),
        }
    }
}
