//! Reads the header fields that a server sends, beside the client, which reads only some of them.

use bakeoff_wire::h2::hpack::Decoder;

/// A server's bytes, as far as they are not read.
pub(crate) struct Shadow {
    bytes: Vec<u8>,
    block: Vec<u8>,
    decoder: Decoder,
}

/// Names and values of one header block, with the stream that it came on.
pub(crate) type Block = (u32, Vec<(String, String)>);

impl Shadow {
    pub(crate) fn new(header_table_size: u32) -> Self {
        Self {
            bytes: Vec::new(),
            block: Vec::new(),
            decoder: Decoder::new(header_table_size),
        }
    }

    /// The header blocks that end in `bytes`. The `h2` crate sends no padding and no priorities.
    pub(crate) fn handle(&mut self, bytes: &[u8]) -> Vec<Block> {
        self.bytes.extend_from_slice(bytes);
        let mut blocks = Vec::new();
        let mut at = 0;
        while let Some(&[a, b, c, kind, flags, d, e, f, g]) = self.bytes[at..].first_chunk() {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            let Some(payload) = self.bytes[at + 9..].get(..length) else {
                break;
            };
            at += 9 + length;
            if !matches!(kind, 1 | 9) {
                continue;
            }
            self.block.extend_from_slice(payload);
            if flags & 4 != 0 {
                let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
                let mut fields = Vec::new();
                let add = |name: &[u8], value: &[u8]| fields.push((text(name), text(value)));
                let decoded = self.decoder.decode(&self.block, add);
                assert_eq!(decoded, Ok(()));
                self.block.clear();
                blocks.push((u32::from_be_bytes([d, e, f, g]), fields));
            }
        }
        self.bytes.drain(..at);
        blocks
    }
}
