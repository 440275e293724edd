//! What is requested: the URLs of the command line, of a list, or of a page that a browser saved.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use bakeoff_load::{ConnectTo, ExpectedStatus, Order, Target, TargetError, shown_url};
use bakeoff_plan::{
    CurlCommand, ListedBody, ListedRequest, Page, REQUESTS_MAX, curl_commands, joined_placeholders,
    parse_request_list,
};
use bakeoff_record::{open_regular, read_regular_text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::address;
use crate::commands::measure::sent::{self, Sent};
use crate::flags::{Command, Flags, LoadFlags, MeasureCommand, foreign};
use crate::{exit, output};

/// Longest list of URLs, bytes.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// Requests before they are encoded; at least one.
pub(super) struct Asked {
    pub(super) requests: Vec<AskedOne>,
    pub(super) order: Order,
}

/// One of them.
pub(super) struct AskedOne {
    pub(super) target: Target,
    pub(super) method: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Arc<[u8]>,
    pub(super) copied: Copied,
    pub(super) weight: u32,
    pub(super) status: ExpectedStatus,
}

/// What a command of curl says itself: it is sent as it stands, braces and all.
#[derive(Default)]
pub(super) struct Copied {
    /// Headers beside those that may have placeholders.
    pub(super) headers: Vec<(String, String)>,
    pub(super) is_body: bool,
}

impl Asked {
    /// Finds out what the flags ask for.
    pub(super) fn of(flags: &LoadFlags) -> anyhow::Result<Self> {
        let request = &flags.request;
        if let Some(path) = &request.list {
            return Self::of_list(flags, path);
        }
        if let Some(path) = &request.har {
            return Self::of_page(flags, path);
        }
        let urls = &flags.amount.urls;
        if urls.is_empty() {
            return Err(exit::usage(
                "a URL is missing: give one, such as localhost:8080, or a list of them with \
                 --urls FILE, where - is standard input",
            ));
        }
        let weights = request.weights.clone();
        let weights = weights.unwrap_or_else(|| vec![1; urls.len()]);
        if weights.len() != urls.len() {
            return Err(exit::usage(format!(
                "--weights has {} numbers for {} URLs; expected one for each",
                weights.len(),
                urls.len()
            )));
        }
        let mut server = Server::of(flags);
        let sent = Sent::of(&request.head, &request.body)?;
        let each = urls.iter().zip(weights).map(|(url, weight)| {
            Ok(AskedOne {
                target: server.target(url).map_err(exit::usage)?,
                method: sent.method(sent.body.is_some()).to_owned(),
                headers: sent.headers.clone(),
                body: sent.body.clone().unwrap_or_default(),
                copied: Copied::default(),
                weight,
                status: status(flags, None),
            })
        });
        Ok(Self {
            requests: each.collect::<anyhow::Result<_>>()?,
            order: Order::ByWeight,
        })
    }

    fn of_list(flags: &LoadFlags, path: &Path) -> anyhow::Result<Self> {
        let is_input = path == Path::new("-");
        let name = if is_input {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        let text = if is_input {
            standard_input()
        } else {
            read_regular_text(path, LIST_BYTES_MAX)
        };
        let wrong = |problem: &dyn std::fmt::Display| {
            exit::usage(format!("--urls: failed to read {name}: {problem}"))
        };
        let text = text.map_err(|error| wrong(&error))?;
        let commands = curl_commands(&text).map_err(|error| wrong(&error))?;
        if let Some(commands) = commands {
            return Self::of_commands(flags, commands, &wrong);
        }
        let list = parse_request_list(&text);
        let mut server = Server::of(flags);
        let sent = Sent::of(&flags.request.head, &flags.request.body)?;
        let each = list.map_err(|error| wrong(&error))?.into_iter();
        let mut bodies = Bodies::default();
        let requests = each.map(|listed| {
            let at = |error: String| wrong(&format!("line {}: {error}", listed.line));
            let body = bodies.of(&listed, &sent).map_err(at)?;
            let usual = sent.method(body.is_some());
            Ok(AskedOne {
                target: server.target(&listed.url).map_err(at)?,
                method: listed.method.unwrap_or_else(|| usual.to_owned()),
                headers: merged(&sent.headers, &listed.headers),
                body: body.unwrap_or_default(),
                copied: Copied::default(),
                weight: listed.weight,
                status: status(flags, None),
            })
        });
        Ok(Self {
            requests: requests.collect::<anyhow::Result<_>>()?,
            order: Order::ByWeight,
        })
    }

    /// Commands of curl. What they say of the request is its own, and else that of the flags.
    fn of_commands(
        flags: &LoadFlags,
        commands: Vec<CurlCommand>,
        wrong: &dyn Fn(&dyn std::fmt::Display) -> anyhow::Error,
    ) -> anyhow::Result<Self> {
        let mut server = Server::of(flags);
        let usual = Sent::of(&flags.request.head, &flags.request.body)?;
        let mut requests = Vec::new();
        let mut read = Flags::reader();
        for command in commands {
            let at = |error: String| wrong(&format!("line {}: {error}", command.line));
            let own = own_flags(&mut read, command.words).map_err(at)?;
            let sent = Sent::of(&own.request.head, &own.request.body);
            let sent = sent.map_err(|error| at(error.to_string()))?;
            let body = sent.body.clone().or_else(|| usual.body.clone());
            let method = sent.method.as_deref();
            let method = method.unwrap_or_else(|| usual.method(body.is_some()));
            for url in &own.amount.urls {
                requests.push(AskedOne {
                    target: server.target(url).map_err(at)?,
                    method: method.to_owned(),
                    headers: others(&usual.headers, &sent.headers).collect(),
                    body: body.clone().unwrap_or_default(),
                    copied: Copied {
                        headers: sent.headers.clone(),
                        is_body: sent.body.is_some(),
                    },
                    weight: 1,
                    status: status(flags, None),
                });
                if requests.len() > REQUESTS_MAX {
                    let many = format!("a list can have {REQUESTS_MAX} requests");
                    return Err(at(many));
                }
            }
        }
        if requests.is_empty() {
            return Err(wrong(&"it lists no URL"));
        }
        Ok(Self {
            requests,
            order: Order::ByWeight,
        })
    }

    fn of_page(flags: &LoadFlags, path: &Path) -> anyhow::Result<Self> {
        let read = open_regular(path).and_then(|file| {
            let mut reader = std::io::BufReader::new(file);
            Page::read(&mut reader)
        });
        let page = read.map_err(|error| {
            exit::usage(format!("--har: failed to read {}: {error}", path.display()))
        })?;
        if !flags.print.quiet && !flags.print.json {
            output::note(&format!("{}: {}", path.display(), page.note()));
        }
        let mut server = Server::of(flags);
        let first = match &flags.amount.urls[..] {
            [] => {
                let scheme = if page.is_secure { "https" } else { "http" };
                server.target(&format!("{scheme}://{}/", page.host))
            }
            [url] => server.target(url),
            _ => Err("--har takes one URL, that of the server to ask".to_owned()),
        };
        let first = first.map_err(exit::usage)?;
        if first.path != "/" {
            return Err(exit::usage(format!(
                "with --har a URL only names the server, but {} has a path: leave it out",
                shown_url(&first.url)
            )));
        }
        let scheme = if first.secure { "https" } else { "http" };
        let sent = Sent::of(&flags.request.head, &flags.request.body)?;
        let requests = page.requests.into_iter().map(|one| AskedOne {
            target: Target {
                url: format!("{scheme}://{}{}", first.host, one.target),
                path: one.target,
                ..first.clone()
            },
            method: one.method,
            headers: sent.headers.clone(),
            body: Arc::default(),
            copied: Copied::default(),
            weight: 1,
            status: status(flags, Some(one.status)),
        });
        Ok(Self {
            requests: requests.collect(),
            order: Order::InTurn,
        })
    }
}

/// The flags of a command in a list.
fn own_flags(
    read: &mut impl FnMut(Vec<OsString>) -> Result<Flags, clap::Error>,
    words: Vec<String>,
) -> Result<LoadFlags, String> {
    let start = ["bakeoff", "load"].map(str::to_owned).into_iter();
    let words = foreign::curl::as_load(words)?;
    let read = read(start.chain(words).map(OsString::from).collect());
    // The first line is what is wrong, and may be all that is of one's own words.
    let first = |error: clap::Error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        line.trim_start_matches("error: ").to_owned()
    };
    match read.map_err(first)?.command {
        Command::Measure(MeasureCommand::Load(flags)) => Ok(flags.load),
        _ => Err("it is no request".to_owned()),
    }
}

/// Headers of the flags, without those that a listed request has itself, and then its own.
fn merged(flags: &[(String, String)], own: &[(String, String)]) -> Vec<(String, String)> {
    others(flags, own).chain(own.iter().cloned()).collect()
}

/// Headers of the flags, without those that a listed request has itself.
fn others<'a>(
    flags: &'a [(String, String)],
    own: &'a [(String, String)],
) -> impl Iterator<Item = (String, String)> + 'a {
    let is_own = |name: &str| own.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
    flags.iter().filter(move |(name, _)| !is_own(name)).cloned()
}

/// The bodies of a list. A file that several requests name is read once.
#[derive(Default)]
struct Bodies {
    files: HashMap<String, Arc<[u8]>>,
}

impl Bodies {
    /// The body of a listed request, which is its own or that of the flags.
    fn of(&mut self, listed: &ListedRequest, sent: &Sent) -> Result<Option<Arc<[u8]>>, String> {
        match &listed.body {
            None => Ok(sent.body.clone()),
            Some(ListedBody::Base64(text)) => match STANDARD.decode(text) {
                Ok(bytes) => Ok(Some(bytes.into())),
                Err(error) => Err(format!("its body is no Base64: {error}")),
            },
            Some(ListedBody::File(path)) => {
                if let Some(known) = self.files.get(path) {
                    return Ok(Some(known.clone()));
                }
                let read = sent::read("its body", Path::new(path));
                let bytes: Arc<[u8]> = read.map_err(|error| error.to_string())?.into();
                self.files.insert(path.clone(), bytes.clone());
                Ok(Some(bytes))
            }
        }
    }
}

/// The one server that all URLs must be of.
struct Server {
    to: ConnectTo,
    first: Option<Target>,
}

/// Where connections lead, as flags say it.
pub(in super::super) fn connect_to(host: Option<&str>, unix_socket: Option<&Path>) -> ConnectTo {
    match (host, unix_socket) {
        (Some(host), _) => ConnectTo::Host(host.to_owned()),
        (None, Some(path)) => ConnectTo::Unix(path.to_owned()),
        (None, None) => ConnectTo::Url,
    }
}

impl Server {
    fn of(flags: &LoadFlags) -> Self {
        let way = &flags.way;
        let to = connect_to(way.connect_to.as_deref(), way.unix_socket.as_deref());
        Self { to, first: None }
    }

    /// The target of a URL as somebody typed it.
    fn target(&mut self, text: &str) -> Result<Target, String> {
        let said = |error: TargetError| error.to_string();
        let url = address::url(&joined_placeholders(text))?;
        let Some(first) = &self.first else {
            let target = Target::resolve(&url, &self.to).map_err(said)?;
            self.first = Some(target.clone());
            return Ok(target);
        };
        let target = first.beside(&url).map_err(said)?;
        target.ok_or_else(|| {
            format!(
                "{} and {} are on two servers; a load can only have URLs of one server",
                shown_url(&first.url),
                shown_url(&url)
            )
        })
    }
}

/// What a flag expects; else, where a browser was answered otherwise than with success, that.
fn status(flags: &LoadFlags, recorded: Option<u16>) -> ExpectedStatus {
    let failed = recorded.filter(|status| !ExpectedStatus::Success.accepts(*status));
    let exactly = flags.checks.expect_status.or(failed);
    exactly.map_or(ExpectedStatus::Success, ExpectedStatus::Exactly)
}

/// A list of URLs from standard input.
fn standard_input() -> std::io::Result<String> {
    let mut text = String::new();
    let input = std::io::stdin().lock();
    let length = input.take(LIST_BYTES_MAX + 1).read_to_string(&mut text)?;
    if length as u64 > LIST_BYTES_MAX {
        let problem = format!("it is longer than {LIST_BYTES_MAX} bytes");
        return Err(std::io::Error::other(problem));
    }
    Ok(text)
}
