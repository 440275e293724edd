//! What a file lacks that is only a part of a configuration: `[own.foreign.site]` in `server.toml`.
//!
//! Most files that people publish are such parts, as they lie in `conf.d` or `sites-available`.
//! They get a main file that takes them in, as the installed server's own would.

use std::path::{Path, PathBuf};

use bakeoff_record::read_regular_text;
use regex_lite::Regex;
use serde::Deserialize;

use crate::statements::{self, Statement};

/// Name of the main file that a part gets, beside the base of its relative paths.
const NAME: &str = "bakeoff-main.conf";

/// Whether a trial makes this file, to take a site in.
pub(crate) fn is_made(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == NAME)
}
/// Folders above a part's own in which its relative paths may begin.
const ABOVE_MAX: usize = 2;

/// `[own.foreign.site]` as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiteTable {
    /// Blocks at the top of whole files.
    whole: Vec<String>,
    /// The block that the others of these cannot be without, and what to put before a file that
    /// has none.
    first: String,
    first_text: String,
    /// A block that makes of a file without any of `whole` a part that can be measured.
    block: String,
    /// The main file of such a part, with `FILE` and `LINES` in it.
    text: String,
    /// The name of a main file that may lie above a part, the blocks that it must have then, and
    /// the pattern of what the part follows in it.
    main: String,
    main_needs: Vec<String>,
    main_begin: String,
    #[serde(default)]
    line: Vec<LineTable>,
    why: String,
}

/// A line that the main file has for those parts that rely on it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineTable {
    /// What such a part has in it.
    when: String,
    /// What it has not.
    unless: String,
    text: String,
}

/// `[own.foreign.site]`, ready to be used.
#[derive(Debug, Clone)]
pub(crate) struct SiteRules {
    table: SiteTable,
    begin: Regex,
    /// For each line what a part must have, and must not have.
    conditions: Vec<[Regex; 2]>,
}

/// The main file of a part.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) name: String,
    /// The folder that it lies in, and in which relative paths begin.
    pub(super) base: PathBuf,
    pub(super) text: String,
    pub(super) why: String,
}

impl SiteTable {
    pub(super) fn rules(&self) -> Result<SiteRules, String> {
        let pattern = |text: &str| {
            Regex::new(text)
                .map_err(|cause| format!("`own.foreign.site` has a bad pattern: {cause}"))
        };
        let conditions = self.line.iter().map(|line| {
            let LineTable { when, unless, .. } = line;
            Ok([pattern(when)?, pattern(unless)?])
        });
        Ok(SiteRules {
            begin: pattern(&self.main_begin)?,
            conditions: conditions.collect::<Result<_, String>>()?,
            table: self.clone(),
        })
    }
}

impl SiteRules {
    /// Name of a main file that may lie above a part.
    pub(super) fn main_name(&self) -> &str {
        &self.table.main
    }

    /// What the file `path`, which takes in `included`, lacks; `None` where it lacks nothing.
    ///
    /// # Errors
    /// When it is a part of which no whole can be made, with what is missing.
    pub(super) fn whole(
        &self,
        path: &Path,
        text: &str,
        included: &[&str],
    ) -> Result<Option<Whole>, String> {
        let top = statements::parse(text);
        let has = |name: &str| top.iter().any(|it| it.name() == name && it.block.is_some());
        let table = &self.table;
        let base = base(path, included);
        let main = if table.whole.iter().any(|name| has(name)) {
            // A file that takes others in may have it from there.
            if has(&table.first) || top.iter().any(|it| it.name() == "include") {
                return Ok(None);
            }
            format!("{}\ninclude \"FILE\";\n", table.first_text.trim_end())
        } else if has(&table.block) {
            self.main_above(path, &base)
                .unwrap_or_else(|| table.text.replace("LINES", &self.lines(text)))
        } else {
            return match top.first() {
                None => Ok(None),
                Some(first) => Err(self.refusal(&top, first, path)),
            };
        };
        let name = free_name(&base);
        let below = path.strip_prefix(&base).unwrap_or(path);
        let below = below.to_str().filter(|text| is_plain(text));
        let below = below.ok_or(
            "it is taken into a main file, and its name has characters that nginx would not take \
             literally there; give it a plain name",
        )?;
        Ok(Some(Whole {
            text: main.replace("FILE", below),
            why: table.why.clone(),
            name,
            base,
        }))
    }

    /// The main file of the folder that a part in a folder below was made for, with the part.
    fn main_above(&self, path: &Path, base: &Path) -> Option<String> {
        if path.parent() == Some(base) {
            return None;
        }
        let main = base.join(&self.table.main);
        let text = read_regular_text(&main, super::FILE_BYTES_MAX).ok()?;
        let top = statements::parse(&text);
        let has = |name: &str| top.iter().any(|it| it.name() == name && it.block.is_some());
        if !self
            .table
            .whole
            .iter()
            .all(|name| has(name) || !self.table.main_needs.contains(name))
        {
            return None;
        }
        let begin = self.begin.find(&text)?;
        let (before, behind) = text.split_at(begin.end());
        Some(format!("{before}\n    include \"FILE\";{behind}"))
    }

    fn lines(&self, text: &str) -> String {
        let lines = self.table.line.iter().zip(&self.conditions);
        let wanted =
            lines.filter(|(_, [when, unless])| when.is_match(text) && !unless.is_match(text));
        wanted
            .map(|(line, _)| format!("    {}\n", line.text.trim()))
            .collect()
    }

    /// What is missing of a file of which no whole can be made.
    fn refusal(&self, top: &[Statement], first: &Statement, path: &Path) -> String {
        let block = &self.table.block;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let inner = top.iter().find(|it| it.name() == "location");
        let Statement { line, .. } = inner.unwrap_or(first);
        match inner {
            Some(_) => format!(
                "line {line}: `location` belongs in a `{block}` block, and the file has none; race \
                 a file with `{block} {{ listen 80; include {name}; }}` beside it"
            ),
            None => format!(
                "line {line}: `{}` is a part of a configuration, and the file has no `{block}` \
                 block that could answer; race the file that includes this one",
                first.name()
            ),
        }
    }
}

/// The folder in which a part's relative paths begin: of its own folder and those above, the one
/// in which most of what it takes in is found.
fn base(path: &Path, included: &[&str]) -> PathBuf {
    let own = path.parent().unwrap_or(Path::new("/"));
    let relative: Vec<&&str> = included
        .iter()
        .filter(|it| !it.starts_with('/') && !it.contains(['*', '?', '[']))
        .take(100)
        .collect();
    let found = |folder: &Path| {
        relative
            .iter()
            .filter(|it| folder.join(it).is_file())
            .count()
    };
    let folders = own.ancestors().take(ABOVE_MAX + 1);
    // Of equals the last one is taken: the nearest.
    let best = folders
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .max_by_key(|folder| found(folder));
    best.unwrap_or(own).to_owned()
}

/// A name that nothing in `folder` has.
fn free_name(folder: &Path) -> String {
    let is_free = |name: &String| folder.join(name).symlink_metadata().is_err();
    let numbered = (2..100).map(|number| format!("{number}-{NAME}"));
    let mut names = std::iter::once(NAME.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_else(|| NAME.to_owned())
}

/// Whether a path means itself between quotes and as a pattern of names.
fn is_plain(text: &str) -> bool {
    let is_meant = |c: char| c == ' ' || !c.is_whitespace() && !"*?[]\"'\\;{}$#".contains(c);
    text.chars().all(is_meant)
}
