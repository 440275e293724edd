//! Field sections and encoder's streams from anywhere: read or refused, never a panic, and the
//! same however they are cut. And lists from anywhere: what is encoded is decoded to the same.

use bakeoff_wire::h2::hpack::Field;
use bakeoff_wire::h3::qpack::{self, Decoded, Decoder, SectionError, SectionReader};

/// Longest list that is read here, bytes.
const LIST_MAX: u32 = 4096;

fn list_bytes(fields: &[Field]) -> usize {
    let bytes = fields
        .iter()
        .map(|(name, value)| name.len() + value.len() + 32);
    bytes.sum()
}

type Read = (Result<Decoded, SectionError>, Vec<Field>, Vec<u8>);

/// Reads a section, and checks that the list is not longer than allowed.
fn decode(decoder: &mut Decoder, stream: u8, section: &[u8]) -> Read {
    let (mut fields, mut out) = (Vec::new(), Vec::new());
    let add = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
    let result = decoder.decode(stream.into(), section, &mut out, add);
    assert!(list_bytes(&fields) <= LIST_MAX as usize);
    if let Ok(Decoded::Blocked(count)) = result {
        assert!(count > decoder.inserted() && fields.is_empty() && out.is_empty());
    }
    decoder.acknowledge(&mut out);
    (result, fields, out)
}

/// What one decoder and the other are given: stream, 0 for the encoder's, and bytes.
fn check_decoders(capacity: u16, blocked: u8, cut: u8, parts: &[(u8, Vec<u8>)]) {
    let new = || Decoder::new(capacity.into(), blocked.into(), LIST_MAX);
    let (mut one, mut other) = (new(), new());
    for (stream, bytes) in parts {
        if *stream == 255 {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            one.cancel(bytes.len() as u64, &mut first);
            other.cancel(bytes.len() as u64, &mut second);
            assert_eq!(first, second);
        } else if *stream % 4 != 0 {
            let read = decode(&mut one, *stream, bytes);
            assert_eq!(read, decode(&mut other, *stream, bytes));
            if read.0.is_err() {
                return;
            }
        } else {
            let whole = one.handle_encoder_stream(bytes);
            let mut pieces = bytes.chunks(usize::from(cut).max(1));
            let cut_up = pieces.try_for_each(|piece| other.handle_encoder_stream(piece));
            assert_eq!(whole, cut_up);
            assert_eq!(one.inserted(), other.inserted());
            if whole.is_err() {
                return;
            }
        }
    }
}

fn check_encoding(list: &[Field]) {
    let (mut section, mut fields) = (Vec::new(), Vec::new());
    qpack::encode(list, &mut section);
    let add = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
    let result = SectionReader::default().read(&section, LIST_MAX, add);
    if list_bytes(list) > LIST_MAX as usize {
        assert_eq!(result, Err(SectionError::ListTooLong));
    } else {
        assert_eq!((result, &fields[..]), (Ok(()), list));
    }
}

type Input = (u16, u8, u8, Vec<(u8, Vec<u8>)>, Vec<Field>, Vec<u8>);

pub(crate) fn check(data: Input) {
    let (capacity, blocked, cut, mut parts, list, section) = data;
    check_decoders(capacity, blocked, cut, &parts);
    // Once more with a table of 95 bytes to begin with, where one of that size is allowed.
    parts.insert(0, (0, vec![0x3f, 0x40]));
    check_decoders(capacity, blocked, cut, &parts);
    check_encoding(&list);

    let mut fields = Vec::new();
    let add = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
    let result = SectionReader::default().read(&section, LIST_MAX, add);
    let (full, same, out) = decode(&mut Decoder::new(0, 0, LIST_MAX), 4, &section);
    assert_eq!((result.map(|()| Decoded::Whole), fields), (full, same));
    assert!(out.is_empty());
}
