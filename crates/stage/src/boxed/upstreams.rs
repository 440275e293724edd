//! Where the upstream of a box listens: at each address that the file asks.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::{LOCALHOST, NAMED, parts_of};
use crate::found::{Found, Listener, UpstreamKind};
use crate::listening::LOOPBACK;

/// Each has a loop of the upstream for itself.
const UPSTREAMS_MAX: usize = 64;

/// An upstream at a port where the file listens.
#[derive(Debug, thiserror::Error)]
#[error("upstream {upstream} has the port of a listener of the file ({file}:{line})")]
pub(super) struct Clash {
    upstream: String,
    file: String,
    line: usize,
}

/// The addresses that a configuration asks over HTTP, each once.
///
/// # Errors
/// When the file listens at one of them.
pub(super) fn of(found: &Found) -> Result<Vec<SocketAddr>, Clash> {
    let mut all = Vec::new();
    let of_http = |kind| matches!(kind, UpstreamKind::Http | UpstreamKind::Tcp);
    for upstream in found.upstreams.iter().filter(|it| of_http(it.kind)) {
        let Some((host, port)) = parts_of(&upstream.address) else {
            continue;
        };
        for ip in ips_of(&host) {
            let address = SocketAddr::new(ip, port);
            if all.contains(&address) || all.len() == UPSTREAMS_MAX {
                continue;
            }
            if let Some(listener) = found.listeners.iter().find(|it| is_at(it, address)) {
                return Err(Clash {
                    upstream: upstream.address.clone(),
                    file: listener.place.file.display().to_string(),
                    line: listener.place.line,
                });
            }
            all.push(address);
        }
    }
    Ok(all)
}

/// Upstreams that nobody answers: those over TLS, and those at no address that a box has.
pub(super) fn unanswered(found: &Found) -> Vec<String> {
    let is_answered = |address: &str| {
        let ips = parts_of(address).map(|(host, _)| ips_of(&host));
        !address.starts_with("https:") && ips.is_some_and(|ips| !ips.is_empty())
    };
    let all = found.upstreams.iter().map(|it| &it.address);
    all.filter(|it| !is_answered(it)).cloned().collect()
}

/// Where a host is in a box; nowhere for an address that loopback cannot have.
fn ips_of(host: &str) -> Vec<IpAddr> {
    match host.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(ip) if ip.is_multicast() || is_link_local(ip) => Vec::new(),
        Ok(IpAddr::V6(ip)) if ip.is_unspecified() => vec![Ipv6Addr::LOCALHOST.into()],
        Ok(ip) if ip.is_unspecified() => vec![LOOPBACK],
        Ok(ip) => vec![ip],
        Err(_) if host == LOCALHOST => vec![LOOPBACK, Ipv6Addr::LOCALHOST.into()],
        Err(_) => vec![NAMED.into()],
    }
}

/// Whether it is an address of version 6 that says nothing without the name of an interface.
fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.segments()[0] & 0xffc0 == 0xfe80)
}

/// Whether it is where a listener will be.
fn is_at(listener: &Listener, address: SocketAddr) -> bool {
    let own = listener.address.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_other = own.is_ok_and(|own| !own.is_unspecified() && own != address.ip());
    listener.port == Some(address.port()) && !is_other
}

/// Those of them that loopback must be given first.
pub(super) fn beyond_loopback(upstreams: &[SocketAddr]) -> Vec<IpAddr> {
    let ips = upstreams.iter().map(SocketAddr::ip);
    let mut ips: Vec<IpAddr> = ips.filter(|ip| !ip.is_loopback()).collect();
    ips.sort();
    ips.dedup();
    ips
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Upstream;

    fn found(upstreams: &[&str], listeners: &[(&str, u16)]) -> Found {
        let upstream = |address: &&str| Upstream {
            address: (*address).to_owned(),
            ..Upstream::default()
        };
        let listener = |&(address, port): &(&str, u16)| Listener {
            address: address.to_owned(),
            port: Some(port),
            ..Listener::default()
        };
        Found {
            upstreams: upstreams.iter().map(upstream).collect(),
            listeners: listeners.iter().map(listener).collect(),
            ..Found::default()
        }
    }

    #[test]
    fn each_address_is_listened_at_once() {
        let asked = [
            "a:9000",
            "http://b:9000/",
            "localhost:70",
            "10.1.2.3:80",
            "127.0.0.2:80",
            "[2001:db8::1]:80",
            "[::ffff:10.1.2.3]:81",
            "0.0.0.0:82",
            "[::]:82",
            "[fe80::1]:80",
            "224.0.0.1:80",
            "https://a:9000",
        ];
        let found = found(&asked, &[("0.0.0.0", 8080), ("127.0.0.1", 80)]);
        let all = of(&found).unwrap();
        let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
        let expected = [
            "198.18.0.1:9000",
            "127.0.0.1:70",
            "[::1]:70",
            "10.1.2.3:80",
            "127.0.0.2:80",
            "[2001:db8::1]:80",
            "10.1.2.3:81",
            "127.0.0.1:82",
            "[::1]:82",
        ];
        assert_eq!(texts, expected);
        let nobodys = ["[fe80::1]:80", "224.0.0.1:80", "https://a:9000"];
        assert_eq!(unanswered(&found), nobodys);
        let added: Vec<String> = beyond_loopback(&all)
            .iter()
            .map(IpAddr::to_string)
            .collect();
        assert_eq!(added, ["10.1.2.3", "198.18.0.1", "2001:db8::1"]);
    }

    #[test]
    fn an_upstream_at_the_files_own_port_is_said() {
        for listens in ["*", "0.0.0.0", "[::]", "127.0.0.1", ""] {
            let clash = of(&found(&["localhost"], &[(listens, 80)])).unwrap_err();
            assert!(clash.to_string().contains("upstream localhost "), "{clash}");
        }
    }
}
