//! A server of HTTP/3 on a thread, whose answers a test decides request by request.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId, VarInt,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What is done when a request has come whole.
pub(crate) enum Act {
    /// Its stream gets these bytes and ends.
    Answer(&'static [u8]),
    /// The same, each byte in a datagram of its own.
    InParts(&'static [u8]),
    /// Its stream is reset with this code.
    Reset(u32),
    /// The connection is closed with this code.
    Close(u32),
    /// GOAWAY refuses all streams behind it, and then it is answered.
    GoAway(&'static [u8]),
    /// Nothing, ever.
    Nothing,
}

/// A connection and what its server needs to remember.
struct Peer {
    connection: Connection,
    control: Option<StreamId>,
    /// Bytes that go out one by one.
    slow: Vec<(StreamId, &'static [u8])>,
}

/// Serves by `act`, which takes the number of the request, under the protocol name `alpn`.
/// Returns the port.
pub(crate) fn serve(alpn: &'static [u8], act: impl FnMut(u64) -> Act + Send + 'static) -> u16 {
    start(alpn, u64::MAX, act)
}

fn start(alpn: &'static [u8], loses: u64, act: impl FnMut(u64) -> Act + Send + 'static) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let port = socket.local_addr().expect("bound").port();
    let step = Duration::from_millis(1);
    socket.set_read_timeout(Some(step)).expect("a timeout");
    let config = EndpointConfig::default();
    let endpoint = Endpoint::new(
        Arc::new(config),
        Some(Arc::new(config_of(alpn))),
        false,
        None,
    );
    let server = Server {
        socket,
        endpoint,
        peers: HashMap::new(),
        act,
        requests: 0,
        loses,
        received: 0,
    };
    std::thread::spawn(move || server.run());
    port
}

/// [`serve`]s, and loses each fifth datagram that it receives.
pub(crate) fn serve_badly(act: impl FnMut(u64) -> Act + Send + 'static) -> u16 {
    start(b"h3", 5, act)
}

/// A certificate that did not sign the server's.
pub(crate) fn other_authority() -> PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let name = format!("bakeoff-h3-{}.pem", std::process::id());
        let path = std::env::temp_dir().join(name);
        let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a key");
        std::fs::write(&path, key.cert.pem()).expect("written");
        path
    };
    FILE.get_or_init(make).clone()
}

fn config_of(alpn: &[u8]) -> ServerConfig {
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
    tls.alpn_protocols = vec![alpn.to_vec()];
    let quic = QuicServerConfig::try_from(tls).expect("a suite for QUIC");
    ServerConfig::with_crypto(Arc::new(quic))
}

struct Server<A> {
    socket: UdpSocket,
    endpoint: Endpoint,
    peers: HashMap<ConnectionHandle, Peer>,
    act: A,
    requests: u64,
    /// One of so many datagrams is lost.
    loses: u64,
    received: u64,
}

impl<A: FnMut(u64) -> Act> Server<A> {
    fn run(mut self) {
        let mut buffer = vec![0; 65536];
        loop {
            if let Ok((length, from)) = self.socket.recv_from(&mut buffer) {
                self.received += 1;
                if self.received.is_multiple_of(self.loses) {
                    continue;
                }
                self.receive(&buffer[..length], from);
            }
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
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut out, None) {
                    Ok((handle, connection)) => {
                        let peer = Peer {
                            connection,
                            control: None,
                            slow: Vec::new(),
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
        while let Some(event) = peer.connection.poll() {
            match event {
                Event::Connected => {
                    let control = peer.connection.streams().open(Dir::Uni).expect("a stream");
                    let mut stream = peer.connection.send_stream(control);
                    stream.write(b"\0\x04\0").expect("room");
                    peer.control = Some(control);
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    while let Some(id) = peer.connection.streams().accept(Dir::Bi) {
                        answer_whole(peer, id, &mut self.act, &mut self.requests, now);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) if id.dir() == Dir::Bi => {
                    answer_whole(peer, id, &mut self.act, &mut self.requests, now);
                }
                _ => {}
            }
        }
        for (id, rest) in &mut peer.slow {
            let mut stream = peer.connection.send_stream(*id);
            if let Some((byte, behind)) = rest.split_first() {
                let _ = stream.write(std::slice::from_ref(byte));
                *rest = behind;
            } else {
                let _ = stream.finish();
            }
        }
        let mut out = Vec::new();
        while let Some(transmit) = peer.connection.poll_transmit(now, 1, &mut out) {
            let _ = self
                .socket
                .send_to(&out[..transmit.size], transmit.destination);
            out.clear();
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

/// Reads a request and acts upon it when it has come whole.
fn answer_whole(
    peer: &mut Peer,
    id: StreamId,
    act: &mut impl FnMut(u64) -> Act,
    requests: &mut u64,
    now: Instant,
) {
    if has_come(&mut peer.connection, id) {
        let act = act(*requests);
        *requests += 1;
        carry_out(peer, id, act, now);
    }
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
        Act::Close(code) => connection.close(now, VarInt::from_u32(code), "".into()),
        Act::GoAway(bytes) => {
            let next = u64::from(VarInt::from(id)) + 4;
            let frame = [7, 2, 0x40 | (next >> 8) as u8, next as u8];
            if let Some(control) = peer.control {
                let _ = connection.send_stream(control).write(&frame);
            }
            answer(connection, id, bytes);
        }
        Act::Nothing => {}
    }
}

fn answer(connection: &mut Connection, id: StreamId, bytes: &[u8]) {
    let mut stream = connection.send_stream(id);
    let _ = stream.write(bytes);
    let _ = stream.finish();
}
