//! What a user's own file contains, before anything is started with it: its text, and what the
//! server's program makes of it where there is a way to ask.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bakeoff_record::{Step, read_regular_text};

use crate::bounded::{self, Question};
use crate::boxed::ROOT;
use crate::error::StageError;
use crate::found::nginx::Routes;
use crate::found::{Choice, Found, Named, Place, Problem, Text, caddy, stand_in};
use crate::own::{FILE_BYTES_MAX, OwnFiles, is_made};
use crate::program;
use crate::server::Server;
use crate::servers::Servers;
use crate::template;
use crate::variables::Variables;

/// A program says in milliseconds what it makes of a configuration.
const ADAPT_LIMIT: Duration = Duration::from_secs(3);

impl Servers {
    /// What the configuration `path` of the server `name` contains, with all that it takes in.
    ///
    /// # Errors
    /// When there is no such server, or a file cannot be read. What a trial cannot do with it is no
    /// error, but one of its problems.
    pub fn look_into(&self, name: &str, path: &Path) -> Result<Found, StageError> {
        let server = self.find(name)?;
        let fail = |cause| StageError::file(Step::Prepare, path, cause);
        let text = read_regular_text(path, FILE_BYTES_MAX).map_err(fail)?;
        if template::is_template(&text) {
            return Ok(Found::default());
        }
        if !server.own.has_changes() && !server.is_boxed() {
            return Ok(Found {
                problems: vec![no_box(&server, path, &text)],
                ..Found::default()
            });
        }
        let files = OwnFiles::read(path, &server.own)?;
        let mut found = Found::read(&server.name, &files.texts());
        found.logs.retain(|log| !is_made(&log.place.file));
        let mut texts = files.texts().into_iter();
        if let Some(marked) = texts.find(|file| server.own.refuses_mark(file.text)) {
            found.problems.insert(0, of_mark(&server, marked.path));
        }
        if let Some(text) = adapted(&server, path, &found) {
            found.adapt(&server.name, &text);
            if found.listeners.is_empty() {
                found.problems.push(of_no_site(&server, path));
            }
        }
        Ok(found)
    }

    /// What forbids requests for a path, asked as `choice` says, to this machine in the
    /// configuration `path` of the server `name`; `None` where nothing is known to.
    pub fn forbidding(&self, name: &str, path: &Path, choice: &Choice) -> Option<Named> {
        let server = self
            .find(name)
            .ok()
            .filter(|server| server.name == "nginx")?;
        let files = OwnFiles::read(path, &server.own).ok()?;
        let host = choice.host.as_deref();
        let asked = choice.path.split('?').next().unwrap_or_default();
        Routes::of(&files.texts()).forbidding(host, choice.protocol.is_secure(), asked)
    }
}

/// What to do about a file in which the program itself finds nothing to serve.
fn of_no_site(server: &Server, path: &Path) -> Problem {
    Problem {
        place: Place {
            file: path.to_owned(),
            line: 1,
        },
        what: format!("{} finds no site in it", server.title()),
        hint: "add one, or put the files here that it takes in".to_owned(),
    }
}

/// What to do about a mark of the byte order.
fn of_mark(server: &Server, file: &Path) -> Problem {
    Problem {
        place: Place {
            file: file.to_owned(),
            line: 1,
        },
        what: format!(
            "it begins with a mark of the byte order (BOM), which {} takes for a part of its first \
             word",
            server.title()
        ),
        hint: "save it as UTF-8 without one".to_owned(),
    }
}

/// Why a file that no rule changes cannot be measured here. It points at the line with an upstream,
/// if one is known to have it.
fn no_box(server: &Server, path: &Path, text: &str) -> Problem {
    let upstream = text.lines().position(|line| server.has_upstream(line));
    let title = server.title();
    let template = "make it a template, with `{{ address }}:{{ port }}` where it listens and \
                    `{{ origin }}` as its upstream (docs/plan-files.md)";
    let (what, hint) = match server.own.boxed {
        true => (
            format!("files of {title} run in a box of namespaces, which only root makes"),
            format!("{ROOT}; or {template}"),
        ),
        false => (
            format!(
                "bakeoff changes nothing in files of {title}, so this one would listen where it \
                 says, and ask the upstreams that it names"
            ),
            template.to_owned(),
        ),
    };
    Problem {
        place: Place {
            file: path.to_owned(),
            line: upstream.unwrap_or(0) + 1,
        },
        what,
        hint,
    }
}

/// What the program says of a configuration; `None` where it is not there, must not be asked or
/// refuses it. That it refuses it is no news here: a trial may change the line.
fn adapted(server: &Server, path: &Path, found: &Found) -> Option<String> {
    let adapt = server.own.adapt.as_ref().filter(|_| server.may_ask)?;
    let program = program::find(server, None, None).ok()?;
    let mut variables = Variables::default();
    variables.set("binary", program.path.display().to_string());
    variables.set("config", path.display().to_string());
    let context = template::Context {
        version: &program.version,
        configuration: "",
        files: server,
    };
    let render = |part: &String| template::render(part, &variables, &context).ok();
    let command: Option<Vec<String>> = adapt.iter().map(render).collect();
    let environment: Vec<(String, String)> = found.unset().collect();
    let question = Question {
        environment: &environment,
        unset: &[],
        folder: path.parent().unwrap_or(Path::new("/")),
        limit: ADAPT_LIMIT,
        user: None,
        room: None,
    };
    let output = bounded::run(&command?, &question).ok()?;
    output.status.success().then_some(output.text)
}

impl Found {
    /// The variables of the environment that are not set here and have no default, and what stands
    /// for them.
    fn unset(&self) -> impl Iterator<Item = (String, String)> {
        let all = self.placeholders.iter();
        let all = all.filter_map(|it| caddy::variable(&it.text));
        let defaults = all.clone().filter(|it| it.default.is_some());
        let defaults: BTreeSet<&str> = defaults.map(|it| it.name).collect();
        let names = all.map(|it| it.name);
        let names = names.filter(move |name| !defaults.contains(name));
        let names = names.filter(|name| std::env::var_os(name).is_none());
        names.filter_map(|name| Some((name.to_owned(), stand_in::of(name)?.to_owned())))
    }
}

impl OwnFiles {
    /// The texts of a configuration, for whoever reads what they contain.
    pub(crate) fn texts(&self) -> Vec<Text<'_>> {
        let text = |(path, text)| Text { path, text };
        self.files().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_needs_a_box_says_where_none_can_be_made() {
        let folder = tempfile::tempdir().unwrap();
        for (server, text, line) in [
            (
                "h2o",
                "hosts:\n  a:\n    proxy.reverse.url: http://app/\n",
                3,
            ),
            (
                "varnish",
                "vcl 4.1;\n\nbackend app { .host = \"app\"; }\n",
                3,
            ),
        ] {
            let path = folder.path().join(server);
            let servers = Servers::new(None);
            let problem = no_box(&servers.find(server).unwrap(), &path, text);
            assert_eq!((&problem.place.file, problem.place.line), (&path, line));
            for words in ["sudo", "{{ origin }}"] {
                assert!(problem.hint.contains(words), "{}", problem.hint);
            }
            std::fs::write(&path, format!("{text}# {{{{ port }}}}\n")).unwrap();
            let found = servers.look_into(server, &path).unwrap();
            assert_eq!(found.problems, [], "{server}");
        }
    }

    #[test]
    fn a_mark_of_the_byte_order_is_passed_over_or_named() {
        let folder = tempfile::tempdir().unwrap();
        let servers = Servers::new(None);
        for (server, text, refused) in [
            ("caddy", ":8080 {\n\trespond ok\n}\n", false),
            ("nginx", "server { listen 8080; }\n", true),
            ("haproxy", "frontend f\n  bind :8080\n", true),
            ("lighttpd", "server.port = 8080\n", true),
            ("apache", "Listen 8080\n", true),
        ] {
            let path = folder.path().join(server);
            std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
            let found = servers.look_into(server, &path).unwrap();
            let named = found.problems.iter().find(|it| it.what.contains("BOM"));
            assert_eq!(named.is_some(), refused, "{server}: {:?}", found.problems);
            let files = OwnFiles::read(&path, &servers.find(server).unwrap().own).unwrap();
            let is_marked = |file: &Text<'_>| file.text.starts_with('\u{feff}');
            assert_eq!(files.texts().iter().any(is_marked), refused, "{server}");
        }
    }

    #[test]
    fn what_forbids_another_path_is_named_and_no_log_that_a_trial_adds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.conf");
        let text = "server {\n listen 8080;\n root /srv;\n location /admin/ { deny all; }\n}\n";
        std::fs::write(&path, text).unwrap();
        let servers = Servers::new(None);
        let found = servers.look_into("nginx", &path).unwrap();
        assert_eq!((found.logs.as_slice(), &found.forbids), (&[][..], &None));
        let mut choice = found.choice(None);
        let rule = |choice: &Choice| servers.forbidding("nginx", &path, choice);
        assert_eq!(rule(&choice), None);
        choice.ask_for("/admin/x?y");
        let rule = rule(&choice).unwrap();
        assert_eq!((rule.text.as_str(), rule.place.line), ("deny all", 4));
    }

    #[test]
    fn variables_with_a_default_have_it_and_the_others_what_their_name_says() {
        for (address, listener, set) in [
            ("{$NOT_SET_ADDRESS::8080}", Some((8080, "")), &[][..]),
            ("{$NOT_SET_ADDRESS:\":8080\"}", Some((8080, "")), &[]),
            ("{$NOT_SET_DOMAIN:localhost}", Some((443, "localhost")), &[]),
            (
                "{$NOT_SET_NAME:localhost:8443}",
                Some((8443, "localhost")),
                &[],
            ),
            (
                "http://{$NOT_SET_DOMAIN:a.test}:8088",
                Some((8088, "a.test")),
                &[],
            ),
            (":{$NOT_SET_PORT:8081}", Some((8081, "")), &[]),
            (
                "{$NOT_SET_DOMAIN}",
                Some((443, "example.com")),
                &[("NOT_SET_DOMAIN", "example.com")],
            ),
        ] {
            let text = format!("{address} {{\n\trespond hi\n}}\n");
            let path = Path::new("Caddyfile");
            let text = [Text { path, text: &text }];
            let found = Found::read("caddy", &text);
            let first = found.listeners.first();
            let first = first.and_then(|it| Some((it.port?, it.hosts.join(" "))));
            let first = first.as_ref().map(|(port, hosts)| (*port, hosts.as_str()));
            assert_eq!(first, listener, "{address}");
            let given: Vec<_> = found.unset().collect();
            let given: Vec<_> = given
                .iter()
                .map(|(a, b)| (a.as_str(), b.as_str()))
                .collect();
            assert_eq!(given, set, "{address}");
        }
    }
}
