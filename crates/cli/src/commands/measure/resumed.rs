//! A record that goes on: the command that continues it, and what is refused because of where its
//! trials ran.
//!
//! All trials of a record run in the same places, as otherwise their numbers could not be held
//! against each other.

use std::collections::BTreeSet;
use std::path::Path;

use bakeoff_plan::Plan;
use bakeoff_record::{HostRole, Hosts, Record, RecordFolder, TrialRecord, shell_path};

use super::destination::Destination;
use crate::commands::{folder_error, share};
use crate::exit;
use crate::library::Folder;

/// A record that goes on.
pub(super) type Resumed = (RecordFolder, Record);

/// Takes a record for this process alone, and only then reads it, so that no other one adds trials
/// after that.
pub(super) fn resume(path: &Path) -> anyhow::Result<Resumed> {
    share::refuse_to_resume(path)?;
    let folder = RecordFolder::open(path).map_err(folder_error)?;
    let record = Record::read(path).map_err(folder_error)?;
    Ok((folder, record))
}

/// Flags that a campaign needs again to go on, as the end of a command line.
pub(super) fn needed_again(destination: &Destination, library: &Folder) -> String {
    let mut text = String::new();
    if let Some(hosts) = &destination.far.hosts {
        text += &format!(" --hosts {}", shell_path(hosts));
    }
    if destination.far.addresses {
        text += " --addresses";
    }
    if let Some(library) = library.path() {
        text += &format!(" --library {}", shell_path(library));
    }
    if destination.strict {
        text += " --strict";
    }
    if destination.confirm {
        text += " --confirm";
    }
    text + destination.gated.arguments()
}

/// What goes on with a record that is not complete.
pub(super) fn command(plan: &Plan, path: &Path, needed_again: &str) -> String {
    format!(
        "bakeoff {} --resume {}{needed_again}",
        plan.question().command(),
        shell_path(path)
    )
}

/// Refuses to go on with the record at `path` in other places than those where its trials ran.
pub(super) fn refuse_elsewhere(
    path: &Path,
    record: &Record,
    destination: &Destination,
) -> anyhow::Result<()> {
    let shown = path.display();
    let places = Places::of(record);
    let is_on_hosts = destination.far.hosts.is_some();
    Err(exit::usage(match (places, is_on_hosts) {
        (Places::Hosts, true) | (Places::Here, false) => return Ok(()),
        (Places::Hosts, false) if destination.confirm => format!(
            "--confirm changes workers and processors of this machine, and {shown} was measured on \
             the hosts of a file; to confirm what limits its contenders, measure them without \
             --hosts"
        ),
        (Places::Hosts, false) => format!(
            "{shown} was measured on the hosts of a file; add --hosts FILE: `bakeoff run --resume \
             {} --hosts FILE` goes on with it",
            shell_path(path)
        ),
        (Places::Here, true) => format!(
            "{shown} was measured on this machine alone; leave out --hosts, or begin a new record \
             on the hosts"
        ),
        (Places::Both, _) => format!(
            "{shown} holds trials of this machine alone and trials of the hosts of a file, which \
             cannot be compared; begin a new record"
        ),
    }))
}

/// Where the trials of a record ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    Here,
    Hosts,
    Both,
}

impl Places {
    fn of(record: &Record) -> Self {
        let mut trials = record.trials.iter();
        let on_hosts = trials.any(|trial| trial.hosts.is_some());
        let mut trials = record.trials.iter();
        // One that ended before its load says nothing.
        let here = trials.any(|trial| trial.result.is_some() && trial.hosts.is_none());
        match (here, on_hosts) {
            (true, true) => Self::Both,
            (true, false) => Self::Here,
            (false, true) => Self::Hosts,
            (false, false) if began_on_hosts(record) => Self::Hosts,
            (false, false) => Self::Here,
        }
    }
}

/// Whether the command that began a campaign named hosts.
fn began_on_hosts(record: &Record) -> bool {
    let mut arguments = record.machine.command.iter();
    arguments.any(|one| one == "--hosts" || one.starts_with("--hosts="))
}

/// Names of hosts by what they do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HostNames {
    pub(super) server: BTreeSet<String>,
    /// Empty in trials without an upstream.
    pub(super) origin: BTreeSet<String>,
    pub(super) generators: BTreeSet<String>,
}

impl HostNames {
    /// Those of all trials with hosts.
    fn of<'h>(trials: impl Iterator<Item = &'h Hosts>) -> Self {
        let mut names = Self::default();
        for host in trials.flat_map(|hosts| &hosts.hosts) {
            for role in &host.roles {
                let of_role = match role {
                    HostRole::Server => &mut names.server,
                    HostRole::Origin => &mut names.origin,
                    HostRole::Generator => &mut names.generators,
                };
                of_role.insert(host.name.clone());
            }
        }
        names
    }

    /// Refuses these hosts, which are those of `file`, where the trials before ran on others.
    pub(super) fn refuse_others(self, file: &Path, earlier: &[TrialRecord]) -> anyhow::Result<()> {
        let earlier = earlier.iter().filter_map(|it| it.hosts.as_ref());
        self.refuse_unlike(file, &Self::of(earlier))
    }

    fn refuse_unlike(mut self, file: &Path, earlier: &Self) -> anyhow::Result<()> {
        if earlier.origin.is_empty() {
            // No trial says where the upstream was.
            self.origin.clear();
        }
        if self == *earlier || *earlier == Self::default() {
            return Ok(());
        }
        Err(exit::usage(format!(
            "{} has {self}, but the record was measured with {earlier}; give the file that it was \
             measured with, or begin a new record",
            file.display()
        )))
    }
}

impl std::fmt::Display for HostNames {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let joined =
            |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        write!(out, "the server on {}", joined(&self.server))?;
        if !self.origin.is_empty() {
            write!(out, ", the upstream on {}", joined(&self.origin))?;
        }
        write!(out, ", the load from {}", joined(&self.generators))
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_record::HostFacts;
    use bakeoff_record::HostRole::{Generator, Origin, Server};
    use bakeoff_report::{Condition, Gates};

    use super::*;
    use crate::commands::measure::gated::Gated;
    use crate::flags::{FailIfFlags, FarFlags, Format, GateFlags, OtherCampaigns};

    fn destination(hosts: Option<&str>, addresses: bool) -> Destination {
        let far = FarFlags {
            hosts: hosts.map(Into::into),
            addresses,
        };
        let others = OtherCampaigns {
            wait: false,
            beside: false,
        };
        let shown = Destination::shown(others, Format::Text, false, false);
        Destination { far, ..shown }
    }

    #[test]
    fn the_command_has_what_the_campaign_needs_again() {
        let plan = bakeoff_plan::parse(
            bakeoff_plan::builtin_plan("smoke").unwrap(),
            "smoke",
            Path::new("/"),
            &bakeoff_plan::Builtin,
        );
        let plan = plan.unwrap();
        let none = Folder::new(None).unwrap();
        // Tests run in the folder of their crate.
        let library = Folder::new(Some("src".into())).unwrap();
        let check = |path: &str, destination: &Destination, library: &Folder, expected: &str| {
            let again = needed_again(destination, library);
            let command = command(&plan, Path::new(path), &again);
            assert_eq!(command, expected);
        };
        let here = destination(None, false);
        check("record", &here, &none, "bakeoff run --resume record");
        check(
            "my record",
            &here,
            &none,
            "bakeoff run --resume 'my record'",
        );
        check(
            "record",
            &here,
            &library,
            "bakeoff run --resume record --library src",
        );
        check(
            "record",
            &destination(Some("my hosts.toml"), true),
            &none,
            "bakeoff run --resume record --hosts 'my hosts.toml' --addresses",
        );
        let gates = GateFlags {
            gate: Some(Gates::parse("rate=7%, p99=10%").unwrap()),
            conditions: FailIfFlags {
                fail_if: vec![Condition::parse("p99 > 50ms").unwrap()],
            },
        };
        let gated = Destination {
            gated: Gated::of(&gates, None, None).unwrap(),
            strict: true,
            confirm: true,
            ..destination(None, false)
        };
        check(
            "record",
            &gated,
            &none,
            "bakeoff run --resume record --strict --confirm --gate rate=7%,p99=10% \
             --fail-if 'p99 > 50ms'",
        );
    }

    fn names(server: &str, origin: &[&str], generators: &[&str]) -> HostNames {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        HostNames {
            server: set(&[server]),
            origin: set(origin),
            generators: set(generators),
        }
    }

    #[test]
    fn names_are_those_of_every_trial_by_role() {
        let hosts = |all: &[(&str, &[HostRole])]| Hosts {
            hosts: all
                .iter()
                .map(|(name, roles)| HostFacts {
                    name: (*name).to_owned(),
                    roles: roles.to_vec(),
                    ..HostFacts::default()
                })
                .collect(),
            ..Hosts::default()
        };
        let plain = hosts(&[("sut", &[Server]), ("g1", &[Generator])]);
        let proxied = hosts(&[("sut", &[Server, Origin]), ("g1", &[Generator])]);
        assert_eq!(HostNames::of([].into_iter()), HostNames::default());
        assert_eq!(
            HostNames::of([&plain].into_iter()),
            names("sut", &[], &["g1"])
        );
        assert_eq!(
            HostNames::of([&plain, &proxied].into_iter()),
            names("sut", &["sut"], &["g1"])
        );
    }

    #[test]
    fn other_hosts_are_refused_with_both_named() {
        let check = |now: HostNames, earlier: HostNames, expected: Option<&str>| {
            let refused = now.refuse_unlike(Path::new("h.toml"), &earlier);
            let said = refused.err().map(|error| error.to_string());
            assert_eq!(said.as_deref(), expected);
        };
        let now = || names("sut", &["up"], &["g1", "g2"]);
        check(now(), now(), None);
        check(now(), HostNames::default(), None);
        // Its workloads had no upstream.
        check(now(), names("sut", &[], &["g1", "g2"]), None);
        check(
            now(),
            names("home", &[], &["g1", "g2"]),
            Some(
                "h.toml has the server on sut, the load from g1, g2, but the record was measured \
                 with the server on home, the load from g1, g2; give the file that it was measured \
                 with, or begin a new record",
            ),
        );
        check(
            now(),
            names("sut", &["sut"], &["g1"]),
            Some(
                "h.toml has the server on sut, the upstream on up, the load from g1, g2, but the \
                 record was measured with the server on sut, the upstream on sut, the load from \
                 g1; give the file that it was measured with, or begin a new record",
            ),
        );
    }
}
