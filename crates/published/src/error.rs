//! Why a file cannot be read.

/// A place in a file, and what was expected there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {problem}")]
pub struct ReadError {
    /// Line, counted from 1 with the header.
    pub line: usize,
    /// What was found, what was expected, and what to do.
    pub problem: String,
}

impl ReadError {
    /// An error at a line.
    pub(crate) fn new(line: usize, problem: impl Into<String>) -> Self {
        Self {
            line,
            problem: problem.into(),
        }
    }
}

/// The beginning of a foreign text, short enough for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let mut short: String = text.chars().take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        short.push_str("...");
    }
    short
}
