//! Where secrets stand in a text: after names that announce one, in queries, and by their shape.
//!
//! The syntaxes are those of the servers' configurations (words and blanks, TOML, YAML, JSON), of
//! command lines, of headers and of logs. What is doubtful is hidden: a reader loses a word.

use std::collections::BTreeSet;
use std::ops::Range;

use super::names::{Name, class, is_secret_parameter};
use super::shapes::{self, CLOSING, is_scheme};
use super::value::Reader;

/// What a text is, and so how far a name reaches in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A configuration: a blank may stand between a name and its value.
    Configuration,
    /// Sentences, logs, command lines: `=` or `:` stands between them.
    Prose,
    /// A request target or URL: only its query holds names.
    Target,
}

/// Names whose value is a name, and whose sibling `value` is that one's value.
const PAIRED: [&str; 4] = ["key", "name", "header", "header_name"];

/// Where secrets stand, in order, apart from each other. Headers in `marked`, in lower case, are
/// secret besides those that always are.
pub(super) fn spots(text: &str, kind: Kind, marked: &BTreeSet<String>) -> Vec<Range<usize>> {
    let mut found = shapes::find(text);
    found.extend(parameters(text, kind));
    if kind != Kind::Target {
        settings(text, kind, marked, &mut found);
    }
    found.retain(|range| {
        // The placeholder of a secret looks like a list of one item.
        let hidden = range.start > 0 && text.as_bytes()[range.start - 1] == b'[';
        let hidden = hidden && super::is_hidden(&text[range.start - 1..]);
        !hidden && is_secret_value(&text[range.clone()])
    });
    merged(found)
}

/// The ranges in order, those that touch as one.
pub(super) fn merged(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Secret parameters of every query in the text.
fn parameters(text: &str, kind: Kind) -> Vec<Range<usize>> {
    // A second `?` begins a query of its own.
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '#' | '<' | '>' | '?');
    let mut found = Vec::new();
    for (mark, _) in text.match_indices('?') {
        let query = &text[mark + 1..];
        let query = &query[..query.find(ends).unwrap_or(query.len())];
        // In a sentence the signs behind a URL are the sentence's.
        let query = match kind {
            Kind::Prose => query.trim_end_matches(CLOSING),
            Kind::Configuration | Kind::Target => query,
        };
        let mut at = mark + 1;
        for pair in query.split(['&', ';']) {
            if let Some((name, value)) = pair.split_once('=') {
                let start = at + name.len() + 1;
                if is_secret_parameter(name) {
                    found.push(start..start + value.len());
                }
            }
            at += pair.len() + 1;
        }
    }
    found
}

/// Values after names.
fn settings(text: &str, kind: Kind, marked: &BTreeSet<String>, found: &mut Vec<Range<usize>>) {
    let reader = Reader::new(text, kind == Kind::Configuration);
    let of = |name: &str| {
        if marked.contains(&name.to_ascii_lowercase()) {
            Some(Name::Header)
        } else {
            class(name)
        }
    };
    let mut at = 0;
    while let Some(name) = reader.next_name(at) {
        at = name.end;
        let own = &text[name.clone()];
        if PAIRED.iter().any(|paired| paired.eq_ignore_ascii_case(own)) {
            let pair = reader.pair(name.clone());
            if let Some((called, value)) = pair {
                if of(text[called].trim()).is_some() {
                    at = value.end;
                    found.push(value);
                }
                continue;
            }
        }
        if let Some(value) = of(own).and_then(|name_class| reader.value(name, name_class)) {
            at = value.end;
            found.push(value);
        }
    }
}

/// Whether a value is one, and not a switch, a variable, the path of a file, or hidden already.
fn is_secret_value(value: &str) -> bool {
    const SWITCHES: [&str; 9] = [
        "on", "off", "true", "false", "yes", "no", "none", "null", "nil",
    ];
    let around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',');
    let value = value.trim_matches(around);
    let is_switch = SWITCHES.iter().any(|it| it.eq_ignore_ascii_case(value));
    let says_something = value.chars().any(char::is_alphanumeric);
    says_something && !is_switch && !super::is_hidden(value) && !is_reference(value)
}

/// Whether the value is not in the text but named there: `$token`, `{env.TOKEN}`, `/etc/key.pem`.
fn is_reference(value: &str) -> bool {
    let value = match value.split_once(' ') {
        Some((scheme, rest)) if is_scheme(scheme) => rest.trim(),
        _ => value,
    };
    if shapes::is_hash(value) || value.contains(char::is_whitespace) && !value.starts_with("{{") {
        return false;
    }
    let is_filled = ["{", "${"].iter().any(|it| value.starts_with(it)) && value.ends_with('}')
        || value.starts_with("%{")
        || value.starts_with("{{");
    // `${TOKEN:-abc}` has a value of its own.
    is_filled && !value.contains([':', '"', ',']) || is_variable(value) || is_path(value)
}

/// Whether it is made of variables of nginx. A password may begin with `$` too.
fn is_variable(value: &str) -> bool {
    const BEGINNINGS: [&str; 16] = [
        "arg",
        "binary_",
        "connection",
        "cookie_",
        "host",
        "http_",
        "is_args",
        "proxy_",
        "query_",
        "remote_",
        "request",
        "scheme",
        "sent_",
        "server_",
        "upstream_",
        "uri",
    ];
    let part = |c: char| c.is_ascii_alphanumeric() || "_${}-/:?&=|.".contains(c);
    let name = value.strip_prefix('$').unwrap_or("");
    let is_known = BEGINNINGS
        .iter()
        .any(|beginning| name.starts_with(beginning));
    let is_group = name.len() == 1 && name.chars().all(|c| c.is_ascii_digit());
    is_group || is_known && value.chars().all(part)
}

/// Whether it is the path of a file with an ending.
fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/"]
        .iter()
        .any(|it| value.starts_with(it));
    let name = value.rsplit('/').next().unwrap_or("");
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_ending = (1..=6).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric);
    begins && is_ending
}

#[cfg(test)]
mod tests;
