//! The folder that a user's own file serves in place of one that is not here.
//!
//! It holds what the workload's requests come to, and nothing else: a page that a request for `/`
//! would find there would keep it from the application that the file sends it to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bakeoff_plan::Workload;
use bakeoff_record::Step;

use crate::configuration::Configuration;
use crate::error::{Cause, StageError};
use crate::files;
use crate::found::nginx::{Routes, Way, unsupported};
use crate::found::{Found, Place, Text};
use crate::own::OwnFiles;
use crate::server::Server;
use crate::trial_folder::{create_folder, write};

/// Requests whose ways are followed, and files that are made.
const FILES_MAX: usize = 10_000;
/// Where a request goes that a server closes its connection on.
const CUT: &str = "to a server that closes the connection without an answer (`return 444`)";
/// What is served where the workload has no file.
const PAGE: &[u8] = b"Hello from a file\n";
/// A script that is only looked for; who would run it answers in its place.
const SCRIPT: &[u8] = b"The built-in upstream answers in place of this script.\n";

/// What requests come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Overlay {
    /// Paths below the folder; `None` for all files of the workload.
    paths: Option<BTreeSet<PathBuf>>,
}

impl Overlay {
    /// What the requests of `workload` come to, asked by the name `host`.
    ///
    /// # Errors
    /// When they go where nobody answers in a trial.
    pub(crate) fn of(
        server: &Server,
        own: &OwnFiles,
        workload: &Workload,
        host: Option<&str>,
    ) -> Result<Self, StageError> {
        if server.name != "nginx" {
            return Ok(Self::default());
        }
        let texts: Vec<Text<'_>> = own
            .files()
            .map(|(path, text)| Text { path, text })
            .collect();
        let found = Found::read(&server.name, &texts);
        if found.listeners.is_empty() {
            return Err(no_site(own));
        }
        let is_secure = workload.protocol.is_secure();
        let requests = workload.requests.iter().take(FILES_MAX);
        let asked = requests.map(|request| request.path.as_str());
        let ways = Routes::of(&texts).ways(host, is_secure, asked);
        if ways.is_empty() {
            return Ok(Self::default());
        }
        if let (true, Some(listener)) = (ways.iter().all(is_cut), found.listeners.first()) {
            return Err(refusal(&listener.place, CUT));
        }
        let mut paths = BTreeSet::new();
        for way in ways {
            match way {
                Way::File(path) => paths.extend(below(&path)),
                Way::Upstream { kind, path, place } => {
                    if let Some(reason) = unsupported(kind) {
                        return Err(refusal(&place, reason));
                    }
                    // What follows a script's name is for the script.
                    if let Some(end) = path.find(".php") {
                        paths.extend(below(&path[..end + 4]));
                    }
                }
                Way::Nowhere | Way::Redirect(_) | Way::Status(_) | Way::Aside => {}
            }
        }
        Ok(Self { paths: Some(paths) })
    }

    /// What requests come to, where that is known.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.paths.iter().flatten().cloned()
    }

    /// Makes the folder `root`.
    pub(crate) fn make(&self, root: &Path, workload: &Workload) -> Result<(), StageError> {
        create_folder(root)?;
        let all = || workload.files.iter().map(|file| PathBuf::from(&file.path));
        let paths = || all().chain(assets(workload)).collect();
        let paths = self.paths.clone().unwrap_or_else(paths);
        for below in paths {
            let mut files = workload.files.iter();
            let is_script = below.extension().is_some_and(|it| it == "php");
            let file = files.find(|file| Path::new(&file.path) == below);
            let file = file.or(workload.files.first());
            let path = files::place(root, &below);
            // Of two paths one may be a folder of the other: the first one is there.
            let Ok(path) = path else { continue };
            if path.is_dir() {
                continue;
            }
            match file {
                _ if is_script => write(&path, SCRIPT)?,
                Some(file) => write(&path, file.content.bytes())?,
                None => write(&path, PAGE)?,
            }
        }
        Ok(())
    }
}

/// Where servers whose ways are not followed may look for the files that are asked: an alias takes
/// the beginning of a path away. What has no extension may be an application's.
fn assets(workload: &Workload) -> impl Iterator<Item = PathBuf> {
    let requests = workload.requests.iter().take(FILES_MAX);
    let paths = requests.filter_map(|request| below(request.path.split('?').next()?));
    let files = paths.filter(|path| path.extension().is_some_and(|it| it != "php"));
    files.flat_map(|path| {
        let parts: Vec<_> = path.components().collect();
        let ends = (0..parts.len()).map(|from| parts[from..].iter().collect());
        ends.collect::<Vec<PathBuf>>()
    })
}

/// The name that a user's own file answers to.
pub(crate) fn name_of_site(
    server: &Server,
    configuration: &Configuration,
    workload: &Workload,
) -> Option<String> {
    let own = configuration.own()?;
    let texts: Vec<Text<'_>> = own
        .files()
        .map(|(path, text)| Text { path, text })
        .collect();
    Found::read(&server.name, &texts)
        .choice(Some(workload.protocol))
        .host
}

/// Whether the connection is closed in place of an answer.
fn is_cut(way: &Way) -> bool {
    matches!(way, Way::Status(444))
}

fn no_site(own: &OwnFiles) -> StageError {
    let problem =
        "it has no `server` block, and takes none in that is here; race the file of a site";
    let cause = std::io::Error::other(problem);
    StageError::file(Step::Prepare, own.named(), cause)
}

/// A path as one below the folder, if it is one.
fn below(path: &str) -> Option<PathBuf> {
    let below = PathBuf::from(path.trim_start_matches('/'));
    files::is_below(&below).then_some(below)
}

fn refusal(place: &Place, reason: &str) -> StageError {
    let reason = format!(
        "{}:{}: the request goes {reason}; ask a path or a site that goes elsewhere",
        place.file.display(),
        place.line
    );
    StageError::new(Step::Prepare, Cause::Unsupported { reason })
}
