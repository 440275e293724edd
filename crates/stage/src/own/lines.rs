//! How the text of a configuration becomes lines that rules look at.
//!
//! A server may read several lines of a file as one, or several statements in one line. Rules look
//! at what the server reads; what they leave alone stays as its user wrote it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use regex_lite::Regex;
use serde::Deserialize;

use crate::keys::Keys;

/// `[own.foreign.lines]` as it is written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinesTable {
    /// The end of a line that goes on in the next one.
    continues: Option<String>,
    /// Whether a line goes on until its round brackets are closed, and whether blocks in braces
    /// may have statements in the line that opens them.
    #[serde(default)]
    brackets: bool,
    /// Its first group is the kind of the section that a line begins.
    section: Option<String>,
    /// Whether the text is YAML, JSON or TOML, and the section of a line the path of its keys.
    #[serde(default)]
    keys: bool,
    /// Its first groups that match are a name and the text that stands for it.
    define: Option<String>,
}

/// `[own.foreign.lines]`, ready to be used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    continues: Option<Regex>,
    brackets: bool,
    section: Option<Regex>,
    keys: bool,
    define: Option<Regex>,
}

/// What a server reads as one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read<'t> {
    /// From 1: the first line of the file that it is made of.
    pub(super) number: usize,
    /// As the file has it, maybe in several lines.
    pub(super) before: &'t str,
    /// As the server takes it.
    pub(super) text: Cow<'t, str>,
    /// The kind of section that it is in.
    pub(super) section: Cow<'t, str>,
}

impl LinesTable {
    pub(super) fn rules(&self) -> Result<Layout, String> {
        let pattern = |key: &str, text: &Option<String>| {
            let pattern = text.as_deref().map(Regex::new).transpose();
            pattern.map_err(|cause| format!("`own.foreign.lines.{key}` is no pattern: {cause}"))
        };
        Ok(Layout {
            continues: pattern("continues", &self.continues)?,
            brackets: self.brackets,
            section: pattern("section", &self.section)?,
            keys: self.keys,
            define: pattern("define", &self.define)?,
        })
    }
}

impl Layout {
    /// The text as the server reads it.
    pub(super) fn lines<'t>(&self, text: &'t str) -> Vec<Read<'t>> {
        let mut lines = Vec::new();
        let mut sections = Sections::default();
        let paths = if self.keys {
            Keys::of(text).paths
        } else {
            Vec::new()
        };
        let mut paths = paths.into_iter();
        let mut ends = text.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        let (mut begin, mut number) = (0, 1);
        while let Some(mut end) = ends.next() {
            let mut count = 1;
            while self.goes_on(&text[begin..end]) {
                let Some(next) = ends.next() else {
                    break;
                };
                end = next;
                count += 1;
            }
            let before = without_end(&text[begin..end]);
            let section = match paths.next() {
                Some(path) => Cow::Owned(path),
                None => Cow::Borrowed(sections.at(before, self.section_of(before))),
            };
            lines.push(Read {
                number,
                before,
                text: self.as_read(before),
                section,
            });
            begin = end;
            number += count;
        }
        lines
    }

    /// Whether the last line of a text is not the end of what the server reads as one.
    fn goes_on(&self, text: &str) -> bool {
        if self.brackets {
            return Marks::of(text).any_open_bracket();
        }
        let last = without_end(text).rsplit('\n').next().unwrap_or_default();
        let continues = self.continues.as_ref();
        continues.is_some_and(|it| it.is_match(last.trim_end_matches('\r')))
    }

    fn section_of<'t>(&self, line: &'t str) -> Option<&'t str> {
        let captures = self.section.as_ref()?.captures(line)?;
        captures.get(1).map(|kind| kind.as_str())
    }

    fn as_read<'t>(&self, before: &'t str) -> Cow<'t, str> {
        if self.brackets {
            return Marks::of(before).apart();
        }
        match &self.continues {
            Some(continues) if before.contains('\n') => {
                let mut lines = before.lines().peekable();
                let mut joined = String::new();
                while let Some(line) = lines.next() {
                    match lines.peek() {
                        Some(_) => joined += &continues.replace(line, ""),
                        None => joined += line,
                    }
                }
                Cow::Owned(joined)
            }
            _ => Cow::Borrowed(before),
        }
    }

    /// The texts that names stand for; a name with several has none, as nobody here knows which
    /// is meant.
    pub(super) fn defined<'t>(
        &self,
        texts: impl Iterator<Item = &'t str>,
    ) -> BTreeMap<String, Option<String>> {
        let mut defined = BTreeMap::new();
        let Some(define) = &self.define else {
            return defined;
        };
        for line in texts.flat_map(|text| self.lines(text)) {
            let Some(captures) = define.captures(&line.text) else {
                continue;
            };
            let mut groups = captures.iter().skip(1).flatten();
            let (Some(name), Some(value)) = (groups.next(), groups.next()) else {
                continue;
            };
            let value = value.as_str().trim_matches(['"', '\'']);
            let value = Some(value.to_owned());
            let known = defined.entry(name.as_str().to_owned());
            let known = known.or_insert_with(|| value.clone());
            if *known != value {
                *known = None;
            }
        }
        defined
    }
}

/// The sections that lines stand in.
#[derive(Default)]
struct Sections<'t> {
    /// The last one without braces, which goes on until the next begins.
    last: &'t str,
    /// Those in braces that are open, and in how many blocks each is.
    open: Vec<(&'t str, usize)>,
    /// How many blocks are open.
    depth: usize,
}

impl<'t> Sections<'t> {
    /// The kind of the section that the next line stands in, which it may have begun itself.
    fn at(&mut self, line: &str, begun: Option<&'t str>) -> &'t str {
        let words = line.split_whitespace();
        let words: Vec<&str> = words.take_while(|word| !word.starts_with('#')).collect();
        let closed = words.iter().take_while(|word| **word == "}").count();
        self.depth = self.depth.saturating_sub(closed);
        self.open.retain(|(_, around)| *around < self.depth);
        let opens = words.last() == Some(&"{");
        match begun {
            Some(kind) if opens => self.open.push((kind, self.depth)),
            Some(kind) => self.last = kind,
            None => {}
        }
        self.depth += usize::from(opens);
        self.open.last().map_or(self.last, |(kind, _)| kind)
    }
}

/// A line without the mark of its end.
fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The letters of a text that are neither in quotes nor in a comment.
struct Marks<'t> {
    text: &'t str,
    /// Where they are.
    at: Vec<(usize, char)>,
    /// Where comments begin and end.
    comments: Vec<(usize, usize)>,
}

impl<'t> Marks<'t> {
    fn of(text: &'t str) -> Self {
        let mut marks = Self {
            text,
            at: Vec::new(),
            comments: Vec::new(),
        };
        let mut is_quoted = false;
        let mut letters = text.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' if is_quoted => drop(letters.next()),
                '"' => is_quoted = !is_quoted,
                _ if is_quoted => {}
                '#' => {
                    let end = letters.find(|(_, letter)| *letter == '\n');
                    let end = end.map_or(text.len(), |(end, _)| end);
                    marks.comments.push((at, end));
                }
                _ => marks.at.push((at, letter)),
            }
        }
        marks
    }

    fn any_open_bracket(&self) -> bool {
        let count = |mark| self.at.iter().filter(|(_, letter)| *letter == mark).count();
        count('(') > count(')')
    }

    /// Each statement begins a line, and there are no comments, where the text is not a line with
    /// one statement.
    fn apart(&self) -> Cow<'t, str> {
        let is_brace = |letter: char| letter == '{' || letter == '}';
        let mut braces = self.at.iter().filter(|(_, letter)| is_brace(*letter));
        let is_alone = |at: usize, letter: char| match letter {
            '{' => !self.is_followed(at + 1),
            _ => self.text[..at].trim().is_empty() && !self.is_followed(at + 1),
        };
        if !self.text.contains('\n') && braces.all(|(at, letter)| is_alone(*at, *letter)) {
            return Cow::Borrowed(self.text);
        }
        let mut apart = String::new();
        let mut from = 0;
        let mut comments = self.comments.iter().peekable();
        for (at, letter) in &self.at {
            while let Some((begin, end)) = comments.next_if(|(begin, _)| begin < at) {
                apart.push_str(&self.text[from..*begin]);
                from = *end;
            }
            match letter {
                '{' => {
                    apart.push_str(&self.text[from..=*at]);
                    apart.push('\n');
                    from = at + 1;
                }
                '}' => {
                    apart.push_str(&self.text[from..*at]);
                    apart.push_str("\n}\n");
                    from = at + 1;
                }
                _ => {}
            }
        }
        let end = comments.next().map_or(self.text.len(), |(begin, _)| *begin);
        apart.push_str(&self.text[from..end.max(from)]);
        Cow::Owned(apart.trim_end().to_owned())
    }

    /// Whether anything but a comment stands behind a place.
    fn is_followed(&self, place: usize) -> bool {
        let comment = self.comments.iter().find(|(begin, _)| *begin >= place);
        let end = comment.map_or(self.text.len(), |(begin, _)| *begin);
        !self.text[place..end].trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'t>(layout: &Layout, text: &'t str) -> Vec<(usize, Cow<'t, str>)> {
        let lines = layout.lines(text).into_iter();
        lines.map(|line| (line.number, line.text)).collect()
    }

    #[test]
    fn lines_go_on_as_the_server_reads_them() {
        let layout = Layout {
            continues: Some(Regex::new(r"\\$").unwrap()),
            ..Layout::default()
        };
        let text = "a \\\n  b \\\r\n c\nd\\\\x\n# e \\\nf\ng \\";
        let expected = [(1, "a   b  c"), (4, "d\\\\x"), (5, "# e f"), (7, "g \\")];
        let expected = expected.map(|(number, text)| (number, Cow::Borrowed(text)));
        assert_eq!(read(&layout, text), expected);
        assert_eq!(read(&Layout::default(), "a \\\r\nb").len(), 2);
    }

    #[test]
    fn a_section_in_braces_ends_with_them() {
        let layout = Layout {
            section: Some(Regex::new(r"^\s*(global|outer|inner)\b").unwrap()),
            ..Layout::default()
        };
        let text = "a\nouter {\nb {\n# }\n}\ninner { # {\nc\n}\nd\n}\ne\nglobal\n}\nf";
        let lines = layout.lines(text);
        let kinds: Vec<&str> = lines.iter().map(|line| line.section.as_ref()).collect();
        let expected = "- outer outer outer outer inner inner outer outer - - global global global";
        let expected = expected.split(' ').map(|kind| kind.trim_matches('-'));
        assert_eq!(kinds, expected.collect::<Vec<_>>());
    }

    #[test]
    fn statements_stand_apart_and_brackets_are_closed() {
        let layout = Layout {
            brackets: true,
            ..Layout::default()
        };
        for (text, expected) in [
            ("a = \"(\" # (\nb", &["a = \"(\" # (", "b"] as &[&str]),
            ("a = ( 1, # )\n 2 )\nb", &["a = ( 1, \n 2 )", "b"]),
            ("$x == \"{\" {\n a\n}", &["$x == \"{\" {", " a", "}"]),
            ("$x == \"y\" { a = 1 } # z", &["$x == \"y\" {\n a = 1 \n}"]),
            (
                "} else $x == \"\\\"{\" { # a",
                &["\n}\n else $x == \"\\\"{\" {"],
            ),
            ("}", &["}"]),
            ("a = ( 1", &["a = ( 1"]),
        ] {
            let lines: Vec<_> = read(&layout, text).into_iter().map(|it| it.1).collect();
            assert_eq!(lines, expected, "{text}");
        }
    }
}
