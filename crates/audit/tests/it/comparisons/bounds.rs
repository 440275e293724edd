//! Numbers that are known from one side only: where they count, and where they say nothing.

use super::*;

#[test]
fn a_rate_that_others_held_down_counts_where_the_bound_strengthens() {
    let busy = |name: &'static str, code: Code| {
        move |one: &str| if one == name { suspect(code) } else { valid() }
    };
    let (slow, fast) = (rounds(10, 1e4, 1), rounds(10, 2.5e4, 2));
    let up = [("a", slow.clone()), ("b", fast.clone())];
    let down = [("a", fast), ("b", slow.clone())];
    let one = rate_of(&up, busy("b", Code::OtherLoad));
    assert_eq!(
        (one.conclusion, one.bound),
        (Conclusion::Higher, Some(Side::AtLeast))
    );
    assert!(
        one.phrase().starts_with("at least 2.5 times as fast"),
        "{}",
        one.phrase()
    );
    let one = rate_of(&down, busy("a", Code::GeneratorCeiling));
    assert_eq!(
        (one.conclusion, one.bound),
        (Conclusion::Lower, Some(Side::AtMost))
    );
    // The slower one may be faster than it looks.
    let one = rate_of(&up, busy("a", Code::OtherLoad));
    assert_eq!(
        (one.conclusion, one.reason),
        (Conclusion::NotComparable, Some(Reason::BoundWeakens))
    );
    // A bound that looks equal may hide a difference, and so may two bounds.
    let equal = [("a", slow.clone()), ("b", slow)];
    let one = rate_of(&equal, busy("b", Code::Steal));
    assert_eq!(one.reason, Some(Reason::BoundHides));
    let one = rate_of(&up, |_| suspect(Code::OtherLoad));
    assert_eq!(one.reason, Some(Reason::BoundHides));
    // What may have raised it as well says nothing.
    let one = rate_of(&up, busy("b", Code::NotSteady));
    assert_eq!(
        (one.conclusion, one.reason),
        (Conclusion::NotComparable, Some(Reason::NotValid))
    );
}

/// An unsteady side that is shown as "at least" was taken for exact beside another bound.
#[test]
fn a_side_that_is_shown_as_a_bound_is_one() {
    let record = campaign(&[("a", rounds(7, 1e4, 1)), ("b", rounds(7, 4.2e4, 2))]);
    let why = Code::GeneratorCeiling;
    let found = |bounds: [bool; 2]| {
        let mut judged = judged(&record, |_| suspect(Code::NotSteady));
        for (one, is_bound) in judged.iter_mut().zip(bounds) {
            one.rate_bound = is_bound.then_some(why);
        }
        let found = of(&compare(&record, &judged, &[]), Metric::RatePerS).clone();
        (found.bound, found.reason)
    };
    let not_valid = Some(Reason::NotValid);
    assert_eq!(found([true, false]), (Some(Side::AtMost), not_valid));
    assert_eq!(found([false, true]), (Some(Side::AtLeast), not_valid));
    assert_eq!(found([true, true]), (None, Some(Reason::BoundHides)));
}

#[test]
fn a_quantile_known_from_below_counts_where_it_strengthens() {
    let rates = [("a", rounds(10, 500.0, 1)), ("b", rounds(10, 500.0, 2))];
    let mut record = campaign(&rates);
    open_loop(&mut record, |trial| {
        if trial.contender == "a" {
            1_000_000
        } else {
            5_000_000
        }
    });
    for trial in record
        .trials
        .iter_mut()
        .filter(|trial| trial.contender == "b")
    {
        let result = trial.result.as_mut().unwrap();
        result.at_least.record_n(9_000_000, 100);
    }
    let found = compared(&record, |_| valid());
    let p99 = of(&found, Metric::LatencyP99Ns);
    assert_eq!(
        (p99.conclusion, p99.bound),
        (Conclusion::Higher, Some(Side::AtLeast))
    );
}
