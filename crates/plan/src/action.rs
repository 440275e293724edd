//! What is done to a server while it is under load: a reload, an upgrade, a lost worker.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{self, Fault};
use crate::stored;

/// Times that an action may be repeated in a trial.
const TIMES_MAX: u32 = 100;
/// From one action to the next.
const EVERY: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(60);

crate::named! {
    /// What is done.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Action {
        /// Nothing: the control, which shows what is lost without any action.
        None = "none",
        /// The server reads its configuration again.
        Reload = "reload",
        /// Another process of the server takes over, as for a new version.
        Upgrade = "upgrade",
        /// The server takes up another certificate.
        Certificate = "certificate",
        /// One of its worker processes is killed.
        KillWorker = "kill-worker",
        /// The upstream ends and begins again.
        UpstreamRestart = "upstream-restart",
        /// The upstream answers half a second late for a second.
        UpstreamSlow = "upstream-slow",
    }
}

impl Action {
    /// Whether the server takes up something new by it.
    pub fn is_of_configuration(self) -> bool {
        matches!(self, Self::Reload | Self::Upgrade | Self::Certificate)
    }

    /// Whether it is done to the upstream, which only a proxied workload has.
    pub fn is_of_upstream(self) -> bool {
        matches!(self, Self::UpstreamRestart | Self::UpstreamSlow)
    }
}

/// An action, repeated in the window of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actions {
    /// What is done.
    pub action: Action,
    /// How often in the window.
    pub times: u32,
    /// From one to the next. The first is half of it after the window's start.
    #[serde(rename = "every_s", with = "stored::seconds")]
    pub every: Duration,
    /// Share of the requests that are sent on kept connections; each of the others has a
    /// connection of its own.
    pub kept: f64,
}

impl Actions {
    /// When each is due, from the window's start.
    pub fn due(&self) -> impl Iterator<Item = Duration> + '_ {
        (0..self.times).map(|nth| self.every * nth + self.every / 2)
    }

    /// Length of the window that they take.
    pub fn window(&self) -> Duration {
        self.every * self.times
    }

    /// A part of a load's label.
    pub(crate) fn label(&self) -> String {
        let fresh = (1.0 - self.kept) * 100.0;
        let fresh = if fresh.abs() < 1e-9 {
            String::new()
        } else {
            format!("-fresh{}", fresh.round())
        };
        format!("{}x{}{fresh}", self.action.name(), self.times)
    }

    /// What is wrong with them, and with which key.
    pub(crate) fn check(&self) -> Result<(), (&'static str, Fault)> {
        let fix = "write a number from 1 to 100";
        rules::in_range("times", &self.times, &(1..=TIMES_MAX), fix)?;
        rules::in_range("every", &self.every, &EVERY, "write a time from 1s to 60s")?;
        rules::in_range(
            "kept",
            &self.kept,
            &(0.0..=1.0),
            "write a share from 0 to 1",
        )?;
        rules::length("every", self.window()).map_err(|fault| ("every", fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_lie_in_the_middle_of_equal_stretches() {
        let actions = Actions {
            action: Action::Reload,
            times: 3,
            every: Duration::from_secs(2),
            kept: 0.8,
        };
        let due: Vec<u64> = actions.due().map(|at| at.as_secs()).collect();
        assert_eq!(due, [1, 3, 5]);
        assert_eq!(actions.window(), Duration::from_secs(6));
        assert_eq!(actions.label(), "reloadx3-fresh20");
    }

    #[test]
    fn names_in_files_are_the_names_in_tables() {
        for action in Action::ALL {
            assert_eq!(serde_json::to_value(action).unwrap(), action.name());
        }
    }
}
