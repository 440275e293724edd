//! Whatever bytes come, cut anywhere, the origin answers with whole frames, and not with more than
//! they can ask for.
use std::sync::LazyLock;

use bakeoff_origin::{Reply, answer_h2};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static REPLY: LazyLock<Reply> = LazyLock::new(|| Reply {
    status: 200,
    content_type: "text/plain".into(),
    body: b"Hello, world!".to_vec(),
});

pub(crate) fn check(input: &[u8]) {
    let Some((&size, frames)) = input.split_first() else {
        return;
    };
    let stream = [PREFACE, frames].concat();
    let answer = answer_h2(&REPLY, &stream, usize::from(size) + 1);
    let answer = answer.expect("the reply is an answer");
    let mut rest = answer.as_slice();
    while !rest.is_empty() {
        let (head, behind) = rest
            .split_first_chunk::<9>()
            .expect("a frame's header is whole");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        rest = behind.get(length..).expect("a frame is whole");
    }
    // A request of 10 bytes has a head of 80, and a body that small windows cut to 13 frames.
    assert!(
        answer.len() <= 100 + 32 * stream.len(),
        "{} bytes",
        answer.len()
    );
}
