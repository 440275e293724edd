//! Latencies that hold the engine's own delay.

use bakeoff_record::ScheduleKept;

use super::*;

/// A judgement in which these checks make latencies suspect.
fn late(codes: &[Code]) -> Judgement {
    let mut verdicts = Verdicts::all(Verdict::Valid);
    verdicts.latency = Verdict::Suspect;
    let check = |code: &Code| Check {
        code: *code,
        rule: code.rule(),
        level: Level::Suspect,
        numbers: vec![(Number::Latency, Level::Suspect)],
        value: None,
        limit: None,
        text: String::new(),
    };
    Judgement {
        verdict: Verdict::Suspect,
        verdicts,
        checks: codes.iter().map(check).collect(),
    }
}

/// An open loop of eight rounds: of each contender its p99 in ms, and how late the engine was.
fn measured(sides: &[(&str, f64, f64)]) -> Record {
    let rates: Vec<(&str, Vec<f64>)> = sides
        .iter()
        .map(|(name, ..)| (*name, rounds(8, 500.0, 1)))
        .collect();
    let mut record = campaign(&rates);
    let of = |trial: &TrialRecord| {
        let mut known = sides.iter();
        *known
            .find(|(name, ..)| *name == trial.contender)
            .expect("one of the sides")
    };
    // A per cent more or less, so that rounds differ.
    open_loop(&mut record, |trial| {
        (of(trial).1 * 1e6) as u64 + u64::from(trial.round) * 1_000
    });
    for trial in &mut record.trials {
        let (_, p99_ms, late_ms) = of(trial);
        let least_ns = ((p99_ms - late_ms) * 1e6) as u64 + u64::from(trial.round) * 1_000;
        let mut kept = ScheduleKept::default();
        kept.punctual.record_n(least_ns, 2_500);
        let result = trial.result.as_mut().expect("the sound trial was measured");
        result.schedule = Some(kept);
    }
    record
}

/// What is said of the p99 of two, each with its checks in every round.
fn concluded(sides: [(&str, f64, f64); 2], codes: [&[Code]; 2]) -> Comparison {
    let record = measured(&sides);
    let found = compared(&record, |name| {
        match codes[usize::from(name == sides[1].0)] {
            [] => valid(),
            codes => late(codes),
        }
    });
    of(&found, Metric::LatencyP99Ns).clone()
}

/// The ratio, which bound it is, and what is concluded.
#[track_caller]
fn check(
    sides: [(&str, f64, f64); 2],
    codes: [&[Code]; 2],
    expected: (f64, Option<Side>, Conclusion),
) {
    let one = concluded(sides, codes);
    let ratio = one.ratio.expect("both have values").point;
    assert!((ratio / expected.0 - 1.0).abs() < 0.02, "{ratio}");
    assert_eq!((one.bound, one.conclusion), (expected.1, expected.2));
}

#[test]
fn what_is_at_most_short_is_shorter_than_what_is_surely_long() {
    let lag: &[Code] = &[Code::SendLag];
    // The short one holds 0.2 ms of delay, and may be shorter still.
    let (short, long) = (("a", 0.4, 0.2), ("b", 4.0, 0.1));
    check(
        [short, long],
        [lag, &[]],
        (10.0, Some(Side::AtLeast), Conclusion::Higher),
    );
    check(
        [("a", 4.0, 0.1), ("b", 0.4, 0.2)],
        [&[], lag],
        (0.1, Some(Side::AtMost), Conclusion::Lower),
    );
}

#[test]
fn what_holds_delay_on_both_sides_is_compared_by_what_is_left() {
    let (busy, both): (&[Code], &[Code]) = (&[Code::EngineBusy], &[Code::SendLag, Code::NotSteady]);
    let sides = [("a", 0.4, 0.3), ("b", 4.0, 1.0)];
    check(
        sides,
        [both, busy],
        (7.5, Some(Side::AtLeast), Conclusion::Higher),
    );
}

#[test]
fn what_the_delay_may_have_made_is_no_difference() {
    let lag: &[Code] = &[Code::SendLag];
    let sides = [("a", 0.4, 0.2), ("b", 0.9, 0.6)];
    let one = concluded(sides, [lag, lag]);
    assert_eq!(one.conclusion, Conclusion::NotComparable);
    assert_eq!((one.bound, one.reason), (None, Some(Reason::NotValid)));
    // What was measured is shown.
    assert!((one.ratio.expect("both have values").point - 2.25).abs() < 0.05);
}

#[test]
fn what_something_else_weakens_is_no_bound() {
    let lag: &[Code] = &[Code::SendLag];
    for other in [Code::NotSteady, Code::QueueGrows, Code::Steal] {
        let sides = [("a", 0.4, 0.2), ("b", 4.0, 0.1)];
        let one = concluded(sides, [lag, &[other]]);
        assert_eq!(
            (one.bound, one.reason),
            (None, Some(Reason::NotValid)),
            "{other:?}"
        );
    }
}
