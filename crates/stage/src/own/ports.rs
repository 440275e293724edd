//! Ports of users' own files, as a trial uses them.
//!
//! All that listens does so at one address of this machine, so that two addresses with one port
//! get two ports.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind::AddrInUse;
use std::net::{Ipv4Addr, TcpListener};

use crate::prepared::free_port;

/// Ports below this are the system's, and often in use by the very server that is tuned.
const FIRST_OF_USERS: u16 = 1024;
/// Free ports that are asked for until one is no other's here.
const ATTEMPTS: usize = 100;

/// Another port for each of the system's, for each that is in use, and for each but the first
/// address that has it; the others stay.
#[derive(Debug)]
pub(crate) struct Ports {
    known: RefCell<Known>,
    /// Whether nobody listens at a port.
    is_free: fn(u16) -> bool,
}

impl Default for Ports {
    fn default() -> Self {
        Self {
            known: RefCell::default(),
            is_free,
        }
    }
}

#[derive(Debug, Default)]
struct Known {
    /// The addresses of each port, in their order; those of version 6 for themselves, as they do
    /// not clash with others.
    hosts: BTreeMap<(u16, bool), Vec<String>>,
    /// What stands for a port of the first address, the second and so on.
    ports: BTreeMap<(u16, usize), u16>,
}

impl Ports {
    /// Those of a machine where nobody listens.
    #[cfg(test)]
    pub(crate) fn all_free() -> Self {
        Self {
            is_free: |_| true,
            ..Self::default()
        }
    }

    /// The port that stands for `own` of every address, the same one each time.
    pub(super) fn of(&self, own: u16) -> Result<u16, String> {
        self.at("", own)
    }

    /// The port that stands for `own` of an address as a file has it, the same one each time.
    pub(super) fn at(&self, host: &str, own: u16) -> Result<u16, String> {
        let mut known = self.known.borrow_mut();
        let (host, is_v6) = read(host);
        let hosts = known.hosts.entry((own, is_v6)).or_default();
        let position = hosts.iter().position(|it| *it == host);
        let position = position.unwrap_or_else(|| {
            hosts.push(host);
            hosts.len() - 1
        });
        if let Some(port) = known.ports.get(&(own, position)) {
            return Ok(*port);
        }
        let port = if position == 0 && own >= FIRST_OF_USERS && (self.is_free)(own) {
            own
        } else {
            known.another()?
        };
        known.ports.insert((own, position), port);
        Ok(port)
    }

    /// The port that stood for `own` of an address.
    pub(crate) fn known(&self, host: &str, own: u16) -> u16 {
        let known = self.known.borrow();
        let (host, is_v6) = read(host);
        let mut hosts = known.hosts.get(&(own, is_v6)).into_iter().flatten();
        let position = hosts.position(|it| *it == host).unwrap_or(0);
        known.ports.get(&(own, position)).copied().unwrap_or(own)
    }
}

impl Known {
    /// A free port that stands for no other.
    fn another(&self) -> Result<u16, String> {
        let mut port = 0;
        for _ in 0..ATTEMPTS {
            port = free_port().map_err(|error| error.to_string())?;
            if !self.ports.values().any(|taken| *taken == port) {
                break;
            }
        }
        Ok(port)
    }
}

/// An address in one of the ways that it can be written in, and whether it is of version 6.
fn read(host: &str) -> (String, bool) {
    let (kind, host) = host.rsplit_once('@').unwrap_or(("", host));
    let is_v6 = host.contains(':') || kind.ends_with('6');
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let host = match host.as_str() {
        "*" | "0.0.0.0" | "::" => "",
        "localhost" if is_v6 => "::1",
        "localhost" => "127.0.0.1",
        other => other,
    };
    (host.to_owned(), is_v6)
}

/// Whether nobody listens there.
fn is_free(port: u16) -> bool {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    !listener.is_err_and(|cause| cause.kind() == AddrInUse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_of_a_port_has_a_port_of_its_own() {
        let ports = Ports::all_free();
        let [every, first, second] =
            ["*", "192.0.2.10", "192.0.2.11"].map(|host| ports.at(host, 80).unwrap());
        assert!(every != first && first != second && second != every);
        for (host, port) in [
            ("", every),
            ("0.0.0.0", every),
            ("[::]", every),
            ("ipv6@*", every),
            ("ipv4@192.0.2.10", first),
            ("192.0.2.11", second),
            // The second address of version 6.
            ("[2001:db8::10]", first),
        ] {
            assert_eq!(ports.at(host, 80).unwrap(), port, "{host}");
            assert_eq!(ports.known(host, 80), port, "{host}");
        }
        assert_eq!(ports.of(80).unwrap(), every);
        assert_eq!(ports.known("192.0.2.99", 80), every);
        assert_eq!(ports.known("*", 81), 81);
    }
}
