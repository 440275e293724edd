//! Paths as configurations write them: found in a line, and led elsewhere.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// Paths as they are written, and where each leads: below a folder, or to an absolute path.
pub type Leads = BTreeMap<String, PathBuf>;

/// Longest path; the system takes no longer one.
const BYTES_MAX: usize = 4096;
/// What ends a path that is not quoted.
const ENDS: &[char] = &[';', '{', '}', ',', '=', '(', ')', '|'];
/// What begins a part that means something else than itself.
const SPECIAL: &[char] = &['*', '?', '[', '$', '%'];

/// What a line may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named<'l> {
    /// Its path up to the first part with a wildcard or a variable.
    pub(super) literal: &'l str,
    /// What follows of a pattern with wildcards.
    pub(super) pattern: Option<&'l str>,
    /// Whether it may be meant as a folder, and is no mere word that a folder is called by too.
    pub(super) may_be_folder: bool,
}

impl<'l> Named<'l> {
    /// What `text` names; `is_argument` says that it follows another word.
    pub(super) fn of(text: &'l str, is_argument: bool) -> Self {
        let literal = &text[..literal(text)];
        let rest = text[literal.len()..].trim_start_matches('/');
        let is_pattern = !rest.is_empty() && !rest.contains(['$', '%']);
        Self {
            literal,
            pattern: is_pattern.then_some(rest),
            may_be_folder: is_argument || literal.contains('/'),
        }
    }
}

/// What a line may name, each with its place in it.
pub(super) fn named(line: &str) -> impl Iterator<Item = Named<'_>> {
    let texts = words(line).into_iter().enumerate();
    let named = texts.map(|(index, range)| Named::of(&line[range], index > 0));
    named.filter(|named| !named.literal.is_empty() && named.literal.len() <= BYTES_MAX)
}

/// The text with the paths of `leads` led there, those below a folder to `folder`.
pub fn with_leads(text: &str, leads: &Leads, folder: &Path) -> String {
    let mut changed = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut from = 0;
        for range in words(line) {
            let end = range.start + literal(&line[range.clone()]);
            let Some(below) = leads.get(&line[range.start..end]) else {
                continue;
            };
            changed.push_str(&line[from..range.start]);
            let there = if below.as_os_str().is_empty() {
                folder.to_owned()
            } else {
                folder.join(below)
            };
            changed.push_str(&there.display().to_string());
            from = end;
        }
        changed.push_str(&line[from..]);
    }
    changed
}

/// Length of a path up to the first part that means something else than itself, without the
/// slashes at its end.
fn literal(text: &str) -> usize {
    let before = match text.find(SPECIAL) {
        None => text,
        Some(at) => &text[..text[..at].rfind('/').unwrap_or(0)],
    };
    before.trim_end_matches('/').len()
}

/// Where the words of a line are. What is quoted is one word, without its quotes.
fn words(line: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let (mut begin, mut quote) = (None, None);
    for (at, letter) in line.char_indices() {
        let ends = match quote {
            Some(quote) => letter == quote,
            None => letter.is_whitespace() || ENDS.contains(&letter) || "\"'".contains(letter),
        };
        if !ends {
            begin = begin.or(Some(at));
            continue;
        }
        words.extend(begin.take().map(|begin| begin..at));
        quote = match quote {
            None if "\"'".contains(letter) => Some(letter),
            _ => None,
        };
    }
    words.extend(begin.map(|begin| begin..line.len()));
    words
}

/// A path without `.` and `..`, by its text alone.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_with_and_without_quotes() {
        let found = |line| -> Vec<&str> { words(line).into_iter().map(|it| &line[it]).collect() };
        for (line, expected) in [
            ("include /a/b.conf;", &["include", "/a/b.conf"][..]),
            ("root \"/a b/c\";", &["root", "/a b/c"]),
            (
                "bind :80 ssl crt /a/x.pem",
                &["bind", ":80", "ssl", "crt", "/a/x.pem"],
            ),
            (
                "use_backend %[base,map(/a/x.map,web)]",
                &["use_backend", "%[base", "map", "/a/x.map", "web", "]"],
            ),
            (
                "server.document-root='/a'+x",
                &["server.document-root", "/a", "+x"],
            ),
            ("", &[]),
            ("it's open", &["it", "s open"]),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }

    #[test]
    fn a_path_is_literal_up_to_its_first_part_that_is_not() {
        for (text, expected, pattern) in [
            ("/a/b", "/a/b", None),
            ("/a/b/", "/a/b", None),
            ("/a/b/*.conf", "/a/b", Some("*.conf")),
            ("conf.d/*/x.conf", "conf.d", Some("*/x.conf")),
            ("*.conf", "", Some("*.conf")),
            ("/a/$host/b", "/a", None),
            ("$root/b", "", None),
            ("/", "", None),
        ] {
            let named = Named::of(text, true);
            assert_eq!(
                (named.literal, named.pattern),
                (expected, pattern),
                "{text}"
            );
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_whole_ones() {
        let leads = [
            ("/a/etc", ""),
            ("/a/etc/conf.d", "conf.d"),
            ("/a/etc/w w", "w w"),
        ];
        let leads: Leads = leads.map(|(text, to)| (text.to_owned(), to.into())).into();
        let text = "include /a/etc/conf.d/*.conf;\r\nroot /a/etc;\nroot /a/etcetera;\n\
                    alias \"/a/etc/w w/\"; # /a/etc/other\nx /b/a/etc $y";
        let expected = "include /f/conf.d/*.conf;\r\nroot /f;\nroot /a/etcetera;\n\
                        alias \"/f/w w/\"; # /a/etc/other\nx /b/a/etc $y";
        assert_eq!(with_leads(text, &leads, Path::new("/f")), expected);
    }
}
