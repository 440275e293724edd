//! Prepares a user's configuration for a trial: the server reads it as it is, except for the lines
//! that a trial must change.
//!
//! The main file and everything that it includes are read. The contender's replacements and the
//! rules of the server's folder change lines, and each change is kept for the report. If nothing
//! changed, the server reads the original files. Otherwise it reads copies in a mirror of the
//! original folders. Every other entry there is a symbolic link, so relative paths still resolve.
//!
//! The user's files are only ever opened for reading. Everything is written below the trial's
//! folder.

mod along;
mod edit;
mod elsewhere;
mod foreign;
mod includes;
mod lines;
mod mirror;
mod names;
mod ports;
pub(crate) mod rules;
mod site;
#[cfg(test)]
mod tests;
mod trail;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bakeoff_plan::Replacement;
use bakeoff_record::{ConfigChange, Step};

use crate::error::{Cause, StageError};
use crate::files::{self, Access};
use crate::template;
use crate::user::User;
use crate::variables::Variables;
use regex_lite::Regex;

pub use along::{Along, AlongFile, Leads, with_leads};
use edit::Edit;
pub(crate) use includes::Taken;
use includes::{Found, Includes};
pub(crate) use names::Names;
pub(crate) use ports::Ports;
use rules::OwnRules;
use rules::Rule;
pub(crate) use site::is_made;
use trail::Trail;

/// Largest configuration file that is read, bytes.
pub(crate) const FILE_BYTES_MAX: u64 = includes::BYTES_MAX;

/// A configuration file and those that it takes in, as they lie on disk. But for `named` no path
/// in it has a link or `..` in its folders.
#[derive(Debug, Clone)]
pub(crate) struct OwnFiles {
    /// The main file, as the plan names it.
    named: PathBuf,
    /// The main file; may be a link.
    main: PathBuf,
    /// The main one first.
    files: Vec<OwnFile>,
    includes: Includes,
    /// Where relative paths in them begin.
    base: PathBuf,
    trail: Trail,
    /// Why the first file is one that a trial makes.
    made: Option<String>,
    /// What requests come to, below the folder that is served.
    served: Vec<PathBuf>,
}

/// A file, its path without links.
#[derive(Debug, Clone)]
pub(crate) struct OwnFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    access: Access,
}

/// A configuration as a trial uses it.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Where each file lay, and its text now; the main one first.
    pub(crate) files: Vec<OwnFile>,
    /// What was changed, file by file in the order of lines.
    pub(crate) changes: Vec<ConfigChange>,
    /// The main file for the server to read: the user's own, or the mirror's.
    pub(crate) main: PathBuf,
}

/// What a change is made with.
pub(crate) struct Tools<'a> {
    pub(crate) rules: &'a OwnRules,
    pub(crate) replacements: &'a [Replacement],
    pub(crate) variables: &'a Variables,
    pub(crate) ports: &'a Ports,
    pub(crate) names: &'a Names,
    /// Whom the server runs as, if not as bakeoff does.
    pub(crate) user: Option<&'a User>,
    /// What blocks say, through files that they take in too.
    pub(crate) taken: &'a Taken<'a>,
    /// Names of blocks in all files that lines can name in place of an address.
    pub(crate) blocks: &'a BTreeSet<String>,
    /// What the files say by themselves.
    pub(crate) said: Said<'a>,
    /// What requests come to: a folder without any of it is not what the files were made for.
    pub(crate) served: &'a [PathBuf],
    /// Renders a template, which may ask what a configuration says.
    pub(crate) render: &'a dyn Fn(&str, &Variables, &str) -> Result<String, String>,
}

/// What all files of a configuration say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    /// Their texts, one after the other.
    pub(crate) text: &'a str,
    /// Texts that names stand for, where it is certain.
    pub(crate) defined: &'a BTreeMap<String, Option<String>>,
}

impl Said<'_> {
    /// Of files that are not read yet.
    pub(crate) const NOTHING: Self = Self {
        text: "",
        defined: &BTreeMap::new(),
    };
}

impl OwnFiles {
    /// Reads `main` and what it takes in.
    pub(crate) fn read(main: &Path, rules: &OwnRules) -> Result<Self, StageError> {
        let fail = |cause| StageError::file(Step::Prepare, main, cause);
        let named = std::path::absolute(main).map_err(fail)?;
        let (Some(folder), Some(name)) = (named.parent(), named.file_name()) else {
            let cause = std::io::Error::other("it is a folder; expected a regular file");
            return Err(fail(cause));
        };
        let mut trail = Trail::default();
        let folder = trail.follow(Path::new("/"), folder).map_err(fail)?;
        let main = folder.join(name);
        let found = includes::read(&main, rules, &mut trail)?;
        let Found {
            files,
            includes,
            base,
            made,
        } = found;
        let main = match &made {
            Some(_) => files[0].path.clone(),
            None => main,
        };
        Ok(Self {
            named,
            main,
            files,
            includes,
            base,
            trail,
            made,
            served: Vec::new(),
        })
    }

    /// Applies replacements and rules; writes a mirror into `folder` if they changed anything.
    pub(crate) fn change(&self, tools: &Tools<'_>, folder: &Path) -> Result<Changed, StageError> {
        let mut variables = tools.variables.clone();
        let base = mirror::at(folder, &self.base);
        variables.set("base", base.display().to_string());
        let blocks = self.blocks(tools.rules);
        let texts = || self.files.iter().map(|file| file.text.as_str());
        let defined = tools.rules.foreign.lines.defined(texts());
        let text = texts().collect::<Vec<_>>().join("\n");
        let tools = &Tools {
            variables: &variables,
            blocks: &blocks,
            taken: &Taken::of(&self.files, &self.includes),
            served: &self.served,
            said: Said {
                text: &text,
                defined: &defined,
            },
            ..*tools
        };
        let mut edits = self.edits(tools)?;
        let is_in_place = self.made.is_none() && !self.includes.lead_elsewhere();
        if is_in_place && edits.iter().all(Edit::is_empty) {
            return Ok(Changed {
                files: self.files.clone(),
                changes: Vec::new(),
                main: self.named.clone(),
            });
        }
        let changed: Vec<bool> = edits.iter().map(|edit| !edit.is_empty()).collect();
        let leads = self.includes.leads(&self.files, &changed, folder);
        let leads = leads.map_err(|cause| template_error(&self.named, cause))?;
        for edit in &mut edits {
            edit.lead(&leads);
        }
        self.write_stand_ins(tools, folder)?;
        let mut changed = Changed {
            main: mirror::at(folder, &self.main),
            ..Changed::default()
        };
        for (index, (edit, file)) in edits.into_iter().zip(&self.files).enumerate() {
            let (text, mut changes) = edit.finish();
            if let Some(why) = self.made.as_ref().filter(|_| index == 0) {
                changes = vec![self.making(&text, why)];
            }
            changed.changes.extend(changes);
            changed.files.push(OwnFile {
                text,
                ..file.clone()
            });
        }
        mirror::write(self, &changed.files, folder)?;
        Ok(changed)
    }

    /// Names of blocks that lines can name in place of an address.
    fn blocks(&self, rules: &OwnRules) -> BTreeSet<String> {
        let names = self
            .files
            .iter()
            .flat_map(|file| rules.blocks_in(&file.text));
        names.map(str::to_owned).collect()
    }

    /// Each file with its changes.
    fn edits<'a>(&'a self, tools: &'a Tools<'a>) -> Result<Vec<Edit<'a>>, StageError> {
        let at_rest = self.rules_at_rest(tools);
        let mut used = vec![false; tools.replacements.len()];
        let mut edits = Vec::new();
        for file in &self.files {
            let mut edit = Edit::new(file, &self.base, tools);
            let edited = edit.replace(&mut used);
            edited.map_err(|cause| template_error(&file.path, cause))?;
            edits.push(edit);
        }
        let edited = edit::by_rules(&mut edits, tools.rules, &at_rest);
        edited.map_err(|(file, cause)| template_error(&file, cause))?;
        if let (Some(edit), Some(main)) = (edits.first_mut(), self.files.first()) {
            let inserted = edit.insert();
            inserted.map_err(|cause| template_error(&main.path, cause))?;
        }
        match used.iter().position(|used| !used) {
            None => Ok(edits),
            Some(unused) => {
                let cause = Cause::NothingToReplace {
                    file: self.named.clone(),
                    from: tools.replacements[unused].from.clone(),
                };
                Err(StageError::new(Step::Prepare, cause))
            }
        }
    }

    /// How a main file that the trial makes is reported: as what the user's file gets.
    fn making(&self, text: &str, why: &str) -> ConfigChange {
        ConfigChange {
            file: self.named.display().to_string(),
            line: 1,
            before: String::new(),
            after: text.trim_end().to_owned(),
            why: why.to_owned(),
        }
    }

    /// Writes the stand-ins of files that are nowhere beside the mirror in `folder`.
    fn write_stand_ins(&self, tools: &Tools<'_>, folder: &Path) -> Result<(), StageError> {
        for file in self.includes.stand_ins() {
            let template = format!("{{% include {file:?} %}}");
            let text = (tools.render)(&template, tools.variables, "");
            let text = text.map_err(|cause| template_error(Path::new(file), cause))?;
            let path = includes::stand_in_at(folder, file);
            let fail = |cause| StageError::file(Step::Prepare, &path, cause);
            let parent = folder.parent().unwrap_or(folder);
            let below = path.strip_prefix(parent).unwrap_or(&path);
            let path = files::place(parent, below).map_err(fail)?;
            files::replace(&path, text.as_bytes(), files::FOR_OWNER).map_err(fail)?;
        }
        Ok(())
    }

    /// The files as they are on disk, the main one first.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files
            .iter()
            .map(|file| (file.path.as_path(), file.text.as_str()))
    }

    /// Says what requests come to, below the folder that is served.
    pub(crate) fn serve(&mut self, served: Vec<PathBuf>) {
        self.served = served;
    }

    /// The file as the plan names it.
    pub(crate) fn named(&self) -> &Path {
        &self.named
    }

    /// For each rule whether it rests, because a file has the statement that it would add, or none
    /// has a line that it is for.
    fn rules_at_rest(&self, tools: &Tools<'_>) -> Vec<bool> {
        let rules = tools.rules;
        let is_said = |rule: &Rule| match (&rule.unless, &rule.unless_in) {
            (None, _) => false,
            (Some(word), None) => self.files.iter().any(|it| template::says(&it.text, word)),
            (Some(word), Some(block)) => tools.taken.says_in(block, word),
        };
        let is_like = |pattern: &Regex| {
            let mut lines = self.files.iter().flat_map(|file| file.text.lines());
            lines.any(|line| !rules.is_comment(line) && pattern.is_match(line))
        };
        let rests = |rule: &Rule| {
            let is_needless = rule.when.as_ref().is_some_and(|it| !is_like(it));
            is_needless || is_said(rule)
        };
        rules.changes.iter().map(rests).collect()
    }
}

fn template_error(file: &Path, cause: String) -> StageError {
    let file = file.display().to_string();
    StageError::new(Step::Prepare, Cause::Template { file, cause })
}
