//! Included files that are not at their path: files of a distribution.
//!
//! A published file often comes without the folder that it was written for. bakeoff looks for an
//! included file next to it, then where an installed server has it. Some files have stand-ins in
//! the server's folder, and other known ones are left out. All of it is reported.

use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde::Deserialize;

/// `[[own.foreign.stand-in]]` as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StandInTable {
    /// Paths that it stands in for.
    pattern: String,
    /// The file of the server's folder; left out, nothing is taken in.
    file: Option<String>,
}

/// A file that stands in for those that a pattern names.
#[derive(Debug, Clone)]
pub(crate) struct StandIn {
    pattern: Regex,
    file: Option<String>,
}

/// Where files of a distribution are looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Elsewhere {
    /// Folders of an installed server; the first in which something is found.
    pub(super) folders: Vec<PathBuf>,
    pub(super) stand_ins: Vec<StandIn>,
}

/// What is taken in instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Instead {
    /// What lies at this path.
    Path {
        path: String,
        why: &'static str,
    },
    /// A file of the server's folder.
    StandIn(String),
    Nothing,
}

const BESIDE: &str = "taken from beside the file, as there is none at that path";
const INSTALLED: &str = "taken from the installed server, as there is none beside the file";

impl StandInTable {
    pub(super) fn read(&self) -> Result<StandIn, String> {
        let pattern = Regex::new(&self.pattern);
        let pattern =
            pattern.map_err(|cause| format!("`own.foreign.stand-in` has no pattern: {cause}"))?;
        Ok(StandIn {
            pattern,
            file: self.file.clone(),
        })
    }
}

impl Elsewhere {
    /// Other paths for what `text` names, the best first: those to be tried before `text` itself,
    /// and those after it. Relative paths begin in `base`.
    pub(super) fn paths(&self, text: &str, base: &Path) -> [Vec<Instead>; 2] {
        let absolute = Path::new(text);
        let of_server = self.folders.iter().find_map(|folder| {
            let below = absolute.strip_prefix(folder).ok()?;
            Some((folder, below))
        });
        let below = match of_server {
            Some((_, below)) => below,
            None if absolute.is_relative() => absolute,
            None => return Default::default(),
        };
        let path = |path: PathBuf, why| {
            let path = path.to_str()?.to_owned();
            Some(Instead::Path { path, why })
        };
        // What a configuration takes in that lies there itself is where it says.
        let is_there = |folder: &PathBuf| base.starts_with(folder);
        let before = match of_server {
            Some((folder, _)) if !is_there(folder) => path(base.join(below), BESIDE),
            _ => None,
        };
        let installed = self.folders.iter().map(|folder| folder.join(below));
        let installed = installed.filter(|path| path != absolute);
        let after = installed.filter_map(|it| path(it, INSTALLED));
        [before.into_iter().collect(), after.collect()]
    }

    /// What stands in for `text`, which is nowhere.
    pub(super) fn stand_in(&self, text: &str) -> Option<Instead> {
        let mut stand_ins = self.stand_ins.iter();
        let found = stand_ins.find(|it| it.pattern.is_match(text))?;
        Some(match &found.file {
            Some(file) => Instead::StandIn(file.clone()),
            None => Instead::Nothing,
        })
    }
}

impl Instead {
    pub(super) fn why(&self) -> &'static str {
        match self {
            Self::Path { why, .. } => why,
            Self::StandIn(_) => {
                "bakeoff's stand-in: neither the file's folder nor the server has it"
            }
            Self::Nothing => "left out: neither the file's folder nor the server has it",
        }
    }
}
