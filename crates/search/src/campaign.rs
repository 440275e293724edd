//! The searches of a plan: one for each workload, search and contender, with its trials.

use bakeoff_plan::{Contender, Load, Plan, Workload};
use bakeoff_record::{ContenderKind, TrialRecord};

use crate::progress::Progress;
use crate::seen::{Purpose, Seen};

/// The search of one contender at one workload.
#[derive(Debug, Clone)]
pub struct Quest<'p> {
    /// Who is asked.
    pub contender: &'p Contender,
    /// What is asked.
    pub workload: &'p Workload,
    /// The search, as a load whose rate is sought.
    pub load: &'p Load,
    /// How far it is.
    pub progress: Progress<'p>,
    /// What the null server answered in a closed loop, right answers per second.
    pub yardstick_per_s: Option<f64>,
}

/// The searches of a plan with the trials of a record: by workload, then search, then contender,
/// each in the plan's order.
pub fn quests<'p>(plan: &'p Plan, records: &[TrialRecord]) -> Vec<Quest<'p>> {
    let mut quests = Vec::new();
    let cells = (plan.contenders.len() * sought(plan).count()).max(1);
    let rest_s = plan.rest.as_secs_f64();
    // The rest between two trials is a part of what one takes, and so is the null server's.
    let with_rest = |seen: Seen| Seen {
        took_s: seen.took_s + rest_s,
        ..seen
    };
    let references = sought(plan).flat_map(|(workload, load)| yardstick(records, workload, load));
    let references_s: f64 = references.map(|seen| with_rest(seen).took_s).sum();
    for (workload, load) in sought(plan) {
        let label = load.label();
        let yardstick_per_s = yardstick(records, workload, load)
            .find_map(|seen| seen.ok_per_s().filter(|rate| *rate > 0.0));
        for contender in &plan.contenders {
            let own = records.iter().filter(|record| {
                record.kind == ContenderKind::Contender
                    && record.contender == contender.name
                    && record.workload == workload.name
            });
            let seen = own.filter_map(|record| Seen::of(record, &label));
            let trials = seen.map(with_rest).collect();
            let Some(search) = load.search() else {
                continue;
            };
            let budget_s = (search.budget.as_secs_f64() - references_s).max(0.0) / cells as f64;
            let Some(progress) = Progress::new(load, trials, budget_s) else {
                continue;
            };
            quests.push(Quest {
                contender,
                workload,
                load,
                progress,
                yardstick_per_s,
            });
        }
    }
    quests
}

/// Workloads with the loads whose rate is sought.
pub fn sought(plan: &Plan) -> impl Iterator<Item = (&Workload, &Load)> {
    plan.workloads.iter().flat_map(|workload| {
        let loads = plan.loads.iter().filter(|load| load.search().is_some());
        loads.map(move |load| (workload, load))
    })
}

/// Closed loops of the null server at a workload that ran.
pub fn yardstick<'r>(
    records: &'r [TrialRecord],
    workload: &'r Workload,
    load: &'r Load,
) -> impl Iterator<Item = Seen> + 'r {
    let label = load.label();
    let own = records.iter().filter(move |record| {
        record.kind == ContenderKind::Yardstick && record.workload == workload.name
    });
    own.filter_map(move |record| Seen::of(record, &label))
        .filter(|seen| seen.purpose == Purpose::Closed)
}

impl Quest<'_> {
    /// Trials that ended.
    pub fn ended(&self) -> usize {
        self.progress.trials.len()
    }

    /// The same for a search that is resumed now, after so many of its trials: a contender that was
    /// given up then is asked again.
    #[must_use]
    pub fn resumed_after(mut self, ended: usize) -> Self {
        self.progress.resumed_at = ended;
        self
    }

    /// When the search may be given up, seconds of trials.
    pub fn budget_s(&self) -> f64 {
        self.progress.budget_s
    }
}
