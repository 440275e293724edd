//! Checks of loads that came from other hosts: the network between the hosts, their clocks, a start
//! that was not simultaneous, and generators that differ (R13, R34, R36).
//!
//! A campaign on one machine has nothing to check here.

use std::collections::BTreeMap;

use bakeoff_record::{
    Generator, HostFacts, HostRole, Hosts, LinkFacts, NetCounts, Softnet, Usage, When,
};

use crate::check::{Check, Level, tier};
use crate::code::Code;
use crate::figures::count;
use crate::generators::{Part, agreement, start_spread_ns};
use crate::limits::{
    CLOCK_DRIFT_SHARE, CLOCK_ERROR_NS, CLOCK_ERROR_SHARE, FOREIGN_DROPS_PER_S, LINK_CHANGE_SHARE,
    LINK_ROOM_SHARE, START_SPREAD_S, WAY_SHARE,
};
use crate::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    let Some(hosts) = subject.hosts() else {
        return;
    };
    checks.extend(lost(hosts));
    checks.extend(link_room(subject));
    checks.push(link_measured(hosts));
    checks.push(way(hosts));
    checks.push(clock_error(subject, hosts));
    checks.push(start_spread(subject, hosts));
    checks.extend(generators_agree(hosts));
    checks.push(drops(subject, hosts));
}

/// What `check` finds of the generator of which it finds worst, with its host's name; what it finds
/// of the only engine, where there is one.
pub(super) fn worst_generator(
    subject: &Subject<'_>,
    check: impl Fn(&Subject<'_>) -> Check,
) -> Check {
    let parts = subject.hosts().map_or(&[][..], |hosts| &hosts.generators);
    let each = parts.iter().map(|part| {
        let alone = Subject {
            result: &part.result,
            ..*subject
        };
        let found = check(&alone);
        let text = format!("{}: {}", part.host, found.text);
        Check { text, ..found }
    });
    // What could not be looked at is worse than any figure of its level.
    let value = |check: &Check| check.value.unwrap_or(f64::INFINITY);
    let worse = |left: &Check, right: &Check| {
        let levels = left.level.cmp(&right.level);
        levels.then(value(left).total_cmp(&value(right)))
    };
    each.max_by(worse).unwrap_or_else(|| check(subject))
}

fn lost(hosts: &Hosts) -> Option<Check> {
    let first = hosts.lost.first()?;
    let when = match first.at_s {
        Some(at_s) => format!("{at_s:.1} s after the window opened"),
        None => "before the window was known".to_owned(),
    };
    let text = format!("{} was lost {when}: {}", first.host, first.message);
    let check = Check::new(Code::HostLost, Level::Invalid, text);
    Some(check.figures(hosts.lost.len() as f64, 0.0))
}

/// A link of the trial and how much of it the trial used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkUse {
    /// `sut -> g1`.
    pub(crate) name: String,
    /// What crossed it in the window, bits per second.
    pub(crate) used: f64,
    /// What it carried when it was measured, bits per second; the lowest.
    pub(crate) capacity: f64,
    /// Whether processors were full before it was, or the trial itself had more cross it, so that
    /// it may carry more.
    pub(crate) at_least: bool,
}

impl LinkUse {
    pub(crate) fn share(&self) -> f64 {
        self.used / self.capacity
    }

    /// Whether it held the rate down.
    pub(crate) fn is_full(&self) -> bool {
        self.share() >= LINK_ROOM_SHARE && !self.at_least
    }

    /// `sut -> g1 carried 95.9 of 96.0 Mbit/s`.
    pub(crate) fn described(&self) -> String {
        format!(
            "{} carried {:.1} of {}{:.1} Mbit/s",
            self.name,
            self.used / 1e6,
            if self.at_least { "at least " } else { "" },
            self.capacity / 1e6
        )
    }
}

/// The link of which the trial used the largest share; `None` where none was measured.
pub(crate) fn fullest_link(subject: &Subject<'_>) -> Option<LinkUse> {
    let hosts = subject.hosts()?;
    let used = by_link(hosts).into_values().filter_map(|measured| {
        let of = |at_least: bool| {
            let fits = measured
                .iter()
                .filter(move |link| link.at_least == at_least);
            fits.map(|link| link.bits_per_s)
        };
        let used = used(subject, hosts, measured[0])?;
        // What was less than the trial's own traffic was no capacity: on a busy machine neither
        // thread is full, and each waits for the other.
        let is_bound = |bits: &f64| used <= bits * (1.0 + LINK_CHANGE_SHARE);
        let known = of(false).filter(is_bound).reduce(f64::min);
        let capacity = known.or_else(|| of(true).chain(of(false)).reduce(f64::max));
        let capacity = capacity.filter(|bits| *bits > 0.0)?;
        Some(LinkUse {
            at_least: known.is_none(),
            name: name(measured[0]),
            used,
            capacity,
        })
    });
    used.max_by(|left, right| {
        let full = left.is_full().cmp(&right.is_full());
        full.then(left.share().total_cmp(&right.share()))
    })
}

fn name(link: &LinkFacts) -> String {
    format!("{} -> {}", link.from.join("+"), link.to.join("+"))
}

/// Measurements of each link, by its ends.
fn by_link(hosts: &Hosts) -> BTreeMap<(&[String], &[String]), Vec<&LinkFacts>> {
    let mut links: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for link in &hosts.links {
        let ends = (&link.from[..], &link.to[..]);
        links.entry(ends).or_default().push(link);
    }
    links
}

/// What crossed a link in the window, bits per second: by the network interfaces of the generators
/// at one end of it, and not less than the bytes of their engines.
fn used(subject: &Subject<'_>, hosts: &Hosts, link: &LinkFacts) -> Option<f64> {
    let generator = |name: &String| hosts.generators.iter().find(|it| it.host == *name);
    let of = |ends: &[String]| -> Option<Vec<&Generator>> { ends.iter().map(generator).collect() };
    let is_down = of(&link.to).is_some();
    let generators = of(&link.to).or_else(|| of(&link.from))?;
    let bytes = generators.iter().map(|part| {
        let (down, up) = (part.result.bytes.read, part.result.bytes.written);
        let net = window_net(subject, hosts.host(&part.host)?.usage.as_ref());
        let net = net.unwrap_or_default();
        Some(if is_down {
            down.max(net.received_bytes)
        } else {
            up.max(net.sent_bytes)
        })
    });
    let bytes: u64 = bytes.collect::<Option<Vec<u64>>>()?.iter().sum();
    Some(bytes as f64 * 8.0 / subject.result.measured_s)
}

fn window_net(subject: &Subject<'_>, usage: Option<&Usage>) -> Option<NetCounts> {
    usage?.net_in_window(subject.result.measured_s)
}

fn link_room(subject: &Subject<'_>) -> Option<Check> {
    let link = fullest_link(subject)?;
    let share = link.share();
    let check = if link.is_full() {
        let text = format!("{}: the network held the rate down", link.described());
        Check::new(Code::LinkRoom, Level::Suspect, text)
    } else if share >= LINK_ROOM_SHARE {
        let why = if share > 1.0 + LINK_CHANGE_SHARE {
            "it was not full when it was measured"
        } else {
            "processors were full when it was measured"
        };
        let text = format!(
            "{}: {why}, so how much more it carries is not known",
            link.described()
        );
        Check::note(Code::LinkRoom, text)
    } else {
        Check::passed(Code::LinkRoom, link.described())
    };
    Some(check.figures(share, LINK_ROOM_SHARE))
}

/// Said of a load that crosses no network.
const NO_LINK: &str = "the load came from the server's own host";

/// Generators with a network between them and the server: those on its host have none.
fn linked(hosts: &Hosts) -> impl Iterator<Item = &Generator> {
    let server = hosts.server().map(|host| host.name.as_str());
    let generators = hosts.generators.iter();
    generators.filter(move |part| server != Some(part.host.as_str()))
}

fn have_no_link(hosts: &Hosts) -> bool {
    !hosts.generators.is_empty() && linked(hosts).next().is_none()
}

/// Whether the links were measured, with the same result before the first round and after the last.
fn link_measured(hosts: &Hosts) -> Check {
    let code = Code::LinkMeasured;
    let reaches = |generator: &&Generator| {
        let mut links = hosts.links.iter();
        links.any(|link| link.from.contains(&generator.host) || link.to.contains(&generator.host))
    };
    if have_no_link(hosts) {
        return Check::passed(code, NO_LINK);
    }
    if let Some(missing) = linked(hosts).find(|one| !reaches(one)) {
        let text = format!(
            "what the network to {} carries was not measured",
            missing.host
        );
        return Check::not_run(code, text);
    }
    let changes = by_link(hosts).into_values().filter_map(|measured| {
        let bits = |when: When| {
            let known = |link: &&&LinkFacts| link.when == when && !link.at_least;
            let of = measured.iter().find(known)?;
            Some(of.bits_per_s)
        };
        let (before, after) = (bits(When::Before)?, bits(When::After)?);
        Some((change(before, after), measured[0], before, after))
    });
    let Some((share, link, before, after)) =
        changes.max_by(|left, right| left.0.total_cmp(&right.0))
    else {
        let text = if hosts.links.iter().any(|link| link.when == When::After) {
            "processors were full before any link was, so whether one changed is not known"
        } else {
            "the links were measured before the first round only"
        };
        return Check::note(code, text);
    };
    let text = format!(
        "{} carried {:.1} Mbit/s before the first round and {:.1} after the last",
        name(link),
        before / 1e6,
        after / 1e6
    );
    // What a trial may use is the lower of the two, so a change by itself weakens no number.
    Check::passed(code, text)
        .worse_if(share > LINK_CHANGE_SHARE, Level::Note, "")
        .figures(share, LINK_CHANGE_SHARE)
}

/// How far two measurements of a link are apart, as a share of the larger one.
fn change(before: f64, after: f64) -> f64 {
    (before - after).abs() / before.max(after).max(1.0)
}

/// Whether what a link carried has changed by more than a tenth.
pub fn link_has_changed(before: f64, after: f64) -> bool {
    change(before, after) > LINK_CHANGE_SHARE
}

/// How much of the latency is the way between generator and server.
fn way(hosts: &Hosts) -> Check {
    if have_no_link(hosts) {
        return Check::passed(Code::Way, NO_LINK);
    }
    let worst = linked(hosts).filter_map(|part| {
        let mut links = hosts.links.iter();
        let of = links.find(|link| {
            link.rtt_ns.is_some() && (link.from == [&*part.host] || link.to == [&*part.host])
        });
        let (rtt, p50) = (
            of?.rtt_ns? as f64,
            part.result.latency.quantile(0.5)? as f64,
        );
        Some((rtt / p50.max(1.0), part, rtt, p50))
    });
    let Some((share, part, rtt, p50)) = worst.max_by(|left, right| left.0.total_cmp(&right.0))
    else {
        let text = "the round trip between generators and server was not measured";
        return Check::not_run(Code::Way, text);
    };
    let text = format!(
        "the round trip from {} is {:.3} ms, {:.0} % of its median latency of {:.3} ms",
        part.host,
        rtt / 1e6,
        share * 100.0,
        p50 / 1e6
    );
    let more = ": latencies are mostly those of the network";
    Check::passed(Code::Way, text)
        .worse_if(share >= WAY_SHARE, Level::Suspect, more)
        .figures(share, WAY_SHARE)
}

/// How far a time of another host may be off on this trial's axis.
fn clock_error(subject: &Subject<'_>, hosts: &Hosts) -> Check {
    let code = Code::ClockError;
    let others = || hosts.hosts.iter().filter(|host| host.transport != "home");
    if let Some(unknown) = others().find(|host| host.clock.is_none()) {
        let text = format!("the clock of {} was not compared", unknown.name);
        return Check::not_run(code, text);
    }
    let errors = others().filter_map(|host| Some((host.clock?.error_ns(), host)));
    let Some((error_ns, host)) = errors.max_by_key(|(error_ns, _)| *error_ns) else {
        return Check::passed(code, "no other host's clock is in this trial");
    };
    let window_ns = subject.result.measured_s * 1e9;
    let drifts = others().filter_map(|host| Some((host.clock?.drift_ns(), host)));
    if let Some((drift_ns, host)) = drifts.max_by_key(|(drift_ns, _)| *drift_ns)
        && drift_ns as f64 > CLOCK_DRIFT_SHARE * window_ns
    {
        let share = drift_ns as f64 / window_ns;
        let text = format!(
            "the clock of {} was set or ran at another speed: it moved by {:.1} ms in this trial, \
             {:.1} % of the window, and seconds of its own are in its numbers",
            host.name,
            drift_ns as f64 / 1e6,
            share * 100.0
        );
        return Check::new(code, Level::Suspect, text).figures(share, CLOCK_DRIFT_SHARE);
    }
    let error = error_ns as f64;
    let invalid = (Level::Invalid, CLOCK_ERROR_SHARE * window_ns);
    let (level, limit) = tier(error, invalid, (Level::Suspect, CLOCK_ERROR_NS));
    let text = format!(
        "the clock of {} is known to within {:.3} ms",
        host.name,
        error / 1e6
    );
    Check::new(code, level, text).figures(error, limit)
}

/// How far the generators' starts were apart and behind the time that was named for them, and how
/// far they may have been: each clock has an error of its own.
fn start_spread(subject: &Subject<'_>, hosts: &Hosts) -> Check {
    let code = Code::StartSpread;
    let error_ns = |part: &Generator| {
        let clock = hosts.host(&part.host).and_then(|host| host.clock);
        clock.map_or(0, |clock| clock.error_ns())
    };
    let parts = || hosts.generators.iter();
    let starts = parts().map(|part| Some((part.began_ns?, error_ns(part))));
    let starts: Option<Vec<(i64, u64)>> = starts.collect();
    let last = parts().max_by_key(|part| part.began_ns);
    let Some((starts, last)) = starts.zip(last) else {
        return Check::not_run(code, "when the generators began is not known");
    };
    let behind_ns = last.began_ns.unwrap_or_default() as f64 + error_ns(last) as f64;
    let apart_ns = start_spread_ns(&starts).unwrap_or_default() as f64;
    let spread_s = apart_ns.max(behind_ns) / 1e9;
    let warmup_s = subject.result.load.warmup_s.max(START_SPREAD_S);
    let suspect = (Level::Suspect, START_SPREAD_S);
    let (level, limit) = tier(spread_s, (Level::Invalid, warmup_s), suspect);
    let spread_ms = spread_s * 1e3;
    let text = match hosts.generators.len() {
        1 => format!(
            "{} began within {spread_ms:.1} ms of the named time",
            last.host
        ),
        n => format!(
            "{n} generators began within {spread_ms:.1} ms, {} last",
            last.host
        ),
    };
    Check::new(code, level, text).figures(spread_s, limit)
}

fn generators_agree(hosts: &Hosts) -> Option<Check> {
    let parts = hosts.generators.iter();
    let parts: Vec<Part<'_>> = parts.map(|part| (&*part.host, &part.result)).collect();
    let found = agreement(&parts)?;
    let check = Check::new(Code::GeneratorsAgree, found.level, found.text);
    Some(check.figures(found.apart, found.limit))
}

/// What is said where a generator that was not lost was not sampled: what happened there is not
/// known.
pub(super) fn unsampled(subject: &Subject<'_>) -> Option<String> {
    let hosts = subject.hosts()?;
    let mut parts = hosts.generators.iter();
    let part = parts.find(|part| {
        let host = hosts.host(&part.host);
        host.is_none_or(|host| usage_of(host, &subject.trial.usage).is_none())
    })?;
    Some(format!("what happened on {} was not sampled", part.host))
}

/// Packets that a host dropped, and times at which its kernel left packets for later.
fn drops(subject: &Subject<'_>, hosts: &Hosts) -> Check {
    let code = Code::HostDrops;
    if let Some(unsampled) = unsampled(subject) {
        return Check::not_run(code, unsampled);
    }
    let measured_s = subject.result.measured_s;
    let own = &subject.trial.usage;
    let mut worst: Option<(u64, String)> = None;
    let foreign = (FOREIGN_DROPS_PER_S * measured_s).ceil();
    for host in &hosts.hosts {
        let Some(usage) = usage_of(host, own) else {
            continue;
        };
        let Some(net) = usage.net_in_window(measured_s) else {
            let text = format!("what the network of {} dropped was not read", host.name);
            return Check::not_run(code, text);
        };
        let softnet = softnet(usage, measured_s);
        let squeezed = softnet.squeezed;
        let dropped = net.received_dropped + net.sent_dropped + softnet.dropped;
        let text = format!(
            "{} dropped {} packets, and left packets for later {} times",
            host.name,
            count(dropped),
            count(squeezed)
        );
        if worst
            .as_ref()
            .is_none_or(|(most, _)| dropped + squeezed > *most)
        {
            worst = Some((dropped + squeezed, text));
        }
    }
    match worst {
        None => Check::not_run(code, "no host's network was read"),
        Some((0, _)) => {
            let text = "no host dropped a packet";
            Check::passed(code, text).figures(0.0, foreign)
        }
        Some((most, text)) => {
            let level = if most as f64 > foreign {
                Level::Suspect
            } else {
                Level::Note
            };
            Check::new(code, level, text).figures(most as f64, foreign)
        }
    }
}

/// What was sampled on a host: on that of the server it is the trial's own.
fn usage_of<'a>(host: &'a HostFacts, own: &'a Usage) -> Option<&'a Usage> {
    if host.roles.contains(&HostRole::Server) {
        Some(own)
    } else {
        host.usage.as_ref()
    }
}

/// What the kernel's receive path had no room or time for in the window.
fn softnet(usage: &Usage, measured_s: f64) -> Softnet {
    let at = |limit_s: f64| {
        let mut ticks = usage.host.iter().filter(|tick| tick.at_s <= limit_s).rev();
        ticks.find_map(|tick| tick.softnet).unwrap_or_default()
    };
    let (before, after) = (at(0.0), at(measured_s));
    Softnet {
        dropped: after.dropped.saturating_sub(before.dropped),
        squeezed: after.squeezed.saturating_sub(before.squeezed),
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Load, LoadModel};
    use bakeoff_record::{Histogram, LoadResult};

    use super::*;

    /// A server on `sut` and these generators, with links to some of them whose round trip is
    /// twice the median latency.
    fn hosts(generators: &[&str], links: &[&str]) -> Hosts {
        let load = Load {
            timeout_s: 1.0,
            ..Load::new(LoadModel::Closed { clients: 1 }, 1.0)
        };
        let mut result = LoadResult::empty(load, 1.0);
        result.latency = Histogram::new();
        result.latency.record_n(1_000_000, 100);
        let host = |name: &str, roles: &[HostRole]| HostFacts {
            name: name.to_owned(),
            roles: roles.to_vec(),
            ..HostFacts::default()
        };
        let others = generators.iter().filter(|name| **name != "sut");
        let others = others.map(|name| host(name, &[HostRole::Generator]));
        let link = |to: &&str| LinkFacts {
            from: vec!["sut".to_owned()],
            to: vec![(*to).to_owned()],
            bits_per_s: 1e9,
            at_least: false,
            rtt_ns: Some(2_000_000),
            when: When::Before,
        };
        let part = |name: &&str| Generator {
            host: (*name).to_owned(),
            began_ns: Some(0),
            result: result.clone(),
        };
        Hosts {
            hosts: [host("sut", &[HostRole::Server, HostRole::Generator])]
                .into_iter()
                .chain(others)
                .collect(),
            links: links.iter().map(link).collect(),
            generators: generators.iter().map(part).collect(),
            lost: Vec::new(),
        }
    }

    #[test]
    fn no_link_is_missed_to_a_generator_on_the_servers_host() {
        for (generators, links, measured, way_level) in [
            (&["sut"][..], &[][..], Level::Passed, Level::Passed),
            (&["sut", "g1"], &["g1"], Level::Note, Level::Suspect),
            (&["sut", "g1"], &[], Level::NotRun, Level::NotRun),
            (&["g1"], &[], Level::NotRun, Level::NotRun),
            // As measured before it was left out: a way over the loopback is none.
            (&["sut", "g1"], &["sut"], Level::NotRun, Level::NotRun),
        ] {
            let hosts = hosts(generators, links);
            let found = (link_measured(&hosts).level, way(&hosts).level);
            assert_eq!(found, (measured, way_level), "{generators:?} {links:?}");
        }
    }
}
