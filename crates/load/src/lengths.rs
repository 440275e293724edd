//! Which answers may be longer than what comes without being read.
//!
//! What arrives while a thread sleeps has its time from the kernel. But a server may send only so
//! much before this side reads: then the rest of a long answer waits for the thread, and the sleep
//! would be a part of its latency. How long an answer is, is known from the expected body, or from
//! the answers to the same request so far.

use crate::spec::{Exchange, LoadSpec};

/// Longest body that a socket takes whole before anything is read. Linux lets a server send 64 KiB
/// at first, and less where segments are small; and there is the head.
const TCP_BYTES_MAX: u64 = 32 * 1024;
/// Over QUIC a server may send ten packets before the first acknowledgement (RFC 9002, 7.2), and
/// it is this side that acknowledges them.
const QUIC_BYTES_MAX: u64 = 8 * 1024;

/// What is known of the length of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Unknown,
    Short,
    Long,
}

/// Which answers may be long, by exchange.
#[derive(Debug)]
pub(crate) struct Lengths {
    of: Box<[Length]>,
    short_bytes_max: u64,
}

impl Lengths {
    pub(crate) fn new(spec: &LoadSpec) -> Self {
        let short_bytes_max = if spec.speaking.is_h3() {
            QUIC_BYTES_MAX
        } else {
            TCP_BYTES_MAX
        };
        let of = |exchange: &Exchange| match &exchange.body {
            _ if exchange.to_head_request => Length::Short,
            None => Length::Unknown,
            Some(body) if body.len() as u64 <= short_bytes_max => Length::Short,
            Some(_) => Length::Long,
        };
        Self {
            of: spec.exchanges.iter().map(of).collect(),
            short_bytes_max,
        }
    }

    /// Whether an answer to this exchange may be long.
    #[inline]
    pub(crate) fn may_be_long(&self, exchange: u32) -> bool {
        self.of[exchange as usize] != Length::Short
    }

    /// An answer to this exchange had a body of so many bytes. One that was long may be so again.
    #[inline]
    pub(crate) fn note(&mut self, exchange: u32, body_bytes: u64) {
        let of = &mut self.of[exchange as usize];
        if body_bytes > self.short_bytes_max {
            *of = Length::Long;
        } else if *of == Length::Unknown {
            *of = Length::Short;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Order;
    use crate::turn::several;

    #[test]
    fn an_answer_may_be_long_until_it_is_known_to_be_short() {
        let mut spec = several(&[1, 1, 1, 1], Order::InTurn);
        let body = |bytes: u64| Some(vec![b'x'; bytes as usize].into());
        spec.exchanges[1].body = body(TCP_BYTES_MAX);
        spec.exchanges[2].body = body(TCP_BYTES_MAX + 1);
        spec.exchanges[3].body = None;
        let may_be_long = |lengths: &Lengths| [0, 1, 2, 3].map(|it| lengths.may_be_long(it));
        let mut lengths = Lengths::new(&spec);
        assert_eq!(may_be_long(&lengths), [false, false, true, true]);
        (0..4).for_each(|exchange| lengths.note(exchange, 5));
        assert_eq!(may_be_long(&lengths), [false, false, true, false]);
        (0..4).for_each(|exchange| lengths.note(exchange, TCP_BYTES_MAX + 1));
        assert_eq!(may_be_long(&lengths), [true; 4]);
        (0..4).for_each(|exchange| lengths.note(exchange, 5));
        assert_eq!(may_be_long(&lengths), [true; 4]);
        spec.exchanges[3].to_head_request = true;
        assert!(!Lengths::new(&spec).may_be_long(3), "it has no body");
    }
}
