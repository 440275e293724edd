//! Processors for each role: who runs where, and whether roles share.

use bakeoff_plan::{Cpus, Pinning};
use bakeoff_record::Pinned;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// Most processors that are looked for.
const CPUS_MAX: usize = 1024;

/// Processors given to each role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// Processors; empty where a role is not pinned.
    pub pinned: Pinned,
    /// Threads of the load engine.
    pub engine_threads: u32,
    /// Processors that this process could use when they were divided: all that a role that is not
    /// pinned may use. Empty where the kernel did not say.
    pub allowed: Vec<usize>,
}

/// Which roles are on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolesHere {
    /// Contestants.
    pub server: bool,
    /// The upstream behind them.
    pub origin: bool,
    /// An engine.
    pub engine: bool,
}

impl RolesHere {
    /// All of them.
    pub const ALL: Self = Self {
        server: true,
        origin: true,
        engine: true,
    };
}

/// The processors asked for are not there.
#[derive(Debug, thiserror::Error)]
#[error(
    "the plan pins {role} to processor {cpu}, but this process may use {allowed:?}; \
     change [pinning] in the plan"
)]
pub struct RolesError {
    role: &'static str,
    cpu: usize,
    allowed: Vec<usize>,
}

impl Roles {
    /// Divides this machine as the plan asks.
    ///
    /// # Errors
    /// When the plan names a processor that this process may not use.
    pub fn divide(pinning: &Pinning) -> Result<Self, RolesError> {
        Self::divide_for(pinning, RolesHere::ALL)
    }

    /// Divides this machine among the roles that are on it.
    ///
    /// # Errors
    /// When the plan names a processor for one of them that this process may not use.
    pub fn divide_for(pinning: &Pinning, here: RolesHere) -> Result<Self, RolesError> {
        Self::divide_among(pinning, &allowed_cpus(), here)
    }

    /// Moves the calling thread, and those that it starts from now on, to the engine's
    /// processors: whatever bakeoff does besides must not take time from the server.
    pub(crate) fn move_this_thread(&self) {
        if self.pinned.engine.is_empty() {
            return;
        }
        let mut set = CpuSet::new();
        self.pinned.engine.iter().for_each(|cpu| set.set(*cpu));
        // The processors were found in this thread's own set, and staying put is no harm.
        let _ = sched_setaffinity(None, &set);
    }

    /// Divides a machine with the processors `allowed` among the roles that are on it.
    ///
    /// # Errors
    /// When the plan names a processor for one of them that is not among these.
    pub fn divide_among(
        pinning: &Pinning,
        allowed: &[usize],
        here: RolesHere,
    ) -> Result<Self, RolesError> {
        let auto = automatic(allowed, here);
        let choose = |role, is_here: bool, cpus: &Cpus, auto: &[usize]| match cpus {
            _ if !is_here => Ok(Vec::new()),
            Cpus::Any => Ok(Vec::new()),
            Cpus::Auto => Ok(auto.to_vec()),
            Cpus::List(list) => match list.iter().find(|cpu| !allowed.contains(cpu)) {
                Some(cpu) => Err(RolesError {
                    role,
                    cpu: *cpu,
                    allowed: allowed.to_vec(),
                }),
                None => Ok(list.clone()),
            },
        };
        let pinned = Pinned {
            server: choose("the server", here.server, &pinning.server, &auto.server)?,
            engine: choose("the engine", here.engine, &pinning.engine, &auto.engine)?,
            origin: choose("the origin", here.origin, &pinning.origin, &auto.origin)?,
        };
        let half = allowed.len().div_ceil(2).max(1);
        let threads = if pinned.engine.is_empty() {
            half
        } else {
            pinned.engine.len()
        };
        Ok(Self {
            engine_threads: u32::try_from(threads).unwrap_or(1),
            pinned,
            allowed: allowed.to_vec(),
        })
    }
}

/// Processors that this process may use, in order; empty where the kernel does not say.
pub fn allowed_cpus() -> Vec<usize> {
    let all = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CPUS_MAX).filter(|cpu| all.is_set(*cpu)).collect()
}

/// Half for the engine where it is here, and the rest for server and origin. From four processors
/// on, or two without the engine, the origin has one of its own; the server's processors are the
/// same in every workload, so that they compare.
fn automatic(allowed: &[usize], here: RolesHere) -> Pinned {
    let below = if here.engine {
        allowed.len() / 2
    } else {
        allowed.len()
    };
    if below == 0 {
        let all = allowed.to_vec();
        return Pinned {
            server: all.clone(),
            engine: all.clone(),
            origin: all,
        };
    }
    let (lower, upper) = allowed.split_at(below);
    let (server, origin) = match lower {
        _ if !(here.server && here.origin) => (lower.to_vec(), lower.to_vec()),
        [server @ .., origin] if !server.is_empty() => (server.to_vec(), vec![*origin]),
        shared => (shared.to_vec(), shared.to_vec()),
    };
    Pinned {
        server,
        engine: upper.to_vec(),
        origin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allowed: &[usize], server: &[usize], origin: &[usize], engine: &[usize]) {
        let roles = Roles::divide_among(&Pinning::default(), allowed, RolesHere::ALL).unwrap();
        assert_eq!(roles.pinned.server, server);
        assert_eq!(roles.pinned.origin, origin);
        assert_eq!(roles.pinned.engine, engine);
        assert_eq!(roles.engine_threads as usize, engine.len().max(1));
    }

    #[test]
    fn a_machine_is_divided_in_halves() {
        check(&[3], &[3], &[3], &[3]);
        check(&[0, 1], &[0], &[0], &[1]);
        check(&[0, 1, 2], &[0], &[0], &[1, 2]);
        check(&[0, 1, 2, 3], &[0], &[1], &[2, 3]);
        check(&[0, 1, 2, 3, 4, 5], &[0, 1], &[2], &[3, 4, 5]);
    }

    #[test]
    fn a_processor_that_is_not_there_is_named() {
        let pinning = Pinning {
            server: Cpus::List(vec![7]),
            ..Pinning::default()
        };
        let error = Roles::divide_among(&pinning, &[0, 1], RolesHere::ALL)
            .unwrap_err()
            .to_string();
        assert!(error.contains("the server to processor 7"), "{error}");
        let any = Pinning {
            server: Cpus::Any,
            ..Pinning::default()
        };
        let roles = Roles::divide_among(&any, &[0, 1], RolesHere::ALL).unwrap();
        assert_eq!(
            (&roles.pinned.server[..], &roles.allowed[..]),
            (&[][..], &[0, 1][..])
        );
        let any = Pinning {
            engine: Cpus::Any,
            ..Pinning::default()
        };
        let roles = Roles::divide_among(&any, &[0, 1], RolesHere::ALL).unwrap();
        assert_eq!((roles.pinned.engine.len(), roles.engine_threads), (0, 1));
    }

    #[test]
    fn a_machine_without_the_engine_belongs_to_the_others() {
        let check = |server, origin, expected: (&[usize], &[usize])| {
            let here = RolesHere {
                server,
                origin,
                engine: false,
            };
            let roles = Roles::divide_among(&Pinning::default(), &[0, 1, 2], here).unwrap();
            let Pinned {
                server,
                origin,
                engine,
            } = roles.pinned;
            assert_eq!((&server[..], &origin[..]), expected);
            assert!(engine.is_empty());
        };
        check(true, true, (&[0, 1], &[2]));
        check(true, false, (&[0, 1, 2], &[]));
        check(false, true, (&[], &[0, 1, 2]));
        // What the plan says of a role that is elsewhere is not looked at.
        let pinning = Pinning {
            engine: Cpus::List(vec![7]),
            ..Pinning::default()
        };
        let here = RolesHere {
            engine: false,
            ..RolesHere::ALL
        };
        assert!(Roles::divide_among(&pinning, &[0], here).is_ok());
    }
}
