//! What a browser recorded: an HTTP Archive, one JSON document.
//!
//! Form: [HAR 1.2](http://www.softwareishard.com/blog/har-12-spec/). Headers, cookies and bodies
//! are not looked at, so none of them comes into a plan.

use std::io::{self, BufRead, Read as _};

use serde::Deserialize;

use super::Logged;

/// Longest document, bytes: those with the bodies of a long session.
pub(super) const BYTES_MAX: u64 = 256 << 20;

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    pageref: Option<String>,
    request: Option<Request>,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Request {
    method: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    /// 0 or -1 where no answer came.
    status: Option<f64>,
    content: Option<Content>,
    /// Bytes as sent; -1 where it is not known.
    body_size: Option<f64>,
}

#[derive(Deserialize)]
struct Content {
    /// Bytes when decoded.
    size: Option<f64>,
}

/// An entry as the archive has it.
pub(super) struct Recorded {
    /// Name of the page that it is of.
    pub(super) page: Option<String>,
    /// Whether its address is one of https.
    pub(super) is_secure: bool,
    /// `None` where it is no request to a server.
    pub(super) logged: Option<Logged>,
}

/// Each entry's request, `None` where it is none.
pub(super) fn parse(reader: &mut dyn BufRead) -> io::Result<Vec<Option<Logged>>> {
    Ok(archive(reader)?.into_iter().map(logged).collect())
}

/// The mark of the byte order of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Each entry with its page.
pub(super) fn entries(reader: &mut dyn BufRead) -> io::Result<Vec<Recorded>> {
    let recorded = |mut entry: Entry| Recorded {
        page: entry.pageref.take(),
        is_secure: is_secure(&entry),
        logged: logged(entry),
    };
    Ok(archive(reader)?.into_iter().map(recorded).collect())
}

fn archive(reader: &mut dyn BufRead) -> io::Result<Vec<Entry>> {
    // Some editors begin a file with a mark of its byte order.
    if reader.fill_buf()?.starts_with(MARK) {
        reader.consume(MARK.len());
    }
    // One byte more than may be there shows a longer document, which is cut off.
    let mut limited = reader.take(BYTES_MAX + 1);
    let archive: Result<Archive, _> = serde_json::from_reader(&mut limited);
    if limited.limit() == 0 {
        let problem = format!("it is longer than {BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    let archive = archive.map_err(|error| {
        if error.is_io() {
            return io::Error::from(error);
        }
        let problem = format!("it is not an HTTP Archive: {error}");
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })?;
    Ok(archive.log.entries)
}

fn is_secure(entry: &Entry) -> bool {
    let url = entry.request.as_ref().and_then(|it| it.url.as_deref());
    let scheme = url.and_then(|url| url.split_once("://"));
    scheme.is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"))
}

fn logged(entry: Entry) -> Option<Logged> {
    let (request, response) = (entry.request?, entry.response?);
    let length = |bytes: Option<f64>| bytes.filter(|bytes| *bytes >= 0.0);
    // A file is kept as it is when decoded; what was sent may have been compressed.
    let decoded = response.content.and_then(|content| length(content.size));
    let bytes = decoded.or(length(response.body_size));
    let (host, target) = host_and_target(&request.url?)?;
    Some(Logged {
        method: request.method?,
        target,
        host: Some(host),
        status: response.status.filter(|status| *status >= 0.0)? as u16,
        bytes: bytes.map(|bytes| bytes as u64),
    })
}

/// Of an address of http or https; others ask no server.
fn host_and_target(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let http = ["http", "https"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(scheme));
    http.then_some(())?;
    let rest = rest.split('#').next().unwrap_or("");
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at_checked(end)?;
    let host = authority.rsplit('@').next().unwrap_or("");
    let slash = if target.starts_with('/') { "" } else { "/" };
    Some((host.to_owned(), format!("{slash}{target}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn address(url: &str, expected: Option<(&str, &str)>) {
        let found = host_and_target(url);
        let found = found
            .as_ref()
            .map(|(host, target)| (host.as_str(), target.as_str()));
        assert_eq!(found, expected);
    }

    #[test]
    fn addresses_lead_to_hosts_and_targets() {
        address("https://a.example/b?c=d#e", Some(("a.example", "/b?c=d")));
        address("HTTP://u:p@a.example:8080", Some(("a.example:8080", "/")));
        address("http://a.example?b", Some(("a.example", "/?b")));
        address("http://a.example#b/c", Some(("a.example", "/")));
        for url in [
            "data:text/plain,a",
            "ws://a.example/",
            "about:blank",
            "/a",
            "",
        ] {
            address(url, None);
        }
    }

    #[test]
    fn sizes_are_those_of_the_decoded_body_where_it_is_known() {
        let entry = |response: &str| {
            let asked = r#"{"method": "GET", "url": "http://a/"}"#;
            let entry = format!("{{\"request\": {asked}, \"response\": {response}}}");
            let text = format!("{{\"log\": {{\"entries\": [{entry}]}}}}");
            let mut found = parse(&mut text.as_bytes()).unwrap();
            found.remove(0).map(|logged| (logged.status, logged.bytes))
        };
        let both = r#"{"status": 200, "content": {"size": 900}, "bodySize": 300}"#;
        assert_eq!(entry(both), Some((200, Some(900))));
        let sent = r#"{"status": 200, "content": {"size": -1}, "bodySize": 300}"#;
        assert_eq!(entry(sent), Some((200, Some(300))));
        assert_eq!(entry(r#"{"status": 0, "bodySize": -1}"#), Some((0, None)));
        assert_eq!(entry(r#"{"status": -1}"#), None);
        assert_eq!(entry("null"), None);
    }

    #[test]
    fn another_document_is_refused_in_words() {
        let words = |text: &str| parse(&mut text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            words("{\"log\": {}}"),
            "it is not an HTTP Archive: missing field `entries` at line 1 column 10"
        );
        assert!(words("127.0.0.1 - -").starts_with("it is not an HTTP Archive: "));
    }
}
