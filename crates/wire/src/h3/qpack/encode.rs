//! Writes field sections without a dynamic table: they mean the same on every connection.

use super::static_table;
use crate::fields::{Field, integer, text};

/// Appends the section of a list of fields, whose names are taken as they are.
pub fn encode(fields: &[Field], out: &mut Vec<u8>) {
    // Required Insert Count and Base are 0 (RFC 9204, 4.5.1).
    out.extend_from_slice(&[0, 0]);
    for (name, value) in fields {
        match static_table::find(name, value) {
            Some((index, true)) => integer::write(0xc0, 6, index, out),
            Some((index, false)) => {
                integer::write(0x50, 4, index, out);
                text::write(0, 7, value, out);
            }
            None => {
                text::write(0x20, 3, name, out);
                text::write(0, 7, value, out);
            }
        }
    }
}
