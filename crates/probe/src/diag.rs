//! Asks the kernel for TCP sockets: `sock_diag(7)`, bytes in and values out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::netlink::{self, HEADER_BYTES, Next, u32_at};

/// A TCP socket, as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocket {
    /// Its own end.
    pub own: SocketAddr,
    /// The other end; port 0 where it has none.
    pub peer: SocketAddr,
    /// By which the processes that have it open name it: `socket:[INODE]`.
    pub inode: u64,
    /// Of one that listens, connections that wait to be accepted.
    pub(crate) queue: u32,
    /// Of one that listens, number of them that there is room for.
    pub(crate) limit: u32,
}

const REQUEST_BYTES: usize = HEADER_BYTES + 56;
/// Shortest message about a socket.
const SOCKET_BYTES: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Families of which is asked, one by one.
pub(crate) const FAMILIES: [u8; 2] = [AF_INET, AF_INET6];

/// Of which sockets is asked: a bit for each state, as `1 << TCP_LISTEN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct States(u32);

impl States {
    pub(crate) const LISTENING: Self = Self(1 << 10);
    /// Those with another end, from the first packet to the last: ESTABLISHED, SYN_SENT, SYN_RECV,
    /// FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT, LAST_ACK and CLOSING. What is in TIME_WAIT belongs to no
    /// process any more.
    pub(crate) const CONNECTED: Self = Self(0b1011_0011_1110);
}

/// A request for all TCP sockets of a family in these states.
pub(crate) fn request(family: u8, states: States) -> [u8; REQUEST_BYTES] {
    let mut bytes: [u8; REQUEST_BYTES] = netlink::request(SOCK_DIAG_BY_FAMILY);
    bytes[16] = family;
    bytes[17] = TCP;
    bytes[20..24].copy_from_slice(&states.0.to_ne_bytes());
    bytes
}

/// Adds the sockets of one datagram of an answer to `found`.
pub(crate) fn sockets(bytes: &[u8], found: &mut Vec<TcpSocket>) -> Next {
    netlink::messages(bytes, SOCK_DIAG_BY_FAMILY, |message| {
        found.extend(socket(message));
    })
}

fn socket(message: &[u8]) -> Option<TcpSocket> {
    let message: &[u8; SOCKET_BYTES] = message.first_chunk()?;
    let port = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    Some(TcpSocket {
        own: SocketAddr::new(address(message[0], &message[8..24])?, port(4)),
        peer: SocketAddr::new(address(message[0], &message[24..40])?, port(6)),
        inode: u64::from(u32_at(message, 68)?),
        queue: u32_at(message, 56)?,
        limit: u32_at(message, 60)?,
    })
}

/// An address of either family, in the first of 16 bytes. What is bound to an address of version 4
/// by version 6 is reached by that one.
fn address(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    let ip = match family {
        AF_INET => IpAddr::V4(Ipv4Addr::from(*bytes.first_chunk::<4>()?)),
        AF_INET6 => IpAddr::V6(Ipv6Addr::from(*bytes.first_chunk::<16>()?)),
        _ => return None,
    };
    Some(ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message;

    /// The kind of the last message.
    const DONE: u16 = 3;

    fn body(port: u16, queue: u32, limit: u32) -> Vec<u8> {
        let mut body = vec![0; 72];
        body[0] = AF_INET;
        body[4..6].copy_from_slice(&port.to_be_bytes());
        body[8..12].copy_from_slice(&[127, 0, 0, 1]);
        body[68..72].copy_from_slice(&4711_u32.to_ne_bytes());
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
        let first = TcpSocket {
            own: "127.0.0.1:8080".parse().unwrap(),
            peer: "0.0.0.0:0".parse().unwrap(),
            inode: 4711,
            queue: 3,
            limit: 511,
        };
        assert_eq!((found.len(), found[0]), (2, first));
    }

    #[test]
    fn addresses_of_both_families_are_read() {
        let mut mapped = body(443, 0, 0);
        mapped[0] = AF_INET6;
        mapped[8..24].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]);
        mapped[39] = 1;
        mapped[6..8].copy_from_slice(&50_000_u16.to_be_bytes());
        let socket = socket(&mapped).unwrap();
        assert_eq!(socket.own, "10.0.0.1:443".parse().unwrap());
        assert_eq!(socket.peer, "[::1]:50000".parse().unwrap());
        mapped[0] = 1;
        assert_eq!(super::socket(&mapped), None, "of another family");
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
