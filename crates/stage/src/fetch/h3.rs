//! One HTTP/3 exchange, by the crates `quinn` and `h3`.
//!
//! Both want a runtime: tokio's, on this thread alone and for this exchange alone. Nothing else of
//! the project runs on one.

use std::future::{Future as _, poll_fn};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bakeoff_record::{CertificateFacts, Negotiated};
use bytes::{Buf as _, Bytes};
use quinn::crypto::rustls::{HandshakeData, QuicClientConfig};
use quinn::{Connection, Endpoint, VarInt};
use rustls::pki_types::CertificateDer;

use super::message::{add, answer, body, request};
use super::stream::LOOK;
use super::{Answer, Approach, Asked, certificate};
use crate::host;

type Sender = ::h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

/// `H3_NO_ERROR` (RFC 9114, section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// Asks so many `times` in turn on a fresh connection, until `end` at the latest, and gives the
/// last answer and the key of the server's certificate.
pub(super) fn ask(
    address: SocketAddr,
    asked: &Asked<'_>,
    approach: &Approach,
    times: u32,
    end: Instant,
) -> io::Result<(Answer, Option<CertificateFacts>)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let exchange = exchange(address, asked, approach, times);
        let mut exchange = pin!(tokio::time::timeout_at(end.into(), exchange));
        let mut interruption = pin!(interruption());
        poll_fn(|context| {
            if let Poll::Ready(ended) = exchange.as_mut().poll(context) {
                return Poll::Ready(ended.unwrap_or_else(|_| Err(super::too_late(0))));
            }
            let cut_short = interruption.as_mut().poll(context);
            cut_short.map(|()| Err(host::interrupted()))
        })
        .await
    })
}

/// Ends when somebody has asked to end.
async fn interruption() {
    while !host::is_interrupted() {
        tokio::time::sleep(LOOK).await;
    }
}

async fn exchange(
    address: SocketAddr,
    asked: &Asked<'_>,
    approach: &Approach,
    times: u32,
) -> io::Result<(Answer, Option<CertificateFacts>)> {
    let config = QuicClientConfig::try_from(approach.config(b"h3")?).map_err(io::Error::other)?;
    let config = quinn::ClientConfig::new(Arc::new(config));
    let any_port = match address {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let endpoint = Endpoint::client(any_port)?;
    let connecting = endpoint
        .connect_with(config, address, asked.server_name)
        .map_err(io::Error::other)?;
    let connection = connecting.await?;
    let answer = last_answer(&connection, asked, times).await?;
    let facts = certificate_of(&connection);
    // Without a close, the server would keep the connection until its idle timeout.
    connection.close(NO_ERROR, b"");
    endpoint.wait_idle().await;
    Ok((answer, facts))
}

async fn last_answer(connection: &Connection, asked: &Asked<'_>, times: u32) -> io::Result<Answer> {
    let over = h3_quinn::Connection::new(connection.clone());
    // nginx 1.28 takes a frame of an unknown type after the request for a body that was cut.
    let mut builder = ::h3::client::builder();
    let client = builder.send_grease(false).build::<_, _, Bytes>(over);
    let (mut driver, mut sender) = client.await.map_err(io::Error::other)?;
    tokio::spawn(async move { driver.wait_idle().await });
    for _ in 1..times {
        one_answer(&mut sender, asked).await?;
    }
    let answer = one_answer(&mut sender, asked).await?;
    Ok(Answer {
        negotiated: negotiated(connection),
        ..answer
    })
}

async fn one_answer(sender: &mut Sender, asked: &Asked<'_>) -> io::Result<Answer> {
    let asking = sender.send_request(request(asked)?);
    let mut stream = asking.await.map_err(io::Error::other)?;
    if let Some(body) = body(asked) {
        stream.send_data(body).await.map_err(io::Error::other)?;
    }
    stream.finish().await.map_err(io::Error::other)?;
    let head = stream.recv_response().await.map_err(io::Error::other)?;
    let mut body = Vec::new();
    while let Some(mut piece) = stream.recv_data().await.map_err(io::Error::other)? {
        add(&mut body, &piece.copy_to_bytes(piece.remaining()))?;
    }
    Ok(answer(&head, body))
}

fn certificate_of(connection: &Connection) -> Option<CertificateFacts> {
    let chain = connection.peer_identity()?;
    let chain = chain.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    certificate::facts(chain.first()?)
}

/// What was agreed on. QUIC has no TLS but 1.3; quinn does not report cipher and group.
fn negotiated(connection: &Connection) -> Negotiated {
    let data = connection
        .handshake_data()
        .and_then(|data| data.downcast::<HandshakeData>().ok());
    let alpn = data.and_then(|data| data.protocol);
    Negotiated {
        protocol: "h3".to_owned(),
        tls_version: Some("TLSv1.3".to_owned()),
        alpn: alpn.map(|name| String::from_utf8_lossy(&name).into_owned()),
        ..Negotiated::default()
    }
}
