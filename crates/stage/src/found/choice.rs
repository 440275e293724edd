//! What to ask of a configuration: the protocol, the name and the path that it is there for.

use std::collections::BTreeSet;

use bakeoff_plan::Protocol;

use super::{Choice, Found, Listener, ListenerKind};

/// The best known way first. HTTP/3 is slow to be agreed on, and is asked only where nothing else
/// is there.
const PREFERRED: [Protocol; 5] = [
    Protocol::H1,
    Protocol::H2,
    Protocol::H1Tls,
    Protocol::H2c,
    Protocol::H3,
];

/// The begin of the reason why another path is asked.
const ASKED_FOR: &str = "it is asked for ";

impl Found {
    /// Protocols that it answers requests over.
    pub fn protocols(&self) -> BTreeSet<&'static str> {
        let protocols = self.answering().flat_map(|listener| &listener.protocols);
        protocols.map(|protocol| protocol.name()).collect()
    }

    /// What to ask, over `protocol` if that is settled already.
    pub fn choice(&self, protocol: Option<Protocol>) -> Choice {
        self.choice_of(protocol, None)
    }

    /// The same of the site that answers to a name, if there is one.
    pub fn choice_of(&self, protocol: Option<Protocol>, host: Option<&str>) -> Choice {
        let speaks = |listener: &&Listener| {
            protocol.is_none_or(|protocol| listener.protocols.contains(&protocol))
        };
        let mut choice = Choice {
            protocol: protocol.unwrap_or_default(),
            host: None,
            path: "/".to_owned(),
            port: None,
            reasons: Vec::new(),
        };
        // Beside datagrams there is mostly what answers over TCP.
        let is_usual = |listener: &&Listener| listener.protocols != [Protocol::H3];
        let usual = self.answering().filter(is_usual).find(speaks);
        let usual = usual.or_else(|| self.answering().find(speaks));
        let named = host.and_then(|host| self.named(host, speaks));
        if named.is_none_or(|it| usual == Some(it)) {
            choice.path = self.path.clone().unwrap_or(choice.path);
        }
        let Some(listener) = named.or(usual) else {
            return choice;
        };
        if protocol.is_none() {
            let speaks = |protocol: &&Protocol| listener.protocols.contains(protocol);
            choice.protocol = PREFERRED.iter().find(speaks).copied().unwrap_or_default();
        }
        choice.port = listener.port;
        choice.host = match named {
            Some(_) => host.map(str::to_owned),
            None => listener.hosts.iter().find_map(|host| asked_as(host)),
        };
        choice.reasons = self.reasons(listener, &choice, named.is_some());
        choice
    }

    /// The listener that answers these requests.
    pub(crate) fn listener(&self, protocol: Protocol, host: Option<&str>) -> Option<&Listener> {
        let speaks = |listener: &&Listener| listener.protocols.contains(&protocol);
        let named = host.and_then(|host| self.named(host, speaks));
        named.or_else(|| self.answering().find(speaks))
    }

    /// The listener of this kind that a site of this name has, best one that answers.
    fn named(&self, host: &str, is_kind: impl Fn(&&Listener) -> bool) -> Option<&Listener> {
        let is_this = |it: &&Listener| is_kind(it) && it.hosts.iter().any(|of| serves(of, host));
        let is_asked = |it: &&Listener| it.kind != ListenerKind::Tcp && it.port.is_some();
        let all = || self.listeners.iter().filter(is_asked);
        self.answering()
            .find(is_this)
            .or_else(|| all().find(is_this))
    }

    /// Listeners that answer requests where somebody can ask; those that refuse all, where there
    /// are no others.
    fn answering(&self) -> impl Iterator<Item = &Listener> + Clone {
        let of = |kind| {
            let listeners = self.listeners.iter();
            listeners.filter(move |it| it.kind == kind && it.port.is_some())
        };
        let kind = match of(ListenerKind::Http).next() {
            Some(_) => ListenerKind::Http,
            None => ListenerKind::Refusing,
        };
        of(kind)
    }

    fn reasons(&self, listener: &Listener, choice: &Choice, is_said: bool) -> Vec<String> {
        let mut reasons = Vec::new();
        let mut others = self.listeners.iter();
        let redirect = others.find(|it| it.kind == ListenerKind::Redirect);
        if let Some(port) = redirect.and_then(|it| it.port)
            && choice.protocol.is_secure()
        {
            let name = choice.protocol.name();
            reasons.push(format!(
                "port {port} only redirects to https, so it is asked over {name}"
            ));
        }
        if let Some(host) = &choice.host
            && *host != "localhost"
            && !is_said
        {
            let of = match listener.hosts.len() {
                1 => "the name of its site".to_owned(),
                count => format!("the first of {count} names"),
            };
            reasons.push(format!("it is asked as {host}, {of}"));
        }
        if choice.path != "/" {
            let path = &choice.path;
            let why = match self.forbids {
                Some(_) => "it forbids / to this machine",
                None => "it has nothing at /",
            };
            reasons.push(format!("{ASKED_FOR}{path}, because {why}"));
        }
        reasons
    }
}

impl Choice {
    /// Asks for a path that somebody names.
    pub fn ask_for(&mut self, path: &str) {
        path.clone_into(&mut self.path);
        self.reasons.retain(|reason| !reason.starts_with(ASKED_FOR));
    }

    /// Asks for another path, as there is nothing at this one.
    pub fn take_other(&mut self, path: &str) {
        let was = self.path.clone();
        self.ask_for(path);
        let reason = format!("{ASKED_FOR}{path}, because it has nothing at {was}");
        self.reasons.push(reason);
    }
}

/// Whether a site of this pattern answers to a name.
fn serves(pattern: &str, host: &str) -> bool {
    let rest = pattern.strip_prefix('*').unwrap_or(pattern);
    let is_end = rest.starts_with('.') && host.ends_with(rest);
    is_end || asked_as(pattern).as_deref() == Some(host)
}

/// A name that a site of this pattern answers; `None` where it says nothing about names.
fn asked_as(host: &str) -> Option<String> {
    let name = match host.strip_prefix("*.") {
        Some(rest) => format!("www.{rest}"),
        None => host.strip_prefix('.').unwrap_or(host).to_owned(),
    };
    // Some have `<domain>` where a name is to be written.
    let name = name.replace(['<', '>'], "");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let is_name = name.contains(|letter: char| letter.is_ascii_alphanumeric());
    (is_name && name.chars().all(is_plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(kind: ListenerKind, port: u16, protocols: &[Protocol], hosts: &[&str]) -> Listener {
        Listener {
            address: "*".to_owned(),
            port: Some(port),
            protocols: protocols.to_vec(),
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
            kind,
            ..Listener::default()
        }
    }

    fn found(listeners: Vec<Listener>) -> Found {
        Found {
            listeners,
            ..Found::default()
        }
    }

    fn port(site: &Found, protocol: Protocol, host: Option<&str>) -> Option<u16> {
        site.listener(protocol, host)?.port
    }

    #[test]
    fn what_only_redirects_or_counts_is_not_asked() {
        use Protocol::{H1, H1Tls, H2, H3};
        let site = found(vec![
            listener(ListenerKind::Aside, 8404, &[H1], &[]),
            listener(ListenerKind::Redirect, 80, &[H1], &["example.com"]),
            listener(
                ListenerKind::Http,
                443,
                &[H1Tls, H2, H3],
                &["*.example.com"],
            ),
        ]);
        let choice = site.choice(None);
        assert_eq!((choice.protocol, choice.port), (H2, Some(443)));
        assert_eq!(choice.host.as_deref(), Some("www.example.com"));
        assert_eq!(choice.reasons.len(), 2, "{:?}", choice.reasons);
        assert_eq!(site.choice(Some(H1Tls)).protocol, H1Tls);
        assert_eq!(port(&site, H1, None), None);
        assert_eq!(port(&site, H3, None), Some(443));
    }

    #[test]
    fn the_first_listener_is_the_one_that_a_file_is_there_for() {
        use Protocol::{H1, H1Tls};
        let site = found(vec![
            listener(ListenerKind::Http, 8080, &[H1], &[]),
            listener(ListenerKind::Http, 9090, &[H1], &["b.test"]),
            listener(ListenerKind::Http, 443, &[H1Tls], &["a.test"]),
        ]);
        let choice = site.choice(None);
        assert_eq!(
            (choice.protocol, choice.port, choice.host),
            (H1, Some(8080), None)
        );
        assert_eq!(port(&site, H1, Some("b.test")), Some(9090));
        assert_eq!(found(Vec::new()).choice(None).path, "/");
    }

    #[test]
    fn a_name_chooses_the_site_whatever_it_is_there_for() {
        use Protocol::{H1, H1Tls};
        let mut site = found(vec![
            listener(ListenerKind::Http, 80, &[H1], &["a.test"]),
            listener(ListenerKind::Refusing, 81, &[H1], &["b.test"]),
            listener(ListenerKind::Http, 443, &[H1Tls], &["*.c.test"]),
        ]);
        site.path = Some("/page".to_owned());
        let asked = |protocol, host| {
            let choice = site.choice_of(protocol, host);
            (choice.port, choice.host.unwrap(), choice.path)
        };
        let row = |port, host: &str, path: &str| (Some(port), host.to_owned(), path.to_owned());
        assert_eq!(asked(None, None), row(80, "a.test", "/page"));
        assert_eq!(asked(None, Some("a.test")), row(80, "a.test", "/page"));
        assert_eq!(asked(None, Some("b.test")), row(81, "b.test", "/"));
        assert_eq!(asked(None, Some("x.c.test")), row(443, "x.c.test", "/"));
        assert_eq!(
            asked(Some(H1), Some("x.c.test")),
            row(80, "a.test", "/page")
        );
        assert_eq!(port(&site, H1, Some("b.test")), Some(81));
        site.listeners
            .retain(|it| it.kind == ListenerKind::Refusing);
        assert_eq!(site.choice(Some(H1)).port, Some(81));
    }

    #[test]
    fn a_pattern_of_names_becomes_a_name() {
        for (pattern, name) in [
            ("example.com", Some("example.com")),
            (".example.com", Some("example.com")),
            ("*.example.com", Some("www.example.com")),
            ("app.<domain>.<suffix>", Some("app.domain.suffix")),
            ("~^(www\\.)?x", None),
            ("_", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(asked_as(pattern).as_deref(), name, "{pattern}");
        }
    }
}
