//! bakeoff's side of a keeper: starts it, receives its events, and asks it to stop its server.
//!
//! Dropping it kills everything that the keeper started. If the keeper itself was killed, this
//! process does the keeper's work as far as it can.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bakeoff_plan::Limits;
use bakeoff_record::Step;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use crate::cgroup::{self, Cgroups};
use crate::error::{Cause, StageError};
use crate::host::{self, Keepers};
use crate::keeper::launch::{Launch, Room, User};
use crate::{belonging, keeper, tree};

/// What a keeper needs to end its tree by force and then itself. Far more than it takes.
const FORCE_LIMIT: Duration = Duration::from_secs(10);
/// The most that a server is given to stop by itself once somebody has asked to end.
const HURRIED_GRACE: Duration = Duration::from_millis(250);
/// What a keeper is given to end everything by force then.
const HURRIED_FORCE: Duration = Duration::from_millis(250);
/// The longest that a wait goes on without a look whether somebody has asked to end.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What is to run under a keeper.
pub(crate) struct Order<'a> {
    pub(crate) keeper: &'a Keepers,
    pub(crate) command: &'a [String],
    pub(crate) environment: &'a [(String, String)],
    /// Variables of bakeoff's own environment that it does not get.
    pub(crate) unset: &'a [String],
    pub(crate) folder: &'a Path,
    pub(crate) log: &'a Path,
    pub(crate) cpus: &'a [usize],
    /// Whom it runs as; `None` for this process's own user.
    pub(crate) user: Option<User>,
    /// Whether it can get no more rights than that: no server of a folder needs any.
    pub(crate) confined: bool,
    /// What it may use at the most.
    pub(crate) limits: Option<Limits>,
    /// What it sees of the file system; `None` for what this process sees.
    pub(crate) room: Option<&'a Room>,
}

/// A process tree under a keeper.
#[derive(Debug)]
pub(crate) struct Kept {
    keeper: Child,
    /// When the keeper started, as [`tree::started`] has it.
    keeper_started: u64,
    control: Option<ChildStdin>,
    events: ChildStdout,
    unread: Vec<u8>,
    group: Option<PathBuf>,
    /// Groups that limit it.
    limiting: Vec<PathBuf>,
    /// What the environment of everything below the keeper holds, where keepers are listed.
    mark: Option<String>,
    /// The run folder, where keepers are listed.
    run_folder: Option<PathBuf>,
    heard: Heard,
    /// The keeper and the guard closed their end of the pipe.
    closed: bool,
}

/// What a keeper has said so far.
#[derive(Debug, Default)]
struct Heard {
    main: Option<Pid>,
    guard: Option<Pid>,
    /// When the guard started, as [`tree::started`] has it.
    guard_started: Option<u64>,
    failure: Option<String>,
    /// Why it failed, as a number of the system's.
    errno: Option<i32>,
    /// How the program itself ended: whether well, and as text.
    exited: Option<(bool, String)>,
    /// The same as the system has it.
    status: Option<i32>,
    /// No process of the tree is left.
    left: bool,
    gone: Option<Gone>,
}

/// How a tree was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    Gracefully,
    ByForce,
}

/// Numbers the marks of this process.
static MARKED: AtomicU32 = AtomicU32::new(0);

impl Kept {
    /// Starts a keeper and waits until its program runs.
    pub(crate) fn start(order: &Order<'_>, cgroups: &Cgroups) -> Result<Self, StageError> {
        host::check(Step::Start)?;
        let log =
            open_log(order.log).map_err(|cause| StageError::file(Step::Start, order.log, cause))?;
        let own = order.keeper.is_own();
        let program = order.command.first().map(Path::new);
        let mapped = program.filter(|_| own).map(host::mapped);
        let groups = cgroups.make(order.limits)?;
        let launch = Launch {
            command: order.command.to_vec(),
            program: mapped.filter(|_| mapped != program).map(Path::to_owned),
            group: groups.own,
            limiting: groups.limiting,
            cpus: order.cpus.to_vec(),
            user: order.user.clone(),
            note: order.keeper.note.clone(),
            namespace: order.keeper.namespace,
            confined: order.confined,
            unset: order.unset.to_vec(),
            room: order.room.cloned(),
        };
        let groups: Vec<PathBuf> = launch.groups().cloned().collect();
        let kept = Self::launch(order.keeper, launch, order.environment, order.folder, log);
        kept.map_err(|cause| {
            groups.iter().for_each(|group| cgroup::remove(group));
            match cause.kind() {
                io::ErrorKind::Interrupted => StageError::new(Step::Start, Cause::Interrupted),
                _ => keeper_error(cause.to_string()),
            }
        })
    }

    /// Starts a keeper with this launch and waits until the program runs; `output` takes what it
    /// says.
    ///
    /// # Errors
    /// Of kind `NotFound` when there is no such program, and `Interrupted` when somebody asked to
    /// end. Nothing is left then.
    pub(crate) fn launch(
        keeper: &Keepers,
        launch: Launch,
        environment: &[(String, String)],
        folder: &Path,
        output: File,
    ) -> io::Result<Self> {
        let bytes = launch.encode()?;
        let mut kept = Self::spawn(keeper, launch, environment, folder, output)?;
        if let Some(control) = kept.control.as_mut() {
            // A keeper that is gone by now is seen by its silence.
            let _ = control.write_all(&bytes);
        }
        let end = Instant::now() + FORCE_LIMIT;
        while kept.heard.main.is_none() && !kept.closed {
            if Instant::now() >= end {
                return Err(io::Error::other("it does not answer"));
            }
            if host::is_interrupted() {
                return Err(host::interrupted());
            }
            kept.hear(LOOK_AGAIN);
        }
        let Heard {
            main,
            failure,
            errno,
            ..
        } = &mut kept.heard;
        match (main, failure.take(), errno) {
            (Some(_), _, _) => Ok(kept),
            (None, Some(cause), Some(libc::ENOENT)) => {
                Err(io::Error::new(io::ErrorKind::NotFound, cause))
            }
            (None, Some(cause), _) => Err(io::Error::other(cause)),
            (None, None, _) => Err(io::Error::other("it ended at once")),
        }
    }

    fn spawn(
        keeper: &Keepers,
        launch: Launch,
        environment: &[(String, String)],
        folder: &Path,
        output: File,
    ) -> io::Result<Self> {
        let Some((program, arguments)) = keeper.command.split_first() else {
            return Err(io::Error::other("its command line is empty"));
        };
        let run_folder = keeper.note.as_ref().and_then(|note| note.parent());
        let mark = run_folder.map(|folder| {
            let number = MARKED.fetch_add(1, Ordering::Relaxed);
            belonging::mark(folder, number)
        });
        let mut command = Command::new(host::mapped(Path::new(program)));
        command.arg0(keeper::NAME).args(arguments);
        command.current_dir(folder);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.envs(mark.iter().map(|mark| (belonging::MARK, mark)));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output);
        // SAFETY: two system calls, without allocation or lock.
        unsafe {
            command.pre_exec(|| {
                // From its first moment out of reach of the terminal's signals, which go to a
                // session.
                rustix::process::setsid()?;
                // Somebody may stop the keeper and kill this process: then it wakes and sees that
                // its pipe has ended. The kernel sends this when the thread ends that made the
                // keeper, which does no harm while the process lives.
                rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
                Ok(())
            });
        }
        let mut keeper = command
            .spawn()
            .map_err(|cause| io::Error::other(format!("run `{program}`: {cause}")))?;
        let control = keeper.stdin.take();
        let events = keeper
            .stdout
            .take()
            .expect("standard output was asked for as a pipe");
        Ok(Self {
            keeper_started: tree::started(Pid::from_child(&keeper)).unwrap_or(u64::MAX),
            keeper,
            control,
            events,
            unread: Vec::new(),
            group: launch.group,
            limiting: launch.limiting,
            run_folder: run_folder.map(Path::to_owned),
            mark,
            heard: Heard::default(),
            closed: false,
        })
    }

    pub(crate) fn keeper_pid(&self) -> Pid {
        Pid::from_child(&self.keeper)
    }

    /// The inner process of the keeper, the parent of the program.
    pub(crate) fn guard_pid(&self) -> Pid {
        self.heard.guard.unwrap_or(self.keeper_pid())
    }

    /// The program itself, running or ended.
    pub(crate) fn main_pid(&self) -> Pid {
        self.heard
            .main
            .expect("a started keeper has reported its program's number")
    }

    /// The process that signals go to: the program itself, or what it left behind when it ended
    /// well, of which the eldest.
    pub(crate) fn main_now(&mut self) -> Option<Pid> {
        self.hear(Duration::ZERO);
        if self.heard.exited.is_none() {
            return self.heard.main;
        }
        let guard = self.guard_pid();
        let all = tree::processes().into_iter();
        let left = all.filter(|process| process.parent == guard.as_raw_pid());
        let eldest = left.min_by_key(|process| (process.started, process.pid));
        eldest.and_then(|process| Pid::from_raw(process.pid))
    }

    /// Whether something limits it.
    pub(crate) fn is_limited(&self) -> bool {
        !self.limiting.is_empty()
    }

    pub(crate) fn group(&self) -> Option<&Path> {
        self.group.as_deref()
    }

    /// Every process of the tree now, without the keeper.
    pub(crate) fn pids(&self) -> Vec<Pid> {
        let mut pids = cgroup::pids_of(self.group(), self.keeper_pid());
        pids.retain(|&pid| Some(pid) != self.heard.guard);
        pids
    }

    /// How the program itself ended, as text.
    pub(crate) fn status(&self) -> Option<&str> {
        self.heard.exited.as_ref().map(|(_, text)| text.as_str())
    }

    /// How the program itself ended, as the system has it, if it has; or that its keeper is gone.
    pub(crate) fn ended(&mut self, wait: Duration) -> Option<io::Result<i32>> {
        self.hear(wait);
        match self.heard.status {
            Some(status) => Some(Ok(status)),
            None if self.closed => Some(Err(io::Error::other("its keeper was killed"))),
            None => None,
        }
    }

    /// Why the tree counts as ended by itself, if it does. A program that ends well and leaves
    /// processes behind has made itself a daemon and runs on.
    pub(crate) fn died(&mut self) -> Option<String> {
        self.hear(Duration::ZERO);
        if self.heard.gone.is_some() {
            return None;
        }
        match &self.heard.exited {
            Some((well, text)) if self.heard.left || !well => Some(text.clone()),
            _ if self.closed => Some("its keeper was killed, and it with it".to_owned()),
            _ => None,
        }
    }

    /// Waits for events, at most this long, and notes them.
    pub(crate) fn hear(&mut self, wait: Duration) {
        let mut wait = wait;
        while !self.closed {
            let timeout = Timespec::try_from(wait).ok();
            let mut watched = [PollFd::new(&self.events, PollFlags::IN)];
            match poll(&mut watched, timeout.as_ref()) {
                Ok(0) => return,
                Ok(_) => {}
                // A signal has come: whoever waits may want to look at what it asks.
                Err(rustix::io::Errno::INTR) if host::is_interrupted() => return,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
            }
            let mut bytes = [0; 1024];
            match rustix::io::read(&self.events, &mut bytes) {
                Ok(0) => self.closed = true,
                Ok(length) => self.unread.extend_from_slice(&bytes[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => self.closed = true,
            }
            while let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                self.note(String::from_utf8_lossy(&line).trim_end());
            }
            wait = Duration::ZERO;
        }
    }

    fn note(&mut self, event: &str) {
        let heard = &mut self.heard;
        let (kind, rest) = event.split_once(' ').unwrap_or((event, ""));
        let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "started" => {
                let (grouped, guard) = text.split_once(' ').unwrap_or((text, ""));
                heard.main = pid(first);
                heard.guard = pid(guard);
                heard.guard_started = heard.guard.and_then(tree::started);
                // A group that its server is not in would count nothing.
                if grouped == "ungrouped"
                    && let Some(group) = self.group.take()
                {
                    cgroup::remove(&group);
                }
            }
            "failed" => heard.failure = Some(rest.to_owned()),
            "errno" => heard.errno = first.parse().ok(),
            "exited" => heard.exited = Some((first == "ok", text.to_owned())),
            "status" => heard.status = first.parse().ok(),
            "left" => heard.left = true,
            "gone" if first == "graceful" => heard.gone = Some(Gone::Gracefully),
            "gone" => heard.gone = Some(Gone::ByForce),
            _ => {}
        }
    }

    /// Asks the program to end, and kills what is left after `grace`, or soon where somebody has
    /// asked to end.
    pub(crate) fn stop(&mut self, signal: &str, grace: Duration) -> Gone {
        let order = format!("stop {signal} {}\n", grace.as_millis());
        self.wake();
        let heard = self
            .control
            .as_mut()
            .is_some_and(|pipe| pipe.write_all(order.as_bytes()).is_ok());
        if heard {
            let mut end = Instant::now() + grace + FORCE_LIMIT;
            let mut hurried = false;
            while self.heard.gone.is_none() && !self.closed && Instant::now() < end {
                if host::is_interrupted() && !hurried {
                    hurried = true;
                    end = end.min(Instant::now() + HURRIED_GRACE);
                }
                self.hear(LOOK_AGAIN);
            }
        }
        let gone = self.heard.gone.unwrap_or(Gone::ByForce);
        self.end();
        gone
    }

    /// Ends everything by force: closing the pipe is all that a healthy keeper needs.
    pub(crate) fn end(&mut self) {
        self.control = None;
        self.wake();
        let limit = if host::is_interrupted() {
            HURRIED_FORCE
        } else {
            FORCE_LIMIT
        };
        let end = Instant::now() + limit;
        let ended_well = loop {
            match self.keeper.try_wait() {
                Ok(Some(status)) => break status.success(),
                Ok(None) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Ok(None) | Err(_) => {
                    let _ = self.keeper.kill();
                    let _ = self.keeper.wait();
                    break false;
                }
            }
        };
        self.hear(Duration::ZERO);
        // Nothing is left to do after a healthy keeper.
        for group in self.group.iter().chain(&self.limiting) {
            cgroup::remove(group);
        }
        if !ended_well {
            self.end_orphans();
        }
    }

    /// A keeper that was killed took its guard along, or was outlived by it. Where both were
    /// killed, what they had started is in the group, or bears their mark, or is still in their
    /// sessions. A number may be somebody else's by now, so a session alone is not enough where
    /// more can be known.
    fn end_orphans(&self) {
        let keeper = (Some(self.keeper_pid()), Some(self.keeper_started));
        let leaders = [keeper, (self.heard.guard, self.heard.guard_started)];
        let leaders = leaders.into_iter().filter_map(|(pid, started)| {
            Some(belonging::Keeper {
                pid: pid?.as_raw_pid(),
                started: started?,
            })
        });
        let leaders: Vec<belonging::Keeper> = leaders.collect();
        let all = tree::processes();
        let orphans = all.iter().filter(|process| {
            let in_session = || leaders.iter().any(|it| it.led(process, &all));
            let run_folder = self.run_folder.as_deref();
            let uses = || run_folder.is_none_or(|it| belonging::uses(process, it));
            let mark = self.mark.as_deref();
            let bears = || mark.is_some_and(|it| belonging::bears(process, it));
            process.started >= self.keeper_started && (bears() || in_session() && uses())
        });
        for pid in orphans.filter_map(|process| Pid::from_raw(process.pid)) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }

    /// Lets a keeper that somebody has stopped go on.
    fn wake(&self) {
        if self.heard.gone.is_none() && !self.closed {
            let _ = rustix::process::kill_process(self.keeper_pid(), Signal::CONT);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.control.is_some() {
            self.end();
        }
    }
}

fn pid(text: &str) -> Option<Pid> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .and_then(Pid::from_raw)
}

fn open_log(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

fn keeper_error(cause: impl Into<String>) -> StageError {
    StageError::new(
        Step::Start,
        Cause::Keeper {
            cause: cause.into(),
        },
    )
}
