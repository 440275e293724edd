//! A fault put into a sound trial must change the verdict, and only through its own check.

#[allow(dead_code)]
#[path = "../../report/tests/support/mod.rs"]
mod support;

use bakeoff_audit::{Ceilings, Judgement, Level, Verdict, bottleneck, judge_cell, judge_trial};
use bakeoff_record::{LoadResult, Outcome, QuicLedger, Record, Step, TrialRecord, Warning, When};
use bakeoff_stats::{Cell, cells};

const SOUND: &str = "r1-nginx-optimized-synthetic-c10";
const PROXIED: &str = "r1-nginx-optimized-proxy-c10";
const CEILINGS: Ceilings = Ceilings {
    yardstick: Some(92_000.0),
    origin: Some(85_000.0),
};

/// Judges the trial named `id` after `fault` has been put into it.
fn judge(id: &str, fault: impl FnOnce(&mut TrialRecord)) -> Judgement {
    judge_beside(id, CEILINGS, fault)
}

fn judge_beside(id: &str, ceilings: Ceilings, fault: impl FnOnce(&mut TrialRecord)) -> Judgement {
    let record = support::record();
    let mut trial = find(&record, id).clone();
    fault(&mut trial);
    judge_trial(&record, &trial, ceilings)
}

fn find<'record>(record: &'record Record, id: &str) -> &'record TrialRecord {
    let found = record.trials.iter().find(|trial| trial.id == id);
    found.expect("the made-up record has this trial")
}

/// The verdict is `verdict` and comes from the check `code` alone.
#[track_caller]
fn blames(judgement: &Judgement, verdict: Verdict, code: &str) {
    let bad: Vec<&str> = judgement
        .checks
        .iter()
        .filter(|check| check.level >= Level::NotRun)
        .map(|check| check.code)
        .collect();
    assert_eq!(
        (judgement.verdict, bad.as_slice()),
        (verdict, [code].as_slice())
    );
}

fn cell<'cells, 'record>(
    cells: &'cells [Cell<'record>],
    contender: &str,
    workload: &str,
    load: &str,
) -> &'cells Cell<'record> {
    let key = (contender, workload, load);
    let names = |cell: &&Cell<'_>| {
        (
            cell.key.contender.as_str(),
            cell.key.workload.as_str(),
            cell.key.load.as_str(),
        ) == key
    };
    cells
        .iter()
        .find(names)
        .expect("the made-up record has this cell")
}

fn judged(record: &Record, contender: &str, workload: &str, load: &str) -> Judgement {
    let cells = cells(record);
    let cell = cell(&cells, contender, workload, load);
    judge_cell(record, cell, Ceilings::beside(&cells, &cell.key))
}

#[test]
fn a_sound_trial_is_valid() {
    for id in [SOUND, PROXIED] {
        let judgement = judge(id, |_| {});
        assert_eq!(judgement.verdict, Verdict::Valid, "{judgement:#?}");
        assert!(
            judgement
                .checks
                .iter()
                .any(|check| check.code == "co-located")
        );
    }
}

#[test]
fn wrong_answers_make_a_trial_invalid() {
    let judgement = judge(SOUND, |trial| trial.answers[1].right = false);
    blames(&judgement, Verdict::Invalid, "answer-after");
    let judgement = judge(SOUND, |trial| {
        let result = trial.result.as_mut().unwrap();
        result.outcomes.add(Outcome::WrongBody);
        result.requests.completed += 1;
        result.requests.started += 1;
    });
    assert_eq!(judgement.verdict, Verdict::Invalid);
    assert_eq!(judgement.checks[0].code, "wrong-body");
}

#[test]
fn a_check_that_did_not_run_counts_as_suspect() {
    let judgement = judge(SOUND, |trial| {
        trial.answers.retain(|answer| answer.when == When::Before)
    });
    blames(&judgement, Verdict::Suspect, "answer-after");
    let judgement = judge(SOUND, |trial| trial.usage.host.clear());
    blames(&judgement, Verdict::Suspect, "steal");
    let judgement = judge_beside(SOUND, Ceilings::default(), |_| {});
    blames(&judgement, Verdict::Suspect, "generator-ceiling");
}

#[test]
fn the_engine_is_judged_too() {
    let busy = |share: f64| {
        move |trial: &mut TrialRecord| {
            trial.result.as_mut().unwrap().engine.busy_share = vec![0.1, share];
            trial.usage.trees[0].ticks.iter_mut().for_each(|tick| {
                tick.cpu_user_s *= 0.5;
                tick.cpu_system_s *= 0.5;
            });
        }
    };
    assert_eq!(judge(SOUND, busy(0.49)).verdict, Verdict::Valid);
    blames(&judge(SOUND, busy(0.6)), Verdict::Suspect, "engine-busy");
    blames(&judge(SOUND, busy(0.95)), Verdict::Invalid, "engine-busy");
    // Both saturated: the engine is in the latencies, but it alone did not set the pace.
    let both = judge(SOUND, |trial| {
        trial.result.as_mut().unwrap().engine.busy_share = vec![0.95]
    });
    blames(&both, Verdict::Suspect, "engine-busy");
    let local = judge(SOUND, |trial| {
        let result = trial.result.as_mut().unwrap();
        result.outcomes.add(Outcome::Local);
        result.requests.completed += 1;
        result.requests.started += 1;
    });
    assert_eq!(local.checks[0].code, "local-errors");
    assert_eq!(local.verdict, Verdict::Invalid);
}

#[test]
fn a_score_near_the_ceiling_is_a_lower_bound() {
    let near = Ceilings {
        yardstick: Some(50_000.0),
        ..CEILINGS
    };
    let judgement = judge_beside(SOUND, near, |_| {});
    blames(&judgement, Verdict::Suspect, "generator-ceiling");
    assert!(
        judgement.checks[0].text.contains("generator-limited"),
        "{:?}",
        judgement.checks[0]
    );
    let near = Ceilings {
        origin: Some(40_000.0),
        ..CEILINGS
    };
    blames(
        &judge_beside(PROXIED, near, |_| {}),
        Verdict::Suspect,
        "backend-bound",
    );
}

#[test]
fn a_load_by_count_is_judged_by_what_its_connections_took() {
    let by_count = |measured_s: f64| {
        judge(SOUND, |trial| {
            let result = trial.result.as_mut().unwrap();
            result.load.model = bakeoff_plan::LoadModel::Closed { clients: 13 };
            result.load.requests = Some(result.requests.ok);
            result.connect.clear();
            result.connect.record_n(10_000_000, 13);
            result.handshake.record_n(40_000_000, 13);
            // What follows from the window's length is not what this is about.
            result.measured_s = measured_s;
        })
    };
    let checks = |judgement: &Judgement| -> Vec<(&str, Level)> {
        let of = ["little", "set-up-counted"];
        let checks = judgement.checks.iter();
        checks
            .filter(|check| of.contains(&check.code))
            .map(|check| (check.code, check.level))
            .collect()
    };
    assert_eq!(checks(&by_count(2.0)), [("set-up-counted", Level::Passed)]);
    assert_eq!(checks(&by_count(0.5)), [("set-up-counted", Level::Suspect)]);
}

#[test]
fn streams_are_what_littles_law_counts() {
    let streams = |clients, streams| {
        judge(SOUND, |trial| {
            let load = &mut trial.result.as_mut().unwrap().load;
            load.model = bakeoff_plan::LoadModel::Closed { clients };
            load.streams = streams;
        })
    };
    // The sound trial has ten requests in flight.
    assert_eq!(streams(2, 5).verdict, Verdict::Valid);
    blames(&streams(10, 5), Verdict::Suspect, "little");
}

#[test]
fn laws_are_held_against_the_counts() {
    let little = judge(SOUND, |trial| {
        let result = trial.result.as_mut().unwrap();
        result.load.model = bakeoff_plan::LoadModel::Closed { clients: 13 };
    });
    blames(&little, Verdict::Suspect, "little");
    let cached = judge(PROXIED, |trial| trial.origin.as_mut().unwrap().requests = 3);
    blames(&cached, Verdict::Suspect, "origin-asked");
    assert!(cached.checks[0].text.contains("a cache answers"));
    let counts = judge(SOUND, |trial| {
        trial.result.as_mut().unwrap().requests.started += 1
    });
    blames(&counts, Verdict::Invalid, "counts-add-up");
}

#[test]
fn the_machine_is_judged_too() {
    let steal = |share: f64| {
        move |trial: &mut TrialRecord| {
            let ticks = trial.usage.host.iter_mut();
            ticks
                .flat_map(|tick| &mut tick.cpus)
                .for_each(|cpu| cpu.steal = share);
        }
    };
    blames(&judge(SOUND, steal(0.06)), Verdict::Suspect, "steal");
    blames(&judge(SOUND, steal(0.2)), Verdict::Invalid, "steal");
    let overflow = judge(SOUND, |trial| {
        trial
            .usage
            .tcp
            .iter_mut()
            .filter(|t| t.at_s > 2.0)
            .for_each(|t| t.listen_overflows = 9);
    });
    blames(&overflow, Verdict::Suspect, "listen-overflows");
    let dropped = |drops: u64| {
        move |trial: &mut TrialRecord| {
            trial.result.as_mut().unwrap().quic = Some(QuicLedger {
                datagrams_sent: 4_000,
                datagrams_received: 6_000,
                ..QuicLedger::default()
            });
            trial.usage.tcp.last_mut().unwrap().udp_drops = drops;
        }
    };
    assert_eq!(judge(SOUND, dropped(10)).verdict, Verdict::Valid);
    blames(&judge(SOUND, dropped(11)), Verdict::Suspect, "udp-drops");
    let over_tcp = judge(SOUND, |trial| {
        trial.usage.tcp.last_mut().unwrap().udp_drops = 99;
    });
    assert_eq!(over_tcp.verdict, Verdict::Valid, "not of this trial");
    let died = judge(SOUND, |trial| {
        let ticks = trial.usage.trees[0].ticks.iter_mut();
        ticks
            .filter(|tick| tick.at_s > 3.0)
            .for_each(|tick| tick.processes = 0);
    });
    blames(&died, Verdict::Invalid, "server-alive");
}

#[test]
fn a_server_that_is_busy_after_the_load_keeps_its_numbers() {
    let told = |took_s: f64, answered: bool| {
        let judgement = judge(SOUND, |trial| {
            let mut steps = trial.steps.iter_mut();
            let again = steps.find(|one| one.step == Step::CheckAgain).unwrap();
            again.took_s = took_s;
            trial
                .answers
                .retain(|answer| answered || answer.when == When::Before);
        });
        let mut checks = judgement.checks.iter();
        let recovered = checks.find(|check| check.code == "recovered").unwrap();
        (judgement.verdict, recovered.level)
    };
    assert_eq!(told(0.9, true), (Verdict::Valid, Level::Passed));
    assert_eq!(told(12.5, true), (Verdict::Valid, Level::Note));
    assert_eq!(told(60.0, false), (Verdict::Suspect, Level::Note));
}

/// Judges a sound trial in an open loop after `fault` has been put into its result.
fn judge_open(fault: impl FnOnce(&mut LoadResult)) -> Judgement {
    let mut trial = support::open_loop_trial();
    fault(
        trial
            .result
            .as_mut()
            .expect("the made-up trial is measured"),
    );
    judge_trial(&support::record(), &trial, CEILINGS)
}

#[test]
fn an_open_loop_must_keep_its_schedule() {
    assert_eq!(judge_open(|_| {}).verdict, Verdict::Valid);
    let late = |share: f64| {
        move |result: &mut LoadResult| {
            let due = result.requests.due.unwrap();
            result.requests.begun = (due as f64 * share) as u64;
        }
    };
    assert_eq!(judge_open(late(0.991)).verdict, Verdict::Valid);
    blames(&judge_open(late(0.98)), Verdict::Invalid, "schedule-kept");
    let one_second = judge_open(|result| {
        let parts = &mut result.schedule.as_mut().unwrap().parts;
        // A second of the window is two of its parts.
        parts[3].begun = parts[3].due * 8 / 10;
    });
    blames(&one_second, Verdict::Suspect, "schedule-kept");
}

#[test]
fn the_engine_answers_for_its_own_delay_and_not_for_the_servers() {
    let slow_server = judge_open(|result| {
        let kept = result.schedule.as_mut().unwrap();
        kept.wait.record_n(1_000_000_000, 500);
        result.send_lag.record_n(1_000_000_000, 500);
    });
    assert_eq!(slow_server.verdict, Verdict::Valid, "{slow_server:#?}");
    let late_engine = judge_open(|result| {
        let due = result.requests.due.unwrap();
        let kept = result.schedule.as_mut().unwrap();
        kept.slip.record_n(1_000_000_000, due);
    });
    blames(&late_engine, Verdict::Suspect, "send-lag");
    let unknown = judge_open(|result| {
        let kept = result.schedule.as_mut().unwrap();
        std::mem::swap(&mut kept.slip, &mut kept.wait);
    });
    blames(&unknown, Verdict::Suspect, "send-lag");
}

#[test]
fn what_was_due_and_had_no_end_is_held_against_the_latencies() {
    let unended = |share: f64| {
        judge_open(|result| {
            let due = result.requests.due.unwrap();
            let gone = (due as f64 * share) as u64;
            result.requests.unended = Some(gone);
            result.at_least.record_n(400_000_000, gone);
        })
    };
    assert_eq!(unended(0.009).verdict, Verdict::Valid);
    blames(&unended(0.02), Verdict::Suspect, "unended");
    blames(&unended(0.06), Verdict::Invalid, "unended");
    let text = &unended(0.06).checks[0].text;
    assert!(text.contains("had no end (6.00 %)"), "{text}");
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
    assert_eq!(old(|_| {}).verdict, Verdict::Valid);
    let late = old(|result| result.requests.planned = Some(result.requests.started * 2));
    blames(&late, Verdict::Invalid, "schedule-kept");
    let lagging = old(|result| {
        let sent = result.send_lag.count();
        result.send_lag.record_n(1_000_000_000, sent);
    });
    blames(&lagging, Verdict::Suspect, "send-lag");
}

#[test]
fn a_request_that_got_lost_is_named_with_its_figures() {
    let lost = judge(SOUND, |trial| {
        let result = trial.result.as_mut().unwrap();
        result.balance.as_mut().unwrap().begun += 3;
    });
    blames(&lost, Verdict::Invalid, "counts-add-up");
    let text = &lost.checks[0].text;
    assert!(text.contains("10 carried in + "), "{text}");
    assert!(text.ends_with("+ 10 in flight: 3 lost"), "{text}");
    let twice = judge(SOUND, |trial| {
        let result = trial.result.as_mut().unwrap();
        result.balance.as_mut().unwrap().ended += 1;
    });
    assert!(twice.checks[0].text.ends_with(": 1 too many"));
    let begun = judge(SOUND, |trial| {
        trial.result.as_mut().unwrap().requests.begun += 1;
    });
    blames(&begun, Verdict::Invalid, "counts-add-up");
    let old = judge(SOUND, |trial| {
        let result = trial.result.as_mut().unwrap();
        (result.balance, result.requests.begun) = (None, 0);
    });
    assert_eq!(old.verdict, Verdict::Valid);
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
    assert!(
        judgement
            .checks
            .iter()
            .any(|check| check.text == "odd: something (do this)")
    );
}

#[test]
fn a_cell_is_as_bad_as_its_worst_round() {
    let mut record = support::record();
    assert_eq!(
        judged(&record, "nginx-optimized", "synthetic", "c10").verdict,
        Verdict::Valid
    );
    let trial = record
        .trials
        .iter_mut()
        .find(|trial| trial.id == SOUND)
        .unwrap();
    trial.answers[0].right = false;
    let judgement = judged(&record, "nginx-optimized", "synthetic", "c10");
    blames(&judgement, Verdict::Invalid, "answer-before");
    assert!(judgement.checks[0].text.ends_with("(in 1 of 3 rounds)"));
}

#[test]
fn a_cell_that_was_not_measured_says_how_it_ended() {
    let record = support::record();
    assert_eq!(
        judged(&record, "caddy-default", "proxy", "c200").verdict,
        Verdict::Skipped
    );
    let partly = judged(&record, "nginx-optimized", "proxy", "c10");
    blames(&partly, Verdict::Suspect, "rounds-complete");
}

#[test]
fn failures_are_suspect_and_say_of_what_kind() {
    let record = support::record();
    let judgement = judged(&record, "nginx-default", "synthetic", "c200");
    assert_eq!(judgement.verdict, Verdict::Suspect);
    let failed = judgement
        .checks
        .iter()
        .find(|check| check.code == "failed-share")
        .unwrap();
    assert!(failed.text.contains("most as refused"), "{}", failed.text);
}

#[test]
fn the_bottleneck_is_named_with_its_figures() {
    let record = support::record();
    let cells = cells(&record);
    let named = |contender, workload, load| {
        let cell = cell(&cells, contender, workload, load);
        bottleneck(&record, cell, Ceilings::beside(&cells, &cell.key)).map(|one| one.name)
    };
    assert_eq!(
        named("nginx-optimized", "synthetic", "c10"),
        Some("cpu-bound")
    );
    assert_eq!(
        named("nginx-default", "synthetic", "c200"),
        Some("accept-queue")
    );
    assert_eq!(named("nginx-default", "proxy", "c10"), Some("unknown"));
    assert_eq!(named("yardstick", "proxy", "c10"), Some("client-cpu"));
    assert_eq!(named("caddy-default", "proxy", "c200"), None);
}
