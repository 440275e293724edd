//! Which request is sent next, where there are several: by weight, by chance from a seed, or one
//! after the other. Variants of a request come one after the other.

use bakeoff_plan::Random;

use crate::spec::{LoadSpec, Order};

/// Chooses among exchanges.
#[derive(Debug)]
pub(crate) struct Choice {
    /// For each request the sum of the weights up to and with its own.
    up_to: Vec<u64>,
    random: Random,
    /// Index of the next one, where they are taken in turn.
    turn: Option<u32>,
    /// Variants of each request, and the next one.
    variants: u32,
    variant: u32,
}

impl Choice {
    /// A choice for one thread, different from that of another.
    pub(crate) fn new(spec: &LoadSpec, thread: usize) -> Self {
        let mut sum = 0;
        let up_to: Vec<u64> = spec
            .requests()
            .map(|exchange| {
                sum += u64::from(exchange.weight.max(1));
                sum
            })
            .collect();
        let variants = spec.variants() as u32;
        let threads = spec.threads.of_load().max(1);
        Self {
            variants,
            // Threads begin apart, so that they send the same one as late as can be.
            variant: variants / threads * (thread as u32 % threads),
            up_to,
            random: Random::labelled(spec.seed, &format!("choice-{thread}")),
            turn: (spec.pacing.order == Order::InTurn).then_some(0),
        }
    }

    /// Index of the exchange that is next.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        let request = self.request();
        if self.variants == 1 {
            return request;
        }
        let variant = self.variant;
        self.variant = (variant + 1) % self.variants;
        request * self.variants + variant
    }

    /// Index of the request that is next.
    #[inline]
    fn request(&mut self) -> u32 {
        if self.up_to.len() <= 1 {
            return 0;
        }
        if let Some(turn) = &mut self.turn {
            let index = *turn;
            *turn = (index + 1) % self.up_to.len() as u32;
            return index;
        }
        let at = self.random.below(self.up_to.last().copied().unwrap_or(1));
        self.up_to.partition_point(|up_to| *up_to <= at) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::several;

    #[test]
    fn exchanges_are_chosen_as_often_as_their_weights_say() {
        let mut choice = Choice::new(&several(&[1, 6, 3], Order::ByWeight), 0);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[choice.next() as usize] += 1;
        }
        for (count, expected) in counts.iter().zip([10_000, 60_000, 30_000]) {
            assert!(count.abs_diff(expected) < 800, "{counts:?}");
        }
        let mut alone = Choice::new(&several(&[5], Order::ByWeight), 0);
        assert_eq!([alone.next(), alone.next()], [0, 0]);
    }

    #[test]
    fn exchanges_in_turn_come_as_they_are_listed_whatever_their_weights() {
        let mut choice = Choice::new(&several(&[1, 6, 3], Order::InTurn), 4);
        let chosen: Vec<u32> = (0..7).map(|_| choice.next()).collect();
        assert_eq!(chosen, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn variants_come_one_after_the_other_and_threads_begin_apart() {
        let mut spec = several(&[1; 6], Order::InTurn);
        spec.pacing.variants = 3;
        let chosen = |spec: &LoadSpec, thread| {
            let mut choice = Choice::new(spec, thread);
            (0..7).map(|_| choice.next()).collect::<Vec<u32>>()
        };
        assert_eq!(chosen(&spec, 0), [0, 4, 2, 3, 1, 5, 0]);
        spec.pacing.variants = 6;
        spec.threads.count = 2;
        assert_eq!(chosen(&spec, 1), [3, 4, 5, 0, 1, 2, 3]);
    }
}
