//! The keeper: a small process that holds one server and lets nothing of it survive.
//!
//! ```text
//! bakeoff ══ pipe ══ keeper ══ pipe ══ guard ── server ── workers, daemons, ...
//!                                     └── a PID namespace, where one can be had ──┘
//! ```
//!
//! The keeper holds the read end of a pipe whose only write end is in the program that started it,
//! and the guard one whose write end is in the keeper. When the process above ends, also by `kill
//! -9`, so does the pipe, and the one below kills everything below itself. If it is stopped, it
//! wakes up: the kernel sends it SIGCONT when the one above dies. Both are child subreapers, so
//! what a server leaves behind, such as daemons and forked workers, becomes a child of the guard,
//! or of the keeper if the guard was killed. In a PID namespace the guard is its init: with the
//! guard the kernel kills everything in it, and the keeper's death kills the guard.
//!
//! Neither has the name of bakeoff, so that `pkill bakeoff` does not end them. What they run comes
//! over the pipe and not on the command line ([`launch`]), which holds only the name `keeper`.
//!
//! The guard writes one line for each event to its standard output: `started PID grouped|ungrouped
//! GUARD`, `failed TEXT`, `errno NUMBER`, `exited ok|bad TEXT`, `status NUMBER`, `left`, `gone
//! graceful|forced`. It reads `stop SIGNAL MILLISECONDS`. Standard error is the server's log.
//!
//! It deliberately knows nothing of servers, ports or requests, and it never polls on a timer while
//! a server runs, so that it costs nothing during a measurement.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use crate::tree;
use kernel::{Forked, OomPreference};
use launch::Launch;

mod guard;
mod kernel;
pub(crate) mod launch;
mod room;

/// The name of a keeper's process, and its whole command line.
pub const NAME: &str = "keeper";

/// Between two rounds of killing, when no child's end wakes the keeper before.
const KILL_AGAIN: Duration = Duration::from_millis(20);
/// What a guard needs to kill everything below itself. Far more than it takes.
const GUARD_LIMIT: Duration = Duration::from_secs(2);
/// Exit code of a guard that could not set up its namespace and has started nothing.
const NO_NAMESPACE: i32 = 3;

/// Runs the keeper to its end and returns the exit code of its process.
///
/// Must be called from the only thread of the process: it is copied, and the kernel ties the
/// signal that a dying keeper leaves to its child to the thread that made the child.
pub fn main() -> i32 {
    match Keeper::start() {
        Ok(Begun::Keeper(mut keeper)) => keeper.run(),
        Ok(Begun::Guard(code)) => code,
        Err(cause) => {
            say_failed(&cause);
            1
        }
    }
}

/// Which of the two processes this one is after the fork.
enum Begun {
    Keeper(Box<Keeper>),
    /// The guard has done its work and ends with this code.
    Guard(i32),
}

/// The outer of the two processes.
struct Keeper {
    launch: Launch,
    guard: Pid,
    /// Leads to the guard; dropping it asks the guard to end everything.
    channel: Option<OwnedFd>,
    /// Readable when a child has ended.
    child_ends: OwnedFd,
    /// When a guard that was asked to end everything is killed.
    guard_until: Option<Instant>,
}

impl Keeper {
    fn start() -> io::Result<Begun> {
        kernel::set_name(c"keeper");
        // Whoever started the keeper may have made it a session leader before: then this fails,
        // and nothing is missing.
        let _ = rustix::process::setsid();
        kernel::become_subreaper()?;
        kernel::keep_files_from_children()?;
        kernel::block_signals()?;
        kernel::prefer(OomPreference::Keeper);
        let child_ends = kernel::child_end_descriptor()?;
        let launch = Launch::read(io::stdin())?;
        note(&launch, rustix::process::getpid());
        let namespace = launch.namespace;
        match start_guard(&launch, namespace)? {
            Guarded::Guard(code) => Ok(Begun::Guard(code)),
            Guarded::By(guard, channel) => Ok(Begun::Keeper(Box::new(Self {
                launch,
                guard,
                channel: Some(channel),
                child_ends,
                guard_until: None,
            }))),
        }
    }

    /// Returns the guard's exit code, or 1 if it was killed.
    fn run(&mut self) -> i32 {
        loop {
            let now = Instant::now();
            let wait = self.guard_until.map(|at| at.saturating_duration_since(now));
            if self.channel.is_some() {
                self.relay(wait);
            } else {
                let mut watched = [PollFd::new(&self.child_ends, PollFlags::IN)];
                let _ = kernel::sleep_on(&mut watched, wait);
            }
            if let Some(code) = self.reap().and_then(|status| self.after_guard(status)) {
                return code;
            }
            if self.guard_until.is_some_and(|at| Instant::now() >= at) {
                let _ = rustix::process::kill_process(self.guard, Signal::KILL);
                self.guard_until = None;
            }
        }
    }

    /// Waits for orders and passes them on, or for the end of a child.
    fn relay(&mut self, wait: Option<Duration>) {
        let input = io::stdin();
        let mut watched = [
            PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN),
            PollFd::new(&self.child_ends, PollFlags::IN),
        ];
        let slept = kernel::sleep_on(&mut watched, wait);
        if slept.is_err() || watched[0].revents().is_empty() {
            return;
        }
        let mut bytes = [0; 256];
        let came = rustix::io::read(input.as_fd(), &mut bytes);
        match came {
            Ok(length @ 1..) => {
                if let Some(channel) = &self.channel {
                    // A guard that is gone is seen by its end.
                    let _ = rustix::io::write(channel, &bytes[..length]);
                }
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return,
            Ok(0) | Err(_) => {
                self.channel = None;
                self.guard_until = Some(Instant::now() + GUARD_LIMIT);
            }
        }
        // Somebody may have stopped it.
        let _ = rustix::process::kill_process(self.guard, Signal::CONT);
    }

    /// Collects every ended child, and returns how the guard ended, if it did.
    fn reap(&mut self) -> Option<WaitStatus> {
        kernel::drain(&self.child_ends);
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.guard => return Some(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Starts a guard without a namespace after one that could not have it. After any other one,
    /// ends what it has left, and returns the exit code.
    fn after_guard(&mut self, status: WaitStatus) -> Option<i32> {
        let unnamed = status.exit_status() == Some(NO_NAMESPACE) && self.launch.namespace;
        if unnamed && self.channel.is_some() {
            self.launch.namespace = false;
            match start_guard(&self.launch, false) {
                Ok(Guarded::By(guard, channel)) => {
                    self.guard = guard;
                    self.channel = Some(channel);
                    return None;
                }
                // This is the guard, and its work is done.
                Ok(Guarded::Guard(code)) => return Some(code),
                Err(cause) => say_failed(&cause),
            }
        }
        self.finish(status);
        Some(status.exit_status().unwrap_or(1))
    }

    /// Kills what a guard has left, if anything.
    fn finish(&mut self, guard: WaitStatus) {
        if let Some(signal) = guard.terminating_signal() {
            say(&format!(
                "exited bad killed, because its guard was killed by signal {signal}"
            ));
        }
        let group = self.launch.group.as_deref();
        while !self.reap_orphans() {
            kill_below(group, &self.child_ends);
        }
        remove(&self.launch);
    }

    fn reap_orphans(&self) -> bool {
        kernel::drain(&self.child_ends);
        reap_all(|_, _| {})
    }
}

/// What `start_guard` comes back as.
enum Guarded {
    /// The keeper: its guard, and the pipe to it.
    By(Pid, OwnedFd),
    /// The guard, at its end.
    Guard(i32),
}

/// Copies this process; the copy is the guard and returns when everything is over.
fn start_guard(launch: &Launch, namespace: bool) -> io::Result<Guarded> {
    let (from_keeper, channel) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    // It takes a privilege. Without it the guard is a subreaper, and no less attentive.
    let way_back = if namespace {
        kernel::enter_namespace().ok()
    } else {
        None
    };
    let forked = kernel::fork()?;
    match forked {
        Forked::Child => {
            drop(channel);
            let in_namespace = way_back.is_some();
            Ok(Guarded::Guard(guard::run(
                launch,
                from_keeper,
                in_namespace,
            )))
        }
        Forked::Parent(guard) => {
            if let Some(way_back) = way_back {
                way_back.take()?;
            }
            Ok(Guarded::By(guard, channel))
        }
    }
}

/// Adds a process of this keeper to the list from which a later bakeoff ends what is left of a
/// killed one. `me` is its number as `/proc` shows it now.
fn note(launch: &Launch, me: Pid) {
    let (Some(path), Some(started)) = (&launch.note, tree::started(me)) else {
        return;
    };
    // One write, so that lines of several keepers stay whole.
    let line = format!("keeper {me} {started}\n");
    let file = File::options().append(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// Kills everything below this process, and waits a moment for the first of it to end.
fn kill_below(group: Option<&Path>, child_ends: &OwnedFd) {
    if let Some(group) = group {
        let _ = std::fs::write(group.join("cgroup.kill"), "1");
    }
    for pid in tree::descendants(rustix::process::getpid()) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
    let mut watched = [PollFd::new(child_ends, PollFlags::IN)];
    let _ = kernel::sleep_on(&mut watched, Some(KILL_AGAIN));
}

/// Removes the groups of a program that nothing is left in.
fn remove(launch: &Launch) {
    for group in launch.groups() {
        let _ = std::fs::remove_dir(group);
    }
}

/// Collects every ended child; `true` when no descendant is left at all.
fn reap_all(mut ended: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) => return false,
            Err(rustix::io::Errno::INTR) => {}
            // No child means no descendant: an orphan below would have become a child.
            Err(_) => return true,
        }
    }
}

/// Writes one event. Nobody may be reading any more, which changes nothing.
fn say(event: &str) {
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{event}");
    let _ = output.flush();
}

fn say_failed(cause: &io::Error) {
    say(&format!("failed {}", cause.to_string().replace('\n', " ")));
    // The text of an error that was given words has lost its number, but not its kind.
    if cause.kind() == io::ErrorKind::NotFound {
        say(&format!("errno {}", libc::ENOENT));
    }
}

/// The signal that `name`, without `SIG`, stands for; the ones that ask a server to end.
pub(crate) fn signal_named(name: &str) -> Option<Signal> {
    Some(match name {
        "TERM" => Signal::TERM,
        "QUIT" => Signal::QUIT,
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "KILL" => Signal::KILL,
        _ => return None,
    })
}
