//! What a user's own configuration contains: listeners, hosts, roots, upstreams, logs,
//! certificates, and what of it to ask.
//!
//! A module for each kind of file reads its text. Nothing is started here and nothing is changed:
//! what a trial changes is in [`crate::own`], and a reader that misses something only says less.

mod apache;
pub(crate) mod caddy;
mod choice;
mod envoy;
mod h2o;
mod haproxy;
mod lighttpd;
pub(crate) mod nginx;
pub(crate) mod stand_in;
mod traefik;
mod varnish;

use std::path::{Path, PathBuf};

use bakeoff_plan::Protocol;
use serde::Serialize;

/// Things of one kind that are kept from one configuration; a file may have any number.
const THINGS_MAX: usize = 500;

/// A file of a configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
}

impl Text<'_> {
    /// A line of it.
    fn place(&self, line: usize) -> Place {
        Place {
            file: self.path.to_owned(),
            line,
        }
    }
}

/// A line of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// From 1; 0 where it is not known.
    pub line: usize,
}

/// A path or a name in a configuration, and where it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Named {
    /// As it is written.
    pub text: String,
    /// Where.
    pub place: Place,
}

/// What a listener is there for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListenerKind {
    /// It answers requests.
    #[default]
    Http,
    /// All that it answers is a redirect to https.
    Redirect,
    /// It passes bytes on and knows nothing of HTTP.
    Tcp,
    /// It refuses all requests, as for names that no other site has.
    Refusing,
    /// Counters and administration, beside what is measured.
    Aside,
}

/// Where a configuration listens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Listener {
    /// As it is written: `*`, `127.0.0.1`, `[::]`, `unix:/run/site.sock`.
    pub address: String,
    /// `None` for a socket in the file system.
    pub port: Option<u16>,
    /// What it speaks.
    pub protocols: Vec<Protocol>,
    /// Names of the sites there, as they are written; empty where it asks for none.
    pub hosts: Vec<String>,
    /// What it is there for.
    pub kind: ListenerKind,
    /// Where it is written.
    pub place: Place,
}

impl Listener {
    /// One for administration over HTTP, at any address.
    fn aside(port: Option<u16>, place: Place) -> Self {
        Self {
            address: "*".to_owned(),
            port,
            protocols: vec![Protocol::H1],
            kind: ListenerKind::Aside,
            place,
            ..Self::default()
        }
    }
}

/// Sorts listeners as their files have them, with those for administration at the end.
fn sort(listeners: &mut [Listener]) {
    listeners.sort_by_key(|it| (it.kind == ListenerKind::Aside, it.place.line));
}

/// What an upstream speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamKind {
    /// HTTP.
    #[default]
    Http,
    /// FastCGI, as PHP does.
    FastCgi,
    /// uwsgi.
    Uwsgi,
    /// SCGI.
    Scgi,
    /// gRPC.
    Grpc,
    /// Bytes.
    Tcp,
}

/// Whom a configuration asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Upstream {
    /// What it speaks.
    pub kind: UpstreamKind,
    /// As it is written.
    pub address: String,
    /// Where.
    pub place: Place,
}

/// What a trial cannot do with a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What is wrong, as a sentence.
    pub what: String,
    /// What to do, as a clause.
    pub hint: String,
}

/// What a configuration contains.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Where it listens.
    pub listeners: Vec<Listener>,
    /// Folders that it serves.
    pub roots: Vec<Named>,
    /// Whom it asks.
    pub upstreams: Vec<Upstream>,
    /// Where it writes what it did.
    pub logs: Vec<Named>,
    /// Certificates and keys.
    pub certificates: Vec<Named>,
    /// What the program must have built in or loaded.
    pub modules: Vec<Named>,
    /// Variables of the environment that it uses.
    pub placeholders: Vec<Named>,
    /// A path that it probably answers; `None` where any is as good.
    pub path: Option<String>,
    /// Paths that it says something of and probably answers, the best first.
    pub paths: Vec<String>,
    /// What forbids requests from this machine for `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forbids: Option<Named>,
    /// Why it cannot be measured.
    pub problems: Vec<Problem>,
}

impl Found {
    /// What the files of one configuration contain, the main one first, by the name of the
    /// server's folder; nothing of a server that has no reader here.
    pub(crate) fn read(server: &str, files: &[Text<'_>]) -> Self {
        match server {
            "apache" => apache::read(files),
            "caddy" => caddy::read(files),
            "envoy" => envoy::read(files),
            "h2o" => h2o::read(files),
            "haproxy" => haproxy::read(files),
            "lighttpd" => lighttpd::read(files),
            "nginx" => nginx::read(files),
            "traefik" => traefik::read(files),
            "varnish" => varnish::read(files),
            _ => Self::default(),
        }
    }

    /// Takes what the program itself makes of the configuration, where that is known, instead of
    /// what was read of its text.
    pub(crate) fn adapt(&mut self, server: &str, adapted: &str) {
        if server == "caddy" {
            caddy::adapted::take(self, adapted);
        }
    }
}

/// Adds a thing, unless it is there or there are too many.
pub(crate) fn add<T: PartialEq>(things: &mut Vec<T>, thing: T) {
    if things.len() < THINGS_MAX && !things.contains(&thing) {
        things.push(thing);
    }
}

/// Takes the paths that something answers: another than the root is asked where that is none.
fn choose_paths(found: &mut Found, paths: Vec<String>) {
    let (roots, others): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path == "/");
    found.path = others.first().filter(|_| roots.is_empty()).cloned();
    found.paths = others;
}

/// The parts of a line that blanks separate, without quotes and without a comment at its end.
fn tokens(line: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut token = String::new();
    let (mut quote, mut is_open) = (None, false);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(mark), letter) if letter == mark => quote = None,
            (_, '\\') if quote != Some('\'') && quote != Some('`') => {
                token.extend(letters.next());
                is_open = true;
            }
            (Some(_), letter) => token.push(letter),
            (None, '"' | '\'' | '`') => {
                quote = Some(letter);
                is_open = true;
            }
            (None, '#') if token.is_empty() && !is_open => break,
            (None, letter) if letter.is_whitespace() => {
                if is_open || !token.is_empty() {
                    tokens.push(std::mem::take(&mut token));
                }
                is_open = false;
            }
            (None, letter) => token.push(letter),
        }
    }
    if is_open || !token.is_empty() {
        tokens.push(token);
    }
    tokens
}

/// What to ask of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// How.
    pub protocol: Protocol,
    /// By which name; `None` where any does.
    pub host: Option<String>,
    /// For what.
    pub path: String,
    /// At which port, as the file has it; `None` where any does.
    pub port: Option<u16>,
    /// Why, as sentences.
    pub reasons: Vec<String>,
}
