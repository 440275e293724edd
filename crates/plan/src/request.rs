//! What a workload asks: requests with weights, and the right answer to each.

use std::ops::Deref;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{Content, Encoding};

/// The requests of a workload: one or more, shared by all of its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Request>", into = "Vec<Request>")]
pub struct Requests(Arc<[Request]>);

impl Requests {
    /// The list; `None` where it is empty.
    pub fn new(list: Vec<Request>) -> Option<Self> {
        (!list.is_empty()).then(|| Self(list.into()))
    }

    /// The first request of the file.
    pub fn first(&self) -> &Request {
        self.0.first().expect("a list that was made has a request")
    }

    /// What each request expects, where it is the same of all: what a built-in server can give.
    pub fn one_answer(&self) -> Option<&Expected> {
        let expect = &self.first().expect;
        let equal = |other: &Request| {
            (other.expect.status, &other.expect.body) == (expect.status, &expect.body)
        };
        self.iter().all(equal).then_some(expect)
    }

    /// Changes the request at `position`, if there is one.
    #[must_use]
    pub fn changed(&self, position: usize, change: impl Fn(&mut Request)) -> Self {
        let mut list = self.to_vec();
        if let Some(request) = list.get_mut(position) {
            change(request);
        }
        Self(list.into())
    }

    /// Changes each request.
    #[must_use]
    pub fn map(&self, change: impl Fn(&Request) -> Request) -> Self {
        Self(self.iter().map(change).collect())
    }
}

impl From<Request> for Requests {
    fn from(one: Request) -> Self {
        Self(Arc::new([one]))
    }
}

impl TryFrom<Vec<Request>> for Requests {
    type Error = &'static str;

    fn try_from(list: Vec<Request>) -> Result<Self, &'static str> {
        Self::new(list).ok_or("a workload has at least one request")
    }
}

impl From<Requests> for Vec<Request> {
    fn from(requests: Requests) -> Self {
        requests.to_vec()
    }
}

impl Deref for Requests {
    type Target = [Request];

    fn deref(&self) -> &[Request] {
        &self.0
    }
}

/// One of the things that a workload asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Request method.
    pub method: String,
    /// Request target, such as `/index.html`.
    pub path: String,
    /// Request headers besides `Host`, in order.
    pub headers: Vec<(String, String)>,
    /// Whether its braces are placeholders, so that it has variants.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub placeholders: bool,
    /// Names of those headers that the workload marks with `secret = true`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_headers: Vec<String>,
    /// How often it is sent, relative to the others. At least 1.
    pub weight: u32,
    /// What is sent with it.
    pub body: Option<RequestBody>,
    /// The right answer.
    pub expect: Expected,
}

/// What is sent with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestBody {
    /// The bytes.
    pub content: Content,
    /// Sent in chunks instead of with a length; only over HTTP/1.1.
    pub chunked: bool,
}

/// A right answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Status.
    pub status: u16,
    /// Body, decoded; `None` where any will do.
    pub body: Option<Content>,
    /// How the body is encoded.
    pub encoding: Encoding,
    /// Where this is known from.
    pub known_by: KnownBy,
}

/// Where a right answer is known from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownBy {
    /// The plan says status and body.
    #[default]
    Plan,
    /// Nothing says it: what contenders answer first is right, and is looked at before the first
    /// round. Until then status and body say what an upstream behind the server gives.
    FirstAnswer,
    /// The plan says what the body is like as it is sent, encoding and all.
    Sent(SentBody),
}

/// A body as it is sent. What is left out is not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentBody {
    /// Length in bytes.
    pub bytes: Option<u64>,
    /// SHA-256, hex.
    pub sha256: Option<String>,
    /// What is known of it where it changes from answer to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changing: Option<Changing>,
}

impl std::fmt::Display for SentBody {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let changing = self.changing.as_ref().and_then(|it| it.bytes);
        match (self.bytes, &self.sha256, changing) {
            (None, None, Some([least, most])) => {
                write!(out, "a body that changes, of about {least} to {most} bytes")
            }
            (None, None, None) => out.write_str("any body"),
            (Some(bytes), None, _) => write!(out, "{bytes} bytes"),
            (None, Some(digest), _) => write!(out, "a body of sha256 {digest:.12}"),
            (Some(bytes), Some(digest), _) => {
                write!(out, "{bytes} bytes of sha256 {digest:.12}")
            }
        }
    }
}

/// What stays of a body that changes from answer to answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChangingTable")]
pub struct Changing {
    /// Shortest and longest length that was seen; without it, no length is compared.
    #[schemars(extend("examples" = [[4608, 4611]]))]
    pub bytes: Option<[u64; 2]>,
    /// SHA-256 of what stayed the same, in hex.
    #[schemars(extend("examples" =
        ["315f5bdb76d078c43b8ac0064e4a0164612b1fce77c869345bfc94c75894edd3"]))]
    pub rest_sha256: Option<String>,
}

impl Changing {
    /// Share by which a length may lie beyond those that were seen.
    pub const SHARE: f64 = 0.1;
    /// Bytes by which it may in any case: an id grows by a digit from time to time. A body may not
    /// be shorter by more than half.
    pub const BYTES: u64 = 32;

    /// What was seen of a body of these lengths.
    pub fn seen(least: u64, most: u64, rest_sha256: Option<String>) -> Self {
        let one = Self {
            bytes: Some([least, least]),
            rest_sha256,
        };
        let bytes = one.may_have(most as f64).then_some([least, most]);
        Self { bytes, ..one }
    }

    /// Whether a body of this length, or bodies with this mean length, may be one more of them.
    pub fn may_have(&self, bytes: f64) -> bool {
        self.bytes.is_none_or(|[least, most]| {
            let beyond = |length: u64, at_least: u64| {
                (length as f64 * Self::SHARE).max(at_least.min(Self::BYTES) as f64)
            };
            let shorter = least as f64 - beyond(least, least / 2);
            let longer = most as f64 + beyond(most, Self::BYTES);
            (shorter..=longer).contains(&bytes)
        })
    }
}

impl Request {
    /// What messages and reports call it: `GET /index.html`.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

impl Expected {
    /// What the first answers of the contenders are to show.
    pub fn first_answer() -> Self {
        Self {
            status: 200,
            body: None,
            encoding: Encoding::Identity,
            known_by: KnownBy::FirstAnswer,
        }
    }

    /// Whether the first answers of the contenders are to show it.
    pub fn is_open(&self) -> bool {
        self.known_by == KnownBy::FirstAnswer
    }

    /// What is known of the body as it is sent.
    pub fn sent(&self) -> Option<&SentBody> {
        match &self.known_by {
            KnownBy::Sent(sent) => Some(sent),
            KnownBy::Plan | KnownBy::FirstAnswer => None,
        }
    }

    /// Whether bodies have something to be compared with, byte by byte.
    pub(crate) fn is_body_known(&self) -> bool {
        self.body.is_some() || self.sent().is_some_and(|sent| sent.sha256.is_some())
    }

    /// The bytes of the body, decoded; `None` where any will do.
    pub fn body_bytes(&self) -> Option<Vec<u8>> {
        self.body.as_ref().map(Content::bytes)
    }
}

/// How long a connection is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// As long as the server lets it.
    #[default]
    KeepAlive,
    /// For one request, which says so (`Connection: close`).
    New,
    /// For so many requests, and then it is closed. At least 1.
    Requests(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_changes_may_be_a_little_longer_or_shorter() {
        let may = |least, most, bytes| Changing::seen(least, most, None).may_have(bytes);
        // Ids grow, `{"id":7}` too.
        assert!(may(8, 8, 15.0) && may(15, 15, 8.0));
        assert!(may(2_000, 2_004, 1_801.0) && may(2_000, 2_004, 2_204.0));
        // Another page, an error, or nothing.
        assert!(!may(2_000, 2_004, 200.0) && !may(2_000, 2_004, 4_000.0));
        assert!(!may(60, 61, 6.0) && !may(8, 8, 0.0));
        // Lengths that are far apart by themselves say nothing.
        assert!(may(100, 9_000, 20.0));
    }
}
