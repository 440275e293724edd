//! What a request is made of besides its URL, from the flags that `load` and `race` share.

use std::path::Path;
use std::sync::Arc;

use crate::exit;
use crate::flags::{BodyFlags, HeadFlags};

/// The type of a body that was given as a text, as curl sends it.
const FORM: &str = "application/x-www-form-urlencoded";

/// Method, headers and body.
pub(super) struct Sent {
    /// `None` where no flag names one.
    pub(super) method: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Arc<[u8]>>,
}

impl Sent {
    /// Reads the flags, and the files that they name.
    pub(super) fn of(head: &HeadFlags, body: &BodyFlags) -> anyhow::Result<Self> {
        let mut headers = head.headers.clone();
        let mut add = |name: &str, value: &str| {
            let is_there = headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
            if !is_there {
                headers.push((name.to_owned(), value.to_owned()));
            }
        };
        if let Some(basic) = &head.user {
            add("Authorization", basic);
        }
        if body.is_form() {
            add("Content-Type", FORM);
        }
        Ok(Self {
            method: head.method.clone(),
            headers,
            body: bytes(body)?.map(Into::into),
        })
    }

    /// The method of a request: that of a flag, else what a body or its absence asks for.
    pub(super) fn method(&self, has_body: bool) -> &str {
        let usual = if has_body { "POST" } else { "GET" };
        self.method.as_deref().unwrap_or(usual)
    }
}

/// The body, if there is one.
fn bytes(flags: &BodyFlags) -> anyhow::Result<Option<Vec<u8>>> {
    if let Some(path) = &flags.body {
        return read("--body", path).map(Some);
    }
    if !flags.is_form() {
        return Ok(None);
    }
    let part = |flag: &str, text: &str, is_kept: fn(&u8) -> bool| match text.strip_prefix('@') {
        Some(path) => {
            let mut bytes = read(flag, Path::new(path))?;
            bytes.retain(is_kept);
            anyhow::Ok(bytes)
        }
        None => Ok(text.as_bytes().to_vec()),
    };
    let mut parts = Vec::new();
    for text in &flags.data {
        let is_no_break = |byte: &u8| !matches!(byte, b'\r' | b'\n' | 0);
        parts.push(part("--data", text, is_no_break)?);
    }
    for text in &flags.data_binary {
        parts.push(part("--data-binary", text, |_| true)?);
    }
    parts.extend(flags.data_raw.iter().map(|text| text.clone().into_bytes()));
    Ok(Some(parts.join(&b"&"[..])))
}

/// The body in a file that a flag names, which may be a pipe.
pub(super) fn read(flag: &str, path: &Path) -> anyhow::Result<Vec<u8>> {
    super::body_at(path).map_err(|error| {
        let tip = match error.kind() {
            std::io::ErrorKind::NotFound if flag == "--body" => {
                "; it names a file, without @, and a text is --data TEXT"
            }
            _ => "",
        };
        exit::usage(format!(
            "{flag}: failed to read {}: {error}{tip}",
            path.display()
        ))
    })
}
