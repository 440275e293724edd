//! What several rounds say together: classes that most of them show, and medians.

use serde::Serialize;

use super::goodput::{Misjudged, misjudged};
use super::{OverloadClass, OverloadRamp};
use crate::figures;
use crate::sentence::named_rounds;

/// What a contender does beyond its capacity, over all rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Beyond {
    /// Rounds that were measured.
    pub rounds: usize,
    /// Classes that more than half of them show, in the order of [`OverloadClass::ALL`].
    pub classes: Vec<ClassSeen>,
    /// Classes that fewer show.
    pub seldom: Vec<ClassSeen>,
    /// Most right answers per second in a step, or in the closed loop that showed the capacity.
    pub peak_per_s: Option<Spread>,
    /// Right answers per second at about twice the capacity, as a share of that.
    pub goodput_at_twice: Option<Spread>,
    /// Time until it had recovered, seconds; a bound of null is beyond what was watched.
    pub recovery_s: Option<Spread>,
    /// The same as text.
    pub recovery: String,
    /// What cannot be said, and why; each once, with the figures of the first round that cannot,
    /// and with the rounds where others can say it.
    pub unsaid: Vec<String>,
}

/// A class over rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassSeen {
    /// The class.
    pub class: OverloadClass,
    /// Rounds that show it.
    pub rounds: usize,
    /// Step in which it was seen first, of all rounds, by its place, from 0.
    #[serde(skip)]
    pub step: usize,
    /// Share of the capacity from which on it was seen, in the round that saw it first.
    pub from_share: f64,
    /// The figures of one of those rounds.
    pub evidence: String,
}

/// Median, lowest and highest over rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Median; the worse one of the two in the middle where their number is even: the lower one,
    /// and the higher one of times.
    pub median: Option<f64>,
    /// Lowest.
    pub low: Option<f64>,
    /// Highest.
    pub high: Option<f64>,
    /// Rounds.
    pub n: usize,
}

impl Spread {
    /// The spread of values that are better the higher they are.
    fn of(values: Vec<f64>) -> Option<Self> {
        let middle = values.len().saturating_sub(1) / 2;
        Self::about(middle, values)
    }

    /// The spread of values that are better the lower they are.
    fn of_times(values: Vec<f64>) -> Option<Self> {
        let middle = values.len() / 2;
        Self::about(middle, values)
    }

    fn about(middle: usize, mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let finite = |at: usize| values.get(at).copied().filter(|it| it.is_finite());
        let last = values.len().checked_sub(1)?;
        Some(Self {
            median: finite(middle),
            low: finite(0),
            high: finite(last),
            n: values.len(),
        })
    }
}

/// Puts the rounds of a contender together, whose steps are these shares of the capacity.
pub fn judge_rounds(ramps: &[OverloadRamp], shares: &[f64]) -> Beyond {
    let measured: Vec<&OverloadRamp> = ramps.iter().filter(|it| it.series.is_some()).collect();
    let rounds = measured.len();
    let seen = OverloadClass::ALL
        .into_iter()
        .filter_map(|class| class_seen(class, &measured, shares));
    let (classes, seldom): (Vec<ClassSeen>, Vec<ClassSeen>) =
        seen.partition(|one| one.rounds * 2 > rounds);
    let spread = |value: &dyn Fn(&OverloadRamp) -> Option<f64>| {
        Spread::of(measured.iter().filter_map(|ramp| value(ramp)).collect())
    };
    let recoveries = measured.iter().filter_map(|ramp| ramp.recovery);
    let recovery_s = Spread::of_times(recoveries.map(super::Recovery::seconds).collect());
    let peak_per_s = spread(&|ramp| ramp.peak_per_s);
    let peak = peak_per_s.and_then(|peak| peak.median);
    let mut unsaid = unsaid(ramps);
    unsaid.extend(why_not_twice(&measured, peak, !classes.is_empty()));
    Beyond {
        rounds,
        classes,
        seldom,
        peak_per_s,
        goodput_at_twice: spread(&|ramp| ramp.goodput_at_twice),
        recovery: recovery_text(&measured, recovery_s),
        recovery_s,
        unsaid,
    }
}

/// What rounds cannot say for one reason, whatever the figures of each.
struct Unsaid<'r> {
    /// The first round's text.
    why: &'r str,
    rounds: Vec<u32>,
    /// The round whose figures these are, where another one has others.
    figures_of: Option<u32>,
}

impl Unsaid<'_> {
    fn text(&self, of: usize) -> String {
        let rounds = in_some(&self.rounds, of);
        let figures = self
            .figures_of
            .map(|round| format!("figures of round {round}"));
        let behind: Vec<String> = rounds.into_iter().chain(figures).collect();
        if behind.is_empty() {
            self.why.to_owned()
        } else {
            format!("{} ({})", self.why, behind.join("; "))
        }
    }
}

/// What the rounds cannot say, each once; first what none of them can.
fn unsaid(ramps: &[OverloadRamp]) -> Vec<String> {
    let mut all: Vec<Unsaid<'_>> = Vec::new();
    for ramp in ramps {
        for why in &ramp.unsaid {
            let reason = without_figures(why);
            // Two steps of one round may differ in nothing but their share.
            let same = all
                .iter_mut()
                .find(|it| !it.rounds.contains(&ramp.round) && without_figures(it.why) == reason);
            match same {
                Some(same) => {
                    if same.why != why {
                        same.figures_of = same.rounds.first().copied();
                    }
                    same.rounds.push(ramp.round);
                }
                None => all.push(Unsaid {
                    why,
                    rounds: vec![ramp.round],
                    figures_of: None,
                }),
            }
        }
    }
    all.sort_by_key(|it| it.rounds.len() < ramps.len());
    all.iter().map(|it| it.text(ramps.len())).collect()
}

/// A text with one mark in place of each number.
fn without_figures(text: &str) -> String {
    let mut rest = text.chars().peekable();
    let mut reason = String::with_capacity(text.len());
    while let Some(next) = rest.next() {
        let is_figure = |it: char| it.is_ascii_digit();
        // `1,200` and `0.8` are one number, and `5, ` ends with its digit.
        let is_inside = reason.ends_with('0')
            && matches!(next, '.' | ',')
            && rest.peek().copied().is_some_and(is_figure);
        if !(is_figure(next) || is_inside) {
            reason.push(next);
        } else if !reason.ends_with('0') {
            reason.push('0');
        }
    }
    reason
}

/// `in round 2`; `None` where it holds for all of them.
fn in_some(rounds: &[u32], of: usize) -> Option<String> {
    (rounds.len() < of).then(|| format!("in {}", named_rounds(rounds)))
}

/// Why the result at twice the capacity is not known, where something else was taken as the
/// capacity.
fn why_not_twice(
    ramps: &[&OverloadRamp],
    peak_per_s: Option<f64>,
    has_classes: bool,
) -> Option<String> {
    let found = |ramp: &OverloadRamp| misjudged(ramp.series.as_ref()?, peak_per_s);
    let all: Vec<(u32, Misjudged)> = ramps
        .iter()
        .filter_map(|ramp| Some((ramp.round, found(ramp)?)))
        .collect();
    let rounds: Vec<u32> = all.iter().map(|(round, _)| *round).collect();
    let shown = |rate: f64| figures::amount(rate, 1);
    let peak = shown(peak_per_s?);
    let (gave, taken) = match all.first()?.1 {
        // A server without a class was never beyond its capacity, and each round says so.
        Misjudged::TooLow(_) if !has_classes => return None,
        Misjudged::TooLow(taken) => (format!("it gave {peak}/s"), taken),
        Misjudged::TooHigh(taken) => (format!("no step gave more than {peak}/s"), taken),
    };
    let taken = shown(taken);
    let in_some = in_some(&rounds, ramps.len()).map_or(String::new(), |it| format!(" ({it})"));
    let advised = peak.replace(',', "");
    Some(format!(
        "what it does at twice its capacity{in_some}: {gave}, and {taken}/s was taken as its \
         capacity; take --capacity {advised}"
    ))
}

fn class_seen(class: OverloadClass, ramps: &[&OverloadRamp], shares: &[f64]) -> Option<ClassSeen> {
    let all = ramps.iter().flat_map(|ramp| &ramp.classes);
    let seen: Vec<_> = all.filter(|one| one.class == class).collect();
    let first = seen.iter().min_by_key(|one| one.step)?;
    Some(ClassSeen {
        class,
        rounds: seen.len(),
        step: first.step,
        from_share: shares.get(first.step).copied().unwrap_or(0.0),
        evidence: first.evidence.clone(),
    })
}

/// The median, of an even number of rounds the later one of the two in the middle, so that one
/// recovery does not speak for one that was never seen; with the range where there are several.
fn recovery_text(ramps: &[&OverloadRamp], spread: Option<Spread>) -> String {
    let mut all: Vec<super::Recovery> = ramps.iter().filter_map(|ramp| ramp.recovery).collect();
    let never = |one: &super::Recovery| matches!(one, super::Recovery::Never);
    all.sort_by(|one, other| {
        let seconds = one.seconds().total_cmp(&other.seconds());
        seconds.then(never(one).cmp(&never(other)))
    });
    let Some((middle, last)) = all.get(all.len() / 2).zip(all.last()) else {
        return "not known".to_owned();
    };
    match spread {
        Some(spread) if spread.n > 1 && all.first() != Some(last) => {
            let first = all.first().unwrap_or(last);
            format!("{} ({} to {})", middle.text(), first.text(), last.text())
        }
        _ => middle.text(),
    }
}
