//! What a configuration of Varnish contains: whom it asks. Where it listens is said on its command
//! line.

use super::{Found, Place, Text, Upstream, add};

/// Port of a backend that says none.
const USUAL_PORT: &str = "80";

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let mut found = Found::default();
    for file in files {
        let mut backends = Backends::default();
        for (number, line) in (1..).zip(without_comments(file.text).lines()) {
            for token in tokens(line) {
                backends.take(token, &file.place(number));
            }
        }
        backends
            .all
            .into_iter()
            .for_each(|it| add(&mut found.upstreams, it));
    }
    found
}

/// The backends of a file, as far as it is read.
#[derive(Default)]
struct Backends {
    all: Vec<Upstream>,
    /// Whether one is read: its own values stand in its outer braces.
    is_open: bool,
    depth: usize,
    /// What the next text is the value of.
    key: String,
    host: Option<(String, Place)>,
    port: Option<String>,
}

impl Backends {
    fn take(&mut self, token: &str, place: &Place) {
        match token {
            "backend" if self.depth == 0 => self.is_open = true,
            "{" => self.depth += 1,
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.close();
                }
            }
            "=" => {}
            key if key.starts_with('.') => key.clone_into(&mut self.key),
            value if self.is_open && self.depth == 1 => {
                let value = value.trim_matches('"').to_owned();
                match std::mem::take(&mut self.key).as_str() {
                    ".host" => self.host = Some((value, place.clone())),
                    ".port" => self.port = Some(value),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn close(&mut self) {
        let port = self.port.take();
        self.is_open = false;
        if let Some((host, place)) = self.host.take() {
            let port = port.as_deref().unwrap_or(USUAL_PORT);
            let host = match host.contains(':') {
                true => format!("[{host}]"),
                false => host,
            };
            self.all.push(Upstream {
                address: format!("{host}:{port}"),
                place,
                ..Upstream::default()
            });
        }
    }
}

/// The text with blanks in place of its comments, which `#`, `//` and `/*` begin.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '#', '/']) {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let (end, is_comment) = if rest.starts_with("/*") {
            (rest.find("*/").map(|end| end + 2), true)
        } else if rest.starts_with('#') || rest.starts_with("//") {
            (rest.find('\n'), true)
        } else if let Some(inner) = rest.strip_prefix('"') {
            // A text ends on its line.
            let end = inner.find(['"', '\n']);
            (end.map(|end| end + 2), false)
        } else {
            (Some(1), false)
        };
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        match is_comment {
            true => kept.extend(part.chars().filter(|it| *it == '\n')),
            false => kept.push_str(part),
        }
        rest = after;
    }
    kept + rest
}

/// Words, texts in quotes and signs of a line.
fn tokens(line: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
        let end = match first {
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            first if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            sign => sign.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn backends_are_found() {
        let text = "vcl 4.1;\n# backend no { .host = \"no\"; }\nimport std;\n\
                    backend a {\n  .port = \"8080\"; // .host = \"no\";\n  .host = \"app.test\";\n\
                    .probe = { .url = \"/health\"; .port = \"1\"; }\n}\n\
                    backend b { .host = \"::1\"; }\nbackend none none;\n/* backend c {\n\
                    .host = \"no\"; } */ sub vcl_recv { set req.http.host = \"no\"; }\n\
                    backend d {.host=\"10.0.0.5\";.port=\"90\";}\n";
        let path = Path::new("default.vcl");
        let found = read(&[Text { path, text }]);
        let upstreams = found.upstreams.iter();
        let upstreams: Vec<_> = upstreams
            .map(|it| (it.address.as_str(), it.place.line))
            .collect();
        assert_eq!(
            upstreams,
            [("app.test:8080", 6), ("[::1]:80", 9), ("10.0.0.5:90", 13)]
        );
    }
}
