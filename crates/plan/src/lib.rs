//! What to run: contenders, workloads and loads become trials in an order.
//!
//! A pure crate: it reads no file and no clock; text goes in and ready values come out.

mod model;
mod random;
mod schedule;

pub use model::*;
pub use random::Random;
pub use schedule::Schedule;
