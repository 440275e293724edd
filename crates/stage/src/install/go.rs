//! Programs that are commands of Go modules, installed with the user's go.
//!
//! The module is downloaded first, which runs nothing of it, and its checksum compared. Its own
//! `go.sum` has the checksums of everything that it is built from, and the build may use nothing
//! else. So one checksum covers every source, whatever the user's checksum database says.

use std::path::Path;

use super::error::{InstallError, Obstacle, Reason};
use super::wheel::only_file;
use super::workshop::Workshop;
use super::{Choice, Got};

/// Name of the module in whose folder the build runs. Nothing is published under it.
const BUILDER: &str = "bakeoff.invalid/install";

/// What `go mod download -json` says of a module.
#[derive(Debug, PartialEq, Eq)]
struct Module {
    version: String,
    /// Of its files.
    sum: String,
    /// Of its `go.mod` alone.
    go_mod_sum: String,
    /// Where its `go.mod` is.
    go_mod: String,
    /// Where its files are.
    folder: String,
}

/// A command of a module.
pub(super) struct Named<'a> {
    pub(super) package: &'a str,
    pub(super) module: &'a str,
    /// Set to the version.
    pub(super) version_variable: Option<&'a str>,
}

pub(super) fn get(
    named: &Named<'_>,
    choice: Choice<'_>,
    workshop: &mut Workshop<'_>,
) -> Result<Got, Obstacle> {
    let module = named.module;
    let folder = workshop.folder("go")?;
    let binaries = workshop.folder("go-bin")?;
    // So that no module around this folder is taken for the one that asks.
    write(&folder.join("go.mod"), &format!("module {BUILDER}\n"))?;
    let downloaded = download(module, choice, &folder, workshop)?;
    let what = format!("{module} {}", downloaded.version);
    let is_verified = choice.verify(&what, &downloaded.sum)?;
    write_builder(module, &downloaded, &folder)?;
    let program = binaries.join("program").display().to_string();
    let mut build = vec!["go", "build", "-mod=readonly", "-buildvcs=false"];
    build.extend(["-o", program.as_str()]);
    let variable = named.version_variable;
    let set = variable.map(|variable| format!("-ldflags=-X={variable}={}", downloaded.version));
    build.extend(set.as_deref());
    build.push(named.package);
    // A workspace around this folder has no say in what is built.
    workshop.run(&build, &folder, &[("GOWORK", Path::new("off"))])?;
    workshop.note_tool(&["go", "version"]);
    Ok(Got {
        program: only_file(&binaries, |_| true)?,
        meant: downloaded.version.trim_start_matches('v').to_owned(),
        package_version: downloaded.version,
        package_hash: downloaded.sum,
        is_verified,
    })
}

/// Downloads and unpacks the module; go compares it with the checksum database where it has one.
fn download(
    module: &str,
    choice: Choice<'_>,
    folder: &Path,
    workshop: &mut Workshop<'_>,
) -> Result<Module, Obstacle> {
    let wanted = match choice {
        Choice::Known(known) => Some(known.version),
        Choice::Unverified(version) => version,
    };
    let query = wanted.map_or("latest".to_owned(), |version| format!("v{version}"));
    let asked = format!("{module}@{query}");
    let command = ["go", "mod", "download", "-json", &asked];
    let environment = [("GOWORK", Path::new("off"))];
    match workshop.run(&command, folder, &environment) {
        Ok(text) => module_in(&text).ok_or_else(|| {
            let message = format!("`{}` did not say what it downloaded", command.join(" "));
            Reason::Unexpected(message).into()
        }),
        Err(Obstacle::Refusal(reason @ Reason::Failed { .. })) => {
            Err(no_such_version(module, wanted, reason, workshop)?.into())
        }
        Err(other) => Err(other),
    }
}

/// Writes the files of a module that needs what the module needs, and the module itself, each
/// with its checksum.
fn write_builder(module: &str, of: &Module, folder: &Path) -> Result<(), Obstacle> {
    let go_sum = Path::new(&of.folder).join("go.sum");
    let needs = read(Path::new(&of.go_mod))?;
    let sums = match std::fs::read_to_string(&go_sum) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
        other => other.map_err(|cause| InstallError::file(&go_sum, cause))?,
    };
    let version = &of.version;
    let rest: Vec<&str> = needs.lines().filter(|line| !names_module(line)).collect();
    let manifest = format!(
        "module {BUILDER}\n\nrequire {module} {version}\n\n{}\n",
        rest.join("\n")
    );
    let own = format!(
        "{module} {version} {}\n{module} {version}/go.mod {}\n",
        of.sum, of.go_mod_sum
    );
    for (name, text) in [("go.mod", manifest), ("go.sum", sums + &own)] {
        write(&folder.join(name), &text)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), InstallError> {
    std::fs::write(path, text).map_err(|cause| InstallError::file(path, cause))
}

fn read(path: &Path) -> Result<String, InstallError> {
    std::fs::read_to_string(path).map_err(|cause| InstallError::file(path, cause))
}

/// Whether a line of a `go.mod` says which module it is of.
fn names_module(line: &str) -> bool {
    line.split_whitespace().next() == Some("module")
}

/// What a failure means: the version is not there, if go lists others.
fn no_such_version(
    module: &str,
    version: Option<&str>,
    reason: Reason,
    workshop: &mut Workshop<'_>,
) -> Result<Reason, Obstacle> {
    let Some(version) = version else {
        return Ok(reason);
    };
    let folder = workshop.folder("go")?;
    let listed = workshop.ask(&["go", "list", "-m", "-versions", module], &folder, &[])?;
    let mut fields = listed.text.split_whitespace();
    if !listed.is_good || fields.next() != Some(module) {
        return Ok(reason);
    }
    let there_are: Vec<&str> = fields.map(|it| it.trim_start_matches('v')).collect();
    let is_there = |it: &&str| crate::version::accepts(version, it);
    // If the version is there, something else went wrong.
    if there_are.iter().any(is_there) || there_are.is_empty() {
        return Ok(reason);
    }
    Ok(Reason::no_version(version, there_are.join(", ")))
}

/// From the lines `"Key": "value",` of `go mod download -json`, among whatever else go says.
fn module_in(text: &str) -> Option<Module> {
    let value = |key: &str| {
        let begin = format!("\"{key}\": \"");
        let line = text.lines().find_map(|it| it.trim().strip_prefix(&begin))?;
        let value = line.trim_end_matches(',').strip_suffix('"')?;
        // Go escapes what a path hardly ever has; such a path could not be opened.
        (!value.contains('\\')).then(|| value.to_owned())
    };
    Some(Module {
        version: value("Version")?,
        sum: value("Sum")?,
        go_mod_sum: value("GoModSum")?,
        go_mod: value("GoMod")?,
        folder: value("Dir")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_downloaded_is_found_among_what_it_says() {
        let text = concat!(
            "go: downloading m/v2 v2.8.4\n{\n\t\"Path\": \"m/v2\",\n\t\"Version\": \"v2.8.4\",\n",
            "\t\"GoMod\": \"/c/v2.8.4.mod\",\n\t\"Dir\": \"/c/m/v2@v2.8.4\",\n",
            "\t\"Sum\": \"h1:abc=\",\n\t\"GoModSum\": \"h1:def=\"\n}\n",
        );
        let expected = Module {
            version: "v2.8.4".to_owned(),
            sum: "h1:abc=".to_owned(),
            go_mod_sum: "h1:def=".to_owned(),
            go_mod: "/c/v2.8.4.mod".to_owned(),
            folder: "/c/m/v2@v2.8.4".to_owned(),
        };
        assert_eq!(module_in(text), Some(expected));
        assert_eq!(module_in("{\n\t\"Version\": \"v1\"\n}"), None);
    }

    #[test]
    fn a_module_is_built_with_the_checksums_that_it_brings() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("m")).unwrap();
        let needs = "module m/v2\n\ngo 1.22\n\nrequire other v1.0.0\n";
        std::fs::write(path("m.mod"), needs).unwrap();
        std::fs::write(path("m/go.sum"), "other v1.0.0 h1:o=\n").unwrap();
        let module = Module {
            version: "v2.8.4".to_owned(),
            sum: "h1:abc=".to_owned(),
            go_mod_sum: "h1:def=".to_owned(),
            go_mod: path("m.mod").display().to_string(),
            folder: path("m").display().to_string(),
        };
        write_builder("m/v2", &module, folder.path()).unwrap();
        let manifest = std::fs::read_to_string(path("go.mod")).unwrap();
        assert!(
            manifest.starts_with("module bakeoff.invalid/install\n"),
            "{manifest}"
        );
        assert!(manifest.contains("\nrequire m/v2 v2.8.4\n"), "{manifest}");
        assert!(manifest.contains("\ngo 1.22\n") && manifest.contains("\nrequire other v1.0.0\n"));
        assert_eq!(manifest.matches("module ").count(), 1, "{manifest}");
        let sums = std::fs::read_to_string(path("go.sum")).unwrap();
        let expected = "other v1.0.0 h1:o=\nm/v2 v2.8.4 h1:abc=\nm/v2 v2.8.4/go.mod h1:def=\n";
        assert_eq!(sums, expected);
    }
}
