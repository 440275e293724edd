//! The stage: where contenders are prepared and helpers are started.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bakeoff_plan::Action;
use bakeoff_record::Step;

use crate::boxed::Boxed;
use crate::certificates::Certificates;
use crate::cgroup::{CgroupKind, Cgroups};
use crate::error::StageError;
use crate::host::Keepers;
use crate::listening::Listening;
use crate::program::Digests;
use crate::servers::Servers;
use crate::trial_folder::make_folder;

/// What a stage needs to know.
#[derive(Debug, Clone)]
pub struct StageOptions {
    /// Folder for what lives as long as a trial: rendered configurations, served files, caches.
    pub run_folder: PathBuf,
    /// Command line of the keeper without its arguments, such as `bakeoff keeper`.
    pub keeper: Vec<String>,
    /// Where servers are looked up.
    pub servers: Servers,
    /// Where they listen.
    pub listening: Listening,
}

/// Starts servers and helpers, each under a keeper of its own.
#[derive(Debug)]
pub struct Stage {
    options: StageOptions,
    pub(crate) shared: Arc<Shared>,
    prepared: AtomicU32,
}

/// What everything on the stage uses.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) keeper: Keepers,
    pub(crate) cgroups: Cgroups,
    pub(crate) digests: Digests,
    pub(crate) certificates: Certificates,
    pub(crate) listening: Listening,
}

/// What a server is given besides its configuration.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The upstream of proxied workloads.
    pub origin: Option<SocketAddr>,
    /// Processors that it may use; empty for all.
    pub cpus: Vec<usize>,
    /// The network that its own file runs in, where that was made for it before.
    pub boxed: Option<Boxed>,
    /// Folder for its output, its configuration as used and its command line. Its last two parts
    /// (`logs/<trial>`) are how the record names files in it.
    pub log_folder: PathBuf,
    /// What is to be done to it under load, which it may have to be started for.
    pub action: Option<Action>,
}

impl Stage {
    /// Makes the run folder and removes control groups that an earlier bakeoff has left.
    ///
    /// # Errors
    /// When the run folder cannot be made.
    pub fn new(options: StageOptions) -> Result<Self, StageError> {
        make_run_folder(&options.run_folder)?;
        let run_folder = options
            .run_folder
            .canonicalize()
            .map_err(|cause| StageError::file(Step::Prepare, &options.run_folder, cause))?;
        let cgroups = Cgroups::detect();
        cgroups.remove_left_over();
        let keeper = Keepers::listed_in(&run_folder, options.keeper.clone());
        let shared = Shared {
            keeper,
            cgroups,
            digests: Digests::default(),
            certificates: Certificates::of(&options.listening),
            listening: options.listening.clone(),
        };
        Ok(Self {
            options: StageOptions {
                run_folder,
                ..options
            },
            shared: Arc::new(shared),
            prepared: AtomicU32::new(0),
        })
    }

    /// What kind of cgroups this machine gives.
    pub fn cgroup_kind(&self) -> CgroupKind {
        self.shared.cgroups.kind()
    }

    /// Where groups are made, if anywhere.
    pub fn group_folder(&self) -> Option<&Path> {
        self.shared.cgroups.folder()
    }

    /// Where its servers listen.
    pub fn listening(&self) -> &Listening {
        &self.shared.listening
    }

    /// Where servers are looked up.
    pub fn servers(&self) -> &Servers {
        &self.options.servers
    }

    /// SHA-256 of a program, hex.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn digest(&self, program: &Path) -> Result<String, StageError> {
        self.shared.digests.of(program)
    }

    /// Where what lives as long as a trial lies.
    pub(crate) fn run_folder(&self) -> &Path {
        &self.options.run_folder
    }

    /// A path below the run folder that nobody else was given.
    pub(crate) fn new_folder(&self, name: &str) -> PathBuf {
        let number = self.prepared.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let run_folder = &self.options.run_folder;
        run_folder.join(format!("{name}-{pid}-{number}"))
    }
}

/// Lets a server that runs as another user pass through the run folder to its own. Nobody else
/// can list it, and under any user but root nobody else can enter it.
fn make_run_folder(path: &Path) -> Result<(), StageError> {
    make_folder(path)?;
    let is_root = rustix::process::geteuid().is_root();
    let mode = if is_root { 0o711 } else { 0o700 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(|cause| StageError::file(Step::Prepare, path, cause))
}
