//! Sockets as the engine uses them: non-blocking, without delay, and a receive that drops.

use std::io;
use std::mem::MaybeUninit;
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

pub(crate) fn bind_address_no_port(socket: &OwnedFd) -> Result<(), Errno> {
    set_integer(socket, libc::IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
}

fn set_integer(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> Result<(), Errno> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is to an integer that lives through the call, and the length is its.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
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

/// Lets the kernel stamp what arrives with the time, for [`read_stamped`].
pub(crate) fn stamp_arrivals(socket: &OwnedFd) -> Result<(), Errno> {
    set_integer(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// [`read`], and when the last of it arrived by the real-time clock, if the kernel stamped it.
pub(crate) fn read_stamped(
    socket: &OwnedFd,
    buffer: &mut [u8],
) -> Result<(usize, Option<u64>), Errno> {
    let bytes = buffer.as_mut_ptr().cast::<MaybeUninit<u8>>();
    // SAFETY: the same bytes at the same place, which nothing else sees while they are lent out;
    // `receive` writes bytes there and never takes any back.
    let room = unsafe { std::slice::from_raw_parts_mut(bytes, buffer.len()) };
    let received = bakeoff_udp::receive(socket, room)?;
    Ok((received.length, received.stamp))
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

/// [`drop_unread`], and when the last of it arrived by the real-time clock, if the kernel stamped
/// it.
pub(crate) fn drop_stamped(socket: &OwnedFd, most: usize) -> Result<(usize, Option<u64>), Errno> {
    let dropped = bakeoff_udp::discard(socket, most)?;
    Ok((dropped.length, dropped.stamp))
}

fn last_errno() -> Errno {
    let code = io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO);
    Errno::from_raw_os_error(code)
}
