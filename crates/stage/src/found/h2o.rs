//! What a configuration of H2O contains: listeners, hosts and the paths below them.

use std::collections::BTreeMap;

use bakeoff_plan::Protocol;

use super::{Found, Listener, ListenerKind, Named, Place, Problem, Text, Upstream, add};
use crate::keys::{Keyed, Keys};

/// Files that it writes.
const WRITTEN: [&str; 5] = [
    "access-log",
    "access-log.path",
    "error-log",
    "error-log.path",
    "pid-file",
];

/// Reads the files of one configuration, the main one first.
pub(super) fn read(files: &[Text<'_>]) -> Found {
    let mut found = Found::default();
    let mut paths = Vec::new();
    for file in files {
        let mut listeners: BTreeMap<String, Listening> = BTreeMap::new();
        let mut hosts = Vec::new();
        for key in &Keys::of(file.text).all {
            let place = file.place(key.line);
            if let Some((at, rest)) = listener(&key.path) {
                listeners
                    .entry(at.to_owned())
                    .or_default()
                    .note(rest, &key.value, &place);
            }
            if let Some((host, rest)) = key.path.strip_prefix("hosts.").and_then(host) {
                if host != "default" {
                    add(&mut hosts, host.to_owned());
                }
                note_path(rest, &mut paths);
            }
            note(key, place, &mut found);
        }
        let made = listeners.into_values().filter_map(|it| it.listener(&hosts));
        found.listeners.extend(made);
    }
    if let Some(file) = files.first().filter(|_| found.listeners.is_empty()) {
        found.problems.push(Problem {
            place: file.place(1),
            what: "it listens at no port".to_owned(),
            hint: "write `listen: 8080`".to_owned(),
        });
    }
    super::sort(&mut found.listeners);
    super::choose_paths(&mut found, paths);
    found
}

/// The key that opens a listener, and the rest of a path in it.
fn listener(path: &str) -> Option<(&str, &str)> {
    let begin = match path.starts_with("listen") {
        true => 0,
        false => path.find(".listen")? + 1,
    };
    let rest = &path[begin + "listen".len()..];
    let item = match rest.find(']') {
        Some(end) if rest.starts_with('[') => end + 1,
        _ => 0,
    };
    let end = begin + "listen".len() + item;
    let rest = &path[end..];
    (rest.is_empty() || rest.starts_with('.')).then(|| (&path[..end], rest.trim_start_matches('.')))
}

/// The name of a host, without its port, and what follows it in a path.
fn host(rest: &str) -> Option<(&str, &str)> {
    let end = [".paths", ".listen"].iter().filter_map(|it| rest.find(it));
    let (name, rest) = rest.split_at(end.min()?);
    Some((name.split(':').next().unwrap_or(name), rest))
}

fn note_path(rest: &str, paths: &mut Vec<String>) {
    let Some(path) = rest.strip_prefix(".paths.") else {
        return;
    };
    // A path may have dots of its own; what it does follows it.
    let does = [
        ".proxy.",
        ".file.",
        ".redirect",
        ".mruby",
        ".status",
        ".header",
        "[",
    ];
    let end = does.iter().filter_map(|it| path.find(it)).min();
    let path = &path[..end.unwrap_or(path.len())];
    if path.starts_with('/') {
        add(paths, path.to_owned());
    }
}

fn note(key: &Keyed, place: Place, found: &mut Found) {
    let ends = |end: &str| {
        let rest = key.path.strip_suffix(end);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let path = key.path.trim_end_matches(']');
    let is_url = path.ends_with("proxy.reverse.url")
        || path
            .rsplit_once('[')
            .is_some_and(|(list, _)| list.ends_with("proxy.reverse.url"));
    let named = Named {
        text: key.value.clone(),
        place: place.clone(),
    };
    if key.value.is_empty() {
    } else if is_url {
        let upstream = Upstream {
            address: key.value.clone(),
            place,
            ..Upstream::default()
        };
        add(&mut found.upstreams, upstream);
    } else if ends("certificate-file") || ends("key-file") {
        add(&mut found.certificates, named);
    } else if ends("file.dir") {
        add(&mut found.roots, named);
    } else if WRITTEN.iter().any(|it| ends(it)) && !key.value.starts_with('|') {
        add(&mut found.logs, named);
    }
}

/// A listener, as its lines say it.
#[derive(Default)]
struct Listening {
    address: String,
    port: Option<u16>,
    is_secure: bool,
    /// A socket in the file system.
    is_file: bool,
    place: Option<Place>,
}

impl Listening {
    fn note(&mut self, rest: &str, value: &str, place: &Place) {
        match rest {
            "" | "port" => {
                let (host, port) = value.rsplit_once(':').unwrap_or(("", value));
                if let Ok(port) = port.parse() {
                    self.port = Some(port);
                    self.place = Some(place.clone());
                }
                if !host.is_empty() {
                    host.clone_into(&mut self.address);
                }
            }
            "host" => value.clone_into(&mut self.address),
            "type" => self.is_file = value == "unix",
            _ => self.is_secure |= rest.starts_with("ssl"),
        }
    }

    fn listener(self, hosts: &[String]) -> Option<Listener> {
        let protocols = match self.is_secure {
            true => vec![Protocol::H2, Protocol::H1Tls],
            false => vec![Protocol::H1, Protocol::H2c],
        };
        Some(Listener {
            address: match self.address.is_empty() {
                true => "*".to_owned(),
                false => self.address,
            },
            port: Some(self.port.filter(|_| !self.is_file)?),
            protocols,
            hosts: hosts.to_vec(),
            kind: ListenerKind::Http,
            place: self.place?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const FILE: &str = "user: nobody
listen:
  port: 8080
listen: 127.0.0.1:8081
hosts:
  \"app.test:443\":
    listen:
      port: 443
      ssl:
        certificate-file: /etc/a.crt
        key-file: /etc/a.key
    paths:
      \"/api\":
        proxy.reverse.url: \"http://127.0.0.1:9000/\"
      /static.d/:
        file.dir: /srv/www
    access-log: /var/log/h2o/access.log
error-log:
  path: /var/log/h2o/error.log
pid-file: /run/h2o.pid
";

    #[test]
    fn listeners_upstreams_and_files_are_found() {
        let path = Path::new("h2o.conf");
        let found = read(&[Text { path, text: FILE }]);
        let listeners = found.listeners.iter();
        let listeners: Vec<_> = listeners
            .map(|it| (it.port.unwrap(), it.protocols[0], it.place.line))
            .collect();
        assert!(listeners.contains(&(443, Protocol::H2, 8)), "{listeners:?}");
        assert_eq!(found.listeners[0].hosts, ["app.test"]);
        assert_eq!(found.upstreams[0].address, "http://127.0.0.1:9000/");
        let texts = |named: &[Named]| named.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&found.certificates), ["/etc/a.crt", "/etc/a.key"]);
        assert_eq!(texts(&found.roots), ["/srv/www"]);
        let logs = [
            "/var/log/h2o/access.log",
            "/var/log/h2o/error.log",
            "/run/h2o.pid",
        ];
        assert_eq!(texts(&found.logs), logs);
        assert_eq!(found.paths, ["/api", "/static.d/"]);
    }
}
