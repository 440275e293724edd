//! Paths that become text: in configurations, on servers' command lines, in records.

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
