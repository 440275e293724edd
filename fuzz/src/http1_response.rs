//! A response cut at any bytes: never a panic, and the same however it is cut.

use bakeoff_wire::h1::{Head, HeadMemo, MAX_HEAD_BYTES, ResponseReader, Violation};

/// What reading came to: status and body length, or the rule that was broken.
fn read(input: &[u8], cut: usize, memo: &mut HeadMemo) -> Result<Option<(u16, u64)>, String> {
    let mut reader = ResponseReader::default();
    reader.expect(false);
    let mut body_bytes = 0;
    for part in input.chunks(cut) {
        let progress = reader
            .handle(part, memo, &mut |bytes: &[u8]| {
                body_bytes += bytes.len() as u64
            })
            .map_err(|violation| violation.to_string())?;
        assert!(progress.consumed <= part.len());
        if let Some(response) = progress.response {
            assert_eq!(response.body_bytes, body_bytes);
            return Ok(Some((response.status, body_bytes)));
        }
    }
    Ok(reader
        .handle_end()
        .ok()
        .map(|response| (response.status, response.body_bytes)))
}

/// Asserts that a head is what httparse says it is, but for what it does not look at: framing.
fn assert_heads_agree(input: &[u8]) {
    let mut lines = [httparse::EMPTY_HEADER; 256];
    let mut response = httparse::Response::new(&mut lines);
    let theirs = httparse::ParserConfig::default()
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .parse_response(&mut response, input);
    match (Head::parse(input, true), theirs) {
        (Ok(Some(head)), Ok(httparse::Status::Complete(bytes))) => {
            assert_eq!((head.bytes, Some(head.status)), (bytes, response.code));
        }
        (Ok(None), Ok(httparse::Status::Partial)) => {}
        (Err(Violation::HeadTooLong), Ok(_)) => assert!(input.len() >= MAX_HEAD_BYTES),
        (Err(Violation::BadContentLength), Ok(httparse::Status::Complete(_))) => {}
        (Err(Violation::TooManyHeaders), Err(httparse::Error::TooManyHeaders)) => {}
        (Err(Violation::MalformedHead | Violation::Http2 | Violation::Tls), Err(_)) => {}
        (ours, theirs) => panic!("{ours:?}, and httparse {theirs:?}"),
    }
}

/// Asserts that `input`, at `at` in a response that is known, is read as if it were not known.
fn assert_memo_changes_nothing(at: usize, input: &[u8]) {
    const KNOWN: &[u8] = b"HTTP/1.1 200 OK\r\nServer: x\r\nDate: Sat, 21 Nov 2026 09:14:41 GMT\r\n\
        Content-Length: 2\r\nConnection: keep-alive\r\n\r\nhi";
    let mut patched = KNOWN.to_vec();
    let places = patched.iter_mut().skip(at % KNOWN.len());
    places.zip(input).for_each(|(place, byte)| *place = *byte);
    let mut memo = HeadMemo::default();
    assert_eq!(read(KNOWN, KNOWN.len(), &mut memo), Ok(Some((200, 2))));
    let fresh = read(&patched, patched.len(), &mut HeadMemo::default());
    assert_eq!(read(&patched, patched.len(), &mut memo), fresh);
}

pub(crate) fn check(data: (u8, &[u8])) {
    let (cut, input) = data;
    let mut memo = HeadMemo::default();
    let whole = read(input, input.len().max(1), &mut memo);
    let again = read(input, input.len().max(1), &mut memo);
    assert_eq!(whole, again, "the memo changes nothing");
    let cut_up = read(input, usize::from(cut).max(1), &mut memo);
    // Cut up, a broken head may be found out earlier or later, but a good one stays good.
    if whole.is_ok() && cut_up.is_ok() {
        assert_eq!(whole, cut_up);
    }
    assert_heads_agree(input);
    assert_memo_changes_nothing(cut.into(), input);
}
