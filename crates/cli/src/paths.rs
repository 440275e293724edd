//! Paths that flags name: what becomes text in configurations, on servers' command lines and in
//! records, and where nothing can be made.

use std::io::{Error, ErrorKind};
use std::path::Path;

use crate::exit;

/// Refuses a path that is not UTF-8 with exit code 2. `what` names the flag or folder.
pub(crate) fn must_be_text(what: &str, path: &Path) -> anyhow::Result<()> {
    let whole = std::path::absolute(path);
    let whole = whole.as_deref().unwrap_or(path);
    if whole.to_str().is_some() {
        return Ok(());
    }
    Err(exit::usage(format!(
        "{what} {} is not UTF-8, and paths below it are written into configurations and records; \
         choose a path that is",
        whole.display()
    )))
}

/// Refuses a path at which no folder can be made, with exit code 2, and says what is there.
pub(crate) fn must_be_free_or_a_folder(what: &str, path: &Path) -> anyhow::Result<()> {
    let mut ancestors = path.ancestors().filter(|it| !it.as_os_str().is_empty());
    let there = ancestors.find_map(|it| Some((it, it.symlink_metadata().ok()?)));
    let Some((place, data)) = there.filter(|(place, _)| !place.is_dir()) else {
        return Ok(());
    };
    let found = match std::fs::read_link(place) {
        Ok(target) if !place.exists() => {
            format!("a link to {}, which is not there", target.display())
        }
        Ok(target) => format!("a link to {}, which is no folder", target.display()),
        Err(_) if data.is_file() => "a file".to_owned(),
        Err(_) => "no folder".to_owned(),
    };
    let (path, place) = (path.display(), place.display());
    Err(exit::usage(format!(
        "{what} {path}: {place} is {found}; choose another path for the record"
    )))
}

/// The error of a file or folder that cannot be made, with exit code 2 and the `fix` where another
/// path would do. `doing` follows "failed to".
pub(crate) fn not_made(doing: &str, path: &Path, error: &Error, fix: &str) -> anyhow::Error {
    let text = format!("failed to {doing} {}: {error}", path.display());
    match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::AlreadyExists
        | ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory => exit::usage(format!("{text}; {fix}")),
        // Such as a full disk, which is nobody's usage.
        _ => anyhow::anyhow!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_path_would_help_is_said_with_the_flag_for_it() {
        let failed = |kind: ErrorKind| {
            let path = Path::new("results/one");
            let error = not_made(
                "create",
                path,
                &Error::from(kind),
                "choose another with --out",
            );
            (exit::code_of(&error), error.to_string())
        };
        let (code, said) = failed(ErrorKind::PermissionDenied);
        assert_eq!(code, exit::USAGE);
        let expected = "failed to create results/one: permission denied; choose another with --out";
        assert_eq!(said, expected);
        let (code, said) = failed(ErrorKind::StorageFull);
        assert_eq!(code, exit::FAILED);
        assert!(!said.contains("--out"), "{said}");
    }

    #[test]
    fn a_path_where_no_folder_can_be_made_says_what_is_there() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink(home.path(), at("link")).unwrap();
        let check = |path: &Path| must_be_free_or_a_folder("--out", path);
        for free in ["new", "new/er", "link", "link/new", "."] {
            check(&at(free)).unwrap();
        }
        check(Path::new("new")).unwrap();
        for (path, said) in [
            (
                at("dangling"),
                "dangling is a link to nowhere, which is not there",
            ),
            (
                at("dangling/x"),
                "dangling is a link to nowhere, which is not there",
            ),
            (at("file/x"), "file is a file"),
            ("/dev/null/x".into(), "/dev/null is no folder"),
        ] {
            let error = check(&path).unwrap_err();
            assert_eq!(exit::code_of(&error), exit::USAGE);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
