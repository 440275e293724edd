//! What can go wrong on the stage, by cause, and the step of the trial at which it did.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bakeoff_record::{Step, TrialEnd};

/// A server could not be prepared, started, checked or stopped.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct StageError {
    /// Where in the trial.
    pub step: Step,
    /// What.
    pub cause: Box<Cause>,
    /// The server's own message, if there was one.
    pub message: Option<String>,
}

/// Why a server is not on the stage. Each reads well after "failed to ...: ".
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// No folder of this name.
    #[error("there is no server `{name}`; servers are {known}")]
    UnknownServer {
        /// As asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A `server.toml` that cannot be used.
    #[error("cannot use {file}: {cause}")]
    Description {
        /// The file.
        file: String,
        /// What is wrong in it.
        cause: String,
    },
    /// The program is on no search path.
    #[error("{server} is not installed: no `{program}` was found; to get it: {install}")]
    NotInstalled {
        /// Title of the server.
        server: String,
        /// Name of the program.
        program: String,
        /// Ways to get it.
        install: String,
    },
    /// Programs were found, all of another version.
    #[error("version {wanted} of {server} is not installed; found {found}; to get it: {install}")]
    WrongVersion {
        /// Title of the server.
        server: String,
        /// As the plan asks.
        wanted: String,
        /// Versions and where they are.
        found: String,
        /// Ways to get it.
        install: String,
    },
    /// A program that bakeoff installed is not what it was.
    #[error("use {program}: it has changed since it was installed: {damage}; to fix it: {install}")]
    Damaged {
        /// The program.
        program: PathBuf,
        /// What is different.
        damage: String,
        /// The way to get it.
        install: String,
    },
    /// A program did not report its version.
    #[error("`{binary}` does not report its version: {cause}")]
    NoVersion {
        /// The program.
        binary: PathBuf,
        /// What happened instead.
        cause: String,
    },
    /// The server has no such variant.
    #[error("{server} has no variant `{variant}`; it has {known}")]
    UnknownVariant {
        /// Title of the server.
        server: String,
        /// As asked for.
        variant: String,
        /// What there is.
        known: String,
    },
    /// The server's folder says that this cannot be done.
    #[error("{reason}")]
    Unsupported {
        /// As the folder states it.
        reason: String,
    },
    /// The variant has no template for the workload.
    #[error(
        "variant `{variant}` of {server} has no configuration for workload `{workload}`; give the \
         contender a configuration file of its own"
    )]
    NoTemplate {
        /// Title of the server.
        server: String,
        /// The variant.
        variant: String,
        /// The workload.
        workload: String,
    },
    /// A reference was handed to the part that stages programs.
    #[error("prepare `{name}` as a program: it is built in, and started as a helper")]
    BuiltIn {
        /// The contender.
        name: String,
    },
    /// A proxied workload without an upstream.
    #[error("workload `{workload}` is proxied, but there is no origin")]
    NoOrigin {
        /// The workload.
        workload: String,
    },
    /// An overlay for a variable that the server does not have.
    #[error("{server} has no variable `{name}`; it has {known}")]
    UnknownVariable {
        /// The overlay.
        name: String,
        /// Title of the server.
        server: String,
        /// What there is.
        known: String,
    },
    /// A template that cannot be rendered.
    #[error("render {file}: {cause}")]
    Template {
        /// The template.
        file: String,
        /// What is wrong in it.
        cause: String,
    },
    /// A replacement that replaces nothing.
    #[error("`{from}` does not occur in {file} or its includes, so there is nothing to replace")]
    NothingToReplace {
        /// The main file.
        file: PathBuf,
        /// The text.
        from: String,
    },
    /// A configuration with too many includes.
    #[error(
        "{file} includes more than 1,000 files or 64 MiB, or its include patterns match against \
         more than 200,000 names; make these patterns narrower"
    )]
    TooManyIncludes {
        /// The main file.
        file: PathBuf,
    },
    /// A configuration that takes in more than can be sent to another host.
    #[error(
        "{file} takes in more files of {folder} than can be sent to another host: 1,000 files with \
         48 MiB; make its include patterns narrower"
    )]
    TooMuchAlong {
        /// The main file.
        file: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// There is no knowing whom a server runs as.
    #[error("run the server as another user than root: {cause}")]
    User {
        /// What is wrong.
        cause: String,
    },
    /// A server's user cannot enter the run folder.
    #[error(
        "run the server as user {user}, who cannot enter {folder}: set TMPDIR to a folder that \
         everybody can enter, such as /tmp"
    )]
    NoEntry {
        /// The user.
        user: String,
        /// The folder.
        folder: PathBuf,
    },
    /// A server's user cannot read a configuration file where it lies.
    #[error(
        "run the server as user {user}, who cannot read {path}: let others read it and enter its \
         folder, or set `user = \"root\"` in the contender"
    )]
    Unreadable {
        /// The user.
        user: String,
        /// The file.
        path: PathBuf,
    },
    /// No certificate could be made.
    #[error("make a certificate: {cause}")]
    Certificate {
        /// What went wrong.
        cause: String,
    },
    /// A file or folder could not be made or read.
    #[error("use {path}: {cause}")]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The server's own check refused the configuration.
    #[error("{server} rejects its configuration {config} ({status}){hint}")]
    ConfigRejected {
        /// Title of the server.
        server: String,
        /// The file.
        config: PathBuf,
        /// How the check ended.
        status: String,
        /// The line and what to do; empty or a clause.
        hint: String,
    },
    /// The keeper could not start or was lost.
    #[error("keep the server under control: {cause}")]
    Keeper {
        /// What happened.
        cause: String,
    },
    /// The server ended before it answered.
    #[error("the server ended before it answered: {status}")]
    Died {
        /// How it ended.
        status: String,
    },
    /// The port belongs to another process.
    #[error("port {port} is used by {owner}; stop that or configure another port")]
    PortTaken {
        /// The port.
        port: u16,
        /// Who has it.
        owner: String,
    },
    /// A process of the server's is there, and the system does not show what it has open.
    #[error(
        "the system does not show which sockets process {process} of the server has open, so \
         bakeoff cannot tell whether it listens: {remedy}"
    )]
    Hidden {
        /// Number and name.
        process: String,
        /// What to do.
        remedy: String,
    },
    /// No listening socket appeared.
    #[error("the server did not listen within {within:?}{aside}")]
    NeverListened {
        /// How long bakeoff waited.
        within: Duration,
        /// What was seen instead; empty or a clause.
        aside: String,
    },
    /// It listens and answers, and the answer is not the expected one.
    #[error(
        "the server did not answer as expected{}: expected {expected}; got {got}{hint}",
        waited(*.within)
    )]
    WrongAnswer {
        /// How long bakeoff waited; `None` where it did not, because the answer was complete.
        within: Option<Duration>,
        /// Status, length and beginning of the body.
        expected: String,
        /// The same of the last answer.
        got: String,
        /// What to try; empty or a clause.
        hint: String,
    },
    /// A server with a user's own configuration speaks to an address that has no part in the trial.
    #[error(
        "{server} is connected to {peer}, which is no upstream of the trial; no rule of bakeoff \
         knows the line that says so: put the built-in upstream there, `{{{{ origin }}}}` in a \
         template or by `replace` in a plan, or take the line out (docs/plan-files.md)"
    )]
    ForeignPeer {
        /// Title of the server.
        server: String,
        /// Whom it speaks to.
        peer: SocketAddr,
    },
    /// A server with a user's own configuration can be reached by other machines.
    #[error(
        "{server} listens at {address}, where other machines reach it; no rule of bakeoff knows \
         the line that says so: write 127.0.0.1 there, or `{{{{ address }}}}` in a template \
         (docs/plan-files.md)"
    )]
    OpenListener {
        /// Title of the server.
        server: String,
        /// Where it listens.
        address: SocketAddr,
    },
    /// A URL that is to be answered already is not.
    #[error("ask {url}: {cause}; start what answers there, or use --start 'COMMAND'")]
    NobodyAnswers {
        /// As the plan has it.
        url: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The program of a command is not there.
    #[error(
        "start `{program}`: it is neither on the search path nor below {folder}; install it, or \
         write its full path"
    )]
    NoProgram {
        /// First word of the command.
        program: String,
        /// Where the command runs.
        folder: PathBuf,
    },
    /// The file that a command names is no program.
    #[error(
        "start `{program}`: it is not executable; make it so with chmod +x, or write what runs it, \
         such as `sh {program}`"
    )]
    NotExecutable {
        /// First word of the command.
        program: String,
    },
    /// Something that is not here; nothing can be measured before it is.
    #[error("{reason}; {fix}")]
    Lacking {
        /// What is missing.
        reason: String,
        /// How to get it.
        fix: String,
    },
    /// The user's container engine did not do what it was asked.
    #[error("{order}: {said}")]
    Engine {
        /// What it was to do.
        order: String,
        /// How it ended, and what it said last.
        said: String,
    },
    /// The network of a container or a box cannot be entered.
    #[error("enter the server's own network: {cause}; it takes root with CAP_SYS_ADMIN")]
    Network {
        /// The system's error.
        cause: std::io::Error,
    },
    /// A command that runs before each trial failed.
    #[error("run `{command}` before the trial: {status}")]
    Fresh {
        /// As the plan has it.
        command: String,
        /// How it ended.
        status: String,
    },
    /// One request outside the window failed.
    #[error("fetch {url}: {cause}")]
    Fetch {
        /// Where.
        url: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// Somebody asked bakeoff to end.
    #[error("finish: interrupted")]
    Interrupted,
    /// Something was left after the stop.
    #[error("stop the server completely: {left}")]
    Survived {
        /// What is left.
        left: String,
    },
}

fn waited(within: Option<Duration>) -> String {
    within.map_or(String::new(), |within| format!(" within {within:?}"))
}

impl StageError {
    pub(crate) fn new(step: Step, cause: Cause) -> Self {
        Self {
            step,
            cause: Box::new(cause),
            message: None,
        }
    }

    pub(crate) fn with_message(mut self, message: impl Into<String>) -> Self {
        let message = message.into();
        self.message = (!message.trim().is_empty()).then_some(message);
        self
    }

    /// A file that could not be read or written at a step.
    pub(crate) fn file(step: Step, path: impl Into<PathBuf>, cause: std::io::Error) -> Self {
        Self::new(
            step,
            Cause::File {
                path: path.into(),
                cause,
            },
        )
    }

    /// Whether a disk was full. The server is not at fault, and every later trial would fail too.
    pub fn is_full_disk(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(&*self.cause, Cause::File { cause, .. }
            if matches!(cause.kind(), StorageFull | QuotaExceeded))
    }

    /// How a trial ends that met this error: what the server cannot do is `unsupported`, what is
    /// not installed is `skipped`, everything else has failed.
    pub fn trial_end(&self) -> TrialEnd {
        match &*self.cause {
            Cause::Unsupported { reason } => TrialEnd::Unsupported {
                reason: reason.clone(),
            },
            Cause::NotInstalled {
                server,
                program,
                install,
            } => TrialEnd::Skipped {
                reason: format!("{server} is not installed: no `{program}` was found"),
                fix: install.clone(),
            },
            Cause::WrongVersion {
                server,
                wanted,
                found,
                install,
            } => TrialEnd::Skipped {
                reason: format!("version {wanted} of {server} is not installed; found {found}"),
                fix: install.clone(),
            },
            Cause::Lacking { reason, fix } => TrialEnd::Skipped {
                reason: reason.clone(),
                fix: fix.clone(),
            },
            cause => TrialEnd::Failed {
                step: self.step,
                cause: cause.to_string(),
                message: self.message.clone(),
            },
        }
    }
}
