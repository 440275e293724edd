//! The digest of a program: both sides must run the same one, so that a message means the same.

use std::fmt;
use std::io::{self, Read as _};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use crate::image::Image;

/// Bytes read at once.
const PIECE: usize = 256 << 10;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 hexadecimal digits in lower case.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let is_plain = digits
            .iter()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        if digits.len() != 64 || !is_plain {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Its first 12 digits, enough for a message.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

/// The program of this process as other hosts need it: its digest and its length in bytes. Read
/// once.
///
/// # Errors
/// Its file cannot be read.
pub fn own_program() -> io::Result<(Digest, u64)> {
    static OWN: OnceLock<(Digest, u64)> = OnceLock::new();
    if let Some(own) = OWN.get() {
        return Ok(*own);
    }
    let mut file = Image::own()?;
    let (mut hasher, mut length) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE];
    loop {
        let read = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&piece[..read]);
        length += read as u64;
    }
    let own = (Digest(hasher.finalize().into()), length);
    Ok(*OWN.get_or_init(|| own))
}

/// The program of this process: the one that every host must run.
#[derive(Debug, Clone)]
pub struct Own {
    /// Its digest.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
    /// Where it was found.
    pub path: String,
}

impl Own {
    /// Finds the program of this process.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub fn find() -> io::Result<Self> {
        let (digest, bytes) = own_program()?;
        let path = std::env::current_exe()?.display().to_string();
        Ok(Self {
            digest,
            bytes,
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_they_are_written() {
        let digest = Digest::of(b"");
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), text);
        assert_eq!(Digest::read(text), Some(digest));
        assert_eq!(digest.short(), "e3b0c44298fc");
        for wrong in [
            "",
            "e3",
            &text[1..],
            &text.to_uppercase(),
            &text.replace('e', "+"),
        ] {
            assert_eq!(Digest::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_own_program_has_a_digest() {
        let (digest, length) = own_program().unwrap();
        let mut bytes = Vec::new();
        Image::own().unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!((digest, length), (Digest::of(&bytes), bytes.len() as u64));
    }
}
