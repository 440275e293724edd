//! Decoders and encoder at their seam: the examples of RFC 9204, appendix B, and every rule.

use super::*;
use crate::fields::bytes;

const STREAM: u64 = 4;
const LIST_MAX: u32 = 4096;

fn line(text: &mut String, name: &[u8], value: &[u8]) {
    let [name, value] = [name, value].map(|part| String::from_utf8_lossy(part));
    *text += &format!("{name}: {value}\n");
}

/// A decoder of 220 bytes at most that one stream may wait for, behind these instructions.
fn decoder(instructions: &str) -> Decoder {
    let mut decoder = Decoder::new(220, 1, LIST_MAX);
    let instructions = bytes(instructions);
    decoder.handle_encoder_stream(&instructions).unwrap();
    decoder
}

/// What a section means: its fields, or how many insertions it waits for.
fn read(decoder: &mut Decoder, stream: u64, section: &str) -> Result<String, SectionError> {
    let mut text = String::new();
    let add = |name: &[u8], value: &[u8]| line(&mut text, name, value);
    match decoder.decode(stream, &bytes(section), &mut Vec::new(), add)? {
        Decoded::Whole => Ok(text),
        Decoded::Blocked(count) => Ok(format!("blocked {count}")),
    }
}

/// Reads a section without a table.
fn read_fixed(section: &[u8], list_max: u32) -> Result<String, SectionError> {
    let mut text = String::new();
    let add = |name: &[u8], value: &[u8]| line(&mut text, name, value);
    let result = SectionReader::default().read(section, list_max, add);
    result.map(|()| text)
}

/// Set Dynamic Table Capacity 220, and `:authority` and `:path` as in B.2.
const TWO_ENTRIES: &str = "3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d \
                           c10c 2f73 616d 706c 652f 7061 7468";
/// `custom-key: custom-value`, as in B.3.
const THIRD_ENTRY: &str = "4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565";

#[test]
fn appendix_b_1_a_literal_with_a_name_out_of_the_static_table() {
    let section = bytes("0000 510b 2f69 6e64 6578 2e68 746d 6c");
    let expected = ":path: /index.html\n".to_owned();
    assert_eq!(read_fixed(&section, LIST_MAX), Ok(expected.clone()));
    let mut with_table = decoder("");
    let hex = "0000 510b 2f69 6e64 6578 2e68 746d 6c";
    assert_eq!(read(&mut with_table, 0, hex), Ok(expected));
}

#[test]
fn appendix_b_2_to_5_the_dynamic_table() {
    let mut decoder = Decoder::new(220, 1, LIST_MAX);
    let (mut text, mut out) = (String::new(), Vec::new());
    let section = bytes("0381 10 11");
    let mut decode = |decoder: &mut Decoder, out: &mut Vec<u8>| {
        let add = |name: &[u8], value: &[u8]| line(&mut text, name, value);
        decoder.decode(4, &section, out, add)
    };
    assert_eq!(decode(&mut decoder, &mut out), Ok(Decoded::Blocked(2)));
    assert_eq!(out, []);
    decoder.handle_encoder_stream(&bytes(TWO_ENTRIES)).unwrap();
    assert_eq!((decoder.inserted(), decoder.table_bytes()), (2, 106));
    assert_eq!(decode(&mut decoder, &mut out), Ok(Decoded::Whole));
    assert_eq!(text, ":authority: www.example.com\n:path: /sample/path\n");
    assert_eq!(
        out,
        [0x84],
        "the section is acknowledged, and so its insertions"
    );
    decoder.acknowledge(&mut out);
    assert_eq!(out, [0x84]);

    decoder.handle_encoder_stream(&bytes(THIRD_ENTRY)).unwrap();
    assert_eq!((decoder.inserted(), decoder.table_bytes()), (3, 160));
    decoder.acknowledge(&mut out);
    assert_eq!(out, [0x84, 0x01]);

    let section = "0500 80 c1 81";
    assert_eq!(read(&mut decoder, 8, section), Ok("blocked 4".to_owned()));
    decoder.cancel(8, &mut out);
    assert_eq!(out, [0x84, 0x01, 0x48]);
    decoder.handle_encoder_stream(&bytes("02")).unwrap();
    assert_eq!((decoder.inserted(), decoder.table_bytes()), (4, 217));
    assert_eq!(
        read(&mut decoder, 8, section).unwrap(),
        ":authority: www.example.com\n:path: /\ncustom-key: custom-value\n"
    );

    let replacement = "810d 6375 7374 6f6d 2d76 616c 7565 32";
    decoder.handle_encoder_stream(&bytes(replacement)).unwrap();
    assert_eq!((decoder.inserted(), decoder.table_bytes()), (5, 215));
    // Base 5: the last insertion, and the first one, which was evicted.
    let last = "custom-key: custom-value2\n".to_owned();
    assert_eq!(read(&mut decoder, 12, "0600 80"), Ok(last));
    assert_eq!(
        read(&mut decoder, 12, "0600 84"),
        Err(SectionError::BadIndex)
    );
}

#[test]
fn instructions_may_be_cut_anywhere() {
    let instructions = bytes(&[TWO_ENTRIES, THIRD_ENTRY, "02", "3f81017f"].concat());
    for size in 1..instructions.len() {
        let mut decoder = Decoder::new(220, 1, LIST_MAX);
        for part in instructions.chunks(size) {
            decoder.handle_encoder_stream(part).unwrap();
        }
        assert_eq!((decoder.inserted(), decoder.table_bytes()), (4, 160));
    }
}

#[test]
fn names_come_out_of_both_tables_and_from_behind_the_base() {
    let mut table = decoder(&[TWO_ENTRIES, THIRD_ENTRY].concat());
    for (section, expected) in [
        // Relative to a base of 3: indexed, and as a name, also never to be indexed.
        ("0400 80", "custom-key: custom-value\n"),
        ("0400 40 0161", "custom-key: a\n"),
        ("0400 60 0161", "custom-key: a\n"),
        // A base of 1, then behind it.
        (
            "0481 80 10 11",
            ":authority: www.example.com\n:path: /sample/path\ncustom-key: custom-value\n",
        ),
        ("0481 00 0161 09 0162", ":path: a\ncustom-key: b\n"),
        // A base beyond what is required; it was 5.
        ("0402 84", ":authority: www.example.com\n"),
        // Literal names, plain and coded, never to be indexed or not.
        ("0000 2161 0162", "a: b\n"),
        ("0000 3161 0162", "a: b\n"),
        ("0000 291f 811f", "a: a\n"),
        ("0000", ""),
        // Static entries with indexes beyond their prefixes.
        ("0000 ff23", "x-frame-options: sameorigin\n"),
        ("0000 5f4d 0161", "server: a\n"),
    ] {
        assert_eq!(
            read(&mut table, STREAM, section).as_deref(),
            Ok(expected),
            "{section}"
        );
    }
}

#[test]
fn what_no_encoder_may_say_is_refused() {
    for (section, error) in [
        ("", SectionError::Truncated),
        ("00", SectionError::Truncated),
        ("ff", SectionError::Truncated),
        ("00ff", SectionError::Truncated),
        ("0000 ff", SectionError::Truncated),
        ("0000 51ff", SectionError::Truncated),
        ("0000 2361 62", SectionError::Truncated),
        ("0000 51", SectionError::Truncated),
        ("0000 510361 62", SectionError::Truncated),
        ("0000 ffffffffff7f", SectionError::IntegerTooLarge),
        ("0000 51 81ff", SectionError::BadHuffman),
        ("0080", SectionError::BadBase),
        ("0081", SectionError::BadBase),
        ("0483", SectionError::BadBase),
        // More than twice the entries that a table may have; one that was never inserted.
        ("0d00", SectionError::BadInsertCount),
        ("0000 ff24", SectionError::BadIndex),
        ("0000 5f54 00", SectionError::BadIndex),
        // Beyond the Required Insert Count, before the first insertion.
        ("0000 80", SectionError::BadIndex),
        ("0000 10", SectionError::BadIndex),
        ("0000 40 00", SectionError::BadIndex),
        ("0000 00 00", SectionError::BadIndex),
        ("0300 10", SectionError::BadIndex),
        ("0301 80", SectionError::BadIndex),
        ("0300 82", SectionError::BadIndex),
        ("0381 00 00 12", SectionError::BadIndex),
    ] {
        let mut table = decoder(&[TWO_ENTRIES, THIRD_ENTRY].concat());
        assert_eq!(read(&mut table, STREAM, section), Err(error), "{section}");
    }
}

#[test]
fn without_a_table_nothing_may_be_required() {
    for section in ["0100", "0200", "0281", "ff0000"] {
        let refused = Err(SectionError::BadInsertCount);
        assert_eq!(read_fixed(&bytes(section), LIST_MAX), refused, "{section}");
    }
    for section in ["0000 80", "0000 10", "0000 4000", "0000 0000", "0001 80"] {
        let refused = Err(SectionError::BadIndex);
        assert_eq!(read_fixed(&bytes(section), LIST_MAX), refused, "{section}");
    }
    for instruction in 0..=255_u8 {
        let result = check_encoder_without_table(&[0x20, instruction]);
        assert_eq!(result.is_ok(), instruction == 0x20, "{instruction:x}");
    }
}

#[test]
fn the_required_insert_count_wraps() {
    let mut table = decoder("3fbd01");
    // Six entries of 32 bytes fit: the count is sent modulo 12.
    for number in 1..100_u64 {
        table.handle_encoder_stream(&[0x40, 0x00]).unwrap();
        let encoded = number % 12 + 1;
        let section = format!("{encoded:02x}00 80");
        assert_eq!(read(&mut table, STREAM, &section), Ok(": \n".to_owned()));
        // Four more are yet to come, and announced ahead.
        let ahead = (number + 4) % 12 + 1;
        let section = format!("{ahead:02x}00 80");
        let expected = format!("blocked {}", number + 4);
        assert_eq!(read(&mut table, STREAM, &section), Ok(expected));
    }
}

#[test]
fn no_more_streams_wait_than_is_allowed() {
    let mut table = decoder("3fbd01");
    let section = "0200 80";
    assert_eq!(read(&mut table, 4, section), Ok("blocked 1".to_owned()));
    assert_eq!(read(&mut table, 4, section), Ok("blocked 1".to_owned()));
    let refused = Err(SectionError::TooManyBlocked);
    assert_eq!(read(&mut table, 8, section), refused);
    table.cancel(4, &mut Vec::new());
    assert_eq!(read(&mut table, 8, section), Ok("blocked 1".to_owned()));
    table.handle_encoder_stream(&bytes("4000")).unwrap();
    assert_eq!(read(&mut table, 8, section), Ok(": \n".to_owned()));
    assert_eq!(read(&mut table, 12, "0300 80"), Ok("blocked 2".to_owned()));
}

#[test]
fn malformed_instructions_are_refused() {
    for (instruction, error) in [
        ("3fbe01", EncoderStreamError::BadCapacity),
        ("3fffffffff7f", EncoderStreamError::IntegerTooLarge),
        ("3fbd01 4161 81ff", EncoderStreamError::BadHuffman),
        ("ff24 00", EncoderStreamError::BadIndex),
        ("80 00", EncoderStreamError::BadIndex),
        ("00", EncoderStreamError::BadIndex),
        ("3f00 4000", EncoderStreamError::EntryTooLarge),
        ("20 4000", EncoderStreamError::EntryTooLarge),
        ("3f01 4161 00", EncoderStreamError::EntryTooLarge),
    ] {
        let mut table = Decoder::new(220, 0, LIST_MAX);
        let result = table.handle_encoder_stream(&bytes(instruction));
        assert_eq!(result, Err(error), "{instruction}");
    }
}

#[test]
fn what_cannot_fit_is_refused_before_its_end() {
    let refused = Err(EncoderStreamError::EntryTooLarge);
    for instruction in [
        "5fe0ffffff0f",
        "7fe0ffffff0f",
        "c0ffffffff0f",
        "5fd206",
        "c07ff205",
    ] {
        let mut table = decoder("3fbd01");
        let result = table.handle_encoder_stream(&bytes(instruction));
        assert_eq!(result, refused, "{instruction}");
    }
    // As long as a coded string may be that fits: four times 220 bytes.
    let mut table = decoder("3fbd01");
    assert_eq!(table.handle_encoder_stream(&bytes("7fd106")), Ok(()));
    assert_eq!(
        table.handle_encoder_stream(&[0xff; 880]),
        Err(EncoderStreamError::BadHuffman)
    );
}

#[test]
fn the_list_is_bounded() {
    let section = bytes("0000 2161 0162 2161 0162");
    assert!(read_fixed(&section, 68).is_ok());
    assert_eq!(read_fixed(&section, 67), Err(SectionError::ListTooLong));
}

#[test]
fn lists_are_encoded_by_the_static_table_and_literals() {
    let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    let mut out = Vec::new();
    let list = [
        field(":method", "GET"),
        field(":path", "/index.html"),
        field("user-agent", "~"),
        field("aaa", "\u{7f}"),
    ];
    encode(&list, &mut out);
    // "/index.html" takes 8 bytes coded, "aaa" 2; DEL and a tilde are as short or shorter plain.
    let expected = "0000 d1 51 88 60d5485f2bce9a68 5f50 01 7e 2a 18c7 01 7f";
    assert_eq!(out, bytes(expected));
}
