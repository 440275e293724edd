//! What held the rate down (R34): names from the method's table, each with its figures.
//!
//! A first form: it names what the record's counters show and infers nothing from the absence of
//! one. "unknown" is a legal answer; nothing is "confirmed", which takes an intervention (R35).

use bakeoff_plan::LoadModel;
use bakeoff_record::Outcome;
use bakeoff_stats::{Cell, origin_tree, server_tree, window_cores};
use serde::Serialize;

use crate::checks::{own_overflows, window_growth, working, worst_share};
use crate::limits::{
    BACKEND_SHARE, CEILING_SHARE, ENGINE_BUSY_INVALID, SERVER_SATURATED, SOFTIRQ_SHARE,
    STARTED_SHARE, STEAL_SUSPECT,
};
use crate::subject::{Beside, Subject};
use crate::words::count;

/// What held the rate down.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bottleneck {
    /// The first cause, or `unknown`, or `none` where the rate was given and kept.
    pub name: &'static str,
    /// Figures that speak for it.
    pub text: String,
    /// Further causes.
    pub also: Vec<Cause>,
}

/// One thing that the figures speak for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cause {
    /// Stable name, such as `cpu-bound`.
    pub name: &'static str,
    /// Figures that speak for it.
    pub text: String,
}

/// The bottleneck of a cell: the first cause that most of its measured rounds name. `None` when
/// no round was measured.
pub fn bottleneck(
    record: &bakeoff_record::Record,
    cell: &Cell<'_>,
    beside: &Beside,
) -> Option<Bottleneck> {
    let rounds: Vec<Vec<Cause>> = cell
        .measured()
        .filter_map(|trial| Subject::new(record, trial, beside.ceilings(trial)))
        .map(|subject| causes(&subject))
        .collect();
    let votes = |name| {
        rounds
            .iter()
            .filter(|causes| causes[0].name == name)
            .count()
    };
    // Of equal votes the earliest round's counts: max_by_key takes the last, so go backwards.
    let chosen = rounds
        .iter()
        .rev()
        .max_by_key(|causes| votes(causes[0].name))?;
    let (first, also) = chosen.split_first()?;
    Some(Bottleneck {
        name: first.name,
        text: first.text.clone(),
        also: also.to_vec(),
    })
}

/// Every cause that the figures of one trial speak for, never empty.
fn causes(subject: &Subject<'_>) -> Vec<Cause> {
    let rows = [
        client_local,
        client_cpu,
        generator_ceiling,
        steal,
        accept_queue,
        backend,
        softirq,
        server_cpu,
    ];
    let mut causes: Vec<Cause> = rows.iter().filter_map(|row| row(subject)).collect();
    if causes.is_empty() {
        causes.push(nothing_found(subject));
    }
    causes
}

fn cause(name: &'static str, text: String) -> Option<Cause> {
    Some(Cause { name, text })
}

fn client_local(subject: &Subject<'_>) -> Option<Cause> {
    let failed = subject.result.outcomes.of(Outcome::Local);
    if failed == 0 {
        return None;
    }
    cause(
        "client-limits",
        format!("{failed} requests found no file, port or memory to be sent"),
    )
}

fn client_cpu(subject: &Subject<'_>) -> Option<Cause> {
    let share = working(subject.result).filter(|share| *share > ENGINE_BUSY_INVALID)?;
    cause(
        "client-cpu",
        format!("engine thread busy {:.0} %", share * 100.0),
    )
}

fn generator_ceiling(subject: &Subject<'_>) -> Option<Cause> {
    let ceiling = subject.ceilings.yardstick.filter(|_| is_closed(subject))?;
    let share = subject.rate() / ceiling;
    if !subject.is_contender() || share <= CEILING_SHARE {
        return None;
    }
    cause(
        "generator-ceiling",
        format!("{:.0} % of the yardstick's rate", share * 100.0),
    )
}

fn steal(subject: &Subject<'_>) -> Option<Cause> {
    let share = worst_share(subject, |cpu| cpu.steal).filter(|share| *share > STEAL_SUSPECT)?;
    cause(
        "steal",
        format!("the hypervisor took {:.1} % of a processor", share * 100.0),
    )
}

fn accept_queue(subject: &Subject<'_>) -> Option<Cause> {
    let overflows = window_growth(subject, |tick| tick.listen_overflows)?;
    let overflows = Some(own_overflows(subject, overflows)).filter(|n| *n > 0)?;
    cause(
        "accept-queue",
        format!("{} listen overflows", count(overflows)),
    )
}

fn backend(subject: &Subject<'_>) -> Option<Cause> {
    if subject.proxied != Some(true) || !subject.is_contender() {
        return None;
    }
    let direct = subject.ceilings.origin.filter(|_| is_closed(subject))?;
    let share = subject.rate() / direct;
    if share <= BACKEND_SHARE {
        return None;
    }
    cause(
        "backend-bound",
        format!("{:.0} % of the upstream's direct rate", share * 100.0),
    )
}

fn softirq(subject: &Subject<'_>) -> Option<Cause> {
    let share = worst_share(subject, |cpu| cpu.softirq).filter(|share| *share > SOFTIRQ_SHARE)?;
    cause(
        "network",
        format!(
            "a processor spent {:.0} % in soft interrupts",
            share * 100.0
        ),
    )
}

/// The server at the limit of its processors, or of one of several.
///
/// A proxy may share its processors with the upstream; then both together saturate them.
fn server_cpu(subject: &Subject<'_>) -> Option<Cause> {
    let usage = &subject.trial.usage;
    let cores = window_cores(subject.trial, server_tree(usage))?;
    let allowed = subject.server_cpus() as f64;
    if cores > SERVER_SATURATED * allowed {
        let text = format!("the server used {cores:.2} of {}", processors(subject));
        return cause("cpu-bound", text);
    }
    let pinned = &subject.trial.pinned;
    let shared = pinned.origin == pinned.server && !pinned.server.is_empty();
    if let Some(origin) = window_cores(subject.trial, origin_tree(usage)).filter(|_| shared)
        && cores + origin > SERVER_SATURATED * allowed
    {
        let text = format!(
            "the server used {cores:.2} and the upstream beside it {origin:.2} of {}",
            processors(subject)
        );
        return cause("cpu-shared-with-origin", text);
    }
    // Whole-tree figures cannot tell one busy thread from several half-busy ones, so only a use
    // of nearly exactly one processor of several is named.
    if allowed >= 2.0 && (SERVER_SATURATED..1.1).contains(&cores) {
        let text = format!(
            "the server used {cores:.2} of {}: one worker?",
            processors(subject)
        );
        return cause("single-core", text);
    }
    None
}

fn nothing_found(subject: &Subject<'_>) -> Cause {
    let requests = &subject.result.requests;
    if let Some(due) = requests.due.or(requests.planned)
        && requests.ok as f64 >= STARTED_SHARE * due as f64
    {
        let text = "the server kept up with the given rate".into();
        return Cause { name: "none", text };
    }
    let cores = window_cores(subject.trial, server_tree(&subject.trial.usage));
    let text = match cores {
        Some(cores) => {
            format!("the server used {cores:.2} of {}", processors(subject))
        }
        None => "the server's CPU time is not known".into(),
    };
    Cause {
        name: "unknown",
        text,
    }
}

fn processors(subject: &Subject<'_>) -> String {
    match subject.server_cpus() {
        1 => "its one processor".into(),
        cpus => format!("its {cpus} processors"),
    }
}

fn is_closed(subject: &Subject<'_>) -> bool {
    matches!(subject.result.load.model, LoadModel::Closed { .. })
}
