//! When the requests of an open loop are due: fixed beforehand, whatever comes back (R2).
//!
//! A rate that changes over time is handled by its integral: the k-th request is due when the
//! expected number of requests reaches k (constant gaps) or the sum of k unit exponentials
//! (Poisson). Both are exact for rates that change linearly (Cinlar 1975, "Introduction to
//! Stochastic Processes", inversion of the integrated rate).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::Random;
use crate::stored;

/// Gaps between the requests of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// All gaps equal.
    Constant,
    /// Exponential gaps, as of many independent users.
    Poisson,
}

/// How the rate of an open loop changes over the load, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateShape {
    /// Not at all.
    #[default]
    #[serde(deserialize_with = "stored::nothing_more")]
    Level,
    /// Linearly from the load's rate to another.
    Ramp {
        /// Rate at the end, requests per second.
        to_per_s: f64,
    },
    /// In steps of equal length: first the load's rate, then these.
    Steps {
        /// Rates after the first, requests per second.
        then_per_s: Vec<f64>,
    },
}

/// Due times in nanoseconds from the start of the load, ascending and without end.
#[derive(Debug, Clone)]
pub struct Schedule {
    profile: Profile,
    arrival: Arrival,
    random: Random,
    /// Requests expected before the one that is next.
    expected: f64,
    /// Requests handed out.
    index: u64,
}

impl Schedule {
    /// A schedule of `rate_per_s` requests per second; the same for the same `seed`.
    pub fn new(rate_per_s: f64, arrival: Arrival, seed: u64) -> Self {
        Self::shaped(rate_per_s, &RateShape::Level, 0.0, arrival, seed)
    }

    /// A schedule whose rate changes over `length_s` seconds from `rate_per_s` on as `shape`
    /// says, and then stays.
    pub fn shaped(
        rate_per_s: f64,
        shape: &RateShape,
        length_s: f64,
        arrival: Arrival,
        seed: u64,
    ) -> Self {
        let profile = Profile::new(rate_per_s, shape, length_s);
        Self {
            profile,
            arrival,
            random: Random::new(seed),
            expected: 0.0,
            index: 0,
        }
    }

    /// How long the first `count` requests take, each with the gap that follows it: when the one
    /// after them is due. Nanoseconds, and at the most `until_ns`; also where `goes_on`, which is
    /// asked between draws, says no: each of Poisson arrivals has to be drawn.
    pub fn length_ns(&self, count: u64, until_ns: u64, goes_on: impl Fn() -> bool) -> u64 {
        let mut ahead = self.clone();
        let Some(before_last) = count.checked_sub(1) else {
            return 0;
        };
        match self.arrival {
            Arrival::Constant => ahead.index = before_last.min(u64::MAX - 2),
            Arrival::Poisson => {
                for passed in 1..=before_last {
                    ahead.expected -= ahead.random.unit().ln();
                    // A count may be far beyond what is ever sent.
                    let is_time_to_look = passed % 1024 == 0;
                    if is_time_to_look && (ahead.time_ns() >= until_ns || !goes_on()) {
                        return until_ns;
                    }
                }
            }
        }
        let last = ahead.next().unwrap_or(u64::MAX);
        let following = ahead.next().unwrap_or(u64::MAX);
        following.max(last.saturating_add(1)).min(until_ns)
    }

    /// When the request is due before which `expected` are expected, nanoseconds.
    fn time_ns(&mut self) -> u64 {
        (self.profile.time_of(self.expected) * 1e9) as u64
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self.arrival {
            // Counted, not added up, so that no rounding accumulates.
            Arrival::Constant => self.expected = self.index as f64,
            // Unit exponentials by inversion: -ln(u).
            Arrival::Poisson => self.expected -= self.random.unit().ln(),
        }
        self.index += 1;
        Some(self.time_ns())
    }
}

/// A rate over time, in parts in which it changes linearly.
#[derive(Debug, Clone)]
struct Profile {
    parts: Vec<Part>,
    /// The part that the last time was in; times only grow.
    at: usize,
}

#[derive(Debug, Clone)]
struct Part {
    start_s: f64,
    length_s: f64,
    from_per_s: f64,
    to_per_s: f64,
    /// Requests expected before this part.
    before: f64,
}

impl Profile {
    fn new(rate_per_s: f64, shape: &RateShape, length_s: f64) -> Self {
        let mut profile = Self {
            parts: Vec::new(),
            at: 0,
        };
        match shape {
            RateShape::Level => profile.push(f64::INFINITY, rate_per_s, rate_per_s),
            RateShape::Ramp { to_per_s } => {
                profile.push(length_s, rate_per_s, *to_per_s);
                profile.push(f64::INFINITY, *to_per_s, *to_per_s);
            }
            RateShape::Steps { then_per_s } => {
                let each = length_s / (then_per_s.len() + 1) as f64;
                profile.push(each, rate_per_s, rate_per_s);
                for rate in then_per_s {
                    profile.push(each, *rate, *rate);
                }
                if let Some(last) = profile.parts.last_mut() {
                    last.length_s = f64::INFINITY;
                }
            }
        }
        profile
    }

    fn push(&mut self, length_s: f64, from_per_s: f64, to_per_s: f64) {
        let (start_s, before) = self.parts.last().map_or((0.0, 0.0), |last| {
            (last.start_s + last.length_s, last.before + last.expected())
        });
        self.parts.push(Part {
            start_s,
            length_s,
            from_per_s,
            to_per_s,
            before,
        });
    }

    /// When `expected` requests are expected to have come, seconds.
    fn time_of(&mut self, expected: f64) -> f64 {
        while self.at + 1 < self.parts.len() && expected >= self.parts[self.at + 1].before {
            self.at += 1;
        }
        let part = &self.parts[self.at];
        part.start_s + part.time_of(expected - part.before)
    }
}

impl Part {
    /// Requests expected in the whole part.
    fn expected(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.length_s
    }

    /// When `requests` of this part are expected to have come, seconds from its start.
    fn time_of(&self, requests: f64) -> f64 {
        let slope = (self.to_per_s - self.from_per_s) / self.length_s;
        if slope == 0.0 || !slope.is_finite() {
            return requests / self.from_per_s;
        }
        // from x + slope/2 x^2 = requests, in the form that keeps digits for a small slope.
        let root = (self.from_per_s.powi(2) + 2.0 * slope * requests)
            .max(0.0)
            .sqrt();
        2.0 * requests / (self.from_per_s + root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_gaps_do_not_drift() {
        let due: Vec<u64> = Schedule::new(3.0, Arrival::Constant, 1)
            .take(3_000_001)
            .collect();
        assert_eq!(due[0], 0);
        assert_eq!(due[3], 1_000_000_000);
        assert_eq!(due[3_000_000], 1_000_000_000_000_000);
    }

    #[test]
    fn poisson_gaps_have_the_rate_and_the_spread_of_an_exponential() {
        let due: Vec<u64> = Schedule::new(1000.0, Arrival::Poisson, 42)
            .take(100_000)
            .collect();
        let gaps: Vec<f64> = due
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean gap {mean} ns");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.02,
            "an exponential's sd is its mean"
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule() {
        let due = |seed| {
            Schedule::new(500.0, Arrival::Poisson, seed)
                .take(50)
                .collect::<Vec<_>>()
        };
        assert_eq!(due(9), due(9));
        assert_ne!(due(9), due(10));
    }

    /// Requests due in each second of a schedule with constant gaps.
    fn in_each_second(rate: f64, shape: &RateShape, length_s: f64, seconds: usize) -> Vec<usize> {
        let mut counts = vec![0; seconds];
        for due in Schedule::shaped(rate, shape, length_s, Arrival::Constant, 1) {
            let second = (due / 1_000_000_000) as usize;
            if second >= seconds {
                return counts;
            }
            counts[second] += 1;
        }
        counts
    }

    #[test]
    fn a_ramp_rises_linearly_and_then_stays() {
        let ramp = RateShape::Ramp { to_per_s: 500.0 };
        let counts = in_each_second(100.0, &ramp, 4.0, 6);
        // The mean rate of each second of the ramp: 150, 250, 350, 450; then 500.
        for (count, expected) in counts.iter().zip([150, 250, 350, 450, 500, 500]) {
            assert!(count.abs_diff(expected) <= 1, "{counts:?}");
        }
        let falling = in_each_second(500.0, &RateShape::Ramp { to_per_s: 100.0 }, 4.0, 5);
        for (count, expected) in falling.iter().zip([450, 350, 250, 150, 100]) {
            assert!(count.abs_diff(expected) <= 1, "{falling:?}");
        }
    }

    #[test]
    fn steps_divide_the_time_evenly() {
        let steps = RateShape::Steps {
            then_per_s: vec![200.0, 50.0],
        };
        let counts = in_each_second(100.0, &steps, 6.0, 7);
        for (count, expected) in counts.iter().zip([100, 100, 200, 200, 50, 50, 50]) {
            assert!(count.abs_diff(expected) <= 1, "{counts:?}");
        }
    }

    #[test]
    fn a_count_lasts_until_the_request_after_it() {
        let steps = RateShape::Steps {
            then_per_s: vec![200.0, 50.0],
        };
        for shape in [RateShape::Level, RateShape::Ramp { to_per_s: 9.0 }, steps] {
            for arrival in [Arrival::Constant, Arrival::Poisson] {
                let all = Schedule::shaped(10.0, &shape, 4.0, arrival, 7);
                for count in [1, 2, 3, 40, 3_000] {
                    let following = all.clone().nth(count as usize);
                    assert_eq!(Some(all.length_ns(count, u64::MAX, || true)), following);
                    assert_eq!(all.length_ns(count, 5, || true), 5);
                }
            }
        }
        let all = Schedule::new(10.0, Arrival::Constant, 1);
        assert_eq!(all.length_ns(3, u64::MAX, || true), 300_000_000);
        assert_eq!(
            (
                all.length_ns(0, 9, || true),
                all.length_ns(u64::MAX, 9, || true)
            ),
            (0, 9)
        );
        // Two that are due in the same nanosecond are both in it.
        let dense = Schedule::new(1e12, Arrival::Constant, 1);
        assert_eq!(dense.length_ns(1, u64::MAX, || true), 1);
        let poisson = Schedule::new(1e6, Arrival::Poisson, 1);
        assert_eq!(
            poisson.length_ns(u64::MAX, 1_000_000_000, || true),
            1_000_000_000
        );
        // Nobody waits for a thousand million draws who wants to stop.
        assert_eq!(poisson.length_ns(u64::MAX, u64::MAX, || false), u64::MAX);
    }

    #[test]
    fn a_poisson_ramp_has_the_expected_number() {
        let ramp = RateShape::Ramp { to_per_s: 20_000.0 };
        let due = Schedule::shaped(10_000.0, &ramp, 10.0, Arrival::Poisson, 3);
        let count = due.take_while(|at| *at < 10_000_000_000).count() as f64;
        // 150,000 expected; five standard deviations of a Poisson count are 1,936.
        assert!((count - 150_000.0).abs() < 1_936.0, "{count}");
    }
}
