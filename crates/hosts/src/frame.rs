//! Frames: a length of 32 bits, most significant byte first, and so many bytes.
//!
//! The top bit of the length marks what passes through: asks and answers. Knows no pipe: bytes go
//! in, frames come out.

use std::io::{self, Write};

/// Longest frame: files and bodies of 240 MiB, in base64. Results of one trial take 20 to 80 KB, so
/// only bodies of requests come near.
pub const FRAME_BYTES_MAX: usize = 320 << 20;

/// Marks a frame that passes through.
const RAW: u32 = 1 << 31;
/// Bytes of the length.
const HEAD: usize = 4;
/// A write takes at most this much, so that progress can be seen.
const PIECE: usize = 64 << 10;

/// What is sent at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// An order or a report, as JSON.
    Json(Vec<u8>),
    /// An ask or an answer.
    Raw(Vec<u8>),
}

/// Why bytes are not frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame is longer than [`FRAME_BYTES_MAX`].
    #[error("a frame of {bytes} bytes was announced; at most {FRAME_BYTES_MAX} are accepted")]
    TooLong {
        /// Its length as announced.
        bytes: u64,
    },
}

impl Frame {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Json(bytes) | Self::Raw(bytes) => bytes,
        }
    }

    /// The length as it is sent.
    fn head(&self) -> Result<[u8; HEAD], FrameError> {
        let bytes = self.bytes().len();
        let too_long = FrameError::TooLong {
            bytes: bytes as u64,
        };
        if bytes > FRAME_BYTES_MAX {
            return Err(too_long);
        }
        let length = u32::try_from(bytes).map_err(|_| too_long)?;
        let mark = if matches!(self, Self::Raw(_)) { RAW } else { 0 };
        Ok((length | mark).to_be_bytes())
    }
}

/// Writes a frame, and calls `wrote` after each piece that was accepted.
///
/// # Errors
/// The frame is too long, or it cannot be written.
pub fn write_frame(out: &mut impl Write, frame: &Frame, mut wrote: impl FnMut()) -> io::Result<()> {
    let head = frame.head().map_err(io::Error::other)?;
    let bytes = frame.bytes();
    // Head and a short body in one write: a clock exchange must not wait for the second one.
    let (first, rest) = bytes.split_at(bytes.len().min(PIECE - HEAD));
    let mut piece = Vec::with_capacity(HEAD + first.len());
    piece.extend_from_slice(&head);
    piece.extend_from_slice(first);
    out.write_all(&piece)?;
    wrote();
    for piece in rest.chunks(PIECE) {
        out.write_all(piece)?;
        wrote();
    }
    out.flush()
}

/// Makes frames of bytes as they come. It keeps one frame at most, and what was put in with its
/// end.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// Bytes at the beginning that belong to frames taken out.
    taken: usize,
}

impl FrameReader {
    /// Adds bytes that have come.
    pub fn put(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether there are bytes of a frame that was not taken out. Where there is no next frame,
    /// one has begun to come.
    pub(crate) fn holds_bytes(&self) -> bool {
        self.bytes.len() > self.taken
    }

    /// The next whole frame; `None` until more bytes have come.
    ///
    /// # Errors
    /// A length that no frame has. What follows cannot be read either.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let bytes = &self.bytes[self.taken..];
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let head = u32::from_be_bytes(*head);
        let length = head & !RAW;
        if length as usize > FRAME_BYTES_MAX {
            let bytes = u64::from(length);
            return Err(FrameError::TooLong { bytes });
        }
        let length = length as usize;
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let body = body.to_vec();
        self.taken += HEAD + length;
        Ok(Some(if head & RAW != 0 {
            Frame::Raw(body)
        } else {
            Frame::Json(body)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(frames: &[Frame]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for frame in frames {
            write_frame(&mut bytes, frame, || {}).unwrap();
        }
        bytes
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let frames = [
            Frame::Json(b"{}".to_vec()),
            Frame::Raw(Vec::new()),
            Frame::Raw(vec![7; PIECE + 9]),
            Frame::Json(b"[1]".to_vec()),
        ];
        let bytes = written(&frames);
        for piece in [1, 3, 4, 5, PIECE, bytes.len()] {
            let mut reader = FrameReader::default();
            let mut found = Vec::new();
            for piece in bytes.chunks(piece) {
                reader.put(piece);
                while let Some(frame) = reader.next_frame().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, frames, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_length_that_no_frame_has_is_refused_before_its_bytes_come() {
        for head in [[0x7f, 0xff, 0xff, 0xff], [0x94, 0, 0, 1]] {
            let mut reader = FrameReader::default();
            reader.put(&head);
            assert!(matches!(
                reader.next_frame(),
                Err(FrameError::TooLong { .. })
            ));
        }
        let mut reader = FrameReader::default();
        reader.put(&[0x14, 0, 0, 0]);
        assert_eq!(reader.next_frame(), Ok(None), "320 MiB are not too long");
        let frame = Frame::Raw(vec![0; FRAME_BYTES_MAX + 1]);
        assert!(write_frame(&mut Vec::new(), &frame, || {}).is_err());
    }

    #[test]
    fn a_frame_that_has_begun_to_come_is_known() {
        let bytes = written(&[Frame::Raw(vec![7; 9])]);
        for (length, expected) in [(0, false), (3, true), (4, true), (12, true), (13, false)] {
            let mut reader = FrameReader::default();
            reader.put(&bytes[..length]);
            reader.next_frame().unwrap();
            assert_eq!(reader.holds_bytes(), expected, "{length} bytes");
        }
    }

    #[test]
    fn each_piece_written_is_reported() {
        let mut pieces = 0;
        let frame = Frame::Raw(vec![0; 2 * PIECE]);
        write_frame(&mut Vec::new(), &frame, || pieces += 1).unwrap();
        assert_eq!(pieces, 3);
    }
}
