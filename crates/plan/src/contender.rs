//! What is compared: a program, a command or a URL, and what of it differs from the others.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::container::OwnContainer;
use crate::limits::Limits;
use crate::readiness::Readiness;
use crate::request::SentBody;
use crate::stored;
use crate::url::Url;

/// What is compared: a server, a version or build of it, and one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// Unique in the plan.
    pub name: String,
    /// What answers.
    pub server: ServerChoice,
    /// Values for the configuration template's variables, changed from its defaults.
    pub overlays: Vec<(String, String)>,
    /// Key of the certificate that it shows over TLS.
    pub certificate: CertificateKey,
    /// Name that it is asked by (`Host`, and SNI over TLS) instead of its address.
    pub host: Option<String>,
    /// Texts changed in a configuration file of the user's own.
    pub replacements: Vec<Replacement>,
    /// The system's user that it runs as where bakeoff runs as root; `None` leaves that to the
    /// server's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What it may use at the most; `None` for all that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// A command for a shell that carries out a change, in place of what the server's folder says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_command: Option<String>,
    /// Right answers that are its own: what it answered first, where contenders differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<OwnAnswer>,
}

/// A right answer of one contender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnAnswer {
    /// Workload's name.
    pub workload: String,
    /// Position of the request in the workload, from 0.
    pub request: u32,
    /// Status.
    pub status: u16,
    /// Body as sent.
    pub body: SentBody,
}

impl Contender {
    /// Its own right answer to a request of a workload.
    pub fn own_answer(&self, workload: &str, request: usize) -> Option<&OwnAnswer> {
        let mut answers = self.answers.iter();
        answers.find(|it| it.workload == workload && it.request as usize == request)
    }
}

/// A text changed in the lines of a user's own configuration files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// As it stands there; must be found, and may be often.
    #[schemars(extend("examples" = ["/var/www/site"]))]
    pub from: String,
    /// A template of what stands there instead.
    #[schemars(extend("examples" = ["{{ root }}"]))]
    pub to: String,
}

/// Key of a certificate, and so what a full TLS handshake costs the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateKey {
    /// ECDSA on the curve P-256.
    #[default]
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    /// RSA of 2,048 bits.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
}

/// What answers a contender's requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServerChoice {
    /// A program described by a folder in `servers/`.
    Program {
        /// Folder name in `servers/`, such as `nginx`.
        server: String,
        /// Version that must be found, as a prefix by dotted part: `1.22` accepts `1.22.1`.
        version: Option<String>,
        /// This program instead of the one on the search path.
        binary: Option<PathBuf>,
        /// Where the configuration comes from.
        config: ConfigSource,
    },
    /// A command line of the user's own.
    Command(OwnCommand),
    /// Whatever answers a URL; it is neither started nor stopped.
    Url(RunningUrl),
    /// A server in a container.
    Container(OwnContainer),
    /// The built-in null server.
    #[serde(deserialize_with = "stored::nothing_more")]
    Yardstick,
    /// The built-in upstream, asked directly.
    #[serde(deserialize_with = "stored::nothing_more")]
    Origin,
}

/// A server that is started by a command line of the user's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnCommand {
    /// As a shell takes it; `{port}`, `{root}` and `{origin}` become those of the trial.
    pub command: String,
    /// Variables of its environment, besides `PORT`.
    pub environment: Vec<(String, String)>,
    /// Working folder, absolute.
    pub folder: PathBuf,
    /// Commands that run before each trial.
    pub fresh: Vec<String>,
    /// When it counts as started.
    pub ready: Readiness,
    /// How it is asked to end.
    pub stop: Stopping,
}

/// How a command is asked to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopping {
    /// Signal.
    pub signal: StopSignal,
    /// Time until force follows.
    #[serde(rename = "grace_s", with = "stored::seconds")]
    pub grace: Duration,
}

impl Default for Stopping {
    fn default() -> Self {
        Self {
            signal: StopSignal::default(),
            grace: Duration::from_secs(2),
        }
    }
}

crate::named! {
    /// A signal that asks a process to end.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum StopSignal {
        /// SIGTERM.
        #[default]
        Term = "TERM",
        /// SIGINT, as Ctrl-C sends it.
        Int = "INT",
        /// SIGQUIT.
        Quit = "QUIT",
        /// SIGHUP.
        Hup = "HUP",
    }
}

/// A URL that is answered already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunningUrl {
    /// Where it is asked; requests go below its path.
    pub url: Url,
    /// Commands that run before each trial.
    pub fresh: Vec<String>,
    /// Working folder of these commands, absolute.
    pub folder: PathBuf,
}

/// Where a contender's configuration comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigSource {
    /// A variant among the templates of the server's folder: `default`, `optimized`.
    Variant(String),
    /// The user's own file, absolute, rendered as a template too.
    File(PathBuf),
}

impl ServerChoice {
    /// Whether it is a part of bakeoff, and so a reference.
    pub fn is_built_in(&self) -> bool {
        matches!(self, Self::Yardstick | Self::Origin)
    }
}

impl Contender {
    /// A contender with nothing of its own but a name and what answers.
    pub fn plain(name: impl Into<String>, server: ServerChoice) -> Self {
        Self {
            name: name.into(),
            server,
            overlays: Vec::new(),
            certificate: CertificateKey::default(),
            host: None,
            replacements: Vec::new(),
            user: None,
            limits: None,
            action_command: None,
            answers: Vec::new(),
        }
    }

    /// What a reader should know of it before any number; `None` where there is nothing.
    pub(crate) fn note(&self) -> Option<String> {
        let ServerChoice::Url(running) = &self.server else {
            return None;
        };
        let name = &self.name;
        let fresh = if running.fresh.is_empty() {
            "it is not a fresh server in each round, and keeps its caches"
        } else {
            "`fresh` ran before each trial instead of a new start"
        };
        let place = if running.url.is_on_this_machine() {
            ""
        } else {
            "; it is on another host, so the network is part of what is measured"
        };
        Some(format!(
            "{name} ran already at {}: {fresh}; bakeoff pinned it to no processors{place}",
            running.url
        ))
    }
}
