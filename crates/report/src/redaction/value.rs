//! The value that follows a name, in the syntaxes of configurations, headers and logs.
//!
//! Everything here finds a range of bytes between ASCII characters. It does not decide whether the
//! value is worth hiding.

use std::ops::Range;

use super::names::Name;
use super::shapes::{CLOSING, is_scheme};

/// How far back a line's beginning is looked for: some files are one line.
const LINE_LONGEST: usize = 4096;
/// How far a value may stand from the name that its sibling gives it.
const PAIR_FARTHEST: usize = 120;
/// Signs between a name and its value; the longer ones first.
const OPERATORS: [&str; 9] = ["=>", ":=", "==", "!=", "=~", "!~", "=", ":", "~"];
/// Keys below a name that hold its value, as in Envoy's `token: { inline_string: ... }`.
const INLINE: [&str; 3] = ["inline_string", "inline_bytes", "value"];
/// Words of HAProxy between what is compared and the value that it is compared with.
const COMPARISONS: [&str; 9] = [
    "str", "eq", "beg", "end", "sub", "reg", "dir", "dom", "contains",
];
/// Words after which `Cookie` is a header, and not a directive such as HAProxy's `cookie`.
const SETTERS: [&str; 7] = [
    "set",
    "add",
    "append",
    "merge",
    "edit",
    "setifempty",
    "echo",
];

/// Reads values out of a text.
pub(super) struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    /// Whether a blank may stand between a name and its value.
    blanks: bool,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, blanks: bool) -> Self {
        let bytes = text.as_bytes();
        Self {
            text,
            bytes,
            blanks,
        }
    }

    /// The next run of letters, digits, `_`, `-` and `.` from `at` on.
    pub(super) fn next_name(&self, at: usize) -> Option<Range<usize>> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
        let start = at + self.bytes.get(at..)?.iter().position(is_part)?;
        let length = self.bytes[start..].iter().position(|byte| !is_part(byte));
        Some(start..length.map_or(self.bytes.len(), |length| start + length))
    }

    /// The value after the name that stands there.
    pub(super) fn value(&self, name: Range<usize>, class: Name) -> Option<Range<usize>> {
        let (end, closed) = self.past_closers(&name)?;
        let at = self.past_blanks(end);
        if let Some((after, is_colon)) = self.operator(at) {
            return self.assigned(&name, self.past_blanks(after), is_colon, class);
        }
        if closed {
            return self.compared(at);
        }
        (at > end && self.takes_argument(&name, class))
            .then(|| self.argument(at, class))
            .flatten()
    }

    /// For `key: NAME` or `name: NAME` whose next key is `value`: where both values stand.
    pub(super) fn pair(&self, name: Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
        let called = self.value(name, Name::Secret)?;
        let next = self.next_name(called.end)?;
        let is_near = next.start - called.end <= PAIR_FARTHEST;
        let between = &self.bytes[called.end..next.start];
        let only_signs = between.iter().all(|byte| !byte.is_ascii_alphanumeric());
        if !is_near || !only_signs || &self.text[next.clone()] != "value" {
            return None;
        }
        let value = self.value(next, Name::Secret)?;
        Some((called, value))
    }

    /// The end of what closes a name, and whether it was more than a quote: `"name"`, `(name)`.
    /// `None` where a quote closes more than the name.
    fn past_closers(&self, name: &Range<usize>) -> Option<(usize, bool)> {
        let before = &self.text[..name.start];
        let rest = &self.text[name.end..];
        let mut at = name.end;
        for quote in ["\\\"", "\"", "'", "`"] {
            if rest.starts_with(quote) {
                if !before.ends_with(quote) {
                    return None;
                }
                at += quote.len();
                break;
            }
        }
        let closers = self.bytes[at..].iter();
        let closers = closers.take_while(|byte| b")]}".contains(byte)).count();
        Some((at + closers, closers > 0))
    }

    fn past_blanks(&self, at: usize) -> usize {
        let rest = self.bytes[at..].iter();
        at + rest.take_while(|byte| b" \t".contains(byte)).count()
    }

    /// Where the operator at `at` ends, and whether it is a colon.
    fn operator(&self, at: usize) -> Option<(usize, bool)> {
        let rest = &self.text[at..];
        let found = OPERATORS.iter().find(|sign| rest.starts_with(**sign))?;
        Some((at + found.len(), *found == ":"))
    }

    /// The value after an operator.
    fn assigned(
        &self,
        name: &Range<usize>,
        at: usize,
        is_colon: bool,
        class: Name,
    ) -> Option<Range<usize>> {
        if let Some(quoted) = self.quoted(at) {
            return Some(quoted);
        }
        let rest = &self.text[at..];
        match rest.bytes().next()? {
            b'\n' | b'\r' => is_colon.then(|| self.inline(at)).flatten(),
            b'|' | b'>' if is_colon && self.blanks => Some(self.block(name.start, at)),
            b'[' => Some(self.bracketed(at)),
            b'{' if !rest.starts_with("{{") && !rest.starts_with("{$") => self
                .inline(at + 1)
                .or_else(|| Some(at..self.word_end(at)).filter(|it| it.len() > 1)),
            _ => Some(self.bare(name, at, is_colon, class)),
        }
    }

    /// What stands in quotes at `at`, without them.
    fn quoted(&self, at: usize) -> Option<Range<usize>> {
        let rest = &self.text[at..];
        for quote in ["\"\"\"", "'''", "\\\""] {
            if let Some(inside) = rest.strip_prefix(quote) {
                let start = at + quote.len();
                let end = inside.find(quote).unwrap_or(inside.len());
                return Some(start..start + end);
            }
        }
        let quote = *self.bytes.get(at).filter(|byte| b"\"'`".contains(byte))?;
        let start = at + 1;
        let mut end = start;
        while let Some(byte) = self.bytes.get(end) {
            match *byte {
                b'\\' => end += 1,
                byte if byte == quote => break,
                _ => {}
            }
            end += 1;
        }
        Some(start..self.at_character(end))
    }

    /// The next beginning of a character from `at` on.
    fn at_character(&self, at: usize) -> usize {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        at
    }

    /// A value without quotes: up to the end of the line where the line is the setting, else a
    /// word.
    fn bare(&self, name: &Range<usize>, at: usize, is_colon: bool, class: Name) -> Range<usize> {
        let is_line = class == Name::Header && is_colon
            || self.blanks && (is_colon || self.begins_line(name.start));
        if !is_line {
            return at..self.word_end(at);
        }
        let line_end = self.line_end(at);
        let (quote, depth) = self.surroundings(name);
        let line = &self.text[at..line_end];
        let mut end = line.len();
        if let Some(quote) = quote {
            end = line.find(char::from(quote)).unwrap_or(end);
        } else if depth > 0 {
            end = line.find([',', '}', ']']).unwrap_or(end);
        }
        // A comment goes to the end of the line.
        end = line[..end].find(" #").unwrap_or(end);
        let kept = line[..end].trim_end_matches([' ', '\t', '\r', ';', ',', '\\']);
        at..at + kept.len()
    }

    /// Where a word ends: at a blank, a quote, `;` or `&`, without the signs that close it.
    fn word_end(&self, at: usize) -> usize {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ';' | '&');
        let rest = &self.text[at..];
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        at + word.trim_end_matches(CLOSING).len()
    }

    /// Whether a value may stand after this name with only a blank between: the name is a
    /// directive or one of its arguments, and not a part of a sentence or of another text.
    fn takes_argument(&self, name: &Range<usize>, class: Name) -> bool {
        let before = self.bytes[..name.start].last().copied().unwrap_or(b'\n');
        let line = &self.text[self.line_start(name.start)..name.start];
        let is_comment = line.trim_start().starts_with(['#', ';']) || line.contains(" #");
        let last_word = line.split_ascii_whitespace().next_back().unwrap_or("");
        let last_word = last_word.to_ascii_lowercase();
        let is_set = SETTERS.contains(&last_word.as_str()) || last_word.contains("header");
        let stands_alone = match before {
            b'"' | b'\'' | b'`' | b' ' | b'\t' | b'\n' | b'\r' | b'{' | b'+' | b'!' => true,
            // nginx: `set $token abc;`, but not `limit_req_zone $token zone=...`.
            b'$' => line.trim_end_matches('$').trim_end().ends_with("set"),
            _ => false,
        };
        let is_directive = &self.text[name.clone()] == "cookie" && !is_set;
        let in_quotes = self.surroundings(name).0.is_some();
        self.blanks
            && class != Name::Assigned
            && stands_alone
            && !is_comment
            && !is_directive
            && !in_quotes
    }

    /// An argument in quotes, or up to a blank or `;`; in a header, with the credential after an
    /// authentication scheme.
    fn argument(&self, at: usize, class: Name) -> Option<Range<usize>> {
        if let Some(quoted) = self.quoted(at) {
            return Some(quoted);
        }
        let end = self.argument_end(at);
        let next = self.past_blanks(end);
        if class == Name::Header && next > end && is_scheme(&self.text[at..end]) {
            return Some(at..self.argument_end(next));
        }
        let word = &self.text[at..end];
        (!word.is_empty() && word != "{").then_some(at..end)
    }

    /// Where an argument ends; a backslash keeps what follows it.
    fn argument_end(&self, at: usize) -> usize {
        let mut end = at;
        while let Some(byte) = self.bytes.get(end) {
            match byte {
                b'\\' if self.bytes.get(end + 1).is_some_and(|it| *it != b'\n') => end += 1,
                b';' => break,
                byte if byte.is_ascii_whitespace() => break,
                _ => {}
            }
            end += 1;
        }
        self.at_character(end)
    }

    /// HAProxy's `hdr(x-api-key) -m str VALUE`.
    fn compared(&self, at: usize) -> Option<Range<usize>> {
        let mut at = at;
        let mut is_compared = false;
        for _ in 0..COMPARISONS.len() {
            let end = self.argument_end(at);
            let word = &self.text[at..end];
            if !word.starts_with('-') && !COMPARISONS.contains(&word) {
                break;
            }
            is_compared = true;
            at = self.past_blanks(end);
        }
        is_compared
            .then(|| self.argument(at, Name::Secret))
            .flatten()
    }

    /// What stands below or within a name as its text: `{ inline_string: "abc" }`.
    fn inline(&self, at: usize) -> Option<Range<usize>> {
        let name = self.next_name(at)?;
        let between = &self.bytes[at..name.start];
        let only_blanks = between.iter().all(|it| b" \t\r\n\"'{".contains(it));
        if !only_blanks || !INLINE.contains(&&self.text[name.clone()]) {
            return None;
        }
        let (end, _) = self.past_closers(&name)?;
        let (after, is_colon) = self.operator(self.past_blanks(end))?;
        let at = self.past_blanks(after);
        let rest = self.bytes.get(at)?;
        match rest {
            b'\n' | b'\r' | b'{' => None,
            _ => self.assigned(&name, at, is_colon, Name::Secret),
        }
    }

    /// The lines below `|` or `>` that are indented deeper than the name's own.
    fn block(&self, name: usize, at: usize) -> Range<usize> {
        let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let own = indent(&self.text[self.line_start(name)..]);
        let start = (self.line_end(at) + 1).min(self.text.len());
        let mut end = start;
        for line in self.text[start..].split_inclusive('\n') {
            if !line.trim().is_empty() && indent(line) <= own {
                break;
            }
            end += line.len();
        }
        let kept = self.text[start..end].trim_end();
        let begin = kept.len() - kept.trim_start().len();
        start + begin..start + kept.len()
    }

    /// What stands in brackets at `at`.
    fn bracketed(&self, at: usize) -> Range<usize> {
        let mut depth = 0_usize;
        for (index, byte) in self.bytes[at..].iter().enumerate().take(LINE_LONGEST) {
            match byte {
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at + 1..at + index;
            }
        }
        at + 1..self.line_end(at).max(at + 1)
    }

    fn line_start(&self, at: usize) -> usize {
        let from = self.at_character(at.saturating_sub(LINE_LONGEST));
        self.text[from..at]
            .rfind('\n')
            .map_or(from, |end| from + end + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |end| at + end)
    }

    /// Whether only blanks, signs of a list or words such as `export` stand before.
    fn begins_line(&self, at: usize) -> bool {
        let before = &self.text[self.line_start(at)..at];
        let mut words = before.split([' ', '\t', '-', '$', '"', '\'']);
        words.all(|word| ["", "export", "set", "env", "local", "var"].contains(&word))
    }

    /// The quote that is open around the name, and how many braces and brackets are, on its line.
    /// Quotes of its own are not around it.
    fn surroundings(&self, name: &Range<usize>) -> (Option<u8>, usize) {
        let before = name.start.checked_sub(1).map(|at| (at, self.bytes[at]));
        let own = before.filter(|(_, byte)| b"\"'`".contains(byte));
        let own = own.filter(|(_, byte)| self.bytes.get(name.end) == Some(byte));
        let at = own.map_or(name.start, |(at, _)| at);
        let (mut quote, mut depth) = (None, 0_usize);
        let mut bytes = self.bytes[self.line_start(at)..at].iter();
        while let Some(byte) = bytes.next() {
            match (quote, *byte) {
                (_, b'\\') => drop(bytes.next()),
                (Some(open), byte) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, byte) if b"\"'`".contains(&byte) => quote = Some(byte),
                (None, b'{' | b'[') => depth += 1,
                (None, b'}' | b']') => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        (quote, depth)
    }
}
