//! Programs whose sources come in a Rust crate, by the user's cargo, and are built here.
//!
//! Such a crate often has a version of its own and says in its build metadata which version of
//! the program it carries: `1.28.5+1.28.3`. It is that one which people ask for.

use std::path::Path;

use minijinja::Value;

use super::error::{InstallError, Obstacle, Reason};
use super::workshop::Workshop;
use super::{Choice, Got};
use crate::server::Server;
use crate::source::{CrateSource, Need};
use crate::template;
use crate::variables::Variables;
use crate::version::{accepts, carried};

/// Versions that are looked at, the newest first, for the one that carries what is wanted.
const VERSIONS_LOOKED_AT: usize = 30;

/// A version of the crate.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    /// Its own, with build metadata.
    own: String,
    checksum: String,
}

pub(super) fn get(
    source: &CrateSource,
    server: &Server,
    choice: Choice<'_>,
    workshop: &mut Workshop<'_>,
) -> Result<Got, Obstacle> {
    let folder = workshop.folder("crate")?;
    write(&folder.join("lib.rs"), "")?;
    let package = source.package.as_str();
    let own = match choice {
        Choice::Known(known) => known.version.to_owned(),
        Choice::Unverified(wanted) => choose(package, wanted, &folder, workshop)?.own,
    };
    let here = check_needs(&source.needs, &folder, workshop)?;
    let (chosen, is_verified) = fetch(source, &own, choice, &folder, workshop)?;
    for tool in source.needs.iter().filter_map(|need| need.program.as_ref()) {
        workshop.note_tool(&[tool, "--version"]);
    }
    let sources = folder.join("vendor").join(package).join(&source.folder);
    for command in &source.build {
        let arguments = render(command, server, &here)?;
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if arguments.first().is_some_and(|program| !program.is_empty()) {
            arguments.retain(|argument| !argument.is_empty());
            workshop.run(&arguments, &sources, &[])?;
        }
    }
    let program = sources.join(&source.program);
    if !program.is_file() {
        let message = format!("the build made no {}", source.program);
        return Err(Reason::Unexpected(message).into());
    }
    Ok(Got {
        program,
        meant: carried(&chosen.own).to_owned(),
        package_version: chosen.own,
        package_hash: format!("sha256:{}", chosen.checksum),
        is_verified,
    })
}

/// Has cargo lock the crate and those beside it in one version each, compares the checksums that
/// it locked with the known ones, and has it unpack them. Cargo refuses a file whose checksum is
/// not the locked one. It builds nothing here, and runs nothing of a crate.
fn fetch(
    source: &CrateSource,
    own: &str,
    choice: Choice<'_>,
    folder: &Path,
    workshop: &mut Workshop<'_>,
) -> Result<(Version, bool), Obstacle> {
    let package = source.package.as_str();
    let exactly = |version: &str| format!("={}", number_of(version));
    let beside = source.beside.iter();
    let mut all: Vec<(&str, String)> = beside
        .map(|beside| (beside.package.as_str(), exactly(&beside.version)))
        .collect();
    all.push((package, exactly(own)));
    require(&all, folder)?;
    // What an earlier look at versions locked is not what is wanted now.
    remove_lock(folder);
    workshop.run(&["cargo", "generate-lockfile", "--quiet"], folder, &[])?;
    let lock = folder.join("Cargo.lock");
    let text = std::fs::read_to_string(&lock).map_err(|cause| InstallError::file(&lock, cause))?;
    let locked = |package: &str| {
        let missing = || Reason::Unexpected(format!("cargo locked no {package}"));
        version_in(&text, package).ok_or_else(missing)
    };
    let chosen = locked(package)?;
    let what = format!("{package} {}", chosen.own);
    let is_verified = choice.verify(&what, &format!("sha256:{}", chosen.checksum))?;
    for beside in &source.beside {
        let locked = locked(&beside.package)?;
        let digest = format!("sha256:{}", locked.checksum);
        if digest != beside.digest {
            return Err(Reason::Altered {
                what: format!("{} {}", beside.package, locked.own),
                digest,
                known: beside.digest.clone(),
            }
            .into());
        }
    }
    let vendor = ["cargo", "vendor", "--quiet", "--locked", "vendor"];
    workshop.run(&vendor, folder, &[])?;
    workshop.note_tool(&["cargo", "--version"]);
    Ok((chosen, is_verified))
}

/// The newest version that carries the wanted one; or else the newest that is called so itself.
fn choose(
    package: &str,
    wanted: Option<&str>,
    folder: &Path,
    workshop: &mut Workshop<'_>,
) -> Result<Version, Obstacle> {
    let Some(wanted) = wanted else {
        return newest_of(package, "*", folder, workshop)?.map_err(Into::into);
    };
    let mut seen: Vec<Version> = Vec::new();
    while seen.len() < VERSIONS_LOOKED_AT {
        let mut requirement = branch(wanted);
        if let Some(last) = seen.last() {
            requirement.push_str(&format!(", <{}", number_of(&last.own)));
        }
        match newest_of(package, &requirement, folder, workshop)? {
            Ok(version) if accepts(wanted, carried(&version.own)) => return Ok(version),
            Ok(version) => seen.push(version),
            Err(Reason::NoSuchVersion { there_are, .. }) if seen.is_empty() => {
                return Err(Reason::no_version(wanted, there_are).into());
            }
            Err(reason) if seen.is_empty() => return Err(reason.into()),
            Err(_) => break,
        }
    }
    let called_so = seen.iter().find(|version| accepts(wanted, &version.own));
    let there_are: Vec<&str> = seen.iter().map(|version| version.own.as_str()).collect();
    let none = || Reason::no_version(wanted, there_are.join(", ")).into();
    called_so.cloned().ok_or_else(none)
}

/// The newest version that a requirement accepts; in the inner result, why there is none.
fn newest_of(
    package: &str,
    requirement: &str,
    folder: &Path,
    workshop: &mut Workshop<'_>,
) -> Result<Result<Version, Reason>, Obstacle> {
    require(&[(package, requirement.to_owned())], folder)?;
    let lock = folder.join("Cargo.lock");
    remove_lock(folder);
    let answer = workshop.ask(&["cargo", "generate-lockfile", "--quiet"], folder, &[])?;
    if !answer.is_good {
        return Ok(Err(match candidates_in(&answer.text) {
            Some(there_are) => Reason::no_version(requirement, there_are),
            None => answer.failed(),
        }));
    }
    let text = std::fs::read_to_string(&lock).map_err(|cause| InstallError::file(&lock, cause))?;
    let locked = version_in(&text, package);
    Ok(locked.ok_or_else(|| Reason::Unexpected(format!("cargo locked no {package}"))))
}

/// What a lock file says of an earlier requirement would be kept.
fn remove_lock(folder: &Path) {
    let _ = std::fs::remove_file(folder.join("Cargo.lock"));
}

/// Writes the manifest of a crate that depends on these, each with its requirement.
fn require(crates: &[(&str, String)], folder: &Path) -> Result<(), InstallError> {
    let mut manifest = String::from(
        "[package]\nname = \"bakeoff-install\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
         [lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n",
    );
    for (package, requirement) in crates {
        manifest.push_str(&format!(
            "{package} = {}\n",
            toml::Value::from(requirement.as_str())
        ));
    }
    write(&folder.join("Cargo.toml"), &manifest)
}

/// All versions with the same first two numbers: `1.28.3` may be carried by any 1.28.
fn branch(wanted: &str) -> String {
    let parts: Vec<&str> = wanted.split('.').take(2).collect();
    format!("~{}", parts.join("."))
}

/// The version without its build metadata.
fn number_of(own: &str) -> &str {
    own.split_once('+').map_or(own, |(number, _)| number)
}

fn version_in(lock: &str, package: &str) -> Option<Version> {
    let lock: toml::Table = lock.parse().ok()?;
    let mut packages = lock.get("package")?.as_array()?.iter();
    let locked =
        packages.find(|it| it.get("name").and_then(toml::Value::as_str) == Some(package))?;
    let text = |key: &str| locked.get(key).and_then(toml::Value::as_str);
    Some(Version {
        own: text("version")?.to_owned(),
        checksum: text("checksum").unwrap_or_default().to_owned(),
    })
}

/// From cargo's `candidate versions found which didn't match: 1.28.5+1.28.3, ...`.
fn candidates_in(output: &str) -> Option<String> {
    let (_, rest) = output.split_once("candidate versions found which didn't match:")?;
    rest.lines().next().map(|line| line.trim().to_owned())
}

/// Names of the optional needs that are here. What must be here and is not is an obstacle.
fn check_needs(
    needs: &[Need],
    folder: &Path,
    workshop: &mut Workshop<'_>,
) -> Result<Vec<String>, Obstacle> {
    let (mut here, mut missing) = (Vec::new(), Vec::new());
    for need in needs {
        let is_here = match (&need.header, &need.program) {
            (Some(header), _) => has_header(header, folder, workshop)?,
            (None, Some(program)) => has_program(program),
            (None, None) => true,
        };
        match (is_here, need.optional) {
            (true, true) => here.push(need.name().to_owned()),
            (true, false) | (false, true) => {}
            (false, false) => missing.push(need),
        }
    }
    if missing.is_empty() {
        return Ok(here);
    }
    let mut packages: Vec<&str> = missing.iter().map(|need| need.package.as_str()).collect();
    packages.dedup();
    let names: Vec<&str> = missing.iter().map(|need| need.name()).collect();
    Err(Reason::Needs {
        needs: names.join(", "),
        packages: packages.join(" "),
    }
    .into())
}

/// Whether the compiler finds a header; without a compiler there is none.
fn has_header(header: &str, folder: &Path, workshop: &mut Workshop<'_>) -> Result<bool, Obstacle> {
    let command = [
        "cc",
        "-E",
        "-include",
        header,
        "-x",
        "c",
        "-o",
        "/dev/null",
        "/dev/null",
    ];
    match workshop.ask(&command, folder, &[]) {
        Ok(answer) => Ok(answer.is_good),
        Err(Obstacle::Refusal(Reason::NoTool { .. })) => Ok(false),
        Err(obstacle) => Err(obstacle),
    }
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| crate::program::is_executable(&folder.join(name)))
}

/// A build command. An argument that comes out empty is left out, and with the program all of it.
fn render(command: &[String], server: &Server, here: &[String]) -> Result<Vec<String>, Obstacle> {
    let mut variables = Variables::default();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    variables.set("jobs", jobs);
    variables.set("here", Value::from(here.to_vec()));
    let context = template::Context {
        version: "",
        configuration: "",
        files: server,
    };
    let rendered = command
        .iter()
        .map(|argument| template::render(argument, &variables, &context));
    let arguments: Result<Vec<String>, String> = rendered.collect();
    Ok(arguments.map_err(|cause| Reason::Unexpected(format!("`build`: {cause}")))?)
}

fn write(path: &Path, text: &str) -> Result<(), InstallError> {
    std::fs::write(path, text).map_err(|cause| InstallError::file(path, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_names_the_version_that_it_carries() {
        assert_eq!(carried("1.28.5+1.28.3"), "1.28.3");
        assert_eq!(number_of("1.28.5+1.28.3"), "1.28.5");
        assert_eq!((carried("1.2.3"), number_of("1.2.3")), ("1.2.3", "1.2.3"));
        assert_eq!(
            (branch("1.28.3"), branch("2")),
            ("~1.28".into(), "~2".into())
        );
    }

    #[test]
    fn cargos_output_and_files_are_read() {
        let output = "error: no\ncandidate versions found which didn't match: 1.2.3, 1.2.2\nat";
        assert_eq!(candidates_in(output).as_deref(), Some("1.2.3, 1.2.2"));
        assert_eq!(candidates_in("error: no network"), None);
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n";
        let expected = Version {
            own: "1.0.0".to_owned(),
            checksum: "ff".to_owned(),
        };
        assert_eq!(version_in(lock, "a"), Some(expected));
        assert_eq!(version_in(lock, "b"), None);
        assert_eq!(version_in("[", "a"), None);
    }
}
