//! A contender that is ready to start: its program is found, its configuration is rendered, and its
//! files are made.
//!
//! [`Prepared::start`] starts the server and waits until it gives the right answer. If another
//! process took the port in the meantime, it renders the configuration again for another port.
//!
//! It does not find programs (`program.rs`), change a user's own files (`own.rs`), or watch a
//! running server (`running.rs`).

mod changes;
mod check;
mod environment;
mod recorded;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bakeoff_plan::{Action, ConfigSource, Contender, ServerChoice, Workload};
use bakeoff_record::{ConfigChange, ServerFacts, Step};

use crate::boxed::{Quarters, started_in};
use crate::certificates::CertificateFiles;
use crate::change::Way;
use crate::configuration::Configuration;
use crate::contacts::Contacts;
use crate::error::{Cause, StageError};
use crate::fetch::{Approach, Expectation, Trust};
use crate::files;
use crate::held::Held;
use crate::installed::Installed;
use crate::kept::{Kept, Order};
use crate::listeners::Transport;
use crate::listening::{LOOPBACK, free_port_at};
use crate::log::{self, Log};
use crate::overlay::{self, Overlay};
use crate::program::{self, Program};
use crate::ready::{self, Awaited, FAILING_FOR, NOT_FOUND_FOR, Ready};
use crate::running::{Ending, Running};
use crate::server::Server;
use crate::servers::Servers;
use crate::stage::{Shared, Surroundings};
use crate::template;
use crate::trial_folder::{TrialFolder, create_folder, make_folder, make_served_files, place};
use crate::user::{self, User};
use crate::variables::Variables;

/// Another process may take a port between its choice and the server's start.
const PORTS_TRIED: u32 = 3;

/// Variables whose values change from trial to trial.
const OF_THE_TRIAL: [&str; 11] = [
    "port",
    "status_port",
    "origin",
    "origin_port",
    "root",
    "overlay",
    "run",
    "log",
    "certificate",
    "key",
    "certificate_and_key",
];

/// A contender before its start. Dropping it removes its folder.
#[derive(Debug)]
pub struct Prepared {
    shared: Arc<Shared>,
    server: Server,
    program: Program,
    contender: Contender,
    workload: Workload,
    log_folder: PathBuf,
    cpus: Vec<usize>,
    folder: TrialFolder,
    /// Everything but the port and what depends on it.
    variables: Variables,
    configuration: Configuration,
    /// The port in the configuration, when bakeoff chose it.
    port: Option<u16>,
    start: Start,
    asked: Approach,
    /// Its own network and file system, where it has any.
    quarters: Quarters,
}

/// How a server is started.
#[derive(Debug)]
struct Start {
    command: Vec<String>,
    environment: Vec<(String, String)>,
    /// Variables of bakeoff's own environment that it does not get.
    unset: Vec<String>,
    /// Whom it runs as, and with it its check; `None` for bakeoff's own user.
    user: Option<User>,
    /// How it is changed under load.
    changes: BTreeMap<Action, Way>,
}

impl Start {
    /// What is not rendered yet.
    fn by(user: Option<User>) -> Self {
        Self {
            command: Vec::new(),
            environment: Vec::new(),
            unset: Vec::new(),
            user,
            changes: BTreeMap::new(),
        }
    }
}

impl Prepared {
    pub(crate) fn new(
        servers: &Servers,
        shared: Arc<Shared>,
        folder: PathBuf,
        contender: &Contender,
        workload: &Workload,
        surroundings: &Surroundings,
    ) -> Result<Self, StageError> {
        let ServerChoice::Program {
            server,
            version,
            binary,
            config,
        } = &contender.server
        else {
            let cause = Cause::BuiltIn {
                name: contender.name.clone(),
            };
            return Err(StageError::new(Step::Prepare, cause));
        };
        let mut server = servers.find(server)?;
        let boxed = surroundings.boxed.clone();
        server.own.keep_for(boxed.is_some());
        let user = User::of(&server, Some(contender))?;
        let folder = TrialFolder(folder);
        let configuration = Configuration::choose(&server, config, workload, &folder.0)?;
        if workload.proxied && surroundings.origin.is_none() {
            let cause = Cause::NoOrigin {
                workload: workload.name.clone(),
            };
            return Err(StageError::new(Step::Prepare, cause));
        }
        let own_file = matches!(config, ConfigSource::File(_));
        let overlays = server.variables(contender, own_file)?;
        let program = program::find(&server, version.as_deref(), binary.as_deref())?;
        program::refuse_damaged(&server, &program, &shared.digests)?;
        program::check_speaks(&server, &program, workload.protocol)?;
        let host = contender.host.clone();
        let host = host.or_else(|| overlay::name_of_site(&server, &configuration, workload));
        let mut variables = Variables::default();
        for (name, value) in overlays {
            variables.set(&name, value);
        }
        let mut prepared = Self {
            shared,
            server,
            program,
            contender: contender.clone(),
            workload: workload.clone(),
            log_folder: surroundings.log_folder.clone(),
            cpus: surroundings.cpus.clone(),
            folder,
            variables,
            configuration,
            port: None,
            start: Start::by(user),
            asked: Approach::by(host, &workload.client),
            quarters: Quarters::default(),
        };
        prepared.make_files()?;
        // A file of the user's own may speak TLS beside what is asked.
        if workload.protocol.is_secure() || own_file {
            let tls = prepared.folder.tls();
            let certificates = &prepared.shared.certificates;
            let files = certificates.write(contender.certificate, &tls)?;
            if let (Some(boxed), Some(own)) = (boxed, prepared.configuration.own()) {
                let (folder, user) = (&prepared.folder.0, prepared.start.user.as_ref());
                prepared.quarters = Quarters::furnish(boxed, folder, own, &files, user)?;
            }
            prepared.set_certificate(files);
        }
        prepared.set_variables(surroundings);
        prepared.render()?;
        Ok(prepared)
    }

    /// The program and its version.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The file that the server will read.
    pub fn config(&self) -> &Path {
        &self.configuration.path
    }

    /// What was changed in the user's own files, or made for them.
    pub fn changes(&self) -> Vec<ConfigChange> {
        let changed = self.configuration.changes.iter();
        changed.chain(&self.quarters.made).cloned().collect()
    }

    /// The file that the server's output goes to.
    pub(crate) fn log(&self) -> PathBuf {
        self.log_folder.join("server.log")
    }

    /// Starts the server and waits, at most `within`, until it gives the right answer.
    ///
    /// # Errors
    /// When it ends, does not listen, or does not answer as expected; nothing of it is left then.
    pub fn start(mut self, within: Duration) -> Result<Running, StageError> {
        // Rendered again, what was taken since it was chosen is another port.
        let chooses_ports = self.port.is_some() || changes_own_file(&self);
        for _ in 1..PORTS_TRIED {
            match self.try_start(within) {
                Err(error) if chooses_ports && is_port_taken(&error) => self.render()?,
                Err(error) => return Err(error),
                Ok((kept, ready)) => return Ok(self.into_running(kept, ready)),
            }
        }
        let (kept, ready) = self.try_start(within)?;
        Ok(self.into_running(kept, ready))
    }

    fn try_start(&self, within: Duration) -> Result<(Held, Ready), StageError> {
        let log = self.log();
        let contacts = contacts(self);
        let expectation = Expectation::of(
            self.workload.requests.first(),
            self.workload.protocol,
            &self.asked,
        );
        let awaited = Awaited {
            expectation: &expectation,
            // A user's own file may hide the server's name; whose socket it is, is known.
            identity: self
                .server
                .identity
                .as_ref()
                .filter(|_| self.configuration.own().is_none()),
            transport: Transport::of(self.workload.protocol),
            ip: self.shared.listening.address,
            port: self.port,
            likely: self.configuration.port_of(
                &self.server,
                self.asked.host.as_deref(),
                self.workload.protocol,
            ),
            log: &log,
            log_from: log::length(&log),
            within,
            failing_for: FAILING_FOR,
            // What a template serves is there, as soon as its routes are loaded.
            not_found_for: self.configuration.own().map_or(within, |_| NOT_FOUND_FOR),
            contacts: contacts.as_ref(),
        };
        user::make_log(&log, self.start.user.as_ref())?;
        let order = Order {
            keeper: &self.shared.keeper,
            command: &self.start.command,
            environment: &self.start.environment,
            unset: &self.start.unset,
            folder: &self.quarters.folder(self.folder.run()),
            log: &log,
            cpus: &self.cpus,
            user: self.start.user.as_ref().map(User::to_launch),
            confined: true,
            limits: self.contender.limits,
            room: self.quarters.room.as_ref(),
        };
        let cgroups = &self.shared.cgroups;
        started_in(self.quarters.network.as_ref(), || {
            let mut kept = Held::from(Kept::start(&order, cgroups)?);
            let ready = ready::wait(&mut kept, &awaited)?;
            Ok((kept, ready))
        })
        .map_err(|error| self.quarters.explain(error))
    }

    fn into_running(mut self, kept: Held, ready: Ready) -> Running {
        let log = self.log();
        let contacts = contacts(&self);
        let config_changes = self.changes();
        let ways = changes::ways(&mut self);
        let binary = &self.program.path;
        let facts = ServerFacts {
            server: self.server.name.clone(),
            version: self.program.version.clone(),
            binary: binary.display().to_string(),
            binary_sha256: self.shared.digests.of(binary).unwrap_or_default(),
            package: Installed::beside(binary).map(Installed::facts),
            command: self.start.command.clone(),
            configs: recorded::configs(&self),
            config_changes,
            remedies: self.server.description.remedies.clone(),
            limits: None,
            address: ready.address.to_string(),
            server_header: ready.server_header,
            stopped: None,
        };
        let description = self.server.description;
        let stop = description.stop;
        Running {
            kept,
            address: ready.address,
            facts,
            first_status: Some(ready.status),
            log: Log {
                file: log,
                from: ready.log_from,
            },
            approach: self.asked,
            ways,
            settings: description.settings,
            ending: Ending {
                signal: stop.signal,
                grace: Duration::from_millis(stop.grace_ms),
            },
            contacts,
            network: self.quarters.network,
            _folder: Some(self.folder),
        }
    }

    fn make_files(&mut self) -> Result<(), StageError> {
        make_folder(&self.log_folder)?;
        let run = self.folder.run();
        for folder in [&self.folder.0, &run] {
            create_folder(folder)?;
        }
        for folder in &self.server.description.start.folders {
            make_folder(&place(&run, folder)?)?;
        }
        make_served_files(&self.folder.0.join("root"), &self.workload)?;
        let Some(own) = self.configuration.own() else {
            return Ok(());
        };
        let overlay = Overlay::of(
            &self.server,
            own,
            &self.workload,
            self.asked.host.as_deref(),
        )?;
        overlay.make(&self.folder.overlay(), &self.workload)?;
        if let Some(own) = self.configuration.own_mut() {
            own.serve(overlay.paths().collect());
        }
        Ok(())
    }

    fn set_variables(&mut self, surroundings: &Surroundings) {
        let text = |path: &Path| path.display().to_string();
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let workers = if self.cpus.is_empty() {
            available()
        } else {
            self.cpus.len()
        };
        // The way to the record is closed to another user, and its log is open already.
        let log = match &self.start.user {
            Some(_) => "/dev/stderr".to_owned(),
            None => text(&self.log()),
        };
        let run = text(&self.folder.run());
        let overlay = text(&self.folder.overlay());
        let variables = &mut self.variables;
        variables.set("root", text(&self.folder.0.join("root")));
        variables.set("run", run);
        variables.set("overlay", overlay);
        variables.set("log", log);
        variables.set("workers", workers);
        variables.set("cpus", self.cpus.clone());
        let is_root = rustix::process::geteuid().is_root() && self.start.user.is_none();
        variables.set("is_root", is_root);
        variables.set("protocol", self.workload.protocol.name());
        variables.set("tls", self.workload.protocol.is_secure());
        variables.set("h2", self.workload.protocol.is_h2());
        variables.set("h3", self.workload.protocol.is_h3());
        variables.set("action", surroundings.action.map_or("", Action::name));
        let client = &self.workload.client;
        variables.set("shows_certificate", client.certificate.is_some());
        variables.set("sends_proxy", client.proxy_protocol.is_some());
        self.shared.listening.set_variables(variables);
        variables.set("binary", text(&self.program.path));
        variables.set("build", program::build(&self.server, &self.program.path));
        // A template may name the file that it becomes.
        variables.set("config", text(&self.configuration.path));
        if let Some(origin) = surroundings.origin {
            variables.set_address("origin", &origin.to_string());
        }
    }

    fn set_certificate(&mut self, files: CertificateFiles) {
        let text = |path: &Path| path.display().to_string();
        // The certificate is for this machine's names, and not for one of the user's.
        if self.configuration.takes_certificate() && self.contender.host.is_none() {
            self.asked.trust = Trust::Authority(files.authority);
        }
        let variables = &mut self.variables;
        variables.set("certificate", text(&files.certificate));
        variables.set("key", text(&files.key));
        variables.set("certificate_and_key", text(&files.certificate_and_key));
    }

    /// Chooses a port and renders everything that may depend on it.
    fn render(&mut self) -> Result<(), StageError> {
        let port = free_port_at(self.shared.listening.address)?;
        self.variables.set("port", port);
        self.set_status_port(port)?;
        self.port = self.configuration.takes_port().then_some(port);
        self.render_overlays()?;
        self.configuration.make_ready(
            &self.contender,
            &self.variables,
            &self.program.version,
            &self.server,
            &self.folder.0,
            self.start.user.as_ref(),
        )?;
        // A file of the user's own may have been copied to another place.
        let config = self.configuration.path.display().to_string();
        self.variables.set("config", config);
        note(
            &self.log_folder,
            &self.server.description.config,
            &self.configuration.text,
        )?;
        for (path, text) in &self.configuration.others {
            note(&self.log_folder, &included_name(path), text)?;
        }
        self.start.command = self.render_all("start", &self.server.description.start.command)?;
        self.start.changes = changes::rendered(self)?;
        self.render_environment()?;
        note(&self.log_folder, "command.txt", &self.start.lines())?;
        self.hand_over()
    }

    /// Another port, for the server's own counters; empty where the program has none.
    fn set_status_port(&mut self, port: u16) -> Result<(), StageError> {
        if !program::has_counters(&self.server, &self.program) {
            self.variables.set("status_port", "");
            return Ok(());
        }
        let mut other = free_port()?;
        while other == port {
            other = free_port()?;
        }
        self.variables.set("status_port", other);
        Ok(())
    }

    /// Hands the trial's folder over to the server's user, who must be able to read what lies
    /// elsewhere, too.
    fn hand_over(&self) -> Result<(), StageError> {
        let user = self.start.user.as_ref();
        user::hand_over(&self.folder.0, user)?;
        let (path, others) = (&self.configuration.path, &self.configuration.others);
        let in_place = others.iter().filter(|_| self.configuration.is_in_place());
        let mut read = std::iter::once(path).chain(in_place.map(|(path, _)| path));
        let unreadable = user.and_then(|user| Some((user, read.find(|it| !user.can_read(it))?)));
        let Some((user, path)) = unreadable else {
            return Ok(());
        };
        let cause = Cause::Unreadable {
            user: user.name.clone(),
            path: path.clone(),
        };
        Err(StageError::new(Step::Prepare, cause))
    }

    /// An overlay may use the variables of a trial, such as the origin's address.
    fn render_overlays(&mut self) -> Result<(), StageError> {
        for (name, value) in self.contender.overlays.clone() {
            if template::is_template(&value) {
                let rendered = self.render_all(&format!("overlay.{name}"), &[value])?;
                rendered
                    .into_iter()
                    .for_each(|text| self.variables.set(&name, text));
            }
        }
        Ok(())
    }

    fn render_all(&self, key: &str, templates: &[String]) -> Result<Vec<String>, StageError> {
        let context = template::Context {
            version: &self.program.version,
            configuration: &self.configuration.text,
            files: &self.server,
        };
        let render = |template: &String| {
            template::render(template, &self.variables, &context).map_err(|cause| {
                let file = format!("`{key}` for server {}", self.server.name);
                StageError::new(Step::Prepare, Cause::Template { file, cause })
            })
        };
        templates.iter().map(render).collect()
    }
}

/// Whether a server runs a user's own file, with rules that change it.
fn changes_own_file(prepared: &Prepared) -> bool {
    prepared.configuration.own().is_some() && prepared.server.own.has_changes()
}

/// With whom a server may be in contact, where rules are to see to that.
fn contacts(prepared: &Prepared) -> Option<Contacts> {
    if !changes_own_file(prepared) {
        return None;
    }
    let origin = prepared.variables.texts(&["origin"]);
    let origin = origin.get("origin").and_then(|text| text.parse().ok());
    let ip = prepared.shared.listening.address;
    Some(Contacts::new(prepared.server.title(), ip, origin))
}

/// Keeps a text beside the log. What it holds may be as private as the user's files are.
fn note(log_folder: &Path, name: &str, text: &str) -> Result<(), StageError> {
    let path = place(log_folder, Path::new(name))?;
    files::replace(&path, text.as_bytes(), files::FOR_OWNER)
        .map_err(|cause| StageError::file(Step::Prepare, path, cause))
}

fn is_port_taken(error: &StageError) -> bool {
    matches!(*error.cause, Cause::PortTaken { .. })
}

/// A port of loopback that was free a moment ago.
pub(crate) fn free_port() -> Result<u16, StageError> {
    free_port_at(LOOPBACK)
}

/// Where a trial's folder keeps a file that the user's own takes in.
fn included_name(path: &Path) -> String {
    let below = path.strip_prefix("/").unwrap_or(path);
    format!("included/{}", below.display())
}
