//! Programs that only the distribution has, by apt-get, for all users: that takes root.
//!
//! No digests are kept for these: apt checks the distribution's signature. Options given here make
//! it refuse a package without one, however the machine is configured.

use std::path::Path;

use super::InstallOrder;
use super::error::{Obstacle, Reason};
use super::workshop::Workshop;
use crate::program::{self, Program};
use crate::version::accepts;

/// Gets the lists of packages anew.
const UPDATE: [&str; 3] = ["apt-get", "update", "-q"];

pub(super) fn get(
    package: &str,
    beside: &[String],
    order: &InstallOrder<'_>,
    workshop: &mut Workshop<'_>,
) -> Result<Program, Obstacle> {
    let folder = workshop.folder("apt")?;
    let is_root = rustix::process::geteuid().is_root();
    let candidate = |workshop: &mut Workshop<'_>| {
        let policy = workshop.ask(&["apt-cache", "policy", package], &folder, &[])?;
        Ok::<_, Obstacle>(candidate_in(&policy.text).map(str::to_owned))
    };
    let mut there_is = candidate(workshop)?;
    // A new machine has no lists of packages, and then there is no candidate at all.
    if there_is.is_none() && is_root {
        workshop.run(&UPDATE, &folder, &[])?;
        there_is = candidate(workshop)?;
    }
    if let Some((wanted, there_is)) = order.version.zip(there_is.as_deref())
        && !accepts(wanted, upstream(there_is))
    {
        return Err(Reason::no_version(wanted, there_is.to_owned()).into());
    }
    let mut command = vec![
        "apt-get",
        "install",
        "-y",
        "-q",
        "-o",
        "APT::Get::AllowUnauthenticated=false",
        "--no-install-recommends",
        package,
    ];
    command.extend(beside.iter().map(String::as_str));
    if !is_root {
        let update = there_is.is_none().then_some("apt-get update && ");
        let command = update.unwrap_or_default().to_owned() + &command.join(" ");
        return Err(Reason::NeedsRoot { command }.into());
    }
    // A server that starts with its package would take a port and processor time; at this run
    // level none does.
    let environment = [
        ("DEBIAN_FRONTEND", Path::new("noninteractive")),
        ("RUNLEVEL", Path::new("1")),
    ];
    // Lists of packages grow old: what they name may be gone.
    if let Err(Obstacle::Refusal(_)) = workshop.run(&command, &folder, &environment) {
        workshop.run(&UPDATE, &folder, &environment)?;
        workshop.run(&command, &folder, &environment)?;
    }
    let found = program::find(order.server, order.version, None);
    Ok(found.map_err(|error| Reason::Unexpected(format!("{package} came, but: {error}")))?)
}

/// From the `Candidate:` line of apt-cache.
fn candidate_in(policy: &str) -> Option<&str> {
    let mut lines = policy.lines().map(str::trim);
    let candidate = lines
        .find_map(|line| line.strip_prefix("Candidate:"))?
        .trim();
    (candidate != "(none)").then_some(candidate)
}

/// A Debian version without its epoch, which its makers do not know.
fn upstream(version: &str) -> &str {
    version.split_once(':').map_or(version, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candidate_is_found_without_its_epoch() {
        let policy = "nginx:\n  Installed: (none)\n  Candidate: 1:1.22.1-9\n  Version table:\n";
        assert_eq!(candidate_in(policy).map(upstream), Some("1.22.1-9"));
        assert_eq!(candidate_in("nginx:\n  Candidate: (none)\n"), None);
        assert_eq!(candidate_in(""), None);
    }
}
