//! A limit of workers: who is served when, worked out as each request comes.
//!
//! Requests are taken in order and how long each takes is known beforehand, so the time at which a
//! worker will be free is known too, and no thread has to wake another. A client that leaves does
//! not free its worker: a thread that is busy does not notice. It owns no clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

/// Workers and the requests that wait for them.
#[derive(Debug)]
pub(crate) struct Queue {
    workers: usize,
    /// How many may wait.
    room: usize,
    /// For each busy worker, when it will have done all that was given to it.
    free_at: BinaryHeap<Reverse<Instant>>,
    /// When each request that waits will be begun, in order.
    begins: VecDeque<Instant>,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// A worker has done it at this time.
    Served {
        /// When.
        done_at: Instant,
        /// How many wait now, this one among them; 0 when it did not have to.
        waiting: usize,
    },
    /// There was no room to wait.
    Full,
}

impl Queue {
    /// `workers` at least 1, and room for `room` to wait.
    pub(crate) fn new(workers: usize, room: usize) -> Self {
        Self {
            workers,
            room,
            free_at: BinaryHeap::new(),
            begins: VecDeque::new(),
        }
    }

    /// Takes in a request that came at `now` and takes a worker `service`. Times must not run
    /// backwards from call to call.
    pub(crate) fn admit(&mut self, now: Instant, service: Duration) -> Admission {
        while self.begins.front().is_some_and(|begin| *begin <= now) {
            self.begins.pop_front();
        }
        while self.free_at.peek().is_some_and(|free| free.0 <= now) {
            self.free_at.pop();
        }
        let idle = self.free_at.len() < self.workers;
        if !idle && self.begins.len() >= self.room {
            return Admission::Full;
        }
        let next_free = if idle { None } else { self.free_at.pop() };
        let begin = next_free.map_or(now, |free| free.0);
        let done_at = begin + service;
        self.free_at.push(Reverse(done_at));
        if begin > now {
            self.begins.push_back(begin);
        }
        let waiting = if begin > now { self.begins.len() } else { 0 };
        Admission::Served { done_at, waiting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a request comes and what it takes, milliseconds; when it is done and how many waited.
    type Case = (u64, u64, Option<(u64, usize)>);

    /// Requests that come at a millisecond and take some; `None` is one that was turned away.
    fn check(workers: usize, room: usize, requests: &[Case]) {
        let start = Instant::now();
        let mut queue = Queue::new(workers, room);
        for (index, (at, service, expected)) in requests.iter().enumerate() {
            let now = start + Duration::from_millis(*at);
            let found = match queue.admit(now, Duration::from_millis(*service)) {
                Admission::Full => None,
                Admission::Served { done_at, waiting } => {
                    Some(((done_at - start).as_millis() as u64, waiting))
                }
            };
            assert_eq!(found, *expected, "request {index} at {at} ms");
        }
    }

    #[test]
    fn requests_wait_in_order_for_the_worker_that_is_free_first() {
        check(
            2,
            100,
            &[
                (0, 10, Some((10, 0))),
                (0, 30, Some((30, 0))),
                (1, 10, Some((20, 1))),
                (2, 1, Some((21, 2))),
                // The first one that waited has begun.
                (12, 5, Some((26, 2))),
                (40, 5, Some((45, 0))),
            ],
        );
    }

    #[test]
    fn a_full_queue_turns_away_and_costs_no_worker_time() {
        check(
            1,
            1,
            &[
                (0, 10, Some((10, 0))),
                (1, 10, Some((20, 1))),
                (2, 10, None),
                (9, 10, None),
                (10, 10, Some((30, 1))),
            ],
        );
        check(
            1,
            0,
            &[(0, 10, Some((10, 0))), (9, 1, None), (10, 1, Some((11, 0)))],
        );
    }
}
