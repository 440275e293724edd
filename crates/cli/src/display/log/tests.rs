use std::path::Path;

use bakeoff_plan::{Builtin, Overrides, RoundsAsked, Trial, blocks};
use bakeoff_record::{LoadResult, Step};

use super::*;

/// The plan `quick`, with so many workloads.
fn plan(workloads: usize) -> Plan {
    let text = bakeoff_plan::builtin_plan("quick").unwrap();
    let plan = bakeoff_plan::parse(text, "quick", Path::new("/"), &Builtin).unwrap();
    let workloads = plan.workloads.iter().take(workloads);
    let overrides = Overrides {
        workloads: workloads.map(|it| it.name.clone()).collect(),
        rounds: RoundsAsked::number(7),
        ..Overrides::default()
    };
    plan.with(&overrides).unwrap()
}

/// A trial that was measured: 1,000 right answers a second, each in a millisecond; of
/// `caddy-default` half as many, which take twice as long.
fn measured(trial: &Trial) -> TrialRecord {
    let is_slow = trial.contender.name == "caddy-default";
    let mut result = LoadResult::empty(trial.load.clone(), 1.0);
    result.requests.ok = if is_slow { 500 } else { 1000 };
    result
        .latency
        .record(if is_slow { 2_000_000 } else { 1_000_000 });
    TrialRecord {
        end: TrialEnd::Measured,
        result: Some(result),
        ..TrialRecord::of(trial)
    }
}

fn failed(trial: &Trial) -> TrialRecord {
    TrialRecord {
        end: TrialEnd::failed(Step::Start, "no answer within 10 s"),
        result: None,
        ..measured(trial)
    }
}

/// The lines of so many rounds, of which each trial takes `trial_s` of invented time.
fn lines(
    plan: &Plan,
    rounds: u32,
    trial_s: f64,
    line_for: LineFor,
    carry: impl Fn(&Trial) -> TrialRecord,
) -> Vec<String> {
    let blocks = blocks(plan, rounds);
    let all: usize = blocks.iter().map(|block| block.trials.len()).sum();
    let mut log = Log::new(Standings::new(plan, &[]), line_for);
    let trial_time = Duration::from_secs_f64(trial_s);
    let (mut number, mut passed, mut lines) = (0, Duration::ZERO, Vec::new());
    for block in &blocks {
        for trial in &block.trials {
            number += 1;
            let began = Event::Trial {
                number,
                trials: all,
                id: &trial.id,
                what: (&trial.contender.name, &trial.workload.name),
                left: trial_time * u32::try_from(all + 1 - number).unwrap(),
            };
            lines.extend(log.hear(&began, passed));
            passed += trial_time;
            lines.extend(log.hear(&Event::Ended(&carry(trial)), passed));
        }
        if line_for == LineFor::Block {
            lines.extend(log.hear(&Event::BlockEnded, passed));
        }
    }
    lines
}

fn in_blocks(lines: &[String]) -> Vec<&str> {
    let of_blocks = lines.iter().filter(|line| line.starts_with("round "));
    of_blocks.map(String::as_str).collect()
}

#[test]
fn the_longest_course_of_the_plan_quick_has_few_lines() {
    let plan = plan(4);
    let rounds = plan.rounds_at_most();
    let all: usize = blocks(&plan, rounds).iter().map(|it| it.trials.len()).sum();
    assert!(rounds == 10 && all == 370, "{rounds} rounds, {all} trials");
    // In an hour.
    let lines = lines(&plan, rounds, 3600.0 / all as f64, LineFor::Block, measured);
    assert!(lines.len() <= 26, "{} lines: {lines:#?}", lines.len());
    let of_blocks = in_blocks(&lines);
    assert_eq!(of_blocks.len(), 8, "{of_blocks:#?}");
    assert_eq!(
        of_blocks[..2],
        [
            "round 1/7 synthetic c50: ok/s nginx-default 1,000, nginx-optimized 1.00x, \
             caddy-default 0.50x",
            "round 1/7 synthetic share0.5p-c50: p99 nginx-default 1.00 ms, nginx-optimized 1.00x, \
             caddy-default 2.00x",
        ]
    );
    let last = lines.last().unwrap();
    let standings = "ok/s against nginx-default: nginx-optimized 1.00x, caddy-default \
                     0.50x (medians of 9 rounds); p99 against nginx-default: nginx-optimized \
                     1.00x, caddy-default 2.00x (medians of 9 rounds)";
    assert!(last.ends_with(standings), "{last}");
}

#[test]
fn a_minute_has_a_summary_of_how_far_it_is() {
    // Each round has 9 trials.
    let lines = lines(&plan(1), 7, 3.0, LineFor::Block, measured);
    let summaries: Vec<_> = lines.iter().filter(|it| it.starts_with("after ")).collect();
    assert_eq!(summaries.len(), 3, "{summaries:#?}");
    let standings = "; ok/s against nginx-default: nginx-optimized 1.00x, caddy-default \
                     0.50x (medians of 3 rounds); p99 against nginx-default: nginx-optimized \
                     1.00x, caddy-default 2.00x (medians of 2 rounds)";
    let first = "after 1 min 0 s: 20 of 63 trials, about 2 min 9 s left";
    assert_eq!(*summaries[0], format!("{first}{standings}"));
}

#[test]
fn a_long_trial_is_summed_up_while_it_runs() {
    let plan = plan(1);
    let trial = &blocks(&plan, 1)[0].trials[0];
    let mut log = Log::new(Standings::new(&plan, &[]), LineFor::Block);
    let began = Event::Trial {
        number: 1,
        trials: 2,
        id: &trial.id,
        what: (&trial.contender.name, &trial.workload.name),
        left: Duration::from_secs(240),
    };
    let live = Event::Live {
        ok: 100,
        errors: 0,
        since: Duration::from_millis(100),
    };
    let nothing: [String; 0] = [];
    assert_eq!(log.hear(&began, Duration::ZERO), nothing);
    assert_eq!(log.hear(&live, Duration::from_secs(59)), nothing);
    let minute = ["after 1 min 0 s: 0 of 2 trials, about 3 min 0 s left"];
    assert_eq!(log.hear(&live, Duration::from_secs(60)), minute);
    assert_eq!(log.hear(&live, Duration::from_secs(61)), nothing);
}

#[test]
fn while_they_are_few_all_blocks_have_lines() {
    // Two blocks a round.
    let lines = lines(&plan(1), 7, 0.5, LineFor::Block, measured);
    let rounds: Vec<&str> = lines
        .iter()
        .map(|it| it.split('/').next().unwrap())
        .collect();
    let expected: Vec<String> = (1..=6).map(|round| format!("round {round}")).collect();
    let each_twice: Vec<&String> = expected.iter().flat_map(|it| [it, it]).collect();
    assert_eq!(rounds, each_twice);
}

#[test]
fn what_goes_wrong_is_printed_when_it_is_new() {
    let fails_from = |trial: &Trial| {
        let is_it = trial.contender.name == "caddy-default" && trial.workload.name == "html-small";
        if is_it && trial.load.label() == "c50" && trial.round >= 3 {
            failed(trial)
        } else {
            measured(trial)
        }
    };
    let lines = lines(&plan(4), 7, 2.1, LineFor::Block, fails_from);
    let of_blocks = in_blocks(&lines);
    assert_eq!(of_blocks.len(), 9, "{of_blocks:#?}");
    assert_eq!(
        of_blocks[8],
        "round 3/7 html-small c50: ok/s nginx-default 1,000, nginx-optimized 1.00x, \
         caddy-default 0.50x (medians of 3 rounds); caddy-default: failed at start: no answer \
         within 10 s"
    );
    assert!(
        lines.last().unwrap().ends_with("; 5 trials failed"),
        "{lines:#?}"
    );
}

#[test]
fn a_block_without_a_measured_contender_says_why() {
    let lines = lines(&plan(1), 1, 0.5, LineFor::Block, failed);
    assert!(
        lines[0].starts_with("round 1/7 synthetic c50: "),
        "{lines:#?}"
    );
    for name in [
        "nginx-default",
        "nginx-optimized",
        "caddy-default",
        "yardstick",
    ] {
        let why = format!("{name}: failed at start: no answer");
        assert!(lines[0].contains(&why), "{lines:#?}");
    }
}

#[test]
fn a_contender_without_right_answers_is_named() {
    let lines = lines(&plan(1), 1, 0.5, LineFor::Block, |trial| {
        let mut record = measured(trial);
        if trial.contender.name == "caddy-default" {
            record.result.as_mut().unwrap().requests.ok = 0;
        }
        record
    });
    let why = "; caddy-default: 0.000 ok/s, 0 errors";
    assert!(lines[0].ends_with(why), "{lines:#?}");
}

#[test]
fn a_disturbed_block_says_by_what() {
    let lines = lines(&plan(1), 1, 0.5, LineFor::Block, |trial| {
        let mut record = measured(trial);
        if trial.contender.name == "nginx-default" && trial.load.label() == "c50" {
            record.disturbed = vec![Disturbance::Steal];
        }
        record
    });
    assert!(
        lines[0].ends_with("; disturbed by the hypervisor"),
        "{lines:#?}"
    );
    assert!(!lines[1].contains("disturbed"), "{lines:#?}");
}

#[test]
fn without_blocks_each_of_the_first_trials_has_a_line_and_later_ones_share_the_summary() {
    let lines = lines(&plan(1), 7, 3.0, LineFor::Trial, measured);
    let of_trials = lines.iter().filter(|it| it.starts_with('r')).count();
    assert_eq!(of_trials, 24);
    assert!(lines[0].ends_with(" ok/s, 0 errors"), "{lines:#?}");
    let last = lines.last().unwrap();
    let far = "after 3 min 0 s: 60 of 63 trials, about 9 s left; last: r7-";
    assert!(last.starts_with(far), "{last}");
}
