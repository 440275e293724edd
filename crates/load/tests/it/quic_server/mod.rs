//! A server of HTTP/3 on a thread, whose answers a test decides request by request.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use bakeoff_load::{Exchange, LoadSpec, Request, Speaking, TlsSettings, Trust};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    HashedConnectionIdGenerator, MtuDiscoveryConfig, ServerConfig, StreamEvent, StreamId, TokenLog,
    TokenReuseError, TransportConfig, VarInt,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub(crate) mod hostile;
pub(crate) mod relay;

use hostile::{Endless, Hostility};

/// HEADERS with `:status: 200`, DATA with `hello`.
pub(crate) const HELLO: &[u8] = b"\x01\x03\0\0\xd9\0\x05hello";

/// A load of thirty requests by three connections with four streams each.
pub(crate) fn spec(port: u16) -> LoadSpec {
    let mut spec = crate::support::spec(([127, 0, 0, 1], port).into());
    let tls = TlsSettings {
        trust: Trust::Anything,
        ..TlsSettings::default()
    };
    spec.speaking = Speaking::H3 { tls };
    spec.load.streams = 4;
    send(&mut spec, b"");
    spec
}

/// Makes a request with this body the load's one.
pub(crate) fn send(spec: &mut LoadSpec, body: &[u8]) {
    let request = Request {
        method: if body.is_empty() { "GET" } else { "POST" },
        target: "/",
        host: "localhost",
        headers: &[],
        body,
        keep_alive: true,
    };
    let exchange = &mut spec.exchanges[0];
    exchange.h2 = Some(Exchange::over_h2(&request, true).expect("a valid request"));
}

/// What is done when a request has come whole.
pub(crate) enum Act {
    /// Its stream gets these bytes and ends.
    Answer(&'static [u8]),
    /// The same, each byte in a datagram of its own.
    InParts(&'static [u8]),
    /// Its stream gets these bytes, and never ends.
    Part(&'static [u8]),
    /// Its stream gets the first bytes, and then the others again and again.
    Endless(&'static [u8], &'static [u8]),
    /// Its stream is reset with this code.
    Reset(u32),
    /// The same, behind these bytes.
    ResetBehind(&'static [u8], u32),
    /// The connection is closed with this code.
    Close(u32),
    /// GOAWAY refuses all streams behind it, and then it is answered.
    GoAway(&'static [u8]),
    /// GOAWAY refuses it and all streams behind it, and the connection is closed at once.
    Leave,
    /// The server goes over to new keys, and answers under them.
    UpdateKeys(&'static [u8]),
    /// The server loses all it knows about its connections, as by a restart on the same port.
    Forget,
    /// Nothing, ever.
    Nothing,
}

/// How a server behaves beneath HTTP/3.
pub(crate) struct Ways {
    /// The protocol that it agrees to.
    pub(crate) alpn: &'static [u8],
    /// One of so many datagrams that it receives is lost.
    pub(crate) loses: u64,
    /// Whether a new client has to show first that it receives what is sent to it.
    pub(crate) retries: bool,
    /// Versions of QUIC that it speaks.
    pub(crate) versions: Vec<u32>,
    /// Silence after which a connection is over.
    pub(crate) idle: Duration,
    /// Whether requests may come before the end of a resumed handshake.
    pub(crate) takes_early_data: bool,
    /// Whether no ticket is of use to the next connection.
    pub(crate) loses_tickets: bool,
    /// The longest datagram that it sends, if the path and the client take it, and that it takes.
    pub(crate) datagram_max: u16,
    /// Bytes sent on a connection and not acknowledged yet.
    pub(crate) send_window: u64,
    pub(crate) hostility: Hostility,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            alpn: b"h3",
            loses: u64::MAX,
            retries: false,
            versions: vec![1],
            idle: Duration::from_secs(30),
            takes_early_data: false,
            loses_tickets: false,
            datagram_max: 1_472,
            send_window: 10_000_000,
            hostility: Hostility::None,
        }
    }
}

/// A connection and what its server needs to remember.
struct Peer {
    connection: Connection,
    control: Option<StreamId>,
    /// Bytes that go out one by one.
    slow: Vec<(StreamId, &'static [u8])>,
    endless: Vec<Endless>,
    /// Streams that are reset once what is on them has been sent: a reset discards the rest.
    resets: Vec<(StreamId, VarInt)>,
    /// It closes the connection as soon as it has sent what it has to send.
    leaves: bool,
    /// Nothing is sent.
    is_silent: bool,
    /// How often it was worked for.
    done: u64,
    /// Gone with it.
    is_there: Arc<()>,
}

/// Serves by `act`, which takes the number of the request. Returns the port.
pub(crate) fn serve(act: impl FnMut(u64) -> Act + Send + 'static) -> u16 {
    serve_in(Ways::default(), act)
}

/// [`serve`]s in other ways than the usual ones.
pub(crate) fn serve_in(ways: Ways, act: impl FnMut(u64) -> Act + Send + 'static) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let port = socket.local_addr().expect("bound").port();
    let step = Duration::from_millis(1);
    socket.set_read_timeout(Some(step)).expect("a timeout");
    let mut config = EndpointConfig::default();
    config.supported_versions(ways.versions.clone());
    let announced = config.max_udp_payload_size(ways.datagram_max);
    announced.expect("a length of datagrams");
    // As a server that was restarted must, it knows its own identifiers again.
    config.cid_generator(|| Box::new(HashedConnectionIdGenerator::from_key(7)));
    let configs = (Arc::new(config), Arc::new(config_of(&ways)));
    let server = Server {
        socket,
        endpoint: endpoint_of(&configs),
        configs,
        peers: HashMap::new(),
        act,
        requests: 0,
        ways,
        received: 0,
    };
    std::thread::spawn(move || server.run());
    port
}

type Configs = (Arc<EndpointConfig>, Arc<ServerConfig>);

fn endpoint_of((endpoint, server): &Configs) -> Endpoint {
    Endpoint::new(endpoint.clone(), Some(server.clone()), true, None)
}

/// A certificate that did not sign the server's.
pub(crate) fn other_authority() -> PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let name = format!("bakeoff-h3-{}.pem", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a key");
        std::fs::write(&path, key.cert.pem()).expect("written");
        path
    };
    FILE.get_or_init(make).clone()
}

fn config_of(ways: &Ways) -> ServerConfig {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a key");
    let chain = vec![CertificateDer::from(certified.cert.der().to_vec())];
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a certificate");
    tls.alpn_protocols = vec![ways.alpn.to_vec()];
    tls.max_early_data_size = if ways.takes_early_data { u32::MAX } else { 0 };
    let quic = QuicServerConfig::try_from(tls).expect("a suite for QUIC");
    let mut transport = TransportConfig::default();
    let mut path = MtuDiscoveryConfig::default();
    path.upper_bound(ways.datagram_max);
    transport.mtu_discovery_config(Some(path));
    transport.send_window(ways.send_window);
    if ways.hostility == Hostility::KeepsStopped {
        transport.max_concurrent_bidi_streams(VarInt::from_u32(5_000));
    }
    transport.max_idle_timeout(Some(ways.idle.try_into().expect("a timeout of QUIC")));
    let mut config = ServerConfig::with_crypto(Arc::new(quic));
    config.transport_config(Arc::new(transport));
    config.validation_token.sent(2).log(Arc::new(Forgetful));
    config
}

/// Takes every token for a new one.
struct Forgetful;

impl TokenLog for Forgetful {
    fn check_and_insert(&self, _: u128, _: SystemTime, _: Duration) -> Result<(), TokenReuseError> {
        Ok(())
    }
}

struct Server<A> {
    socket: UdpSocket,
    endpoint: Endpoint,
    configs: Configs,
    peers: HashMap<ConnectionHandle, Peer>,
    act: A,
    requests: u64,
    ways: Ways,
    received: u64,
}

impl<A: FnMut(u64) -> Act> Server<A> {
    fn run(mut self) {
        let mut buffer = vec![0; 65536];
        loop {
            // Waits for one, and takes all that came: what finds no room in the socket is lost.
            while let Ok((length, from)) = self.socket.recv_from(&mut buffer) {
                self.received += 1;
                if !self.received.is_multiple_of(self.ways.loses) {
                    self.receive(&buffer[..length], from);
                }
                self.socket.set_nonblocking(true).expect("a socket");
            }
            let floods = self.ways.hostility.is_flood() && !self.peers.is_empty();
            self.socket.set_nonblocking(floods).expect("a socket");
            let handles: Vec<_> = self.peers.keys().copied().collect();
            for handle in handles {
                self.work(handle);
            }
        }
    }

    fn receive(&mut self, datagram: &[u8], from: SocketAddr) {
        let (now, mut out) = (Instant::now(), Vec::new());
        let event = self
            .endpoint
            .handle(now, from, None, None, datagram.into(), &mut out);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(peer) = self.peers.get_mut(&handle) {
                    peer.connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming))
                if self.ways.retries && !incoming.remote_address_validated() =>
            {
                let transmit = self.endpoint.retry(incoming, &mut out);
                let transmit = transmit.expect("a Retry may be sent");
                let _ = self.socket.send_to(&out[..transmit.size], from);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let other = self
                    .ways
                    .loses_tickets
                    .then(|| Arc::new(config_of(&self.ways)));
                match self.endpoint.accept(incoming, now, &mut out, other) {
                    Ok((handle, connection)) => {
                        let peer = Peer {
                            connection,
                            control: None,
                            slow: Vec::new(),
                            endless: Vec::new(),
                            resets: Vec::new(),
                            leaves: false,
                            is_silent: false,
                            done: 0,
                            is_there: Arc::new(()),
                        };
                        self.peers.insert(handle, peer);
                    }
                    Err(error) => {
                        if let Some(transmit) = error.response {
                            let _ = self.socket.send_to(&out[..transmit.size], from);
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                let _ = self.socket.send_to(&out[..transmit.size], from);
            }
            None => {}
        }
    }

    fn work(&mut self, handle: ConnectionHandle) {
        let now = Instant::now();
        let Some(peer) = self.peers.get_mut(&handle) else {
            return;
        };
        if peer.connection.poll_timeout().is_some_and(|at| at <= now) {
            peer.connection.handle_timeout(now);
        }
        let hostility = self.ways.hostility;
        let mut forgets = false;
        while let Some(event) = peer.connection.poll() {
            match event {
                Event::Connected => {
                    let Some(control) = peer.connection.streams().open(Dir::Uni) else {
                        // The client has closed it already.
                        continue;
                    };
                    let mut stream = peer.connection.send_stream(control);
                    stream.write(hostility.control()).expect("room");
                    peer.control = Some(control);
                    hostility.begin(peer, &self.socket, now);
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    while let Some(id) = peer.connection.streams().accept(Dir::Bi) {
                        if hostility == Hostility::AnswersEarly {
                            carry_out(peer, id, (self.act)(self.requests), now);
                            self.requests += 1;
                            continue;
                        }
                        forgets |= answer_whole(peer, id, &mut self.act, &mut self.requests, now);
                    }
                }
                Event::Stream(StreamEvent::Readable { id })
                    if id.dir() == Dir::Bi && hostility != Hostility::AnswersEarly =>
                {
                    forgets |= answer_whole(peer, id, &mut self.act, &mut self.requests, now);
                }
                Event::Stream(StreamEvent::Stopped { id, error_code })
                    if hostility != Hostility::KeepsStopped =>
                {
                    let _ = peer.connection.send_stream(id).reset(error_code);
                }
                _ => {}
            }
        }
        if forgets {
            self.peers.clear();
            self.endpoint = endpoint_of(&self.configs);
            return;
        }
        hostility.go_on(peer, &self.socket);
        self.send(handle, now);
    }

    /// Sends what there is to send, and forgets the connection if it is over.
    fn send(&mut self, handle: ConnectionHandle, now: Instant) {
        let Some(peer) = self.peers.get_mut(&handle) else {
            return;
        };
        write_on(peer);
        let (mut out, mut sent) = (Vec::new(), 0);
        while !peer.is_silent {
            let Some(transmit) = peer.connection.poll_transmit(now, 1, &mut out) else {
                if self.ways.hostility.next_packet(peer, sent) {
                    sent += 1;
                    continue;
                }
                break;
            };
            let _ = self
                .socket
                .send_to(&out[..transmit.size], transmit.destination);
            out.clear();
        }
        for (id, code) in peer.resets.drain(..) {
            let _ = peer.connection.send_stream(id).reset(code);
        }
        if std::mem::take(&mut peer.leaves) {
            let code = VarInt::from_u32(0x100);
            peer.connection.close(now, code, "".into());
            return self.send(handle, now);
        }
        let mut is_over = false;
        while let Some(event) = peer.connection.poll_endpoint_events() {
            is_over |= event.is_drained();
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                peer.connection.handle_event(event);
            }
        }
        if is_over {
            self.peers.remove(&handle);
        }
    }
}

/// Writes what is written bit by bit.
fn write_on(peer: &mut Peer) {
    for (id, rest) in &mut peer.slow {
        let mut stream = peer.connection.send_stream(*id);
        if let Some((byte, behind)) = rest.split_first() {
            let _ = stream.write(std::slice::from_ref(byte));
            *rest = behind;
        } else {
            let _ = stream.finish();
        }
    }
    let connection = &mut peer.connection;
    peer.endless.retain_mut(|endless| endless.go_on(connection));
}

/// Reads a request and acts upon it when it has come whole; `true` if all is to be forgotten.
fn answer_whole(
    peer: &mut Peer,
    id: StreamId,
    act: &mut impl FnMut(u64) -> Act,
    requests: &mut u64,
    now: Instant,
) -> bool {
    if !has_come(&mut peer.connection, id) {
        return false;
    }
    let act = act(*requests);
    *requests += 1;
    let forgets = matches!(act, Act::Forget);
    carry_out(peer, id, act, now);
    forgets
}

/// Reads what came of a request; `true` at its end.
fn has_come(connection: &mut Connection, id: StreamId) -> bool {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else {
        return false;
    };
    loop {
        match chunks.next(usize::MAX) {
            Ok(Some(_)) => {}
            Ok(None) => break true,
            Err(_) => break false,
        }
    }
}

fn carry_out(peer: &mut Peer, id: StreamId, act: Act, now: Instant) {
    let connection = &mut peer.connection;
    match act {
        Act::Answer(bytes) => answer(connection, id, bytes),
        Act::InParts(bytes) => peer.slow.push((id, bytes)),
        Act::Reset(code) => {
            let _ = connection.send_stream(id).reset(VarInt::from_u32(code));
        }
        Act::Part(bytes) => {
            let _ = connection.send_stream(id).write(bytes);
        }
        Act::Endless(head, piece) => {
            peer.endless.push(Endless::new(id, head, piece));
        }
        Act::ResetBehind(bytes, code) => {
            let _ = connection.send_stream(id).write(bytes);
            peer.resets.push((id, VarInt::from_u32(code)));
        }
        Act::Close(code) => connection.close(now, VarInt::from_u32(code), "".into()),
        Act::GoAway(bytes) => {
            go_away(peer, u64::from(VarInt::from(id)) + 4);
            answer(&mut peer.connection, id, bytes);
        }
        Act::Leave => {
            go_away(peer, u64::from(VarInt::from(id)));
            peer.leaves = true;
        }
        Act::UpdateKeys(bytes) => {
            connection.force_key_update();
            answer(connection, id, bytes);
        }
        Act::Nothing | Act::Forget => {}
    }
}

/// Says that no request is taken from stream `next` on.
fn go_away(peer: &mut Peer, next: u64) {
    let frame = [7, 2, 0x40 | (next >> 8) as u8, next as u8];
    if let Some(control) = peer.control {
        let _ = peer.connection.send_stream(control).write(&frame);
    }
}

fn answer(connection: &mut Connection, id: StreamId, bytes: &[u8]) {
    let mut stream = connection.send_stream(id);
    let _ = stream.write(bytes);
    let _ = stream.finish();
}
