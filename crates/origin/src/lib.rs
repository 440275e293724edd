//! The built-in server: the upstream behind proxies (the origin), and the reference server (the
//! yardstick).
//!
//! Both are the same program with another name, so what is measured of one holds for the other. It
//! counts requests, and gives fixed answers that were encoded once. It speaks one protocol:
//! HTTP/1.1, HTTP/2 or HTTP/3. The yardstick takes the place of a contender and shows the fastest
//! answer that this machine can give.
//!
//! ```text
//! accept4 ─► Link ─► RequestReader ─► Behaviour ─► encoded answer ─► Link ─► recv ...
//!            (socket  (h1: bytes only) (the seam)   (chosen, not built)
//!            or TLS)   or h2::Session
//! UDP ─────► quinn-proto ─► h3::RequestReader ─► the same
//! ```
//!
//! Each protocol has a loop of its own, compiled for it alone, so that no protocol pays for
//! another. The HTTP/1.1 loop also serves web servers that use it as a FastCGI application, as they
//! would PHP: see [`fastcgi`].
//!
//! [`OnDemand`] turns the origin into an upstream that is slow, faulty or short of workers. It
//! keeps a delayed answer with its connection, and a timer of the loop begins it, so that nothing
//! else waits.
//!
//! Deliberately missing: two versions of HTTP at once, client certificates, files, routing, logs,
//! time limits for idle connections (except over HTTP/3, where nothing else shows that a client is
//! gone), and a `Date` header. RFC 9110 asks a server with a clock for one; it would be the only
//! part of an answer that changes.
//!
//! Counts are reported on a listener of their own, see [`counts`], so that a query is not counted.

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
mod halt;
mod heads;
mod link;
mod options;
mod play;
mod queue;
mod replies;
mod request;
mod serve;
mod timers;
mod tls;
mod worker;

pub use behaviour::{Act, Behaviour, Decision, Ending, Immediate, Queueing};
pub use control::{ControlError, behave, counts, restart};
pub use counts::Counts;
pub use demand::{OnDemand, Orders};
pub use h2::answer as answer_h2;
pub use h3::{Refused as H3Refused, RequestReader as H3RequestReader, Sections as H3Sections};
pub use options::{Certificate, Name, OriginError, Reply, ServeOptions};
pub use request::{MAX_HEAD_BYTES, Memo, Method, Refusal, Request, RequestReader, Step, Version};
pub use serve::{serve, serve_with};
