//! What the machine did to the trial (R14, R36), and what the tool says against itself.

use bakeoff_record::{CpuShares, QuicLedger, TcpTick};

use crate::check::{Check, Level};
use crate::limits::{BACKEND_SHARE, STEAL_INVALID, STEAL_SUSPECT, UDP_DROPS_SHARE};
use crate::subject::Subject;
use crate::words::{count, rate};

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.push(steal(subject));
    checks.push(listen_overflows(subject));
    if let Some(quic) = &subject.result.quic {
        checks.push(udp_drops(subject, quic));
    }
    if subject.proxied && subject.is_contender() {
        checks.push(backend(subject));
    }
    checks.push(co_located(subject));
    let warnings = subject
        .result
        .warnings
        .iter()
        .chain(&subject.trial.warnings);
    checks.extend(warnings.map(|warning| {
        let text = format!("{}: {} ({})", warning.code, warning.text, warning.hint);
        Check::plain(("warning", "R40"), Level::Note, text)
    }));
}

fn steal(subject: &Subject<'_>) -> Check {
    let name = ("steal", "R36");
    let Some(share) = worst_share(subject, |cpu| cpu.steal) else {
        return Check::not_run(name, "the host's processors were not read in the window");
    };
    let level = match share {
        share if share > STEAL_INVALID => Level::Invalid,
        share if share > STEAL_SUSPECT => Level::Suspect,
        _ => Level::Passed,
    };
    let text = format!(
        "the hypervisor took up to {:.1} % of a processor in the window",
        share * 100.0
    );
    Check::new(name, level, (share, STEAL_SUSPECT), text)
}

fn listen_overflows(subject: &Subject<'_>) -> Check {
    let name = ("listen-overflows", "R37");
    let Some(overflows) = window_growth(subject, |tick| tick.listen_overflows) else {
        return Check::not_run(
            name,
            "the kernel's network counters were not read in the window",
        );
    };
    let level = if overflows == 0 {
        Level::Passed
    } else {
        Level::Suspect
    };
    let text = match overflows {
        0 => "no accept queue overflowed".into(),
        _ => format!(
            "accept queues overflowed {} times: connections waited a second or more for a SYN \
             to be sent again",
            count(overflows)
        ),
    };
    Check::new(name, level, (overflows as f64, 0.0), text)
}

/// Datagrams that the kernel threw away because a socket was full: of the server or of the engine,
/// whichever did not keep up. The ledger counts the whole load, so the drops are of all of it too.
fn udp_drops(subject: &Subject<'_>, quic: &QuicLedger) -> Check {
    let name = ("udp-drops", "R37");
    let Some(last) = subject.trial.usage.tcp.last() else {
        return Check::not_run(name, "the kernel's network counters were not read");
    };
    let datagrams = quic.datagrams_sent + quic.datagrams_received;
    let share = last.udp_drops as f64 / datagrams.max(1) as f64;
    if share <= UDP_DROPS_SHARE {
        let text = format!(
            "sockets had no room for {} of {} datagrams",
            count(last.udp_drops),
            count(datagrams)
        );
        return Check::new(name, Level::Passed, (share, UDP_DROPS_SHARE), text);
    }
    let text = format!(
        "sockets had no room for {} datagrams, {:.2} % of those sent and received: who did not \
         read them in time made QUIC slow down and send again",
        count(last.udp_drops),
        share * 100.0
    );
    Check::new(name, Level::Suspect, (share, UDP_DROPS_SHARE), text)
}

/// A proxy near the rate of its upstream alone: the upstream is what was measured.
fn backend(subject: &Subject<'_>) -> Check {
    let name = ("backend-bound", "R34");
    if !matches!(
        subject.result.load.model,
        bakeoff_plan::LoadModel::Closed { .. }
    ) {
        let text = "not asked of an open loop, whose rate is given";
        return Check::plain(name, Level::Passed, text);
    }
    let Some(direct) = subject.ceilings.origin.filter(|rate| *rate > 0.0) else {
        return Check::not_run(name, "the upstream was not measured directly at this load");
    };
    let share = subject.rate() / direct;
    let level = if share > BACKEND_SHARE {
        Level::Suspect
    } else {
        Level::Passed
    };
    let text = format!(
        "{:.0} % of the {} requests/s that the upstream gives directly{}",
        share * 100.0,
        rate(direct),
        if level == Level::Passed {
            ""
        } else {
            ": the proxy's score is a lower bound"
        }
    );
    Check::new(name, level, (share, BACKEND_SHARE), text)
}

fn co_located(subject: &Subject<'_>) -> Check {
    let name = ("co-located", "R14");
    let roles: u32 = if subject.proxied { 3 } else { 2 };
    let cpus = subject.machine.cpus;
    let text = if cpus < roles {
        format!(
            "co-located: {roles} roles on {cpus} processors; only ratios within a round mean \
             anything"
        )
    } else {
        format!(
            "co-located: {roles} roles on {cpus} processors; absolute figures are this machine's"
        )
    };
    Check::new(name, Level::Note, (f64::from(cpus), f64::from(roles)), text)
}

/// Mean share over the window's readings, of the processor where it is largest.
pub(crate) fn worst_share(subject: &Subject<'_>, share: impl Fn(&CpuShares) -> f64) -> Option<f64> {
    let mut sums: Vec<(u32, f64, u32)> = Vec::new();
    let end_s = subject.result.measured_s;
    let window = subject
        .trial
        .usage
        .host
        .iter()
        .filter(|t| t.at_s > 0.0 && t.at_s <= end_s);
    for cpu in window.flat_map(|tick| &tick.cpus) {
        match sums.iter_mut().find(|(number, ..)| *number == cpu.cpu) {
            Some((_, sum, n)) => {
                *sum += share(cpu);
                *n += 1;
            }
            None => sums.push((cpu.cpu, share(cpu), 1)),
        }
    }
    sums.iter()
        .map(|(_, sum, n)| sum / f64::from(*n))
        .reduce(f64::max)
}

/// Growth of a network counter over the window; from the last reading before it.
pub(crate) fn window_growth(
    subject: &Subject<'_>,
    counter: impl Fn(&TcpTick) -> u64,
) -> Option<u64> {
    let ticks = &subject.trial.usage.tcp;
    let start = ticks
        .partition_point(|tick| tick.at_s <= 0.0)
        .saturating_sub(1);
    let end = ticks
        .partition_point(|tick| tick.at_s <= subject.result.measured_s)
        .checked_sub(1)?;
    (end > start).then(|| counter(&ticks[end]).saturating_sub(counter(&ticks[start])))
}
