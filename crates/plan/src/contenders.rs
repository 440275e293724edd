//! Turns contender tables of a plan into [`Contender`]s: servers with a folder, commands, or URLs.
//!
//! It checks names and keys, and reads no configuration file: the plan gives paths only.

use std::path::{Component, Path, PathBuf};

use crate::container::container;
use crate::contender::{
    ConfigSource, Contender, OwnAnswer, OwnCommand, RunningUrl, ServerChoice, Stopping,
};
use crate::error::{At, Place, PlanError};
use crate::file::ContenderTable;
use crate::library::Library;
use crate::limits;
use crate::model::Plan;
use crate::readiness::Readiness;
use crate::request::{Changing, SentBody};
use crate::requests::digest;
use crate::rules::{self, Fault};
use crate::source::Source;
use crate::url::Url;

/// Servers built into bakeoff: references, not contenders.
pub const RESERVED: [&str; 2] = ["yardstick", "origin"];

/// Variant of a contender that does not say.
const DEFAULT_CONFIG: &str = "default";

/// What a table is about, and the key that says so.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Server,
    Command,
    Url,
    Image,
    Compose,
}

impl Kind {
    fn key(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Command => "command",
            Self::Url => "url",
            Self::Image => "image",
            Self::Compose => "compose",
        }
    }
}

/// The contenders of a plan's tables.
pub(crate) fn contenders(
    source: &Source<'_>,
    tables: &[ContenderTable],
    base: &Path,
    library: &dyn Library,
) -> Result<Vec<Contender>, PlanError> {
    let mut contenders: Vec<Contender> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let at = |key: &str| source.place(&format!("contender.{index}.{key}"));
        contender_name(&table.name).map_err(|fault| fault.at(at("name")))?;
        if let Some(name) = &table.host {
            host(name).map_err(|fault| fault.at(at("host")))?;
        }
        let kind = kind(table, &at)?;
        let made = match kind {
            Kind::Server => servers(table, base).map_err(|(key, fault)| fault.at(at(key)))?,
            Kind::Command => vec![(table.name.clone(), command(table, base, &at)?)],
            Kind::Url => vec![(table.name.clone(), running(table, base, &at)?)],
            Kind::Image | Kind::Compose => {
                variables(table).map_err(|fault| fault.at(at("env")))?;
                let made = container(table, ready(table, &at)?, base, &at, absolute)?;
                vec![(table.name.clone(), ServerChoice::Container(made))]
            }
        };
        for (_, server) in &made {
            is_known(server, &at, library)?;
        }
        for (name, server) in made {
            if contenders.iter().any(|other| other.name == name) {
                let fix = "give each contender a name of its own";
                return Err(PlanError::twice(at("name"), "contender", &name, fix));
            }
            contenders.push(Contender {
                name,
                server,
                overlays: table.overlay.clone().into_iter().collect(),
                certificate: table.certificate,
                host: table.host.clone(),
                replacements: table.replace.clone(),
                user: table.user.clone(),
                limits: limits::of_table(table.limits.as_ref(), &at)?,
                action_command: table.change.clone(),
                answers: answers(table, &at)?,
            });
        }
    }
    Ok(contenders)
}

/// Refuses a server that `library` does not have, and a configuration that is not there.
fn is_known(server: &ServerChoice, at: At<'_>, library: &dyn Library) -> Result<(), PlanError> {
    let ServerChoice::Program { server, config, .. } = server else {
        return Ok(());
    };
    let known = library.server_names();
    if !known.is_empty() && !known.contains(server) {
        return Err(PlanError::unknown(at("server"), "server", server, known));
    }
    match config {
        ConfigSource::File(path) if !library.has_file(path) => {
            let problem = format!("there is no file {}", path.display());
            let fix = "write a path from the plan's folder, or the name of a variant";
            Err(Fault::new(problem, fix).at(at("config")))
        }
        _ => Ok(()),
    }
}

/// What the table is about; keys of another kind beside it are refused.
fn kind(table: &ContenderTable, at: At<'_>) -> Result<Kind, PlanError> {
    let said = [
        (Kind::Server, table.server.is_some()),
        (Kind::Command, table.command.is_some()),
        (Kind::Url, table.url.is_some()),
        (Kind::Image, table.image.is_some()),
        (Kind::Compose, table.compose.is_some()),
    ];
    let mut said = said
        .iter()
        .filter(|(_, is_said)| *is_said)
        .map(|(kind, _)| *kind);
    let Some(kind) = said.next() else {
        return Err(PlanError::MissingKey {
            place: at(""),
            key: "server".to_owned(),
            table: "contender".to_owned(),
            fix: "`server = \"nginx\"`, or `command`, `url`, `image` or `compose`".to_owned(),
        });
    };
    if let Some(other) = said.next() {
        let (one, other) = (kind.key(), other.key());
        let problem = format!("`{one}` and `{other}` both say what answers");
        return Err(conflict(at(other), problem, "keep one of them"));
    }
    match foreign_key(table, kind) {
        None => Ok(kind),
        Some((key, problem)) => Err(conflict(at(key), problem, "take it out")),
    }
}

fn conflict(place: Box<Place>, problem: String, fix: &str) -> PlanError {
    Fault::new(problem, fix).at(place)
}

/// The first key of another kind, and whose it is.
fn foreign_key(table: &ContenderTable, kind: Kind) -> Option<(&'static str, String)> {
    let server = [Kind::Server].as_slice();
    let command = [Kind::Command].as_slice();
    let image = [Kind::Image].as_slice();
    let (mounted, contained) = ([Kind::Server, Kind::Image], [Kind::Image, Kind::Compose]);
    let keys = [
        ("version", table.version.is_some(), server),
        ("versions", table.versions.is_some(), server),
        ("binary", table.binary.is_some(), server),
        ("config", table.config.is_some(), &mounted),
        ("overlay", !table.overlay.is_empty(), server),
        ("replace", !table.replace.is_empty(), server),
        ("user", table.user.is_some(), &[Kind::Server, Kind::Command]),
        (
            "limits",
            table.limits.is_some(),
            &[Kind::Server, Kind::Command, Kind::Image],
        ),
        ("env", !table.env.is_empty(), &[Kind::Command, Kind::Image]),
        (
            "ready",
            table.ready.is_some(),
            &[Kind::Command, Kind::Image, Kind::Compose],
        ),
        ("args", !table.args.is_empty(), image),
        ("port", table.port.is_some(), &contained),
        ("service", table.service.is_some(), &[Kind::Compose]),
        ("stop", table.stop.is_some(), command),
        (
            "fresh",
            !table.fresh.is_empty(),
            &[Kind::Command, Kind::Url],
        ),
        (
            "folder",
            table.folder.is_some(),
            &[Kind::Command, Kind::Url],
        ),
    ];
    let (key, _, kinds) = keys
        .iter()
        .find(|(_, is_said, kinds)| *is_said && !kinds.contains(&kind))?;
    let names: Vec<String> = kinds.iter().map(|it| format!("`{}`", it.key())).collect();
    let problem = format!(
        "`{key}` belongs to {}, and not to `{}`",
        names.join(" or "),
        kind.key()
    );
    Some((key, problem))
}

/// The servers with a folder that a table stands for, each with its contender's name.
fn servers(
    table: &ContenderTable,
    base: &Path,
) -> Result<Vec<(String, ServerChoice)>, (&'static str, Fault)> {
    let name = table.server.clone().unwrap_or_default();
    server(&name).map_err(|fault| ("server", fault))?;
    for (key, text) in [("version", &table.version), ("binary", &table.binary)] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err((key, empty(key)));
        }
    }
    if let Some(name) = table.overlay.keys().find(|name| !is_variable(name)) {
        let problem = format!("`{}` cannot be a template variable", name.escape_debug());
        let fix = "use letters, digits and `_`, and begin with a letter";
        return Err(("overlay", Fault::new(problem, fix)));
    }
    let text = table.config.as_deref().unwrap_or(DEFAULT_CONFIG);
    let config = config(text, base).map_err(|fault| ("config", fault))?;
    own_file(table, &config)?;
    let binary = table.binary.as_ref();
    let binary = binary.map(|binary| program(binary, base)).transpose();
    let binary = binary.map_err(|fault| ("binary", fault))?;
    let named = versions(table).map_err(|fault| ("versions", fault))?;
    let choice = |version| ServerChoice::Program {
        server: name.clone(),
        version,
        binary: binary.clone(),
        config: config.clone(),
    };
    let made = named
        .into_iter()
        .map(|(name, version)| (name, choice(version)));
    Ok(made.collect())
}

fn command(table: &ContenderTable, base: &Path, at: At<'_>) -> Result<ServerChoice, PlanError> {
    let command = table.command.clone().unwrap_or_default();
    if command.trim().is_empty() || command.contains('\0') {
        return Err(empty("command").at(at("command")));
    }
    variables(table).map_err(|fault| fault.at(at("env")))?;
    let ready = ready(table, at)?;
    let stop = table.stop.as_ref().map(|stop| Stopping {
        signal: stop.signal,
        grace: stop.grace.0,
    });
    let stop = stop.unwrap_or_default();
    rules::pause("grace", stop.grace).map_err(|fault| fault.at(at("stop.grace")))?;
    Ok(ServerChoice::Command(OwnCommand {
        command,
        environment: table.env.clone().into_iter().collect(),
        folder: folder(table, base, at)?,
        fresh: fresh(table, at)?,
        ready,
        stop,
    }))
}

/// Refuses what cannot be a variable of an environment.
fn variables(table: &ContenderTable) -> Result<(), Fault> {
    let is_bad = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    let Some(name) = table.env.keys().find(is_bad) else {
        return Ok(());
    };
    let problem = format!("`{}` cannot be a variable", name.escape_debug());
    Err(Fault::new(problem, "write `env = { NAME = \"value\" }`"))
}

fn ready(table: &ContenderTable, at: At<'_>) -> Result<Readiness, PlanError> {
    let Some(ready) = &table.ready else {
        return Ok(Readiness::default());
    };
    if let Some(path) = &ready.path {
        rules::target(path).map_err(|fault| fault.at(at("ready.path")))?;
    }
    Ok(ready.clone())
}

fn running(table: &ContenderTable, base: &Path, at: At<'_>) -> Result<ServerChoice, PlanError> {
    let url = table.url.as_deref().unwrap_or_default();
    Ok(ServerChoice::Url(RunningUrl {
        url: Url::read(url).map_err(|fault| fault.at(at("url")))?,
        fresh: fresh(table, at)?,
        folder: folder(table, base, at)?,
    }))
}

fn folder(table: &ContenderTable, base: &Path, at: At<'_>) -> Result<PathBuf, PlanError> {
    let folder = table.folder.as_deref().unwrap_or("");
    let folder = absolute(folder, base).map_err(|fault| fault.at(at("folder")))?;
    Ok(folder)
}

fn fresh(table: &ContenderTable, at: At<'_>) -> Result<Vec<String>, PlanError> {
    let is_empty = |command: &String| command.trim().is_empty() || command.contains('\0');
    match table.fresh.iter().position(is_empty) {
        Some(index) => Err(empty("fresh").at(at(&format!("fresh.{index}")))),
        None => Ok(table.fresh.clone()),
    }
}

/// The right answers that a table says of its contender alone.
fn answers(table: &ContenderTable, at: At<'_>) -> Result<Vec<OwnAnswer>, PlanError> {
    let each = table.answer.iter().enumerate();
    each.map(|(index, entry)| {
        let read = |sha256: Option<&str>, key: &str| {
            let place = || at(&format!("answer.{index}.{key}"));
            let read = sha256.map(digest).transpose();
            read.map_err(|fault| fault.at(place()))
        };
        let changing = |seen: &Changing| {
            Ok::<_, PlanError>(Changing {
                bytes: seen.bytes,
                rest_sha256: read(seen.rest_sha256.as_deref(), "changing.rest_sha256")?,
            })
        };
        Ok(OwnAnswer {
            workload: entry.workload.clone(),
            request: entry.request,
            status: entry.status,
            body: SentBody {
                bytes: entry.bytes,
                sha256: read(entry.sha256.as_deref(), "sha256")?,
                changing: entry.changing.as_ref().map(changing).transpose()?,
            },
        })
    })
    .collect()
}

/// Refuses answers of contenders to what the plan does not ask.
pub(crate) fn own_answers(
    source: &Source<'_>,
    tables: &[ContenderTable],
    plan: &Plan,
) -> Result<(), PlanError> {
    for (index, table) in tables.iter().enumerate() {
        for (number, answer) in table.answer.iter().enumerate() {
            let at = |key: &str| source.place(&format!("contender.{index}.answer.{number}.{key}"));
            let mut workloads = plan.workloads.iter();
            let Some(workload) = workloads.find(|it| it.name == answer.workload) else {
                let known: Vec<String> = plan.workloads.iter().map(|it| it.name.clone()).collect();
                return Err(PlanError::unknown(
                    at("workload"),
                    "workload",
                    &answer.workload,
                    known,
                ));
            };
            if answer.request as usize >= workload.requests.len() {
                let count = workload.requests.len();
                let problem = format!("workload `{}` has {count} requests", workload.name);
                let fix = "count them from 0";
                return Err(Fault::new(problem, fix).at(at("request")));
            }
        }
    }
    Ok(())
}

/// What a contender says of a file of the user's own, and the key of it that is wrong.
fn own_file(table: &ContenderTable, config: &ConfigSource) -> Result<(), (&'static str, Fault)> {
    if !table.replace.is_empty() && matches!(config, ConfigSource::Variant(_)) {
        let problem = "`replace` changes files of your own, and this is a ready variant";
        let fix = "name a file in `config`, as ./Caddyfile and no bare word, or use `overlay`";
        return Err(("replace", Fault::new(problem, fix)));
    }
    if table.replace.iter().any(|it| it.from.trim().is_empty()) {
        Err(("replace", empty("from")))
    } else {
        Ok(())
    }
}

/// A name that a server is asked by.
fn host(host: &str) -> Result<(), Fault> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if !host.is_empty() && host.len() <= 253 && host.chars().all(is_letter) {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{}` is no name of a host", host.escape_debug()),
        "write a name such as www.example.com, without a port",
    ))
}

/// Names and versions of the contenders that a table stands for: one, or one of each version.
fn versions(table: &ContenderTable) -> Result<Vec<(String, Option<String>)>, Fault> {
    let Some(versions) = &table.versions else {
        return Ok(vec![(table.name.clone(), table.version.clone())]);
    };
    for (key, is_there) in [
        ("version", table.version.is_some()),
        ("binary", table.binary.is_some()),
    ] {
        if is_there {
            let problem = format!("`versions` and `{key}` both say which program is meant");
            return Err(Fault::new(problem, "take one of them out"));
        }
    }
    let mut named = Vec::new();
    for version in versions {
        if version.trim().is_empty() {
            return Err(empty("versions"));
        }
        let name = format!("{}-{version}", table.name);
        rules::name(&name)?;
        named.push((name, Some(version.clone())));
    }
    Ok(named)
}

pub(crate) fn contender_name(name: &str) -> Result<(), Fault> {
    rules::name(name)?;
    if RESERVED.contains(&name) {
        let problem = format!("`{name}` is the name of a built-in reference");
        return Err(Fault::new(problem, "give the contender another name"));
    }
    Ok(())
}

pub(crate) fn server(name: &str) -> Result<(), Fault> {
    if RESERVED.contains(&name) {
        return Err(Fault::new(
            format!("`{name}` is built in and no contender"),
            format!(
                "it is measured beside the contenders: write `{name} = true` in `[references]`"
            ),
        ));
    }
    rules::name(name)
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn config(text: &str, base: &Path) -> Result<ConfigSource, Fault> {
    if text.trim().is_empty() {
        return Err(empty("config"));
    }
    if text.contains(['/', '.']) {
        return Ok(ConfigSource::File(absolute(text, base)?));
    }
    rules::name(text)?;
    Ok(ConfigSource::Variant(text.to_owned()))
}

/// A program's path; a bare name stays one, for the search path.
fn program(text: &str, base: &Path) -> Result<PathBuf, Fault> {
    if text.contains('/') {
        absolute(text, base)
    } else {
        Ok(PathBuf::from(text))
    }
}

fn absolute(text: &str, base: &Path) -> Result<PathBuf, Fault> {
    let path: PathBuf = base
        .join(text)
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    // The resolved plan is TOML, and TOML is UTF-8.
    if path.to_str().is_none_or(|path| path.contains('\0')) {
        let problem = format!(
            "`{}` lies in a folder whose name is not text",
            text.escape_debug()
        );
        return Err(Fault::new(
            problem,
            "move the plan to a folder with a plain name",
        ));
    }
    Ok(path)
}

fn empty(key: &str) -> Fault {
    Fault::new(format!("`{key}` is empty"), "fill it or take it out")
}
