//! What the server has seen so far.
//!
//! Each event loop owns one set of counters and is the only one to write it, so counting is a plain
//! addition; the control listener reads all sets and adds them up. A request is counted before its
//! answer is sent, so a client that has an answer finds it counted.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Counts since the start of the server. The first five carry the names of the record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests answered.
    pub requests: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Requests that came as HTTP/1.0.
    pub http_1_0: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Requests that came as HTTP/1.1.
    pub http_1_1: u64,
    /// Requests that came as HTTP/2.
    pub http_2: u64,
    /// Requests that came as HTTP/3.
    pub http_3: u64,
    /// Requests that left their connection open.
    pub keep_alive: u64,
    /// Requests that ended their connection.
    pub close: u64,
    /// GET requests.
    pub get: u64,
    /// HEAD requests.
    pub head: u64,
    /// POST requests.
    pub post: u64,
    /// Requests by any other method.
    pub other_methods: u64,
    /// Connections open now.
    pub connections_open: u64,
    /// Connections closed.
    pub connections_closed: u64,
    /// What came instead of a request and was refused (400, 431).
    pub bad_requests: u64,
    /// Times that a connection could not be accepted for want of files or memory.
    pub accept_errors: u64,
    /// Requests whose answer was to begin later.
    pub delayed: u64,
    /// Requests answered with the status of an error, on demand.
    pub errors: u64,
    /// Requests whose connection was reset, on demand.
    pub resets: u64,
    /// Requests whose connection was closed half way, on demand.
    pub closes: u64,
    /// Requests whose body went in pieces.
    pub slow_bodies: u64,
    /// Requests that had to wait for a worker.
    pub queued: u64,
    /// Requests that there was no room to wait for.
    pub queue_full: u64,
    /// Most requests that waited for a worker at once, since the start.
    pub queued_max: u64,
}

impl Counts {
    /// What was added since `earlier`; `connections_open` and `queued_max` stay what they
    /// are now.
    pub fn since(&self, earlier: &Self) -> Self {
        let (mut added, mut before) = (*self, *earlier);
        for (now, then) in added.totals().into_iter().zip(before.totals()) {
            *now = now.saturating_sub(*then);
        }
        added
    }

    /// Adds the counts of another loop.
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.connections_open += other.connections_open;
        self.queued_max = self.queued_max.max(other.queued_max);
        for (mine, theirs) in self.totals().into_iter().zip(other.totals()) {
            *mine += *theirs;
        }
    }

    /// Everything that only ever grows.
    fn totals(&mut self) -> [&mut u64; 24] {
        [
            &mut self.requests,
            &mut self.connections,
            &mut self.http_1_0,
            &mut self.bytes_read,
            &mut self.bytes_written,
            &mut self.http_1_1,
            &mut self.http_2,
            &mut self.http_3,
            &mut self.keep_alive,
            &mut self.close,
            &mut self.get,
            &mut self.head,
            &mut self.post,
            &mut self.other_methods,
            &mut self.connections_closed,
            &mut self.bad_requests,
            &mut self.accept_errors,
            &mut self.delayed,
            &mut self.errors,
            &mut self.resets,
            &mut self.closes,
            &mut self.slow_bodies,
            &mut self.queued,
            &mut self.queue_full,
        ]
    }
}

/// The counters of one loop, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub(crate) requests: Counter,
    pub(crate) http_1_0: Counter,
    pub(crate) http_2: Counter,
    pub(crate) http_3: Counter,
    pub(crate) close: Counter,
    pub(crate) head: Counter,
    pub(crate) post: Counter,
    pub(crate) other_methods: Counter,
    pub(crate) bytes_read: Counter,
    pub(crate) bytes_written: Counter,
    pub(crate) connections: Counter,
    pub(crate) connections_closed: Counter,
    pub(crate) bad_requests: Counter,
    pub(crate) accept_errors: Counter,
    pub(crate) delayed: Counter,
    pub(crate) errors: Counter,
    pub(crate) resets: Counter,
    pub(crate) closes: Counter,
    pub(crate) slow_bodies: Counter,
    pub(crate) queued: Counter,
    pub(crate) queue_full: Counter,
    pub(crate) queued_max: Counter,
}

impl Counters {
    /// The counts as they stand. What is derived cannot go below 0, even while requests go on.
    pub(crate) fn snapshot(&self) -> Counts {
        // Parts are read before their totals, which are raised first.
        let (http_1_0, close) = (self.http_1_0.value(), self.close.value());
        let (http_2, http_3) = (self.http_2.value(), self.http_3.value());
        let (head, post) = (self.head.value(), self.post.value());
        let other_methods = self.other_methods.value();
        let requests = self.requests.value();
        let connections_closed = self.connections_closed.value();
        let connections = self.connections.value();
        Counts {
            requests,
            connections,
            http_1_0,
            bytes_read: self.bytes_read.value(),
            bytes_written: self.bytes_written.value(),
            http_1_1: requests.saturating_sub(http_1_0 + http_2 + http_3),
            http_2,
            http_3,
            keep_alive: requests.saturating_sub(close),
            close,
            get: requests.saturating_sub(head + post + other_methods),
            head,
            post,
            other_methods,
            connections_open: connections.saturating_sub(connections_closed),
            connections_closed,
            bad_requests: self.bad_requests.value(),
            accept_errors: self.accept_errors.value(),
            delayed: self.delayed.value(),
            errors: self.errors.value(),
            resets: self.resets.value(),
            closes: self.closes.value(),
            slow_bodies: self.slow_bodies.value(),
            queued: self.queued.value(),
            queue_full: self.queue_full.value(),
            queued_max: self.queued_max.value(),
        }
    }
}

/// A number with one writer and any number of readers.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`; called by one thread only, so no locked instruction is needed.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0
            .store(self.0.load(Ordering::Relaxed) + n, Ordering::Release);
    }

    /// Raises it to `n`, if it is lower; called by one thread only.
    pub(crate) fn raise_to(&self, n: u64) {
        if n > self.0.load(Ordering::Relaxed) {
            self.0.store(n, Ordering::Release);
        }
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_the_difference() {
        let counters = Counters::default();
        counters.connections.add(2);
        counters.requests.add(3);
        counters.http_1_0.add(1);
        let before = counters.snapshot();
        counters.requests.add(4);
        counters.connections_closed.add(1);
        let added = counters.snapshot().since(&before);
        assert_eq!((added.requests, added.http_1_0, added.http_1_1), (4, 0, 4));
        assert_eq!((added.connections, added.connections_open), (0, 1));
    }
}
