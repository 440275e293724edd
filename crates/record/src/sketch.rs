//! Durations counted in little memory, for each of thousands of requests.
//!
//! It counts on the scale of [`Histogram`] as long as few of its buckets are in use; beyond that
//! it joins neighbouring buckets in pairs, so its memory is bounded and its values become coarser.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::histogram::{Histogram, bucket_middle, bucket_of};

/// Buckets in use at the most: 2 KB.
const BUCKETS_MAX: usize = 127;

/// Durations in nanoseconds, counted in 2 KB at the most.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sketch {
    /// How often neighbouring buckets were joined.
    joined: u32,
    /// Index of a bucket without its `joined` last bits, and its count; ascending.
    buckets: Vec<(u32, u64)>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Sketch {
    /// Counts one duration in nanoseconds.
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Counts `times` durations of the same length.
    pub(crate) fn record_n(&mut self, value_ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.min = if self.count == 0 {
            value_ns
        } else {
            self.min.min(value_ns)
        };
        self.max = self.max.max(value_ns);
        self.count += times;
        self.sum += u128::from(value_ns) * u128::from(times);
        self.add(bucket_of(value_ns) as u32 >> self.joined, times);
    }

    fn add(&mut self, index: u32, times: u64) {
        match self.buckets.binary_search_by_key(&index, |each| each.0) {
            Ok(at) => self.buckets[at].1 += times,
            Err(at) => self.buckets.insert(at, (index, times)),
        }
        while self.buckets.len() > BUCKETS_MAX {
            self.join();
        }
    }

    /// Joins neighbouring buckets in pairs.
    fn join(&mut self) {
        self.joined += 1;
        let fine = std::mem::take(&mut self.buckets);
        for (index, times) in fine {
            match self.buckets.last_mut() {
                Some(last) if last.0 == index >> 1 => last.1 += times,
                _ => self.buckets.push((index >> 1, times)),
            }
        }
    }

    /// Adds all counts of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        while self.joined < other.joined {
            self.join();
        }
        for (index, times) in &other.buckets {
            let index = index >> self.joined.saturating_sub(other.joined);
            self.add(index, *times);
            // What is added may have joined: the next one is taken at the new scale.
        }
        self.min = if self.count == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Number of durations counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The counts as a histogram, each at the middle of its bucket; mean, least and most are
    /// those of the middles.
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        for (index, times) in &self.buckets {
            let (first, width) = ((*index as usize) << self.joined, 1_usize << self.joined);
            let middle = bucket_middle(first + width / 2);
            histogram.record_n(middle.clamp(self.min, self.max), *times);
        }
        histogram.with_exact(self.sum, self.min, self.max)
    }
}

impl Serialize for Sketch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.histogram().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let histogram = Histogram::deserialize(deserializer)?;
        let mut sketch = Self::default();
        for (middle, times) in histogram.buckets() {
            sketch.record_n(middle, times);
        }
        sketch.record_n(u64::MAX >> 1, histogram.over_range());
        if let (Some(min), Some(max)) = (histogram.min(), histogram.max()) {
            (sketch.min, sketch.max) = (min, max);
        }
        sketch.sum = histogram.sum();
        Ok(sketch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_counted_as_a_histogram_does() {
        let (mut sketch, mut histogram) = (Sketch::default(), Histogram::new());
        for value in (1..=100).map(|n| 1_000_000 + n * 1_000) {
            sketch.record(value);
            histogram.record(value);
        }
        assert_eq!(sketch.histogram(), histogram);
        let text = serde_json::to_string(&sketch).unwrap();
        let read: Sketch = serde_json::from_str(&text).unwrap();
        assert_eq!(read.histogram(), histogram);
    }

    #[test]
    fn many_values_take_bounded_memory_and_stay_near() {
        let mut sketch = Sketch::default();
        let mut exact = Histogram::new();
        let mut value = 1_000_u64;
        while value < 1 << 40 {
            sketch.record(value);
            exact.record(value);
            value += value / 50;
        }
        assert!(sketch.buckets.len() <= BUCKETS_MAX);
        assert_eq!(sketch.count(), exact.count());
        let near = |q| {
            let (mine, right) = (sketch.histogram().quantile(q), exact.quantile(q));
            let (mine, right) = (mine.unwrap() as f64, right.unwrap() as f64);
            assert!((mine / right - 1.0).abs() < 0.2, "{q}: {mine} for {right}");
        };
        [0.1, 0.5, 0.9, 0.99].into_iter().for_each(near);
        let mut merged = Sketch::default();
        merged.record(5_000);
        merged.merge(&sketch);
        assert_eq!(merged.count(), exact.count() + 1);
        assert!(merged.buckets.len() <= BUCKETS_MAX);
    }
}
