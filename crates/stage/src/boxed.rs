//! The box: a user's own file unchanged, with a network and a file system of its own.
//!
//! ```text
//! bakeoff ── keeper ── guard ── server, which reads the user's file where it lies
//!    ╎                            ╎      in a network of nothing but loopback
//!    ╰╌╌╌╌╌╌ the engine, the first answers and the upstream enter that network
//! ```
//!
//! The network is made before the upstream, which listens at each address that the file asks
//! ([`upstreams`]). What the file names and this machine has not is made ([`Quarters`]). How the
//! file system is put together is the keeper's (`keeper/room.rs`).

mod quarters;
mod upstreams;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bakeoff_plan::{ConfigSource, Contender, ServerChoice};
use bakeoff_probe::{Network, within};
use bakeoff_record::{Step, read_regular_text};
use rustix::thread::{CapabilitySet, capabilities};

use crate::error::{Cause, StageError};
use crate::found::Found;
use crate::host;
use crate::listening::Listening;
use crate::own::{FILE_BYTES_MAX, OwnFiles};
use crate::server::Server;
use crate::servers::Servers;
use crate::template;
pub(crate) use quarters::Quarters;

/// The network of a box, and where its upstreams are asked.
#[derive(Debug, Clone)]
pub struct Boxed {
    network: Network,
    upstreams: Vec<SocketAddr>,
    /// What was found in the file.
    found: Found,
}

/// What is missing where no box can be made.
pub(crate) const ROOT: &str = "use sudo, or in a container give it CAP_SYS_ADMIN and CAP_NET_ADMIN";

impl Boxed {
    /// Makes the network for a contender with a file that runs in a box, of one of these servers
    /// that listen here; `None` for any other.
    ///
    /// # Errors
    /// When the file cannot be read, a box cannot be reached from where the load comes, or no
    /// network can be made.
    pub fn of(
        contender: &Contender,
        servers: &Servers,
        listening: &Listening,
    ) -> Result<Option<Self>, StageError> {
        let ServerChoice::Program {
            server,
            config: ConfigSource::File(path),
            ..
        } = &contender.server
        else {
            return Ok(None);
        };
        let server = servers.find(server)?;
        let fail = |cause| StageError::file(Step::Prepare, path, cause);
        if !server.is_boxed() {
            return Ok(None);
        }
        let text = read_regular_text(path, FILE_BYTES_MAX).map_err(fail)?;
        if template::is_template(&text) {
            return Ok(None);
        }
        let lacking = |reason: String, fix: &str| {
            let fix = fix.to_owned();
            StageError::new(Step::Prepare, Cause::Lacking { reason, fix })
        };
        if !listening.address.is_loopback() {
            let title = server.title();
            return Err(lacking(
                format!("files of {title} run in a box, which no other host can reach"),
                "make it a template (docs/plan-files.md), or measure it on one host",
            ));
        }
        let own = OwnFiles::read(path, &server.own)?;
        let found = Found::read(&server.name, &own.texts());
        let upstreams = upstreams::of(&found).map_err(|clash| {
            let fix = "write another port for one of them: in a box both are at this machine";
            lacking(clash.to_string(), fix)
        })?;
        let network = Network::new().and_then(|network| {
            network.add_addresses(&upstreams::beyond_loopback(&upstreams))?;
            Ok(network)
        });
        let network = network.map_err(|cause| {
            let reason = format!("no network for a box can be made here: {cause}");
            lacking(reason, ROOT)
        })?;
        Ok(Some(Self {
            network,
            upstreams,
            found,
        }))
    }

    pub(crate) fn network(&self) -> Network {
        self.network.clone()
    }

    /// Flags for an upstream that listens wherever it is asked.
    pub(crate) fn flags(&self) -> Vec<String> {
        let flag = |(number, address): (usize, &SocketAddr)| {
            let name = if number == 0 { "--listen" } else { "--also" };
            [name.to_owned(), address.to_string()]
        };
        let all = self.upstreams.iter().enumerate().flat_map(flag);
        all.collect()
    }
}

/// Starts something in a network, where there is one to do it in.
pub(crate) fn started_in<T: Send>(
    network: Option<&Network>,
    start: impl FnOnce() -> Result<T, StageError> + Send,
) -> Result<T, StageError> {
    let entered = within(network, start);
    entered.map_err(|cause| StageError::new(Step::Start, Cause::Network { cause }))?
}

impl Server {
    /// Whether users' own files run in a box here.
    pub(crate) fn is_boxed(&self) -> bool {
        self.own.boxed && can_be_made()
    }
}

/// Whether this process may make a box.
fn can_be_made() -> bool {
    let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    let has = || capabilities(None).is_ok_and(|it| it.effective.contains(wanted));
    rustix::process::geteuid().is_root() && has() && !host::is_without("box")
}

/// The name that is loopback's everywhere.
const LOCALHOST: &str = "localhost";
/// Where names of upstreams lead. It is none of loopback's: a resolver that knows a name by an
/// address of loopback may take it for the same of version 6.
const NAMED: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// Looks where a configuration's upstreams would be in a box.
pub(crate) fn fuzz(found: &Found) {
    let _ = upstreams::of(found);
    let _ = upstreams::unanswered(found);
    for line in quarters::hosts(found).lines() {
        let parts: Vec<&str> = line.split(' ').collect();
        assert!(matches!(parts[..], [ip, _] if ip.parse::<IpAddr>().is_ok()));
    }
}

/// The address and port of something like `http://name:80/path`, as far as it says them.
fn parts_of(address: &str) -> Option<(String, u16)> {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    let place = rest.split('/').next()?;
    let usual = if scheme == "https" { 443 } else { 80 };
    if let Ok(whole) = place.parse::<SocketAddr>() {
        return Some((whole.ip().to_string(), whole.port()));
    }
    if let Ok(ip) = place.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Some((ip.to_string(), usual));
    }
    let (name, port) = match place.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().ok()?),
        None => (place, usual),
    };
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_name = !name.is_empty() && name.len() < 254 && name.chars().all(is_of_name);
    (is_name && port > 0).then(|| (name.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (text, host, port) in [
            ("http://127.0.0.1:9000/", "127.0.0.1", 9000),
            ("https://app.test", "app.test", 443),
            ("h2c://app", "app", 80),
            ("app_1:8080", "app_1", 8080),
            ("[::1]:90", "::1", 90),
            ("http://[::1]/x", "::1", 80),
            ("10.0.0.1", "10.0.0.1", 80),
        ] {
            assert_eq!(parts_of(text), Some((host.to_owned(), port)), "{text}");
        }
        for text in ["", "unix:/run/a", "a b:1", "http://$host:80", "a:0", "a:b"] {
            assert_eq!(parts_of(text), None, "{text}");
        }
    }
}
