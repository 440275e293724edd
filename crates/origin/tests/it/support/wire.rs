//! A connection for the crate `h2`: a socket in the clear or under TLS, polled by tokio.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{Server, tls};

pub(crate) struct Wire {
    tcp: TcpStream,
    tls: Option<ClientConnection>,
}

impl Wire {
    pub(crate) async fn open(server: &Server, secure: bool) -> Self {
        let tls = secure.then(|| {
            let config = tls::config(rustls::ALL_VERSIONS, b"h2");
            let name = ServerName::try_from("localhost").unwrap();
            ClientConnection::new(Arc::new(config), name).unwrap()
        });
        let tcp = TcpStream::connect(server.address).await.unwrap();
        Self { tcp, tls }
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(tls) = &mut self.tls else {
            return Poll::Ready(Ok(()));
        };
        while tls.wants_write() {
            ready!(self.tcp.poll_write_ready(context))?;
            match tls.write_tls(&mut Socket(&self.tcp)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => drop(other?),
            }
        }
        Poll::Ready(Ok(()))
    }
}

struct Socket<'a>(&'a TcpStream);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.tls.is_none() {
            return Pin::new(&mut this.tcp).poll_read(context, buffer);
        }
        loop {
            let _ = this.poll_send(context)?;
            let Some(tls) = &mut this.tls else {
                return Poll::Ready(Ok(()));
            };
            match tls.reader().read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
            ready!(this.tcp.poll_read_ready(context))?;
            match tls.read_tls(&mut Socket(&this.tcp)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                other => drop(other?),
            }
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.tls.is_none() {
            return Pin::new(&mut this.tcp).poll_write(context, bytes);
        }
        ready!(this.poll_send(context))?;
        let Some(tls) = &mut this.tls else {
            return Poll::Ready(Ok(0));
        };
        let written = tls.writer().write(bytes);
        let _ = this.poll_send(context)?;
        Poll::Ready(written)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_send(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().tcp).poll_shutdown(context)
    }
}
