//! The program of each contender, the same one from the first trial of a campaign to the last.
//!
//! A search path may lead to another program from one day to the next, and a package manager may
//! replace one while a campaign runs. Two programs under one name would be one row of numbers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bakeoff_plan::{CONTROL_MARK, Change, Contender, Plan, ServerChoice};
use bakeoff_record::{ServerFacts, Step, TrialEnd, TrialRecord};
use bakeoff_stage::Stage;
use serde::{Deserialize, Serialize};

use crate::preflight::Finding;

/// Programs by the contender's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs(BTreeMap<String, Fixed>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Fixed {
    path: PathBuf,
    sha256: String,
}

/// A contender's program is another one than at the start of the campaign.
#[derive(Debug, thiserror::Error)]
#[error(
    "the program of {contender} has changed since this campaign began: {} had sha256 {was:.12} and \
     now {now}; put it back, or begin a new record", path.display()
)]
pub struct ProgramChanged {
    contender: String,
    path: PathBuf,
    was: String,
    now: String,
}

impl Programs {
    /// The programs that contenders had in earlier trials of this campaign.
    pub fn of_trials(plan: &Plan, earlier: &[TrialRecord]) -> Self {
        let mut had = BTreeMap::new();
        for contender in &plan.contenders {
            let mut trials = earlier.iter().filter(|it| it.contender == contender.name);
            let facts = trials.find_map(|trial| trial.server.as_ref());
            let is_known =
                |it: &&ServerFacts| !it.binary_sha256.is_empty() && !it.binary.is_empty();
            if let Some(facts) = facts.filter(is_known) {
                let program = Fixed {
                    path: PathBuf::from(&facts.binary),
                    sha256: facts.binary_sha256.clone(),
                };
                had.insert(contender.name.clone(), program);
            }
        }
        Self(had)
    }

    /// Finds the program of each contender: the one that it had `before`, or the one that is found
    /// now. For a contender without a program none is fixed; its trials say what is missing.
    ///
    /// # Errors
    /// When a program that it had before is not what it was.
    pub(crate) fn fix(plan: &Plan, stage: &Stage, before: Self) -> Result<Self, ProgramChanged> {
        let mut fixed = before;
        for contender in &plan.contenders {
            match fixed.0.get(&contender.name) {
                Some(program) => program.check(stage, contender)?,
                None => {
                    if let Ok((path, sha256)) = stage.program_of(contender) {
                        let name = contender.name.clone();
                        fixed.0.insert(name, Fixed { path, sha256 });
                    }
                }
            }
        }
        Ok(fixed)
    }

    /// The contender with the program that it had at the start; or how a trial of it ends whose
    /// program is another one now.
    pub(crate) fn hold(&self, stage: &Stage, contender: &Contender) -> Result<Contender, TrialEnd> {
        // The control runs the first contender's program, and a changed contender its own.
        let changed = Change::of_name(&contender.name).map(|(name, _)| name);
        let name = contender.name.strip_suffix(CONTROL_MARK).or(changed);
        let Some(fixed) = self.0.get(name.unwrap_or(&contender.name)) else {
            return Ok(contender.clone());
        };
        fixed
            .check(stage, contender)
            .map_err(|changed| TrialEnd::failed(Step::Prepare, changed.to_string()))?;
        Ok(with_program(contender, &fixed.path))
    }

    /// The plan with the programs that its contenders had at the start. Those whose program is
    /// another one now are left out of it; how their trials would end is found.
    pub(crate) fn hold_all(&self, stage: &Stage, plan: &Plan) -> (Plan, Vec<Finding>) {
        let mut held = plan.clone();
        held.contenders.clear();
        let mut findings = Vec::new();
        for contender in &plan.contenders {
            match self.hold(stage, contender) {
                Ok(contender) => held.contenders.push(contender),
                Err(end) => findings.extend(plan.workloads.iter().map(|workload| Finding {
                    contender: contender.name.clone(),
                    workload: workload.name.clone(),
                    end: end.clone(),
                })),
            }
        }
        (held, findings)
    }
}

impl Fixed {
    fn check(&self, stage: &Stage, contender: &Contender) -> Result<(), ProgramChanged> {
        let now = match stage.digest_of(contender, &self.path) {
            Ok(now) if now == self.sha256 => return Ok(()),
            Ok(now) => format!("{now:.12}"),
            Err(error) => format!("cannot be read ({error})"),
        };
        Err(ProgramChanged {
            contender: contender.name.clone(),
            path: self.path.clone(),
            was: self.sha256.clone(),
            now,
        })
    }
}

fn with_program(contender: &Contender, path: &Path) -> Contender {
    let mut contender = contender.clone();
    if let ServerChoice::Program { binary, .. } = &mut contender.server {
        *binary = Some(path.to_owned());
    }
    contender
}

#[cfg(test)]
mod tests;
