//! What goes along with a configuration of the user's own to another host: the files and folders
//! that it names and that lie in its folder.
//!
//! Whatever else is in the folder stays here, and so do private keys: a trial makes its own.

mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bakeoff_record::{Step, read_regular, read_regular_text};
use serde::{Deserialize, Serialize};

use super::{FILE_BYTES_MAX, OwnFiles, OwnRules};
use crate::error::{Cause, StageError};
use crate::servers::Servers;
use crate::template;

pub use paths::{Leads, with_leads};
use paths::{Named, absolute};

/// Files that go along with one configuration, and their bytes.
const FILES_MAX: usize = 1000;
const BYTES_MAX: u64 = 48 << 20;
/// Entries of folders that are looked at for it.
const ENTRIES_MAX: usize = 50_000;
/// Folders in folders.
const DEPTH_MAX: usize = 20;
/// Extensions of what belongs to the host of a server: what it writes, and parts of its program.
const OF_THE_HOST: [&str; 3] = ["log", "pid", "so"];
/// Extensions of private keys, which may be in other forms than PEM.
const KEYS: [&str; 4] = ["key", "p12", "pfx", "jks"];
/// A folder that no server needs.
const HISTORY: &str = ".git";

/// What goes along with a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// The folder that it comes from, without links in its path.
    pub folder: PathBuf,
    /// The configuration, below that folder.
    pub main: PathBuf,
    /// Files by their paths below the folder, the configuration among them.
    pub files: BTreeMap<PathBuf, AlongFile>,
    /// Absolute paths in the configuration's texts that lead into the folder, and where below it;
    /// relative ones that lead out of it, and where.
    pub leads: Leads,
    /// Files that it takes in and that lie elsewhere, so that they stay here.
    pub elsewhere: BTreeSet<PathBuf>,
    /// Private keys in the folder, which stay here too.
    #[serde(skip)]
    pub keys: BTreeSet<PathBuf>,
    /// Files and folders in the folder that are too large to go along, or whose names are not
    /// UTF-8.
    #[serde(skip)]
    pub left_out: BTreeSet<PathBuf>,
}

/// A file that goes along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlongFile {
    /// What it holds.
    #[serde(with = "bakeoff_record::bytes")]
    pub bytes: Vec<u8>,
    /// Who may read it, as the file system has it.
    pub mode: u32,
    /// Whether it is a text of the configuration, in which paths mean something.
    pub is_text: bool,
}

impl Along {
    /// Adds what goes along with another configuration of the same folder.
    pub fn add(&mut self, other: Self) {
        for (below, file) in other.files {
            let is_text = file.is_text;
            self.files.entry(below).or_insert(file).is_text |= is_text;
        }
        self.folder = other.folder;
        self.leads.extend(other.leads);
        self.elsewhere.extend(other.elsewhere);
        self.keys.extend(other.keys);
        self.left_out.extend(other.left_out);
    }
}

impl Servers {
    /// What goes along with the configuration `path` of the server `name`.
    ///
    /// # Errors
    /// When there is no such server, a file cannot be read, or too much would go along.
    pub fn along(&self, name: &str, path: &Path) -> Result<Along, StageError> {
        let server = self.find(name)?;
        let fail = |cause| StageError::file(Step::Prepare, path, cause);
        let text = read_regular_text(path, FILE_BYTES_MAX).map_err(fail)?;
        let named = std::path::absolute(path).map_err(fail)?;
        let (Some(folder), Some(file)) = (named.parent(), named.file_name()) else {
            return Err(fail(io::Error::other(
                "it is a folder; expected a regular file",
            )));
        };
        let folder = folder.canonicalize().map_err(fail)?;
        let main = folder.join(file);
        // What a template takes in is of the server's folder.
        let own = if template::is_template(&text) {
            None
        } else {
            Some(OwnFiles::read(path, &server.own)?)
        };
        let made = own.as_ref().filter(|own| own.made.is_some());
        // A site's relative paths may begin above its folder.
        let base = own.as_ref().map_or(&folder, |own| &own.base);
        let root = match made {
            Some(own) if folder.starts_with(&own.base) => own.base.clone(),
            _ => folder.clone(),
        };
        let mut collector = Collector {
            rules: &server.own,
            base,
            texts: BTreeSet::new(),
            named: &main,
            bytes_left: BYTES_MAX,
            entries_left: ENTRIES_MAX,
            along: Along {
                main: main.strip_prefix(&root).unwrap_or(&main).to_owned(),
                folder: root,
                ..Along::default()
            },
        };
        match &own {
            None => collector.of_texts(&[(main.as_path(), text.as_str())])?,
            Some(own) => collector.of_texts(&own.files().collect::<Vec<_>>())?,
        }
        if let Some(own) = made {
            collector.of_main_above(own)?;
        }
        Ok(collector.along)
    }
}

/// Gathers what goes along.
struct Collector<'a> {
    rules: &'a OwnRules,
    base: &'a Path,
    /// Texts of the configuration, without links in their paths.
    texts: BTreeSet<PathBuf>,
    /// The configuration, for messages.
    named: &'a Path,
    bytes_left: u64,
    entries_left: usize,
    along: Along,
}

/// More than goes along.
struct TooMuch;

impl Collector<'_> {
    fn of_texts(&mut self, texts: &[(&Path, &str)]) -> Result<(), StageError> {
        let paths = texts.iter().map(|(path, _)| path.to_path_buf());
        let main = self.named.to_owned();
        let real = main.canonicalize().unwrap_or_else(|_| main.clone());
        self.texts = paths.chain([real]).collect();
        self.add(&main)?;
        for (path, text) in texts {
            let in_folder = path.parent().unwrap_or(Path::new("/"));
            for line in text.lines().filter(|line| !self.rules.is_comment(line)) {
                for pattern in self.rules.included(line) {
                    let named = Named::of(pattern, true);
                    self.note_elsewhere(pattern, &named);
                    if self.follow(&named, in_folder)?.is_err() {
                        return Err(self.too_much());
                    }
                }
                for named in paths::named(line) {
                    // What is too large for the way must be there already.
                    let _ = self.follow(&named, in_folder)?;
                }
            }
        }
        Ok(())
    }

    /// The main file that a site was made for, which is above it and takes it in.
    fn of_main_above(&mut self, own: &OwnFiles) -> Result<(), StageError> {
        let site = self.rules.foreign.site.as_ref();
        let above = site.map(|site| own.base.join(site.main_name()));
        match above.filter(|path| path.is_file()) {
            Some(path) => {
                self.texts.insert(path.clone());
                self.add(&path)
            }
            None => Ok(()),
        }
    }

    /// Adds what a text names, if that is in the folder.
    fn follow(
        &mut self,
        named: &Named<'_>,
        in_folder: &Path,
    ) -> Result<Result<(), TooMuch>, StageError> {
        let is_absolute = named.literal.starts_with('/');
        let bases = if is_absolute {
            vec![Path::new("/")]
        } else {
            vec![self.base, in_folder]
        };
        let paths = bases.iter().map(|base| absolute(&base.join(named.literal)));
        for path in paths.collect::<BTreeSet<PathBuf>>() {
            let (Some(below), Ok(found)) = (self.below(&path), path.metadata()) else {
                continue;
            };
            if found.is_dir() && !named.may_be_folder {
                continue;
            }
            let meant = match named.pattern {
                Some(pattern) => matching(&path, pattern),
                None => vec![path.clone()],
            };
            let Ok(files) = self.files_of(&meant) else {
                self.along.left_out.insert(path);
                return Ok(Err(TooMuch));
            };
            for file in files {
                self.add(&file)?;
            }
            let files = &self.along.files;
            let has_come = files.contains_key(&below) || self.along.keys.contains(&path);
            if is_absolute && (found.is_dir() || has_come) {
                self.along.leads.insert(named.literal.to_owned(), below);
            }
        }
        Ok(Ok(()))
    }

    /// The files at these paths and in the folders there, as far as there is room for them.
    fn files_of(&mut self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, TooMuch> {
        let mut files = Vec::new();
        let mut bytes_left = self.bytes_left;
        let mut waiting: Vec<(PathBuf, usize)> =
            paths.iter().map(|path| (path.clone(), 0)).collect();
        while let Some((path, depth)) = waiting.pop() {
            let Ok(found) = path.metadata() else {
                continue;
            };
            if found.is_file() {
                bytes_left = bytes_left.checked_sub(found.len()).ok_or(TooMuch)?;
                files.push(path);
                if self.along.files.len() + files.len() > FILES_MAX {
                    return Err(TooMuch);
                }
            } else if found.is_dir() && path.file_name().is_none_or(|name| name != HISTORY) {
                if depth == DEPTH_MAX {
                    return Err(TooMuch);
                }
                for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
                    self.entries_left = self.entries_left.checked_sub(1).ok_or(TooMuch)?;
                    let inner = entry.path();
                    // Links to folders may go round in circles.
                    if !(inner.is_symlink() && inner.is_dir()) {
                        waiting.push((inner, depth + 1));
                    }
                }
            }
        }
        Ok(files)
    }

    fn add(&mut self, path: &Path) -> Result<(), StageError> {
        let Some(below) = self.below(path) else {
            return Ok(());
        };
        if below.to_str().is_none() {
            self.along.left_out.insert(path.to_owned());
            return Ok(());
        }
        let is_known = self.along.files.contains_key(&below) || self.along.keys.contains(path);
        let has_extension = |of: &[&str]| {
            let extension = path.extension().and_then(|it| it.to_str());
            extension.is_some_and(|it| of.contains(&it))
        };
        let Ok(metadata) = path.metadata() else {
            return Ok(());
        };
        if is_known || has_extension(&OF_THE_HOST) {
            return Ok(());
        }
        if has_extension(&KEYS) {
            self.along.keys.insert(path.to_owned());
            return Ok(());
        }
        let bytes = match read_regular(path, self.bytes_left) {
            Ok(bytes) => bytes,
            // The server could not read it here either, or only as another user.
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            Err(cause) => return Err(StageError::file(Step::Prepare, path, cause)),
        };
        if has_private_key(&bytes) {
            self.along.keys.insert(path.to_owned());
            return Ok(());
        }
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
        let real = path.canonicalize();
        let file = AlongFile {
            bytes,
            mode: metadata.mode() & 0o777,
            is_text: real.is_ok_and(|real| self.texts.contains(&real)),
        };
        self.along.files.insert(below, file);
        Ok(())
    }

    /// Notes what is taken in from elsewhere, and that nothing would stand in for there.
    fn note_elsewhere(&mut self, pattern: &str, named: &Named<'_>) {
        let elsewhere = &self.rules.foreign.elsewhere;
        let [before, after] = elsewhere.paths(pattern, self.base);
        // Of a folder of the server the host has its own.
        let is_of_server = !before.is_empty() || !after.is_empty();
        let is_absolute = named.literal.starts_with('/');
        if is_absolute && is_of_server || elsewhere.stand_in(pattern).is_some() {
            return;
        }
        let path = absolute(&self.base.join(named.literal));
        let found = match named.pattern {
            Some(pattern) => matching(&path, pattern),
            None => vec![path.clone()],
        };
        let found = found.into_iter().filter(|path| path.is_file());
        let found: Vec<PathBuf> = found.filter(|path| self.below(path).is_none()).collect();
        if !found.is_empty() && !is_absolute {
            // It leads there from another folder, too.
            self.along.leads.insert(named.literal.to_owned(), path);
        }
        self.along.elsewhere.extend(found);
    }

    /// Where a path leads below the folder, if it does: as it is written, or behind links.
    fn below(&self, path: &Path) -> Option<PathBuf> {
        let folder = &self.along.folder;
        if let Ok(below) = path.strip_prefix(folder) {
            return Some(below.to_owned());
        }
        let real = path.parent()?.canonicalize().ok()?;
        let real = real.join(path.file_name()?);
        real.strip_prefix(folder).ok().map(Path::to_owned)
    }

    fn too_much(&self) -> StageError {
        let cause = Cause::TooMuchAlong {
            file: self.named.to_owned(),
            folder: self.along.folder.clone(),
        };
        StageError::new(Step::Prepare, cause)
    }
}

/// What a pattern stands for in a folder.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let folder = folder.to_str().map(glob::Pattern::escape);
    let whole = folder.map(|folder| format!("{}/{pattern}", folder.trim_end_matches('/')));
    let found = whole.and_then(|whole| glob::glob(&whole).ok());
    let found = found.into_iter().flatten().flatten();
    found.take(FILES_MAX + 1).collect()
}

/// Whether bytes hold a private key in PEM.
fn has_private_key(bytes: &[u8]) -> bool {
    const END: &[u8] = b"PRIVATE KEY-----";
    const BEGIN: &[u8] = b"-----BEGIN ";
    let is_begin = |line: &[u8]| line.starts_with(BEGIN) && line.trim_ascii_end().ends_with(END);
    bytes.split(|byte| *byte == b'\n').any(is_begin)
}

#[cfg(test)]
mod tests;
