//! The seam for an upstream that is slow or faulty on demand.
//!
//! The loop asks a [`Behaviour`] once for each whole request, and is compiled for each behaviour:
//! timers, pieces and faults are left out of the loop of one that answers at once.

use std::time::Instant;

use bakeoff_plan::SlowBody;

use crate::options::Reply;
use crate::request::Request;

/// Decides what becomes of a request.
pub trait Behaviour: Clone + Send {
    /// Whether it ever decides for an [`Act`].
    const ACTS: bool;

    /// Called once for each whole request, by one thread; each loop owns a clone.
    fn decide(&mut self, request: &Request) -> Decision;

    /// What it answers besides `reply`: what [`Act::reply`] counts through.
    fn replies(&self, reply: &Reply) -> Vec<Reply> {
        let _ = reply;
        Vec::new()
    }

    /// Called by the control listener: to behave, or to answer at once until called again.
    fn behave(&self, begin: bool) {
        let _ = begin;
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The whole answer, at once.
    Answer,
    /// Anything else.
    Act(Act),
}

/// An answer that is late, slow, another one or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Act {
    /// When it begins; `None` at once.
    pub begin_at: Option<Instant>,
    /// Which of [`Behaviour::replies`] it is; `None` the one to every request.
    pub reply: Option<u16>,
    /// How it ends.
    pub ending: Ending,
    /// Its body in pieces, the first of them with the head; `None` as fast as the client takes it.
    pub slow_body: Option<SlowBody>,
    /// Whether it is an answer with the status of an error.
    pub is_error: bool,
    /// What the limit of workers did to it.
    pub queueing: Queueing,
}

/// What a limit of workers did to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queueing {
    /// There was a worker for it.
    None,
    /// It waits for one, as one of so many.
    Among(u64),
    /// There was no room to wait.
    Refused,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Whole.
    Whole,
    /// Half way through its body, or its head if it has none, the connection is closed.
    Closed,
    /// It does not come: the connection is reset.
    Reset,
}

/// Answers every request at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Immediate;

impl Behaviour for Immediate {
    const ACTS: bool = false;

    #[inline]
    fn decide(&mut self, _request: &Request) -> Decision {
        Decision::Answer
    }
}
