//! The guard: the inner process of a keeper. It starts the program, collects its processes, asks
//! it to stop, and kills everything below itself when its pipe ends.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitStatus};
use rustix::thread::CpuSet;

use super::kernel::{self, OomPreference};
use super::launch::Launch;
use super::room::{self, Root};
use super::{NO_NAMESPACE, kill_below, note, reap_all, remove, say, say_failed, signal_named};
use crate::tree;
use crate::user::User;

/// Runs the guard to its end and returns the exit code of its process.
pub(super) fn run(launch: &Launch, from_keeper: OwnedFd, in_namespace: bool) -> i32 {
    kernel::set_name(c"guard");
    // Where the kernel takes the server along, death is the surest order. Elsewhere the guard is
    // needed, and awake.
    let on_death = if in_namespace {
        Signal::KILL
    } else {
        Signal::CONT
    };
    // A keeper that died before this call has ended the pipe.
    let _ = rustix::process::set_parent_process_death_signal(Some(on_death));
    // What a server sends to its process group or session must not reach the keeper.
    let _ = rustix::process::setsid();
    let outside = Outside::look();
    note(launch, outside.me);
    let proc = || kernel::own_mounts().and_then(|()| kernel::mount_own_proc());
    if in_namespace && proc().is_err() {
        return NO_NAMESPACE;
    }
    let room = launch.room.as_ref().map(|room| {
        if !in_namespace {
            kernel::own_mounts()?;
        }
        room::build(room)
    });
    let started = room
        .transpose()
        .and_then(|root| Guard::start(launch, root.as_ref(), &from_keeper, &outside));
    match started {
        Ok(mut guard) => {
            guard.run();
            0
        }
        Err(cause) => {
            say_failed(&cause);
            1
        }
    }
}

/// `/proc` as the keeper sees it, where processes have the numbers that the keeper knows.
struct Outside {
    proc: Option<OwnedFd>,
    /// This process.
    me: Pid,
}

impl Outside {
    fn look() -> Self {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let number = std::fs::read_link("/proc/self").ok();
        let number = number.and_then(|link| link.to_str()?.parse().ok());
        Self {
            proc: rustix::fs::openat(CWD, "/proc", flags, Mode::empty()).ok(),
            me: number
                .and_then(Pid::from_raw)
                .unwrap_or_else(rustix::process::getpid),
        }
    }

    /// The number of a child that has not been collected yet.
    fn number_of(&self, child: Pid) -> Option<i32> {
        let child = rustix::process::pidfd_open(child, PidfdFlags::empty()).ok()?;
        let path = format!("self/fdinfo/{}", child.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.proc.as_ref()?, path, flags, Mode::empty()).ok()?;
        let text = io::read_to_string(std::fs::File::from(file)).ok()?;
        let number = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
        number.trim().parse().ok().filter(|&number| number > 0)
    }
}

struct Guard<'a> {
    /// Orders come here, and its end is the order to end everything.
    from_keeper: &'a OwnedFd,
    /// The program itself, until its end has been seen.
    main: Option<Pid>,
    launch: &'a Launch,
    /// Readable when a child has ended.
    child_ends: OwnedFd,
    /// When force follows, once a stop has been asked for.
    force_at: Option<Instant>,
    /// Whether `left` has been said.
    left: bool,
}

/// What the pipe brought.
enum Control {
    Nothing,
    Stop { signal: Signal, grace: Duration },
    Ended,
}

impl<'a> Guard<'a> {
    fn start(
        launch: &'a Launch,
        root: Option<&Root>,
        from_keeper: &'a OwnedFd,
        outside: &Outside,
    ) -> io::Result<Self> {
        // The keeper's own pipe must have no reader but the keeper.
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        kernel::become_subreaper()?;
        let child_ends = kernel::child_end_descriptor()?;
        let main = spawn(launch, root)?;
        let grouped = launch
            .group
            .as_deref()
            .is_some_and(|group| is_member(group, main));
        let grouped = if grouped { "grouped" } else { "ungrouped" };
        let number = outside.number_of(main).unwrap_or_else(|| main.as_raw_pid());
        say(&format!("started {number} {grouped} {}", outside.me));
        Ok(Self {
            from_keeper,
            main: Some(main),
            launch,
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

    /// Sleeps until the pipe or a child's end has something to say, or `wait` is over.
    fn wait(&self, wait: Option<Duration>) -> Control {
        let mut watched = [
            PollFd::new(self.from_keeper, PollFlags::IN),
            PollFd::new(&self.child_ends, PollFlags::IN),
        ];
        let slept = kernel::sleep_on(&mut watched, wait);
        if slept.is_err() || watched[0].revents().is_empty() {
            return Control::Nothing;
        }
        let mut bytes = [0; 256];
        match rustix::io::read(self.from_keeper, &mut bytes) {
            Ok(0) => Control::Ended,
            Ok(length) => parse(&bytes[..length]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Control::Nothing,
            Err(_) => Control::Ended,
        }
    }

    /// Collects every ended child; `true` when no descendant is left at all.
    fn reap(&mut self) -> bool {
        kernel::drain(&self.child_ends);
        reap_all(|pid, status| {
            if self.main == Some(pid) {
                self.main = None;
                let well = status.exit_status() == Some(0);
                let well = if well { "ok" } else { "bad" };
                say(&format!("exited {well} {}", status_text(status)));
                say(&format!("status {}", status.as_raw()));
            }
        })
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
            kill_below(self.launch.group.as_deref(), &self.child_ends);
        }
        remove(self.launch);
    }
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

/// The end of a process, for people.
fn status_text(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

fn spawn(launch: &Launch, root: Option<&Root>) -> io::Result<Pid> {
    let log = io::stderr().as_fd().try_clone_to_owned()?;
    let group = launch.group.as_deref().and_then(|group| {
        std::fs::OpenOptions::new()
            .write(true)
            .open(group.join("cgroup.procs"))
            .ok()
    });
    // Without a limit it would be measured as another server.
    let open = |group: &PathBuf| {
        std::fs::File::options()
            .write(true)
            .open(group.join("cgroup.procs"))
    };
    let limiting = launch.limiting.iter().map(open);
    let limiting: Vec<std::fs::File> = limiting.collect::<io::Result<_>>()?;
    let cpus = processors(&launch.cpus);
    let pinned = !launch.cpus.is_empty();
    let confined = launch.confined;
    let root = root.cloned();
    let user = launch.user.as_ref().map(User::of_launch);
    let guard = rustix::process::getpid();
    let named = Path::new(&launch.command[0]);
    let program = launch.program.as_deref().unwrap_or(named);
    let failed = |cause: io::Error| {
        let name = &launch.command[0];
        io::Error::new(cause.kind(), format!("run `{name}`: {cause}"))
    };
    let way = user.as_ref().map(|user| user.way_to(program));
    let way = way.transpose().map_err(failed)?;
    let mut command = Command::new(way.as_ref().map_or(program, |way| &way.program));
    command.arg0(&launch.command[0]);
    command.args(&launch.command[1..]).stdin(Stdio::null());
    for name in &launch.unset {
        command.env_remove(name);
    }
    // As the first of a process group it can signal the group and hit nobody else.
    command.process_group(0);
    command.stdout(log.try_clone()?).stderr(log);
    let before_exec = move || {
        // A group that cannot be joined costs accuracy, not safety: the guard reports it.
        if let Some(group) = &group {
            let _ = rustix::io::write(group, b"0");
        }
        for group in &limiting {
            rustix::io::write(group, b"0")?;
        }
        kernel::prefer(OomPreference::Kept);
        if pinned {
            rustix::thread::sched_setaffinity(None, &cpus)?;
        }
        if let Some(root) = &root {
            root.enter()?;
        }
        if let Some(user) = &user {
            user.assume()?;
        }
        if let Some(way) = &way {
            way.keep()?;
        }
        if confined {
            // Capabilities of its file would make the program unreadable to its own user, and
            // nobody could see that it listens.
            rustix::thread::set_no_new_privs(true)?;
        }
        // A change of the user takes this back, so it comes after.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(guard) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        kernel::restore_signals()
    };
    // SAFETY: the closure makes system calls only; it neither allocates nor locks.
    unsafe { command.pre_exec(before_exec) };
    let child = command.spawn().map_err(failed)?;
    Ok(Pid::from_child(&child))
}

fn processors(numbers: &[usize]) -> CpuSet {
    let mut cpus = CpuSet::new();
    for &cpu in numbers.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        cpus.set(cpu);
    }
    cpus
}

fn is_member(group: &Path, pid: Pid) -> bool {
    let wanted = pid.to_string();
    std::fs::read_to_string(group.join("cgroup.procs"))
        .is_ok_and(|members| members.lines().any(|member| member == wanted))
}
