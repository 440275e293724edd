//! Trials that this machine's limits forbid: said before, not attempted and misreported (R12).

use bakeoff_load::check_clients;
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
    // Generators elsewhere have limits of their own.
    if generators.are_here()
        && let Err(shortage) = check_clients(clients, 1)
    {
        return Some(TrialEnd::Skipped {
            reason: shortage.reason(),
            fix: shortage.fix(),
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
