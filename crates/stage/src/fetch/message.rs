//! Requests and answers in the types that the clients of HTTP/2 and HTTP/3 share.

use std::io;

use bytes::Bytes;

use super::{ANSWER_BYTES_MAX, Answer, Asked};

/// The head of the request.
pub(super) fn request(asked: &Asked<'_>) -> io::Result<http::Request<()>> {
    let scheme = if asked.secure { "https" } else { "http" };
    let uri = format!("{scheme}://{}{}", asked.authority, asked.path);
    let mut request = http::Request::builder().method(asked.method).uri(uri);
    for (name, value) in asked.headers {
        request = request.header(name, value);
    }
    if let Some(sent) = &asked.body {
        request = request.header("content-length", sent.bytes.len());
    }
    request.body(()).map_err(io::Error::other)
}

/// The body that is sent behind it.
pub(super) fn body(asked: &Asked<'_>) -> Option<Bytes> {
    let sent = asked.body.as_ref();
    sent.map(|sent| Bytes::copy_from_slice(sent.bytes))
}

/// Adds a piece to the answer's body, which has a bound.
pub(super) fn add(body: &mut Vec<u8>, piece: &[u8]) -> io::Result<()> {
    if body.len() + piece.len() > ANSWER_BYTES_MAX {
        return Err(super::endless());
    }
    body.extend_from_slice(piece);
    Ok(())
}

/// The answer of this head and body; what was negotiated is for the caller to fill.
pub(super) fn answer(head: &http::Response<()>, body: Vec<u8>) -> Answer {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers().iter();
    Answer {
        status: head.status().as_u16(),
        headers: headers
            .map(|(name, value)| (name.as_str().to_owned(), text(value)))
            .collect(),
        body,
        ..Answer::default()
    }
}
