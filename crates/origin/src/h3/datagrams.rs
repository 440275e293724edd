//! A UDP socket of many clients: datagrams of one size and one client in one call, either way.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};

use bytes::BytesMut;
use rustix::io::Errno;

/// Most bytes that one receive call takes: what the kernel joins, at the most.
const RECEIVE_BYTES: usize = 64 * 1024;
/// Memory that receive calls share, one behind the other.
const BLOCK_BYTES: usize = 4 * RECEIVE_BYTES;
/// Asked of the kernel for what has come and not been read, and for what has not left, bytes.
const SOCKET_BYTES: libc::c_int = 4 << 20;

/// Room for headers of the kernel's, aligned as they are.
#[repr(align(8))]
struct Control([u8; 64]);

/// An address as the kernel writes it.
union Name {
    storage: libc::sockaddr_storage,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

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
    // Without these it goes on, with more calls and with what room there is.
    let _ = set(socket, libc::SOL_UDP, libc::UDP_GRO, 1);
    let _ = set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, SOCKET_BYTES);
    let _ = set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, SOCKET_BYTES);
    Ok(())
}

fn set(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let place = (&raw const value).cast();
    // SAFETY: `place` is that of an integer that lives through the call, of this length.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, place, length) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Sends datagrams of `segment` bytes each, the last of which may be shorter, in one call.
pub(super) fn send(
    socket: &OwnedFd,
    to: SocketAddr,
    bytes: &[u8],
    segment: usize,
) -> Result<(), Errno> {
    let (mut name, length) = name_of(to);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: `msghdr` is plain integers and pointers, for which zero is a value. The kernel only
    // reads what `part` and `name` point to. `control` has room for the one header that is
    // written, whose place CMSG_FIRSTHDR and CMSG_DATA give; all of it lives through the call.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_name = (&raw mut name).cast();
        message.msg_namelen = length;
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

/// Receives the datagrams of one client that the kernel joined, or one, into `block`.
///
/// What is returned shares the block's memory, which is used again when nothing of it is held.
pub(super) fn receive(socket: &OwnedFd, block: &mut BytesMut) -> Result<Received, Errno> {
    if block.capacity() < RECEIVE_BYTES {
        block.reserve(BLOCK_BYTES);
    }
    let mut control = Control([0; 64]);
    let mut name = MaybeUninit::<Name>::zeroed();
    let mut part = libc::iovec {
        iov_base: block.spare_capacity_mut().as_mut_ptr().cast(),
        iov_len: RECEIVE_BYTES,
    };
    // SAFETY: as in `send`; the block is empty and has room for `iov_len` bytes, and as many as
    // the kernel says it wrote are taken as written. The CMSG macros stay inside what the kernel
    // says it wrote to `control`, and what is read is of the length of its type. An address of
    // zeros is a value, and the kernel has written the one of the family that it names.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_name = name.as_mut_ptr().cast();
        message.msg_namelen = size_of::<Name>() as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        let read = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        let Ok(read) = usize::try_from(read) else {
            return Err(last_errno());
        };
        block.set_len(read);
        let mut segment = read;
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if ((*header).cmsg_level, (*header).cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO) {
                let data = libc::CMSG_DATA(header);
                let length: libc::c_int = std::ptr::read_unaligned(data.cast());
                segment = usize::try_from(length).unwrap_or(read);
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        Ok(Received {
            bytes: block.split_to(read),
            segment,
            from: address_of(&name.assume_init()).ok_or(Errno::INVAL)?,
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
