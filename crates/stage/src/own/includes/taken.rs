//! What blocks contain, directly and through included files.
//!
//! Only what is certain counts. An include that is not understood adds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Includes, OwnFile};
use crate::statements::{self, Statement};

/// The statement that takes in other files.
const INCLUDE: &str = "include";

/// The statements of all files of a configuration, and which includes lead to which of them.
#[derive(Debug, Default)]
pub(crate) struct Taken<'a> {
    /// Of each file, the main one first.
    files: Vec<Vec<Statement>>,
    /// The files that each pattern of an include leads to.
    by: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Taken<'a> {
    pub(in crate::own) fn of(files: &[OwnFile], includes: &'a Includes) -> Self {
        let paths = files.iter().map(|file| file.path.as_path());
        let numbers: BTreeMap<&Path, usize> = paths.zip(0..).collect();
        let by = includes.patterns.iter().map(|pattern| {
            let files = pattern.files.iter();
            let files = files.filter_map(|path| numbers.get(path.as_path()).copied());
            (pattern.text.as_str(), files.collect())
        });
        Self {
            files: files
                .iter()
                .map(|file| statements::parse(&file.text))
                .collect(),
            by: by.collect(),
        }
    }

    /// Whether a statement `word` stands directly in a block of this name.
    pub(in crate::own) fn says_in(&self, block: &str, word: &str) -> bool {
        let main = self.files.first().map_or(&[][..], Vec::as_slice);
        let mut blocks = self.with_taken(main).into_iter();
        blocks.any(|it| it.name() == block && self.says(it.inner(), word))
    }

    /// Whether one of these statements, or one that they take in, begins with `word`.
    pub(in crate::own) fn says(&self, statements: &[Statement], word: &str) -> bool {
        let mut statements = self.with_taken(statements).into_iter();
        statements.any(|it| it.name() == word)
    }

    /// The statements, and those that take their place where one takes in a file.
    fn with_taken<'s>(&'s self, statements: &'s [Statement]) -> Vec<&'s Statement> {
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![statements];
        while let Some(statements) = waiting.pop() {
            for statement in statements {
                all.push(statement);
                let files = match statement.name() {
                    INCLUDE => self.by.get(statement.value()),
                    _ => None,
                };
                let files = files.into_iter().flatten();
                let new = files.filter(|file| seen.insert(**file));
                waiting.extend(new.filter_map(|file| Some(self.files.get(*file)?.as_slice())));
            }
        }
        all
    }
}
