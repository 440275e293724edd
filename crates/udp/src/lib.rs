//! Sends and receives the datagrams of QUIC: many datagrams of one size in one system call.
//!
//! ```text
//! send ─► the kernel splits the buffer into datagrams (GSO)
//! receive ─► datagrams that the kernel joined (GRO), in the caller's memory
//! ```
//!
//! The load engine and the built-in servers use it. The engine also receives from TCP sockets with
//! it, to get the kernel's timestamps. It owns no socket and no memory, and knows nothing of QUIC.
//! Explicit congestion notification is left out.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;

/// Most bytes that one receive call can take: no datagram is longer, and what the kernel joins is
/// no longer than one datagram can be.
pub const RECEIVE_BYTES: usize = 64 * 1024;
/// Requested from the kernel for datagrams that arrived and have not been read, bytes. A peer sends
/// as much as its congestion window at once, and what finds no room is lost.
pub const SOCKET_BYTES: usize = 4 << 20;

/// Room for the kernel's control messages, aligned as they are.
#[repr(align(8))]
struct Control([u8; 128]);

/// Where a receive call puts what came.
enum Place<'a> {
    Room(&'a mut [MaybeUninit<u8>]),
    /// Nowhere: up to so many bytes are dropped.
    Nowhere(usize),
}

/// An address as the kernel writes it.
union Name {
    storage: libc::sockaddr_storage,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

/// What one receive call took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of all datagrams, which are one behind the other.
    pub length: usize,
    /// Bytes of each but the last, which may be shorter.
    pub segment: usize,
    /// When the last arrived, in ns of the real-time clock, if the kernel stamped it.
    pub stamp: Option<u64>,
}

/// Prepares a socket that is bound or connected to `address`: packets are not fragmented on their
/// way, and arrive joined.
///
/// # Errors
/// When the kernel does not let packets find the size of the path. Without joining or the larger
/// buffer the socket works, with more calls and with less room.
pub fn prepare(socket: &OwnedFd, address: SocketAddr) -> Result<(), Errno> {
    let (level, option, value) = match address {
        SocketAddr::V4(_) => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_PROBE,
        ),
        SocketAddr::V6(_) => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_PROBE,
        ),
    };
    set(socket, level, option, value)?;
    let _ = set(socket, libc::SOL_UDP, libc::UDP_GRO, 1);
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size(socket, SOCKET_BYTES);
    Ok(())
}

fn set(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> Result<(), Errno> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let place = (&raw const value).cast();
    // SAFETY: `place` is that of an integer that lives through the call, of this length.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, place, length) };
    if result < 0 {
        Err(last_errno())
    } else {
        Ok(())
    }
}

/// Sends datagrams of `segment` bytes each, the last of which may be shorter, in one call: to `to`,
/// or where the socket is connected to.
///
/// # Errors
/// As the kernel gives them. `IO` and `INVAL` for more than one datagram mean that the kernel or
/// the device cannot cut.
pub fn send(
    socket: &OwnedFd,
    to: Option<SocketAddr>,
    bytes: &[u8],
    segment: usize,
) -> Result<(), Errno> {
    let mut name = to.map(name_of);
    let mut control = Control([0; 128]);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: `msghdr` is plain integers and pointers, for which zero is a value. The kernel only
    // reads what `part` and `name` point to. `control` has room for the one header that is
    // written, whose place CMSG_FIRSTHDR and CMSG_DATA give; all of it lives through the call.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        if let Some((name, length)) = &mut name {
            message.msg_name = (&raw mut *name).cast();
            message.msg_namelen = *length;
        }
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if bytes.len() > segment {
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_UDP;
            (*header).cmsg_type = libc::UDP_SEGMENT;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
            std::ptr::write_unaligned(libc::CMSG_DATA(header).cast(), segment as u16);
        }
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(last_errno()) } else { Ok(()) }
}

/// Receives the datagrams that the kernel joined, or one. The first [`Received::length`] bytes of
/// `room` are written then. What is longer than `room` is cut.
///
/// # Errors
/// As the kernel gives them.
#[inline]
pub fn receive(socket: &OwnedFd, room: &mut [MaybeUninit<u8>]) -> Result<Received, Errno> {
    receive_named(socket, Place::Room(room), None)
}

/// Drops up to `most` bytes that a TCP socket has received, without copying them out (tcp(7),
/// `MSG_TRUNC`). At the end of the stream [`Received::length`] is 0.
///
/// # Errors
/// As the kernel gives them; `FAULT` where it cannot drop what the socket received.
pub fn discard(socket: &OwnedFd, most: usize) -> Result<Received, Errno> {
    receive_named(socket, Place::Nowhere(most), None)
}

/// As [`receive`], with the address of the sender; all datagrams are of one sender.
///
/// # Errors
/// As the kernel gives them; `INVAL` when the sender has no address of IP.
#[inline]
pub fn receive_from(
    socket: &OwnedFd,
    room: &mut [MaybeUninit<u8>],
) -> Result<(Received, SocketAddr), Errno> {
    let mut name = MaybeUninit::<Name>::zeroed();
    let received = receive_named(socket, Place::Room(room), Some(&mut name))?;
    // SAFETY: an address of zeros is a value, and the kernel has written the one of the family that
    // it names.
    let from = address_of(unsafe { name.assume_init_ref() });
    Ok((received, from.ok_or(Errno::INVAL)?))
}

#[inline]
fn receive_named(
    socket: &OwnedFd,
    place: Place<'_>,
    name: Option<&mut MaybeUninit<Name>>,
) -> Result<Received, Errno> {
    let mut control = Control([0; 128]);
    let (iov_base, iov_len, flags) = match place {
        Place::Room(room) => (room.as_mut_ptr().cast(), room.len(), 0),
        Place::Nowhere(most) => (std::ptr::null_mut(), most, libc::MSG_TRUNC),
    };
    let mut part = libc::iovec { iov_base, iov_len };
    // SAFETY: as in `send`; the kernel writes at most `iov_len` bytes to a room, and as many as
    // `msg_namelen` to `name`. To a null pointer it writes nothing: with MSG_TRUNC a TCP socket
    // does not, and for any other socket that is an error. The CMSG macros stay inside what the
    // kernel says it wrote to `control`, and what is read is of the length of its type.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        if let Some(name) = name {
            message.msg_name = name.as_mut_ptr().cast();
            message.msg_namelen = size_of::<Name>() as libc::socklen_t;
        }
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        let read = libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags);
        let Ok(length) = usize::try_from(read) else {
            return Err(last_errno());
        };
        let (mut segment, mut stamp) = (length, None);
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let bytes: libc::c_int = std::ptr::read_unaligned(data.cast());
                    segment = usize::try_from(bytes).unwrap_or(length);
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
            length,
            segment,
            stamp,
        })
    }
}

fn name_of(address: SocketAddr) -> (Name, libc::socklen_t) {
    match address {
        SocketAddr::V4(address) => {
            let v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(address.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            (Name { v4 }, size_of_val(&v4) as libc::socklen_t)
        }
        SocketAddr::V6(address) => {
            let v6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: address.ip().octets(),
                },
                sin6_scope_id: address.scope_id(),
            };
            (Name { v6 }, size_of_val(&v6) as libc::socklen_t)
        }
    }
}

fn address_of(name: &Name) -> Option<SocketAddr> {
    // SAFETY: every bit of it is written, and each field is plain integers; the family, which all
    // of them begin with, says which one was meant.
    unsafe {
        match i32::from(name.storage.ss_family) {
            libc::AF_INET => {
                let ip = Ipv4Addr::from(name.v4.sin_addr.s_addr.to_ne_bytes());
                let port = u16::from_be(name.v4.sin_port);
                Some(SocketAddrV4::new(ip, port).into())
            }
            libc::AF_INET6 => {
                let v6 = name.v6;
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

fn last_errno() -> Errno {
    let code = io::Error::last_os_error().raw_os_error();
    Errno::from_raw_os_error(code.unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    fn socket(address: &str) -> (OwnedFd, SocketAddr) {
        let socket = UdpSocket::bind(address).expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        let socket = OwnedFd::from(socket);
        prepare(&socket, address).expect("any kernel can");
        (socket, address)
    }

    #[test]
    fn what_a_tcp_socket_received_is_dropped_up_to_where_it_is_wanted() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let mut near = TcpStream::connect(address).expect("it listens");
        let (far, _) = listener.accept().expect("it was connected to");
        near.write_all(b"dropped kept").expect("sent");
        drop(near);
        let far = OwnedFd::from(far);
        let length = |received: Result<Received, Errno>| received.map(|it| it.length);
        assert_eq!(length(discard(&far, 8)), Ok(8));
        let mut room = [MaybeUninit::<u8>::zeroed(); 16];
        assert_eq!(length(receive(&far, &mut room)), Ok(4));
        assert_eq!(length(discard(&far, 8)), Ok(0), "the end of the stream");
        let (datagrams, there) = socket("127.0.0.1:0");
        send(&datagrams, Some(there), b"to itself", 9).expect("sent");
        assert_eq!(length(discard(&datagrams, 9)), Err(Errno::FAULT));
    }

    #[test]
    fn datagrams_of_one_call_arrive_in_order_and_name_their_sender() {
        let ((near, here), (far, there)) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let sent: Vec<u8> = (0..3_300_u32).map(|n| n as u8).collect();
        send(&near, Some(there), &sent, 1_000).expect("sent");
        let mut seen = Vec::new();
        let mut room = vec![MaybeUninit::<u8>::zeroed(); RECEIVE_BYTES];
        while seen.len() < sent.len() {
            let (received, from) = receive_from(&far, &mut room).expect("received");
            assert_eq!(from, here);
            assert!(received.segment == 1_000 || received.length < 1_000);
            // SAFETY: all of it is zero from the start.
            let bytes = room[..received.length]
                .iter()
                .map(|byte| unsafe { byte.assume_init() });
            seen.extend(bytes);
        }
        assert_eq!(seen, sent);
    }

    #[test]
    fn addresses_of_both_families_come_back() {
        for text in ["127.0.0.1:80", "[::1]:443", "[fe80::1%3]:5"] {
            let address: SocketAddr = text.parse().expect("an address");
            let (name, _) = name_of(address);
            assert_eq!(address_of(&name), Some(address));
        }
    }
}
