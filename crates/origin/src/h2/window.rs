//! What a client may send before its windows grow (RFC 9113, 6.9).
//!
//! Bodies are thrown away as they come, so the windows are as large as is useful, and are opened
//! again when half of them is used up.

use bakeoff_wire::h2::frame;

/// Window of a connection, and of each stream, bytes.
pub(super) const BYTES: u32 = 1 << 30;

/// One such window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Received(u32);

impl Received {
    /// Takes `bytes` that came on `stream`, and appends a window update when it is time. As
    /// that is granted before the window is used up, no client can overrun it.
    pub(super) fn take(&mut self, bytes: usize, stream: u32, out: &mut Vec<u8>) {
        self.0 += bytes as u32;
        if self.0 >= BYTES / 2 {
            frame::write_window_update(stream, self.0, out);
            self.0 = 0;
        }
    }
}
