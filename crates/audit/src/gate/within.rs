//! Two contenders of one campaign: their rounds are pairs.

use bakeoff_plan::{Group, Plan};
use bakeoff_record::Record;
use bakeoff_stats::{INTERVAL_FROM, Located, Member, Metric, locate};

use super::{Change, GateError, GateRow, Gates, Ruling, all_fit};
use crate::cell::JudgedCell;
use crate::comparisons::{Left, Pair, family_of, gate_looks, next_group, shown_only};
use crate::conclusion::Reason;
use crate::enough::rounds_of_both;
use crate::judged::{Judged, leave_out_unsupported};
use crate::verdict::Verdict;

/// Holds each of `seconds` against `first` by every metric, at every workload and load that has
/// both.
///
/// # Errors
/// The record lacks one of them, or a gate fits none of its loads.
pub fn compare_contenders(
    record: &Record,
    judged: &Judged<'_>,
    first: &str,
    seconds: &[&str],
    gates: &Gates,
) -> Result<Vec<GateRow>, GateError> {
    let known = || record.plan.contenders.iter().map(|one| one.name.clone());
    for &name in [first].iter().chain(seconds) {
        if !known().any(|one| one == name) {
            return Err(GateError::NoContender {
                name: name.to_owned(),
                known: known().collect(),
            });
        }
    }
    if seconds.contains(&first) {
        return Err(GateError::Same(first.to_owned()));
    }
    let before = next_group(record, &judged.cells, &judged.equivalence);
    let families = families(record, judged, before);
    let mut all = Vec::new();
    for second in seconds {
        all.extend(of_pair(&families, first, second, gates)?);
    }
    Ok(all)
}

/// Which contenders are measured no more where, because the looks before a group decided each of
/// their gates, all of which are held against the plan's first contender.
pub(crate) fn left_of_gates(
    record: &Record,
    judged: &Judged<'_>,
    gates: &Gates,
    before: Group,
) -> Left {
    let mut left = Left::default();
    let families = families(record, judged, Some(before));
    let mut contenders = record.plan.contenders.iter().map(|one| one.name.as_str());
    let first = contenders.next().unwrap_or_default();
    let rows = contenders.flat_map(|second| {
        let of_family = move |family: &Family<'_, '_>| family.rows(first, second, gates);
        families.iter().flat_map(of_family)
    });
    // What has no gate decides nothing.
    left.add(rows.map(|placed| match placed.row.gate {
        Some(_) => (placed.row.pair, placed.row.settled_at),
        None => (placed.row.pair, Some(0)),
    }));
    left
}

/// Each is of the whole campaign, whoever is held against whom.
fn families<'c, 'r>(
    record: &'c Record,
    judged: &'c Judged<'r>,
    before: Option<Group>,
) -> [Family<'c, 'r>; 6] {
    Metric::COMPARED.map(|metric| Family::of(record, judged, metric, before))
}

/// Holds `second` against `first`.
fn of_pair(
    families: &[Family<'_, '_>],
    first: &str,
    second: &str,
    gates: &Gates,
) -> Result<Vec<GateRow>, GateError> {
    let of_family = |family: &Family<'_, '_>| family.rows(first, second, gates);
    let mut rows: Vec<Placed> = families.iter().flat_map(of_family).collect();
    leave_out_unsupported(&mut rows, |placed| placed.is_unsupported);
    // By block first, as in a report, and then by metric, as they are.
    rows.sort_by_key(|placed| placed.block);
    let rows: Vec<GateRow> = rows.into_iter().map(|placed| placed.row).collect();
    if rows.is_empty() {
        return Err(GateError::NothingCommon {
            first: vec![first.to_owned()],
            second: vec![second.to_owned()],
        });
    }
    all_fit(gates, &rows)?;
    Ok(rows)
}

/// Refuses gates that fit no load of a plan, before anything is measured.
///
/// # Errors
/// Names the first of them.
pub fn fits(gates: &Gates, plan: &Plan) -> Result<(), GateError> {
    let fits = |metric: Metric| plan.loads.iter().any(|load| metric.fits(&load.model));
    match gates.iter().find(|(metric, _)| !fits(*metric)) {
        Some((metric, _)) => Err(GateError::FitsNothing(metric)),
        None => Ok(()),
    }
}

/// A row with where it belongs.
struct Placed {
    block: usize,
    /// Whether neither of the two can do it.
    is_unsupported: bool,
    row: GateRow,
}

/// All pairs of one metric, with where those that may be compared lie at each look.
struct Family<'c, 'r> {
    metric: Metric,
    pairs: Vec<(Pair<'c, 'r>, Vec<Located>)>,
    /// What two runs of one server differ by in the middle, where that was measured, and whether it
    /// is beyond chance.
    twins: Option<(f64, bool)>,
    record: &'c Record,
}

impl<'c, 'r> Family<'c, 'r> {
    fn of(
        record: &'c Record,
        judged: &'c Judged<'r>,
        metric: Metric,
        before: Option<Group>,
    ) -> Self {
        let pairs = family_of(record, &judged.cells, &judged.equivalence, metric);
        let held = pairs
            .iter()
            .filter_map(|pair| Some(pair.member(pair.held()?)));
        let held: Vec<Member> = held.collect();
        let mut located = locate(&held, &gate_looks(record, metric, before)).into_iter();
        let with = |pair: Pair<'c, 'r>| {
            let located = pair.held().and_then(|_| located.next());
            (pair, located.unwrap_or_default())
        };
        let mut floors = judged.floors.iter();
        let measured = floors.find(|floor| floor.metric == metric && floor.n > 0);
        Self {
            metric,
            twins: measured.and_then(|floor| Some((floor.centre?, floor.shown))),
            record,
            pairs: pairs.into_iter().map(with).collect(),
        }
    }

    fn rows(&self, first: &str, second: &str, gates: &Gates) -> Vec<Placed> {
        let mut rows = Vec::new();
        for (pair, located) in &self.pairs {
            let key = pair.key();
            let as_asked = key.first == first && key.second == second;
            let reversed = key.first == second && key.second == first;
            // What the load made is compared by nobody, whatever its verdict is.
            let is_compared = shown_only(self.metric, pair.first).is_none();
            if (as_asked || reversed) && is_compared {
                rows.push(Placed {
                    block: pair.block,
                    is_unsupported: pair.first.is_unsupported() && pair.second.is_unsupported(),
                    row: self.row(pair, located, reversed, gates),
                });
            }
        }
        rows
    }

    fn row(
        &self,
        pair: &Pair<'_, '_>,
        located: &[Located],
        reversed: bool,
        gates: &Gates,
    ) -> GateRow {
        let mut key = pair.key();
        let (mut first, mut second) = (pair.first, pair.second);
        if reversed {
            std::mem::swap(&mut key.first, &mut key.second);
            std::mem::swap(&mut first, &mut second);
        }
        let mut row = GateRow::new(key, self.metric, gates);
        row.take([first, second]);
        let weak = pair.silence.or(pair.bound.map(|_| Reason::BoundHides));
        if let Some(reason) = weak {
            row.reason = Some(because(reason, self.metric, [first, second]));
            let needed = rounds_of_both(self.record, [first, second], self.metric.number());
            // Rounds that others have values in may bring common ones, and some that are shown.
            let is_passing = matches!(
                reason,
                Reason::NotValid | Reason::BoundHides | Reason::NoCommonRound | Reason::Withheld
            );
            row.rounds_enough = needed.filter(|_| is_passing);
            row.rounds_needed = row.rounds_enough;
            row.settled_at = pair.is_never_decided().then_some(0);
            if let (Some(_), Some(located)) = (pair.undisturbed(), located.last()) {
                self.hold_undisturbed(&self.change(located, reversed), &mut row);
            }
            return row;
        }
        // The first look that decides, or the last one.
        let is_decided = |located: &&Located| {
            let ruling = |gate| self.change(located, reversed).held_against(gate);
            row.gate
                .is_some_and(|gate| ruling(gate) != Ruling::CannotTell)
        };
        let Some(located) = located.iter().find(is_decided).or(located.last()) else {
            let rounds = pair.paired.len();
            let noun = if rounds == 1 {
                "round is"
            } else {
                "rounds are"
            };
            row.reason = Some(format!("{rounds} {noun} too few for an interval"));
            row.rounds_needed = Some(INTERVAL_FROM as u32);
            return row;
        };
        let change = self.change(located, reversed);
        row.hold(&change, located);
        self.hold_against_twins(&change, &mut row);
        if row.ruling != Ruling::CannotTell {
            row.settled_at = Some(located.round);
        }
        row
    }

    /// How much worse the second is.
    fn change(&self, located: &Located, reversed: bool) -> Change {
        let change = Change::of(self.metric, located);
        if reversed { change.turned() } else { change }
    }

    /// Holds against the gate what rounds show that the machine left alone, where too many others
    /// are missing: they breach it and do not pass it.
    fn hold_undisturbed(&self, change: &Change, row: &mut GateRow) {
        let Some(gate) = row.gate else { return };
        let rounds = change.n;
        row.worse = Some(change.shares());
        if change.held_against(gate) == Ruling::Breached {
            row.ruling = Ruling::Breached;
            row.reason = Some(format!("by its {rounds} undisturbed rounds alone"));
            row.rounds_needed = None;
            self.hold_against_twins(change, row);
        } else if let Some(reason) = &mut row.reason {
            reason.push_str(&format!("; the interval is of {rounds} undisturbed rounds"));
        }
    }

    /// What two runs of one server differ by is no news of another server. Where they differ by
    /// chance their median ratio counts here, not its interval: the row's own interval has the
    /// noise of the rounds already. Where they differ beyond chance, rounds of this campaign are
    /// not what they seem, and only an interval that lies beyond that difference as a whole is
    /// news.
    fn hold_against_twins(&self, change: &Change, row: &mut GateRow) {
        let Some((centre, beyond_chance)) = self.twins.filter(|_| row.gate.is_some()) else {
            return;
        };
        let apart = centre.ln_1p();
        let reaches = if beyond_chance {
            change.low > apart
        } else {
            change.point >= apart
        };
        let stands = match row.ruling {
            Ruling::Breached => reaches,
            _ => !beyond_chance,
        };
        if stands {
            return;
        }
        let beyond = if beyond_chance { ", beyond chance" } else { "" };
        row.ruling = Ruling::CannotTell;
        row.reason = Some(format!(
            "two runs of the same server differ by {:.1} % in this campaign{beyond}",
            centre * 100.0
        ));
        row.rounds_needed = None;
    }
}

/// Why nothing is concluded, with the contender and the check where a number is not valid.
pub(super) fn because(reason: Reason, metric: Metric, sides: [&JudgedCell<'_>; 2]) -> String {
    let mut text = reason.text().to_owned();
    for side in sides {
        let number = metric.number();
        let weak = side.judgement.verdicts.of(number) > Verdict::Valid;
        if let Some(check) = side.judgement.blame(number).filter(|_| weak) {
            let name = &side.cell.key.contender;
            text.push_str(&format!("; {name}: {}", check.text));
        }
    }
    text
}
