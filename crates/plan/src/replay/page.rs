//! The requests of one page, in the order in which a browser made them.
//!
//! From an HTTP Archive, of which the first page is taken, and of that what its own server was
//! asked without effect: no headers, cookies and bodies come along, so what needs them is left
//! out and counted.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use super::har;
use crate::requests::REQUESTS_MAX;
use crate::rules::target;

/// Why a request of an archive is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Omitted {
    OtherPage,
    OtherServer,
    Unsafe,
    Unanswered,
    NotHttp,
    TooMany,
}

impl Omitted {
    fn reason(self) -> &'static str {
        match self {
            Self::OtherPage => "of another page",
            Self::OtherServer => "to another server",
            Self::Unsafe => "with a method that may change something",
            Self::Unanswered => "without an answer",
            Self::NotHttp => "not over http",
            Self::TooMany => "beyond the first 10000",
        }
    }
}

/// A request of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// `GET`, `HEAD` and the like.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Status of the answer that the browser got.
    pub status: u16,
}

/// A page that a browser recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Whether its server was asked over TLS.
    pub is_secure: bool,
    /// Host that was asked, with its port where that was named.
    pub host: String,
    /// In the order of the archive; at least one.
    pub requests: Vec<PageRequest>,
    omitted: BTreeMap<Omitted, u64>,
}

impl Page {
    /// Reads the first page of an HTTP Archive. Its server is that of the first answer that is no
    /// redirect.
    ///
    /// # Errors
    /// Those of `reader`, a document that is no HTTP Archive, and one without such a request.
    pub fn read(reader: &mut dyn BufRead) -> io::Result<Self> {
        let entries = har::entries(reader)?;
        let first = entries.first().and_then(|entry| entry.page.clone());
        let mut omitted = BTreeMap::new();
        let mut omit = |why| *omitted.entry(why).or_default() += 1;
        let mut asked = Vec::new();
        for entry in entries {
            match entry.logged {
                _ if entry.page != first => omit(Omitted::OtherPage),
                None => omit(Omitted::NotHttp),
                Some(logged) if logged.status < 100 => omit(Omitted::Unanswered),
                Some(logged) if target(&logged.target).is_err() => omit(Omitted::NotHttp),
                Some(logged) => {
                    let host = logged.host.as_deref().unwrap_or_default();
                    let server = (entry.is_secure, host.to_ascii_lowercase());
                    asked.push((server, logged));
                }
            }
        }
        let own = asked
            .iter()
            .find(|(_, logged)| !is_redirect(logged.status))
            .or(asked.first())
            .map(|(server, _)| server.clone());
        let mut requests = Vec::new();
        for (server, logged) in asked {
            if Some(&server) != own.as_ref() {
                omit(Omitted::OtherServer);
            } else if !["GET", "HEAD", "OPTIONS"].contains(&logged.method.as_str()) {
                omit(Omitted::Unsafe);
            } else if requests.len() == REQUESTS_MAX {
                omit(Omitted::TooMany);
            } else {
                requests.push(PageRequest {
                    method: logged.method,
                    target: logged.target,
                    status: logged.status,
                });
            }
        }
        let Some((is_secure, host)) = own.filter(|_| !requests.is_empty()) else {
            let problem = format!("no request in it can be repeated{}", counts(&omitted));
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        };
        Ok(Self {
            is_secure,
            host,
            requests,
            omitted,
        })
    }

    /// What is requested, and what was left out with the reasons, as a sentence.
    pub fn note(&self) -> String {
        let (count, host) = (self.requests.len(), &self.host);
        let each = if count == 1 { "request" } else { "requests" };
        format!("{count} {each} of {host}{}", counts(&self.omitted))
    }
}

/// What was left out, by reason.
fn counts(omitted: &BTreeMap<Omitted, u64>) -> String {
    let each = omitted.iter();
    let each: Vec<String> = each
        .map(|(why, times)| format!("{times} {}", why.reason()))
        .collect();
    if each.is_empty() {
        String::new()
    } else {
        format!("; left out: {}", each.join(", "))
    }
}

/// Whether a server sends a client elsewhere by this status for what it asked (RFC 9110, 15.4).
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(page: &str, method: &str, url: &str, status: i32) -> String {
        format!(
            r#"{{"pageref": "{page}", "request": {{"method": "{method}", "url": "{url}"}},
                "response": {{"status": {status}}}}}"#
        )
    }

    fn read(entries: &[String]) -> io::Result<Page> {
        let text = format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(","));
        Page::read(&mut text.as_bytes())
    }

    #[test]
    fn a_pages_own_requests_stay_in_order() {
        let page = read(&[
            entry("1", "GET", "http://a.example/", 301),
            entry("1", "GET", "https://A.example/", 200),
            entry("1", "GET", "https://a.example/b.css?v=2", 200),
            entry("1", "GET", "https://cdn.example/c.js", 200),
            entry("1", "POST", "https://a.example/seen", 204),
            entry("1", "GET", "https://a.example/favicon.ico", 404),
            entry("1", "GET", "https://a.example/broken", 0),
            entry("1", "GET", "data:image/png;base64,AA", 200),
            entry("1", "GET", "https://a.example/b.css?v=2", 304),
            entry("2", "GET", "https://a.example/next", 200),
        ])
        .unwrap();
        assert!(page.is_secure);
        assert_eq!(page.host, "a.example");
        let found: Vec<_> = page
            .requests
            .iter()
            .map(|it| (it.target.as_str(), it.status))
            .collect();
        let expected = [
            ("/", 200),
            ("/b.css?v=2", 200),
            ("/favicon.ico", 404),
            ("/b.css?v=2", 304),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            page.note(),
            "4 requests of a.example; left out: 1 of another page, 2 to another server, 1 with a \
             method that may change something, 1 without an answer, 1 not over http"
        );
    }

    #[test]
    fn an_archive_without_pages_is_one() {
        let text = r#"{"log": {"entries": [
            {"request": {"method": "GET", "url": "http://a:81/"}, "response": {"status": 302}}]}}"#;
        for text in [text.to_owned(), format!("\u{feff}{text}")] {
            let page = Page::read(&mut text.as_bytes()).unwrap();
            assert_eq!((page.host.as_str(), page.is_secure), ("a:81", false));
            assert_eq!(page.note(), "1 request of a:81");
        }
    }

    #[test]
    fn an_archive_without_such_a_request_is_refused() {
        let error = read(&[entry("1", "POST", "http://a/", 200)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no request in it can be repeated; left out: 1 with a method that may change something"
        );
        let error = read(&[]).unwrap_err().to_string();
        assert_eq!(error, "no request in it can be repeated");
        assert!(Page::read(&mut "http://a/".as_bytes()).is_err());
    }
}
