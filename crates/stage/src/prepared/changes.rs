//! What can be done to a server under load, once it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bakeoff_plan::Action;

use super::Prepared;
use crate::change::Way;
use crate::error::StageError;
use crate::running::{CommandSurroundings, Numbered, Renewal, Ways};

/// How the server's folder says that it is done, with its commands rendered.
pub(super) fn rendered(prepared: &Prepared) -> Result<BTreeMap<Action, Way>, StageError> {
    let mut changes = prepared.server.description.change.clone();
    let texts = prepared.variables.texts(&["action"]);
    if texts.get("action").is_none_or(String::is_empty) {
        changes.retain(|_, way| !way.own_start);
    }
    for (action, way) in &mut changes {
        if let Some(command) = &mut way.command {
            *command = prepared.render_all(&format!("change.{}", action.name()), command)?;
        }
    }
    Ok(changes)
}

/// What can be done to the server that this becomes, which has its environment.
pub(super) fn ways(prepared: &mut Prepared) -> Ways {
    let is_secure = prepared.workload.protocol.is_secure();
    let has_own = is_secure && prepared.configuration.takes_certificate();
    let is_boxed = prepared.quarters.room.is_some();
    let start = &mut prepared.start;
    for way in start
        .changes
        .values_mut()
        .filter(|way| is_boxed && way.command.is_some())
    {
        way.unsupported =
            Some("its command does not reach into the box of its own file".to_owned());
    }
    let workload = &prepared.workload;
    let question = (
        workload.requests.first(),
        workload.protocol,
        &prepared.asked,
    );
    let configuration = &prepared.configuration;
    let (path, text) = (configuration.path.clone(), configuration.text.clone());
    let is_own = configuration.own().is_some();
    let mut environment = std::mem::take(&mut start.environment);
    environment.push(("BAKEOFF_CONFIG".to_owned(), path.display().to_string()));
    let own = prepared.contender.action_command.clone();
    // A user's own command was written where bakeoff was started.
    let here = own.as_ref().and_then(|_| std::env::current_dir().ok());
    let numbered = Numbered::of(path, text, start.user.clone(), question).filter(|_| !is_own);
    Ways {
        numbered,
        by_action: std::mem::take(&mut start.changes),
        own,
        renewal: has_own.then(|| Renewal {
            shared: Arc::clone(&prepared.shared),
            kind: prepared.contender.certificate,
            folder: prepared.folder.tls(),
        }),
        surroundings: CommandSurroundings {
            environment,
            unset: std::mem::take(&mut start.unset),
            folder: here.unwrap_or_else(|| prepared.folder.run()),
            user: start.user.take(),
        },
    }
}
