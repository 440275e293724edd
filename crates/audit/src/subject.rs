//! What a trial is judged by: itself, the machine, and the references beside it.

use bakeoff_record::{ContenderKind, LoadResult, Machine, Record, TrialRecord};
use bakeoff_stats::{Cell, CellKey, Measure, reference};

/// One measured trial and what it is judged against.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'record> {
    /// The trial.
    pub trial: &'record TrialRecord,
    /// What its engine saw.
    pub result: &'record LoadResult,
    /// The machine.
    pub machine: &'record Machine,
    /// Whether an upstream answers this workload behind the server.
    pub proxied: bool,
    /// The references' rates at the same workload and load.
    pub ceilings: Ceilings,
}

/// Rates of the references at one workload and load, right answers per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ceilings {
    /// The null server's; `None` when it was not measured.
    pub yardstick: Option<f64>,
    /// The upstream's, asked directly; `None` when it was not measured.
    pub origin: Option<f64>,
}

impl Ceilings {
    /// The references beside the cell named by `key`.
    pub fn beside(cells: &[Cell<'_>], key: &CellKey) -> Self {
        let rate = |kind| {
            reference(cells, kind, key)?
                .estimate(Measure::RatePerS)
                .ok()
                .map(|one| one.point)
        };
        Self {
            yardstick: rate(ContenderKind::Yardstick),
            origin: rate(ContenderKind::Origin),
        }
    }
}

impl<'record> Subject<'record> {
    /// The trial as a subject; `None` when no window was measured.
    pub fn new(
        record: &'record Record,
        trial: &'record TrialRecord,
        ceilings: Ceilings,
    ) -> Option<Self> {
        let result = trial.result.as_ref()?;
        let workload = record
            .plan
            .workloads
            .iter()
            .find(|one| one.name == trial.workload);
        Some(Self {
            trial,
            result,
            machine: &record.machine,
            proxied: workload.is_some_and(|one| one.proxied),
            ceilings,
        })
    }

    /// Whether the trial measured what is compared, not a reference.
    pub(crate) fn is_contender(&self) -> bool {
        self.trial.kind == ContenderKind::Contender
    }

    /// Right answers per second.
    pub(crate) fn rate(&self) -> f64 {
        self.result.requests.ok as f64 / self.result.measured_s
    }

    /// Processors that the server may use.
    pub(crate) fn server_cpus(&self) -> usize {
        match self.trial.pinned.server.len() {
            0 => self.machine.cpus as usize,
            pinned => pinned,
        }
    }
}
