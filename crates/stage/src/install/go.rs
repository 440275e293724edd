//! Programs that are commands of Go modules, by the user's go.

use super::Got;
use super::error::{Obstacle, Reason};
use super::wheel::only_file;
use super::workshop::Workshop;

/// Parts of a command's path that may come after its module's.
const FOLDERS_IN_MODULE: usize = 4;

pub(super) fn get(
    package: &str,
    version: Option<&str>,
    workshop: &mut Workshop<'_>,
) -> Result<Got, Obstacle> {
    let folder = workshop.folder("go")?;
    let binaries = workshop.folder("go/bin")?;
    let query = version.map_or("latest".to_owned(), |version| format!("v{version}"));
    let environment = [("GOBIN", binaries.as_path())];
    let got = workshop.run(
        &["go", "install", &format!("{package}@{query}")],
        &folder,
        &environment,
    );
    if let Err(Obstacle::Refusal(reason @ Reason::Failed { .. })) = got {
        return Err(no_such_version(package, version, reason, workshop)?.into());
    }
    got?;
    let program = only_file(&binaries, |_| true)?;
    let path = program.display().to_string();
    let facts = workshop.ask(&["go", "version", "-m", &path], &folder, &[])?;
    workshop.note_tool(&["go", "version"]);
    let (package_version, package_hash) = module_in(&facts.text);
    Ok(Got {
        program,
        meant: package_version.trim_start_matches('v').to_owned(),
        package_version,
        package_hash,
    })
}

/// What a failure means: the version is not there, if go lists others.
fn no_such_version(
    package: &str,
    version: Option<&str>,
    reason: Reason,
    workshop: &mut Workshop<'_>,
) -> Result<Reason, Obstacle> {
    let Some(version) = version else {
        return Ok(reason);
    };
    let folder = workshop.folder("go")?;
    let mut module = package;
    for _ in 0..FOLDERS_IN_MODULE {
        let listed = workshop.ask(&["go", "list", "-m", "-versions", module], &folder, &[])?;
        let mut fields = listed.text.split_whitespace();
        if listed.is_good && fields.next() == Some(module) {
            let there_are: Vec<&str> = fields.map(|it| it.trim_start_matches('v')).collect();
            let is_there = |it: &&str| crate::version::accepts(version, it);
            // The version is there, and something else went wrong.
            if there_are.iter().any(is_there) || there_are.is_empty() {
                return Ok(reason);
            }
            return Ok(Reason::NoSuchVersion {
                wanted: version.to_owned(),
                there_are: there_are.join(", "),
            });
        }
        let Some((shorter, _)) = module.rsplit_once('/') else {
            break;
        };
        module = shorter;
    }
    Ok(reason)
}

/// Version and hash of the program's module, from `go version -m`.
fn module_in(facts: &str) -> (String, String) {
    let lines = facts.lines().map(|line| line.split_whitespace());
    for mut fields in lines {
        if fields.next() == Some("mod") {
            let mut fields = fields.skip(1).map(str::to_owned);
            let version = fields.next().unwrap_or_default();
            return (version, fields.next().unwrap_or_default());
        }
    }
    Default::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_of_a_program_is_found() {
        let facts = "/x/caddy: go1.26\n\tpath\tm/v2/cmd/caddy\n\tmod\tm/v2\tv2.8.4\th1:abc=\n\
                     \tdep\tother\tv1.0.0\th1:def=\n";
        let expected = ("v2.8.4".to_owned(), "h1:abc=".to_owned());
        assert_eq!(module_in(facts), expected);
        assert_eq!(module_in("no module\n"), Default::default());
    }
}
