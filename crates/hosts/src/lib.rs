//! Other hosts: how to reach them, and the messages to and from their agents.
//!
//! ```text
//! home                                                  host
//! Way ─► Session ─► child (ssh, kubectl, ...) ═ pipes ═► bakeoff agent
//!          │ frames: Order, asks ────────────────────────► Agent ─► the code that carries it out
//!          ◄─────────────────────── frames: Report, answers
//! ```
//!
//! A host is anything that connects the standard input and output of a program that runs there. The
//! program is bakeoff itself. It is copied to the host if no copy with the right digest is there.
//! The agent greets with one line; from then on both sides send [`Frame`]s. Each side gives the
//! other up after some seconds of silence, because a broken link alone does not end the input.
//!
//! This crate knows nothing of loads, servers, plans and records. What is asked about them and what
//! is answered passes through as JSON, each in one frame.

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
mod patience;
mod pods;
mod session;
mod start;
mod upload;
mod way;

pub use agent::{Agent, Heard, Outbox};
pub use clock::{ClockOffset, Exchange, monotonic_ns};
pub use copies::copies;
pub use digest::{Digest, Own, own_program};
pub use error::{Cause, HostError};
pub use frame::{FRAME_BYTES_MAX, Frame, FrameError, FrameReader, write_frame};
pub use greeting::{Greeting, GreetingError, GreetingReader};
pub use lease::{Lease, SILENCE_MAX};
pub use lock::{HostLock, LockError};
pub use message::{Fits, Hello, Order, Report};
pub use patience::{COMING_MAX, Patience};
pub use pods::{Pod, pods, read_pods};
pub use session::{Session, Stop};
pub use start::open;
pub use way::{Place, Way};
