//! Integers with a prefix (RFC 7541, 5.1): up to 32 bits are read, up to 64 written.
//!
//! RFC 9204, 4.1.1 asks for 62 bits. Indexes, lengths and capacities beyond 32 are refused here all
//! the same, because they exceed every limit that is checked next.

use super::CodingError;

/// Bytes of an integer behind its prefix: five times seven bits hold 32.
const MAX_MORE_BYTES: u32 = 5;

/// Reads an integer whose first byte is `first`, with a prefix of `bits`; its other bytes are at
/// `at`, which is moved behind them.
#[inline]
pub(crate) fn read(first: u8, bits: u32, block: &[u8], at: &mut usize) -> Result<u32, CodingError> {
    let most = (1_u32 << bits) - 1;
    let prefix = u32::from(first) & most;
    if prefix < most {
        return Ok(prefix);
    }
    let mut value = u64::from(prefix);
    for count in 0..MAX_MORE_BYTES {
        let byte = *block.get(*at).ok_or(CodingError::Truncated)?;
        *at += 1;
        value += u64::from(byte & 0x7f) << (7 * count);
        if byte & 0x80 == 0 {
            return u32::try_from(value).map_err(|_| CodingError::TooLarge);
        }
    }
    Err(CodingError::TooLarge)
}

/// Appends an integer with a prefix of `bits`, the bits above it given by `pattern`.
pub(crate) fn write(pattern: u8, bits: u32, value: impl Into<u64>, out: &mut Vec<u8>) {
    let (most, value) = ((1_u64 << bits) - 1, value.into());
    if value < most {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that `value` is written as `bytes` and read back.
    fn check(value: u32, bits: u32, bytes: &[u8]) {
        let mut out = Vec::new();
        write(0, bits, value, &mut out);
        assert_eq!(out, bytes);
        let mut at = 1;
        assert_eq!(read(bytes[0], bits, bytes, &mut at), Ok(value));
        assert_eq!(at, bytes.len());
    }

    #[test]
    fn the_examples_of_appendix_c_1() {
        check(10, 5, &[0b0000_1010]);
        check(1337, 5, &[0b0001_1111, 0b1001_1010, 0b0000_1010]);
        check(42, 8, &[0b0010_1010]);
    }

    #[test]
    fn edges_of_the_prefix_and_of_32_bits() {
        check(30, 5, &[30]);
        check(31, 5, &[31, 0]);
        check(31 + 127, 5, &[31, 127]);
        check(31 + 128, 5, &[31, 0x80, 1]);
        check(u32::MAX, 5, &[31, 0xe0, 0xff, 0xff, 0xff, 0x0f]);
    }

    #[test]
    fn too_large_and_cut_integers_are_refused() {
        let refuse = |bytes: &[u8], error| {
            assert_eq!(read(0xff, 5, bytes, &mut 0), Err(error), "{bytes:?}");
        };
        refuse(&[], CodingError::Truncated);
        refuse(&[0x80, 0x80], CodingError::Truncated);
        refuse(&[0xe1, 0xff, 0xff, 0xff, 0x0f], CodingError::TooLarge);
        refuse(&[0x80, 0x80, 0x80, 0x80, 0x80, 0], CodingError::TooLarge);
    }
}
