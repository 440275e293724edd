//! A connection and a hostile server in memory: what the server can make this side hold has a
//! limit, however much it sends.

use std::sync::Arc;
use std::time::Duration;

use bakeoff_plan::{Connect, Load, LoadModel, RateShape};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, ServerConfig, Side, TransportConfig,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::*;
use crate::flight::Origin;
use crate::ledger::Ledger;
use crate::lengths::Lengths;
use crate::spec::{
    BodyCheck, ConnectionUse, Exchange, ExpectedStatus, LoadSpec, Order, Pacing, Speaking, Threads,
    Waiting,
};
use crate::target::Target;
use crate::tls::{TlsSettings, TlsSide, Trust};
use crate::weighed::held;

/// HEADERS with `:status: 200`, DATA with `hello`.
const HELLO: &[u8] = b"\x01\x03\0\0\xd9\0\x05hello";
/// Streams that the server lets be open at once.
const STREAMS: u32 = 30_000;
/// What a window is where 64 clients share all.
const WINDOW_BYTES: isize = 1 << 20;

/// A load by 64 clients with a stream each.
fn spec() -> LoadSpec {
    let address = ([127, 0, 0, 1], 443).into();
    let tls = TlsSettings {
        trust: Trust::Anything,
        ..TlsSettings::default()
    };
    let request = h3::Request::new("GET", "https", "a", "/", &[], Vec::new());
    let exchange = Exchange {
        name: "/".to_owned(),
        request: [].into(),
        h2: Some(request.expect("it may be sent")),
        to_head_request: false,
        status: ExpectedStatus::Success,
        body: None,
        weight: 1,
    };
    LoadSpec {
        target: Target::at(address, "/"),
        speaking: Speaking::H3 { tls },
        exchanges: vec![exchange],
        load: Load {
            timeout_s: 1.0,
            connect: Connect::AsNeeded,
            ..Load::new(LoadModel::Closed { clients: 64 }, 1.0)
        },
        shape: RateShape::Level,
        count: None,
        connections: ConnectionUse::default(),
        threads: Threads {
            count: 1,
            pin: Vec::new(),
            part: None,
        },
        seed: 1,
        check: BodyCheck::All,
        pacing: Pacing {
            order: Order::ByWeight,
            variants: 1,
            deadline: None,
            waiting: Waiting::Nap,
            gather: true,
        },
        interval: Duration::from_millis(100),
    }
}

fn server() -> Endpoint {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let quic = QuicServerConfig::try_from(tls).unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(quic));
    let mut transport = TransportConfig::default();
    transport.max_concurrent_bidi_streams(STREAMS.into());
    // It sends without waiting for anything.
    transport.initial_rtt(Duration::from_micros(1));
    let mut congestion = quinn_proto::congestion::CubicConfig::default();
    congestion.initial_window(1 << 30);
    transport.congestion_controller_factory(Arc::new(congestion));
    transport.mtu_discovery_config(None);
    config.transport_config(Arc::new(transport));
    Endpoint::new(
        Arc::new(EndpointConfig::default()),
        Some(Arc::new(config)),
        true,
        None,
    )
}

/// The two ends of a connection.
struct Pair<'a> {
    spec: &'a LoadSpec,
    quic: Quic,
    session: Session,
    flights: Flights,
    ledger: Ledger,
    lengths: Lengths,
    now: u64,
    server: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// What this side holds, beside what it held when the handshake had ended.
    held: isize,
    /// Requests that were sent.
    opened: usize,
}

impl<'a> Pair<'a> {
    /// Both ends after their handshake.
    fn new(spec: &'a LoadSpec) -> Self {
        let settings = spec.speaking.tls().unwrap();
        let Ok(TlsSide::Quic(tls)) = settings.side("localhost", &spec.speaking) else {
            panic!("HTTP/3 is over QUIC");
        };
        let quic = Quic::new(spec, &tls);
        let now = quic.start.0;
        let session = quic.begin(([127, 0, 0, 1], 443).into(), now).unwrap();
        let mut pair = Self {
            spec,
            quic,
            session,
            flights: Flights::new(1),
            ledger: Ledger::new(1, 1, false),
            lengths: Lengths::new(spec),
            now,
            server: server(),
            connection: None,
            held: 0,
            opened: 0,
        };
        while !pair.session.is_established() {
            pair.reach_server();
            pair.reach_client(|_| true);
        }
        pair.reach_server();
        pair.held = 0;
        pair
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().unwrap().1
    }

    /// Brings the server what this side sends.
    fn reach_server(&mut self) {
        for datagram in self.sent() {
            let mut answer = Vec::new();
            let at = self.quic.instant(self.now);
            let from = ([127, 0, 0, 1], 9).into();
            let event = self
                .server
                .handle(at, from, None, None, datagram[..].into(), &mut answer);
            match event {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = self.server.accept(incoming, at, &mut answer, None);
                    self.connection = accepted.ok();
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    self.connection().handle_event(event);
                }
                _ => {}
            }
        }
    }

    /// What this side sends, which is lost unless somebody brings it.
    fn sent(&mut self) -> Vec<Vec<u8>> {
        self.now += 1_000_000;
        let at = self.quic.instant(self.now);
        let (mut all, mut datagram) = (Vec::new(), Vec::with_capacity(2_000));
        loop {
            datagram.clear();
            let before = held();
            let sent = self.session.connection.poll_transmit(at, 1, &mut datagram);
            self.held += held() - before;
            if sent.is_none() {
                break all;
            }
            all.push(datagram.clone());
        }
    }

    /// Brings this side what the server sends, but what is lost by its number.
    fn reach_client(&mut self, arrives: impl Fn(usize) -> bool) {
        self.now += 1_000_000;
        let at = self.quic.instant(self.now);
        let mut datagram = Vec::with_capacity(2_000);
        for number in 0.. {
            datagram.clear();
            let Some((_, connection)) = &mut self.connection else {
                break;
            };
            while connection.poll().is_some() {}
            if connection.poll_transmit(at, 1, &mut datagram).is_none() {
                break;
            }
            if arrives(number) {
                let before = held();
                self.receive(&datagram);
                self.held += held() - before;
            }
        }
    }

    fn receive(&mut self, datagram: &[u8]) {
        let at = self.quic.instant(self.now);
        let datagrams = self.quic.block.receive(datagram);
        self.session.receive((datagrams, datagram.len()), at);
        let mut sink = Sink {
            ledger: &mut self.ledger,
            lengths: &mut self.lengths,
            exchanges: &self.spec.exchanges,
            arrived: self.now,
            now: self.now,
        };
        let polled = self
            .session
            .poll(&mut self.flights, &mut self.quic.memo, &mut sink);
        assert!(polled.lost.is_none() && polled.violation.is_none());
    }

    /// Opens a stream for a request, if there is room for it.
    fn open(&mut self) -> Option<StreamId> {
        let before = held();
        if !self.flights.has_waiting() {
            let mut origin = Origin::default();
            self.ledger.begin(&mut origin);
            self.flights.enqueue(origin, false, self.now);
        }
        let opened = self.session.open_next(&mut self.flights, true, self.now);
        self.held += held() - before;
        let id = StreamId::new(Side::Client, Dir::Bi, self.opened as u64);
        opened.map(|_| {
            self.opened += 1;
            id
        })
    }

    /// Answers on a stream of which the server need not have heard.
    fn answer(&mut self, id: StreamId, bytes: &[u8]) {
        let mut stream = self.connection().send_stream(id);
        assert_eq!(stream.write(bytes), Ok(bytes.len()));
        stream.finish().unwrap();
    }
}

#[test]
fn answers_without_acknowledgements_pile_up_to_a_limit() {
    let spec = spec();
    let mut pair = Pair::new(&spec);
    for _ in 0..2 * UNACKNOWLEDGED_MAX {
        let Some(id) = pair.open() else { break };
        pair.answer(id, HELLO);
        pair.reach_client(|_| true);
        pair.sent();
    }
    // The control stream is one of those that the server has not acknowledged.
    assert!(pair.opened >= UNACKNOWLEDGED_MAX - 1, "{}", pair.opened);
    assert!(pair.opened <= UNACKNOWLEDGED_MAX, "{}", pair.opened);
    let each = pair.held / pair.opened as isize;
    assert!(each < 800, "{each} bytes for each");
}

#[test]
fn streams_of_unknown_types_leave_nothing_behind() {
    let spec = spec();
    let mut pair = Pair::new(&spec);
    let round = |pair: &mut Pair<'_>| {
        let mut ids = Vec::new();
        while let Some(id) = pair.connection().streams().open(Dir::Uni) {
            pair.connection().send_stream(id).write(b"\x21").unwrap();
            ids.push(id);
        }
        pair.reach_client(|_| true);
        for id in ids {
            let _ = pair.connection().send_stream(id).finish();
        }
        pair.reach_client(|_| true);
        // It hears how many streams it may open, and what it is asked to stop.
        pair.reach_server();
    };
    (0..100).for_each(|_| round(&mut pair));
    let before = pair.held;
    (0..5_000).for_each(|_| round(&mut pair));
    let more = pair.held - before;
    assert!(more < 32 << 10, "{more} bytes");
    let sent = &pair.session.connection.stats().frame_tx;
    assert_eq!(sent.stop_sending, u64::from(ASKED_TO_STOP_MAX));
}

#[test]
fn what_comes_behind_a_gap_is_held_up_to_the_window() {
    let spec = spec();
    let mut pair = Pair::new(&spec);
    let id = pair.open().expect("room");
    pair.reach_server();
    // Frames of a type that is nobody's, of which the first datagram is lost each time.
    let bytes = b"\x21\x41\0".repeat(1_000);
    for _ in 0..800 {
        let _ = pair.connection().send_stream(id).write(&bytes);
        pair.reach_client(|number| number > 0);
        pair.sent();
    }
    assert!(pair.held > WINDOW_BYTES / 2, "{} bytes", pair.held);
    assert!(pair.held < 3 * WINDOW_BYTES, "{} bytes", pair.held);
}
