//! Where the servers of a stage listen.

use std::io::ErrorKind::AddrInUse;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

use bakeoff_record::Step;

use crate::error::StageError;
use crate::variables::Variables;

/// Another process may take a port between two looks at it.
const PORTS_TRIED: u32 = 3;

/// Where the servers of a stage listen, and what their certificates hold for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listening {
    /// Address of this host. Counters of servers are on loopback all the same.
    pub address: IpAddr,
    /// More names or addresses by which clients on other hosts ask.
    pub names: Vec<String>,
}

impl Default for Listening {
    /// For clients on this machine alone.
    fn default() -> Self {
        Self {
            address: LOOPBACK,
            names: Vec::new(),
        }
    }
}

/// Where what only this machine may ask listens.
pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Where that is what listens at an address of version 6, on a machine without such addresses. A
/// site may listen at the same port of version 4 too, which is at [`LOOPBACK`].
const IN_PLACE_OF_V6: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 6));

impl Listening {
    /// Names of a certificate for this place, beside those of every certificate.
    pub(crate) fn certificate_names(&self, usual: &[&str]) -> Vec<String> {
        let own = std::iter::once(self.address.to_string()).chain(self.names.iter().cloned());
        let mut names: Vec<String> = usual.iter().map(|name| (*name).to_owned()).collect();
        for name in own {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Sets what templates ask for: `address` as it stands before a colon and a port, and `ip`
    /// without the brackets of version 6. `address6` and `ip6` are for users' own files, of which
    /// that is loopback.
    pub(crate) fn set_variables(&self, variables: &mut Variables) {
        let v6 = loopback_of_v6();
        for (name, ip) in [("address", self.address), ("address6", v6)] {
            let address = match ip {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            };
            variables.set(name, address);
        }
        variables.set("ip", self.address.to_string());
        variables.set("ip6", v6.to_string());
    }

    /// Flags of one of bakeoff's own servers that listens here; none where it does so anyway.
    pub(crate) fn flags(&self) -> Option<[String; 2]> {
        let address = SocketAddr::new(self.address, 0).to_string();
        (self.address != LOOPBACK).then(|| ["--listen".to_owned(), address])
    }
}

/// Where what listens at an address of version 6 does so in a trial. Containers often have that
/// version and no such address: there `[::]:80` can be listened at, and `[::1]:80` cannot.
fn loopback_of_v6() -> IpAddr {
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    match UdpSocket::bind(SocketAddr::new(v6, 0)) {
        Ok(_) => v6,
        Err(_) => IN_PLACE_OF_V6,
    }
}

/// A port of `ip` that was free a moment ago, for TCP and for UDP: a server of HTTP/3 may listen on
/// both.
pub(crate) fn free_port_at(ip: IpAddr) -> Result<u16, StageError> {
    let any = SocketAddr::new(ip, 0);
    let fail = |cause| StageError::file(Step::Prepare, any.to_string(), cause);
    let mut tried = 0;
    loop {
        let listener = TcpListener::bind(any).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        match UdpSocket::bind(address) {
            Ok(_) => return Ok(address.port()),
            Err(cause) if cause.kind() == AddrInUse && tried < PORTS_TRIED => tried += 1,
            Err(cause) => return Err(fail(cause)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Listening {
        Listening {
            address: address.parse().expect("an address"),
            names: vec!["web.test".to_owned()],
        }
    }

    #[test]
    fn a_certificate_holds_for_the_address_and_the_names() {
        let usual = ["localhost", "127.0.0.1"];
        let names = |listening: Listening| listening.certificate_names(&usual);
        assert_eq!(names(Listening::default()), usual);
        let expected = ["localhost", "127.0.0.1", "10.0.0.5", "web.test"];
        assert_eq!(names(at("10.0.0.5")), expected);
    }

    #[test]
    fn a_port_is_free_at_the_address_asked_for() {
        let ip = at("127.0.0.2").address;
        let port = free_port_at(ip).expect("a port");
        TcpListener::bind((ip, port)).expect("it is free");
        // TEST-NET-1, which no machine has (RFC 5737).
        let error = free_port_at(at("192.0.2.1").address).expect_err("it is not ours");
        assert!(error.to_string().contains("192.0.2.1:0"), "{error}");
    }

    #[test]
    fn what_listens_at_version_6_has_a_loopback_on_every_machine() {
        let ip = loopback_of_v6();
        assert!(ip.is_loopback() && ip != LOOPBACK, "{ip}");
        for ip in [ip, IN_PLACE_OF_V6] {
            TcpListener::bind((ip, 0)).expect("this machine has it");
        }
    }

    #[test]
    fn own_servers_are_only_given_what_they_would_not_do_anyway() {
        assert_eq!(Listening::default().flags(), None);
        let flags = at("fd00::5").flags().expect("flags");
        assert_eq!(flags, ["--listen", "[fd00::5]:0"]);
    }
}
