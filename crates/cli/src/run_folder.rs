//! The folder for files that live as long as a trial: sockets, caches, served files.
//!
//! It stands among the system's temporary files, where a server that gives up root can still
//! read, and goes with its bakeoff. What a killed bakeoff left is removed by the next one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_stage::{Servers, Stage, StageOptions};

/// Beginning of the folder's name; the number of the process follows.
const PREFIX: &str = "bakeoff-run-";

/// Removed when dropped.
#[derive(Debug)]
pub(crate) struct RunFolder(PathBuf);

impl RunFolder {
    pub(crate) fn make() -> anyhow::Result<Self> {
        let parent = std::env::temp_dir();
        remove_left_over(&parent);
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        let failed = || format!("failed to make the run folder {}", path.display());
        std::fs::create_dir(&path).with_context(failed)?;
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, open).with_context(failed)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// This program, and a stage in this folder whose keepers are it too.
    pub(crate) fn stage(&self, servers: Servers) -> anyhow::Result<(PathBuf, Stage)> {
        let bakeoff = std::env::current_exe().context("failed to find bakeoff's own program")?;
        let stage = Stage::new(StageOptions {
            run_folder: self.0.clone(),
            keeper: vec![bakeoff.display().to_string(), "keeper".to_owned()],
            servers,
        })?;
        Ok((bakeoff, stage))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next bakeoff.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of bakeoffs that are gone.
fn remove_left_over(parent: &Path) {
    let Ok(entries) = parent.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let pid = pid.and_then(|pid| pid.parse::<u32>().ok());
        // In a container numbers repeat: one of this process's own is of a bakeoff before it.
        let is_gone =
            |pid| pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists();
        if pid.is_some_and(is_gone) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
