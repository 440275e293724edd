//! Heads that httparse takes are taken, and others refused, however they are cut: what is looked
//! for in a head that comes in pieces must agree with the parser on where a head ends.

use bakeoff_wire::h1::{Head, HeadMemo, Violation};

use crate::h1_support::read;

/// What httparse makes of `input`: the length of the head, `None` before its end, or an error.
fn by_httparse(input: &[u8]) -> Result<Option<usize>, httparse::Error> {
    let mut lines = [httparse::EMPTY_HEADER; 256];
    let mut response = httparse::Response::new(&mut lines);
    let mut config = httparse::ParserConfig::default();
    config
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true);
    let status = config.parse_response(&mut response, input)?;
    Ok(match status {
        httparse::Status::Complete(bytes) => Some(bytes),
        httparse::Status::Partial => None,
    })
}

/// `head` is taken by both as a whole head, or refused by both.
#[track_caller]
fn check(head: &[u8], is_taken: bool) {
    let text = String::from_utf8_lossy(head);
    let theirs = by_httparse(head);
    let ours = Head::parse(head, false).map(|head| head.map(|head| head.bytes));
    if is_taken {
        assert_eq!(theirs, Ok(Some(head.len())), "{text:?}");
        assert_eq!(ours, Ok(Some(head.len())), "{text:?}");
    } else {
        assert!(theirs.is_err(), "{text:?}: {theirs:?}");
        assert_eq!(ours, Err(Violation::MalformedHead), "{text:?}");
    }
    // What follows a head to HEAD is beyond it: so its end shows.
    let followed = [head, b"\r\n\r\n"].concat();
    for piece in [followed.len(), 1, 2, 3, 7] {
        let got = read(&followed, piece, true, &mut HeadMemo::default());
        let left = got.map(|read| read.map(|read| read.left));
        let expected = if is_taken {
            Ok(Some(4))
        } else {
            Err(Violation::MalformedHead)
        };
        assert_eq!(left, expected, "{text:?} in pieces of {piece}");
    }
    // No part of a head is a head.
    if is_taken {
        for length in 0..head.len() {
            assert_eq!(Head::parse(&head[..length], false), Ok(None), "{text:?}");
        }
    }
}

#[test]
fn good_heads_are_taken() {
    for head in [
        b"HTTP/1.1 200 OK\r\n\r\n".as_slice(),
        b"HTTP/1.0 403 Forbidden\nServer: onions\n\n",
        b"HTTP/1.1 200\r\n\r\n",
        b"HTTP/1.1 200 \r\n\r\n",
        b"HTTP/1.1 200\r\nX-A: b\r\n\r\n",
        b"HTTP/1.1 200\nX-A: b\r\n\n",
        b"HTTP/1.1 101 With\tTab and  spaces\r\n\r\n",
        b"HTTP/1.1 200 X\xffZ\r\n\r\n",
        b"HTTP/1.1 999 Beyond\r\n\r\n",
        b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"\n\n\nHTTP/1.1 200 OK\n\n",
        b"HTTP/1.1 200 OK\r\nEmpty:\r\nBlank:  \t \r\nLast: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nSpace : before the colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nFolded:\r\n at once\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nFolded: a\r\n\tb\r\n  c\r\nNext: d\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nFolded: a\r\n \r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBytes: \x80\xfe\xff\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n!#$%&'*+-.^_`|~09aZ: every kind of token\r\n\r\n",
    ] {
        check(head, true);
    }
}

#[test]
fn bad_heads_are_refused() {
    for head in [
        b"HTTP/1.1200 OK\r\n\r\n".as_slice(),
        b"HTTP/1.1 200Fine\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.2 200 OK\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b" HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1  200 OK\r\n\r\n",
        b"HTTP/1.1 200 a\0b\r\n\r\n",
        b"HTTP/1.1 200 a\rb\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n Folded from nothing: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n\r \n",
        b"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nSpace in name: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBr(ckets): x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: \x01\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\x7f\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ] {
        check(head, false);
    }
    // Other protocols are named.
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    let alert = b"\x15\x03\x01\x00\x02\x02\x46";
    for record in [&hello[..], alert] {
        assert_eq!(Head::parse(record, false), Err(Violation::Tls));
    }
    let settings = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x80";
    assert_eq!(Head::parse(settings, false), Err(Violation::Http2));
}

#[test]
fn any_byte_anywhere_is_judged_alike() {
    const HEAD: &[u8] = b"\r\nHTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n";
    for at in 0..HEAD.len() {
        for byte in 0..=255 {
            let mut head = HEAD.to_vec();
            head[at] = byte;
            let theirs = by_httparse(&head).map_err(|_| Violation::MalformedHead);
            let ours = Head::parse(&head, false);
            let whole = ours.map(|head| head.map(|head| head.bytes));
            assert_eq!(whole, theirs, "{head:?}");
            if ours.is_ok_and(|head| head.is_some_and(|head| head.status < 200)) {
                continue; // Another head follows an interim one.
            }
            // Cut up, an end is never missed and never seen where there is none.
            let cut = read(&head, 1, true, &mut HeadMemo::default());
            if let Ok(bytes) = theirs {
                let ends = cut.map(|read| read.map(|read| head.len() - read.left));
                assert_eq!(ends, Ok(bytes), "{head:?}");
            }
        }
    }
}

#[test]
fn a_head_like_the_last_one_is_judged_as_if_it_were_the_first() {
    const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 09:14:41 GMT\r\n\
        Content-Length: 2\r\n\r\nhi";
    // Some of these make a line of their own in the place of the date.
    let others = [
        "\n",
        "\r\n",
        "\nConnection: close\nA:",
        "\r\nConnection: close\r\nA:",
        "\r\n\r\nHTTP/",
        "2025",
    ];
    let single = (0..=255).map(|byte| vec![byte]);
    for patch in single.chain(others.map(|text| text.as_bytes().to_vec())) {
        for at in 0..=LAST.len() - patch.len() {
            let mut input = LAST.to_vec();
            input[at..at + patch.len()].copy_from_slice(&patch);
            let mut memo = HeadMemo::default();
            let known = read(LAST, LAST.len(), false, &mut memo);
            assert!(known.is_ok_and(|read| read.is_some_and(|read| read.body == "hi")));
            let fresh = read(&input, input.len(), false, &mut HeadMemo::default());
            let recalled = read(&input, input.len(), false, &mut memo);
            assert_eq!(recalled, fresh, "{:?}", String::from_utf8_lossy(&input));
        }
    }
}
