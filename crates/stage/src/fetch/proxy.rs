//! The PROXY protocol's header, as a proxy before the server would send it: that a connection is
//! from the one who opens it.
//!
//! The load engine has its own. This one is separate from it, as all of the fetch is.

use std::net::{IpAddr, SocketAddr};

use bakeoff_plan::ProxyVersion;

/// What begins a header of version 2.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// The header of a connection from `source` to `server`, whose addresses are of one family.
pub(super) fn header(version: ProxyVersion, source: SocketAddr, server: SocketAddr) -> Vec<u8> {
    let ports = (source.port(), server.port());
    if version == ProxyVersion::V1 {
        let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
        let (from, to) = (source.ip(), server.ip());
        return format!("PROXY {family} {from} {to} {} {}\r\n", ports.0, ports.1).into_bytes();
    }
    let mut addresses = Vec::new();
    for ip in [source.ip(), server.ip()] {
        match ip {
            IpAddr::V4(ip) => addresses.extend(ip.octets()),
            IpAddr::V6(ip) => addresses.extend(ip.octets()),
        }
    }
    addresses.extend(ports.0.to_be_bytes());
    addresses.extend(ports.1.to_be_bytes());
    let mut header = SIGNATURE.to_vec();
    // Version 2 and the command PROXY; the family with TCP.
    header.extend([0x21, if source.is_ipv4() { 0x11 } else { 0x21 }, 0]);
    header.push(addresses.len() as u8);
    header.extend(addresses);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_specification() {
        let header = |version, source: &str, server: &str| {
            header(version, source.parse().unwrap(), server.parse().unwrap())
        };
        assert_eq!(
            header(ProxyVersion::V1, "127.0.0.1:5", "127.0.0.2:80"),
            b"PROXY TCP4 127.0.0.1 127.0.0.2 5 80\r\n"
        );
        assert_eq!(
            header(ProxyVersion::V1, "[::1]:5", "[::1]:80"),
            b"PROXY TCP6 ::1 ::1 5 80\r\n"
        );
        let v2 = header(ProxyVersion::V2, "127.0.0.1:5", "127.0.0.2:80");
        assert_eq!(v2[..12], *SIGNATURE);
        assert_eq!(
            v2[12..],
            [0x21, 0x11, 0, 12, 127, 0, 0, 1, 127, 0, 0, 2, 0, 5, 0, 80]
        );
        let v2 = header(ProxyVersion::V2, "[::1]:5", "[::1]:80");
        assert_eq!((v2[13], v2[15], v2.len()), (0x21, 36, 52));
    }
}
