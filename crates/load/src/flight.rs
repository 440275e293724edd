//! A request on its way, and what is known of it since it began.

use crate::body::BodyComparison;

/// Where a request comes from. Times are nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin {
    /// When it began: it was due, and there was a place for it, though perhaps no connection yet.
    pub(crate) began: u64,
    /// When it was due; the time it was sent in a closed loop.
    pub(crate) intended: u64,
    /// Which exchange it is of.
    pub(crate) exchange: u32,
    /// Whether its answer's body is compared byte by byte.
    pub(crate) check: bool,
    /// Whether no place was free when it was due.
    pub(crate) was_short: bool,
    /// Whether it was sent as the first of its connection.
    pub(crate) is_first: bool,
}

/// A request that has begun. Times are nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    pub(crate) origin: Origin,
    /// When it was sent first; 0 before.
    pub(crate) sent: u64,
    /// When the first byte of its answer was read; 0 before.
    pub(crate) first_byte: u64,
    pub(crate) body: BodyComparison,
}

impl Flight {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            origin,
            sent: 0,
            first_byte: 0,
            body: BodyComparison::start(origin.check),
        }
    }
}
