//! The stage: where contenders are prepared and helpers are started.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bakeoff_plan::{Action, CertificateKey, Client, Contender, ServerChoice, Workload};
use bakeoff_record::{ServerFacts, Step, private_folder, write_private};

use crate::boxed::{self, Boxed};
use crate::certificates::Certificates;
use crate::cgroup::{CgroupKind, Cgroups};
use crate::container;
use crate::error::{Cause, StageError};
use crate::fetch::{Approach, Trust};
use crate::host::{self, Keepers};
use crate::kept::{Kept, Order};
use crate::listening::Listening;
use crate::log::{self, Log};
use crate::prepared::Prepared;
use crate::program::{self, Digests};
use crate::running::{Ending, Running, TrialFolder, Ways};
use crate::servers::Servers;
use crate::user::{self, User};

/// What a helper says when it is ready, before its address.
const READY_PREFIX: &str = "listening on ";

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

/// A process of bakeoff's own beside the servers: an origin, a yardstick.
#[derive(Debug, Clone)]
pub struct Helper {
    /// `origin` or `yardstick`.
    pub name: String,
    /// Command line. It must write a line `listening on ADDRESS` when it is ready.
    pub command: Vec<String>,
    /// Processors that it may use; empty for all.
    pub cpus: Vec<usize>,
    /// File for its output.
    pub log: PathBuf,
    /// How long it may take to be ready.
    pub within: Duration,
    /// Kind of key of the certificate that it is given, by `--certificate` and `--key` behind its
    /// command; `None` gives it none.
    pub certificate: Option<CertificateKey>,
    /// The box that it is the upstream of, in whose network it runs.
    pub boxed: Option<Boxed>,
    /// Bytes of a file that it is given by `--body` behind its command; `None` gives it none.
    pub body: Option<Vec<u8>>,
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

    /// The path and the SHA-256, hex, of the program that a contender would be started with; of a
    /// container the name and digest of its image.
    ///
    /// # Errors
    /// When there is no such server, program or image, or it cannot be read.
    pub fn program_of(&self, contender: &Contender) -> Result<(PathBuf, String), StageError> {
        if let ServerChoice::Container(own) = &contender.server {
            return container::image_of(own);
        }
        let ServerChoice::Program {
            server,
            version,
            binary,
            ..
        } = &contender.server
        else {
            let name = contender.name.clone();
            return Err(StageError::new(Step::Prepare, Cause::BuiltIn { name }));
        };
        let server = self.servers().find(server)?;
        let program = program::find(&server, version.as_deref(), binary.as_deref())?;
        let digest = self.digest(&program.path)?;
        Ok((program.path, digest))
    }

    /// SHA-256 of what a contender is started with now, hex: of this program, or of its image.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn digest_of(&self, contender: &Contender, program: &Path) -> Result<String, StageError> {
        match &contender.server {
            ServerChoice::Container(own) => container::image_of(own).map(|(_, digest)| digest),
            _ => self.digest(program),
        }
    }

    /// SHA-256 of a program, hex.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn digest(&self, program: &Path) -> Result<String, StageError> {
        self.shared.digests.of(program)
    }

    /// Finds the contender's program, renders its configuration and makes the files it serves.
    ///
    /// # Errors
    /// When the program is missing or of another version, when the server cannot do the workload,
    /// or when a file cannot be written.
    pub fn prepare(
        &self,
        contender: &Contender,
        workload: &Workload,
        surroundings: &Surroundings,
    ) -> Result<Prepared, StageError> {
        host::check(Step::Prepare)?;
        let boxed = match &surroundings.boxed {
            None => self.boxed(contender)?,
            made => made.clone(),
        };
        let surroundings = &Surroundings {
            boxed,
            ..surroundings.clone()
        };
        let folder = self.new_folder("trial");
        let shared = Arc::clone(&self.shared);
        Prepared::new(
            self.servers(),
            shared,
            folder,
            contender,
            workload,
            surroundings,
        )
    }

    /// Starts a process of bakeoff's own and waits until it says where it listens.
    ///
    /// # Errors
    /// When it cannot be started, ends, or says nothing in time.
    pub fn start_helper(&self, helper: &Helper) -> Result<Running, StageError> {
        self.try_start_helper(helper).map_err(|error| StageError {
            step: Step::Origin,
            ..error
        })
    }

    fn try_start_helper(&self, helper: &Helper) -> Result<Running, StageError> {
        let log_folder = helper.log.parent().unwrap_or(Path::new("/"));
        make_folder(log_folder)?;
        let log_from = log::length(&helper.log);
        let mut command = helper.command.clone();
        let user = User::usual()?;
        let (folder, trust) = self.equip(helper, user.as_ref(), &mut command)?;
        user::make_log(&helper.log, user.as_ref())?;
        let order = Order {
            keeper: &self.shared.keeper,
            command: &command,
            environment: &[],
            unset: &[],
            folder: &folder.0,
            log: &helper.log,
            cpus: &helper.cpus,
            user: user.as_ref().map(User::to_launch),
            confined: false,
            limits: None,
            room: None,
        };
        let network = helper.boxed.as_ref().map(Boxed::network);
        let start = || Kept::start(&order, &self.shared.cgroups);
        let mut kept = boxed::started_in(network.as_ref(), start)?;
        let address = await_address(&mut kept, helper, log_from)?;
        let binary = helper.command.first().cloned().unwrap_or_default();
        let facts = ServerFacts {
            server: helper.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            binary_sha256: self
                .shared
                .digests
                .of(host::mapped(Path::new(&binary)))
                .unwrap_or_default(),
            binary,
            package: None,
            command,
            configs: Vec::new(),
            config_changes: Vec::new(),
            remedies: Default::default(),
            limits: None,
            address: address.to_string(),
            server_header: None,
            stopped: None,
        };
        Ok(Running {
            kept: kept.into(),
            address,
            facts,
            first_status: None,
            log: Log {
                file: helper.log.clone(),
                from: log_from,
            },
            approach: Approach {
                trust,
                ..Approach::by(None, &Client::default())
            },
            ways: Ways::default(),
            settings: BTreeMap::new(),
            ending: Ending {
                signal: "TERM".to_owned(),
                grace: Duration::from_secs(2),
            },
            contacts: None,
            network,
            _folder: Some(folder),
        })
    }

    /// Makes the files that a helper is given, in a folder that goes with its owner, and names
    /// them behind its `command`; and says what its certificate leads to.
    fn equip(
        &self,
        helper: &Helper,
        user: Option<&User>,
        command: &mut Vec<String>,
    ) -> Result<(TrialFolder, Trust), StageError> {
        let folder = TrialFolder(self.new_folder("helper"));
        make_folder(&folder.0)?;
        let mut files = Vec::new();
        if let Some(bytes) = &helper.body {
            let body = folder.0.join("body");
            write_private(&body, bytes)
                .map_err(|cause| StageError::file(Step::Origin, &body, cause))?;
            files.push(("--body", body));
        }
        let mut trust = Trust::Anything;
        if let Some(kind) = helper.certificate {
            let made = self
                .shared
                .certificates
                .write(kind, &folder.0.join("tls"))?;
            files.extend([("--certificate", made.certificate), ("--key", made.key)]);
            trust = Trust::Authority(made.authority);
        }
        for (flag, file) in files {
            command.extend([flag.to_owned(), file.display().to_string()]);
        }
        match &helper.boxed {
            Some(boxed) => command.extend(boxed.flags()),
            None => command.extend(self.shared.listening.flags().into_iter().flatten()),
        }
        user::hand_over(&folder.0, user)?;
        Ok((folder, trust))
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

/// Makes a folder that nobody else can enter, until it is handed over to a server's user.
pub(crate) fn make_folder(path: &Path) -> Result<(), StageError> {
    private_folder(path).map_err(|cause| StageError::file(Step::Prepare, path, cause))
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

fn await_address(
    kept: &mut Kept,
    helper: &Helper,
    log_from: u64,
) -> Result<SocketAddr, StageError> {
    let fail = |cause| {
        Err(StageError::new(Step::Origin, cause).with_message(log::tail(&helper.log, log_from)))
    };
    let end = Instant::now() + helper.within;
    loop {
        let died = kept.died();
        let text = log::read(&helper.log, log_from);
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let address = whole
            .lines()
            .find_map(|line| line.trim().strip_prefix(READY_PREFIX));
        host::check(Step::Origin)?;
        if let Some(status) = died {
            return fail(Cause::Died { status });
        }
        match address.map(str::parse) {
            Some(Ok(address)) => return Ok(address),
            Some(Err(_)) | None if Instant::now() >= end => {
                let aside = format!("; no line `{READY_PREFIX}ADDRESS` was seen");
                return fail(Cause::NeverListened {
                    within: helper.within,
                    aside,
                });
            }
            Some(Err(_)) | None => kept.hear(Duration::from_millis(5)),
        }
    }
}
