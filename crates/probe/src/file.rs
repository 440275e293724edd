//! Reads small kernel files again and again into buffers that are kept.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Files of the kernel announce no length; this holds most of them in one read.
const READ_BYTES: usize = 16 * 1024;

/// No file that the probe wants is longer; an endless one must not fill the memory.
const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A file kept open and read from its start each time: the kernel makes its text anew.
#[derive(Debug)]
pub(crate) struct KeptFile(File);

impl KeptFile {
    /// Opens the file.
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// The text as it is now; `None` when it cannot be read (any more).
    pub(crate) fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
        buffer.clear();
        loop {
            let length = buffer.len();
            buffer.resize(length + READ_BYTES, 0);
            let read = self.0.read_at(&mut buffer[length..], length as u64).ok()?;
            buffer.truncate(length + read);
            if read == 0 || buffer.len() > FILE_BYTES_MAX {
                return Some(buffer);
            }
        }
    }
}

/// The text of a file that is opened for this one time.
pub(crate) fn read(path: impl AsRef<Path>, buffer: &mut Vec<u8>) -> Option<&[u8]> {
    buffer.clear();
    let file = File::open(path).ok()?;
    file.take(FILE_BYTES_MAX as u64).read_to_end(buffer).ok()?;
    Some(buffer)
}

/// The first line of a file as text, without what surrounds it.
pub(crate) fn line(path: impl AsRef<Path>) -> Option<String> {
    let mut buffer = Vec::new();
    let text = String::from_utf8_lossy(read(path, &mut buffer)?).into_owned();
    text.lines().next().map(|line| line.trim().to_owned())
}
