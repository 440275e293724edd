//! A cell with what can be believed of it.

use bakeoff_plan::LoadModel;
use bakeoff_record::{ContenderKind, TrialRecord};
use bakeoff_stats::{Cell, Estimate, Metric, Missing, Number};

use crate::attribution::Bottleneck;
use crate::check::{Check, Level};
use crate::code::Code;
use crate::verdict::{Judgement, Verdict};

/// A cell and what can be believed of it.
#[derive(Debug, Clone)]
pub struct JudgedCell<'r> {
    /// Its trials.
    pub cell: Cell<'r>,
    /// What can be believed.
    pub judgement: Judgement,
    /// Each trial with what can be believed of it, those set aside too.
    pub trials: Vec<(&'r TrialRecord, Judgement)>,
    /// What held the rate down; `None` when nothing was measured.
    pub bottleneck: Option<Bottleneck>,
    /// The check that found the rate to be a bound only: the server does this rate or more.
    pub rate_bound: Option<Code>,
    /// That the server had time to spare in a closed loop, where it had.
    pub idle_server: Option<String>,
}

impl<'r> JudgedCell<'r> {
    /// Whether it is of what is compared, and no reference or control.
    pub fn is_contender(&self) -> bool {
        self.cell.kind == ContenderKind::Contender
    }

    /// The number that the cell is ranked by: the rate, or latency where the load gives the rate.
    pub(crate) fn ranked_by(&self) -> Number {
        let load = self.cell.trials.first().map(|trial| &trial.load.model);
        match load {
            Some(LoadModel::Closed { .. }) | None => Number::Rate,
            Some(_) => Number::Latency,
        }
    }

    /// Whether its load is at a share of the capacity, so that its rate was found in the campaign
    /// and another campaign finds another one.
    pub fn is_at_share(&self) -> bool {
        let mut trials = self.cell.trials.iter();
        trials.any(|trial| trial.load_name.is_some() || trial.load.model.is_share())
    }

    /// Whether the contender cannot do this workload, so that there is nothing to be measured.
    pub fn is_unsupported(&self) -> bool {
        self.judgement.verdicts.of(Number::Counts) == Verdict::Unsupported
    }

    /// The trials that count, each with what can be believed of it. Attempts that were set aside
    /// stand behind them.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = &(&'r TrialRecord, Judgement)> {
        self.trials.iter().take(self.cell.trials.len())
    }

    /// What can be believed of each trial that counts.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &Judgement> {
        self.rounds().map(|(_, judgement)| judgement)
    }

    /// The cell with those of its rounds whose number is neither withheld nor disturbed.
    pub fn usable(&self, number: Number) -> Cell<'r> {
        let is_usable = |trial: &&TrialRecord| {
            let mut judged = self.trials.iter();
            let found = judged.find(|(one, _)| std::ptr::eq(*one, *trial));
            found.is_some_and(|(_, judgement)| judgement.level(number) < Level::Disturbed)
        };
        let mut cell = self.cell.clone();
        cell.trials.retain(is_usable);
        cell
    }

    /// The value of a measure over the rounds that can be used for it.
    ///
    /// # Errors
    /// Says why there is none: what took it away, where the number is withheld.
    pub fn estimate(&self, measure: Metric) -> Result<Estimate, Withheld> {
        let number = measure.number();
        let known = self.cell.estimate(measure);
        if let Some(check) = self.withheld(number)
            && matches!(known, Ok(_) | Err(Missing::AtLeast { .. }))
        {
            return Err(Withheld::By(check.text.clone()));
        }
        self.usable(number)
            .estimate(measure)
            .map_err(Withheld::Missing)
    }

    fn withheld(&self, number: Number) -> Option<&Check> {
        let blame = self.judgement.blame(number)?;
        (blame.of(number) == Level::Invalid).then_some(blame)
    }
}

/// Why a cell has no estimate.
#[derive(Debug, Clone, PartialEq)]
pub enum Withheld {
    /// It is withheld: what was seen.
    By(String),
    /// There is none.
    Missing(Missing),
}

impl std::fmt::Display for Withheld {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::By(text) => write!(out, "withheld: {text}"),
            Self::Missing(missing) => missing.fmt(out),
        }
    }
}
