//! The run folder of this bakeoff, among the system's temporary files, where a server that gives
//! up root can still read.

use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_stage::{Listening, Servers, Stage, StageOptions, leftovers};

use crate::output;

/// Removed when dropped.
#[derive(Debug)]
pub(crate) struct RunFolder(bakeoff_stage::RunFolder);

impl RunFolder {
    pub(crate) fn make() -> anyhow::Result<Self> {
        let parent = std::env::temp_dir();
        crate::paths::must_be_text("the temporary folder (TMPDIR)", &parent)?;
        Self::make_in(&parent).with_context(|| {
            let parent = parent.display();
            format!("failed to make a run folder in {parent}; set TMPDIR to another folder")
        })
    }

    /// The same in another folder.
    pub(crate) fn make_in(parent: &Path) -> std::io::Result<Self> {
        bakeoff_stage::RunFolder::make_in(parent).map(Self)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// This program, and a stage in this folder whose keepers are it too.
    pub(crate) fn stage(&self, servers: Servers) -> anyhow::Result<(PathBuf, Stage)> {
        self.stage_at(servers, Listening::default())
    }

    /// The same with servers that listen elsewhere.
    pub(crate) fn stage_at(
        &self,
        servers: Servers,
        listening: Listening,
    ) -> anyhow::Result<(PathBuf, Stage)> {
        let bakeoff = std::env::current_exe().context("failed to find bakeoff's own program")?;
        let stage = Stage::new(StageOptions {
            run_folder: self.path().to_owned(),
            keeper: vec![bakeoff.display().to_string()],
            servers,
            listening,
        })?;
        Ok((bakeoff, stage))
    }
}

/// Ends and removes what bakeoffs that were killed have left.
pub(crate) fn clean() {
    let ended = leftovers::remove(&std::env::temp_dir());
    if ended > 0 {
        output::note(&format!(
            "ended {ended} processes that a killed bakeoff had left running"
        ));
    }
}
