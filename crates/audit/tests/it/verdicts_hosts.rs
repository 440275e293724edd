//! A fault put into a sound trial must weaken the numbers that it spoils, and only those, through
//! its own check; its clean twin must weaken none. Here: a load from other hosts.

#[allow(dead_code)]
mod held;
mod other_load;

use bakeoff_audit::{Code, Level};
use bakeoff_record::{
    ClockReading, CpuShares, Generator, Histogram, HostClock, HostFacts, HostRole, HostTick, Hosts,
    LinkFacts, LoadResult, LostHost, NetCounts, Softnet, ThreadUsage, TrialRecord, Usage, When,
};

use crate::planted::*;

const NO_LINK: &str = "link-measured: rate not-run, latency not-run; way: latency not-run";

fn reading(error_ns: u64) -> ClockReading {
    ClockReading {
        offset_ns: 86_400_000_000_000,
        error_ns,
        rtt_ns: 2 * error_ns,
    }
}

fn host(name: &str, transport: &str, role: HostRole, kernel: u32) -> HostFacts {
    let is_home = transport == "home";
    HostFacts {
        name: name.to_owned(),
        transport: transport.to_owned(),
        roles: vec![role],
        kernel,
        clock: (!is_home).then(|| HostClock {
            before: reading(40_000),
            after: reading(50_000),
        }),
        usage: (!is_home).then(quiet),
    }
}

/// What a host samples on which nothing happens.
fn quiet() -> Usage {
    let tick = |at_s| HostTick {
        at_s,
        net: Some(NetCounts::default()),
        softnet: Some(Softnet::default()),
        ..HostTick::default()
    };
    Usage {
        host: [0.0, 1.0, 2.0].map(tick).to_vec(),
        ..Usage::default()
    }
}

fn link(to: &[&str], bits_per_s: f64, when: When) -> LinkFacts {
    LinkFacts {
        from: vec!["sut".to_owned()],
        to: to.iter().map(|name| (*name).to_owned()).collect(),
        bits_per_s,
        at_least: false,
        rtt_ns: Some(1_000),
        when,
    }
}

/// The same trial with the server at home, and the load from two hosts, a half of it each.
fn apart(trial: &mut TrialRecord) {
    for tick in &mut trial.usage.host {
        tick.net = Some(NetCounts::default());
    }
    let half = half(result(trial));
    let part = |host: &str, began_ns| Generator {
        host: host.to_owned(),
        began_ns: Some(began_ns),
        result: half.clone(),
    };
    let links = [When::Before, When::After].into_iter().flat_map(|when| {
        let to: [&[&str]; 3] = [&["g1"], &["g2"], &["g1", "g2"]];
        to.map(|to| link(to, 10e9, when))
    });
    trial.hosts = Some(Hosts {
        hosts: vec![
            host("sut", "home", HostRole::Server, 1),
            host("g1", "ssh", HostRole::Generator, 2),
            host("g2", "ssh", HostRole::Generator, 3),
        ],
        links: links.collect(),
        generators: vec![part("g1", 100_000), part("g2", 900_000)],
        lost: Vec::new(),
    });
}

fn half(whole: &LoadResult) -> LoadResult {
    let mut half = whole.clone();
    half.requests.ok /= 2;
    half.bytes.read /= 2;
    half.bytes.written /= 2;
    half.observed.clients.count /= 2;
    half
}

fn hosts(trial: &mut TrialRecord) -> &mut Hosts {
    apart(trial);
    trial.hosts.as_mut().expect("they were put in")
}

/// The links together carry `times` times what the trial used of them.
fn room(trial: &mut TrialRecord, times: f64) {
    let whole = result(trial);
    let used = whole.bytes.read as f64 * 8.0 / whole.measured_s;
    for link in &mut hosts(trial).links {
        if link.to.len() == 2 {
            link.bits_per_s = used * times;
        }
    }
}

fn began(trial: &mut TrialRecord, apart_ms: i64) {
    hosts(trial).generators[1].began_ns = Some(100_000 + apart_ms * 1_000_000);
}

fn clock(trial: &mut TrialRecord, error_ns: u64) {
    hosts(trial).hosts[2].clock = Some(HostClock {
        before: reading(40_000),
        after: reading(error_ns),
    });
}

fn way(trial: &mut TrialRecord, share: f64) {
    let p50 = result(trial).latency.quantile(0.5).expect("it has answers") as f64;
    for link in &mut hosts(trial).links {
        if link.to == ["g1"] {
            link.rtt_ns = Some((p50 * share) as u64);
        }
    }
}

fn g2(trial: &mut TrialRecord) -> &mut LoadResult {
    &mut hosts(trial).generators[1].result
}

fn last_tick(trial: &mut TrialRecord) -> &mut HostTick {
    let usage = hosts(trial).hosts[2].usage.as_mut();
    let ticks = &mut usage.expect("it is sampled").host;
    ticks.last_mut().expect("it has ticks")
}

#[test]
fn a_load_from_two_hosts_is_as_sound_as_one_from_here() {
    each(SOUND, &[(apart, "")]);
    let judgement = judge(SOUND, apart);
    let level = |code| judgement.check(code).map(|check| check.level);
    assert_eq!(level(Code::CoLocated), Some(Level::Passed));
    assert_eq!(level(Code::HostLost), None);
    let here = judge(SOUND, |_| {});
    assert_eq!(
        here.check(Code::CoLocated).map(|it| it.level),
        Some(Level::Note)
    );
    assert!(here.check(Code::LinkRoom).is_none() && here.check(Code::StartSpread).is_none());
}

#[test]
fn a_full_link_is_what_was_measured() {
    each(
        SOUND,
        &[
            (|trial| room(trial, 1.28), ""),
            (
                |trial| room(trial, 1.25),
                "link-room: rate suspect, latency suspect",
            ),
        ],
    );
    let judgement = judge(SOUND, |trial| room(trial, 1.0));
    let text = text_of(&judgement, Code::LinkRoom);
    assert!(text.starts_with("sut -> g1+g2 carried "), "{text}");
    // What the interfaces carried counts, where that is more than the engine's bytes.
    let more = |trial: &mut TrialRecord| {
        let measured_s = result(trial).measured_s;
        let tick = last_tick(trial);
        (tick.at_s, tick.net) = (
            measured_s,
            Some(NetCounts {
                received_bytes: (measured_s * 8.1e9 / 8.0) as u64,
                ..NetCounts::default()
            }),
        );
    };
    let judgement = judge(SOUND, more);
    assert_eq!(
        reported(&judgement),
        ["link-room: rate suspect, latency suspect"]
    );
    assert!(text_of(&judgement, Code::LinkRoom).starts_with("sut -> g1+g2"));
}

/// Where a processor was full before the link was, nobody knows what the link carries.
#[test]
fn a_link_that_was_never_full_held_nothing_down() {
    let at_least = |trial: &mut TrialRecord, times: f64, all: bool| {
        room(trial, times);
        let links = &mut trial.hosts.as_mut().expect("there are hosts").links;
        for link in links {
            link.at_least = all || link.when == When::Before;
        }
    };
    let judgement = judge(SOUND, |trial| at_least(trial, 1.0, true));
    let check = judgement.check(Code::LinkRoom).expect("it was made");
    assert_eq!(check.level, Level::Note);
    assert!(check.text.contains("of at least"), "{}", check.text);
    let roomy = judge(SOUND, |trial| at_least(trial, 2.0, true));
    let roomy = roomy.check(Code::LinkRoom).map(|check| check.level);
    assert_eq!(roomy, Some(Level::Passed), "there was room in any case");
    let known = judge(SOUND, |trial| at_least(trial, 1.0, false));
    let known = known.check(Code::LinkRoom).map(|check| check.level);
    assert_eq!(known, Some(Level::Suspect), "the other measurement says it");
    // More crossed it than was measured.
    let more = judge(SOUND, |trial| room(trial, 0.5));
    let more = more.check(Code::LinkRoom).expect("it was made");
    assert_eq!(more.level, Level::Note);
    let says = "Mbit/s: it was not full when it was measured";
    assert!(
        more.text.contains("of at least") && more.text.contains(says),
        "{}",
        more.text
    );
}

#[test]
fn links_are_measured_before_and_after_and_come_to_the_same() {
    fn after(trial: &mut TrialRecord, bits_per_s: f64) {
        let links = &mut hosts(trial).links;
        links.last_mut().expect("there are links").bits_per_s = bits_per_s;
    }
    each(
        SOUND,
        &[
            (|trial| after(trial, 9.1e9), ""),
            // The lower of the two is what a trial may use.
            (|trial| after(trial, 8.9e9), ""),
            (|trial| hosts(trial).links.clear(), NO_LINK),
            (
                |trial| hosts(trial).links.retain(|link| link.to == ["g2"]),
                "link-measured: rate not-run, latency not-run",
            ),
            (
                |trial| hosts(trial).links.retain(|link| link.when == When::Before),
                "",
            ),
        ],
    );
}

#[test]
fn a_link_that_changed_is_noted_with_both_figures() {
    let changed = |to: f64| {
        let judgement = judge(SOUND, |trial| {
            let links = &mut hosts(trial).links;
            links.last_mut().expect("there are links").bits_per_s = to;
        });
        let check = judgement.check(Code::LinkMeasured).expect("it was made");
        (check.level, check.text.clone())
    };
    assert_eq!(changed(9.1e9).0, Level::Passed);
    let (level, text) = changed(8.9e9);
    assert_eq!(level, Level::Note);
    assert_eq!(
        text,
        "sut -> g1+g2 carried 10000.0 Mbit/s before the first round and 8900.0 after the last"
    );
}

#[test]
fn a_long_way_is_in_the_latency() {
    each(
        SOUND,
        &[
            (|trial| way(trial, 0.45), ""),
            (|trial| way(trial, 0.55), "way: latency suspect"),
        ],
    );
}

/// Lets the clock of a host move by a share of the window while the load runs.
fn moved(trial: &mut TrialRecord, share: f64) {
    let window_s = result(trial).measured_s;
    let clock = hosts(trial).hosts[2].clock.as_mut().expect("it has one");
    clock.after.offset_ns = clock.before.offset_ns + (share * window_s * 1e9) as i64;
}

#[test]
fn clocks_are_known_well_enough_for_one_axis() {
    each(
        SOUND,
        &[
            (|trial| clock(trial, 900_000), ""),
            (
                |trial| clock(trial, 1_100_000),
                "clock-error: rate suspect, latency suspect, cpu suspect",
            ),
            (
                |trial| {
                    let window_s = result(trial).measured_s;
                    result(trial).load.warmup_s = window_s;
                    clock(trial, (window_s * 1.1e7) as u64);
                },
                "clock-error: rate invalid, latency invalid, cpu invalid; \
                 start-spread: rate suspect, latency suspect",
            ),
            // 0.4 % and 0.6 % of the window, known to within much less.
            (|trial| moved(trial, 0.004), ""),
            (
                |trial| moved(trial, -0.006),
                "clock-error: rate suspect, latency suspect, cpu suspect",
            ),
            (
                |trial| hosts(trial).hosts[1].clock = None,
                "clock-error: rate not-run, latency not-run, cpu not-run",
            ),
        ],
    );
}

#[test]
fn generators_begin_together() {
    each(
        SOUND,
        &[
            (|trial| began(trial, 9), ""),
            (
                |trial| {
                    result(trial).load.warmup_s = 1.0;
                    began(trial, 11);
                },
                "start-spread: rate suspect, latency suspect",
            ),
            (
                |trial| {
                    result(trial).load.warmup_s = 1.0;
                    began(trial, 1_001);
                },
                "start-spread: rate invalid, latency invalid",
            ),
            // At one time, and late.
            (
                |trial| {
                    result(trial).load.warmup_s = 1.0;
                    for part in &mut hosts(trial).generators {
                        part.began_ns = Some(11_000_000);
                    }
                },
                "start-spread: rate suspect, latency suspect",
            ),
            (
                |trial| hosts(trial).generators[0].began_ns = None,
                "start-spread: rate not-run, latency not-run",
            ),
        ],
    );
    let judgement = judge(SOUND, |trial| began(trial, 11));
    let text = text_of(&judgement, Code::StartSpread);
    assert!(
        text.starts_with("2 generators began within 11.2 ms"),
        "{text}"
    );
}

#[test]
fn generators_with_equal_shares_see_the_same() {
    fn slower(trial: &mut TrialRecord, share: f64) {
        let ok = &mut g2(trial).requests.ok;
        *ok = (*ok as f64 * share) as u64;
    }
    each(
        SOUND,
        &[
            (|trial| slower(trial, 0.92), ""),
            (
                |trial| slower(trial, 0.88),
                "generators-agree: rate suspect, latency suspect",
            ),
            (
                |trial| slower(trial, 0.0),
                "generators-agree: rate invalid, latency invalid",
            ),
            // A third of the clients has a third of the rate.
            (
                |trial| {
                    let part = g2(trial);
                    part.observed.clients.count = part.observed.clients.count.div_ceil(2);
                    let whole = part.requests.ok as f64;
                    let clients = part.observed.clients.count as f64;
                    part.requests.ok = (whole * clients / 5.0) as u64;
                },
                "",
            ),
            (
                |trial| {
                    let p50 = result(trial).latency.quantile(0.5).expect("answers");
                    let mut later = Histogram::new();
                    later.record_n(p50 * 5 / 4, 1_000);
                    let part = g2(trial);
                    part.latency = later;
                },
                "generators-agree: rate suspect, latency suspect",
            ),
        ],
    );
}

/// The numbers of answers of the two.
fn answered(trial: &mut TrialRecord, answers: [u64; 2]) {
    for (part, answers) in hosts(trial).generators.iter_mut().zip(answers) {
        part.result.requests.ok = answers;
    }
}

/// Four answers in ten of one took 2 ms and the others 1 ms, and the other way round.
fn in_two_modes(trial: &mut TrialRecord, times: u64) {
    for (part, slow) in hosts(trial).generators.iter_mut().zip([4, 6]) {
        let latency = &mut part.result.latency;
        latency.clear();
        latency.record_n(1_000_000, (10 - slow) * times);
        latency.record_n(2_000_000, slow * times);
    }
}

#[test]
fn generators_with_few_answers_may_differ_by_chance() {
    let apart = "generators-agree: rate suspect, latency suspect";
    each(
        SOUND,
        &[
            (|trial| answered(trial, [40, 30]), ""),
            (|trial| answered(trial, [40, 10]), apart),
            (|trial| answered(trial, [4_000, 3_000]), apart),
            (|trial| in_two_modes(trial, 1), ""),
            (|trial| in_two_modes(trial, 1_000), apart),
        ],
    );
}

#[test]
fn what_a_host_drops_is_sent_again_later() {
    each(
        SOUND,
        &[
            (
                |trial| {
                    last_tick(trial).net = Some(NetCounts {
                        received_dropped: 100,
                        ..NetCounts::default()
                    });
                },
                "host-drops: rate suspect, latency suspect",
            ),
            // The frame of a switch that no program asked for.
            (
                |trial| {
                    last_tick(trial).net = Some(NetCounts {
                        received_dropped: 1,
                        ..NetCounts::default()
                    });
                },
                "",
            ),
            (
                |trial| {
                    last_tick(trial).softnet = Some(Softnet {
                        dropped: 0,
                        squeezed: 100,
                    });
                },
                "host-drops: rate suspect, latency suspect",
            ),
            (
                |trial| {
                    last_tick(trial).softnet = Some(Softnet {
                        dropped: 100,
                        squeezed: 0,
                    });
                },
                "host-drops: rate suspect, latency suspect",
            ),
            (
                |trial| hosts(trial).hosts[1].usage = Some(Usage::default()),
                "host-drops: rate not-run, latency not-run",
            ),
        ],
    );
}

#[test]
fn a_lost_host_leaves_no_number() {
    let judgement = judge(SOUND, |trial| {
        hosts(trial).lost.push(LostHost {
            host: "g2".to_owned(),
            at_s: Some(1.25),
            message: "no answer for 10 s".to_owned(),
        });
    });
    let check = judgement.check(Code::HostLost).expect("it was made");
    assert_eq!(check.level, Level::Invalid);
    assert_eq!(
        check.text,
        "g2 was lost 1.2 s after the window opened: no answer for 10 s"
    );
    let all = reported(&judgement);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].contains("counts invalid"), "{all:?}");
}

#[test]
fn of_several_generators_the_worst_one_is_named() {
    let busy = judge(SOUND, |trial| {
        let part = g2(trial);
        part.engine.threads = vec![ThreadUsage {
            cpu_s: 0.6 * part.measured_s,
            ..ThreadUsage::default()
        }];
    });
    assert_eq!(reported(&busy), ["engine-busy: latency suspect"]);
    let text = text_of(&busy, Code::EngineBusy);
    assert!(
        text.starts_with("g2: the engine's busiest thread worked 60 %"),
        "{text}"
    );
    let stolen = judge(SOUND, |trial| {
        last_tick(trial).cpus = vec![CpuShares {
            steal: 0.06,
            ..CpuShares::default()
        }];
    });
    assert_eq!(reported(&stolen), [format!("steal: {TIMED_SUSPECT}")]);
    let text = text_of(&stolen, Code::Steal);
    assert!(text.contains("a processor of g2"), "{text}");
}

#[test]
fn hosts_of_one_kernel_share_its_processors() {
    let judgement = judge(SOUND, |trial| {
        for host in &mut hosts(trial).hosts {
            host.kernel = 1;
        }
    });
    assert_eq!(reported(&judgement), [""; 0]);
    let check = judgement.check(Code::CoLocated).expect("it was made");
    assert_eq!(check.level, Level::Note);
    assert!(
        check.text.contains("3 hosts share 1 kernel;"),
        "{}",
        check.text
    );
}

#[test]
fn a_generator_that_was_not_sampled_may_have_had_anything() {
    let judgement = judge(SOUND, |trial| hosts(trial).hosts[2].usage = None);
    for code in [Code::OtherLoad, Code::Steal, Code::HostDrops] {
        let check = judgement.check(code).expect("it was made");
        assert_eq!(check.level, Level::NotRun, "{code:?}");
        assert_eq!(check.text, "what happened on g2 was not sampled");
    }
}
