//! Gates on a machine that disturbs most rounds: what the others may show by themselves.

use std::collections::HashMap;

use bakeoff_audit::{
    Code, Conclusion, Direction, GateRow, Gates, Judged, Judgement, Level, Metric, Number, Ruling,
    Trust, Verdict, compare, compare_contenders,
};
use bakeoff_plan::Random;
use bakeoff_record::{Record, TrialRecord};
use bakeoff_stats::cells;

use super::{JudgedCell, campaign, set_rate, valid, weakened};

const ROUNDS: u32 = 40;

/// A normal variable (Box and Muller 1958).
fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.unit().ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// Judges a campaign in which the machine did `code` to these trials, by nothing but the rate.
fn judged<'r>(
    record: &'r Record,
    code: Code,
    is_disturbed: impl Fn(&TrialRecord) -> bool,
) -> Judged<'r> {
    judged_by(record, |trial| is_disturbed(trial).then_some(code))
}

/// Judges a campaign by nothing but the rate, with what weakens that of each trial.
fn judged_by<'r>(record: &'r Record, weak_of: impl Fn(&TrialRecord) -> Option<Code>) -> Judged<'r> {
    let of_rate = |mut judgement: Judgement| {
        judgement.verdicts.cpu = Verdict::Invalid;
        judgement.verdicts.memory = Verdict::Invalid;
        judgement
    };
    let weak = |code: Code| {
        let level = match code {
            Code::NotSteady => Level::Suspect,
            _ => Level::Disturbed,
        };
        of_rate(weakened(Number::Rate, code, level))
    };
    let judged = cells(record).into_iter().map(|cell| {
        let judge = |trial: &&'r TrialRecord| {
            let judgement = weak_of(trial).map_or_else(|| of_rate(valid()), weak);
            (*trial, judgement)
        };
        JudgedCell {
            trials: cell.trials.iter().map(judge).collect(),
            judgement: of_rate(weakened(Number::Rate, Code::RoundsAccepted, Level::Suspect)),
            cell,
            bottleneck: None,
            rate_bound: None,
            idle_server: None,
        }
    });
    Judged {
        cells: judged.collect(),
        comparisons: Vec::new(),
        floors: Vec::new(),
        equivalence: Vec::new(),
        findings: Vec::new(),
        trust: Trust::default(),
        rounds_enough: None,
        goes_on: false,
    }
}

/// The gate of the rate in a campaign of two on a machine that takes 55 % of the trials, half of
/// the rounds whole, and leaves them half their rate. The second server has `share` of the first
/// one's rate, and trials of one server differ by `sd`.
fn row(record: &mut Record, code: Code, of: (f64, f64), seed: u64) -> GateRow {
    row_with_steps(record, code, of, 0.0, seed)
}

/// The same where a share `steps` of the second server's trials changes its level inside the window
/// to as little as half, and no reading of the machine explains it.
fn row_with_steps(
    record: &mut Record,
    code: Code,
    (share, sd): (f64, f64),
    steps: f64,
    seed: u64,
) -> GateRow {
    let mut random = Random::new(seed);
    let mut weak: HashMap<String, Code> = HashMap::new();
    let whole: Vec<bool> = (0..ROUNDS).map(|_| random.unit() < 0.5).collect();
    for trial in &mut record.trials {
        let is_taken = whole[trial.round as usize - 1] || random.unit() < 0.1;
        let level = if trial.contender == "b" { share } else { 1.0 };
        let is_stepped = steps > 0.0 && trial.contender == "b" && random.unit() < steps;
        let left = if is_taken || is_stepped {
            0.5 + 0.5 * random.unit()
        } else {
            1.0
        };
        set_rate(trial, 1e6 * level * left * (sd * normal(&mut random)).exp());
        if is_taken {
            weak.insert(trial.id.clone(), code);
        } else if is_stepped {
            weak.insert(trial.id.clone(), Code::NotSteady);
        }
    }
    let judged = judged_by(record, |trial| weak.get(&trial.id).copied());
    let gates = Gates::parse("rate=5%").expect("it is a gate");
    let rows = compare_contenders(record, &judged, "a", &["b"], &gates).expect("both are there");
    let rate = rows.into_iter().find(|row| row.metric == Metric::RatePerS);
    rate.expect("the rate is compared")
}

fn two() -> Record {
    let rates = vec![1e6; ROUNDS as usize];
    campaign(&[("a", rates.clone()), ("b", rates)])
}

/// The chance of a breach between equals is 0.5 %: it takes 99 %, and the interval has two ends.
#[test]
fn undisturbed_rounds_breach_no_gate_of_equals_beyond_chance() {
    let mut record = two();
    let times = 200;
    for steps in [0.0, 0.15] {
        let (mut breached, mut held) = (0, 0);
        for seed in 0..times {
            let row = row_with_steps(&mut record, Code::Steal, (1.0, 0.2), steps, seed);
            assert_ne!(row.ruling, Ruling::Passed, "{row:?}");
            breached += u32::from(row.ruling == Ruling::Breached);
            held += u32::from(row.worse.is_some());
        }
        assert!(held > 160, "{held} of {times} have an interval");
        // Three standard errors above.
        assert!(breached <= 4, "{breached} of {times} equals are breached");
    }
}

#[test]
fn a_quarter_slower_is_breached_though_most_rounds_are_disturbed() {
    let mut record = two();
    // Steal makes the rates bounds, and drift makes them suspect.
    for code in [Code::Steal, Code::Drift] {
        let mut found = 0;
        for seed in 0..20 {
            let row = row(&mut record, code, (0.75, 0.15), seed);
            if row.ruling != Ruling::Breached {
                continue;
            }
            found += 1;
            let worse = row.worse.expect("it has an interval");
            assert!((10..=25).contains(&worse.n), "{worse:?}");
            let reason = format!("by its {} undisturbed rounds alone", worse.n);
            assert_eq!(row.reason, Some(reason));
            assert_eq!(row.rounds_needed, None);
        }
        assert!(found >= 18, "{code:?}: {found} of 20");
    }
    let mut found = 0;
    for seed in 0..20 {
        let row = row_with_steps(&mut record, Code::Steal, (0.75, 0.15), 0.1, seed);
        found += u32::from(row.ruling == Ruling::Breached);
    }
    assert!(
        found >= 16,
        "{found} of 20 beside rounds that are not steady"
    );
    // Where half of them are not, it may be the server's way to answer.
    let restless = row_with_steps(&mut record, Code::Steal, (0.75, 0.15), 0.5, 1);
    assert_eq!(restless.ruling, Ruling::CannotTell, "{restless:?}");
    // Those of them that an engine at its limit spoiled may be far below what the server can do.
    let limited = row(&mut record, Code::GeneratorCeiling, (0.75, 0.15), 1);
    assert_eq!(limited.ruling, Ruling::CannotTell, "{limited:?}");
    assert_eq!(limited.worse, None);
}

#[test]
fn undisturbed_rounds_pass_no_gate_and_fewer_than_ten_say_nothing() {
    let mut record = two();
    let open = row(&mut record, Code::Steal, (1.2, 0.02), 1);
    let worse = open.worse.expect("it has an interval");
    assert!(worse.high < Some(0.0), "{worse:?}");
    assert_eq!(open.ruling, Ruling::CannotTell);
    let reason = open.reason.expect("why");
    let rests_on = format!("; the interval is of {} undisturbed rounds", worse.n);
    assert!(reason.contains(&rests_on), "{reason}");
    let ruling = |left: u32| {
        let mut record = two();
        for trial in record.trials.iter_mut().filter(|it| it.contender == "b") {
            set_rate(trial, 7e5 + 1e3 * f64::from(trial.round));
        }
        let judged = judged(&record, Code::Steal, |trial| trial.round > left);
        let gates = Gates::parse("rate=5%").expect("it is a gate");
        let rows = compare_contenders(&record, &judged, "a", &["b"], &gates);
        let rows = rows.expect("both are there");
        let mut rates = rows.iter().filter(|row| row.metric == Metric::RatePerS);
        rates.next().expect("the rate is compared").ruling
    };
    assert_eq!(ruling(10), Ruling::Breached);
    assert_eq!(ruling(9), Ruling::CannotTell);
}

/// Seven rounds of two servers, `factor` apart, of which these trials are weak. What is concluded
/// of the rate.
fn concluded(factor: f64, weak: &[(&str, Code)], values: &[(&str, f64)]) -> Conclusion {
    let rates = |level: f64, seed| super::rounds(7, level, seed);
    let mut record = campaign(&[("a", rates(6e4, 1)), ("b", rates(6e4 * factor, 2))]);
    for trial in &mut record.trials {
        let known = values.iter().find(|(id, _)| *id == trial.id);
        if let Some((_, value)) = known {
            set_rate(trial, *value);
        }
    }
    let weak_of = |trial: &TrialRecord| {
        let known = weak.iter().find(|(id, _)| *id == trial.id);
        known.map(|(_, code)| *code)
    };
    let judged = judged_by(&record, weak_of);
    let compared = compare(&record, &judged.cells, &[]);
    super::of(&compared, Metric::RatePerS).conclusion
}

#[test]
fn one_doubted_round_does_not_silence_what_all_rounds_show() {
    let plain = Conclusion::PlainNotProven(Direction::Higher);
    let (drift, step) = (("r1-a", Code::Drift), ("r5-a", Code::NotSteady));
    assert_eq!(concluded(5.8, &[drift, step], &[]), plain);
    // A request that is counted twice in one round is one round's fault as well.
    let counted = ("r5-a", Code::ServerCounted);
    assert_eq!(concluded(5.8, &[drift, counted], &[]), plain);
    let silent = Conclusion::NotComparable;
    // The doubted round counts where it does not show it.
    let level = [("r5-a", 3e5)];
    assert_eq!(concluded(5.8, &[drift, step], &level), silent);
    // Two of seven rounds are more than a quarter.
    let twice = [drift, step, ("r6-a", Code::NotSteady)];
    assert_eq!(concluded(5.8, &twice, &[]), silent);
    // One request that fails has no share in a factor of five.
    let failed = ("r5-a", Code::FailedShare);
    assert_eq!(concluded(5.8, &[drift, failed], &[]), plain);
    for lasting in [
        Code::GeneratorCeiling,
        Code::ServerRestarted,
        Code::OriginAsked,
    ] {
        let found = concluded(5.8, &[drift, ("r5-a", lasting)], &[]);
        assert_eq!(found, silent, "{lasting:?}");
    }
    // Of the rounds that are left at least four have to be plain by themselves.
    assert_eq!(concluded(1.6, &[drift, step], &[]), plain);
    assert_eq!(concluded(1.4, &[drift, step], &[]), silent);
    let drifts = ["r1-a", "r2-a", "r3-b"].map(|id| (id, Code::Drift));
    let taken = drifts.map(|(id, _)| (id, 6e4));
    assert_eq!(concluded(2.5, &drifts, &taken), plain);
    let fourth = [drifts.as_slice(), &[("r4-a", Code::Drift)]].concat();
    let taken = [taken.as_slice(), &[("r4-a", 2e5)]].concat();
    assert_eq!(concluded(2.5, &fourth, &taken), silent);
}
