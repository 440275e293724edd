//! Header blocks of other encoders, from the http2jp collection: each story is decoded, and its
//! header lists are encoded and decoded again. Skipped, saying so, where the collection is not
//! beside the project, unless in continuous integration.
#![allow(
    clippy::disallowed_methods,
    reason = "reads the stories, which the crate itself never does"
)]

use std::path::{Path, PathBuf};

use bakeoff_wire::h2::hpack::{Decoder, Encoder, Field, Lists};
use serde_json::Value;

/// The stories, if they are here.
fn stories() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/hpack");
    let files = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let mut stories: Vec<_> = files(folder.clone()).flat_map(files).collect();
    stories.retain(|path| path.extension().is_some_and(|end| end == "json"));
    if stories.is_empty() {
        let message = format!("no stories in {}", folder.display());
        assert!(std::env::var_os("CI").is_none(), "{message}");
        skip(&message);
    }
    stories
}

#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
fn skip(message: &str) {
    println!("skipped: {message}");
}

/// The cases of a story: table size if it changes, block, fields.
fn cases(path: &Path) -> Vec<(Option<u32>, Vec<u8>, Vec<Field>)> {
    let text = std::fs::read_to_string(path).expect("can be read");
    let story: Value = serde_json::from_str(&text).expect("is JSON");
    let case = |case: &Value| {
        let size = case["header_table_size"].as_u64().map(|size| size as u32);
        (size, wire(&case["wire"]), fields(&case["headers"]))
    };
    let cases = story["cases"].as_array().expect("has cases");
    cases.iter().map(case).collect()
}

fn wire(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().expect("has wire");
    (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).expect("is hex"))
        .collect()
}

fn fields(headers: &Value) -> Vec<Field> {
    let headers = headers.as_array().expect("has headers").iter();
    let pairs = headers.flat_map(|header| header.as_object().expect("is a pair"));
    let text = |value: &Value| value.as_str().expect("is text").as_bytes().to_vec();
    pairs
        .map(|(name, value)| (name.as_bytes().to_vec(), text(value)))
        .collect()
}

fn decode(decoder: &mut Decoder, block: &[u8], place: &str) -> Vec<Field> {
    let mut found = Vec::new();
    let add = |name: &[u8], value: &[u8]| found.push((name.to_vec(), value.to_vec()));
    let result = decoder.decode(block, add);
    assert_eq!(result, Ok(()), "{place}");
    found
}

#[test]
fn blocks_of_other_encoders_are_decoded() {
    let mut count = 0;
    for path in stories() {
        let mut decoder = Decoder::new(4096);
        for (number, (size, block, expected)) in cases(&path).into_iter().enumerate() {
            let place = format!("{} {number}", path.display());
            if let Some(size) = size {
                decoder.allow(size);
            }
            assert_eq!(decode(&mut decoder, &block, &place), expected, "{place}");
            count += 1;
        }
    }
    println!("{count} blocks");
}

#[test]
fn their_lists_survive_encoding_and_decoding() {
    for path in stories() {
        let lists: Vec<_> = cases(&path).into_iter().map(|case| case.2).collect();
        let ready = Lists::new(&lists);
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
        // Twice, so that what was inserted is met again; with a smaller table in between.
        for size in [4096, 300, 4096] {
            encoder.allow(size);
            decoder.allow(size);
            for (number, expected) in (0..).zip(&lists) {
                let mut block = Vec::new();
                encoder.encode(&ready, number, &mut block);
                let place = format!("{} {number} at {size}", path.display());
                assert_eq!(&decode(&mut decoder, &block, &place), expected, "{place}");
            }
        }
    }
}
