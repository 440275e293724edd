//! Whether the load engine itself is in the numbers (family B).

use bakeoff_plan::LoadModel;
use bakeoff_record::{
    KEPT_DISTURBED_SHARE, LoadResult, Outcome, engine_kept_share, shares_the_engines_cpu,
};
use bakeoff_stats::{Number, quantile_floor_rank};

use crate::check::{Check, Level};
use crate::checks::hosts::worst_generator;
use crate::code::Code;
use crate::figures::{count, rate};
use crate::limits::{
    CEILING_SHARE, ENGINE_BUSY_INVALID, ENGINE_BUSY_SUSPECT, ENGINE_KEPT_SUSPECT, ENGINE_LAG_SHARE,
    SERVER_PACED,
};
use crate::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(local(subject));
    if !subject.is_contender() {
        return;
    }
    checks.push(worst_generator(subject, busy));
    checks.push(worst_generator(subject, kept));
    if let LoadModel::Closed { .. } = subject.result.load.model {
        checks.push(ceiling(subject));
        checks.push(worst_generator(subject, lag));
    }
}

fn local(subject: &Subject<'_>) -> Check {
    let failed = subject.result.outcomes.of(Outcome::Local);
    let (level, text) = match failed {
        0 => (
            Level::Passed,
            "the engine never lacked a file, port or memory".into(),
        ),
        _ => (
            Level::Invalid,
            format!("{failed} requests could not be sent: no file, port or memory on this side"),
        ),
    };
    Check::new(Code::LocalErrors, level, text).figures(failed as f64, 0.0)
}

/// The thread of the engine that worked most.
///
/// Beyond the upper limit the engine set the pace, unless the server had no processor time left
/// either: the server answered as many requests as were measured, and may do more. Time in which a
/// thread wanted a processor and had none is no work: it is counted apart ([`kept`]), so that a
/// stranger on the engine's processor is never taken for the engine.
fn busy(subject: &Subject<'_>) -> Check {
    let Some(share) = working(subject.result) else {
        let text = "the engine did not report its threads' CPU time";
        return Check::not_run(Code::EngineBusy, text);
    };
    let percent = share * 100.0;
    if share <= ENGINE_BUSY_SUSPECT {
        let text = format!("the engine's busiest thread worked {percent:.0} % of the time");
        return Check::passed(Code::EngineBusy, text).figures(share, ENGINE_BUSY_SUSPECT);
    }
    let server = subject.server_share();
    let paced = server.is_some_and(|server| server >= SERVER_PACED);
    let beside = server.map_or_else(
        || "what the server used is not known".to_owned(),
        |server| {
            let of = subject.of_its_processors();
            format!("the server used {:.0} % {of}", server * 100.0)
        },
    );
    let (rate, latency, limit, text) = if share <= ENGINE_BUSY_INVALID {
        let text = format!(
            "the engine's busiest thread worked {percent:.0} % of the time: its delays may be in \
             the latencies"
        );
        (Level::Passed, Level::Suspect, ENGINE_BUSY_SUSPECT, text)
    } else if paced {
        let text = format!(
            "the engine's busiest thread worked {percent:.0} % of the time and {beside}: both \
             were full, and the engine's delays are in the latencies"
        );
        (Level::Note, Level::Invalid, ENGINE_BUSY_INVALID, text)
    } else {
        let text = format!(
            "the engine's busiest thread worked {percent:.0} % of the time and {beside}: the \
             engine set the pace, so the rate is a lower bound"
        );
        (Level::Suspect, Level::Invalid, ENGINE_BUSY_INVALID, text)
    };
    let numbers = [(Number::Rate, rate), (Number::Latency, latency)];
    Check::graded(Code::EngineBusy, numbers, text).figures(share, limit)
}

/// How long the engine's threads were kept from their processor by others.
fn kept(subject: &Subject<'_>) -> Check {
    let Some(share) = engine_kept_share(subject.result) else {
        let text = "how long the engine was kept from its processor is not known";
        return Check::not_run(Code::EngineKept, text);
    };
    let percent = share * 100.0;
    let is_shared = shares_the_engines_cpu(&subject.trial.pinned);
    let (rate, latency) = match share {
        share if is_shared && share > ENGINE_KEPT_SUSPECT => (Level::Note, Level::Suspect),
        share if share > KEPT_DISTURBED_SHARE => (Level::Disturbed, Level::Disturbed),
        share if share > ENGINE_KEPT_SUSPECT => (Level::Passed, Level::Suspect),
        _ => (Level::Passed, Level::Passed),
    };
    let text = match latency {
        Level::Passed => {
            format!("the engine was kept from its processor {percent:.0} % of the time")
        }
        _ if is_shared => format!(
            "the engine was kept from its processor {percent:.0} % of the time, which it shares \
             with the server or the upstream"
        ),
        _ => format!(
            "the engine was kept from its processor {percent:.0} % of the time, because something \
             else ran on it"
        ),
    };
    let limit = match rate {
        Level::Disturbed => KEPT_DISTURBED_SHARE,
        _ => ENGINE_KEPT_SUSPECT,
    };
    let numbers = [(Number::Rate, rate), (Number::Latency, latency)];
    Check::graded(Code::EngineKept, numbers, text).figures(share, limit)
}

/// The yardstick of the same round. A server that beats it proves that it is no ceiling here, and
/// a plan may leave it out or ask for what it cannot answer: then a server whose processors were
/// full, and an engine that had time to spare, stand in for it.
fn ceiling(subject: &Subject<'_>) -> Check {
    let code = Code::GeneratorCeiling;
    let paced = subject
        .server_share()
        .is_some_and(|share| share >= SERVER_PACED);
    let ceiling = subject.ceilings.yardstick.filter(|rate| *rate > 0.0);
    let Some(ceiling) = ceiling.filter(|ceiling| subject.rate() <= *ceiling) else {
        let idle = working(subject.result).is_some_and(|share| share <= ENGINE_BUSY_SUSPECT);
        let grade = |holds| if holds { Level::Passed } else { Level::NotRun };
        let numbers = [(Number::Rate, grade(paced)), (Number::Latency, grade(idle))];
        let why = match ceiling {
            Some(ceiling) => format!(
                "the server was faster than the yardstick ({} against {} requests/s), which is no \
                 ceiling here",
                rate(subject.rate()),
                rate(ceiling)
            ),
            None => "no yardstick was measured in this round at this workload and load".to_owned(),
        };
        let instead = if paced {
            "; the server's processors were full, so the rate is its own"
        } else {
            "; whether the engine held the rate down is not known"
        };
        return Check::graded(code, numbers, why + instead);
    };
    let share = subject.rate() / ceiling;
    let percent = share * 100.0;
    let near = rate(ceiling);
    let (numbers, text) = if share <= CEILING_SHARE {
        let text = format!("{percent:.0} % of the yardstick's {near} requests/s in this round");
        ([Level::Passed; 2], text)
    } else if paced {
        let text = format!(
            "{percent:.0} % of the yardstick's {near} requests/s in this round, and the server's \
             processors were full: the rate is its own"
        );
        ([Level::Passed, Level::Suspect], text)
    } else {
        let text = format!(
            ">= {} requests/s, generator-limited: {percent:.0} % of the yardstick's {near} in \
             this round",
            rate(subject.rate()),
        );
        ([Level::Suspect; 2], text)
    };
    let numbers = [Number::Rate, Number::Latency].into_iter().zip(numbers);
    Check::graded(code, numbers, text).figures(share, CEILING_SHARE)
}

/// How long answers lay in the kernel before the engine read them. One read in many is timed, so
/// that the p99 of a slow server's few is their largest, which one pause of the machine makes: only
/// what the quantile is not below with 95 % counts.
fn lag(subject: &Subject<'_>) -> Check {
    let (lag, latency) = (&subject.result.observed.engine_lag, &subject.result.latency);
    let timed = lag.count();
    let share_at = |q| {
        let rank = quantile_floor_rank(timed, q)?;
        let at_least = lag.quantile((rank as f64 - 0.5) / timed as f64)? as f64;
        Some(at_least / (latency.quantile(q)? as f64).max(1.0))
    };
    let shares = [0.5, 0.99].into_iter().filter_map(share_at);
    let share = shares.reduce(f64::max);
    let (Some(share), Some(half), Some(p99)) = (share, lag.quantile(0.5), lag.quantile(0.99))
    else {
        let text = "how soon the engine read its answers is not known";
        return Check::not_run(Code::EngineLag, text);
    };
    let text = format!(
        "answers lay {:.3} ms in the kernel before the engine read them (p99 {:.3} ms, of {} that \
         were timed), with 95 % confidence {:.0} % of the latency or more",
        half as f64 / 1e6,
        p99 as f64 / 1e6,
        count(timed),
        share * 100.0
    );
    Check::passed(Code::EngineLag, text)
        .worse_if(share > ENGINE_LAG_SHARE, Level::Suspect, "")
        .figures(share, ENGINE_LAG_SHARE)
}

/// Largest share of the window that a thread of the engine worked.
pub(crate) fn working(result: &LoadResult) -> Option<f64> {
    let threads = result.engine.threads.iter().map(|thread| thread.cpu_s);
    let worked = threads
        .reduce(f64::max)
        .filter(|_| result.measured_s > 0.0)?;
    Some(worked / result.measured_s)
}
