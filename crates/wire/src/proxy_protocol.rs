//! The PROXY protocol, as a load balancer speaks it towards the servers behind it: which client
//! a connection is for, said before its first byte (HAProxy's `proxy-protocol.txt`, versions 1
//! and 2).
//!
//! Only the sending side, for TCP, without the optional fields of version 2.

use std::net::SocketAddr;

/// Which form the header has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// A binary header.
    V2,
}

/// What version 2 begins with.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, command PROXY.
const PROXY_COMMAND: u8 = 0x21;
/// IPv4 and TCP.
const TCP_OVER_IPV4: u8 = 0x11;
/// IPv6 and TCP.
const TCP_OVER_IPV6: u8 = 0x21;

/// The header for a connection from `source` to `destination`.
///
/// Addresses of two families have no common form: then the header says that the sender itself is
/// the client (`UNKNOWN`, or the command LOCAL).
pub fn encode(version: ProxyVersion, source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    match version {
        ProxyVersion::V1 => encode_v1(source, destination),
        ProxyVersion::V2 => encode_v2(source, destination),
    }
}

fn encode_v1(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let family = match (source, destination) {
        (SocketAddr::V4(_), SocketAddr::V4(_)) => "TCP4",
        (SocketAddr::V6(_), SocketAddr::V6(_)) => "TCP6",
        _ => return b"PROXY UNKNOWN\r\n".to_vec(),
    };
    let (from, to) = (source.ip(), destination.ip());
    format!(
        "PROXY {family} {from} {to} {} {}\r\n",
        source.port(),
        destination.port()
    )
    .into_bytes()
}

fn encode_v2(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    let (family, addresses) = match (source, destination) {
        (SocketAddr::V4(from), SocketAddr::V4(to)) => (
            TCP_OVER_IPV4,
            [from.ip().octets(), to.ip().octets()].concat(),
        ),
        (SocketAddr::V6(from), SocketAddr::V6(to)) => (
            TCP_OVER_IPV6,
            [from.ip().octets(), to.ip().octets()].concat(),
        ),
        _ => {
            // Version 2, command LOCAL, unspecified family, nothing follows.
            header.extend_from_slice(&[0x20, 0, 0, 0]);
            return header;
        }
    };
    // Two ports follow the addresses.
    let length = addresses.len() as u16 + 4;
    header.extend_from_slice(&[PROXY_COMMAND, family]);
    header.extend_from_slice(&length.to_be_bytes());
    header.extend_from_slice(&addresses);
    header.extend_from_slice(&source.port().to_be_bytes());
    header.extend_from_slice(&destination.port().to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_is_a_line() {
        let line = |from: &str, to: &str| {
            let header = encode(ProxyVersion::V1, from.parse().unwrap(), to.parse().unwrap());
            String::from_utf8(header).unwrap()
        };
        assert_eq!(
            line("192.0.2.1:56324", "192.0.2.2:443"),
            "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"
        );
        assert_eq!(line("[::1]:1", "[::2]:2"), "PROXY TCP6 ::1 ::2 1 2\r\n");
        assert_eq!(line("[::1]:1", "1.2.3.4:2"), "PROXY UNKNOWN\r\n");
    }

    #[test]
    fn version_2_has_signature_command_family_length_and_addresses() {
        let header = encode(
            ProxyVersion::V2,
            "192.0.2.1:258".parse().unwrap(),
            "192.0.2.2:443".parse().unwrap(),
        );
        assert_eq!(
            &header[..12],
            b"\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a"
        );
        assert_eq!(header[12..16], [0x21, 0x11, 0, 12]);
        assert_eq!(header[16..], [192, 0, 2, 1, 192, 0, 2, 2, 1, 2, 1, 187]);
        let v6 = encode(
            ProxyVersion::V2,
            "[::1]:1".parse().unwrap(),
            "[::2]:2".parse().unwrap(),
        );
        assert_eq!(v6[12..16], [0x21, 0x21, 0, 36]);
        assert_eq!(v6.len(), 16 + 36);
    }
}
