//! Counts of durations on a fixed log-linear scale.
//!
//! The scale: a value below 256 has a bucket of its own; above, each power of two is cut into 128
//! equal buckets, so a bucket is at most 1/128 of its value wide and its middle is off by at
//! most 0.4 %. Recording is an index and an addition: no allocation, no resizing, no loss.
//! Files carry the counts as HdrHistogram V2 in base64, which other tools read.
//!
//! It does not interpolate and does not correct for coordinated omission: the engine measures
//! from the intended time instead.

mod stored;

/// Linear buckets below the first halving: 2^8.
const LINEAR_BITS: u32 = 8;
/// Buckets per power of two above the linear part.
const HALF: usize = 1 << (LINEAR_BITS - 1);
/// Largest exponent counted: 2^42 ns are 73 minutes. Larger values are counted as over range.
const MAX_BITS: u32 = 42;
/// Number of buckets.
const BUCKETS: usize = (1 << LINEAR_BITS) + (MAX_BITS - LINEAR_BITS) as usize * HALF;

/// Durations in nanoseconds, counted.
#[derive(Clone)]
pub struct Histogram {
    /// Index of the first bucket in `counts`: 0 unless [trimmed](Histogram::trimmed).
    first: usize,
    counts: Box<[u64]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    over_range: u64,
}

/// Two are equal when they counted the same, whatever memory they hold.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let whole = |each: &Self| (each.count, each.sum, each.min, each.max, each.over_range);
        whole(self) == whole(other) && self.buckets().eq(other.buckets())
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min", &self.min)
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

impl Histogram {
    /// Powers of two that have buckets, the linear ones together as one, and buckets in each where
    /// these are linear: what HdrHistogram calls buckets and sub-buckets.
    pub const SCALE: (u32, u32) = (MAX_BITS - LINEAR_BITS + 1, 1 << LINEAR_BITS);

    /// An empty histogram; about 35 KB.
    pub fn new() -> Self {
        Self {
            first: 0,
            counts: vec![0; BUCKETS].into_boxed_slice(),
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            over_range: 0,
        }
    }

    /// Counts one duration in nanoseconds.
    #[inline(always)]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Counts `times` durations of the same length.
    #[inline(always)]
    pub fn record_n(&mut self, value_ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        let bucket = bucket_of(value_ns).wrapping_sub(self.first);
        match self.counts.get_mut(bucket) {
            Some(bucket) => *bucket += times,
            None => self.record_outside(value_ns, times),
        }
        self.count += times;
        self.sum += u128::from(value_ns) * u128::from(times);
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
    }

    /// Counts a duration beyond the buckets that are held: over range, or trimmed away.
    #[cold]
    fn record_outside(&mut self, value_ns: u64, times: u64) {
        let bucket = bucket_of(value_ns);
        if bucket < BUCKETS {
            self.untrim();
            self.counts[bucket] += times;
        } else {
            self.over_range += times;
        }
    }

    fn untrim(&mut self) {
        if self.counts.len() < BUCKETS {
            let mut all = vec![0; BUCKETS].into_boxed_slice();
            all[self.first..self.first + self.counts.len()].copy_from_slice(&self.counts);
            self.counts = all;
            self.first = 0;
        }
    }

    /// The same counts in as little memory as they need: a few KB for most distributions. To be
    /// kept and read; recording beyond its range makes it large again.
    pub fn trimmed(&self) -> Self {
        let first = self.counts.iter().position(|n| *n > 0).unwrap_or(0);
        let last = self.counts.iter().rposition(|n| *n > 0);
        let end = last.map_or(first, |last| last + 1);
        Self {
            first: self.first + first,
            counts: self.counts[first..end].into(),
            ..*self
        }
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        // To read an empty one is to make its memory resident, and of some loads most are empty.
        if other.count == 0 {
            return;
        }
        self.untrim();
        let same = &mut self.counts[other.first..];
        for (mine, theirs) in same.iter_mut().zip(other.counts.iter()) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.over_range += other.over_range;
    }

    /// Forgets all counts and keeps the memory.
    pub fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        self.counts.fill(0);
        self.count = 0;
        self.sum = 0;
        self.min = u64::MAX;
        self.max = 0;
        self.over_range = 0;
    }

    /// Sum of all durations, exact.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    /// The same counts, with what is known of the durations exactly.
    pub(crate) fn with_exact(self, sum: u128, min: u64, max: u64) -> Self {
        if self.count == 0 {
            return self;
        }
        Self {
            sum,
            min,
            max,
            ..self
        }
    }

    /// Number of durations counted, those over range included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Durations of 2^42 ns and more.
    pub fn over_range(&self) -> u64 {
        self.over_range
    }

    /// Smallest duration, exact; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest duration, exact; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Arithmetic mean, exact; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Standard deviation (n - 1) from bucket middles; `None` below two durations.
    pub fn sd(&self) -> Option<f64> {
        let mean = self.mean()?;
        if self.count < 2 {
            return None;
        }
        let squares: f64 = self
            .buckets()
            .map(|(middle, n)| (middle as f64 - mean).powi(2) * n as f64)
            .sum();
        Some((squares / (self.count - 1) as f64).sqrt())
    }

    /// Share of the durations that lie within one standard deviation of the mean, by bucket
    /// middles; what is over range lies beyond. `None` below two durations.
    pub fn share_within_sd(&self) -> Option<f64> {
        let (mean, sd) = (self.mean()?, self.sd()?);
        let near = |middle: u64| (middle as f64 - mean).abs() <= sd;
        let within: u64 = self
            .buckets()
            .filter(|(middle, _)| near(*middle))
            .map(|(_, n)| n)
            .sum();
        Some(within as f64 / self.count as f64)
    }

    /// Smallest duration that at least the share `q` (0 to 1) of all durations does not exceed,
    /// as its bucket's middle, kept within [`min`](Self::min) and [`max`](Self::max).
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for (middle, n) in self.buckets() {
            seen += n;
            if seen >= rank {
                return Some(middle.clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// Like [`quantile`](Self::quantile), but `None` where fewer than ten durations lie beyond:
    /// a tail of a handful says nothing about the next run.
    pub fn supported_quantile(&self, q: f64) -> Option<u64> {
        let beyond = (1.0 - q) * self.count as f64;
        if q > 0.5 && beyond < 10.0 - 1e-6 {
            None
        } else {
            self.quantile(q)
        }
    }

    /// Non-empty buckets as (middle in ns, count), ascending, without those over range.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(index, n)| (bucket_middle(self.first + index), *n))
    }
}

/// Adds to `histogram` those counts of `other` that lie in a bucket beyond that of `value_ns`, each
/// at the middle of its bucket.
pub(crate) fn merge_longer(histogram: &mut Histogram, value_ns: u64, other: &Histogram) {
    let limit = bucket_of(value_ns);
    for (middle, times) in other.buckets() {
        if bucket_of(middle) > limit {
            histogram.record_n(middle.clamp(other.min, other.max), times);
        }
    }
    histogram.record_n(other.max, other.over_range);
}

/// Index of the bucket that `value` falls in; beyond the last bucket when over range.
#[inline]
pub(crate) fn bucket_of(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros();
    if bits <= LINEAR_BITS {
        return value as usize;
    }
    let shift = bits - LINEAR_BITS;
    let within = (value >> shift) as usize - HALF;
    (1 << LINEAR_BITS) + (shift as usize - 1) * HALF + within
}

/// Middle of the bucket at `index`.
pub(crate) fn bucket_middle(index: usize) -> u64 {
    let linear = 1 << LINEAR_BITS;
    if index < linear {
        return index as u64;
    }
    let shift = ((index - linear) / HALF + 1) as u32;
    let within = ((index - linear) % HALF + HALF) as u64;
    (within << shift) + (1 << (shift - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_within_one_sd_is_that_of_the_durations() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.share_within_sd(), None);
        // Mean 100 and standard deviation 30.2: none of 40 and 160, and all of the rest.
        histogram.record_n(40, 1);
        histogram.record_n(100, 6);
        histogram.record_n(160, 1);
        assert_eq!(histogram.share_within_sd(), Some(0.75));
    }

    #[test]
    fn every_value_falls_in_a_bucket_whose_middle_is_near() {
        for bits in 0..MAX_BITS {
            for value in [
                1_u64 << bits,
                (1 << bits) + (1 << bits) / 3,
                (2 << bits) - 1,
            ] {
                let middle = bucket_middle(bucket_of(value));
                let off = middle.abs_diff(value) as f64 / value as f64;
                assert!(off <= 0.004, "{value} is counted as {middle}");
            }
        }
        assert!(bucket_of((1 << MAX_BITS) - 1) < BUCKETS);
        assert!(bucket_of(1 << MAX_BITS) >= BUCKETS);
    }

    #[test]
    fn buckets_are_contiguous() {
        for index in 1..BUCKETS {
            assert!(bucket_middle(index) > bucket_middle(index - 1));
            assert_eq!(bucket_of(bucket_middle(index)), index);
        }
    }

    #[test]
    fn a_trimmed_one_counts_the_same_and_goes_on() {
        let mut histogram = Histogram::new();
        for value in [1_000_000, 1_010_000, 5_000_000] {
            histogram.record(value);
        }
        let mut trimmed = histogram.trimmed();
        assert_eq!(trimmed, histogram);
        assert!(trimmed.counts.len() < 400, "{}", trimmed.counts.len());
        assert_eq!(trimmed.quantile(0.5), histogram.quantile(0.5));
        for value in [2_000_000, 7, 1 << 40, u64::MAX] {
            histogram.record(value);
            trimmed.record(value);
        }
        assert_eq!(trimmed, histogram);
        let mut merged = Histogram::new().trimmed();
        merged.merge(&histogram.trimmed());
        merged.merge(&Histogram::new().trimmed());
        assert_eq!(merged, histogram);
    }

    #[test]
    fn only_what_is_longer_is_merged_where_that_is_asked() {
        let (mut histogram, mut other) = (Histogram::new(), Histogram::new());
        histogram.record(1_000_000);
        for value in [7, 999_000, 1_000_001, 1_100_000, 1 << 43] {
            other.record(value);
        }
        merge_longer(&mut histogram, 1_000_000, &other);
        assert_eq!((histogram.count(), histogram.over_range()), (3, 1));
        assert_eq!(histogram.min(), Some(1_000_000));
        assert_eq!(histogram.max(), Some(1 << 43));
    }

    #[test]
    fn quantiles_are_ranks_and_thin_tails_are_withheld() {
        let mut histogram = Histogram::new();
        for value in 1..=1000 {
            histogram.record(value * 1_000_000);
        }
        let p50 = histogram.quantile(0.5).unwrap() as f64;
        assert!((p50 / 500e6 - 1.0).abs() < 0.004);
        assert!(histogram.supported_quantile(0.99).is_some());
        assert_eq!(histogram.supported_quantile(0.999), None);
        assert_eq!(Histogram::new().quantile(0.5), None);
    }
}
