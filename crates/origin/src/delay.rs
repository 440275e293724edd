//! How long an upstream takes before it answers: distributions, and draws from them.

use std::f64::consts::TAU;
use std::time::Duration;

use bakeoff_plan::{DURATION_MAX, Delay, Random};

/// The standard normal distribution's value at 0.99 (NIST/SEMATECH, e-Handbook of Statistical
/// Methods, 1.3.6.7.1).
const NORMAL_P99: f64 = 2.326_347_874_040_841;

/// The next time, to the nanosecond.
///
/// Exponential by inversion, `-mean ln u`. Lognormal as `median exp(s z)` with
/// `s = ln(p99 / median) / 2.3263`, because `ln p99 = ln median + s z(0.99)`, and `z` by Box
/// and Muller (1958, "A note on the generation of random normal deviates").
pub(crate) fn draw(delay: Delay, random: &mut Random) -> Duration {
    let seconds = match delay {
        Delay::Constant(delay) => return delay,
        Delay::Uniform { from, to } => {
            from.as_secs_f64() + (to - from).as_secs_f64() * random.unit()
        }
        Delay::Exponential { mean } => -mean.as_secs_f64() * random.unit().ln(),
        Delay::Lognormal { median, p99 } => {
            let spread = (p99.as_secs_f64() / median.as_secs_f64()).ln() / NORMAL_P99;
            let radius = (-2.0 * random.unit().ln()).sqrt();
            median.as_secs_f64() * (spread * radius * (TAU * random.unit()).cos()).exp()
        }
    };
    Duration::try_from_secs_f64(seconds).map_or(DURATION_MAX, |delay| delay.min(DURATION_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// The share of draws below each time is as the distribution says. With 20,000 draws a
    /// share's standard error is at most 0.0035; three of them are let pass.
    fn check(delay: Delay, shares: &[(f64, f64)]) {
        let draws: Vec<f64> = (0..20_000)
            .map(|index| draw(delay, &mut Random::of_request(7, index)).as_secs_f64() * 1e3)
            .collect();
        for (below_ms, expected) in shares {
            let below = draws.iter().filter(|draw| *draw <= below_ms).count();
            let share = below as f64 / draws.len() as f64;
            assert!(
                (share - expected).abs() < 0.0105,
                "{delay:?}: {share} of the draws are up to {below_ms} ms, expected {expected}"
            );
        }
    }

    #[test]
    fn draws_have_the_quantiles_of_their_distribution() {
        check(Delay::Constant(ms(5)), &[(4.999, 0.0), (5.0, 1.0)]);
        let uniform = Delay::Uniform {
            from: ms(2),
            to: ms(10),
        };
        check(
            uniform,
            &[(1.999, 0.0), (4.0, 0.25), (6.0, 0.5), (10.0, 1.0)],
        );
        // ln 2 = 0.6931 and ln 100 = 4.6052 means.
        let exponential = Delay::Exponential { mean: ms(10) };
        check(exponential, &[(6.931, 0.5), (10.0, 0.632), (46.052, 0.99)]);
        let lognormal = Delay::Lognormal {
            median: ms(5),
            p99: ms(50),
        };
        // One standard deviation is 10^(1/2.3263) = 2.6909 times the median.
        check(
            lognormal,
            &[(1.858, 0.1587), (5.0, 0.5), (13.454, 0.8413), (50.0, 0.99)],
        );
    }
}
