//! Where one source is worked on: a folder, tools as child processes, a limit of time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::InstallOrder;
use super::error::{InstallError, Obstacle, Reason};
use crate::bounded::{self, End};

/// Lines of a failed command's output that are shown: the last ones say what was wrong.
const OUTPUT_LINES: usize = 20;

/// A folder, and the right to run commands until a moment. Dropping it removes the folder.
pub(super) struct Workshop<'a> {
    folder: PathBuf,
    limit: Duration,
    end: Instant,
    interrupted: &'a AtomicBool,
    report: &'a mut dyn FnMut(&str),
    commands: Vec<String>,
    tools: Vec<String>,
}

/// A command that ended by itself.
pub(super) struct Answer {
    pub(super) is_good: bool,
    pub(super) text: String,
    how: String,
    command: String,
}

impl<'a> Workshop<'a> {
    /// A workshop in this folder, which is there and empty.
    pub(super) fn new(
        folder: PathBuf,
        order: &InstallOrder<'_>,
        interrupted: &'a AtomicBool,
        report: &'a mut dyn FnMut(&str),
    ) -> Self {
        Self {
            folder,
            limit: order.time_limit,
            end: Instant::now() + order.time_limit,
            interrupted,
            report,
            commands: Vec::new(),
            tools: Vec::new(),
        }
    }

    pub(super) fn report(&mut self, text: &str) {
        (self.report)(text);
    }

    /// A new folder of this name.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, InstallError> {
        let path = self.folder.join(name);
        std::fs::create_dir_all(&path).map_err(|cause| InstallError::file(&path, cause))?;
        Ok(path)
    }

    /// Runs a command that must end well.
    pub(super) fn run(
        &mut self,
        command: &[&str],
        folder: &Path,
        environment: &[(&str, &Path)],
    ) -> Result<String, Obstacle> {
        let line = line_of(command);
        (self.report)(&line);
        self.commands.push(line);
        let answer = self.ask(command, folder, environment)?;
        if answer.is_good {
            Ok(answer.text)
        } else {
            Err(answer.failed().into())
        }
    }

    /// Runs a command for its answer, good or bad.
    pub(super) fn ask(
        &mut self,
        command: &[&str],
        folder: &Path,
        environment: &[(&str, &Path)],
    ) -> Result<Answer, Obstacle> {
        let temporary = self.folder("tmp")?;
        let own = [("TMPDIR", temporary.as_path())];
        let named = environment.iter().chain(&own);
        let named = named.map(|(name, path)| ((*name).to_owned(), path.display().to_string()));
        // What tools say is read, in the one language that they all have.
        let language = ("LC_ALL".to_owned(), "C".to_owned());
        let environment: Vec<(String, String)> = named.chain([language]).collect();
        let arguments: Vec<String> = command.iter().map(|&it| it.to_owned()).collect();
        let left = self.end.saturating_duration_since(Instant::now());
        let ran = bounded::run_unless(&arguments, &environment, folder, left, self.interrupted);
        let command = line_of(command);
        match ran {
            Ok((End::Itself(status), text)) => Ok(Answer {
                is_good: status.success(),
                how: format!("ended with {status}"),
                text,
                command,
            }),
            Ok((End::TooSlow, text)) => {
                Err(Reason::too_slow(command, self.limit, last_lines(&text)).into())
            }
            Ok((End::TooLong, text)) => Err(Reason::Failed {
                command,
                how: bounded::too_long(),
                output: last_lines(&text),
            }
            .into()),
            Ok((End::Interrupted, _)) => Err(InstallError::Interrupted.into()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(Reason::NoTool {
                tool: arguments.into_iter().next().unwrap_or_default(),
                fix: "install it, or choose another `--source`".to_owned(),
            }
            .into()),
            Err(cause) => Err(Reason::Failed {
                command,
                how: "could not be run".to_owned(),
                output: cause.to_string(),
            }
            .into()),
        }
    }

    /// Notes what a tool says of itself, by its first line; one that says nothing is left out.
    pub(super) fn note_tool(&mut self, command: &[&str]) {
        let folder = self.folder.clone();
        if let Ok(answer) = self.ask(command, &folder, &[])
            && let Some(line) = answer.text.lines().next()
        {
            self.tools.push(plain(line));
        }
    }

    pub(super) fn commands(&self) -> Vec<String> {
        self.commands.clone()
    }

    pub(super) fn tools(&self) -> Vec<String> {
        self.tools.clone()
    }
}

impl Drop for Workshop<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is by the next installation.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Answer {
    /// The reason that it is, when it should have been good.
    pub(super) fn failed(self) -> Reason {
        Reason::Failed {
            command: self.command,
            how: self.how,
            output: last_lines(&self.text),
        }
    }
}

/// A command in one line, for people: not quoted.
fn line_of(command: &[&str]) -> String {
    let parts = command
        .iter()
        .flat_map(|argument| argument.split_whitespace());
    parts.collect::<Vec<_>>().join(" ")
}

fn last_lines(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(plain).collect();
    lines[lines.len().saturating_sub(OUTPUT_LINES)..].join("\n")
}

/// A line of a tool's output as a terminal may show it: of a line that was written several times
/// the last one, without sequences that colour it, and without what a terminal would obey.
fn plain(line: &str) -> String {
    let shown = line.rsplit('\r').find(|part| !part.trim().is_empty());
    let mut rest = shown.unwrap_or_default().chars().peekable();
    let mut text = String::new();
    while let Some(c) = rest.next() {
        if c == '\x1b' && rest.next_if_eq(&'[').is_some() {
            // Parameters, then one letter.
            while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            rest.next_if(|c| matches!(c, '@'..='~'));
        } else if c == '\t' || !(c.is_control() || turns_text(c)) {
            text.push(c);
        }
    }
    text
}

/// Characters that show other text than there is.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_says_is_shown_and_not_obeyed() {
        for (line, expected) in [
            ("plain text", "plain text"),
            ("\x1b[1;31mERROR\x1b[0m: no", "ERROR: no"),
            (" 10 %\r 50 %\r100 %", "100 %"),
            ("last\r", "last"),
            ("\x1b]52;c;aGk=\x07x", "]52;c;aGk=x"),
            ("a\u{202e}b\u{9b}c\x08d\te", "abcd\te"),
            ("\x1b", ""),
            ("\x1b[", ""),
        ] {
            assert_eq!(plain(line), expected, "{line:?}");
        }
        let text: String = (0..30).map(|n| format!("{n}\n")).collect();
        assert!(
            last_lines(&text).starts_with("10\n11\n"),
            "{}",
            last_lines(&text)
        );
    }
}
