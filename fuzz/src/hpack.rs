//! Header blocks from anywhere: read or refused, never a panic. And lists from anywhere: what is
//! encoded is decoded to the same, whatever the order and the table's size.

use bakeoff_wire::h2::hpack::{Decoder, Encoder, Field, HpackError, Lists, MAX_LIST_BYTES};

/// Reads `block`, and checks that the list is not longer than promised.
fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Field>, HpackError> {
    let mut fields = Vec::new();
    let add = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
    decoder.decode(block, add)?;
    assert!(list_bytes(&fields) <= MAX_LIST_BYTES as usize);
    Ok(fields)
}

fn list_bytes(fields: &[Field]) -> usize {
    let bytes = fields
        .iter()
        .map(|(name, value)| name.len() + value.len() + 32);
    bytes.sum()
}

/// What is encoded: lists, and in which order, with the table's size before each.
type Use = (u8, Option<u16>);

/// The table's size that is allowed, blocks to decode, and lists to encode with their uses.
type Input = (u16, Vec<Vec<u8>>, Vec<Vec<Field>>, Vec<Use>);

pub(crate) fn check(data: Input) {
    let (allowed, blocks, lists, uses) = data;
    let (mut one, mut other) = (Decoder::new(allowed.into()), Decoder::new(allowed.into()));
    for block in &blocks {
        let version = one.version();
        let fields = decode(&mut one, block);
        assert_eq!(fields, decode(&mut other, block));
        if fields.is_err() {
            break;
        }
        // The promise that the memo of blocks rests on.
        if one.version() == version {
            assert_eq!(fields, decode(&mut one, block));
            assert_eq!(one.version(), version);
        }
    }

    let ready = Lists::new(&lists);
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(4096));
    for (list, size) in uses {
        if let Some(size) = size {
            encoder.allow(size.into());
            decoder.allow(size.into());
        }
        let Some(expected) = lists.get(usize::from(list)) else {
            continue;
        };
        if list_bytes(expected) > MAX_LIST_BYTES as usize {
            continue;
        }
        let mut block = Vec::new();
        encoder.encode(&ready, list.into(), &mut block);
        assert_eq!(decode(&mut decoder, &block).as_ref(), Ok(expected));
        let version = encoder.version();
        let mut again = Vec::new();
        encoder.encode(&ready, list.into(), &mut again);
        assert_eq!(decode(&mut decoder, &again).as_ref(), Ok(expected));
        assert_eq!(encoder.version(), version, "a second use changes nothing");
    }
}
