//! A server that a command line of the user's own starts, under a keeper like every other.
//!
//! It has no folder, no template and no check. The command gets its port, and whatever its
//! processes then listen on is asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bakeoff_plan::{Contender, Expected, KnownBy, OwnCommand, Readiness, Request, Workload};
use bakeoff_record::{ServerFacts, Step, shell_word};

use crate::bounded::{self, Question};
use crate::error::{Cause, StageError};
use crate::fetch::{Approach, Expectation};
use crate::held::Held;
use crate::kept::{Kept, Order};
use crate::listeners::Transport;
use crate::listening::free_port_at;
use crate::log::{self, Log};
use crate::program::is_executable;
use crate::ready::{self, Awaited, NOT_FOUND_FOR, Ready};
use crate::running::{Ending, Running, Ways};
use crate::stage::{Shared, Stage, Surroundings};
use crate::trial_folder::{TrialFolder, create_folder, make_folder, make_served_files, write};
use crate::user::{self, User};

/// Another process may take a port between its choice and the server's start.
const PORTS_TRIED: u32 = 3;
/// A command that makes a server fresh may build something.
const FRESH_LIMIT: Duration = Duration::from_secs(120);

impl Stage {
    /// Starts a command of the user's own and waits, at most `within`, until it is ready.
    ///
    /// # Errors
    /// When a command that makes it fresh fails, there is no such folder or program, it ends, does
    /// not listen, or does not answer as expected; nothing of it is left then.
    pub fn start_command(
        &self,
        contender: &Contender,
        own: &OwnCommand,
        workload: &Workload,
        surroundings: &Surroundings,
        within: Duration,
    ) -> Result<Running, StageError> {
        check_command(own)?;
        let folder = TrialFolder(self.new_folder("trial"));
        let root = folder.0.join("root");
        make_folder(&surroundings.log_folder)?;
        create_folder(&folder.0)?;
        make_served_files(&root, workload)?;
        for line in &own.fresh {
            run_fresh(line, &own.folder, &surroundings.log_folder)?;
        }
        let starting = Starting {
            shared: Arc::clone(&self.shared),
            contender,
            own,
            workload,
            surroundings,
            root,
            within,
        };
        for _ in 1..PORTS_TRIED {
            match starting.start() {
                Err(error) if matches!(*error.cause, Cause::PortTaken { .. }) => {}
                Err(error) => return Err(error),
                Ok(started) => return Ok(starting.into_running(started, folder)),
            }
        }
        let started = starting.start()?;
        Ok(starting.into_running(started, folder))
    }
}

/// Looks whether the folder and the program of a command are there, without starting anything.
///
/// # Errors
/// What is not there, and what to write.
pub fn check_command(own: &OwnCommand) -> Result<(), StageError> {
    let fail = |cause| Err(StageError::new(Step::Prepare, cause));
    if !own.folder.is_dir() {
        let cause = std::io::Error::other("there is no such folder");
        return Err(StageError::file(Step::Prepare, &own.folder, cause));
    }
    let Line::Words(words) = Line::read(&own.command) else {
        return Ok(());
    };
    let Some(program) = words.into_iter().next() else {
        return fail(Cause::NoProgram {
            program: own.command.clone(),
            folder: own.folder.clone(),
        });
    };
    let own_path = own.environment.iter().find(|(name, _)| name == "PATH");
    let path = match own_path {
        Some((_, path)) => Some(path.into()),
        None => std::env::var_os("PATH"),
    };
    let beside = own.folder.join(&program);
    if program.contains('/') && beside.is_file() && !is_executable(&beside) {
        return fail(Cause::NotExecutable { program });
    }
    let is_there = if program.contains('/') {
        is_executable(&beside)
    } else {
        let folders = path.iter().flat_map(std::env::split_paths);
        folders
            .map(|folder| own.folder.join(folder).join(&program))
            .any(|path| is_executable(&path))
    };
    if is_there {
        Ok(())
    } else {
        fail(Cause::NoProgram {
            program,
            folder: own.folder.clone(),
        })
    }
}

/// Runs a command that makes a server fresh to its end; what it prints is kept beside the log.
pub(crate) fn run_fresh(line: &str, folder: &Path, log_folder: &Path) -> Result<(), StageError> {
    let command = ["/bin/sh", "-c", line].map(str::to_owned);
    let fail = |status: String| {
        let command = line.to_owned();
        StageError::new(Step::Prepare, Cause::Fresh { command, status })
    };
    let output = bounded::run(&command, &Question::plain(folder, FRESH_LIMIT));
    let output = output.map_err(|cause| fail(cause.to_string()))?;
    write(&log_folder.join("fresh.log"), &output.text)?;
    if output.status.success() {
        Ok(())
    } else {
        Err(fail(output.status.to_string()).with_message(output.text.trim_end()))
    }
}

/// A command that is about to be started.
struct Starting<'a> {
    shared: Arc<Shared>,
    contender: &'a Contender,
    own: &'a OwnCommand,
    workload: &'a Workload,
    surroundings: &'a Surroundings,
    /// Folder of the workload's files.
    root: PathBuf,
    within: Duration,
}

/// What runs, and how it was called.
struct Started {
    kept: Held,
    ready: Ready,
    command: Vec<String>,
}

impl Starting<'_> {
    fn start(&self) -> Result<Started, StageError> {
        let ip = self.shared.listening.address;
        let port = free_port_at(ip)?;
        let fill = |text: &str, quote: fn(&str) -> String| self.filled(text, port, quote);
        let command = match Line::read(&self.own.command) {
            Line::Words(words) => words.iter().map(|word| fill(word, str::to_owned)).collect(),
            Line::Shell(text) => ["/bin/sh", "-c"]
                .map(str::to_owned)
                .into_iter()
                .chain([fill(&text, shell_word)])
                .collect::<Vec<String>>(),
        };
        let own = self.own.environment.iter();
        let own = own.map(|(name, value)| (name.clone(), fill(value, str::to_owned)));
        let environment: Vec<(String, String)> =
            std::iter::once(("PORT".to_owned(), port.to_string()))
                .chain(own)
                .collect();
        let logs = &self.surroundings.log_folder;
        let names = environment
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        let lines: String = names.chain([command.join(" "), "\n".to_owned()]).collect();
        write(&logs.join("command.txt"), lines)?;
        let log = logs.join("server.log");
        let expectation = expectation(&self.own.ready, self.workload, &self.approach());
        let awaited = Awaited {
            expectation: &expectation,
            identity: None,
            transport: Transport::of(self.workload.protocol),
            ip,
            // A command that is not given the port by name may have one of its own. One that uses
            // `PORT` may listen elsewhere first, for what is not asked.
            port: self.own.command.contains(PORT).then_some(port),
            likely: Some(port),
            log: &log,
            log_from: log::length(&log),
            within: self.within,
            failing_for: self.within,
            not_found_for: NOT_FOUND_FOR,
            contacts: None,
        };
        let user = User::of_command(self.contender)?;
        let trial = self.root.parent().unwrap_or(&self.root);
        user::hand_over(trial, user.as_ref())?;
        user::make_log(&log, user.as_ref())?;
        let order = Order {
            keeper: &self.shared.keeper,
            command: &command,
            environment: &environment,
            unset: &[],
            folder: &self.own.folder,
            log: &log,
            cpus: &self.surroundings.cpus,
            user: user.as_ref().map(User::to_launch),
            // It may need `sudo` or a container's helpers, which are such programs.
            confined: false,
            limits: self.contender.limits,
            room: None,
        };
        let mut kept = Held::from(Kept::start(&order, &self.shared.cgroups)?);
        let ready = ready::wait(&mut kept, &awaited)?;
        Ok(Started {
            kept,
            ready,
            command,
        })
    }

    /// `text` with what is the trial's filled in.
    fn filled(&self, text: &str, port: u16, quote: fn(&str) -> String) -> String {
        let root = self.root.display().to_string();
        let origin = self.surroundings.origin;
        let origin = origin.map(|origin| origin.to_string()).unwrap_or_default();
        text.replace(PORT, &port.to_string())
            .replace("{root}", &quote(&root))
            .replace("{origin}", &origin)
    }

    fn approach(&self) -> Approach {
        Approach::by(self.contender.host.clone(), &self.workload.client)
    }

    fn into_running(self, started: Started, folder: TrialFolder) -> Running {
        let Started {
            kept,
            ready,
            command,
        } = started;
        let facts = ServerFacts {
            binary: command.first().cloned().unwrap_or_default(),
            command,
            server_header: ready.server_header,
            ..ServerFacts::without_folder("command", ready.address)
        };
        let stop = &self.own.stop;
        Running {
            kept,
            address: ready.address,
            facts,
            first_status: self.own.ready.is_first_answer().then_some(ready.status),
            log: Log {
                file: self.surroundings.log_folder.join("server.log"),
                from: ready.log_from,
            },
            approach: self.approach(),
            ways: Ways::of_command(
                self.contender.action_command.clone(),
                self.own.folder.clone(),
            ),
            settings: BTreeMap::new(),
            ending: Ending {
                signal: stop.signal.name().to_owned(),
                grace: stop.grace,
            },
            contacts: None,
            network: None,
            _folder: Some(folder),
        }
    }
}

/// What must be answered before a server of the user's own counts as ready.
pub(crate) fn expectation(
    ready: &Readiness,
    workload: &Workload,
    approach: &Approach,
) -> Expectation {
    let first = workload.requests.first();
    let mut request = first.clone();
    if !ready.is_first_answer() {
        request = Request {
            method: "GET".to_owned(),
            path: ready.path.clone().unwrap_or_else(|| first.path.clone()),
            headers: Vec::new(),
            body: None,
            expect: match ready.status {
                None => Expected::first_answer(),
                Some(status) => Expected {
                    status,
                    known_by: KnownBy::Plan,
                    ..Expected::first_answer()
                },
            },
            ..request
        };
    }
    Expectation::of(&request, workload.protocol, approach)
}

/// Stands for the port in a command.
const PORT: &str = "{port}";
/// First words that are no program but a shell's own.
const OF_SHELL: [&str; 5] = ["exec", ".", "cd", "eval", "!"];

/// A command line, by who takes it apart.
#[derive(Debug, PartialEq)]
enum Line {
    /// Program and arguments, as they are started. The signal to stop reaches the program itself.
    Words(Vec<String>),
    /// A shell's.
    Shell(String),
}

impl Line {
    /// Takes a plain command apart; what only a shell understands is left to one, which a single
    /// command replaces.
    fn read(text: &str) -> Self {
        let has = |signs: &[char]| text.contains(signs);
        let first = text.split_whitespace().next().unwrap_or_default();
        let is_of_shell = first.contains('=') || OF_SHELL.contains(&first);
        if is_of_shell || has(&['|', '&', ';', '<', '>', '(', ')', '\n']) {
            return Self::Shell(text.to_owned());
        }
        if has(&['$', '`', '\\', '*', '?', '[', '~', '#']) {
            return Self::Shell(format!("exec {text}"));
        }
        match words(text) {
            Some(words) if !words.is_empty() => Self::Words(words),
            // An open quote is for the shell to complain about.
            _ => Self::Shell(text.to_owned()),
        }
    }
}

/// Words between blanks, with quotes taken off; `None` where a quote is left open.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commands_are_taken_apart_and_others_are_a_shells() {
        let plain = |text: &str, expected: &[&str]| {
            let expected = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(Line::read(text), Line::Words(expected), "{text}");
        };
        plain("node app.js", &["node", "app.js"]);
        plain(
            "python3  -m http.server {port}",
            &["python3", "-m", "http.server", "{port}"],
        );
        plain("'my app' \"\" a'b c'd", &["my app", "", "ab cd"]);
        let shell = |text: &str, expected: &str| {
            assert_eq!(Line::read(text), Line::Shell(expected.to_owned()), "{text}");
        };
        shell("$HOME/app -v", "exec $HOME/app -v");
        shell("make && ./app", "make && ./app");
        shell("MODE=fast ./app", "MODE=fast ./app");
        shell("./app 'open", "./app 'open");
        for left in [
            "NODE_ENV=production ./app --port $PORT",
            "A=\"$HOME/x\" B=2 ./app",
            "exec node app.js",
            "exec node app.js --port $PORT",
            ". ./env",
            "! ./app *",
            "",
        ] {
            shell(left, left);
        }
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word("/tmp/a.b_c-1"), "/tmp/a.b_c-1");
        assert_eq!(shell_word("/tmp/a b"), "'/tmp/a b'");
    }
}
