//! All pairs of one metric to what they come to.

use bakeoff_stats::{
    Decided, Decision, EQUAL_WITHIN, Estimate, FLOOR_MIN, IntervalKind, Look, Member, Metric,
    Paired, decide, discoveries, rounds_dependent,
};

use crate::comparisons::{ByMachine, Delay, Floor, Pair};
use crate::conclusion::{Comparison, Conclusion, Direction, Evidence, Reason, Side};

/// A ratio that is plain in the rounds that the machine left alone, where it weakens the others.
const PLAIN_RATIO: f64 = 1.5;
/// What each of them must show by itself: one round that the machine spoiled on one side makes a
/// mean large, whatever the others are.
const PLAIN_RATIO_EACH: f64 = 1.2;
/// A ratio that is plain although too few rounds can be believed: what disturbs a round would have
/// to take two thirds of it.
const PLAIN_RATIO_DISTURBED: f64 = 3.0;
/// Rounds that must agree on it.
const PLAIN_ROUNDS_DISTURBED: usize = 4;
/// Chance of being wrong that is accepted.
const ALPHA: f64 = 0.05;
/// Rounds from which two contenders of one workload and load can be decided.
const ROUNDS_DECIDING: u32 = 3;

/// Concludes over the family as the looks saw it; each comparison with the position of its block.
/// `twins` are two runs of one server.
pub(super) fn conclude(
    pairs: Vec<Pair<'_, '_>>,
    metric: Metric,
    looks: &[Look],
    twins: &Floor,
) -> Vec<(usize, Comparison)> {
    let mut found = decisions(&pairs, metric, looks).into_iter();
    let finish = |pair: Pair<'_, '_>| {
        let found = pair.silence.is_none().then(|| found.next()).flatten();
        (pair.block, comparison(pair, metric, found.flatten(), twins))
    };
    pairs.into_iter().map(finish).collect()
}

/// What the looks say of each pair that may be concluded.
pub(super) fn decisions(
    pairs: &[Pair<'_, '_>],
    metric: Metric,
    looks: &[Look],
) -> Vec<Option<Decision>> {
    let compared = pairs.iter().filter(|pair| pair.silence.is_none());
    let members: Vec<Member> = compared.map(|pair| pair.member(&pair.paired)).collect();
    let mut found = decide(&members, looks, FLOOR_MIN.ln_1p());
    if !metric.is_tested() {
        indicate(&mut found);
    }
    found
}

/// Puts the chances of an indication in place of those of a test.
fn indicate(found: &mut [Option<Decision>]) {
    let alone: Vec<f64> = found.iter().flatten().map(|one| one.alone).collect();
    for (one, chance) in found.iter_mut().flatten().zip(discoveries(&alone)) {
        one.p_value = chance;
        if one.decided != Some(Decided::Equal) {
            one.decided = (chance <= ALPHA).then_some(if one.held.mean > 0.0 {
                Decided::Higher
            } else {
                Decided::Lower
            });
        }
    }
}

fn comparison(
    pair: Pair<'_, '_>,
    metric: Metric,
    found: Option<Decision>,
    twins: &Floor,
) -> Comparison {
    let key = pair.key();
    let ratio = match found {
        Some(found) => Some(ratio(&found)),
        None => pair.paired.ratio(),
    };
    let mut one = Comparison {
        pair: key,
        metric,
        ratio: ratio.filter(|_| pair.silence != Some(Reason::Withheld)),
        bound: pair.bound,
        evidence: evidence(metric, pair.silence),
        conclusion: Conclusion::NotComparable,
        p_value: found.map(|found| found.p_value),
        floor: FLOOR_MIN,
        rounds_needed: None,
        smallest_shown: None,
        causes: pair.causes,
        reason: pair.silence,
    };
    match (pair.silence, found) {
        (None, Some(found)) => {
            one.conclusion = weighed(&found, twins);
            one.smallest_shown = Some(found.smallest_shown.exp_m1());
            if one.conclusion == Conclusion::CannotTell {
                let more = found.rounds as u32 + 1;
                one.rounds_needed = found.rounds_needed.map(|rounds| rounds.max(more));
            }
        }
        (None, None) if one.ratio.is_some() => {
            one.conclusion = Conclusion::CannotTell;
            one.rounds_needed = Some(ROUNDS_DECIDING);
        }
        (Some(Reason::ClosedLoop | Reason::OpenLoop), _) => {
            one.conclusion = Conclusion::NotCompared;
        }
        _ => {}
    }
    if pair.silence.is_none() {
        if rounds_dependent(&pair.paired.logs) {
            one.reason = Some(Reason::RoundsDependent);
        }
        hold_against_bound(&mut one);
        if let Delay::IsOff(measured) = &pair.delay {
            say_what_was_measured(&mut one, measured);
        }
    }
    if !pair.may_mislead {
        let measured = match &pair.delay {
            Delay::IsOff(measured) => measured,
            _ => &pair.paired,
        };
        say_what_is_plain(&mut one, measured, &pair.by_machine, twins.floor);
    }
    one
}

/// A decision's mean and interval as a ratio.
fn ratio(found: &Decision) -> Estimate {
    Estimate {
        point: found.held.mean.exp(),
        low: found.held.low.exp(),
        high: found.held.high.exp(),
        n: found.rounds,
        interval: IntervalKind::Pooled95,
    }
}

/// What a decision comes to, or what its absence does. Where two runs of one server differ beyond
/// chance, a difference that is no larger is none of other servers.
fn weighed(found: &Decision, twins: &Floor) -> Conclusion {
    let far = found.held.mean.abs().exp();
    match found.decided {
        Some(Decided::Higher | Decided::Lower) if twins.shown && far <= 1.0 + twins.floor => {
            Conclusion::CannotTell
        }
        Some(Decided::Higher) => Conclusion::Higher,
        Some(Decided::Lower) => Conclusion::Lower,
        Some(Decided::Equal) => Conclusion::Equal,
        None if far - 1.0 > EQUAL_WITHIN => Conclusion::CannotTell,
        None => Conclusion::NoDifferenceShown,
    }
}

/// The ratio from which a difference can be plain: what noise alone makes is never.
fn plain_from(ratio: f64, floor: f64) -> f64 {
    ratio.max(1.0 + floor)
}

/// Where disturbances take the conclusion away, a difference that none of them explains is plain,
/// and so is one that is plain in the rounds that are left.
fn say_what_is_plain(one: &mut Comparison, paired: &Paired, by_machine: &ByMachine, floor: f64) {
    use Reason::{BoundHides, BoundWeakens, NoCommonRound, NotValid, Withheld};
    let is_silenced = matches!(
        one.reason,
        Some(NotValid | BoundHides | BoundWeakens | NoCommonRound | Withheld)
    );
    if !is_silenced {
        return;
    }
    let is_unexplained = |all| plain_in(all, floor, [PLAIN_RATIO_DISTURBED, PLAIN_RATIO]);
    // The rounds that are left are as good as those of a shorter campaign, but chosen afterwards,
    // so more of them must agree.
    let is_left = |left| plain_in(left, floor, [PLAIN_RATIO, PLAIN_RATIO_EACH]);
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

fn evidence(metric: Metric, silence: Option<Reason>) -> Evidence {
    match silence {
        Some(Reason::ClosedLoop | Reason::OpenLoop) => Evidence::Descriptive,
        _ if !metric.is_tested() => Evidence::Indication,
        _ => Evidence::Test,
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
