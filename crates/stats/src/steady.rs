//! Whether a series over time settled: its change points, and the class that follows from them.
//!
//! PELT (Killick, Fearnhead and Eckley 2012) finds the cheapest cut of a series into segments,
//! each normal with a mean and a variance of its own, where each further segment costs a penalty
//! of 15 ln n; classes as in Barrett and others, *Virtual Machine Warmup Blows Hot and Cold*
//! (2017), (R24). A series is of equal steps of time; what the steps are does not matter here.

use serde::Serialize;

/// Penalty of a segment, over ln n.
const PENALTY: f64 = 15.0;
/// Values that a segment has at least: a variance needs two, and two happen to agree.
const SEGMENT_MIN: usize = 3;
/// Values from which a series has a class: two segments.
pub const SERIES_MIN: usize = 2 * SEGMENT_MIN;
/// Segments whose means are this near, as a share, are one to a reader.
const EQUIVALENT: f64 = 0.02;
/// Share of the series that the last segment must fill to be called steady.
const LAST_SHARE: f64 = 0.25;
/// Standard deviations below this share of the series' mean are not distinguished: rates come in
/// whole answers and quantiles in buckets.
const SD_MIN: f64 = 0.002;

/// What is better of a series' values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Larger values: a rate.
    Larger,
    /// Smaller values: a latency, CPU time.
    Smaller,
}

bakeoff_plan::named! {
    /// The class of a series.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Class {
        /// One level from beginning to end.
        Flat = "flat",
        /// Worse at first, then one level.
        WarmUp = "warm-up",
        /// Better at first, then one level.
        Slowdown = "slowdown",
        /// Still changing in the last quarter.
        NoSteadyState = "no-steady-state",
    }
}

/// A series cut into segments, and its class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steady {
    /// Its class.
    pub class: Class,
    /// Position from which it keeps its last level; 0 when flat.
    pub from: usize,
    /// The segments in order.
    pub segments: Vec<Segment>,
}

/// Values between two changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Segment {
    /// Position of its first value.
    pub start: usize,
    /// Position after its last value.
    pub end: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
}

/// Classes a series; `None` with fewer than two segments' worth of values, or one that is no
/// number.
pub fn steady(series: &[f64], better: Better) -> Option<Steady> {
    if series.len() < SERIES_MIN || series.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let sums = Sums::new(series);
    let changes = changes(series);
    let starts = std::iter::once(0).chain(changes.iter().copied());
    let ends = changes.iter().copied().chain([series.len()]);
    let segments: Vec<Segment> = starts
        .zip(ends)
        .map(|(start, end)| sums.segment(start, end))
        .collect();
    let last = segments.last()?.mean;
    let equivalent = |one: &Segment| (one.mean - last).abs() <= EQUIVALENT * last.abs();
    let settled = segments.iter().rposition(|one| !equivalent(one));
    let from = settled.map_or(0, |place| segments[place].end);
    let is_worse = |one: &Segment| match better {
        Better::Larger => one.mean < last,
        Better::Smaller => one.mean > last,
    };
    let class = if from == 0 {
        Class::Flat
    } else if ((series.len() - from) as f64) < LAST_SHARE * series.len() as f64 {
        Class::NoSteadyState
    } else if segments.iter().filter(|one| !equivalent(one)).all(is_worse) {
        Class::WarmUp
    } else {
        Class::Slowdown
    };
    Some(Steady {
        class,
        from,
        segments,
    })
}

/// Positions at which a new segment begins, ascending; none in a short series.
pub fn changes(series: &[f64]) -> Vec<usize> {
    let n = series.len();
    if n < SERIES_MIN {
        return Vec::new();
    }
    let sums = Sums::new(series);
    let penalty = PENALTY * (n as f64).ln();
    // The cheapest cut of the first t values, and where its last segment begins.
    let mut cheapest = vec![f64::INFINITY; n + 1];
    let mut begins = vec![0; n + 1];
    cheapest[0] = -penalty;
    // Beginnings that may still be best, and from where on they cannot be.
    let mut candidates: Vec<(usize, usize)> = vec![(0, usize::MAX)];
    for end in SEGMENT_MIN..=n {
        candidates.retain(|(_, until)| end < *until);
        for (start, _) in &candidates {
            let cost = cheapest[*start] + sums.cost(*start, end) + penalty;
            if cost < cheapest[end] {
                (cheapest[end], begins[end]) = (cost, *start);
            }
        }
        for (start, until) in &mut candidates {
            let cannot = cheapest[*start] + sums.cost(*start, end) > cheapest[end];
            if cannot && *until == usize::MAX {
                // A segment that begins at `end` is whole only this much later.
                *until = end + SEGMENT_MIN;
            }
        }
        let next = end + 1 - SEGMENT_MIN;
        if next >= SEGMENT_MIN {
            candidates.push((next, usize::MAX));
        }
    }
    let mut changes = Vec::new();
    let mut end = n;
    while begins[end] > 0 {
        end = begins[end];
        changes.push(end);
    }
    changes.reverse();
    changes
}

/// Running sums, so that a segment's mean and variance take no pass over its values.
struct Sums {
    centre: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
    variance_min: f64,
}

impl Sums {
    fn new(series: &[f64]) -> Self {
        let centre = series.iter().sum::<f64>() / series.len().max(1) as f64;
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        for (place, value) in series.iter().enumerate() {
            let off = value - centre;
            sums.push(sums[place] + off);
            squares.push(squares[place] + off * off);
        }
        let variance_min = (SD_MIN * centre).powi(2).max(f64::MIN_POSITIVE);
        Self {
            centre,
            sums,
            squares,
            variance_min,
        }
    }

    fn moments(&self, start: usize, end: usize) -> (f64, f64) {
        let count = (end - start) as f64;
        let mean = (self.sums[end] - self.sums[start]) / count;
        let squares = (self.squares[end] - self.squares[start]) / count;
        (mean, (squares - mean * mean).max(0.0))
    }

    /// Minus twice the logarithm of the likelihood, without what all cuts have in common.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let (_, variance) = self.moments(start, end);
        (end - start) as f64 * variance.max(self.variance_min).ln()
    }

    fn segment(&self, start: usize, end: usize) -> Segment {
        let (mean, variance) = self.moments(start, end);
        Segment {
            start,
            end,
            mean: self.centre + mean,
            sd: variance.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_plan::Random;

    /// A level with a little noise.
    fn level(random: &mut Random, values: usize, mean: f64, sd: f64) -> Vec<f64> {
        let noise = |random: &mut Random| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        (0..values).map(|_| mean + sd * noise(random)).collect()
    }

    fn classed(parts: &[(usize, f64)], better: Better) -> Steady {
        let mut random = Random::new(7);
        let series: Vec<f64> = parts
            .iter()
            .flat_map(|(values, mean)| level(&mut random, *values, *mean, 0.02))
            .collect();
        steady(&series, better).unwrap()
    }

    #[test]
    fn classes_go_by_what_came_before_the_last_level() {
        let check = |parts: &[(usize, f64)], better, class, from| {
            let found = classed(parts, better);
            assert_eq!((found.class, found.from), (class, from), "{found:?}");
        };
        check(&[(30, 1.0)], Better::Larger, Class::Flat, 0);
        check(&[(10, 0.5), (30, 1.0)], Better::Larger, Class::WarmUp, 10);
        check(
            &[(10, 0.5), (30, 1.0)],
            Better::Smaller,
            Class::Slowdown,
            10,
        );
        check(&[(10, 2.0), (30, 1.0)], Better::Larger, Class::Slowdown, 10);
        // A second half at half of the rate (A5).
        check(&[(20, 1.0), (20, 0.5)], Better::Larger, Class::Slowdown, 20);
        check(
            &[(35, 1.0), (5, 0.5)],
            Better::Larger,
            Class::NoSteadyState,
            35,
        );
        // A freeze in the last quarter, and back again.
        let frozen = [(30, 1.0), (5, 0.1), (5, 1.0)];
        check(&frozen, Better::Larger, Class::NoSteadyState, 35);
    }

    #[test]
    fn a_change_of_spread_alone_is_a_change_and_stays_flat() {
        let mut random = Random::new(3);
        let mut series = level(&mut random, 40, 1.0, 0.005);
        series.extend(level(&mut random, 40, 1.0, 0.08));
        let found = steady(&series, Better::Larger).unwrap();
        assert_eq!(found.segments.len(), 2, "{found:?}");
        assert!(found.segments[0].end.abs_diff(40) <= 2);
    }

    #[test]
    fn pruning_loses_nothing() {
        let mut random = Random::new(11);
        for _ in 0..50 {
            let mut series = Vec::new();
            while series.len() < 40 {
                let (count, mean) = (3 + random.below(12) as usize, 1.0 + random.unit());
                series.extend(level(&mut random, count, mean, 0.05));
            }
            assert_eq!(changes(&series), every_cut(&series));
        }
    }

    /// The cheapest cut without pruning.
    fn every_cut(series: &[f64]) -> Vec<usize> {
        let (sums, n) = (Sums::new(series), series.len());
        let penalty = PENALTY * (n as f64).ln();
        let mut best: Vec<(f64, Vec<usize>)> = vec![(f64::INFINITY, Vec::new()); n + 1];
        best[0].0 = -penalty;
        for end in SEGMENT_MIN..=n {
            for start in 0..=end - SEGMENT_MIN {
                let cost = best[start].0 + sums.cost(start, end) + penalty;
                if cost < best[end].0 {
                    let mut cut = best[start].1.clone();
                    cut.extend((start > 0).then_some(start));
                    best[end] = (cost, cut);
                }
            }
        }
        best[n].1.clone()
    }

    #[test]
    fn short_and_constant_series_do_no_harm() {
        assert_eq!(steady(&[1.0; 5], Better::Larger), None);
        assert_eq!(steady(&[f64::NAN; 10], Better::Larger), None);
        let constant = steady(&[4.0; 10], Better::Larger).unwrap();
        assert_eq!((constant.class, constant.segments.len()), (Class::Flat, 1));
        assert_eq!(
            steady(&[0.0; 10], Better::Larger).unwrap().class,
            Class::Flat
        );
    }
}
