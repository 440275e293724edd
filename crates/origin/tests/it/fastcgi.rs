//! The origin as a web server sees it that asks a FastCGI application.

use std::io::{Read as _, Write as _};

use crate::support::{GET, Server, options, read_answer};

/// A request as a web server sends it: its beginning with these flags, parameters, and no body.
fn request(flags: u8) -> Vec<u8> {
    let record = |kind: u8, content: &[u8]| {
        let length = u8::try_from(content.len()).unwrap();
        [&[1, kind, 0, 1, 0, length, 0, 0], content].concat()
    };
    [
        record(1, &[0, 1, flags, 0, 0, 0, 0, 0]),
        record(4, b"\x0b\x01REQUEST_URI/"),
        record(4, b""),
        record(5, b""),
    ]
    .concat()
}

/// The output and the other records of one answer.
fn answer(stream: &mut impl std::io::Read) -> (String, Vec<u8>) {
    let (mut text, mut kinds) = (Vec::new(), Vec::new());
    while kinds.last() != Some(&3) {
        let mut header = [0; 8];
        stream.read_exact(&mut header).unwrap();
        let mut content = vec![0; usize::from(u16::from_be_bytes([header[4], header[5]]))];
        stream.read_exact(&mut content).unwrap();
        kinds.push(header[1]);
        if header[1] == 6 {
            text.extend(content);
        }
    }
    (String::from_utf8(text).unwrap(), kinds)
}

#[test]
fn a_web_server_gets_the_reply_in_records() {
    let server = Server::start(options(b"hi"));
    let mut stream = server.connect();
    for _ in 0..2 {
        stream.write_all(&request(1)).unwrap();
        let (text, kinds) = answer(&mut stream);
        assert!(
            text.starts_with("Status: 200 OK\r\nContent-Type: "),
            "{text}"
        );
        assert!(text.ends_with("\r\nContent-Length: 2\r\n\r\nhi"), "{text}");
        assert_eq!(kinds, [6, 6, 3]);
    }
    stream.write_all(&request(0)).unwrap();
    answer(&mut stream);
    assert_eq!(
        stream.read(&mut [0]).unwrap(),
        0,
        "it is closed where that is asked"
    );
    let mut other = server.connect();
    other.write_all(GET).unwrap();
    assert!(read_answer(&mut other, 2).starts_with("HTTP/1.1 200 OK"));
    let counts = server.end();
    assert_eq!((counts.requests, counts.close), (4, 1));
}

#[test]
fn a_request_may_come_in_pieces() {
    let server = Server::start(options(b"hi"));
    let mut stream = server.connect();
    let bytes = request(1);
    for cut in 1..bytes.len() {
        stream.write_all(&bytes[..cut]).unwrap();
        let before = ((cut - 1) * bytes.len() + cut) as u64;
        server.counts_when(|counts| counts.bytes_read == before);
        stream.write_all(&bytes[cut..]).unwrap();
        assert!(answer(&mut stream).0.ends_with("\r\n\r\nhi"));
    }
    assert_eq!(server.end().requests, bytes.len() as u64 - 1);
}
