//! `bakeoff doctor --hosts FILE`: the doctor's table, with a column for each host.

use std::path::Path;
use std::time::Duration;

use bakeoff_hosts::Fits;
use bakeoff_report::counted;

use super::{Seen, findings, headline, rows};
use crate::commands::measure::agent::{Answer, Ask, Look};
use crate::commands::measure::hosts::{self, Found, Reached};
use crate::{exit, output};

/// How long a host may take to look at itself.
const LOOK_WITHIN: Duration = Duration::from_secs(10);

pub(super) fn carry_out(file: &Path) -> anyhow::Result<u8> {
    let mut found = hosts::reach(&hosts::read(file)?)?;
    let looks = look_at_all(&mut found);
    let mut columns = Vec::new();
    let mut distorting = 0;
    let mut unusable = Vec::new();
    let mut problems = Vec::new();
    for (host, look) in found.iter().zip(looks) {
        let name = &host.name;
        match (&host.state, look) {
            (Ok(reached), Some(look)) => {
                let seen = Seen {
                    machine: &reached.machine,
                    others: look.others,
                    quota_cpus: reached.limits.quota_cpus,
                    roles: &host.roles,
                };
                columns.push((name.as_str(), column(&seen, &look, reached)));
                let own = findings(&seen);
                distorting += own.len();
                problems.extend(
                    own.into_iter()
                        .map(|(what, fix)| format!("\n! {name}: {what}\n  {fix}\n")),
                );
            }
            (Ok(_), None) => {
                unusable.push(name.as_str());
                problems.push(format!("\n! host {name}: it did not say what it is like\n"));
            }
            (Err(error), _) => {
                unusable.push(name.as_str());
                problems.push(format!("\n! {error}\n"));
            }
        }
    }
    let mut text = format!("{}\n", first_line(distorting, columns.len(), &unusable));
    if !columns.is_empty() {
        text.push_str(&format!("\n{}", table(&columns)));
    }
    problems.iter().for_each(|problem| text.push_str(problem));
    output::result(&text)?;
    Ok(if unusable.is_empty() {
        exit::DONE
    } else {
        exit::NOT_VALID
    })
}

/// Which hosts cannot be used, and how many findings there are on so many `usable` ones.
fn first_line(findings: usize, usable: usize, unusable: &[&str]) -> String {
    let place = format!("on {}", counted(usable as u64, "host"));
    let found = (usable > 0).then(|| headline(findings, &place));
    let missing = (!unusable.is_empty()).then(|| unusable.join(", "));
    let missing = missing.map(|names| format!("cannot be used: {names}"));
    let both: Vec<String> = missing.into_iter().chain(found).collect();
    both.join("; ")
}

/// Has every host look at itself, all at once.
fn look_at_all(found: &mut [Found]) -> Vec<Option<Look>> {
    hosts::at_once(found, |host| {
        let session = &mut host.state.as_mut().ok()?.session;
        let look = session.asked(
            &Ask::Look,
            "look at itself",
            LOOK_WITHIN,
            |answer| match answer {
                Answer::Look(look) => Fits::This(look),
                _ => Fits::Not,
            },
        );
        look.ok()
    })
}

type Facts = Vec<(&'static str, String)>;

/// The doctor's rows, and those that only other hosts have.
fn column(seen: &Seen<'_>, look: &Look, reached: &Reached) -> Facts {
    let roles = if seen.roles.is_empty() {
        "-".to_owned()
    } else {
        seen.roles.join(", ")
    };
    let interfaces = look.interfaces.iter().map(|it| match it.mbit_per_s {
        Some(mbit_per_s) => format!("{} {mbit_per_s} Mbit/s", it.name),
        None => it.name.clone(),
    });
    let interfaces: Vec<String> = interfaces.collect();
    let mut facts = vec![("roles", roles)];
    facts.extend(rows(seen));
    facts.push(("network", interfaces.join(", ")));
    facts.push(("clock", hosts::offset(&reached.clock)));
    facts
}

/// A line for each fact, and in it what each host has.
fn table(columns: &[(&str, Facts)]) -> String {
    let Some((_, first)) = columns.first() else {
        return String::new();
    };
    let names = columns.iter().map(|(name, _)| (*name).to_owned());
    let mut lines = vec![[String::new()].into_iter().chain(names).collect()];
    for (row, (title, _)) in first.iter().enumerate() {
        let cells = columns.iter().map(|(_, facts)| facts[row].1.clone());
        lines.push([(*title).to_owned()].into_iter().chain(cells).collect());
    }
    hosts::aligned(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_stand_beside_each_other() {
        let facts = |cpus: &str| vec![("kernel", "6.1".to_owned()), ("cpus", cpus.to_owned())];
        let text = table(&[("sut", facts("16")), ("g1", facts("4"))]);
        assert_eq!(text, "        sut  g1\nkernel  6.1  6.1\ncpus    16   4\n");
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn the_first_line_counts_findings_and_names_who_cannot_be_used() {
        let fine = "nothing would distort results on 3 hosts";
        assert_eq!(first_line(0, 3, &[]), fine);
        assert_eq!(
            first_line(2, 1, &["g1", "g2"]),
            "cannot be used: g1, g2; 2 findings would distort results on 1 host"
        );
        assert_eq!(first_line(0, 0, &["sut"]), "cannot be used: sut");
    }
}
