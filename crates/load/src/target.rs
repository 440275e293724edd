//! Where requests go: a URL cut into what a request and a socket need.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use bakeoff_plan::{ascii_authority, encoded_target};
use serde::{Deserialize, Serialize};

/// Most addresses of a name that connections may lead to.
const ADDRESSES_MAX: usize = 64;

/// A URL that the engine can load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The URL as given.
    pub url: String,
    /// Whether the URL asks for TLS.
    pub secure: bool,
    /// Value of `Host`: the host, with its port where that is not the scheme's own.
    pub host: String,
    /// Path and query, at least `/`.
    pub path: String,
    /// Where to connect, in the resolver's order; never empty.
    pub endpoints: Vec<Endpoint>,
}

/// Where a connection goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Endpoint {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// What takes the place of a URL's host when connecting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectTo {
    /// The URL's own host and port.
    Url,
    /// `HOST:PORT`.
    Host(String),
    /// A unix socket.
    Unix(PathBuf),
}

/// Why a URL cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It has no scheme, or one that is not spoken.
    #[error("URL {0:?} must start with http:// or https://")]
    Scheme(String),
    /// It has a user's name or password, which must not be shown.
    #[error(
        "URL {0:?} has a name or a password in it: remove them, and give them with \
         -u USER:PASSWORD"
    )]
    UserInfo(String),
    /// It has no host, or the host or port is malformed.
    #[error("URL {0:?} must name a host, as in http://127.0.0.1:8080/")]
    Host(String),
    /// The name of the host has no form in ASCII that is known here.
    #[error(
        "host {0:?} has letters whose form in ASCII is not known here; write that form, as in \
         xn--4ca.example"
    )]
    Name(String),
    /// What takes the place of the URL's host has no port, or no number for one.
    #[error(
        "--connect-to {0:?} is not HOST:PORT: write an address with its port, such as \
         127.0.0.1:8080 or [::1]:8080"
    )]
    ConnectTo(String),
    /// Its port is no number, or one on which nothing listens.
    #[error("{0:?} has no port from 1 to 65535: name the port of the server")]
    Port(String),
    /// Its address is of one interface alone.
    #[error(
        "{0:?} is an IPv6 address with a zone, which cannot be asked: use another address of that \
         server"
    )]
    Zone(String),
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
    /// Reads `url` and finds out where to connect.
    pub fn resolve(url: &str, connect_to: &ConnectTo) -> Result<Self, TargetError> {
        let (secure, authority, path) = split(url)?;
        let default_port = if secure { 443 } else { 80 };
        let endpoints = match connect_to {
            ConnectTo::Unix(socket) => vec![Endpoint::Unix(socket.clone())],
            ConnectTo::Host(host) if !has_port(host) => {
                return Err(TargetError::ConnectTo(host.clone()));
            }
            ConnectTo::Host(host) => addresses(host.clone())?,
            ConnectTo::Url => addresses(with_port(&authority, default_port))?,
        };
        Ok(Self {
            url: url.to_owned(),
            secure,
            host: without_port(&authority, default_port).to_owned(),
            path,
            endpoints,
        })
    }

    /// Reads `url`, which must be of the same server: nothing is looked up again, for thousands
    /// of URLs. `None` where its scheme, host or port differs.
    pub fn beside(&self, url: &str) -> Result<Option<Self>, TargetError> {
        let (secure, authority, path) = split(url)?;
        let default_port = if secure { 443 } else { 80 };
        let host = without_port(&authority, default_port);
        let is_same = secure == self.secure && host.eq_ignore_ascii_case(&self.host);
        Ok(is_same.then(|| Self {
            url: url.to_owned(),
            path,
            ..self.clone()
        }))
    }

    /// A target in the clear at a known address.
    pub fn at(address: SocketAddr, path: &str) -> Self {
        Self {
            url: format!("http://{address}{path}"),
            secure: false,
            host: address.to_string(),
            path: path.to_owned(),
            endpoints: vec![Endpoint::Tcp(address)],
        }
    }

    /// The host without its port.
    pub(crate) fn host_name(&self) -> &str {
        let after_brackets = self.host.rfind(']').map_or(0, |at| at + 1);
        let colon = self.host[after_brackets..].find(':');
        &self.host[..colon.map_or(self.host.len(), |at| after_brackets + at)]
    }
}

impl Endpoint {
    /// Whether it is one of IPv4; a socket file goes with those.
    pub(crate) fn is_v4(&self) -> bool {
        match self {
            Self::Tcp(address) => address.is_ipv4(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(out),
            Self::Unix(path) => path.display().fmt(out),
        }
    }
}

/// Addresses of `host`.
fn addresses(host: String) -> Result<Vec<Endpoint>, TargetError> {
    let port = host.rsplit(':').next().map(str::parse::<u16>);
    if !matches!(port, Some(Ok(1..))) {
        return Err(TargetError::Port(host));
    }
    if host.starts_with('[') && host.contains('%') {
        return Err(TargetError::Zone(host));
    }
    let found = host.to_socket_addrs();
    let found = found.map_err(|source| TargetError::Resolve {
        host: host.clone(),
        source,
    })?;
    let endpoints: Vec<Endpoint> = found.map(Endpoint::Tcp).take(ADDRESSES_MAX).collect();
    if endpoints.is_empty() {
        Err(TargetError::NoAddress(host))
    } else {
        Ok(endpoints)
    }
}

/// Whether a text is a host with a port behind it. That of `::1` is none, for want of brackets.
fn has_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let is_bare_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    !host.is_empty() && !is_bare_v6 && port.parse::<u16>().is_ok()
}

/// `url` with what may let somebody in replaced by dots, which is a user's name and password and
/// what stands in the query or fragment: for messages, which end up in logs.
pub fn shown_url(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let start = url[..end].find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(start);
    let (user, rest) = match user_end(rest) {
        Some(at) => ("...", &rest[at..]),
        None => ("", rest),
    };
    let (before, behind) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let behind = match behind.len() {
        0 | 1 => behind.to_owned(),
        _ => format!("{}...", &behind[..1]),
    };
    format!("{scheme}{user}{before}{behind}")
}

/// Where a user's name and password end in a URL without its scheme: at the `@`. A password may
/// hold a slash that somebody forgot to encode; then what stands before that slash has a colon and
/// behind it no port.
fn user_end(rest: &str) -> Option<usize> {
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    authority.rfind('@').or_else(|| {
        let after_brackets = authority.rfind(']').map_or(0, |at| at + 1);
        let (_, port) = authority[after_brackets..].split_once(':')?;
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        rest.rfind('@').filter(|_| !is_port)
    })
}

/// Cuts a URL into TLS or not, authority, and path with query; the fragment stays with the
/// client.
fn split(url: &str) -> Result<(bool, String, String), TargetError> {
    let scheme = || TargetError::Scheme(shown_url(url));
    let scheme_end = url.find("://").ok_or_else(scheme)?;
    let secure = match url[..scheme_end].to_ascii_lowercase().as_str() {
        "http" => false,
        "https" => true,
        _ => return Err(scheme()),
    };
    let whole = &url[scheme_end + 3..];
    if user_end(whole).is_some() {
        return Err(TargetError::UserInfo(shown_url(url)));
    }
    let rest = whole.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let bare = authority.trim_start_matches(':');
    let malformed =
        bare.is_empty() || authority.starts_with(':') || authority.contains(char::is_whitespace);
    if malformed {
        return Err(TargetError::Host(shown_url(url)));
    }
    let name = || TargetError::Name(authority.to_owned());
    let authority = ascii_authority(authority).ok_or_else(name)?;
    Ok((secure, authority, encoded_target(path)))
}

/// The authority without the scheme's own port.
fn without_port(authority: &str, default: u16) -> &str {
    authority
        .strip_suffix(&format!(":{default}"))
        .unwrap_or(authority)
}

/// Host and port, `default` where none is named. An IPv6 address stands in brackets.
fn with_port(authority: &str, default: u16) -> String {
    let after_brackets = authority.rfind(']').map_or(0, |at| at + 1);
    if authority[after_brackets..].contains(':') {
        authority.to_owned()
    } else {
        format!("{authority}:{default}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, host: &str, path: &str, address: &str) {
        let target = Target::resolve(url, &ConnectTo::Url).unwrap();
        assert_eq!(
            (target.host.as_str(), target.path.as_str()),
            (host, path),
            "{url}"
        );
        assert_eq!(target.endpoints, [Endpoint::Tcp(address.parse().unwrap())]);
    }

    #[test]
    fn what_is_no_port_and_no_address_is_refused_at_once() {
        for url in [
            "http://127.0.0.1:0/",
            "http://127.0.0.1:99999/",
            "http://localhost:/",
            "http://a.invalid:x",
            "http://[::1]:00",
            "https://a.invalid:0",
        ] {
            let refused = Target::resolve(url, &ConnectTo::Url);
            assert!(matches!(refused, Err(TargetError::Port(_))), "{refused:?}");
        }
        let refused = Target::resolve("http://a/", &ConnectTo::Host("127.0.0.1:0".to_owned()));
        assert!(matches!(refused, Err(TargetError::Port(_))), "{refused:?}");
        let refused = Target::resolve("http://[fe80::1%25lo]/", &ConnectTo::Url);
        assert!(matches!(refused, Err(TargetError::Zone(_))), "{refused:?}");
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
        check(
            "http://127.0.0.1/%20/\u{fc} ?\u{20ac}",
            "127.0.0.1",
            "/%20/%C3%BC%20?%E2%82%AC",
            "127.0.0.1:80",
        );
        check("http://[::1]:8080/x", "[::1]:8080", "/x", "[::1]:8080");
        check("http://[::1]/", "[::1]", "/", "[::1]:80");
        check("https://127.0.0.1/", "127.0.0.1", "/", "127.0.0.1:443");
        check("https://127.0.0.1:80/", "127.0.0.1:80", "/", "127.0.0.1:80");
    }

    #[test]
    fn the_name_for_tls_has_no_port() {
        let name = |url| {
            let target = Target::resolve(url, &ConnectTo::Host("127.0.0.1:9".to_owned())).unwrap();
            target.host_name().to_owned()
        };
        assert_eq!(name("https://example.test:8443/"), "example.test");
        assert_eq!(name("https://example.test/"), "example.test");
        assert_eq!(name("https://[::1]:8443/"), "[::1]");
        let of_people = name("https://B\u{fc}cher.example:8443/");
        assert_eq!(of_people, "xn--bcher-kva.example");
    }

    #[test]
    fn connecting_elsewhere_changes_the_address_and_not_the_host() {
        let to = &ConnectTo::Host("127.0.0.1:9".to_owned());
        let target = Target::resolve("http://example.test/", to).unwrap();
        assert_eq!(target.host, "example.test");
        assert_eq!(
            target.endpoints,
            [Endpoint::Tcp("127.0.0.1:9".parse().unwrap())]
        );
        let to = &ConnectTo::Unix("/run/x.sock".into());
        let target = Target::resolve("http://example.test/", to).unwrap();
        assert_eq!(target.endpoints, [Endpoint::Unix("/run/x.sock".into())]);
    }

    #[test]
    fn what_takes_the_place_of_a_host_needs_a_port() {
        let resolve = |host: &str| {
            let to = ConnectTo::Host(host.to_owned());
            Target::resolve("http://example.test/", &to)
        };
        for host in [
            "localhost",
            "127.0.0.1",
            "::1",
            "[::1]",
            ":80",
            "",
            "a:http",
            "a:70000",
        ] {
            let refused = resolve(host).expect_err(host);
            assert!(matches!(refused, TargetError::ConnectTo(_)), "{refused:?}");
            let message = refused.to_string();
            assert!(message.contains("is not HOST:PORT: write"), "{message}");
        }
        for host in ["127.0.0.1:80", "[::1]:80"] {
            resolve(host).expect(host);
        }
    }

    #[test]
    fn a_url_of_the_same_server_is_found_beside_another() {
        let first = Target::resolve("http://127.0.0.1:80/a", &ConnectTo::Url).unwrap();
        let found = |url: &str| first.beside(url).unwrap().map(|target| target.path);
        assert_eq!(found("http://127.0.0.1/b?c"), Some("/b?c".to_owned()));
        assert_eq!(found("HTTP://127.0.0.1:80"), Some("/".to_owned()));
        for other in ["http://127.0.0.1:81/", "https://127.0.0.1:80/", "http://a/"] {
            assert_eq!(found(other), None, "{other}");
        }
        assert!(first.beside("127.0.0.1").is_err());
    }

    #[test]
    fn what_stands_in_a_query_is_never_shown() {
        for (url, said) in [
            ("ftp://host/a?token=sekret", "ftp://host/a?..."),
            ("host/?sekret", "host/?..."),
            ("http://user@host/?token=sekret", "http://...@host/?..."),
            ("http://:80/?token=sekret", "http://:80/?..."),
            ("ftp://host#sekret", "ftp://host#..."),
            ("app:443/a?to=http://b/sekret", "app:443/a?..."),
        ] {
            let error = Target::resolve(url, &ConnectTo::Url).unwrap_err();
            assert!(!format!("{error:?}").contains("sekret"), "{error:?}");
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn a_password_is_refused_and_never_shown() {
        for url in [
            "http://user:secret@host/",
            "https://secret@host",
            "http://user:p@secret@host?q",
            "http://user: secret@host/",
            "ftp://user:secret@host/",
            "user:secret@host",
            // Signs that a password should have encoded.
            "http://user:se/secret@host/",
            "http://user:se?secret@host/",
            "http://user:se#secret@host/",
            "user:secret/s@host",
        ] {
            let error = Target::resolve(url, &ConnectTo::Url).unwrap_err();
            let (text, whole) = (error.to_string(), format!("{error:?}"));
            assert!(!whole.contains("secret"), "{whole}");
            assert!(text.contains("...@host"), "{text}");
        }
        let text = Target::resolve("http://user:secret@host/", &ConnectTo::Url)
            .unwrap_err()
            .to_string();
        assert!(text.contains("-u USER:PASSWORD"), "{text}");
        for url in ["http://127.0.0.1/a@b", "http://127.0.0.1:80/a@b"] {
            check(url, "127.0.0.1", "/a@b", "127.0.0.1:80");
        }
    }

    #[test]
    fn other_urls_are_refused_with_a_reason() {
        for url in [
            "127.0.0.1:80",
            "ftp://a/",
            "http://",
            "http:///x",
            "http://a b/",
            "http://:80",
        ] {
            assert!(Target::resolve(url, &ConnectTo::Url).is_err(), "{url}");
        }
    }
}
