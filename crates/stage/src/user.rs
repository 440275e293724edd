//! The user that a server and the commands of its folder run as.
//!
//! If bakeoff runs as root, that is the user who called sudo, else `nobody`, unless the contender
//! or the server's folder names another one. If bakeoff runs as any other user, the server runs as
//! that user too, and this module changes nothing.
//!
//! Keepers and bakeoff itself stay root. The server's user is given what the trial needs. The path
//! to a program may be readable by root only, such as a cache below `/root`.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bakeoff_plan::Contender;
use bakeoff_record::Step;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Gid, Uid};

use crate::error::{Cause, StageError};
use crate::keeper::launch;
use crate::server::{OWN_FOLDER, Server};

/// The user for those who are to have no rights, and its number and group where this machine has
/// no such user.
const NOBODY: (&str, u32) = ("nobody", 65534);
/// Where sudo says who called it.
const SUDO_UID: &str = "SUDO_UID";
/// Bytes of a user's entry, at the most; a directory service may have long ones.
const ENTRY_MAX: usize = 1 << 20;
/// Bytes for which a new log must have room.
const LOG_ROOM: usize = 4096;
/// The folder of a box in that of a trial.
pub(crate) const BOX_FOLDER: &str = "box";
/// Folders in a trial's folder whose files keep their modes: keys, and copies of a user's own.
const KEPT: [&str; 3] = ["tls", OWN_FOLDER, BOX_FOLDER];

const READ: u32 = 0o4;
/// Run a program, or enter a folder.
const EXECUTE: u32 = 0o1;

/// A user other than bakeoff's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl User {
    /// Whom `server` runs as, for this contender; `None` for bakeoff's own user.
    ///
    /// # Errors
    /// When the machine does not know the user that is named.
    pub(crate) fn of(
        server: &Server,
        contender: Option<&Contender>,
    ) -> Result<Option<Self>, StageError> {
        let of_contender = contender.and_then(|it| {
            let key = format!("`user` of contender `{}`", it.name);
            Some((key, it.user.as_deref()?))
        });
        let of_server = || {
            let key = format!("`start.user` in servers/{}/server.toml", server.name);
            Some((key, server.description.start.user.as_deref()?))
        };
        let named = of_contender.or_else(of_server);
        Self::choose(named, std::env::var(SUDO_UID).ok().as_deref())
    }

    /// Whom what has no folder runs as: the built-in servers.
    ///
    /// # Errors
    /// When the machine does not know the user behind sudo.
    pub(crate) fn usual() -> Result<Option<Self>, StageError> {
        Self::choose(None, std::env::var(SUDO_UID).ok().as_deref())
    }

    /// Whom a command of the user's own runs as: whoever is named, or is behind sudo, or bakeoff's
    /// own user. It is not `nobody`'s, because what a shell command needs, such as an interpreter
    /// in root's home, cannot be handed over.
    ///
    /// # Errors
    /// When the machine does not know the user that is named.
    pub(crate) fn of_command(contender: &Contender) -> Result<Option<Self>, StageError> {
        let key = format!("`user` of contender `{}`", contender.name);
        let named = contender.user.as_deref().map(|name| (key, name));
        let sudo_uid = std::env::var(SUDO_UID).ok();
        match (&named, sudo_uid.as_deref()) {
            (None, None | Some("0")) => Ok(None),
            _ => Self::choose(named, sudo_uid.as_deref()),
        }
    }

    /// As a keeper is given it.
    pub(crate) fn to_launch(&self) -> launch::User {
        launch::User {
            uid: self.uid,
            gid: self.gid,
        }
    }

    /// As a keeper has it.
    pub(crate) fn of_launch(user: &launch::User) -> Self {
        Self {
            name: format!("with number {}", user.uid),
            uid: user.uid,
            gid: user.gid,
        }
    }

    fn choose(
        named: Option<(String, &str)>,
        sudo_uid: Option<&str>,
    ) -> Result<Option<Self>, StageError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let user = match (named, sudo_uid) {
            (Some((key, name)), _) => by_name(name).and_then(|it| known(it, &key, name)),
            (None, Some(uid)) if uid != "0" => behind_sudo(uid),
            // Root by itself, or root who called sudo.
            (None, _) => by_name(NOBODY.0).map(|found| found.unwrap_or_else(Self::nobody)),
        };
        let user = user.map_err(|cause| {
            let cause = cause.to_string();
            StageError::new(Step::Prepare, Cause::User { cause })
        })?;
        Ok((user.uid != 0).then_some(user))
    }

    fn nobody() -> Self {
        let (name, number) = NOBODY;
        Self {
            name: name.to_owned(),
            uid: number,
            gid: number,
        }
    }

    /// Makes the calling thread this user, for good: without other groups, and without a way to
    /// more rights, such as `sudo`. For a child between fork and exec, where it makes system
    /// calls only.
    pub(crate) fn assume(&self) -> io::Result<()> {
        rustix::thread::set_thread_groups(&[])?;
        rustix::thread::set_thread_gid(Gid::from_raw(self.gid))?;
        rustix::thread::set_thread_uid(Uid::from_raw(self.uid))?;
        Ok(rustix::thread::set_no_new_privs(true)?)
    }

    /// Whether it can read a file, as far as permission bits show.
    pub(crate) fn can_read(&self, path: &Path) -> bool {
        self.can_come_to(path)
            && path
                .canonicalize()
                .is_ok_and(|real| self.can_come_to(&real) && self.may(&real, READ))
    }

    /// The user of this name; `None` where there is none, and for root.
    pub(crate) fn named(name: &str) -> Option<Self> {
        by_name(name).ok().flatten().filter(|user| user.uid != 0)
    }

    /// What keeps this user from a file or folder at an absolute path, as far as permission bits
    /// show: that it may not read the file, or enter a folder.
    pub(crate) fn kept_out_by(&self, path: &Path) -> Option<Closed> {
        let real = path.canonicalize().ok()?;
        let is_closed = |step: &&Path| {
            let wanted = if step.is_dir() { EXECUTE } else { READ };
            !self.may(step, wanted)
        };
        let closed = steps(path).into_iter().chain(steps(&real)).find(is_closed);
        Closed::at(closed?)
    }

    /// Whether it may enter every folder on the way to an absolute path.
    fn can_come_to(&self, path: &Path) -> bool {
        let mut folders = path.ancestors().skip(1);
        folders.all(|folder| self.may(folder, EXECUTE))
    }

    fn may(&self, path: &Path, wanted: u32) -> bool {
        let Ok(data) = path.metadata() else {
            return false;
        };
        let shift = match (data.uid() == self.uid, data.gid() == self.gid) {
            (true, _) => 6,
            (_, true) => 3,
            _ => 0,
        };
        data.mode() >> shift & wanted == wanted
    }

    /// How it can run `program`.
    ///
    /// # Errors
    /// When it may not, wherever the program were.
    pub(crate) fn way_to(&self, program: &Path) -> io::Result<Way> {
        let plain = || Way {
            program: program.to_owned(),
            kept: None,
        };
        // A bare name is searched for by whoever runs it, and what is not there is reported by
        // whoever tries.
        if !program.is_absolute() || !program.exists() {
            return Ok(plain());
        }
        if !self.may(program, EXECUTE) {
            // What runs itself names its own program so.
            let own = (program == Path::new("/proc/self/exe")).then(|| program.read_link().ok());
            let path = own.flatten().unwrap_or_else(|| program.to_owned());
            let (name, path) = (&self.name, path.display());
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "user {name} may not run {path}: let others run it (chmod o+rx), or set \
                     `user = \"root\"` in the contender"
                ),
            ));
        }
        let real = program.canonicalize().ok();
        let real = real.filter(|real| same_file(real, program));
        // What `/proc` shows of another process is for that process and root.
        let is_magic = program.starts_with("/proc");
        let can_come = |path: &Path| !is_magic && self.can_come_to(path);
        if can_come(program) && real.as_deref().is_some_and(can_come) {
            return Ok(plain());
        }
        // A descriptor of a folder leads past those above it, not past the folder itself. What is
        // run as it is mapped may be replaced in its folder at any time.
        let named = real
            .as_deref()
            .and_then(|it| Some((it.parent()?, it.file_name()?)));
        Way::by_descriptor(
            program,
            named.filter(|(folder, _)| !is_magic && self.may(folder, EXECUTE)),
        )
    }
}

/// A file or folder that a user may not read or enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Closed {
    pub(crate) path: PathBuf,
    /// Who owns it.
    pub(crate) owner: String,
    /// What others lack, as `chmod` takes it.
    pub(crate) missing: &'static str,
}

impl Closed {
    fn at(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        Some(Self {
            path: path.to_owned(),
            owner: user_name(metadata.uid()),
            missing: if metadata.is_dir() { "o+x" } else { "o+r" },
        })
    }
}

/// What keeps bakeoff's own user from a file or folder at an absolute path.
pub(crate) fn keeps_out(path: &Path) -> Option<Closed> {
    let is_closed = |step: &&Path| {
        let wanted = if step.is_dir() {
            Access::EXEC_OK
        } else {
            Access::READ_OK
        };
        rustix::fs::access(*step, wanted) == Err(Errno::ACCESS)
    };
    Closed::at(steps(path).into_iter().find(is_closed)?)
}

/// The root folder and all others on the way to a path, and what is there.
fn steps(path: &Path) -> Vec<&Path> {
    let mut steps: Vec<&Path> = path.ancestors().collect();
    steps.reverse();
    steps
}

fn same_file(one: &Path, other: &Path) -> bool {
    let inode = |path: &Path| path.metadata().map(|data| (data.dev(), data.ino())).ok();
    inode(one).is_some_and(|it| Some(it) == inode(other))
}

/// How a user can run a program: by its path, or by a descriptor that root has opened.
#[derive(Debug)]
pub(crate) struct Way {
    /// What to execute.
    pub(crate) program: PathBuf,
    /// The descriptor, and whether the program needs it too.
    kept: Option<(OwnedFd, bool)>,
}

impl Way {
    /// A descriptor of its folder where that can be, so that the process has the program's name,
    /// or else of the program itself.
    fn by_descriptor(program: &Path, named: Option<(&Path, &OsStr)>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let is_script = is_script(program);
        let (kept, name) = match named {
            Some((folder, name)) => {
                let flags = flags | OFlags::DIRECTORY;
                (rustix::fs::open(folder, flags, Mode::empty())?, Some(name))
            }
            None => (rustix::fs::open(program, flags, Mode::empty())?, None),
        };
        let mut path = PathBuf::from(format!("/proc/self/fd/{}", kept.as_raw_fd()));
        path.extend(name);
        Ok(Self {
            program: path,
            kept: Some((kept, is_script)),
        })
    }

    /// In the child: lets a script's interpreter find the script. Makes a system call only.
    pub(crate) fn keep(&self) -> io::Result<()> {
        match &self.kept {
            Some((descriptor, true)) => Ok(rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?),
            _ => Ok(()),
        }
    }
}

fn is_script(program: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; 2];
    let read = std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"#!"
}

/// Hands a trial's folder and all in it over to the server's user. Where a server runs as root,
/// opens it to those for whom the server may give up root, but for the keys.
///
/// What belongs to the user already is left alone: a server that was started before, at a port
/// that was taken, may have written there.
pub(crate) fn hand_over(folder: &Path, user: Option<&User>) -> Result<(), StageError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    if let Some(user) = user.filter(|user| !user.can_come_to(folder)) {
        let cause = Cause::NoEntry {
            user: user.name.clone(),
            folder: folder.to_owned(),
        };
        return Err(StageError::new(Step::Prepare, cause));
    }
    hand_over_inside(folder, user)
        .and_then(|()| give(folder, user))
        .map_err(|cause| StageError::file(Step::Prepare, folder, cause))
}

fn hand_over_inside(folder: &Path, user: Option<&User>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let data = path.symlink_metadata()?;
        let is_theirs = user.is_some_and(|user| user.uid == data.uid());
        let name = entry_name(&path);
        let is_kept = user.is_none() && KEPT.contains(&name);
        if is_theirs || is_kept {
            continue;
        }
        if data.is_dir() {
            hand_over_inside(&path, user)?;
        }
        // A second name may be that of a file elsewhere.
        if data.is_dir() || data.nlink() == 1 {
            give(&path, user)?;
        }
    }
    Ok(())
}

fn entry_name(path: &Path) -> &str {
    let name = path.file_name().and_then(OsStr::to_str);
    name.unwrap_or_default()
}

/// Hands one file over that was made anew.
pub(crate) fn hand_over_file(path: &Path, user: Option<&User>) -> io::Result<()> {
    match rustix::process::geteuid().is_root() {
        true => give(path, user),
        false => Ok(()),
    }
}

/// Gives one file or folder; a link itself, never what it leads to.
fn give(path: &Path, user: Option<&User>) -> io::Result<()> {
    if let Some(user) = user {
        let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        return Ok(rustix::fs::chownat(CWD, path, Some(uid), Some(gid), flags)?);
    }
    let data = path.symlink_metadata()?;
    let mode = match (data.is_dir(), data.is_file()) {
        (true, _) => 0o755,
        (_, true) => 0o644,
        _ => return Ok(()),
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Makes a server's log, which it may open again by its descriptor, as `/dev/stderr`. A server that
/// has no room to say that it listens would be waited for, so there must be some.
pub(crate) fn make_log(path: &Path, user: Option<&User>) -> Result<(), StageError> {
    let made = match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => bakeoff_record::write_private(path, &[b'\n'; LOG_ROOM])
            .and_then(|()| std::fs::File::options().write(true).open(path)?.set_len(0)),
    };
    let given = made.and_then(|()| match user {
        Some(_) => give(path, user),
        None => Ok(()),
    });
    given.map_err(|cause| StageError::file(Step::Start, path, cause))
}

/// The name of a user, or its number where the machine has no name for it.
pub fn user_name(uid: u32) -> String {
    let found = by_uid(uid).ok().flatten();
    found.map_or_else(|| uid.to_string(), |user| user.name)
}

/// The process at the other end of a unix socket, 0 if it is outside this PID namespace, and its
/// user.
///
/// # Errors
/// When it is no such socket.
pub fn peer(socket: impl AsFd) -> io::Result<(u32, u32)> {
    let mut found = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = libc::socklen_t::try_from(size_of::<libc::ucred>()).unwrap_or_default();
    // SAFETY: the kernel writes at most `length` bytes into `found`, any of which are numbers.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok((found.pid.unsigned_abs(), found.uid))
    } else {
        Err(io::Error::last_os_error())
    }
}

fn known(found: Option<User>, key: &str, said: &str) -> io::Result<User> {
    found.ok_or_else(|| {
        io::Error::other(format!(
            "{key} is `{}`, but this machine has no such user",
            said.escape_debug()
        ))
    })
}

/// The user who called sudo. The group is the one in the user's entry: `SUDO_GID` may be any.
fn behind_sudo(uid: &str) -> io::Result<User> {
    let found = uid.parse().ok().map(by_uid).transpose()?;
    let user = known(found.flatten(), SUDO_UID, uid);
    user.map_err(|cause| {
        io::Error::other(format!(
            "{cause}; unset it to run servers as {}, or name a `user` in the contender",
            NOBODY.0
        ))
    })
}

fn by_name(name: &str) -> io::Result<Option<User>> {
    let Ok(name) = std::ffi::CString::new(name) else {
        return Ok(None);
    };
    look_up(|entry, text, found| {
        // SAFETY: all three live until the call has returned, and the length is that of the text.
        unsafe { libc::getpwnam_r(name.as_ptr(), entry, text.as_mut_ptr(), text.len(), found) }
    })
}

fn by_uid(uid: u32) -> io::Result<Option<User>> {
    look_up(|entry, text, found| {
        // SAFETY: all three live until the call has returned, and the length is that of the text.
        unsafe { libc::getpwuid_r(uid, entry, text.as_mut_ptr(), text.len(), found) }
    })
}

/// An entry of the user database, wherever this machine keeps it.
fn look_up(
    ask: impl Fn(&mut libc::passwd, &mut [libc::c_char], &mut *mut libc::passwd) -> libc::c_int,
) -> io::Result<Option<User>> {
    let mut text = vec![0; 1024];
    loop {
        // SAFETY: its fields are numbers and pointers, which may be 0 and null.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        match ask(&mut entry, &mut text, &mut found) {
            0 if found.is_null() => return Ok(None),
            0 => {
                // SAFETY: a found entry's name is a string that ends within `text`.
                let name = unsafe { CStr::from_ptr(entry.pw_name) };
                return Ok(Some(User {
                    name: name.to_string_lossy().into_owned(),
                    uid: entry.pw_uid,
                    gid: entry.pw_gid,
                }));
            }
            libc::ERANGE if text.len() < ENTRY_MAX => text.resize(text.len() * 4, 0),
            // Some systems say in these ways that there is none.
            libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => return Ok(None),
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

#[cfg(test)]
mod tests;
