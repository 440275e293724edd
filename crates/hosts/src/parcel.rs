//! Reports with the files that they announce: a message, and as many raw frames right behind it.
//!
//! Knows no pipe: frames go in, parcels come out. Number and length of the files are limited.

use crate::frame::Frame;
use crate::message::Report;

/// Files of one report.
pub const FILES_MAX: u32 = 4096;
/// Bytes of all files of one report.
pub const FILES_BYTES_MAX: usize = 256 << 20;

/// Longest part of what travels in parts. While one comes, its pieces show that it does.
const PART_BYTES: usize = 8 << 20;

/// Cuts what may be longer than a frame into files; even nothing is one. Put behind each other they
/// are the same again.
pub fn in_parts(bytes: &[u8]) -> Vec<Vec<u8>> {
    if bytes.is_empty() {
        vec![Vec::new()]
    } else {
        bytes.chunks(PART_BYTES).map(<[u8]>::to_vec).collect()
    }
}

/// A report and its files.
#[derive(Debug, Clone, PartialEq)]
pub struct Parcel {
    /// What the agent says.
    pub report: Report,
    /// The files that it announced, in order.
    pub files: Vec<Vec<u8>>,
}

/// Makes parcels of frames as they come.
#[derive(Debug, Default)]
pub struct ParcelReader {
    begun: Option<Parcel>,
    /// Files that are still to come.
    missing: u32,
    /// Bytes of the report, and of its files.
    report_bytes: usize,
    bytes: usize,
}

impl ParcelReader {
    /// Takes the next frame; a parcel if it is whole now.
    ///
    /// # Errors
    /// What about the frame makes no sense here; what follows makes none either.
    pub fn put(&mut self, frame: Frame) -> Result<Option<Parcel>, String> {
        match (self.begun.take(), frame) {
            (None, Frame::Json(bytes)) => {
                let report: Report = serde_json::from_slice(&bytes)
                    .map_err(|error| format!("a message that is none of this version: {error}"))?;
                let files = report.files();
                if files > FILES_MAX {
                    return Err(format!("{files} files; at most {FILES_MAX} are accepted"));
                }
                (self.missing, self.bytes) = (files, 0);
                self.report_bytes = bytes.len();
                Ok(self.whole(Parcel {
                    report,
                    files: Vec::new(),
                }))
            }
            (Some(mut parcel), Frame::Raw(bytes)) => {
                self.bytes = self.bytes.saturating_add(bytes.len());
                if self.bytes > FILES_BYTES_MAX {
                    let mib = FILES_BYTES_MAX >> 20;
                    return Err(format!("files of more than {mib} MiB together"));
                }
                self.missing -= 1;
                parcel.files.push(bytes);
                Ok(self.whole(parcel))
            }
            (None, Frame::Raw(_)) => Err("a file that nobody asked for".to_owned()),
            (Some(_), Frame::Json(_)) => Err("a message in place of a file".to_owned()),
        }
    }

    /// Bytes of the parcel that came last.
    pub(crate) fn length(&self) -> usize {
        self.report_bytes.saturating_add(self.bytes)
    }

    /// Whether a report has come whose files have not all come.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    fn whole(&mut self, parcel: Parcel) -> Option<Parcel> {
        if self.missing == 0 {
            return Some(parcel);
        }
        self.begun = Some(parcel);
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(report: &Report) -> Frame {
        Frame::Json(serde_json::to_vec(report).unwrap())
    }

    fn staged(files: u32) -> Report {
        Report::Staged {
            report: json!("done"),
            files,
        }
    }

    #[test]
    fn files_belong_to_the_report_before_them() {
        let mut reader = ParcelReader::default();
        let live = Report::Live { ok: 1, errors: 0 };
        let alone = Parcel {
            report: live.clone(),
            files: Vec::new(),
        };
        assert_eq!(reader.put(message(&live)), Ok(Some(alone)));
        assert_eq!(reader.put(message(&staged(2))), Ok(None));
        assert_eq!(reader.put(Frame::Raw(b"one".to_vec())), Ok(None));
        let whole = Parcel {
            report: staged(2),
            files: vec![b"one".to_vec(), Vec::new()],
        };
        assert_eq!(reader.put(Frame::Raw(Vec::new())), Ok(Some(whole)));
    }

    #[test]
    fn what_is_longer_than_a_part_is_the_same_again() {
        for (length, expected) in [
            (0, 1),
            (1, 1),
            (PART_BYTES, 1),
            (PART_BYTES + 1, 2),
            (2 * PART_BYTES + 1, 3),
        ] {
            let mut bytes = vec![7; length];
            if let Some(last) = bytes.last_mut() {
                *last = 9;
            }
            let parts = in_parts(&bytes);
            assert_eq!(parts.len(), expected, "{length} bytes");
            assert!(parts.concat() == bytes, "{length} bytes");
        }
    }

    #[test]
    fn what_was_not_announced_is_refused() {
        let refused = |frames: Vec<Frame>, expected: &str| {
            let mut reader = ParcelReader::default();
            let mut results = frames.into_iter().map(|frame| reader.put(frame));
            let error = results.find_map(Result::err).unwrap();
            assert!(error.contains(expected), "{error}");
        };
        refused(vec![Frame::Raw(Vec::new())], "nobody asked");
        refused(
            vec![message(&staged(1)), message(&staged(0))],
            "in place of a file",
        );
        refused(vec![message(&staged(FILES_MAX + 1))], "at most 4096");
        refused(vec![Frame::Json(b"{}".to_vec())], "none of this version");
        let mut many = vec![message(&staged(6))];
        many.extend((0..5).map(|_| Frame::Raw(vec![0; 60 << 20])));
        refused(many, "more than 256 MiB");
    }
}
