//! Carries out a set-up: other programs, a campaign, and what the report says of it.

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use bakeoff_conduct::{CampaignEnd, Here, Options, Roles, Rules, carry_out as conduct};
use bakeoff_plan::{Cpus, Pinning, Plan, parse};
use bakeoff_record::{Machine, Record, RecordFolder, private_folder};
use bakeoff_report::{Redacted, Redaction, overload_view, view::view_of};
use bakeoff_stage::{Helper, Running};

use super::seen::Seen;
use super::setup::{Campaign, Disturber, On, Setup};
use crate::commands::measure::first;
use crate::library::Folder;
use crate::run_folder::RunFolder;

/// What a program beside a campaign may take to start, and a line to its end.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Ends a line for the stage, which waits for a helper's address.
const LINE_END: &str = "listening on 127.0.0.1:1";

/// What a shell prints where a network namespace, or its range of ports, is not to be had.
const FORBIDDEN: [&str; 4] = [
    "unshare:",
    "ip: not found",
    "ip: command not found",
    "create /proc/",
];

/// What this machine does not allow a set-up to do.
#[derive(Debug)]
pub(super) struct Forbidden(pub(super) String);

impl fmt::Display for Forbidden {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Forbidden {}

/// Where set-ups are carried out.
pub(super) struct World {
    pub(super) library: Folder,
    /// bakeoff's own program.
    pub(super) bakeoff: PathBuf,
    pub(super) scratch: RunFolder,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) machine: Machine,
    /// Set-ups so far.
    pub(super) number: u32,
}

impl World {
    /// Carries out a set-up; `None` where somebody wants to stop.
    pub(super) fn see(&mut self, setup: &Setup) -> anyhow::Result<Option<Seen>> {
        self.number += 1;
        let folder = self
            .scratch
            .path()
            .join(format!("selftest-{}", self.number));
        private_folder(&folder)?;
        let seen = match setup {
            Setup::Line(line) => self.print(line, &folder).map(Some),
            // Conducting pins its thread to the engine's processors, for good.
            Setup::Campaign(campaign) => std::thread::scope(|scope| {
                let conducted = scope.spawn(|| self.conduct(campaign, &folder)).join();
                conducted.unwrap_or_else(|_| Err(anyhow::anyhow!("a campaign panicked")))
            }),
        };
        // The run folder goes with everything in it, but its disk may be small.
        let _ = std::fs::remove_dir_all(&folder);
        seen
    }

    /// Whether somebody wants to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What a line of a shell prints, below its exit code.
    fn print(&self, line: &str, folder: &Path) -> anyhow::Result<Seen> {
        let script = format!("{line}; echo \"ended with $?\"; echo {LINE_END}; exec sleep 60");
        let bakeoff = self.bakeoff.display().to_string();
        let command = ["/bin/sh", "-c", &script, &bakeoff].map(str::to_owned);
        let helper = self.helper(command.to_vec(), Vec::new(), folder);
        let (_, stage) = self.scratch.stage(self.library.servers())?;
        let running = stage.start_helper(&helper)?;
        let text = running.log_tail();
        let code = running.said("ended with ").unwrap_or_default();
        running.stop()?;
        if FORBIDDEN.iter().any(|message| text.contains(message)) {
            let why = "no network namespace with ports of its own can be made here";
            return Err(Forbidden(why.to_owned()).into());
        }
        Ok(Seen::of_line(format!("code {}\n{text}", code.trim())))
    }

    fn conduct(&self, campaign: &Campaign, folder: &Path) -> anyhow::Result<Option<Seen>> {
        for name in ["a", "b", "both"] {
            let own = folder.join(name);
            private_folder(&own)?;
            // A server may run as another user, and remembers something there.
            std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o777))?;
        }
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711))?;
        let text = campaign.plan(&self.bakeoff, folder);
        let plan = parse(&text, "the self-test's plan", folder, &self.library)?;
        let here = self.here(&plan, folder)?;
        let plan = if campaign.workload.contains("expect") {
            // The right answer is what the servers say first.
            first::look(plan, &[], 0, &here, &Redaction::nothing())?
        } else {
            plan
        };
        if self.is_stopped() {
            return Ok(None);
        }
        let mut beside = Vec::new();
        for one in &campaign.beside {
            beside.push(self.start(one, &here, folder)?);
        }
        let end = self.measure(&plan, &here, &folder.join("record"));
        for running in beside {
            running.stop()?;
        }
        if end? == CampaignEnd::Interrupted || self.is_stopped() {
            return Ok(None);
        }
        let record = Record::read(&folder.join("record"))?;
        let record = Redacted::hidden(record);
        Ok(Some(match overload_view(&record) {
            Some(report) => Seen::of_overload(&report),
            None => Seen::of(&view_of(&record)),
        }))
    }

    /// This machine as the site of a campaign.
    fn here(&self, plan: &Plan, folder: &Path) -> anyhow::Result<Here> {
        let (bakeoff, stage) = self.scratch.stage(self.library.servers())?;
        Ok(Here {
            stage: stage.into(),
            bakeoff,
            folder: folder.to_owned(),
            roles: Roles::divide(&plan.pinning).map_err(|error| Forbidden(error.to_string()))?,
            seed: plan.seed,
            stop: Arc::clone(&self.stop),
            programs: Default::default(),
        })
    }

    fn measure(&self, plan: &Plan, here: &Here, path: &Path) -> anyhow::Result<CampaignEnd> {
        let mut record = RecordFolder::create(path, plan, &self.machine)?;
        let options = Options {
            stop: Arc::clone(&self.stop),
            earlier: Vec::new(),
            roles: here.roles.clone(),
            warnings: Vec::new(),
            generators: None,
        };
        let end = conduct(plan, &mut record, here, options, Rules::none(), &mut |_| {});
        end.context("the self-test's campaign failed")
    }

    /// Starts a program beside a campaign.
    fn start(&self, one: &Disturber, here: &Here, folder: &Path) -> anyhow::Result<Running> {
        let pinned = &here.roles.pinned;
        let cpus = match one.on {
            On::Server => pinned.server.clone(),
            On::Engine => pinned.engine.clone(),
        };
        let arguments = one.arguments.iter().map(|&argument| argument.to_owned());
        let mut command = vec![self.bakeoff.display().to_string(), "faulty".to_owned()];
        command.extend(arguments);
        Ok(here
            .stage
            .start_helper(&self.helper(command, cpus, folder))?)
    }

    fn helper(&self, command: Vec<String>, cpus: Vec<usize>, folder: &Path) -> Helper {
        Helper {
            name: "faulty".to_owned(),
            command,
            cpus,
            log: folder.join("logs").join("beside").join("output.log"),
            within: READY_WITHIN,
            certificate: None,
            boxed: None,
            body: None,
        }
    }
}

/// Processors that the self-test's roles need apart from each other.
pub(super) fn has_processors_apart() -> bool {
    let pinning = Pinning {
        server: Cpus::Auto,
        engine: Cpus::Auto,
        origin: Cpus::Auto,
    };
    Roles::divide(&pinning).is_ok_and(|roles| roles.pinned.server != roles.pinned.engine)
}
