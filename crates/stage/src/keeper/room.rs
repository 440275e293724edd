//! The file system of a box: everything of this machine's at its place, read-only, with what was
//! made for the program laid over it. What the program writes stays in memory and goes with it.
//!
//! It is put together in the guard's mount namespace. The program gets a copy of that in which
//! nothing else is left.

use std::ffi::CString;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::kernel;
use super::launch::Room;

/// Folders in what is made for a box: nobody makes more levels.
const DEPTH_MAX: usize = 64;
/// Memory that what is written may take, as a mount option.
const MEMORY: &std::ffi::CStr = c"mode=755,size=256m";

/// The root folder of a box.
#[derive(Debug, Clone)]
pub(super) struct Root {
    path: CString,
    /// Folder that the program starts in, as it sees it.
    folder: CString,
}

/// Puts a file system together, where the mounts are this process's own.
pub(super) fn build(room: &Room) -> io::Result<Root> {
    let memory = room.folder.join("memory");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let made = mount("tmpfs", &memory, "tmpfs", flags, MEMORY);
    made.map_err(|cause| failed("get memory at", &memory, cause.into()))?;
    let root = memory.join("root");
    std::fs::create_dir(&root)?;
    mount_bind(&root, &root)?;
    for entry in std::fs::read_dir("/")? {
        let path = entry?.path();
        show(&path, &root).map_err(|cause| failed("show", &path, cause))?;
    }
    let is_new = |path: &&PathBuf| !path.exists();
    for path in room.over.iter().filter(is_new) {
        std::fs::create_dir(inside(&root, path))?;
    }
    close(&root).map_err(|cause| failed("write-protect", &root, cause))?;
    let shared = root.join("dev/shm");
    if shared.is_dir() {
        mount(
            "tmpfs",
            &shared,
            "tmpfs",
            flags,
            Some(c"mode=1777,size=256m"),
        )?;
    }
    let made = room.folder.join("made");
    for (number, path) in room.over.iter().enumerate() {
        let laid = lay_over(path, number, &memory, &root, &made);
        laid.map_err(|cause| failed("lay memory over", path, cause))?;
    }
    for path in &room.plain {
        let bound = show_plainly(path, &inside(&root, path));
        bound.map_err(|cause| failed("show", path, cause))?;
    }
    for path in &room.instead {
        let bound = mount_bind(inside(&made, path), inside(&root, path));
        bound.map_err(|cause| failed("replace", path, cause.into()))?;
    }
    mount_bind(&room.own, inside(&root, &room.own))
        .map_err(|cause| failed("show", &room.own, cause.into()))?;
    Ok(Root {
        path: text(&root)?,
        folder: text(&std::env::current_dir()?)?,
    })
}

impl Root {
    /// Makes it the calling process's only file system. For a child between fork and exec: makes
    /// system calls only.
    pub(super) fn enter(&self) -> io::Result<()> {
        kernel::own_mounts()?;
        chdir(self.path.as_c_str())?;
        // The old root comes to lie over the new one, and is taken away.
        pivot_root(c".", c".")?;
        unmount(c".", UnmountFlags::DETACH)?;
        Ok(chdir(self.folder.as_c_str())?)
    }
}

/// Shows something of the root folder at its place in another one.
fn show(path: &Path, root: &Path) -> io::Result<()> {
    let to = inside(root, path);
    let kind = path.symlink_metadata()?.file_type();
    if kind.is_symlink() {
        return symlink(path.read_link()?, to);
    }
    if kind.is_dir() {
        std::fs::create_dir(&to)?;
        return Ok(mount_bind_recursive(path, &to)?);
    }
    File::create_new(&to)?;
    Ok(mount_bind(path, &to)?)
}

/// Shows a folder of this machine's where something else lies over it.
fn show_plainly(path: &Path, to: &Path) -> io::Result<()> {
    mount_bind(path, to)?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    Ok(mount_remount(to, flags, "")?)
}

/// Makes all that is mounted there read-only, and its programs unable to give rights.
fn close(root: &Path) -> io::Result<()> {
    let wanted = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let path = text(root)?;
    // SAFETY: the kernel reads the path and the attributes, which live until it returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lays what is made for the folder `path` over what is in it.
fn lay_over(path: &Path, number: usize, memory: &Path, root: &Path, made: &Path) -> io::Result<()> {
    let [upper, work] = ["upper", "work"].map(|name| memory.join(format!("{name}{number}")));
    copy(&inside(made, path), &upper, DEPTH_MAX)?;
    let to = inside(root, path);
    if !path.exists() {
        return Ok(mount_bind(&upper, &to)?);
    }
    std::fs::create_dir(&work)?;
    let mut options = Vec::new();
    for (name, folder) in [("lowerdir", path), ("upperdir", &upper), ("workdir", &work)] {
        let before = if options.is_empty() { "" } else { "," };
        options.extend(format!("{before}{name}=").bytes());
        for &byte in folder.as_os_str().as_bytes() {
            // What separates folders and options.
            options.extend(b"\\:,".contains(&byte).then_some(b'\\'));
            options.push(byte);
        }
    }
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("overlay", &to, "overlay", flags, options.as_c_str())?)
}

/// Copies a folder with all that is in it, for the same owners.
fn copy(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    let data = from.symlink_metadata()?;
    if data.is_dir() && depth > 0 {
        std::fs::create_dir(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()), depth - 1)?;
        }
    } else if data.is_file() {
        std::fs::copy(from, to)?;
    } else {
        return Err(io::Error::other("it is neither a file nor a folder"));
    }
    chown(to, Some(data.uid()), Some(data.gid()))?;
    std::fs::set_permissions(to, Permissions::from_mode(data.mode() & 0o777))
}

/// Where an absolute path is in another root folder.
fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn failed(what: &str, path: &Path, cause: io::Error) -> io::Error {
    let text = format!("make a box: {what} {}: {cause}", path.display());
    io::Error::new(cause.kind(), text)
}
