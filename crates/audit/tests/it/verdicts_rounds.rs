//! The verdict on the rounds of a cell, number by number, and that on a campaign.

mod attempts;
mod full_engine;
#[allow(dead_code)]
mod spread;
mod threads;

use bakeoff_audit::{Code, Conclusion, Judged, JudgedCell, Level, Metric, Number, Verdict, judge};
use bakeoff_plan::Until;
use bakeoff_record::{
    Balance, Disturbance, Histogram, Outcome, Record, Requests, Step, TrialEnd, TrialRecord,
};

const CONTENDER: &str = "nginx-optimized";

fn cell<'j, 'r>(judged: &'j Judged<'r>, name: (&str, &str, &str)) -> &'j JudgedCell<'r> {
    let found = judged.cells.iter().find(|one| {
        let key = &one.cell.key;
        (
            key.contender.as_str(),
            key.workload.as_str(),
            key.load.as_str(),
        ) == name
    });
    found.expect("the made-up record has this cell")
}

/// The made-up campaign of `n` rounds, one workload and load of it.
fn rounds(n: u32) -> Record {
    bakeoff_testing::at_one_load(bakeoff_testing::record_of_rounds(n))
}

/// The trials of one contender, by round.
fn of<'r>(record: &'r mut Record, name: &'r str) -> impl Iterator<Item = &'r mut TrialRecord> {
    record
        .trials
        .iter_mut()
        .filter(move |it| it.contender == name)
}

/// Lets a stranger keep processors busy.
fn disturb(trial: &mut TrialRecord) {
    trial.usage.interrupts_apart = Some(false);
    for tick in &mut trial.usage.host {
        tick.cpus[1].user += 0.5;
        tick.cpus[1].idle -= 0.5;
    }
}

/// The verdicts of rate, latency, CPU time and memory.
fn verdicts(record: &Record) -> [Verdict; 4] {
    let judged = judge(record);
    let verdicts = cell(&judged, (CONTENDER, "synthetic", "c10"))
        .judgement
        .verdicts;
    [
        verdicts.rate,
        verdicts.latency,
        verdicts.cpu,
        verdicts.memory,
    ]
}

#[test]
fn a_number_needs_enough_rounds_and_not_all_of_them() {
    use Verdict::{Invalid, Suspect, Valid};
    // Rounds planned, disturbed ones, and what the timed numbers come to.
    for (planned, disturbed, expected) in [
        (3, 0, Valid),
        (3, 1, Suspect),
        (3, 3, Invalid),
        (7, 1, Valid),
        (7, 2, Suspect),
        (10, 2, Valid),
        (10, 3, Suspect),
        (10, 10, Invalid),
    ] {
        let mut record = rounds(planned);
        of(&mut record, CONTENDER).take(disturbed).for_each(disturb);
        let found = verdicts(&record);
        let case = format!("{disturbed} of {planned}");
        assert_eq!(found, [expected, expected, expected, Valid], "{case}");
    }
}

#[test]
fn a_few_spoiled_rounds_say_how_many_would_be_enough() {
    // Rounds planned, disturbed ones, and how many would do.
    for (planned, disturbed, expected) in [
        (6, 0, None),
        (6, 1, Some(7)),
        (6, 2, Some(8)),
        (7, 2, Some(8)),
        (10, 3, Some(11)),
        // Half were spoiled, and a few more can make up for it.
        (6, 3, Some(9)),
        (10, 6, Some(14)),
        // More than a plan adds by itself.
        (6, 4, None),
        // The machine has to become quiet first.
        (10, 10, None),
    ] {
        let mut record = rounds(planned);
        of(&mut record, CONTENDER).take(disturbed).for_each(disturb);
        let case = format!("{disturbed} of {planned}");
        assert_eq!(judge(&record).rounds_enough, expected, "{case}");
    }
    // A failing server would fail in the next round, too.
    let mut record = rounds(6);
    let first = of(&mut record, CONTENDER).next();
    first.expect("a round").end = bakeoff_record::TrialEnd::Interrupted;
    assert_eq!(judge(&record).rounds_enough, None);
}

#[test]
fn rounds_that_a_stopping_rule_adds_make_up_for_disturbed_ones() {
    use Verdict::{Suspect, Valid};
    // Rounds begun, disturbed ones, the most that the rule may lead to, what the rate comes to, and
    // how many rounds would do.
    for (begun, disturbed, max_rounds, expected, enough) in [
        (10, 2, 40, Valid, None),
        (10, 3, 40, Suspect, Some(11)),
        (12, 4, 40, Valid, None),
        (12, 5, 40, Suspect, Some(13)),
        // Where they are the most of them, half must be believable.
        (20, 10, 40, Valid, None),
        // The rule awaits them as long as it may.
        (20, 11, 40, Suspect, Some(22)),
        (20, 11, 20, Suspect, None),
    ] {
        let mut record = rounds(begun);
        record.plan.rounds = 7;
        record.plan.until = Some(Until {
            width: 0.03,
            max_rounds,
        });
        of(&mut record, CONTENDER).take(disturbed).for_each(disturb);
        let case = format!("{disturbed} of {begun}");
        assert_eq!(verdicts(&record)[0], expected, "{case}");
        assert_eq!(judge(&record).rounds_enough, enough, "{case}");
    }
}

#[test]
fn a_disturbed_round_is_not_in_the_estimate() {
    let mut record = rounds(10);
    of(&mut record, CONTENDER).take(2).for_each(disturb);
    let judged = judge(&record);
    let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
    let estimate = |measure| cell.estimate(measure).map(|one| one.n);
    assert_eq!(estimate(Metric::RatePerS), Ok(8));
    assert_eq!(estimate(Metric::MemoryPeakBytes), Ok(10));
    let check = cell
        .judgement
        .check(Code::OtherLoad)
        .expect("it is reported");
    assert_eq!(check.level, Level::Note);
    assert!(
        check.text.ends_with("(in 2 of 10 rounds)"),
        "{}",
        check.text
    );
}

#[test]
fn one_wrong_answer_in_ten_rounds_is_enough() {
    let mut record = rounds(10);
    of(&mut record, CONTENDER)
        .take(1)
        .for_each(|trial| trial.answers[0].right = false);
    assert_eq!(verdicts(&record), [Verdict::Invalid; 4]);
    let judged = judge(&record);
    let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
    let withheld = cell.estimate(Metric::RatePerS).expect_err("it is withheld");
    assert!(
        withheld.to_string().starts_with("withheld: the answer"),
        "{withheld}"
    );
    assert!(cell.estimate(Metric::Requests).is_ok());
}

#[test]
fn rounds_in_which_everything_fails_are_not_outvoted() {
    let fail = |trial: &mut TrialRecord| {
        let result = trial.result.as_mut().expect("it was measured");
        let answers = result.requests.completed;
        result.requests.ok = 0;
        result.outcomes = Default::default();
        result.outcomes.add_many(Outcome::Status, answers);
    };
    let mut record = rounds(10);
    of(&mut record, CONTENDER).take(2).for_each(fail);
    let judged = judge(&record);
    let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
    assert!(cell.judgement.verdicts.rate > Verdict::Valid);
    let check = cell.judgement.check(Code::FailedShare);
    let level = check.map(|check| check.of(Number::Rate));
    assert_eq!(level, Some(Level::Suspect));
}

/// Lets a server hang for the whole window: its clients wait for an answer that does not come.
fn hang(trial: &mut TrialRecord) {
    let result = trial.result.as_mut().expect("it was measured");
    let waiting = result.requests.in_flight_at_end;
    result.requests = Requests {
        started: waiting,
        carried_in: waiting,
        in_flight_at_end: waiting,
        ..Requests::default()
    };
    result.balance = Balance {
        carried_in: waiting,
        in_flight: waiting,
        ..Balance::default()
    };
    result.outcomes = Default::default();
    (result.latency, result.service) = (Histogram::new(), Histogram::new());
    result.error_latencies.clear();
    for part in &mut result.intervals {
        (part.ok, part.errors, part.latency) = (0, 0, Histogram::new());
    }
}

#[test]
fn rounds_in_which_nothing_ended_are_not_outvoted() {
    // Rounds planned, and those in which the server hung.
    for (planned, hung) in [(7, 1), (10, 2), (20, 1)] {
        let mut record = rounds(planned);
        of(&mut record, CONTENDER).take(hung).for_each(hang);
        let case = format!("{hung} of {planned}");
        let judged = judge(&record);
        let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
        let share = cell.cell.error_share().expect("rounds were measured");
        let expected = hung as f64 / f64::from(planned);
        assert!((share - expected).abs() < 1e-3, "{case}: {share}");
        assert_eq!(cell.judgement.verdicts.rate, Verdict::Suspect, "{case}");
        assert_eq!(cell.judgement.verdicts.cpu, Verdict::Suspect, "{case}");
        let check = cell.judgement.check(Code::FailedShare);
        let text = &check.expect("requests were counted").text;
        let rounds = format!("(in {hung} of {planned} rounds)");
        assert!(text.starts_with("no request ended"), "{case}: {text}");
        assert!(text.ends_with(&rounds), "{case}: {text}");
        let ranked = judged.comparisons.iter().any(|one| {
            let pair = [&one.pair.first, &one.pair.second];
            let is_shown = matches!(
                one.conclusion,
                Conclusion::Higher | Conclusion::Lower | Conclusion::PlainNotProven(_)
            );
            pair.contains(&&CONTENDER.to_owned()) && one.metric == Metric::RatePerS && is_shown
        });
        assert!(!ranked, "{case}: {:#?}", judged.findings);
    }
    // Where it hung in all rounds there is nothing to show.
    let mut record = rounds(7);
    of(&mut record, CONTENDER).for_each(hang);
    assert_eq!(verdicts(&record)[0], Verdict::Invalid);
}

/// Lets a server die under load.
fn kill(trial: &mut TrialRecord) {
    trial.end = TrialEnd::failed(
        Step::Measure,
        "the server died under load: killed by signal 9",
    );
}

#[test]
fn a_server_that_died_under_load_in_some_rounds_is_shown_and_not_ranked() {
    let reported = |fault: fn(&mut TrialRecord)| {
        let mut record = rounds(10);
        of(&mut record, CONTENDER).skip(3).take(2).for_each(fault);
        let judged = judge(&record);
        let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
        let check = cell.judgement.check(Code::ServerAlive);
        let text = check.expect("it was watched").text.clone();
        let rounds = cell.estimate(Metric::RatePerS).map(|one| one.n);
        (verdicts(&record), text, rounds)
    };
    let (found, text, rounds) = reported(kill);
    assert_eq!(found, [Verdict::Suspect; 4]);
    let expected = "the server died under load: killed by signal 9 (in rounds 4 and 5)";
    assert_eq!((text.as_str(), rounds), (expected, Ok(8)));
    // A load engine that failed, or a round that others disturbed, says nothing of the server.
    let twins: [fn(&mut TrialRecord); 2] = [
        |trial| {
            kill(trial);
            trial.result = None;
        },
        |trial| {
            kill(trial);
            trial.disturbed = vec![Disturbance::OtherLoad];
        },
    ];
    for twin in twins {
        let (found, text, rounds) = reported(twin);
        assert_eq!(found, [Verdict::Valid; 4], "{text}");
        assert_eq!(rounds, Ok(8));
    }
}

#[test]
fn two_reasons_that_leave_enough_rounds_each_may_not_together() {
    let mut record = rounds(10);
    of(&mut record, CONTENDER).take(2).for_each(disturb);
    for trial in of(&mut record, CONTENDER).skip(8) {
        let result = trial.result.as_mut().expect("it was measured");
        result.engine.threads[0].kept_s = 0.3 * result.measured_s;
    }
    let found = verdicts(&record);
    assert_eq!(
        found,
        [
            Verdict::Suspect,
            Verdict::Suspect,
            Verdict::Valid,
            Verdict::Valid
        ]
    );
    let judged = judge(&record);
    let judgement = &cell(&judged, (CONTENDER, "synthetic", "c10")).judgement;
    let check = judgement
        .blame(Number::Rate)
        .expect("something is to blame");
    assert_eq!(check.code, Code::RoundsAccepted);
    assert_eq!(
        check.text,
        "6 of 10 rounds can be believed, and 8 are needed"
    );
}

#[test]
fn fewer_rounds_than_planned_are_shown_and_not_ranked() {
    for (carried_out, expected) in [
        (20, Verdict::Valid),
        (16, Verdict::Valid),
        (7, Verdict::Suspect),
    ] {
        let mut record = rounds(20);
        record.trials.retain(|trial| trial.round <= carried_out);
        assert_eq!(verdicts(&record)[0], expected, "{carried_out} of 20");
        record.plan.until = Some(bakeoff_plan::Until {
            width: 0.03,
            max_rounds: 40,
        });
        // A rule that was recorded before decides by itself when to stop, from ten rounds on.
        let stopped = if carried_out < 8 {
            Verdict::Suspect
        } else {
            Verdict::Valid
        };
        assert_eq!(verdicts(&record)[0], stopped, "{carried_out} by a rule");
    }
    let one = rounds(1);
    assert_eq!(
        verdicts(&one)[0],
        Verdict::Suspect,
        "one round agrees with nothing"
    );
    let reasons = judge(&one).trust.reasons;
    let says = |part: &str| reasons.iter().any(|one| one.text.contains(part));
    assert!(says("fewer than three rounds do not say"), "{reasons:?}");
    assert!(!says("differ much from each other"), "{reasons:?}");
}

#[test]
fn another_program_in_one_round_takes_the_whole_row() {
    let mut record = rounds(7);
    let last = of(&mut record, CONTENDER).last().expect("there are rounds");
    last.server.as_mut().expect("it ran").version = "1.29.0".into();
    let judged = judge(&record);
    let judgement = &cell(&judged, (CONTENDER, "synthetic", "c10")).judgement;
    assert_eq!(judgement.checks[0].code, Code::ProgramChanged);
    assert_eq!(judgement.verdicts.counts, Verdict::Invalid);
    let text = &judgement.checks[0].text;
    assert!(text.contains("1.22.1") && text.contains("1.29.0"), "{text}");
}

#[test]
fn the_yardstick_that_drifts_disturbs_its_block() {
    let mut record = rounds(7);
    for trial in of(&mut record, "yardstick").filter(|it| it.round == 4) {
        let result = trial.result.as_mut().expect("it was measured");
        result.measured_s *= 1.5;
    }
    let judged = judge(&record);
    for (trial, judgement) in &cell(&judged, (CONTENDER, "synthetic", "c10")).trials {
        let drift = judgement
            .check(Code::Drift)
            .expect("it is held against the yardstick");
        let expected = if trial.round == 4 {
            Level::Disturbed
        } else {
            Level::Passed
        };
        assert_eq!(drift.level, expected, "round {}", trial.round);
    }
}

#[test]
fn the_ceiling_is_that_of_the_same_round() {
    let mut record = rounds(3);
    for trial in of(&mut record, "yardstick").filter(|it| it.round == 2) {
        let result = trial.result.as_mut().expect("it was measured");
        result.requests.ok = result.requests.ok * 6 / 10;
    }
    let judged = judge(&record);
    let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
    let share = |round: u32| {
        let (_, judgement) = &cell.trials[round as usize - 1];
        let check = judgement
            .check(Code::GeneratorCeiling)
            .expect("it is a closed loop");
        check.value.expect("there is a yardstick")
    };
    assert!(share(1) < 0.6 && share(2) > 0.8 && share(3) < 0.6);
}

/// The second round's trials in another attempt.
fn again(record: &Record) -> Vec<TrialRecord> {
    let second = record.trials.iter().filter(|trial| trial.round == 2);
    let again = second.map(|trial| TrialRecord {
        attempt: 2,
        disturbed: Vec::new(),
        doubted: None,
        id: format!("{}-a2", trial.id),
        ..trial.clone()
    });
    again.collect()
}

#[test]
fn an_attempt_that_was_broken_off_does_not_count() {
    let attempt_of_round_2 = |end: Option<TrialEnd>| {
        let mut record = rounds(3);
        let mut again = again(&record);
        let here = |trial: &&mut TrialRecord| (&*trial.workload, &*trial.contender) == PLACE;
        match end {
            Some(end) => again.iter_mut().find(here).expect("it is there").end = end,
            // The campaign ended before this trial began.
            None => again.retain(|trial| (&*trial.workload, &*trial.contender) != PLACE),
        }
        for trial in record.trials.iter_mut().filter(|trial| trial.round == 2) {
            trial.disturbed = vec![Disturbance::OtherLoad];
        }
        record.trials.extend(again);
        let judged = judge(&record);
        let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
        cell.cell.trials[1].attempt
    };
    const PLACE: (&str, &str) = ("synthetic", "yardstick");
    assert_eq!(attempt_of_round_2(Some(TrialEnd::Interrupted)), 1);
    assert_eq!(attempt_of_round_2(None), 1);
    assert_eq!(attempt_of_round_2(Some(TrialEnd::Measured)), 2, "the twin");
}

#[test]
fn the_first_attempt_that_nothing_disturbed_counts_for_the_whole_block() {
    let mut record = rounds(3);
    let again = again(&record);
    for trial in of(&mut record, "caddy-default").filter(|it| it.round == 2) {
        trial.disturbed = vec![Disturbance::OtherLoad];
        disturb(trial);
    }
    record.trials.extend(again);
    let judged = judge(&record);
    let attempts = |name| {
        let cell = cell(&judged, (name, "synthetic", "c10"));
        let trials = cell.cell.trials.iter();
        (
            trials.map(|trial| trial.attempt).collect::<Vec<_>>(),
            cell.trials.len(),
        )
    };
    for name in [CONTENDER, "caddy-default", "yardstick"] {
        assert_eq!(attempts(name), (vec![1, 2, 1], 4), "{name}");
    }
    let verdict = cell(&judged, ("caddy-default", "synthetic", "c10"))
        .judgement
        .verdicts
        .rate;
    assert_eq!(verdict, Verdict::Valid);
    let reported = &judged.trust.reasons;
    assert!(
        reported
            .iter()
            .any(|one| one.text.contains("blocks were repeated")),
        "{reported:?}"
    );
}

#[test]
fn a_cell_that_was_not_measured_says_how_it_ended() {
    let record = bakeoff_testing::record();
    let judged = judge(&record);
    let verdict = |contender, workload, load| {
        let cell = cell(&judged, (contender, workload, load));
        cell.judgement.verdict
    };
    assert_eq!(verdict("caddy-default", "proxy", "c200"), Verdict::Skipped);
    let partly = cell(&judged, (CONTENDER, "proxy", "c10"));
    assert_eq!(partly.judgement.verdicts.rate, Verdict::Suspect);
    assert!(partly.judgement.check(Code::RoundsComplete).is_some());
    let failing = cell(&judged, ("nginx-default", "synthetic", "c200"));
    let failed = failing
        .judgement
        .check(Code::FailedShare)
        .expect("some failed");
    assert!(failed.text.contains("most as refused"), "{}", failed.text);
}

#[test]
fn the_bottleneck_is_named_with_its_figures() {
    let record = bakeoff_testing::record();
    let judged = judge(&record);
    let named = |contender, workload, load| {
        let cell = cell(&judged, (contender, workload, load));
        cell.bottleneck.as_ref().map(|one| one.name.name())
    };
    assert_eq!(named(CONTENDER, "synthetic", "c10"), Some("cpu-bound"));
    assert_eq!(named("yardstick", "proxy", "c10"), Some("co-saturated"));
    assert_eq!(named("caddy-default", "proxy", "c200"), None);
    let mut kept = bakeoff_testing::open_loop_trial();
    kept.contender = CONTENDER.into();
    let mut record = rounds(1);
    record.trials = vec![kept];
    let judged = judge(&record);
    let bottleneck = judged.cells[0]
        .bottleneck
        .as_ref()
        .expect("it was measured");
    assert_eq!(
        bottleneck.name.name(),
        "none",
        "a rate that is kept has none"
    );
}

#[test]
fn a_quota_is_the_bottleneck_however_many_processors_there_are() {
    let mut record = rounds(3);
    for trial in of(&mut record, CONTENDER) {
        let ticks = trial.usage.host.iter_mut();
        for (place, tick) in (0..).zip(ticks) {
            tick.throttled_us = Some(place * 400_000);
        }
    }
    let judged = judge(&record);
    let bottleneck = &cell(&judged, (CONTENDER, "synthetic", "c10")).bottleneck;
    let bottleneck = bottleneck.as_ref().expect("it was measured");
    assert_eq!(bottleneck.name.name(), "throttled");
}

#[test]
fn findings_count_the_cells_that_they_hold_in() {
    let record = bakeoff_testing::record_of_rounds(10);
    let judged = judge(&record);
    let of_rate = judged
        .findings
        .iter()
        .filter(|one| one.metric == bakeoff_audit::Metric::RatePerS);
    let caddy: Vec<_> = of_rate
        .filter(|one| one.text.contains("caddy-default"))
        .collect();
    assert!(!caddy.is_empty(), "{:#?}", judged.findings);
    for one in caddy {
        assert!(
            one.cells_agreeing <= one.cells && one.cells <= 4,
            "{one:#?}"
        );
        assert!(one.text.starts_with(&one.second), "{}", one.text);
        assert!(one.text.contains("in "), "{}", one.text);
    }
    assert!(judged.trust.reasons.len() <= 4);
}
