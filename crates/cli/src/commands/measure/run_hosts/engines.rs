//! The engine of each generator: how many threads it has, and which processors they are kept to.

use bakeoff_conduct::{Roles, RolesError, RolesHere};
use bakeoff_hosts::Session;
use bakeoff_plan::{Cpus, HostRoles, Pinning, Plan};

use crate::commands::measure::agent::Limits;
use crate::commands::measure::generators::Engine;
use crate::commands::measure::hosts::{self, Wanted};
use crate::exit;

/// The engines of these generators, in their order. Each may use what is `allowed` on its host.
///
/// # Errors
/// A host lacks a processor that the plan names.
pub(super) fn of(
    sessions: &[Session],
    allowed: &[Limits],
    wanted: &[Wanted],
    roles: &HostRoles,
    plan: &Plan,
) -> anyhow::Result<Vec<Engine>> {
    let proxied = plan.workloads.iter().any(|it| it.proxied);
    let one = |((session, allowed), wanted): ((&Session, &Limits), &Wanted)| {
        let here = RolesHere {
            server: roles.server == wanted.entry,
            origin: roles.origin == wanted.entry && proxied,
            engine: true,
        };
        let usable = session.hello().cpus;
        let engine = engine(&plan.pinning.engine, here, &allowed.cpus, usable);
        engine.map_err(|error| exit::usage(format!("host {}: {error}", session.host())))
    };
    sessions.iter().zip(allowed).zip(wanted).map(one).collect()
}

/// The engine of a generator that may use the processors `allowed`, and has so many of them at
/// once as are `usable`.
fn engine(
    asked: &Cpus,
    here: RolesHere,
    allowed: &[usize],
    usable: u32,
) -> Result<Engine, RolesError> {
    let is_alone = !here.server && !here.origin;
    let pinning = Pinning {
        engine: match asked {
            // There is nobody to be kept apart from.
            Cpus::Auto if is_alone => Cpus::Any,
            asked => asked.clone(),
        },
        // Those of the others are checked by their own stage.
        ..Pinning::default()
    };
    let pin = Roles::divide_among(&pinning, allowed, here)?.pinned.engine;
    let pinned = u32::try_from(pin.len()).unwrap_or(u32::MAX);
    let threads = match asked {
        _ if pin.is_empty() => hosts::half(usable),
        // It is said how many there are to be.
        Cpus::List(_) => pinned,
        Cpus::Auto | Cpus::Any => pinned.min(usable.div_ceil(2)),
    };
    Ok(Engine { threads, pin })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: RolesHere = RolesHere {
        server: false,
        origin: false,
        engine: true,
    };
    const BESIDE_THE_SERVER: RolesHere = RolesHere {
        server: true,
        ..ALONE
    };
    const BESIDE_THE_UPSTREAM: RolesHere = RolesHere {
        origin: true,
        ..ALONE
    };

    /// On a host with the processors 0 to 3.
    #[track_caller]
    fn check(asked: &Cpus, here: RolesHere, threads: u32, pin: &[usize]) {
        let engine = engine(asked, here, &[0, 1, 2, 3], 4).unwrap();
        let found = (engine.threads, &engine.pin[..]);
        assert_eq!(found, (threads, pin), "{here:?}");
    }

    #[test]
    fn an_engine_is_kept_from_the_server_and_the_upstream_on_its_host() {
        check(&Cpus::Auto, ALONE, 2, &[]);
        check(&Cpus::Auto, BESIDE_THE_SERVER, 2, &[2, 3]);
        check(&Cpus::Auto, BESIDE_THE_UPSTREAM, 2, &[2, 3]);
        check(&Cpus::Any, BESIDE_THE_SERVER, 2, &[]);
    }

    #[test]
    fn under_a_quota_there_are_fewer_threads() {
        let threads = |asked: &Cpus, here| {
            let all: Vec<usize> = (0..16).collect();
            engine(asked, here, &all, 2).unwrap().threads
        };
        assert_eq!(threads(&Cpus::Auto, ALONE), 1);
        assert_eq!(threads(&Cpus::Auto, BESIDE_THE_SERVER), 1);
        assert_eq!(threads(&Cpus::List(vec![0, 1, 2]), ALONE), 3);
    }

    #[test]
    fn processors_of_the_plan_hold_on_every_generator() {
        let list = Cpus::List(vec![3, 0, 1]);
        for here in [ALONE, BESIDE_THE_SERVER, BESIDE_THE_UPSTREAM] {
            check(&list, here, 3, &[3, 0, 1]);
        }
        let absent = engine(&Cpus::List(vec![0, 99]), ALONE, &[0, 1], 1);
        let why = absent.unwrap_err().to_string();
        assert!(why.contains("the engine to processor 99"), "{why}");
    }
}
