//! What a server's folder says of users' own files: `[own]` in `server.toml`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde::Deserialize;

use super::foreign::{Foreign, ForeignTable};
use super::includes::Lead;
use crate::variables::Variables;

/// `[own]` as it is written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnTable {
    /// Its first group is a pattern of files that a line takes in.
    include: Option<String>,
    /// Whether it may also be a folder, with all files below it.
    #[serde(default, rename = "include-folders")]
    include_folders: bool,
    /// Its first group that matches is the folder that relative paths begin at, in a line of the
    /// main file; a group `parent` stands for the one above the file's own.
    base: Option<String>,
    /// Lines that are left alone.
    comment: Option<String>,
    #[serde(default)]
    change: Vec<ChangeTable>,
    insert: Option<Insert>,
    /// Whether the server passes over a mark of the byte order at the beginning of a file, or
    /// refuses it; where neither is known, the mark stays.
    #[serde(rename = "byte-order-mark")]
    byte_order_mark: Option<bool>,
    /// Names that such files usually have.
    #[serde(default)]
    names: Vec<String>,
    /// What only such a file has in it.
    looks_like: Option<String>,
    /// What a file has in it that asks an upstream.
    proxies: Option<String>,
    /// A command that prints what the program makes of a file.
    adapt: Option<Vec<String>>,
    /// Whether such files run unchanged in a box, where one can be made.
    #[serde(default, rename = "box")]
    boxed: bool,
    /// What files need that were made for other machines.
    #[serde(default)]
    foreign: ForeignTable,
    #[serde(default)]
    hint: Vec<HintTable>,
}

/// What the server says of a file that it refuses, and what to do about it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct HintTable {
    /// Of the message. Named groups become variables of `hint`.
    pattern: String,
    hint: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeTable {
    /// Lines that it looks into; left out, all.
    line: Option<String>,
    /// Lines that it does not look into.
    unlike: Option<String>,
    /// Kinds of sections that it looks into; left out, all.
    section: Option<String>,
    /// What it replaces, as often as it is there. Named groups become variables of `to`; one
    /// called `next` is what must follow, and stays.
    pattern: String,
    /// Left out where it only refuses.
    #[serde(default)]
    to: String,
    /// What to do about a line that no trial can use; `why` is the reason.
    refuse: Option<String>,
    /// A template; the rule rests where it gives nothing.
    #[serde(rename = "if")]
    condition: Option<String>,
    /// A word; the rule rests where a statement of any file begins with it.
    unless: Option<String>,
    /// A block; what `unless` says counts only directly in it.
    #[serde(rename = "unless-in")]
    unless_in: Option<String>,
    /// A block that a match must open, and a word: nothing is changed where it has a statement
    /// directly in it that begins with that, or may take one in.
    opens: Option<OpensTable>,
    /// A pattern; the rule rests where no line of any file is like it.
    when: Option<String>,
    /// Whether it is for files that run in a box, and for no others.
    #[serde(default, rename = "box")]
    boxed: bool,
    /// Why a trial needs it, for people.
    why: String,
}

/// The block that a line opens.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpensTable {
    /// Its name.
    pub(crate) block: String,
    /// What it must not say.
    pub(crate) without: String,
}

/// Lines that the main file gets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Insert {
    /// The first statement, if it is like this, is what they follow.
    pub(crate) after: String,
    /// A template of them.
    pub(crate) lines: String,
    /// The same for a file whose first statement is another: its new beginning.
    pub(crate) otherwise: String,
    pub(crate) why: String,
}

/// What some editors write at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// `[own]`, ready to be used.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnRules {
    pub(crate) include: Option<Regex>,
    pub(crate) folders: bool,
    pub(crate) base: Option<Regex>,
    pub(crate) comment: Option<Regex>,
    pub(crate) changes: Vec<Rule>,
    pub(crate) insert: Option<(Regex, Insert)>,
    pub(crate) byte_order_mark: Option<bool>,
    pub(crate) names: Vec<String>,
    pub(crate) looks_like: Option<Regex>,
    pub(crate) proxies: Option<Regex>,
    pub(crate) adapt: Option<Vec<String>>,
    pub(crate) boxed: bool,
    pub(crate) foreign: Foreign,
    /// Patterns of the server's messages, and templates of hints.
    pub(crate) hints: Vec<(Regex, String)>,
}

/// A change of lines.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) line: Option<Regex>,
    pub(crate) unlike: Option<Regex>,
    pub(crate) section: Option<Regex>,
    pub(crate) pattern: Regex,
    pub(crate) to: String,
    pub(crate) refuse: Option<String>,
    pub(crate) condition: Option<String>,
    pub(crate) unless: Option<String>,
    pub(crate) unless_in: Option<String>,
    pub(crate) opens: Option<OpensTable>,
    pub(crate) when: Option<Regex>,
    pub(crate) boxed: bool,
    pub(crate) why: String,
}

impl OwnTable {
    /// Reads the patterns; an error names the key and what is wrong.
    pub(crate) fn rules(&self) -> Result<OwnRules, String> {
        let pattern = |key: &str, text: &str| {
            Regex::new(text).map_err(|cause| format!("`own.{key}` is no pattern: {cause}"))
        };
        let optional = |key: &str, text: &Option<String>| {
            let text = text.as_deref();
            text.map(|text| pattern(key, text)).transpose()
        };
        let with_group = |key: &str, text: &Option<String>| match optional(key, text)? {
            Some(pattern) if pattern.captures_len() < 2 => Err(format!(
                "`own.{key}` has no group; expected one around the path"
            )),
            pattern => Ok(pattern),
        };
        let include = with_group("include", &self.include)?;
        let mut changes = Vec::new();
        for table in &self.change {
            changes.push(Rule {
                line: optional("change.line", &table.line)?,
                unlike: optional("change.unlike", &table.unlike)?,
                section: optional("change.section", &table.section)?,
                pattern: pattern("change.pattern", &table.pattern)?,
                to: table.to.clone(),
                refuse: table.refuse.clone(),
                condition: table.condition.clone(),
                unless: table.unless.clone(),
                unless_in: table.unless_in.clone(),
                opens: table.opens.clone(),
                when: optional("change.when", &table.when)?,
                boxed: table.boxed,
                why: table.why.clone(),
            });
        }
        let hints = self.hint.iter().map(|table| {
            let pattern = pattern("hint.pattern", &table.pattern)?;
            Ok::<_, String>((pattern, table.hint.clone()))
        });
        let insert = self.insert.as_ref().map(|insert| {
            let after = pattern("insert.after", &insert.after)?;
            Ok::<_, String>((after, insert.clone()))
        });
        Ok(OwnRules {
            include,
            folders: self.include_folders,
            base: with_group("base", &self.base)?,
            comment: optional("comment", &self.comment)?,
            changes,
            insert: insert.transpose()?,
            byte_order_mark: self.byte_order_mark,
            names: self.names.clone(),
            looks_like: optional("looks_like", &self.looks_like)?,
            proxies: optional("proxies", &self.proxies)?,
            adapt: self.adapt.clone(),
            boxed: self.boxed,
            foreign: self.foreign.rules()?,
            hints: hints.collect::<Result<_, _>>()?,
        })
    }
}

impl OwnRules {
    /// Whether a file is made fit for a trial without a box.
    pub(crate) fn has_changes(&self) -> bool {
        self.changes.iter().any(|rule| !rule.boxed)
    }

    /// Keeps the rules that are for files in a box, or for those without.
    pub(crate) fn keep_for(&mut self, boxed: bool) {
        self.changes.retain(|rule| rule.boxed == boxed);
    }

    /// A file's text without the mark of the byte order that the server passes over: what a trial
    /// puts before it would make it part of a word.
    pub(super) fn without_mark(&self, text: String) -> String {
        match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(bare) if self.byte_order_mark == Some(true) => bare.to_owned(),
            _ => text,
        }
    }

    /// Whether the server takes the mark of the byte order at the beginning of this text for a part
    /// of its first word.
    pub(crate) fn refuses_mark(&self, text: &str) -> bool {
        self.byte_order_mark == Some(false) && text.starts_with(BYTE_ORDER_MARK)
    }

    /// Whether a rule asks what a block says.
    pub(super) fn look_into_blocks(&self) -> bool {
        self.changes.iter().any(|rule| rule.opens.is_some())
    }

    /// Whether a line says nothing to the server.
    pub(crate) fn is_comment(&self, line: &str) -> bool {
        self.comment.as_ref().is_some_and(|it| it.is_match(line))
    }

    /// Names of blocks in a text that lines can name in place of an address.
    pub(crate) fn blocks_in<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let lines = text.lines().filter(|line| !self.is_comment(line));
        let found = lines.filter_map(|line| self.foreign.blocks.as_ref()?.captures(line)?.get(1));
        found.map(|name| name.as_str())
    }

    /// The hint for a message, a template, what it names of the message, and where that is: for the
    /// first error that there is one for, of several the first.
    pub(crate) fn hint(&self, message: &str) -> Option<(&str, Variables, usize)> {
        let matches = self.hints.iter().filter_map(|(pattern, hint)| {
            let mut all = pattern.captures_iter(message);
            let captures =
                all.find(|it| it.get(0).is_some_and(|at| !warns(message, at.start())))?;
            Some((captures.get(0)?.start(), pattern, hint, captures))
        });
        let (at, pattern, hint, captures) = matches.min_by_key(|(at, ..)| *at)?;
        let mut words = Variables::default();
        for name in pattern.capture_names().flatten() {
            words.set(name, captures.name(name).map_or("", |group| group.as_str()));
        }
        Some((hint.as_str(), words, at))
    }

    /// The folder that relative paths in the file `main` begin at, and the line that says so, if
    /// one does.
    pub(crate) fn base_of(&self, main: &Path, text: &str) -> (PathBuf, Option<usize>) {
        let folder = main.parent().unwrap_or(Path::new("/"));
        let mut lines = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !self.is_comment(line));
        let said = lines.find_map(|(number, line)| {
            let captures = self.base.as_ref()?.captures(line)?;
            let said = match captures.name("parent") {
                Some(_) => "..",
                None => captures.iter().skip(1).flatten().next()?.as_str(),
            };
            Some((number, said))
        });
        match said {
            None => (folder.to_owned(), None),
            Some((number, said)) => {
                let said = said.trim_matches(['"', '\'']);
                (folder.join(said), Some(number))
            }
        }
    }

    /// The patterns of files that a line takes in, without quotes.
    pub(crate) fn included<'l>(&self, line: &'l str) -> Vec<&'l str> {
        let ranges = self.included_at(line).into_iter();
        ranges.map(|range| &line[range]).collect()
    }

    /// The line with other patterns in place of those that `others` has.
    pub(crate) fn with_included(&self, line: &str, others: &BTreeMap<&str, Lead>) -> String {
        let mut changed = line.to_owned();
        for range in self.included_at(line).into_iter().rev() {
            if let Some(other) = others.get(&line[range.clone()]) {
                changed.replace_range(range, &other.to);
            }
        }
        changed
    }

    /// Where a line has patterns of files that it takes in.
    fn included_at(&self, line: &str) -> Vec<Range<usize>> {
        let include = self.include.as_ref().filter(|_| !self.is_comment(line));
        let patterns = include.into_iter().flat_map(|it| it.captures_iter(line));
        patterns
            .filter_map(|captures| captures.get(1))
            .map(|group| {
                let text = group.as_str().trim_end().trim_end_matches(['"', '\'']);
                let end = group.start() + text.len();
                let text = text.trim_start().trim_start_matches(['"', '\'']);
                end - text.len()..end
            })
            .collect()
    }
}

/// Whether the line at a place of a server's message is a warning.
fn warns(message: &str, at: usize) -> bool {
    let begin = message[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = message[begin..].lines().next().unwrap_or_default();
    let line = line.to_lowercase();
    ["[warn", "\"warn\""].iter().any(|mark| line.contains(mark))
}

impl Rule {
    /// Whether it is for a line in a section of this kind.
    pub(super) fn looks_into(&self, line: &str, section: &str) -> bool {
        let allows =
            |pattern: &Option<Regex>, text| pattern.as_ref().is_none_or(|it| it.is_match(text));
        allows(&self.line, line)
            && allows(&self.section, section)
            && !self.unlike.as_ref().is_some_and(|it| it.is_match(line))
    }
}
