//! The built-in upstream and yardstick server.
//!
//! Both are one server: fixed answers that were encoded once, and counters. It speaks one
//! [`Protocol`], HTTP/1.1, HTTP/2 or HTTP/3. The origin stands behind proxies; the yardstick stands
//! in a contender's place and shows the fastest answer that this machine can give. They differ in
//! name only, so that what is measured of one holds for the other.
//!
//! ```text
//! accept4 ─► Link ─► RequestReader ─► Behaviour ─► encoded answer ─► Link ─► recv ...
//!            (socket  (h1: bytes only) (the seam)   (chosen, not built)
//!            or TLS)   or h2::Session
//! UDP ─────► quinn-proto ─► h3::RequestReader ─► the same
//! ```
//!
//! A loop is compiled for what it speaks, so that none pays for another. The one for HTTP/1.1 also
//! answers web servers that ask it as a FastCGI application, as they ask PHP: see [`fastcgi`].
//!
//! [`OnDemand`] makes of the origin an upstream that is slow, faulty or short of workers: an answer
//! that is not to come at once is kept with its connection, and a timer of its loop begins it, so
//! that nothing else waits for it.
//!
//! What the server deliberately does not do: two versions of HTTP at once, client certificates,
//! files, routing, logs, time limits for idle connections (but over HTTP/3, where nothing else
//! shows that a client is gone), and a `Date` header (RFC 9110 asks for one where a clock is at
//! hand; it would be the only part of an answer that changes).
//!
//! Counts are reported on a separate listener, see [`counts`], so that asking takes no part in
//! what is counted.

mod answer;
mod behaviour;
mod certificate;
mod chunks;
mod connection;
mod control;
mod counts;
mod delay;
mod delivery;
mod demand;
mod driven;
mod fastcgi;
mod h2;
mod h3;
mod heads;
mod link;
mod options;
mod play;
mod queue;
mod random;
mod replies;
mod request;
mod serve;
mod timers;
mod tls;
mod worker;

pub use behaviour::{Act, Behaviour, Decision, Ending, Immediate, Queueing, SlowBody};
pub use certificate::Certificate;
pub use control::{ControlError, behave, counts};
pub use counts::Counts;
pub use delay::Delay;
pub use demand::{Demand, OnDemand};
pub use h2::answer as answer_h2;
pub use h3::{Refused as H3Refused, RequestReader as H3RequestReader, Sections as H3Sections};
pub use options::{Name, OriginError, Protocol, Reply, ServeOptions};
pub use request::{MAX_HEAD_BYTES, Memo, Method, Refusal, Request, RequestReader, Step, Version};
pub use serve::{serve, serve_with};
