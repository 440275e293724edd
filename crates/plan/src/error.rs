//! Why a plan or workload is refused: where, what was expected, what to do about it.
//!
//! Every message begins with its place, so an editor can jump there. The place is boxed to keep
//! results small.

use std::fmt;

use crate::nearest::nearest;

/// Where in which text something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, or the flag that overrides it, such as `--clients`.
    pub source: String,
    /// Line and column, both from 1, the column in characters; `None` for a flag.
    pub position: Option<(usize, usize)>,
}

/// The place of a key in a table.
pub(crate) type At<'p> = &'p dyn Fn(&str) -> Box<Place>;

impl Place {
    /// A flag, by its name.
    pub(crate) fn flag(name: &str) -> Box<Self> {
        Box::new(Self {
            source: format!("--{name}"),
            position: None,
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(out, "{}:{line}:{column}", self.source),
            None => out.write_str(&self.source),
        }
    }
}

/// Why a plan or workload is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The text is not TOML.
    #[error("{place}: not TOML: {problem}")]
    Syntax {
        /// Where reading stopped.
        place: Box<Place>,
        /// What the reader stumbled over.
        problem: String,
    },
    /// A value that its key cannot take, in the words of the key's own reader.
    #[error("{place}: {problem}")]
    Unreadable {
        /// Where the value stands.
        place: Box<Place>,
        /// What is wrong and what to write.
        problem: String,
    },
    /// A key that nothing reads.
    #[error(
        "{place}: unknown key `{key}`{}; {}",
        in_table(.table),
        meant(.nearest.as_deref(), .known)
    )]
    UnknownKey {
        /// Where the key stands.
        place: Box<Place>,
        /// The key.
        key: String,
        /// The table that it stands in; empty at the top.
        table: String,
        /// The key that was probably meant.
        nearest: Option<String>,
        /// Every key that may stand there.
        known: Vec<String>,
    },
    /// A key that must be there and is not.
    #[error("{place}: `{key}` is missing{}: write {fix}", in_table(.table))]
    MissingKey {
        /// The table that lacks it.
        place: Box<Place>,
        /// The key.
        key: String,
        /// The table's name; empty at the top.
        table: String,
        /// What to write, such as `name = "quick"`.
        fix: String,
    },
    /// A value of another type than its key takes.
    #[error("{place}: `{key}` must be {expected}, not {found}{}", write_it(.fix))]
    WrongType {
        /// Where the value stands.
        place: Box<Place>,
        /// The key.
        key: String,
        /// What it takes.
        expected: String,
        /// What stands there.
        found: String,
        /// What to write; empty where no example helps.
        fix: String,
    },
    /// A value of the right type that cannot be, or one that contradicts another.
    #[error("{place}: {problem}; {fix}")]
    BadValue {
        /// Where the value stands.
        place: Box<Place>,
        /// What is wrong with it.
        problem: String,
        /// What to write instead.
        fix: String,
    },
    /// A name that nothing has: a workload, a contender, a choice.
    #[error("{place}: no {what} is called `{name}`; {}", meant(.nearest.as_deref(), .known))]
    UnknownName {
        /// Where the name stands.
        place: Box<Place>,
        /// What kind of thing was looked for, such as `workload`.
        what: &'static str,
        /// The name.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// Every name known.
        known: Vec<String>,
    },
    /// Two things of one name, where results could not be distinguished.
    #[error("{place}: {what} `{name}` appears twice; {fix}")]
    Duplicate {
        /// Where the second one stands.
        place: Box<Place>,
        /// What kind of thing it is.
        what: &'static str,
        /// The name.
        name: String,
        /// How to distinguish them.
        fix: String,
    },
}

impl PlanError {
    /// Of a name that none of those that are known has.
    pub(crate) fn unknown(
        place: Box<Place>,
        what: &'static str,
        name: &str,
        known: Vec<String>,
    ) -> Self {
        Self::UnknownName {
            place,
            what,
            name: name.to_owned(),
            nearest: nearest(name, &known).map(str::to_owned),
            known,
        }
    }

    /// Of the second thing of one name.
    pub(crate) fn twice(place: Box<Place>, what: &'static str, name: &str, fix: &str) -> Self {
        let (name, fix) = (name.to_owned(), fix.to_owned());
        Self::Duplicate {
            place,
            what,
            name,
            fix,
        }
    }

    /// Where it is wrong.
    pub fn place(&self) -> &Place {
        match self {
            Self::Syntax { place, .. }
            | Self::Unreadable { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::MissingKey { place, .. }
            | Self::WrongType { place, .. }
            | Self::BadValue { place, .. }
            | Self::UnknownName { place, .. }
            | Self::Duplicate { place, .. } => place,
        }
    }
}

fn in_table(table: &str) -> String {
    if table.is_empty() {
        String::new()
    } else {
        format!(" in `{table}`")
    }
}

fn write_it(fix: &str) -> String {
    if fix.is_empty() {
        String::new()
    } else {
        format!(": write it as {fix}")
    }
}

/// What was probably meant, or else everything that could have been.
pub(crate) fn meant(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "none is known here".to_owned(),
        None => format!("known are {}", known.join(", ")),
    }
}
