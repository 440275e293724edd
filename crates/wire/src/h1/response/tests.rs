use super::*;
use crate::h1::MAX_HEAD_BYTES;

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
                .handle(part, &mut memo, &mut |bytes: &[u8]| {
                    read.extend_from_slice(bytes)
                })
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
        .handle(input, &mut HeadMemo::default(), &mut |_: &[u8]| {})
        .unwrap();
    assert_eq!(progress.consumed, input.len() - 2);
    let more = reader.handle(b"XX", &mut HeadMemo::default(), &mut |_: &[u8]| {});
    assert_eq!(more, Err(Violation::Unsolicited));
}

#[test]
fn an_early_end_is_distinguished_from_a_cut_response() {
    let mut reader = ResponseReader::default();
    let mut memo = HeadMemo::default();
    reader.expect(false);
    assert_eq!(reader.handle_end(), Err(EarlyEnd::BeforeFirstByte));
    for cut in ["H", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"] {
        reader = ResponseReader::default();
        reader.expect(false);
        reader
            .handle(cut.as_bytes(), &mut memo, &mut |_: &[u8]| {})
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
        .handle(input, &mut HeadMemo::default(), &mut |_: &[u8]| {})
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
    let progress = reader.handle(head, &mut memo, &mut |_: &[u8]| {}).unwrap();
    assert_eq!(
        progress.response.map(|response| response.body_bytes),
        Some(0)
    );
    // What was learned from it must not be applied to a GET.
    reader.expect(false);
    let progress = reader.handle(head, &mut memo, &mut |_: &[u8]| {}).unwrap();
    assert_eq!(progress.response, None);
}

/// Feeds `first` and then `more` on and on; returns the violation, and the bytes until then.
fn feed(first: &str, more: &str, most: usize) -> (Result<(), Violation>, usize) {
    let (mut reader, mut memo) = (ResponseReader::default(), HeadMemo::default());
    reader.expect(false);
    let mut fed = 0;
    let mut handle = |part: &str| {
        fed += part.len();
        let progress = reader.handle(part.as_bytes(), &mut memo, &mut |_: &[u8]| {})?;
        assert_eq!((progress.consumed, progress.response), (part.len(), None));
        assert!(reader.partial.capacity() <= 2 * MAX_HEAD_BYTES);
        Ok(reader.partial.capacity())
    };
    let mut result = handle(first);
    for _ in 0..most {
        if result.is_err() {
            break;
        }
        result = handle(more);
    }
    (result.map(|_| ()), fed)
}

#[test]
fn an_endless_head_is_given_up() {
    for (first, more, violation) in [
        ("HTTP/1.1 200 OK\r\n", "a: b\r\n", Violation::TooManyHeaders),
        ("HTTP/1.1 200 OK\r\nA: ", "a", Violation::HeadTooLong),
        ("HTTP/1.1 200 ", "a", Violation::HeadTooLong),
        ("\r\n", "\r\n", Violation::HeadTooLong),
        ("HTTP/1.1 200 OK\r\nA:", " b\r\n", Violation::HeadTooLong),
    ] {
        let (result, fed) = feed(first, more, MAX_HEAD_BYTES);
        assert_eq!(result, Err(violation), "{first:?} {more:?}");
        assert!(fed < MAX_HEAD_BYTES + 6, "{fed} of {first:?} {more:?}");
    }
}

#[test]
fn endless_interim_responses_leave_nothing_behind() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let (result, _) = feed(interim, interim, 10_000);
    assert_eq!(result, Ok(()));
}

#[test]
fn chunks_may_be_endless_but_not_what_is_between_them() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (begin, more, bounded) in [
        ("", "1\r\na\r\n", false),
        ("", "1;name=value\r\na\r\n", false),
        ("1;", "a", true),
        ("1 ", " ", true),
        ("", "0", true),
        ("0\r\n", "a: b\r\n", true),
        ("0\r\nA: ", "a", true),
    ] {
        let (result, fed) = feed(&format!("{head}{begin}"), more, 20_000);
        let expected = if bounded {
            Err(Violation::BadChunk)
        } else {
            Ok(())
        };
        assert_eq!(result, expected, "{begin:?} {more:?} after {fed}");
        // The ends of lines do not count.
        assert!(!bounded || fed < 25_000, "{begin:?} {more:?} after {fed}");
    }
}
