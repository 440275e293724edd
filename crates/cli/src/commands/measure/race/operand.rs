//! What each argument of a race is: a URL, a server, a configuration file, or the path to ask for.

use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_plan::{
    ConfigSource, Contender, OwnCommand, Protocol, Readiness, RunningUrl, ServerChoice, Stopping,
    Url, joined_placeholders, nearest,
};
use bakeoff_stage::{Choice, Servers};

use super::super::load::address;
use super::super::own_file::{self, OwnFile, Said};
use super::{contained, name};
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
    /// A container, with its contender's name.
    Container(String, Box<ServerChoice>),
}

/// Reads the arguments, then the commands of `--start`.
pub(super) fn read(flags: &OperandFlags, library: &Folder) -> anyhow::Result<Operands> {
    super::super::refuse_repeated(&flags.request.head.headers)?;
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
    let is_file = |text: &&String| here.join(text).is_file();
    let said = flags.server.as_deref().map(|server| Said {
        server,
        of_one: what.iter().filter(is_file).count() == 1,
    });
    let mut operands = Vec::new();
    for text in what {
        let path = here.join(text);
        let services = own_file::services(&path).filter(|_| !servers.names().contains(text));
        operands.push(match services {
            Some(services) => {
                let choice = contained::compose(&path, &services, flags)?;
                Operand::Container(name::of_file(&path, false), Box::new(choice))
            }
            None => operand(text, &here, &servers, said)?,
        });
    }
    for text in &flags.image {
        let (name, choice) = contained::image(text)?;
        operands.push(Operand::Container(name, Box::new(choice)));
    }
    flags
        .start
        .iter()
        .try_for_each(|it| contained::refuse_engine(it))?;
    operands.extend(flags.start.iter().cloned().map(Operand::Command));
    let path = match varied_path(&mut operands)? {
        Some(own) if path.is_some() => return Err(twice_varied(&own)),
        own => own.or(path),
    };
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
    let asked = asked_over(protocol, &operands, &files);
    if flags.request.protocol.is_none() && flags.workload.is_none() {
        files.iter().try_for_each(|file| speaks(file, asked))?;
    }
    let choices = files.iter().map(|file| file.found.choice(asked));
    let choices: Vec<Choice> = choices.collect();
    let path = path.or_else(|| choices.first().map(|choice| choice.path.clone()));
    Ok(Operands {
        are_of_the_library: operands.iter().all(is_of_library),
        has_upstream: files.iter().any(|file| file.has_upstream),
        has_php: files.iter().any(|file| file.has_php()),
        protocol,
        reasons: reasons(&files, &choices, flags),
        contenders: contenders(&operands, &folder, host_of(flags), asked),
        path,
    })
}

/// Takes the path with placeholders out of the URLs, which must all have the same.
fn varied_path(operands: &mut [Operand]) -> anyhow::Result<Option<String>> {
    let mut all = operands.iter();
    let varied = all.find_map(|operand| match operand {
        Operand::Url(url) if url.path.contains('{') => Some(url.path.clone()),
        _ => None,
    });
    let Some(varied) = varied else {
        return Ok(None);
    };
    for operand in operands {
        match operand {
            Operand::Url(url) if url.path == varied => "/".clone_into(&mut url.path),
            _ => return Err(twice_varied(&varied)),
        }
    }
    Ok(Some(varied))
}

fn twice_varied(path: &str) -> anyhow::Error {
    exit::usage(format!(
        "{path} has placeholders, and all contenders are asked the same: give it once, behind \
         URLs without a path"
    ))
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

/// What files are asked over in the end, if there are any: `protocol` where it is settled, else
/// what the other contenders are asked over.
fn asked_over(
    protocol: Option<Protocol>,
    operands: &[Operand],
    files: &[&OwnFile],
) -> Option<Protocol> {
    let is_secure = |operand: &Operand| matches!(operand, Operand::Url(url) if url.is_secure);
    let of_others = if operands.iter().any(is_secure) {
        Protocol::H1Tls
    } else {
        Protocol::H1
    };
    protocol.or((!files.is_empty()).then_some(of_others))
}

/// Refuses a file that is known not to answer what all are asked over.
fn speaks(file: &OwnFile, asked: Option<Protocol>) -> anyhow::Result<()> {
    let spoken = file.found.protocols();
    let Some(asked) = asked.filter(|it| !spoken.is_empty() && !spoken.contains(it.name())) else {
        return Ok(());
    };
    let spoken: Vec<&str> = spoken.into_iter().collect();
    Err(exit::usage(format!(
        "{} answers only over {}, and the others are asked over {}; a race asks all over one \
         protocol: choose one that all speak with --protocol, and with it the scheme of URLs",
        file.path.display(),
        spoken.join(", "),
        asked.name()
    )))
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
    text.starts_with('/') && !here.join(text).is_file() && !is_without_scheme(text)
}

/// Whether a text is a URL of a page, which leaves the scheme to the page: `//127.0.0.1:8080/`.
fn is_without_scheme(text: &str) -> bool {
    text.strip_prefix("//").is_some_and(address::is_address)
}

fn asked_path(text: &str) -> anyhow::Result<String> {
    let joined = joined_placeholders(text);
    let url = Url::parse(&format!("http://localhost{joined}")).map_err(|_| {
        exit::usage(format!(
            "`{text}` is not a path to ask for; write blanks and other signs as %20 and so on"
        ))
    })?;
    Ok(url.path)
}

/// A `Host` header is the name that all are asked by.
fn host_of(flags: &OperandFlags) -> Option<String> {
    let mut headers = flags.request.head.headers.iter();
    let host = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    host.map(|(_, value)| value.clone())
}

fn operand(
    text: &str,
    here: &Path,
    servers: &Servers,
    said: Option<Said<'_>>,
) -> anyhow::Result<Operand> {
    if address::has_scheme(text) {
        return url(text);
    }
    if address::lacks_slashes(text) || is_without_scheme(text) {
        return url(&address::url(text).map_err(exit::usage)?);
    }
    // A file of this name, such as the program itself, is meant with its folder: `./caddy`.
    if servers.names().contains(text) {
        return library_server(text, servers);
    }
    let path = here.join(text);
    if path.is_file() {
        return file(path, servers, said);
    }
    if address::is_address(text) {
        let is_port = text.starts_with(':') && !text.starts_with("::");
        let host = if is_port { "127.0.0.1" } else { "" };
        return url(&address::url(&format!("{host}{text}")).map_err(exit::usage)?);
    }
    // A folder, or what can only be read once, says what it is.
    if path.exists() {
        return file(path, servers, said);
    }
    if text.starts_with('.') || text.contains('/') {
        return Err(exit::usage(format!("there is no file {text}")));
    }
    library_server(text, servers)
}

/// A URL without its fragment, which is never sent.
fn url(text: &str) -> anyhow::Result<Operand> {
    let text = &joined_placeholders(text);
    let sent = text.split('#').next().unwrap_or_default();
    // A user's name and password may have any sign in them, and are refused.
    let text = if text.contains('@') { text } else { sent };
    Url::parse(text).map(Operand::Url).map_err(exit::usage)
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

fn file(path: PathBuf, servers: &Servers, said: Option<Said<'_>>) -> anyhow::Result<Operand> {
    let file = own_file::read(path, servers, said)?;
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
        Operand::Container(name, choice) => (name.clone(), (**choice).clone()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("conf")).unwrap();
        std::fs::write(folder.path().join("caddy"), "the program").unwrap();
        folder
    }

    /// What an argument is, as a line.
    fn read(text: &str) -> String {
        let folder = folder();
        match operand(text, folder.path(), &Servers::new(None), None) {
            Ok(Operand::Url(url)) => url.to_string(),
            Ok(Operand::Server { name, variant, .. }) => format!("{name} {variant}"),
            Ok(Operand::File(file)) => format!("file {}", file.path.display()),
            Ok(Operand::Command(command) | Operand::Container(command, _)) => command,
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn addresses_are_read_as_load_reads_them() {
        for (text, expected) in [
            ("localhost", "http://localhost:80/"),
            ("localhost:8080/a:b", "http://localhost:8080/a:b"),
            ("localhost:8080?x=1", "http://localhost:8080/?x=1"),
            (
                "localhost:8080/?next=http://x",
                "http://localhost:8080/?next=http://x",
            ),
            ("127.0.0.1", "http://127.0.0.1:80/"),
            ("[::1]", "http://[::1]:80/"),
            (":8080/a", "http://127.0.0.1:8080/a"),
            ("http://a/#top", "http://a:80/"),
            ("https://a/?b=c://d", "https://a:443/?b=c://d"),
            ("nginx:optimized", "nginx optimized"),
        ] {
            assert_eq!(read(text), expected);
        }
        assert!(read("::1").contains("write [::1]"), "{}", read("::1"));
        assert!(read("app:443").contains("may mean http or https"));
        let user = read("me:sesame@app:80");
        assert!(!user.contains("sesame") && user.contains("***@"), "{user}");
    }

    #[test]
    fn a_server_comes_before_a_file_of_its_name_and_a_folder_is_neither() {
        assert_eq!(read("caddy"), "caddy default");
        assert!(read("./caddy").starts_with("file "));
        for text in ["conf", "./conf", "conf/"] {
            assert!(read(text).contains("is a folder"), "{}", read(text));
        }
        assert!(read("./none").contains("there is no file"));
    }

    #[test]
    fn a_folder_here_can_be_the_path_to_ask_for() {
        let folder = folder();
        assert!(is_path("/", folder.path()));
        let text = |name: &str| folder.path().join(name).display().to_string();
        assert!(is_path(&text("conf"), folder.path()));
        assert!(is_path(&text("none"), folder.path()));
        assert!(!is_path(&text("caddy"), folder.path()));
    }

    #[test]
    fn a_server_that_is_said_decides_for_one_file_and_helps_among_several() {
        let folder = folder();
        let path = folder.path().join("nginx.conf");
        std::fs::write(&path, "events {}\nhttp { server { listen 80; } }\n").unwrap();
        let unknown = folder.path().join("unknown");
        std::fs::write(&unknown, "unknown words\n").unwrap();
        let server = |path: &Path, of_one: bool| {
            let said = Some(Said {
                server: "caddy",
                of_one,
            });
            let read = own_file::read(path.to_owned(), &Servers::new(None), said);
            read.unwrap().server
        };
        assert_eq!(server(&path, true), "caddy");
        assert_eq!(server(&path, false), "nginx");
        assert_eq!(server(&unknown, false), "caddy");
    }

    #[test]
    fn a_file_that_does_not_speak_what_all_are_asked_over_is_refused() {
        let folder = folder();
        let path = folder.path().join("nginx.conf");
        let text = "events {}\nhttp { server { listen 443 ssl http2; } }\n";
        std::fs::write(&path, text).unwrap();
        let file = own_file::read(path, &Servers::new(None), None).unwrap();
        let command = || vec![Operand::Command("./app".to_owned())];
        let over = |operands: &[Operand]| asked_over(None, operands, &[&file]);
        assert_eq!(over(&command()), Some(Protocol::H1));
        let secure = Url::parse("https://a/").map(Operand::Url).unwrap();
        assert_eq!(over(&[secure]), Some(Protocol::H1Tls));
        assert_eq!(asked_over(None, &command(), &[]), None);
        let refused = speaks(&file, over(&command())).unwrap_err().to_string();
        let expected = "nginx.conf answers only over h1-tls, h2, and the others are asked over h1;";
        assert!(refused.contains(expected), "{refused}");
        speaks(&file, Some(Protocol::H2)).unwrap();
    }
}
