//! What one run of the engine is to do, as ready values.

use std::sync::Arc;
use std::time::Duration;

use bakeoff_plan::Load;

use crate::Target;

/// What one run of the engine is to do.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// Where requests go.
    pub target: Target,
    /// The request, encoded.
    pub request: Arc<[u8]>,
    /// Whether the request's method is `HEAD`, whose answer has no body.
    pub to_head_request: bool,
    /// Model, warm-up, duration and timeout.
    pub load: Load,
    /// End when so many requests have ended, or after the duration, whichever comes first.
    pub requests: Option<u64>,
    /// Close a connection after so many requests.
    pub requests_per_connection: Option<u32>,
    /// Threads of the engine; each owns its share of the connections.
    pub threads: u32,
    /// Processors that the threads are pinned to in turn; none when empty.
    pub pin: Vec<usize>,
    /// Seed of the open loop's schedule.
    pub seed: u64,
    /// What a right answer is.
    pub expect: Expect,
    /// Gap between the starts of two connections at the beginning. Ten thousand in one
    /// millisecond overflow every accept queue and measure the kernel's SYN timer.
    pub ramp_gap: Duration,
    /// Rest of a client after its connection failed, before the next attempt. Without it a
    /// closed loop turns a refusal into as many requests as the processor can make.
    pub retry_pause: Duration,
    /// Length of the parts that the window is cut into.
    pub interval: Duration,
}

impl LoadSpec {
    /// Gap between the starts of two connections, unless another is asked for.
    pub const RAMP_GAP: Duration = Duration::from_micros(50);
    /// Rest after a failed connection, unless another is asked for.
    pub const RETRY_PAUSE: Duration = Duration::from_millis(10);

    /// Parts of a window of this length: tenths of a second below ten seconds, else seconds.
    pub fn interval_for(duration: Duration) -> Duration {
        let long = duration >= Duration::from_secs(10);
        if long {
            Duration::from_secs(1)
        } else {
            Duration::from_millis(100)
        }
    }
}

/// What a right answer is.
#[derive(Debug, Clone)]
pub struct Expect {
    /// Status.
    pub status: ExpectedStatus,
    /// Body; `None` accepts any.
    pub body: Option<Arc<[u8]>>,
    /// Which bodies are compared byte by byte; the length is compared always.
    pub check: BodyCheck,
}

/// Which status comes out as `ok`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedStatus {
    /// Any from 200 to 399.
    Success,
    /// This one only.
    Exactly(u16),
}

impl ExpectedStatus {
    /// Whether `status` comes out as `ok`.
    #[inline]
    pub fn accepts(self, status: u16) -> bool {
        match self {
            Self::Success => (200..400).contains(&status),
            Self::Exactly(expected) => status == expected,
        }
    }
}

/// Which bodies are compared byte by byte with the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyCheck {
    /// Every one.
    All,
    /// The first on each thread, and one in so many after it.
    OneIn(u32),
}
