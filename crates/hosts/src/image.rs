//! The program of this process as other hosts need it: what is loaded when it starts.
//!
//! Behind that a program holds tables for debuggers, which are often longer than itself. They are
//! not copied, and are in no digest: a program without them does the same.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};

/// The program of this process as it is mapped, wherever its file is now.
const MAPPED: &str = "/proc/self/exe";
/// Length of the header of a 64-bit ELF file.
const HEADER: usize = 64;
/// Length of an entry in its table of segments.
const ENTRY: usize = 56;
/// Entries of that table that are read.
const ENTRIES_MAX: usize = 256;
/// The kind of an entry that is loaded.
const LOADED: u32 = 1;

/// The loaded part of a program, to be read from its start.
#[derive(Debug)]
pub(crate) struct Image {
    file: File,
    header: Vec<u8>,
    length: u64,
    at: u64,
}

impl Image {
    /// That of this process.
    pub(crate) fn own() -> io::Result<Self> {
        Self::of(File::open(MAPPED)?)
    }

    fn of(mut file: File) -> io::Result<Self> {
        let whole = file.metadata()?.len();
        let mut start = Vec::new();
        let tables = (HEADER + ENTRY * ENTRIES_MAX) as u64;
        file.by_ref().take(tables).read_to_end(&mut start)?;
        file.seek(SeekFrom::Start(0))?;
        // What is no such file is copied as it is.
        let length = loaded(&start).filter(|length| *length <= whole);
        let mut header = Vec::new();
        if length.is_some() {
            header = start[..HEADER].to_vec();
            // Where its table of sections is, which lies behind; and how many there are.
            header[40..48].fill(0);
            header[60..64].fill(0);
        }
        Ok(Self {
            file,
            header,
            length: length.unwrap_or(whole),
            at: 0,
        })
    }

    /// Its length, bytes.
    #[cfg(test)]
    fn length(&self) -> u64 {
        self.length
    }
}

impl Read for Image {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length - self.at).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let read = self.file.read(&mut buffer[..wanted])?;
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        if let Some(header) = self.header.get(at..) {
            let part = header.len().min(read);
            buffer[..part].copy_from_slice(&header[..part]);
        }
        self.at += read as u64;
        Ok(read)
    }
}

/// Where the last loaded segment of a program ends, by the start of its file; `None` where this is
/// no 64-bit ELF file of the byte order of today's processors, or its table is elsewhere.
fn loaded(start: &[u8]) -> Option<u64> {
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = start.get(at..at.checked_add(length)?)?;
        let each = bytes.iter().rev();
        Some(each.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    // Its mark, 64 bits, the least byte first.
    if start.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, entry, entries) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let table = usize::try_from(table).ok()?;
    let entries = usize::try_from(entries).ok()?;
    if entry != ENTRY as u64 || entries > ENTRIES_MAX {
        return None;
    }
    let mut end = None;
    for index in 0..entries {
        let at = table.checked_add(index * ENTRY)?;
        if number(at, 4)? == u64::from(LOADED) {
            let segment = number(at + 8, 8)?.checked_add(number(at + 32, 8)?)?;
            end = end.max(Some(segment));
        }
    }
    end.filter(|end| *end >= HEADER as u64)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use super::*;

    fn read(file: File) -> Vec<u8> {
        let mut image = Image::of(file).unwrap();
        let mut bytes = Vec::new();
        // By odd pieces, so that the header falls into several.
        let mut piece = [0; 37];
        while let Ok(read @ 1..) = image.read(&mut piece) {
            bytes.extend_from_slice(&piece[..read]);
        }
        assert_eq!(bytes.len() as u64, image.length());
        bytes
    }

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_program_without_its_tables_runs_and_is_its_own_image() {
        let whole = std::fs::read(MAPPED).unwrap();
        let image = read(File::open(MAPPED).unwrap());
        assert!(image.len() < whole.len(), "this test has tables");
        let again = file(&image);
        assert_eq!(read(again.reopen().unwrap()), image);
        // With something else behind it is the same program.
        let mut longer = image.clone();
        longer.extend_from_slice(b"tables");
        assert_eq!(read(file(&longer).reopen().unwrap()), image);
        let path = again.into_temp_path();
        std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        let listed = Command::new(&path).args(["--list", "image"]).output();
        let listed = listed.unwrap();
        assert!(listed.status.success(), "{listed:?}");
        let listed = String::from_utf8_lossy(&listed.stdout);
        assert!(listed.contains("is_its_own_image"), "{listed}");
    }

    #[test]
    fn what_is_no_such_program_is_copied_as_it_is() {
        let whole = std::fs::read(MAPPED).unwrap();
        let mut many = whole[..4096].to_vec();
        many[56..58].fill(0xff);
        let mut far = whole[..4096].to_vec();
        far[32..40].fill(0xff);
        for bytes in [
            &b""[..],
            b"\x7fELF",
            b"#!/bin/sh\nexit 0\n",
            &whole[..100],
            &many,
            &far,
        ] {
            assert_eq!(read(file(bytes).reopen().unwrap()), bytes);
        }
    }
}
