//! A small reproducible generator, so that the n-th request has the same fate in every round.
//!
//! SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"); it
//! is not for secrets. The crate knows no other of the project, so it has one of its own.

/// Numbers that depend on a seed alone.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of request `index`, which no other request shares.
    pub(crate) fn of_request(seed: u64, index: u64) -> Self {
        Self(Self(seed).bits() ^ Self(index).bits())
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number above 0 and up to 1: its logarithm is finite.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_paper() {
        // First output for seed 0 of the reference implementation.
        assert_eq!(Random(0).bits(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn requests_share_nothing_and_come_again() {
        let first = |seed, index| Random::of_request(seed, index).unit();
        assert_eq!(first(1, 5), first(1, 5));
        assert_ne!(first(1, 5), first(1, 6));
        assert_ne!(first(1, 5), first(2, 5));
    }
}
