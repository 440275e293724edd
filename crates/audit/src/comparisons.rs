//! Pairs of contenders, by every metric: what may be said of each, over the whole campaign.
//!
//! A family is all pairs of one metric, over every workload and load, so that chance names a
//! difference in at most one campaign of twenty (R20). The rate of closed loops, p99 of open loops
//! and CPU per request are tested so; the median, p90 and memory are indications, of which one in
//! twenty may be false. Latencies of closed loops and rates of open ones are what the load made of
//! them and are shown only (R1).

mod family;
mod late;
mod looks;
mod standing;

use bakeoff_plan::{CompareMode, Group, LoadModel, control_name, grouped};
use bakeoff_record::{ContenderKind, Record};
use bakeoff_stats::{
    Decided, Decision, FLOOR_MIN, FLOOR_UNMEASURED, Look, Member, Metric, Paired, aa_floor, decide,
    estimate, half_width,
};
use serde::Serialize;

use crate::cell::JudgedCell;
use crate::conclusion::{Comparison, Conclusion, Evidence, PairKey, Reason, Side};
use crate::equivalence::{Equivalence, Inequality};
use crate::limits::UNDISTURBED_MIN;
pub(crate) use late::is_upper_bound;
pub use looks::Settled;
pub(crate) use looks::{Left, Turns, group_of, of_gates as gate_looks};
pub(crate) use standing::{DISTURBS, Standing, is_disturbed};

/// How far two runs of one server differ. A smaller difference between contenders means nothing.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Floor {
    /// The metric that it is of.
    pub metric: Metric,
    /// The floor as a share: 0.01 is 1 %.
    pub floor: f64,
    /// What the two runs of one server differed by in their median ratio, as a share; null where
    /// none was run, or none has a value.
    pub centre: Option<f64>,
    /// Ratios that it was taken from; 0 where none was run, or none has a value.
    pub n: usize,
    /// Whether one server was run twice, and not enough rounds of both runs can be believed: the
    /// floor is what was seen of them, and no lower than where nothing is run twice.
    pub doubtful: bool,
    /// Whether the two runs of one server differed significantly, which makes the campaign suspect.
    pub shown: bool,
}

/// All comparisons of a campaign.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// The comparisons, by workload, load, metric and pair.
    pub comparisons: Vec<Comparison>,
    /// One for each metric.
    pub floors: Vec<Floor>,
    /// Whether a campaign that time ends has time for another trial that may decide something.
    pub goes_on: bool,
}

/// Compares the contenders of each workload and load. References are not compared, and a control
/// is held against the contender that it repeats alone.
pub fn compare(record: &Record, cells: &[JudgedCell<'_>], equivalence: &[Equivalence]) -> Compared {
    let mut compared = Compared::default();
    let mut drawn = Vec::new();
    let before = next_group(record, cells, equivalence);
    compared.goes_on = before.is_some();
    for metric in Metric::COMPARED {
        let pairs = concluded_pairs(record, cells, equivalence, metric);
        let looks = looks::of(record, metric, before);
        let twins = floor(metric, &groups(cells));
        drawn.extend(family::conclude(pairs, metric, &looks, &twins));
        compared.floors.push(twins);
    }
    // A round that was never begun gave no value and lost none.
    let begun = match record.rounds_begun() {
        0 => record.plan.rounds,
        begun => begun,
    };
    for (_, one) in &mut drawn {
        add_what_is_lost(one, begun);
    }
    // By block first: a family runs over all of them, a reader goes through one after the other.
    drawn.sort_by_key(|(block, _)| *block);
    compared.comparisons = drawn
        .into_iter()
        .map(|(_, comparison)| comparison)
        .collect();
    compared
}

/// Which contenders are decided where by the looks at what comes before a group, and so measured no
/// more in a campaign that time ends.
pub(crate) fn left(
    record: &Record,
    cells: &[JudgedCell<'_>],
    equivalence: &[Equivalence],
    before: Option<Group>,
) -> Left {
    let mut left = Left::default();
    for metric in Metric::COMPARED
        .into_iter()
        .filter(|metric| metric.decides())
    {
        let pairs = concluded_pairs(record, cells, equivalence, metric);
        let looks = looks::of(record, metric, before);
        let mut found = family::decisions(&pairs, metric, &looks).into_iter();
        left.add(pairs.iter().filter_map(|pair| {
            let at = match pair.silence {
                None => found.next().flatten().and_then(|one| one.decided_at()),
                // Another load decides it.
                Some(Reason::ClosedLoop | Reason::OpenLoop) => return None,
                Some(_) => pair.is_never_decided().then_some(0),
            };
            Some((pair.key(), at))
        }));
    }
    left
}

/// The group that a campaign that time ends is at; `None` where it is over, as one is that a number
/// of rounds ends.
pub(crate) fn next_group(
    record: &Record,
    cells: &[JudgedCell<'_>],
    equivalence: &[Equivalence],
) -> Option<Group> {
    let mut turns = Turns::default();
    let next = turns.next(&record.plan, &record.trials, |before| {
        Some(left(record, cells, equivalence, Some(before)))
    });
    next.map(|trial| trial.group())
}

/// All pairs of one metric as they are concluded.
fn concluded_pairs<'c, 'r>(
    record: &Record,
    cells: &'c [JudgedCell<'r>],
    equivalence: &[Equivalence],
    metric: Metric,
) -> Vec<Pair<'c, 'r>> {
    let mut pairs = family_of(record, cells, equivalence, metric);
    for pair in &mut pairs {
        // One or two rounds are few, and say with the others what is needed.
        if pair.is_few && pair.silence == Some(Reason::NotValid) {
            pair.silence = None;
        }
        pair.rest_on_bounds();
    }
    pairs
}

/// Not every round of a campaign gives a value, and perhaps no further one will: what would decide
/// counts pairs of values, and a reader asks for rounds.
fn add_what_is_lost(one: &mut Comparison, begun: u32) {
    let pairs = one.ratio.map_or(begun, |ratio| ratio.n as u32);
    let lost = begun.saturating_sub(pairs);
    one.rounds_needed = one.rounds_needed.map(|needed| needed.saturating_add(lost));
}

/// All pairs of one metric over the whole campaign: the family that a comparison is one of.
pub(crate) fn family_of<'c, 'r>(
    record: &Record,
    cells: &'c [JudgedCell<'r>],
    equivalence: &[Equivalence],
    metric: Metric,
) -> Vec<Pair<'c, 'r>> {
    let mut pairs: Vec<Pair<'_, '_>> = Vec::new();
    for (block, group) in groups(cells).iter().enumerate() {
        pairs.extend(pairs_of(block, group, metric));
    }
    for pair in &mut pairs {
        let causes = causes(equivalence, pair.first, pair.second);
        if record.plan.compare == CompareMode::EqualWork && !causes.is_empty() {
            pair.silence = pair.silence.or(Some(Reason::UnequalWork));
            // No round says what equal work would come to.
            (pair.by_machine, pair.may_mislead) = (ByMachine::default(), true);
        }
        pair.causes = causes;
    }
    pairs
}

/// The widest interval of what is tested, as the share that it reaches to either side; `None`
/// where nothing is tested. For `--until` (R26): it goes by widths alone, never by the result of a
/// comparison.
pub fn widest_interval(comparisons: &[Comparison]) -> Option<f64> {
    let tested = comparisons.iter().filter(|one| {
        one.evidence == Evidence::Test && one.conclusion != Conclusion::NotComparable
    });
    let widths = tested.filter_map(|one| one.ratio.as_ref().map(half_width));
    let finite = widths.filter(|width| width.is_finite());
    finite.max_by(f64::total_cmp)
}

/// What the engine's delay is to a pair of contenders.
#[derive(Default)]
enum Delay {
    /// It weakens neither side, or something else does as well.
    #[default]
    Nothing,
    /// It weakens one side or both, and leaves these rounds: what one side is at least against what
    /// the other one is at most. Their ratio is a bound.
    Leaves(Paired, Side),
    /// The pair rests on what it leaves. This is what was measured.
    IsOff(Paired),
}

impl Delay {
    /// That to two sides whose rounds, as they were measured, are `measured`.
    fn of(left: &Standing, right: &Standing, measured: &Paired) -> Self {
        let is_sound = |one: &Standing| one.silence.is_none() || one.late.is_some();
        let is_known = |one: &Standing| is_sound(one) && !one.is_bound;
        let is_late = left.late.is_some() || right.late.is_some();
        if !is_late || !is_known(left) || !is_known(right) {
            return Self::Nothing;
        }
        let least = |one: &Standing| one.late.clone().unwrap_or_else(|| one.values.clone());
        if measured.mean() > 0.0 {
            Self::Leaves(Paired::new(&left.values, &least(right)), Side::AtLeast)
        } else {
            Self::Leaves(Paired::new(&least(left), &right.values), Side::AtMost)
        }
    }
}

/// Rounds of a pair by what the machine did to them; `None` where that is not what weakens it.
#[derive(Default)]
struct ByMachine {
    /// All of them, those too of which it took a share.
    measured: Option<Paired>,
    /// Those that it left alone.
    untaken: Option<Paired>,
    /// Those of them that nothing else weakens either.
    undisturbed: Option<Paired>,
}

/// Two cells of one workload and load on the way to a comparison.
pub(crate) struct Pair<'c, 'r> {
    /// Position of its workload and load.
    pub(crate) block: usize,
    /// Positions of its contenders.
    between: [usize; 2],
    pub(crate) first: &'c JudgedCell<'r>,
    pub(crate) second: &'c JudgedCell<'r>,
    pub(crate) paired: Paired,
    /// Its rounds by what the machine did to them.
    by_machine: ByMachine,
    pub(crate) bound: Option<Side>,
    /// Whether what weakens a side may be all that a difference rests on.
    may_mislead: bool,
    /// Whether one or two rounds are all that weakens either side.
    is_few: bool,
    /// What the engine's delay is to the pair.
    delay: Delay,
    /// Why nothing is concluded; the ratio may still be shown.
    pub(crate) silence: Option<Reason>,
    causes: Vec<Inequality>,
}

impl Pair<'_, '_> {
    pub(crate) fn key(&self) -> PairKey {
        PairKey {
            workload: self.first.cell.key.workload.clone(),
            load: self.first.cell.key.load.clone(),
            first: self.first.cell.key.contender.clone(),
            second: self.second.cell.key.contender.clone(),
        }
    }

    /// The pair in its family, with these rounds.
    pub(crate) fn member(&self, paired: &Paired) -> Member {
        Member {
            paired: paired.clone(),
            cell: self.block,
            between: self.between,
        }
    }

    /// Whether no number of rounds says anything of it.
    pub(crate) fn is_never_decided(&self) -> bool {
        let by_work = matches!(
            self.silence,
            Some(Reason::UnequalWork | Reason::ErrorsApart)
        );
        by_work || self.first.is_unsupported() || self.second.is_unsupported()
    }

    /// Puts what the engine's delay leaves of a difference in place of what was measured.
    fn rest_on_bounds(&mut self) {
        if self.silence == Some(Reason::NotValid)
            && let Delay::Leaves(paired, side) = std::mem::take(&mut self.delay)
        {
            self.delay = Delay::IsOff(std::mem::replace(&mut self.paired, paired));
            (self.bound, self.silence) = (Some(side), None);
        }
    }

    /// The rounds that a gate is held against; `None` where none of them shows anything.
    pub(crate) fn held(&self) -> Option<&Paired> {
        let whole = || self.silence.is_none().then_some(&self.paired);
        self.undisturbed().or_else(whole)
    }

    /// The rounds that the machine left alone, where they are enough to show by themselves that
    /// the second is worse.
    pub(crate) fn undisturbed(&self) -> Option<&Paired> {
        let undisturbed = self.by_machine.undisturbed.as_ref();
        undisturbed.filter(|paired| paired.len() >= UNDISTURBED_MIN)
    }
}

/// Contenders and controls by workload and load.
fn groups<'c, 'r>(cells: &'c [JudgedCell<'r>]) -> Vec<Vec<&'c JudgedCell<'r>>> {
    let entrants = cells.iter().filter(|one| {
        matches!(
            one.cell.kind,
            ContenderKind::Contender | ContenderKind::Control
        )
    });
    let place = |one: &'c JudgedCell<'r>| (&one.cell.key.workload, &one.cell.key.load);
    let groups = grouped(entrants.map(|one| (place(one), one)));
    groups.into_iter().map(|(_, group)| group).collect()
}

fn pairs_of<'c, 'r>(
    block: usize,
    group: &[&'c JudgedCell<'r>],
    metric: Metric,
) -> Vec<Pair<'c, 'r>> {
    let contenders = group.iter().filter(|one| one.is_contender());
    // Quantiles take a pass over histograms: once for each side, not for each pair.
    let sides: Vec<(&JudgedCell<'r>, Standing)> = contenders
        .map(|one| (*one, Standing::of(one, metric)))
        .collect();
    let mut pairs = Vec::new();
    for (place, first) in sides.iter().enumerate() {
        for (other, second) in sides.iter().enumerate().skip(place + 1) {
            pairs.push(pair((block, [place, other]), first, second, metric));
        }
    }
    pairs
}

fn pair<'c, 'r>(
    (block, between): (usize, [usize; 2]),
    (first, left): &(&'c JudgedCell<'r>, Standing),
    (second, right): &(&'c JudgedCell<'r>, Standing),
    metric: Metric,
) -> Pair<'c, 'r> {
    let paired = Paired::new(&left.values, &right.values);
    let bound = match (left.is_bound, right.is_bound) {
        (false, true) => Some(Side::AtLeast),
        (true, false) => Some(Side::AtMost),
        _ => None,
    };
    let wrong = left.silence.max(right.silence);
    let silence = match wrong {
        Some(Reason::Withheld) => wrong,
        _ if paired.is_empty() => Some(Reason::NoCommonRound),
        _ if metric.is_latency() && left.errors_apart(right) => Some(Reason::ErrorsApart),
        _ if left.is_bound && right.is_bound => Some(Reason::BoundHides),
        _ => wrong,
    };
    // What the load made is not compared; what is withheld is not shown either.
    let silence = match silence {
        Some(Reason::Withheld | Reason::NoCommonRound) => silence,
        _ => shown_only(metric, first).or(silence),
    };
    let may_mislead = left.may_mislead
        || right.may_mislead
        || metric == Metric::CpuNsPerRequest && left.errors_apart(right);
    let is_weak = match silence {
        None => bound.is_some(),
        Some(reason) => matches!(reason, Reason::NotValid | Reason::BoundHides),
    };
    let is_taken = matches!(
        silence,
        Some(Reason::NotValid | Reason::NoCommonRound | Reason::Withheld)
    );
    let paired_of = |may_rest: bool, first: &[_], second: &[_]| {
        (may_rest && !may_mislead).then(|| Paired::new(first, second))
    };
    let by_machine = ByMachine {
        measured: paired_of(is_taken, &left.measured, &right.measured),
        untaken: paired_of(is_weak, &left.untaken, &right.untaken),
        undisturbed: paired_of(is_weak, &left.undisturbed, &right.undisturbed),
    };
    Pair {
        block,
        between,
        first,
        second,
        delay: Delay::of(left, right, &paired),
        paired,
        by_machine,
        bound,
        may_mislead,
        is_few: left.is_few && right.is_few,
        silence,
        causes: Vec::new(),
    }
}

/// Why numbers of this metric are shown and not compared under this load.
pub(crate) fn shown_only(metric: Metric, cell: &JudgedCell<'_>) -> Option<Reason> {
    let trial = cell.cell.trials.first()?;
    let model = &trial.load.model;
    (!metric.fits(model)).then_some(match model {
        LoadModel::Closed { .. } => Reason::ClosedLoop,
        _ => Reason::OpenLoop,
    })
}

fn causes(
    equivalence: &[Equivalence],
    first: &JudgedCell<'_>,
    second: &JudgedCell<'_>,
) -> Vec<Inequality> {
    let tables = equivalence.iter();
    tables
        .filter(|table| table.workload == first.cell.key.workload)
        .flat_map(|table| table.between(&first.cell.key.contender, &second.cell.key.contender))
        .cloned()
        .collect()
}

/// What a server and its control differ by, over all workloads and loads (R21).
fn floor(metric: Metric, groups: &[Vec<&JudgedCell<'_>>]) -> Floor {
    let (mut twins, mut doubtful) = (Vec::new(), Vec::new());
    for (block, group) in groups.iter().enumerate() {
        let controls = group
            .iter()
            .filter(|one| one.cell.kind == ContenderKind::Control);
        for control in controls {
            let name = &control.cell.key.contender;
            let is_original =
                |one: &&&JudgedCell<'_>| control_name(&one.cell.key.contender) == *name;
            let Some(original) = group.iter().find(is_original) else {
                continue;
            };
            let [first, second] = [*original, *control].map(|one| (one, Standing::of(one, metric)));
            let pair = pair((block, [0, 1]), &first, &second, metric);
            let is_sound = pair.silence.is_none() && pair.bound.is_none();
            match pair.silence {
                None if is_sound => twins.push(pair.member(&pair.paired)),
                Some(Reason::ClosedLoop | Reason::OpenLoop) => {}
                _ => doubtful.push(pair.member(&pair.paired)),
            }
        }
    }
    let is_doubtful = twins.is_empty() && !doubtful.is_empty();
    let of = if is_doubtful { &doubtful } else { &twins };
    let logs: Vec<f64> = of
        .iter()
        .flat_map(|twin| twin.paired.logs.clone())
        .collect();
    let least = if is_doubtful { FLOOR_UNMEASURED } else { 0.0 };
    let seen = decide(&twins, &[Look::ALL_ROUNDS], FLOOR_MIN.ln_1p());
    let differs = |one: &Decision| matches!(one.decided, Some(Decided::Higher | Decided::Lower));
    Floor {
        metric,
        floor: aa_floor(&logs).unwrap_or(FLOOR_UNMEASURED).max(least),
        centre: estimate(&logs).map(|of| of.point.abs().exp_m1()),
        n: logs.len(),
        doubtful: is_doubtful,
        shown: metric.is_tested() && seen.iter().flatten().any(differs),
    }
}
