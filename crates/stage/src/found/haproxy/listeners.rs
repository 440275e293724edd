//! Where the sections of HAProxy listen, and what reaches a backend there.

use bakeoff_plan::Protocol;

use super::section::{Bind, Kind, Section, Test, test};
use crate::found::{Found, Listener, ListenerKind, Problem, add};

/// Adds the listeners of all sections, a path where one is needed, and why none can be asked.
pub(super) fn find(sections: &[Section], found: &mut Found) {
    let is_listening = |it: &&Section| matches!(it.kind, Kind::Frontend | Kind::Listen);
    for section in sections.iter().filter(is_listening) {
        let (host, path) = way(section);
        for bind in &section.binds {
            for address in bind.addresses.split(',') {
                let listener = listener(section, bind, address, host.clone());
                if listener.kind == ListenerKind::Http {
                    found.path = found.path.take().or_else(|| path.clone());
                    paths(section).for_each(|path| add(&mut found.paths, path));
                }
                add(&mut found.listeners, listener);
            }
        }
    }
    let can_be_asked = |it: &Listener| it.kind == ListenerKind::Http && it.port.is_some();
    if found.listeners.iter().any(can_be_asked) {
        return;
    }
    let problem = |place, what: &str, hint: &str| Problem {
        place,
        what: what.to_owned(),
        hint: hint.to_owned(),
    };
    let tcp = sections
        .iter()
        .filter(is_listening)
        .find(|it| !it.is_http() && !it.binds.is_empty());
    if let Some(section) = tcp {
        let (place, what) = match &section.mode_place {
            Some(place) => (
                place,
                "it balances TCP (`mode tcp`) and knows nothing of HTTP",
            ),
            None => (
                &section.binds[0].place,
                "no `mode` is said, so it balances TCP and knows nothing of HTTP",
            ),
        };
        let hint = "bakeoff asks over HTTP: measure a frontend with `mode http`, or what is behind \
                    this one by its URL";
        add(&mut found.problems, problem(place.clone(), what, hint));
        return;
    }
    // What has no listener at all is refused by HAProxy itself.
    let Some(listener) = found.listeners.first() else {
        return;
    };
    let what = "nothing here answers requests: its listeners show counters or redirect to https";
    let hint = "name a file that has the frontend, too";
    add(
        &mut found.problems,
        problem(listener.place.clone(), what, hint),
    );
}

fn listener(section: &Section, bind: &Bind, address: &str, host: Option<String>) -> Listener {
    let has = |option: &str| bind.options.iter().any(|it| it == option);
    let is_quic = address.starts_with("quic");
    let (address, port) = parts(address);
    let has_tls = has("ssl");
    let kind = match section {
        it if !it.is_http() => ListenerKind::Tcp,
        it if it.has_stats && !it.leads_on() => ListenerKind::Aside,
        it if it.redirects && !has_tls => ListenerKind::Redirect,
        _ => ListenerKind::Http,
    };
    let after = |option: &str| {
        let position = bind.options.iter().position(|it| it == option)?;
        bind.options.get(position + 1).map(String::as_str)
    };
    let protocols = match (is_quic, has_tls) {
        (true, _) => vec![Protocol::H3],
        (_, true) => match after("alpn") {
            Some(alpn) if !alpn.contains("http/1.1") => vec![Protocol::H2],
            Some(alpn) if !alpn.contains("h2") => vec![Protocol::H1Tls],
            // What it offers by itself since 2.8; over HTTP/1.1 all of them answer.
            Some(_) => vec![Protocol::H1Tls, Protocol::H2],
            None => vec![Protocol::H1Tls],
        },
        (_, false) if after("proto") == Some("h2") => vec![Protocol::H2c],
        // HTTP/2 by prior knowledge is answered as well.
        (_, false) => vec![Protocol::H1, Protocol::H2c],
    };
    Listener {
        address,
        port,
        protocols,
        hosts: host.into_iter().collect(),
        kind,
        place: bind.place.clone(),
    }
}

/// The address and the first port of a `bind`.
fn parts(text: &str) -> (String, Option<u16>) {
    let prefixes = ["quic4@", "quic6@", "ipv4@", "ipv6@"];
    let text = prefixes.iter().fold(text, |text, prefix| {
        text.strip_prefix(prefix).unwrap_or(text)
    });
    let is_socket = text.starts_with(['/', '@']) || text.contains('@');
    let Some((address, ports)) = text.rsplit_once(':').filter(|_| !is_socket) else {
        return (text.to_owned(), None);
    };
    let port = ports.split('-').next().and_then(|port| port.parse().ok());
    let address = if address.is_empty() { "*" } else { address };
    (address.to_owned(), port)
}

/// The name and the path by which a request gets to a backend, where a section has no answer for
/// all others.
fn way(section: &Section) -> (Option<String>, Option<String>) {
    if section.answers {
        return (None, None);
    }
    let ways = section.uses.iter().map(|line| by(section, &line.condition));
    ways.flatten().next().unwrap_or_default()
}

/// The paths by which requests get to backends.
fn paths(section: &Section) -> impl Iterator<Item = String> {
    let ways = section.uses.iter();
    let paths = ways.filter_map(|line| by(section, &line.condition)?.1);
    paths.filter(|path| path != "/")
}

/// Name and path that meet a condition; `None` where it asks for more.
fn by(section: &Section, condition: &[String]) -> Option<(Option<String>, Option<String>)> {
    if condition.first().is_some_and(|word| word == "unless") {
        return Some((None, None));
    }
    let (mut host, mut path) = (None, None);
    let mut words = condition.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "or" || word == "||" {
            break;
        }
        // Nothing that a plain request has is to be avoided.
        if word.starts_with('!') {
            if word == "!{" {
                words
                    .by_ref()
                    .take_while(|word| *word != "}")
                    .for_each(drop);
            }
            continue;
        }
        let found = match word.as_str() {
            "{" => {
                let inner: Vec<String> = words
                    .by_ref()
                    .take_while(|it| *it != "}")
                    .cloned()
                    .collect();
                vec![test(&inner)]
            }
            name => section.tests.get(name).cloned().unwrap_or_default(),
        };
        let can_be_met = |it: &&Test| **it != Test::Other;
        match found.iter().find(can_be_met)? {
            Test::Host(name) => host = Some(name.clone()),
            Test::Path(name) => path = Some(name.clone()),
            Test::IsSecure | Test::Other => {}
        }
    }
    Some((host, path))
}
