//! Answers that were fetched outside the window.

use serde::{Deserialize, Serialize};

use crate::load::Negotiated;

bakeoff_plan::named! {
    /// The side of the window on which something was done.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum When {
        /// Before it.
        Before = "before",
        /// After it.
        After = "after",
    }
}

/// One answer fetched outside the window and compared.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerCheck {
    /// When it was fetched.
    pub when: When,
    /// What was asked, such as `GET /index.html`.
    pub request: String,
    /// Status.
    pub status: u16,
    /// Length of the body, bytes.
    pub body_bytes: u64,
    /// SHA-256 of the body, hex.
    pub body_sha256: String,
    /// Length of the body after its encoding was undone; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded_bytes: Option<u64>,
    /// SHA-256 of the decoded body, hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded_sha256: Option<String>,
    /// What was agreed on for this answer.
    pub negotiated: Negotiated,
    /// Header lines as sent.
    pub headers: Vec<(String, String)>,
    /// Whether it is what the workload expects.
    pub right: bool,
}

impl AnswerCheck {
    /// The value of its first header line of this name, in whatever case the name is.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }
}
