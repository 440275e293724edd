//! One connection, in the clear or over TLS, whose waits end with its life.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ProtocolVersion, ServerConfig, ServerConnection};

use super::Protocol;

/// Between two looks at whether a connection is to go on.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What ends a connection's loops.
pub(super) struct Life {
    pub(super) is_over: Arc<AtomicBool>,
    pub(super) until: Instant,
    /// Bytes that may still be sent.
    pub(super) bytes_left: u64,
}

impl Life {
    fn check(&self) -> io::Result<()> {
        let goes_on = !self.is_over.load(Relaxed) && Instant::now() < self.until;
        goes_on.then_some(()).ok_or(io::ErrorKind::TimedOut.into())
    }
}

/// A certificate of the server's own; clients of it verify none.
pub(super) struct Secure(Arc<ServerConfig>);

impl Secure {
    pub(super) fn new(protocol: Protocol) -> Self {
        let key = KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let name: &[u8] = if protocol.is_h2() { b"h2" } else { b"http/1.1" };
        config.alpn_protocols = vec![name.to_vec()];
        config.send_half_rtt_data = true;
        Self(Arc::new(config))
    }
}

pub(super) struct Line {
    socket: TcpStream,
    tls: Option<Box<ServerConnection>>,
    life: Life,
}

impl Line {
    /// A connection just accepted; nothing of TLS has been said on it.
    pub(super) fn new(socket: TcpStream, secure: Option<&Secure>, life: Life) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(LOOK_AGAIN))?;
        socket.set_write_timeout(Some(LOOK_AGAIN))?;
        let tls = secure.map(|Secure(config)| ServerConnection::new(config.clone()));
        let tls = tls.transpose().map_err(io::Error::other)?.map(Box::new);
        Ok(Self { socket, tls, life })
    }

    /// Shakes hands, and says `early` in one piece with the server's own end of the handshake:
    /// the client cannot have sent a request before. In the clear, says it at once.
    pub(super) fn open(&mut self, early: &[u8]) -> io::Result<()> {
        if self.tls.is_none() {
            return self.write(early);
        }
        let mut early = Some(early).filter(|early| !early.is_empty());
        loop {
            self.read_tls()?;
            let Some(tls) = &mut self.tls else {
                return Ok(());
            };
            // TLS 1.3 has the server end its part first.
            let is_ready =
                tls.protocol_version() == Some(ProtocolVersion::TLSv1_3) || !tls.is_handshaking();
            if is_ready && let Some(early) = early.take() {
                tls.writer().write_all(early)?;
            }
            let is_open = !tls.is_handshaking();
            self.write_tls()?;
            if is_open {
                return Ok(());
            }
        }
    }

    /// Sends all of `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.writer().write_all(bytes)?,
            None => return self.write(bytes),
        }
        self.write_tls()
    }

    /// Sends bytes as they are, whatever is spoken.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.life.check()?;
            let written = match self.socket.write(bytes) {
                Err(error) if may_go_on(&error) => continue,
                result => result?,
            };
            bytes = &bytes[written..];
            let left = self.life.bytes_left.checked_sub(written as u64);
            self.life.bytes_left = left.ok_or(io::ErrorKind::QuotaExceeded)?;
        }
        Ok(())
    }

    /// Waits for bytes and reads them; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(tls) = &mut self.tls else {
                return self.read_raw(buffer);
            };
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.read_tls()?,
                result => return result,
            }
        }
    }

    /// Reads and drops everything until the client ends the connection.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while self.read_raw(&mut buffer)? > 0 {}
        Ok(())
    }

    /// Reads and drops, on a thread of its own, what the client sends from now on: nothing else
    /// may read from the connection any more.
    pub(super) fn drain_aside(&self) -> io::Result<()> {
        let mut socket = self.socket.try_clone()?;
        let life = Life {
            is_over: self.life.is_over.clone(),
            ..self.life
        };
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while life.check().is_ok() {
                match socket.read(&mut buffer) {
                    Ok(0) => return,
                    Err(error) if !may_go_on(&error) => return,
                    _ => {}
                }
            }
        });
        Ok(())
    }

    /// Ends this side and waits for the other one, so that nothing is reset.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)?;
        self.drain()
    }

    /// Has the connection reset when it is closed.
    pub(super) fn reset_at_close(&self) -> io::Result<()> {
        let linger = Some(Duration::ZERO);
        rustix::net::sockopt::set_socket_linger(&self.socket, linger).map_err(io::Error::from)
    }

    fn read_raw(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.life.check()?;
            match self.socket.read(buffer) {
                Err(error) if may_go_on(&error) => {}
                result => return result,
            }
        }
    }

    /// Reads once and decrypts.
    fn read_tls(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16_384];
        let length = self.read_raw(&mut buffer)?;
        let mut rest = &buffer[..length];
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !rest.is_empty() {
            tls.read_tls(&mut rest)?;
            tls.process_new_packets().map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Writes in one piece all that TLS has to say.
    fn write_tls(&mut self) -> io::Result<()> {
        let mut made = Vec::new();
        while let Some(tls) = &mut self.tls
            && tls.wants_write()
        {
            tls.write_tls(&mut made)?;
        }
        self.write(&made)
    }
}

/// Whether nothing has gone wrong but that there was nothing to do for a while.
fn may_go_on(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
