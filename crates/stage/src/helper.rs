//! Processes of bakeoff's own beside the servers: an origin, a yardstick.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bakeoff_plan::{CertificateKey, Client};
use bakeoff_record::{ServerFacts, Step, write_private};

use crate::boxed::{self, Boxed};
use crate::error::{Cause, StageError};
use crate::fetch::{Approach, Trust};
use crate::host;
use crate::kept::{Kept, Order};
use crate::log::{self, Log};
use crate::running::{Ending, Running, Ways};
use crate::stage::Stage;
use crate::trial_folder::{TrialFolder, make_folder};
use crate::user::{self, User};

/// What a helper says when it is ready, before its address.
const READY_PREFIX: &str = "listening on ";

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
