//! A server's own check of a configuration: what it refuses, with the line and a hint, and what it
//! really reads.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_probe::within;
use bakeoff_record::Step;

use super::Prepared;
use crate::bounded::{self, Output, Question};
use crate::error::{Cause, StageError};
use crate::server::OWN_FOLDER;
use crate::{host, template};

/// A check of a configuration takes milliseconds; Caddy's may read certificates.
const CHECK_LIMIT: Duration = Duration::from_secs(30);
impl Prepared {
    /// Lets the server check the configuration itself.
    ///
    /// # Errors
    /// When it refuses; its message is in the error.
    pub fn check_config(&self) -> Result<(), StageError> {
        host::check(Step::CheckConfig)?;
        check_stores(self)?;
        let Some(check) = &self.server.description.check else {
            return Ok(());
        };
        let command = self.render_all("check", &check.command)?;
        let output = self.asked(&command)?;
        super::note(&self.log_folder, "check.log", &output.text)?;
        if output.status.success() {
            return self.check_reads();
        }
        let mut message = self.as_users_know(output.text.trim_end());
        let cause = Cause::ConfigRejected {
            hint: self.hint(&message)?,
            server: self.server.title().to_owned(),
            config: self.named(),
            status: output.status.to_string(),
        };
        if let Some(user) = &self.start.user
            && message.contains("ermission denied")
        {
            message.push_str(&format!(
                "\n(the server runs as user {}; `user = \"root\"` in the contender changes that)",
                user.name
            ));
        }
        Err(StageError::new(Step::CheckConfig, cause).with_message(message))
    }

    /// Runs a command that only says something of the configuration.
    fn asked(&self, command: &[String]) -> Result<Output, StageError> {
        let question = Question {
            environment: &self.start.environment,
            unset: &self.start.unset,
            folder: &self.quarters.folder(self.folder.run()),
            limit: CHECK_LIMIT,
            user: self.start.user.as_ref(),
            room: self.quarters.room.as_ref(),
        };
        let network = self.quarters.network.as_ref();
        let ask = || within(network, || bounded::run(command, &question))?;
        ask().map_err(|cause| {
            if cause.kind() == std::io::ErrorKind::Interrupted {
                return StageError::new(Step::CheckConfig, Cause::Interrupted);
            }
            let cause = std::io::Error::other(format!("run the check: {cause}"));
            StageError::file(Step::CheckConfig, &command[0], cause)
        })
    }

    /// Compares what the server reads of a user's own files with what was read and changed here:
    /// what only the server saw would lead a trial to real upstreams and files.
    fn check_reads(&self) -> Result<(), StageError> {
        let (Some(own), Some(reads)) = (self.configuration.own(), &self.server.own.foreign.reads)
        else {
            return Ok(());
        };
        let command = self.render_all("own.foreign.reads", &reads.command)?;
        let output = self.asked(&command)?;
        let lines = output.text.lines();
        let paths = lines.filter_map(|line| Some(reads.pattern.captures(line)?.get(1)?.as_str()));
        let is_known = |path: &Path| {
            // A copy is, and what is no file here is only named in a comment.
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            real.starts_with(&self.folder.0)
                || own.files().any(|(known, _)| known == real)
                || !real.is_file()
        };
        let Some(unknown) = paths.map(Path::new).find(|path| !is_known(path)) else {
            return Ok(());
        };
        let problem = "the server takes it in, and bakeoff has not seen that in the configuration; \
                       write its include as one statement on one line";
        Err(StageError::file(
            Step::CheckConfig,
            unknown,
            std::io::Error::other(problem),
        ))
    }

    /// What to do about a refusal, with the file and the line, as a clause.
    fn hint(&self, message: &str) -> Result<String, StageError> {
        let found = self.server.own.hint(message);
        let Some((template, words, from)) = found else {
            return Ok(String::new());
        };
        let context = template::Context {
            version: &self.program.version,
            configuration: "",
            files: &self.server,
        };
        let hint = template::render(template, &words, &context).map_err(|cause| {
            let file = format!("`own.hint` for server {}", self.server.name);
            StageError::new(Step::CheckConfig, Cause::Template { file, cause })
        })?;
        let place = place_of(message, from).map_or(String::new(), |place| format!("{place}: "));
        Ok(format!(": {place}{hint}"))
    }

    /// The configuration as its user names it.
    fn named(&self) -> PathBuf {
        match self.configuration.own() {
            Some(own) => own.named().to_owned(),
            None => self.configuration.path.clone(),
        }
    }

    /// A server's message with the user's own files in place of their changed copies.
    fn as_users_know(&self, message: &str) -> String {
        let copies = self.folder.0.join(OWN_FOLDER);
        let message = message.replace(&copies.display().to_string(), "");
        self.configuration.in_users_lines(&message)
    }
}

/// Looks where a user's own file would store, which no rule may have seen, before the server's
/// check that may do so.
fn check_stores(prepared: &Prepared) -> Result<(), StageError> {
    let rules = &prepared.server.own;
    let own = prepared.configuration.own();
    let (Some(own), Some(stores), Some(adapt)) = (own, &rules.foreign.stores, &rules.adapt) else {
        return Ok(());
    };
    let command = prepared.render_all("own.adapt", adapt)?;
    let ours = std::slice::from_ref(&stores.ours);
    let ours = prepared.render_all("own.foreign.stores", ours)?;
    let adapted = prepared.asked(&command)?;
    // A file of which nothing can be made is for the check.
    if !adapted.status.success() || stores.are(&ours.concat(), &adapted.text) {
        return Ok(());
    }
    let cause = std::io::Error::other(stores.why.clone());
    Err(StageError::file(Step::CheckConfig, own.named(), cause))
}

/// The file and line of what a server's message says at `at`: those of its line, or of the last one
/// before it that has any. Before an error there may be warnings of other lines.
fn place_of(message: &str, at: usize) -> Option<String> {
    let rest = message[at..].find('\n');
    let end = rest.map_or(message.len(), |end| at + end);
    message[..end].lines().rev().find_map(place_in)
}

/// The file and line that a text names: `... in /etc/nginx/a.conf:12`.
fn place_in(message: &str) -> Option<String> {
    if let Some(place) = place_in_sentence(message) {
        return Some(place);
    }
    // HAProxy has it in brackets, and Caddy in a text in quotes.
    let words = message.split(|letter: char| letter.is_whitespace() || "[]\"".contains(letter));
    let mut words = words.map(|word| word.trim_end_matches([',', '.', ')', ':']));
    let place = words.find(|word| {
        let parts = word.rsplit_once(':');
        parts.is_some_and(|(file, line)| file.starts_with('/') && line.parse::<u32>().is_ok())
    });
    place.map(str::to_owned)
}

/// The same, as Apache httpd and lighttpd say it: `on line 12 of FILE:`, `source: FILE line: 12`.
fn place_in_sentence(message: &str) -> Option<String> {
    let words: Vec<&str> = message.split_whitespace().collect();
    words.windows(4).find_map(|words| {
        let (file, line) = match words {
            ["line", line, "of", file] => (file.trim_end_matches(':'), line),
            ["source:", file, "line:", line] => (*file, line),
            _ => return None,
        };
        let is_place = file.starts_with('/') && line.parse::<u32>().is_ok();
        is_place.then(|| format!("{file}:{line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_place() {
        let nginx =
            "nginx: [emerg] unknown directive \"brotli\" in /etc/a b/site.conf:3\nnginx: test";
        assert_eq!(place_in(nginx), None, "a blank may be anywhere");
        let nginx = "nginx: [emerg] open() \"/x\" failed (2: none) in /etc/nginx/a.conf:12\n";
        assert_eq!(place_in(nginx).as_deref(), Some("/etc/nginx/a.conf:12"));
        let haproxy = "[ALERT] (9) : config : parsing [/etc/haproxy.cfg:3] : unknown keyword 'a'";
        assert_eq!(place_in(haproxy).as_deref(), Some("/etc/haproxy.cfg:3"));
        let caddy =
            r#"{"level":"error","ts":1.2,"msg":"adapting: /srv/Caddyfile:11: unrecognized"}"#;
        assert_eq!(place_in(caddy).as_deref(), Some("/srv/Caddyfile:11"));
        let apache = "AH00526: Syntax error on line 17 of /etc/apache2/sites-enabled/a.conf:\n\
                      Invalid command 'Brotli'";
        let place = "/etc/apache2/sites-enabled/a.conf:17";
        assert_eq!(place_in(apache).as_deref(), Some(place));
        let lighttpd = "2026-11-22: (configfile.c.1) source: /etc/l.conf line: 14 pos: 1 parser";
        assert_eq!(place_in(lighttpd).as_deref(), Some("/etc/l.conf:14"));
        assert_eq!(place_in("no place: 12"), None);
    }

    #[test]
    fn the_place_is_that_of_the_error_and_not_of_a_warning_before_it() {
        for (message, said, place) in [
            (
                "nginx: [warn] the \"user\" directive is ignored in /a.conf:1\n\
                 nginx: [emerg] unknown directive \"no\" in /a.conf:4\nnginx: test failed",
                "unknown directive",
                Some("/a.conf:4"),
            ),
            (
                "AH00526: Syntax error on line 4 of /a.conf:\nInvalid command 'No'",
                "Invalid command",
                Some("/a.conf:4"),
            ),
            (
                "[WARNING] config : parsing [/a.cfg:2] : old\n\
                 [ALERT] config : parsing [/a.cfg:9] : unknown keyword 'no'\n\
                 [ALERT] config : Error(s) found in configuration file : /a.cfg",
                "unknown keyword",
                Some("/a.cfg:9"),
            ),
            ("[emerg] no place\nsee /a.conf:1", "no place", None),
        ] {
            let at = message.find(said).unwrap();
            assert_eq!(place_of(message, at).as_deref(), place, "{message}");
        }
    }

    #[test]
    fn a_slip_in_a_file_of_nginx_is_named_for_what_it_is() {
        let server = crate::Servers::new(None).find("nginx").unwrap();
        for (message, expected) in [
            (
                "invalid parameter \"server_name\"",
                "`server_name` is no parameter but begins a line",
            ),
            (
                "invalid parameter \"weigt=3\"",
                "`weigt=3` is no parameter here; correct it",
            ),
            (
                "host not found in \"80\u{a0}\" of the \"listen\" directive",
                "`80\u{a0}` has a character beyond ASCII",
            ),
            (
                "host not found in \"app:80\"",
                "this machine does not know `app:80`",
            ),
            ("unknown \"my_var\" variable", "no file here sets `$my_var`"),
            (
                "a duplicate listen 127.0.0.1:80",
                "the site has this address twice",
            ),
            (
                "invalid number of arguments in \"root\" directive",
                "`root` has a value too many or too few",
            ),
            ("unknown directive \"brotli\"", "`brotli` "),
        ] {
            let message = format!("nginx: [emerg] {message} in /a.conf:3\n");
            let (hint, words, _) = server.own.hint(&message).unwrap();
            let context = template::Context {
                version: "1.28.0",
                configuration: "",
                files: &server,
            };
            let hint = template::render(hint, &words, &context).unwrap();
            assert!(hint.starts_with(expected), "{message}: {hint}");
        }
    }
}
