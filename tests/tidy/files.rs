//! The files that the rules are about: those that git tracks, or all of them without git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::mask::mask;

/// Folders whose sources are looked at.
const FOLDERS: [&str; 5] = ["crates/", "tests/", "web/src/", "fuzz/", "perf/"];
/// Folders that hold nothing of the project's own.
const FOREIGN: [&str; 7] = [
    "target",
    "node_modules",
    "dist",
    "corpus",
    "artifacts",
    "results",
    "bakeoff-results",
];

/// A source file.
pub(crate) struct Source {
    /// Path from the root, with slashes.
    pub(crate) path: String,
    /// Text as it stands.
    pub(crate) text: String,
    /// Text with comments and strings blanked, line for line.
    pub(crate) code: String,
}

impl Source {
    /// Whether it is Rust, not TypeScript.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it belongs to a crate's own code.
    pub(crate) fn is_in_crate(&self) -> bool {
        self.path.starts_with("crates/") && self.path.contains("/src/")
    }
}

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every source file.
pub(crate) fn sources() -> Vec<Source> {
    let ours = |path: &String| FOLDERS.iter().any(|folder| path.starts_with(folder));
    let code = |path: &String| path.ends_with(".rs") || path.ends_with(".ts");
    let paths = all().into_iter().filter(|path| ours(path) && code(path));
    let sources: Vec<Source> = paths
        .map(|path| {
            let text = fs::read_to_string(root().join(&path)).expect("a listed file can be read");
            let code = mask(&text, path.ends_with(".rs"));
            Source { path, text, code }
        })
        .collect();
    assert!(
        !sources.is_empty(),
        "no source was found below {:?}",
        root()
    );
    sources
}

/// Paths of all files from the root, in order.
pub(crate) fn all() -> Vec<String> {
    let mut paths = tracked().unwrap_or_else(|| {
        let mut found = Vec::new();
        walk(&root(), "", &mut found);
        found
    });
    paths.retain(|path| root().join(path).is_file());
    paths.sort();
    paths
}

/// What git tracks; `None` where there is no git or no repository.
fn tracked() -> Option<Vec<String>> {
    let mut command = Command::new("git");
    let output = command
        .arg("-C")
        .arg(root())
        .args(["ls-files", "-z"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.path().is_file() {
            found.push(path);
        } else if !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
            walk(&entry.path(), &format!("{path}/"), found);
        }
    }
}
