//! Comparisons in plain English.

use bakeoff_stats::{EQUAL_WITHIN, Estimate, IntervalKind, Metric, ROUNDS_ADVISED_MAX};

use crate::conclusion::{Comparison, Conclusion, Direction, Evidence, Reason, Side};

/// Rounds from which they say how far they are apart, and so how many would be needed.
const SPREAD_ROUNDS: usize = 3;
/// A ratio from which "times" reads better than percent.
const TIMES_FROM: f64 = 2.0;

impl Comparison {
    /// The result without the names: `faster by 12 % (8 to 16 %)`.
    pub fn phrase(&self) -> String {
        let direction = match self.conclusion {
            Conclusion::Higher => Direction::Higher,
            Conclusion::Lower => Direction::Lower,
            Conclusion::PlainNotProven(direction) => {
                return format!("{}; {}", self.difference(direction), self.not_proven());
            }
            Conclusion::Equal => return self.equal(),
            Conclusion::NoDifferenceShown => return self.no_difference(),
            Conclusion::CannotTell => return self.cannot_tell(),
            Conclusion::NotCompared => return self.because("not compared"),
            Conclusion::NotComparable => return self.because("not comparable"),
        };
        let difference = self.difference(direction);
        match self.evidence {
            Evidence::Indication => format!("{difference}, an indication"),
            _ => difference,
        }
    }

    /// The whole sentence: `caddy against nginx, requests/s: slower by 12 % (8 to 16 %)`.
    pub fn sentence(&self) -> String {
        let (first, second) = (&self.pair.first, &self.pair.second);
        format!(
            "{second} against {first}, {}: {}",
            self.metric.phrase(),
            self.phrase()
        )
    }

    /// `faster by 12 % (8 to 16 %)`, `4 times as fast (3.8 to 4.2)`.
    fn difference(&self, direction: Direction) -> String {
        let Some(ratio) = self.ratio else {
            return adverb(self.metric, direction).to_owned();
        };
        let at_least = if self.bound.is_some() {
            "at least "
        } else {
            ""
        };
        // The other end is not known where one side is a lower bound.
        let ends = |text: String| match (self.bound, ratio.interval) {
            (Some(Side::AtLeast | Side::AtMost), _) => String::new(),
            (None, IntervalKind::Range) => format!(" ({text}, all {} rounds)", ratio.n),
            (None, _) => format!(" ({text})"),
        };
        if direction == Direction::Higher && ratio.point >= TIMES_FROM {
            let between = format!("{} to {}", factor(ratio.low), factor(ratio.high));
            let as_much = match self.metric {
                Metric::RatePerS => "as fast",
                metric if metric.is_latency() => "as long",
                _ => "as much",
            };
            return format!(
                "{at_least}{} times {as_much}{}",
                factor(ratio.point),
                ends(between)
            );
        }
        let (low, high) = (ratio.low - 1.0, ratio.high - 1.0);
        let (by, from, to) = match direction {
            Direction::Higher => (ratio.point - 1.0, low, high),
            Direction::Lower => (1.0 - ratio.point, -high, -low),
        };
        let between = format!("{} to {} %", percent(from), percent(to));
        let adverb = adverb(self.metric, direction);
        format!("{adverb} by {at_least}{} %{}", percent(by), ends(between))
    }

    fn not_proven(&self) -> String {
        let rounds = self.ratio.map_or(0, |ratio| ratio.n);
        let needed = self
            .rounds_needed
            .map(|needed| format!("; about {needed} would"));
        let why = match self.reason {
            Some(Reason::NotValid) => "too few of which can be believed to prove it",
            _ => "which do not prove it",
        };
        format!(
            "plain in all {rounds} rounds, {why}{}",
            needed.unwrap_or_default()
        )
    }

    /// What two that are called equal may differ by, as a share rounded up to a tenth of a per
    /// cent: what they were held against, for the interval shown is good for this pair alone. 0
    /// where all rounds are the same.
    pub(crate) fn within(&self) -> f64 {
        let same = |ratio: Estimate| (ratio.low, ratio.high) == (1.0, 1.0);
        if self.ratio.is_some_and(same) {
            return 0.0;
        }
        (EQUAL_WITHIN.max(self.floor) * 1000.0 - 1e-9).ceil() / 1000.0
    }

    fn equal(&self) -> String {
        match self.within() {
            0.0 => "equal: the same in all rounds".to_owned(),
            share => format!("equal within {} %", percent(share)),
        }
    }

    fn no_difference(&self) -> String {
        match self.smallest_shown {
            Some(shown) => format!("no difference shown; {} % would have been", percent(shown)),
            None => "no difference shown".to_owned(),
        }
    }

    fn cannot_tell(&self) -> String {
        match self.rounds_needed {
            Some(rounds) => format!("cannot tell; about {rounds} rounds would"),
            None if self.ratio.is_some_and(|ratio| ratio.n >= SPREAD_ROUNDS) => {
                format!("cannot tell; more than {ROUNDS_ADVISED_MAX} rounds would be needed")
            }
            None => "cannot tell from so few rounds".to_owned(),
        }
    }

    fn because(&self, what: &str) -> String {
        match self.reason {
            Some(reason) => format!("{what}: {}", reason.text()),
            None => what.to_owned(),
        }
    }
}

/// What more or less of a metric is called.
fn adverb(metric: Metric, direction: Direction) -> &'static str {
    match (metric, direction) {
        (Metric::RatePerS, Direction::Higher) => "faster",
        (Metric::RatePerS, Direction::Lower) => "slower",
        (metric, Direction::Higher) if metric.is_latency() => "longer",
        (metric, Direction::Lower) if metric.is_latency() => "shorter",
        (_, Direction::Higher) => "more",
        (_, Direction::Lower) => "less",
    }
}

/// A share as percent: `12`, `8.4`, `0.3`, `-2`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent.abs() {
        small if small < 9.95 => format!("{percent:.1}"),
        // Not all: only all is 100 %.
        nearly if (99.5..100.0).contains(&nearly) => {
            format!("{:.1}", percent.clamp(-99.9, 99.9))
        }
        _ => format!("{percent:.0}"),
    };
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// A factor: `4`, `2.3`, `12`.
fn factor(ratio: f64) -> String {
    let text = match ratio {
        small if small < 9.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    };
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::PairKey;

    fn comparison(metric: Metric, (point, low, high): (f64, f64, f64)) -> Comparison {
        Comparison {
            pair: PairKey {
                workload: "html-small".to_owned(),
                load: "10 clients".to_owned(),
                first: "nginx".to_owned(),
                second: "caddy".to_owned(),
            },
            metric,
            ratio: Some(Estimate {
                point,
                low,
                high,
                n: 10,
                interval: IntervalKind::Walsh95,
            }),
            bound: None,
            evidence: Evidence::Test,
            conclusion: Conclusion::NoDifferenceShown,
            p_value: Some(0.01),
            floor: 0.01,
            rounds_needed: None,
            smallest_shown: None,
            causes: Vec::new(),
            reason: None,
        }
    }

    #[track_caller]
    fn says(comparison: &Comparison, phrase: &str) {
        assert_eq!(comparison.phrase(), phrase);
        assert!(comparison.sentence().starts_with("caddy against nginx, "));
    }

    #[test]
    fn differences_name_their_direction_and_interval() {
        let mut one = comparison(Metric::RatePerS, (1.12, 1.08, 1.16));
        one.conclusion = Conclusion::Higher;
        says(&one, "faster by 12 % (8 to 16 %)");
        one.ratio = comparison(Metric::RatePerS, (0.25, 0.22, 0.3)).ratio;
        one.conclusion = Conclusion::Lower;
        says(&one, "slower by 75 % (70 to 78 %)");
        one.ratio = comparison(Metric::RatePerS, (0.003, 0.0001, 0.006)).ratio;
        says(&one, "slower by 99.7 % (99 to 99.9 %)");
        let mut one = comparison(Metric::LatencyP99Ns, (4.0, 3.8, 4.25));
        one.conclusion = Conclusion::Higher;
        says(&one, "4 times as long (3.8 to 4.2)");
        one.metric = Metric::MemoryPeakBytes;
        one.evidence = Evidence::Indication;
        says(&one, "4 times as much (3.8 to 4.2), an indication");
    }

    #[test]
    fn a_bound_says_at_least_and_gives_no_other_end() {
        let mut one = comparison(Metric::RatePerS, (1.12, 1.08, 1.16));
        (one.conclusion, one.bound) = (Conclusion::Higher, Some(Side::AtLeast));
        says(&one, "faster by at least 12 %");
        let mut one = comparison(Metric::RatePerS, (0.5, 0.4, 0.6));
        (one.conclusion, one.bound) = (Conclusion::Lower, Some(Side::AtMost));
        says(&one, "slower by at least 50 %");
    }

    #[test]
    fn the_other_answers_say_what_would_help() {
        let mut one = comparison(Metric::RatePerS, (1.005, 0.99, 1.0214));
        one.smallest_shown = Some(0.07);
        says(&one, "no difference shown; 7 % would have been");
        one.conclusion = Conclusion::Equal;
        says(&one, "equal within 3 %");
        one.floor = 0.0402;
        says(&one, "equal within 4.1 %");
        one.ratio = comparison(Metric::MemoryPeakBytes, (1.0, 1.0, 1.0)).ratio;
        says(&one, "equal: the same in all rounds");
        one.conclusion = Conclusion::CannotTell;
        one.rounds_needed = Some(14);
        says(&one, "cannot tell; about 14 rounds would");
        one.rounds_needed = None;
        says(&one, "cannot tell; more than 200 rounds would be needed");
        one.ratio = None;
        says(&one, "cannot tell from so few rounds");
        one.rounds_needed = Some(14);
        one.ratio = comparison(Metric::RatePerS, (4.0, 3.0, 5.0)).ratio;
        one.conclusion = Conclusion::PlainNotProven(Direction::Higher);
        says(
            &one,
            "4 times as fast (3 to 5); plain in all 10 rounds, which do not prove it; \
             about 14 would",
        );
        one.conclusion = Conclusion::NotCompared;
        one.reason = Some(Reason::OpenLoop);
        says(
            &one,
            "not compared: in an open loop the rate is the one that was asked for",
        );
    }
}
