//! What a load learned of its server in addition to numbers: which addresses took connections, and
//! what it answered instead of a page.

use serde::{Deserialize, Serialize};

/// One address of a name that has several, and what became of connections to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressUse {
    /// The address with its port.
    pub address: String,
    /// Connections made to it.
    pub opened: u64,
    /// Why it was given up, where the first connection to it could not be made.
    pub problem: Option<String>,
}

/// The first answer of its status, where nobody asked for that status and it is none of success.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// What was asked: the URL or path.
    pub url: String,
    /// Status.
    pub status: u16,
    /// What stands behind the status in HTTP/1.1; else empty.
    pub reason: String,
    /// Value of `Location`.
    pub location: Option<String>,
    /// Beginning of the body, if it is text.
    pub body: String,
}

impl Said {
    /// Most statuses of which an answer is kept.
    pub const MAX: usize = 4;
    /// Bytes of a body that are kept.
    pub const BODY_BYTES_MAX: usize = 200;

    /// Whether the server sent the client elsewhere.
    pub fn is_redirect(&self) -> bool {
        bakeoff_plan::is_redirect(self.status)
    }

    /// Whether it counts as right, and holds nothing of what was asked.
    pub fn has_no_page(&self) -> bool {
        (300..400).contains(&self.status)
    }

    /// Where the client was sent, as a URL if what was asked is one.
    pub fn target(&self) -> Option<String> {
        let location = self.location.as_deref().filter(|_| self.is_redirect())?;
        let Some((scheme, rest)) = self.url.split_once("://") else {
            return Some(location.to_owned());
        };
        let host_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(host_end);
        let path = path.split('?').next().unwrap_or_default();
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        let before = location.find(['/', '?', '#']).unwrap_or(location.len());
        // As RFC 3986, 5.2, without dots in paths: who reads the target can resolve these.
        Some(if location[..before].contains(':') {
            location.to_owned()
        } else if location.starts_with("//") {
            format!("{scheme}:{location}")
        } else if location.starts_with('/') {
            format!("{scheme}://{host}{location}")
        } else if location.starts_with('?') {
            let path = if path.is_empty() { "/" } else { path };
            format!("{scheme}://{host}{path}{location}")
        } else {
            format!("{scheme}://{host}{folder}{location}")
        })
    }

    /// The beginning of a body as one line, without what no text has in it; empty where it is none.
    pub fn text(body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        // The end may be cut within a letter.
        let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        if text.contains(['\0', char::REPLACEMENT_CHARACTER]) {
            return String::new();
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.chars().filter(|it| !it.is_control()).collect()
    }

    /// Adds those of another thread or engine, of statuses that are not there.
    pub(crate) fn merge(mine: &mut Vec<Self>, others: Vec<Self>) {
        for other in others {
            let is_known = mine.iter().any(|known| known.status == other.status);
            if !is_known && mine.len() < Self::MAX {
                mine.push(other);
            }
        }
        mine.sort_by_key(|said| said.status);
    }
}

impl AddressUse {
    /// Adds what other engines had of the same addresses. Each resolves the name for itself.
    pub fn merge(mine: &mut Vec<Self>, others: Vec<Self>) {
        for other in others {
            match mine.iter_mut().find(|known| known.address == other.address) {
                Some(known) => {
                    known.opened += other.opened;
                    known.problem = known.problem.take().or(other.problem);
                }
                None => mine.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_client_was_sent_is_a_url() {
        let target = |url: &str, location: &str| {
            let said = Said {
                url: url.to_owned(),
                status: 301,
                location: Some(location.to_owned()),
                ..Said::default()
            };
            said.target().unwrap()
        };
        for (url, location, expected) in [
            ("http://a/", "https://b.test/c", "https://b.test/c"),
            ("http://a:80/x?y", "/z", "http://a:80/z"),
            ("https://a/x/y?to=/", "z", "https://a/x/z"),
            ("http://a", "z", "http://a/z"),
            ("http://a/x", "?page=2", "http://a/x?page=2"),
            ("http://a/x", "//b/", "http://b/"),
            ("http://a/x", "y?to=http://b", "http://a/y?to=http://b"),
            ("GET /x", "/x/", "/x/"),
        ] {
            assert_eq!(target(url, location), expected, "{url} {location}");
        }
        let other = Said {
            status: 304,
            location: Some("/".to_owned()),
            ..Said::default()
        };
        assert_eq!(other.target(), None);
    }

    #[test]
    fn a_body_is_one_line_or_none() {
        assert_eq!(
            Said::text(b"<h1>\r\n\tno  entry</h1>\n"),
            "<h1> no entry</h1>"
        );
        assert_eq!(Said::text("na\u{ef}ve".as_bytes()), "na\u{ef}ve");
        assert_eq!(Said::text(&"\u{20ac}".as_bytes()[..2]), "");
        assert_eq!(Said::text(b"\x1b[2Jgone"), "[2Jgone");
        assert_eq!(Said::text(b"\x1f\x8b\x08\x00"), "");
    }

    #[test]
    fn of_each_status_one_answer_is_kept_and_of_a_few_statuses() {
        let said = |status| Said {
            status,
            ..Said::default()
        };
        let mut all = vec![said(503)];
        Said::merge(&mut all, [503, 301, 404, 429, 500].map(said).into());
        let statuses: Vec<u16> = all.iter().map(|said| said.status).collect();
        assert_eq!(statuses, [301, 404, 429, 503]);
    }
}
