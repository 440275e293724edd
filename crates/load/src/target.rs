//! Where requests go: a URL cut into what a request and a socket need.

use std::net::{SocketAddr, ToSocketAddrs};

/// A URL that the engine can load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The URL as given.
    pub url: String,
    /// Value of `Host`: the host, with its port where that is not 80.
    pub host: String,
    /// Path and query, at least `/`.
    pub path: String,
    /// Addresses to connect to; never empty. Connections are spread over them in turn.
    pub addresses: Vec<SocketAddr>,
}

/// Why a URL cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It has no scheme, or one that is not spoken.
    #[error("URL {0:?} must start with http:// (https is not built yet)")]
    Scheme(String),
    /// It has no host, or the host or port is malformed.
    #[error("URL {0:?} must name a host, as in http://127.0.0.1:8080/")]
    Host(String),
    /// The name did not resolve.
    #[error("failed to resolve host {host:?}: {source}")]
    Resolve {
        /// Host and port.
        host: String,
        /// The resolver's answer.
        source: std::io::Error,
    },
    /// The name resolved to nothing.
    #[error("host {0:?} has no address")]
    NoAddress(String),
}

impl Target {
    /// Reads `url` and resolves its host, or `connect_to` (`HOST:PORT`) in its place.
    pub fn resolve(url: &str, connect_to: Option<&str>) -> Result<Self, TargetError> {
        let (authority, path) = split(url)?;
        let address = connect_to.map_or_else(|| with_port(authority), str::to_owned);
        let resolve = |source| TargetError::Resolve {
            host: address.clone(),
            source,
        };
        let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(resolve)?.collect();
        // One family only: a dual-stack name would put half the load on an address that the
        // server may not listen on.
        let family = addresses.first().map(SocketAddr::is_ipv4);
        let addresses: Vec<SocketAddr> = addresses
            .into_iter()
            .filter(|each| Some(each.is_ipv4()) == family)
            .collect();
        if addresses.is_empty() {
            return Err(TargetError::NoAddress(address));
        }
        Ok(Self {
            url: url.to_owned(),
            host: authority.to_owned(),
            path,
            addresses,
        })
    }

    /// A target at a known address.
    pub fn at(address: SocketAddr, path: &str) -> Self {
        Self {
            url: format!("http://{address}{path}"),
            host: address.to_string(),
            path: path.to_owned(),
            addresses: vec![address],
        }
    }
}

/// Cuts a URL into authority and path with query; the fragment stays with the client.
fn split(url: &str) -> Result<(&str, String), TargetError> {
    let scheme_end = url
        .find("://")
        .ok_or_else(|| TargetError::Scheme(url.to_owned()))?;
    if !url[..scheme_end].eq_ignore_ascii_case("http") {
        return Err(TargetError::Scheme(url.to_owned()));
    }
    let rest = &url[scheme_end + 3..];
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.strip_suffix(":80").unwrap_or(authority);
    let malformed = host.is_empty() || host.contains('@') || host.contains(char::is_whitespace);
    if malformed {
        return Err(TargetError::Host(url.to_owned()));
    }
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    Ok((host, path))
}

/// Host and port, 80 where none is named. An IPv6 address stands in brackets.
fn with_port(authority: &str) -> String {
    let after_brackets = authority.rfind(']').map_or(0, |at| at + 1);
    if authority[after_brackets..].contains(':') {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, host: &str, path: &str, address: &str) {
        let target = Target::resolve(url, None).unwrap();
        assert_eq!(
            (target.host.as_str(), target.path.as_str()),
            (host, path),
            "{url}"
        );
        assert_eq!(target.addresses, [address.parse().unwrap()]);
    }

    #[test]
    fn urls_become_host_path_and_address() {
        check("http://127.0.0.1:81", "127.0.0.1:81", "/", "127.0.0.1:81");
        check(
            "HTTP://127.0.0.1/a?b=c#d",
            "127.0.0.1",
            "/a?b=c",
            "127.0.0.1:80",
        );
        check("http://127.0.0.1:80?q", "127.0.0.1", "/?q", "127.0.0.1:80");
        check("http://[::1]:8080/x", "[::1]:8080", "/x", "[::1]:8080");
        check("http://[::1]/", "[::1]", "/", "[::1]:80");
    }

    #[test]
    fn connect_to_changes_the_address_and_not_the_host() {
        let target = Target::resolve("http://example.test/", Some("127.0.0.1:9")).unwrap();
        assert_eq!(target.host, "example.test");
        assert_eq!(target.addresses, ["127.0.0.1:9".parse().unwrap()]);
    }

    #[test]
    fn other_urls_are_refused_with_a_reason() {
        for url in [
            "127.0.0.1:80",
            "ftp://a/",
            "https://a/",
            "http://",
            "http:///x",
            "http://a b/",
        ] {
            assert!(Target::resolve(url, None).is_err(), "{url}");
        }
    }
}
