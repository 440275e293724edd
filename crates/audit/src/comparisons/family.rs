//! All pairs of one metric to what they come to.

use bakeoff_stats::{
    Estimate, FLIPS_FROM, IntervalKind, Method, Paired, Seen, discoveries, look,
    rounds_clear_of_one, rounds_dependent, within,
};

use crate::comparisons::{ByMachine, Delay, Pair};
use crate::conclusion::{Comparison, Conclusion, Direction, Evidence, Metric, Reason, Side};
use crate::limits::{EQUAL_FLOOR_MOST, EQUAL_WITHIN};

/// A ratio beyond which a difference that is not proven is called plain.
const PLAIN_RATIO: f64 = 1.5;
/// Rounds that must agree on it.
const PLAIN_ROUNDS: usize = 2;
/// What each of them must show by itself: one round that the machine spoiled on one side makes a
/// mean large, whatever the others are, and between equals all of two or three agree by chance.
const PLAIN_RATIO_EACH: f64 = 1.2;
/// A ratio that is plain although too few rounds can be believed: what disturbs a round would have
/// to take two thirds of it.
const PLAIN_RATIO_DISTURBED: f64 = 3.0;
/// Rounds that must agree on it.
const PLAIN_ROUNDS_DISTURBED: usize = 4;
/// Rounds below which nothing is known of their spread.
const SPREAD_ROUNDS: usize = 3;
/// Chance of being wrong that is accepted.
const ALPHA: f64 = 0.05;

/// What the whole family says of one pair of it.
#[derive(Clone, Copy)]
struct Found {
    seen: Seen,
    /// Whether it lies within what is called equal, with 95 % for all pairs of the family.
    is_within: bool,
}

/// Concludes over the family; each comparison with the position of its block.
pub(super) fn conclude(
    pairs: Vec<Pair<'_, '_>>,
    metric: Metric,
    floor: f64,
    seed: u64,
) -> Vec<(usize, Comparison)> {
    let compared: Vec<&Pair<'_, '_>> = pairs.iter().filter(|pair| pair.silence.is_none()).collect();
    let logs: Vec<Paired> = compared.iter().map(|pair| pair.paired.clone()).collect();
    let blocks: Vec<usize> = compared.iter().map(|pair| pair.block).collect();
    let mut seen = look(&logs, &blocks, floor.ln_1p(), seed);
    if !metric.is_tested() {
        indicate(&mut seen, &logs);
    }
    let near = within(&logs, &blocks, EQUAL_WITHIN.max(floor).ln_1p(), seed);
    let mut found = seen.into_iter().zip(near);
    let finish = |pair: Pair<'_, '_>| {
        let found = pair.silence.is_none().then(|| found.next()).flatten();
        let found = found.map(|(seen, is_within)| Found { seen, is_within });
        (pair.block, comparison(pair, metric, floor, found))
    };
    pairs.into_iter().map(finish).collect()
}

/// Puts the chances of an indication in place of those of a test.
fn indicate(seen: &mut [Seen], logs: &[Paired]) {
    let alone: Vec<f64> = seen.iter().map(|one| one.alone).collect();
    for ((one, pair), chance) in seen.iter_mut().zip(logs).zip(discoveries(&alone)) {
        (one.higher, one.lower) = if pair.mean() > 0.0 {
            (chance, 1.0)
        } else {
            (1.0, chance)
        };
    }
}

fn comparison(pair: Pair<'_, '_>, metric: Metric, floor: f64, found: Option<Found>) -> Comparison {
    let key = pair.key();
    let n = pair.paired.len();
    let seen = found.map(|found| found.seen);
    let ratio = pair.paired.ratio().map(|ratio| match seen {
        Some(seen) if metric.is_tested() => over_the_table(ratio, &seen),
        _ => ratio,
    });
    let mut one = Comparison {
        pair: key,
        metric,
        ratio: ratio.filter(|_| pair.silence != Some(Reason::Withheld)),
        bound: pair.bound,
        evidence: evidence(metric, pair.silence, seen.as_ref()),
        conclusion: Conclusion::NotComparable,
        p_value: seen.map(|seen| seen.p_value()).filter(|_| n > 1),
        floor,
        rounds_needed: None,
        smallest_shown: None,
        causes: pair.causes,
        reason: pair.silence,
    };
    if let (Some(found), Some(ratio)) = (found, ratio) {
        let seen = found.seen;
        let shown = seen.smallest_shown.exp_m1();
        one.smallest_shown = Some(shown).filter(|shown| shown.is_finite());
        one.conclusion = weighed(&pair.paired, &ratio, &found, floor);
        if matches!(
            one.conclusion,
            Conclusion::CannotTell | Conclusion::PlainNotProven(_)
        ) {
            let needed = needed(&pair.paired, &ratio, &seen, floor);
            one.rounds_needed = needed.map(|rounds| rounds.max(n as u32 + 1));
        }
        if rounds_dependent(&pair.paired.logs) {
            one.reason = Some(Reason::RoundsDependent);
        }
        hold_against_bound(&mut one);
        if let Delay::IsOff(measured) = &pair.delay {
            say_what_was_measured(&mut one, measured);
        }
    } else if matches!(pair.silence, Some(Reason::ClosedLoop | Reason::OpenLoop)) {
        one.conclusion = Conclusion::NotCompared;
    }
    if !pair.may_mislead {
        let measured = match &pair.delay {
            Delay::IsOff(measured) => measured,
            _ => &pair.paired,
        };
        say_what_is_plain(&mut one, measured, &pair.by_machine);
    }
    one
}

/// Rounds that would decide what is open: by the interval where the chances are clear already.
fn needed(paired: &Paired, ratio: &Estimate, seen: &Seen, floor: f64) -> Option<u32> {
    if seen.p_value() <= ALPHA {
        rounds_clear_of_one(ratio)
    } else {
        seen.rounds_needed.or_else(|| few_need(paired, floor))
    }
}

/// One or two rounds that say no other number of rounds: signs decide from six rounds on.
fn few_need(paired: &Paired, floor: f64) -> Option<u32> {
    let is_near = paired.mean().abs() <= floor.ln_1p();
    let has_no_spread = paired.len() < 2 || paired.len() < SPREAD_ROUNDS && is_near;
    has_no_spread.then_some(FLIPS_FROM as u32)
}

/// The ratio from which a difference can be plain: what noise alone makes is never.
fn plain_from(ratio: f64, floor: f64) -> f64 {
    ratio.max(1.0 + floor)
}

/// Where disturbances take the conclusion away, a difference that none of them explains is plain,
/// and so is one that is plain in the rounds that are left.
fn say_what_is_plain(one: &mut Comparison, paired: &Paired, by_machine: &ByMachine) {
    use Reason::{BoundHides, BoundWeakens, NoCommonRound, NotValid, Withheld};
    let is_silenced = matches!(
        one.reason,
        Some(NotValid | BoundHides | BoundWeakens | NoCommonRound | Withheld)
    );
    if !is_silenced {
        return;
    }
    let is_unexplained = |all| plain_in(all, one.floor, [PLAIN_RATIO_DISTURBED, PLAIN_RATIO]);
    // The rounds that are left are as good as those of a shorter campaign, but chosen afterwards,
    // so more of them must agree.
    let is_left = |left| plain_in(left, one.floor, [PLAIN_RATIO, PLAIN_RATIO_EACH]);
    // No disturbance explains it, and each round that has a value shows it.
    let of_values = is_unexplained(paired).or_else(|| is_left(by_machine.untaken.as_ref()?));
    // So many rounds were taken that those with a value say nothing, but each round shows it.
    let of_all = || {
        let all = by_machine.measured.as_ref()?;
        Some((is_unexplained(all)?, all.ratio()))
    };
    let plain = of_values.map(|direction| (direction, one.ratio));
    if let Some((direction, ratio)) = plain.or_else(of_all) {
        one.conclusion = Conclusion::PlainNotProven(direction);
        one.ratio = ratio;
        one.reason = Some(NotValid);
        // The size of the difference is open on both sides.
        one.bound = None;
    }
}

/// The direction of a difference that enough rounds agree on, each of them by `each`, and that is a
/// ratio of `mean` or more in the mean.
fn plain_in(paired: &Paired, floor: f64, [mean, each]: [f64; 2]) -> Option<Direction> {
    let is_plain = paired.len() >= PLAIN_ROUNDS_DISTURBED
        && each_shows(paired, plain_from(each, floor))
        && paired.mean().abs() >= plain_from(mean, floor).ln();
    is_plain.then(|| direction(paired.mean() > 0.0))
}

/// Whether each round by itself is a ratio of `least` or more, all the same way.
fn each_shows(paired: &Paired, least: f64) -> bool {
    paired.agree() && paired.logs.iter().all(|log| log.abs() >= least.ln())
}

fn direction(is_higher: bool) -> Direction {
    if is_higher {
        Direction::Higher
    } else {
        Direction::Lower
    }
}

/// With few rounds the interval is the one that the whole table allows.
fn over_the_table(ratio: Estimate, seen: &Seen) -> Estimate {
    match seen.held {
        Some(held) => Estimate {
            point: held.mean.exp(),
            low: held.low.exp(),
            high: held.high.exp(),
            interval: IntervalKind::Pooled95,
            ..ratio
        },
        None => ratio,
    }
}

fn evidence(metric: Metric, silence: Option<Reason>, seen: Option<&Seen>) -> Evidence {
    match (silence, seen) {
        (Some(Reason::ClosedLoop | Reason::OpenLoop), _) => Evidence::Descriptive,
        _ if !metric.is_tested() => Evidence::Indication,
        (_, Some(seen)) if seen.method == Method::Pooled => Evidence::Pooled,
        _ => Evidence::Test,
    }
}

/// What the chances and the interval come to.
fn weighed(paired: &Paired, ratio: &Estimate, found: &Found, floor: f64) -> Conclusion {
    let seen = &found.seen;
    // Few rounds have an interval in a family that is tested alone.
    let is_equal = found.is_within && ratio.interval != IntervalKind::Range;
    let far = ratio.point.max(1.0 / ratio.point);
    let direction = direction(ratio.point > 1.0);
    let margin = EQUAL_WITHIN.max(floor);
    if seen.p_value() <= ALPHA {
        beside_the_interval(seen, ratio)
    } else if floor <= EQUAL_FLOOR_MOST && is_equal {
        Conclusion::Equal
    } else if far >= plain_from(PLAIN_RATIO, floor)
        && paired.len() >= PLAIN_ROUNDS
        && each_shows(paired, plain_from(PLAIN_RATIO_EACH, floor))
    {
        Conclusion::PlainNotProven(direction)
    } else if far - 1.0 > margin || seen.smallest_shown.is_infinite() {
        Conclusion::CannotTell
    } else {
        Conclusion::NoDifferenceShown
    }
}

/// What the chances show counts where the interval that stands beside it shows it too. The chances
/// are of the mean and the interval is of ranks, so they part where a server has two modes (R20).
fn beside_the_interval(seen: &Seen, ratio: &Estimate) -> Conclusion {
    if seen.higher <= ALPHA && ratio.low > 1.0 {
        Conclusion::Higher
    } else if seen.lower <= ALPHA && ratio.high < 1.0 {
        Conclusion::Lower
    } else {
        Conclusion::CannotTell
    }
}

/// Where the engine's delay leaves nothing of a difference, what was measured is shown, and that it
/// cannot be believed.
fn say_what_was_measured(one: &mut Comparison, measured: &Paired) {
    if one.conclusion == Conclusion::NotComparable {
        one.ratio = measured.ratio();
        (one.bound, one.p_value) = (None, None);
        one.reason = Some(Reason::NotValid);
    }
}

/// Where one side is a lower bound, only a difference that the rest of it would enlarge counts.
fn hold_against_bound(one: &mut Comparison) {
    use Conclusion::{Higher, Lower, PlainNotProven};
    let reason = match (one.bound, one.conclusion) {
        (None, _)
        | (Some(Side::AtLeast), Higher | PlainNotProven(Direction::Higher))
        | (Some(Side::AtMost), Lower | PlainNotProven(Direction::Lower)) => return,
        (_, Higher | Lower | PlainNotProven(_)) => Reason::BoundWeakens,
        _ => Reason::BoundHides,
    };
    one.conclusion = Conclusion::NotComparable;
    one.reason = Some(reason);
    (one.rounds_needed, one.smallest_shown) = (None, None);
}
