//! A user's own configuration, used as it is but for what a trial must change.
//!
//! The file and everything that it takes in are read. The contender's replacements and the rules
//! of the server's folder change lines of them, and each change is kept for the report. If nothing
//! changed, the server reads the files where they lie. Otherwise it reads them in a mirror of
//! their folders, in which all else are links, so that relative paths lead where they led.

mod edit;
mod includes;
mod mirror;
mod ports;
mod rules;

use std::path::{Path, PathBuf};

use bakeoff_plan::Replacement;
use bakeoff_record::{ConfigChange, Step};

use crate::error::{Cause, StageError};
use crate::template::Variables;
use edit::Edit;
pub(crate) use ports::Ports;
pub(crate) use rules::{OwnRules, OwnTable};

/// A configuration file and those that it takes in, as they lie on disk; the main one first.
#[derive(Debug, Clone)]
pub(crate) struct OwnFiles {
    files: Vec<OwnFile>,
    /// Where relative paths in them begin.
    base: PathBuf,
}

/// A file by its absolute path.
#[derive(Debug, Clone)]
pub(crate) struct OwnFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
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
    /// Renders a template, which may ask what a configuration says.
    pub(crate) render: &'a dyn Fn(&str, &Variables, &str) -> Result<String, String>,
}

impl OwnFiles {
    /// Reads `main`, an absolute path, and what it takes in.
    pub(crate) fn read(main: &Path, rules: &OwnRules) -> Result<Self, StageError> {
        let (files, base) = includes::closure(main, rules)?;
        Ok(Self { files, base })
    }

    /// Applies replacements and rules; writes a mirror into `folder` if they changed anything.
    pub(crate) fn change(&self, tools: &Tools<'_>, folder: &Path) -> Result<Changed, StageError> {
        let main = self.files[0].path.clone();
        let mut variables = tools.variables.clone();
        let base = mirror::at(folder, &self.base);
        variables.set("base", base.display().to_string());
        let tools = &Tools {
            variables: &variables,
            ..*tools
        };
        let mut used = vec![false; tools.replacements.len()];
        let mut edits = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let mut edit = Edit::new(file, &self.base, tools);
            let mut edited = edit.replace(&mut used).and_then(|()| edit.by_rules());
            if index == 0 {
                edited = edited.and_then(|()| edit.insert());
            }
            edited.map_err(|cause| {
                let file = file.path.display().to_string();
                StageError::new(Step::Prepare, Cause::Template { file, cause })
            })?;
            edits.push(edit);
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            let cause = Cause::NothingToReplace {
                file: main,
                from: tools.replacements[unused].from.clone(),
            };
            return Err(StageError::new(Step::Prepare, cause));
        }
        if edits.iter().all(Edit::is_empty) {
            return Ok(Changed {
                files: self.files.clone(),
                changes: Vec::new(),
                main,
            });
        }
        let mut changed = Changed {
            main: mirror::at(folder, &main),
            ..Changed::default()
        };
        while edit::lead_includes(&mut edits, folder) {}
        for (edit, file) in edits.into_iter().zip(&self.files) {
            let (text, changes) = edit.finish();
            changed.changes.extend(changes);
            changed.files.push(OwnFile {
                path: file.path.clone(),
                text,
            });
        }
        mirror::write(&changed.files, &self.base, folder)?;
        Ok(changed)
    }
}
