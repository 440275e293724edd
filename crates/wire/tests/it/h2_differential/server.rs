//! The server's side: the `h2` crate does what the script says.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tokio::io::DuplexStream;

use crate::h2_differential::script::{Connection, Exchange, Length};

/// What the server found wrong.
pub(crate) type Complaints = Arc<Mutex<Vec<String>>>;

/// Serves one connection to its end.
pub(crate) async fn serve(pipe: DuplexStream, script: Arc<Connection>, complaints: Complaints) {
    let limits = &script.server;
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.streams)
        .initial_window_size(limits.stream_window)
        .header_table_size(limits.header_table_size)
        .max_frame_size(limits.max_frame_size)
        .max_pending_accept_reset_streams(1000)
        .data_frame_budget(1 << 30);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(pipe).await else {
        return;
    };
    let mut accepted = 0;
    while let Some(request) = connection.accept().await {
        let (request, respond) = match request {
            Ok(request) => request,
            Err(error) if error.is_go_away() && error.is_remote() => {
                return complain(&complaints, format!("the client left: {error}"));
            }
            // The client has closed the pipe when it had all it wanted.
            Err(_) => return,
        };
        accepted += 1;
        if limits.goaway_after == Some(accepted) {
            if limits.abruptly {
                connection.abrupt_shutdown(Reason::INTERNAL_ERROR);
            } else {
                connection.graceful_shutdown();
            }
        }
        let answering = answer(request, respond, script.clone(), complaints.clone());
        tokio::task::spawn_local(answering);
    }
}

fn complain(complaints: &Complaints, words: String) {
    complaints.lock().expect("nobody panicked").push(words);
}

/// Checks a request and answers it; an error means that the client has gone or has cancelled.
async fn answer(
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    script: Arc<Connection>,
    complaints: Complaints,
) {
    let number = request.uri().path().trim_start_matches('/').parse();
    let exchange = number
        .ok()
        .and_then(|number: usize| script.exchanges.get(number));
    let Some(exchange) = exchange else {
        return complain(&complaints, format!("asked for {}", request.uri()));
    };
    if let Err(words) = check(&request, exchange) {
        return complain(&complaints, words);
    }
    let mut body = request.into_body();
    if exchange.is_read {
        let mut read = Vec::new();
        while let Some(part) = body.data().await {
            let Ok(part) = part else { return };
            read.extend_from_slice(&part);
            let _ = body.flow_control().release_capacity(part.len());
        }
        if read != exchange.body {
            complain(&complaints, format!("a body of {} bytes", read.len()));
        }
    }
    let _ = send(respond, exchange).await;
}

/// Whether the request's head is the script's.
fn check(request: &Request<RecvStream>, exchange: &Exchange) -> Result<(), String> {
    let mut expected = map(&exchange.headers);
    if matches!(exchange.method, "POST" | "PUT") {
        expected.append("content-length", exchange.body.len().into());
    }
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    if request.method() != exchange.method || authority != Some("a.test") {
        return Err(format!("{} {}", request.method(), request.uri()));
    }
    if *request.headers() != expected {
        return Err(format!("{:?}, not {expected:?}", request.headers()));
    }
    Ok(())
}

fn map(headers: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().expect("a name");
        map.append(
            name,
            HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
        );
    }
    map
}

async fn send(mut respond: SendResponse<Bytes>, exchange: &Exchange) -> Result<(), h2::Error> {
    for _ in 0..exchange.interim {
        let interim = Response::builder().status(103).body(());
        respond.send_informational(interim.expect("an interim response"))?;
        tokio::task::yield_now().await;
    }
    if let Some(reset) = exchange.reset.filter(|reset| reset.before_head) {
        respond.send_reset(Reason::from(reset.code));
        return Ok(());
    }
    let mut response = Response::new(());
    *response.status_mut() = exchange.status.try_into().expect("a status");
    *response.headers_mut() = map(&exchange.answer_headers);
    let length = exchange.answer().len() + usize::from(exchange.content_length == Length::Wrong);
    if exchange.content_length != Length::Absent {
        response
            .headers_mut()
            .append("content-length", length.into());
    }
    let ends = !exchange.has_trailers && exchange.reset.is_none();
    let at_once = ends && exchange.parts.is_empty();
    let mut stream = respond.send_response(response, at_once)?;
    for (number, part) in (1..).zip(&exchange.parts) {
        let last = ends && number == exchange.parts.len();
        stream.send_data(Bytes::from(part.clone()), last)?;
        tokio::task::yield_now().await;
    }
    if let Some(reset) = exchange.reset {
        stream.send_reset(Reason::from(reset.code));
    } else if exchange.has_trailers {
        stream.send_trailers(map(&[("x-trailer".to_owned(), "1".to_owned())]))?;
    }
    Ok(())
}
