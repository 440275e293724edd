//! `bakeoff hosts check FILE`: reaches every host, and reports on what it found.

use std::collections::BTreeMap;
use std::time::Duration;

use bakeoff_hosts::{ClockOffset, Fits, HostError, Session, Way};
use bakeoff_plan::{HOME, Hosts};
use bakeoff_record::Machine;
use serde_json::{Value, json};

use super::links::{self, Link};
use super::listens;
use super::reached::{self, ANSWER_WITHIN, Wanted, at_once, expanded, open_all, own, owner, read};
use crate::commands::measure::agent::{Answer, Ask, Limits};
use crate::flags::{HostsCheckFlags, HostsFormat};
use crate::interrupt::Interrupt;
use crate::{exit, output};

/// Version of the document.
const SCHEMA: &str = "bakeoff.hosts/1";

/// What was found of one host.
pub(crate) struct Found {
    pub(crate) name: String,
    way: &'static str,
    pub(crate) roles: Vec<&'static str>,
    address: Option<String>,
    pub(crate) state: Result<Reached, HostError>,
}

/// What a host that was reached said.
pub(crate) struct Reached {
    pub(crate) session: Session,
    set_up: Duration,
    pub(crate) machine: Machine,
    pub(crate) limits: Limits,
    pub(crate) clock: ClockOffset,
    unlocked: Option<String>,
}

pub(crate) fn carry_out(flags: &HostsCheckFlags) -> anyhow::Result<u8> {
    let hosts = read(&flags.file)?;
    let interrupt = Interrupt::listen()?;
    let mut found = reach(&hosts)?;
    let mut links = Vec::new();
    let mut problems = unusable_addresses(&found);
    if !flags.no_links && !interrupt.came() {
        match measure_links(&hosts, &mut found, &|| interrupt.came()) {
            Ok(measured) => links = measured,
            Err(error) => problems.push(error),
        }
    }
    let is_fine = found.iter().all(|host| host.state.is_ok())
        && problems.is_empty()
        && links.iter().all(|link| link.why_not.is_none());
    if flags.format == HostsFormat::Json {
        let document = document(&found, &links, &problems, flags.addresses, is_fine);
        let text = serde_json::to_string_pretty(&document)?;
        output::document(&bakeoff_report::json_safe(&text))?;
    } else {
        output::result(&text(&found, &links, &problems, flags.addresses))?;
    }
    Ok(match (interrupt.came(), is_fine) {
        (true, _) => exit::INTERRUPTED,
        (false, true) => exit::DONE,
        (false, false) => exit::NOT_VALID,
    })
}

/// Reaches every host that has a role, and every other one of the file.
pub(crate) fn reach(hosts: &Hosts) -> anyhow::Result<Vec<Found>> {
    let own = own()?;
    let mut names: Vec<&str> = hosts.hosts.iter().map(|host| host.name.as_str()).collect();
    let roles = &hosts.roles;
    let has_home = names.contains(&HOME);
    let in_roles = [&roles.server, &roles.origin];
    let mut in_roles = in_roles.into_iter().chain(&roles.generators);
    if !has_home && in_roles.any(|name| name == HOME) {
        names.insert(0, HOME);
    }
    let mut found = Vec::new();
    let mut wanted: Vec<Wanted> = Vec::new();
    for name in names {
        for one in expanded(hosts, name) {
            match one {
                Ok(one) => wanted.push(one),
                Err(error) => found.push(Found {
                    name: name.to_owned(),
                    // Pods alone have to be looked for.
                    way: "kubectl",
                    roles: roles_of(hosts, name),
                    address: None,
                    state: Err(error),
                }),
            }
        }
    }
    Wanted::must_differ(wanted.iter())?;
    let opened = open_all(&wanted, &own, &owner());
    let asked = at_once(opened, |opened| {
        opened.and_then(|(session, set_up)| ask(session, set_up))
    });
    for (wanted, state) in wanted.into_iter().zip(asked) {
        let is_home = wanted.place.way == Way::Home;
        // A session at home came over nothing: it has the address of where you logged in.
        let said = state.as_ref().ok().filter(|_| !is_home);
        let said = said.and_then(|reached| reached.session.hello().address.clone());
        found.push(Found {
            roles: roles_of(hosts, &wanted.entry),
            way: wanted.place.way.name(),
            name: wanted.place.name,
            address: wanted.address.or(said),
            state,
        });
    }
    Ok(found)
}

fn roles_of(hosts: &Hosts, name: &str) -> Vec<&'static str> {
    let roles = &hosts.roles;
    let all = [
        ("server", roles.server == name),
        ("origin", roles.origin == name),
        (
            "generator",
            roles.generators.iter().any(|each| each == name),
        ),
    ];
    let has = all.into_iter().filter(|(_, has)| *has);
    has.map(|(role, _)| role).collect()
}

fn ask(mut session: Session, set_up: Duration) -> Result<Reached, HostError> {
    let clock = session.clock()?;
    let what = "say what machine it is";
    let machine = session.asked(&Ask::Machine, what, ANSWER_WITHIN, |answer| match answer {
        Answer::Machine(machine) => Fits::This(*machine),
        _ => Fits::Not,
    })?;
    let limits = reached::limits(&mut session)?;
    let unlocked = reached::unlocked(&session);
    Ok(Reached {
        session,
        set_up,
        machine,
        limits,
        clock,
        unlocked,
    })
}

/// What is wrong with the addresses of hosts where servers or the upstream of a campaign listen.
fn unusable_addresses(found: &[Found]) -> Vec<HostError> {
    let listens = |role: &&str| *role == "server" || *role == "origin";
    let reached = found.iter().filter(|host| host.state.is_ok());
    let reached = reached.filter(|host| host.roles.iter().any(listens));
    let problem = |host: &Found| {
        let cause = listens::at(&host.name, host.address.as_deref()).err()?;
        let host = host.name.clone();
        Some(HostError { host, cause })
    };
    reached.filter_map(problem).collect()
}

/// Measures every link from a generator to the server's host; the error is of the server's end.
fn measure_links(
    hosts: &Hosts,
    found: &mut [Found],
    should_stop: &dyn Fn() -> bool,
) -> Result<Vec<Link>, HostError> {
    let server = hosts.roles.server.as_str();
    let (at_server, others): (Vec<&mut Found>, Vec<&mut Found>) =
        found.iter_mut().partition(|host| host.name == server);
    let generators = others
        .into_iter()
        .filter(|host| host.roles.contains(&"generator"));
    let mut sessions: Vec<&mut Session> = generators
        .filter_map(|host| host.state.as_mut().ok())
        .map(|reached| &mut reached.session)
        .collect();
    let Some(at_server) = at_server.into_iter().next() else {
        return Ok(Vec::new());
    };
    let address = listens::at(server, at_server.address.as_deref());
    match (&mut at_server.state, address) {
        // A generator on the server's own host has no link to it.
        (Ok(reached), Ok(address)) if !sessions.is_empty() => {
            links::measure_all(&mut reached.session, address, &mut sessions, should_stop)
        }
        // Said already.
        _ => Ok(Vec::new()),
    }
}

fn text(found: &[Found], links: &[Link], problems: &[HostError], addresses: bool) -> String {
    let mut rows = vec![columns(&[
        "host", "way", "roles", "version", "digest", "set-up", "cpus", "files", "clock",
    ])];
    for host in found {
        rows.push(match &host.state {
            Ok(reached) => reached_row(host, reached),
            Err(_) => columns(&[&host.name, host.way, &roles_text(host), "-"]),
        });
    }
    let mut text = format!("{}\n\n", headline(found, links, problems));
    text.push_str(&aligned(&rows));
    if addresses {
        for host in found {
            let address = host.address.as_deref().unwrap_or("unknown");
            text.push_str(&format!("{} is reached at {address}\n", host.name));
        }
    }
    if !links.is_empty() {
        let mut rows = vec![columns(&["link from", "round trip", "capacity"])];
        rows.extend(links.iter().map(|link| {
            let round_trip = link.rtt_ns.map_or("-".to_owned(), milliseconds);
            let capacity = link.bits_per_s.map(bits);
            let capacity = match capacity {
                Some(bits) if link.at_least => format!("at least {bits}"),
                Some(bits) => bits,
                None => "-".to_owned(),
            };
            vec![link.from.join(" + "), round_trip, capacity]
        }));
        text.push('\n');
        text.push_str(&aligned(&rows));
        let spread = links.iter().filter_map(|link| link.start_spread_ns).max();
        if let Some(spread) = spread {
            let spread = milliseconds(spread);
            text.push_str(&format!(
                "generators began within {spread} of each other, clock errors included\n"
            ));
        }
    }
    let errors = found.iter().filter_map(|host| host.state.as_ref().err());
    let mut said: Vec<String> = errors.map(ToString::to_string).collect();
    said.extend(links.iter().filter_map(|link| link.why_not.clone()));
    said.extend(problems.iter().map(ToString::to_string));
    let reached = found.iter().filter_map(|host| host.state.as_ref().ok());
    said.extend(reached.filter_map(|reached| reached.unlocked.clone()));
    for problem in said {
        text.push_str(&format!("\n! {problem}\n"));
    }
    text
}

/// Whether the hosts can take part, which is the first line.
fn headline(found: &[Found], links: &[Link], problems: &[HostError]) -> String {
    let lost = found.iter().filter(|host| host.state.is_err());
    let lost = lost.map(|host| host.name.as_str());
    let at_links = problems.iter().map(|error| error.host.as_str());
    let lost: Vec<&str> = lost.chain(at_links).collect();
    if !lost.is_empty() {
        format!("cannot take part: {}", lost.join(", "))
    } else if links.iter().all(|link| link.why_not.is_none()) {
        "all hosts can take part".to_owned()
    } else {
        "all hosts can take part, but not every link was measured".to_owned()
    }
}

fn reached_row(host: &Found, reached: &Reached) -> Vec<String> {
    let greeting = reached.session.greeting();
    let files = reached.machine.open_files;
    vec![
        host.name.clone(),
        host.way.to_owned(),
        roles_text(host),
        greeting.map_or_else(String::new, |it| it.version.clone()),
        greeting.map_or_else(String::new, |it| it.digest.short()),
        format!("{:.2} s", reached.set_up.as_secs_f64()),
        reached.session.hello().cpus.to_string(),
        files.map_or("-".to_owned(), |(_, hard)| hard.to_string()),
        offset(&reached.clock),
    ]
}

fn roles_text(host: &Found) -> String {
    if host.roles.is_empty() {
        "-".to_owned()
    } else {
        host.roles.join(", ")
    }
}

/// An offset with its bound: in milliseconds, and above a second in seconds.
pub(crate) fn offset(clock: &ClockOffset) -> String {
    let error = clock.error_ns as f64 / 1e6;
    let offset = clock.offset_ns as f64;
    if clock.offset_ns.unsigned_abs() < 1_000_000_000 {
        format!("{:+.3} ms ± {error:.3} ms", offset / 1e6)
    } else {
        format!("{:+.6} s ± {error:.3} ms", offset / 1e9)
    }
}

fn milliseconds(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}

fn bits(per_s: f64) -> String {
    if per_s < 1e9 {
        format!("{:.1} Mbit/s", per_s / 1e6)
    } else {
        format!("{:.2} Gbit/s", per_s / 1e9)
    }
}

fn columns(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Rows with their columns below each other.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let mut widths: BTreeMap<usize, usize> = BTreeMap::new();
    for row in rows {
        for (column, text) in row.iter().enumerate() {
            let width = widths.entry(column).or_default();
            *width = (*width).max(text.chars().count());
        }
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(column, text)| format!("{text:width$}", width = widths[&column]));
        let line: Vec<String> = cells.collect();
        format!("{}\n", line.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn document(
    found: &[Found],
    links: &[Link],
    problems: &[HostError],
    addresses: bool,
    is_fine: bool,
) -> Value {
    let host = |host: &Found| {
        let mut value = json!({
            "name": host.name,
            "way": host.way,
            "roles": host.roles,
            "problem": host.state.as_ref().err().map(|error| problem(error, addresses)),
        });
        if addresses {
            value["address"] = json!(host.address);
        }
        if let Ok(reached) = &host.state {
            let greeting = reached.session.greeting();
            value["set_up_s"] = json!(reached.set_up.as_secs_f64());
            value["version"] = json!(greeting.map(|it| it.version.clone()));
            value["digest"] = json!(greeting.map(|it| it.digest.to_string()));
            value["arch"] = json!(greeting.map(|it| it.arch.clone()));
            value["machine"] = json!(reached.machine);
            value["limits"] = json!(reached.limits);
            value["clock"] = json!(reached.clock);
            value["locked"] = json!(reached.unlocked.is_none());
        }
        value
    };
    let link = |link: &Link| {
        json!({
            "from": link.from,
            "bits_per_s": link.bits_per_s,
            "at_least": link.at_least,
            "rtt_ns": link.rtt_ns,
            "start_spread_ns": link.start_spread_ns,
            "measured": link.why_not.is_none(),
            "why_not": link.why_not.as_ref().filter(|_| addresses),
        })
    };
    let at_host = |error: &HostError| {
        let mut value = problem(error, addresses);
        value["host"] = json!(error.host);
        value
    };
    json!({
        "schema": SCHEMA,
        "fine": is_fine,
        "hosts": found.iter().map(host).collect::<Vec<_>>(),
        "links": links.iter().map(link).collect::<Vec<_>>(),
        "problems": problems.iter().map(at_host).collect::<Vec<_>>(),
    })
}

/// What is wrong with a host. What other programs wrote may hold addresses.
fn problem(error: &HostError, addresses: bool) -> Value {
    let mut value = json!({
        "code": error.cause.code(),
        "text": error.cause.to_string(),
        "fix": error.cause.fix(),
    });
    if addresses {
        value["message"] = json!(error.cause.in_full());
    }
    value
}

#[cfg(test)]
mod tests {
    use bakeoff_hosts::Cause;

    use super::*;

    #[test]
    fn offsets_and_rates_have_units() {
        let clock = |offset_ns, error_ns| ClockOffset {
            offset_ns,
            error_ns,
            rtt_ns: 2 * error_ns,
        };
        assert_eq!(offset(&clock(-12_345, 40_000)), "-0.012 ms ± 0.040 ms");
        let day = offset(&clock(86_400_000_000_123, 40_000));
        assert_eq!(day, "+86400.000000 s ± 0.040 ms");
        assert_eq!(bits(95.1e6), "95.1 Mbit/s");
        assert_eq!(bits(9.5e9), "9.50 Gbit/s");
    }

    #[test]
    fn the_first_line_says_who_cannot_take_part() {
        let error = |host: &str| HostError {
            host: host.to_owned(),
            cause: Cause::NoAddress,
        };
        let lost = |name: &str| Found {
            name: name.to_owned(),
            way: "ssh",
            roles: Vec::new(),
            address: None,
            state: Err(error(name)),
        };
        let link = |why_not: Option<&str>| Link {
            from: vec!["g1".to_owned()],
            bits_per_s: None,
            at_least: false,
            rtt_ns: None,
            start_spread_ns: None,
            why_not: why_not.map(str::to_owned),
        };
        let fine = "all hosts can take part";
        assert_eq!(headline(&[], &[link(None)], &[]), fine);
        let unmeasured = headline(&[], &[link(None), link(Some("no answer"))], &[]);
        assert_eq!(
            unmeasured,
            format!("{fine}, but not every link was measured")
        );
        assert_eq!(
            headline(
                &[lost("g1"), lost("g2")],
                &[link(Some("no answer"))],
                &[error("sut")]
            ),
            "cannot take part: g1, g2, sut"
        );
        let text = text(&[lost("g1")], &[], &[], false);
        assert!(
            text.starts_with("cannot take part: g1\n\nhost  way"),
            "{text}"
        );
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [columns(&["host", "way"]), columns(&["ä", "ssh", "x"])];
        assert_eq!(aligned(&rows), "host  way\nä     ssh  x\n");
    }
}
