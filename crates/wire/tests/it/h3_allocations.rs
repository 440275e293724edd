//! The memory of HTTP/3 responses: nothing is allocated for a request once its state and the memo
//! have met what a server sends.

use crate::counting::COUNT;
use bakeoff_wire::h3::{Config, Event, Memo, Request, Requests, Response, qpack};

/// Streams at once.
const STREAMS: usize = 100;
/// Length of a response's headers behind their frame's header, bytes.
const SECTION_BYTES: usize = 27;

/// A response whose headers differ from those of all others, into `out`.
fn answer(number: usize, section: &mut Vec<u8>, out: &mut Vec<u8>) {
    let unique: [u8; 4] = std::array::from_fn(|at| b'a' + (number >> (4 * at) & 15) as u8);
    section.clear();
    qpack::encode(&[], section);
    section.extend_from_slice(&[0xd9, 0x20 | 2, b'i', b'd', 20]);
    section.extend_from_slice(&unique);
    section.resize(SECTION_BYTES, b'x');
    out.clear();
    out.extend_from_slice(&[1, section.len() as u8]);
    out.extend_from_slice(section);
    out.extend_from_slice(b"\0\x0dHello, World!");
}

/// Answers all streams, each answer cut elsewhere.
fn round(responses: &mut [Response], memo: &mut Memo, number: usize, buffers: &mut [Vec<u8>; 2]) {
    let [section, input] = buffers;
    for (stream, response) in responses.iter_mut().enumerate() {
        answer(number * STREAMS + stream, section, input);
        let cut = (number * 7 + stream) % input.len();
        let (mut heads, mut body) = (0, 0);
        for part in [&input[..cut], &input[cut..]] {
            let count = |event: Event<'_>| match event {
                Event::Head { status: 200 } => heads += 1,
                Event::Data(part) => body += part.len(),
                _ => {}
            };
            response.handle(part, memo, count).expect("is right");
        }
        assert_eq!((heads, body), (1, 13));
        assert_eq!(response.finish().map(|end| end.body_bytes), Ok(13));
        response.begin(false);
    }
}

#[test]
fn nothing_is_allocated_for_a_request() {
    let request = |path| Request::new("GET", "https", "a.test", path, &[], vec![]).expect("valid");
    let requests = Requests::new(["/a", "/b", "/c"].map(request).to_vec());
    let mut memo = Memo::new(&Config::default());
    let mut responses: Vec<_> = (0..STREAMS).map(|_| Response::new(false)).collect();
    let mut buffers = [Vec::with_capacity(256), Vec::with_capacity(256)];
    let mut out = Vec::with_capacity(4096);
    // Until each stream has once kept a section in parts, and the memo its scratch.
    for number in 0..50 {
        round(&mut responses, &mut memo, number, &mut buffers);
    }
    let before = COUNT.get();
    for number in 50..200 {
        out.clear();
        for index in 0..3 {
            out.extend_from_slice(requests.bytes(index));
        }
        round(&mut responses, &mut memo, number, &mut buffers);
    }
    assert_eq!(COUNT.get() - before, 0);
}
