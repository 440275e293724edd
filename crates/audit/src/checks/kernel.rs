//! What the kernel says of processors, memory, disks and network while the window lasted (R34,
//! R36): facts that explain a number, and few that take it away.

use bakeoff_record::{HostTick, Pressure, Role};
use bakeoff_stats::{Number, server_tree};

use crate::check::{Check, Level, tier};
use crate::code::Code;
use crate::figures::count;
use crate::limits::{
    CONNTRACK_SHARE, FREQUENCY_NOTE_SHARE, FREQUENCY_SUSPECT_SHARE, PRESSURE_SHARE,
    SERVER_FILES_SHARE,
};
use crate::subject::{Subject, mean_frequency_mhz};

/// The kernel's setting of how many connections may be tracked.
const CONNTRACK_MAX: &str = "net.netfilter.nf_conntrack_max";

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    checks.extend(frequency(subject));
    checks.extend(pressure(subject));
    checks.extend(major_faults(subject));
    checks.extend(softnet(subject));
    checks.extend(conntrack(subject));
    checks.extend(server_files(subject));
}

/// Mean frequency against the median of the campaign's trials.
fn frequency(subject: &Subject<'_>) -> Option<Check> {
    let usual = subject.ceilings.frequency_mhz.filter(|mhz| *mhz > 0.0)?;
    let here = mean_frequency_mhz(subject.trial)?;
    let share = here / usual - 1.0;
    let suspect = (Level::Suspect, FREQUENCY_SUSPECT_SHARE);
    let (level, limit) = tier(share.abs(), suspect, (Level::Note, FREQUENCY_NOTE_SHARE));
    let text = format!(
        "processors ran at {here:.0} MHz, {:+.1} % of the campaign's median",
        share * 100.0
    );
    Some(Check::new(Code::Frequency, level, text).figures(share.abs(), limit))
}

/// Time in which work waited for memory or a disk; waiting for a processor is what a load is.
fn pressure(subject: &Subject<'_>) -> Option<Check> {
    let of = |resource: fn(&Pressure) -> Option<u64>| {
        let waited_us = growth(subject, |tick| resource(tick.pressure.as_ref()?))?;
        Some(waited_us as f64 / 1e6 / subject.result.measured_s)
    };
    let found = [
        ("memory", of(|pressure| pressure.memory_us)),
        ("a disk", of(|pressure| pressure.io_us)),
    ];
    let known = found
        .into_iter()
        .filter_map(|(what, share)| Some((what, share?)));
    let (what, share) = known.max_by(|left, right| left.1.total_cmp(&right.1))?;
    if share <= PRESSURE_SHARE {
        let text = "nothing waited for memory or a disk";
        return Some(Check::passed(Code::Pressure, text).figures(share, PRESSURE_SHARE));
    }
    let text = format!(
        "something waited for {what} {:.0} % of the time",
        share * 100.0
    );
    Some(Check::note(Code::Pressure, text).figures(share, PRESSURE_SHARE))
}

fn major_faults(subject: &Subject<'_>) -> Option<Check> {
    let ticks = &server_tree(&subject.trial.usage)?.ticks;
    let at = |limit_s: f64| {
        let reported = ticks.iter().filter(|tick| tick.at_s <= limit_s);
        reported.rev().find_map(|tick| tick.major_faults)
    };
    let faults = at(subject.result.measured_s)?.saturating_sub(at(0.0)?);
    let check = match faults {
        0 => Check::passed(
            Code::MajorFaults,
            "the server waited for no page from a disk",
        ),
        faults => {
            let text = format!("the server waited for {} pages from a disk", count(faults));
            Check::note(Code::MajorFaults, text)
        }
    };
    Some(check.figures(faults as f64, 0.0))
}

/// Packets that the kernel dropped before any socket: TCP sends them again, after a while.
fn softnet(subject: &Subject<'_>) -> Option<Check> {
    let dropped = growth(subject, |tick| Some(tick.softnet?.dropped))?;
    let check = match dropped {
        0 => Check::passed(
            Code::SoftnetDrops,
            "the kernel dropped no packet before its socket",
        ),
        dropped => {
            let text = format!(
                "the kernel dropped {} packets because a processor's queue was full",
                count(dropped)
            );
            let numbers = [
                (Number::Rate, Level::Note),
                (Number::Latency, Level::Suspect),
            ];
            Check::graded(Code::SoftnetDrops, numbers, text)
        }
    };
    Some(check.figures(dropped as f64, 0.0))
}

fn conntrack(subject: &Subject<'_>) -> Option<Check> {
    let sysctls = &subject.machine.settings.sysctls;
    let limit: u64 = sysctls.get(CONNTRACK_MAX)?.trim().parse().ok()?;
    let ticks = subject.trial.usage.host.iter();
    let most = ticks.filter_map(|tick| tick.conntrack).max()?;
    let share = most as f64 / limit.max(1) as f64;
    let text = format!(
        "the firewall tracked {} of at most {} connections",
        count(most),
        count(limit)
    );
    let check = Check::passed(Code::Conntrack, text);
    let check = check.worse_if(share > CONNTRACK_SHARE, Level::Suspect, "");
    Some(check.figures(share, CONNTRACK_SHARE))
}

/// Files that the server's processes had open, where that is near what they may: a connection for
/// which there is none left is not accepted. Those that do not listen count too, and have few.
fn server_files(subject: &Subject<'_>) -> Option<Check> {
    let crew = subject.trial.work.as_ref()?.crew.as_ref()?;
    let each = crew.open_files.filter(|limit| *limit > 0)?;
    let limit = each.saturating_mul(u64::from(crew.listening.max(1)));
    let tree = server_tree(&subject.trial.usage)?;
    let inside = tree.in_window(subject.result.measured_s);
    let most = u64::from(inside.filter_map(|tick| tick.open_files).max()?);
    let share = most as f64 / limit as f64;
    if share <= SERVER_FILES_SHARE {
        return None;
    }
    let text = format!(
        "the server had {} of at most {} files open",
        count(most),
        count(limit)
    );
    let check = match waits(subject) {
        Some(waits) => {
            let text = format!("{text}, and {waits}: raise its limit of open files");
            Check::new(Code::FdLimit, Level::Suspect, text)
        }
        None => Check::note(Code::FdLimit, format!("{text}, and nobody waited for one")),
    };
    Some(check.figures(share, SERVER_FILES_SHARE))
}

/// Who may have waited for a file of the server.
fn waits(subject: &Subject<'_>) -> Option<String> {
    let (clients, requests) = (&subject.result.observed.clients, &subject.result.requests);
    let hungry = clients.none.max(clients.waiting_long);
    if hungry > 0 {
        let all = count(clients.count);
        return Some(format!("{} of {all} clients had no answer", count(hungry)));
    }
    let asked = requests.asked();
    let failed = asked.saturating_sub(requests.ok);
    if failed > 0 {
        return Some(format!(
            "{} of {} requests failed",
            count(failed),
            count(asked)
        ));
    }
    let window = 0.0..=subject.result.measured_s;
    let readings = subject.trial.usage.listeners.iter();
    let own = readings.filter(|it| it.role == Role::Server && window.contains(&it.at_s));
    let least = own.map(|it| it.queue).min().filter(|queue| *queue > 0)?;
    let least = count(least);
    Some(format!(
        "{least} connections or more waited to be accepted all the time"
    ))
}

/// Growth of a counter of the host over the window.
fn growth(subject: &Subject<'_>, counter: impl Fn(&HostTick) -> Option<u64>) -> Option<u64> {
    let ticks = &subject.trial.usage.host;
    let at = |limit_s: f64| {
        let reported = ticks.iter().filter(|tick| tick.at_s <= limit_s);
        reported.rev().find_map(&counter)
    };
    let before = at(0.0).or_else(|| ticks.iter().find_map(&counter))?;
    Some(at(subject.result.measured_s)?.saturating_sub(before))
}
