//! Trials that limits of the machines forbid: said before, not attempted and misreported (R12).

use bakeoff_plan::Trial;
use bakeoff_record::TrialEnd;

use crate::actions::{NOTES_MAX, notes_of};
use crate::generators::{Generators, Lacking};
use crate::site::Site;

/// Files that a server needs besides its connections.
const OTHER_FILES: u64 = 64;

/// Why the trial is not attempted, if it is not.
pub(crate) fn forbidden(
    trial: &Trial,
    site: &dyn Site,
    generators: &dyn Generators,
) -> Option<TrialEnd> {
    if let Some(end) = unnoted(trial, generators) {
        return Some(end);
    }
    let clients = trial.load.clients();
    if trial.load.model.is_share() {
        return Some(TrialEnd::Skipped {
            reason: format!(
                "no contender was measured in a closed loop of {} in round 1, so there is no \
                 capacity to take a share of",
                trial.workload.name
            ),
            fix: "see why those trials failed".to_owned(),
        });
    }
    if let Some(Lacking { host, shortage }) = generators.shortage(clients) {
        let reason = shortage.reason();
        return Some(TrialEnd::Skipped {
            reason: host.map_or(reason.clone(), |host| format!("on host {host}: {reason}")),
            fix: shortage.fix(),
        });
    }
    let limit = site.open_files().unwrap_or(u64::MAX);
    server_needs_too_many(u64::from(clients), trial.workload.proxied, limit)
}

/// Of a load in which something is done to the server, each request is noted where the action is
/// timed.
fn unnoted(trial: &Trial, generators: &dyn Generators) -> Option<TrialEnd> {
    let notes = notes_of(&trial.load)?;
    if !generators.are_here() {
        return Some(TrialEnd::Skipped {
            reason: "a change is timed on the clock of the load, which other hosts do not have"
                .to_owned(),
            fix: "let this machine make the load: leave out the hosts that generate it".to_owned(),
        });
    }
    (notes > NOTES_MAX).then(|| TrialEnd::Skipped {
        reason: format!(
            "each request of a change is noted, and these would be {notes}: more than {NOTES_MAX}"
        ),
        fix: "lower the rate, or do it fewer times".to_owned(),
    })
}

/// A server holds a file for each client, and a proxy another one towards the origin.
fn server_needs_too_many(clients: u64, proxied: bool, limit: u64) -> Option<TrialEnd> {
    let each = if proxied { 2 } else { 1 };
    let needed = clients * each + OTHER_FILES;
    (needed > limit).then(|| TrialEnd::Skipped {
        reason: format!(
            "{clients} clients{} need {needed} open files in the server, but a process here may \
             open {limit}",
            if proxied { " through a proxy" } else { "" }
        ),
        fix: format!("raise the hard limit, as root: ulimit -Hn {needed}"),
    })
}

#[cfg(test)]
mod tests {
    use bakeoff_load::Shortage;

    use super::*;
    use crate::generators::UnderWay;
    use crate::scripts::{Host, plan};
    use crate::spec::LoadOrder;

    /// Generators one of which may open too few files.
    #[derive(Debug)]
    struct Short;

    impl Generators for Short {
        fn begin(&self, _: &LoadOrder<'_>) -> Result<Box<dyn UnderWay>, String> {
            unreachable!("no trial is attempted")
        }

        fn are_here(&self) -> bool {
            false
        }

        fn shortage(&self, clients: u32) -> Option<Lacking> {
            Some(Lacking {
                host: Some("g1".to_owned()),
                shortage: Shortage::Ports { clients, ports: 1 },
            })
        }
    }

    #[test]
    fn a_limit_of_a_generator_elsewhere_forbids_a_trial() {
        let trial = bakeoff_plan::trials(&plan()).remove(0);
        let host = Host::default();
        assert_eq!(forbidden(&trial, &host, &host), None);
        let Some(TrialEnd::Skipped { reason, fix }) = forbidden(&trial, &host, &Short) else {
            panic!("it has too few ports");
        };
        let expected = format!("on host g1: {} clients need as many", trial.load.clients());
        assert!(reason.starts_with(&expected), "{reason}");
        assert!(fix.contains("ip_local_port_range"), "{fix}");
    }

    #[test]
    fn a_proxy_needs_twice_the_files() {
        assert_eq!(server_needs_too_many(10_000, false, 20_000), None);
        let Some(TrialEnd::Skipped { reason, fix }) = server_needs_too_many(10_000, true, 20_000)
        else {
            panic!("20,064 files are more than 20,000");
        };
        assert!(reason.contains("need 20064 open files"), "{reason}");
        assert!(fix.contains("ulimit -Hn 20064"), "{fix}");
    }
}
