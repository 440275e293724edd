//! A contender in a container: started by the user's own engine, and asked, watched and measured
//! from inside its own network, over its loopback. No port is published and no bridge crossed.
//!
//! How containers are held and removed is the [`holder`]'s; what an engine says is read in
//! `engine.rs`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_plan::{ContainerSource, Contender, Limits, OwnContainer, OwnImage, Workload};
use bakeoff_probe::Network;
use bakeoff_record::{ConfigFile, ServerFacts, Step};
use rustix::process::{Pid, Resource, getrlimit};

use crate::cgroup;
use crate::command::expectation;
use crate::engine::{self, Engine, Inspected};
use crate::error::{Cause, StageError};
use crate::fetch::Approach;
use crate::held::Held;
use crate::host;
use crate::listeners::Transport;
use crate::listening::LOOPBACK;
use crate::log::{self, Log};
use crate::ready::{self, Awaited, NOT_FOUND_FOR};
use crate::running::{Ending, Running, Ways};
use crate::stage::{Stage, Surroundings};
use crate::tree;
use crate::trial_folder::{make_folder, path_in_record};
use holder::Holder;
use measured::{Container, copy_log, ended};

mod compose;
pub(crate) mod holder;
pub(crate) mod measured;

/// An engine starts a container in half a second; a busy machine takes longer.
const ENGINE_LIMIT: Duration = Duration::from_secs(60);
/// What a container is given to end when it is asked.
const GRACE: Duration = Duration::from_secs(2);
/// Label of the containers of images.
const LABEL: &str = "bakeoff.run";
/// Files that engines let a container open.
const ENGINES_FILES: u64 = 1 << 20;
/// Longest configuration that is kept in a record.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// Containers that an engine has started.
struct Started {
    engine: Engine,
    holder: Holder,
    measured: Inspected,
    beside: Vec<Inspected>,
    /// Its image as it was named.
    image: String,
    /// Digest of that image, hex.
    image_id: String,
    version: String,
    command: Vec<String>,
    configs: Vec<ConfigFile>,
}

impl Stage {
    /// Starts a container and waits, at most `within`, until its server is ready.
    ///
    /// # Errors
    /// When there is no engine or image, its network cannot be entered, it ends, does not listen,
    /// or does not answer as expected; nothing of it is left then.
    pub fn start_container(
        &self,
        contender: &Contender,
        own: &OwnContainer,
        workload: &Workload,
        surroundings: &Surroundings,
        within: Duration,
    ) -> Result<Running, StageError> {
        host::check(Step::Start)?;
        refuse_unmeasurable(workload)?;
        make_folder(&surroundings.log_folder)?;
        let started = match &own.source {
            ContainerSource::Image(image) => {
                self.run_image(image, contender.limits, surroundings)?
            }
            ContainerSource::Compose(own) => self.compose_up(own, surroundings)?,
        };
        let (facts, held, network) = self.entered(started, surroundings)?;
        let mut held = Held::Container(Box::new(held));
        let log = surroundings.log_folder.join("server.log");
        let from = log::length(&log);
        let approach = Approach::by(contender.host.clone(), &workload.client);
        let expectation = expectation(&own.ready, workload, &approach);
        let is_secure = workload.protocol.is_secure();
        let awaited = Awaited {
            expectation: &expectation,
            identity: None,
            transport: Transport::of(workload.protocol),
            ip: LOOPBACK,
            port: own.port,
            likely: Some(if is_secure { 443 } else { 80 }),
            log: &log,
            log_from: from,
            within,
            failing_for: within,
            not_found_for: NOT_FOUND_FOR,
            contacts: None,
        };
        let ready = network.within(|| ready::wait(&mut held, &awaited));
        let ready = ready.map_err(not_entered)?.map_err(|error| {
            held.copy_log();
            error.with_message(log::tail(&log, from))
        })?;
        Ok(Running {
            kept: held,
            address: ready.address,
            facts: ServerFacts {
                address: ready.address.to_string(),
                server_header: ready.server_header,
                ..facts.0
            },
            first_status: own.ready.is_first_answer().then_some(ready.status),
            log: Log { file: log, from },
            approach,
            ways: Ways::by_own(contender.action_command.clone(), ".".into()),
            settings: BTreeMap::new(),
            ending: facts.1,
            contacts: None,
            network: Some(network),
            _folder: None,
        })
    }

    /// Finds the processes of what was started, and their network.
    fn entered(
        &self,
        started: Started,
        surroundings: &Surroundings,
    ) -> Result<((ServerFacts, Ending), Container, Network), StageError> {
        let measured = &started.measured;
        let main = Pid::from_raw(measured.process).filter(|_| measured.process > 0);
        let begun = main.and_then(|main| Some((main, tree::started(main)?)));
        let log = surroundings.log_folder.join("server.log");
        let Some((main, begun)) = begun else {
            copy_log(&started.engine, &measured.id, &log);
            let status = ended(measured);
            let error = StageError::new(Step::Start, Cause::Died { status });
            return Err(error.with_message(log::tail(&log, 0)));
        };
        let network = Network::of(measured.process.unsigned_abs()).map_err(not_entered)?;
        let facts = ServerFacts {
            version: started.version,
            binary: started.image,
            binary_sha256: started.image_id,
            command: started.command,
            configs: started.configs,
            ..ServerFacts::without_folder("image", ([127, 0, 0, 1], 0).into())
        };
        let ending = Ending {
            signal: measured.stop_signal.to_owned(),
            grace: GRACE,
        };
        let beside = started.beside.iter();
        let beside = beside.filter_map(|it| Pid::from_raw(it.process).filter(|_| it.process > 0));
        let container = Container {
            id: measured.id.clone(),
            main,
            started: begun,
            group: cgroup::of_tree(main),
            engine_log: measured.log.clone(),
            log,
            status: None,
            beside: beside.collect(),
            holder: started.holder,
            engine: started.engine,
        };
        Ok(((facts, ending), container, network))
    }

    fn run_image(
        &self,
        own: &OwnImage,
        limits: Option<Limits>,
        surroundings: &Surroundings,
    ) -> Result<Started, StageError> {
        let (engine, image) = engine::with_image(&own.image)?;
        let name = self.new_label();
        let mut command = vec![engine.program.display().to_string()];
        let label = format!("{LABEL}={name}");
        let fixed = [
            "run",
            "--detach",
            "--network",
            "none",
            "--name",
            &name,
            "--label",
            &label,
        ];
        command.extend(fixed.map(str::to_owned));
        let mut flag = |name: &str, value: String| command.extend([name.to_owned(), value]);
        if !surroundings.cpus.is_empty() {
            let cpus: Vec<String> = surroundings.cpus.iter().map(usize::to_string).collect();
            flag("--cpuset-cpus", cpus.join(","));
        }
        let limits = limits.unwrap_or_default();
        if let Some(cpus) = limits.cpus {
            flag("--cpus", cpus.to_string());
        }
        if let Some(bytes) = limits.memory_bytes {
            flag("--memory", bytes.to_string());
            flag("--memory-swap", bytes.to_string());
        }
        for limit in own_limits() {
            flag("--ulimit", limit);
        }
        for (name, value) in &own.environment {
            flag("--env", format!("{name}={value}"));
        }
        let mut configs = Vec::new();
        if let Some(config) = &own.config {
            let at = match &config.at {
                Some(at) => at.clone(),
                None => self.place_of_config(own)?,
            };
            flag("--volume", format!("{}:{at}:ro", config.file.display()));
            configs.push(kept_config(&config.file, surroundings)?);
        }
        // By its digest: a tag may lead elsewhere tomorrow, and nothing is pulled.
        command.push(image.id.clone());
        command.extend(own.args.iter().cloned());
        let (holder, found) = self.held(&engine, &label, &command, surroundings)?;
        let mut found = found.into_iter();
        let measured = found.next().ok_or_else(|| lost(&engine))?;
        Ok(Started {
            engine,
            holder,
            measured,
            beside: Vec::new(),
            image: own.image.clone(),
            image_id: image.id,
            version: own.tag().to_owned(),
            command,
            configs,
        })
    }

    /// Has a command start containers with this label; they are those that the engine names then.
    fn held(
        &self,
        engine: &Engine,
        label: &str,
        command: &[String],
        surroundings: &Surroundings,
    ) -> Result<(Holder, Vec<Inspected>), StageError> {
        let path = surroundings.log_folder.join("container.log");
        let file = |cause| StageError::file(Step::Start, &path, cause);
        let output = File::create(&path).map_err(file)?;
        let folder = self.run_folder();
        let held = Holder::start(
            &engine.program,
            label,
            command,
            folder,
            output,
            ENGINE_LIMIT,
        );
        let failed = |said: String| {
            let order = format!("have {} start it", engine.name());
            StageError::new(Step::Start, Cause::Engine { order, said })
        };
        let holder = held.map_err(|cause| match cause.kind() {
            io::ErrorKind::Interrupted => StageError::new(Step::Start, Cause::Interrupted),
            _ => {
                let said = engine::last_words(&log::read(&path, 0));
                failed(format!("{cause}: {said}"))
            }
        })?;
        let found = engine.labelled(label).map_err(failed)?;
        Ok((holder, found))
    }

    /// Where the server's folder says that its image has its configuration.
    fn place_of_config(&self, own: &OwnImage) -> Result<String, StageError> {
        let name = own.short_name();
        let named = |server: &crate::server::Server| {
            let image = server.description.image.as_ref()?;
            let is_it = image.names.iter().any(|it| it == name);
            is_it.then(|| image.config.clone())
        };
        let names = self.servers().names().into_iter();
        let found = names.filter_map(|name| self.servers().find(&name).ok());
        let mut places = found.filter_map(|server| named(&server));
        places.next().ok_or_else(|| {
            let reason = format!("it is not known where image {name} has its configuration");
            let fix = "write `config = \"FILE:/PATH\"`, with its path in the container".to_owned();
            StageError::new(Step::Prepare, Cause::Lacking { reason, fix })
        })
    }

    /// A name that no other container has.
    fn new_label(&self) -> String {
        let run = self.run_folder().file_name().unwrap_or_default();
        let folder = self.new_folder("");
        let number = folder.file_name().unwrap_or_default();
        format!("{}{}", run.to_string_lossy(), number.to_string_lossy()).to_lowercase()
    }
}

/// Name and digest of the image that a container is made of.
pub(crate) fn image_of(own: &OwnContainer) -> Result<(PathBuf, String), StageError> {
    let name = match &own.source {
        ContainerSource::Image(image) => image.image.clone(),
        ContainerSource::Compose(own) => compose::image_of(own)?,
    };
    let (_, image) = engine::with_image(&name)?;
    Ok((PathBuf::from(name), image.id))
}

/// Looks whether a container can be started, without starting it.
///
/// # Errors
/// What is missing, and how to get it.
pub fn check_container(own: &OwnContainer, workload: &Workload) -> Result<(), StageError> {
    refuse_unmeasurable(workload)?;
    match &own.source {
        ContainerSource::Image(image) => {
            if let Some(config) = &image.config {
                let is_file = config.file.is_file();
                let missing = || io::Error::other("there is no such file");
                is_file
                    .then_some(())
                    .ok_or_else(missing)
                    .map_err(|cause| StageError::file(Step::Prepare, &config.file, cause))?;
            }
            engine::with_image(&image.image).map(drop)
        }
        ContainerSource::Compose(own) => compose::check(own),
    }
}

/// What cannot be measured from inside a container's network.
fn refuse_unmeasurable(workload: &Workload) -> Result<(), StageError> {
    let lacking = |reason: &str, fix: &str| {
        let (reason, fix) = (reason.to_owned(), fix.to_owned());
        Err(StageError::new(
            Step::Prepare,
            Cause::Lacking { reason, fix },
        ))
    };
    if !rustix::process::geteuid().is_root() {
        let reason = "containers are measured from inside their network, which root may enter";
        return lacking(
            reason,
            "use sudo, with the image in root's engine; or race the URL of a published port",
        );
    }
    if workload.proxied {
        let reason = "the built-in upstream is outside of the container's network";
        return lacking(reason, "use a compose file with an upstream of its own");
    }
    Ok(())
}

fn not_entered(cause: io::Error) -> StageError {
    StageError::new(Step::Start, Cause::Network { cause })
}

fn lost(engine: &Engine) -> StageError {
    let order = format!("have {} start it", engine.name());
    let said = "no container has its label".to_owned();
    StageError::new(Step::Start, Cause::Engine { order, said })
}

/// Limits for an engine that may not raise those of this process.
fn own_limits() -> Vec<String> {
    let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if files >= ENGINES_FILES {
        return Vec::new();
    }
    let most = std::fs::read_to_string("/proc/sys/kernel/pid_max");
    let most: u64 = most
        .ok()
        .and_then(|it| it.trim().parse().ok())
        .unwrap_or(1 << 15);
    let processes = getrlimit(Resource::Nproc).maximum.unwrap_or(most).min(most);
    vec![
        format!("nofile={files}:{files}"),
        format!("nproc={processes}:{processes}"),
    ]
}

/// A mounted configuration as the record keeps it.
fn kept_config(file: &Path, surroundings: &Surroundings) -> Result<ConfigFile, StageError> {
    let text = bakeoff_record::read_regular_text(file, CONFIG_BYTES_MAX)
        .map_err(|cause| StageError::file(Step::Prepare, file, cause))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(ConfigFile {
        path: path_in_record(&surroundings.log_folder, &name),
        text,
        filled: BTreeMap::new(),
    })
}
