//! What several rounds say together.

use super::*;

/// What rounds that could not say these things cannot say together.
fn unsaid_of(rounds: &[&[Unsaid]]) -> Vec<String> {
    let ramps = rounds.iter().zip(1..).map(|(unsaid, number)| {
        let mut ramp = check(&series(&|_, _, _| ()), &[]);
        (ramp.round, ramp.unsaid) = (number, unsaid.to_vec());
        ramp
    });
    texts(&judge_rounds(&ramps.collect::<Vec<_>>(), &SHARES).unsaid)
}

fn lost(why: &str) -> Unsaid {
    Unsaid::All(why.to_owned())
}

/// One round that could not say it does not contradict those that could.
#[test]
fn what_some_rounds_cannot_say_names_these_rounds() {
    let all = lost("how it ends");
    let unsaid = unsaid_of(&[
        std::slice::from_ref(&all),
        &[lost("why it slows"), all.clone()],
        &[lost("how long it took"), all.clone(), lost("why it slows")],
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
    let late = || [Unsaid::Late(0.8e6)];
    let later = [Unsaid::Late(12e6)];
    let said = "how long short answers took: the load engine sent up to 0.80 ms late";
    assert_eq!(
        unsaid_of(&[&late(), &later]),
        [format!("{said} (figures of round 1)")]
    );
    assert_eq!(
        unsaid_of(&[&late(), &[], &later]),
        [format!("{said} (in rounds 1 and 3; figures of round 1)")]
    );
    assert_eq!(
        unsaid_of(&[&[lost("it was late")], &[lost("it was lost")]]),
        ["it was late (in round 1)", "it was lost (in round 2)"]
    );
}

fn recovery(beyond: &Beyond) -> String {
    beyond.recovery.expect("it was watched").text()
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
    assert_eq!(recovery(&all), "2.0 s (at once to 4.0 s)");
    // One round of two in which it never came back is not outvoted by the other one.
    let mut ended = recovers(2.0);
    ended.recovery = Some(Recovery::Never);
    let even = judge_rounds(&[ended.clone(), recovers(2.0)], &SHARES);
    assert_eq!(recovery(&even), "never (2.0 s to never)");
    assert_eq!(even.recovery_s.and_then(|it| it.median), None);
    let four = judge_rounds(
        &[recovers(4.0), recovers(2.0), ended, recovers(3.0)],
        &SHARES,
    );
    assert_eq!(recovery(&four), "4.0 s (2.0 s to never)");
    assert_eq!(four.recovery_s.and_then(|it| it.median), Some(4.0));
    let censored = judge_rounds(&[recovers(20.0)], &SHARES);
    assert_eq!(recovery(&censored), "> 20 s");
    assert_eq!(censored.recovery_s.and_then(|it| it.median), None);
}
