//! Asks the kernel for accept queues: `sock_diag(7)`, bytes in and values out.

/// A listening TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) port: u16,
    /// Connections that wait to be accepted.
    pub(crate) queue: u32,
    /// Number of them that there is room for.
    pub(crate) limit: u32,
}

/// What an answer of the kernel ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// More messages follow.
    More,
    /// That was all.
    Done,
    /// The kernel refused, or what came is no answer.
    Refused,
}

const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
/// Shortest message about a socket: up to the two queues.
const SOCKET_BYTES: usize = 64;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const FLAGS: u16 = 0x301;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const TCP: u8 = 6;
/// `1 << TCP_LISTEN`.
const LISTENING: u32 = 1 << 10;

/// A request for all listening TCP sockets of a family (`AF_INET` or `AF_INET6`).
pub(crate) fn request(family: u8) -> [u8; REQUEST_BYTES] {
    let mut bytes = [0; REQUEST_BYTES];
    bytes[..4].copy_from_slice(&(REQUEST_BYTES as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&FLAGS.to_ne_bytes());
    bytes[8..12].copy_from_slice(&1_u32.to_ne_bytes());
    bytes[16] = family;
    bytes[17] = TCP;
    bytes[20..24].copy_from_slice(&LISTENING.to_ne_bytes());
    bytes
}

/// Adds the sockets of one datagram of an answer to `found`.
pub(crate) fn sockets(mut bytes: &[u8], found: &mut Vec<Listening>) -> Next {
    while let Some(length) = u32_at(bytes, 0).map(|length| length as usize) {
        let Some(message) = bytes.get(..length).filter(|_| length >= HEADER_BYTES) else {
            return Next::Refused;
        };
        match u16_at(message, 4) {
            Some(DONE) => return Next::Done,
            Some(SOCK_DIAG_BY_FAMILY) => found.extend(socket(&message[HEADER_BYTES..])),
            Some(ERROR) | None => return Next::Refused,
            Some(_) => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Next::More
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

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let part = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(part.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let part = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_ne_bytes(part.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = (HEADER_BYTES + body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

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
    fn a_refusal_and_nonsense_end_the_reading() {
        let mut found = Vec::new();
        assert_eq!(
            sockets(&message(ERROR, &[0; 20]), &mut found),
            Next::Refused
        );
        assert_eq!(sockets(&[3, 0, 0, 0], &mut found), Next::Refused);
        assert_eq!(sockets(&[0xff; 16], &mut found), Next::Refused);
        assert_eq!(sockets(&[], &mut found), Next::More);
        assert_eq!(found, []);
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
