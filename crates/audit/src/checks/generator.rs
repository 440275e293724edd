//! Whether the load engine itself is in the numbers (family B).

use bakeoff_plan::LoadModel;
use bakeoff_record::{LoadResult, Outcome};
use bakeoff_stats::{server_tree, window_cores};

use crate::check::{Check, Level};
use crate::limits::{
    CEILING_SHARE, ENGINE_BUSY_INVALID, ENGINE_BUSY_SUSPECT, SEND_LAG_NS, SEND_LAG_SHARE,
    SERVER_SATURATED, STARTED_SHARE,
};
use crate::subject::Subject;
use crate::words::{count, rate};

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(local(subject));
    if subject.is_contender() {
        checks.push(busy(subject));
    }
    match subject.result.load.model {
        LoadModel::Closed { .. } if subject.is_contender() => checks.push(ceiling(subject)),
        LoadModel::Closed { .. } => {}
        LoadModel::Open { .. } => {
            checks.push(started(subject));
            checks.push(send_lag(subject));
        }
    }
}

fn local(subject: &Subject<'_>) -> Check {
    let failed = subject.result.outcomes.of(Outcome::Local);
    let level = if failed == 0 {
        Level::Passed
    } else {
        Level::Invalid
    };
    let text = match failed {
        0 => "the engine never lacked a file, port or memory".into(),
        _ => format!("{failed} requests could not be sent: no file, port or memory on this side"),
    };
    Check::new(("local-errors", "R11"), level, (failed as f64, 0.0), text)
}

/// The busiest thread of the engine.
///
/// Beyond the upper limit the engine set the pace, unless the server had no processor time left
/// either: two saturated neighbours with a processor each are what a closed loop on one machine
/// comes to, and which of them was slower is for the ceiling (R10) to say.
fn busy(subject: &Subject<'_>) -> Check {
    let name = ("engine-busy", "R13");
    let Some(share) = busiest(subject.result) else {
        return Check::not_run(name, "the engine did not report its threads' CPU time");
    };
    let percent = share * 100.0;
    let server = server_tree(&subject.trial.usage);
    let server_share =
        window_cores(subject.trial, server).map(|cores| cores / subject.server_cpus() as f64);
    if share <= ENGINE_BUSY_SUSPECT {
        let text = format!("the engine's busiest thread used {percent:.0} % of a processor");
        return Check::new(name, Level::Passed, (share, ENGINE_BUSY_SUSPECT), text);
    }
    match server_share {
        Some(server) if server > SERVER_SATURATED => Check::new(
            name,
            Level::Suspect,
            (share, ENGINE_BUSY_SUSPECT),
            format!(
                "the engine's busiest thread used {percent:.0} % of a processor while the server \
                 used {:.0} % of its own: common when both share one machine; the engine's delays \
                 are in the latencies",
                server * 100.0
            ),
        ),
        _ if share > ENGINE_BUSY_INVALID => Check::new(
            name,
            Level::Invalid,
            (share, ENGINE_BUSY_INVALID),
            format!(
                "the engine's busiest thread used {percent:.0} % of a processor and the server \
                 was not saturated: the engine set the pace"
            ),
        ),
        _ => Check::new(
            name,
            Level::Suspect,
            (share, ENGINE_BUSY_SUSPECT),
            format!(
                "the engine's busiest thread used {percent:.0} % of a processor: its delays may \
                 be in the latencies"
            ),
        ),
    }
}

fn ceiling(subject: &Subject<'_>) -> Check {
    let name = ("generator-ceiling", "R10");
    let Some(ceiling) = subject.ceilings.yardstick.filter(|rate| *rate > 0.0) else {
        let text = "the yardstick was not measured at this workload and load, so how fast the \
                    engine can be here is unknown";
        return Check::not_run(name, text);
    };
    let share = subject.rate() / ceiling;
    let (level, text) = if share > CEILING_SHARE {
        let text = format!(
            ">= {} requests/s, generator-limited: {:.0} % of the yardstick's {}",
            rate(subject.rate()),
            share * 100.0,
            rate(ceiling)
        );
        (Level::Suspect, text)
    } else {
        let percent = share * 100.0;
        (
            Level::Passed,
            format!(
                "{percent:.0} % of the yardstick's {} requests/s",
                rate(ceiling)
            ),
        )
    };
    Check::new(name, level, (share, CEILING_SHARE), text)
}

fn started(subject: &Subject<'_>) -> Check {
    let name = ("schedule-kept", "R7");
    let requests = &subject.result.requests;
    let Some(planned) = requests.planned.filter(|planned| *planned > 0) else {
        return Check::not_run(
            name,
            "the engine did not say how many requests were planned",
        );
    };
    let share = requests.started as f64 / planned as f64;
    let level = if share >= STARTED_SHARE {
        Level::Passed
    } else {
        Level::Invalid
    };
    let text = format!(
        "{} of {} planned requests were started ({:.2} %)",
        count(requests.started),
        count(planned),
        share * 100.0
    );
    Check::new(name, level, (share, STARTED_SHARE), text)
}

fn send_lag(subject: &Subject<'_>) -> Check {
    let name = ("send-lag", "R9");
    let result = subject.result;
    let Some(lag) = result.send_lag.quantile(0.99) else {
        return Check::not_run(
            name,
            "the engine did not record when requests were really sent",
        );
    };
    let latency = result.latency.quantile(0.99).unwrap_or(0) as f64;
    let (lag, limit) = (lag as f64, SEND_LAG_NS.max(SEND_LAG_SHARE * latency));
    let level = if lag <= limit {
        Level::Passed
    } else {
        Level::Suspect
    };
    let text = format!(
        "99 % of requests were sent within {:.3} ms of their time; latency counts from the \
         intended time, so a lag is in it",
        lag / 1e6
    );
    Check::new(name, level, (lag, limit), text)
}

/// Largest busy share among the engine's threads.
pub(crate) fn busiest(result: &LoadResult) -> Option<f64> {
    result.engine.busy_share.iter().copied().reduce(f64::max)
}
