//! What a compose file contains: services, their images and ports, and which service is the
//! upstream of which.
//!
//! Nothing is started. Upstreams are read from the services' settings and from the configuration
//! files that they name, as far as these are text.

use std::path::Path;

use bakeoff_record::read_regular_text;
use regex_lite::Regex;

use crate::keys::{Keyed, Keys};

/// Services that are read.
const SERVICES_MAX: usize = 200;
/// Longest text beside the file that is looked into.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Files beside it that are looked into.
const FILES_MAX: usize = 100;

/// A service of a compose file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Its image; `None` where it is built.
    pub image: Option<String>,
    /// Ports of this machine that lead to it, as they are written.
    pub ports: Vec<u16>,
    /// Other services that it asks.
    pub asks: Vec<String>,
    /// Others that are started before it.
    pub after: Vec<String>,
}

/// The services of a compose file with this text; `None` for any other file.
pub fn compose(path: &Path, text: &str) -> Option<Vec<Service>> {
    let keys = Keys::of(text).all;
    let is_service = |key: &Keyed| {
        part_of(key).is_some_and(|(_, rest)| rest == "image" || rest.starts_with("build"))
    };
    if !keys.iter().any(is_service) {
        return None;
    }
    let mut services: Vec<Service> = Vec::new();
    for (name, _) in keys.iter().filter_map(part_of) {
        let is_new = !services.iter().any(|it| it.name == name);
        if is_new && services.len() < SERVICES_MAX {
            services.push(Service {
                name: name.to_owned(),
                ..Service::default()
            });
        }
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let names: Vec<String> = services.iter().map(|it| it.name.clone()).collect();
    let mut files_left = FILES_MAX;
    for service in &mut services {
        let own = keys.iter().filter_map(|key| {
            let (name, rest) = part_of(key)?;
            (name == service.name).then_some((rest, key.value.as_str()))
        });
        let own: Vec<(&str, &str)> = own.collect();
        let mut texts = String::new();
        for (rest, value) in &own {
            service.note(rest, value);
            let is_mount = rest.starts_with("volumes[") && files_left > 0;
            if is_mount && let Some(beside) = value.split(':').next().filter(|it| it.contains('/'))
            {
                files_left -= 1;
                let text = read_regular_text(&folder.join(beside), TEXT_BYTES_MAX);
                texts.push_str(&text.unwrap_or_default());
            }
            if ["environment", "command", "entrypoint", "labels"]
                .iter()
                .any(|it| rest.starts_with(it))
            {
                texts.push_str(value);
            }
            texts.push('\n');
        }
        let others = names.iter().filter(|name| **name != service.name);
        let asked: Vec<&String> = others.filter(|name| names_host(&texts, name)).collect();
        for name in asked {
            crate::found::add(&mut service.asks, name.clone());
        }
    }
    Some(services)
}

/// The service that a key is of, and the rest of its path.
fn part_of(key: &Keyed) -> Option<(&str, &str)> {
    let rest = key.path.strip_prefix("services.")?;
    Some(rest.split_once('.').unwrap_or((rest, "")))
}

impl Service {
    fn note(&mut self, rest: &str, value: &str) {
        let list = rest.split(['[', '.']).next().unwrap_or_default();
        match list {
            "image" => self.image = Some(value.to_owned()),
            "ports" if rest.ends_with(".published") || rest.ends_with(']') => {
                self.ports.extend(published(value));
            }
            "links" => self.asks.extend(value.split(':').next().map(str::to_owned)),
            "depends_on" => {
                // A list of names, or a table of them.
                let of_table = rest.split('.').nth(1);
                crate::found::add(&mut self.after, of_table.unwrap_or(value).to_owned());
            }
            _ => {}
        }
    }
}

/// The port of this machine in `127.0.0.1:8080:80/tcp`; a range has its first one.
fn published(text: &str) -> Option<u16> {
    let text = text.split('/').next().unwrap_or_default();
    let mut parts = text.rsplit(':');
    let inner = parts.next();
    let outer = parts.next().or(inner)?;
    // A variable may have a default: `${PORT:-8080}`.
    let digits = outer.trim_start_matches('-').trim_end_matches('}');
    digits.split('-').next()?.parse().ok()
}

/// Whether a text has a name where a host is named: `//app/`, `app:3000`, `address: app`.
fn names_host(text: &str, name: &str) -> bool {
    let name = regex_lite::escape(name);
    let url = format!(r#"(?://|@){name}(?:[:/;"'\s]|$)"#);
    let pair = format!(r#"(?:^|[\s"'=,(]){name}:[0-9]"#);
    let address = format!(r#"address:\s*["']?{name}(?:[\s"',}}]|$)"#);
    let pattern = format!("{url}|{pair}|{address}");
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    Regex::new(&pattern).is_ok_and(|it| {
        let mut lines = text.lines().filter(|line| !is_comment(line));
        lines.any(|line| it.is_match(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_have_images_ports_and_whom_they_ask() {
        let folder = tempfile::tempdir().unwrap();
        let conf = "upstream x { server app:3000; }\n# proxy_pass http://db;\n";
        std::fs::write(folder.path().join("nginx.conf"), conf).unwrap();
        let text = "services:
  proxy:
    image: nginx:1.28 # pinned
    ports:
      - \"127.0.0.1:8080:80\"
      - target: 443
        published: 8443
    volumes: [./nginx.conf:/etc/nginx/nginx.conf:ro]
    depends_on: [app, db]
  app:
    build: .
    environment:
      DATABASE_URL: postgres://user:pass@db:5432/x
    expose: ['3000']
  db: {image: postgres}
";
        let found = compose(&folder.path().join("compose.yaml"), text).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|it| {
                (
                    it.name.as_str(),
                    it.image.as_deref(),
                    it.ports.clone(),
                    it.asks.join(" "),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (
                    "proxy",
                    Some("nginx:1.28"),
                    vec![8080, 8443],
                    "app".to_owned()
                ),
                ("app", None, vec![], "db".to_owned()),
                ("db", Some("postgres"), vec![], String::new()),
            ]
        );
        assert_eq!(found[0].after, ["app", "db"]);
    }

    #[test]
    fn only_a_compose_file_is_one() {
        for text in [
            "",
            "http:\n  services:\n    a:\n      loadBalancer: {}\n",
            "static_resources:\n  listeners: []\n",
            "services:\n  app: http://a\n",
        ] {
            assert_eq!(compose(Path::new("a.yaml"), text), None, "{text}");
        }
    }

    #[test]
    fn ports_are_those_of_this_machine() {
        for (text, port) in [
            ("80", Some(80)),
            ("8080:80", Some(8080)),
            ("127.0.0.1:8080:80/udp", Some(8080)),
            ("8000-8010:80-90", Some(8000)),
            ("${PORT:-8080}:80", Some(8080)),
            ("${PORT}:80", None),
        ] {
            assert_eq!(published(text), port, "{text}");
        }
    }
}
