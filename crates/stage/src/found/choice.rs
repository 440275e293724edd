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

/// The end of the reason why another path is asked.
const NOTHING_AT_ROOT: &str = ", because it has nothing at /";

impl Found {
    /// Protocols that it answers requests over.
    pub fn protocols(&self) -> BTreeSet<&'static str> {
        let protocols = self.answering().flat_map(|listener| &listener.protocols);
        protocols.map(|protocol| protocol.name()).collect()
    }

    /// What to ask, over `protocol` if that is settled already.
    pub fn choice(&self, protocol: Option<Protocol>) -> Choice {
        let speaks = |listener: &&Listener| {
            protocol.is_none_or(|protocol| listener.protocols.contains(&protocol))
        };
        let path = self.path.clone().unwrap_or_else(|| "/".to_owned());
        let mut choice = Choice {
            protocol: protocol.unwrap_or_default(),
            host: None,
            path,
            port: None,
            reasons: Vec::new(),
        };
        // Beside datagrams there is mostly what answers over TCP.
        let is_usual = |listener: &&Listener| listener.protocols != [Protocol::H3];
        let usual = self.answering().filter(is_usual).find(speaks);
        let Some(listener) = usual.or_else(|| self.answering().find(speaks)) else {
            return choice;
        };
        if protocol.is_none() {
            let speaks = |protocol: &&Protocol| listener.protocols.contains(protocol);
            choice.protocol = PREFERRED.iter().find(speaks).copied().unwrap_or_default();
        }
        choice.port = listener.port;
        choice.host = listener.hosts.iter().find_map(|host| asked_as(host));
        choice.reasons = self.reasons(listener, &choice);
        choice
    }

    /// The listener that answers these requests.
    pub(crate) fn listener(&self, protocol: Protocol, host: Option<&str>) -> Option<&Listener> {
        let speaks = |listener: &&Listener| listener.protocols.contains(&protocol);
        let serves = |listener: &&Listener| {
            let asked = |name: &String| Some(name.as_str()) == host;
            listener
                .hosts
                .iter()
                .filter_map(|host| asked_as(host))
                .any(|name| asked(&name))
        };
        let mut speaking = self.answering().filter(speaks);
        let exact = speaking.clone().find(serves);
        exact.or_else(|| speaking.next())
    }

    /// Listeners that answer requests where somebody can ask.
    fn answering(&self) -> impl Iterator<Item = &Listener> + Clone {
        let listeners = self.listeners.iter();
        listeners.filter(|it| it.kind == ListenerKind::Http && it.port.is_some())
    }

    fn reasons(&self, listener: &Listener, choice: &Choice) -> Vec<String> {
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
        {
            let of = match listener.hosts.len() {
                1 => "the name of its site".to_owned(),
                count => format!("the first of {count} names"),
            };
            reasons.push(format!("it is asked as {host}, {of}"));
        }
        if choice.path != "/" {
            let path = &choice.path;
            reasons.push(format!("it is asked for {path}{NOTHING_AT_ROOT}"));
        }
        reasons
    }
}

impl Choice {
    /// Asks for another path, as there is nothing at this one.
    pub fn take_other(&mut self, path: &str) {
        let was = std::mem::replace(&mut self.path, path.to_owned());
        let path = &self.path;
        self.reasons
            .retain(|reason| !reason.ends_with(NOTHING_AT_ROOT));
        self.reasons.push(format!(
            "it is asked for {path}, because it has nothing at {was}"
        ));
    }
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
