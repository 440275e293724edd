//! Another network on this machine, such as that of a container: a thread enters it before it makes
//! sockets, and what it makes stays there.
//!
//! No namespace outlives what holds it.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use crate::netlink;

/// The number of loopback, the first interface of each network.
const LOOPBACK: u32 = 1;
/// Settings of the kernel that each network has for itself, and that a load depends on.
const SETTINGS: [&str; 9] = [
    "core/somaxconn",
    "ipv4/ip_local_port_range",
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_fin_timeout",
    "ipv4/tcp_max_syn_backlog",
    "ipv4/tcp_rmem",
    "ipv4/tcp_slow_start_after_idle",
    "ipv4/tcp_tw_reuse",
    "ipv4/tcp_wmem",
];
/// From which port on anybody may listen.
const OPEN_PORTS: &str = "ipv4/ip_unprivileged_port_start";

/// A network namespace that is held open.
#[derive(Debug, Clone)]
pub struct Network(Arc<OwnedFd>);

impl Network {
    /// The one that a process is in.
    ///
    /// # Errors
    /// When the process is gone, or may not be looked at.
    pub fn of(process: u32) -> io::Result<Self> {
        let file = File::open(format!("/proc/{process}/ns/net"))?;
        Ok(Self(Arc::new(file.into())))
    }

    /// A new one with loopback and no way out, where anybody may listen at any port. It has this
    /// one's settings. It takes root.
    ///
    /// # Errors
    /// When this user may not, or the kernel makes none.
    pub fn new() -> io::Result<Self> {
        let make = || {
            let settings = SETTINGS.map(|name| (name, std::fs::read(setting(name))));
            // SAFETY: the thread leaves one namespace; it has no socket and shares no other state.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
            for (name, value) in settings {
                // What one kernel has for each network, another one has for all.
                let _ = value.and_then(|value| std::fs::write(setting(name), value));
            }
            std::fs::write(setting(OPEN_PORTS), "0")?;
            raise_loopback()?;
            let file = File::open("/proc/thread-self/ns/net")?;
            Ok(Self(Arc::new(file.into())))
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, make)?;
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Gives its loopback more addresses, besides those that each has.
    ///
    /// # Errors
    /// When this user may not.
    pub fn add_addresses(&self, addresses: &[IpAddr]) -> io::Result<()> {
        self.within(|| addresses.iter().try_for_each(|&it| add_address(it)))?
    }

    /// Lets the calling thread, and the threads that it starts, make their sockets there from now
    /// on. It takes root.
    ///
    /// # Errors
    /// When this user may not.
    pub fn enter(&self) -> io::Result<()> {
        let kind = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(self.0.as_fd(), kind)?)
    }

    /// Does something there, in a thread that ends with it.
    ///
    /// # Errors
    /// When this user may not, or no thread can be had.
    pub fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let enter = || self.enter().map(|()| act());
            let thread = std::thread::Builder::new().spawn_scoped(scope, enter)?;
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// The same, where there is one to do it in; else here.
///
/// # Errors
/// Those of [`Network::within`].
pub fn within<T: Send>(network: Option<&Network>, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    match network {
        Some(network) => network.within(act),
        None => Ok(act()),
    }
}

/// Where the kernel shows a setting of the calling thread's network.
fn setting(name: &str) -> String {
    format!("/proc/sys/net/{name}")
}

fn raise_loopback() -> io::Result<()> {
    // `struct ifinfomsg`: family and kind left open, then its number, its flags and which of them.
    let numbers = [
        0,
        LOOPBACK,
        libc::IFF_UP.cast_unsigned(),
        libc::IFF_UP.cast_unsigned(),
    ];
    let order: Vec<u8> = numbers.iter().flat_map(|it| it.to_ne_bytes()).collect();
    netlink::carry_out(libc::RTM_NEWLINK, 0, &order)
}

/// Gives loopback one more address.
fn add_address(address: IpAddr) -> io::Result<()> {
    let (family, bytes) = match address {
        IpAddr::V4(ip) => (libc::AF_INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6, ip.octets().to_vec()),
    };
    let length = bytes.len() as u8;
    // `struct ifaddrmsg`: family, length of the prefix, flags, scope, then the interface; and one
    // attribute: its length, its kind, and the address.
    let mut order = vec![family as u8, 8 * length, 0, 0];
    order.extend(LOOPBACK.to_ne_bytes());
    order.extend((4 + u16::from(length)).to_ne_bytes());
    order.extend(libc::IFA_LOCAL.to_ne_bytes());
    order.extend(bytes);
    let flags = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
    netlink::carry_out(libc::RTM_NEWADDR, flags, &order)
}

impl PartialEq for Network {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Network {}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process in a network of its own.
    struct Elsewhere(Child);

    impl Elsewhere {
        fn start() -> Option<Self> {
            if !rustix::process::geteuid().is_root() {
                eprintln!("PASSED OVER: only root makes and enters networks");
                return None;
            }
            let script = "ip link set lo up; echo; exec sleep 600";
            let mut command = Command::new("unshare");
            command.args(["--net", "sh", "-c", script]);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut ready = [0];
            let output = child.stdout.as_mut().unwrap();
            io::Read::read_exact(output, &mut ready).unwrap();
            Some(Self(child))
        }
    }

    impl Drop for Elsewhere {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn sockets_are_made_in_the_network_that_was_entered() {
        let Some(other) = Elsewhere::start() else {
            return;
        };
        let network = Network::of(other.0.id()).unwrap();
        let bind = || TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = network.within(bind).unwrap();
        let address = listener.local_addr().unwrap();
        assert!(
            network
                .within(|| TcpStream::connect(address))
                .unwrap()
                .is_ok()
        );
        assert!(TcpStream::connect(address).is_err(), "it is not here");
        let seen = || crate::listening().unwrap();
        let is_it = |one: &crate::TcpSocket| one.own == address;
        assert!(network.within(seen).unwrap().iter().any(is_it));
        assert!(!seen().iter().any(is_it));
    }

    #[test]
    fn a_new_one_has_loopback_and_no_way_out() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("PASSED OVER: only root makes networks");
            return;
        }
        let network = Network::new().unwrap();
        let elsewhere = Ipv4Addr::new(192, 0, 2, 7).into();
        let beyond = "2001:db8::7".parse().unwrap();
        network.add_addresses(&[elsewhere, beyond]).unwrap();
        let connects = |(ip, port): (IpAddr, u16)| {
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).unwrap();
            let port = listener.local_addr().unwrap().port();
            TcpStream::connect((ip, port)).map_err(|cause| cause.kind())
        };
        let inside = |to| network.within(|| connects(to)).unwrap();
        assert!(inside((Ipv4Addr::LOCALHOST.into(), 80)).is_ok());
        assert!(inside((elsewhere, 443)).is_ok());
        assert!(inside((beyond, 443)).is_ok());
        for nowhere in ["192.0.2.8", "10.0.0.1", "2001:db8::8"] {
            let failed = inside((nowhere.parse().unwrap(), 0)).unwrap_err();
            assert_eq!(failed, io::ErrorKind::NetworkUnreachable, "{nowhere}");
        }
    }

    #[test]
    fn a_process_that_is_gone_has_none() {
        assert!(Network::of(u32::MAX).is_err());
    }
}
