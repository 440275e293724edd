//! One request and one answer of HTTP/1.1, as simple as a scripted server may be.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Longest head that is read, bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Longest body that is read, bytes.
const BODY_BYTES_MAX: usize = 16 << 20;
/// The longest wait for an upstream.
const UPSTREAM_WITHIN: Duration = Duration::from_secs(10);

/// What was read of a connection and belongs to the next request.
#[derive(Debug, Default)]
pub(super) struct Inbox(Vec<u8>);

/// What a request asks besides its answer.
#[derive(Debug)]
pub(super) struct Asked {
    /// The client ends the connection after the answer.
    pub(super) closes: bool,
}

impl Inbox {
    /// The next request without a body; `None` where the client is gone.
    pub(super) fn request(&mut self, stream: &mut impl Read) -> io::Result<Option<Asked>> {
        let Some(head) = self.head(stream)? else {
            return Ok(None);
        };
        let closes = head.contains("connection: close");
        Ok(Some(Asked { closes }))
    }

    /// The body of an answer with a `Content-Length`.
    fn answer(&mut self, stream: &mut impl Read) -> io::Result<Vec<u8>> {
        let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let head = self.head(stream)?.ok_or_else(gone)?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0);
        if length > BODY_BYTES_MAX {
            return Err(io::Error::other("the upstream's body is too long"));
        }
        while self.0.len() < length {
            if !self.read(stream)? {
                return Err(gone());
            }
        }
        Ok(self.0.drain(..length).collect())
    }

    /// A head in lower case; `None` where the other side is gone.
    fn head(&mut self, stream: &mut impl Read) -> io::Result<Option<String>> {
        loop {
            let end = self.0.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                let head: Vec<u8> = self.0.drain(..end + 4).collect();
                return Ok(Some(String::from_utf8_lossy(&head).to_ascii_lowercase()));
            }
            if self.0.len() > HEAD_BYTES_MAX {
                return Err(io::Error::other("the head is too long"));
            }
            if !self.read(stream)? {
                return Ok(None);
            }
        }
    }

    fn read(&mut self, stream: &mut impl Read) -> io::Result<bool> {
        let mut buffer = [0; 16 << 10];
        let n = stream.read(&mut buffer)?;
        self.0.extend_from_slice(&buffer[..n]);
        Ok(n > 0)
    }
}

/// A connection to the upstream, kept from one answer to the next.
#[derive(Debug)]
pub(super) struct Upstream {
    address: SocketAddr,
    kept: Option<(TcpStream, Inbox)>,
}

impl Upstream {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            kept: None,
        }
    }

    /// Makes a connection for the next answer.
    pub(super) fn forget(&mut self) {
        self.kept = None;
    }

    /// The body of one answer.
    pub(super) fn ask(&mut self) -> io::Result<Vec<u8>> {
        let (mut stream, mut inbox) = match self.kept.take() {
            Some(kept) => kept,
            None => {
                let stream = TcpStream::connect_timeout(&self.address, UPSTREAM_WITHIN)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(UPSTREAM_WITHIN))?;
                (stream, Inbox::default())
            }
        };
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes())?;
        let body = inbox.answer(&mut stream)?;
        self.kept = Some((stream, inbox));
        Ok(body)
    }
}

/// The bytes of an answer.
pub(super) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// `body` as gzip, not compressed: that costs little.
pub(super) fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(body)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_read_are_taken_one_by_one() {
        let mut bytes =
            &b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nConnection: CLOSE\r\n\r\n"[..];
        let mut inbox = Inbox::default();
        assert!(!inbox.request(&mut bytes).unwrap().unwrap().closes);
        assert!(inbox.request(&mut bytes).unwrap().unwrap().closes);
        assert!(inbox.request(&mut bytes).unwrap().is_none());
    }

    #[test]
    fn an_answer_has_the_length_that_it_announces() {
        let mut bytes = &answer("200 OK", "", b"hello")[..];
        let mut inbox = Inbox::default();
        assert_eq!(inbox.answer(&mut bytes).unwrap(), b"hello");
    }
}
