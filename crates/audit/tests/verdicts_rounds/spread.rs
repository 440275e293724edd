//! How far the rounds of a cell are apart, and whether they are of one group.

use super::*;

#[test]
fn rounds_that_fall_into_two_groups_are_reported_with_both() {
    let reported = |factor: f64| {
        let mut record = rounds(8);
        for trial in of(&mut record, CONTENDER).filter(|it| it.round % 2 == 0) {
            trial.result.as_mut().expect("it was measured").measured_s /= factor;
        }
        let judged = judge(&record);
        let cell = cell(&judged, (CONTENDER, "synthetic", "c10"));
        let check = cell.judgement.check(Code::TwoModes);
        check.map(|check| (check.level, check.text.clone()))
    };
    let (level, text) = reported(1.4).expect("they are far apart");
    assert_eq!(level, Level::Note, "a fact about the server");
    assert!(text.contains("into two groups: 4 near "), "{text}");
    assert!(text.contains(" requests/s and 4 near "), "{text}");
    assert_eq!(reported(1.0), None);
}

/// What the estimate leaves out is no group beside it, and no spread of it.
#[test]
fn rounds_that_were_disturbed_are_in_no_group_and_no_spread() {
    let reported = |is_disturbed: bool| {
        let mut record = rounds(12);
        for trial in of(&mut record, CONTENDER).filter(|it| it.round % 3 == 0) {
            trial.result.as_mut().expect("it was measured").measured_s /= 1.4;
            if is_disturbed {
                disturb(trial);
            }
        }
        let judged = judge(&record);
        let judgement = &cell(&judged, (CONTENDER, "synthetic", "c10")).judgement;
        let agree = judgement
            .check(Code::RoundsAgree)
            .expect("it was looked at");
        (judgement.check(Code::TwoModes).is_some(), agree.level)
    };
    assert_eq!(reported(false), (true, Level::Note));
    assert_eq!(reported(true), (false, Level::Passed));
}

#[test]
fn rounds_without_a_rate_are_not_called_few() {
    let text = |planned: u32, hung: usize| {
        let mut record = rounds(planned);
        of(&mut record, CONTENDER).take(hung).for_each(hang);
        let judged = judge(&record);
        let judgement = &cell(&judged, (CONTENDER, "synthetic", "c10")).judgement;
        judgement
            .check(Code::RoundsAgree)
            .expect("it was looked at")
            .text
            .clone()
    };
    assert!(
        text(10, 10).starts_with("no round has a rate"),
        "{}",
        text(10, 10)
    );
    assert!(
        text(2, 0).starts_with("fewer than three rounds: "),
        "{}",
        text(2, 0)
    );
}
