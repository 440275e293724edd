//! The rules for sources: how long they are, what they contain, who prints.

use std::fmt;

use crate::files::Source;
use crate::functions::functions;
use crate::types::{Type, types};

/// Rules of [`lengths`].
pub(crate) const LENGTHS: [&str; 3] = ["file-length", "line-length", "function-length"];
/// Rules of [`contents`].
pub(crate) const CONTENTS: [&str; 4] = ["module-comment", "unwrap", "unfinished", "doc-test"];
/// Rule of [`sizes`].
pub(crate) const SIZE: &str = "type-methods";
/// Rules of [`printing`].
pub(crate) const PRINTING: [&str; 1] = ["printing"];

const FILE_LINES_MAX: usize = 600;
const LINE_COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
/// A struct may have as many fields as what it describes.
pub(crate) const TYPE_METHODS_MAX: usize = 25;
/// Attribute of modules that only tests have.
pub(crate) const TESTS_ONLY: &str = "#[cfg(test)]";
/// What only the crate `cli` may do.
const PRINTS: [&str; 6] = [
    "println!",
    "print!",
    "eprintln!",
    "eprint!",
    "dbg!",
    "process::exit",
];

/// Something that a rule forbids.
pub(crate) struct Offence {
    /// The rule.
    pub(crate) rule: &'static str,
    /// The file.
    pub(crate) path: String,
    /// Line, from 1.
    pub(crate) line: usize,
    /// What was found and what is allowed.
    pub(crate) text: String,
}

impl fmt::Display for Offence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            path,
            line,
            text,
        } = self;
        write!(out, "{rule} {path}:{line}: {text}")
    }
}

/// Files, lines and functions that are too long.
pub(crate) fn lengths(sources: &[Source]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for source in sources {
        let mut add = |rule, line, found: usize, most| {
            if found > most {
                let text = format!("{found}, at most {most}");
                offences.push(Offence {
                    rule,
                    path: source.path.clone(),
                    line,
                    text,
                });
            }
        };
        add(LENGTHS[0], 1, source.text.lines().count(), FILE_LINES_MAX);
        for (index, line) in source.text.lines().enumerate() {
            add(
                LENGTHS[1],
                index + 1,
                line.chars().count(),
                LINE_COLUMNS_MAX,
            );
        }
        for function in functions(&source.code, source.is_rust()) {
            add(
                LENGTHS[2],
                function.line,
                function.lines,
                FUNCTION_LINES_MAX,
            );
        }
    }
    offences
}

/// Types with too many methods.
pub(crate) fn sizes(sources: &[Source]) -> Vec<Type> {
    let mut types = types(sources);
    types.retain(|one| one.methods > TYPE_METHODS_MAX);
    types
}

/// Modules that do not say what they do, `unwrap` outside tests, work left undone, and examples in
/// documentation that are code.
pub(crate) fn contents(sources: &[Source]) -> Vec<Offence> {
    let mut offences = Vec::new();
    let tests = test_modules(sources);
    for source in sources.iter().filter(|source| source.is_rust()) {
        let test = is_test(source, &tests);
        let mut add = |rule, line, text: &str| {
            offences.push(Offence {
                rule,
                path: source.path.clone(),
                line,
                text: text.to_owned(),
            });
        };
        if !test && !source.text.starts_with("//!") {
            add(
                CONTENTS[0],
                1,
                "start with `//!`: what it does, and what it deliberately does not do",
            );
        }
        let own = before_tests(&source.code);
        if !test && source.is_in_crate() {
            for line in lines_with(own, ".unwrap()") {
                add(
                    CONTENTS[1],
                    line,
                    "name the error, or `expect` an invariant seen here",
                );
            }
        }
        for word in ["todo!", "unimplemented!"] {
            for line in lines_with(&source.code, word) {
                add(CONTENTS[2], line, word);
            }
        }
        for line in doc_tests(&source.text) {
            add(
                CONTENTS[3],
                line,
                "begin with ```text: no test runs examples",
            );
        }
    }
    offences
}

/// Printing and exiting anywhere but in the crate `cli`.
pub(crate) fn printing(sources: &[Source]) -> Vec<Offence> {
    let mut offences = Vec::new();
    let tests = test_modules(sources);
    let may = |source: &&Source| source.path.starts_with("crates/cli/") || is_test(source, &tests);
    for source in sources
        .iter()
        .filter(|source| source.is_in_crate() && !may(source))
    {
        for word in PRINTS {
            for line in lines_with(before_tests(&source.code), word) {
                let text = format!("{word}: only the crate cli prints or exits");
                offences.push(Offence {
                    rule: PRINTING[0],
                    path: source.path.clone(),
                    line,
                    text,
                });
            }
        }
    }
    offences
}

/// Lines, from 1, of each `word` that is not the end of a longer one.
fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: usize| word.starts_with('.') || !code[..at].ends_with(joins);
    let places = code.match_indices(word).filter(|(at, _)| whole(*at));
    places
        .map(|(at, _)| code[..at].matches('\n').count() + 1)
        .collect()
}

/// Lines, from 1, on which documentation begins an example that rustdoc would compile.
fn doc_tests(text: &str) -> Vec<usize> {
    let fences = text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.trim_start();
        let said = line.strip_prefix("//!").or(line.strip_prefix("///"))?;
        Some((index + 1, said.trim().strip_prefix("```")?))
    });
    // Every second one ends what the one before began.
    let opening = fences.step_by(2).filter(|(_, kind)| *kind != "text");
    opening.map(|(line, _)| line).collect()
}

/// Code above a file's own tests, which stand last.
fn before_tests(code: &str) -> &str {
    let inline = code.match_indices(TESTS_ONLY).find(|(at, _)| {
        let item = code[at + TESTS_ONLY.len()..].trim_start();
        let head = item.split('{').next().unwrap_or(item);
        head.contains("mod ") && !head.contains(';')
    });
    inline.map_or(code, |(at, _)| &code[..at])
}

/// Paths, without `.rs`, of the modules that are declared for tests only.
pub(crate) fn test_modules(sources: &[Source]) -> Vec<String> {
    let mut modules = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let stem = source.path.trim_end_matches(".rs");
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let folder = if ["lib", "main", "mod"].contains(&name) {
            folder
        } else {
            stem
        };
        for (at, _) in source.code.match_indices(TESTS_ONLY) {
            let item = source.code[at + TESTS_ONLY.len()..].trim_start();
            let name = item
                .strip_prefix("mod ")
                .and_then(|rest| rest.split_once(';'));
            modules.extend(name.map(|(name, _)| format!("{folder}/{name}")));
        }
    }
    modules
}

pub(crate) fn is_test(source: &Source, modules: &[String]) -> bool {
    let stem = source.path.trim_end_matches(".rs");
    source.path.starts_with("tests/")
        || source.path.contains("/tests/")
        || modules.iter().any(|module| stem == module)
}
