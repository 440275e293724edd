//! Trials of one contender, one workload and one load, over the rounds.

use std::collections::BTreeMap;

use bakeoff_record::{ContenderKind, Record, TrialEnd, TrialRecord};

use crate::accepted::Accepted;
use crate::estimate::{Estimate, estimate, median};
use crate::metric::{Metric, Missing};

/// What names a cell. The load is named by its label, because a reference trial may be shorter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellKey {
    /// Contender's name.
    pub contender: String,
    /// Workload's name.
    pub workload: String,
    /// Label of the load.
    pub load: String,
}

/// Trials of one contender, one workload and one load.
#[derive(Debug, Clone)]
pub struct Cell<'record> {
    /// What names it.
    pub key: CellKey,
    /// What the contender is to the campaign.
    pub kind: ContenderKind,
    /// Its trials by round, those of the attempt that counts; the later one of two records of one
    /// trial.
    pub trials: Vec<&'record TrialRecord>,
    /// Those of other attempts.
    pub set_aside: Vec<&'record TrialRecord>,
}

impl<'record> Cell<'record> {
    /// Trials whose window was measured.
    pub fn measured(&self) -> impl Iterator<Item = &'record TrialRecord> + '_ {
        self.trials
            .iter()
            .copied()
            .filter(|trial| trial.end == TrialEnd::Measured && trial.result.is_some())
    }

    /// Share of the requests asked for that did not come out right, all rounds together: it is
    /// counted, and has no interval. `None` where no round was measured.
    ///
    /// A closed loop whose server hangs asks for no more than its clients do at once, and nothing
    /// of that ends. Such a round failed whole, and weighs as much as the others on average: by
    /// what was in flight it would hardly count.
    pub fn error_share(&self) -> Option<f64> {
        let results = self.measured().filter_map(|trial| trial.result.as_ref());
        let (mut asked, mut right, mut counted, mut silent) = (0_u64, 0_u64, 0_u32, 0_u32);
        for requests in results.map(|result| &result.requests) {
            match requests.asked() {
                0 => silent += 1,
                some => {
                    counted += 1;
                    asked += some;
                    right += requests.ok;
                }
            }
        }
        let failed = asked.saturating_sub(right) as f64;
        match (counted, silent) {
            (0, 0) => None,
            (0, _) => Some(1.0),
            (_, 0) => Some(failed / asked as f64),
            _ => {
                let silent = asked as f64 / f64::from(counted) * f64::from(silent);
                Some((failed + silent) / (asked as f64 + silent))
            }
        }
    }

    /// The value of `measure` over the rounds.
    ///
    /// # Errors
    /// Says why there is none. Where some rounds only have a lower bound, the median of bounds
    /// and values is one too, and the rounds with a value alone would understate it.
    pub fn estimate(&self, measure: Metric) -> Result<Estimate, Missing> {
        let (mut values, mut bounds, mut unended) = (Vec::new(), 0, 0);
        let mut missing = Missing::Because("not measured");
        for trial in &self.trials {
            match measure.of(trial) {
                Ok(value) => values.push(value),
                Err(Missing::AtLeast {
                    bound,
                    unended: more,
                }) => {
                    values.push(bound);
                    bounds += 1;
                    unended += more;
                }
                Err(reason) => missing = reason,
            }
        }
        match median(&values) {
            Some(bound) if bounds > 0 => Err(Missing::AtLeast { bound, unended }),
            _ => estimate(&values).ok_or(missing),
        }
    }
}

/// The cells of a record: by workload, then load, then contender, each in the plan's order, the
/// references last. What the plan does not name comes after what it names.
pub fn cells(record: &Record) -> Vec<Cell<'_>> {
    let latest: BTreeMap<(&str, u32), &TrialRecord> = record
        .trials
        .iter()
        .map(|trial| ((trial.id.as_str(), trial.attempt), trial))
        .collect();
    let accepted = Accepted::of(latest.values().copied());
    let mut found: BTreeMap<CellKey, Cell<'_>> = BTreeMap::new();
    for trial in latest.into_values() {
        let key = CellKey {
            contender: trial.contender.clone(),
            workload: trial.workload.clone(),
            load: trial.load_label(),
        };
        let cell = found.entry(key.clone()).or_insert_with(|| Cell {
            key,
            kind: trial.kind,
            trials: Vec::new(),
            set_aside: Vec::new(),
        });
        if accepted.holds(trial) {
            cell.trials.push(trial)
        } else {
            cell.set_aside.push(trial)
        }
    }
    let mut cells: Vec<Cell<'_>> = found.into_values().collect();
    for cell in &mut cells {
        cell.trials.sort_by_key(|trial| (trial.round, trial.index));
        cell.set_aside
            .sort_by_key(|trial| (trial.round, trial.attempt));
    }
    let order = Order::of(record);
    cells.sort_by_cached_key(|cell| order.of_cell(cell));
    cells
}

/// The reference of `kind` for the same workload and load.
pub fn reference<'cells, 'record>(
    cells: &'cells [Cell<'record>],
    kind: ContenderKind,
    key: &CellKey,
) -> Option<&'cells Cell<'record>> {
    cells.iter().find(|cell| {
        cell.kind == kind && cell.key.workload == key.workload && cell.key.load == key.load
    })
}

/// Positions of names in the plan.
struct Order {
    contenders: Vec<String>,
    workloads: Vec<String>,
    loads: Vec<String>,
}

impl Order {
    fn of(record: &Record) -> Self {
        let plan = &record.plan;
        Self {
            contenders: plan.contenders.iter().map(|one| one.name.clone()).collect(),
            workloads: plan.workloads.iter().map(|one| one.name.clone()).collect(),
            loads: plan.loads.iter().map(bakeoff_plan::Load::label).collect(),
        }
    }

    fn of_cell(&self, cell: &Cell<'_>) -> (usize, usize, u8, usize, CellKey) {
        let place = |names: &[String], name: &str| {
            names
                .iter()
                .position(|known| known == name)
                .unwrap_or(names.len())
        };
        let kind = match cell.kind {
            ContenderKind::Contender => 0,
            ContenderKind::Control => 1,
            ContenderKind::Origin => 2,
            ContenderKind::Yardstick => 3,
        };
        (
            place(&self.workloads, &cell.key.workload),
            place(&self.loads, &cell.key.load),
            kind,
            place(&self.contenders, &cell.key.contender),
            cell.key.clone(),
        )
    }
}
