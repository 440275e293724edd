//! What each argument of a race is: a URL, a server, a configuration file, or the path to ask for.

use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_plan::{
    ConfigSource, Contender, OwnCommand, Readiness, RunningUrl, ServerChoice, Stopping, Url,
    nearest,
};
use bakeoff_record::read_regular;
use bakeoff_stage::{Server, Servers};

use super::name;
use crate::exit;
use crate::flags::RaceFlags;
use crate::library::Folder;

/// Longest configuration file that is looked into.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// What the arguments came to.
#[derive(Debug)]
pub(super) struct Operands {
    pub(super) contenders: Vec<Contender>,
    /// What is asked for.
    pub(super) path: Option<String>,
    /// Whether all are servers with templates of their own.
    pub(super) are_of_the_library: bool,
    /// Whether a configuration file asks an upstream.
    pub(super) has_upstream: bool,
}

/// One argument.
enum Operand {
    Url(Url),
    Server {
        name: String,
        version: Option<String>,
        variant: String,
    },
    File {
        path: PathBuf,
        server: String,
        has_upstream: bool,
    },
    Command(String),
}

/// Reads the arguments, then the commands of `--start`.
pub(super) fn read(flags: &RaceFlags, library: &Folder) -> anyhow::Result<Operands> {
    let here = std::env::current_dir().context("failed to find the current folder")?;
    let servers = library.servers();
    let (path, what) = match flags.what.split_last() {
        Some((last, others)) if is_path(last, &here) => (Some(asked_path(last)?), others),
        _ => (None, flags.what.as_slice()),
    };
    if let (Some(path), Some(workload)) = (&path, &flags.workload) {
        return Err(exit::usage(format!(
            "the path {path} and --workload {workload} both say what is asked; leave one of them \
             out"
        )));
    }
    let mut operands = Vec::new();
    for text in what {
        operands.push(operand(text, &here, &servers, flags.server.as_deref())?);
    }
    operands.extend(flags.start.iter().cloned().map(Operand::Command));
    let folder = match &flags.folder {
        Some(folder) => here.join(folder),
        None => here,
    };
    let is_of_library = |operand: &Operand| matches!(operand, Operand::Server { .. });
    let asks =
        |operand: &Operand| matches!(operand, Operand::File { has_upstream, .. } if *has_upstream);
    Ok(Operands {
        are_of_the_library: operands.iter().all(is_of_library),
        has_upstream: operands.iter().any(asks),
        contenders: contenders(&operands, &folder, host_of(flags)),
        path,
    })
}

/// Whether the last argument is what is asked for: a path that is no file here.
fn is_path(text: &str, here: &Path) -> bool {
    text.starts_with('/') && !here.join(text).exists()
}

fn asked_path(text: &str) -> anyhow::Result<String> {
    let url = Url::parse(&format!("http://localhost{text}")).map_err(|_| {
        exit::usage(format!(
            "`{text}` is not a path to ask for; write blanks and other signs as %20 and so on"
        ))
    })?;
    Ok(url.path)
}

/// A `Host` header is the name that all are asked by.
fn host_of(flags: &RaceFlags) -> Option<String> {
    let mut headers = flags.request.headers.iter();
    let host = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    host.map(|(_, value)| value.clone())
}

fn operand(
    text: &str,
    here: &Path,
    servers: &Servers,
    server: Option<&str>,
) -> anyhow::Result<Operand> {
    if text.contains("://") {
        return Url::parse(text).map(Operand::Url).map_err(exit::usage);
    }
    let path = here.join(text);
    if path.is_file() {
        return file(path, servers, server);
    }
    let is_port = |port: &str| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    if let Some((host, port)) = text.rsplit_once(':')
        && is_port(port.split('/').next().unwrap_or_default())
    {
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        let url = Url::parse(&format!("http://{host}:{port}"));
        return url.map(Operand::Url).map_err(exit::usage);
    }
    if text.starts_with('.') || text.contains('/') {
        return Err(exit::usage(format!("there is no file {text}")));
    }
    library_server(text, servers)
}

/// `SERVER`, `SERVER@VERSION`, `SERVER:VARIANT` or both.
fn library_server(text: &str, servers: &Servers) -> anyhow::Result<Operand> {
    let (text, variant) = match text.split_once(':') {
        Some((text, variant)) => (text, Some(variant)),
        None => (text, None),
    };
    let (name, version) = match text.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (text, None),
    };
    if version.is_some_and(str::is_empty) || variant.is_some_and(str::is_empty) {
        return Err(exit::usage(format!(
            "`{text}` lacks a version or a variant; write it as caddy@2.8.4 or nginx:optimized"
        )));
    }
    let known = servers.names();
    if !known.contains(name) {
        let near = nearest(name, known.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |name| format!("; did you mean {name}?"));
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return Err(exit::usage(format!(
            "`{text}` is no server, file or URL{hint}; servers are {}; a URL begins with http://, \
             and a command is given with --start",
            known.join(", ")
        )));
    }
    let found = servers.find(name).map_err(super::super::stage_error)?;
    let variant = variant.unwrap_or("default").to_owned();
    let variants: Vec<&str> = found.variants().collect();
    if !variants.contains(&variant.as_str()) {
        return Err(exit::usage(format!(
            "{name} has no variant {variant}; it has {}",
            variants.join(", ")
        )));
    }
    Ok(Operand::Server {
        name: name.to_owned(),
        version: version.map(str::to_owned),
        variant,
    })
}

fn file(path: PathBuf, servers: &Servers, server: Option<&str>) -> anyhow::Result<Operand> {
    let shown = path.display();
    let failed =
        |cause: &dyn std::fmt::Display| exit::usage(format!("failed to read {shown}: {cause}"));
    let bytes = read_regular(&path, CONFIG_BYTES_MAX).map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&bytes);
    let found: Server = match server {
        Some(name) => servers.find(name).map_err(super::super::stage_error)?,
        None => {
            let mut names = servers.recognise(&path, &text).servers;
            match (names.pop(), names.as_slice()) {
                (Some(name), []) => servers.find(&name).map_err(super::super::stage_error)?,
                (Some(last), others) => {
                    return Err(exit::usage(format!(
                        "{shown} may be a configuration of {} or {last}; add --server {last}",
                        others.join(", ")
                    )));
                }
                (None, _) => {
                    return Err(exit::usage(format!(
                        "{shown} does not look like a configuration of any server known here; add \
                         --server NAME, or --start 'COMMAND' to start it yourself"
                    )));
                }
            }
        }
    };
    Ok(Operand::File {
        has_upstream: found.has_upstream(&text),
        server: found.name,
        path,
    })
}

/// The contenders of all, each with a name of its own.
fn contenders(operands: &[Operand], folder: &Path, host: Option<String>) -> Vec<Contender> {
    let files = operands.iter().filter_map(|operand| match operand {
        Operand::File { path, .. } => Some(name::of_file(path, false)),
        _ => None,
    });
    let files: Vec<String> = files.collect();
    let mut taken: Vec<String> = Vec::new();
    let mut contenders = Vec::new();
    for operand in operands {
        let (name, server) = choice(operand, folder, &files);
        let name = name::free(name, &taken);
        taken.push(name.clone());
        let mut contender = Contender::plain(name, server);
        contender.host = host.clone();
        contenders.push(contender);
    }
    contenders
}

fn choice(operand: &Operand, folder: &Path, files: &[String]) -> (String, ServerChoice) {
    match operand {
        Operand::Url(url) => {
            let running = RunningUrl {
                url: url.clone(),
                fresh: Vec::new(),
                folder: folder.to_owned(),
            };
            (name::of_url(url), ServerChoice::Url(running))
        }
        Operand::Command(command) => {
            let own = OwnCommand {
                command: command.clone(),
                environment: Vec::new(),
                folder: folder.to_owned(),
                fresh: Vec::new(),
                ready: Readiness::default(),
                stop: Stopping::default(),
            };
            (name::of_command(command), ServerChoice::Command(own))
        }
        Operand::Server {
            name,
            version,
            variant,
        } => {
            let variant_name = Some(variant.as_str()).filter(|it| *it != "default");
            let parts = [Some(name.as_str()), version.as_deref(), variant_name];
            let parts: Vec<&str> = parts.into_iter().flatten().collect();
            let server = ServerChoice::Program {
                server: name.clone(),
                version: version.clone(),
                binary: None,
                config: ConfigSource::Variant(variant.clone()),
            };
            (name::slug(&parts.join(" ")), server)
        }
        Operand::File { path, server, .. } => {
            let short = name::of_file(path, false);
            let is_long = files.iter().filter(|name| **name == short).count() > 1;
            let choice = ServerChoice::Program {
                server: server.clone(),
                version: None,
                binary: None,
                config: ConfigSource::File(path.clone()),
            };
            (name::of_file(path, is_long), choice)
        }
    }
}
