//! One writer: the lock on a record.
//!
//! The lock is the kernel's own (flock) on `trials.jsonl`, the file that two writers would spoil,
//! so it is free as soon as its holder is gone, by `kill -9` too, and no file that was left behind
//! or removed changes it. Programs that the holder starts don't inherit it. `writer.json` only
//! notes who holds it, for the message to the second one. Readers don't ask for the lock.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{FolderError, failed};
use crate::private::replace_private;

/// Who writes to the record now, or did when it ended by force.
const WRITER_FILE: &str = "writer.json";
/// Bytes of it that are read; a command line may be long.
const WRITER_BYTES_MAX: u64 = 64 * 1024;
/// How long the second writer waits for the first one's note, which comes just after the lock.
const NOTE_WITHIN: Duration = Duration::from_millis(500);

/// Who holds the lock on a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// Number of its process.
    pub pid: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// When it took the lock, RFC 3339 in UTC.
    pub since: String,
}

/// Holds the lock for as long as the file that it was taken on is open.
#[derive(Debug)]
pub(super) struct Lock {
    note: PathBuf,
}

impl Lock {
    /// Takes the lock of the record `folder` on its `trials` for this process.
    pub(super) fn take(trials: &File, folder: &Path) -> Result<Self, FolderError> {
        let note = folder.join(WRITER_FILE);
        match rustix::fs::flock(trials, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(FolderError::Held {
                    path: folder.to_owned(),
                    writer: read_soon(&note),
                });
            }
            Err(cause) => return Err(failed("lock", folder)(cause.into())),
        }
        let lock = Self { note };
        // The lock holds without the note. A disk that is full or read-only is met again, and
        // reported, where it matters.
        let _ = lock.write_note();
        Ok(lock)
    }

    fn write_note(&self) -> io::Result<()> {
        let now = jiff::Timestamp::now();
        let writer = Writer {
            pid: std::process::id(),
            command: std::env::args_os()
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect(),
            since: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        };
        // Whatever an earlier holder noted no longer holds, even if the disk has no room.
        let _ = fs::remove_file(&self.note);
        replace_private(&self.note, &serde_json::to_vec(&writer)?)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked: the file is closed after this.
        let _ = fs::remove_file(&self.note);
    }
}

/// The note of the process that has just taken the lock, or took it long ago.
fn read_soon(note: &Path) -> Option<Writer> {
    let end = Instant::now() + NOTE_WITHIN;
    loop {
        match read(note) {
            None if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
            found => return found,
        }
    }
}

fn read(note: &Path) -> Option<Writer> {
    let mut text = String::new();
    let file = File::open(note).ok()?;
    file.take(WRITER_BYTES_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

impl Writer {
    /// The writer as a message names it; `None` is one that left no note.
    pub(super) fn describe(writer: Option<&Self>) -> String {
        let Some(writer) = writer else {
            return "by another process".to_owned();
        };
        let command = writer.command.join(" ");
        // What is read from a file may hold anything, and is shown on a terminal.
        let plain = |text: &str| text.escape_debug().to_string();
        format!(
            "by process {}, `{}`, since {}",
            writer.pid,
            plain(&command),
            plain(&writer.since)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_note_holds_never_reaches_a_terminal_raw() {
        let writer = Writer {
            pid: 7,
            command: vec![
                "bakeoff".to_owned(),
                "\u{1b}]52;c;x\u{7}\u{202e}".to_owned(),
            ],
            since: "\r\n".to_owned(),
        };
        let text = Writer::describe(Some(&writer));
        assert!(text.starts_with("by process 7, `bakeoff "), "{text}");
        assert!(
            !text.contains(['\u{1b}', '\u{7}', '\r', '\n', '\u{202e}']),
            "{text}"
        );
    }
}
