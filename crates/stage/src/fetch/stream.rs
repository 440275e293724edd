//! A connection to a server on this machine, with or without TLS, that waits only until a given
//! time.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bakeoff_plan::Protocol;
use bakeoff_record::Negotiated;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConnection, ProtocolVersion, StreamOwned};

use super::{Approach, proxy};
use crate::host;

/// The longest that a read waits before somebody may end the exchange.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// A connection.
pub(super) enum Stream {
    Plain(Bounded),
    Tls(Box<StreamOwned<ClientConnection, Bounded>>),
}

/// A socket that fails once the exchange is over.
///
/// TLS and HTTP/2 read in a loop until something is whole. A server that sends a byte now and
/// then keeps them there, so nobody above them looks at the time.
pub(super) struct Bounded {
    socket: TcpStream,
    end: Instant,
}

impl Bounded {
    /// Whether the time is up, or somebody asked to end.
    fn is_over(&self) -> bool {
        Instant::now() >= self.end || host::is_interrupted()
    }

    fn check(&self) -> io::Result<()> {
        if self.is_over() {
            // Not `Interrupted`, after which loops try again: whoever asked knows that it is one.
            let message = "no whole answer in time";
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        Ok(())
    }
}

impl io::Read for Bounded {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.socket.read(bytes)
    }
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// What came in place of TLS, by name.
fn named(cause: io::Error) -> io::Error {
    use rustls::{Error, InvalidMessage};
    let inner = cause
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            let message = "it does not speak TLS here: use http, or --protocol h1";
            io::Error::new(cause.kind(), message)
        }
        _ => cause,
    }
}

impl Stream {
    /// Connects, and in TLS shakes hands; `end` is for both.
    pub(super) fn connect(
        address: SocketAddr,
        protocol: Protocol,
        approach: &Approach,
        server_name: &str,
        end: Instant,
    ) -> io::Result<Self> {
        let left = || {
            let left = end.saturating_duration_since(Instant::now());
            left.max(Duration::from_millis(1))
        };
        let socket = TcpStream::connect_timeout(&address, left())?;
        socket.set_write_timeout(Some(left()))?;
        let mut socket = Bounded { socket, end };
        if let Some(version) = approach.client.proxy_protocol {
            let source = socket.socket.local_addr()?;
            socket.write_all(&proxy::header(version, source, address))?;
        }
        if !protocol.is_secure() {
            return Ok(Self::Plain(socket));
        }
        let wanted: &[u8] = if protocol.is_h2() { b"h2" } else { b"http/1.1" };
        let config = approach.config(wanted)?;
        let name = ServerName::try_from(server_name.to_owned()).map_err(io::Error::other)?;
        let mut connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            if Instant::now() >= end {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "no TLS handshake in time",
                ));
            }
            if host::is_interrupted() {
                return Err(host::interrupted());
            }
            socket.socket.set_read_timeout(Some(left().min(LOOK)))?;
            match connection.complete_io(&mut socket) {
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) if socket.is_over() => {}
                done => drop(done.map_err(named)?),
            }
        }
        if protocol.is_h2() && connection.alpn_protocol() != Some(wanted) {
            return Err(io::Error::other("the server did not agree on h2 (ALPN)"));
        }
        let stream = StreamOwned::new(connection, socket);
        Ok(Self::Tls(Box::new(stream)))
    }

    /// What was agreed on.
    pub(super) fn negotiated(&self, protocol: Protocol) -> Negotiated {
        let mut negotiated = Negotiated {
            protocol: if protocol.is_h2() { "h2" } else { "h1" }.to_owned(),
            ..Negotiated::default()
        };
        if let Self::Tls(stream) = self {
            let connection = &stream.conn;
            let named = |it: &dyn std::fmt::Debug| Some(format!("{it:?}"));
            negotiated.tls_version = connection.protocol_version().map(|version| match version {
                ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
                ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
                other => format!("{other:?}"),
            });
            let suite = connection.negotiated_cipher_suite();
            negotiated.cipher = suite.and_then(|it| named(&it.suite()));
            let group = connection.negotiated_key_exchange_group();
            negotiated.group = group.and_then(|it| named(&it.name()));
            let alpn = connection.alpn_protocol();
            negotiated.alpn = alpn.map(|it| String::from_utf8_lossy(it).into_owned());
        }
        negotiated
    }

    /// The server's own certificate; `None` in the clear.
    pub(super) fn certificate(&self) -> Option<&CertificateDer<'_>> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => stream.conn.peer_certificates()?.first(),
        }
    }

    /// Whether the time is up, or somebody asked to end: then reading and writing fail.
    pub(super) fn is_over(&self) -> bool {
        self.bounded().is_over()
    }

    /// Reads what is there, or waits for it so long; `WouldBlock` says that nothing came.
    pub(super) fn read_within(&mut self, bytes: &mut [u8], wait: Duration) -> io::Result<usize> {
        self.bounded().socket.set_read_timeout(Some(wait))?;
        match self {
            Self::Plain(socket) => socket.read(bytes),
            Self::Tls(stream) => stream.read(bytes),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes),
        }?;
        self.flush()
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }

    fn bounded(&self) -> &Bounded {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        }
    }
}
