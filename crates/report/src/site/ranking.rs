//! Rankings: contenders in the order of their valid numbers, as far as these can be compared.
//!
//! Numbers of two records are in one ranking only if `bakeoff compare` would compare them: the same
//! machine, kernel, workload, load and engine ([`plan_mismatches`]), and null servers that did the
//! same. So there is no ranking over machines. Contenders of one record differ if its own
//! comparisons say so, those of two records if their intervals do not overlap. With too few rounds
//! for an interval that is plain at most, and not proven. A place is therefore a range: `1`, or `2
//! to 4`.

use bakeoff_audit::limits::YARDSTICKS_APART;
use bakeoff_audit::{Conclusion, plan_mismatches};
use bakeoff_plan::{Plan, distinct};
use bakeoff_stats::CONFIDENCE_ROUNDS;

use super::record::{Kind, Number, RecordGround, SiteRecord};

/// Where a number has too few rounds for an interval, its range has to lie apart from that of
/// another record by this factor.
const PLAIN_APART: f64 = 1.5;

/// Contenders at one workload and load, on one machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranking<'a> {
    /// The record that was there first; the others are held against it.
    pub(super) first: &'a SiteRecord,
    /// The number of it that shows workload, load and kind.
    pub(super) number: &'a Number,
    /// Ranked contenders, best first.
    pub(super) ranked: Vec<Ranked<'a>>,
    /// What is not valid.
    pub(super) apart: Vec<Entrant<'a>>,
    /// Records that numbers of it are from.
    pub(super) records: usize,
    /// Whether an order within a record is plain, but not proven.
    pub(super) is_plain: bool,
    /// Facts in which the contenders of a record do not do the same work.
    pub(super) unequal: Vec<String>,
    /// Narrowed to the workload and the load.
    ground: Ground<'a>,
}

/// A number, and the record that it is from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entrant<'a> {
    pub(super) record: &'a SiteRecord,
    pub(super) number: &'a Number,
    /// Other records that have a number of it too.
    pub(super) others: usize,
}

/// A contender with the places that it may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked<'a> {
    pub(super) entrant: Entrant<'a>,
    /// The best and the worst place, from 1.
    pub(super) best: usize,
    pub(super) worst: usize,
}

/// What has to be the same for numbers to be held against each other.
#[derive(Debug, Clone, PartialEq)]
struct Ground<'a> {
    record: &'a RecordGround,
    /// With one workload and one load; `None` where the rate was found in the campaign, so that
    /// no other record has the same load.
    plan: Option<Plan>,
    yardstick: Option<f64>,
}

/// Every ranking of at least two contenders, by machine, workload and load. `records` are in the
/// order of the index: the newest first.
pub(super) fn rankings(records: &[SiteRecord]) -> Vec<Ranking<'_>> {
    let mut all: Vec<Ranking<'_>> = Vec::new();
    let mut entrants: Vec<Vec<Entrant<'_>>> = Vec::new();
    for record in records {
        for number in &record.numbers {
            let ground = Ground::of(record, number);
            let known = all
                .iter()
                .position(|one| one.takes(record, number, &ground));
            let place = known.unwrap_or_else(|| {
                all.push(Ranking::of(record, number, ground));
                entrants.push(Vec::new());
                all.len() - 1
            });
            enter(&mut entrants[place], record, number);
        }
    }
    for (ranking, entrants) in all.iter_mut().zip(entrants) {
        ranking.fill(entrants);
    }
    all.retain(|one| one.ranked.len() + one.apart.len() > 1);
    all.sort_by_key(|one| {
        let facets = &one.first.facets;
        let number = one.number;
        // What ranks nobody comes last.
        (
            (&facets.machine, &facets.system),
            one.ranked.len() < 2,
            (&number.workload, &number.load, &number.title),
        )
    });
    all
}

/// Adds a number. The newest valid number of a contender and version stands, or the newest if none
/// is valid.
fn enter<'a>(entrants: &mut Vec<Entrant<'a>>, record: &'a SiteRecord, number: &'a Number) {
    let same = |one: &&mut Entrant<'_>| {
        one.number.contender == number.contender
            && one.number.versions == number.versions
            && one.record.name != record.name
    };
    match entrants.iter_mut().find(same) {
        Some(known) => {
            if known.number.unranked.is_some() && number.unranked.is_none() {
                (known.record, known.number) = (record, number);
            }
            known.others += 1;
        }
        None => entrants.push(Entrant {
            record,
            number,
            others: 0,
        }),
    }
}

impl<'a> Ground<'a> {
    fn of(record: &'a SiteRecord, number: &Number) -> Self {
        let plan = &record.ground.plan;
        let workload = plan
            .workloads
            .iter()
            .find(|one| one.name == number.workload);
        let load = plan.loads.iter().find(|one| one.label() == number.load);
        let load = load.filter(|one| !one.model.is_share());
        let narrowed = workload.zip(load).map(|(workload, load)| Plan {
            name: String::new(),
            description: String::new(),
            contenders: Vec::new(),
            workloads: vec![workload.clone()],
            loads: vec![load.clone()],
            ..plan.clone()
        });
        Self {
            record: &record.ground,
            plan: narrowed,
            yardstick: number.yardstick,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let (Some(plan), Some(other_plan)) = (&self.plan, &other.plan) else {
            return false;
        };
        let (mine, theirs) = (self.record, other.record);
        // The copies that a site is drawn from lack headers by which requests may differ.
        let asks = |ground: &'a RecordGround, plan: &Plan| {
            let workload = plan.workloads.first()?;
            ground.asks.get(&workload.name)
        };
        let is_asked = asks(mine, plan).is_some_and(|it| asks(theirs, other_plan) == Some(it));
        is_asked
            && are_near(self.yardstick, other.yardstick)
            && mine.engine == theirs.engine
            && plan_mismatches((&mine.machine, plan), (&theirs.machine, other_plan)).is_empty()
    }
}

/// Whether null servers did the same; not known where one did not run.
fn are_near(one: Option<f64>, other: Option<f64>) -> bool {
    let apart = |(one, other): (f64, f64)| (one / other).ln().abs().exp_m1();
    one.zip(other)
        .is_some_and(|both| apart(both) <= YARDSTICKS_APART)
}

impl<'a> Ranking<'a> {
    fn of(record: &'a SiteRecord, number: &'a Number, ground: Ground<'a>) -> Self {
        Self {
            first: record,
            number,
            ranked: Vec::new(),
            apart: Vec::new(),
            records: 0,
            is_plain: false,
            unequal: Vec::new(),
            ground,
        }
    }

    /// Whether the number belongs here. What is compared in full comes last: it costs most.
    fn takes(&self, record: &SiteRecord, number: &Number, ground: &Ground<'_>) -> bool {
        let is_same = self.number.kind == number.kind
            && self.number.workload == number.workload
            && self.number.load == number.load
            && self.number.title == number.title;
        is_same && (self.first.name == record.name || self.ground.is_like(ground))
    }

    fn fill(&mut self, entrants: Vec<Entrant<'a>>) {
        let mut names: Vec<&str> = entrants
            .iter()
            .map(|one| one.record.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        self.records = names.len();
        let (valid, apart): (Vec<_>, Vec<_>) = entrants
            .into_iter()
            .partition(|one| one.number.unranked.is_none() && one.number.value.is_some());
        self.apart = apart;
        let count = valid.len();
        for one in &valid {
            let ahead = |other: &&Entrant<'_>| order(other, one).is_some_and(|it| it.is_ahead);
            let behind = |other: &&Entrant<'_>| order(one, other).is_some_and(|it| it.is_ahead);
            self.is_plain |= valid
                .iter()
                .any(|it| order(one, it).is_some_and(|it| it.is_plain));
            self.ranked.push(Ranked {
                entrant: *one,
                best: 1 + valid.iter().filter(ahead).count(),
                worst: count - valid.iter().filter(behind).count(),
            });
        }
        self.ranked.sort_by(|left, right| {
            let places = |it: &Ranked<'_>| it.best + it.worst;
            let value = |it: &Ranked<'_>| it.entrant.goodness();
            let best_first = places(left).cmp(&places(right));
            best_first.then_with(|| value(right).total_cmp(&value(left)))
        });
        let facts = self
            .ranked
            .iter()
            .flat_map(|one| &one.entrant.record.unequal);
        let facts = facts.filter(|(workload, _)| *workload == self.number.workload);
        self.unequal = distinct(facts.map(|(_, fact)| fact.clone()));
    }
}

/// How two numbers lie to each other.
struct Order {
    /// Whether the first is ahead of the second.
    is_ahead: bool,
    /// Whether that is plain, but not proven.
    is_plain: bool,
}

/// Whether `one` is ahead of `other`; `None` where no difference is shown.
fn order(one: &Entrant<'_>, other: &Entrant<'_>) -> Option<Order> {
    let kind = one.number.kind;
    if let Some(metric) = kind
        .metric()
        .filter(|_| one.record.name == other.record.name)
    {
        let (mine, theirs) = (&one.number.contender, &other.number.contender);
        let here = |it: &&crate::view::Comparison| {
            it.metric == metric
                && it.workload == one.number.workload
                && it.load == one.number.load
                && ((&it.first, &it.second) == (mine, theirs)
                    || (&it.first, &it.second) == (theirs, mine))
        };
        let compared = one.record.comparisons.iter().find(here)?;
        let second_is_more = match compared.conclusion {
            Conclusion::Higher => true,
            Conclusion::Lower => false,
            Conclusion::PlainNotProven(_) => compared.ratio?.point > 1.0,
            _ => return None,
        };
        let second_is_ahead = second_is_more == kind.more_is_better();
        return Some(Order {
            is_ahead: second_is_ahead == (&compared.second == mine),
            is_plain: matches!(compared.conclusion, Conclusion::PlainNotProven(_)),
        });
    }
    // Each is near the first record's of the ranking, so two may be twice as far apart.
    let (first, second) = (one.number, other.number);
    if one.record.name != other.record.name && !are_near(first.yardstick, second.yardstick) {
        return None;
    }
    let (mine, theirs) = first.value.zip(second.value)?;
    let is_ahead = if kind.more_is_better() {
        mine.low > theirs.high * first.apart.max(second.apart)
    } else {
        mine.high < theirs.low
    };
    // From few rounds the ends are the smallest and the largest value, and those of equals often
    // lie apart; but not that far.
    let has_interval = |it: &Number| kind == Kind::Capacity || it.rounds >= CONFIDENCE_ROUNDS;
    let is_plain = ![first, second].into_iter().all(has_interval);
    let apart = (mine.low / theirs.high).max(theirs.low / mine.high);
    let is_shown = is_ahead && (!is_plain || apart >= PLAIN_APART);
    is_shown.then_some(Order { is_ahead, is_plain })
}

impl Entrant<'_> {
    /// Larger for the better of two of one kind.
    fn goodness(&self) -> f64 {
        let value = self.number.value;
        let point = value.map_or(0.0, |span| span.point.unwrap_or(span.low));
        match self.number.kind {
            Kind::Rate | Kind::Capacity => point,
            Kind::Latency => -point,
        }
    }
}
