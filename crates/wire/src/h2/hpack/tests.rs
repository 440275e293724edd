//! Decoder and encoder at their seam: the examples of RFC 7541, appendix C, and every rule.

use super::*;
use crate::fields::{bytes, integer};

fn read(decoder: &mut Decoder, block: &[u8]) -> Result<String, HpackError> {
    let mut text = String::new();
    let mut line = |name: &[u8], value: &[u8]| {
        let [name, value] = [name, value].map(|part| String::from_utf8(part.to_vec()).unwrap());
        text += &format!("{name}: {value}\n");
    };
    decoder.decode(block, &mut line).map(|()| text)
}

/// Checks blocks of one connection: each with its fields and the table's size behind it.
fn check(allowed: u32, blocks: &[(&str, &str, u32)]) {
    let mut decoder = Decoder::new(allowed);
    if allowed < DEFAULT_TABLE_BYTES {
        read(&mut decoder, &resize(allowed)).unwrap();
    }
    for (hex, expected, table_bytes) in blocks {
        let lines: Vec<_> = expected.lines().map(str::trim).collect();
        let found = read(&mut decoder, &bytes(hex)).unwrap();
        assert_eq!(found.lines().collect::<Vec<_>>(), lines, "{hex}");
        assert_eq!(decoder.table_bytes(), *table_bytes, "{hex}");
    }
}

/// A block that says how large the table is to be.
fn resize(size: u32) -> Vec<u8> {
    let mut block = Vec::new();
    integer::write(0x20, 5, size, &mut block);
    block
}

/// Checks that a new decoder refuses `block`.
fn refuse(block: &[u8], error: HpackError) {
    assert_eq!(
        read(&mut Decoder::new(4096), block),
        Err(error),
        "{block:x?}"
    );
}

#[test]
fn appendix_c_2_single_fields() {
    let custom = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    check(4096, &[(custom, "custom-key: custom-header", 55)]);
    check(
        4096,
        &[(
            "040c 2f73 616d 706c 652f 7061 7468",
            ":path: /sample/path",
            0,
        )],
    );
    check(
        4096,
        &[(
            "1008 7061 7373 776f 7264 0673 6563 7265 74",
            "password: secret",
            0,
        )],
    );
    check(4096, &[("82", ":method: GET", 0)]);
}

const REQUESTS: [&str; 3] = [
    ":method: GET
     :scheme: http
     :path: /
     :authority: www.example.com",
    ":method: GET
     :scheme: http
     :path: /
     :authority: www.example.com
     cache-control: no-cache",
    ":method: GET
     :scheme: https
     :path: /index.html
     :authority: www.example.com
     custom-key: custom-value",
];

#[test]
fn appendix_c_3_and_c_4_requests() {
    let [first, second, third] = REQUESTS;
    check(
        4096,
        &[
            (
                "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                first,
                57,
            ),
            ("8286 84be 5808 6e6f 2d63 6163 6865", second, 110),
            (
                "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
                third,
                164,
            ),
        ],
    );
    check(
        4096,
        &[
            ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", first, 57),
            ("8286 84be 5886 a8eb 1064 9cbf", second, 110),
            (
                "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
                third,
                164,
            ),
        ],
    );
}

const RESPONSES: [&str; 3] = [
    ":status: 302
     cache-control: private
     date: Mon, 21 Oct 2013 20:13:21 GMT
     location: https://www.example.com",
    ":status: 307
     cache-control: private
     date: Mon, 21 Oct 2013 20:13:21 GMT
     location: https://www.example.com",
    ":status: 200
     cache-control: private
     date: Mon, 21 Oct 2013 20:13:22 GMT
     location: https://www.example.com
     content-encoding: gzip
     set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
];

#[test]
fn appendix_c_5_and_c_6_responses_that_evict() {
    let [first, second, third] = RESPONSES;
    check(
        256,
        &[
            (
                "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
                 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70
                 6c65 2e63 6f6d",
                first,
                222,
            ),
            ("4803 3330 37c1 c0bf", second, 222),
            (
                "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d
                 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049
                 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e
                 3d31",
                third,
                215,
            ),
        ],
    );
    check(
        256,
        &[
            (
                "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
                 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                first,
                222,
            ),
            ("4883 640e ffc1 c0bf", second, 222),
            (
                "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
                 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f
                 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
                third,
                215,
            ),
        ],
    );
}

#[test]
fn malformed_blocks_are_refused() {
    refuse(&[0x80], HpackError::BadIndex);
    refuse(&[0xbe], HpackError::BadIndex);
    refuse(&[0x7f, 0], HpackError::BadIndex);
    refuse(&[0xff], HpackError::Truncated);
    refuse(&[0x40], HpackError::Truncated);
    refuse(&[0x40, 3, b'a'], HpackError::Truncated);
    refuse(&[0x40, 1, b'a', 5, b'b'], HpackError::Truncated);
    refuse(&[0x40, 0x81, 0xff, 0], HpackError::BadHuffman);
    refuse(
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        HpackError::IntegerTooLarge,
    );
    refuse(&[0x88, 0x20], HpackError::BadTableSize);
    refuse(&resize(4097), HpackError::BadTableSize);
}

#[test]
fn a_list_is_bounded_however_small_its_block() {
    let mut block = vec![0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    block.extend_from_slice(&[b'b'; 4000]);
    block.extend_from_slice(&[0xbe; 14]);
    let mut decoder = Decoder::new(4096);
    assert!(read(&mut decoder, &block).is_ok());
    block.extend_from_slice(&[0xbe; 2]);
    refuse(&block, HpackError::ListTooLong);
}

#[test]
fn a_smaller_table_must_be_acknowledged_first() {
    let mut decoder = Decoder::new(100);
    assert_eq!(read(&mut decoder, &[0x88]), Err(HpackError::NotShrunk));
    let mut decoder = Decoder::new(4096);
    decoder.allow(100);
    decoder.allow(4096);
    assert_eq!(read(&mut decoder, &[0x88]), Err(HpackError::NotShrunk));
    let mut both = resize(100);
    both.extend_from_slice(&resize(4096));
    both.push(0x88);
    assert_eq!(read(&mut decoder, &both).as_deref(), Ok(":status: 200\n"));
}

#[test]
fn a_name_outlives_the_eviction_of_its_entry() {
    let mut decoder = Decoder::new(4096);
    read(&mut decoder, &resize(40)).unwrap();
    read(&mut decoder, &[0x40, 3, b'a', b'b', b'c', 1, b'1']).unwrap();
    let again = [0x7e, 2, b'2', b'3'];
    assert_eq!(read(&mut decoder, &again).as_deref(), Ok("abc: 23\n"));
    assert_eq!(read(&mut decoder, &[0xbe]).as_deref(), Ok("abc: 23\n"));
}

fn field(name: &str, value: &str) -> Field {
    (name.as_bytes().to_vec(), value.as_bytes().to_vec())
}

/// Encodes a list and checks that the decoder reads it; returns the block's length.
fn round(lists: &[Vec<Field>], list: u32, encoder: &mut Encoder, decoder: &mut Decoder) -> usize {
    let mut block = Vec::new();
    encoder.encode(&Lists::new(lists), list, &mut block);
    let mut read = Vec::new();
    decoder
        .decode(&block, |name, value| {
            read.push((name.to_vec(), value.to_vec()))
        })
        .unwrap();
    assert_eq!(read, lists[list as usize]);
    block.len()
}

#[test]
fn after_its_first_use_a_list_is_indexes_alone() {
    let shared = [
        field(":method", "GET"),
        field(":authority", "a.test"),
        field("x", "y"),
    ];
    let lists = ["/one", "/two", "/three"].map(|path| {
        let mut list = shared.to_vec();
        list.push(field(":path", path));
        list
    });
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
    assert!(round(&lists, 0, &mut encoder, &mut decoder) > 4);
    let version = encoder.version();
    assert_eq!(round(&lists, 0, &mut encoder, &mut decoder), 4);
    assert_eq!(encoder.version(), version);
    round(&lists, 1, &mut encoder, &mut decoder);
    round(&lists, 2, &mut encoder, &mut decoder);
    assert_ne!(encoder.version(), version);
    for list in [2, 0, 1, 0] {
        assert_eq!(round(&lists, list, &mut encoder, &mut decoder), 4);
    }
}

#[test]
fn the_decoder_s_table_size_is_kept_to() {
    let lists = [(0..40)
        .map(|n| field("name", &format!("value {n}")))
        .collect::<Vec<_>>()];
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
    round(&lists, 0, &mut encoder, &mut decoder);
    for size in [200, 0, 100, 4096, 65_536, 33] {
        encoder.allow(size);
        decoder.allow(size);
        let first = round(&lists, 0, &mut encoder, &mut decoder);
        let second = round(&lists, 0, &mut encoder, &mut decoder);
        assert!(second <= first, "{size}");
        assert!(decoder.table_bytes() <= size);
    }
    // Between two blocks, only the smallest and the last size matter.
    for size in [50, 4096] {
        encoder.allow(size);
        decoder.allow(size);
    }
    round(&lists, 0, &mut encoder, &mut decoder);
}

#[test]
fn more_fields_than_a_table_holds_are_literals() {
    let list: Vec<_> = (0..300)
        .map(|n| field(&format!("name-{n}"), "value"))
        .collect();
    let long = vec![field("cookie", &"c".repeat(5000)), field("a", "b")];
    let lists = [list, long];
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
    for _ in 0..3 {
        round(&lists, 0, &mut encoder, &mut decoder);
        round(&lists, 1, &mut encoder, &mut decoder);
    }
    assert!(decoder.table_bytes() > 3500, "{}", decoder.table_bytes());
}
