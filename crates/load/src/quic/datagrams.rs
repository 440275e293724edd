//! UDP sockets of QUIC connections: many datagrams of one size in one call, either way.
//!
//! Each connection has a connected socket of its own: servers spread QUIC over their threads by
//! the address tuple, and what comes needs no routing. Explicit congestion notification is left
//! out.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use bytes::BytesMut;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, bind, connect, ipproto, send, socket_with,
};

use crate::socket::{bind_address_no_port, last_errno, set_integer};

/// The longest datagram that can come, and the longest that this side announces it takes: what
/// UDP's length allows behind its own header (RFC 9000, 18.2).
pub(super) const PAYLOAD_MAX: u16 = 65_527;
/// The longest that can be sent at once over IPv4, cut by the kernel or not.
pub(super) const SEND_MAX: usize = 65_507;
/// Most bytes that one receive call takes: no datagram is cut, and what the kernel joins is no
/// longer than one can be.
const RECEIVE_BYTES: usize = 64 * 1024;
const _: () = assert!(RECEIVE_BYTES > PAYLOAD_MAX as usize);
/// Memory that receive calls share, one behind the other, while something of it is held.
const BLOCK_BYTES: usize = 4 * RECEIVE_BYTES;
/// What is copied out of the block after a whole block was held. Bytes of a stream with a gap in
/// it keep the block that they came in, and a server that leaves such gaps on purpose could make
/// a few bytes of each block keep all of it; so it can for a 64th of what it sends.
const COPIED_BYTES: usize = 64 * BLOCK_BYTES;
/// Asked of the kernel for what has come and not been read, bytes. A server sends as much as its
/// congestion window at once, and what finds no room is lost.
const SOCKET_BYTES: libc::c_int = 4 << 20;

/// Room for headers of the kernel's, aligned as they are.
#[repr(align(8))]
struct Control([u8; 128]);

/// Memory that datagrams are received into.
#[derive(Debug, Default)]
pub(crate) struct Block {
    bytes: BytesMut,
    /// What is still to be copied out rather than shared.
    to_copy: usize,
}

impl Block {
    /// Room for what one receive call can take. It is the same memory again unless something of
    /// it is held, so that it stays in the processor's cache.
    fn room(&mut self) -> libc::iovec {
        if !self.bytes.try_reclaim(BLOCK_BYTES) && self.bytes.capacity() < RECEIVE_BYTES {
            if self.bytes.capacity() > 0 {
                self.to_copy = COPIED_BYTES;
            }
            self.bytes = BytesMut::with_capacity(BLOCK_BYTES);
        }
        libc::iovec {
            iov_base: self.bytes.spare_capacity_mut().as_mut_ptr().cast(),
            iov_len: RECEIVE_BYTES,
        }
    }

    /// Takes what was received.
    ///
    /// # Safety
    ///
    /// So many bytes must have been written to the last room that [`Block::room`] gave.
    unsafe fn take(&mut self, length: usize) -> Datagrams {
        // SAFETY: as the caller promises; the block is empty, and its room was of its capacity.
        unsafe { self.bytes.set_len(length) };
        let is_copied = self.to_copy > 0;
        self.to_copy = self.to_copy.saturating_sub(length);
        Datagrams {
            bytes: self.bytes.split_to(length),
            is_copied,
        }
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
    // Packets that find the size of the path may not be cut on their way.
    match remote {
        SocketAddr::V4(_) => set_integer(
            &socket,
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_PROBE,
        )?,
        SocketAddr::V6(_) => set_integer(
            &socket,
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IP_PMTUDISC_PROBE,
        )?,
    }
    // Without either it goes on, with more calls and with what room there is.
    let _ = set_integer(&socket, libc::SOL_UDP, libc::UDP_GRO, 1);
    let _ = set_integer(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, SOCKET_BYTES);
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
    let mut control = Control([0; 128]);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: `msghdr` is plain integers and pointers, for which zero is a value. The kernel only
    // reads what `part` points to. `control` has room for the one header that is written, whose
    // place CMSG_FIRSTHDR and CMSG_DATA give; all of it lives through the call.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_UDP;
        (*header).cmsg_type = libc::UDP_SEGMENT;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast(), segment as u16);
        let sent = libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL);
        if sent < 0 { Err(last_errno()) } else { Ok(()) }
    }
}

/// Receives the datagrams that the kernel joined, or one, into `block`.
///
/// What is returned shares the block's memory, which is used again when nothing of it is held.
pub(crate) fn receive(socket: &OwnedFd, block: &mut Block) -> Result<Received, Errno> {
    let mut control = Control([0; 128]);
    let mut part = block.room();
    // SAFETY: as in `send_segments`; the block has room for `iov_len` bytes, and as many as the
    // kernel says it wrote are taken as written. The CMSG macros stay inside what the kernel says
    // it wrote to `control`, and what is read is of the length of its type.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        let read = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        let Ok(read) = usize::try_from(read) else {
            return Err(last_errno());
        };
        let (mut segment, mut stamp) = (read, None);
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let length: libc::c_int = std::ptr::read_unaligned(data.cast());
                    segment = usize::try_from(length).unwrap_or(read);
                }
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                    let time: libc::timespec = std::ptr::read_unaligned(data.cast());
                    stamp = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        Ok(Received {
            bytes: block.take(read),
            segment,
            stamp,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// Receives `length` bytes as they would come from a socket.
    fn come(block: &mut Block, length: usize) -> Datagrams {
        let room = block.room();
        assert!(length <= room.iov_len);
        // SAFETY: the room is of that length, and so many bytes of it are written.
        unsafe {
            std::ptr::write_bytes(room.iov_base.cast::<u8>(), 7, length);
            block.take(length)
        }
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
        assert_eq!(block.to_copy, 0);
    }

    #[test]
    fn what_is_held_cannot_hold_block_after_block() {
        let mut block = Block::default();
        let mut held = Vec::new();
        let mut shared = 0;
        // A datagram of each 60,000 bytes is held, of as many bytes as 130 blocks have.
        for _ in 0..130 * BLOCK_BYTES / 60_000 {
            let mut datagrams = come(&mut block, 60_000);
            shared += usize::from(!datagrams.is_copied);
            held.push(datagrams.next(1_200).expect("the first of many"));
        }
        assert!(held.iter().all(|datagram| datagram[..] == [7; 1_200]));
        // Four fit a block, and two times as much as 64 blocks have was copied meanwhile.
        assert!(shared <= 3 * 4, "{shared} of {} were shared", held.len());
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
