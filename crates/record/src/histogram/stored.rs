//! A histogram in a file: HdrHistogram V2 in base64, and the exact figures that its buckets do not
//! hold.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer as HdrReader, Serializer as _, V2Serializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BUCKETS, Histogram, MAX_BITS, bucket_middle, bucket_of};

/// Digits that HdrHistogram keeps: finer than ours, so a file gives back the same buckets.
const HDR_DIGITS: u8 = 3;
/// Most durations that a file may count: at a million a second, nine years of them. Many such
/// histograms can be added up.
const COUNT_MOST: u64 = 1 << 48;

/// What a file holds of a histogram.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    count: u64,
    sum_ns: String,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    over_range: u64,
    /// HdrHistogram V2, uncompressed, base64.
    hdr: String,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error;
        let mut hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << MAX_BITS, HDR_DIGITS)
            .map_err(Error::custom)?;
        for (middle, n) in self.buckets() {
            hdr.record_n(middle, n).map_err(Error::custom)?;
        }
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&hdr, &mut bytes)
            .map_err(Error::custom)?;
        Stored {
            count: self.count,
            sum_ns: self.sum.to_string(),
            min_ns: self.min(),
            max_ns: self.max(),
            over_range: self.over_range,
            hdr: BASE64.encode(bytes),
        }
        .serialize(serializer)
    }
}

/// Whether a file's exact figures can be those of the counts: what reads a histogram relies on
/// it, and the file may come from anybody.
fn check_exact(
    histogram: &Histogram,
    sum: u128,
    (min, max): (Option<u64>, Option<u64>),
) -> Result<(), String> {
    let (min, max) = match (min, max) {
        (Some(min), Some(max)) => (min, max),
        (None, None) if histogram.count == 0 && sum == 0 => return Ok(()),
        _ => return Err("min_ns, max_ns and sum_ns do not fit its count".to_owned()),
    };
    if histogram.count == 0 {
        return Err("it has a min_ns or max_ns but counts no duration".to_owned());
    }
    if min > max {
        return Err(format!("min_ns {min} is above max_ns {max}"));
    }
    let first = histogram.counts.iter().position(|times| *times > 0);
    let last = histogram.counts.iter().rposition(|times| *times > 0);
    let is_below = first.is_some_and(|first| first < bucket_of(min));
    let is_above = last.is_some_and(|last| last > bucket_of(max));
    if is_below || is_above || (histogram.over_range > 0 && bucket_of(max) < BUCKETS) {
        return Err(format!(
            "it counts durations outside of min_ns {min} and max_ns {max}"
        ));
    }
    let times = u128::from(histogram.count);
    if sum < u128::from(min) * times || sum > u128::from(max) * times {
        return Err(format!(
            "sum_ns {sum} cannot be that of {times} durations from {min} to {max}"
        ));
    }
    Ok(())
}

/// What a library's histogram counted, of durations said to be within a range; `None` where that is
/// more than [`COUNT_MOST`].
fn counted(hdr: &hdrhistogram::Histogram<u64>, range: (u64, u64)) -> Option<Histogram> {
    let buckets = bucket_of(range.0)..(bucket_of(range.1) + 1).min(BUCKETS);
    let middles = buckets.map(bucket_middle);
    let at = middles.map(|middle| (middle, hdr.count_at(middle)));
    if let Some(ours) = added(at).filter(|ours| ours.count == hdr.len()) {
        return Some(ours);
    }
    // A file with other buckets than ours, or durations out of the range. To go through those of
    // the library takes much longer.
    added(hdr.iter_recorded().map(|step| {
        let lowest = hdr.lowest_equivalent(step.value_iterated_to());
        let middle = lowest.saturating_add(hdr.equivalent_range(lowest) / 2);
        (middle, step.count_at_value())
    }))
}

/// A histogram of durations and how often each is counted; `None` where there are more than
/// [`COUNT_MOST`].
fn added(durations: impl Iterator<Item = (u64, u64)>) -> Option<Histogram> {
    let mut histogram = Histogram::new();
    for (value_ns, times) in durations {
        if histogram.count.saturating_add(times) > COUNT_MOST {
            return None;
        }
        histogram.record_n(value_ns, times);
    }
    Some(histogram)
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let stored = Stored::deserialize(deserializer)?;
        let bytes = BASE64.decode(&stored.hdr).map_err(Error::custom)?;
        let hdr: hdrhistogram::Histogram<u64> = HdrReader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(Error::custom)?;
        let too_many = || Error::custom("it counts more durations than a load can have");
        let range = (stored.min_ns.unwrap_or(0), stored.max_ns.unwrap_or(0));
        let mut histogram = counted(&hdr, range).ok_or_else(too_many)?;
        let total = histogram.count.saturating_add(stored.over_range);
        if total > COUNT_MOST {
            return Err(too_many());
        }
        if total != stored.count {
            return Err(Error::custom(format!(
                "histogram holds {total} durations but says {}",
                stored.count
            )));
        }
        histogram.record_n(u64::MAX, stored.over_range);
        let sum = stored.sum_ns.parse().map_err(Error::custom)?;
        let (min, max) = (stored.min_ns, stored.max_ns);
        check_exact(&histogram, sum, (min, max)).map_err(Error::custom)?;
        histogram.sum = sum;
        histogram.min = min.unwrap_or(u64::MAX);
        histogram.max = max.unwrap_or(0);
        Ok(histogram.trimmed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_back_the_same_counts() {
        let mut histogram = Histogram::new();
        let mut value = 1_u64;
        while value < 1 << 41 {
            histogram.record_n(value, value % 7 + 1);
            value = value * 21 / 20 + 1;
        }
        histogram.record(0);
        histogram.record(1 << 50);
        let text = serde_json::to_string(&histogram).unwrap();
        let read: Histogram = serde_json::from_str(&text).unwrap();
        assert_eq!(read, histogram);
        assert_eq!(read.over_range(), 1);
    }

    #[test]
    fn a_file_of_finer_or_coarser_buckets_is_read() {
        for digits in [2, 4] {
            let range = (1, 1 << MAX_BITS);
            let mut hdr =
                hdrhistogram::Histogram::<u64>::new_with_bounds(range.0, range.1, digits).unwrap();
            let durations = [(1, 3), (1_000_003, 2), (1_000_500, 1), (77_000_000_000, 4)];
            let mut expected = Histogram::new();
            for (value_ns, times) in durations {
                hdr.record_n(value_ns, times).unwrap();
                expected.record_n(value_ns, times);
            }
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&hdr, &mut bytes).unwrap();
            let mut stored = serde_json::to_value(&expected).unwrap();
            stored["hdr"] = BASE64.encode(bytes).into();
            let read: Histogram = serde_json::from_value(stored).unwrap();
            assert_eq!(read.count(), 10);
            for (q, near) in [(0.2, 1.0), (0.5, 1e6), (0.9, 77e9)] {
                let quantile = read.quantile(q).unwrap() as f64;
                assert!((quantile / near - 1.0).abs() < 0.01, "{digits}: {quantile}");
            }
        }
    }

    #[test]
    fn a_file_whose_figures_contradict_each_other_is_refused() {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000_000, 3);
        histogram.record(4_000_000);
        let stored = serde_json::to_value(&histogram).unwrap();
        let read = |changes: &[(&str, serde_json::Value)]| {
            let mut stored = stored.clone();
            for (field, value) in changes {
                stored[*field] = value.clone();
            }
            let read = serde_json::from_value::<Histogram>(stored);
            read.map_err(|error| error.to_string())
        };
        assert_eq!(read(&[]), Ok(histogram));
        let most = 1_u64 << 60;
        let (none, text) = (serde_json::Value::Null, |sum: &str| sum.into());
        let refused: [(&[(&str, serde_json::Value)], &str); 10] = [
            (
                &[("min_ns", 5_000_000.into())],
                "min_ns 5000000 is above max_ns 4000000",
            ),
            (
                &[("max_ns", 3_000_000.into())],
                "outside of min_ns 1000000 and max_ns 3000000",
            ),
            (&[("min_ns", 2_000_000.into())], "outside of min_ns 2000000"),
            (&[("min_ns", none.clone())], "do not fit its count"),
            (
                &[("min_ns", none.clone()), ("max_ns", none)],
                "do not fit its count",
            ),
            (
                &[("sum_ns", text("3999999"))],
                "sum_ns 3999999 cannot be that of 4 durations",
            ),
            (&[("sum_ns", text("16000001"))], "sum_ns 16000001 cannot be"),
            (&[("count", 5.into())], "holds 4 durations but says 5"),
            (
                &[("over_range", 1.into()), ("count", 5.into())],
                "outside of min_ns",
            ),
            (
                &[("over_range", most.into()), ("count", (most + 4).into())],
                "than a load can have",
            ),
        ];
        for (changes, expected) in refused {
            let error = read(changes).expect_err(expected);
            assert!(error.contains(expected), "{error}, not {expected}");
        }
        let empty = serde_json::to_value(Histogram::new()).unwrap();
        assert!(serde_json::from_value::<Histogram>(empty.clone()).is_ok());
        for (field, value) in [("min_ns", 1.into()), ("sum_ns", text("7"))] {
            let mut changed = empty.clone();
            changed[field] = value;
            assert!(
                serde_json::from_value::<Histogram>(changed).is_err(),
                "{field}"
            );
        }
    }
}
