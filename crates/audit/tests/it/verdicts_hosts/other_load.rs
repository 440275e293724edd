//! What other programs had of hosts, and what of it belongs to the trial.

use bakeoff_record::{Role, TreeTick, TreeUsage};

use super::*;

/// Readings from a second before the window to its end.
fn times(window_s: f64) -> impl Iterator<Item = f64> {
    (-10..=(window_s * 10.0) as i32).map(|tick| f64::from(tick) / 10.0)
}

/// Processes that had so many processors all the time.
fn tree_of(role: Role, cpus: f64, window_s: f64) -> TreeUsage {
    let tick = |at_s: f64| TreeTick {
        at_s,
        cpu_user_s: (at_s + 1.0) * cpus,
        ..TreeTick::default()
    };
    TreeUsage {
        role,
        cpu_source: "process-clock".to_owned(),
        ticks: times(window_s).map(tick).collect(),
        ended: Some(Vec::new()),
    }
}

/// What g2 did in every part of the window: its engine's processors, those of others, and time
/// that a quota took.
fn doings(trial: &mut TrialRecord, engine: f64, others: f64, throttled: f64) {
    let window_s = result(trial).measured_s;
    let host = times(window_s).map(|at_s| HostTick {
        at_s,
        cpus: vec![CpuShares {
            user: engine + others,
            idle: 1.0 - engine - others,
            ..CpuShares::default()
        }],
        net: Some(NetCounts::default()),
        softnet: Some(Softnet::default()),
        throttled_us: Some((at_s.max(0.0) * throttled * 1e6) as u64),
        ..HostTick::default()
    });
    let usage = Usage {
        host: host.collect(),
        trees: vec![tree_of(Role::Engine, engine, window_s)],
        interrupts_apart: Some(false),
        ..Usage::default()
    };
    hosts(trial).hosts[2].usage = Some(usage);
}

/// What the server's probe sees of its processors besides: so many more are busy all the time.
fn make_busier(trial: &mut TrialRecord, cpus: f64) {
    for tick in &mut trial.usage.host {
        tick.cpus[0].user += cpus;
        tick.cpus[0].idle -= cpus;
    }
}

/// How other load is judged after a change to a sound trial.
fn level_after(change: impl FnOnce(&mut TrialRecord)) -> Level {
    let judgement = judge(SOUND, change);
    let check = judgement.check(Code::OtherLoad).expect("it was made");
    check.level
}

#[test]
fn what_else_ran_on_a_generator_is_named_with_it() {
    let text = |engine, others, throttled, code| {
        let judgement = judge(SOUND, |trial| doings(trial, engine, others, throttled));
        let check = judgement.check(code).expect("it was made");
        (check.level, check.text.clone())
    };
    let (level, _) = text(0.5, 0.1, 0.0, Code::OtherLoad);
    assert_eq!(level, Level::Passed, "the engine is no other load");
    assert_eq!(
        text(0.4, 0.2, 0.0, Code::OtherLoad),
        (
            Level::Suspect,
            "other programs kept 0.20 processors of g2 busy".to_owned()
        )
    );
    assert_eq!(text(0.1, 0.4, 0.0, Code::OtherLoad).0, Level::Disturbed);
    assert_eq!(
        text(0.1, 0.0, 0.02, Code::Throttled),
        (
            Level::Disturbed,
            "a quota of CPU time held programs on g2 back for 2.0 % of the window".to_owned()
        )
    );
}

/// Two generators that share the server's kernel are seen by its probe, and are no strangers.
#[test]
fn engines_on_the_servers_kernel_are_no_other_load() {
    let check = |kernel: u32| {
        level_after(|trial| {
            doings(trial, 0.4, 0.0, 0.0);
            let facts = &mut trial.hosts.as_mut().expect("there are hosts").hosts;
            facts[2].kernel = kernel;
            make_busier(trial, 0.4);
        })
    };
    assert_eq!(check(1), Level::Passed, "the server's");
    assert_ne!(check(3), Level::Passed, "another one");
}

/// What the upstream does on a host of a generator belongs to the trial as its engine does.
#[test]
fn an_upstream_on_the_host_of_a_generator_is_no_other_load() {
    let level = |upstream: f64| {
        level_after(|trial| {
            doings(trial, 0.3, 0.5, 0.0);
            let tree = tree_of(Role::Origin, upstream, result(trial).measured_s);
            let facts = &mut trial.hosts.as_mut().expect("there are hosts").hosts;
            facts[2].roles.push(HostRole::Origin);
            let usage = facts[2].usage.as_mut().expect("it is sampled");
            usage.trees.push(tree);
        })
    };
    assert_eq!(level(0.5), Level::Passed);
    assert_eq!(level(0.1), Level::Disturbed);
}

/// The server's probe sees its processors, but not whose they are.
#[test]
fn an_upstream_on_another_host_of_the_servers_kernel_is_no_other_load() {
    let level = |kernel: u32| {
        level_after(|trial| {
            let tree = tree_of(Role::Origin, 0.4, result(trial).measured_s);
            let mut up = host("up", "netns", HostRole::Origin, kernel);
            up.usage = Some(Usage {
                trees: vec![tree],
                ..quiet()
            });
            hosts(trial).hosts.push(up);
            make_busier(trial, 0.4);
        })
    };
    assert_eq!(level(1), Level::Passed, "the server's");
    assert_ne!(level(4), Level::Passed, "another one");
}

/// What a generator on the server's own host has is distinguished from what others have there.
#[test]
fn other_load_is_seen_beside_a_generator_on_the_servers_host() {
    let level = |engine: Option<f64>, others: f64| {
        level_after(|trial| {
            let window_s = result(trial).measured_s;
            let together = hosts(trial);
            together.hosts.remove(1);
            together.generators[0].host = "sut".to_owned();
            let sut = &mut together.hosts[0];
            sut.roles.push(HostRole::Generator);
            sut.usage = engine.map(|cpus| Usage {
                trees: vec![tree_of(Role::Engine, cpus, window_s)],
                ..Usage::default()
            });
            let more = engine.unwrap_or_default() + others;
            trial.usage.interrupts_apart = Some(false);
            make_busier(trial, more);
        })
    };
    assert_eq!(level(Some(0.1), 0.0), Level::Passed);
    assert_ne!(level(Some(0.1), 0.4), Level::Passed);
    assert_ne!(level(Some(0.1), 0.4), Level::NotRun);
    assert_eq!(level(None, 0.0), Level::NotRun);
}
