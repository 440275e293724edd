//! The stage's end of a keeper: starts it, hears its events, asks it to stop its server.
//!
//! Dropping it ends everything by force; what the keeper cannot do because it was killed itself,
//! is done from here as far as that is possible.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use bakeoff_record::Step;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use crate::cgroup::{self, Cgroups};
use crate::error::{Cause, StageError};
use crate::tree;

/// What a keeper needs to end its tree by force and then itself. Far more than it takes.
const FORCE_LIMIT: Duration = Duration::from_secs(10);

/// What is to run under a keeper.
pub(crate) struct Order<'a> {
    /// Command line of the keeper without its arguments.
    pub(crate) keeper: &'a [String],
    pub(crate) command: &'a [String],
    pub(crate) environment: &'a [(String, String)],
    pub(crate) folder: &'a Path,
    pub(crate) log: &'a Path,
    pub(crate) cpus: &'a [usize],
}

/// A process tree under a keeper.
#[derive(Debug)]
pub(crate) struct Kept {
    keeper: Child,
    control: Option<ChildStdin>,
    events: ChildStdout,
    unread: Vec<u8>,
    group: Option<PathBuf>,
    main: Option<Pid>,
    failure: Option<String>,
    /// How the program itself ended: whether well, and as text.
    exited: Option<(bool, String)>,
    /// No process of the tree is left.
    left: bool,
    gone: Option<Gone>,
    /// The keeper closed its end of the pipe.
    closed: bool,
}

/// How a tree was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    Gracefully,
    ByForce,
}

impl Kept {
    /// Starts a keeper and waits until its program runs.
    pub(crate) fn start(order: &Order<'_>, cgroups: &Cgroups) -> Result<Self, StageError> {
        let mut kept = Self::spawn(order, cgroups)?;
        let end = Instant::now() + FORCE_LIMIT;
        while kept.main.is_none() && kept.failure.is_none() && !kept.closed {
            if Instant::now() >= end {
                return Err(keeper_error("it does not answer"));
            }
            kept.hear(Duration::from_millis(200));
        }
        match (kept.main, kept.failure.take()) {
            (Some(_), _) => Ok(kept),
            (None, Some(cause)) => Err(keeper_error(cause)),
            (None, None) => Err(keeper_error("it ended at once")),
        }
    }

    fn spawn(order: &Order<'_>, cgroups: &Cgroups) -> Result<Self, StageError> {
        let log =
            open_log(order.log).map_err(|cause| StageError::file(Step::Start, order.log, cause))?;
        let Some((program, arguments)) = order.keeper.split_first() else {
            return Err(keeper_error("its command line is empty"));
        };
        let group = cgroups.make();
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(group) = &group {
            command.arg("--group").arg(group);
        }
        if !order.cpus.is_empty() {
            let cpus: Vec<String> = order.cpus.iter().map(usize::to_string).collect();
            command.arg("--cpus").arg(cpus.join(","));
        }
        command
            .arg("--")
            .args(order.command)
            .current_dir(order.folder);
        command.envs(order.environment.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        // From its first moment out of reach of the terminal's signals, which go to a session.
        // SAFETY: one system call, without allocation or lock.
        unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
        let mut keeper = command.spawn().map_err(|cause| {
            group.as_deref().inspect(|group| cgroup::remove(group));
            keeper_error(format!("run `{program}`: {cause}"))
        })?;
        let control = keeper.stdin.take();
        let events = keeper
            .stdout
            .take()
            .expect("standard output was asked for as a pipe");
        Ok(Self {
            keeper,
            control,
            events,
            unread: Vec::new(),
            group,
            main: None,
            failure: None,
            exited: None,
            left: false,
            gone: None,
            closed: false,
        })
    }

    pub(crate) fn keeper_pid(&self) -> Pid {
        Pid::from_child(&self.keeper)
    }

    /// The program itself, running or ended.
    pub(crate) fn main_pid(&self) -> Pid {
        self.main
            .expect("a started keeper has reported its program's number")
    }

    pub(crate) fn group(&self) -> Option<&Path> {
        self.group.as_deref()
    }

    /// Every process of the tree now, without the keeper.
    pub(crate) fn pids(&self) -> Vec<Pid> {
        cgroup::pids_of(self.group(), self.keeper_pid())
    }

    /// How the program itself ended, as text.
    pub(crate) fn status(&self) -> Option<&str> {
        self.exited.as_ref().map(|(_, text)| text.as_str())
    }

    /// Why the tree counts as ended by itself, if it does. A program that ends well and leaves
    /// processes behind has made itself a daemon and runs on.
    pub(crate) fn died(&mut self) -> Option<String> {
        self.hear(Duration::ZERO);
        if self.gone.is_some() {
            return None;
        }
        match &self.exited {
            Some((well, text)) if self.left || !well => Some(text.clone()),
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
        let (kind, rest) = event.split_once(' ').unwrap_or((event, ""));
        let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "started" => {
                self.main = first.parse().ok().and_then(Pid::from_raw);
                // A group that its server is not in would count nothing.
                if text == "ungrouped"
                    && let Some(group) = self.group.take()
                {
                    cgroup::remove(&group);
                }
            }
            "failed" => self.failure = Some(rest.to_owned()),
            "exited" => self.exited = Some((first == "ok", text.to_owned())),
            "left" => self.left = true,
            "gone" if first == "graceful" => self.gone = Some(Gone::Gracefully),
            "gone" => self.gone = Some(Gone::ByForce),
            _ => {}
        }
    }

    /// Asks the program to end, and kills what is left after `grace`.
    pub(crate) fn stop(&mut self, signal: &str, grace: Duration) -> Gone {
        let order = format!("stop {signal} {}\n", grace.as_millis());
        let heard = self
            .control
            .as_mut()
            .is_some_and(|pipe| pipe.write_all(order.as_bytes()).is_ok());
        if heard {
            let end = Instant::now() + grace + FORCE_LIMIT;
            while self.gone.is_none() && !self.closed && Instant::now() < end {
                self.hear(Duration::from_millis(200));
            }
        }
        let gone = self.gone.unwrap_or(Gone::ByForce);
        self.end();
        gone
    }

    /// Ends everything by force: closing the pipe is all that a healthy keeper needs.
    fn end(&mut self) {
        self.control = None;
        let end = Instant::now() + FORCE_LIMIT;
        while !matches!(self.keeper.try_wait(), Ok(Some(_)) | Err(_)) {
            if Instant::now() >= end {
                let _ = self.keeper.kill();
                let _ = self.keeper.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.hear(Duration::ZERO);
        // Nothing is left to do after a healthy keeper. One that was killed took its own child
        // along; what that child had started is in the group, or still in the keeper's session.
        if let Some(group) = &self.group {
            cgroup::remove(group);
        }
        for pid in tree::session(self.keeper_pid()) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
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
