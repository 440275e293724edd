//! Reads files that somebody else has named: regular ones only, and only up to a size.
//!
//! A path in a plan, a configuration or a record may lead to a fifo, whose reader waits for ever,
//! or to a device, which has no end. Links are followed. What may be named is not decided here.

use std::fs::{File, FileType};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Opens a regular file for reading.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Opening is not harmless for everything: a fifo waits for a writer, a watchdog starts.
    refuse_special(path.metadata()?.file_type())?;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    // Another file may have taken its place since.
    refuse_special(file.metadata()?.file_type())?;
    Ok(file)
}

/// The bytes of a regular file.
///
/// # Errors
/// It cannot be read, is not a regular file, or is longer than `bytes_max`.
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    // One byte more than is allowed shows that there are more; files in /proc have length 0.
    let length = file
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if length as u64 > bytes_max {
        let problem = format!("it is longer than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

/// The text of a regular file.
///
/// # Errors
/// Those of [`read_regular`], and what is not UTF-8.
pub fn read_regular_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text_of(read_regular(path, bytes_max)?)
}

/// How bytes begin that are no text, and what they are.
const KINDS: [(&[u8], &str); 12] = [
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a picture in PNG"),
    (b"\xff\xd8\xff", "a picture in JPEG"),
    (b"GIF8", "a picture in GIF"),
    (
        b"PK\x03\x04",
        "a zip archive, as the files of Excel, Word and LibreOffice are",
    ),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"(\xb5/\xfd", "compressed with zstd"),
    (b"\xfd7zXZ", "compressed with xz"),
    (b"BZh", "compressed with bzip2"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "a database of SQLite"),
    (b"\xd0\xcf\x11\xe0", "a file of an old Excel or Word"),
];

/// What bytes are that are no text, where their beginning says it: `a PDF`.
pub fn kind_of_bytes(bytes: &[u8]) -> Option<&'static str> {
    let mut kinds = KINDS.iter();
    let found = kinds.find(|(begins, _)| bytes.starts_with(begins));
    found.map(|(_, kind)| *kind)
}

/// Bytes as text.
///
/// # Errors
/// What is not UTF-8, with its line.
pub fn text_of(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let line = line_of(&error);
        let bytes = error.as_bytes();
        let is_wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let problem = match kind_of_bytes(bytes) {
            Some(kind) => format!("it is {kind}; expected text"),
            None if is_wide => {
                "it is text in UTF-16; `iconv -f utf-16 -t utf-8` converts it".to_owned()
            }
            None if bytes.contains(&0) => format!("it is no text: see line {line}; expected text"),
            None => format!(
                "it is not text in UTF-8: see line {line}; `iconv -f latin1 -t utf-8` converts \
                 Latin-1"
            ),
        };
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })
}

/// The line of the first byte that is not UTF-8, from 1.
pub(crate) fn line_of(error: &std::string::FromUtf8Error) -> usize {
    let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Looks for a link at a path, and for links in it if it is a folder: something could be written
/// through them that lies elsewhere.
///
/// # Errors
/// The first link, or what cannot be looked into.
pub(crate) fn refuse_links(path: &Path) -> Result<(), (PathBuf, io::Error)> {
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let fail = |cause| (path.clone(), cause);
        let kind = match path.symlink_metadata() {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata.map_err(fail)?.file_type(),
        };
        if kind.is_symlink() {
            let problem = "it is a link, and a record has none; put what it leads to in its place";
            return Err(fail(io::Error::other(problem)));
        }
        if kind.is_dir() {
            for entry in path.read_dir().map_err(fail)? {
                waiting.push(entry.map_err(fail)?.path());
            }
        }
    }
    Ok(())
}

fn refuse_special(kind: FileType) -> io::Result<()> {
    let name = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a fifo",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    };
    let problem = format!("it is {name}; expected a regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_length_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "four").unwrap();
        symlink(at("file"), at("link")).unwrap();
        std::fs::write(at("noise"), b"a\nb\xff").unwrap();
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), kind, mode, 0).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read_regular_text(&at("file"), 4).unwrap(), "four");
        assert_eq!(read_regular_text(&at("link"), 4).unwrap(), "four");
        for (path, bytes_max, problem) in [
            (at("file"), 3, "it is longer than 3 bytes"),
            (
                at("noise"),
                9,
                "it is not text in UTF-8: see line 2; `iconv -f latin1 -t utf-8` converts Latin-1",
            ),
            (at("fifo"), 9, "it is a fifo; expected a regular file"),
            (at("socket"), 9, "it is a socket; expected a regular file"),
            (at("."), 9, "it is a folder; expected a regular file"),
            (
                "/dev/zero".into(),
                9,
                "it is a device; expected a regular file",
            ),
        ] {
            let error = read_regular_text(&path, bytes_max).unwrap_err();
            assert_eq!(error.to_string(), problem, "{}", path.display());
        }
        for (bytes, problem) in [
            (b"%PDF-1.4\n\xe2".to_vec(), "it is a PDF; expected text"),
            (
                b"\x1f\x8b\x08".to_vec(),
                "it is compressed with gzip; expected text",
            ),
            (
                b"\xff\xfea\0".to_vec(),
                "it is text in UTF-16; `iconv -f utf-16 -t utf-8` converts it",
            ),
            (
                b"a\n\0\xff".to_vec(),
                "it is no text: see line 2; expected text",
            ),
        ] {
            assert_eq!(text_of(bytes).unwrap_err().to_string(), problem);
        }
        let missing = read_regular(&at("none"), 9).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
