//! A server's folder: `server.toml` and the configuration templates.
//!
//! It reads the description. Whether the program is installed is found out in `program.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bakeoff_plan::{Action, Contender, Protocol, Workload};
use bakeoff_record::{Step, read_regular_text};
use regex_lite::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::change::Way;
use crate::error::{Cause, StageError};
use crate::files::is_below;
use crate::keeper::signal_named;
use crate::own::rules::{OwnRules, OwnTable};
use crate::source::Source;

/// A program that can be a contender, as its folder describes it.
#[derive(Debug, Clone)]
pub struct Server {
    /// Name of the folder.
    pub name: String,
    pub(crate) description: Description,
    pub(crate) version_pattern: Regex,
    pub(crate) identity: Option<Regex>,
    pub(crate) own: OwnRules,
    /// Whether its commands may be run to learn what a program is.
    pub(crate) may_ask: bool,
    files: Files,
}

/// Whose commands may be run to learn the version of a program and what it can do. The other
/// commands of a server run only when it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Those of every server.
    All,
    /// Those of the servers that are built in, and not those of a user's library.
    BuiltIn,
    /// None: what is known of a program is what `bakeoff install` noted.
    None,
}

/// Where the rest of a folder is read.
#[derive(Debug, Clone)]
pub(crate) enum Files {
    /// In the binary: name below `servers/` and text.
    Embedded(&'static [(&'static str, &'static str)]),
    /// On disk.
    Folder(PathBuf),
}

/// `server.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Description {
    pub(crate) title: String,
    /// Names that the program goes by, the usual one first.
    pub(crate) programs: Vec<String>,
    /// Searched after `PATH`.
    #[serde(default)]
    pub(crate) folders: Vec<PathBuf>,
    /// Ways to get it, for people.
    #[serde(default)]
    pub(crate) install: Vec<String>,
    /// Where `bakeoff install` gets it, the best first.
    #[serde(default)]
    pub(crate) source: Vec<Source>,
    /// Pattern of the `Server` header, or of `Via` where a proxy names itself there; absent when
    /// the server sends neither.
    pub(crate) identity: Option<String>,
    /// File name of the rendered configuration.
    pub(crate) config: String,
    pub(crate) version: Version,
    pub(crate) check: Option<CommandLine>,
    pub(crate) start: Start,
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) stop: Stop,
    /// What can be done to it under load, and how.
    #[serde(default)]
    pub(crate) change: BTreeMap<Action, Way>,
    /// Settings of its configuration, for people: the setting, then the server's name for it.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) variables: BTreeMap<String, String>,
    /// What its templates can speak.
    #[serde(default = "plain_only")]
    pub(crate) protocols: Vec<Protocol>,
    /// Variant, then workload, then file.
    #[serde(default)]
    pub(crate) templates: BTreeMap<String, BTreeMap<String, String>>,
    /// What a program must say to speak a protocol or to have counters, where not every build
    /// does.
    #[serde(default)]
    pub(crate) requires: Vec<Requires>,
    #[serde(default)]
    pub(crate) unsupported: Vec<Unsupported>,
    /// Fact of an unequal work, then the line of the configuration to change.
    #[serde(default)]
    pub(crate) remedies: BTreeMap<String, String>,
    /// What is known of images that it comes in.
    pub(crate) image: Option<ImageTable>,
    #[serde(default)]
    own: OwnTable,
}

/// Images that a server comes in.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageTable {
    /// Last parts of their names, without tags.
    pub(crate) names: Vec<String>,
    /// Where they have their configuration.
    pub(crate) config: String,
}

/// What a program must say of itself to speak a protocol, or to have counters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requires {
    pub(crate) protocol: Option<Protocol>,
    /// Whether it is about the server's own counters: a program that does not match runs without.
    #[serde(default)]
    pub(crate) counters: bool,
    pub(crate) command: Vec<String>,
    /// Must match what the command says.
    #[serde(deserialize_with = "pattern")]
    pub(crate) pattern: Regex,
    /// For people, where it does not.
    pub(crate) reason: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version {
    pub(crate) command: Vec<String>,
    /// Its first group is the version.
    pub(crate) pattern: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandLine {
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    pub(crate) command: Vec<String>,
    /// Folders that must be there, below that for everything that the server writes.
    #[serde(default)]
    pub(crate) folders: Vec<PathBuf>,
    /// User that the server and its other commands run as where bakeoff runs as root.
    pub(crate) user: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    /// Signal that asks the server to end, without `SIG`.
    pub(crate) signal: String,
    /// Time until force follows.
    pub(crate) grace_ms: u64,
}

/// What the server cannot do; an absent key stands for all.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unsupported {
    variant: Option<String>,
    workload: Option<String>,
    protocol: Option<Protocol>,
    reason: String,
}

/// A configuration template and where it comes from.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) file: String,
    pub(crate) text: String,
}

/// Longest file of a server's folder, bytes.
pub(crate) const FILE_BYTES_MAX: u64 = 16 << 20;

/// Variables that bakeoff sets by itself; an overlay may not.
const OWN_VARIABLES: [&str; 22] = [
    "action",
    "port",
    "status_port",
    "root",
    "overlay",
    "origin",
    "origin_ip",
    "origin_port",
    "run",
    "log",
    "workers",
    "cpus",
    "is_root",
    "binary",
    "config",
    "protocol",
    "tls",
    "h2",
    "h3",
    "certificate",
    "key",
    "certificate_and_key",
];

/// Where a trial's folder has changed copies of a user's own files.
pub(crate) const OWN_FOLDER: &str = "own";
/// Names in a trial's folders that bakeoff itself uses.
const OWN_FILES: [&str; 8] = [
    "run",
    "root",
    "tls",
    OWN_FOLDER,
    "included",
    "server.log",
    "check.log",
    "command.txt",
];

impl Server {
    /// Reads a folder whose `server.toml` holds `text`.
    pub(crate) fn parse(name: &str, text: &str, files: Files) -> Result<Self, StageError> {
        let file = match &files {
            Files::Embedded(_) => format!("servers/{name}/server.toml"),
            Files::Folder(folder) => folder.join("server.toml").display().to_string(),
        };
        let fail = |cause: String| {
            StageError::new(
                Step::Prepare,
                Cause::Description {
                    file: file.clone(),
                    cause,
                },
            )
        };
        let description: Description =
            toml::from_str(text).map_err(|cause| fail(cause.to_string()))?;
        description.check().map_err(&fail)?;
        let pattern = |key: &str, pattern: &str| {
            Regex::new(pattern).map_err(|cause| fail(format!("`{key}` is no pattern: {cause}")))
        };
        let version_pattern = pattern("version.pattern", &description.version.pattern)?;
        let identity = description.identity.as_deref();
        let identity = identity
            .map(|identity| pattern("identity", identity))
            .transpose()?;
        let own = description.own.rules().map_err(&fail)?;
        Ok(Self {
            name: name.to_owned(),
            own,
            description,
            version_pattern,
            identity,
            may_ask: true,
            files,
        })
    }

    /// The server, with its commands run only if they are among these.
    pub(crate) fn asking(mut self, asks: Asks) -> Self {
        self.may_ask = match asks {
            Asks::All => true,
            Asks::BuiltIn => matches!(self.files, Files::Embedded(_)),
            Asks::None => false,
        };
        self
    }

    /// The server's name as people write it.
    pub fn title(&self) -> &str {
        &self.description.title
    }

    /// Variants that have configuration templates.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        self.description.templates.keys().map(String::as_str)
    }

    /// Ways to get the program, or this version of it, for people.
    pub(crate) fn ways_to_install(&self, version: Option<&str>) -> Vec<String> {
        let others = self.description.install.iter().cloned();
        match (self.sources().next(), version) {
            (None, _) => others.collect(),
            // Other ways give the version that they give.
            (Some(_), Some(version)) => vec![format!("bakeoff install {}@{version}", self.name)],
            (Some(_), None) => {
                let own = format!("bakeoff install {}", self.name);
                [own].into_iter().chain(others).collect()
            }
        }
    }

    /// Where `bakeoff install` gets the program, the best first.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.description.source.iter()
    }

    /// The template for a workload, or why there is none.
    pub(crate) fn template(
        &self,
        variant: &str,
        workload: &Workload,
    ) -> Result<Template, StageError> {
        let fail = |cause| Err(StageError::new(Step::Prepare, cause));
        let protocol = workload.protocol;
        let workload = &workload.template;
        let matches = |entry: &&Unsupported| {
            entry.variant.as_ref().is_none_or(|named| named == variant)
                && entry
                    .workload
                    .as_ref()
                    .is_none_or(|named| named == workload)
                && entry.protocol.is_none_or(|named| named == protocol)
        };
        if let Some(entry) = self.description.unsupported.iter().find(matches) {
            return fail(Cause::Unsupported {
                reason: entry.reason.clone(),
            });
        }
        if !self.description.protocols.contains(&protocol) {
            let reason = format!(
                "the templates of {} do not speak {}",
                self.title(),
                protocol.name()
            );
            return fail(Cause::Unsupported { reason });
        }
        let Some(templates) = self.description.templates.get(variant) else {
            return fail(Cause::UnknownVariant {
                server: self.title().to_owned(),
                variant: variant.to_owned(),
                known: list(self.variants()),
            });
        };
        let Some(file) = templates.get(workload) else {
            return fail(Cause::NoTemplate {
                server: self.title().to_owned(),
                variant: variant.to_owned(),
                workload: workload.clone(),
            });
        };
        Ok(Template {
            file: file.clone(),
            text: self.read(file)?,
        })
    }

    /// The variables' defaults with a contender's overlays over them.
    pub(crate) fn variables(
        &self,
        contender: &Contender,
        any_allowed: bool,
    ) -> Result<BTreeMap<String, String>, StageError> {
        let mut variables = self.description.variables.clone();
        for (name, value) in &contender.overlays {
            let known = any_allowed || variables.contains_key(name);
            if !known || OWN_VARIABLES.contains(&name.as_str()) {
                let cause = Cause::UnknownVariable {
                    name: name.clone(),
                    server: self.title().to_owned(),
                    known: list(self.description.variables.keys().map(String::as_str)),
                };
                return Err(StageError::new(Step::Prepare, cause));
            }
            variables.insert(name.clone(), value.clone());
        }
        Ok(variables)
    }

    /// The text of a file of the folder.
    pub(crate) fn read(&self, file: &str) -> Result<String, StageError> {
        match &self.files {
            Files::Folder(folder) => {
                let path = folder.join(file);
                let text = if is_below(Path::new(file)) {
                    read_regular_text(&path, FILE_BYTES_MAX)
                } else {
                    let problem = "a template must lie below the server's folder";
                    Err(std::io::Error::other(problem))
                };
                text.map_err(|cause| StageError::file(Step::Prepare, path, cause))
            }
            Files::Embedded(table) => {
                let wanted = format!("{}/{file}", self.name);
                let found = table.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| {
                    let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
                    StageError::file(Step::Prepare, format!("servers/{wanted}"), cause)
                })
            }
        }
    }
}

impl Description {
    fn check(&self) -> Result<(), String> {
        if self.programs.is_empty() {
            return Err("`programs` names no program".to_owned());
        }
        self.check_paths()?;
        if signal_named(&self.stop.signal).is_none() {
            let signal = &self.stop.signal;
            return Err(format!(
                "`stop.signal` is `{signal}`; expected TERM, QUIT, INT or HUP"
            ));
        }
        for (action, way) in &self.change {
            way.check(*action)?;
        }
        let commands = [
            Some(&self.version.command),
            Some(&self.start.command),
            self.check.as_ref().map(|check| &check.command),
        ];
        let asked = self.requires.iter().map(|requires| &requires.command);
        if commands
            .into_iter()
            .flatten()
            .chain(asked)
            .any(Vec::is_empty)
        {
            return Err("a `command` is empty; expected a program and its arguments".to_owned());
        }
        self.source.iter().try_for_each(Source::check)?;
        let own = self
            .variables
            .keys()
            .find(|name| OWN_VARIABLES.contains(&name.as_str()));
        own.map_or(Ok(()), |name| {
            Err(format!("variable `{name}` is set by bakeoff itself"))
        })
    }
}

impl Description {
    /// Refuses paths that lead elsewhere than into the folders that they are for.
    fn check_paths(&self) -> Result<(), String> {
        let is_name = |name: &str| Path::new(name).file_name().is_some_and(|it| it == name);
        if let Some(program) = self.programs.iter().find(|name| !is_name(name)) {
            return Err(format!(
                "`programs` has `{program}`; expected a name without a folder"
            ));
        }
        let config = Path::new(&self.config);
        let first = config.iter().next().and_then(|part| part.to_str());
        if !is_below(config) || first.is_none_or(|first| OWN_FILES.contains(&first)) {
            return Err(format!(
                "`config` is `{}`; expected a name such as `server.conf`, and none of {}",
                self.config,
                list(OWN_FILES.into_iter())
            ));
        }
        let folders = self
            .start
            .folders
            .iter()
            .map(|it| ("start.folders", it.as_path()));
        let templates = self.templates.values().flat_map(BTreeMap::values);
        let templates = templates.map(|file| ("templates", Path::new(file)));
        match folders.chain(templates).find(|(_, path)| !is_below(path)) {
            None => Ok(()),
            Some((key, path)) => Err(format!(
                "`{key}` has `{}`; expected a path without `..` that does not begin with a slash",
                path.display()
            )),
        }
    }
}

fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(deserializer)?;
    Regex::new(&text).map_err(|cause| D::Error::custom(format!("no pattern: {cause}")))
}

/// What a folder speaks that does not say.
fn plain_only() -> Vec<Protocol> {
    vec![Protocol::H1]
}

/// Names for a sentence.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
