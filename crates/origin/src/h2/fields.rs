//! Header blocks of a connection (RFC 7541), and the last one that was understood.

use bakeoff_wire::h2::ErrorCode;
use bakeoff_wire::h2::hpack::{DEFAULT_TABLE_BYTES, Decoder};

use crate::heads::Head;
use crate::request::Method;

/// Longest block that is compared with the last one, bytes.
const MEMO_BYTES_MAX: usize = 256;
/// Longest block, over all its frames, bytes.
const BLOCK_BYTES_MAX: usize = 64 * 1024;
/// Frames that a block may come in.
const FRAMES_MAX: u32 = 64;

/// Reads the blocks of one connection, in their order.
#[derive(Debug)]
pub(super) struct Fields {
    decoder: Decoder,
    /// A block that left the table as it was, and what it meant; a client under load sends the
    /// same again and again.
    memo: Vec<u8>,
    /// The table's version that it was read with.
    version: u32,
    meaning: Option<Method>,
    /// A block whose end has not come.
    open: Option<Open>,
}

/// A block that goes on in another frame.
#[derive(Debug)]
struct Open {
    stream: u32,
    ends_stream: bool,
    block: Vec<u8>,
    frames: u32,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            decoder: Decoder::new(DEFAULT_TABLE_BYTES),
            memo: Vec::new(),
            version: 0,
            meaning: None,
            open: None,
        }
    }
}

impl Fields {
    /// Whether a block has begun and not ended.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The method that a whole block says; `None` if it is no request's.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Option<Method>, ErrorCode> {
        if self.version == self.decoder.version() && !block.is_empty() && self.memo == block {
            return Ok(self.meaning);
        }
        self.decode(block)
    }

    fn decode(&mut self, block: &[u8]) -> Result<Option<Method>, ErrorCode> {
        let before = self.decoder.version();
        let mut head = Head::default();
        let read = self
            .decoder
            .decode(block, |name, value| head.field(name, value));
        read.map_err(|_| ErrorCode::COMPRESSION_ERROR)?;
        let method = head.method();
        if before == self.decoder.version() && block.len() <= MEMO_BYTES_MAX {
            self.memo.clear();
            self.memo.extend_from_slice(block);
            (self.version, self.meaning) = (before, method);
        }
        Ok(method)
    }

    /// Keeps the start of a block.
    pub(super) fn begin(&mut self, stream: u32, ends_stream: bool, part: &[u8]) {
        self.open = Some(Open {
            stream,
            ends_stream,
            block: part.to_vec(),
            frames: 1,
        });
    }

    /// Takes more of a block; at its end, whose it is, whether the stream ends with it, and what
    /// it says.
    pub(super) fn go_on(
        &mut self,
        stream: u32,
        part: &[u8],
        is_last: bool,
    ) -> Result<Option<(bool, Option<Method>)>, ErrorCode> {
        let open = self.open.as_mut().filter(|open| open.stream == stream);
        let open = open.ok_or(ErrorCode::PROTOCOL_ERROR)?;
        open.frames += 1;
        if open.frames > FRAMES_MAX || open.block.len() + part.len() > BLOCK_BYTES_MAX {
            return Err(ErrorCode::ENHANCE_YOUR_CALM);
        }
        open.block.extend_from_slice(part);
        if !is_last {
            return Ok(None);
        }
        let Some(open) = self.open.take() else {
            return Ok(None);
        };
        let method = self.read(&open.block)?;
        Ok(Some((open.ends_stream, method)))
    }
}
