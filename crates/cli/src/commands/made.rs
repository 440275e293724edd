//! What `find` and `overload` share: a plan made of the operands of a race, carried out into a new
//! record, or continued.

use std::path::{Path, PathBuf};

use bakeoff_plan::{Overrides, Plan};
use bakeoff_record::{Record, RecordFolder, shell_path};

use super::race;
use super::run::{Asked, Destination, campaign, default_folder};
use crate::flags::{OperandFlags, PinningFlags};
use crate::library::Folder;
use crate::{exit, output};

/// Refuses a command line that names no contender.
pub(super) fn refuse_nobody(operands: &OperandFlags, problem: &str) -> anyhow::Result<()> {
    match operands.what.is_empty() && operands.start.is_empty() {
        true => Err(exit::usage(problem)),
        false => Ok(()),
    }
}

/// The contenders and what they are asked, as the plan `name` with a load that is to be replaced.
pub(super) fn contenders(
    name: &str,
    operands: &OperandFlags,
    pinning: &PinningFlags,
    asked: Overrides,
    library: &Folder,
) -> anyhow::Result<Plan> {
    let mut plan = race::contenders(operands, asked, library)?;
    plan.pinning = race::pinning(pinning);
    plan.name = name.to_owned();
    for workload in plan.workloads.iter_mut().filter(|it| it.name == "race") {
        workload.name = "request".to_owned();
    }
    Ok(plan)
}

/// Names of the contenders, for a sentence.
pub(super) fn names(plan: &Plan) -> String {
    let names: Vec<&str> = plan.contenders.iter().map(|it| it.name.as_str()).collect();
    names.join(", ")
}

/// Carries a plan out into a new record: in `out`, or in a folder named after plan and time. The
/// plan also goes to the file `save_plan`.
pub(super) fn begin(
    plan: Plan,
    (out, save_plan): (Option<PathBuf>, Option<PathBuf>),
    shown: Destination,
    library: &Folder,
) -> anyhow::Result<u8> {
    let out = out.unwrap_or_else(|| default_folder(&plan));
    let destination = Destination {
        repeat: Some(out.join("plan.toml")),
        out: Some(out),
        ..shown
    };
    let asked = Asked {
        plan,
        resumed: None,
        answering_least: 1,
        save_plan,
    };
    campaign(asked, library, &destination)
}

/// The error of a record that cannot be continued so, because it holds none of `what`.
pub(super) fn holds_none(path: &Path, what: &str) -> anyhow::Error {
    let (shown, word) = (path.display(), shell_path(path));
    exit::usage(format!(
        "{shown} holds no {what}; continue it with `bakeoff run --resume {word}`"
    ))
}

/// Goes on with the record at `path` by `plan`.
pub(super) fn go_on(
    path: &Path,
    resumed: (RecordFolder, Record),
    plan: Plan,
    shown: Destination,
    library: &Folder,
) -> anyhow::Result<u8> {
    let destination = Destination {
        resume: Some(path.to_owned()),
        ..shown
    };
    let asked = Asked {
        plan,
        resumed: Some(resumed),
        answering_least: 1,
        save_plan: None,
    };
    campaign(asked, library, &destination)
}

/// How it ends: 0, or 4 with the reason in the last line.
pub(super) fn ending(why_not_valid: Option<String>) -> u8 {
    match why_not_valid {
        None => exit::DONE,
        Some(why) => {
            output::note(&format!("not a valid measurement: {why}"));
            exit::NOT_VALID
        }
    }
}
