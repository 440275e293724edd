use std::path::Path;

use bakeoff_plan::{Builtin, LoadModel, Overrides, RoundsAsked, Until, trials};
use bakeoff_record::LoadResult;

use super::*;

/// Two contenders and the references, two workloads, one closed loop.
fn plan(rounds: u32) -> Plan {
    let text = bakeoff_plan::builtin_plan("smoke").unwrap();
    let plan = bakeoff_plan::parse(text, "smoke", Path::new("/"), &Builtin).unwrap();
    let overrides = Overrides {
        rounds: RoundsAsked::number(rounds),
        ..Overrides::default()
    };
    plan.with(&overrides).unwrap()
}

/// The plan `quick` with one workload: a closed loop, and an open one at a share of it.
fn plan_with_share() -> Plan {
    let text = bakeoff_plan::builtin_plan("quick").unwrap();
    let plan = bakeoff_plan::parse(text, "quick", Path::new("/"), &Builtin).unwrap();
    let overrides = Overrides {
        workloads: vec!["html-small".to_owned()],
        rounds: RoundsAsked::number(2),
        ..Overrides::default()
    };
    plan.with(&overrides).unwrap()
}

fn result(trial: &Trial, ok: u64) -> LoadResult {
    let mut result = LoadResult::empty(trial.load.clone(), 1.0);
    result.requests.ok = ok;
    result
}

/// A trial that was measured, with `ok` right answers a second.
fn record(trial: &Trial, ok: u64) -> TrialRecord {
    TrialRecord {
        end: TrialEnd::Measured,
        result: Some(result(trial, ok)),
        ..TrialRecord::of(trial)
    }
}

/// Runs the plan from `recorded` on; `carry` invents what comes of a trial.
fn run_from(
    mut recorded: Vec<TrialRecord>,
    plan: &Plan,
    widest: &mut Widest<'_>,
    mut carry: impl FnMut(&Trial) -> TrialRecord,
) -> Vec<TrialRecord> {
    // The campaign's own loop, without a stage and a disk.
    let mut rounds = Rounds::new(plan, widest);
    loop {
        for (place, what) in rounds.seen_later(&recorded) {
            recorded[place].disturbed.push(what);
        }
        let Some(trial) = rounds.next(&recorded) else {
            assert_eq!(rounds.left(&recorded), Left::default());
            return recorded;
        };
        let is_new = recorded
            .iter()
            .all(|it| it.id != trial.id || it.end == TrialEnd::Interrupted);
        assert!(is_new, "{} again", trial.id);
        recorded.retain(|earlier| earlier.id != trial.id);
        recorded.push(carry(&trial));
    }
}

fn run(plan: &Plan, carry: impl FnMut(&Trial) -> TrialRecord) -> Vec<TrialRecord> {
    run_from(Vec::new(), plan, &mut |_| Some(0.0), carry)
}

fn ids(records: &[TrialRecord]) -> Vec<String> {
    records.iter().map(|record| record.id.clone()).collect()
}

fn disturbed(trial: &Trial, ok: u64) -> TrialRecord {
    let mut record = record(trial, ok);
    record.disturbed = vec![Disturbance::OtherLoad];
    record
}

/// Ids of repeated trials, without their last part.
fn repeats(records: &[TrialRecord]) -> Vec<&str> {
    let repeated = records.iter().filter(|record| record.attempt > 1);
    repeated.map(|record| record.id.as_str()).collect()
}

#[test]
fn what_is_not_disturbed_is_the_plan_in_its_order() {
    let plan = plan(3);
    let planned: Vec<String> = trials(&plan).into_iter().map(|trial| trial.id).collect();
    assert_eq!(ids(&run(&plan, |trial| record(trial, 100))), planned);
}

#[test]
fn a_campaign_goes_on_exactly_where_it_was_interrupted() {
    let plan = plan(4);
    // Every fifth trial is disturbed, whatever its block.
    let carry = |trial: &Trial| match trial.index % 5 {
        0 if trial.attempt == 1 => disturbed(trial, 100),
        _ => record(trial, 100),
    };
    let whole = run(&plan, carry);
    assert!(!repeats(&whole).is_empty());
    for end in 0..whole.len() {
        let mut before = whole[..end].to_vec();
        if let Some(last) = before.last_mut() {
            last.end = TrialEnd::Interrupted;
        }
        let resumed = run_from(before, &plan, &mut |_| Some(0.0), carry);
        let (mut one, mut other) = (ids(&whole), ids(&resumed));
        one.sort();
        other.sort();
        assert_eq!(one, other, "interrupted at {end}");
    }
}

#[test]
fn a_disturbed_block_is_repeated_whole_after_all_rounds() {
    let plan = plan(3);
    let carry = |trial: &Trial| match trial.id.as_str() {
        "r1-caddy-default-synthetic-c5" => disturbed(trial, 100),
        _ => record(trial, 100),
    };
    let records = run(&plan, carry);
    let block = ["caddy-default", "nginx-default", "yardstick"];
    let mut expected = block.map(|name| format!("r1-{name}-synthetic-c5-a2"));
    let mut repeated = repeats(&records);
    assert_eq!(repeated, ids(&records)[trials(&plan).len()..], "last");
    repeated.sort_unstable();
    expected.sort_unstable();
    assert_eq!(repeated, expected);
    let kept = records
        .iter()
        .filter(|it| it.id.starts_with("r1-caddy-default-synthetic"));
    assert_eq!(kept.count(), 2, "both attempts are kept");
}

#[test]
fn a_look_of_two_rounds_repeats_nothing() {
    let plan = plan(2);
    let records = run(&plan, |trial| disturbed(trial, 100));
    assert_eq!(repeats(&records), [""; 0]);
}

#[test]
fn a_block_is_repeated_at_most_once_in_four_rounds_and_each_before_one_again() {
    let plan = plan(5);
    let always = run(&plan, |trial| disturbed(trial, 100));
    // There are ceil(5 / 4) = 2 repeats: the first two rounds have one each, and no block has two.
    let of = |workload: &str| -> Vec<(u32, u32)> {
        let one = always.iter().filter(|it| it.contender == "caddy-default");
        let repeated = one.filter(|it| it.attempt > 1 && it.workload == workload);
        repeated.map(|it| (it.round, it.attempt)).collect()
    };
    assert_eq!(of("synthetic"), [(1, 2), (2, 2)]);
    assert_eq!(of("proxy"), [(1, 2), (2, 2)]);
}

#[test]
fn rates_of_contenders_decide_nothing() {
    let plan = plan(6);
    let with_rates = |rate: fn(&Trial) -> u64| {
        let contender = move |trial: &Trial| trial.contender.name == "caddy-default";
        run(&plan, |trial| {
            if contender(trial) {
                record(trial, rate(trial))
            } else {
                record(trial, 100)
            }
        })
    };
    let steady = with_rates(|_| 100);
    assert_eq!(ids(&with_rates(|trial| 1 << trial.round)), ids(&steady));
    assert_eq!(repeats(&steady), [""; 0]);
}

#[test]
fn a_block_whose_yardstick_drifted_is_repeated() {
    let plan = plan(6);
    let carry = |trial: &Trial| match trial.id.as_str() {
        "r2-yardstick-synthetic-c5" => record(trial, 60),
        _ => record(trial, 100),
    };
    let records = run(&plan, carry);
    let marked: Vec<&TrialRecord> = records.iter().filter(|it| it.is_disturbed()).collect();
    assert_eq!(marked.len(), 1);
    assert_eq!(marked[0].id, "r2-yardstick-synthetic-c5");
    assert_eq!(marked[0].disturbed, [Disturbance::Drift]);
    let repeated = repeats(&records);
    assert_eq!(
        repeated.len(),
        4,
        "two contenders, the control, the yardstick"
    );
    assert!(
        repeated
            .iter()
            .all(|id| id.contains("synthetic") && id.starts_with("r2-"))
    );
}

#[test]
fn rounds_are_added_to_a_campaign_that_was_complete() {
    let carry = |trial: &Trial| record(trial, 100);
    let first = run(&plan(3), carry);
    let longer = plan(3).extended(5);
    let records = run_from(first, &longer, &mut |_| Some(0.0), carry);
    let planned: Vec<String> = trials(&longer).into_iter().map(|trial| trial.id).collect();
    assert_eq!(ids(&records), planned);
}

#[test]
fn what_a_stopping_rule_may_add_is_known_from_the_start() {
    let mut plan = plan(3);
    plan.until = Some(Until {
        width: 0.03,
        max_rounds: 14,
    });
    let mut widest = |_: &[TrialRecord]| None;
    let rounds = Rounds::new(&plan, &mut widest);
    let (left, more) = (rounds.left(&[]), rounds.may_add(&[]));
    let a_round = trials(&plan).len() / 10;
    assert_eq!((left.trials, more.trials), (10 * a_round, 4 * a_round));
    assert_eq!(left.expected / 10, more.expected / 4);
    let eleven = blocks(&plan, 11).into_iter().flat_map(|block| block.trials);
    let eleven: Vec<TrialRecord> = eleven.map(|trial| record(&trial, 100)).collect();
    assert_eq!(rounds.may_add(&eleven).trials, 3 * a_round);
}

#[test]
fn a_stopping_rule_looks_from_ten_rounds_on_and_ends() {
    let rounds_with = |width: fn(u32) -> Option<f64>| {
        let mut plan = plan(3);
        plan.until = Some(Until {
            width: 0.03,
            max_rounds: 14,
        });
        let mut looked = Vec::new();
        let mut widest = |records: &[TrialRecord]| {
            let round = records.iter().map(|record| record.round).max().unwrap();
            looked.push(round);
            width(round)
        };
        let records = run_from(Vec::new(), &plan, &mut widest, |trial| record(trial, 100));
        let rounds = records.iter().map(|record| record.round).max().unwrap();
        assert_eq!(records.len(), trials(&plan).len() / 10 * rounds as usize);
        looked.dedup();
        (rounds, looked)
    };
    assert_eq!(rounds_with(|_| Some(0.02)), (10, vec![10]));
    let narrow_from_12 = |round| Some(if round < 12 { 0.05 } else { 0.03 });
    assert_eq!(rounds_with(narrow_from_12), (12, vec![10, 11, 12]));
    let never = (14, vec![10, 11, 12, 13]);
    assert_eq!(rounds_with(|_| Some(0.05)), never);
    assert_eq!(rounds_with(|_| None), never, "nothing can be compared");
}

/// The last round of a plan of `planned` rounds where too few can be believed before round
/// `enough`.
fn last_round(planned: u32, enough: u32) -> u32 {
    let plan = plan(planned);
    let mut widest = |records: &[TrialRecord]| {
        let begun = records.iter().map(|record| record.round).max().unwrap();
        (begun >= enough).then_some(0.5)
    };
    let records = run_from(Vec::new(), &plan, &mut widest, |trial| record(trial, 100));
    records.iter().map(|record| record.round).max().unwrap()
}

#[test]
fn rounds_that_cannot_be_believed_are_made_up_for_within_bounds() {
    for (planned, enough, last) in [(7, 1, 7), (7, 9, 9), (7, 40, 10), (3, 40, 3), (20, 40, 25)] {
        let case = format!("{planned} planned, {enough} enough");
        assert_eq!(last_round(planned, enough), last, "{case}");
    }
}

#[test]
fn a_share_is_of_what_the_slowest_contender_carried_in_round_one() {
    let plan = plan_with_share();
    let carry = |trial: &Trial| {
        let slower = u64::from(trial.round);
        let ok = match trial.contender.name.as_str() {
            "yardstick" => 10,
            "nginx-default" => 9_000,
            "nginx-optimized" => 5_999 / slower,
            _ => 7_000,
        };
        record(trial, ok)
    };
    let records = run(&plan, carry);
    let shares: Vec<_> = records.iter().filter(|it| it.load_name.is_some()).collect();
    assert_eq!(shares.len(), 2 * 3, "three contenders in two rounds");
    for record in shares {
        assert_eq!(record.load_name.as_deref(), Some("share0.5p-c50"));
        let LoadModel::Open { rate_per_s, .. } = record.load.model else {
            panic!("{:?}", record.load);
        };
        assert_eq!(
            rate_per_s, 2_900.0,
            "half of 5,999 in two digits, in each round"
        );
    }
}

#[test]
fn without_a_capacity_there_is_no_rate() {
    let plan = plan_with_share();
    let carry = |trial: &Trial| match trial.contender.name.as_str() {
        "yardstick" => record(trial, 10_000),
        _ => TrialRecord {
            end: TrialEnd::Unsupported {
                reason: String::new(),
            },
            result: None,
            ..record(trial, 0)
        },
    };
    let records = run(&plan, carry);
    let of_share = |record: &&TrialRecord| record.load.model.is_share();
    assert_eq!(records.iter().filter(of_share).count(), 2 * 3);
}
