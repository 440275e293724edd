//! `machine.sum`: the checksum of `machine.json`, as `sha256sum` writes and checks it.
//!
//! The page of a comparison holds all of the machine, those of searches and overloads a line of it.
//! Records from before there was this file have none.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::{FILE_BYTES_MAX, FolderError, MACHINE_FILE, failed, hex};
use crate::regular::read_regular;

/// The checksum.
pub(super) const MACHINE_SUM_FILE: &str = "machine.sum";

/// The line of the file, for the bytes of `machine.json`.
pub(super) fn line(machine: &[u8]) -> String {
    format!("{}  {MACHINE_FILE}\n", hex(&Sha256::digest(machine)))
}

/// Whether `machine.json` is as it was written; `None` where the record has no checksum of it.
///
/// # Errors
/// When a file of the record cannot be read.
pub fn check_machine(path: &Path) -> Result<Option<bool>, FolderError> {
    let sum = path.join(MACHINE_SUM_FILE);
    if let Ok(false) = sum.try_exists() {
        return Ok(None);
    }
    let read = |file: &Path| read_regular(file, FILE_BYTES_MAX).map_err(failed("read", file));
    let machine = read(&path.join(MACHINE_FILE))?;
    Ok(Some(read(&sum)? == line(&machine).as_bytes()))
}
