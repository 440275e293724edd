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

/// An error that ends with an exit code other than 1.
#[derive(Debug)]
struct Coded {
    code: u8,
    text: String,
}

impl fmt::Display for Coded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Coded {}

fn coded(code: u8, text: impl fmt::Display) -> anyhow::Error {
    let text = text.to_string();
    anyhow::Error::new(Coded { code, text })
}

/// An error that the user can fix: exit code 2.
pub(crate) fn usage(text: impl fmt::Display) -> anyhow::Error {
    coded(USAGE, text)
}

/// An error for which nothing valid could be measured: exit code 4.
pub(crate) fn not_valid(text: impl fmt::Display) -> anyhow::Error {
    coded(NOT_VALID, text)
}

/// A request to stop before anything was measured: exit code 130.
pub(crate) fn interrupted(text: impl fmt::Display) -> anyhow::Error {
    coded(INTERRUPTED, text)
}

/// The exit code for an error.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    let mut causes = error.chain();
    let coded = causes.find_map(|cause| cause.downcast_ref::<Coded>());
    coded.map_or(FAILED, |error| error.code)
}
