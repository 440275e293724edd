//! What `find`, `overload` and `change` share: a plan made of the operands of a race, carried out
//! into a new record, or continued.

use std::path::Path;

use bakeoff_plan::{Load, Overrides, Plan, Question, RoundsAsked};
use bakeoff_record::shell_path;

use super::destination::{Destination, default_folder};
use super::race;
use super::resumed::resume;
use super::run::campaign;
use crate::exit;
use crate::flags::{OperandFlags, PinningFlags, SearchRecordFlags};
use crate::library::Folder;

/// What distinguishes the commands.
pub(super) struct Kind {
    /// What its plans ask.
    pub(super) question: Question,
    /// What such a plan has, for a sentence.
    pub(super) name: &'static str,
    /// The error of a command line that names no contender.
    pub(super) without_contenders: &'static str,
    /// Says what a plan will do, before it does anything.
    pub(super) announce: fn(&Plan),
}

/// What is asked of every load.
pub(super) struct Asked<'f> {
    pub(super) clients: u32,
    pub(super) streams: Option<u32>,
    pub(super) rounds: u32,
    pub(super) seed: Option<u64>,
    pub(super) pinning: &'f PinningFlags,
}

impl Kind {
    /// A plan of the contenders that are named, as its file would be read again. `loads` completes
    /// it, and says what they are put under.
    pub(super) fn plan(
        &self,
        operands: &OperandFlags,
        asked: &Asked<'_>,
        library: &Folder,
        loads: impl FnOnce(&mut Plan) -> anyhow::Result<Vec<Load>>,
    ) -> anyhow::Result<Plan> {
        let overrides = Overrides {
            clients: Some(vec![asked.clients]),
            streams: asked.streams,
            rounds: RoundsAsked::number(asked.rounds),
            seed: asked.seed,
            ..Overrides::default()
        };
        let mut plan = race::contenders(operands, overrides, library)?;
        plan.pinning = race::pinning(asked.pinning);
        plan.name = self.question.command().to_owned();
        for workload in plan.workloads.iter_mut().filter(|it| it.name == "race") {
            workload.name = "request".to_owned();
        }
        let streams = plan.loads.first().map_or(1, |load| load.streams);
        plan.loads = loads(&mut plan)?;
        plan.loads.iter_mut().for_each(|it| it.streams = streams);
        race::checked(&plan, &plan.name, library)
    }

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
        if plan.question() != self.question {
            let (shown, word) = (path.display(), shell_path(path));
            return Err(exit::usage(format!(
                "{shown} holds no {}; continue it with `bakeoff run --resume {word}`",
                self.name
            )));
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
