//! When the requests of an open loop are due: fixed beforehand, whatever comes back (R2).

use crate::Arrival;
use crate::random::Random;

/// Due times in nanoseconds from the start of the load, ascending and without end.
#[derive(Debug, Clone)]
pub struct Schedule {
    gap_ns: f64,
    arrival: Arrival,
    random: Random,
    index: u64,
    at_ns: f64,
}

impl Schedule {
    /// A schedule of `rate_per_s` requests per second; the same for the same `seed`.
    pub fn new(rate_per_s: f64, arrival: Arrival, seed: u64) -> Self {
        Self {
            gap_ns: 1e9 / rate_per_s,
            arrival,
            random: Random::new(seed),
            index: 0,
            at_ns: 0.0,
        }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.index += 1;
        match self.arrival {
            // Multiplied, not added up, so that no rounding accumulates.
            Arrival::Constant => Some(((self.index - 1) as f64 * self.gap_ns) as u64),
            Arrival::Poisson => {
                // Exponential gaps by inversion: -ln(u) / rate.
                self.at_ns -= self.random.unit().ln() * self.gap_ns;
                Some(self.at_ns as u64)
            }
        }
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
}
