//! What several rounds say together.

use super::*;

/// What rounds that could not say these things cannot say together.
fn unsaid_of(rounds: &[&[&str]]) -> Vec<String> {
    let ramps = rounds.iter().zip(1..).map(|(unsaid, number)| {
        let mut ramp = check(&series(&|_, _, _| ()), &[]);
        ramp.round = number;
        ramp.unsaid = unsaid.iter().map(|why| (*why).to_owned()).collect();
        ramp
    });
    judge_rounds(&ramps.collect::<Vec<_>>(), &SHARES).unsaid
}

/// One round that could not say it does not contradict those that could.
#[test]
fn what_some_rounds_cannot_say_names_these_rounds() {
    let unsaid = unsaid_of(&[
        &["how it ends"],
        &["why it slows", "how it ends"],
        &["how long it took", "how it ends", "why it slows"],
    ]);
    let expected = [
        "how it ends",
        "why it slows (in rounds 2 and 3)",
        "how long it took (in round 3)",
    ];
    assert_eq!(unsaid, expected);
}

#[test]
fn what_rounds_cannot_say_for_one_reason_is_said_once() {
    let late = "no class: 1,200 of 5 were late, 0.8 ms";
    let later = "no class: 900 of 12,345 were late, 12 ms";
    assert_eq!(
        unsaid_of(&[&[late], &[later]]),
        ["no class: 1,200 of 5 were late, 0.8 ms (figures of round 1)"]
    );
    assert_eq!(
        unsaid_of(&[&[late], &[], &[later]]),
        ["no class: 1,200 of 5 were late, 0.8 ms (in rounds 1 and 3; figures of round 1)"]
    );
    assert_eq!(
        unsaid_of(&[&["at 150 % it stalls", "at 200 % it stalls"], &[]]),
        [
            "at 150 % it stalls (in round 1)",
            "at 200 % it stalls (in round 1)"
        ],
        "what one round says of two steps stays two sentences"
    );
    assert_eq!(
        unsaid_of(&[&["5 were late"], &["5 were lost"]]),
        ["5 were late (in round 1)", "5 were lost (in round 2)"]
    );
}

#[test]
fn rounds_agree_by_majority_and_have_a_median() {
    let recovers = |after: f64| {
        let mut ramp = judge_series(&series(&move |at, rate, part| {
            if rate > CAPACITY || (80.0..80.0 + after).contains(&at) {
                slow(part, 900);
            }
        }));
        ramp.series = Some(Series::default());
        ramp
    };
    let mut once = judge_series(&series(&beyond(Kind::Refused, MS)));
    once.series = Some(Series::default());
    let all = judge_rounds(&[recovers(2.0), once, recovers(4.0)], &SHARES);
    assert_eq!(all.rounds, 3);
    let names = |seen: &[ClassSeen]| -> Vec<_> {
        seen.iter()
            .map(|one| (one.class, one.rounds, one.from_share))
            .collect()
    };
    assert_eq!(names(&all.classes), [(OverloadClass::Queue, 2, 1.5)]);
    assert_eq!(names(&all.seldom), [(OverloadClass::Refuse, 1, 1.5)]);
    assert_eq!(all.recovery, "2.0 s (at once to 4.0 s)");
    // One round of two in which it never came back is not outvoted by the other one.
    let mut ended = recovers(2.0);
    ended.recovery = Some(Recovery::Never);
    let even = judge_rounds(&[ended.clone(), recovers(2.0)], &SHARES);
    assert_eq!(even.recovery, "never (2.0 s to never)");
    assert_eq!(even.recovery_s.and_then(|it| it.median), None);
    let four = judge_rounds(
        &[recovers(4.0), recovers(2.0), ended, recovers(3.0)],
        &SHARES,
    );
    assert_eq!(four.recovery, "4.0 s (2.0 s to never)");
    assert_eq!(four.recovery_s.and_then(|it| it.median), Some(4.0));
    let censored = judge_rounds(&[recovers(20.0)], &SHARES);
    assert_eq!(censored.recovery, "> 20 s");
    assert_eq!(censored.recovery_s.and_then(|it| it.median), None);
}
