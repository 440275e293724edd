//! UDP sockets of QUIC connections: many datagrams of one size in one call, either way.
//!
//! Each connection has a connected socket of its own: servers spread QUIC over their threads by
//! the address tuple, and what comes needs no routing. Explicit congestion notification is left
//! out.

use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use bakeoff_udp::RECEIVE_BYTES;
use bytes::BytesMut;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, connect, ipproto, send, socket_with,
};

use crate::socket::bind_address_no_port;

/// The longest datagram that can come, and the longest that this side announces it takes: what
/// UDP's length allows behind its own header (RFC 9000, 18.2).
pub(super) const PAYLOAD_MAX: u16 = 65_527;
/// The longest that can be sent at once over IPv4, cut by the kernel or not.
pub(super) const SEND_MAX: usize = 65_507;
const _: () = assert!(RECEIVE_BYTES > PAYLOAD_MAX as usize);
/// Memory that receive calls share, one behind the other, while something of it is held.
const BLOCK_BYTES: usize = 4 * RECEIVE_BYTES;

/// Memory that datagrams are received into.
///
/// Bytes of a stream with a gap in it keep the memory that they came in, and a few bytes keep all
/// of it. So there is one block to share: as long as something holds it, what comes is copied out
/// of a second one. However much a server sends, and however fast, a thread holds these two.
#[derive(Debug)]
pub(crate) struct Block {
    shared: BytesMut,
    /// What is copied out of; empty until something holds `shared`.
    copied: BytesMut,
    is_copied: bool,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            shared: BytesMut::with_capacity(BLOCK_BYTES),
            copied: BytesMut::new(),
            is_copied: false,
        }
    }
}

impl Block {
    /// Room for what one receive call can take. It is the same memory again unless something of
    /// it is held, so that it stays in the processor's cache.
    fn room(&mut self) -> &mut [MaybeUninit<u8>] {
        self.is_copied =
            !self.shared.try_reclaim(BLOCK_BYTES) && self.shared.capacity() < RECEIVE_BYTES;
        let bytes = if self.is_copied {
            // Nothing holds it once the last datagrams were taken.
            self.copied.reserve(RECEIVE_BYTES);
            &mut self.copied
        } else {
            &mut self.shared
        };
        &mut bytes.spare_capacity_mut()[..RECEIVE_BYTES]
    }

    /// Takes what was received.
    ///
    /// # Safety
    ///
    /// `length` bytes must have been written to the last room that [`Block::room`] gave.
    unsafe fn take(&mut self, length: usize) -> Datagrams {
        let bytes = if self.is_copied {
            &mut self.copied
        } else {
            &mut self.shared
        };
        // SAFETY: as the caller promises; the block is empty, and its room was of its capacity.
        unsafe { bytes.set_len(length) };
        Datagrams {
            bytes: bytes.split_to(length),
            is_copied: self.is_copied,
        }
    }

    /// Receives `bytes` as from a socket.
    #[cfg(test)]
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Datagrams {
        let room = self.room()[..bytes.len()].iter_mut();
        room.zip(bytes).for_each(|(to, from)| _ = to.write(*from));
        // SAFETY: so many bytes of the room are written.
        unsafe { self.take(bytes.len()) }
    }
}

/// Datagrams, one behind the other.
#[derive(Debug)]
pub(crate) struct Datagrams {
    bytes: BytesMut,
    is_copied: bool,
}

impl Datagrams {
    /// Bytes of all of them.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the first, which has `segment` bytes unless it is the last.
    pub(super) fn next(&mut self, segment: usize) -> Option<BytesMut> {
        if self.bytes.is_empty() {
            return None;
        }
        let datagram = self.bytes.split_to(segment.clamp(1, self.bytes.len()));
        Some(if self.is_copied {
            BytesMut::from(&datagram[..])
        } else {
            datagram
        })
    }
}

/// What one receive call took.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) bytes: Datagrams,
    /// Length of each but the last.
    pub(crate) segment: usize,
    /// When the last arrived by the real-time clock, if the kernel stamped it.
    pub(crate) stamp: Option<u64>,
}

/// A socket that exchanges datagrams with `remote` alone.
pub(crate) fn open(remote: SocketAddr, source: Option<IpAddr>) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let family = match remote {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
    bakeoff_udp::prepare(&socket, remote)?;
    if let Some(source) = source {
        bind_address_no_port(&socket)?;
        bind(&socket, &SocketAddr::new(source, 0))?;
    }
    connect(&socket, &remote)?;
    Ok(socket)
}

/// Sends datagrams of `segment` bytes each, the last of which may be shorter, in one call.
pub(crate) fn send_segments(socket: &OwnedFd, bytes: &[u8], segment: usize) -> Result<(), Errno> {
    if bytes.len() <= segment {
        return send(socket, bytes, SendFlags::NOSIGNAL).map(|_| ());
    }
    bakeoff_udp::send(socket, None, bytes, segment)
}

/// Receives the datagrams that the kernel joined, or one, into `block`.
///
/// What is returned shares the block's memory, which is used again when nothing of it is held.
pub(crate) fn receive(socket: &OwnedFd, block: &mut Block) -> Result<Received, Errno> {
    let received = bakeoff_udp::receive(socket, block.room())?;
    Ok(Received {
        // SAFETY: so many bytes were written to the block's room.
        bytes: unsafe { block.take(received.length) },
        segment: received.segment,
        stamp: received.stamp,
    })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// Receives `length` bytes.
    fn come(block: &mut Block, length: usize) -> Datagrams {
        block.receive(&vec![7; length])
    }

    #[test]
    fn what_nobody_holds_is_used_again() {
        let mut block = Block::default();
        let first = come(&mut block, 60_000).bytes.as_ptr();
        for length in [1, 0, 65_535, 30_000] {
            let mut datagrams = come(&mut block, length);
            let at = datagrams.bytes.as_ptr();
            assert_eq!((at, datagrams.len()), (first, length));
            assert_eq!(datagrams.next(40_000).is_some(), length > 0);
        }
        assert_eq!(block.copied.capacity(), 0);
    }

    #[test]
    fn what_is_held_holds_one_block() {
        let mut block = Block::default();
        let mut held = Vec::new();
        let mut places = std::collections::BTreeSet::new();
        // A datagram of each 60,000 bytes is held, of as many bytes as 20 blocks have.
        for _ in 0..20 * BLOCK_BYTES / 60_000 {
            let mut datagrams = come(&mut block, 60_000);
            places.insert(datagrams.bytes.as_ptr());
            held.push(datagrams.next(1_200).expect("the first of many"));
        }
        assert!(held.iter().all(|datagram| datagram[..] == [7; 1_200]));
        // Four fit the block, and one what is copied out of.
        assert_eq!(places.len(), 5);
        held.clear();
        assert!(!come(&mut block, 60_000).is_copied, "it is shared again");
    }

    #[test]
    fn the_longest_datagram_is_received_whole() {
        let far = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let near = open(far.local_addr().expect("bound"), None).expect("a socket");
        send_segments(&near, b"here", 4).expect("sent");
        let (_, to) = far.recv_from(&mut [0; 4]).expect("received");
        let long: Vec<u8> = (0..SEND_MAX).map(|n| n as u8).collect();
        far.send_to(&long, to).expect("sent");
        let mut block = Block::default();
        let mut received = receive(&near, &mut block).expect("it has come");
        assert_eq!(received.segment, SEND_MAX);
        assert_eq!(received.bytes.next(received.segment).expect("one"), long);
    }
}
