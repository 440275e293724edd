//! Finds the files that a configuration takes in.

use std::path::{Path, PathBuf};

use bakeoff_record::Step;

use super::{OwnFile, OwnRules};
use crate::error::{Cause, StageError};

/// Files and bytes of one configuration, at the most: a pattern that matches a whole disk is a
/// mistake, to be reported instead of read.
const FILES_MAX: usize = 1000;
const BYTES_MAX: usize = 64 << 20;

/// `main` and, transitively, what it takes in, each file once, and the folder that relative paths
/// in all of them begin at.
pub(super) fn closure(
    main: &Path,
    rules: &OwnRules,
) -> Result<(Vec<OwnFile>, PathBuf), StageError> {
    let mut base = main.parent().unwrap_or(Path::new("/")).to_owned();
    let mut files: Vec<OwnFile> = Vec::new();
    let mut waiting = vec![main.to_owned()];
    let mut bytes = 0;
    while let Some(path) = waiting.pop() {
        if files.iter().any(|file| file.path == path) {
            continue;
        }
        let fail = |cause| StageError::file(Step::Prepare, &path, cause);
        let text = std::fs::read(&path).map_err(fail)?;
        bytes += text.len();
        if files.len() == FILES_MAX || bytes > BYTES_MAX {
            let file = main.to_owned();
            let cause = Cause::TooManyIncludes { file };
            return Err(StageError::new(Step::Prepare, cause));
        }
        // A file that is no text is none that a rule could change: it stays where it lies.
        let Ok(text) = String::from_utf8(text) else {
            continue;
        };
        if files.is_empty() {
            base = rules.base_of(main, &text);
        }
        let patterns = text.lines().flat_map(|line| rules.included(line));
        let found: Vec<PathBuf> = patterns
            .flat_map(|pattern| files_of(&base.join(pattern)))
            .collect();
        waiting.extend(found.into_iter().rev());
        files.push(OwnFile { path, text });
    }
    Ok((files, base))
}

/// The files that a pattern with `*` and `?` stands for, in the order of names. What is no such
/// pattern, like the name of a snippet, stands for none.
pub(super) fn files_of(pattern: &Path) -> Vec<PathBuf> {
    let found = pattern
        .to_str()
        .and_then(|pattern| glob::glob(pattern).ok());
    let files = found.into_iter().flatten().flatten();
    files
        .filter(|path| path.is_file())
        .take(FILES_MAX + 1)
        .collect()
}
