//! What the configuration of Traefik contains that is written in files: entry points, routers and
//! services.
//!
//! What it learns from containers and other providers is not seen.

use std::collections::BTreeMap;

use bakeoff_plan::Protocol;

use super::{
    Found, Listener, ListenerKind, Named, Place, Problem, Text, Upstream, UpstreamKind, add,
};
use crate::keys::{Keyed, Keys};

/// Where Traefik shows itself, if it is not said.
const OWN_PORT: u16 = 8080;
/// Providers of routes that no trial has.
const ELSEWHERE: [&str; 12] = [
    "docker",
    "swarm",
    "kubernetesIngress",
    "kubernetesCRD",
    "kubernetesGateway",
    "consulCatalog",
    "consul",
    "etcd",
    "redis",
    "nomad",
    "ecs",
    "marathon",
];

#[derive(Default)]
struct Entry {
    address: String,
    place: Place,
    is_secure: bool,
    speaks_h3: bool,
    redirects: bool,
}

#[derive(Default)]
struct Router {
    entries: Vec<String>,
    rule: String,
    is_secure: bool,
}

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let mut reader = Reader::default();
    for file in files {
        for key in &Keys::of(file.text).all {
            reader.note(key, file);
        }
    }
    reader.finish(files)
}

#[derive(Default)]
struct Reader {
    found: Found,
    entries: BTreeMap<String, Entry>,
    routers: BTreeMap<String, Router>,
    /// The first provider of routes that a trial has not.
    elsewhere: Option<Named>,
    has_files: bool,
    shows_itself: Option<Place>,
}

impl Reader {
    fn note(&mut self, key: &Keyed, file: &Text<'_>) {
        let place = file.place(key.line);
        let named = |text: &str| Named {
            text: text.to_owned(),
            place: place.clone(),
        };
        let mut parts = key.path.split('.');
        let mut next = || parts.next().unwrap_or_default();
        match (next(), next(), next(), next()) {
            // The head of a table alone.
            ("entryPoints", "", ..) | ("http", "routers", "", _) => {}
            ("entryPoints", name, "address", "") => {
                let entry = self.entries.entry(name.to_owned()).or_default();
                entry.address.clone_from(&key.value);
                entry.place = place.clone();
            }
            ("entryPoints", name, what, inner) => {
                let entry = self.entries.entry(name.to_owned()).or_default();
                entry.speaks_h3 |= what == "http3";
                entry.is_secure |= what == "http" && inner == "tls";
                entry.redirects |= what == "http" && inner == "redirections";
            }
            ("http", "routers", name, what) => {
                let router = self.routers.entry(name.to_owned()).or_default();
                match what.split('[').next().unwrap_or_default() {
                    "rule" => router.rule.clone_from(&key.value),
                    "entryPoints" => router.entries.push(key.value.clone()),
                    "tls" => router.is_secure |= key.value != "false",
                    _ => {}
                }
            }
            ("http", "services", ..) if key.path.ends_with(".url") => {
                let upstream = Upstream {
                    kind: UpstreamKind::Http,
                    address: key.value.clone(),
                    place: place.clone(),
                };
                add(&mut self.found.upstreams, upstream);
            }
            ("providers", "file", ..) => self.has_files = true,
            ("providers", name, ..) if ELSEWHERE.contains(&name) => {
                self.elsewhere.get_or_insert_with(|| named(name));
            }
            ("api", "insecure", ..) if key.value == "true" => {
                self.shows_itself = Some(place.clone());
            }
            _ => {}
        }
        if ["certFile", "keyFile"]
            .iter()
            .any(|end| key.path.ends_with(end))
        {
            add(&mut self.found.certificates, named(&key.value));
        } else if key.path.ends_with(".filePath") {
            add(&mut self.found.logs, named(&key.value));
        } else if key.path.starts_with("experimental.plugins.") && key.path.ends_with("moduleName")
        {
            add(&mut self.found.modules, named(&key.value));
        }
    }

    fn finish(mut self, files: &[Text<'_>]) -> Found {
        let mut paths = Vec::new();
        // Entry points that no router is for come last: all that is asked there is not found.
        let mut idle = Vec::new();
        for (name, entry) in &self.entries {
            let mut listener = entry.listener();
            let is_its = |router: &&Router| {
                router.entries.is_empty() || router.entries.iter().any(|it| it == name)
            };
            let mut is_secure = entry.is_secure;
            let mut is_for_any = false;
            for router in self.routers.values().filter(is_its) {
                is_secure |= router.is_secure;
                let hosts = said(&router.rule, &["Host"]);
                is_for_any |= hosts.is_empty();
                hosts
                    .into_iter()
                    .for_each(|host| add(&mut listener.hosts, host));
                let of_rule = said(&router.rule, &["PathPrefix", "Path"]);
                if of_rule.is_empty() {
                    add(&mut paths, "/".to_owned());
                }
                of_rule.into_iter().for_each(|path| add(&mut paths, path));
            }
            if is_for_any {
                listener.hosts.clear();
            }
            listener.protocols = match (is_secure, entry.speaks_h3) {
                (true, true) => vec![Protocol::H2, Protocol::H1Tls, Protocol::H3],
                (true, false) => vec![Protocol::H2, Protocol::H1Tls],
                (false, _) => vec![Protocol::H1, Protocol::H2c],
            };
            let has_router = self.routers.values().any(|it| is_its(&it));
            if has_router || self.routers.is_empty() || listener.kind != ListenerKind::Http {
                add(&mut self.found.listeners, listener);
            } else {
                add(&mut idle, listener);
            }
        }
        if let Some(place) = self.shows_itself.take() {
            let listener = Listener::aside(Some(OWN_PORT), place);
            add(&mut self.found.listeners, listener);
        }
        super::sort(&mut self.found.listeners);
        self.found.listeners.extend(idle);
        super::choose_paths(&mut self.found, paths);
        let problem = self.problem(files);
        self.found.problems.extend(problem);
        self.found
    }

    /// Why nothing would answer.
    fn problem(&self, files: &[Text<'_>]) -> Option<Problem> {
        if self.entries.is_empty() && !self.routers.is_empty() {
            return Some(Problem {
                place: files.first()?.place(1),
                what: "it has routers and no entry points: it is the part of a configuration that \
                       a provider reads"
                    .to_owned(),
                hint: "name the file with `entryPoints`, which takes this one in by \
                       `providers.file`"
                    .to_owned(),
            });
        }
        let elsewhere = self
            .elsewhere
            .as_ref()
            .filter(|_| self.routers.is_empty())?;
        Some(Problem {
            place: elsewhere.place.clone(),
            what: format!(
                "its routes come from the provider `{}`, and a trial has none of what that sees",
                elsewhere.text
            ),
            hint: if self.has_files {
                "put the files of `providers.file` where it says".to_owned()
            } else {
                "write routers and services into a file, and name it by `providers.file`; or start \
                 it yourself, and race its URL"
                    .to_owned()
            },
        })
    }
}

impl Entry {
    fn listener(&self) -> Listener {
        let address = self.address.split('/').next().unwrap_or_default();
        let (host, port) = address.rsplit_once(':').unwrap_or(("", address));
        Listener {
            address: if host.is_empty() { "*" } else { host }.to_owned(),
            port: port.parse().ok(),
            kind: match self.redirects {
                true => ListenerKind::Redirect,
                false if self.address.ends_with("/udp") => ListenerKind::Tcp,
                false => ListenerKind::Http,
            },
            place: self.place.clone(),
            ..Listener::default()
        }
    }
}

/// What a rule says in the round brackets of these words, such as ``Host(`a.test`)``.
fn said(rule: &str, words: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, _) in rule.match_indices('(') {
        let word = rule[..at]
            .rsplit(|letter: char| !letter.is_ascii_alphanumeric())
            .next();
        let is_not = rule[..at]
            .trim_end_matches(char::is_alphanumeric)
            .ends_with('!');
        if is_not || !words.contains(&word.unwrap_or_default()) {
            continue;
        }
        let inner = rule[at + 1..].split(')').next().unwrap_or_default();
        let texts = inner
            .split(',')
            .map(|text| text.trim().trim_matches(['`', '"', '\'']));
        all.extend(texts.filter(|text| !text.is_empty()).map(str::to_owned));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(texts: &[&str]) -> Found {
        let texts = texts.iter().map(|text| Text {
            path: Path::new("traefik.yml"),
            text,
        });
        read(&texts.collect::<Vec<_>>())
    }

    const STATIC: &str = "entryPoints:
  web:
    address: \":80\"
    http: { redirections: { entryPoint: { to: websecure } } }
  websecure: { address: ':443', http3: {} }
providers:
  file: { filename: dynamic.toml }
api: { insecure: true }
";

    #[test]
    fn entry_points_have_what_their_routers_say() {
        let routers = "[http.routers.app]\nrule = \"Host(`app.test`) && PathPrefix(`/api`)\"\n\
                       service = \"app\"\n[http.routers.app.tls]\n\
                       [[http.services.app.loadBalancer.servers]]\nurl = \"http://10.0.0.1:80\"\n";
        let found = of(&[STATIC, routers]);
        let listeners: Vec<_> = found
            .listeners
            .iter()
            .map(|it| (it.port.unwrap(), it.kind, it.protocols[0], it.place.line))
            .collect();
        assert_eq!(
            listeners,
            [
                (80, ListenerKind::Redirect, Protocol::H2, 3),
                (443, ListenerKind::Http, Protocol::H2, 5),
                (8080, ListenerKind::Aside, Protocol::H1, 8),
            ]
        );
        assert_eq!(found.listeners[1].hosts, ["app.test"]);
        assert_eq!(found.path.as_deref(), Some("/api"));
        assert_eq!(found.upstreams[0].address, "http://10.0.0.1:80");
        assert_eq!(found.problems, []);
        let plain = "entryPoints:\n  a: { address: ':80' }\n  b: { address: ':81' }\n";
        let router = "http:\n  routers:\n    r: { rule: Path(`/x`), entryPoints: [b] }\n";
        assert_eq!(of(&[plain, router]).choice(None).port, Some(81));
    }

    #[test]
    fn routes_from_elsewhere_and_parts_are_problems() {
        let docker = "entryPoints:\n  web:\n    address: :80\nproviders:\n  docker:\n    \
                      exposedByDefault: false\n";
        let problem = &of(&[docker]).problems[0];
        assert_eq!(problem.place.line, 6);
        assert!(problem.what.contains("`docker`"), "{}", problem.what);
        let part = "http:\n  routers:\n    app:\n      rule: Host(`a.test`)\n";
        assert!(of(&[part]).problems[0].hint.contains("entryPoints"));
    }

    #[test]
    fn a_rule_says_names_and_paths() {
        let rule = "(Host(`a.test`, `b.test`) || Host(\"c.test\")) && !Path(`/x`) && Path(`/y`)";
        assert_eq!(said(rule, &["Host"]), ["a.test", "b.test", "c.test"]);
        assert_eq!(said(rule, &["Path", "PathPrefix"]), ["/y"]);
        assert_eq!(said("Host(", &["Host"]), [""; 0]);
    }
}
