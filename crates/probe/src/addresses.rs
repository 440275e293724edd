//! The addresses of this host, as the kernel lists them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::file;

/// Addresses that are reported.
const ADDRESSES_MAX: usize = 256;

/// The addresses of this network namespace, without those of loopback.
pub fn own_addresses() -> Vec<IpAddr> {
    let mut buffer = Vec::new();
    let mut found = Vec::new();
    for (path, read) in [
        ("/proc/self/net/fib_trie", v4 as fn(&[u8]) -> Vec<IpAddr>),
        ("/proc/self/net/if_inet6", v6),
    ] {
        found.extend(file::read(path, &mut buffer).map(read).unwrap_or_default());
    }
    found.retain(|address| !address.is_loopback());
    found.sort_unstable();
    found.dedup();
    found.truncate(ADDRESSES_MAX);
    found
}

/// Local addresses in the routing table: a line with an address, and below it what it is.
pub(crate) fn v4(text: &[u8]) -> Vec<IpAddr> {
    let text = String::from_utf8_lossy(text);
    let mut found = Vec::new();
    let mut last = None;
    for line in text.lines() {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL" {
            found.extend(last.map(IpAddr::V4));
        }
    }
    found
}

/// Addresses of interfaces: 32 hexadecimal digits each, at the start of a line.
pub(crate) fn v6(text: &[u8]) -> Vec<IpAddr> {
    let text = String::from_utf8_lossy(text);
    let address = |line: &str| {
        let digits = line.split_whitespace().next()?;
        let bits = u128::from_str_radix(digits, 16).ok();
        bits.filter(|_| digits.len() == 32)
            .map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)))
    };
    text.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let trie = b"Local:\n  +-- 10.0.0.0/8 2 0 2\n     |-- 10.9.0.0\n        /24 link UNICAST\n\
            |-- 10.9.0.5\n        /32 host LOCAL\n|-- 10.9.0.255\n   /32 link BROADCAST\n";
        assert_eq!(v4(trie), ["10.9.0.5".parse::<IpAddr>().unwrap()]);
        let list = b"fd000000000000000000000000000002 04 40 00 82     eth0\n1 01 80 10 80 lo\n";
        assert_eq!(v6(list), ["fd00::2".parse::<IpAddr>().unwrap()]);
        assert!(own_addresses().iter().all(|it| !it.is_loopback()));
    }
}
