//! Samples the resource usage of servers, load engine and host.
//!
//! While a trial runs, one thread reads `/proc` and control groups on a fixed schedule. All
//! readings share one time axis, whose zero is the start of the measured window:
//!
//! ```text
//! Probe::start ─► first reading (the base of all counters) ─► a reading each period ─┐
//! Probe::stop  ◄─ Usage ◄─ last reading ◄────────────────────────────────────────────┘
//! ```
//!
//! The cost of a reading is part of what is measured, so expensive values are read less often;
//! [`Probe`] lists what is read when. The probe judges nothing; `audit` does.

mod addresses;
mod busiest;
mod counters;
mod diag;
mod file;
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod interfaces;
mod kernel;
mod limits;
mod machine;
mod member;
mod more;
mod netlink;
mod network;
mod parse;
mod probe;
mod queues;
mod quota;
mod sockets;
mod started;
mod tree;

pub use addresses::own_addresses;
pub use busiest::{ThreadTimes, busiest_thread};
pub use counters::{Counted, ask, counted};
pub use diag::TcpSocket;
pub use machine::{cpu_share_of_others, machine};
pub use network::{Network, within};
pub use probe::{Probe, ProbeError, ProbeOptions};
pub use quota::quota_cpus;
pub use sockets::{connected, listening};
pub use started::started_at;
pub use tree::TreeSource;
