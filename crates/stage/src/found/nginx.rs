//! What a configuration of nginx contains.

use super::{Found, Text};

/// Reads the files of one configuration, the main one first.
pub(super) fn read(_files: &[Text<'_>]) -> Found {
    Found::default()
}
