//! How a load divides over threads, and over engines that carry it out together.
//!
//! All threads of all engines are numbered from 0. Clients, rate, schedule and count divide by
//! that number alone, so it makes no difference which engine a thread belongs to.

use serde::{Deserialize, Serialize};

use crate::spec::{LoadSpec, Threads};

/// The threads that one engine runs of a load that several engines carry out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Number of this engine's first thread among those of all engines.
    pub first: u32,
    /// Threads of all engines together.
    pub of: u32,
}

impl Threads {
    /// Divides a load of `clients` over engines, each with so many threads: which threads each of
    /// them runs. An engine may get fewer than it has, because a thread without a client has
    /// nothing to do. `None` where there are fewer clients than engines, or no engine.
    pub fn divide(clients: u32, engines: &[u32]) -> Option<Vec<Self>> {
        let most = clients.max(1);
        let mut counts: Vec<u32> = engines.iter().map(|own| (*own).clamp(1, most)).collect();
        if counts.is_empty() || (clients as usize) < counts.len() {
            return None;
        }
        let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        while sum(&counts) > u64::from(clients) {
            // The largest gives way, so that engines stay as equal as they were.
            *counts.iter_mut().max()? -= 1;
        }
        let of = u32::try_from(sum(&counts)).ok()?;
        let mut first = 0;
        let parts = counts.into_iter().map(|count| {
            let part = Part { first, of };
            first += count;
            Self {
                count,
                pin: Vec::new(),
                part: Some(part),
            }
        });
        Some(parts.collect())
    }

    /// Threads of the whole load.
    pub(crate) fn of_load(&self) -> u32 {
        self.part.map_or(self.count, |part| part.of)
    }

    /// Clients of these threads, in a load of so many.
    pub fn clients(&self, of_load: u32) -> u32 {
        let all = u64::from(of_load);
        let own: u64 = self.shares(of_load).iter().map(|it| it.of(all)).sum();
        u32::try_from(own).unwrap_or(u32::MAX)
    }

    /// The share of each of these threads in a load of so many clients; at least one.
    fn shares(&self, clients: u32) -> Vec<Share> {
        let (first, count, threads) = match self.part {
            None => {
                let count = self.count.clamp(1, clients.max(1));
                (0, count, count)
            }
            Some(Part { first, of }) => {
                let count = self.count.max(1);
                (first, count, of.max(first.saturating_add(count)))
            }
        };
        let numbers = (0..count).map(|own| (first + own) as usize);
        let share = |thread| Share {
            thread,
            threads: threads as usize,
        };
        numbers.map(share).collect()
    }
}

/// Which thread of how many this is, over all engines of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) thread: usize,
    pub(crate) threads: usize,
}

impl Share {
    /// This thread's part of `whole`: parts differ by one at most.
    pub(crate) fn of(self, whole: u64) -> u64 {
        let (thread, threads) = (self.thread as u64, self.threads as u64);
        whole / threads + u64::from(thread < whole % threads)
    }
}

impl LoadSpec {
    /// The share of each thread that this engine runs; at least one.
    pub(crate) fn shares(&self) -> Vec<Share> {
        self.threads.shares(self.load.clients())
    }

    /// Clients of this engine's threads.
    pub(crate) fn own_clients(&self) -> u32 {
        self.threads.clients(self.load.clients())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(clients: u32, engines: &[u32], expected: &[(u32, u32, u32)]) {
        let divided = Threads::divide(clients, engines).unwrap_or_default();
        let facts = |threads: Threads| {
            let part = threads.part.expect("a part");
            (part.first, threads.count, part.of)
        };
        let facts: Vec<_> = divided.into_iter().map(facts).collect();
        assert_eq!(facts, expected, "{clients} over {engines:?}");
    }

    #[test]
    fn engines_follow_each_other_and_none_is_without_a_client() {
        check(100, &[4, 4], &[(0, 4, 8), (4, 4, 8)]);
        check(100, &[1, 3, 2], &[(0, 1, 6), (1, 3, 6), (4, 2, 6)]);
        check(5, &[4, 4], &[(0, 3, 5), (3, 2, 5)]);
        check(2, &[8, 1], &[(0, 1, 2), (1, 1, 2)]);
        check(7, &[0], &[(0, 1, 1)]);
        check(1, &[4, 4], &[]);
        check(9, &[], &[]);
    }

    #[test]
    fn clients_of_engines_are_those_of_the_load() {
        let divided = Threads::divide(10, &[1, 3, 2]).expect("more clients than engines");
        let clients: Vec<u32> = divided.iter().map(|threads| threads.clients(10)).collect();
        assert_eq!(clients, [2, 6, 2]);
    }

    #[test]
    fn parts_of_a_whole_add_up_and_differ_by_one_at_most() {
        for (whole, threads) in [(0, 1), (1, 3), (10, 3), (64, 8), (1_000_003, 7)] {
            let of = |thread| Share { thread, threads }.of(whole);
            let parts: Vec<u64> = (0..threads).map(of).collect();
            assert_eq!(parts.iter().sum::<u64>(), whole);
            let (least, most) = (parts.iter().min(), parts.iter().max());
            assert!(
                most.zip(least)
                    .is_some_and(|(most, least)| most - least <= 1)
            );
        }
    }
}
