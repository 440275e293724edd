//! What can be done to a running server while it is under load: a signal or a command, as its
//! folder or the user says.
//!
//! Nothing here waits for what follows: when the new configuration is in use is seen from outside.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bakeoff_plan::{Action, CertificateKey};
use bakeoff_record::TakenUp;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Numbered, Running};
use crate::bounded::{self, Question};
use crate::change::Way;
use crate::held::Held;
use crate::keeper::signal_named;
use crate::stage::Shared;
use crate::tree::{self, Process};
use crate::user::{self, User};

/// A command that changes something may take so long.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);
/// A process that takes over has so long to start workers of its own.
const TAKE_OVER_LIMIT: Duration = Duration::from_secs(5);
/// Between two looks whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What can be done to a server.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// By what its folder says.
    pub(crate) by_action: BTreeMap<Action, Way>,
    /// A command for a shell that carries out any of them instead.
    pub(crate) own: Option<String>,
    /// Where a certificate of the trial's can be replaced.
    pub(crate) renewal: Option<Renewal>,
    /// Its configuration, where that says its number.
    pub(crate) numbered: Option<Numbered>,
    pub(crate) surroundings: CommandSurroundings,
}

/// What commands run in.
#[derive(Debug, Default)]
pub(crate) struct CommandSurroundings {
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) unset: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) user: Option<User>,
}

/// How another certificate is written in place of a trial's.
#[derive(Debug)]
pub(crate) struct Renewal {
    pub(crate) shared: Arc<Shared>,
    pub(crate) kind: CertificateKey,
    pub(crate) folder: PathBuf,
}

impl Ways {
    /// Those of a program that is started by a command of the user's own, in this folder.
    pub(crate) fn of_command(own: Option<String>, folder: PathBuf) -> Self {
        Self {
            by_action: BTreeMap::from([(Action::Reload, Way::signal("HUP"))]),
            ..Self::by_own(own, folder)
        }
    }

    /// Those of what only a command of the user's own changes.
    pub(crate) fn by_own(own: Option<String>, folder: PathBuf) -> Self {
        Self {
            own,
            surroundings: CommandSurroundings {
                folder,
                ..CommandSurroundings::default()
            },
            ..Self::default()
        }
    }

    /// The signal by which the server takes up a changed configuration.
    pub(crate) fn reload_signal(&self) -> Option<&str> {
        self.by_action.get(&Action::Reload)?.signal.as_deref()
    }

    /// How the folder says that it is done.
    ///
    /// # Errors
    /// Why it cannot be.
    fn way(&self, action: Action) -> Result<&Way, String> {
        let way = self.by_action.get(&action);
        match way {
            Some(Way {
                unsupported: Some(reason),
                ..
            }) => Err(reason.clone()),
            Some(way) => Ok(way),
            None => Err(format!(
                "nothing says how its {} is done: give the contender a command for it with the \
                 key `change`",
                action.name()
            )),
        }
    }
}

/// A running server that something is done to.
#[derive(Debug)]
pub struct Changing<'a> {
    server: &'a mut Running,
}

impl<'a> Changing<'a> {
    /// Does something to this one.
    pub fn of(server: &'a mut Running) -> Self {
        Self { server }
    }

    /// Whether this can be done to it.
    ///
    /// # Errors
    /// Why not.
    pub fn may_act(&mut self, action: Action) -> Result<(), String> {
        if action == Action::None || self.server.ways.own.is_some() {
            return Ok(());
        }
        if !matches!(self.server.kept, Held::Kept(_)) {
            return Err(format!(
                "bakeoff has not started its processes, and does nothing to them by itself: give \
                 the contender a command for its {} with the key `change`",
                action.name()
            ));
        }
        match action {
            Action::KillWorker => {
                if let Err(reason) = self.server.ways.way(action)
                    && self.server.ways.by_action.contains_key(&action)
                {
                    return Err(reason);
                }
                self.worker().map(drop)
            }
            Action::Certificate => {
                if self.server.ways.renewal.is_none() {
                    return Err("it has no certificate of bakeoff's that could be replaced".into());
                }
                self.server.ways.way(self.as_taken_up(action)).map(drop)
            }
            _ if self.is_taken_up_when_written(action) && self.server.ways.numbered.is_none() => {
                Err(
                    "it takes up a file that changes, and bakeoff changes none of yours: give the \
                     contender a command with the key `change`"
                        .into(),
                )
            }
            _ => self.server.ways.way(action).map(drop),
        }
    }

    /// Makes what the server will take up by this, and begins to ask which configuration answers.
    ///
    /// # Errors
    /// Why it could not be made, as text that follows "failed to".
    pub fn make_ready(&mut self, action: Action) -> Result<(), String> {
        if !action.is_of_configuration() {
            return Ok(());
        }
        let address = self.server.address;
        if let Some(numbered) = &mut self.server.ways.numbered {
            let begun = numbered.watch(address);
            begun.map_err(|error| format!("start a thread: {error}"))?;
        }
        match self.is_taken_up_when_written(action) {
            true => Ok(()),
            false => self.write(action),
        }
    }

    /// When the new configuration answered, if it says its number.
    pub fn taken_up(&mut self) -> Option<TakenUp> {
        self.server.ways.numbered.as_mut()?.taken_up()
    }

    /// Does this to it. A command is waited for, and a process that takes over.
    ///
    /// # Errors
    /// Why it could not be done, as text that follows "failed to".
    pub fn act(&mut self, action: Action) -> Result<(), String> {
        if action == Action::None {
            return Ok(());
        }
        if let Some(numbered) = &mut self.server.ways.numbered {
            numbered.begin();
        }
        if let Some(line) = &self.server.ways.own {
            let command = ["/bin/sh", "-c", line].map(str::to_owned);
            return self.run(&command);
        }
        if !matches!(self.server.kept, Held::Kept(_)) {
            return Err("change a server that bakeoff has not started".to_owned());
        }
        match action {
            Action::KillWorker => {
                let worker = self.worker()?;
                let pid = Pid::from_raw(worker.pid).ok_or("find its worker")?;
                // A later process may have its number by now.
                signal_to(pid, Signal::KILL, || tree::is_running(pid, worker.started))
            }
            _ if self.is_taken_up_when_written(action) => self.write(action),
            action => self.carry_out(self.as_taken_up(action)),
        }
    }

    /// The action by which a new certificate is taken up, unless the folder says how.
    fn as_taken_up(&self, action: Action) -> Action {
        match action {
            Action::Certificate if !self.server.ways.by_action.contains_key(&action) => {
                Action::Reload
            }
            _ => action,
        }
    }

    fn is_taken_up_when_written(&self, action: Action) -> bool {
        let ways = &self.server.ways;
        let way = ways.by_action.get(&self.as_taken_up(action));
        ways.own.is_none() && way.is_some_and(|way| way.watched)
    }

    /// Writes what the server takes up by this.
    fn write(&mut self, action: Action) -> Result<(), String> {
        if action == Action::Certificate {
            self.renew()?;
        }
        let numbered = self.server.ways.numbered.as_mut();
        let written = numbered.map_or(Ok(()), Numbered::write_next);
        written.map_err(|error| format!("write its next configuration: {error}"))
    }

    fn carry_out(&mut self, action: Action) -> Result<(), String> {
        let way = self.server.ways.way(action)?.clone();
        if let Some(command) = &way.command {
            return self.run(command);
        }
        let main = self.main_now()?;
        let Some(after) = way.after else {
            return self.signal(main, way.signal);
        };
        let before = children(main);
        self.signal(main, way.signal)?;
        await_successor(main, &before)?;
        self.signal(main, Some(after))
    }

    fn signal(&self, main: Pid, name: Option<String>) -> Result<(), String> {
        let signal = name.as_deref().and_then(signal_named);
        let guard = self.server.kept.guard_pid();
        // Its guard collects it: until then its number is nobody else's.
        let is_ours = || guard.is_some() && tree::parent(main) == guard;
        signal_to(main, signal.ok_or("know its signal")?, is_ours)
    }

    fn run(&mut self, command: &[String]) -> Result<(), String> {
        let within = &self.server.ways.surroundings;
        let mut environment = within.environment.clone();
        environment.push(("PORT".to_owned(), self.server.address.port().to_string()));
        let main = match &mut self.server.kept {
            Held::Kept(kept) => kept.main_now(),
            other => other.main_pid(),
        };
        environment.extend(main.map(|pid| ("BAKEOFF_PID".to_owned(), pid.to_string())));
        let question = Question {
            environment: &environment,
            unset: &within.unset,
            folder: &within.folder,
            limit: COMMAND_LIMIT,
            user: within.user.as_ref(),
            room: None,
        };
        let shown = command.last().filter(|_| self.server.ways.own.is_some());
        let shown = shown.cloned().unwrap_or_else(|| command.join(" "));
        let output = bounded::run(command, &question);
        let output = output.map_err(|cause| format!("run `{shown}`: {cause}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = output.text.trim();
        let said = said
            .lines()
            .next_back()
            .map_or(String::new(), |line| format!(": {line}"));
        Err(format!(
            "run `{shown}`: it ended with {}{said}",
            output.status
        ))
    }

    fn renew(&self) -> Result<(), String> {
        // Where a command of the user's own does it, the certificate may be the user's, too.
        let Some(renewal) = &self.server.ways.renewal else {
            return Ok(());
        };
        let certificates = &renewal.shared.certificates;
        let renewed = certificates.renew(renewal.kind, &renewal.folder);
        let user = self.server.ways.surroundings.user.as_ref();
        let renewed = renewed.and_then(|_| user::hand_over(&renewal.folder, user));
        renewed.map_err(|error| format!("replace its certificate: {error}"))
    }

    /// The process that signals go to.
    fn main_now(&mut self) -> Result<Pid, String> {
        let main = match &mut self.server.kept {
            Held::Kept(kept) => kept.main_now(),
            Held::Already(_) | Held::Container(_) => None,
        };
        main.ok_or_else(|| "find its main process: it has ended".to_owned())
    }

    /// The worker that was started last.
    fn worker(&mut self) -> Result<Process, String> {
        let workers = children(self.main_now()?).into_iter();
        let youngest = workers.max_by_key(|process| (process.started, process.pid));
        youngest.ok_or_else(|| "it is one process, without a worker that could be killed".into())
    }
}

/// Waits until a child of `main` that was not there before has children of its own.
fn await_successor(main: Pid, before: &[Process]) -> Result<(), String> {
    let until = Instant::now() + TAKE_OVER_LIMIT;
    loop {
        let all = tree::processes();
        let is_new = |process: &&Process| {
            process.parent == main.as_raw_pid()
                && before.iter().all(|other| other.pid != process.pid)
        };
        let has_workers = |process: &Process| all.iter().any(|it| it.parent == process.pid);
        if all.iter().filter(is_new).any(has_workers) {
            return Ok(());
        }
        if Instant::now() >= until {
            let within = TAKE_OVER_LIMIT.as_secs();
            return Err(format!(
                "upgrade: no other process took over within {within} s"
            ));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn children(parent: Pid) -> Vec<Process> {
    let mut all = tree::processes();
    all.retain(|process| process.parent == parent.as_raw_pid());
    all
}

/// Sends a signal to a process, which is held while `is_it` makes sure of it.
fn signal_to(pid: Pid, signal: Signal, is_it: impl FnOnce() -> bool) -> Result<(), String> {
    let held = pidfd_open(pid, PidfdFlags::empty());
    let sent = held.and_then(|held| match is_it() {
        true => pidfd_send_signal(&held, signal),
        false => Err(rustix::io::Errno::SRCH),
    });
    sent.map_err(|errno| format!("send its process {pid} a signal: {errno}"))
}
