//! Comparison of a response body with the expected one, as it comes.

/// How far a body agrees with the expected one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BodyComparison {
    /// Whether this body is compared at all.
    pub(crate) on: bool,
    /// Bytes compared.
    at: usize,
    /// A byte differed.
    differs: bool,
}

impl BodyComparison {
    pub(crate) fn start(on: bool) -> Self {
        Self {
            on,
            at: 0,
            differs: false,
        }
    }

    /// Compares the next bytes of a body.
    #[inline]
    pub(crate) fn compare(&mut self, expected: &[u8], bytes: &[u8]) {
        if self.on && !self.differs {
            self.differs = !expected
                .get(self.at..)
                .is_some_and(|rest| rest.starts_with(bytes));
            self.at += bytes.len();
        }
    }

    /// Whether the whole body is right, given its length.
    #[inline]
    pub(crate) fn is_right(&self, expected: &[u8], body_bytes: u64) -> bool {
        !self.differs && body_bytes == expected.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_right_only_as_a_whole() {
        let compare = |parts: &[&[u8]]| {
            let mut body = BodyComparison::start(true);
            parts.iter().for_each(|part| body.compare(b"hello", part));
            body.is_right(b"hello", parts.iter().map(|part| part.len() as u64).sum())
        };
        assert!(compare(&[b"hel", b"lo"]));
        assert!(!compare(&[b"hel"]));
        assert!(!compare(&[b"hellO"]));
        assert!(!compare(&[b"hello", b"!"]));
        assert!(BodyComparison::start(false).is_right(b"hello", 5));
        assert!(!BodyComparison::start(false).is_right(b"hello", 4));
    }
}
