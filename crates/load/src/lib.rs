//! The load engine: sends requests and times them.
//!
//! ```text
//! LoadSpec ─► run ─► a thread per core: Loop { [Slot], Thread { Driver, Pace, Ledger, .. } }
//!                      │ Slot: Spare ─► Connecting ─► Shaking ─► Ready(Link)
//!                      │ Link: Serial (HTTP/1.1) | Streams (HTTP/2) | Quic (HTTP/3)
//!                      │ bytes ─► wire ─► answers ─► Ledger
//!                      └ clock ─► Pace ─► when the next request begins
//!                 ─► Counts of every thread, merged ─► LoadResult
//! ```
//!
//! Each thread has one event loop, on epoll. Connections never move to another thread. The engine
//! allocates, locks and logs nothing per request. The display reads the counters of [`Control`],
//! which the engine writes ten times a second; it never changes what the engine does.

mod agenda;
mod answers;
mod body;
mod choice;
mod clock;
mod control;
mod driver;
mod end;
mod engine;
mod flight;
mod flights;
mod gathering;
mod greed;
mod lanes;
mod ledger;
mod lengths;
mod limits;
mod line;
mod link;
mod meeting;
mod pace;
mod pulse;
mod quic;
mod result;
mod sent;
mod share;
mod slot;
mod socket;
mod spec;
mod supply;
mod target;
mod thread;
mod timers;
mod tls;
mod turn;
mod usage;
mod ways;
#[cfg(test)]
mod weighed;
mod work;

pub use bakeoff_wire::h1::{Request, RequestError};
pub use bakeoff_wire::{h2, h3};
pub use clock::now as monotonic_ns;
pub use control::Control;
pub use engine::run;
pub use ledger::{Logged, Noted};
pub use limits::{Shortage, check_clients, check_open_files};
pub use pulse::{Live, Reading};
pub use share::Part;
pub use spec::{
    BodyCheck, ConnectionUse, Exchange, ExpectedStatus, LoadSpec, Order, Pacing, Speaking, Threads,
    Waiting,
};
pub use target::{ConnectTo, Endpoint, Target, TargetError, shown_url};
pub use tls::{Pem, PemFile, PemProblem, TlsSettings, TlsSetupError, TlsVersions, Trust};

/// Why a load could not be carried out at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The kernel refused an epoll instance.
    #[error("failed to create an epoll instance: {0}")]
    Poll(#[source] std::io::Error),
    /// A thread could not be started.
    #[error("failed to start an engine thread: {0}")]
    Thread(#[source] std::io::Error),
    /// A thread of the engine panicked: a defect of bakeoff.
    #[error("an engine thread panicked; this is a defect of bakeoff, please report it")]
    Panicked,
    /// The processors asked for cannot be used.
    #[error("failed to pin the engine to processors {cpus:?}: {source}")]
    Pin {
        /// Processors asked for.
        cpus: Vec<usize>,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// TLS cannot be set up as asked.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    /// This machine's limits do not allow it.
    #[error(transparent)]
    Shortage(#[from] Shortage),
}
