//! How a campaign proceeds: how many rounds, what it measures besides contenders, and what their
//! comparison is for.

use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::format_duration;
use crate::rules::{self, Fault};
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

/// The time of a campaign.
pub(crate) fn check_budget(length: Duration) -> Result<(), Fault> {
    if Budget::LENGTHS.contains(&length) {
        return Ok(());
    }
    let [least, most] =
        [Budget::LENGTHS.start(), Budget::LENGTHS.end()].map(|it| format_duration(*it));
    Err(Fault::new(
        format!("`budget` is {}", format_duration(length)),
        format!("write a time from {least} to {most}"),
    ))
}

/// A stopping rule beside `rounds`.
pub(crate) fn check_until(until: Until, rounds_before: u32) -> Result<(), Fault> {
    rules::within("until", &until.width, &Until::WIDTHS)?;
    rules::within("max_rounds", &until.max_rounds, &rules::ROUNDS)?;
    if until.max_rounds >= rounds_before {
        return Ok(());
    }
    Err(Fault::new(
        format!(
            "`max_rounds` is {}, fewer than the {rounds_before} of `rounds`",
            until.max_rounds
        ),
        "write at least as many",
    ))
}
