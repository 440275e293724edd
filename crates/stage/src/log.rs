//! The end of a server's own output, for messages.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// A message shows the end of a log, not all of it.
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 20;

/// Words of lines in which a server says that something went wrong.
const OF_FAILURE: [&str; 9] = [
    "alert",
    "crit",
    "emerg",
    "error",
    "fail",
    "fatal",
    "panic",
    "refused",
    "timed out",
];

/// Whether a line of a server's output is about a failure, as its words say: which of many lines a
/// message shows, and nothing else, depends on it.
pub fn is_about_failure(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    OF_FAILURE.iter().any(|word| line.contains(word))
}

/// Where a server's output goes.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) file: PathBuf,
    /// Its length before the start.
    pub(crate) from: u64,
}

/// Length of a log now; 0 when there is none.
pub(crate) fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// The last lines written after the first `from` bytes.
pub(crate) fn tail(path: &Path, from: u64) -> String {
    let start = length(path).saturating_sub(TAIL_BYTES).max(from);
    let text = read(path, start);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// At most the next 64 KB after the first `from` bytes.
pub(crate) fn read(path: &Path, from: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let _ = file.seek(SeekFrom::Start(from));
        let _ = file.take(64 * 1024).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_a_failure_is_known_by_its_words() {
        for (line, expected) in [
            ("2026/12/01 [emerg] 7#7: bind() to 0.0.0.0:80 failed", true),
            ("[ALERT] (7) : parsing: unknown keyword", true),
            ("{\"level\":\"fatal\"}", true),
            ("{\"level\":\"info\",\"msg\":\"serving\"}", false),
        ] {
            assert_eq!(is_about_failure(line), expected, "{line}");
        }
    }

    #[test]
    fn the_tail_is_the_last_lines_after_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert_eq!(tail(&path, 0), "");
        let lines: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        assert!(tail(&path, 0).starts_with("line 10\n"));
        assert!(tail(&path, 0).ends_with("\nline 29"));
        let from = length(&path) - 7;
        assert_eq!(tail(&path, from), "line 29");
    }
}
