//! Integers of QUIC (RFC 9000, 16): 1, 2, 4 or 8 bytes, the first two bits say how many.

/// Largest integer.
pub(super) const MAX: u64 = (1 << 62) - 1;

/// Reads an integer at `at` that may have begun before: `value` holds what has come of it and
/// `missing` how many bytes have not, 0 before its first. `None` if its end has not come.
#[inline]
pub(super) fn read(value: &mut u64, missing: &mut u8, bytes: &[u8], at: &mut usize) -> Option<u64> {
    if *missing == 0 {
        let first = *bytes.get(*at)?;
        *at += 1;
        *value = u64::from(first & 0x3f);
        *missing = (1 << (first >> 6)) - 1;
    }
    while *missing > 0 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        *missing -= 1;
        *value = *value << 8 | u64::from(byte);
    }
    Some(*value)
}

/// Appends an integer, at most [`MAX`], in as few bytes as it takes.
pub(super) fn write(value: u64, out: &mut Vec<u8>) {
    match value.min(MAX) {
        value @ 0..0x40 => out.push(value as u8),
        value @ 0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        value @ 0x4000..0x4000_0000 => {
            out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes());
        }
        value => out.extend_from_slice(&(value | 3 << 62).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that `bytes` mean `value`, however they are cut.
    fn check(bytes: &[u8], value: u64) {
        for cut in 0..bytes.len() {
            let (mut so_far, mut missing) = (77, 0);
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(read(&mut so_far, &mut missing, head, &mut 0), None);
            let mut at = 0;
            let found = read(&mut so_far, &mut missing, tail, &mut at);
            assert_eq!((found, at, missing), (Some(value), tail.len(), 0));
        }
    }

    #[test]
    fn the_examples_of_rfc_9000() {
        check(
            &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
            151_288_809_941_952_652,
        );
        check(&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333);
        check(&[0x7b, 0xbd], 15_293);
        check(&[0x25], 37);
        check(&[0x40, 0x25], 37);
    }

    #[test]
    fn what_is_written_is_short_and_read_back() {
        for (value, length) in [
            (0, 1),
            (63, 1),
            (64, 2),
            (16_383, 2),
            (16_384, 4),
            ((1 << 30) - 1, 4),
            (1 << 30, 8),
            (MAX, 8),
        ] {
            let mut out = Vec::new();
            write(value, &mut out);
            assert_eq!(out.len(), length);
            check(&out, value);
        }
    }
}
