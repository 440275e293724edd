//! Rates and their bounds for one goal, and which rate is measured next.

use bakeoff_record::thousands;

use crate::classify::{Class, classify, servers};
use crate::judged::Judged;
use crate::stage::Stage;

/// Trials at one rate that the engine spoiled, from which on higher rates are not tried.
const LIMITED_LEAST: usize = 3;
/// Step of the first stage.
const DOUBLE: f64 = 2.0;

/// Trials by rate, ascending, as one goal sees them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rates(Vec<(f64, Vec<(f64, Judged)>)>);

/// What is known of one goal at one stage.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Bounds {
    /// The largest rate below the upper bound that the server carries.
    pub(crate) lower: Option<f64>,
    /// The smallest rate that it does not.
    pub(crate) upper: Option<f64>,
}

/// Rates that a search may try, requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    /// The first.
    pub(crate) start: f64,
    /// The lowest: below it a full trial would hold too few requests to say anything.
    pub(crate) least: f64,
    /// The highest.
    pub(crate) most: f64,
}

impl Rates {
    pub(crate) fn add(&mut self, rate: f64, length_s: f64, judged: Judged) {
        let at = self.0.partition_point(|(other, _)| *other < rate);
        match self.0.get_mut(at) {
            Some((other, trials)) if *other == rate => trials.push((length_s, judged)),
            _ => self.0.insert(at, (rate, vec![(length_s, judged)])),
        }
    }

    fn of_class(&self, stage: &Stage, class: Class) -> impl DoubleEndedIterator<Item = f64> {
        let classified = self.0.iter().filter(move |(_, trials)| {
            // Trials of other lengths count too, so this is looked at anew at each stage.
            classify(stage, trials) == class
        });
        classified
            .map(|(rate, _)| *rate)
            .collect::<Vec<_>>()
            .into_iter()
    }

    pub(crate) fn bounds(&self, stage: &Stage) -> Bounds {
        let upper = self.of_class(stage, Class::Upper).next();
        let lower = self.carried_below(stage, upper);
        Bounds { lower, upper }
    }

    /// The highest rate below `most`, where there is such a limit, that is carried.
    pub(crate) fn carried_below(&self, stage: &Stage, most: Option<f64>) -> Option<f64> {
        let mut carried = self.of_class(stage, Class::Lower);
        carried.rfind(|rate| most.is_none_or(|most| *rate < most))
    }

    /// Whether a rate above the upper bound is carried.
    pub(crate) fn is_inverted(&self, stage: &Stage) -> bool {
        let upper = self.bounds(stage).upper;
        let most = self.of_class(stage, Class::Lower).next_back();
        upper.zip(most).is_some_and(|(upper, most)| most > upper)
    }

    /// The lowest rate between the bounds at which the engine spoils more trials than are left.
    pub(crate) fn cap(&self, bounds: Bounds) -> Option<f64> {
        self.spoiled(bounds).next()
    }

    /// Rates between the bounds at which the engine spoils more trials than are left, ascending.
    fn spoiled(&self, bounds: Bounds) -> impl DoubleEndedIterator<Item = f64> {
        self.spoiled_by(LIMITED_LEAST, bounds)
    }

    /// The lowest rate below one that is too high at which the engine spoiled a trial. As long as
    /// no lower bound is known, a lower rate says more than another trial at this one: there the
    /// server may carry it, and the engine has more time. Beyond a lower bound it is tried again.
    fn left_for_now(&self, upper: Option<f64>) -> Option<f64> {
        let below = Bounds { lower: None, upper };
        let spoiled = upper.and_then(|_| self.spoiled_by(1, below).next());
        spoiled.or(upper)
    }

    /// Rates between the bounds at which the engine spoils more trials than are left, and so many
    /// at the least, ascending.
    fn spoiled_by(&self, least: usize, bounds: Bounds) -> impl DoubleEndedIterator<Item = f64> {
        let is_between = move |rate: &f64| {
            bounds.lower.is_none_or(|lower| *rate > lower)
                && bounds.upper.is_none_or(|upper| *rate < upper)
        };
        let is_spoiled = move |(_, trials): &&(f64, Vec<(f64, Judged)>)| {
            let is_limited = |(_, judged): &&(f64, Judged)| *judged == Judged::Limited;
            let limited = trials.iter().filter(is_limited).count();
            limited >= least && limited > trials.len() - limited
        };
        let spoiled = self.0.iter().filter(is_spoiled).map(|(rate, _)| *rate);
        spoiled.filter(is_between)
    }

    /// Fresh servers behind a bound.
    pub(crate) fn servers(&self, stage: &Stage, rate: f64, class: Class) -> usize {
        let found = self.0.iter().find(|(other, _)| *other == rate);
        found.map_or(0, |(_, trials)| servers(stage, trials, class))
    }

    /// The rate to measure next, and at which stage; `None` once the last stage has its bounds, or
    /// the range has none. The stages before it say where the last one begins.
    pub(crate) fn next<'s>(&self, stages: &'s [Stage], range: Range) -> Option<(f64, &'s Stage)> {
        let mut earlier = Bounds::default();
        let mut width = None;
        for stage in stages {
            let mut known = self.bounds(stage);
            known.upper = self.cap(known).or(known.upper);
            if known.lower.is_none() {
                known.upper = self.left_for_now(known.upper);
            }
            let reach = self.reach(stage, width, known.lower.is_some());
            if let Some(rate) = between(stage, known, earlier, reach, range) {
                return Some((rate, stage));
            }
            (earlier, width) = (known, Some(stage.width));
        }
        let last = stages.last()?;
        Some((self.beyond(last)?, last))
    }

    /// The rate to measure next above those that the engine spoils, to learn where the server ends
    /// for certain. It begins with a rate at which a trial showed that, if only a short one.
    fn beyond(&self, stage: &Stage) -> Option<f64> {
        let bounds = self.bounds(stage);
        let spoiled = self.spoiled(bounds).next_back()?;
        let Some(upper) = bounds.upper else {
            let exceeds = |(_, judged): &(f64, Judged)| matches!(judged, Judged::Exceeds(_));
            let mut above = self.0.iter().filter(|(rate, _)| *rate > spoiled);
            let found = above.find(|(_, trials)| {
                trials.iter().any(exceeds) && classify(stage, trials) != Class::Lower
            });
            return found.map(|(rate, _)| *rate);
        };
        let middle = readable((spoiled * upper).sqrt());
        let is_apart = (upper - spoiled) / upper > stage.width;
        (is_apart && spoiled < middle && middle < upper).then_some(middle)
    }

    /// By which factor the next rate may lie beyond the one bound that is known. In the first stage
    /// it is two. In the others it begins with the distance that the stage before left, and doubles
    /// with each rate that turns out to lie on the same side. Downwards, rates that the engine
    /// spoils lie there too.
    fn reach(&self, stage: &Stage, width_before: Option<f64>, upwards: bool) -> f64 {
        let Some(width) = width_before else {
            return DOUBLE;
        };
        let steps = if upwards {
            self.of_class(stage, Class::Lower).count()
        } else {
            let spoiled = self.spoiled_by(1, self.bounds(stage)).count();
            self.of_class(stage, Class::Upper).count() + spoiled
        };
        let steps = steps.clamp(1, 16) as i32;
        (1.0 + width * 2.0_f64.powi(steps - 1)).min(DOUBLE)
    }
}

/// The rate that brings the bounds of a stage nearer; `None` where they are near enough, or the
/// range ends.
fn between(stage: &Stage, known: Bounds, earlier: Bounds, reach: f64, range: Range) -> Option<f64> {
    let rate = match (known.lower, known.upper) {
        (Some(lower), Some(upper)) => {
            if (upper - lower) / upper <= stage.width {
                return None;
            }
            let middle = readable((lower * upper).sqrt());
            return (lower < middle && middle < upper).then_some(middle);
        }
        (Some(lower), None) => {
            let known = earlier.upper.filter(|upper| *upper > lower);
            let up = known.map_or(lower * reach, |upper| upper.min(lower * reach));
            let up = readable(up).min(range.most);
            return (up > lower).then_some(up);
        }
        (None, Some(upper)) => {
            let known = earlier.lower.filter(|lower| *lower < upper);
            let down = known.map_or(upper / reach, |lower| lower.max(upper / reach));
            let down = readable(down).max(range.least);
            return (down < upper).then_some(down);
        }
        (None, None) => earlier.lower.or(earlier.upper).unwrap_or(range.start),
    };
    Some(rate.clamp(range.least, range.most))
}

/// To four significant digits: a rate that reads like a rate.
pub(crate) fn readable(rate: f64) -> f64 {
    if rate <= 0.0 || !rate.is_finite() {
        return 0.0;
    }
    let places = 3 - rate.log10().floor() as i32;
    let scale = 10.0_f64.powi(places.abs());
    match places {
        0.. => (rate * scale).round() / scale,
        _ => (rate / scale).round() * scale,
    }
}

/// A rate in a sentence.
pub(crate) fn shown(rate: f64) -> String {
    match rate {
        rate if rate >= 100.0 => thousands(&format!("{rate:.0}")),
        rate => format!("{rate}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::Why;

    #[test]
    fn rates_have_four_digits() {
        for (rate, expected) in [
            (7_412.61, 7_413.0),
            (74_126.1, 74_130.0),
            (741.261, 741.3),
            (0.123_456, 0.1235),
            (0.0, 0.0),
            (f64::INFINITY, 0.0),
        ] {
            assert_eq!(readable(rate), expected, "{rate}");
        }
    }

    const STAGE: Stage = Stage {
        trial_s: 10.0,
        sum_s: 10.0,
        exceed: 0.5,
        width: 0.02,
        servers_least: 1,
    };

    fn rates(all: &[(f64, usize, Judged)]) -> Rates {
        let mut rates = Rates::default();
        for (rate, times, judged) in all {
            (0..*times).for_each(|_| rates.add(*rate, 10.0, *judged));
        }
        rates
    }

    #[test]
    fn the_relevant_bounds_are_the_lowest_upper_and_the_highest_lower_below_it() {
        let exceeds = Judged::Exceeds(Why::Latency);
        let all = [
            (900.0, 1, Judged::Meets),
            (500.0, 1, exceeds),
            (400.0, 1, Judged::Meets),
            (300.0, 1, Judged::Meets),
            (1000.0, 1, exceeds),
        ];
        let rates = rates(&all);
        let expected = Bounds {
            lower: Some(400.0),
            upper: Some(500.0),
        };
        assert_eq!(rates.bounds(&STAGE), expected);
        assert!(rates.is_inverted(&STAGE));
        assert!(!self::rates(&all[1..]).is_inverted(&STAGE));
    }

    #[test]
    fn above_a_rate_that_the_engine_spoils_nothing_is_tried() {
        let range = Range {
            start: 100.0,
            least: 10.0,
            most: 10_000.0,
        };
        let next =
            |all: &[(f64, usize, Judged)]| rates(all).next(&[STAGE], range).map(|(rate, _)| rate);
        assert_eq!(next(&[]), Some(100.0));
        assert_eq!(next(&[(100.0, 1, Judged::Meets)]), Some(200.0));
        let twice = [(100.0, 1, Judged::Meets), (200.0, 2, Judged::Limited)];
        assert_eq!(next(&twice), Some(200.0), "it may be chance");
        let spoiled = [(100.0, 1, Judged::Meets), (200.0, 3, Judged::Limited)];
        assert_eq!(next(&spoiled), Some(141.4));
        let close = [(198.0, 1, Judged::Meets), (200.0, 3, Judged::Limited)];
        assert_eq!(next(&close), None);
    }

    #[test]
    fn beyond_rates_that_the_engine_spoils_the_server_s_end_is_looked_for() {
        let range = Range {
            start: 100.0,
            least: 10.0,
            most: 10_000.0,
        };
        let short = Stage {
            trial_s: 1.0,
            sum_s: 1.0,
            ..STAGE
        };
        let next = |full: &[(f64, usize, Judged)]| {
            let mut all = rates(full);
            all.add(300.0, 1.0, Judged::Exceeds(Why::Latency));
            all.next(&[short, STAGE], range).map(|(rate, _)| rate)
        };
        let exceeds = Judged::Exceeds(Why::Latency);
        let spoiled = [(198.0, 1, Judged::Meets), (200.0, 3, Judged::Limited)];
        let with = |more: &[(f64, usize, Judged)]| next(&[&spoiled, more].concat());
        assert_eq!(with(&[]), Some(300.0), "only a short trial says so yet");
        assert_eq!(with(&[(300.0, 1, exceeds)]), Some(244.9));
        let more = [(300.0, 1, exceeds), (244.9, 3, Judged::Limited)];
        assert_eq!(with(&more), Some(271.1));
        assert_eq!(with(&[(203.0, 1, exceeds)]), None);
        assert_eq!(
            with(&[(300.0, 3, Judged::Limited)]),
            None,
            "nothing is known above"
        );
        let higher = [(300.0, 3, Judged::Limited), (400.0, 1, exceeds)];
        assert_eq!(with(&higher), Some(346.4));
        let carried = [(300.0, 1, exceeds), (244.9, 1, Judged::Meets)];
        assert_eq!(
            with(&carried),
            Some(271.1),
            "what was spoiled below it is of no matter"
        );
    }

    #[test]
    fn the_ends_of_the_range_end_the_search() {
        let range = Range {
            start: 100.0,
            least: 50.0,
            most: 150.0,
        };
        let next =
            |all: &[(f64, usize, Judged)]| rates(all).next(&[STAGE], range).map(|(rate, _)| rate);
        let exceeds = Judged::Exceeds(Why::Failures);
        assert_eq!(next(&[(100.0, 1, Judged::Meets)]), Some(150.0));
        assert_eq!(next(&[(150.0, 1, Judged::Meets)]), None);
        assert_eq!(next(&[(100.0, 1, exceeds)]), Some(50.0));
        assert_eq!(next(&[(50.0, 1, exceeds)]), None);
    }
}
