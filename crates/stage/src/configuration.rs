//! The configuration of a trial: a variant of the server's folder, or a file of the user's own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bakeoff_plan::{ConfigSource, Contender, Protocol, Workload};
use bakeoff_record::{ConfigChange, Step, read_regular_text};

use crate::error::{Cause, StageError};
use crate::files::{self, Access};
use crate::found::Found;
use crate::own::{Changed, FILE_BYTES_MAX, Names, OwnFiles, Ports, Said, Taken, Tools};
use crate::server::{OWN_FOLDER, Server};
use crate::template;
use crate::user::User;
use crate::variables::Variables;

/// A configuration before and after it was made ready.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Where the text came from, for messages.
    source: String,
    /// Before it was made ready.
    template: String,
    /// As used.
    pub(crate) text: String,
    /// The file that the server reads.
    pub(crate) path: PathBuf,
    /// Files of the user's own that the first one takes in, as used.
    pub(crate) others: Vec<(PathBuf, String)>,
    /// What was changed in the user's own files.
    pub(crate) changes: Vec<ConfigChange>,
    ports: Ports,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A template that the server's folder brought along.
    OfFolder,
    /// A user's file that is a template itself.
    Template(Access),
    /// A user's file, used as it is but for what a trial must change.
    Own(Box<OwnFiles>),
}

impl Configuration {
    /// Reads what `contender` names; what is made of it goes below `folder`.
    pub(crate) fn choose(
        server: &Server,
        config: &ConfigSource,
        workload: &Workload,
        folder: &Path,
    ) -> Result<Self, StageError> {
        let rendered = folder.join(&server.description.config);
        let (source, template, kind, path) = match config {
            ConfigSource::Variant(variant) => {
                let template = server.template(variant, workload)?;
                let source = format!("servers/{}/{}", server.name, template.file);
                (source, template.text, Kind::OfFolder, rendered)
            }
            ConfigSource::File(path) => {
                let fail = |cause| StageError::file(Step::Prepare, path, cause);
                let text = read_regular_text(path, FILE_BYTES_MAX).map_err(fail)?;
                let source = path.display().to_string();
                if template::is_template(&text) {
                    let access = Access::of(&path.metadata().map_err(fail)?);
                    (source, text, Kind::Template(access), rendered)
                } else {
                    let own = OwnFiles::read(path, &server.own)?;
                    (source, text, Kind::Own(Box::new(own)), path.clone())
                }
            }
        };
        Ok(Self {
            source,
            template,
            text: String::new(),
            path,
            others: Vec::new(),
            changes: Vec::new(),
            ports: Ports::default(),
            kind,
        })
    }

    /// Whether bakeoff chooses the port.
    pub(crate) fn takes_port(&self) -> bool {
        // A folder's template may leave its port to a file that it includes.
        self.uses("port") || template::includes(&self.template)
    }

    /// Whether it shows the certificate that the stage made.
    pub(crate) fn takes_certificate(&self) -> bool {
        matches!(self.kind, Kind::OfFolder) || self.uses("certificate")
    }

    /// Whether the server reads the user's own files where they lie.
    pub(crate) fn is_in_place(&self) -> bool {
        matches!(self.kind, Kind::Own(_)) && self.changes.is_empty()
    }

    /// A server's message with the user's own lines in place of those of changed copies, which may
    /// have others before them.
    pub(crate) fn in_users_lines(&self, message: &str) -> String {
        let mut files: Vec<&str> = self.changes.iter().map(|it| it.file.as_str()).collect();
        files.dedup();
        let mut message = message.to_owned();
        for file in files {
            // What stands for no line is a file made around this one.
            let is_of_line = |it: &&ConfigChange| it.file == file && !it.before.is_empty();
            let of_file = self.changes.iter().filter(is_of_line);
            let added = of_file.map(|it| {
                let [before, after] = [&it.before, &it.after].map(|it| it.matches('\n').count());
                (it.line + before, after.saturating_sub(before))
            });
            message = with_lines(&message, file, &added.collect::<Vec<_>>());
        }
        message
    }

    /// Where a user's own file answers these requests, as far as its text says.
    pub(crate) fn port_of(
        &self,
        server: &Server,
        host: Option<&str>,
        protocol: Protocol,
    ) -> Option<u16> {
        let Kind::Own(own) = &self.kind else {
            return None;
        };
        let found = Found::read(&server.name, &own.texts());
        let listener = found.listener(protocol, host)?;
        Some(self.ports.known(&listener.address, listener.port?))
    }

    /// The user's own files, where they are no template.
    pub(crate) fn own(&self) -> Option<&OwnFiles> {
        match &self.kind {
            Kind::Own(own) => Some(own),
            Kind::OfFolder | Kind::Template(_) => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn own_mut(&mut self) -> Option<&mut OwnFiles> {
        match &mut self.kind {
            Kind::Own(own) => Some(own),
            Kind::OfFolder | Kind::Template(_) => None,
        }
    }

    fn uses(&self, variable: &str) -> bool {
        !matches!(self.kind, Kind::Own(_)) && template::uses(&self.template, variable)
    }

    /// Makes it ready for a start with `variables`, below `folder`.
    pub(crate) fn make_ready(
        &mut self,
        contender: &Contender,
        variables: &Variables,
        version: &str,
        server: &Server,
        folder: &Path,
        user: Option<&User>,
    ) -> Result<(), StageError> {
        let render = |template: &str, variables: &Variables, configuration: &str| {
            let context = template::Context {
                version,
                configuration,
                files: server,
            };
            template::render(template, variables, &context)
        };
        let Kind::Own(own) = &self.kind else {
            self.text = render(&self.template, variables, "").map_err(|cause| {
                let file = self.source.clone();
                StageError::new(Step::Prepare, Cause::Template { file, cause })
            })?;
            return self.write_rendered(server, folder);
        };
        let ports = Ports::default();
        let tools = Tools {
            rules: &server.own,
            replacements: &contender.replacements,
            variables,
            ports: &ports,
            names: &Names::default(),
            user,
            taken: &Taken::default(),
            blocks: &BTreeSet::new(),
            said: Said::NOTHING,
            served: &[],
            render: &render,
        };
        let changed = own.change(&tools, &folder.join(OWN_FOLDER))?;
        let Changed {
            files,
            changes,
            main,
        } = changed;
        let mut files = files.into_iter().map(|file| (file.path, file.text));
        self.text = files.next().map(|(_, text)| text).unwrap_or_default();
        self.others = files.collect();
        self.changes = changes;
        self.ports = ports;
        self.path = main;
        Ok(())
    }

    /// Makes the file that the server reads, in place of that of an earlier start.
    fn write_rendered(&self, server: &Server, folder: &Path) -> Result<(), StageError> {
        let fail = |cause| StageError::file(Step::Prepare, &self.path, cause);
        let config = Path::new(&server.description.config);
        let path = files::place(folder, config).map_err(fail)?;
        files::remove(&path).map_err(fail)?;
        let bytes = self.text.as_bytes();
        let made = match self.kind {
            Kind::Template(original) => files::create_copy(&path, bytes, original),
            _ => files::create(&path, bytes, files::FOR_OWNER).map(drop),
        };
        made.map_err(fail)
    }
}

/// The message with other numbers beside `file`, where lines were added to those of the file:
/// `FILE:3`, `FILE line: 3` of lighttpd, and `on line 3 of FILE` of Apache httpd.
fn with_lines(message: &str, file: &str, added: &[(usize, usize)]) -> String {
    let name = regex_lite::escape(file);
    let places = format!(
        "{name}(?::| line: )(?P<behind>[0-9]+)|on line (?P<before>[0-9]+) of {name}(?:[:\\s]|$)"
    );
    // A path of any length is a pattern of a limited size.
    let Ok(places) = regex_lite::Regex::new(&places) else {
        return message.to_owned();
    };
    let (mut changed, mut from) = (String::new(), 0);
    for captures in places.captures_iter(message) {
        let number = captures.name("behind").or_else(|| captures.name("before"));
        let Some((at, Ok(number))) = number.map(|at| (at, at.as_str().parse::<usize>())) else {
            continue;
        };
        changed.push_str(&message[from..at.start()]);
        changed.push_str(&users_line(number, added).to_string());
        from = at.end();
    }
    changed + &message[from..]
}

/// The line of the file that became, or brought, the line `number` of the copy. `added` has, in
/// their order, lines of the file and how many lines came to each.
fn users_line(number: usize, added: &[(usize, usize)]) -> usize {
    let mut before = 0;
    for (line, count) in added {
        if number <= line + before {
            break;
        }
        before += (*count).min(number - line - before);
    }
    number - before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_users_own_lines() {
        // Line 1 became 3 lines, and line 5 became 2.
        let added = [(1, 2), (2, 0), (5, 1)];
        let of = |number| users_line(number, &added);
        let expected = [(1, 1), (3, 1), (4, 2), (6, 4), (7, 5), (8, 5), (9, 6)];
        for (copy, own) in expected {
            assert_eq!(of(copy), own, "{copy}");
        }
        let message = "/a/b:4: no; in /a/b:9, /a/b, /a/c:9 and /a/b:x";
        let changed = with_lines(message, "/a/b", &added);
        assert_eq!(changed, "/a/b:2: no; in /a/b:6, /a/b, /a/c:9 and /a/b:x");
        let apache = "AH00526: Syntax error on line 9 of /a/b:\nInvalid command 'X', see /a/b";
        let changed = with_lines(apache, "/a/b", &added);
        assert_eq!(changed, apache.replace("line 9", "line 6"));
        let other = "Syntax error on line 9 of /a/b/c: no";
        assert_eq!(with_lines(other, "/a/b", &added), other);
        let lighttpd = "(configfile.c.9) source: /a/b line: 7 pos: 9 parser failed somehow";
        let changed = with_lines(lighttpd, "/a/b", &added);
        assert_eq!(changed, lighttpd.replace("line: 7", "line: 5"));
    }
}
