//! One figure held against one limit.

use serde::Serialize;

/// One figure held against one limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Stable name, such as `failed-share`.
    pub code: &'static str,
    /// Requirement in `docs/method.md`, such as `R17`.
    pub rule: &'static str,
    /// What came of it.
    pub level: Level,
    /// The figure; `None` where the check could not run or counts nothing.
    pub value: Option<f64>,
    /// The limit in the figure's unit.
    pub limit: Option<f64>,
    /// What was seen and what it means.
    pub text: String,
}

/// What came of a check, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Within its limit.
    Passed,
    /// A fact that the reader must know; the numbers stand.
    Note,
    /// The record does not hold what the check needs; counts as suspect.
    NotRun,
    /// The numbers are shown and not ranked.
    Suspect,
    /// The numbers that rest on timing are withheld.
    Invalid,
}

impl Check {
    /// A check that held `value` against `limit`.
    pub(crate) fn new(
        (code, rule): (&'static str, &'static str),
        level: Level,
        (value, limit): (f64, f64),
        text: String,
    ) -> Self {
        Self {
            code,
            rule,
            level,
            value: Some(value),
            limit: Some(limit),
            text,
        }
    }

    /// A check without a figure.
    pub(crate) fn plain(
        (code, rule): (&'static str, &'static str),
        level: Level,
        text: impl Into<String>,
    ) -> Self {
        Self {
            code,
            rule,
            level,
            value: None,
            limit: None,
            text: text.into(),
        }
    }

    /// A check that the record cannot carry.
    pub(crate) fn not_run(name: (&'static str, &'static str), text: impl Into<String>) -> Self {
        Self::plain(name, Level::NotRun, text)
    }
}
