//! `machine.sum` and `links.sum`: the checksums of `machine.json` and `links.json`, as `sha256sum`
//! writes and checks them, and how a file is written with its own.
//!
//! The page of a comparison holds all of the machine and nearly all of the links, those of searches
//! and overloads a line of the machine.

use std::io;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{FILE_BYTES_MAX, FolderError, MACHINE_FILE, failed, hex};
use crate::private::replace_private;
use crate::regular::read_regular;

/// The checksum of the machine.
pub(super) const MACHINE_SUM_FILE: &str = "machine.sum";

/// Writes `value` into the file `name` of a folder, and its checksum into the file `sum`, each
/// whole or not at all.
pub(super) fn write(
    folder: &Path,
    (name, sum): (&str, &str),
    value: &impl Serialize,
) -> Result<(), FolderError> {
    let file = folder.join(name);
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other);
    let text = text.map_err(failed("write", &file))?;
    let sum_line = line(name, text.as_bytes());
    for (name, text) in [(name, text), (sum, sum_line)] {
        let file = folder.join(name);
        replace_private(&file, text.as_bytes()).map_err(failed("write", &file))?;
    }
    Ok(())
}

/// The line of a checksum's file, for the bytes of the file `name`.
fn line(name: &str, bytes: &[u8]) -> String {
    format!("{}  {name}\n", hex(&Sha256::digest(bytes)))
}

/// Whether `machine.json` is as it was written; `None` where the record has no checksum of it.
///
/// # Errors
/// When a file of the record cannot be read.
pub fn check_machine(path: &Path) -> Result<Option<bool>, FolderError> {
    check(path, MACHINE_FILE, MACHINE_SUM_FILE)
}

pub(super) fn check(path: &Path, name: &str, sum: &str) -> Result<Option<bool>, FolderError> {
    let sum = path.join(sum);
    if let Ok(false) = sum.try_exists() {
        return Ok(None);
    }
    let read = |file: &Path| read_regular(file, FILE_BYTES_MAX).map_err(failed("read", file));
    let bytes = read(&path.join(name))?;
    Ok(Some(read(&sum)? == line(name, &bytes).as_bytes()))
}
