//! A contender that is ready to be started: program found, configuration rendered, files made.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bakeoff_plan::{ConfigSource, Contender, ServerChoice, Workload};
use bakeoff_record::{ConfigFile, ServerFacts, Step};

use crate::bounded;
use crate::certificates::CertificateFiles;
use crate::error::{Cause, StageError};
use crate::fetch::{Expectation, Trust};
use crate::kept::{Kept, Order};
use crate::log;
use crate::program::{self, Program};
use crate::ready::{self, Awaited, Ready};
use crate::running::{Running, TrialFolder};
use crate::server::Server;
use crate::servers::Servers;
use crate::stage::{Shared, Surroundings, make_folder};
use crate::template::{self, Variables};

/// A check of a configuration takes milliseconds; Caddy's may read certificates.
const CHECK_LIMIT: Duration = Duration::from_secs(30);
/// Another process may take a port between its choice and the server's start.
const PORTS_TRIED: u32 = 3;

/// A contender before its start. Dropping it removes its folder.
#[derive(Debug)]
pub struct Prepared {
    shared: Arc<Shared>,
    server: Server,
    program: Program,
    workload: Workload,
    log_folder: PathBuf,
    cpus: Vec<usize>,
    folder: TrialFolder,
    /// Everything but the port and what depends on it.
    variables: Variables,
    configuration: Configuration,
    /// The port in the configuration, when bakeoff chose it.
    port: Option<u16>,
    command: Vec<String>,
    environment: Vec<(String, String)>,
    /// What its certificate leads to, where it was given one.
    trust: Trust,
}

#[derive(Debug)]
struct Configuration {
    /// Where the text came from, for messages.
    source: String,
    /// Before rendering.
    template: String,
    /// As used.
    text: String,
    /// The file that the server reads.
    path: PathBuf,
    /// A user's file that is no template is read where it is, so that what it includes is found.
    in_place: bool,
    /// The server's folder brought the template along.
    is_of_folder: bool,
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
        let server = servers.find(server)?;
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
        let mut variables = Variables::default();
        for (name, value) in overlays {
            variables.set(&name, value);
        }
        let mut prepared = Self {
            shared,
            server,
            program,
            workload: workload.clone(),
            log_folder: surroundings.log_folder.clone(),
            cpus: surroundings.cpus.clone(),
            folder,
            variables,
            configuration,
            port: None,
            command: Vec::new(),
            environment: Vec::new(),
            trust: Trust::Anything,
        };
        prepared.make_files()?;
        if workload.protocol.is_secure() {
            let tls = prepared.folder.0.join("tls");
            let certificates = &prepared.shared.certificates;
            let files = certificates.write(contender.certificate, &tls)?;
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

    /// The command line that will start the server.
    pub fn command(&self) -> &[String] {
        &self.command
    }

    /// The file that the server's output goes to.
    pub fn log(&self) -> PathBuf {
        self.log_folder.join("server.log")
    }

    /// Lets the server check the configuration itself.
    ///
    /// # Errors
    /// When it refuses; its words are in the error.
    pub fn check_config(&self) -> Result<(), StageError> {
        let Some(check) = &self.server.description.check else {
            return Ok(());
        };
        let command = self.render_words("check", &check.command)?;
        let output = bounded::run(&command, &self.environment, &self.run_folder(), CHECK_LIMIT);
        let output = output.map_err(|cause| {
            let cause = std::io::Error::other(format!("run the check: {cause}"));
            StageError::file(Step::CheckConfig, &command[0], cause)
        })?;
        let log = self.log_folder.join("check.log");
        write(&log, &output.text)?;
        if output.status.success() {
            return Ok(());
        }
        let cause = Cause::ConfigRejected {
            server: self.server.title().to_owned(),
            config: self.configuration.path.clone(),
            status: output.status.to_string(),
        };
        Err(StageError::new(Step::CheckConfig, cause).with_words(output.text.trim_end()))
    }

    /// Starts the server and waits, at most `within`, until it gives the right answer.
    ///
    /// # Errors
    /// When it ends, does not listen, or does not answer as expected; nothing of it is left then.
    pub fn start(mut self, within: Duration) -> Result<Running, StageError> {
        for _ in 1..PORTS_TRIED {
            match self.try_start(within) {
                Err(error) if self.port.is_some() && is_port_taken(&error) => self.render()?,
                Err(error) => return Err(error),
                Ok((kept, ready)) => return Ok(self.into_running(kept, ready)),
            }
        }
        let (kept, ready) = self.try_start(within)?;
        Ok(self.into_running(kept, ready))
    }

    fn try_start(&self, within: Duration) -> Result<(Kept, Ready), StageError> {
        let log = self.log();
        let expectation = Expectation::of(
            self.workload.requests.first(),
            self.workload.protocol,
            self.trust.clone(),
        );
        let awaited = Awaited {
            expectation: &expectation,
            identity: self.server.identity.as_ref(),
            port: self.port,
            log: &log,
            log_from: log::length(&log),
            within,
        };
        let order = Order {
            keeper: &self.shared.keeper,
            command: &self.command,
            environment: &self.environment,
            folder: &self.run_folder(),
            log: &log,
            cpus: &self.cpus,
        };
        let mut kept = Kept::start(&order, &self.shared.cgroups)?;
        let ready = ready::wait(&mut kept, &awaited)?;
        Ok((kept, ready))
    }

    fn into_running(self, kept: Kept, ready: Ready) -> Running {
        let log = self.log();
        let binary = &self.program.path;
        let facts = ServerFacts {
            server: self.server.name.clone(),
            version: self.program.version.clone(),
            binary: binary.display().to_string(),
            binary_sha256: self.shared.digests.of(binary).unwrap_or_default(),
            command: self.command,
            configs: vec![ConfigFile {
                path: path_in_record(&self.log_folder, &self.server.description.config),
                text: self.configuration.text,
            }],
            address: ready.address.to_string(),
            server_header: ready.server_header,
            stopped: None,
        };
        let stop = &self.server.description.stop;
        Running {
            kept,
            address: ready.address,
            facts,
            log,
            log_from: ready.log_from,
            trust: self.trust,
            stop_signal: stop.signal.clone(),
            stop_grace: Duration::from_millis(stop.grace_ms),
            _folder: Some(self.folder),
        }
    }

    fn run_folder(&self) -> PathBuf {
        self.folder.0.join("run")
    }

    fn make_files(&self) -> Result<(), StageError> {
        make_folder(&self.log_folder)?;
        make_folder(&self.folder.0)?;
        make_folder(&self.run_folder())?;
        let root = self.folder.0.join("root");
        make_folder(&root)?;
        for file in &self.workload.files {
            let path = below(&root, &file.path)?;
            make_folder(path.parent().unwrap_or(&root))?;
            write(&path, file.content.bytes())?;
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
        let log = text(&self.log());
        let run = text(&self.run_folder());
        let variables = &mut self.variables;
        variables.set("root", text(&self.folder.0.join("root")));
        variables.set("run", run);
        variables.set("log", log);
        variables.set("workers", workers);
        variables.set("cpus", self.cpus.clone());
        variables.set("is_root", rustix::process::geteuid().is_root());
        variables.set("protocol", self.workload.protocol.name());
        variables.set("tls", self.workload.protocol.is_secure());
        variables.set("h2", self.workload.protocol.is_h2());
        variables.set("binary", text(&self.program.path));
        variables.set("config", text(&self.configuration.path));
        if let Some(origin) = surroundings.origin {
            variables.set("origin", origin.to_string());
        }
    }

    fn set_certificate(&mut self, files: CertificateFiles) {
        let text = |path: &Path| path.display().to_string();
        let own = &self.configuration;
        if own.is_of_folder || template::uses(&own.template, "certificate") {
            self.trust = Trust::Authority(files.authority);
        }
        let variables = &mut self.variables;
        variables.set("certificate", text(&files.certificate));
        variables.set("key", text(&files.key));
        variables.set("certificate_and_key", text(&files.certificate_and_key));
    }

    /// Chooses a port and renders everything that may depend on it.
    fn render(&mut self) -> Result<(), StageError> {
        let port = free_port()?;
        self.variables.set("port", port);
        let configuration = &mut self.configuration;
        // A folder's template may leave its port to a file that it includes.
        let uses_port = template::uses(&configuration.template, "port")
            || template::includes(&configuration.template);
        self.port = (uses_port && !configuration.in_place).then_some(port);
        if !configuration.in_place {
            let context = template::Context {
                version: &self.program.version,
                configuration: "",
                files: &self.server,
            };
            let rendered = template::render(&configuration.template, &self.variables, &context);
            configuration.text = rendered.map_err(|cause| {
                let file = configuration.source.clone();
                StageError::new(Step::Prepare, Cause::Template { file, cause })
            })?;
            write(&configuration.path, &configuration.text)?;
        }
        let copy = self.log_folder.join(&self.server.description.config);
        write(&copy, &self.configuration.text)?;
        self.command = self.render_words("start", &self.server.description.start.command)?;
        self.environment = self.render_environment()?;
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        let lines: String = environment
            .chain([self.command.join(" "), "\n".to_owned()])
            .collect();
        write(&self.log_folder.join("command.txt"), lines)
    }

    fn render_environment(&self) -> Result<Vec<(String, String)>, StageError> {
        let mut environment = Vec::new();
        for (name, value) in &self.server.description.environment {
            let mut words = self.render_words("environment", std::slice::from_ref(value))?;
            // An empty value would still be a value; leaving it out is what the template means.
            environment.extend(
                words
                    .pop()
                    .filter(|v| !v.is_empty())
                    .map(|v| (name.clone(), v)),
            );
        }
        Ok(environment)
    }

    fn render_words(&self, key: &str, words: &[String]) -> Result<Vec<String>, StageError> {
        let context = template::Context {
            version: &self.program.version,
            configuration: &self.configuration.text,
            files: &self.server,
        };
        let render = |word: &String| {
            template::render(word, &self.variables, &context).map_err(|cause| {
                let file = format!("`{key}` of server {}", self.server.name);
                StageError::new(Step::Prepare, Cause::Template { file, cause })
            })
        };
        words.iter().map(render).collect()
    }
}

impl Configuration {
    fn choose(
        server: &Server,
        config: &ConfigSource,
        workload: &Workload,
        folder: &Path,
    ) -> Result<Self, StageError> {
        let rendered = folder.join(&server.description.config);
        match config {
            ConfigSource::Variant(variant) => {
                let template = server.template(variant, workload)?;
                Ok(Self {
                    source: format!("servers/{}/{}", server.name, template.file),
                    template: template.text,
                    text: String::new(),
                    path: rendered,
                    in_place: false,
                    is_of_folder: true,
                })
            }
            ConfigSource::File(path) => {
                let template = std::fs::read_to_string(path)
                    .map_err(|cause| StageError::file(Step::Prepare, path, cause))?;
                let in_place = !template::is_template(&template);
                Ok(Self {
                    source: path.display().to_string(),
                    text: template.clone(),
                    template,
                    path: if in_place { path.clone() } else { rendered },
                    in_place,
                    is_of_folder: false,
                })
            }
        }
    }
}

fn is_port_taken(error: &StageError) -> bool {
    matches!(*error.cause, Cause::PortTaken { .. })
}

/// A file below `root`, and not elsewhere.
fn below(root: &Path, path: &str) -> Result<PathBuf, StageError> {
    let mut parts = Path::new(path).components();
    if parts.all(|part| matches!(part, std::path::Component::Normal(_))) {
        return Ok(root.join(path));
    }
    let cause = std::io::Error::other("a served file must lie below the document root");
    Err(StageError::file(Step::Prepare, path, cause))
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16, StageError> {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    let address = address.map_err(|cause| StageError::file(Step::Prepare, "127.0.0.1:0", cause))?;
    Ok(address.port())
}

/// `logs/<trial>/<name>`.
fn path_in_record(log_folder: &Path, name: &str) -> String {
    let mut parts: Vec<_> = log_folder.components().rev().take(2).collect();
    parts.reverse();
    parts
        .into_iter()
        .collect::<PathBuf>()
        .join(name)
        .display()
        .to_string()
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), StageError> {
    use std::os::unix::fs::PermissionsExt as _;
    let fail = |cause| StageError::file(Step::Prepare, path, cause);
    std::fs::write(path, bytes).map_err(fail)?;
    // A server's workers may run as another user than bakeoff.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).map_err(fail)
}
