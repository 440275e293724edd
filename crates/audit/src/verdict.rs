//! What can be believed, for each number.

use bakeoff_stats::Number;
use serde::Serialize;

use crate::check::{Check, Level};
use crate::code::Code;
use bakeoff_plan::named;

named! {
    /// Whether a number can be believed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Verdict {
        /// Every check passed.
        Valid = "valid",
        /// Shown, not ranked.
        Suspect = "suspect",
        /// Withheld.
        Invalid = "invalid",
        /// The server cannot do this workload.
        Unsupported = "unsupported",
        /// It was not attempted, because this machine cannot carry it, or stopped by the user.
        Skipped = "skipped",
        /// Something went wrong at a step.
        Failed = "failed",
    }
}

/// A verdict for each number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Verdicts {
    /// Right answers per second.
    pub rate: Verdict,
    /// Latencies.
    pub latency: Verdict,
    /// CPU time of the server.
    pub cpu: Verdict,
    /// Memory of the server.
    pub memory: Verdict,
    /// Requests, outcomes and their shares.
    pub counts: Verdict,
}

impl Verdicts {
    /// One verdict for all numbers.
    pub fn all(verdict: Verdict) -> Self {
        Self::by(|_| verdict)
    }

    /// The verdict of a number.
    pub fn of(&self, number: Number) -> Verdict {
        match number {
            Number::Rate => self.rate,
            Number::Latency => self.latency,
            Number::Cpu => self.cpu,
            Number::Memory => self.memory,
            Number::Counts => self.counts,
        }
    }

    /// The worst of them.
    pub fn worst(&self) -> Verdict {
        let all = Number::ALL.map(|number| self.of(number));
        all.into_iter().max().unwrap_or(Verdict::Suspect)
    }

    fn by(verdict: impl Fn(Number) -> Verdict) -> Self {
        Self {
            rate: verdict(Number::Rate),
            latency: verdict(Number::Latency),
            cpu: verdict(Number::Cpu),
            memory: verdict(Number::Memory),
            counts: verdict(Number::Counts),
        }
    }
}

/// A verdict with the checks that led to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The worst of the verdicts.
    pub verdict: Verdict,
    /// Whether each number can be believed.
    pub verdicts: Verdicts,
    /// The checks, worst first, else in their own order.
    pub checks: Vec<Check>,
}

impl Judgement {
    /// What the checks of something measured come to.
    pub(crate) fn of(mut checks: Vec<Check>) -> Self {
        checks.sort_by_key(|check| std::cmp::Reverse(check.level));
        let verdicts = Verdicts::by(|number| match level_of(&checks, number) {
            Some(Level::Invalid) => Verdict::Invalid,
            Some(Level::Disturbed | Level::Suspect | Level::NotRun) => Verdict::Suspect,
            Some(Level::Passed | Level::Note) => Verdict::Valid,
            // Nothing was checked, so nothing is known.
            None => Verdict::Suspect,
        });
        Self {
            verdict: verdicts.worst(),
            verdicts,
            checks,
        }
    }

    /// One verdict for everything, for the reason that `check` gives.
    pub(crate) fn ended(verdict: Verdict, check: Check) -> Self {
        Self {
            verdict,
            verdicts: Verdicts::all(verdict),
            checks: vec![check],
        }
    }

    /// Adds checks that take nothing away.
    pub(crate) fn add(&mut self, facts: impl IntoIterator<Item = Check>) {
        self.checks.extend(facts);
        self.checks
            .sort_by_key(|check| std::cmp::Reverse(check.level));
    }

    /// The worst that checks say of a number.
    pub fn level(&self, number: Number) -> Level {
        level_of(&self.checks, number).unwrap_or(Level::NotRun)
    }

    /// The checks that weaken a number.
    pub(crate) fn weak(&self, number: Number) -> impl Iterator<Item = Code> {
        let checks = self.checks.iter();
        let weak = checks.filter(move |check| check.of(number) > Level::Note);
        weak.map(|check| check.code)
    }

    /// The check of that name.
    pub fn check(&self, code: Code) -> Option<&Check> {
        self.checks.iter().find(|check| check.code == code)
    }

    /// The check that weakens a number most; `None` where none does.
    pub fn blame(&self, number: Number) -> Option<&Check> {
        blame(&self.checks, number)
    }
}

/// The check that weakens a number most; `None` where none does.
pub fn blame(checks: &[Check], number: Number) -> Option<&Check> {
    let worse = checks.iter().filter(|check| check.of(number) > Level::Note);
    // The first of equally bad ones: max_by_key takes the last, so go backwards.
    worse.rev().max_by_key(|check| check.of(number))
}

fn level_of(checks: &[Check], number: Number) -> Option<Level> {
    checks.iter().map(|check| check.of(number)).max()
}
