//! Addresses of sites, as `https://example.com:8443/path` in a Caddyfile.

/// Where a site is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Address {
    /// `http`, `https` or empty.
    pub(super) scheme: String,
    /// Empty for any; without the brackets of IPv6.
    pub(super) host: String,
    pub(super) port: Option<u16>,
}

impl Address {
    pub(super) fn parse(text: &str) -> Self {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let rest = &rest[..rest.find('/').unwrap_or(rest.len())];
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
            _ => (rest, None),
        };
        let host = host.trim_matches(['[', ']']);
        let host = if host == "*" || host == "0.0.0.0" || host == "::" {
            ""
        } else {
            host
        };
        Self {
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            port,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_may_be_missing() {
        for (text, scheme, host, port) in [
            ("example.com", "", "example.com", None),
            (":80", "", "", Some(80)),
            ("http://", "http", "", None),
            ("https://a.test:8443/api/*", "https", "a.test", Some(8443)),
            ("[::1]:8080", "", "::1", Some(8080)),
            ("[::1]", "", "::1", None),
            ("*.example.com", "", "*.example.com", None),
            ("0.0.0.0:99999", "", "", None),
            ("", "", "", None),
        ] {
            let expected = Address {
                scheme: scheme.to_owned(),
                host: host.to_owned(),
                port,
            };
            assert_eq!(Address::parse(text), expected, "{text}");
        }
    }
}
