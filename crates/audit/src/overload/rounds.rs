//! What several rounds say together: classes that most of them show, and medians.

use serde::{Serialize, Serializer};

use super::goodput::{Misjudged, misjudged};
use super::recovery::{Recoveries, Recovery};
use super::unsaid::{Unsaid, UnsaidOf};
use super::{OverloadClass, OverloadRamp};

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
    /// The same, written as text.
    #[serde(serialize_with = "as_text")]
    pub recovery: Option<Recoveries>,
    /// What cannot be said, and why; each once, with the figures of the first round that cannot,
    /// and with the rounds where others can say it.
    pub unsaid: Vec<UnsaidOf>,
}

impl Beyond {
    /// Whether nothing shows that it was ever beyond its capacity, so that there was nothing to
    /// recover from.
    pub fn was_never_over(&self) -> bool {
        let is_at_once = |it: Recoveries| it.middle.is_at_once() && it.range.is_none();
        self.classes.is_empty() && self.seldom.is_empty() && self.recovery.is_some_and(is_at_once)
    }
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

/// Median, lowest and highest, over rounds or actions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Median; the worse one of the two in the middle where their number is even: the lower one,
    /// and the higher one of times.
    pub median: Option<f64>,
    /// Lowest.
    pub low: Option<f64>,
    /// Highest.
    pub high: Option<f64>,
    /// How many there are.
    pub n: usize,
}

impl Spread {
    /// The spread of values that are better the higher they are.
    fn of(values: Vec<f64>) -> Option<Self> {
        let middle = values.len().saturating_sub(1) / 2;
        Self::about(middle, values)
    }

    /// The spread of values that are better the lower they are.
    pub(crate) fn of_times(values: Vec<f64>) -> Option<Self> {
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
    let recovery_s = recoveries.clone().map(Recovery::seconds).collect();
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
        recovery: Recoveries::of(recoveries.collect()),
        recovery_s: Spread::of_times(recovery_s),
        unsaid,
    }
}

/// What the rounds cannot say, each once; first what none of them can.
fn unsaid(ramps: &[OverloadRamp]) -> Vec<UnsaidOf> {
    let mut all: Vec<UnsaidOf> = Vec::new();
    for ramp in ramps {
        for why in &ramp.unsaid {
            match all.iter_mut().find(|it| it.why.is_alike(why)) {
                Some(known) => {
                    if known.why != *why {
                        known.figures_of = known.rounds.first().copied();
                    }
                    known.rounds.push(ramp.round);
                }
                None => all.push(UnsaidOf {
                    why: why.clone(),
                    rounds: vec![ramp.round],
                    figures_of: None,
                }),
            }
        }
    }
    all.sort_by_key(|it| it.rounds.len() < ramps.len());
    for one in &mut all {
        one.rounds = in_some(std::mem::take(&mut one.rounds), ramps.len());
    }
    all
}

/// The rounds, unless they are all.
fn in_some(mut rounds: Vec<u32>, of: usize) -> Vec<u32> {
    if rounds.len() == of {
        rounds.clear();
    }
    rounds
}

/// Why the result at twice the capacity is not known, where something else was taken as the
/// capacity.
fn why_not_twice(
    ramps: &[&OverloadRamp],
    peak_per_s: Option<f64>,
    has_classes: bool,
) -> Option<UnsaidOf> {
    let found = |ramp: &&OverloadRamp| {
        let misjudged = misjudged(ramp.series.as_ref()?, peak_per_s)?;
        Some((ramp.round, misjudged))
    };
    let (rounds, all): (Vec<u32>, Vec<Misjudged>) = ramps.iter().filter_map(found).unzip();
    let first = *all.first()?;
    // A server without a class was never beyond its capacity, and each round says so.
    let is_said = matches!(first, Misjudged::TooLow(_)) && !has_classes;
    let rounds = in_some(rounds, ramps.len());
    (!is_said).then_some(UnsaidOf {
        why: Unsaid::NotTwice(first, peak_per_s?, rounds),
        rounds: Vec::new(),
        figures_of: None,
    })
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

fn as_text<S: Serializer>(it: &Option<Recoveries>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = it.map(|it| it.text());
    serializer.serialize_str(text.as_deref().unwrap_or("not known"))
}
