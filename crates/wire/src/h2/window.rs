//! Flow control (RFC 9113, 5.2 and 6.9).

use super::Violation;

/// Size of every window before anything was agreed on, bytes.
pub(super) const DEFAULT_BYTES: u32 = 65_535;
/// Largest window, bytes.
pub(super) const MAX_BYTES: u32 = (1 << 31) - 1;

/// What the server may still send.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveWindow {
    left: u32,
}

impl ReceiveWindow {
    pub(super) fn new(bytes: u32) -> Self {
        Self { left: bytes }
    }

    /// Takes a frame's payload out of the window.
    #[inline]
    pub(super) fn take(&mut self, bytes: u32) -> Result<(), Violation> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or(Violation::WindowExceeded)?;
        Ok(())
    }

    /// What to enlarge the window by: all that was taken, once it is half of `size` or more. So
    /// a server never waits for a window that the client could have opened, and updates are few.
    #[inline]
    pub(super) fn refill(&mut self, size: u32) -> Option<u32> {
        let used = size.saturating_sub(self.left);
        if used == 0 || used < size / 2 {
            return None;
        }
        self.left = size;
        Some(used)
    }
}

/// What this side may still send; a change of settings can make it negative.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendWindow {
    left: i32,
}

impl SendWindow {
    pub(super) fn new(bytes: u32) -> Self {
        Self {
            left: i32::try_from(bytes).unwrap_or(i32::MAX),
        }
    }

    /// Bytes that may be sent now.
    #[inline]
    pub(super) fn left(self) -> u32 {
        self.left.max(0) as u32
    }

    /// Takes what is sent, at most [`left`](Self::left).
    #[inline]
    pub(super) fn take(&mut self, bytes: u32) {
        self.left = self.left.saturating_sub_unsigned(bytes);
    }

    /// Enlarges the window, or makes it smaller, by `bytes`.
    pub(super) fn change(&mut self, bytes: i64) -> Result<(), Violation> {
        let left = i64::from(self.left) + bytes;
        if left > i64::from(MAX_BYTES) {
            return Err(Violation::WindowOverflow);
        }
        // No sequence of settings gets below this: the sum of changes is at least -(2^31-1).
        self.left = i32::try_from(left).unwrap_or(i32::MIN);
        Ok(())
    }
}
