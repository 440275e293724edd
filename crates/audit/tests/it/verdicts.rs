//! A fault put into a sound trial must weaken the numbers that it spoils, and only those, through
//! its own check; its clean twin must weaken none. Here: answers, counts and the machine.

#[allow(dead_code)]
use bakeoff_audit::{Ceilings, Code, Drift, Level, Number, Verdict};
use bakeoff_record::{
    Clients, CounterReading, CounterSource, EndedProcess, Failed, ListenerTick, Outcome, Pressure,
    QuicLedger, Role, ServerCounters, Softnet, Step, TrialRecord, Warning, When,
};

use crate::planted::*;

#[test]
fn a_sound_trial_is_valid_in_every_number() {
    for id in [SOUND, PROXIED] {
        let judgement = judge(id, |_| {});
        assert_eq!(reported(&judgement), [""; 0], "{judgement:#?}");
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
        assert_eq!(reported(&judge(SOUND, fault)), [expected]);
    }
}

/// `count` processes end together, which were there `lived_s` before, did this share of the work
/// each, and take so many of ten requests in flight with them.
fn ends(
    trial: &mut TrialRecord,
    (last_s, lived_s): (f64, f64),
    (count, share): (usize, f64),
    refused: u64,
) {
    let tree = &mut trial.usage.trees[0];
    let last = tree.ticks.iter().rfind(|tick| tick.at_s < last_s + 0.01);
    let last = last.expect("it was watched by then");
    let process = EndedProcess {
        from_s: last.at_s - lived_s,
        last_s: last.at_s,
        cpu_s: share * (last.cpu_user_s + last.cpu_system_s),
    };
    tree.ended = Some(vec![process; count]);
    let mut failed = Failed::default();
    for _ in 0..refused {
        failed.count(Outcome::Refused, None, 40_000);
    }
    let mut parts = result(trial).intervals.iter_mut();
    let near = parts.rfind(|part| part.start_s < last_s.max(0.0) + 0.1);
    near.expect("the window has parts").failed = failed.take();
}

#[test]
fn a_process_that_did_the_work_and_ended_with_its_requests_is_a_restart() {
    let level = |when: (f64, f64), which: (usize, f64), refused: u64| {
        let judgement = judge(SOUND, |trial| ends(trial, when, which, refused));
        let check = judgement.check(Code::ServerRestarted);
        let check = check.expect("it was looked at");
        (check.level, check.text.clone())
    };
    let (one, long) = ((1, 0.95), (2.0, 3.0));
    let (found, text) = level(long, one, 7);
    assert_eq!(found, Level::Invalid);
    let expected = "a process that had done 95 % of the work ended 2.1 s into the window with the \
                    loss of 7 requests";
    assert!(text.starts_with(expected), "{text}");
    // Workers that end together are as much as one that did it all.
    assert_eq!(level(long, (16, 0.06), 7).0, Level::Invalid);
    // One that ends in order loses what was sent as it closed a connection, at the most.
    let (in_order, text) = level(long, one, 2);
    assert_eq!(in_order, Level::Note);
    assert!(text.ends_with("were not lost"), "{text}");
    assert_eq!(level(long, one, 0).0, Level::Note);
    // Children that are renewed have done little of all, whoever else is refused.
    assert_eq!(level(long, (1, 0.05), 7).0, Level::Passed);
    // Processes of one request each, and what helped for a moment.
    assert_eq!(level((2.0, 0.3), (4, 0.2), 7).0, Level::Passed);
    // Before the window it is the warm-up's.
    assert_eq!(level((-0.5, 0.4), one, 7).0, Level::Passed);
    let all = judge(SOUND, |trial| ends(trial, long, one, 7));
    assert_eq!(reported(&all), [format!("server-restarted: {ALL_INVALID}")]);
}

#[test]
fn a_server_that_was_not_watched_says_why() {
    let judgement = judge(SOUND, |trial| {
        trial.usage.trees[0].ticks.clear();
        let why = "port 8080 is forwarded by docker-proxy".to_owned();
        let work = trial.work.get_or_insert_default();
        work.unknown.insert("crew".to_owned(), why);
    });
    let alive = judgement.check(Code::ServerAlive);
    let alive = alive.expect("it was looked at");
    assert_eq!(alive.level, Level::NotRun);
    assert!(
        alive.text.contains("forwarded by docker-proxy"),
        "{alive:?}"
    );
}

#[test]
fn a_check_that_could_not_run_is_held_against_what_it_guards() {
    let sound_four = "rate not-run, latency not-run, cpu not-run, memory not-run";
    let table: [(Fault, String); 9] = [
        (
            |trial| trial.usage.trees[0].ended = None,
            format!("server-restarted: {sound_four}"),
        ),
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
            "engine-busy: rate not-run, latency not-run; engine-kept: rate not-run, latency not-run"
                .to_owned(),
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
        assert_eq!(reported(&judgement).join("; "), expected, "{judgement:#?}");
    }
}

#[test]
fn a_workload_that_the_plan_does_not_know_may_be_proxied() {
    let judgement = judge(SOUND, |trial| trial.workload = "renamed".into());
    let found = reported(&judgement);
    assert!(
        found[0].starts_with("origin-asked: rate not-run"),
        "{found:?}"
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
    assert_eq!(reported(&stranger(0.10)), [""; 0]);
    assert_eq!(
        reported(&stranger(0.25)),
        [format!("other-load: {TIMED_SUSPECT}")]
    );
    assert_eq!(
        reported(&stranger(0.40)),
        [format!("other-load: {TIMED_DISTURBED}")]
    );
    let text = stranger(0.40);
    let text = text_of(&text, Code::OtherLoad);
    assert!(text.contains("other programs kept 0.4"), "{text}");
    let stolen = judge(SOUND, |trial| host(trial, |cpu| cpu.steal = 0.06));
    assert_eq!(reported(&stolen), [format!("steal: {TIMED_SUSPECT}")]);
    let stolen = judge(SOUND, |trial| host(trial, |cpu| cpu.steal = 0.2));
    assert_eq!(reported(&stolen), [format!("steal: {TIMED_DISTURBED}")]);
    let throttled = |us: u64| {
        judge(SOUND, move |trial| {
            for (n, tick) in (0_u64..).zip(&mut trial.usage.host) {
                tick.throttled_us = Some(n * us);
            }
        })
    };
    assert_eq!(reported(&throttled(0)), [""; 0]);
    assert_eq!(
        reported(&throttled(5_000)),
        [format!("throttled: {TIMED_DISTURBED}")]
    );
    let drifted = |log: f64| {
        let ceilings = Ceilings {
            drift: Some(Drift { log, limit: 0.15 }),
            ..CEILINGS
        };
        judge_beside(SOUND, ceilings, |_| {})
    };
    assert_eq!(reported(&drifted(0.14)), [""; 0]);
    assert_eq!(
        reported(&drifted(-0.3)),
        [format!("drift: {TIMED_DISTURBED}")]
    );
}

#[test]
fn what_the_kernel_counts_is_reported() {
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
    assert_eq!(reported(&judgement), ["softnet-drops: latency suspect"]);
    assert_eq!(reported(&judge(SOUND, |trial| drops(trial, 0))), [""; 0]);
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
    assert_eq!(reported(&waited), [""; 0], "facts take nothing away");
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
    assert_eq!(reported(&at(1_900.0)), [""; 0]);
    assert_eq!(
        reported(&at(1_700.0)),
        [format!("frequency: {TIMED_SUSPECT}")]
    );
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
    assert_eq!(reported(&overflow(0)), [""; 0]);
    assert_eq!(
        reported(&overflow(9)),
        ["listen-overflows: latency suspect"]
    );
    // Ten connections were opened, each of which sends a few SYNs at the most.
    let foreign = overflow(500);
    assert_eq!(reported(&foreign), [""; 0]);
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
    assert_eq!(reported(&dropped(10, true)), [""; 0]);
    assert_eq!(
        reported(&dropped(11, true)),
        ["udp-drops: rate suspect, latency suspect"]
    );
    assert_eq!(reported(&dropped(99, false)), [""; 0], "not of this trial");
}

#[test]
fn an_accept_queue_near_its_limit_is_in_the_latencies() {
    let waiting = |queue: u64, limit: Option<u64>, at_s: f64| {
        judge(SOUND, move |trial| {
            let tick = |at_s, queue| ListenerTick {
                at_s,
                port: 8080,
                role: Role::Server,
                queue,
                limit,
            };
            trial.usage.listeners = vec![tick(0.1, 0), tick(at_s, queue), tick(3.0, 2)];
        })
    };
    assert_eq!(
        reported(&waiting(4_000, Some(4_096), 2.0)),
        ["accept-queue: latency suspect"]
    );
    let text = waiting(4_000, Some(4_096), 2.0);
    assert!(text_of(&text, Code::AcceptQueue).starts_with("up to 4,000 of 4,096 connections"));
    assert_eq!(reported(&waiting(3_000, Some(4_096), 2.0)), [""; 0]);
    assert_eq!(
        reported(&waiting(4_000, Some(4_096), -0.5)),
        [""; 0],
        "before the window"
    );
    assert_eq!(
        reported(&waiting(4_000, None, 2.0)),
        [""; 0],
        "no limit is known"
    );
}

/// A server that may open 64 files: beyond them connections wait to be accepted.
#[test]
fn a_server_without_a_file_left_keeps_connections_waiting() {
    let server = |files: u32, limit: Option<u64>, queue: u64| {
        judge(SOUND, move |trial| {
            let crew = trial.work.as_mut().and_then(|work| work.crew.as_mut());
            crew.expect("its processes are known").open_files = limit;
            for tick in &mut trial.usage.trees[0].ticks {
                tick.open_files = Some(files);
            }
            let tick = |at_s| ListenerTick {
                at_s,
                port: 8080,
                role: Role::Server,
                queue,
                limit: Some(1024),
            };
            trial.usage.listeners = vec![tick(0.1), tick(2.0), tick(4.0)];
        })
    };
    let full = server(64, Some(64), 144);
    assert_eq!(reported(&full), ["fd-limit: rate suspect, latency suspect"]);
    assert_eq!(
        text_of(&full, Code::FdLimit),
        "the server had 64 of at most 64 files open, and 144 connections or more waited to be \
         accepted all the time: raise its limit of open files"
    );
    let nobody_waits = server(64, Some(64), 0);
    assert_eq!(reported(&nobody_waits), [""; 0]);
    let level = nobody_waits.check(Code::FdLimit).map(|check| check.level);
    assert_eq!(level, Some(Level::Note));
    for (files, limit) in [(60, Some(64)), (64, Some(1024)), (64, None)] {
        let roomy = server(files, limit, 144);
        assert_eq!(reported(&roomy), [""; 0], "{files} of {limit:?}");
        assert!(roomy.check(Code::FdLimit).is_none());
    }
    let hungry = judge(SOUND, |trial| {
        let crew = trial.work.as_mut().and_then(|work| work.crew.as_mut());
        crew.expect("its processes are known").open_files = Some(40);
        result(trial).observed.clients.none = 1;
    });
    assert!(text_of(&hungry, Code::FdLimit).contains("and 1 of 10 clients had no answer"));
}

#[test]
fn other_programs_in_a_part_of_the_window_are_in_its_slowest_requests() {
    let for_half_a_second = |cores: f64| {
        judge(SOUND, move |trial| {
            trial.usage.interrupts_apart = Some(false);
            for tick in trial.usage.host.iter_mut().filter(|tick| tick.at_s > 4.45) {
                tick.cpus[1].user += cores;
                tick.cpus[1].idle -= cores;
            }
        })
    };
    let there = for_half_a_second(0.8);
    assert_eq!(reported(&there), ["not-steady: latency suspect"]);
    let text = text_of(&there, Code::NotSteady);
    assert!(
        text.starts_with("other programs ran in a part of the window: "),
        "{text}"
    );
    assert_eq!(reported(&for_half_a_second(0.2)), [""; 0]);
}

/// Counters of a server that were read at `from_s`, and 20 ms after a window of 5 s, between which
/// it counted so many connections and requests.
fn counters(from_s: f64, accepts: u64, requests: u64) -> ServerCounters {
    let reading = |at_s, accepts, requests| CounterReading {
        at_s,
        accepts: Some(accepts),
        requests: Some(requests),
    };
    ServerCounters {
        source: CounterSource::StubStatus,
        url: String::new(),
        before: reading(from_s, 11, 7),
        after: reading(5.02, 11 + accepts, 7 + requests),
    }
}

#[test]
fn connections_that_the_engine_did_not_make_are_somebody_elses() {
    let accepted = |accepts: u64| {
        judge(SOUND, move |trial| {
            let requests = result(trial).requests.completed + 1;
            trial.usage.server_counters = Some(counters(-0.05, accepts, requests));
        })
    };
    let none = [""; 0];
    assert_eq!(reported(&accepted(1)), none, "but that of the reading");
    let strangers = accepted(500);
    let weakened = ["server-counted: rate suspect, counts suspect"];
    assert_eq!(reported(&strangers), weakened);
    assert!(text_of(&strangers, Code::ServerCounted).contains("somebody else connected"));
}

#[test]
fn a_server_that_was_faster_in_the_warm_up_counted_what_it_answered() {
    let counted = |of_others: u64| {
        judge(SOUND, move |trial| {
            let measured = result(trial);
            let mut part = measured.intervals[0].clone();
            (part.start_s, part.length_s) = (-0.4, 0.4);
            part.ok = measured.requests.completed;
            measured.warmup = vec![part];
            let requests = 2 * measured.requests.completed + of_others;
            trial.usage.server_counters = Some(counters(-0.4, 1, requests));
        })
    };
    assert_eq!(reported(&counted(0)), [""; 0]);
    let weakened = ["server-counted: rate suspect, counts suspect"];
    assert_eq!(reported(&counted(10_000_000)), weakened);
}

#[test]
fn counts_contradict_or_agree() {
    let cached = judge(PROXIED, |trial| {
        trial.origin.as_mut().expect("it is proxied").requests = 3;
    });
    assert_eq!(
        reported(&cached),
        [format!("origin-asked: {TIMED_SUSPECT}")]
    );
    assert!(text_of(&cached, Code::OriginAsked).contains("a cache answers"));
    // What came while the counts were being read is missing, and a little more is not.
    for (read_late_s, expected) in [(0.04, 0), (0.2, 1)] {
        let late = judge(PROXIED, |trial| {
            let result = trial.result.as_ref().expect("it is measured");
            let rate = result.requests.completed as f64 / result.measured_s;
            let missing = (rate * read_late_s) as u64;
            let requests = result.requests.completed - missing;
            trial.origin.as_mut().expect("it is proxied").requests = requests;
        });
        assert_eq!(reported(&late).len(), expected, "{read_late_s} s late");
    }
    let added = "counts-add-up: rate invalid, latency invalid, cpu invalid, counts invalid";
    let lost = judge(SOUND, |trial| {
        result(trial).balance.begun += 3;
    });
    assert_eq!(reported(&lost), [added]);
    let text = text_of(&lost, Code::CountsAddUp);
    assert!(
        text.contains("10 carried in + ") && text.ends_with("+ 10 in flight: 3 lost"),
        "{text}"
    );
    let begun = judge(SOUND, |trial| result(trial).requests.begun += 1);
    assert_eq!(reported(&begun), [added]);
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
    assert_eq!(reported(&counted(1.0)), [""; 0]);
    for share in [0.9, 1.2] {
        assert_eq!(
            reported(&counted(share)),
            ["server-counted: rate suspect, counts suspect"]
        );
    }
}

#[test]
fn a_server_that_is_busy_after_the_load_keeps_its_numbers() {
    let reported = |took_s: f64, answered: bool| {
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
    assert_eq!(reported(0.9, true), (Verdict::Valid, Some(Level::Passed)));
    assert_eq!(reported(12.5, true), (Verdict::Valid, Some(Level::Note)));
    assert_eq!(reported(60.0, false), (Verdict::Suspect, Some(Level::Note)));
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
