//! The first line that an agent writes: `bakeoff-agent/2 VERSION SHA256 ARCH`.
//!
//! Login shells, `/etc/motd` and the like may write before it. That banner is skipped, up to a
//! limit, and kept for messages. Knows no pipe and no clock: who reads also gives up in time.

use std::fmt;

use crate::digest::Digest;

/// What a greeting begins with.
const MARK: &[u8] = b"bakeoff-agent/";
/// The protocol that this program speaks.
const PROTOCOL: &str = "2";
/// Most bytes before the end of the greeting.
const BANNER_BYTES_MAX: usize = 64 << 10;

/// Which program answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Its version, such as `0.1.0`.
    pub version: String,
    /// The digest of its file.
    pub digest: Digest,
    /// The processor that it was built for, such as `x86_64`.
    pub arch: String,
}

/// Why there is no greeting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GreetingError {
    /// More came before it than a banner may take.
    #[error("it wrote {BANNER_BYTES_MAX} bytes, and no greeting of `bakeoff agent` among them")]
    TooLong,
    /// The agent speaks another protocol.
    #[error("its agent speaks protocol {0}, and this bakeoff speaks protocol {PROTOCOL}")]
    Protocol(String),
}

impl fmt::Display for Greeting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            version,
            digest,
            arch,
        } = self;
        write!(out, "bakeoff-agent/{PROTOCOL} {version} {digest} {arch}")
    }
}

/// Finds the greeting in bytes as they come.
#[derive(Debug, Default)]
pub struct GreetingReader {
    bytes: Vec<u8>,
    /// Where the line begins that has no end yet.
    line: usize,
}

impl GreetingReader {
    /// Adds bytes that have come, and returns the greeting and the bytes behind it once it is
    /// there.
    ///
    /// # Errors
    /// No greeting can come any more.
    pub fn put(&mut self, bytes: &[u8]) -> Result<Option<(Greeting, Vec<u8>)>, GreetingError> {
        self.bytes.extend_from_slice(bytes);
        while let Some(length) = self.bytes[self.line..].iter().position(|b| *b == b'\n') {
            let end = self.line + length;
            if end >= BANNER_BYTES_MAX {
                return Err(GreetingError::TooLong);
            }
            let found = read(&self.bytes[self.line..end])?;
            if let Some(greeting) = found {
                let rest = self.bytes.split_off(end + 1);
                self.bytes.truncate(self.line);
                return Ok(Some((greeting, rest)));
            }
            self.line = end + 1;
        }
        if self.bytes.len() >= BANNER_BYTES_MAX {
            return Err(GreetingError::TooLong);
        }
        Ok(None)
    }

    /// What came before the greeting, or instead of it.
    pub fn banner(&self) -> String {
        let length = self.bytes.len().min(BANNER_BYTES_MAX);
        String::from_utf8_lossy(&self.bytes[..length])
            .trim()
            .to_owned()
    }
}

/// The greeting in a line; `None` where it is something else.
fn read(line: &[u8]) -> Result<Option<Greeting>, GreetingError> {
    let Some(line) = line.strip_prefix(MARK) else {
        return Ok(None);
    };
    let Ok(line) = std::str::from_utf8(line) else {
        return Ok(None);
    };
    let mut fields = line.split(' ');
    let mut next = || fields.next().unwrap_or_default();
    let (protocol, version, digest, arch) = (next(), next(), next(), next());
    let is_protocol = !protocol.is_empty() && protocol.bytes().all(|b| b.is_ascii_digit());
    if is_protocol && protocol.len() < 8 && protocol != PROTOCOL {
        return Err(GreetingError::Protocol(protocol.to_owned()));
    }
    let is_word = |text: &str| {
        !text.is_empty() && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_graphic())
    };
    let digest = Digest::read(digest);
    let rest = fields.next();
    match digest {
        Some(digest)
            if protocol == PROTOCOL && is_word(version) && is_word(arch) && rest.is_none() =>
        {
            Ok(Some(Greeting {
                version: version.to_owned(),
                digest,
                arch: arch.to_owned(),
            }))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting() -> Greeting {
        Greeting {
            version: "0.1.0".to_owned(),
            digest: Digest::of(b"x"),
            arch: "x86_64".to_owned(),
        }
    }

    #[track_caller]
    fn check(bytes: &[u8], banner: &str, rest: &[u8]) {
        for piece in [1, 7, bytes.len()] {
            let mut reader = GreetingReader::default();
            let mut found = None;
            let mut behind = Vec::new();
            for piece in bytes.chunks(piece) {
                match found {
                    None => found = reader.put(piece).unwrap(),
                    Some(_) => behind.extend_from_slice(piece),
                }
            }
            let (greeting, mut first) = found.expect("a greeting");
            first.extend_from_slice(&behind);
            assert_eq!(greeting, self::greeting());
            assert_eq!((reader.banner().as_str(), &first[..]), (banner, rest));
        }
    }

    #[test]
    fn a_banner_is_skipped_and_kept() {
        let line = format!("{}\n", greeting());
        check(line.as_bytes(), "", b"");
        let text = format!("Welcome!\r\n\nbakeoff-agent/2 is not it\n{line}\x00\x00\n");
        check(
            text.as_bytes(),
            "Welcome!\r\n\nbakeoff-agent/2 is not it",
            b"\x00\x00\n",
        );
    }

    #[test]
    fn another_protocol_is_named() {
        let mut reader = GreetingReader::default();
        let error = reader.put(b"hi\nbakeoff-agent/1 whatever\n").unwrap_err();
        assert_eq!(error, GreetingError::Protocol("1".to_owned()));
    }

    #[test]
    fn a_host_that_writes_without_end_is_given_up() {
        let mut reader = GreetingReader::default();
        let mut put = 0;
        let error = loop {
            put += 1000;
            assert!(put < 2 * BANNER_BYTES_MAX);
            match reader.put(&[b'y'; 1000]) {
                Ok(None) => {}
                Ok(Some(_)) => panic!("no greeting was sent"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, GreetingError::TooLong);
        let late = format!("{}{}\n", "y\n".repeat(BANNER_BYTES_MAX / 2), greeting());
        let found = GreetingReader::default().put(late.as_bytes());
        assert_eq!(found.unwrap_err(), GreetingError::TooLong);
    }
}
