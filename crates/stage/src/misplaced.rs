//! Files that people give where a server's configuration is expected, and what to give instead.
//!
//! Only what nobody could take for a configuration is named here: a file of a well-known name or
//! ending, or one whose text says what it is.

use std::path::Path;

use bakeoff_record::shell_path;

use crate::keys::{Keyed, Keys};

/// A file that configures no server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// What it is, as the end of a sentence that begins with its name.
    pub what: String,
    /// What to give instead, as a clause.
    pub instead: String,
}

impl Misplaced {
    fn new(what: impl Into<String>, instead: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            instead: instead.into(),
        }
    }
}

/// Endings of programs' sources, and what starts one.
const SOURCES: [(&str, &str); 9] = [
    ("js", "node"),
    ("mjs", "node"),
    ("cjs", "node"),
    ("ts", "npx tsx"),
    ("py", "python3"),
    ("rb", "ruby"),
    ("go", "go run"),
    ("sh", "sh"),
    ("jar", "java -jar"),
];
const URL: &str = "name the URL that answers";

/// What the file `path` with this text is, if it is none of a server.
pub fn misplaced(path: &Path, text: &str) -> Option<Misplaced> {
    if text.trim().is_empty() {
        return Some(Misplaced::new(
            "is empty",
            "write the server's configuration into it, or name another file",
        ));
    }
    by_name(path, text).or_else(|| by_text(path, text))
}

fn by_name(path: &Path, text: &str) -> Option<Misplaced> {
    let name = path.file_name()?.to_str()?;
    let ending = path.extension().and_then(|it| it.to_str());
    let shown = shell_path(path);
    let is_dockerfile = |it: &str| it == "Dockerfile" || it == "Containerfile";
    let before_dot = name.split('.').next().unwrap_or(name);
    if is_dockerfile(before_dot) || ending == Some("dockerfile") {
        return Some(Misplaced::new(
            "is a Dockerfile, which builds an image",
            "build it, and race the image: `podman build -t NAME .`, then `bakeoff race --image \
             NAME OTHER /`",
        ));
    }
    if name == ".htaccess" {
        return Some(Misplaced::new(
            "is a .htaccess, which Apache takes in when it serves the folder that it lies in",
            "name the configuration that serves that folder, such as httpd.conf or the file of a \
             <VirtualHost>, with `AllowOverride All` for it",
        ));
    }
    if name == "package.json" {
        return Some(Misplaced::new(
            "is the package of a program",
            "start that with --start 'npm start'; it is told its port in PORT",
        ));
    }
    if ending == Some("jmx") {
        return Some(Misplaced::new("is a test plan of JMeter", URL));
    }
    if text.contains("from 'k6/http'") || text.contains("from \"k6/http\"") {
        return Some(Misplaced::new("is a script of k6", URL));
    }
    let starts = SOURCES.iter().find(|(it, _)| Some(*it) == ending);
    starts.map(|(_, program)| {
        Misplaced::new(
            "is a program",
            format!(
                "give what starts it: --start '{program} {shown}'; its port is in PORT, or where \
                 the command has {{port}}"
            ),
        )
    })
}

fn by_text(path: &Path, text: &str) -> Option<Misplaced> {
    let shown = shell_path(path);
    let begins = text.trim_start().to_ascii_lowercase();
    let mut lines = text.lines().map(str::trim);
    if begins.starts_with("-----begin ") {
        return Some(Misplaced::new(
            "holds certificates or keys",
            "name the configuration that uses them",
        ));
    }
    if begins.starts_with("<!doctype html") || begins.starts_with("<html") {
        return Some(Misplaced::new(
            "is a page in HTML",
            "name the configuration of a server that serves it, or the URL that answers it",
        ));
    }
    if lines.clone().any(|line| line == "[Service]")
        && let Some(command) = lines.find_map(|line| line.strip_prefix("ExecStart="))
    {
        let command = command.trim().replace('\'', "'\\''");
        return Some(Misplaced::new(
            "is a unit of systemd",
            format!("give the command that it starts: --start '{command}'"),
        ));
    }
    let keys = Keys::of(text).all;
    let value = |path: &str| {
        let found = keys.iter().find(|key: &&Keyed| key.path == path)?;
        Some(found.value.as_str())
    };
    if let (Some(_), Some(kind)) = (value("apiVersion"), value("kind")) {
        return Some(Misplaced::new(
            format!("describes {kind} of Kubernetes, and its cluster has the server's own file"),
            URL,
        ));
    }
    if value("openapi").or_else(|| value("swagger")).is_some() {
        return Some(Misplaced::new("describes an interface (OpenAPI)", URL));
    }
    if text.trim_start().starts_with('{') && value("log.version").is_some() {
        return Some(Misplaced::new(
            "is a HAR file, the requests of a browser",
            format!("`bakeoff load --har {shown}` sends them"),
        ));
    }
    let is_contender = |key: &Keyed| key.path.starts_with("contender[");
    keys.iter().any(is_contender).then(|| {
        Misplaced::new(
            "is a plan of bakeoff",
            format!("run it with `bakeoff run {shown}`"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_configures_no_server_is_named_with_what_to_give_instead() {
        for (name, text, what, instead) in [
            ("nginx.conf", " \n", "is empty", "write"),
            (
                ".htaccess",
                "RewriteEngine On\n",
                "a .htaccess",
                "<VirtualHost>",
            ),
            (
                "Dockerfile.nginx",
                "FROM nginx\n",
                "a Dockerfile",
                "--image",
            ),
            ("web.dockerfile", "FROM nginx\n", "a Dockerfile", "--image"),
            (
                "nginx-ingress.yaml",
                "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n",
                "describes Ingress of Kubernetes",
                "URL",
            ),
            (
                "nginx.service",
                "[Unit]\nAfter=a\n[Service]\nExecStart=/usr/bin/node /srv/app.js\n",
                "a unit of systemd",
                "--start '/usr/bin/node /srv/app.js'",
            ),
            (
                "site.har",
                "{\"log\": {\"version\": \"1.2\", \"entries\": []}}",
                "a HAR file",
                "load --har site.har",
            ),
            (
                "app.py",
                "import flask\n",
                "a program",
                "--start 'python3 app.py'",
            ),
            (
                "t.js",
                "import http from 'k6/http';\n",
                "a script of k6",
                "URL",
            ),
            ("package.json", "{}", "a program", "npm start"),
            ("a.jmx", "<?xml?>", "JMeter", "URL"),
            (
                "a.pem",
                "-----BEGIN CERTIFICATE-----\n",
                "certificates",
                "configuration",
            ),
            ("a.html", "<!DOCTYPE html>\n", "a page", "URL"),
            ("a.yaml", "openapi: 3.0.0\n", "OpenAPI", "URL"),
            (
                "a.toml",
                "name = \"a\"\n[[contender]]\nname = \"b\"\n",
                "a plan",
                "bakeoff run a.toml",
            ),
        ] {
            let found = misplaced(Path::new(name), text).unwrap_or_else(|| panic!("{name}"));
            assert!(found.what.contains(what), "{name}: {found:?}");
            assert!(found.instead.contains(instead), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_configuration_is_not_misplaced() {
        for (name, text) in [
            ("nginx.conf", "events {}\nhttp { server { listen 80; } }\n"),
            ("Caddyfile", ":80 {\n\trespond ok\n}\n"),
            ("traefik.yaml", "entryPoints:\n  web:\n    address: ':80'\n"),
            ("traefik.toml", "[entryPoints.web]\naddress = \":80\"\n"),
            ("envoy.yaml", "static_resources:\n  listeners: []\n"),
            ("haproxy.cfg", "frontend f\n  bind :80\n"),
        ] {
            assert_eq!(misplaced(Path::new(name), text), None, "{name}");
        }
    }
}
