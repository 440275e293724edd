//! Exit codes, as scripts may rely on them.

use std::fmt;

/// Done.
pub(crate) const DONE: u8 = 0;
/// The tool failed.
pub(crate) const FAILED: u8 = 1;
/// Wrong usage or plan.
pub(crate) const USAGE: u8 = 2;
/// A gate or condition was breached.
pub(crate) const BREACHED: u8 = 3;
/// Measured, but not a valid measurement.
pub(crate) const NOT_VALID: u8 = 4;
/// Interrupted; what was measured is kept.
pub(crate) const INTERRUPTED: u8 = 130;

/// Marks an error that the user can fix: exit code 2 instead of 1.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error that says `text` and ends with exit code 2.
pub(crate) fn usage(text: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Usage(text.to_string()))
}

/// Marks an error for which nothing valid could be measured: exit code 4 instead of 1.
#[derive(Debug)]
pub(crate) struct NotValid(String);

impl fmt::Display for NotValid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for NotValid {}

/// An error that says `text` and ends with exit code 4.
pub(crate) fn not_valid(text: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(NotValid(text.to_string()))
}

/// The exit code for an error.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    if error.chain().any(|cause| cause.is::<Usage>()) {
        USAGE
    } else if error.chain().any(|cause| cause.is::<NotValid>()) {
        NOT_VALID
    } else {
        FAILED
    }
}
