//! What a trial is judged by: itself, the machine, and the references in its block.

use bakeoff_plan::{Changing, Contender, Limits, Plan, Workload, control_name};
use bakeoff_record::{
    ContenderKind, DEVIATION_OF_MAD, FOREIGN_SUSPECT_CPUS, Hosts, LoadResult, Machine, Record,
    TrialRecord, foreign_cpus, steal_from_server,
};
use bakeoff_stats::{Cell, Metric, median, origin_tree, server_tree, window_cores};

use crate::limits::{DRIFT_LOG_MIN, DRIFT_SPREADS};

/// Requests that a server may count besides the load's: looks at its counters, and at its health.
pub(crate) const COUNTED_ASIDE: f64 = 20.0;

/// One measured trial and what it is judged against.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'record> {
    /// The trial.
    pub trial: &'record TrialRecord,
    /// What its engine saw.
    pub result: &'record LoadResult,
    /// The machine.
    pub machine: &'record Machine,
    /// What was asked; `None` where the plan does not know the workload.
    pub workload: Option<&'record Workload>,
    /// Whether an upstream answers this workload behind the server; `None` where the plan does
    /// not know the workload.
    pub proxied: Option<bool>,
    /// Whether the plan says what bodies are compared with; `None` where it does not know the
    /// workload.
    pub compares_bodies: Option<bool>,
    /// What is known of the body that changes from answer to answer, where one thing is asked for.
    pub changing: Option<&'record Changing>,
    /// The references' rates at the same workload and load.
    pub ceilings: Ceilings,
}

/// What the references did in the same block: round, workload and load.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ceilings {
    /// Right answers per second of the null server; `None` when it was not measured.
    pub yardstick: Option<f64>,
    /// Those of the upstream, asked directly; `None` when it was not measured.
    pub origin: Option<f64>,
    /// The yardstick here against its median; `None` when there are too few to say.
    pub drift: Option<Drift>,
    /// Median over the campaign's trials of the processors' frequency; `None` where it was not
    /// read.
    pub frequency_mhz: Option<f64>,
}

/// How far the yardstick of one block is from its median over rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Logarithm of this block's rate over the median.
    pub log: f64,
    /// How far from 0 that may be.
    pub limit: f64,
}

/// The rates of a campaign's references, block by block.
#[derive(Debug, Clone, Default)]
pub struct ReferenceRates {
    blocks: Vec<(Block, ContenderKind, f64)>,
    frequency_mhz: Option<f64>,
}

/// What is measured together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    round: u32,
    attempt: u32,
    workload: String,
    load: String,
}

impl Block {
    fn of(trial: &TrialRecord) -> Self {
        Self {
            round: trial.round,
            attempt: trial.attempt,
            workload: trial.workload.clone(),
            load: trial.load_label(),
        }
    }

    fn is_beside(&self, other: &Self) -> bool {
        self.workload == other.workload && self.load == other.load
    }
}

impl ReferenceRates {
    /// The references among the cells of a record.
    pub fn of(cells: &[Cell<'_>]) -> Self {
        let references = cells
            .iter()
            .filter(|cell| matches!(cell.kind, ContenderKind::Yardstick | ContenderKind::Origin));
        let trials = references.flat_map(Cell::measured);
        let rated = trials.filter_map(|trial| {
            let rate = Metric::RatePerS.of(trial).ok().filter(|rate| *rate > 0.0)?;
            Some((Block::of(trial), trial.kind, rate))
        });
        let measured = cells.iter().flat_map(Cell::measured);
        let frequencies: Vec<f64> = measured.filter_map(mean_frequency_mhz).collect();
        Self {
            blocks: rated.collect(),
            frequency_mhz: median(&frequencies),
        }
    }

    /// What the references did in the trial's block.
    pub fn ceilings(&self, trial: &TrialRecord) -> Ceilings {
        let block = Block::of(trial);
        let rate = |kind: ContenderKind| {
            let mut blocks = self.blocks.iter();
            let same = blocks.find(|(one, of, _)| *of == kind && *one == block);
            same.map(|(.., rate)| *rate)
        };
        let yardstick = rate(ContenderKind::Yardstick);
        let origin = rate(ContenderKind::Origin);
        let drift = yardstick.and_then(|rate| self.drift(&block, rate));
        Ceilings {
            yardstick,
            origin,
            drift,
            frequency_mhz: self.frequency_mhz,
        }
    }

    /// A third value is the first that can differ from two that agree.
    fn drift(&self, block: &Block, rate: f64) -> Option<Drift> {
        let kind = ContenderKind::Yardstick;
        let beside = self
            .blocks
            .iter()
            .filter(|(one, of, _)| *of == kind && one.is_beside(block));
        let logs: Vec<f64> = beside.map(|(.., rate)| rate.ln()).collect();
        if logs.len() < 3 {
            return None;
        }
        let middle = median(&logs)?;
        let apart: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
        let spread = DEVIATION_OF_MAD * median(&apart)?;
        Some(Drift {
            log: rate.ln() - middle,
            limit: DRIFT_LOG_MIN.max(DRIFT_SPREADS * spread),
        })
    }
}

/// The contender of the plan whose trial it is, or is repeated by it.
pub(crate) fn contender_of<'r>(plan: &'r Plan, trial: &TrialRecord) -> Option<&'r Contender> {
    let mut contenders = plan.contenders.iter();
    contenders.find(|it| match trial.kind {
        ContenderKind::Contender => it.name == trial.contender,
        ContenderKind::Control => control_name(&it.name) == trial.contender,
        ContenderKind::Yardstick | ContenderKind::Origin => false,
    })
}

/// Mean frequency of the processors over the window.
pub(crate) fn mean_frequency_mhz(trial: &TrialRecord) -> Option<f64> {
    let end_s = trial.result.as_ref()?.measured_s;
    let ticks = trial.usage.host.iter();
    let window = ticks.filter(|tick| tick.at_s >= 0.0 && tick.at_s <= end_s);
    let known: Vec<f64> = window.filter_map(|tick| tick.frequency_mhz).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

impl<'record> Subject<'record> {
    /// The trial as a subject; `None` when no window was measured.
    pub fn new(
        record: &'record Record,
        trial: &'record TrialRecord,
        ceilings: Ceilings,
    ) -> Option<Self> {
        let result = trial.result.as_ref()?;
        let mut workloads = record.plan.workloads.iter();
        let workload = workloads.find(|one| one.name == trial.workload);
        let contender = contender_of(&record.plan, trial);
        let own = contender.and_then(|it| it.own_answer(&trial.workload, 0));
        let changing = own.and_then(|it| it.body.changing.as_ref());
        Some(Self {
            trial,
            result,
            machine: &record.machine,
            workload,
            proxied: workload.map(|one| one.proxied),
            compares_bodies: workload.map(|one| one.compares_bodies(contender)),
            changing: changing.filter(|_| workload.is_some_and(|it| it.requests.len() == 1)),
            ceilings,
        })
    }

    /// The hosts that took part; `None` where it was one machine.
    pub(crate) fn hosts(&self) -> Option<&'record Hosts> {
        self.trial.hosts.as_ref()
    }

    /// Whether the trial measured what is compared, not a reference.
    pub(crate) fn is_contender(&self) -> bool {
        !matches!(
            self.trial.kind,
            ContenderKind::Yardstick | ContenderKind::Origin
        )
    }

    /// Whether an upstream may stand behind the server: where that is not known, what is asked of
    /// proxies is asked of it too.
    pub(crate) fn may_be_proxied(&self) -> bool {
        self.proxied.unwrap_or(true)
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

    /// Processors that the server kept busy.
    pub(crate) fn server_cores(&self) -> Option<f64> {
        window_cores(self.trial, server_tree(&self.trial.usage))
    }

    /// Processors that the upstream kept busy, where it shares those of the server.
    pub(crate) fn origin_cores_beside(&self) -> Option<f64> {
        let pinned = &self.trial.pinned;
        let shared = pinned.origin == pinned.server && !pinned.server.is_empty();
        window_cores(self.trial, origin_tree(&self.trial.usage)).filter(|_| shared)
    }

    /// What others left of the processors that the server may use, as far as the record says: less
    /// what the hypervisor took of them, and less what other programs had of them, where that is
    /// more than the clocks may be off.
    pub(crate) fn server_cpus_left(&self) -> f64 {
        let cpus = self.server_cpus() as f64;
        let limit = self.limits().and_then(|limits| limits.cpus);
        let stolen = steal_from_server(self.trial).unwrap_or(0.0) * cpus;
        let foreign = foreign_cpus(self.trial).and_then(|foreign| foreign.on_server);
        let foreign = foreign.filter(|cores| *cores > FOREIGN_SUSPECT_CPUS);
        let left = (cpus - stolen - foreign.unwrap_or(0.0)).max(0.0);
        limit.map_or(left, |limit| left.min(limit))
    }

    /// What the plan lets the server use at the most.
    pub(crate) fn limits(&self) -> Option<Limits> {
        self.trial.server.as_ref()?.limits
    }

    /// Share of the window, 0 to 1, in which limits of its own held the server back.
    pub(crate) fn limited_share(&self) -> Option<f64> {
        let tree = server_tree(&self.trial.usage)?;
        let window_s = self.result.measured_s;
        let ticks = || tree.in_window(window_s).filter_map(|tick| tick.limited_us);
        let (first, last) = (ticks().next()?, ticks().next_back()?);
        Some((last.saturating_sub(first) as f64 / 1e6 / window_s).min(1.0))
    }

    /// Share of its processors that the server, with an upstream on the same ones, kept busy, of
    /// what others left of them: near 1 it is they that set the pace.
    pub(crate) fn server_share(&self) -> Option<f64> {
        let cores = self.server_cores()? + self.origin_cores_beside().unwrap_or(0.0);
        let left = self.server_cpus_left();
        Some(if cores < left { cores / left } else { 1.0 })
    }

    /// Text that follows "the server used 97 %".
    pub(crate) fn of_its_processors(&self) -> &'static str {
        let limit = self.limits().and_then(|limits| limits.cpus);
        if limit.is_some_and(|limit| limit < self.server_cpus() as f64) {
            return "of its limit";
        }
        // 99.5 % are 100 % in every text.
        if self.server_cpus_left() < 0.995 * self.server_cpus() as f64 {
            "of what others left of its processors"
        } else {
            "of its processors"
        }
    }
}
