//! How something is done to a running server while it is under load, as its folder says it.

use bakeoff_plan::Action;
use serde::Deserialize;

use crate::keeper::signal_named;

/// How an action is carried out, as `server.toml` says it: one of the keys, or two signals.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Way {
    /// Signal to the main process, without `SIG`.
    pub(crate) signal: Option<String>,
    /// Signal to the same process once another one has taken over.
    #[serde(rename = "then")]
    pub(crate) after: Option<String>,
    /// A command like that of `start`.
    pub(crate) command: Option<Vec<String>>,
    /// Whether the server takes up its configuration by itself, as soon as it is written.
    #[serde(default)]
    pub(crate) watched: bool,
    /// Whether only a server that was started for it can do it, by the variable `action`.
    #[serde(default, rename = "own-start")]
    pub(crate) own_start: bool,
    /// Why it cannot be done.
    pub(crate) unsupported: Option<String>,
}

impl Way {
    /// By a signal.
    pub(crate) fn signal(name: &str) -> Self {
        Self {
            signal: Some(name.to_owned()),
            ..Self::default()
        }
    }

    /// What is wrong with it, as the value of this action.
    pub(crate) fn check(&self, action: Action) -> Result<(), String> {
        let name = action.name();
        let given = [
            self.signal.is_some(),
            self.command.as_ref().is_some_and(|words| !words.is_empty()),
            self.watched,
            self.unsupported.is_some(),
        ];
        let given = given.iter().filter(|it| **it).count();
        if given != 1 || (self.after.is_some() && self.signal.is_none()) {
            return Err(format!(
                "`change.{name}` needs one of `signal`, with or without `then`, `command`, \
                 `watched = true` and `unsupported`"
            ));
        }
        for signal in self.signal.iter().chain(&self.after) {
            if signal_named(signal).is_none() {
                return Err(format!(
                    "`change.{name}` has signal `{signal}`; expected HUP, USR1, USR2, QUIT or TERM"
                ));
            }
        }
        Ok(())
    }
}
