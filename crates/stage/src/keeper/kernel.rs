//! What keepers ask of the kernel: signals, files, names, namespaces. Nothing here decides.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::Pid;
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

/// What the kernel prefers to kill when memory is short: above 0 sooner, below 0 later.
#[derive(Debug, Clone, Copy)]
pub(super) enum OomPreference {
    /// A keeper uses little memory, and its death would leave a server alone.
    Keeper,
    /// A server, or a command with an end.
    Kept,
}

/// Sets it for this process and what it starts from now on. Lowering takes a privilege; without
/// it nothing changes. Makes system calls only.
pub(super) fn prefer(preference: OomPreference) {
    let text: &[u8] = match preference {
        OomPreference::Keeper => b"-900",
        OomPreference::Kept => b"300",
    };
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(c"/proc/self/oom_score_adj", flags, Mode::empty());
    if let Ok(file) = file {
        let _ = rustix::io::write(&file, text);
    }
}

/// The name by which `ps`, `pkill` and `killall` know the process; 15 bytes.
pub(super) fn set_name(name: &CStr) {
    let _ = rustix::thread::set_name(name);
}

pub(super) fn become_subreaper() -> io::Result<()> {
    // Any number but 0 switches it on.
    Ok(rustix::process::set_child_subreaper(Some(Pid::INIT))?)
}

/// Marks every file that the keeper was handed, besides the standard three, to close in children.
pub(super) fn keep_files_from_children() -> io::Result<()> {
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

/// Blocks every signal: none ends a keeper before its children, but the one that cannot be held.
pub(super) fn block_signals() -> io::Result<()> {
    set_mask(libc::sigfillset)
}

/// Gives a child the signals that a program expects, whatever its ancestors blocked or ignored.
pub(super) fn restore_signals() -> io::Result<()> {
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

/// A descriptor that is readable when a child of this process has ended.
pub(super) fn child_end_descriptor() -> io::Result<OwnedFd> {
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

pub(super) fn drain(descriptor: &OwnedFd) {
    let mut bytes = [0; 1024];
    while rustix::io::read(descriptor, &mut bytes[..]).is_ok_and(|length| length > 0) {}
}

pub(super) fn sleep_on(
    watched: &mut [PollFd<'_>],
    wait: Option<Duration>,
) -> rustix::io::Result<usize> {
    let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
    poll(watched, wait.as_ref())
}

/// Which of the two a fork returned to.
pub(super) enum Forked {
    Child,
    Parent(Pid),
}

/// Copies this process, which must have no other thread.
pub(super) fn fork() -> io::Result<Forked> {
    // SAFETY: a keeper has one thread, so no lock is held by another one in the copy.
    let number = unsafe { libc::fork() };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Pid::from_raw(number).map_or(Forked::Child, Forked::Parent))
}

/// The way back from [`enter_namespace`] for later children.
pub(super) struct WayBack(File);

/// Puts the children that this process makes from now on into a PID namespace of their own. The
/// first of them is its init: its death is the death of all.
pub(super) fn enter_namespace() -> io::Result<WayBack> {
    let own = File::open("/proc/self/ns/pid")?;
    // SAFETY: the flag concerns later children only; no memory or descriptor is unshared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWPID) }?;
    Ok(WayBack(own))
}

impl WayBack {
    /// Lets later children be born where this process is.
    pub(super) fn take(&self) -> io::Result<()> {
        let kind = Some(LinkNameSpaceType::ProcessID);
        let own = self.0.as_fd();
        Ok(rustix::thread::move_into_link_name_space(own, kind)?)
    }
}

/// Lets what this process mounts be seen by it and its children alone. What is mounted elsewhere
/// later still arrives here.
pub(super) fn own_mounts() -> io::Result<()> {
    // SAFETY: the process has one thread, and keeps its folder, root and descriptors.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    let follow = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    Ok(mount_change("/", follow)?)
}

/// Shows the processes of this PID namespace at `/proc`, where the mounts are this process's own.
pub(super) fn mount_own_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("proc", "/proc", "proc", flags, None)?)
}
