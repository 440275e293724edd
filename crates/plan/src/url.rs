//! A URL of a server that answers already: enough of RFC 3986 to say where and below which path.
//!
//! It resolves no name; whether a host is this machine is read from how it is written.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::ascii::{ascii_authority, encoded_target};
use crate::rules::Fault;
use crate::rules::target;

/// Where a server is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Url {
    /// Whether it is `https`.
    pub is_secure: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// What requests go below: begins with a slash, may end in a query.
    pub path: String,
}

impl Url {
    /// Reads `http://HOST[:PORT][/PATH]`, or the same with https.
    ///
    /// # Errors
    /// What is wrong with it and what to write, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).map_err(|fault| fault.to_string())
    }

    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        let wrong = |problem: &str| {
            let problem = format!("`{}` {problem}", without_user(text).escape_debug());
            Fault::new(problem, "write a URL such as http://127.0.0.1:9001/")
        };
        let is = |scheme: &str, name: &str| scheme.eq_ignore_ascii_case(name);
        let (is_secure, rest) = match text.split_once("://") {
            Some((scheme, rest)) if is(scheme, "http") => (false, rest),
            Some((scheme, rest)) if is(scheme, "https") => (true, rest),
            _ => return Err(wrong("begins with neither http:// nor https://")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = encoded_target(path);
        target(&path).map_err(|_| wrong("has a path that cannot be asked for"))?;
        if authority.contains('@') {
            return Err(Fault::new(
                format!(
                    "`{}` has a name or a password in it",
                    without_user(text).escape_debug()
                ),
                "remove them, and give them with -u USER:PASSWORD, or in a plan as a header \
                 `authorization`",
            ));
        }
        let usual = if is_secure { 443 } else { 80 };
        let authority = ascii_authority(authority).ok_or_else(|| {
            wrong("has a host whose form in ASCII is not known here; write it as in xn--4ca.test")
        })?;
        let (host, port) = host_and_port(&authority, usual).map_err(wrong)?;
        Ok(Self {
            is_secure,
            host: host.to_ascii_lowercase(),
            port,
            path,
        })
    }

    /// Whether it leads to this machine, as it is written.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || address.is_unspecified(),
            Err(_) => self.host == "localhost" || self.host.ends_with(".localhost"),
        }
    }

    /// Whether the host is written as an address.
    pub fn has_address(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok()
    }

    /// A request target below this URL: its own path for `/`, else `path` behind it.
    pub(crate) fn below(&self, path: &str) -> String {
        if path == "/" {
            return self.path.clone();
        }
        let own = self.path.split('?').next().unwrap_or_default();
        format!("{}{path}", own.trim_end_matches('/'))
    }
}

/// A text with `***` in place of a user's name and password, wherever they end: a password that is
/// written wrongly may have any sign in it.
fn without_user(text: &str) -> String {
    let Some((before, rest)) = text.rsplit_once('@') else {
        return text.to_owned();
    };
    let scheme = before.split_once("://").map(|(scheme, _)| scheme);
    let scheme = scheme.filter(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric()));
    let scheme = scheme.map_or(String::new(), |scheme| format!("{scheme}://"));
    format!("{scheme}***@{rest}")
}

/// # Errors
/// What is wrong with it.
fn host_and_port(authority: &str, usual: u16) -> Result<(&str, u16), &'static str> {
    const NO_HOST: &str = "has no host";
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(NO_HOST)?;
            if host.contains('%') {
                return Err("has an IPv6 address with a zone, which cannot be asked");
            }
            host.parse::<std::net::Ipv6Addr>().map_err(|_| NO_HOST)?;
            let port = after.strip_prefix(':').or(after.is_empty().then_some(""));
            (host, port.ok_or(NO_HOST)?)
        }
        None => authority.rsplit_once(':').unwrap_or((authority, "")),
    };
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    let is_bare_v6 = host.contains(':') && !authority.starts_with('[');
    if host.is_empty() || host.len() > 253 || is_bare_v6 || !host.chars().all(is_letter) {
        return Err(NO_HOST);
    }
    let port = match port {
        "" => Some(usual),
        port => port.parse().ok().filter(|port| *port > 0),
    };
    Ok((
        host,
        port.ok_or("has a port that is no number from 1 to 65535")?,
    ))
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        let (port, path) = (self.port, &self.path);
        if self.host.contains(':') {
            write!(out, "{scheme}://[{}]:{port}{path}", self.host)
        } else {
            write!(out, "{scheme}://{}:{port}{path}", self.host)
        }
    }
}

impl TryFrom<String> for Url {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Url> for String {
    fn from(url: Url) -> Self {
        url.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, is_here: bool) {
        let url = Url::parse(text).unwrap();
        assert_eq!(url.to_string(), expected);
        assert_eq!(url.is_on_this_machine(), is_here, "{text}");
        assert_eq!(Url::parse(expected), Ok(url));
    }

    #[test]
    fn ports_and_paths_may_be_left_out() {
        check("http://127.0.0.1:9001", "http://127.0.0.1:9001/", true);
        check("https://localhost/a?b", "https://localhost:443/a?b", true);
        check("http://[::1]:80/", "http://[::1]:80/", true);
        check("http://app.example", "http://app.example:80/", false);
        check("http://10.0.0.1?x=1", "http://10.0.0.1:80/?x=1", false);
        check("HTTPS://LOCALHOST/A", "https://localhost:443/A", true);
        check("http://a/b c?\u{fc}", "http://a:80/b%20c?%C3%BC", false);
        let name = "http://b\u{fc}cher.example:81/";
        check(name, "http://xn--bcher-kva.example:81/", false);
    }

    #[test]
    fn what_is_no_url_of_a_server_is_refused() {
        for text in [
            "127.0.0.1:9001",
            "ftp://a/",
            "http://",
            "http://:80/",
            "http://a:0/",
            "http://a:x/",
            "http://a b/",
            "http://me@a/",
            "http://a/\t",
            "http://\u{1f355}/",
            "http://[::1/",
            "http://[x]/",
            "http://::1/",
            "http://a/#top",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_message_repeats_a_password() {
        for text in [
            "http://me:sesame@a/",
            "http://me:sesame@a/b c",
            "http://me:se/sesame@a/",
            "http://me:#sesame@a/",
            "http://me:p@sesame@a/",
            "ftp://me:sesame@a/",
            "me:sesame@a:80",
            "me:sesame://x@a",
        ] {
            let message = Url::parse(text).unwrap_err();
            assert!(message.contains("***@a"), "{message}");
            assert!(!message.contains("me:"), "{message}");
        }
        let message = Url::parse("http://me:sesame@a/").unwrap_err();
        assert!(
            message.starts_with("`http://***@a/` has a name or a password in it"),
            "{message}"
        );
        assert!(message.contains("-u USER:PASSWORD"), "{message}");
    }

    #[test]
    fn a_message_says_which_part_is_wrong() {
        for (text, part) in [
            ("http://a:99999/", "has a port that is no number"),
            ("http://a:x/", "has a port that is no number"),
            ("http://[fe80::1%eth0]:80/", "address with a zone"),
            ("http://[fe80::1%25eth0]/", "address with a zone"),
            ("http:///a", "has no host"),
            ("ftp://a/", "begins with neither"),
        ] {
            let message = Url::parse(text).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn requests_go_below_its_path() {
        let below = |url: &str, path: &str| Url::parse(url).unwrap().below(path);
        assert_eq!(below("http://a", "/"), "/");
        assert_eq!(below("http://a", "/x?y"), "/x?y");
        assert_eq!(below("http://a/api", "/"), "/api");
        assert_eq!(below("http://a/api/?k=v", "/"), "/api/?k=v");
        assert_eq!(below("http://a/api/?k=v", "/x"), "/api/x");
    }
}
