//! One HTTP/2 exchange, by the crate `h2` on a blocking socket.
//!
//! `h2` speaks to whatever reads and writes as tokio's traits say; no runtime is started. Its
//! futures are polled in turn here, and a poll that finds nothing to read waits in the socket for
//! a moment instead of registering a waker.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stream::Stream;
use super::{Answer, Asked, message};
use crate::host;

/// How long one look at the socket waits.
const LOOK: Duration = Duration::from_millis(5);

/// Asks so many `times` in turn on a fresh connection, until `end` at the latest, and gives the
/// last answer.
pub(super) fn ask(
    stream: Stream,
    asked: &Asked<'_>,
    times: u32,
    end: Instant,
) -> io::Result<Answer> {
    let request = message::request(asked)?;
    let body = message::body(asked);
    let mut exchange = pin!(async move {
        let handshake = h2::client::handshake(Socket(stream)).await;
        let (sender, connection) = handshake.map_err(io::Error::other)?;
        let mut connection = pin!(connection);
        let mut answer = pin!(last_answer(sender, request, body, times));
        poll_fn(|context| {
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            let Poll::Ready(closed) = connection.as_mut().poll(context) else {
                return Poll::Pending;
            };
            // What came before the end may be the whole answer.
            match (answer.as_mut().poll(context), closed) {
                (Poll::Ready(answer), _) => Poll::Ready(answer),
                (Poll::Pending, Err(error)) => Poll::Ready(Err(io::Error::other(error))),
                (Poll::Pending, Ok(())) => {
                    let closed = h2::Error::from(h2::Reason::NO_ERROR);
                    Poll::Ready(Err(io::Error::other(closed)))
                }
            }
        })
        .await
    });
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match exchange.as_mut().poll(&mut context) {
            Poll::Ready(Ok(answer)) => return Ok(answer),
            // The socket fails from then on.
            _ if Instant::now() >= end => return Err(super::too_late(0)),
            _ if host::is_interrupted() => return Err(host::interrupted()),
            Poll::Ready(Err(cause)) => return Err(cause),
            Poll::Pending => {}
        }
    }
}

async fn last_answer(
    mut sender: SendRequest<Bytes>,
    request: http::Request<()>,
    body: Option<Bytes>,
    times: u32,
) -> io::Result<Answer> {
    for _ in 1..times {
        answer(&mut sender, request.clone(), body.clone()).await?;
    }
    answer(&mut sender, request, body).await
}

async fn answer(
    sender: &mut SendRequest<Bytes>,
    request: http::Request<()>,
    body: Option<Bytes>,
) -> io::Result<Answer> {
    let (head, mut stream) = response(sender, request, body)
        .await
        .map_err(io::Error::other)?
        .into_parts();
    let head = http::Response::from_parts(head, ());
    let mut body = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece.map_err(io::Error::other)?;
        message::add(&mut body, &piece)?;
        let flow = stream.flow_control();
        flow.release_capacity(piece.len())
            .map_err(io::Error::other)?;
    }
    Ok(message::answer(&head, body))
}

/// The head of the answer, with the stream of its body.
async fn response(
    sender: &mut SendRequest<Bytes>,
    request: http::Request<()>,
    body: Option<Bytes>,
) -> Result<http::Response<h2::RecvStream>, h2::Error> {
    poll_fn(|context| sender.poll_ready(context)).await?;
    let (response, mut sending) = sender.send_request(request, body.is_none())?;
    if let Some(body) = body {
        sending.send_data(body, true)?;
    }
    response.await
}

/// A blocking connection behind tokio's traits.
struct Socket(Stream);

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let unfilled = buffer.initialize_unfilled();
        let read = self.0.read_within(unfilled, LOOK);
        ready(read).map_ok(|length| buffer.advance(length))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready(self.0.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready(self.0.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Nothing came: look again later.
fn ready<T>(done: io::Result<T>) -> Poll<io::Result<T>> {
    use io::ErrorKind::{Interrupted, WouldBlock};
    match done {
        Err(cause) if matches!(cause.kind(), WouldBlock | Interrupted) => Poll::Pending,
        done => Poll::Ready(done),
    }
}
