//! A fault put into a sound trial must weaken the numbers that it spoils, and only those, through
//! its own check; its clean twin must weaken none.

#[allow(dead_code, unused_imports)]
#[path = "../../report/tests/support/mod.rs"]
mod support;

use std::sync::LazyLock;

use bakeoff_audit::{Ceilings, Code, Drift, Judgement, Level, Number, Verdict, judge_trial};
use bakeoff_plan::LoadModel;
use bakeoff_record::{
    Clients, CounterReading, CounterSource, LoadResult, Outcome, Pressure, QuicLedger, Record,
    ServerCounters, SetUp, Softnet, Step, ThreadUsage, TrialRecord, Warning, When,
};

static RECORD: LazyLock<Record> = LazyLock::new(support::record);
const SOUND: &str = "r1-nginx-optimized-synthetic-c10";
const PROXIED: &str = "r1-nginx-optimized-proxy-c10";
const CEILINGS: Ceilings = Ceilings {
    yardstick: Some(92_000.0),
    origin: Some(85_000.0),
    drift: None,
    frequency_mhz: None,
};

/// What is put into a trial.
type Fault = fn(&mut TrialRecord);

/// Judges the trial named `id` after `fault` has been put into it.
fn judge(id: &str, fault: impl FnOnce(&mut TrialRecord)) -> Judgement {
    judge_beside(id, CEILINGS, fault)
}

fn judge_beside(id: &str, ceilings: Ceilings, fault: impl FnOnce(&mut TrialRecord)) -> Judgement {
    let record = &*RECORD;
    let found = record.trials.iter().find(|trial| trial.id == id);
    let mut trial = found.expect("the made-up record has this trial").clone();
    fault(&mut trial);
    judge_trial(record, &trial, ceilings)
}

/// Judges a sound trial in an open loop after `fault` has been put into it.
fn judge_open(fault: impl FnOnce(&mut LoadResult)) -> Judgement {
    let mut trial = support::open_loop_trial();
    fault(result(&mut trial));
    judge_trial(&RECORD, &trial, CEILINGS)
}

fn result(trial: &mut TrialRecord) -> &mut LoadResult {
    trial
        .result
        .as_mut()
        .expect("the made-up trial is measured")
}

/// What weakens numbers: `engine-busy: rate invalid, latency invalid`.
fn told(judgement: &Judgement) -> Vec<String> {
    let bad = judgement
        .checks
        .iter()
        .filter(|check| check.level > Level::Note);
    let one = |check: &bakeoff_audit::Check| {
        let numbers = check
            .numbers
            .iter()
            .filter(|(_, level)| *level > Level::Note);
        let numbers = numbers.map(|(number, level)| format!("{} {}", number.name(), level.name()));
        format!("{}: {}", check.code, numbers.collect::<Vec<_>>().join(", "))
    };
    bad.map(one).collect()
}

/// Each fault is told as expected; an empty text expects a clean twin.
#[track_caller]
fn each(id: &str, table: &[(Fault, &str)]) {
    for (row, (fault, expected)) in table.iter().enumerate() {
        let judgement = judge(id, fault);
        let expected: Vec<&str> = expected.split("; ").filter(|it| !it.is_empty()).collect();
        assert_eq!(told(&judgement), expected, "row {row}: {judgement:#?}");
    }
}

#[track_caller]
fn text_of(judgement: &Judgement, code: Code) -> &str {
    &judgement.check(code).expect("the check was made").text
}

const ALL_INVALID: &str = "rate invalid, latency invalid, cpu invalid, memory invalid";
const TIMED_DISTURBED: &str = "rate disturbed, latency disturbed, cpu disturbed";
const TIMED_SUSPECT: &str = "rate suspect, latency suspect, cpu suspect";

#[test]
fn a_sound_trial_is_valid_in_every_number() {
    for id in [SOUND, PROXIED] {
        let judgement = judge(id, |_| {});
        assert_eq!(told(&judgement), [""; 0], "{judgement:#?}");
        for number in Number::ALL {
            assert_eq!(judgement.verdicts.of(number), Verdict::Valid);
        }
        assert!(judgement.check(Code::CoLocated).is_some());
    }
}

#[test]
fn wrong_answers_and_dead_servers_take_every_number() {
    let one_more: fn(&mut TrialRecord, Outcome) = |trial, outcome| {
        let result = result(trial);
        result.outcomes.add(outcome);
        result.requests.completed += 1;
        result.requests.started += 1;
        result.requests.begun += 1;
    };
    let wrong = judge(SOUND, |trial| one_more(trial, Outcome::WrongBody));
    assert_eq!(
        wrong.check(Code::WrongBody).map(|it| it.level),
        Some(Level::Invalid)
    );
    let local = judge(SOUND, |trial| one_more(trial, Outcome::Local));
    assert_eq!(local.verdicts.memory, Verdict::Invalid);
    assert_eq!(local.verdicts.counts, Verdict::Valid);
    let table: [(Fault, String); 3] = [
        (
            |trial| trial.answers[1].right = false,
            format!("answer-after: {ALL_INVALID}"),
        ),
        (
            |trial| {
                let ticks = trial.usage.trees[0].ticks.iter_mut();
                let late = ticks.filter(|tick| tick.at_s > 3.0);
                late.for_each(|tick| tick.processes = 0);
            },
            format!("server-alive: {ALL_INVALID}"),
        ),
        (
            |trial| result(trial).bytes.body /= 2,
            "body-bytes: rate invalid, latency invalid, cpu invalid".to_owned(),
        ),
    ];
    for (fault, expected) in table {
        assert_eq!(told(&judge(SOUND, fault)), [expected]);
    }
    let again = judge(SOUND, |trial| {
        let ticks = trial.usage.trees[0].ticks.iter_mut();
        for tick in ticks.filter(|tick| tick.at_s > 3.0) {
            (tick.cpu_user_s, tick.cpu_system_s) = (tick.cpu_user_s - 1.0, 0.1);
        }
    });
    let restarted = again
        .check(Code::ServerRestarted)
        .expect("it was looked at");
    assert_eq!(restarted.level, Level::Invalid);
}

#[test]
fn a_check_that_could_not_run_is_held_against_what_it_guards() {
    let sound_four = "rate not-run, latency not-run, cpu not-run, memory not-run";
    let table: [(Fault, String); 8] = [
        (
            |trial| trial.answers.retain(|answer| answer.when == When::Before),
            format!("answer-after: {sound_four}"),
        ),
        (
            |trial| trial.usage.trees[0].ticks.retain(|tick| tick.at_s < 0.0),
            format!(
                "server-alive: {sound_four}; other-load: rate not-run, latency not-run, cpu not-run"
            ),
        ),
        (
            |trial| trial.usage.host.clear(),
            "other-load: rate not-run, latency not-run, cpu not-run; steal: rate not-run, latency \
             not-run, cpu not-run"
                .to_owned(),
        ),
        (
            |trial| trial.steps.retain(|one| one.step != Step::CheckAgain),
            "recovered: latency not-run".to_owned(),
        ),
        (
            |trial| result(trial).engine.threads.clear(),
            "engine-kept: rate not-run, latency not-run".to_owned(),
        ),
        (
            |trial| result(trial).observed.engine_lag.clear(),
            "engine-lag: latency not-run".to_owned(),
        ),
        (
            |trial| result(trial).observed.clients = Clients::default(),
            "starved: latency not-run".to_owned(),
        ),
        (
            |trial| result(trial).intervals.truncate(3),
            format!("not-steady: {sound_four}"),
        ),
    ];
    for (fault, expected) in table {
        let judgement = judge(SOUND, fault);
        assert_eq!(told(&judgement).join("; "), expected, "{judgement:#?}");
    }
}

#[test]
fn a_workload_that_the_plan_does_not_know_may_be_proxied() {
    let judgement = judge(SOUND, |trial| trial.workload = "renamed".into());
    let found = told(&judgement);
    assert!(
        found[0].starts_with("origin-asked: rate not-run"),
        "{found:?}"
    );
}

/// Half as much CPU time for the server, so that it does not set the pace.
fn idle_server(trial: &mut TrialRecord) {
    for tick in &mut trial.usage.trees[0].ticks {
        tick.cpu_user_s *= 0.5;
        tick.cpu_system_s *= 0.5;
    }
    for tick in &mut trial.usage.host {
        let cpu = &mut tick.cpus[0];
        (cpu.user, cpu.system, cpu.softirq, cpu.idle) = (0.18, 0.28, 0.02, 0.52);
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
fn an_engine_that_works_is_told_from_one_that_is_kept_from_it() {
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
                "engine-busy: rate invalid, latency invalid",
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
    assert_eq!(told(&lag(0.04)), [""; 0]);
    assert_eq!(told(&lag(0.08)), ["engine-lag: latency suspect"]);
}

#[test]
fn a_rate_near_the_yardstick_is_a_bound_unless_the_server_was_full() {
    let beside = |yardstick: Option<f64>, fault: Fault| {
        let ceilings = Ceilings {
            yardstick,
            ..CEILINGS
        };
        told(&judge_beside(SOUND, ceilings, fault)).join("; ")
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
        told(&judgement),
        ["backend-bound: rate suspect, latency suspect"]
    );
}

#[test]
fn the_machine_is_judged_too() {
    let host: fn(&mut TrialRecord, fn(&mut bakeoff_record::CpuShares)) = |trial, change| {
        let ticks = trial.usage.host.iter_mut();
        ticks.flat_map(|tick| &mut tick.cpus).for_each(change);
    };
    let stranger = |cores: f64| {
        judge(SOUND, move |trial| {
            trial.usage.interrupts_apart = Some(false);
            for tick in &mut trial.usage.host {
                tick.cpus[1].user += cores;
                tick.cpus[1].idle -= cores;
            }
        })
    };
    assert_eq!(told(&stranger(0.10)), [""; 0]);
    assert_eq!(
        told(&stranger(0.25)),
        [format!("other-load: {TIMED_SUSPECT}")]
    );
    assert_eq!(
        told(&stranger(0.40)),
        [format!("other-load: {TIMED_DISTURBED}")]
    );
    let text = stranger(0.40);
    let text = text_of(&text, Code::OtherLoad);
    assert!(text.contains("other programs kept 0.4"), "{text}");
    let stolen = judge(SOUND, |trial| host(trial, |cpu| cpu.steal = 0.06));
    assert_eq!(told(&stolen), [format!("steal: {TIMED_SUSPECT}")]);
    let stolen = judge(SOUND, |trial| host(trial, |cpu| cpu.steal = 0.2));
    assert_eq!(told(&stolen), [format!("steal: {TIMED_DISTURBED}")]);
    let throttled = |us: u64| {
        judge(SOUND, move |trial| {
            for (n, tick) in (0_u64..).zip(&mut trial.usage.host) {
                tick.throttled_us = Some(n * us);
            }
        })
    };
    assert_eq!(told(&throttled(0)), [""; 0]);
    assert_eq!(
        told(&throttled(5_000)),
        [format!("throttled: {TIMED_DISTURBED}")]
    );
    let drifted = |log: f64| {
        let ceilings = Ceilings {
            drift: Some(Drift { log, limit: 0.15 }),
            ..CEILINGS
        };
        judge_beside(SOUND, ceilings, |_| {})
    };
    assert_eq!(told(&drifted(0.14)), [""; 0]);
    assert_eq!(told(&drifted(-0.3)), [format!("drift: {TIMED_DISTURBED}")]);
}

#[test]
fn what_the_kernel_counts_is_told() {
    let drops: fn(&mut TrialRecord, u64) = |trial, drops| {
        trial
            .usage
            .host
            .last_mut()
            .expect("there are readings")
            .softnet = Some(Softnet {
            dropped: drops,
            squeezed: 0,
        });
        trial.usage.host[0].softnet = Some(Softnet::default());
    };
    let judgement = judge(SOUND, |trial| drops(trial, 3));
    assert_eq!(told(&judgement), ["softnet-drops: latency suspect"]);
    assert_eq!(told(&judge(SOUND, |trial| drops(trial, 0))), [""; 0]);
    let waited = judge(SOUND, |trial| {
        for (n, tick) in (0_u64..).zip(&mut trial.usage.host) {
            tick.pressure = Some(Pressure {
                io_us: Some(n * 20_000),
                ..Pressure::default()
            });
        }
        for (n, tick) in (0_u64..).zip(&mut trial.usage.trees[0].ticks) {
            tick.major_faults = Some(n);
        }
    });
    assert_eq!(told(&waited), [""; 0], "facts take nothing away");
    assert!(text_of(&waited, Code::Pressure).contains("a disk 20 %"));
    assert!(text_of(&waited, Code::MajorFaults).contains("waited for 5"));
    let at = |mhz: f64| {
        let ceilings = Ceilings {
            frequency_mhz: Some(2_000.0),
            ..CEILINGS
        };
        judge_beside(SOUND, ceilings, move |trial| {
            for tick in &mut trial.usage.host {
                tick.frequency_mhz = Some(mhz);
            }
        })
    };
    assert_eq!(told(&at(1_900.0)), [""; 0]);
    assert_eq!(told(&at(1_700.0)), [format!("frequency: {TIMED_SUSPECT}")]);
}

#[test]
fn overflows_that_no_connection_of_the_trial_can_have_are_a_strangers() {
    let overflow = |count: u64| {
        judge(SOUND, move |trial| {
            let ticks = trial.usage.tcp.iter_mut();
            let late = ticks.filter(|tick| tick.at_s > 2.0);
            late.for_each(|tick| tick.listen_overflows = count);
        })
    };
    assert_eq!(told(&overflow(0)), [""; 0]);
    assert_eq!(told(&overflow(9)), ["listen-overflows: latency suspect"]);
    // Ten connections were opened, each of which sends a few SYNs at the most.
    let foreign = overflow(500);
    assert_eq!(told(&foreign), [""; 0]);
    assert!(foreign.check(Code::ForeignOverflow).is_some());
    let dropped = |drops: u64, quic: bool| {
        judge(SOUND, move |trial| {
            result(trial).quic = quic.then(|| QuicLedger {
                datagrams_sent: 4_000,
                datagrams_received: 6_000,
                ..QuicLedger::default()
            });
            trial
                .usage
                .tcp
                .last_mut()
                .expect("there are readings")
                .udp_drops = drops;
        })
    };
    assert_eq!(told(&dropped(10, true)), [""; 0]);
    assert_eq!(
        told(&dropped(11, true)),
        ["udp-drops: rate suspect, latency suspect"]
    );
    assert_eq!(told(&dropped(99, false)), [""; 0], "not of this trial");
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
    assert_eq!(told(&hungry(0, 2)), [""; 0]);
    assert_eq!(told(&hungry(0, 3)), ["starved: latency suspect"]);
    assert_eq!(told(&hungry(40, 107)), ["starved: latency invalid"]);
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
    assert_eq!(told(&judgement), [expected]);
    assert_eq!(judgement.verdicts.memory, Verdict::Valid);
    let text = text_of(&judgement, Code::NotSteady);
    assert!(text.contains("for 2.5 s, then "), "{text}");
    let few_percent: Fault = |trial| {
        for part in result(trial).intervals.iter_mut().skip(5) {
            part.ok -= part.ok / 33;
        }
    };
    assert_eq!(told(&judge(SOUND, few_percent)), [""; 0]);
}

#[test]
fn counts_contradict_or_agree() {
    let cached = judge(PROXIED, |trial| {
        trial.origin.as_mut().expect("it is proxied").requests = 3;
    });
    assert_eq!(told(&cached), [format!("origin-asked: {TIMED_SUSPECT}")]);
    assert!(text_of(&cached, Code::OriginAsked).contains("a cache answers"));
    let added = "counts-add-up: rate invalid, latency invalid, cpu invalid, counts invalid";
    let lost = judge(SOUND, |trial| {
        result(trial).balance.as_mut().expect("it is there").begun += 3;
    });
    assert_eq!(told(&lost), [added]);
    let text = text_of(&lost, Code::CountsAddUp);
    assert!(
        text.contains("10 carried in + ") && text.ends_with("+ 10 in flight: 3 lost"),
        "{text}"
    );
    let begun = judge(SOUND, |trial| result(trial).requests.begun += 1);
    assert_eq!(told(&begun), [added]);
    let old = judge(SOUND, |trial| {
        let result = result(trial);
        (result.balance, result.requests.begun) = (None, 0);
    });
    assert_eq!(told(&old), [""; 0]);
    let counted = |share: f64| {
        judge(SOUND, move |trial| {
            let requests = (result(trial).requests.completed as f64 * share) as u64;
            let reading = |at_s, requests| CounterReading {
                at_s,
                accepts: None,
                requests: Some(requests),
            };
            trial.usage.server_counters = Some(ServerCounters {
                source: CounterSource::StubStatus,
                url: String::new(),
                before: reading(0.0, 7),
                after: reading(5.0, 7 + requests),
            });
        })
    };
    assert_eq!(told(&counted(1.0)), [""; 0]);
    for share in [0.9, 1.2] {
        assert_eq!(
            told(&counted(share)),
            ["server-counted: rate suspect, counts suspect"]
        );
    }
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

#[test]
fn a_server_that_is_busy_after_the_load_keeps_its_numbers() {
    let told = |took_s: f64, answered: bool| {
        let judgement = judge(SOUND, |trial| {
            let mut steps = trial.steps.iter_mut();
            let again = steps.find(|one| one.step == Step::CheckAgain);
            again.expect("it is a step").took_s = took_s;
            let keep =
                |answer: &bakeoff_record::AnswerCheck| answered || answer.when == When::Before;
            trial.answers.retain(|answer| keep(answer));
        });
        let recovered = judgement.check(Code::Recovered).map(|check| check.level);
        (judgement.verdict, recovered)
    };
    assert_eq!(told(0.9, true), (Verdict::Valid, Some(Level::Passed)));
    assert_eq!(told(12.5, true), (Verdict::Valid, Some(Level::Note)));
    assert_eq!(told(60.0, false), (Verdict::Suspect, Some(Level::Note)));
}

#[test]
fn an_open_loop_must_keep_its_schedule() {
    assert_eq!(told(&judge_open(|_| {})), [""; 0]);
    let late = |share: f64| {
        judge_open(move |result| {
            let due = result.requests.due.unwrap_or(0);
            result.requests.begun = (due as f64 * share) as u64;
        })
    };
    assert_eq!(told(&late(0.991)), [""; 0]);
    assert_eq!(
        told(&late(0.98)),
        ["schedule-kept: rate invalid, latency invalid"]
    );
    let one_second = judge_open(|result| {
        let parts = &mut result.schedule.as_mut().expect("it is an open loop").parts;
        // A second of the window is two of its parts.
        parts[3].begun = parts[3].due * 8 / 10;
    });
    assert_eq!(
        told(&one_second),
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
    assert_eq!(told(&growing(0)), [""; 0]);
    assert!(told(&growing(90)).contains(&"queue-grows: latency suspect".to_owned()));
}

#[test]
fn the_engine_answers_for_its_own_delay_and_not_for_the_servers() {
    let slow_server = judge_open(|result| {
        let kept = result.schedule.as_mut().expect("it is an open loop");
        kept.wait.record_n(1_000_000_000, 500);
        result.send_lag.record_n(1_000_000_000, 500);
    });
    assert_eq!(told(&slow_server), [""; 0]);
    let late_engine = judge_open(|result| {
        let due = result.requests.due.unwrap_or(0);
        let kept = result.schedule.as_mut().expect("it is an open loop");
        kept.slip.record_n(1_000_000_000, due);
    });
    assert_eq!(told(&late_engine), ["send-lag: latency suspect"]);
    let unknown = judge_open(|result| {
        let kept = result.schedule.as_mut().expect("it is an open loop");
        std::mem::swap(&mut kept.slip, &mut kept.wait);
    });
    assert_eq!(told(&unknown), ["send-lag: latency not-run"]);
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
    assert_eq!(told(&unended(0.009)), [""; 0]);
    assert_eq!(told(&unended(0.02)), ["unended: latency suspect"]);
    assert_eq!(told(&unended(0.06)), ["unended: latency invalid"]);
    let found = unended(0.06);
    assert!(text_of(&found, Code::Unended).contains("had no end (6.00 %)"));
}

#[test]
fn an_open_loop_of_an_old_record_is_judged_by_what_it_holds() {
    let old = |fault: fn(&mut LoadResult)| {
        judge_open(|result| {
            (result.requests.due, result.requests.unended) = (None, None);
            (result.schedule, result.balance) = (None, None);
            fault(result);
        })
    };
    assert_eq!(told(&old(|_| {})), [""; 0]);
    let late = old(|result| result.requests.planned = Some(result.requests.started * 2));
    assert_eq!(
        told(&late),
        ["schedule-kept: rate invalid, latency invalid"]
    );
    let lagging = old(|result| {
        let sent = result.send_lag.count();
        result.send_lag.record_n(1_000_000_000, sent);
    });
    assert_eq!(told(&lagging), ["send-lag: latency suspect"]);
}

#[test]
fn warnings_are_passed_on_and_decide_nothing() {
    let judgement = judge(SOUND, |trial| {
        trial.warnings = vec![Warning {
            code: "odd".into(),
            text: "something".into(),
            hint: "do this".into(),
        }];
    });
    assert_eq!(judgement.verdict, Verdict::Valid);
    assert_eq!(
        text_of(&judgement, Code::Warning),
        "odd: something (do this)"
    );
}
