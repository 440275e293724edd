//! What a user's own file contains, before anything is started with it: its text, and what the
//! server's program makes of it where there is a way to ask.

use std::path::Path;
use std::time::Duration;

use bakeoff_record::{Step, read_regular_text};

use crate::bounded::{self, Question};
use crate::boxed::ROOT;
use crate::error::StageError;
use crate::found::{Found, Place, Problem, Text, stand_in};
use crate::own::{FILE_BYTES_MAX, OwnFiles};
use crate::program;
use crate::server::Server;
use crate::servers::Servers;
use crate::template::{self, Variables};

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
        if let Some(text) = adapted(&server, path, &found) {
            found.adapt(&server.name, &text);
        }
        Ok(found)
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
    /// The variables of the environment that are not set here, and what stands for them.
    fn unset(&self) -> impl Iterator<Item = (String, String)> {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let name = move |text: &str| -> String {
            let text = text.trim_start_matches("{env.");
            text.trim_matches(|letter| !is_letter(letter)).to_owned()
        };
        let names = self.placeholders.iter().map(move |it| name(&it.text));
        let names = names.filter(|name| std::env::var_os(name).is_none());
        names.filter_map(|name| Some((name.clone(), stand_in::of(&name)?.to_owned())))
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
}
