//! What held the rate down (R34): names from the table of `docs/checks.md`, each with its figures.
//!
//! A first form: it names what the record's counters show and infers nothing from the absence of
//! one. "unknown" is a legal answer; "confirmed" takes an experiment (R35), which
//! [`crate::confirmation`] weighs.

use bakeoff_record::{
    FOREIGN_DISTURBED_CPUS, Outcome, Record, THROTTLED_SHARE, TrialRecord, foreign_cpus,
    steal_from_server, throttled_share,
};
use bakeoff_stats::{Cell, Metric, median, server_tree};
use serde::Serialize;

use crate::checks::{
    LinkUse, fullest_link, limited_text, own_overflows, window_growth, working, worst_on,
};
use crate::confirmation::{Confirmation, confirmations};
use crate::figures::count;
use crate::limiter::Limiter;
use crate::limits::{
    BACKEND_SHARE, CEILING_SHARE, ENGINE_BUSY_INVALID, IDLE_BESIDE_SHARE, IDLE_SERVER,
    SERVER_PACED, SERVER_SATURATED, SOFTIRQ_SHARE, STARTED_SHARE, STEAL_SUSPECT, THREAD_FULL_SHARE,
};
use crate::subject::{ReferenceRates, Subject};

/// What held the rate down.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Bottleneck {
    /// The first cause, or `unknown`, or `none` where the rate was given and kept.
    #[schemars(with = "String")]
    pub name: Limiter,
    /// Figures that speak for it.
    pub text: String,
    /// Further causes.
    pub also: Vec<Cause>,
    /// The results of changing one resource at a time; empty where nobody asked.
    pub confirmations: Vec<Confirmation>,
}

/// One thing that the figures speak for.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Cause {
    /// Stable name, such as `cpu-bound`.
    #[schemars(with = "String")]
    pub name: Limiter,
    /// Figures that speak for it.
    pub text: String,
}

/// The bottleneck of a cell: what the figures of its usable round nearest the median rate speak
/// for. `None` when no round was measured.
pub(crate) fn bottleneck(
    record: &Record,
    cell: &Cell<'_>,
    usable: &Cell<'_>,
    references: &ReferenceRates,
) -> Option<Bottleneck> {
    let trial = typical(usable).or_else(|| typical(cell))?;
    let subject = Subject::new(record, trial, references.ceilings(trial))?;
    let causes = causes(&subject);
    let (first, also) = causes.split_first()?;
    let limiters: Vec<Limiter> = causes.iter().map(|cause| cause.name).collect();
    Some(Bottleneck {
        name: first.name,
        text: first.text.clone(),
        also: also.to_vec(),
        confirmations: confirmations(record, trial, &limiters),
    })
}

/// That the server had time to spare in the usable round nearest the median rate, in a closed loop
/// and with no thread that was full: its processors did not hold the rate down.
pub(crate) fn idle_server(
    record: &Record,
    usable: &Cell<'_>,
    references: &ReferenceRates,
) -> Option<String> {
    let trial = typical(usable)?;
    let subject = Subject::new(record, trial, references.ceilings(trial))?;
    let share = subject
        .server_share()
        .filter(|share| *share < IDLE_SERVER)?;
    if !is_closed(&subject) || !subject.is_contender() || server_cpu(&subject).is_some() {
        return None;
    }
    let by = causes(&subject);
    let by = by.first().filter(|cause| cause.name != Limiter::Unknown);
    let by = by.map_or(String::new(), |cause| format!(": {}", cause.text));
    Some(format!(
        "the server used {:.0} % {}, so something else held its rate down{by}",
        share * 100.0,
        subject.of_its_processors()
    ))
}

/// The measured round whose rate is nearest to the median; the earliest of equally near ones.
fn typical<'r>(cell: &Cell<'r>) -> Option<&'r TrialRecord> {
    let rate = |trial: &TrialRecord| Metric::RatePerS.of(trial).ok();
    let rates: Vec<f64> = cell.measured().filter_map(rate).collect();
    let middle = median(&rates)?;
    let away = |trial: &&TrialRecord| rate(trial).map_or(f64::MAX, |rate| (rate - middle).abs());
    cell.measured()
        .min_by(|left, right| away(left).total_cmp(&away(right)))
}

/// What the figures of a trial say of one cause, if they do.
type Row = fn(&Subject<'_>) -> Option<String>;

/// Every cause that the figures of one trial speak for, never empty. A rate that was given and
/// kept has no bottleneck, whatever was busy.
fn causes(subject: &Subject<'_>) -> Vec<Cause> {
    let rows: [(Limiter, Row); 13] = [
        (Limiter::ClientLimits, client_local),
        (Limiter::Nothing, kept_up),
        (Limiter::OtherLoad, other_load),
        (Limiter::Throttled, throttled),
        (Limiter::CpuLimit, cpu_limit),
        (Limiter::CoSaturated, co_saturated),
        (Limiter::ClientCpu, client_cpu),
        // The yardstick crosses the same link: a full one is why the rates are near each other.
        (Limiter::Network, link),
        (Limiter::GeneratorCeiling, generator_ceiling),
        (Limiter::Steal, steal),
        (Limiter::AcceptQueue, accept_queue),
        (Limiter::BackendBound, backend),
        (Limiter::Network, softirq),
    ];
    let found = rows.into_iter().filter_map(|(name, row)| {
        let text = row(subject)?;
        Some(Cause { name, text })
    });
    let mut causes: Vec<Cause> = found.chain(server_cpu(subject)).collect();
    if causes
        .iter()
        .any(|cause| cause.name == Limiter::CoSaturated)
    {
        // It says as much as these do by themselves.
        causes.retain(|cause| !matches!(cause.name, Limiter::ClientCpu | Limiter::CpuBound));
    }
    if causes.is_empty() {
        causes.push(unknown(subject));
    }
    causes
}

fn client_local(subject: &Subject<'_>) -> Option<String> {
    let failed = subject.result.outcomes.of(Outcome::Local);
    (failed > 0).then(|| format!("{failed} requests found no file, port or memory to be sent"))
}

/// An open loop whose requests came out right, nearly all.
fn kept_up(subject: &Subject<'_>) -> Option<String> {
    let requests = &subject.result.requests;
    let due = requests.due.or(requests.planned)?;
    let has_kept = !is_closed(subject) && requests.ok as f64 >= STARTED_SHARE * due as f64;
    has_kept.then(|| "the server kept up with the given rate".to_owned())
}

fn other_load(subject: &Subject<'_>) -> Option<String> {
    let foreign = foreign_cpus(subject.trial)?.worst();
    (foreign > FOREIGN_DISTURBED_CPUS)
        .then(|| format!("other programs kept {foreign:.2} processors busy"))
}

/// A quota of CPU time, which is less than the processors that there are.
fn throttled(subject: &Subject<'_>) -> Option<String> {
    let share = throttled_share(subject.trial).filter(|share| *share > THROTTLED_SHARE)?;
    let percent = share * 100.0;
    Some(format!(
        "a quota of CPU time held programs back for {percent:.0} % of the window"
    ))
}

/// A limit of the server's own, as a plan or a compose file sets it.
fn cpu_limit(subject: &Subject<'_>) -> Option<String> {
    let share = subject
        .limited_share()
        .filter(|share| *share > THROTTLED_SHARE)?;
    Some(limited_text(subject, share))
}

/// Server and engine without time to spare, either of them: the rate is what both come to.
fn co_saturated(subject: &Subject<'_>) -> Option<String> {
    let engine = working(subject.result).filter(|share| *share > ENGINE_BUSY_INVALID)?;
    let server = subject
        .server_share()
        .filter(|share| *share > SERVER_SATURATED)?;
    Some(format!(
        "the server used {:.0} % {} while the engine's busiest thread worked {:.0} % of the time",
        server * 100.0,
        subject.of_its_processors(),
        engine * 100.0
    ))
}

fn client_cpu(subject: &Subject<'_>) -> Option<String> {
    let share = working(subject.result).filter(|share| *share > ENGINE_BUSY_INVALID)?;
    Some(format!(
        "engine thread worked {:.0} % of the time",
        share * 100.0
    ))
}

/// It is not the cause where the server's processors were full, nor where it beat the yardstick.
fn generator_ceiling(subject: &Subject<'_>) -> Option<String> {
    let ceiling = subject.ceilings.yardstick.filter(|_| is_closed(subject))?;
    let share = subject.rate() / ceiling;
    let paced = subject
        .server_share()
        .is_some_and(|share| share >= SERVER_PACED);
    let is_near = subject.is_contender() && !paced && (CEILING_SHARE..=1.0).contains(&share);
    let percent = share * 100.0;
    is_near.then(|| format!("{percent:.0} % of the yardstick's rate in the same round"))
}

fn steal(subject: &Subject<'_>) -> Option<String> {
    let (share, place) = worst_on(subject, |cpu| cpu.steal)?;
    let percent = share * 100.0;
    (share > STEAL_SUSPECT)
        .then(|| format!("the hypervisor took {percent:.1} % of a processor{place}"))
}

fn accept_queue(subject: &Subject<'_>) -> Option<String> {
    let overflows = window_growth(subject, |tick| tick.listen_overflows)?;
    let overflows = own_overflows(subject, overflows);
    (overflows > 0).then(|| format!("{} listen overflows", count(overflows)))
}

fn backend(subject: &Subject<'_>) -> Option<String> {
    let direct = subject.ceilings.origin.filter(|_| is_closed(subject))?;
    let share = subject.rate() / direct;
    let is_proxy = subject.proxied == Some(true) && subject.is_contender();
    let percent = share * 100.0;
    (is_proxy && share > BACKEND_SHARE)
        .then(|| format!("{percent:.0} % of the upstream's direct rate"))
}

fn softirq(subject: &Subject<'_>) -> Option<String> {
    let (share, place) = worst_on(subject, |cpu| cpu.softirq)?;
    let percent = share * 100.0;
    (share > SOFTIRQ_SHARE)
        .then(|| format!("a processor{place} spent {percent:.0} % in soft interrupts"))
}

/// A link between hosts that carried nearly what it can.
fn link(subject: &Subject<'_>) -> Option<String> {
    let link = fullest_link(subject).filter(LinkUse::is_full)?;
    Some(link.described())
}

/// The server at the limit of what others left of its processors, or of one of several.
///
/// A proxy may share its processors with the upstream; then both together saturate them.
fn server_cpu(subject: &Subject<'_>) -> Option<Cause> {
    let cores = subject.server_cores()?;
    let left = subject.server_cpus_left();
    let cause = |name, text| Some(Cause { name, text });
    if cores > SERVER_SATURATED * left {
        let text = format!("the server used {cores:.2} of {}", processors_left(subject));
        return cause(Limiter::CpuBound, text);
    }
    if let Some(origin) = subject.origin_cores_beside()
        && cores + origin > SERVER_SATURATED * left
    {
        let text = format!(
            "the server used {cores:.2} and the upstream beside it {origin:.2} of {}",
            processors_left(subject)
        );
        return cause(Limiter::CpuSharedWithOrigin, text);
    }
    let single_core = single_core(subject, cores / subject.server_cpus() as f64)?;
    cause(Limiter::SingleCore, single_core)
}

/// One thread of the server that never rests, while the server leaves much of its processors idle,
/// of which it used a share. A thread does not rest either while it waits for a processor, or while
/// the hypervisor has taken the one that it is on. Its other threads then wait as well, so that the
/// server would have used as much more: where that fills its processors, it is not one thread.
fn single_core(subject: &Subject<'_>, used: f64) -> Option<String> {
    let tree = server_tree(&subject.trial.usage)?;
    let measured_s = subject.result.measured_s;
    let worked = tree
        .busiest_thread(measured_s)
        .filter(|share| *share > 0.0)?;
    let waited = tree.busiest_thread_waited(measured_s).unwrap_or(0.0);
    let left = 1.0 - steal_from_server(subject.trial).unwrap_or(0.0);
    let wanted = (worked / left.max(worked) + waited).min(1.0);
    let idle = 1.0 - used * wanted / worked;
    if wanted <= THREAD_FULL_SHARE || idle <= IDLE_BESIDE_SHARE {
        return None;
    }
    let kept = match ((wanted - worked) * 100.0).round() {
        kept if kept >= 1.0 => format!(" and wanted a processor for another {kept:.0} %"),
        _ => String::new(),
    };
    Some(format!(
        "one thread of the server worked {:.0} % of the time{kept}, and {:.0} % of {} was idle",
        worked * 100.0,
        idle * 100.0,
        processors(subject)
    ))
}

fn unknown(subject: &Subject<'_>) -> Cause {
    let text = match subject.server_cores() {
        Some(cores) => {
            format!("the server used {cores:.2} of {}", processors(subject))
        }
        None => "the server's CPU time is not known".into(),
    };
    Cause {
        name: Limiter::Unknown,
        text,
    }
}

fn processors(subject: &Subject<'_>) -> String {
    match subject.server_cpus() {
        1 => "its one processor".into(),
        cpus => format!("its {cpus} processors"),
    }
}

fn processors_left(subject: &Subject<'_>) -> String {
    let (left, all) = (subject.server_cpus_left(), processors(subject));
    // What is written with two digits.
    if (left * 100.0).round() < subject.server_cpus() as f64 * 100.0 {
        format!("the {left:.2} that others left of {all}")
    } else {
        all
    }
}

fn is_closed(subject: &Subject<'_>) -> bool {
    !subject.result.load.model.is_open()
}
