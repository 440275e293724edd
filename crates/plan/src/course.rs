//! How a campaign proceeds: how many rounds, what it measures besides contenders, and what their
//! comparison is for.

use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::file::PlanFile;
use crate::model::Plan;
use crate::rules::{self, Fault};
use crate::source::Source;
use crate::stored;

/// A rule that adds rounds until the comparisons are narrow enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// How far the widest interval of any comparison may reach to either side: 0.03 is 3 %.
    pub width: f64,
    /// Rounds after which the campaign stops in any case.
    pub max_rounds: u32,
}

impl Until {
    /// Rounds that must be complete before the widths are looked at: with fewer of them a narrow
    /// interval is as likely luck as precision.
    pub const LOOK_FROM: u32 = 10;
    /// Widths that may be asked for.
    pub const WIDTHS: RangeInclusive<f64> = 0.001..=1.0;
}

/// The time of a campaign that goes on until everything is decided, or its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// What it was given first.
    #[serde(rename = "first_s", with = "stored::seconds")]
    pub first: Duration,
    /// What it has now, the first included.
    #[serde(rename = "now_s", with = "stored::seconds")]
    pub now: Duration,
    /// How often it was given more.
    #[serde(default)]
    pub resumed: u32,
}

impl Budget {
    /// What a campaign may be given.
    pub const LENGTHS: RangeInclusive<Duration> =
        Duration::from_secs(1)..=Duration::from_secs(7 * 86_400);
    /// Rounds that a campaign has at the most, however short its trials are.
    pub const ROUNDS_MAX: u32 = 200;

    /// A budget of this length.
    pub fn new(length: Duration) -> Self {
        Self {
            first: length,
            now: length,
            resumed: 0,
        }
    }

    /// The same with `now` in all; `None` where that is not more.
    #[must_use]
    pub fn longer(self, now: Duration) -> Option<Self> {
        (now > self.now).then_some(Self {
            now,
            resumed: self.resumed.saturating_add(1),
            ..self
        })
    }
}

/// Rounds from which blocks that were disturbed are repeated. Fewer are a look: they decide
/// nothing, and from fewer no drift of the yardstick can be seen.
pub const REPEAT_FROM: u32 = 3;

/// Rounds from which a plan without a stopping rule may add some. Where there are fewer, all of
/// them must be believable.
const SPARE_FROM: u32 = 6;
/// Rounds of a plan for each one that may be added.
const ROUNDS_A_SPARE: u32 = 2;
/// Most rounds that are added without a stopping rule, so that no campaign takes much longer than
/// was said.
const SPARE_MOST: u32 = 5;

crate::named! {
    /// What a difference in the work of two contenders does to their comparison.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum CompareMode {
        /// It is named beside the comparison, as a possible cause.
        #[default]
        AsConfigured = "as-configured",
        /// Contenders whose work is not equal are not ranked.
        EqualWork = "equal-work",
    }
}

impl CompareMode {}

/// What is measured beside the contenders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct References {
    /// The null server, for every workload: the fastest answer that this machine can give.
    pub yardstick: bool,
    /// The upstream asked directly, for every workload that is proxied.
    pub origin: bool,
    /// Whether the first contender is measured a second time in each block, as `NAME~`: what two
    /// equal servers differ in is noise. `None` does so in plans of [`CONTROL_FROM`] rounds on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<bool>,
    /// Measured time of a trial of a built-in server; `None` takes the load's own.
    #[serde(rename = "duration_s", with = "stored::optional_seconds")]
    pub duration: Option<Duration>,
}

/// Rounds from which on a plan has a control unless it says otherwise: with fewer of them, what
/// two equal servers differ in says little.
pub const CONTROL_FROM: u32 = 6;

impl Plan {
    /// Whether the first contender is measured a second time in each block.
    pub fn has_control(&self) -> bool {
        let control = self.references.control;
        control.unwrap_or(self.rounds_at_most() >= CONTROL_FROM)
    }

    /// Whether a number of rounds ends it, and not its time.
    pub fn has_fixed_rounds(&self) -> bool {
        self.budget.is_none()
    }

    /// Rounds that are run in any case.
    pub fn rounds_at_least(&self) -> u32 {
        self.until.map_or(self.rounds, |until| {
            self.rounds.max(Until::LOOK_FROM).min(until.max_rounds)
        })
    }

    /// Rounds that may be run: those that a stopping rule leads to, and without one those that make
    /// up for rounds that cannot be believed.
    pub fn rounds_at_most(&self) -> u32 {
        let spare = match self.rounds {
            ..SPARE_FROM => 0,
            rounds => (rounds / ROUNDS_A_SPARE).min(SPARE_MOST),
        };
        let with_spare = self.rounds.saturating_add(spare);
        match (self.budget, self.until) {
            (Some(_), _) => Budget::ROUNDS_MAX,
            (None, Some(until)) => until.max_rounds,
            (None, None) => with_spare,
        }
    }

    /// The plan of a campaign that goes on after its end, for `rounds` in all. Who is measured
    /// stays the same.
    #[must_use]
    pub fn extended(mut self, rounds: u32) -> Self {
        self.references.control = Some(self.has_control());
        self.rounds = rounds;
        self
    }
}

/// The stopping rule that a plan's keys ask for.
pub(crate) fn stopping_rule(
    source: &Source<'_>,
    file: &PlanFile,
) -> Result<Option<Until>, PlanError> {
    let conflict =
        |key, problem: &str, fix: &str| Err(Fault::new(problem, fix).at(source.place(key)));
    let (width, max_rounds) = match (file.until, file.max_rounds) {
        (None, None) => return Ok(None),
        (Some(width), Some(max_rounds)) => (width, max_rounds),
        (Some(_), None) => {
            let problem = "`until` without `max_rounds` may never end";
            return conflict("until", problem, "add a limit, such as `max_rounds = 40`");
        }
        (None, Some(_)) => {
            let problem = "`max_rounds` without `until` limits nothing";
            return conflict(
                "max_rounds",
                problem,
                "add `until = 0.03`, or write `rounds`",
            );
        }
    };
    let until = Until { width, max_rounds };
    rules::until(until, file.rounds_at_least())
        .map_err(|fault| fault.at(source.place("max_rounds")))?;
    Ok(Some(until))
}

/// The time that a plan's keys give it.
pub(crate) fn budget(source: &Source<'_>, file: &PlanFile) -> Result<Option<Budget>, PlanError> {
    let Some(length) = &file.budget else {
        return Ok(None);
    };
    let length = length.0;
    rules::budget(length).map_err(|fault| fault.at(source.place("budget")))?;
    let ends_otherwise = [
        ("rounds", file.rounds.is_some()),
        ("until", file.until.is_some()),
    ];
    if let Some((key, _)) = ends_otherwise.into_iter().find(|(_, is_there)| *is_there) {
        return Err(Fault::new(
            format!("`{key}` ends the campaign in another way"),
            format!("leave out `budget` or `{key}`"),
        )
        .at(source.place("budget")));
    }
    Ok(Some(Budget::new(length)))
}
