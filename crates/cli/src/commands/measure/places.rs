//! Where a campaign runs: this machine, the hosts of a file, or an invented machine.

use std::sync::Arc;

use bakeoff_conduct::{Finding, Generators, Here, Invented, Roles, Site};
use bakeoff_plan::Plan;
use bakeoff_record::{MACHINE_SCHEMA, Machine, TrialRecord};

use super::run_hosts::{Campaign, Far};
use super::{invented, not_asked};
use crate::exit;
use crate::flags::FarFlags;
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::run_folder::RunFolder;

/// Where a campaign runs.
pub(super) struct Places {
    /// The hosts of a file.
    pub(super) far: Option<Far>,
    invented: Option<Invented>,
    /// Processors of the roles that are on this machine.
    pub(super) roles: Roles,
    /// Where contestants run.
    pub(super) site: Box<dyn Site>,
}

impl Places {
    /// Those that flags ask for.
    pub(super) fn of(
        asked: &FarFlags,
        plan: &Plan,
        earlier: &[TrialRecord],
        library: &Folder,
        scratch: &RunFolder,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Self> {
        if let Some(invented) = invented::asked_for(interrupt, plan)? {
            return Ok(Self {
                far: None,
                roles: invented.roles().clone(),
                site: Box::new(invented.clone()),
                invented: Some(invented),
            });
        }
        let servers = library.servers_folder();
        let with = Campaign {
            plan,
            servers: servers.as_deref(),
            earlier,
            shows_addresses: asked.addresses,
        };
        let far = asked.hosts.as_deref();
        let far = far.map(|file| Far::open(file, &with)).transpose()?;
        let pinning = match &far {
            Some(far) => far.pinning_here(&plan.pinning),
            None => plan.pinning.clone(),
        };
        let roles = Roles::divide(&pinning).map_err(exit::usage)?;
        let listening = far.as_ref().map(Far::listening).unwrap_or_default();
        let (bakeoff, stage) = scratch.stage_at(library.servers(), listening)?;
        let here = Here {
            stage: Arc::new(stage),
            bakeoff,
            folder: scratch.path().to_owned(),
            roles: roles.clone(),
            seed: plan.seed,
            stop: interrupt.flag(),
            programs: Default::default(),
        };
        let site = match &far {
            Some(far) => far.site(here),
            None => Box::new(here),
        };
        Ok(Self {
            far,
            invented: None,
            roles,
            site,
        })
    }

    /// What is wrong with contenders before anything starts, once the program of each is fixed.
    pub(super) fn findings(
        &self,
        plan: &Plan,
        earlier: &[TrialRecord],
    ) -> anyhow::Result<Vec<Finding>> {
        let fixed = self.site.fix_programs(plan, earlier);
        fixed.map_err(not_asked)?;
        self.site.preflight(plan).map_err(not_asked)
    }

    /// What carries out loads; `None` for the engine of this process.
    pub(super) fn generators(&self, interrupt: &Interrupt) -> Option<Box<dyn Generators>> {
        let invented = self.invented.clone();
        match &self.far {
            Some(far) => Some(far.measured(&|| interrupt.came())),
            None => invented.map(|invented| Box::new(invented) as _),
        }
    }

    /// The machine that servers run on, and how this campaign was begun.
    pub(super) fn machine(&self) -> Machine {
        let far = self.far.as_ref().and_then(Far::machine);
        let here = far.unwrap_or_else(bakeoff_probe::machine);
        Machine {
            schema: MACHINE_SCHEMA.to_owned(),
            bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
            command: std::env::args_os()
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect(),
            started_at: jiff::Timestamp::now().to_string(),
            ..match &self.invented {
                Some(invented) => invented.machine(here),
                None => here,
            }
        }
    }
}
