//! A UDP socket of many clients, and the memory that their datagrams are received into.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use bakeoff_udp::{RECEIVE_BYTES, SOCKET_BYTES};
use bytes::BytesMut;
use rustix::io::Errno;
use rustix::net::sockopt;

/// Memory that receive calls share, one behind the other.
const BLOCK_BYTES: usize = 4 * RECEIVE_BYTES;

/// What one receive call took.
pub(super) struct Received {
    /// Datagrams, one behind the other.
    pub(super) bytes: BytesMut,
    /// Length of each but the last.
    pub(super) segment: usize,
    pub(super) from: SocketAddr,
}

/// Prepares a socket: packets are not cut on their way, and come joined.
pub(super) fn prepare(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    bakeoff_udp::prepare(socket, address)?;
    // Without it the socket has less room for what has not left.
    let _ = sockopt::set_socket_send_buffer_size(socket, SOCKET_BYTES);
    Ok(())
}

/// Receives the datagrams of one client that the kernel joined, or one, into `block`.
///
/// What is returned shares the block's memory, which is used again when nothing of it is held.
pub(super) fn receive(socket: &OwnedFd, block: &mut BytesMut) -> Result<Received, Errno> {
    if block.capacity() < RECEIVE_BYTES {
        block.reserve(BLOCK_BYTES);
    }
    let room = &mut block.spare_capacity_mut()[..RECEIVE_BYTES];
    let (received, from) = bakeoff_udp::receive_from(socket, room)?;
    // SAFETY: the block was empty, and so many bytes of its room were written.
    unsafe { block.set_len(received.length) };
    Ok(Received {
        bytes: block.split_to(received.length),
        segment: received.segment,
        from,
    })
}
