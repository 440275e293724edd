//! What the loop needs to know of a connection, whatever it speaks.

use std::os::fd::OwnedFd;
use std::time::Instant;

use crate::answer::Answers;
use crate::behaviour::Behaviour;
use crate::counts::Counters;
use crate::play::Plays;
use crate::replies::Replies;
use crate::request::Memo;
use crate::tls::Room;
use crate::{h2, h3};

/// What all connections of a thread share.
pub(crate) struct Shared<'a, B> {
    pub(crate) answers: &'a Answers,
    pub(crate) counters: &'a Counters,
    pub(crate) behaviour: B,
    pub(crate) memo: Memo,
    pub(crate) plays: Plays,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) room: Room,
    /// The answers on streams.
    pub(crate) replies: &'a Ready,
    /// What is written on streams before it is sent.
    pub(crate) out: Vec<u8>,
}

/// The answers of the protocols that have streams, made ready for the one that is spoken.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    pub(crate) h2: Replies<h2::Ready>,
    pub(crate) h3: Replies<h3::Ready>,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Bytes from the client.
    Readable,
    /// Room for the rest of an answer.
    Writable,
    /// The time at which its answer goes on, and nothing else.
    Timer,
    /// Nothing: it is to be closed.
    Close,
}

/// A connection that a loop drives.
pub(crate) trait Driven<B: Behaviour>: Sized {
    /// A connection over a socket just accepted; `None` if it cannot be made.
    fn new(socket: OwnedFd, shared: &Shared<'_, B>) -> Option<Self>;

    /// The socket.
    fn socket(&self) -> &OwnedFd;

    /// What it is registered for.
    fn registered(&mut self) -> &mut Wait;

    /// When a connection that has sent everything must go.
    fn lingers_until(&self) -> Option<Instant>;

    /// Whether time is all that it waits for, so that what comes meanwhile is not read.
    fn is_deaf(&self, shared: &Shared<'_, B>) -> bool;

    /// When it wants to be woken, if the loop does not know of that time yet.
    fn alarm(&mut self, shared: &Shared<'_, B>) -> Option<Instant>;

    /// Whether it wants to be woken for the time `at`, which has come.
    fn is_due(&mut self, shared: &Shared<'_, B>, at: Instant) -> bool;

    /// Goes on with whatever the connection was doing.
    fn proceed(&mut self, shared: &mut Shared<'_, B>) -> Wait;

    /// Goes on with what was to be done by `now`.
    fn wake(&mut self, shared: &mut Shared<'_, B>, now: Instant) -> Wait;
}
