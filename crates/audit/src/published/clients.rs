//! How many requests the clients of a row can have in flight.

use bakeoff_published::{Hidden, Row};

use super::rig::Rig;

/// The clients of a row, and the requests that each may have in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clients {
    /// How many there are, where that is known.
    pub(super) count: Option<f64>,
    /// Requests that each may have in flight, where that is known.
    streams: Option<f64>,
    /// Why each may have more in flight than its row says.
    hidden: Option<Hidden>,
}

impl Clients {
    pub(super) fn of(row: &Row, rig: &Rig) -> Self {
        let count = row.load.clients.or(rig.clients);
        Self {
            count: count.filter(|count| *count > 0.0),
            streams: row.load.streams.or(rig.streams),
            hidden: row.load.hidden,
        }
    }

    /// Requests that they can have in flight together.
    pub(super) fn in_flight_most(&self) -> Option<f64> {
        Some(self.count? * self.streams.unwrap_or(1.0))
    }

    /// Requests that they have in flight together at least while all are busy: a batch is as long
    /// as its longest request, and that one may be alone.
    pub(super) fn in_flight_least(&self) -> Option<f64> {
        match self.hidden {
            Some(Hidden::Batches) => self.count,
            _ => self.in_flight_most(),
        }
    }

    /// Whether each may have had more requests in flight than is known.
    pub(super) fn are_streams_hidden(&self) -> bool {
        self.hidden.is_some() && self.streams.is_none()
    }
}
