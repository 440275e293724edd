//! A fault put into a sound trial must weaken the numbers that it spoils, and only those, through
//! its own check; its clean twin must weaken none. Here: the load, its engine and its clients.

mod late;
#[allow(dead_code)]
use bakeoff_audit::{Ceilings, Code, Judgement, Level, LoadHosts, Verdict};
use bakeoff_plan::LoadModel;
use bakeoff_record::{Clients, Histogram, LoadResult, SetUp, ThreadUsage, TrialRecord};
use bakeoff_stats::{Metric, Missing};

use crate::planted::*;

/// So much of its processor for the server, of which the hypervisor took some.
fn server_had(trial: &mut TrialRecord, worked: f64, stolen: f64) {
    for tick in &mut trial.usage.trees[0].ticks {
        (tick.cpu_user_s, tick.cpu_system_s) = (worked * tick.at_s, 0.0);
    }
    for tick in &mut trial.usage.host {
        let cpu = &mut tick.cpus[0];
        (cpu.user, cpu.system, cpu.softirq) = (worked, 0.0, 0.0);
        (cpu.steal, cpu.idle) = (stolen, 1.0 - worked - stolen);
    }
}

fn engine_worked(trial: &mut TrialRecord, share: f64, kept: f64) {
    let result = result(trial);
    result.engine.busy_share = vec![share + kept];
    result.engine.threads = vec![ThreadUsage {
        cpu_s: share * result.measured_s,
        kept_s: kept * result.measured_s,
        longest_turn_s: 0.0,
    }];
}

#[test]
fn an_engine_that_works_is_distinguished_from_one_that_is_kept_from_it() {
    each(
        SOUND,
        &[
            (|trial| engine_worked(trial, 0.49, 0.04), ""),
            (
                |trial| engine_worked(trial, 0.60, 0.0),
                "engine-busy: latency suspect",
            ),
            // Both are full: the rate is the server's own.
            (
                |trial| engine_worked(trial, 0.95, 0.0),
                "engine-busy: latency invalid",
            ),
            (
                |trial| {
                    idle_server(trial);
                    engine_worked(trial, 0.95, 0.0);
                },
                "engine-busy: rate suspect, latency invalid",
            ),
            // 92 % of a processor, and others left it no more than 96 %.
            (
                |trial| {
                    server_had(trial, 0.92, 0.04);
                    engine_worked(trial, 0.95, 0.0);
                },
                "engine-busy: latency invalid",
            ),
            (
                |trial| {
                    server_had(trial, 0.92, 0.0);
                    engine_worked(trial, 0.95, 0.0);
                },
                "engine-busy: rate suspect, latency invalid",
            ),
            (
                |trial| engine_worked(trial, 0.4, 0.1),
                "engine-kept: latency suspect",
            ),
            (
                |trial| {
                    idle_server(trial);
                    engine_worked(trial, 0.48, 0.52);
                },
                "engine-kept: rate disturbed, latency disturbed",
            ),
        ],
    );
    let stranger = judge(SOUND, |trial| {
        idle_server(trial);
        engine_worked(trial, 0.48, 0.52);
    });
    assert!(!text_of(&stranger, Code::EngineBusy).contains("set the pace"));
}

#[test]
fn an_engine_that_reads_late_is_in_the_latencies() {
    let lag = |share: f64| {
        judge(SOUND, move |trial| {
            let result = result(trial);
            let median = result.latency.quantile(0.5).unwrap_or(0) as f64;
            let lag = &mut result.observed.engine_lag;
            lag.clear();
            lag.record_n((median * share) as u64, 1_000);
        })
    };
    assert_eq!(reported(&lag(0.04)), [""; 0]);
    assert_eq!(reported(&lag(0.08)), ["engine-lag: latency suspect"]);
}

#[test]
fn one_late_reading_of_few_does_not_show_that_the_engine_is_late() {
    let late = |times: u64| {
        judge(SOUND, move |trial| {
            let result = result(trial);
            let p99 = result.latency.quantile(0.99).unwrap_or(0) as f64;
            let lag = &mut result.observed.engine_lag;
            lag.clear();
            lag.record_n(1_000, 14 - times);
            lag.record_n((p99 * 0.5) as u64, times);
        })
    };
    assert_eq!(reported(&late(1)), [""; 0]);
    let twice = late(2);
    assert_eq!(reported(&twice), ["engine-lag: latency suspect"]);
    let text = text_of(&twice, Code::EngineLag);
    assert!(text.contains("of 14 that were timed"), "{text}");
    assert!(text.contains("with 95 % confidence 50 %"), "{text}");
}

#[test]
fn a_rate_near_the_yardstick_is_a_bound_unless_the_server_was_full() {
    let beside = |yardstick: Option<f64>, fault: Fault| {
        let ceilings = Ceilings {
            yardstick,
            ..CEILINGS
        };
        reported(&judge_beside(SOUND, ceilings, fault)).join("; ")
    };
    let untouched: Fault = |_| {};
    for (yardstick, fault, expected) in [
        (Some(92_000.0), untouched, ""),
        (Some(92_000.0), idle_server, ""),
        (
            Some(50_000.0),
            idle_server,
            "generator-ceiling: rate suspect, latency suspect",
        ),
        (
            Some(50_000.0),
            untouched,
            "generator-ceiling: latency suspect",
        ),
        // A server that beats the yardstick proves that it is no ceiling.
        (Some(40_000.0), untouched, ""),
        (
            Some(40_000.0),
            idle_server,
            "generator-ceiling: rate not-run",
        ),
        (None, untouched, ""),
        (None, idle_server, "generator-ceiling: rate not-run"),
        (
            None,
            |trial| {
                idle_server(trial);
                engine_worked(trial, 0.6, 0.0);
            },
            "generator-ceiling: rate not-run, latency not-run; engine-busy: latency suspect",
        ),
    ] {
        let mut found: Vec<String> = beside(yardstick, fault)
            .split("; ")
            .map(str::to_owned)
            .collect();
        let mut expected: Vec<String> = expected.split("; ").map(str::to_owned).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{yardstick:?}");
    }
    let near = Ceilings {
        origin: Some(40_000.0),
        ..CEILINGS
    };
    let judgement = judge_beside(PROXIED, near, |_| {});
    assert_eq!(
        reported(&judgement),
        ["backend-bound: rate suspect, latency suspect"]
    );
}

#[test]
fn starving_clients_are_the_servers_doing() {
    let hungry = |none: u64, waiting_long: u64| {
        judge(SOUND, move |trial| {
            result(trial).observed.clients = Clients {
                count: 200,
                none,
                waiting_long,
                ..Clients::default()
            };
        })
    };
    assert_eq!(reported(&hungry(0, 2)), [""; 0]);
    assert_eq!(reported(&hungry(0, 3)), ["starved: latency suspect"]);
    assert_eq!(reported(&hungry(40, 107)), ["starved: latency invalid"]);
    let found = hungry(40, 107);
    let text = text_of(&found, Code::Starved);
    assert!(
        text.starts_with("107 of 200 clients (54 %) had no answer"),
        "{text}"
    );
}

#[test]
fn littles_law_has_a_sign_and_knows_set_up_time() {
    each(
        SOUND,
        &[
            // Ten requests are in flight in the sound trial.
            (
                |trial| result(trial).load.model = LoadModel::Closed { clients: 13 },
                "client-time: rate suspect, latency suspect",
            ),
            // The same, where three of them wait for answers that do not come.
            (
                |trial| {
                    let result = result(trial);
                    result.load.model = LoadModel::Closed { clients: 13 };
                    result.observed.in_flight.counts = vec![13; 100];
                },
                "",
            ),
            (
                |trial| {
                    let result = result(trial);
                    result.load.model = LoadModel::Closed { clients: 13 };
                    result.observed.set_up = SetUp {
                        connecting_s: 5.0,
                        handshaking_s: 10.0,
                        resting_s: 0.0,
                    };
                },
                "",
            ),
            (
                |trial| result(trial).load.model = LoadModel::Closed { clients: 8 },
                "little: latency suspect",
            ),
            (
                |trial| {
                    let result = result(trial);
                    result.load.model = LoadModel::Closed { clients: 8 };
                    result.observed.clients.waiting_long = 4;
                },
                "starved: latency invalid",
            ),
            (
                |trial| {
                    let load = &mut result(trial).load;
                    (load.model, load.streams) = (LoadModel::Closed { clients: 2 }, 5);
                },
                "",
            ),
        ],
    );
}

#[test]
fn a_window_of_two_levels_is_of_neither() {
    let half: Fault = |trial| {
        for part in result(trial).intervals.iter_mut().skip(5) {
            part.ok /= 2;
        }
    };
    let judgement = judge(SOUND, half);
    let expected = "not-steady: rate invalid, latency invalid, cpu suspect";
    assert_eq!(reported(&judgement), [expected]);
    assert_eq!(judgement.verdicts.memory, Verdict::Valid);
    let text = text_of(&judgement, Code::NotSteady);
    assert!(text.contains("45,604/s for 2.5 s, then "), "{text}");
    let few_percent: Fault = |trial| {
        for part in result(trial).intervals.iter_mut().skip(5) {
            part.ok -= part.ok / 33;
        }
    };
    assert_eq!(reported(&judge(SOUND, few_percent)), [""; 0]);
}

/// The window of an open loop by count ends like any other; that of a closed one runs dry.
#[test]
fn an_open_loop_by_count_has_to_be_level_too() {
    let halved = |result: &mut LoadResult| {
        result.load.requests = Some(result.requests.due.unwrap_or(1_000));
        for part in result.intervals.iter_mut().skip(5) {
            part.ok /= 2;
        }
    };
    let level = |judgement: &Judgement| judgement.check(Code::NotSteady).map(|one| one.level);
    assert_eq!(level(&judge_open(halved)), Some(Level::Invalid));
    let closed = judge(SOUND, |trial| halved(result(trial)));
    assert_eq!(level(&closed), None);
}

#[test]
fn a_load_by_count_is_judged_by_what_its_connections_took() {
    let by_count = |measured_s: f64, known: bool| {
        let judgement = judge(SOUND, move |trial| {
            let result = result(trial);
            result.load.requests = Some(result.requests.ok);
            result.connect.clear();
            if known {
                result.connect.record_n(10_000_000, 13);
                result.handshake.record_n(40_000_000, 13);
            }
            // What follows from the window's length is not what this is about.
            result.measured_s = measured_s;
        });
        assert!(judgement.check(Code::Little).is_none());
        judgement.check(Code::SetUpCounted).map(|check| check.level)
    };
    assert_eq!(by_count(2.0, true), Some(Level::Passed));
    assert_eq!(by_count(0.5, true), Some(Level::Suspect));
    assert_eq!(by_count(2.0, false), Some(Level::NotRun));
}

/// Its label promises the count, and only who held the two numbers together saw that time was up.
#[test]
fn a_load_that_ends_before_its_count_says_so_and_keeps_its_numbers() {
    let noted = |missing: u64| {
        let judgement = judge(SOUND, move |trial| {
            let result = result(trial);
            result.load.requests = Some(result.requests.completed + missing);
        });
        let kept = judgement.check(Code::ScheduleKept)?;
        Some((kept.level, kept.text.contains("its longest time ended")))
    };
    assert_eq!(noted(0), None);
    assert_eq!(noted(1), Some((Level::Note, true)));
}

/// A thread looks at what is in flight when it wakes up for a request, so up to one each is seen
/// where hardly any is in flight on average.
#[test]
fn what_each_thread_sees_as_it_wakes_up_contradicts_nothing() {
    let seen = |threads: u32, in_flight: u64| {
        let judgement = judge_open(move |result| {
            result.threads = threads;
            result.service.clear();
            result.service.record_n(100_000, result.latency.count());
            result.observed.in_flight.step_s = 0.01;
            result.observed.in_flight.counts = vec![in_flight; 300];
        });
        judgement.check(Code::Little).map(|check| check.level)
    };
    assert_eq!(seen(2, 2), Some(Level::Passed));
    assert_eq!(seen(2, 4), Some(Level::Suspect));
    assert_eq!(seen(1, 3), Some(Level::Suspect));
}

#[test]
fn an_open_loop_must_keep_its_schedule() {
    assert_eq!(reported(&judge_open(|_| {})), [""; 0]);
    let late = |share: f64| {
        judge_open(move |result| {
            let due = result.requests.due.unwrap_or(0);
            result.requests.begun = (due as f64 * share) as u64;
        })
    };
    assert_eq!(reported(&late(0.991)), [""; 0]);
    assert_eq!(
        reported(&late(0.98)),
        ["schedule-kept: rate invalid, latency invalid"]
    );
    let one_second = judge_open(|result| {
        let parts = &mut result.schedule.as_mut().expect("it is an open loop").parts;
        // A second of the window is two of its parts.
        parts[3].begun = parts[3].due * 8 / 10;
    });
    assert_eq!(
        reported(&one_second),
        ["schedule-kept: rate suspect, latency suspect"]
    );
    let growing = |more: u64| {
        judge_open(move |result| {
            let looks = &mut result.observed.in_flight.counts;
            let n = looks.len() as u64;
            for (at, look) in (0..n).zip(looks) {
                *look += at * more / n;
            }
        })
    };
    assert_eq!(reported(&growing(0)), [""; 0]);
    assert!(reported(&growing(90)).contains(&"queue-grows: latency suspect".to_owned()));
}

/// Where all clients are busy from the warm-up on, the number in flight is theirs and stays so.
#[test]
fn a_queue_before_busy_clients_grows_too() {
    let behind = |late: u64, waited: u64| {
        judge_open(move |result| {
            let due = result.requests.due.unwrap_or(0);
            let balance = &mut result.balance;
            balance.ended = due - due * late / 1_000;
            (balance.begun, balance.in_flight) = (balance.ended, balance.carried_in);
            let waited = due * waited / 100;
            result.send_lag.record_n(1_000_000_000, waited);
            let kept = result.schedule.as_mut().expect("it is an open loop");
            kept.wait.record_n(1_000_000_000, waited);
        })
    };
    let grows = |judgement: &Judgement| {
        let check = judgement.check(Code::QueueGrows).expect("it was made");
        check.level == Level::Suspect
    };
    let grown = behind(333, 95);
    assert!(grows(&grown));
    assert!(text_of(&grown, Code::QueueGrows).contains("waited for a client"));
    assert!(!grows(&behind(333, 20)), "few waited");
    assert!(!grows(&behind(5, 95)), "as many ended as were due");
    let connecting = judge_open(|result| {
        let due = result.requests.due.unwrap_or(0);
        let balance = &mut result.balance;
        balance.ended = due - due / 3;
        (balance.begun, balance.in_flight) = (balance.ended, balance.carried_in);
        // Each found a client free, which had to connect.
        let kept = result.schedule.as_mut().expect("it is an open loop");
        kept.wait.record_n(2_000_000, due);
    });
    assert!(!grows(&connecting), "no request waited for a client");
}

#[test]
fn what_was_due_and_had_no_end_is_held_against_the_latencies_alone() {
    let unended = |share: f64| {
        judge_open(move |result| {
            let due = result.requests.due.unwrap_or(0);
            let gone = (due as f64 * share) as u64;
            result.requests.unended = Some(gone);
        })
    };
    assert_eq!(reported(&unended(0.009)), [""; 0]);
    assert_eq!(reported(&unended(0.02)), ["unended: latency suspect"]);
    assert_eq!(reported(&unended(0.06)), ["unended: latency invalid"]);
    let found = unended(0.06);
    assert!(text_of(&found, Code::Unended).contains("had no end (6.00 %)"));
}

/// Answers of this status that nobody asked for.
fn answered(result: &mut LoadResult, status: u16) {
    result.status.insert(status, 7);
    result.observed.said.push(bakeoff_record::Said {
        status,
        ..bakeoff_record::Said::default()
    });
}

#[test]
fn what_weakens_a_load_by_itself_is_said_with_a_hint() {
    let said = |fault: Fault| {
        let mut trial = RECORD.trials[0].clone();
        fault(&mut trial);
        let warnings = bakeoff_audit::judge_load(result(&mut trial));
        assert!(warnings.iter().all(|warning| !warning.hint.is_empty()));
        let codes = warnings.into_iter().map(|warning| warning.code);
        codes.collect::<Vec<_>>().join(" ")
    };
    let table: [(Fault, &str); 10] = [
        (|_| {}, ""),
        (
            |trial| engine_worked(trial, 0.95, 0.0),
            "generator-saturated",
        ),
        (|trial| engine_worked(trial, 0.5, 0.45), "engine-kept"),
        (
            |trial| result(trial).requests.planned = Some(u64::MAX / 2),
            "schedule-unsent",
        ),
        (|trial| result(trial).load.streams = 3, "streams-unused"),
        (
            |trial| result(trial).outcomes.add(bakeoff_record::Outcome::Local),
            "local-limit",
        ),
        (|trial| answered(result(trial), 301), "no-page"),
        (|trial| answered(result(trial), 304), "no-page"),
        (|trial| answered(result(trial), 403), ""),
        // What was said of a load by itself is not said twice.
        (
            |trial| {
                engine_worked(trial, 0.95, 0.0);
                let said = bakeoff_audit::judge_load(result(trial));
                result(trial).warnings = said;
            },
            "generator-saturated",
        ),
    ];
    for (fault, expected) in table {
        assert_eq!(said(fault), expected);
    }
}

#[test]
fn cpu_time_per_request_goes_by_what_ended_in_the_window() {
    let per_request = |change: fn(&mut LoadResult)| {
        let mut trial = bakeoff_testing::open_loop_trial();
        change(result(&mut trial));
        Metric::CpuNsPerRequest.of(&trial)
    };
    let kept = per_request(|_| {}).expect("it was measured");
    // A queue that was worked off after the window: half of what was due ended in it.
    let queued = per_request(|result| {
        let balance = &mut result.balance;
        balance.in_flight += balance.ended / 2;
        balance.ended -= balance.ended / 2;
    });
    let ratio = queued.expect("it was measured") / kept;
    assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
}

#[test]
fn a_percentile_rests_on_answers_and_on_nothing_else() {
    let p99 = |answers: u64, unended: u64| {
        let mut trial = bakeoff_testing::open_loop_trial();
        let result = result(&mut trial);
        result.latency = Histogram::new();
        result.latency.record_n(1_000_000, answers);
        result.at_least.record_n(2_000_000, unended);
        Metric::LatencyP99Ns.of(&trial)
    };
    let thin = "fewer than ten responses lie beyond this percentile";
    assert_eq!(p99(30, 970), Err(Missing::Because(thin)));
    assert!(p99(1_000, 0).is_ok());
    assert!(matches!(
        p99(1_000, 970),
        Err(Missing::AtLeast { unended: 970, .. })
    ));
}

/// `bakeoff load` has no campaign, and warns of what a campaign checks.
#[test]
fn generators_of_one_load_that_differ_are_warned_of() {
    let mut trial = bakeoff_testing::open_loop_trial();
    let whole = result(&mut trial).clone();
    let judged = |less: &LoadResult| {
        let hosts = LoadHosts {
            parts: &[("g1", &whole), ("g2", less)],
            ..LoadHosts::default()
        };
        let said = hosts.judge().into_iter();
        let said = said.map(|it| it.code + ": " + &it.text);
        (said.collect::<Vec<_>>(), hosts.not_whole())
    };
    let with_share = |share: f64| {
        let mut less = whole.clone();
        less.requests.ok = (less.requests.ok as f64 * share) as u64;
        less
    };
    assert_eq!(judged(&with_share(0.92)), (vec![], None));
    let slower = "generators-agree: rate for each share: that of g2 is 20 % below that of g1";
    assert_eq!(judged(&with_share(0.8)), (vec![slower.to_owned()], None));
    let none = "g2 had no answer while g1 had some: the load was not the whole one";
    let warned = vec![format!("generators-agree: {none}")];
    assert_eq!(
        judged(&with_share(0.0)),
        (warned, Some(none.to_owned())),
        "half of the load is no load"
    );
    // The schedule held no request for it.
    let mut idle = with_share(0.0);
    idle.requests.due = Some(0);
    assert_eq!(judged(&idle).1, None);
}
