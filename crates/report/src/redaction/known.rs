//! Secret values that were found, and every other place where one of them occurs.
//!
//! It does not look for a short value, a number or a common word, which would be found everywhere.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::shapes::is_scheme;

/// Shortest value that is looked for.
const SHORTEST: usize = 5;
/// Length from which on a value is also found within a longer word.
const WITHIN_WORDS: usize = 8;
/// Shortest number that is looked for.
const NUMBER_SHORTEST: usize = 8;
/// Shortest line of a value of several lines, such as a key, that is looked for alone.
const LINE_SHORTEST: usize = 16;
/// Values that are no secret alone, though somebody may have taken one for a password.
const COMMON: [&str; 36] = [
    "admin",
    "anonymous",
    "apache",
    "application",
    "authentication",
    "authorization",
    "basic",
    "bearer",
    "bakeoff",
    "builtin",
    "caddy",
    "client",
    "config",
    "configuration",
    "cookie",
    "default",
    "disabled",
    "enabled",
    "envoy",
    "expired",
    "files",
    "haproxy",
    "header",
    "invalid",
    "localhost",
    "missing",
    "nginx",
    "optional",
    "password",
    "request",
    "required",
    "response",
    "secret",
    "server",
    "session",
    "token",
];

/// Values with their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    values: Vec<(String, usize)>,
    seen: HashSet<String>,
    /// Values by their first bytes, the longest first.
    by_start: HashMap<[u8; 4], Vec<usize>>,
}

impl Known {
    /// Takes in a value and the parts of it that may stand alone.
    pub(super) fn learn(&mut self, value: &str, number: usize) {
        self.add(value, number);
        if let Some((scheme, credential)) = value.split_once([' ', '\\'])
            && is_scheme(scheme)
        {
            self.add(credential.trim(), number);
        }
        // A cookie's pairs, and items of a list.
        for part in value.split([';', ',', '&']).filter(|part| *part != value) {
            let part = part.trim().trim_matches('"');
            let own = part.split_once('=').map_or(part, |(_, own)| own);
            if own.len() >= WITHIN_WORDS {
                self.add(own, number);
            }
        }
        let lines = value.lines().flat_map(|line| line.split("\\n"));
        for line in lines.map(str::trim).filter(|line| *line != value) {
            if line.len() >= LINE_SHORTEST {
                self.add(line, number);
            }
        }
        if value.contains('\\') {
            self.add(&value.replace("\\\"", "\"").replace("\\\\", "\\"), number);
        }
        if let Some(decoded) = percent_decoded(value) {
            self.add(&decoded, number);
        }
    }

    fn add(&mut self, value: &str, number: usize) {
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        let is_common = COMMON.contains(&value.to_ascii_lowercase().as_str());
        let is_short = value.len() < SHORTEST || is_number && value.len() < NUMBER_SHORTEST;
        let Some(start) = value.as_bytes().first_chunk::<4>() else {
            return;
        };
        if is_short || is_common || !self.seen.insert(value.to_owned()) {
            return;
        }
        self.values.push((value.to_owned(), number));
        let places = self.by_start.entry(*start).or_default();
        let (values, length) = (&self.values, value.len());
        let place = places.partition_point(|one| values[*one].0.len() >= length);
        places.insert(place, values.len() - 1);
    }

    /// Where known values stand, with their numbers; those that `is_left` alone are not found.
    pub(super) fn find(
        &self,
        text: &str,
        is_left: impl Fn(&str) -> bool,
    ) -> Vec<(Range<usize>, usize)> {
        let mut found = Vec::new();
        if self.values.is_empty() {
            return found;
        }
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(start) = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
            let candidates = self.by_start.get(start).into_iter().flatten();
            let mut candidates = candidates.map(|index| &self.values[*index]);
            let here = candidates.find(|(value, _)| {
                let range = at..at + value.len();
                bytes[at..].starts_with(value.as_bytes())
                    && (value.len() >= WITHIN_WORDS || is_whole(bytes, &range))
                    && !is_left(value)
            });
            match here {
                Some((value, number)) => {
                    found.push((at..at + value.len(), *number));
                    at += value.len();
                }
                None => at += 1,
            }
        }
        found
    }
}

/// Whether no letter or digit stands beside the range.
fn is_whole(bytes: &[u8], range: &Range<usize>) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let before = range.start.checked_sub(1).and_then(|at| bytes.get(at));
    !is_part(before) && !is_part(bytes.get(range.end))
}

/// The value with `%20` and so on undone; `None` where there is nothing to undo.
fn percent_decoded(value: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [byte, more @ ..] = rest {
        rest = more;
        let digits = more.get(..2).filter(|_| *byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = &more[2..];
            }
            None => decoded.push(*byte),
        }
    }
    let decoded = String::from_utf8(decoded).ok()?;
    (decoded != value).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, text: &str, expected: &[&str]) {
        let mut known = Known::default();
        known.learn(value, 1);
        let found = known.find(text, |_| false);
        let found: Vec<&str> = found
            .iter()
            .map(|(range, _)| &text[range.clone()])
            .collect();
        assert_eq!(found, expected, "{value} in {text}");
    }

    #[test]
    fn known_values_are_found_where_they_stand_again() {
        check(
            "hunter2",
            "x hunter2, hunter23 and \"hunter2\"",
            &["hunter2", "hunter2"],
        );
        check("Bearer abcd1234", "token abcd1234 refused", &["abcd1234"]);
        check("a=1; sid=0123abcd", "session 0123abcd", &["0123abcd"]);
        check("p%40ssw0rd", "user p@ssw0rd", &["p@ssw0rd"]);
        check(
            "planted-secret",
            "pre_planted-secret_post",
            &["planted-secret"],
        );
    }

    #[test]
    fn what_is_too_common_is_not_looked_for() {
        check("default", "the default server", &[]);
        check("1234", "port 1234", &[]);
        check("abc", "abc", &[]);
    }
}
