//! Reads one response from bytes, cut anywhere.

use bakeoff_wire::h1::{HeadMemo, ResponseReader, Violation};

/// What reading came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Whether the connection can carry another request.
    pub(crate) keep_alive: bool,
    /// Bytes beyond the response.
    pub(crate) left: usize,
}

/// Reads the response in `input`, which comes in pieces of `piece` bytes and then ends; `None` if
/// it ends too early.
pub(crate) fn read(
    input: &[u8],
    piece: usize,
    to_head_request: bool,
    memo: &mut HeadMemo,
) -> Result<Option<Read>, Violation> {
    let mut reader = ResponseReader::default();
    reader.expect(to_head_request);
    let (mut body, mut consumed, mut response) = (Vec::new(), 0, None);
    for part in input.chunks(piece.max(1)) {
        let progress = reader.handle(part, memo, &mut |bytes: &[u8]| {
            body.extend_from_slice(bytes)
        })?;
        consumed += progress.consumed;
        response = progress.response;
        if response.is_some() {
            break;
        }
    }
    let response = response.or_else(|| reader.handle_end().ok());
    Ok(response.map(|response| Read {
        status: response.status,
        body: String::from_utf8_lossy(&body).into_owned(),
        keep_alive: response.keep_alive,
        left: input.len() - consumed,
    }))
}
