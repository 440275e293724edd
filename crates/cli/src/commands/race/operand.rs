//! What each argument of a race is: a URL, a server, a configuration file, or the path to ask for.

use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_plan::{
    ConfigSource, Contender, OwnCommand, Protocol, Readiness, RunningUrl, ServerChoice, Stopping,
    Url, nearest,
};
use bakeoff_stage::{Choice, Servers};

use super::super::own_file::{self, OwnFile};
use super::name;
use crate::exit;
use crate::flags::OperandFlags;
use crate::library::Folder;

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
    /// Whether one of them asks PHP.
    pub(super) has_php: bool,
    /// What the configuration files are there for, where all contenders can speak it.
    pub(super) protocol: Option<Protocol>,
    /// What was taken from the files, and why.
    pub(super) reasons: Vec<String>,
}

/// One argument.
enum Operand {
    Url(Url),
    Server {
        name: String,
        version: Option<String>,
        variant: String,
    },
    File(Box<OwnFile>),
    Command(String),
}

/// Reads the arguments, then the commands of `--start`.
pub(super) fn read(flags: &OperandFlags, library: &Folder) -> anyhow::Result<Operands> {
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
    let files = operands.iter().filter_map(|operand| match operand {
        Operand::File(file) => Some(&**file),
        _ => None,
    });
    let files: Vec<&OwnFile> = files.collect();
    let protocol = protocol(flags, &operands, &files);
    let choices = files.iter().map(|file| file.found.choice(protocol));
    let choices: Vec<Choice> = choices.collect();
    let path = path.or_else(|| choices.first().map(|choice| choice.path.clone()));
    Ok(Operands {
        are_of_the_library: operands.iter().all(is_of_library),
        has_upstream: files.iter().any(|file| file.has_upstream),
        has_php: files.iter().any(|file| file.has_php()),
        protocol,
        reasons: reasons(&files, &choices, flags),
        contenders: contenders(&operands, &folder, host_of(flags), protocol),
        path,
    })
}

/// The protocol of the flags, or what all files are there for; `None` where a running URL or a
/// command has its own.
fn protocol(flags: &OperandFlags, operands: &[Operand], files: &[&OwnFile]) -> Option<Protocol> {
    let is_open = |it: &Operand| matches!(it, Operand::File(_) | Operand::Server { .. });
    if flags.request.protocol.is_some() || !operands.iter().all(is_open) {
        return flags.request.protocol;
    }
    let found = files.iter().map(|file| &file.found);
    own_file::protocol_of_all(found).filter(|_| !files.is_empty())
}

/// What was chosen by what the files say, each with its file's name.
fn reasons(files: &[&OwnFile], choices: &[Choice], flags: &OperandFlags) -> Vec<String> {
    if host_of(flags).is_some() {
        return Vec::new();
    }
    let pairs = files.iter().zip(choices);
    let reasons = pairs.flat_map(|(file, choice)| {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        choice
            .reasons
            .iter()
            .map(move |reason| format!("{name}: {reason}"))
    });
    reasons.collect()
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
fn host_of(flags: &OperandFlags) -> Option<String> {
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
    let file = own_file::read(path, servers, server)?;
    match file.refusal() {
        Some(refusal) => Err(exit::usage(refusal)),
        None => Ok(Operand::File(Box::new(file))),
    }
}

/// The contenders of all, each with a name of its own.
fn contenders(
    operands: &[Operand],
    folder: &Path,
    host: Option<String>,
    protocol: Option<Protocol>,
) -> Vec<Contender> {
    let files = operands.iter().filter_map(|operand| match operand {
        Operand::File(file) => Some(name::of_file(&file.path, false)),
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
        contender.host = host.clone().or_else(|| match operand {
            Operand::File(file) => file.found.choice(protocol).host,
            _ => None,
        });
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
        Operand::File(file) => {
            let (path, server) = (&file.path, &file.server);
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
