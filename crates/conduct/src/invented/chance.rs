//! Numbers that look like chance and are the same each time: what they are drawn from are the
//! plan's seed and the trial's id.

/// Draws numbers.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    /// Of a seed and a text (FNV-1a).
    pub(super) fn of(seed: u64, text: &str) -> Self {
        let bytes = seed.to_le_bytes().into_iter().chain(text.bytes());
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    /// What the next are drawn from.
    pub(super) fn seed(&self) -> u64 {
        self.0
    }

    /// The next, from 0 to 1 (splitmix64).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next of a normal distribution, but for its farthest ends: a sum of twelve.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}
