//! The chunk machine (RFC 9112, 7.1): sizes, extensions, data, trailers, cut at any byte.

use super::Violation;

/// Longest size line with its extensions, and longest trailer section, in bytes.
const MAX_LINE_BYTES: u32 = 16 * 1024;

/// Where in a chunked body the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunked {
    /// In the digits of a size; `digits` of them read.
    Size { size: u64, digits: u8 },
    /// After the digits: an extension or white space, ignored to the end of the line.
    Extension { size: u64, read: u32 },
    /// After the CR of a size line.
    SizeEnd { size: u64 },
    /// In the data of a chunk.
    Data { left: u64 },
    /// After the data: its CR.
    DataCr,
    /// After the data: its LF.
    DataLf,
    /// In a line of the trailer section; `line` bytes of it read.
    Trailer { line: u32, read: u32 },
    /// After the CR of a trailer line that was `line` bytes long.
    TrailerEnd { line: u32, read: u32 },
    /// The body has ended.
    Done,
}

impl Chunked {
    /// Before the first size.
    pub(super) const START: Self = Self::Size { size: 0, digits: 0 };

    /// Takes what belongs to the body from the front of `input`, hands data to `data`, and
    /// returns how much was taken. All of `input` is taken unless the body ends in it.
    pub(super) fn handle(
        &mut self,
        input: &[u8],
        data: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Violation> {
        let mut at = 0;
        while at < input.len() && *self != Self::Done {
            if let Self::Data { left } = self {
                let take = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(input.len() - at);
                data(&input[at..at + take]);
                at += take;
                *left -= take as u64;
                if *left == 0 {
                    *self = Self::DataCr;
                }
                continue;
            }
            *self = self.after(input[at])?;
            at += 1;
        }
        Ok(at)
    }

    /// The state after one byte that is no data.
    fn after(self, byte: u8) -> Result<Self, Violation> {
        Ok(match (self, byte) {
            (Self::Size { size, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if digits == 16 {
                    return Err(Violation::BadChunk);
                }
                let digit = (byte as char).to_digit(16).map_or(0, u64::from);
                Self::Size {
                    size: size << 4 | digit,
                    digits: digits + 1,
                }
            }
            (Self::Size { digits: 0, .. }, _) => return Err(Violation::BadChunk),
            (Self::Size { size, .. } | Self::Extension { size, .. }, b'\r') => {
                Self::SizeEnd { size }
            }
            (Self::Size { size, .. }, b';' | b' ' | b'\t') => Self::Extension { size, read: 0 },
            (Self::Extension { size, read }, byte) if byte != b'\n' && read < MAX_LINE_BYTES => {
                Self::Extension {
                    size,
                    read: read + 1,
                }
            }
            (Self::SizeEnd { size: 0 }, b'\n') => Self::Trailer { line: 0, read: 0 },
            (Self::SizeEnd { size }, b'\n') => Self::Data { left: size },
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataLf, b'\n') => Self::START,
            (Self::Trailer { line, read }, b'\r') => Self::TrailerEnd { line, read },
            (Self::Trailer { line, read }, byte) if byte != b'\n' && read < MAX_LINE_BYTES => {
                Self::Trailer {
                    line: line + 1,
                    read: read + 1,
                }
            }
            (Self::TrailerEnd { line: 0, .. }, b'\n') => Self::Done,
            (Self::TrailerEnd { read, .. }, b'\n') => Self::Trailer { line: 0, read },
            _ => return Err(Violation::BadChunk),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `input` in pieces of every size and checks data and bytes taken.
    fn check(input: &str, expected: Result<(&str, usize), Violation>) {
        for piece in 1..=input.len() {
            let mut machine = Chunked::START;
            let (mut data, mut taken, mut failed) = (Vec::new(), 0, None);
            for part in input.as_bytes().chunks(piece) {
                match machine.handle(part, &mut |bytes| data.extend_from_slice(bytes)) {
                    Ok(n) => taken += n,
                    Err(violation) => failed = Some(violation),
                }
                if failed.is_some() || machine == Chunked::Done {
                    break;
                }
            }
            match (expected, failed) {
                (Ok((text, bytes)), None) => {
                    assert_eq!(machine, Chunked::Done, "{input:?} in pieces of {piece}");
                    assert_eq!((data.as_slice(), taken), (text.as_bytes(), bytes));
                }
                (Err(wanted), Some(violation)) => assert_eq!(wanted, violation),
                (wanted, got) => panic!("{input:?}: wanted {wanted:?}, got {got:?}"),
            }
        }
    }

    #[test]
    fn chunks_are_read_whatever_the_pieces() {
        check("0\r\n\r\n", Ok(("", 5)));
        check("5\r\nhello\r\n0\r\n\r\n", Ok(("hello", 15)));
        check("5\r\nhello\r\n0\r\n\r\nGARBAGE", Ok(("hello", 15)));
        check(
            "A;x=\"y\"\r\n0123456789\r\n1 \r\n!\r\n000\r\n\r\n",
            Ok(("0123456789!", 35)),
        );
        check(
            "1\r\na\r\n0\r\nExpires: never\r\nA: b\r\n\r\n",
            Ok(("a", 33)),
        );
    }

    #[test]
    fn malformed_chunks_are_violations() {
        for input in [
            "\r\n",
            "x\r\n",
            "5hello",
            "1\r\nab",
            "1\ra",
            "1\r\na\r0",
            "0\r\n\n",
        ] {
            check(input, Err(Violation::BadChunk));
        }
        check("11111111111111111\r\n", Err(Violation::BadChunk));
    }
}
