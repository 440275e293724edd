use bakeoff_plan::{Builtin, builtin_plan};

use super::*;
use crate::ThreadUsage;
use crate::trial::TrialEnd;
use crate::usage::Usage;

/// Length of the window, seconds.
const WINDOW_S: f64 = 2.0;
/// Readings a second.
const PER_S: i32 = 10;

/// What a machine of two processors did in every second: server on the first, engine on the
/// second.
#[derive(Clone, Copy)]
struct Doings {
    server: f64,
    engine: f64,
    foreign_on_server: f64,
    foreign_on_engine: f64,
    steal: f64,
    softirq: f64,
}

const QUIET: Doings = Doings {
    server: 0.8,
    engine: 0.4,
    foreign_on_server: 0.0,
    foreign_on_engine: 0.0,
    steal: 0.0,
    softirq: 0.0,
};

fn result() -> LoadResult {
    let text = builtin_plan("smoke").expect("a ready plan");
    let path = std::path::Path::new("/");
    let plan = bakeoff_plan::parse(text, "smoke", path, &Builtin).expect("it is right");
    LoadResult::empty(plan.loads[0].clone(), WINDOW_S)
}

fn trial(doings: Doings) -> TrialRecord {
    let times = || (-PER_S..=(WINDOW_S as i32) * PER_S).map(|tick| f64::from(tick) / 10.0);
    let tree = |role, cpus: f64| TreeUsage {
        role,
        cpu_source: "cgroup".into(),
        ticks: times()
            .map(|at_s| TreeTick {
                at_s,
                cpu_user_s: (at_s + 1.0) * cpus,
                ..TreeTick::default()
            })
            .collect(),
        ended: None,
    };
    let cpu = |cpu, programs: f64| CpuShares {
        cpu,
        user: programs,
        softirq: doings.softirq,
        steal: doings.steal,
        idle: 1.0 - programs - doings.softirq - doings.steal,
        ..CpuShares::default()
    };
    let host = times().map(|at_s| HostTick {
        at_s,
        cpus: vec![
            cpu(0, doings.server + doings.foreign_on_server),
            cpu(1, doings.engine + doings.foreign_on_engine),
        ],
        ..HostTick::default()
    });
    let usage = Usage {
        trees: vec![
            tree(Role::Server, doings.server),
            tree(Role::Engine, doings.engine),
        ],
        host: host.collect(),
        ..Usage::default()
    };
    let result = result();
    let load = result.load.clone();
    TrialRecord {
        end: TrialEnd::Measured,
        pinned: Pinned {
            server: vec![0],
            engine: vec![1],
            origin: Vec::new(),
        },
        result: Some(result),
        usage,
        ..TrialRecord::begun("r1", "a", "w", load)
    }
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-6
}

#[test]
fn a_quiet_machine_disturbs_nothing() {
    let trial = trial(QUIET);
    assert!(close(foreign_cpus(&trial).unwrap().worst(), 0.0));
    assert_eq!(disturbances(&trial), []);
}

#[test]
fn other_load_is_what_the_trial_did_not_use() {
    let both = Doings {
        foreign_on_server: 0.2,
        foreign_on_engine: 0.25,
        ..QUIET
    };
    let trial = trial(both);
    let foreign = foreign_cpus(&trial).unwrap();
    assert!(close(foreign.machine, 0.45), "{foreign:?}");
    assert!(close(foreign.on_server.unwrap(), 0.2), "{foreign:?}");
    assert_eq!(disturbances(&trial), [Disturbance::OtherLoad]);
}

#[test]
fn a_trial_of_a_search_is_in_doubt_before_it_is_disturbed() {
    let check = |doings: Doings, expected: &[Disturbance]| {
        let mut trial = trial(doings);
        assert_eq!(doubts(&trial), None, "its rate was given");
        trial.load_name = Some("find-p99-1s-c100".to_owned());
        assert_eq!(doubts(&trial).as_deref(), Some(expected));
        assert_eq!(disturbances(&trial), []);
    };
    check(QUIET, &[]);
    let foreign = |foreign_on_server| Doings {
        foreign_on_server,
        ..QUIET
    };
    check(foreign(0.14), &[]);
    check(foreign(0.16), &[Disturbance::OtherLoad]);
    let steal = |steal| Doings { steal, ..QUIET };
    check(steal(0.04), &[]);
    check(steal(0.06), &[Disturbance::Steal]);
}

#[test]
fn other_load_is_known_from_reading_to_reading() {
    let mut trial = trial(QUIET);
    trial.usage.interrupts_apart = Some(true);
    for tick in trial.usage.host.iter_mut().filter(|it| it.at_s > 1.5) {
        tick.cpus[1].user += 0.5;
    }
    let foreign = foreign_over_time(&trial).unwrap();
    assert_eq!(foreign.len(), (WINDOW_S as usize) * 10);
    let late = foreign.iter().filter(|cpus| close(**cpus, 0.5)).count();
    let none = foreign.iter().filter(|cpus| close(**cpus, 0.0)).count();
    assert_eq!((none, late), (15, 5), "{foreign:?}");
    trial.usage.trees.clear();
    assert_eq!(foreign_over_time(&trial), None);
}

#[test]
fn an_engine_beside_the_server_is_not_foreign_to_it() {
    let mut trial = trial(Doings {
        foreign_on_server: 0.2,
        ..QUIET
    });
    // The server's processor had 0.8 of the server and 0.2 of the engine; what the other one had
    // is foreign.
    for tick in &mut trial.usage.trees[1].ticks {
        tick.cpu_user_s *= 0.5;
    }
    trial.pinned.engine = vec![0];
    let foreign = foreign_cpus(&trial).unwrap();
    assert!(close(foreign.machine, 0.4), "{foreign:?}");
    assert!(close(foreign.on_server.unwrap(), 0.0), "{foreign:?}");
}

#[test]
fn roles_that_share_a_part_of_processors_are_not_distinguished() {
    let mut trial = trial(QUIET);
    trial.pinned.engine = vec![0, 1];
    assert_eq!(foreign_cpus(&trial).unwrap().on_server, None);
    trial.pinned = Pinned::default();
    assert_eq!(foreign_cpus(&trial).unwrap().on_server, None);
}

#[test]
fn interrupts_that_are_charged_to_nobody_are_not_foreign() {
    let mut trial = trial(Doings {
        softirq: 0.18,
        ..QUIET
    });
    for reported in [None, Some(true)] {
        trial.usage.interrupts_apart = reported;
        assert!(
            close(foreign_cpus(&trial).unwrap().machine, 0.0),
            "{reported:?}"
        );
    }
    trial.usage.interrupts_apart = Some(false);
    assert!(close(foreign_cpus(&trial).unwrap().machine, 0.36));
}

#[test]
fn readings_that_do_not_cover_the_window_give_no_number() {
    let mut trial = trial(Doings {
        foreign_on_server: 0.9,
        ..QUIET
    });
    trial.usage.host.retain(|tick| tick.at_s < 1.0);
    assert_eq!(foreign_cpus(&trial), None);
    assert_eq!(steal_share(&trial), None);
    let mut trial = self::trial(QUIET);
    trial.usage.trees.retain(|tree| tree.role != Role::Engine);
    assert_eq!(foreign_cpus(&trial), None);
    trial.result = None;
    assert_eq!(disturbances(&trial), []);
}

/// A reading of a tree's CPU time so far.
fn reading(at_s: f64, cpu_user_s: f64) -> TreeTick {
    TreeTick {
        at_s,
        cpu_user_s,
        ..TreeTick::default()
    }
}

#[test]
fn cpu_time_is_interpolated_at_the_edges_of_a_span() {
    let ticks = [
        reading(-0.5, 0.0),
        reading(0.5, 1.0),
        reading(1.5, 1.5),
        reading(2.5, 3.5),
    ];
    // At 0 it is half of 1.0, at 2 half-way from 1.5 to 3.5: 2.5 - 0.5 = 2.0.
    assert_eq!(cpu_seconds_between(&ticks, 0.0, 2.0), Some(2.0));
}

#[test]
fn cpu_time_is_not_extrapolated() {
    let ticks = [reading(0.1, 0.0), reading(1.0, 0.9)];
    assert!(cpu_seconds_between(&ticks, 0.0, 1.2).is_some());
    assert_eq!(cpu_seconds_between(&ticks, 0.0, 2.0), None);
    assert_eq!(cpu_seconds_between(&[], 0.0, 1.0), None);
}

#[test]
fn steal_throttling_and_a_kept_engine_disturb() {
    let mut trial = trial(Doings {
        steal: 0.12,
        ..QUIET
    });
    for tick in &mut trial.usage.host {
        tick.throttled_us = Some(((tick.at_s + 1.0) * 50_000.0) as u64);
    }
    let thread = |kept_s| ThreadUsage {
        kept_s,
        ..ThreadUsage::default()
    };
    let result = trial.result.as_mut().unwrap();
    result.engine.threads = vec![thread(0.1), thread(0.5)];
    assert!(close(engine_kept_share(result).unwrap(), 0.25));
    assert_eq!(
        disturbances(&trial),
        [
            Disturbance::Steal,
            Disturbance::Throttled,
            Disturbance::EngineKept
        ]
    );
    // What was given the engine's processor by plan is no stranger.
    trial.pinned.engine = vec![0];
    for given in [vec![0], vec![0, 1]] {
        trial.pinned.server = given;
        assert!(!disturbances(&trial).contains(&Disturbance::EngineKept));
    }
    trial.pinned.server = vec![1];
    assert!(disturbances(&trial).contains(&Disturbance::EngineKept));
    // A server that is not pinned may use the engine's.
    trial.pinned.server = Vec::new();
    assert!(!disturbances(&trial).contains(&Disturbance::EngineKept));
}

#[test]
fn throttling_before_the_window_does_not_count() {
    let mut trial = trial(QUIET);
    for tick in &mut trial.usage.host {
        tick.throttled_us = Some(if tick.at_s < -0.5 { 0 } else { 900_000 });
    }
    assert_eq!(throttled_share(&trial), Some(0.0));
}

#[test]
fn drift_is_far_from_the_median_of_the_rounds() {
    let steady = [100.0, 103.0, 98.0, 101.0, 60.0];
    assert!(drift(&steady, 60.0));
    assert!(!drift(&steady, 103.0));
    // Where every round differs, a difference says nothing.
    let wild = [50.0, 100.0, 200.0, 70.0, 150.0];
    assert!(!drift(&wild, 50.0));
    assert!(!drift(&[100.0, 10.0], 10.0), "two rates have no median");
    assert!(drift(&[100.0, 100.0, 100.0], 0.0), "no answer at all");
}
