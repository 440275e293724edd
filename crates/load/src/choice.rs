//! Which request is sent next, where there are several: by weight, by chance from a seed.

use bakeoff_plan::Random;

use crate::spec::Exchange;

/// Chooses among exchanges.
#[derive(Debug)]
pub(crate) struct Choice {
    /// For each exchange the sum of the weights up to and with its own.
    up_to: Vec<u64>,
    random: Random,
}

impl Choice {
    /// A choice for one thread, different from that of another.
    pub(crate) fn new(exchanges: &[Exchange], seed: u64, thread: usize) -> Self {
        let mut sum = 0;
        let up_to = exchanges
            .iter()
            .map(|exchange| {
                sum += u64::from(exchange.weight.max(1));
                sum
            })
            .collect();
        Self {
            up_to,
            random: Random::labelled(seed, &format!("choice-{thread}")),
        }
    }

    /// Index of the exchange that is next.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        if self.up_to.len() <= 1 {
            return 0;
        }
        let at = self.random.below(self.up_to.last().copied().unwrap_or(1));
        self.up_to.partition_point(|up_to| *up_to <= at) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::ExpectedStatus;

    #[test]
    fn exchanges_are_chosen_as_often_as_their_weights_say() {
        let exchange = |weight| Exchange {
            name: String::new(),
            request: b"".as_slice().into(),
            h2: None,
            to_head_request: false,
            status: ExpectedStatus::Success,
            body: None,
            weight,
        };
        let mut choice = Choice::new(&[exchange(1), exchange(6), exchange(3)], 1, 0);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[choice.next() as usize] += 1;
        }
        for (count, expected) in counts.iter().zip([10_000, 60_000, 30_000]) {
            assert!(count.abs_diff(expected) < 800, "{counts:?}");
        }
        assert_eq!(Choice::new(&[exchange(5)], 1, 0).next(), 0);
    }
}
