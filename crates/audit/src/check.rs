//! A check: one figure, its limit, and the result for each number.

use bakeoff_stats::Number;
use serde::Serializer;

pub use crate::code::Level;

use crate::code::Code;
use crate::reference::declares;

/// One figure compared with one limit.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Check {
    /// Which check.
    pub code: Code,
    /// Requirement in `docs/checks.md`, such as `R17`.
    pub rule: &'static str,
    /// Its result for the number that it weakens most.
    pub level: Level,
    /// Its result for each number that it guards.
    #[serde(serialize_with = "as_object")]
    #[schemars(with = "std::collections::BTreeMap<Number, Level>")]
    pub numbers: Vec<(Number, Level)>,
    /// The figure; `None` where the check could not run or counts nothing.
    pub value: Option<f64>,
    /// The limit in the figure's unit.
    pub limit: Option<f64>,
    /// What was seen and what it means.
    pub text: String,
}

/// Something that weakens a campaign.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Weakness {
    /// Stable name, of a check where it comes from one.
    pub code: String,
    /// A sentence for people.
    pub text: String,
    /// How bad it is.
    pub level: Level,
}

impl Check {
    /// A check with one level for all numbers that it guards.
    pub(crate) fn new(code: Code, level: Level, text: impl Into<String>) -> Self {
        let numbers = code.guards().iter().map(|number| (*number, level));
        Self {
            code,
            rule: code.rule(),
            level,
            numbers: declared(code, numbers.collect()),
            value: None,
            limit: None,
            text: text.into(),
        }
    }

    /// A check that weakens some numbers and leaves the others.
    pub(crate) fn graded(
        code: Code,
        numbers: impl IntoIterator<Item = (Number, Level)>,
        text: impl Into<String>,
    ) -> Self {
        let numbers: Vec<(Number, Level)> = numbers.into_iter().collect();
        let worst = numbers.iter().map(|(_, level)| *level).max();
        Self {
            level: worst.unwrap_or(Level::Note),
            numbers: declared(code, numbers),
            ..Self::passed(code, text)
        }
    }

    /// A check that found nothing wrong.
    pub(crate) fn passed(code: Code, text: impl Into<String>) -> Self {
        Self::new(code, Level::Passed, text)
    }

    /// A fact that takes nothing away.
    pub(crate) fn note(code: Code, text: impl Into<String>) -> Self {
        Self::new(code, Level::Note, text)
    }

    /// A check that the record cannot carry: what it guards is in doubt.
    pub(crate) fn not_run(code: Code, text: impl Into<String>) -> Self {
        Self::new(code, Level::NotRun, text)
    }

    /// The same unless something is wrong; then of this level, and with more to say.
    pub(crate) fn worse_if(self, is_wrong: bool, level: Level, more: &str) -> Self {
        if is_wrong {
            Self::new(self.code, level, self.text + more)
        } else {
            self
        }
    }

    /// The figure and the limit that it was held against.
    pub(crate) fn figures(mut self, value: f64, limit: f64) -> Self {
        (self.value, self.limit) = (Some(value), Some(limit));
        self
    }

    /// Its result for a number.
    pub fn of(&self, number: Number) -> Level {
        let mut numbers = self.numbers.iter();
        let found = numbers.find(|(known, _)| *known == number);
        found.map_or(Level::Passed, |(_, level)| *level)
    }

    /// Sets the level of each number anew.
    pub(crate) fn relevel(&mut self, level: impl Fn(Number, Level) -> Level) {
        for (number, known) in &mut self.numbers {
            *known = level(*number, *known);
        }
        let worst = self.numbers.iter().map(|(_, level)| *level).max();
        self.level = worst.unwrap_or(self.level);
    }
}

/// The level of a figure by the limits of two, the worse one first, and the limit that it is held
/// against.
pub(crate) fn tier(figure: f64, worse: (Level, f64), first: (Level, f64)) -> (Level, f64) {
    match figure {
        figure if figure > worse.1 => worse,
        figure if figure > first.1 => first,
        _ => (Level::Passed, first.1),
    }
}

/// The results as they are; each is in the reference of checks.
fn declared(code: Code, numbers: Vec<(Number, Level)>) -> Vec<(Number, Level)> {
    debug_assert!(
        numbers
            .iter()
            .all(|(number, level)| declares(code, *number, *level)),
        "docs/checks.md does not have this result of {code}: {numbers:?}"
    );
    numbers
}

fn as_object<S: Serializer>(numbers: &[(Number, Level)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(numbers.iter().map(|(number, level)| (number.name(), level)))
}
