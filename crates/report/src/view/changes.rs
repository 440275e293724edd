//! What bakeoff changed in users' own configurations for their trials.

use bakeoff_record::{ConfigChange, Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::view::diff::with_variables;

/// The lines of one contender's own files that a trial needed otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConfigChanges {
    /// The contender.
    pub contender: String,
    /// Folder name of the server.
    pub server: String,
    /// Each line once, as in the first trial that changed it: its ports are others in others.
    /// Folders and the origin that bakeoff filled in stand as `{{ run }}`.
    pub changes: Vec<ConfigChange>,
}

/// The changes by contender, in the plan's order; those whose configuration was used as it is are
/// left out.
pub(super) fn draw(record: &Record) -> Vec<ConfigChanges> {
    let names = record.plan.contenders.iter().map(|one| &one.name);
    names.filter_map(|name| of(record, name)).collect()
}

fn of(record: &Record, contender: &str) -> Option<ConfigChanges> {
    let mut server = None;
    let mut changes: Vec<ConfigChange> = Vec::new();
    let trials = record.trials.iter().filter(|it| it.contender == contender);
    for facts in trials.filter_map(|trial| trial.server.as_ref()) {
        let filled = facts.configs.first().map(|config| &config.filled);
        for change in &facts.config_changes {
            let is_this = |one: &ConfigChange| one.file == change.file && one.line == change.line;
            if changes.iter().any(is_this) {
                continue;
            }
            server.get_or_insert(&facts.server);
            let mut change = change.clone();
            if let Some(filled) = filled {
                change.after = with_variables(&change.after, filled);
            }
            changes.push(change);
        }
    }
    Some(ConfigChanges {
        contender: contender.to_owned(),
        server: server?.clone(),
        changes,
    })
}
