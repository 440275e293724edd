//! The streams of a connection that have to wait: for the rest of a request, for a window, for
//! room to write, or for their time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use bakeoff_wire::h2::ErrorCode;

use super::window::Received;
use crate::delivery::Delivery;
use crate::request::Method;

/// Streams that a client may have open at once.
pub(super) const STREAMS_MAX: usize = 1024;
/// Largest window (RFC 9113, 6.9.1).
const WINDOW_MAX: i64 = (1 << 31) - 1;

/// One such stream.
#[derive(Debug)]
pub(super) struct Stream {
    /// What the client lets through on it, bytes; below 0 after it has shrunk its windows.
    pub(super) window: i64,
    pub(super) received: Received,
    /// The method of a request whose body has not ended.
    pub(super) request: Option<Method>,
    pub(super) delivery: Option<Delivery>,
    /// Whether it stands among those that can go on.
    is_ready: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: BTreeMap<u32, Stream>,
    /// Those that can go on, in the order of their turns.
    ready: VecDeque<u32>,
    /// Those that wait for their time.
    waiting: BTreeSet<(Instant, u32)>,
}

impl Streams {
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.streams.len() >= STREAMS_MAX
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        self.streams.get_mut(&id)
    }

    /// A stream that begins with a window of `window` bytes.
    pub(super) fn open(&mut self, id: u32, window: i64) -> &mut Stream {
        self.streams.entry(id).or_insert(Stream {
            window,
            received: Received::default(),
            request: None,
            delivery: None,
            is_ready: false,
        })
    }

    /// Forgets a stream, wherever it stands.
    pub(super) fn close(&mut self, id: u32) {
        let Some(stream) = self.streams.remove(&id) else {
            return;
        };
        if stream.is_ready {
            self.ready.retain(|other| *other != id);
        }
        let wake_at = stream.delivery.and_then(|delivery| delivery.wake_at());
        if let Some(at) = wake_at {
            self.waiting.remove(&(at, id));
        }
    }

    /// Gives a stream its answer.
    pub(super) fn deliver(&mut self, id: u32, delivery: Delivery) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.delivery = Some(delivery);
        }
        match delivery.wake_at() {
            Some(at) => self.wait(id, at),
            None => self.make_ready(id),
        }
    }

    /// A stream goes on at `at`.
    pub(super) fn wait(&mut self, id: u32, at: Instant) {
        self.waiting.insert((at, id));
    }

    /// When the first one goes on that waits for its time.
    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.first().map(|(at, _)| *at)
    }

    /// Those whose time has come can go on.
    pub(super) fn wake(&mut self, now: Instant) {
        while let Some((at, id)) = self.waiting.first().copied()
            && at <= now
        {
            self.waiting.pop_first();
            let stream = self.streams.get_mut(&id);
            if let Some(delivery) = stream.and_then(|stream| stream.delivery.as_mut()) {
                delivery.wake();
            }
            self.make_ready(id);
        }
    }

    /// A stream takes its place among those that can go on, unless it waits for something else.
    pub(super) fn make_ready(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(&id)
            && stream.delivery.is_some_and(|it| it.wake_at().is_none())
            && !std::mem::replace(&mut stream.is_ready, true)
        {
            self.ready.push_back(id);
        }
    }

    /// The stream whose turn it is.
    pub(super) fn take_ready(&mut self) -> Option<u32> {
        let id = self.ready.pop_front()?;
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.is_ready = false;
        }
        Some(id)
    }

    /// Whether one of them can go on.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Opens the window of a stream; one that is closed is left alone.
    pub(super) fn widen(&mut self, id: u32, by: u32) -> Result<(), ErrorCode> {
        let Some(stream) = self.streams.get_mut(&id) else {
            return Ok(());
        };
        stream.window += i64::from(by);
        if stream.window > WINDOW_MAX {
            return Err(ErrorCode::FLOW_CONTROL_ERROR);
        }
        self.make_ready(id);
        Ok(())
    }

    /// Moves all windows, as the client's settings have changed.
    pub(super) fn shift(&mut self, by: i64) -> Result<(), ErrorCode> {
        for stream in self.streams.values_mut() {
            stream.window += by;
            if stream.window > WINDOW_MAX {
                return Err(ErrorCode::FLOW_CONTROL_ERROR);
            }
        }
        let ids: Vec<u32> = self.streams.keys().copied().collect();
        ids.into_iter().for_each(|id| self.make_ready(id));
        Ok(())
    }
}
