//! What a person types for a URL: `localhost`, `127.0.0.1:8080`, `app:8080/page`.
//!
//! A scheme is only added where nothing else can be meant. What is no URL at all is refused with
//! what was probably meant; what is wrong inside a URL is for the engine to say.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bakeoff_load::shown_url;

/// The URL that `text` means.
///
/// # Errors
/// What it could mean instead, and what to write.
pub(in crate::commands::measure) fn url(text: &str) -> Result<String, String> {
    let safe = shown_url(text);
    if let Some(socket) = socket_of(&safe) {
        return Err(format!(
            "{socket} is a socket in the file system: write \
             `bakeoff load --unix-socket {socket} http://localhost/`",
            socket = socket.escape_debug()
        ));
    }
    if text.starts_with(['\'', '"', '<', '\u{201c}', '\u{2018}']) {
        return Err(format!(
            "`{}` has a mark before the URL: leave it out, and the one behind it",
            safe.escape_debug()
        ));
    }
    let (authority, path) = cut(&safe);
    // The engine refuses a user's name and password without repeating them.
    if has_scheme(text) || authority.contains('@') {
        return Ok(text.to_owned());
    }
    let shown = safe.escape_debug();
    if authority.is_empty() {
        return Err(match text {
            "" => "the URL is empty: write one such as http://127.0.0.1:8080/".to_owned(),
            _ if path.starts_with("//") => {
                format!("`{shown}` lacks a scheme: write http:{shown} or https:{shown}")
            }
            _ => format!("`{shown}` names no host: write http://127.0.0.1:8080{path}"),
        });
    }
    if is_number(authority) {
        return Err(format!(
            "`{shown}` is a number, no URL: write 127.0.0.1:{authority}{path} for a port of this \
             machine, or -r {authority} for requests/s"
        ));
    }
    let (host, port) = host_and_port(authority).ok_or_else(|| {
        format!("`{shown}` is an IPv6 address without brackets: write [{authority}]{path}")
    })?;
    match port {
        Some(port) if host.is_empty() => Err(format!(
            "`{shown}` names no host: write 127.0.0.1:{port}{path}"
        )),
        Some(_) if lacks_slashes(text) => Err(format!(
            "`{shown}` has a scheme without its slashes: write {host}://"
        )),
        Some("443") => Err(format!(
            "`{shown}` may mean http or https: write https://{host}{path} or http://{shown}"
        )),
        Some(port) if is_number(port) && port.parse::<u16>().is_ok_and(|port| port > 0) => {
            Ok(format!("http://{text}"))
        }
        Some(port) => Err(format!(
            "`{}` in `{shown}` is no port: expected a number from 1 to 65535",
            port.escape_debug()
        )),
        None if is_plain(host) => Ok(format!("http://{text}")),
        None => Err(format!(
            "`{shown}` may mean http or https: write http://{shown} or https://{shown}"
        )),
    }
}

/// The path in `unix:/run/a.sock`, or in `http+unix://%2Frun%2Fa.sock/`.
fn socket_of(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let is_socket = ["unix", "http+unix", "httpunix"].contains(&scheme.to_lowercase().as_str());
    let rest = rest
        .trim_start_matches("//")
        .replace("%2F", "/")
        .replace("%2f", "/");
    let path = rest.trim_end_matches('/').trim_end_matches(':');
    (is_socket && path.starts_with('/')).then(|| path.to_owned())
}

/// Whether a text begins as a URL does. One that is part of a query is not the text's own.
pub(in crate::commands::measure) fn has_scheme(text: &str) -> bool {
    let (before, after) = cut(text);
    before.ends_with(':') && after.starts_with("//")
}

/// Whether a text begins with a scheme alone.
pub(in crate::commands::measure) fn lacks_slashes(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        ["http", "https"]
            .iter()
            .any(|it| scheme.eq_ignore_ascii_case(it))
    };
    scheme.is_some_and(is_scheme) && !has_scheme(text)
}

/// Whether a text is an address without a scheme and can be nothing else: up to its path it has a
/// port, is an IP address or is `localhost`.
pub(in crate::commands::measure) fn is_address(text: &str) -> bool {
    let (authority, _) = cut(text);
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| is_number(port));
    let ip = authority
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'));
    let is_ip = ip.unwrap_or(authority).parse::<IpAddr>().is_ok();
    has_port || is_ip || is_localhost(authority)
}

/// Whether a host without a port is one that people mean over http.
fn is_plain(host: &str) -> bool {
    is_localhost(host) || host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok()
}

fn is_localhost(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// Everything up to the path, query or fragment, and the rest.
fn cut(text: &str) -> (&str, &str) {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    text.split_at(end)
}

/// Host, brackets included, and what stands behind a colon; `None` where colons belong to the
/// host.
fn host_and_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if authority.parse::<Ipv6Addr>().is_ok() {
        return None;
    }
    let after_brackets = authority.rfind(']').map_or(0, |at| at + 1);
    let colon = authority[after_brackets..].find(':');
    Some(match colon.map(|at| after_brackets + at) {
        Some(at) => (&authority[..at], Some(&authority[at + 1..])),
        None => (authority, None),
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_only_mean_http_becomes_a_url() {
        for (text, expected) in [
            ("http://a/", "http://a/"),
            ("https://a", "https://a"),
            ("ftp://a/", "ftp://a/"),
            ("localhost", "http://localhost"),
            ("localhost/a?b=c:d", "http://localhost/a?b=c:d"),
            ("app.localhost", "http://app.localhost"),
            ("localhost:8080", "http://localhost:8080"),
            ("127.0.0.1", "http://127.0.0.1"),
            ("127.0.0.1:81/a", "http://127.0.0.1:81/a"),
            ("[::1]", "http://[::1]"),
            ("[::1]:81/", "http://[::1]:81/"),
            ("app:8080/a#b", "http://app:8080/a#b"),
            (
                "localhost:8080/?next=http://x",
                "http://localhost:8080/?next=http://x",
            ),
            ("example.com:80", "http://example.com:80"),
            // Refused by the engine, which does not repeat the password.
            ("user:sesame@host", "user:sesame@host"),
        ] {
            assert_eq!(url(text).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn no_message_repeats_a_query() {
        for text in [
            "/a?token=sesame",
            "?sesame",
            "8080?sesame",
            ":8080/?sesame",
            "::1/?sesame",
            "example.com/a?token=sesame",
            "example.com#sesame",
            "app:443/a?sesame",
            "app:http?sesame",
        ] {
            let message = url(text).expect_err(text);
            assert!(!message.contains("sesame"), "{message}");
            assert!(
                message.contains("?...") || message.contains("#..."),
                "{message}"
            );
        }
        assert_eq!(shown_url("a/b?"), "a/b?");
        let whole = "localhost:80/?token=sesame";
        assert_eq!(url(whole), Ok(format!("http://{whole}")));
    }

    #[test]
    fn what_can_mean_two_things_is_refused_with_both() {
        for (text, hint) in [
            (
                "unix:/run/a.sock",
                "--unix-socket /run/a.sock http://localhost/",
            ),
            (
                "http+unix://%2Frun%2Fa.sock/",
                "--unix-socket /run/a.sock http://localhost/",
            ),
            ("'http://a/'", "has a mark before the URL"),
            ("<http://a/>", "has a mark before the URL"),
            ("", "http://127.0.0.1:8080/"),
            ("/a", "write http://127.0.0.1:8080/a"),
            (
                "8080",
                "write 127.0.0.1:8080 for a port of this machine, or -r 8080",
            ),
            (":8080/a", "write 127.0.0.1:8080/a"),
            ("::1", "write [::1]"),
            (
                "example.com/a",
                "write http://example.com/a or https://example.com/a",
            ),
            ("nginx", "write http://nginx or https://nginx"),
            ("app:443/a", "write https://app/a or http://app:443/a"),
            ("http:/a", "write http://"),
            ("HTTP:a", "write HTTP://"),
            ("//a.test/b", "write http://a.test/b or https://a.test/b"),
            ("app:http", "`http` in `app:http` is no port"),
            ("app:0", "`0` in `app:0` is no port"),
            ("app:99999", "from 1 to 65535"),
            ("app:", "`` in `app:` is no port"),
            ("[::1]x:80", "may mean"),
        ] {
            match url(text) {
                Err(message) => assert!(message.contains(hint), "{text}: {message}"),
                Ok(url) => assert_eq!(text, "[::1]x:80", "{url}"),
            }
        }
    }
}
