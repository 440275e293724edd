//! The Huffman code of RFC 7541, appendix B.
//!
//! The code is canonical: codes of one length count up from symbol to symbol. So the lengths are
//! all that is written down here, and the tables are computed from them when this is compiled.

use super::CodingError;

/// Number of symbols: the bytes and the end of the string.
const SYMBOLS: usize = 257;
/// The symbol for the end of the string.
const END: u16 = 256;
/// Longest code, bits.
const MAX_BITS: usize = 30;
/// Bits looked up at once: all codes of letters, digits and most signs are no longer.
const QUICK_BITS: u32 = 9;

/// Length of each symbol's code, bits.
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, // 0x00
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, // 0x10
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, // 0x20
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, // 0x30
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, // 0x40
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, // 0x50
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, // 0x60
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, // 0x70
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, // 0x80
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, // 0x90
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, // 0xa0
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, // 0xb0
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, // 0xc0
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, // 0xd0
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, // 0xe0
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, // 0xf0
    30, // the end
];

/// What decoding and encoding look up.
struct Code {
    /// Code of each symbol, in its low bits.
    codes: [u32; SYMBOLS],
    /// Symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
    /// For each length, the first code behind those of that length, at the top of 32 bits.
    limits: [u64; MAX_BITS + 1],
    /// For each length, what to subtract from a code for its place in `symbols`; may wrap.
    offsets: [u32; MAX_BITS + 1],
    /// For each start of [`QUICK_BITS`]: symbol and length, or length 0 for a longer code.
    quick: [(u8, u8); 1 << QUICK_BITS],
}

static CODE: Code = Code::compute();

impl Code {
    const fn compute() -> Self {
        let mut code = Self {
            codes: [0; SYMBOLS],
            symbols: [0; SYMBOLS],
            limits: [0; MAX_BITS + 1],
            offsets: [0; MAX_BITS + 1],
            quick: [(0, 0); 1 << QUICK_BITS],
        };
        let (mut next, mut place, mut bits) = (0_u32, 0, 1);
        while bits <= MAX_BITS {
            next <<= 1;
            code.offsets[bits] = next.wrapping_sub(place as u32);
            let mut symbol = 0;
            while symbol < SYMBOLS {
                if LENGTHS[symbol] as usize == bits {
                    code.codes[symbol] = next;
                    code.symbols[place] = symbol as u16;
                    code.fill_quick(symbol, next, bits as u32);
                    next += 1;
                    place += 1;
                }
                symbol += 1;
            }
            code.limits[bits] = (next as u64) << (32 - bits);
            bits += 1;
        }
        code
    }

    const fn fill_quick(&mut self, symbol: usize, code: u32, bits: u32) {
        if bits > QUICK_BITS {
            return;
        }
        let spare = QUICK_BITS - bits;
        let mut at = 0;
        while at < 1 << spare {
            self.quick[((code << spare) + at) as usize] = (symbol as u8, bits as u8);
            at += 1;
        }
    }
}

/// Appends what `input` stands for.
pub(crate) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<(), CodingError> {
    // Bits not yet decoded, at the top; `held` of them are of the input, zeros follow.
    let (mut bits, mut held) = (0_u64, 0_u32);
    let mut input = input.iter();
    loop {
        while held <= 56
            && let Some(&byte) = input.next()
        {
            bits |= u64::from(byte) << (56 - held);
            held += 8;
        }
        if held == 0 {
            return Ok(());
        }
        let (symbol, length) = CODE.quick[(bits >> (64 - QUICK_BITS)) as usize];
        if length != 0 && u32::from(length) <= held {
            out.push(symbol);
            bits <<= length;
            held -= u32::from(length);
            continue;
        }
        match long_symbol((bits >> 32) as u32) {
            Some((symbol, length)) if length <= held => {
                let byte = u8::try_from(symbol).map_err(|_| CodingError::BadHuffman)?;
                out.push(byte);
                bits <<= length;
                held -= length;
            }
            // Not a whole code: padding, which is fewer than 8 bits, all of them ones.
            _ if held < 8 && bits >> (64 - held) == (1 << held) - 1 => return Ok(()),
            _ => return Err(CodingError::BadHuffman),
        }
    }
}

/// The symbol whose code `window` starts with, and the code's length.
fn long_symbol(window: u32) -> Option<(u16, u32)> {
    let bits = (1..=MAX_BITS).find(|&bits| u64::from(window) < CODE.limits[bits])?;
    let code = window >> (32 - bits);
    let place = code.wrapping_sub(CODE.offsets[bits]);
    let symbol = *CODE.symbols.get(place as usize)?;
    Some((symbol, bits as u32))
}

/// Length of `input` once coded, bytes.
pub(crate) fn coded_len(input: &[u8]) -> usize {
    let bits = |&byte: &u8| usize::from(LENGTHS[usize::from(byte)]);
    input.iter().map(bits).sum::<usize>().div_ceil(8)
}

/// Appends `input`, coded.
pub(crate) fn encode(input: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0_u64, 0_u32);
    for &byte in input {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(CODE.codes[usize::from(byte)]);
        held += length;
        while held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    if held > 0 {
        let ones = 8 - held;
        let end = CODE.codes[usize::from(END)] >> (MAX_BITS as u32 - ones);
        out.push((bits << ones) as u8 | end as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(input: &[u8]) -> Result<Vec<u8>, CodingError> {
        let mut out = Vec::new();
        decode(input, &mut out).map(|()| out)
    }

    #[test]
    fn the_lengths_leave_no_code_unused() {
        let used: u64 = LENGTHS.iter().map(|&bits| 1_u64 << (32 - bits)).sum();
        assert_eq!(used, 1 << 32);
    }

    #[test]
    fn codes_are_those_of_appendix_b() {
        for (symbol, code) in [
            (0, 0x1ff8),
            (1, 0x7f_ffd8),
            (usize::from(b'\n'), 0x3fff_fffc),
            (usize::from(b' '), 0x14),
            (usize::from(b'0'), 0),
            (usize::from(b'Z'), 0xfd),
            (usize::from(b'\\'), 0x7_fff0),
            (usize::from(b't'), 0x9),
            (128, 0xf_ffe6),
            (199, 0x1ff_ffec),
            (255, 0x3ff_ffee),
            (256, 0x3fff_ffff),
        ] {
            assert_eq!(CODE.codes[symbol], code, "{symbol}");
        }
    }

    #[test]
    fn every_byte_comes_back_alone_and_among_others() {
        for byte in 0..=255 {
            for text in [vec![byte], vec![b'a', byte, byte, b'0', byte]] {
                let mut coded = Vec::new();
                encode(&text, &mut coded);
                assert_eq!(coded.len(), coded_len(&text));
                assert_eq!(decoded(&coded), Ok(text));
            }
        }
    }

    #[test]
    fn malformed_codes_are_refused() {
        for input in [
            &[0xff][..],               // padding of a whole byte
            &[0x07, 0xff],             // 'a' is 00011, then too much padding
            &[0b0001_1000],            // padded with zeros
            &[0b0001_1110],            // padded with something
            &[0xff, 0xff, 0xff, 0xff], // the end, coded
            &[0x1f, 0xff, 0xff, 0xff, 0xff],
            &[0xff, 0xff, 0xff, 0xfa], // a code of 28 bits is not there yet
        ] {
            assert_eq!(decoded(input), Err(CodingError::BadHuffman), "{input:x?}");
        }
        assert_eq!(decoded(&[0b0001_1111]), Ok(b"a".to_vec()));
        assert_eq!(decoded(&[]), Ok(Vec::new()));
    }
}
