//! What `caddy adapt` says of a Caddyfile: where it listens, for which names and paths.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Spoken, add_redirects, merge, protocols};
use crate::found::{Found, Listener, ListenerKind, Place};

/// Routes in routes, at the most.
const DEPTH_MAX: usize = 16;

/// The configuration in JSON, as far as it matters here.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Adapted {
    apps: Apps,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Apps {
    http: Http,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Http {
    http_port: Option<u16>,
    https_port: Option<u16>,
    servers: BTreeMap<String, Server>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Server {
    listen: Vec<String>,
    routes: Vec<Route>,
    tls_connection_policies: Option<Vec<Policy>>,
    automatic_https: Automatic,
    protocols: Option<Vec<String>>,
}

/// What is agreed on with clients that ask for some names, or for any.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Policy {
    #[serde(rename = "match")]
    matches: Option<Names>,
    alpn: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Names {
    sni: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Automatic {
    disable: bool,
    disable_redirects: bool,
    /// Names of sites in the clear.
    skip: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Route {
    #[serde(rename = "match")]
    matches: Vec<Matcher>,
    handle: Vec<Handler>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Matcher {
    host: Option<Vec<String>>,
    path: Option<Vec<String>>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Handler {
    handler: String,
    routes: Vec<Route>,
    status_code: Option<Value>,
    headers: Value,
}

/// Puts what `text` says in place of the listeners that were found. What is no such configuration
/// says nothing.
pub(in crate::found) fn take(found: &mut Found, text: &str) {
    // Warnings of the program are lines of JSON as well.
    let mut lines = text.lines().filter(|line| line.contains("\"apps\""));
    let Some(adapted) = lines.find_map(|line| serde_json::from_str::<Adapted>(line).ok()) else {
        return;
    };
    let http = adapted.apps.http;
    let http_port = http.http_port.unwrap_or(80);
    let https_port = http.https_port.unwrap_or(443);
    let mut listeners = Vec::new();
    let (mut has_redirects, mut paths) = (false, None);
    for server in http.servers.values() {
        has_redirects |=
            !server.automatic_https.disable && !server.automatic_https.disable_redirects;
        for listen in &server.listen {
            let Some(mut listener) = server.listener(listen, http_port, https_port) else {
                continue;
            };
            listener.place = place_of(&listener, &found.listeners);
            if paths.is_none() && listener.kind == ListenerKind::Http {
                paths = Some(answered(&server.routes, DEPTH_MAX));
            }
            merge(&mut listeners, listener);
        }
    }
    if has_redirects {
        add_redirects(&mut listeners, http_port);
    }
    if listeners.is_empty() {
        return;
    }
    // In the order of the file; those that the text does not show are Caddy's own.
    listeners.sort_by_key(|it| (it.place.line == 0, it.place.line));
    found.listeners = listeners;
    crate::found::choose_paths(found, paths.unwrap_or_default());
}

impl Server {
    fn listener(&self, listen: &str, http_port: u16, https_port: u16) -> Option<Listener> {
        // `tcp/` and `udp/` may stand before it, and a range of ports at its end.
        let listen = listen.rsplit('/').next().unwrap_or(listen);
        let (address, port) = listen.rsplit_once(':')?;
        let port: u16 = port.split('-').next()?.parse().ok()?;
        let mut hosts = Vec::new();
        let is_for_any = names(&self.routes, &mut hosts);
        let is_asked_for = self.tls_connection_policies.is_some() || port == https_port;
        let is_named = hosts
            .iter()
            .any(|host| !self.automatic_https.skip.contains(host));
        let automatic = !self.automatic_https.disable && port != http_port && is_named;
        let has_tls = is_asked_for || automatic;
        let spoken = self.spoken(hosts.first());
        let only_redirects =
            !has_tls && !self.routes.is_empty() && redirects(&self.routes, DEPTH_MAX);
        Some(Listener {
            address: if address.is_empty() { "*" } else { address }.to_owned(),
            port: Some(port),
            protocols: protocols(has_tls, spoken),
            hosts: if is_for_any { Vec::new() } else { hosts },
            kind: if only_redirects {
                ListenerKind::Redirect
            } else {
                ListenerKind::Http
            },
            place: Place::default(),
        })
    }

    /// What it speaks over TLS to those that ask for `host`.
    fn spoken(&self, host: Option<&String>) -> Spoken {
        let protocols = self.protocols.as_deref();
        let spoken = protocols.map(Spoken::of).unwrap_or_default();
        let policies = self.tls_connection_policies.as_deref();
        let mut policies = policies.unwrap_or_default().iter();
        let names = policies.find(|it| it.is_for(host));
        let names = names.and_then(|it| it.alpn.as_deref());
        names.map_or(spoken, |names| spoken.within(names))
    }
}

impl Policy {
    fn is_for(&self, host: Option<&String>) -> bool {
        let names = self.matches.as_ref().and_then(|it| it.sni.as_ref());
        names.is_none_or(|names| host.is_some_and(|host| names.contains(host)))
    }
}

/// Where the text has a listener of this port.
fn place_of(listener: &Listener, read: &[Listener]) -> Place {
    let mut same = read.iter().filter(|it| it.port == listener.port);
    let first = same.next();
    first.map(|it| it.place.clone()).unwrap_or_default()
}

/// Names of the outermost routes; whether one of them is for any name.
fn names(routes: &[Route], hosts: &mut Vec<String>) -> bool {
    let mut is_for_any = false;
    for route in routes {
        let mut of_route = route
            .matches
            .iter()
            .filter_map(|it| it.host.as_ref())
            .peekable();
        is_for_any |= of_route.peek().is_none();
        for host in of_route.flatten() {
            crate::found::add(hosts, host.clone());
        }
    }
    is_for_any
}

/// Whether all that answers is a redirect to https.
fn redirects(routes: &[Route], depth: usize) -> bool {
    let mut handlers = routes.iter().flat_map(|route| &route.handle);
    depth > 0
        && handlers.all(|handler| match handler.handler.as_str() {
            "subroute" => redirects(&handler.routes, depth - 1),
            "static_response" => {
                let place = handler.headers.get("Location").and_then(|it| it.get(0));
                let place = place.and_then(Value::as_str);
                handler.status_code.is_some() && place.is_some_and(|it| it.starts_with("https://"))
            }
            _ => false,
        })
}

/// The paths that something answers.
fn answered(routes: &[Route], depth: usize) -> Vec<String> {
    let mut paths = Vec::new();
    for route in routes.iter().filter(|_| depth > 0) {
        let own = match route.matches.as_slice() {
            [] => Some("/".to_owned()),
            matches => matches.iter().find_map(Matcher::path),
        };
        let Some(own) = own else {
            continue;
        };
        for inner in answered_by(route, depth) {
            crate::found::add(&mut paths, if own == "/" { inner } else { own.clone() });
        }
    }
    paths
}

/// The paths that a route answers, of those that come to it.
fn answered_by(route: &Route, depth: usize) -> Vec<String> {
    let paths = |handler: &Handler| match handler.handler.as_str() {
        "subroute" => answered(&handler.routes, depth - 1),
        "reverse_proxy" | "file_server" | "static_response" | "metrics" | "templates" => {
            vec!["/".to_owned()]
        }
        _ => Vec::new(),
    };
    let mut handlers = route.handle.iter().map(paths);
    handlers.find(|paths| !paths.is_empty()).unwrap_or_default()
}

impl Matcher {
    /// A path that it lets through; `None` where more than names and paths matter.
    fn path(&self) -> Option<String> {
        if !self.others.is_empty() {
            return None;
        }
        let Some(paths) = &self.path else {
            return Some("/".to_owned());
        };
        let is_plain = |path: &&String| path.starts_with('/') || *path == "*";
        let mut plain = paths.iter().filter(is_plain).map(|path| {
            let path = path.trim_end_matches('*');
            if path.is_empty() { "/" } else { path }.to_owned()
        });
        let first = plain.next()?;
        let first = if plain.any(|path| path == "/") {
            "/".to_owned()
        } else {
            first
        };
        (!first.contains(['*', '{'])).then_some(first)
    }
}
