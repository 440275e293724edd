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

/// Windows that end at another level than their mean by a share, in noise that hides it in each.
fn end_apart(record: &mut Record, share: f64, only: impl Fn(u32) -> bool) {
    const NOISE: [f64; 10] = [0.15, -0.15, 0.15, -0.15, 0.0, 0.0, 0.0, 0.15, 0.0, -0.15];
    for trial in of(record, CONTENDER) {
        // A little more or less in each round, and the other way round where it is not wanted.
        let share = share + 0.002 * f64::from(trial.round % 5) - 0.004;
        let share = if only(trial.round) { share } else { -share };
        let result = trial.result.as_mut().expect("it was measured");
        let mean = result.requests.ok as f64 / 10.0;
        for (place, part) in result.intervals.iter_mut().enumerate() {
            let level = if place < 7 { 3.0 / 7.0 * share } else { -share };
            part.ok = (mean * (1.0 + level + NOISE[place])) as u64;
        }
    }
}

#[test]
fn windows_that_end_at_another_level_in_all_rounds_are_not_steady() {
    let reported = |share: f64, only: fn(u32) -> bool| {
        let mut record = rounds(8);
        end_apart(&mut record, share, only);
        let judged = judge(&record);
        let judgement = &cell(&judged, (CONTENDER, "synthetic", "c10")).judgement;
        let mut checks = judgement.checks.iter();
        let mut of_code = checks.by_ref().filter(|it| it.code == Code::NotSteady);
        let check = of_code.next().expect("it was looked at").clone();
        assert_eq!(of_code.next(), None, "it is said once");
        assert_eq!(judgement.verdicts.cpu, Verdict::Valid);
        (check.level, judgement.verdicts.rate, check.text)
    };
    let all: fn(u32) -> bool = |_| true;
    let (level, rate, text) = reported(0.08, all);
    assert_eq!((level, rate), (Level::Suspect, Verdict::Suspect));
    assert!(
        text.starts_with(
            "over 8 rounds the rate of a window is 8.7 % above that of its last third"
        ),
        "{text}"
    );
    assert!(text.ends_with("becomes slower in each window"), "{text}");
    let (level, rate, text) = reported(-0.04, all);
    assert_eq!((level, rate), (Level::Note, Verdict::Valid));
    assert!(text.ends_with("becomes faster in each window"), "{text}");
    assert_eq!(reported(0.01, all).0, Level::Passed);
    // What goes one way in a round and another way in the next is noise.
    assert_eq!(reported(0.08, |round| round % 2 == 0).0, Level::Passed);
}

/// Beside a compiler the rate of some windows is not level either: the compiler is the cause.
#[test]
fn what_disturbed_more_rounds_than_a_worse_check_spoiled_is_to_blame() {
    let reasons = |disturbed: u32| {
        let mut record = rounds(8);
        for trial in of(&mut record, CONTENDER) {
            if trial.round <= disturbed {
                disturb(trial);
            }
            if trial.round <= 3 {
                let result = trial.result.as_mut().expect("it was measured");
                let halves = result.intervals.iter_mut().take(5);
                halves.for_each(|part| part.ok /= 2);
            }
        }
        judge(&record).trust.reasons
    };
    for (disturbed, cause) in [
        (0, "the rate changed inside the window"),
        (1, "the rate changed inside the window"),
        (8, "other programs ran at the same time"),
    ] {
        let reasons = reasons(disturbed);
        let expected = format!("is not ranked, because {cause}");
        let is_there = reasons.iter().any(|one| one.text.ends_with(&expected));
        assert!(is_there, "{disturbed} disturbed rounds: {reasons:?}");
    }
}
