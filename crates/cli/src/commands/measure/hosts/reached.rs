//! From a hosts file to sessions.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bakeoff_hosts::{Fits, HostError, Own, Place, Session, Way, open, pods};
use bakeoff_plan::{HOME, Host, HostWay, Hosts};
use bakeoff_record::read_regular_text;

use crate::commands::measure::agent::{Answer, Ask, Limits, own_kernel};
use crate::{exit, output};

/// Longest hosts file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// How long a host may take to say what it is.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A host that is to be reached.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) place: Place,
    /// How the others reach it, where the file or kubectl says so.
    pub(crate) address: Option<String>,
    /// Its entry in the file: several pods have the same one.
    pub(crate) entry: String,
}

/// Reads a hosts file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Hosts> {
    let name = path.display().to_string();
    let text = read_regular_text(path, FILE_BYTES_MAX)
        .map_err(|error| exit::usage(format!("failed to read {name}: {error}")))?;
    Hosts::parse(&text, &name).map_err(exit::usage)
}

/// The generators of a file, or those of them that `names` lists, as they are to be reached.
pub(crate) fn generators(
    hosts: &Hosts,
    names: &[String],
) -> anyhow::Result<Vec<Result<Wanted, HostError>>> {
    let chosen = if names.is_empty() {
        &hosts.roles.generators
    } else {
        names
    };
    once_each(names)?;
    let mut wanted = Vec::new();
    for name in chosen {
        let known = hosts.hosts.iter().map(|host| host.name.as_str());
        let known: Vec<&str> = known.chain([HOME]).collect();
        if !known.contains(&name.as_str()) {
            let meant = bakeoff_plan::nearest(name, &known);
            let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            return Err(exit::usage(format!(
                "--generators names `{name}`, which the hosts file does not have{meant}"
            )));
        }
        wanted.extend(expanded(hosts, name));
    }
    Wanted::must_differ(wanted.iter().flatten())?;
    Ok(wanted)
}

impl Wanted {
    /// Refuses two hosts of one name, as a pod and another entry may have: facts, clocks and
    /// samples belong to a host by its name alone.
    pub(crate) fn must_differ<'w>(all: impl Iterator<Item = &'w Self>) -> anyhow::Result<()> {
        let mut entries: BTreeMap<&str, &str> = BTreeMap::new();
        for one in all {
            let (name, entry) = (one.place.name.as_str(), one.entry.as_str());
            let Some(other) = entries.insert(name, entry).filter(|other| *other != entry) else {
                continue;
            };
            return Err(exit::usage(format!(
                "two hosts are called `{name}`: one of `[hosts.{other}]` and one of \
                 `[hosts.{entry}]`; pods are called by the name of their table and a number, so \
                 give one of the two tables another name"
            )));
        }
        Ok(())
    }
}

/// Refuses a host that would be two generators.
fn once_each(names: &[String]) -> anyhow::Result<()> {
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Err(exit::usage(format!(
                "--generators names `{name}` twice; name each host once"
            )));
        }
    }
    Ok(())
}

/// Hosts that ssh reaches by these names.
pub(crate) fn aliases(names: &[String]) -> anyhow::Result<Vec<Wanted>> {
    once_each(names)?;
    let one = |name: &String| {
        let host = Host::by_ssh(name);
        let host = host.ok_or_else(|| format!("--generators: `{name}` is no ssh alias"));
        host.map(|host| wanted(&host)).map_err(exit::usage)
    };
    names.iter().map(one).collect()
}

/// The hosts of one entry: one, or its pods.
pub(crate) fn expanded(hosts: &Hosts, name: &str) -> Vec<Result<Wanted, HostError>> {
    let home = Host::home();
    let host = hosts.named(name).unwrap_or(&home);
    let HostWay::Kubectl(wanted_pods) = &host.way else {
        return vec![Ok(wanted(host))];
    };
    match pods(name, &wanted_pods.namespace, &wanted_pods.selector) {
        Err(error) => vec![Err(error)],
        Ok(pods) => {
            let one = |(number, pod): (usize, bakeoff_hosts::Pod)| {
                Ok(Wanted {
                    place: Place {
                        name: format!("{name}-{number}"),
                        way: Way::Pod {
                            namespace: wanted_pods.namespace.clone(),
                            pod: pod.name,
                        },
                        program: host.program.clone(),
                    },
                    address: pod.address,
                    entry: name.to_owned(),
                })
            };
            pods.into_iter().enumerate().map(one).collect()
        }
    }
}

fn wanted(host: &Host) -> Wanted {
    let way = match &host.way {
        HostWay::Ssh(alias) => Way::Ssh(alias.clone()),
        HostWay::Netns(name) => Way::Netns(name.clone()),
        HostWay::Command(command) => Way::Command(command.clone()),
        HostWay::Home | HostWay::Kubectl(_) => Way::Home,
    };
    Wanted {
        place: Place {
            name: host.name.clone(),
            way,
            program: host.program.clone(),
        },
        address: host.address.clone(),
        entry: host.name.clone(),
    }
}

/// The program that every host must run: this one.
pub(crate) fn own() -> anyhow::Result<Own> {
    Own::find().context("failed to read bakeoff's own program")
}

/// Who takes the hosts, for the message to a second campaign.
pub(crate) fn owner() -> String {
    let user = std::env::var("USER").unwrap_or_else(|_| "somebody".to_owned());
    let names = rustix::system::uname();
    let machine = names.nodename().to_string_lossy();
    let process = std::process::id();
    format!("{user} on {machine}, process {process}")
}

/// A session with each host, and how long it took to open. A host that could not be locked is
/// named.
///
/// # Errors
/// One cannot be had; the message names each such host.
pub(crate) fn opened(
    wanted: &[Wanted],
    own: &Own,
    owner: &str,
) -> anyhow::Result<Vec<(Session, Duration)>> {
    let (mut sessions, mut failed) = (Vec::new(), Vec::new());
    for opened in open_all(wanted, own, owner) {
        match opened {
            Ok(opened) => {
                if let Some(said) = unlocked(&opened.0) {
                    output::note(&said);
                }
                sessions.push(opened);
            }
            Err(error) => failed.push(error.to_string()),
        }
    }
    if failed.is_empty() {
        Ok(sessions)
    } else {
        Err(exit::not_valid(failed.join("\n")))
    }
}

/// That a host could not be locked against a second campaign, and why; `None` where it is.
pub(crate) fn unlocked(session: &Session) -> Option<String> {
    let (host, why) = (session.host(), session.hello().unlocked.as_ref()?);
    Some(format!(
        "host {host}: a second campaign would not be noticed: {why}"
    ))
}

/// What a process may use on a host.
pub(crate) fn limits(session: &mut Session) -> Result<Limits, HostError> {
    session.asked(
        &Ask::Limits,
        "say its limits",
        ANSWER_WITHIN,
        |answer| match answer {
            Answer::Limits(limits) => Fits::This(limits),
            _ => Fits::Not,
        },
    )
}

/// Threads of an engine that is kept to no processors, where so many are usable: half of them, as
/// on one machine.
pub(crate) fn half(usable: u32) -> u32 {
    (usable / 2).max(1)
}

/// Opens a session with each host, all at once, and says how long each took.
pub(super) fn open_all(
    wanted: &[Wanted],
    own: &Own,
    owner: &str,
) -> Vec<Result<(Session, Duration), HostError>> {
    at_once(wanted, |wanted| {
        let since = Instant::now();
        let session = open(&wanted.place, own, owner)?;
        Ok((session, since.elapsed()))
    })
}

/// Does something with each of them at the same time: what a host takes to answer is mostly its
/// way. Returns what came of it, in their order.
pub(crate) fn at_once<T: Send, R: Send>(
    all: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let begun = all.into_iter().map(|one| scope.spawn(move || work(one)));
        let begun: Vec<_> = begun.collect();
        let done = begun.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.collect()
    })
}

/// A number for the kernel of each host that has `said` what it calls itself: `own` for that of
/// this machine, and one number for hosts of one kernel. A host that does not say has one of its
/// own.
pub(crate) fn kernels(own: u32, said: impl Iterator<Item = Option<String>>) -> Vec<u32> {
    numbered(own, own_kernel(), said)
}

fn numbered(
    own: u32,
    here: Option<String>,
    said: impl Iterator<Item = Option<String>>,
) -> Vec<u32> {
    let mut known = vec![here.map(|kernel| (kernel, own))];
    let number = |said: Option<String>| {
        let mut same = known.iter().flatten();
        let same = same.find(|(kernel, _)| Some(kernel) == said.as_ref());
        let number = same.map_or(own + known.len() as u32, |(_, number)| *number);
        known.push(said.map(|kernel| (kernel, number)));
        number
    };
    said.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// None of them would end if the second began after the first.
    #[test]
    fn hosts_are_asked_at_the_same_time_and_answer_in_their_order() {
        let all_there = std::sync::Barrier::new(3);
        let done = at_once([3, 1, 2], |number| {
            all_there.wait();
            number * 10
        });
        assert_eq!(done, [30, 10, 20]);
    }

    #[track_caller]
    fn check_names(hosts: &[(&str, &str)], expected: Option<&str>) {
        let wanted = |(name, entry): &(&str, &str)| Wanted {
            place: Place {
                name: (*name).to_owned(),
                way: Way::Home,
                program: None,
            },
            address: None,
            entry: (*entry).to_owned(),
        };
        let all: Vec<Wanted> = hosts.iter().map(wanted).collect();
        let refused = Wanted::must_differ(all.iter()).err();
        let refused = refused.map(|error| error.to_string());
        match (&refused, expected) {
            (Some(refused), Some(expected)) => assert!(refused.contains(expected), "{refused}"),
            (refused, expected) => assert_eq!(refused.as_deref(), expected),
        }
    }

    #[test]
    fn a_pod_and_a_host_of_one_name_are_refused_and_both_named() {
        let both = "two hosts are called `g-0`: one of `[hosts.g]` and one of `[hosts.g-0]`";
        check_names(&[("g-0", "g"), ("g-1", "g"), ("g-0", "g-0")], Some(both));
        // One host with several roles.
        check_names(&[("sut", "sut"), ("g-0", "g"), ("sut", "sut")], None);
    }

    #[test]
    fn hosts_of_one_kernel_have_one_number() {
        let said = |names: &[&str]| {
            let names = names.iter().map(|name| match *name {
                "" => None,
                name => Some(name.to_owned()),
            });
            numbered(
                0,
                Some("here".to_owned()),
                names.collect::<Vec<_>>().into_iter(),
            )
        };
        assert_eq!(said(&["here", "a", "b", "a", "here"]), [0, 2, 3, 2, 0]);
        assert_eq!(said(&["", ""]), [1, 2], "nobody knows");
    }
}
