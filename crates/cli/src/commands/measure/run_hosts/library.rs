//! The files of servers that are the user's own, for a host that has none of them.

use std::collections::BTreeSet;
use std::path::Path;

use bakeoff_plan::{Plan, ServerChoice};
use bakeoff_record::{FileBytes, read_regular};

use crate::exit;

/// Files of all servers of a plan, their bytes together, and folders in folders.
const FILES_MAX: usize = 1000;
const BYTES_MAX: u64 = 16 << 20;
const DEPTH_MAX: usize = 8;

/// The files, by their names below the folder of servers, of all servers that the plan's
/// contenders run and that are in `folder`.
pub(super) fn files(
    plan: &Plan,
    folder: Option<&Path>,
) -> anyhow::Result<Vec<(String, FileBytes)>> {
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    let wanted = plan.contenders.iter().filter_map(|it| match &it.server {
        ServerChoice::Program { server, .. } => Some(server.as_str()),
        _ => None,
    });
    let wanted: BTreeSet<&str> = wanted.collect();
    let mut files = Vec::new();
    let mut left = BYTES_MAX;
    let own = wanted.into_iter().map(|name| folder.join(name));
    let mut folders: Vec<_> = own
        .filter(|server| server.join("server.toml").is_file())
        .map(|server| (server, 1))
        .collect();
    while let Some((in_folder, depth)) = folders.pop() {
        let fail = |error: std::io::Error| {
            let path = in_folder.display();
            exit::usage(format!("failed to read {path}: {error}"))
        };
        for entry in std::fs::read_dir(&in_folder).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if path.is_dir() {
                if depth == DEPTH_MAX {
                    return Err(too_much(folder));
                }
                folders.push((path, depth + 1));
                continue;
            }
            let name = path.strip_prefix(folder).ok().and_then(Path::to_str);
            let Some(name) = name.filter(|_| files.len() < FILES_MAX) else {
                return Err(too_much(folder));
            };
            let bytes = read_regular(&path, left).map_err(fail)?;
            left -= bytes.len() as u64;
            files.push((name.to_owned(), FileBytes(bytes)));
        }
    }
    Ok(files)
}

fn too_much(folder: &Path) -> anyhow::Error {
    exit::usage(format!(
        "the servers in {} have more than {FILES_MAX} files, or folders {DEPTH_MAX} deep, or names \
         that are not UTF-8, which cannot be sent to another host",
        folder.display()
    ))
}
