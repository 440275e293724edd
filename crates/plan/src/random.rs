//! A small reproducible generator (SplitMix64), the same on every machine and in every version:
//! the order of trials and the schedule of an open loop are part of a record.
//!
//! It is not for secrets.

/// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers depend on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator that depends on `seed` and `label`, so that parts of one plan do not share
    /// their numbers, and taking one part out of a plan leaves the others as they were.
    pub fn labelled(seed: u64, label: &str) -> Self {
        // FNV-1a, then one step of the generator so that similar labels give unrelated numbers.
        let hash = label
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        Self(seed ^ Self(hash).bits())
    }

    /// The numbers of request `index`, which no other request shares.
    pub fn of_request(seed: u64, index: u64) -> Self {
        Self(Self(seed).bits() ^ Self(index).bits())
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, not including, `limit`; 0 when `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        // The multiply-shift bias is below limit / 2^64, far under what a plan can show.
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// A number above 0 and up to 1: its logarithm is finite.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Shuffles `items`: each order equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_paper() {
        // First outputs for seed 0 of the reference implementation.
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&random.unit())));
        assert_eq!(random.below(0), 0);
    }
    #[test]
    fn labels_part_the_numbers() {
        let first = |seed, label| Random::labelled(seed, label).bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
    }

    #[test]
    fn requests_share_nothing_and_come_again() {
        let first = |seed, index| Random::of_request(seed, index).bits();
        assert_eq!(first(1, 5), first(1, 5));
        assert_ne!(first(1, 5), first(1, 6));
        assert_ne!(first(1, 5), first(2, 5));
    }

    #[test]
    fn a_shuffle_keeps_all_items() {
        let mut items: Vec<u32> = (0..50).collect();
        Random::new(7).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..50));
    }
}
