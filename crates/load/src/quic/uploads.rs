//! What of requests has arrived at the server, for [`crate::greed`]: an acknowledgement that moves
//! an upload is no burden, and one that moves nothing is.
//!
//! quinn-proto says which packets arrived to its congestion control alone. So the one that it
//! would use by itself is wrapped in one that also notes them, for the thread. Nothing of what is
//! sent when is decided here.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};

/// Requests that were written on a connection and are not known to have arrived.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    bytes: u64,
}

impl Uploads {
    /// So many bytes of a request were written.
    #[inline]
    pub(super) fn wrote(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Packets of so many bytes were acknowledged. Returns how many of them may have been of
    /// requests: what a server has this side send beyond these, such as answers to its
    /// PATH_CHALLENGE, is none.
    #[inline]
    pub(super) fn arrived(&mut self, bytes: u64) -> u64 {
        let of_requests = bytes.min(self.bytes);
        self.bytes -= of_requests;
        of_requests
    }
}

thread_local! {
    static ACKNOWLEDGED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes of packets that servers acknowledged on this thread since the last call, each once.
#[inline]
pub(super) fn take_acknowledged() -> u64 {
    ACKNOWLEDGED.take()
}

/// quinn-proto's congestion control, which notes what is acknowledged.
pub(super) fn noting() -> Arc<dyn ControllerFactory + Send + Sync> {
    Arc::new(Noting(Arc::new(CubicConfig::default())))
}

struct Noting(Arc<CubicConfig>);

impl ControllerFactory for Noting {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Noted(self.0.clone().build(now, mtu)))
    }
}

struct Noted(Box<dyn Controller>);

impl Controller for Noted {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.0.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        ACKNOWLEDGED.set(ACKNOWLEDGED.get() + bytes);
        self.0.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let largest = largest_packet_num_acked;
        self.0.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let is_persistent = is_persistent_congestion;
        self.0
            .on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.0.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.0.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self(self.0.clone_box()))
    }

    fn initial_window(&self) -> u64 {
        self.0.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.0.into_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_arrives_than_was_written() {
        let mut uploads = Uploads::default();
        assert_eq!(uploads.arrived(1_200), 0, "nothing is on its way");
        uploads.wrote(2_000);
        uploads.wrote(500);
        assert_eq!(uploads.arrived(1_200), 1_200);
        assert_eq!(uploads.arrived(0), 0, "the same once more");
        assert_eq!(uploads.arrived(1_452), 1_300);
        assert_eq!(uploads.arrived(1_452), 0);
    }
}
