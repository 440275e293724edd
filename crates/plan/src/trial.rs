//! A trial of a plan, ready to be carried out.

use crate::contender::Contender;
use crate::load::{Load, LoadModel};
use crate::model::Workload;
use crate::overload::Ramp;

/// Rounds whose closed loops come before any open one.
const CLOSED_FIRST: u32 = 2;

/// One contender, one workload, one load, once.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Position in the campaign, from 0; a repetition has that of the trial it repeats.
    pub index: usize,
    /// Round that it belongs to, from 1.
    pub round: u32,
    /// From 1; more in a block that is repeated.
    pub attempt: u32,
    /// Unique in the campaign and fit for a folder name: `r1-nginx-default-synthetic-c10`, and
    /// the second attempt `r1-nginx-default-synthetic-c10-a2`.
    pub id: String,
    /// What answers.
    pub contender: Contender,
    /// Whether it is the first contender once more, under the name of [`control_name`].
    pub is_control: bool,
    /// What is asked.
    pub workload: Workload,
    /// How hard.
    pub load: Load,
    /// Label of the plan's load where the rate of `load` was found in the campaign.
    pub load_name: Option<String>,
    /// How its rate changes in the window; `None` where it does not.
    pub ramp: Option<Ramp>,
}

/// What follows the first contender's name where it is measured a second time. No contender of a
/// plan has it in its name.
pub const CONTROL_MARK: &str = "~";

/// Name under which the first contender of a plan is measured a second time.
pub fn control_name(contender: &str) -> String {
    format!("{contender}{CONTROL_MARK}")
}

impl Trial {
    /// The plan's label of its load.
    pub fn load_label(&self) -> String {
        self.load_name.clone().unwrap_or_else(|| self.load.label())
    }

    /// Its group in a campaign that time ends.
    pub fn group(&self) -> Group {
        Group::of(self.round, &self.load.model)
    }

    /// The same trial with the workload as its contender is asked.
    #[must_use]
    pub fn as_asked(&self) -> Self {
        Self {
            workload: self.workload.asked_of(&self.contender),
            ..self.clone()
        }
    }

    /// The same trial in another attempt of its block.
    #[must_use]
    pub fn again(&self, attempt: u32) -> Self {
        Self {
            attempt,
            id: attempt_id(&self.id, attempt),
            ..self.clone()
        }
    }

    /// The trial at the rate that was found for its load.
    #[must_use]
    pub fn at_rate(mut self, found_per_s: f64) -> Self {
        if let LoadModel::OpenShare {
            arrival, clients, ..
        } = self.load.model
        {
            self.load_name = Some(self.load_label());
            self.load.model = LoadModel::Open {
                rate_per_s: found_per_s,
                arrival,
                clients,
            };
        }
        self
    }
}

/// Id of another attempt of the trial whose first one is called `id`.
pub fn attempt_id(id: &str, attempt: u32) -> String {
    match attempt {
        0 | 1 => id.to_owned(),
        more => format!("{id}-a{more}"),
    }
}

/// The blocks of a round that follow each other: those of closed loops, or those of open ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Its place in the order.
    pub(crate) place: u32,
}

impl Group {
    /// The group of the trials of this round with such a load.
    pub fn of(round: u32, model: &LoadModel) -> Self {
        let open = u32::from(model.is_open());
        let place = if round <= CLOSED_FIRST {
            open * CLOSED_FIRST + round - 1
        } else {
            2 * (round - 1) + open
        };
        Self { place }
    }

    /// The round and whether its loops are open.
    pub(crate) fn is(self) -> (u32, bool) {
        let first = CLOSED_FIRST * 2;
        if self.place < first {
            (self.place % CLOSED_FIRST + 1, self.place >= CLOSED_FIRST)
        } else {
            (self.place / 2 + 1, self.place % 2 == 1)
        }
    }
}
