//! Reads a chunked body (RFC 9112, section 7.1) to its end and throws it away.
//!
//! Lines must end in CR LF: a lone LF inside a chunked body is how two parsers come to disagree
//! about where a request ends.

/// Bytes that one size line, or all trailers together, may have.
const LINE_BYTES_MAX: u32 = 8 * 1024;

/// Where in a chunked body the next byte falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunks {
    state: State,
    /// Bytes of the present size line, or of all trailers.
    line: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the digits of a size; `digits` says whether there was one.
    Size { value: u64, digits: bool },
    /// After the size, up to CR.
    Extension { value: u64 },
    /// After the CR of a size line.
    SizeEnd { value: u64 },
    /// In the bytes of a chunk.
    Data { left: u64 },
    /// Before the CR that ends a chunk.
    DataCr,
    /// Before the LF that ends a chunk.
    DataLf,
    /// At the start of a trailer or of the last line.
    TrailerStart,
    /// Inside a trailer.
    Trailer,
    /// After the CR of a trailer.
    TrailerLf,
    /// After the CR of the last line.
    LastLf,
}

/// What became of the bytes given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All bytes were part of the body and it goes on.
    More,
    /// The body ended after this many of the bytes.
    Ended(usize),
    /// The bytes are not a chunked body.
    Malformed,
}

impl Chunks {
    /// At the first byte of a body.
    pub(crate) fn new() -> Self {
        Self {
            state: State::Size {
                value: 0,
                digits: false,
            },
            line: 0,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Progress {
        let mut at = 0;
        while at < bytes.len() {
            if let State::Data { left } = self.state {
                let taken = left.min((bytes.len() - at) as u64);
                at += taken as usize;
                self.state = match left - taken {
                    0 => State::DataCr,
                    left => State::Data { left },
                };
                continue;
            }
            let ended = self.state == State::LastLf;
            match self.next_state(bytes[at]) {
                Some(state) => self.state = state,
                None => return Progress::Malformed,
            }
            at += 1;
            if ended {
                return Progress::Ended(at);
            }
        }
        Progress::More
    }

    /// The state after one byte outside chunk data; `None` where the byte may not stand there.
    fn next_state(&mut self, byte: u8) -> Option<State> {
        self.line += 1;
        if self.line > LINE_BYTES_MAX {
            return None;
        }
        let next = match (self.state, byte) {
            (
                State::Size {
                    value,
                    digits: true,
                },
                b'\r',
            ) => State::SizeEnd { value },
            (
                State::Size {
                    value,
                    digits: true,
                },
                b';' | b' ' | b'\t',
            ) => State::Extension { value },
            (State::Size { value, .. }, _) => {
                let digit = u64::from((byte as char).to_digit(16)?);
                // Shifting alone would drop the top digit in silence.
                let value = value.checked_mul(16)?.checked_add(digit)?;
                State::Size {
                    value,
                    digits: true,
                }
            }
            (State::Extension { value }, b'\r') => State::SizeEnd { value },
            (State::Extension { .. } | State::Trailer, b'\n') => return None,
            (State::Extension { value }, _) => State::Extension { value },
            (State::SizeEnd { value: 0 }, b'\n') => self.at_line_start(State::TrailerStart),
            (State::SizeEnd { value }, b'\n') => self.at_line_start(State::Data { left: value }),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => self.at_line_start(State::Size {
                value: 0,
                digits: false,
            }),
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::TrailerStart, b'\n') => return None,
            (State::TrailerStart, _) => State::Trailer,
            (State::Trailer, b'\r') => State::TrailerLf,
            (State::Trailer, _) => State::Trailer,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::LastLf, b'\n') => State::LastLf,
            _ => return None,
        };
        Some(next)
    }

    fn at_line_start(&mut self, state: State) -> State {
        self.line = 0;
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same result must come of the whole and of every cut.
    fn check(bytes: &[u8], expected: Progress) {
        assert_eq!(
            Chunks::new().take(bytes),
            expected,
            "whole: {:?}",
            bytes.escape_ascii()
        );
        for cut in 0..bytes.len() {
            let mut chunks = Chunks::new();
            let result = match chunks.take(&bytes[..cut]) {
                Progress::More => match chunks.take(&bytes[cut..]) {
                    Progress::Ended(at) => Progress::Ended(cut + at),
                    other => other,
                },
                other => other,
            };
            assert_eq!(result, expected, "cut at {cut}: {:?}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_body_ends_where_it_ends() {
        check(b"0\r\n\r\n", Progress::Ended(5));
        check(b"5\r\nhello\r\n0\r\n\r\nGET", Progress::Ended(15));
        check(
            b"a;x=\"y\"\r\n0123456789\r\n00\r\nTrailer: 1\r\n\r\n",
            Progress::Ended(39),
        );
        check(b"5\r\nhel", Progress::More);
    }

    #[test]
    fn what_is_no_body_is_refused() {
        for bytes in [
            &b"\r\n"[..],
            b"g\r\n",
            b"-1\r\n",
            b"5\nhello",
            b"5\r\nhello!\r\n",
            b"11112222333344445\r\n",
            b"5;x\n",
            b"0\r\n\n",
            b"0\r\nA: b\n",
        ] {
            check(bytes, Progress::Malformed);
        }
    }

    #[test]
    fn lines_have_an_end() {
        let mut endless = b"5;".to_vec();
        endless.resize(LINE_BYTES_MAX as usize + 1, b'x');
        assert_eq!(Chunks::new().take(&endless), Progress::Malformed);
    }
}
