//! Asks the kernel by `netlink(7)`: a request, and datagrams with the messages of its answer; or an
//! order, and whether it was carried out.
//!
//! What a message says is read elsewhere, bytes in and values out.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// Datagrams of one answer that are read at the most. Each holds about 200 messages, and a load may
/// have tens of thousands of connections.
const DATAGRAMS_MAX: usize = 4096;
const DATAGRAM_BYTES: usize = 32 * 1024;
/// Bytes before what a message says.
pub(crate) const HEADER_BYTES: usize = 16;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const FLAGS: u16 = 0x301;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const ANSWERED: u16 = 0x5;
const DONE: u16 = 3;
const ERROR: u16 = 2;

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

/// A socket for questions of this protocol; without one, of routes and interfaces.
pub(crate) fn open(protocol: Option<Protocol>) -> Option<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol).ok()
}

/// A request of this kind for all that there is, with room for what it says behind its header.
pub(crate) fn request<const BYTES: usize>(kind: u16) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(&(BYTES as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&FLAGS.to_ne_bytes());
    bytes[8..12].copy_from_slice(&1_u32.to_ne_bytes());
    bytes
}

/// Sends a request, and has each datagram of the answer read; `None` where the kernel does not
/// report. It writes its answer while it is asked for, so there is nothing to wait for.
pub(crate) fn ask(
    socket: &OwnedFd,
    request: &[u8],
    buffer: &mut Vec<u8>,
    mut read: impl FnMut(&[u8]) -> Next,
) -> Option<()> {
    send(socket, request, SendFlags::empty()).ok()?;
    buffer.resize(DATAGRAM_BYTES, 0);
    for _ in 0..DATAGRAMS_MAX {
        let (length, _) = recv(socket, &mut buffer[..], RecvFlags::empty()).ok()?;
        match read(&buffer[..length]) {
            Next::More => {}
            Next::Done => return Some(()),
            Next::Refused => return None,
        }
    }
    None
}

/// Has the kernel change something of routes and interfaces, and waits until it has.
///
/// # Errors
/// When it does not.
pub(crate) fn carry_out(kind: u16, flags: u16, order: &[u8]) -> io::Result<()> {
    let socket = open(None).ok_or_else(io::Error::last_os_error)?;
    let mut bytes = u32::try_from(HEADER_BYTES + order.len())
        .map_err(io::Error::other)?
        .to_ne_bytes()
        .to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((flags | ANSWERED).to_ne_bytes());
    bytes.extend(1_u32.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(order);
    send(&socket, &bytes, SendFlags::empty())?;
    let mut answer = [0; 1024];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    match (
        u16_at(&answer[..length], 4),
        u32_at(&answer[..length], HEADER_BYTES),
    ) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(code)) => Err(io::Error::from_raw_os_error(
            code.cast_signed().wrapping_neg(),
        )),
        _ => Err(io::Error::other(
            "the kernel gave another answer than expected",
        )),
    }
}

/// Passes on what each message of this kind in one datagram says.
pub(crate) fn messages(mut bytes: &[u8], kind: u16, mut said: impl FnMut(&[u8])) -> Next {
    while let Some(length) = u32_at(bytes, 0).map(|length| length as usize) {
        let Some(message) = bytes.get(..length).filter(|_| length >= HEADER_BYTES) else {
            return Next::Refused;
        };
        match u16_at(message, 4) {
            Some(DONE) => return Next::Done,
            Some(found) if found == kind => said(&message[HEADER_BYTES..]),
            Some(ERROR) | None => return Next::Refused,
            Some(_) => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Next::More
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let part = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(part.try_into().ok()?))
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let part = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_ne_bytes(part.try_into().ok()?))
}

/// A message of the kernel, for tests.
#[cfg(test)]
pub(crate) fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + body.len()) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend([0; 10]);
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: u16 = 20;

    fn read(bytes: &[u8]) -> (Next, Vec<Vec<u8>>) {
        let mut said = Vec::new();
        let next = messages(bytes, KIND, |one| said.push(one.to_vec()));
        (next, said)
    }

    #[test]
    fn messages_are_read_until_the_end() {
        let mut bytes = message(KIND, b"a");
        bytes.extend(message(KIND + 1, b"of another kind"));
        bytes.extend(message(KIND, b"b"));
        let said = vec![b"a".to_vec(), b"b".to_vec()];
        assert_eq!(read(&bytes), (Next::More, said.clone()));
        bytes.extend(message(DONE, &[0; 4]));
        bytes.extend(message(KIND, b"c"));
        assert_eq!(read(&bytes), (Next::Done, said));
    }

    #[test]
    fn a_refusal_and_nonsense_end_the_reading() {
        assert_eq!(read(&message(ERROR, &[0; 20])), (Next::Refused, vec![]));
        assert_eq!(read(&[3, 0, 0, 0]), (Next::Refused, vec![]));
        assert_eq!(read(&[0xff; 16]), (Next::Refused, vec![]));
        assert_eq!(read(&[]), (Next::More, vec![]));
    }
}
