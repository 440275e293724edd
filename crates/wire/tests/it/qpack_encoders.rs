//! Field sections of other encoders, from the qpackers collection: each file is decoded to the
//! lists that it was made of, and these are encoded and decoded again. Skipped, saying so, where
//! the collection is not beside the project, unless in continuous integration.
#![allow(
    clippy::disallowed_methods,
    reason = "reads the files, which the crate itself never does"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bakeoff_wire::h2::hpack::Field;
use bakeoff_wire::h3::qpack::{self, Decoded, Decoder, SectionError, SectionReader};
use bakeoff_wire::h3::{Config, Event, Memo, Response, Violation};

const LIST_MAX: u32 = 64 * 1024;

/// Files of the collection whose folder and name this wants, in their order.
fn files(wanted: impl Fn(&str, &str) -> bool) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/qpack");
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let mut found = Vec::new();
    for path in entries(&folder) {
        let parent = name(&path).unwrap_or_default();
        let inner = entries(&path).into_iter();
        let below = inner.filter(|path| wanted(&parent, &name(path).unwrap_or_default()));
        found.extend(below);
        if wanted("", &parent) {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        let message = format!("no such files in {}", folder.display());
        assert!(std::env::var_os("CI").is_none(), "{message}");
        skip(&message);
    }
    found
}

#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
fn skip(message: &str) {
    println!("skipped: {message}");
}

/// The parts of an encoder's output: stream, 0 for the encoder's own, and bytes.
fn parts(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let bytes = std::fs::read(path).expect("can be read");
    let (mut rest, mut parts) = (&bytes[..], Vec::new());
    while let Some((stream, behind)) = rest.split_first_chunk() {
        let (length, behind) = behind.split_first_chunk().expect("has a length");
        let (part, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        parts.push((u64::from_be_bytes(*stream), part.to_vec()));
        rest = behind;
    }
    parts
}

/// The lists of a text: a field a line, an empty line behind each list.
fn lists(path: &Path) -> Vec<Vec<Field>> {
    let text = std::fs::read_to_string(path).expect("can be read");
    let field = |line: &str| {
        let (name, value) = line.split_once('\t').expect("has a tab");
        (name.as_bytes().to_vec(), value.as_bytes().to_vec())
    };
    let list = |list: &str| list.lines().map(field).collect();
    text.trim_end().split("\n\n").map(list).collect()
}

/// Table's capacity, and streams that may wait for it, out of a file's name.
fn limits(path: &Path) -> (u32, u32) {
    let name = path.file_name().expect("has a name").to_string_lossy();
    let mut numbers = name
        .split('.')
        .skip(2)
        .map(|part| part.parse().expect("is a number"));
    (
        numbers.next().expect("is there"),
        numbers.next().expect("is there"),
    )
}

/// A decoder that was set at once to use its whole table, as was taken for granted before RFC
/// 9204.
fn decoder(capacity: u32, blocked: u32) -> Decoder {
    let mut decoder = Decoder::new(capacity, blocked, LIST_MAX);
    let mut reported = vec![0x3f];
    let mut rest = capacity.saturating_sub(31);
    while rest >= 0x80 {
        reported.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    reported.push(rest as u8);
    if capacity > 0 {
        decoder
            .handle_encoder_stream(&reported)
            .expect("is allowed");
    }
    decoder
}

/// What became of a stream: its fields, unless it waits.
fn read(decoder: &mut Decoder, stream: u64, section: &[u8]) -> Result<Option<Vec<Field>>, String> {
    let mut fields = Vec::new();
    let add = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
    match decoder.decode(stream, section, &mut Vec::new(), add) {
        Ok(Decoded::Whole) => Ok(Some(fields)),
        Ok(Decoded::Blocked(count)) => {
            assert!(count > decoder.inserted() && fields.is_empty());
            Ok(None)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Reads an encoder's output, its own stream in pieces of at most `piece` bytes; what waits is
/// tried again with each of them.
fn decode(path: &Path, piece: usize) -> BTreeMap<u64, Vec<Field>> {
    let (capacity, blocked) = limits(path);
    let mut decoder = decoder(capacity, blocked);
    let (mut done, mut waiting) = (BTreeMap::new(), BTreeMap::new());
    for (stream, bytes) in parts(path) {
        if stream != 0 {
            waiting.insert(stream, bytes);
            let (number, bytes) = (stream, &waiting[&stream]);
            let fields = read(&mut decoder, number, bytes).expect("is right");
            if let Some(fields) = fields {
                waiting.remove(&stream);
                done.insert(stream, fields);
            }
            continue;
        }
        for part in bytes.chunks(piece) {
            decoder.handle_encoder_stream(part).expect("is right");
            waiting.retain(|&stream, bytes| {
                let fields = read(&mut decoder, stream, bytes).expect("is right");
                let waits = fields.is_none();
                done.extend(fields.map(|fields| (stream, fields)));
                waits
            });
        }
    }
    assert!(waiting.is_empty(), "{}", path.display());
    done
}

#[test]
fn sections_of_other_encoders_are_decoded() {
    let outputs = files(|_, name| name.contains(".out."));
    for path in &outputs {
        let name = path.file_name().expect("has a name").to_string_lossy();
        let text = name.split('.').next().unwrap_or_default();
        let folder = path.ancestors().nth(2).expect("is two folders down");
        let expected = lists(&folder.join(format!("{text}.qif")));
        for piece in [usize::MAX, 7] {
            let found: Vec<_> = decode(path, piece).into_values().collect();
            assert!(found == expected, "{} in pieces of {piece}", path.display());
        }
    }
    println!("{} files", outputs.len());
}

#[test]
fn their_lists_survive_encoding_and_decoding() {
    let mut sections = SectionReader::default();
    for path in files(|_, name| name.ends_with(".qif")) {
        for list in lists(&path) {
            let (mut section, mut found) = (Vec::new(), Vec::new());
            qpack::encode(&list, &mut section);
            let add = |name: &[u8], value: &[u8]| found.push((name.to_vec(), value.to_vec()));
            assert_eq!(sections.read(&section, LIST_MAX, add), Ok(()));
            assert_eq!(found, list);
        }
    }
}

/// The two inputs that were malformed only under the static table of the first drafts, which was
/// that of HPACK with 61 entries from 1. RFC 9204 has these entries, so they are sections; but
/// none of them is a response.
const SECTIONS_NOW: [(&str, &str, Violation); 2] = [
    ("err9", ":authority", Violation::PseudoHeader),
    ("err10", "x-xss-protection", Violation::Status),
];

#[test]
fn malformed_inputs_are_refused() {
    let inputs = files(|folder, _| folder == "errors");
    for path in &inputs {
        let name = path.file_name().expect("has a name").to_string_lossy();
        let now = SECTIONS_NOW.iter().find(|(file, ..)| *file == name);
        let mut decoder = decoder(4096, 100);
        let mut results = Vec::new();
        for (stream, bytes) in parts(path) {
            results.push(match stream {
                0 => {
                    let result = decoder.handle_encoder_stream(&bytes);
                    result.map(|()| None).map_err(|error| error.to_string())
                }
                _ => read(&mut decoder, stream, &bytes),
            });
            if stream != 0 {
                assert!(as_response(&bytes).is_err(), "{name}");
            }
            if let Some((_, field, violation)) = now {
                assert_eq!(as_response(&bytes), Err(*violation));
                let fields = results.iter().flatten().flatten().flatten();
                let names: Vec<_> = fields.map(|(name, _)| name.clone()).collect();
                assert_eq!(names, [field.as_bytes()]);
            }
        }
        let is_refused = results.iter().any(Result::is_err);
        assert_eq!(is_refused, now.is_none(), "{name}: {results:?}");
    }
    assert!(inputs.is_empty() || inputs.len() == 12);
}

/// What comes of a section as the head of a response.
fn as_response(section: &[u8]) -> Result<(), Violation> {
    let frame = [&[1, section.len() as u8], section].concat();
    let mut memo = Memo::new(&Config::default());
    let no_event = |event: Event<'_>| unreachable!("{event:?}");
    Response::new(false).handle(&frame, &mut memo, no_event)
}

#[test]
fn waiting_for_more_streams_than_allowed_is_refused() {
    // This encoder sends sections before the insertions that they need.
    for path in files(|folder, name| folder == "quinn" && name.contains(".4096.100.")) {
        let mut decoder = decoder(4096, 0);
        let mut sections = parts(&path).into_iter().filter(|(stream, _)| *stream != 0);
        let (stream, section) = sections.next().expect("has a section");
        let result = decoder.decode(stream, &section, &mut Vec::new(), |_, _| {});
        assert_eq!(result, Err(SectionError::TooManyBlocked));
    }
}
