//! What is plain although the machine took a share of every round of one side.

use bakeoff_audit::{
    Check, Code, Comparison, Conclusion, Direction, Level, Metric, Number, Reason, Verdict, compare,
};
use bakeoff_record::Record;
use bakeoff_stats::cells;

use super::{JudgedCell, campaign, of, rounds, set_rate, valid, weakened};

/// One reading of the machine in each round of the second server, which takes its rate away.
fn reading(code: Code, share: Option<f64>) -> Check {
    Check {
        value: share,
        ..weakened(Number::Rate, code, Level::Disturbed).checks[0].clone()
    }
}

/// Seven rounds of two servers, the second `factor` times as fast as the first, and with these
/// readings in all its rounds: no rate of it can be believed.
fn taken(factor: f64, readings: &[Check]) -> Comparison {
    let rates = [("a", rounds(7, 6e4, 1)), ("b", rounds(7, 6e4 * factor, 2))];
    concluded(&campaign(&rates), readings)
}

fn concluded(record: &Record, readings: &[Check]) -> Comparison {
    let judged = cells(record).into_iter().map(|cell| {
        let is_taken = cell.key.contender == "b";
        let spoiled = |checks: Vec<Check>| {
            let mut judgement = valid();
            if is_taken {
                judgement.checks = checks;
                judgement.verdicts.rate = Verdict::Invalid;
            }
            judgement
        };
        let few = weakened(Number::Rate, Code::RoundsAccepted, Level::Invalid);
        JudgedCell {
            trials: (cell.trials.iter())
                .map(|trial| (*trial, spoiled(readings.to_vec())))
                .collect(),
            judgement: spoiled(few.checks),
            cell,
            bottleneck: None,
            rate_bound: None,
            idle_server: None,
        }
    });
    let found = compare(record, &judged.collect::<Vec<_>>(), &[]);
    of(&found, Metric::RatePerS).clone()
}

/// Seen on a machine whose hypervisor took a tenth to a quarter of a processor in each trial of
/// Caddy, and in one of nginx, which was seven times as fast.
#[test]
fn what_half_of_the_machine_cannot_explain_is_plain_in_rounds_that_all_lost_a_share() {
    let steal = |share| [reading(Code::Steal, Some(share))];
    let one = taken(0.14, &steal(0.266));
    assert_eq!(one.conclusion, Conclusion::PlainNotProven(Direction::Lower));
    assert_eq!(one.reason, Some(Reason::NotValid));
    let ratio = one.ratio.expect("what all rounds show");
    assert!(
        (0.13..0.15).contains(&ratio.point) && ratio.n == 7,
        "{one:?}"
    );
    let phrase = one.phrase();
    assert!(
        phrase.ends_with("plain in all 7 rounds, too few of which can be believed to prove it"),
        "{phrase}"
    );
    let plain = Conclusion::PlainNotProven(Direction::Higher);
    assert_eq!(taken(5.8, &steal(0.5)).conclusion, plain);
    // Two thirds of a processor would make it.
    assert_eq!(
        taken(2.9, &steal(0.266)).conclusion,
        Conclusion::NotComparable
    );
}

#[test]
fn readings_that_may_explain_it_leave_it_open() {
    let silent = |one: Comparison| {
        let found = (one.conclusion, one.reason, one.ratio);
        let expected = (Conclusion::NotComparable, Some(Reason::Withheld), None);
        assert_eq!(found, expected);
    };
    let steal = |share| reading(Code::Steal, Some(share));
    silent(taken(0.14, &[steal(0.51)]));
    silent(taken(0.14, &[reading(Code::Steal, None)]));
    silent(taken(
        0.14,
        &[steal(0.3), reading(Code::OtherLoad, Some(0.3))],
    ));
    // What is no share of it, or the server's.
    for code in [
        Code::GeneratorCeiling,
        Code::EngineBusy,
        Code::BackendBound,
        Code::ServerRestarted,
        Code::WrongBody,
    ] {
        silent(taken(0.14, &[steal(0.2), reading(code, Some(0.9))]));
    }
    // One round that does not show it.
    let rates = [("a", rounds(7, 6e4, 1)), ("b", rounds(7, 8e3, 2))];
    let mut record = campaign(&rates);
    let plain = Conclusion::PlainNotProven(Direction::Lower);
    assert_eq!(concluded(&record, &[steal(0.2)]).conclusion, plain);
    for trial in record.trials.iter_mut().filter(|it| it.id == "r5-b") {
        set_rate(trial, 5e4);
    }
    silent(concluded(&record, &[steal(0.2)]));
}
