//! Signs by which a process is known to belong to a keeper: a mark in its environment, the
//! keeper's session, and what it uses of the run folder.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::tree::Process;

/// In the environment of everything below a keeper: the run folder and a number in it.
pub(crate) const MARK: &str = "BAKEOFF_KEPT";

/// The mark of a keeper's processes.
pub(crate) fn mark(folder: &Path, number: u32) -> String {
    format!("{}/{number}", folder.display())
}

/// Whether a process has this mark in the environment that it was started with.
pub(crate) fn bears(process: &Process, mark: &str) -> bool {
    marks(process).any(|it| it == mark.as_bytes())
}

pub(crate) fn marks(process: &Process) -> impl Iterator<Item = Vec<u8>> + use<> {
    let environment = std::fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
    let marks: Vec<Vec<u8>> = environment
        .split(|&byte| byte == 0)
        .filter_map(|entry| {
            let value = entry.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
            Some(value.to_vec())
        })
        .collect();
    marks.into_iter()
}

/// A process of a keeper, which may be gone. It led a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keeper {
    pub(crate) pid: i32,
    pub(crate) started: u64,
}

impl Keeper {
    pub(crate) fn is(&self, process: &Process) -> bool {
        (self.pid, self.started) == (process.pid, process.started)
    }

    /// Whether `process` is in the session that this keeper led, as far as numbers show: nobody
    /// else has the keeper's number now.
    pub(crate) fn led(&self, process: &Process, all: &[Process]) -> bool {
        process.session == self.pid
            && process.started >= self.started
            && !all.iter().any(|it| it.pid == self.pid && !self.is(it))
    }
}

/// Whether a process works in the folder, has a file in it open, or names it on its command line.
pub(crate) fn uses(process: &Process, folder: &Path) -> bool {
    let proc = format!("/proc/{}", process.pid);
    let leads_there = |link: &Path| {
        let target = std::fs::read_link(link);
        target.is_ok_and(|target| target.starts_with(folder))
    };
    let files = std::fs::read_dir(format!("{proc}/fd"));
    let mut files = files.into_iter().flatten().flatten();
    let command = std::fs::read(format!("{proc}/cmdline")).unwrap_or_default();
    let name = folder.as_os_str().as_bytes();
    leads_there(Path::new(&format!("{proc}/cwd")))
        || leads_there(Path::new(&format!("{proc}/exe")))
        || files.any(|file| leads_there(&file.path()))
        || command.windows(name.len()).any(|part| part == name)
}
