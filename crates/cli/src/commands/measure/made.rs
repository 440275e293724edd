//! What `find` and `overload` share: a plan made of the operands of a race, carried out into a new
//! record, or continued.

use std::path::Path;

use bakeoff_plan::{Overrides, Plan};
use bakeoff_record::shell_path;

use super::destination::{Destination, default_folder};
use super::race;
use super::resumed::resume;
use super::run::campaign;
use crate::exit;
use crate::flags::{OperandFlags, PinningFlags, SearchRecordFlags};
use crate::library::Folder;

/// What distinguishes the two commands.
pub(super) struct Kind {
    /// What a plan of it has, for a sentence.
    pub(super) name: &'static str,
    /// Whether a plan has one.
    pub(super) is_in: fn(&Plan) -> bool,
    /// The error of a command line that names no contender.
    pub(super) without_contenders: &'static str,
    /// Says what a plan will do, before it does anything.
    pub(super) announce: fn(&Plan),
}

impl Kind {
    /// Carries out a new plan, which `plan` makes of the flags, or goes on with a record, whose
    /// plan `change` changes by them.
    pub(super) fn carry_out(
        &self,
        operands: &OperandFlags,
        flags: &SearchRecordFlags,
        plan: impl FnOnce(&Folder) -> anyhow::Result<Plan>,
        change: impl FnOnce(&mut Plan),
    ) -> anyhow::Result<u8> {
        let library = Folder::new(flags.library.clone())?;
        if let Some(path) = &flags.resume {
            return self.go_on(path, flags, change, &library);
        }
        if operands.what.is_empty() && operands.start.is_empty() {
            return Err(exit::usage(self.without_contenders));
        }
        let plan = plan(&library)?;
        (self.announce)(&plan);
        begin(plan, flags, &library)
    }

    fn go_on(
        &self,
        path: &Path,
        flags: &SearchRecordFlags,
        change: impl FnOnce(&mut Plan),
        library: &Folder,
    ) -> anyhow::Result<u8> {
        let (folder, record) = resume(path)?;
        let mut plan = record.plan.clone();
        if !(self.is_in)(&plan) {
            return Err(holds_none(path, self.name));
        }
        change(&mut plan);
        (self.announce)(&plan);
        let destination = Destination {
            record: Some(path.to_owned()),
            ..destination(flags)
        };
        campaign(plan, Some((folder, record)), library, &destination)
    }
}

/// What is shown, wherever the record lies.
fn destination(flags: &SearchRecordFlags) -> Destination {
    Destination {
        answering_least: 1,
        far: flags.far.clone(),
        ..Destination::shown(flags.others, flags.format.into(), flags.full, flags.strict)
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

/// Carries a plan out into a new record: where `--out` says, or in a folder named after plan and
/// time.
fn begin(plan: Plan, flags: &SearchRecordFlags, library: &Folder) -> anyhow::Result<u8> {
    let out = flags.out.clone().unwrap_or_else(|| default_folder(&plan));
    let destination = Destination {
        repeat: Some(out.join("plan.toml")),
        record: Some(out),
        save_plan: flags.save_plan.clone(),
        ..destination(flags)
    };
    campaign(plan, None, library, &destination)
}

/// The error of a record that cannot be continued so, because it holds none of `what`.
fn holds_none(path: &Path, what: &str) -> anyhow::Error {
    let (shown, word) = (path.display(), shell_path(path));
    exit::usage(format!(
        "{shown} holds no {what}; continue it with `bakeoff run --resume {word}`"
    ))
}
