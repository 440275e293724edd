//! Other hosts: how to reach them, and the messages to and from their agents.
//!
//! ```text
//! home                                                  host
//! Way ─► Session ─► child (ssh, kubectl, ...) ═ pipes ═► bakeoff agent
//!          │ frames: Order ──────────────────────────────► Agent ─► the code that carries it out
//!          ◄──────────────────────────────── frames: Report
//! ```
//!
//! A host is anything that connects the standard input and output of a program that runs there. The
//! program is bakeoff itself. It is copied to the host if no copy with the right digest is there.
//! The agent greets with one line; from then on both sides send [`Frame`]s. Each side gives the
//! other up after some seconds of silence, because a broken link alone does not end the input.
//!
//! This crate knows nothing of loads, servers, plans and records. Their messages pass through as
//! JSON.

mod agent;
mod clock;
mod copies;
mod digest;
mod error;
mod frame;
mod greeting;
mod image;
mod lease;
mod lock;
mod message;
mod parcel;
mod patience;
mod pods;
mod session;
mod start;
mod upload;
mod way;

pub use agent::{Agent, Heard, Outbox};
pub use clock::{ClockOffset, Exchange, monotonic_ns};
pub use copies::copies;
pub use digest::{Digest, own_program};
pub use error::{Cause, HostError};
pub use frame::{FRAME_BYTES_MAX, Frame, FrameError, FrameReader, write_frame};
pub use greeting::{Greeting, GreetingError, GreetingReader};
pub use lease::{Lease, SILENCE_MAX};
pub use lock::{HostLock, LockError};
pub use message::{Order, Report};
pub use parcel::{FILES_BYTES_MAX, FILES_MAX, Parcel, ParcelReader, in_parts};
pub use patience::{COMING_MAX, Patience};
pub use pods::{Pod, pods, read_pods};
pub use session::{Session, Stop};
pub use start::{Own, open};
pub use way::{Place, Way};
