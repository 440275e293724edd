//! Whether the copy of the plan and the trials of `confirm/` belong to a record.

use std::path::Path;

use super::{
    CONFIRM_FOLDER, FolderError, MACHINE_FILE, PLAN_COPY, PLAN_FILE, Record, is_record, read_plan,
    read_text, read_versioned,
};
use crate::machine::{MACHINE_SCHEMA, Machine};

/// In what the copy of the plan and the trials that confirm bottlenecks are not of this record.
///
/// # Errors
/// When a file of the record cannot be read.
pub fn check_beside(path: &Path, record: &Record) -> Result<Vec<String>, FolderError> {
    let mut found = Vec::new();
    found.extend(plan_copy(path, ""));
    let confirm = path.join(CONFIRM_FOLDER);
    if !is_record(&confirm)? {
        return Ok(found);
    }
    let file = confirm.join(MACHINE_FILE);
    let text = read_text(&file)?;
    let machine: Machine = read_versioned(&file, 1, &text, MACHINE_SCHEMA)?;
    // They are made with the machine of the record, and with its plan, which may have got more
    // rounds since.
    if machine != record.machine {
        found.push(format!(
            "{CONFIRM_FOLDER}/ is of another campaign, begun at {} on {}",
            machine.started_at, machine.host
        ));
        return Ok(found);
    }
    let stranger = record.confirming.iter().find(|trial| {
        let mut contenders = record.plan.contenders.iter();
        !contenders.any(|one| one.name == trial.contender)
    });
    found.extend(stranger.map(|trial| {
        let (id, contender) = (&trial.id, &trial.contender);
        format!("trial {id} of {CONFIRM_FOLDER}/ is of {contender}, which is no contender here")
    }));
    found.extend(plan_copy(&confirm, CONFIRM_FOLDER));
    Ok(found)
}

/// Whether the plan that people read is the one that bakeoff reads.
fn plan_copy(path: &Path, within: &str) -> Option<String> {
    let name = match within {
        "" => PLAN_COPY.to_owned(),
        within => format!("{within}/{PLAN_COPY}"),
    };
    let file = path.join(PLAN_COPY);
    if !file.exists() {
        return Some(format!("{name} is missing"));
    }
    let differs = format!("{name} does not say what {PLAN_FILE} does");
    match (read_text(&file), read_plan(path)) {
        (Ok(text), Ok(plan)) => (text != plan.to_toml()).then_some(differs),
        (Err(error), _) | (_, Err(error)) => Some(format!("{name}: {error}")),
    }
}
