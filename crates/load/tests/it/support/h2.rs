//! The server's side of HTTP/2, frame by frame, so that a test can break any rule. It decodes no
//! header blocks and keeps no rule by itself but SETTINGS' acknowledgement.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use bakeoff_load::{LoadSpec, Speaking, h2};
use bakeoff_plan::LoadModel;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const WINDOW_UPDATE: u8 = 8;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// `:status: 200`, by its index in the static table.
pub(crate) const STATUS_200: &[u8] = &[0x88];
/// `:status: 503`, the name by its index.
pub(crate) const STATUS_503: &[u8] = &[0x08, 3, b'5', b'0', b'3'];

pub(crate) const NO_ERROR: u32 = 0;
pub(crate) const REFUSED_STREAM: u32 = 7;
pub(crate) const CANCEL: u32 = 8;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame as it came.
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// One connection, the server's side.
pub(crate) struct Peer<S = TcpStream> {
    stream: S,
}

impl<S: Read + Write> Peer<S> {
    /// Reads the preface and sends SETTINGS with these values.
    pub(crate) fn greet(mut stream: S, settings: &[(u16, u32)]) -> Option<Self> {
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).ok()?;
        assert_eq!(preface, PREFACE);
        let values = settings.iter().flat_map(|(identifier, value)| {
            let value = value.to_be_bytes();
            [&identifier.to_be_bytes()[..], &value].concat()
        });
        let mut peer = Self { stream };
        peer.send(SETTINGS, 0, 0, &values.collect::<Vec<u8>>());
        Some(peer)
    }

    /// The next frame; `None` at the end of the connection.
    pub(crate) fn frame(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).ok()?;
        let number = |at: usize| u32::from_be_bytes([0, head[at], head[at + 1], head[at + 2]]);
        let mut payload = vec![0; number(0) as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some(Frame {
            kind: head[3],
            flags: head[4],
            stream: u32::from(head[5] & 0x7f) << 24 | number(6),
            payload,
        })
    }

    /// The stream of the next whole request; `None` at the end of the connection.
    pub(crate) fn request(&mut self) -> Option<u32> {
        loop {
            if let Some(stream) = self.next()? {
                return Some(stream);
            }
        }
    }

    /// Takes the next frame; returns its stream if a request ends with it.
    fn next(&mut self) -> Option<Option<u32>> {
        let frame = self.frame()?;
        let is_ack = frame.flags & ACK != 0;
        match frame.kind {
            SETTINGS if !is_ack => self.send(SETTINGS, ACK, 0, &[]),
            HEADERS | DATA if frame.flags & END_STREAM != 0 => return Some(Some(frame.stream)),
            _ => {}
        }
        Some(None)
    }

    /// Sends a frame. A client that has gone shows when it is read from.
    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        self.write(&bytes);
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let _ = self
            .stream
            .write_all(bytes)
            .and_then(|()| self.stream.flush());
    }

    /// A whole response with status 200.
    pub(crate) fn answer(&mut self, stream: u32, body: &[u8]) {
        self.send(HEADERS, END_HEADERS, stream, STATUS_200);
        self.send(DATA, END_STREAM, stream, body);
    }

    pub(crate) fn reset(&mut self, stream: u32, code: u32) {
        self.send(RST_STREAM, 0, stream, &code.to_be_bytes());
    }

    /// Answers every request with `hello`, to the end of the connection.
    pub(crate) fn answer_all(&mut self) {
        while let Some(stream) = self.request() {
            self.answer(stream, b"hello");
        }
    }
}

impl Peer {
    /// Waits for more, and leaves it unread.
    pub(crate) fn wait_for_more(&self) {
        let _ = self.stream.peek(&mut [0]);
    }
}

/// A server in the clear that greets each connection and hands it to `serve`.
pub(crate) fn server(serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> SocketAddr {
    server_with(&[], serve)
}

/// The same, with these settings.
pub(crate) fn server_with(
    settings: &[(u16, u32)],
    serve: impl Fn(&mut Peer) + Send + Sync + 'static,
) -> SocketAddr {
    let settings = settings.to_vec();
    super::server(move |stream| {
        stream.set_nodelay(true).expect("a TCP socket");
        if let Some(mut peer) = Peer::greet(stream, &settings) {
            serve(&mut peer);
        }
    })
}

/// Thirty requests by one client of so many streams, over HTTP/2 in the clear.
pub(crate) fn spec(address: SocketAddr, streams: u32) -> LoadSpec {
    let mut spec = super::spec(address);
    spec.speaking = Speaking::H2c;
    spec.load.model = LoadModel::Closed { clients: 1 };
    spec.load.streams = streams;
    spec.exchanges[0].h2 = Some(request("GET", address, &[]));
    spec
}

pub(crate) fn request(method: &str, address: SocketAddr, body: &[u8]) -> h2::Request {
    let host = address.to_string();
    h2::Request::new(method, "http", &host, "/", &[], body.to_vec()).expect("it may be sent")
}
