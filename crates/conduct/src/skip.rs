//! Trials that limits of the machines forbid: said before, not attempted and misreported (R12).

use bakeoff_plan::Trial;
use bakeoff_record::TrialEnd;

use crate::generators::Generators;
use crate::site::Site;

/// Files that a server needs besides its connections.
const OTHER_FILES: u64 = 64;

/// Why the trial is not attempted, if it is not.
pub(crate) fn forbidden(
    trial: &Trial,
    site: &dyn Site,
    generators: &dyn Generators,
) -> Option<TrialEnd> {
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
    if let Some(text) = generators.shortage(clients) {
        let (reason, fix) = text.split_once("; ").unwrap_or((&text, "raise the limit"));
        return Some(TrialEnd::Skipped {
            reason: reason.to_owned(),
            fix: fix.to_owned(),
        });
    }
    let limit = site.open_files().unwrap_or(u64::MAX);
    server_needs_too_many(u64::from(clients), trial.workload.proxied, limit)
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
    use super::*;
    use crate::generators::{LoadOrder, UnderWay};
    use crate::scripts::{Host, plan};

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

        fn shortage(&self, clients: u32) -> Option<String> {
            Some(format!(
                "on host g1: {clients} clients are too many; raise it"
            ))
        }
    }

    #[test]
    fn a_limit_of_a_generator_elsewhere_forbids_a_trial() {
        let trial = bakeoff_plan::trials(&plan()).remove(0);
        let host = Host::default();
        assert_eq!(forbidden(&trial, &host, &host), None);
        let reason = format!("on host g1: {} clients are too many", trial.load.clients());
        let fix = "raise it".to_owned();
        let skipped = TrialEnd::Skipped { reason, fix };
        assert_eq!(forbidden(&trial, &host, &Short), Some(skipped));
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
