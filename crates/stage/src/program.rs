//! A server's program on this machine: where it is, which version, which bytes.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use bakeoff_plan::Protocol;
use bakeoff_record::Step;
use sha2::{Digest as _, Sha256};

use crate::bounded;
use crate::error::{Cause, StageError};
use crate::server::Server;
use crate::template::{self, Variables};

/// A program tells its version in no time; one that does not is not worth waiting for.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where.
    pub path: PathBuf,
    /// As it tells.
    pub version: String,
}

/// Finds the program of `server`: this `binary`, or the first on the search paths that has the
/// wanted version.
///
/// # Errors
/// When there is none, or none of that version, or it does not tell its version.
pub fn find(
    server: &Server,
    version: Option<&str>,
    binary: Option<&Path>,
) -> Result<Program, StageError> {
    let fail = |cause| Err(StageError::new(Step::Prepare, cause));
    let candidates = match binary {
        Some(binary) if is_executable(binary) => vec![binary.to_owned()],
        Some(binary) => {
            let cause = std::io::Error::other("no program that can be run is there");
            return fail(Cause::File {
                path: binary.to_owned(),
                cause,
            });
        }
        None => candidates(server),
    };
    let mut found = Vec::new();
    let mut silent = None;
    for path in candidates {
        match tell_version(server, &path) {
            Ok(told) if version.is_none_or(|wanted| accepts(wanted, &told)) => {
                return Ok(Program {
                    path,
                    version: told,
                });
            }
            Ok(told) => found.push(format!("{told} ({})", path.display())),
            Err(error) => silent = silent.or(Some(error)),
        }
    }
    match (found.is_empty(), silent, version) {
        (false, _, Some(wanted)) => fail(Cause::WrongVersion {
            server: server.title().to_owned(),
            wanted: wanted.to_owned(),
            found: found.join(", "),
        }),
        (_, Some(error), _) => Err(error),
        _ => fail(Cause::NotInstalled {
            server: server.title().to_owned(),
            program: server.description.programs[0].clone(),
            install: server.description.install.join(", or "),
        }),
    }
}

/// Refuses a program that lacks what its folder asks of one that shall speak `protocol`.
///
/// # Errors
/// `Unsupported`, with the folder's reason; or that the program could not be asked.
pub(crate) fn check_speaks(
    server: &Server,
    program: &Program,
    protocol: Protocol,
) -> Result<(), StageError> {
    let requires = server.description.requires.iter();
    for asked in requires.filter(|requires| requires.protocol == protocol) {
        let (_, output) = ask(server, &program.path, &asked.command).map_err(|cause| {
            let cause = std::io::Error::other(cause);
            StageError::file(Step::Prepare, &program.path, cause)
        })?;
        if !asked.pattern.is_match(&output.text) {
            let (path, version) = (program.path.display(), &program.version);
            let reason = format!("{}; this is {version} ({path})", asked.reason);
            return Err(StageError::new(
                Step::Prepare,
                Cause::Unsupported { reason },
            ));
        }
    }
    Ok(())
}

/// Digests that were taken once and need not be taken for every trial.
#[derive(Debug, Default)]
pub(crate) struct Digests(Mutex<HashMap<PathBuf, (SystemTime, u64, String)>>);

impl Digests {
    /// SHA-256 of a program, hex. Read again when its time or length has changed.
    pub(crate) fn of(&self, path: &Path) -> Result<String, StageError> {
        let fail = |cause| StageError::file(Step::Prepare, path, cause);
        let metadata = path.metadata().map_err(fail)?;
        let stamp = (metadata.modified().map_err(fail)?, metadata.len());
        let mut known = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((modified, length, digest)) = known.get(path)
            && (*modified, *length) == stamp
        {
            return Ok(digest.clone());
        }
        let mut hasher = Sha256::new();
        let mut file = std::fs::File::open(path).map_err(fail)?;
        std::io::copy(&mut file, &mut hasher).map_err(fail)?;
        let digest = hex(&hasher.finalize());
        known.insert(path.to_owned(), (stamp.0, stamp.1, digest.clone()));
        Ok(digest)
    }
}

/// SHA-256 of `bytes`, hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `1.22` accepts `1.22.1` and not `1.221`.
fn accepts(wanted: &str, told: &str) -> bool {
    told.strip_prefix(wanted).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['.', '-', '+']) || wanted.is_empty()
    })
}

fn tell_version(server: &Server, binary: &Path) -> Result<String, StageError> {
    let fail = |cause: String| {
        let cause = Cause::NoVersion {
            binary: binary.to_owned(),
            cause,
        };
        StageError::new(Step::Prepare, cause)
    };
    let command = &server.description.version.command;
    let (command, output) = ask(server, binary, command).map_err(&fail)?;
    let pattern = &server.version_pattern;
    let version = pattern
        .captures(&output.text)
        .and_then(|captures| captures.get(1));
    version
        .map(|version| version.as_str().to_owned())
        .ok_or_else(|| {
            fail(format!(
                "`{}` ended with {}",
                command.join(" "),
                output.status
            ))
            .with_words(output.text)
        })
}

/// What `binary` answers to `command`, a template of its folder's; and the command as it was run.
fn ask(
    server: &Server,
    binary: &Path,
    command: &[String],
) -> Result<(Vec<String>, bounded::Output), String> {
    let mut variables = Variables::default();
    variables.set("binary", binary.display().to_string());
    let context = template::Context {
        version: "",
        configuration: "",
        files: server,
    };
    let words = command.iter();
    let command: Result<Vec<String>, String> = words
        .map(|word| template::render(word, &variables, &context))
        .collect();
    let command = command?;
    let output = bounded::run(&command, &[], Path::new("/"), VERSION_LIMIT);
    output
        .map(|output| (command, output))
        .map_err(|cause| cause.to_string())
}

/// Programs in the order of preference: bakeoff's own folders, the search path, the usual folders.
fn candidates(server: &Server) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for own in own_folders() {
        folders.extend([own.clone(), own.join("bin")]);
        folders.extend([own.join(&server.name), own.join(&server.name).join("bin")]);
        let mut versions: Vec<PathBuf> = std::fs::read_dir(own.join(&server.name))
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        versions.sort();
        for version in versions.into_iter().rev() {
            folders.extend([version.clone(), version.join("bin")]);
        }
    }
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    folders.extend(server.description.folders.iter().cloned());
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_absolute()) {
        for path in server
            .description
            .programs
            .iter()
            .map(|program| folder.join(program))
        {
            if is_executable(&path) && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// `BAKEOFF_PROGRAMS`, then the user's cache.
fn own_folders() -> Vec<PathBuf> {
    let named = std::env::var_os("BAKEOFF_PROGRAMS").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|it| it.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache
        .or_else(home)
        .map(|cache| cache.join("bakeoff/programs"));
    named.into_iter().chain(cache).collect()
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_accepted_by_dotted_part() {
        for (wanted, told, expected) in [
            ("1.22", "1.22.1", true),
            ("1.22.1", "1.22.1", true),
            ("1.2", "1.22.1", false),
            ("2", "2.11.7-beta", true),
            ("2.11.7", "2.11.7-beta", true),
        ] {
            assert_eq!(accepts(wanted, told), expected, "{wanted} {told}");
        }
    }
}
