//! What stands under a finding although its numbers are valid, and bodies that change.

use bakeoff_audit::{Code, Judged, Level, Metric, Tone, judge, judge_trial};
use bakeoff_plan::{Changing, OwnAnswer, SentBody};
use bakeoff_record::{Record, TrialRecord};

use crate::planted::{CEILINGS, RECORD, SOUND, idle_server, reported, result, text_of};

/// A campaign of which the second contender is twice as fast as the first.
fn twice() -> Record {
    bakeoff_testing::campaign(7)
}

/// What stands under findings, each with its level.
fn under(judged: &Judged<'_>) -> Vec<(String, Level)> {
    let all = judged.findings.iter().flat_map(|it| &it.weakened_by);
    let mut under: Vec<_> = all.map(|one| (one.code.clone(), one.level)).collect();
    under.dedup();
    under
}

#[test]
fn clients_that_starve_stand_under_the_finding() {
    let sound = twice();
    let judged = judge(&sound);
    assert_eq!(under(&judged), []);
    let mut starved = twice();
    for trial in &mut starved.trials {
        if let Some(result) = &mut trial.result {
            let clients = &mut result.observed.clients;
            clients.none = clients.count.div_ceil(4);
        }
    }
    let judged = judge(&starved);
    let rate = &judged.findings[0];
    let one = &rate.weakened_by[0];
    assert_eq!((one.code.as_str(), one.level), ("starved", Level::Suspect));
    assert!(one.text.contains("had no answer for a quarter"), "{one:?}");
    assert_ne!(rate.tone, Tone::Good);
    let trust = judged.trust.of(Metric::RatePerS).expect("it is tested");
    assert!(trust.direction && trust.size.is_none(), "{trust:?}");
}

#[test]
fn a_server_with_time_to_spare_is_named() {
    let mut record = twice();
    for trial in &mut record.trials {
        if trial.contender == "nginx-default" {
            idle_server(trial);
        }
    }
    let judged = judge(&record);
    let under = under(&judged);
    let is_there = under.contains(&("idle-server".to_owned(), Level::Note));
    assert!(is_there, "{under:?}");
}

/// Judges the sound trial of a body that changes, where `fault` was put into it.
fn changing(fault: impl FnOnce(&mut TrialRecord)) -> bakeoff_audit::Judgement {
    let mut record = RECORD.clone();
    let mut trials = record.trials.iter();
    let mut trial = trials
        .find(|trial| trial.id == SOUND)
        .expect("the trial")
        .clone();
    let bytes = trial.answers[0].body_bytes;
    let mut contenders = record.plan.contenders.iter_mut();
    let own = contenders
        .find(|it| it.name == trial.contender)
        .expect("the contender");
    own.answers.push(OwnAnswer {
        workload: trial.workload.clone(),
        request: 0,
        status: 200,
        body: SentBody {
            changing: Some(Changing::seen(bytes, bytes + 2, None)),
            ..SentBody::default()
        },
    });
    result(&mut trial).bodies_checked = 0;
    trial.answers[1].body_bytes += 2;
    fault(&mut trial);
    judge_trial(&record, &trial, CEILINGS)
}

#[test]
fn a_body_that_changes_is_a_note_and_another_length_is_not() {
    let sound = changing(|_| {});
    assert_eq!(reported(&sound), [""; 0], "{sound:#?}");
    let text = text_of(&sound, Code::BodiesCompared);
    assert!(text.contains("changes from answer to answer"), "{text}");
    for share in [10, 2] {
        let other = changing(|trial| result(trial).bytes.body /= share);
        let expected = "body-bytes: rate invalid, latency invalid, cpu invalid";
        assert_eq!(reported(&other), [expected]);
    }
    let longer = changing(|trial| result(trial).bytes.body *= 100);
    assert_eq!(reported(&longer).len(), 1);
}
