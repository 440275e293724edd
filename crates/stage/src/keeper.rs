//! The keeper: a small process that holds one server and lets nothing of it survive.
//!
//! It runs as a hidden subcommand of the program that stages servers. It is a child subreaper, so
//! whatever a server leaves behind, daemons and forked workers too, becomes its own child; and it
//! holds the read end of a pipe whose only write end is in the program that started it. The end
//! of that program, by `kill -9` too, ends the pipe, and the keeper then kills everything below
//! itself.
//!
//! It writes one line for each event to its standard output: `started PID grouped|ungrouped`,
//! `failed TEXT`, `exited ok|bad TEXT`, `left`, `gone graceful|forced`. It reads `stop SIGNAL
//! MILLISECONDS`. Its standard error is the server's log.
//!
//! It deliberately knows nothing of servers, ports or requests, and it never polls on a timer while
//! a server runs, so that it costs nothing during a measurement.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::CpuSet;

use crate::tree;

/// Between two rounds of killing, when no child's end wakes the keeper before.
const KILL_AGAIN: Duration = Duration::from_millis(20);

/// Runs the keeper to its end and returns the exit code of its process.
///
/// `arguments` are those after the subcommand's name: `[--group FOLDER] [--cpus 0,1] -- PROGRAM
/// ARGUMENT...`. Must be called from the process's main thread, since the kernel ties the signal
/// that a dying keeper leaves to its child to the thread that made the child.
pub fn main(arguments: impl IntoIterator<Item = String>) -> i32 {
    match Orders::read(arguments).and_then(Keeper::start) {
        Ok(mut keeper) => {
            keeper.run();
            0
        }
        Err(cause) => {
            say(&format!("failed {}", cause.to_string().replace('\n', " ")));
            1
        }
    }
}

/// What the command line asks for.
struct Orders {
    group: Option<PathBuf>,
    cpus: Vec<usize>,
    command: Vec<String>,
}

impl Orders {
    fn read(arguments: impl IntoIterator<Item = String>) -> io::Result<Self> {
        let mut orders = Self {
            group: None,
            cpus: Vec::new(),
            command: Vec::new(),
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_default();
            match argument.as_str() {
                "--group" => orders.group = Some(value().into()),
                "--cpus" => {
                    let cpus: Result<_, _> = value().split(',').map(str::parse).collect();
                    orders.cpus = cpus.map_err(io::Error::other)?;
                }
                "--" => orders.command = arguments.by_ref().collect(),
                _ => return Err(io::Error::other(format!("unknown argument `{argument}`"))),
            }
        }
        if orders.command.is_empty() {
            return Err(io::Error::other("no program was named after `--`"));
        }
        Ok(orders)
    }
}

struct Keeper {
    /// The program itself, until its end has been seen.
    main: Option<Pid>,
    group: Option<PathBuf>,
    /// Readable when a child has ended.
    child_ends: OwnedFd,
    /// When force follows, once a stop has been asked for.
    force_at: Option<Instant>,
    /// Whether `left` has been said.
    left: bool,
}

/// What the control pipe brought.
enum Control {
    Nothing,
    Stop { signal: Signal, grace: Duration },
    Ended,
}

impl Keeper {
    fn start(orders: Orders) -> io::Result<Self> {
        // Whoever started the keeper may have made it a session leader before: then this fails,
        // and nothing is missing.
        let _ = rustix::process::setsid();
        become_subreaper()?;
        keep_files_from_children()?;
        block_signals()?;
        let child_ends = child_end_descriptor()?;
        let main = spawn(&orders)?;
        let grouped = orders
            .group
            .as_deref()
            .is_some_and(|group| is_member(group, main));
        let grouped = if grouped { "grouped" } else { "ungrouped" };
        say(&format!("started {main} {grouped}"));
        Ok(Self {
            main: Some(main),
            group: orders.group,
            child_ends,
            force_at: None,
            left: false,
        })
    }

    fn run(&mut self) {
        loop {
            let now = Instant::now();
            let wait = self.force_at.map(|at| at.saturating_duration_since(now));
            let control = self.wait(wait);
            let empty = self.reap();
            match control {
                Control::Nothing => {}
                Control::Stop { signal, grace } => {
                    self.ask(signal);
                    self.force_at = Some(Instant::now() + grace);
                }
                Control::Ended => return self.finish(),
            }
            if let Some(at) = self.force_at
                && (empty || Instant::now() >= at)
            {
                self.finish();
                say(if empty {
                    "gone graceful"
                } else {
                    "gone forced"
                });
                return;
            }
            if empty && !self.left {
                self.left = true;
                say("left");
            }
        }
    }

    /// Sleeps until the control pipe or a child's end has something to say, or `wait` is over.
    fn wait(&self, wait: Option<Duration>) -> Control {
        let input = io::stdin();
        let mut watched = [
            PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN),
            PollFd::new(&self.child_ends, PollFlags::IN),
        ];
        if sleep_on(&mut watched, wait).is_err() || watched[0].revents().is_empty() {
            return Control::Nothing;
        }
        let mut bytes = [0; 256];
        match rustix::io::read(input.as_fd(), &mut bytes) {
            Ok(0) => Control::Ended,
            Ok(length) => parse(&bytes[..length]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Control::Nothing,
            Err(_) => Control::Ended,
        }
    }

    /// Collects every ended child; `true` when no descendant is left at all.
    fn reap(&mut self) -> bool {
        drain(&self.child_ends);
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if self.main == Some(pid) {
                        self.main = None;
                        let ok = if status.exit_status() == Some(0) {
                            "ok"
                        } else {
                            "bad"
                        };
                        say(&format!("exited {ok} {}", status_words(status)));
                    }
                }
                Ok(None) => return false,
                Err(rustix::io::Errno::INTR) => {}
                // No child means no descendant: an orphan below would have become a child.
                Err(_) => return true,
            }
        }
    }

    /// Asks the program to end, or whatever it left behind when it made itself a daemon.
    fn ask(&self, signal: Signal) {
        let asked = match self.main {
            Some(main) => vec![main],
            None => tree::children(rustix::process::getpid()),
        };
        for pid in asked {
            let _ = rustix::process::kill_process(pid, signal);
            // A stopped process would hear nothing until the grace time is over.
            let _ = rustix::process::kill_process(pid, Signal::CONT);
        }
    }

    /// Kills everything below until nothing is left, then removes the group.
    fn finish(&mut self) {
        while !self.reap() {
            if let Some(group) = &self.group {
                let _ = std::fs::write(group.join("cgroup.kill"), "1");
            }
            for pid in tree::descendants(rustix::process::getpid()) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            let mut watched = [PollFd::new(&self.child_ends, PollFlags::IN)];
            let _ = sleep_on(&mut watched, Some(KILL_AGAIN));
        }
        if let Some(group) = &self.group {
            let _ = std::fs::remove_dir(group);
        }
    }
}

/// Writes one event. Nobody may be reading any more, which changes nothing.
fn say(event: &str) {
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{event}");
    let _ = output.flush();
}

fn parse(bytes: &[u8]) -> Control {
    let text = String::from_utf8_lossy(bytes);
    let mut fields = text.split_whitespace();
    let stop = fields.next() == Some("stop");
    let signal = fields.next().and_then(signal_named);
    let grace = fields.next().and_then(|grace| grace.parse().ok());
    match (stop, signal, grace) {
        (true, Some(signal), Some(grace)) => Control::Stop {
            signal,
            grace: Duration::from_millis(grace),
        },
        _ => Control::Nothing,
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

/// The end of a process, for people.
fn status_words(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

fn spawn(orders: &Orders) -> io::Result<Pid> {
    let log = io::stderr().as_fd().try_clone_to_owned()?;
    let group = orders.group.as_deref().and_then(|group| {
        std::fs::OpenOptions::new()
            .write(true)
            .open(group.join("cgroup.procs"))
            .ok()
    });
    let mut cpus = CpuSet::new();
    for &cpu in orders.cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        cpus.set(cpu);
    }
    let pinned = !orders.cpus.is_empty();
    let keeper = rustix::process::getpid();
    let mut command = Command::new(OsStr::new(&orders.command[0]));
    command.args(&orders.command[1..]).stdin(Stdio::null());
    command.stdout(log.try_clone()?).stderr(log);
    let before_exec = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(keeper) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // A group that cannot be joined costs accuracy, not safety: the keeper reports it.
        if let Some(group) = &group {
            let _ = rustix::io::write(group, b"0");
        }
        if pinned {
            rustix::thread::sched_setaffinity(None, &cpus)?;
        }
        restore_signals()
    };
    // SAFETY: the closure makes system calls only; it neither allocates nor locks.
    unsafe { command.pre_exec(before_exec) };
    let child = command.spawn().map_err(|cause| {
        io::Error::new(
            cause.kind(),
            format!("run `{}`: {cause}", orders.command[0]),
        )
    })?;
    Ok(Pid::from_child(&child))
}

fn is_member(group: &Path, pid: Pid) -> bool {
    let wanted = pid.to_string();
    std::fs::read_to_string(group.join("cgroup.procs"))
        .is_ok_and(|members| members.lines().any(|member| member == wanted))
}

fn become_subreaper() -> io::Result<()> {
    // SAFETY: this operation of prctl takes integers and touches no memory of ours.
    let result = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Marks every file that the keeper was handed, besides the standard three, to close in children.
fn keep_files_from_children() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: close_range takes integers; with this flag it closes nothing now.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, flags) };
    if result == 0 {
        return Ok(());
    }
    // Kernels before 5.11 do not know the flag.
    for entry in std::fs::read_dir("/proc/self/fd")?.flatten() {
        if let Some(number) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
            && number > 2
        {
            // SAFETY: setting a flag on a number that may be closed already does no harm.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// Blocks every signal: none ends the keeper before its children, but the one that cannot be held.
fn block_signals() -> io::Result<()> {
    set_mask(libc::sigfillset)
}

/// Gives a child the signals that a program expects, whatever its ancestors blocked or ignored.
fn restore_signals() -> io::Result<()> {
    for signal in 1..=64 {
        // SAFETY: the default action needs no handler; KILL and STOP refuse, and so
        // do the two that the C library keeps for itself.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    set_mask(libc::sigemptyset)
}

fn set_mask(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> libc::c_int) -> io::Result<()> {
    // SAFETY: the set is written by `fill` before it is read; the old mask is not asked for.
    let result = unsafe {
        let mut set = std::mem::zeroed();
        fill(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut())
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn child_end_descriptor() -> io::Result<OwnedFd> {
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: the set is initialised before use, and a non-negative result is a descriptor that
    // nobody else owns.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        let number = libc::signalfd(-1, &raw const set, flags);
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(number))
    }
}

fn drain(descriptor: &OwnedFd) {
    let mut bytes = [0; 1024];
    while rustix::io::read(descriptor, &mut bytes[..]).is_ok_and(|length| length > 0) {}
}

fn sleep_on(watched: &mut [PollFd<'_>], wait: Option<Duration>) -> rustix::io::Result<usize> {
    let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
    poll(watched, wait.as_ref())
}
