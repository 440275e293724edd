//! The front of a head whose end has not come yet.
//!
//! A head cut into single bytes must not be parsed once for each of them. So each byte is looked
//! at once for the end of the head, and a parse is due when the end is there. To find out early
//! that a head is broken it is due now and then before: always near the start, where what speaks
//! another protocol shows, and then each time that the length has doubled.

use super::MAX_HEAD_BYTES;

/// Up to this length every piece is parsed: longer than any good status line needs to be recognised
/// from a bad one.
const EAGER_BYTES: usize = 64;

/// The front of a head.
#[derive(Debug, Default)]
pub(super) struct PartialHead {
    bytes: Vec<u8>,
    /// Whether anything but line breaks has come: empty lines before the status line end nothing.
    begun: bool,
    /// Whether nothing has come in the current line, but for a CR.
    line_is_empty: bool,
    /// Length from which on a parse is due.
    parse_from: usize,
}

impl PartialHead {
    /// What has come, as far as a head may be long.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds what came, and says whether a parse is due. It always is when a head ends in `part`.
    pub(super) fn add(&mut self, part: &[u8]) -> bool {
        let room = MAX_HEAD_BYTES.saturating_sub(self.bytes.len());
        let part = part.get(..room).unwrap_or(part);
        self.bytes.extend_from_slice(part);
        let has_end = self.scan(part);
        let length = self.bytes.len();
        let is_due = has_end || length >= self.parse_from || length >= MAX_HEAD_BYTES;
        if is_due {
            self.parse_from = if length < EAGER_BYTES {
                length + 1
            } else {
                length * 2
            };
        }
        is_due
    }

    /// Whether an empty line behind others ends in `part`; lines end in LF, with or without CR.
    fn scan(&mut self, part: &[u8]) -> bool {
        let mut has_end = false;
        for byte in part {
            match byte {
                b'\n' => {
                    has_end |= self.begun && self.line_is_empty;
                    self.line_is_empty = true;
                }
                b'\r' => {}
                _ => (self.begun, self.line_is_empty) = (true, false),
            }
        }
        has_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths at which a parse was due, of `head` fed byte by byte.
    fn parsed_at(head: &[u8]) -> Vec<usize> {
        let mut partial = PartialHead::default();
        let due = |byte: &u8| partial.add(&[*byte]).then(|| partial.bytes().len());
        head.iter().filter_map(due).collect()
    }

    #[test]
    fn an_end_is_always_found_and_only_behind_a_line() {
        let long = "x".repeat(100);
        for end in ["\r\n\r\n", "\n\n", "\r\n\n", "\n\r\n"] {
            let head = format!("\r\n\n{long}{end}");
            let parsed = parsed_at(head.as_bytes());
            assert_eq!(parsed.last(), Some(&head.len()), "{end:?}");
            assert_eq!(parsed[parsed.len() - 2], 64, "not before: {end:?}");
        }
    }

    #[test]
    fn a_head_in_single_bytes_is_parsed_a_few_times() {
        for byte in [b'x', b'\n', b'\r'] {
            let parsed = parsed_at(&[byte; MAX_HEAD_BYTES]);
            assert!(parsed.len() <= EAGER_BYTES + 10, "{parsed:?}");
            assert_eq!(parsed.last(), Some(&MAX_HEAD_BYTES));
        }
    }

    #[test]
    fn no_more_is_kept_than_a_head_may_be_long() {
        let mut partial = PartialHead::default();
        assert!(partial.add(&[b'x'; 10]));
        assert!(partial.add(&[b'x'; MAX_HEAD_BYTES]));
        assert_eq!(partial.bytes().len(), MAX_HEAD_BYTES);
    }
}
