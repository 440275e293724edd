//! This machine as a site.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bakeoff_plan::Plan;
use bakeoff_record::{Step, TrialRecord};
use bakeoff_stage::Stage;
use rustix::process::{Resource, getrlimit};

use crate::contestant::{Contestant, Place};
use crate::first::{Approach, first_answers};
use crate::preflight::{Depth, Finding, preflight};
use crate::programs::{ProgramChanged, Programs};
use crate::roles::Roles;
use crate::site::{FirstAnswers, Part, Site, SiteError, Staged, StartFailed, StartOrder};

/// This machine.
#[derive(Debug)]
pub struct Here {
    /// Where servers are started.
    pub stage: Arc<Stage>,
    /// This program, which the built-in servers are a part of.
    pub bakeoff: PathBuf,
    /// Folder for what is tried before the first trial.
    pub folder: PathBuf,
    /// Which role runs on which processors.
    pub roles: Roles,
    /// Seed of what the origin draws.
    pub seed: u64,
    /// Set to look no further.
    pub stop: Arc<AtomicBool>,
    /// The program of each contender, once they are fixed.
    pub programs: Mutex<Programs>,
}

impl Here {
    /// Finds the program of each contender: the one that it had `before`, or the one that is
    /// found now.
    ///
    /// # Errors
    /// When a program that was there before is not what it was.
    pub fn fix(&self, plan: &Plan, before: Programs) -> Result<(), ProgramChanged> {
        let fixed = Programs::fix(plan, &self.stage, before)?;
        *self.programs() = fixed;
        Ok(())
    }

    /// The program of each contender, once they are fixed.
    pub fn programs(&self) -> MutexGuard<'_, Programs> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Site for Here {
    fn fix_programs(&self, plan: &Plan, earlier: &[TrialRecord]) -> Result<(), SiteError> {
        let before = Programs::of_trials(plan, earlier);
        let fixed = self.fix(plan, before);
        fixed.map_err(|changed| SiteError::Refused(changed.to_string()))
    }

    fn preflight(&self, plan: &Plan) -> Result<Vec<Finding>, SiteError> {
        let folder = self.folder.join("check");
        // What trials run is looked at, which may be no longer on any search path.
        let (plan, mut findings) = self.programs().hold_all(&self.stage, plan);
        findings.extend(preflight(&plan, &self.stage, &folder, Depth::Whole));
        Ok(findings)
    }

    fn first_answers(&self, plan: &Plan, known: &[Finding]) -> Result<FirstAnswers, SiteError> {
        let approach = Approach {
            stage: &self.stage,
            bakeoff: &self.bakeoff,
            folder: &self.folder.join("first"),
            stop: &self.stop,
        };
        Ok(first_answers(plan, known, &approach))
    }

    fn open_files(&self) -> Option<u64> {
        getrlimit(Resource::Nofile).maximum
    }

    fn divide_anew(&mut self, roles: &Roles) {
        self.roles = roles.clone();
    }

    fn start(
        &self,
        order: &StartOrder<'_>,
        step: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Staged>, StartFailed> {
        let held = match order.part {
            // It is a part of bakeoff.
            Part::Upstream => Ok(order.contender.clone()),
            Part::Whole | Part::ServerBefore(_) => {
                self.programs().hold(&self.stage, order.contender)
            }
        };
        let contender = &held.map_err(StartFailed::Trial)?;
        let place = Place {
            stage: &self.stage,
            bakeoff: &self.bakeoff,
            logs: order.logs,
            pinned: &self.roles.pinned,
            allowed: &self.roles.allowed,
            seed: self.seed,
        };
        let order = StartOrder {
            contender,
            ..*order
        };
        match Contestant::start(place, &order, step) {
            Ok(contestant) => Ok(Box::new(contestant)),
            Err(error) if error.is_full_disk() => Err(StartFailed::FullDisk(error.to_string())),
            Err(error) => Err(StartFailed::Trial(error.trial_end())),
        }
    }
}
