//! A user's own configuration, used as it is but for what a trial must change.
//!
//! The file and everything that it takes in are read. The contender's replacements and the rules
//! of the server's folder change lines of them, and each change is kept for the report. If nothing
//! changed, the server reads the files where they lie. Otherwise it reads them in a mirror of
//! their folders, in which all else are links, so that relative paths lead where they led.
//!
//! The user's files are only opened for reading, and everything is made in the trial's folder.

mod edit;
mod includes;
mod mirror;
mod ports;
mod rules;
#[cfg(test)]
mod tests;
mod trail;

use std::path::{Path, PathBuf};

use bakeoff_plan::Replacement;
use bakeoff_record::{ConfigChange, Step};

use crate::error::{Cause, StageError};
use crate::files::Access;
use crate::template::{self, Variables};
use crate::user::User;
use edit::Edit;
use includes::{Found, Includes};
pub(crate) use ports::Ports;
pub(crate) use rules::{OwnRules, OwnTable};
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
    /// Whom the server runs as, if not as bakeoff does.
    pub(crate) user: Option<&'a User>,
    /// Renders a template, which may ask what a configuration says.
    pub(crate) render: &'a dyn Fn(&str, &Variables, &str) -> Result<String, String>,
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
        } = found;
        Ok(Self {
            named,
            main,
            files,
            includes,
            base,
            trail,
        })
    }

    /// Applies replacements and rules; writes a mirror into `folder` if they changed anything.
    pub(crate) fn change(&self, tools: &Tools<'_>, folder: &Path) -> Result<Changed, StageError> {
        let mut variables = tools.variables.clone();
        let base = mirror::at(folder, &self.base);
        variables.set("base", base.display().to_string());
        let tools = &Tools {
            variables: &variables,
            ..*tools
        };
        let mut edits = self.edits(tools)?;
        if edits.iter().all(Edit::is_empty) {
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
        let mut changed = Changed {
            main: mirror::at(folder, &self.main),
            ..Changed::default()
        };
        for (edit, file) in edits.into_iter().zip(&self.files) {
            let (text, changes) = edit.finish();
            changed.changes.extend(changes);
            changed.files.push(OwnFile {
                text,
                ..file.clone()
            });
        }
        mirror::write(self, &changed.files, folder)?;
        Ok(changed)
    }

    /// Each file with its changes.
    fn edits<'a>(&'a self, tools: &'a Tools<'a>) -> Result<Vec<Edit<'a>>, StageError> {
        let at_rest = self.rules_at_rest(tools.rules);
        let mut used = vec![false; tools.replacements.len()];
        let mut edits = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let mut edit = Edit::new(file, &self.base, tools);
            let mut edited = edit.replace(&mut used);
            edited = edited.and_then(|()| edit.by_rules(&at_rest));
            if index == 0 {
                edited = edited.and_then(|()| edit.insert());
            }
            edited.map_err(|cause| template_error(&file.path, cause))?;
            edits.push(edit);
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

    /// For each rule whether it rests, because a file has the statement that it would add.
    fn rules_at_rest(&self, rules: &OwnRules) -> Vec<bool> {
        let is_said = |word: &String| {
            let mut texts = self.files.iter().map(|file| &file.text);
            texts.any(|text| template::says(text, word))
        };
        let rules = rules.changes.iter();
        rules
            .map(|rule| rule.unless.as_ref().is_some_and(is_said))
            .collect()
    }
}

fn template_error(file: &Path, cause: String) -> StageError {
    let file = file.display().to_string();
    StageError::new(Step::Prepare, Cause::Template { file, cause })
}
