//! Asks the kernel for accept queues: `sock_diag(7)`, bytes in and values out.

use crate::netlink::{self, HEADER_BYTES, Next, u32_at};

/// A listening TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) port: u16,
    /// Connections that wait to be accepted.
    pub(crate) queue: u32,
    /// Number of them that there is room for.
    pub(crate) limit: u32,
}

const REQUEST_BYTES: usize = HEADER_BYTES + 56;
/// Shortest message about a socket: up to the two queues.
const SOCKET_BYTES: usize = 64;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const TCP: u8 = 6;
/// `1 << TCP_LISTEN`.
const LISTENING: u32 = 1 << 10;

/// A request for all listening TCP sockets of a family (`AF_INET` or `AF_INET6`).
pub(crate) fn request(family: u8) -> [u8; REQUEST_BYTES] {
    let mut bytes: [u8; REQUEST_BYTES] = netlink::request(SOCK_DIAG_BY_FAMILY);
    bytes[16] = family;
    bytes[17] = TCP;
    bytes[20..24].copy_from_slice(&LISTENING.to_ne_bytes());
    bytes
}

/// Adds the sockets of one datagram of an answer to `found`.
pub(crate) fn sockets(bytes: &[u8], found: &mut Vec<Listening>) -> Next {
    netlink::messages(bytes, SOCK_DIAG_BY_FAMILY, |message| {
        found.extend(socket(message));
    })
}

fn socket(message: &[u8]) -> Option<Listening> {
    message.get(..SOCKET_BYTES)?;
    let port = message.get(4..6)?;
    Some(Listening {
        port: u16::from_be_bytes(port.try_into().ok()?),
        queue: u32_at(message, 56)?,
        limit: u32_at(message, 60)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message;

    /// The kind of the last message.
    const DONE: u16 = 3;

    fn body(port: u16, queue: u32, limit: u32) -> Vec<u8> {
        let mut body = vec![0; 72];
        body[4..6].copy_from_slice(&port.to_be_bytes());
        body[56..60].copy_from_slice(&queue.to_ne_bytes());
        body[60..64].copy_from_slice(&limit.to_ne_bytes());
        body
    }

    #[test]
    fn sockets_are_read_until_the_end() {
        let mut bytes = message(SOCK_DIAG_BY_FAMILY, &body(8080, 3, 511));
        bytes.extend(message(SOCK_DIAG_BY_FAMILY, &body(8081, 0, 4096)));
        let mut found = Vec::new();
        assert_eq!(sockets(&bytes, &mut found), Next::More);
        bytes.extend(message(DONE, &[0; 4]));
        found.clear();
        assert_eq!(sockets(&bytes, &mut found), Next::Done);
        let first = Listening {
            port: 8080,
            queue: 3,
            limit: 511,
        };
        assert_eq!((found.len(), found[0]), (2, first));
    }

    #[test]
    fn cut_answers_never_panic() {
        let mut bytes = message(SOCK_DIAG_BY_FAMILY, &body(8080, 3, 511));
        bytes.extend(message(DONE, &[0; 4]));
        for end in 0..bytes.len() {
            for damage in [0, 1, 16, 0xff] {
                let mut cut = bytes[..=end].to_vec();
                cut[end] = damage;
                sockets(&cut, &mut Vec::new());
            }
        }
    }
}
