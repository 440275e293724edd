use super::*;

/// Feeds `input` in pieces of every size; the response, the body and the bytes left over must be
/// the same each time.
fn check(input: &str, status: u16, body: &str, left_over: usize) {
    let mut memo = HeadMemo::default();
    for piece in 1..=input.len() {
        let mut reader = ResponseReader::default();
        reader.expect(false);
        let (mut read, mut consumed, mut response) = (Vec::new(), 0, None);
        for part in input.as_bytes().chunks(piece) {
            let progress = reader
                .handle(part, &mut memo, &mut |bytes| read.extend_from_slice(bytes))
                .unwrap_or_else(|violation| panic!("{input:?} by {piece}: {violation}"));
            consumed += progress.consumed;
            response = progress.response;
            if response.is_some() {
                break;
            }
        }
        let response = response
            .or_else(|| reader.handle_end().ok())
            .expect("whole");
        assert_eq!(response.status, status, "{input:?} in pieces of {piece}");
        assert_eq!(String::from_utf8(read).unwrap(), body);
        assert_eq!(response.body_bytes, body.len() as u64);
        assert_eq!(input.len() - consumed, left_over);
        assert!(!reader.is_expecting());
        assert_eq!(
            reader.partial.capacity(),
            0,
            "an idle connection owns no memory"
        );
    }
}

#[test]
fn responses_are_read_whatever_the_pieces() {
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        200,
        "hello",
        0,
    );
    check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", 0);
    check("HTTP/1.1 204 No Content\r\n\r\n", 204, "", 0);
    check(
        "HTTP/1.1 200 OK\r\n\r\nuntil the end",
        200,
        "until the end",
        0,
    );
    check(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: 1\r\n\r\n",
        200,
        "abc",
        0,
    );
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        200,
        "ok",
        0,
    );
}

#[test]
fn bytes_beyond_the_response_are_left() {
    let mut reader = ResponseReader::default();
    reader.expect(false);
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokXX";
    let progress = reader
        .handle(input, &mut HeadMemo::default(), &mut |_| {})
        .unwrap();
    assert_eq!(progress.consumed, input.len() - 2);
    let more = reader.handle(b"XX", &mut HeadMemo::default(), &mut |_| {});
    assert_eq!(more, Err(Violation::Unsolicited));
}

#[test]
fn an_early_end_is_told_from_a_cut_response() {
    let mut reader = ResponseReader::default();
    let mut memo = HeadMemo::default();
    reader.expect(false);
    assert_eq!(reader.handle_end(), Err(EarlyEnd::BeforeFirstByte));
    for cut in ["H", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"] {
        reader.reset();
        reader.expect(false);
        reader
            .handle(cut.as_bytes(), &mut memo, &mut |_| {})
            .unwrap();
        assert_eq!(reader.handle_end(), Err(EarlyEnd::InsideResponse));
    }
}

#[test]
fn a_body_can_be_dropped_unread() {
    let mut reader = ResponseReader::default();
    reader.expect(false);
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
    reader
        .handle(input, &mut HeadMemo::default(), &mut |_| {})
        .unwrap();
    assert_eq!(reader.droppable(), 6);
    assert_eq!(reader.handle_dropped(5), None);
    let response = reader.handle_dropped(1).expect("whole");
    assert_eq!((response.body_bytes, response.keep_alive), (9, true));
    assert_eq!(reader.droppable(), 0);
}

#[test]
fn the_answer_to_head_has_no_body() {
    let mut reader = ResponseReader::default();
    let mut memo = HeadMemo::default();
    reader.expect(true);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    let progress = reader.handle(head, &mut memo, &mut |_| {}).unwrap();
    assert_eq!(
        progress.response.map(|response| response.body_bytes),
        Some(0)
    );
    // What was learned from it must not be applied to a GET.
    reader.expect(false);
    let progress = reader.handle(head, &mut memo, &mut |_| {}).unwrap();
    assert_eq!(progress.response, None);
}
