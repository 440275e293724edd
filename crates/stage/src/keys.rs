//! The keys of a text in YAML, JSON or TOML, with their lines, as far as its layout shows them.
//!
//! It reads the parts that configurations of servers use: blocks by indentation, lists, braces and
//! brackets, tables. It ignores anchors, tags, texts of several lines, and what it cannot read.

use std::iter::Peekable;
use std::str::Chars;

/// Blocks in blocks that are read.
const DEPTH_MAX: usize = 32;
/// Longest name of a key, in characters; a longer one is cut.
const NAME_MAX: usize = 100;
/// Keys of one text, and lines that have a path.
const KEYS_MAX: usize = 20_000;

/// A value, or a table with nothing in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keyed {
    /// The keys around it and its own, such as `clusters[1].endpoints[0].port`: places in lists
    /// count from 0.
    pub(crate) path: String,
    /// Without quotes; empty for a table.
    pub(crate) value: String,
    /// From 1.
    pub(crate) line: usize,
}

/// What a text has.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// In their order.
    pub(crate) all: Vec<Keyed>,
    /// For each line the path of the first key on it, or of what it goes on with.
    pub(crate) paths: Vec<String>,
}

impl Keys {
    /// Reads a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut reader = Reader::default();
        let is_json = text.trim_start().starts_with('{');
        let is_toml = !is_json && text.lines().any(|line| table(line.trim()).is_some());
        let mut lines = Lines::of(text);
        while let Some(line) = lines.next() {
            if is_toml {
                reader.toml(line, &mut lines);
            } else {
                reader.yaml(line, &mut lines);
            }
        }
        reader.keys.paths.truncate(text.lines().count());
        reader.keys
    }
}

/// The name of the table of TOML that a line begins, as no line of YAML does.
fn table(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?.trim_start_matches('[');
    let (name, _) = inner.split_once(']')?;
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "._-\"'@".contains(letter);
    let begins = name.starts_with(|it: char| it.is_ascii_alphabetic());
    (begins && name.chars().all(is_part)).then_some(name)
}

/// The lines of a text with their numbers.
struct Lines<'t> {
    lines: std::str::Lines<'t>,
    number: usize,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            lines: text.lines(),
            number: 0,
        }
    }

    fn next(&mut self) -> Option<&'t str> {
        self.number += 1;
        self.lines.next()
    }
}

/// A block that is open.
struct Frame {
    /// Columns before it.
    indent: usize,
    is_item: bool,
    /// Length of the path with it.
    end: usize,
    /// Items of its list so far.
    items: usize,
}

#[derive(Default)]
struct Reader {
    keys: Keys,
    path: String,
    open: Vec<Frame>,
    /// Items of each list of tables in TOML.
    tables: std::collections::BTreeMap<String, usize>,
    /// Columns of the key whose text of several lines is passed over.
    text_at: Option<usize>,
}

impl Reader {
    fn yaml(&mut self, line: &str, lines: &mut Lines<'_>) {
        let trimmed = line.trim_start();
        let mut indent = line.len() - trimmed.len();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return;
        }
        match self.text_at {
            Some(at) if indent > at => return,
            _ => self.text_at = None,
        }
        if trimmed.starts_with("---") {
            self.close(|_| true);
            return;
        }
        let mut rest = trimmed;
        while let Some(inner) = rest
            .strip_prefix('-')
            .filter(|it| it.is_empty() || it.starts_with(' '))
        {
            self.close(|frame| frame.indent > indent || frame.indent == indent && frame.is_item);
            let items = self.open.last_mut().map_or(0, |list| {
                list.items += 1;
                list.items - 1
            });
            self.enter(indent, true, &format!("[{items}]"));
            let inner_trimmed = inner.trim_start();
            indent += rest.len() - inner_trimmed.len();
            rest = inner_trimmed;
        }
        let Some((name, value)) = key_of(rest) else {
            self.note(lines.number);
            self.value(rest, indent, lines);
            return;
        };
        self.close(|frame| frame.indent >= indent);
        self.enter(indent, false, &format!(".{name}"));
        self.note(lines.number);
        self.value(value, indent, lines);
    }

    fn toml(&mut self, line: &str, lines: &mut Lines<'_>) {
        let line = line.trim();
        if let Some(name) = table(line) {
            self.close(|_| true);
            let is_list = line.starts_with("[[");
            let mut parts = name.split('.').peekable();
            while let Some(part) = parts.next() {
                self.enter(0, false, &format!(".{}", unquoted(part)));
                let begins = is_list && parts.peek().is_none();
                if begins && self.tables.len() < KEYS_MAX {
                    *self.tables.entry(self.path.clone()).or_default() += 1;
                }
                // What stands in a list stands in its last item.
                if let Some(items) = self.tables.get(&self.path) {
                    self.enter(0, true, &format!("[{}]", items - 1));
                }
            }
            self.note(lines.number);
            self.keep(String::new(), lines.number);
            return;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            return;
        };
        let depth = self.open.len();
        for part in name.trim().split('.') {
            self.enter(0, false, &format!(".{}", unquoted(part)));
        }
        self.note(lines.number);
        self.value(value.trim(), 0, lines);
        while self.open.len() > depth {
            self.leave();
        }
    }

    /// What stands behind a key or in a list.
    fn value(&mut self, text: &str, indent: usize, lines: &mut Lines<'_>) {
        match text.chars().next() {
            None | Some('#') => {}
            Some('{' | '[') => {
                let line = lines.number;
                let whole = gathered(text, lines);
                let mut letters = Letters {
                    letters: whole.chars().peekable(),
                    line,
                };
                self.flow(&mut letters, 0);
            }
            Some('|' | '>') => self.text_at = Some(indent),
            Some(_) => self.keep(plain(text), lines.number),
        }
    }

    /// What is in braces or brackets.
    fn flow(&mut self, letters: &mut Letters<'_>, depth: usize) {
        let Some(open) = letters.next_mark() else {
            return;
        };
        let (is_list, begin) = (open == '[', self.keys.all.len());
        let mut items = 0;
        loop {
            let before = self.open.len();
            if is_list {
                self.enter(0, true, &format!("[{items}]"));
                items += 1;
            }
            let mut word = letters.word();
            if !is_list && !word.is_empty() {
                self.enter(0, false, &format!(".{word}"));
                self.note(letters.line);
                let is_value = matches!(letters.peek(), Some(':' | '='));
                if is_value {
                    letters.letters.next();
                }
                word = letters.word();
            }
            let line = letters.line;
            match letters.peek() {
                Some('{' | '[') if depth < DEPTH_MAX => self.flow(letters, depth + 1),
                _ if !word.is_empty() => self.keep(word, line),
                _ => {}
            }
            while self.open.len() > before {
                self.leave();
            }
            match letters.next_mark() {
                Some(',') => {}
                _ => break,
            }
        }
        if self.keys.all.len() == begin {
            self.keep(String::new(), letters.line);
        }
    }

    fn enter(&mut self, indent: usize, is_item: bool, part: &str) {
        if self.open.len() < DEPTH_MAX {
            let part = if self.path.is_empty() {
                part.trim_start_matches('.')
            } else {
                part
            };
            self.path.extend(part.chars().take(NAME_MAX));
        }
        self.open.push(Frame {
            indent,
            is_item,
            end: self.path.len(),
            items: 0,
        });
    }

    fn leave(&mut self) {
        self.open.pop();
        self.path
            .truncate(self.open.last().map_or(0, |frame| frame.end));
    }

    fn close(&mut self, is_over: impl Fn(&Frame) -> bool) {
        while self.open.last().is_some_and(&is_over) {
            self.leave();
        }
    }

    /// Keeps the path of a line, unless it has one.
    fn note(&mut self, line: usize) {
        if line > KEYS_MAX {
            return;
        }
        match self.keys.paths.get_mut(line - 1) {
            // Its key says more than its place in a list.
            Some(known) if known.ends_with(']') => known.clone_from(&self.path),
            Some(_) => {}
            None => {
                let last = self.keys.paths.last().cloned().unwrap_or_default();
                self.keys.paths.resize(line - 1, last);
                self.keys.paths.push(self.path.clone());
            }
        }
    }

    fn keep(&mut self, value: String, line: usize) {
        if self.keys.all.len() < KEYS_MAX {
            self.keys.all.push(Keyed {
                path: self.path.clone(),
                value,
                line,
            });
        }
    }
}

/// The key of a line, and what stands behind it.
fn key_of(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|it| matches!(it, '"' | '\''));
    let end = match quote {
        Some(quote) => 2 + text[1..].find(quote)?,
        None => text
            .match_indices(':')
            .map(|(at, _)| at)
            .find(|at| text[at + 1..].starts_with(' ') || at + 1 == text.len())?,
    };
    if text.starts_with(['{', '[', '#']) {
        return None;
    }
    let value = text[end..].trim_start().strip_prefix(':')?;
    Some((unquoted(&text[..end]), value.trim()))
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

/// A value of one line without quotes and without a comment behind it.
fn plain(text: &str) -> String {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split(quote).next().unwrap_or_default().to_owned(),
        _ => text
            .split(" #")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned(),
    }
}

/// A text that goes on until its braces and brackets are closed.
fn gathered(first: &str, lines: &mut Lines<'_>) -> String {
    let mut text = first.to_owned();
    let mut depth = depth_of(first);
    while depth > 0 {
        let Some(next) = lines.next() else {
            break;
        };
        text.push('\n');
        text.push_str(next);
        depth += depth_of(next);
    }
    text
}

/// Brackets that a line opens and does not close, outside of quotes and comments.
fn depth_of(line: &str) -> isize {
    let (mut depth, mut quote, mut last) = (0, None, ' ');
    for letter in line.chars() {
        match (quote, letter) {
            (Some(mark), letter) if letter == mark && last != '\\' => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '#') if last.is_whitespace() => break,
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth -= 1,
            _ => {}
        }
        last = letter;
    }
    depth
}

/// What is left of a text in braces or brackets.
struct Letters<'t> {
    letters: Peekable<Chars<'t>>,
    line: usize,
}

impl Letters<'_> {
    /// The next letter that is no blank.
    fn peek(&mut self) -> Option<char> {
        loop {
            match *self.letters.peek()? {
                '\n' => self.line += 1,
                '#' => {
                    while self.letters.peek().is_some_and(|it| *it != '\n') {
                        self.letters.next();
                    }
                    continue;
                }
                letter if letter.is_whitespace() => {}
                letter => return Some(letter),
            }
            self.letters.next();
        }
    }

    fn next_mark(&mut self) -> Option<char> {
        self.peek()?;
        self.letters.next()
    }

    /// A key or a value, without quotes; empty before a mark.
    fn word(&mut self) -> String {
        let mut word = String::new();
        let quote = self.peek().filter(|it| matches!(it, '"' | '\''));
        if quote.is_some() {
            self.letters.next();
        }
        while let Some(letter) = self.letters.peek().copied() {
            let is_end = match quote {
                Some(quote) => letter == quote,
                // Addresses have colons in them.
                None if letter == ':' => {
                    let mut ahead = self.letters.clone();
                    ahead.next();
                    ahead.peek().is_none_or(|it| it.is_whitespace())
                }
                None => matches!(letter, ',' | '{' | '}' | '[' | ']' | '=' | '\n'),
            };
            if is_end {
                break;
            }
            self.line += usize::from(letter == '\n');
            word.push(letter);
            self.letters.next();
        }
        if quote.is_some() {
            self.letters.next();
            return word;
        }
        word.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let keys = Keys::of(text);
        let shown = keys
            .all
            .iter()
            .map(|it| format!("{} {}={}", it.line, it.path, it.value));
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn blocks_lists_and_braces_of_yaml() {
        check(
            "a:\n  b: 1 # one\n  c:\n  - x: \"y: z\"\n    w: {p: q, r: [1, 2]}\n  - v\n\
             d: |\n  e: f\ng: {}\nh:\n- i:\n    j: k:80\n",
            &[
                "2 a.b=1",
                "4 a.c[0].x=y: z",
                "5 a.c[0].w.p=q",
                "5 a.c[0].w.r[0]=1",
                "5 a.c[0].w.r[1]=2",
                "6 a.c[1]=v",
                "9 g=",
                "12 h[0].i.j=k:80",
            ],
        );
        check("- - a\n  - b\n", &["1 [0][0]=a", "2 [0][1]=b"]);
    }

    #[test]
    fn json_and_braces_over_lines() {
        check(
            "{\n \"a\": {\n  \"b\": [\n   {\"c\": \"0.0.0.0\"},\n   7\n  ]\n },\n \"d\": true\n}\n",
            &["4 a.b[0].c=0.0.0.0", "5 a.b[1]=7", "8 d=true"],
        );
        check("a: {b: c,\n  d: e}\nf: g", &["1 a.b=c", "2 a.d=e", "3 f=g"]);
    }

    #[test]
    fn tables_of_toml() {
        check(
            "[a]\n [a.b]\n c = \":80\" # x\n[[a.l]]\nu = \"http://a:1\"\n[[a.l]]\nu = 2\n\
             d = { e = [\"f\"] }\n",
            &[
                "1 a=",
                "2 a.b=",
                "3 a.b.c=:80",
                "4 a.l[0]=",
                "5 a.l[0].u=http://a:1",
                "6 a.l[1]=",
                "7 a.l[1].u=2",
                "8 a.l[1].d.e[0]=f",
            ],
        );
    }

    #[test]
    fn each_line_has_the_path_of_its_first_key() {
        let text = "a:\n  - b: 1\n    c: {d: 2}\n# x\ne: 3\n";
        assert_eq!(
            Keys::of(text).paths,
            ["a", "a[0].b", "a[0].c", "a[0].c", "e"]
        );
        let json = "{\n\"a\": {\n\"b\": 1\n}}";
        assert_eq!(Keys::of(json).paths, ["", "a", "a.b"]);
    }

    #[test]
    fn anything_is_read_without_end_or_harm() {
        for text in [
            "{", "[[", "a: {b", "- - - -", "\"", "a: 'b", ": :", "[x", "}", "=", "{{{{a:",
            "---\n[", "é: é",
        ] {
            let _ = Keys::of(text);
            let _ = Keys::of(&format!("[t]\n{text}"));
        }
        let deep = "[".repeat(10_000);
        assert!(Keys::of(&deep).all.len() <= KEYS_MAX);
        let _ = Keys::of(&format!("a: {deep}"));
    }
}
