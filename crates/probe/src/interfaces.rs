//! Which network interfaces count, and what crossed them.
//!
//! A byte crosses a network card, and then the bond, the bridge and the VLAN above it, each of
//! which counts it. So only what lies lowest counts: what nothing else is above of. The kernel is
//! asked by netlink (`rtnetlink(7)`), because `/sys` may show another network namespace.

use bakeoff_record::NetCounts;

use crate::file::KeptFile;
use crate::kernel;
use crate::netlink::{self, HEADER_BYTES, Next, u16_at, u32_at};

/// `RTM_GETLINK`, and what it is answered with.
const GET_LINK: u16 = 18;
const NEW_LINK: u16 = 16;
/// Bytes of an interface before its attributes.
const INTERFACE_BYTES: usize = 16;
/// `ARPHRD_LOOPBACK`.
const LOOPBACK: u16 = 772;
/// Attributes: `IFLA_IFNAME`, `IFLA_LINK`, `IFLA_MASTER`, `IFLA_LINKINFO`, `IFLA_LINK_NETNSID`, and
/// `IFLA_INFO_KIND` in the fourth.
const NAME: u16 = 3;
const BELOW: u16 = 5;
const MASTER: u16 = 10;
const INFO: u16 = 18;
const NAMESPACE_BELOW: u16 = 37;
const INFO_KIND: u16 = 1;
/// Bits of an attribute's number that say how it is written.
const ATTRIBUTE_FLAGS: u16 = 0xc000;

/// Kinds whose packets travel in those of another interface, or are copies of them, without the
/// kernel saying of which.
const CARRIED: [&str; 15] = [
    "tun",
    "wireguard",
    "gre",
    "gretap",
    "erspan",
    "ip6gre",
    "ip6gretap",
    "ipip",
    "sit",
    "ip6tnl",
    "vti",
    "vxlan",
    "geneve",
    "openvswitch",
    "ifb",
];

/// An interface of this network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Interface {
    index: u32,
    name: String,
    is_loopback: bool,
    /// The one that it is a part or a port of.
    master: Option<u32>,
    /// The one that it is on top of, or the other end of a pair, where that is in this namespace.
    below: Option<u32>,
    /// What it is, as the kernel calls it; empty for hardware.
    kind: String,
}

/// What crosses the interfaces that count.
#[derive(Debug)]
pub(crate) struct Net {
    table: KeptFile,
    /// Their names; `None` where the kernel does not say, and all but loopback count.
    counted: Option<Vec<String>>,
}

impl Net {
    /// The interfaces as they are now.
    pub(crate) fn new(buffer: &mut Vec<u8>) -> Option<Self> {
        Some(Self {
            table: KeptFile::open("/proc/self/net/dev").ok()?,
            counted: all(buffer).map(|all| lowest(&all)),
        })
    }

    /// What has crossed them since they are there.
    pub(crate) fn read(&self, buffer: &mut Vec<u8>) -> Option<NetCounts> {
        kernel::interfaces(self.table.read(buffer)?, self.counted.as_deref())
    }
}

/// All interfaces; `None` where the kernel does not report.
fn all(buffer: &mut Vec<u8>) -> Option<Vec<Interface>> {
    let socket = netlink::open(None)?;
    let request: [u8; HEADER_BYTES + INTERFACE_BYTES] = netlink::request(GET_LINK);
    let mut all = Vec::new();
    netlink::ask(&socket, &request, buffer, |bytes| read(bytes, &mut all))?;
    Some(all)
}

/// Names of those that count: a byte that crosses this host crosses one of them.
fn lowest(all: &[Interface]) -> Vec<String> {
    let is_master = |one: &Interface| all.iter().any(|other| other.master == Some(one.index));
    // The ends of a pair are beside each other.
    let is_above = |one: &Interface| one.below.is_some() && one.kind != "veth";
    let lowest = all.iter().filter(|one| !one.is_loopback);
    let lowest = lowest.filter(|one| !is_master(one) && !is_above(one));
    let is_carried = |one: &&Interface| CARRIED.contains(&&*one.kind);
    let (carried, others): (Vec<&Interface>, Vec<&Interface>) = lowest.partition(is_carried);
    // What carries them may be in another namespace.
    let counted = if others.is_empty() { carried } else { others };
    counted.into_iter().map(|one| one.name.clone()).collect()
}

/// Adds the interfaces of one datagram of an answer to `found`.
pub(crate) fn read(bytes: &[u8], found: &mut Vec<Interface>) -> Next {
    netlink::messages(bytes, NEW_LINK, |message| found.extend(interface(message)))
}

fn interface(message: &[u8]) -> Option<Interface> {
    let mut one = Interface {
        index: u32_at(message, 4)?,
        is_loopback: u16_at(message, 2)? == LOOPBACK,
        ..Interface::default()
    };
    let mut is_elsewhere = false;
    attributes(
        message.get(INTERFACE_BYTES..)?,
        |number, value| match number {
            NAME => one.name = text(value),
            BELOW => one.below = u32_at(value, 0),
            MASTER => one.master = u32_at(value, 0),
            NAMESPACE_BELOW => is_elsewhere = true,
            INFO => attributes(value, |number, value| {
                if number == INFO_KIND {
                    one.kind = text(value);
                }
            }),
            _ => {}
        },
    );
    let index = one.index;
    one.below = one
        .below
        .filter(|below| !is_elsewhere && *below != 0 && *below != index);
    Some(one)
}

/// Passes on each attribute, by its number.
fn attributes(mut bytes: &[u8], mut each: impl FnMut(u16, &[u8])) {
    while let (Some(length), Some(number)) = (u16_at(bytes, 0), u16_at(bytes, 2)) {
        let length = usize::from(length);
        let Some(value) = bytes.get(4..length) else {
            return;
        };
        each(number & !ATTRIBUTE_FLAGS, value);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// A text that ends with a zero.
fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&value[..end.unwrap_or(value.len())]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message;

    /// Interfaces with numbers from 1 on: name, kind, master and what is below.
    #[track_caller]
    fn check(all: &[(&str, &str, u32, u32)], expected: &[&str]) {
        let number = |number: u32| (number > 0).then_some(number);
        let interface = |(at, one): (usize, &(&str, &str, u32, u32))| Interface {
            index: at as u32 + 1,
            name: one.0.to_owned(),
            is_loopback: one.0 == "lo",
            master: number(one.2),
            below: number(one.3),
            kind: one.1.to_owned(),
        };
        let all: Vec<Interface> = all.iter().enumerate().map(interface).collect();
        assert_eq!(lowest(&all), expected);
    }

    #[test]
    fn of_layers_only_the_lowest_counts() {
        check(&[("lo", "", 0, 0), ("eth0", "", 0, 0)], &["eth0"]);
        let bond = [
            ("lo", "", 0, 0),
            ("eth0", "", 4, 0),
            ("eth1", "", 4, 0),
            ("bond0", "bond", 6, 0),
            ("bond0.7", "vlan", 0, 4),
            ("br0", "bridge", 0, 0),
        ];
        check(&bond, &["eth0", "eth1"]);
        check(&[("eth0", "", 0, 0), ("m0", "macvlan", 0, 1)], &["eth0"]);
        check(&[("eth0", "", 0, 0), ("wg0", "wireguard", 0, 0)], &["eth0"]);
    }

    #[test]
    fn in_a_namespace_what_is_there_counts() {
        let of_container = [("lo", "", 0, 0), ("eth0", "veth", 0, 0)];
        check(&of_container, &["eth0"]);
        let both_ends = [("a", "veth", 0, 2), ("b", "veth", 0, 1)];
        check(&both_ends, &["a", "b"]);
        // As of a lab: this machine has its address on the bridge.
        check(&[("br0", "bridge", 0, 0), ("v1", "veth", 1, 0)], &["v1"]);
        check(&[("lo", "", 0, 0), ("wg0", "wireguard", 0, 0)], &["wg0"]);
        check(&[("lo", "", 0, 0)], &[]);
    }

    /// An attribute as the kernel writes it.
    fn attribute(number: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(number.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A VLAN above interface 2; what is below may be in another namespace.
    fn vlan(is_elsewhere: bool) -> Vec<u8> {
        let mut body = vec![0; INTERFACE_BYTES];
        body[2..4].copy_from_slice(&1_u16.to_ne_bytes());
        body[4..8].copy_from_slice(&5_u32.to_ne_bytes());
        body.extend(attribute(NAME, b"eth0.7\0"));
        body.extend(attribute(BELOW, &2_u32.to_ne_bytes()));
        body.extend(attribute(MASTER, &9_u32.to_ne_bytes()));
        let kind = attribute(INFO_KIND, b"vlan\0");
        body.extend(attribute(INFO | 0x8000, &kind));
        if is_elsewhere {
            body.extend(attribute(NAMESPACE_BELOW, &0_u32.to_ne_bytes()));
        }
        message(NEW_LINK, &body)
    }

    #[test]
    fn interfaces_are_read_as_the_kernel_writes_them() {
        let mut found = Vec::new();
        let bytes = [vlan(false), vlan(true)].concat();
        assert_eq!(read(&bytes, &mut found), Next::More);
        let expected = |below| Interface {
            index: 5,
            name: "eth0.7".to_owned(),
            is_loopback: false,
            master: Some(9),
            below,
            kind: "vlan".to_owned(),
        };
        assert_eq!(found, [expected(Some(2)), expected(None)]);
    }

    #[test]
    fn this_kernel_says_what_there_is() {
        let all = all(&mut Vec::new()).unwrap();
        let table = std::fs::read_to_string("/proc/self/net/dev").unwrap();
        assert!(all.iter().any(|one| one.is_loopback && one.name == "lo"));
        for one in &all {
            assert!(table.contains(&format!("{}:", one.name)), "{one:?}");
        }
    }

    #[test]
    fn cut_answers_never_panic() {
        let bytes = [vlan(true), message(3, &[0; 4])].concat();
        for end in 0..bytes.len() {
            for damage in [0, 1, 16, 0xff] {
                let mut cut = bytes[..=end].to_vec();
                cut[end] = damage;
                read(&cut, &mut Vec::new());
            }
        }
    }
}
