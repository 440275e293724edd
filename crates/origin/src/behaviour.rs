//! The seam for an upstream that is slow or faulty on demand.
//!
//! The loop asks a [`Behaviour`] once for each whole request. Today there is one answer to give;
//! a delay or a fault will be further [`Decision`]s, and the loop is compiled for each behaviour,
//! so that the immediate one costs nothing.

use crate::request::Request;

/// Decides what becomes of a request.
pub trait Behaviour: Clone + Send {
    /// Called once for each whole request, by one thread; each loop owns a clone.
    fn decide(&mut self, request: &Request) -> Decision;
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The whole answer, at once.
    Answer,
}

/// Answers every request at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Immediate;

impl Behaviour for Immediate {
    #[inline]
    fn decide(&mut self, _request: &Request) -> Decision {
        Decision::Answer
    }
}
