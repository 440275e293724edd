//! What a configuration of Envoy contains that is written in it: `static_resources` and `admin`.
//!
//! What it fetches from elsewhere is not seen.

use std::collections::BTreeMap;

use bakeoff_plan::Protocol;

use super::{Found, Listener, ListenerKind, Named, Place, Problem, Text, Upstream, add};
use crate::keys::{Keyed, Keys};

/// A listener, as its lines say it.
#[derive(Default)]
struct Reading {
    address: String,
    port: Option<u16>,
    place: Place,
    hosts: Vec<String>,
    is_http: bool,
    is_secure: bool,
    speaks_h2: bool,
    speaks_h3: bool,
    redirects: bool,
    answers: bool,
}

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let mut found = Found::default();
    let mut paths = Vec::new();
    for file in files {
        let mut listeners: BTreeMap<&str, Reading> = BTreeMap::new();
        let mut upstreams: BTreeMap<&str, Upstream> = BTreeMap::new();
        let keys = Keys::of(file.text);
        for key in &keys.all {
            let place = file.place(key.line);
            if let Some((item, rest)) = within(key, "static_resources.listeners[") {
                note_path(rest, &key.value, &mut paths);
                listeners
                    .entry(item)
                    .or_default()
                    .note(rest, &key.value, &place);
            } else if let Some(at) = endpoint(&key.path) {
                // Each endpoint of a cluster has its own.
                let (endpoint, rest) = key.path.split_at(at);
                note_upstream(upstreams.entry(endpoint).or_default(), rest, key, place);
            } else if key.path == "admin.address.socket_address.port_value" {
                let port = key.value.parse().ok();
                add(&mut found.listeners, Listener::aside(port, place));
            } else if key.path.starts_with("dynamic_resources.") && key.path.ends_with("path") {
                let text = key.value.clone();
                add(&mut found.modules, Named { text, place });
            }
            note_file(key, file, &mut found);
        }
        let made = listeners.into_values().filter_map(Reading::listener);
        found.listeners.extend(made);
        let asked = upstreams.into_values().filter(|it| !it.address.is_empty());
        asked.for_each(|upstream| add(&mut found.upstreams, upstream));
    }
    super::sort(&mut found.listeners);
    super::choose_paths(&mut found, paths);
    let answers = |it: &Listener| it.kind == ListenerKind::Http;
    if !found.listeners.iter().any(answers) {
        found.problems.extend(problem(files, &found.listeners));
    }
    found
}

/// Why nothing here answers requests.
fn problem(files: &[Text<'_>], listeners: &[Listener]) -> Option<Problem> {
    let file = files.first()?;
    let keys = Keys::of(file.text).all;
    let elsewhere = keys
        .iter()
        .find(|key| key.path.starts_with("dynamic_resources"));
    let other = listeners.iter().find(|it| it.kind != ListenerKind::Aside);
    let (line, what) = match (elsewhere, other) {
        (Some(key), _) => (
            key.line,
            "its listeners come from elsewhere, and a trial has none of it",
        ),
        (None, Some(it)) => (
            it.place.line,
            "its listeners answer no requests over HTTP themselves",
        ),
        (None, None) => (1, "it has no listener in `static_resources`"),
    };
    Some(Problem {
        place: file.place(line),
        what: what.to_owned(),
        hint: "write a listener for HTTP with its clusters into `static_resources`, or start it \
               yourself and race its URL"
            .to_owned(),
    })
}

/// The item of a list that a key is in, and the rest of its path.
fn within<'k>(key: &'k Keyed, list: &str) -> Option<(&'k str, &'k str)> {
    let rest = key.path.strip_prefix(list)?;
    let (item, rest) = rest.split_once(']')?;
    Some((item, rest.trim_start_matches('.')))
}

/// Where the address of an upstream begins in a path.
fn endpoint(path: &str) -> Option<usize> {
    let is_cluster = path.starts_with("static_resources.clusters[");
    path.find("socket_address.").filter(|_| is_cluster)
}

fn note_path(rest: &str, value: &str, paths: &mut Vec<String>) {
    let is_path = ["match.prefix", "match.path", "match.path_separated_prefix"]
        .iter()
        .any(|end| rest.ends_with(end));
    if is_path && value.starts_with('/') {
        add(paths, value.to_owned());
    }
}

fn note_upstream(upstream: &mut Upstream, rest: &str, key: &Keyed, place: Place) {
    match rest {
        "socket_address.address" => {
            upstream.address = format!("{}{}", key.value, upstream.address);
            upstream.place = place;
        }
        "socket_address.port_value" => upstream.address += &format!(":{}", key.value),
        _ => {}
    }
}

fn note_file(key: &Keyed, file: &Text<'_>, found: &mut Found) {
    let named = Named {
        text: key.value.clone(),
        place: file.place(key.line),
    };
    if key.path.ends_with(".filename") {
        let is_tls =
            key.path.contains("tls_certificates") || key.path.contains("validation_context");
        let things = if is_tls {
            &mut found.certificates
        } else {
            &mut found.roots
        };
        add(things, named);
    } else if key.path.contains("access_log") && key.path.ends_with(".path") {
        add(&mut found.logs, named);
    }
}

impl Reading {
    fn note(&mut self, rest: &str, value: &str, place: &Place) {
        match rest {
            "address.socket_address.address" => self.address = value.to_owned(),
            "address.socket_address.port_value" => {
                self.port = value.parse().ok();
                self.place = place.clone();
            }
            _ => {}
        }
        self.is_http |= value.contains("http_connection_manager");
        self.is_secure |= rest.contains("tls_context") || value.contains("DownstreamTlsContext");
        self.speaks_h2 |= rest.contains("alpn_protocols") && value == "h2";
        self.speaks_h3 |= value == "HTTP3" || value.contains("QuicDownstreamTransport");
        self.redirects |= rest.contains(".redirect.");
        let answering = [
            ".route.cluster",
            ".route.weighted_clusters",
            ".direct_response.",
        ];
        self.answers |= answering.iter().any(|it| rest.contains(it));
        if rest.contains(".domains[") && value != "*" {
            add(&mut self.hosts, value.to_owned());
        }
    }

    fn listener(self) -> Option<Listener> {
        let protocols = match (self.is_secure, self.speaks_h2) {
            _ if !self.is_http => Vec::new(),
            _ if self.speaks_h3 => vec![Protocol::H3],
            (true, true) => vec![Protocol::H2, Protocol::H1Tls],
            (true, false) => vec![Protocol::H1Tls],
            // They differ in how they begin.
            (false, _) => vec![Protocol::H1, Protocol::H2c],
        };
        Some(Listener {
            port: Some(self.port?),
            address: self.address,
            protocols,
            hosts: self.hosts,
            kind: match self.is_http {
                true if self.redirects && !self.answers => ListenerKind::Redirect,
                true => ListenerKind::Http,
                false => ListenerKind::Tcp,
            },
            place: self.place,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const FILE: &str = "static_resources:
  listeners:
  - name: web
    address:
      socket_address: { address: 0.0.0.0, port_value: 10000 }
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': type.googleapis.com/HttpConnectionManager
          route_config:
            virtual_hosts:
            - name: app
              domains: [\"app.test\", \"*\"]
              routes:
              - match: { prefix: /api/ }
                route: { cluster: app }
  - address: { socket_address: { address: '::', port_value: 8443 } }
    filter_chains:
    - transport_socket:
        typed_config:
          common_tls_context:
            alpn_protocols: [h2, http/1.1]
            tls_certificates:
            - certificate_chain: { filename: /etc/a.pem }
      filters: [ { name: envoy.http_connection_manager } ]
  clusters:
  - name: app
    load_assignment:
      endpoints:
      - lb_endpoints:
        - endpoint:
            address:
              socket_address:
                address: app
                port_value: 9000
        - endpoint: { address: { socket_address: { address: b.test, port_value: 80 } } }
admin:
  address:
    socket_address: { address: 127.0.0.1, port_value: 9901 }
";

    #[test]
    fn listeners_upstreams_and_paths_are_found() {
        let found = read(&[Text {
            path: Path::new("envoy.yaml"),
            text: FILE,
        }]);
        let listeners: Vec<_> = found
            .listeners
            .iter()
            .map(|it| {
                (
                    it.port.unwrap(),
                    it.kind,
                    it.protocols.first().copied(),
                    it.place.line,
                )
            })
            .collect();
        assert_eq!(
            listeners,
            [
                (10000, ListenerKind::Http, Some(Protocol::H1), 5),
                (8443, ListenerKind::Http, Some(Protocol::H2), 18),
                (9901, ListenerKind::Aside, Some(Protocol::H1), 40),
            ]
        );
        assert_eq!(found.listeners[0].hosts, ["app.test"]);
        let upstreams: Vec<_> = found
            .upstreams
            .iter()
            .map(|it| it.address.as_str())
            .collect();
        assert_eq!(upstreams, ["app:9000", "b.test:80"]);
        assert_eq!(found.path.as_deref(), Some("/api/"));
        assert_eq!(found.certificates[0].text, "/etc/a.pem");
    }

    #[test]
    fn a_file_without_a_listener_of_http_says_what_is_missing() {
        for (text, line, what) in [
            (
                "dynamic_resources:\n  cds_config: {ads: {}}\n",
                2,
                "from elsewhere",
            ),
            ("static_resources:\n  clusters: []\n", 1, "no listener"),
        ] {
            let path = Path::new("envoy.yaml");
            let problem = &read(&[Text { path, text }]).problems[0];
            assert_eq!(problem.place.line, line);
            assert!(problem.what.contains(what), "{}", problem.what);
        }
    }
}
