//! A server's program on this machine: where it is, which version, which bytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use bakeoff_plan::Protocol;
use bakeoff_record::{Step, cache_folder, hex};
use sha2::{Digest as _, Sha256};

use crate::bounded::{self, Question};
use crate::error::{Cause, StageError};
use crate::installed::Installed;
use crate::server::Server;
use crate::template;
use crate::user::User;
use crate::variables::Variables;
use crate::version::{accepts, compare};

/// A program reports its version in no time; one that does not is not worth waiting for.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where.
    pub path: PathBuf,
    /// As it reports it; empty if it must not be asked ([`Asks`](crate::Asks)).
    pub version: String,
}

/// A program that was found, and whether it is still what was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where.
    pub path: PathBuf,
    /// As it reports it, or as it did when it was installed; `None` if it must not be asked.
    pub version: Option<String>,
    /// What is wrong with it, if `bakeoff install` got it and it has changed since.
    pub damage: Option<String>,
    /// Whether `bakeoff install` got it from a package whose bytes were not known.
    pub is_unverified: bool,
}

impl From<Program> for Found {
    fn from(program: Program) -> Self {
        let installed = Installed::beside(&program.path);
        Self {
            version: Some(program.version).filter(|version| !version.is_empty()),
            path: program.path,
            damage: None,
            is_unverified: installed.is_some_and(|installed| !installed.verified),
        }
    }
}

/// Finds the program of `server`: this `binary`; or of all that are installed the newest of the
/// wanted version; or without one the first on the search paths.
///
/// # Errors
/// When there is none, or none of that version, or it does not report its version.
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
    let mut newest: Option<Program> = None;
    let mut others = Vec::new();
    let mut silent = None;
    let mut not_asked = None;
    for path in candidates {
        match (program_at(server, path), version) {
            (Ok(program), None) => return Ok(program),
            // It may be the one; only asking it would show.
            (Ok(program), Some(_)) if program.version.is_empty() => {
                not_asked = not_asked.or(Some(program));
            }
            (Ok(program), Some(wanted)) if accepts(wanted, &program.version) => {
                let is_newer = |best: &Program| compare(&best.version, &program.version).is_lt();
                if newest.as_ref().is_none_or(is_newer) {
                    newest = Some(program);
                }
            }
            (Ok(other), Some(_)) => {
                others.push(format!("{} ({})", other.version, other.path.display()));
            }
            (Err(error), _) => silent = silent.or(Some(error)),
        }
    }
    let install = server.ways_to_install(version).join(", or ");
    match (newest.or(not_asked), silent, version) {
        (Some(program), _, _) => Ok(program),
        (None, _, Some(wanted)) if !others.is_empty() => fail(Cause::WrongVersion {
            server: server.title().to_owned(),
            wanted: wanted.to_owned(),
            found: others.join(", "),
            install,
        }),
        (None, Some(error), _) => Err(error),
        (None, None, _) => fail(Cause::NotInstalled {
            server: server.title().to_owned(),
            program: server.description.programs[0].clone(),
            install,
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
    if !server.may_ask {
        return Ok(());
    }
    let requires = server.description.requires.iter();
    for asked in requires.filter(|requires| requires.protocol == Some(protocol)) {
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

/// What bakeoff installed must still be that; what others installed is theirs to watch.
pub(crate) fn refuse_damaged(
    server: &Server,
    program: &Program,
    digests: &Digests,
) -> Result<(), StageError> {
    let damage = match Installed::beside(&program.path) {
        Some(installed) => installed.damage(Ok(digests.of(&program.path)?)),
        None => fault_of(&program.path),
    };
    let Some(damage) = damage else {
        return Ok(());
    };
    let ways = server.ways_to_install(Some(&program.version));
    let cause = Cause::Damaged {
        program: program.path.clone(),
        damage,
        install: ways.into_iter().next().unwrap_or_default(),
    };
    Err(StageError::new(Step::Prepare, cause))
}

/// What is wrong with what bakeoff noted of a program that it installed; `None` of any other.
fn fault_of(path: &Path) -> Option<String> {
    let is_own = own_folders().iter().any(|own| path.starts_with(own));
    is_own.then(|| Installed::fault_beside(path)).flatten()
}

/// The version that the folder of an installed program is called by.
fn version_of_folder(path: &Path) -> Option<String> {
    let folder = path.parent()?.file_name()?;
    Some(folder.to_string_lossy().into_owned())
}

/// Whether the program has the counters that its folder's templates ask for.
pub(crate) fn has_counters(server: &Server, program: &Program) -> bool {
    let requires = server.description.requires.iter();
    requires.filter(|requires| requires.counters).all(|asked| {
        let ask = || ask(server, &program.path, &asked.command);
        server.may_ask && ask().is_ok_and(|(_, output)| asked.pattern.is_match(&output.text))
    })
}

/// Every program of `server` that reports its version, in the order in which they are searched.
pub(crate) fn find_all(server: &Server) -> Vec<Found> {
    let mut real = HashSet::new();
    let candidates = candidates(server).into_iter().filter(|path| {
        // A link to a program that is listed already is no other one.
        path.canonicalize().is_ok_and(|path| real.insert(path))
    });
    candidates
        .filter_map(|path| look_at(server, path))
        .collect()
}

/// Programs that `bakeoff install` put on this shelf, of this version or of a package that is
/// called so, the newest first.
pub(crate) fn installed_in(server: &Server, shelf: &Path, version: Option<&str>) -> Vec<Found> {
    let folders = versions(shelf).into_iter().rev();
    let mut found = Vec::new();
    for folder in folders {
        let path = shelf.join(&folder).join(&server.description.programs[0]);
        let called = match Installed::beside(&path) {
            Some(installed) => [installed.version, installed.package_version],
            None if fault_of(&path).is_some() => [folder.clone(), folder],
            None => continue,
        };
        if version.is_none_or(|wanted| called.iter().any(|called| accepts(wanted, called))) {
            found.extend(look_at(server, path));
        }
    }
    found
}

/// A program with its version, and whether it is what was installed. One that was installed and
/// does not run any more is there as well. What has changed since it was installed is not run.
fn look_at(server: &Server, path: PathBuf) -> Option<Found> {
    let installed = Installed::beside(&path);
    let mut damage = match &installed {
        Some(installed) => installed.damage(sha256_of(&path)),
        None => fault_of(&path),
    };
    let is_asked = server.may_ask && damage.is_none();
    let asked = is_asked.then(|| report_version(server, &path));
    let version = match (asked, &installed) {
        (Some(Ok(version)), _) => Some(version),
        (Some(Err(error)), Some(installed)) => {
            damage = Some(error.to_string());
            Some(installed.version.clone())
        }
        (Some(Err(_)), None) => return None,
        (None, Some(installed)) => Some(installed.version.clone()),
        (None, None) if damage.is_some() => version_of_folder(&path),
        (None, None) => None,
    };
    Some(Found {
        path,
        version,
        damage,
        is_unverified: installed.is_some_and(|installed| !installed.verified),
    })
}

/// A program with the version that was noted when it was installed, or else the one that it
/// reports, or none if it must not be asked.
fn program_at(server: &Server, path: PathBuf) -> Result<Program, StageError> {
    let version = match Installed::beside(&path) {
        Some(installed) => installed.version,
        // It is refused where it would be started, with what is wrong.
        None if fault_of(&path).is_some() => version_of_folder(&path).unwrap_or_default(),
        None if server.may_ask => report_version(server, &path)?,
        None => String::new(),
    };
    Ok(Program { path, version })
}

/// What differs between a changed file and the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    length: u64,
}

impl Stamp {
    fn of(data: &std::fs::Metadata) -> Option<Self> {
        let modified = data.modified().ok()?;
        let length = data.len();
        Some(Self { modified, length })
    }
}

/// What programs said of themselves, by the command that they were asked with. A plan of many
/// workloads asks the same program for each of its trials, and some take a tenth of a second.
static ANSWERS: Mutex<BTreeMap<Vec<String>, (Stamp, bounded::Output)>> =
    Mutex::new(BTreeMap::new());

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
        let digest = sha256_of(path).map_err(fail)?;
        known.insert(path.to_owned(), (stamp.0, stamp.1, digest.clone()));
        Ok(digest)
    }
}

/// SHA-256 of a file, hex.
pub(crate) fn sha256_of(path: &Path) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    std::io::copy(&mut std::fs::File::open(path)?, &mut hasher)?;
    Ok(hex(&hasher.finalize()))
}

/// SHA-256 of `bytes`, hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The version that a program reports.
pub(crate) fn report_version(server: &Server, binary: &Path) -> Result<String, StageError> {
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
            .with_message(output.text)
        })
}

/// What a program says of itself where it is asked for its version; empty if it must not be asked.
pub(crate) fn build(server: &Server, binary: &Path) -> String {
    if !server.may_ask {
        return String::new();
    }
    let answer = ask(server, binary, &server.description.version.command);
    answer.map_or_else(|_| String::new(), |(_, output)| output.text)
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
    let templates = command.iter();
    let command: Result<Vec<String>, String> = templates
        .map(|template| template::render(template, &variables, &context))
        .collect();
    let command = command?;
    let user = User::of(server, None).map_err(|error| error.to_string())?;
    let question = Question {
        environment: &[],
        unset: &[],
        folder: Path::new("/"),
        limit: VERSION_LIMIT,
        user: user.as_ref(),
        room: None,
    };
    let stamp = binary.metadata().ok().and_then(|data| Stamp::of(&data));
    let mut known = ANSWERS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((then, answer)) = known.get(&command)
        && stamp.as_ref() == Some(then)
    {
        return Ok((command, answer.clone()));
    }
    let output = bounded::run(&command, &question).map_err(|cause| cause.to_string())?;
    // What went wrong may go right the next time.
    if let Some(stamp) = stamp.filter(|_| output.status.success()) {
        known.insert(command.clone(), (stamp, output.clone()));
    }
    Ok((command, output))
}

/// Programs in the order of preference: bakeoff's own folders, the search path, the usual folders.
fn candidates(server: &Server) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for own in own_folders() {
        folders.extend([own.clone(), own.join("bin")]);
        folders.extend([own.join(&server.name), own.join(&server.name).join("bin")]);
        for version in versions(&own.join(&server.name)).into_iter().rev() {
            let folder = own.join(&server.name).join(version);
            folders.extend([folder.clone(), folder.join("bin")]);
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

/// Versions that have a folder of their own, the oldest first.
fn versions(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    // What begins with a dot is not installed yet.
    let mut versions: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    versions.sort_by(|one, other| compare(one, other));
    versions
}

/// `BAKEOFF_PROGRAMS`, then the user's cache. What is installed goes to the first of them.
pub(crate) fn own_folders() -> Vec<PathBuf> {
    let programs = std::env::var_os("BAKEOFF_PROGRAMS").map(PathBuf::from);
    folders_of(programs, cache_folder())
}

/// The folders from the value of `BAKEOFF_PROGRAMS` and the cache.
fn folders_of(programs: Option<PathBuf>, cache: Option<PathBuf>) -> Vec<PathBuf> {
    // Commands that install run in other folders.
    let programs = programs.and_then(|programs| std::path::absolute(programs).ok());
    let cache = cache.map(|cache| cache.join("programs"));
    programs.into_iter().chain(cache).collect()
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: [&str; 2], expected: &[&Path]) {
        let [programs, cache] = values.map(|value| (value != "none").then(|| PathBuf::from(value)));
        assert_eq!(folders_of(programs, cache), expected);
    }

    #[test]
    fn own_folders_are_absolute_and_an_empty_one_is_none() {
        let cache = Path::new("/home/me/.cache/bakeoff/programs");
        check(["none", "/home/me/.cache/bakeoff"], &[cache]);
        check(["", "/home/me/.cache/bakeoff"], &[cache]);
        check(["none", "none"], &[]);
        check(
            ["/own", "/home/me/.cache/bakeoff"],
            &[Path::new("/own"), cache],
        );
        let here = std::env::current_dir().unwrap();
        check(["own", "none"], &[&here.join("own")]);
    }
}
