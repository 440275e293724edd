//! What may be said of two contenders, from values and verdicts put in by hand.

mod bounds;
mod disturbed;
mod doubt;
mod gates;
mod late;
mod taken;

use bakeoff_audit::{
    Check, Code, Compared, Comparison, Conclusion, Direction, Evidence, JudgedCell, Judgement,
    Level, Metric, Number, Reason, Side, Verdict, Verdicts, compare, equivalences, widest_interval,
};
use bakeoff_plan::{Arrival, CompareMode, LoadModel, Random};
use bakeoff_record::{ContenderKind, Histogram, Record, TrialRecord};
use bakeoff_stats::{FLOOR_UNMEASURED, IntervalKind, cells};

/// A campaign of one workload and load: each contender with its rate in each round.
fn campaign(rates: &[(&str, Vec<f64>)]) -> Record {
    let mut record = bakeoff_testing::record();
    let sound = record
        .trials
        .iter()
        .find(|trial| trial.contender == "nginx-optimized");
    let sound = sound.expect("the made-up record has it").clone();
    let contender = record.plan.contenders[1].clone();
    let names = rates.iter().filter(|(name, _)| !name.ends_with('~'));
    record.plan.contenders = names
        .map(|(name, _)| {
            let mut one = contender.clone();
            one.name = (*name).to_owned();
            one
        })
        .collect();
    record.plan.workloads.truncate(1);
    record.plan.loads.truncate(1);
    record.trials.clear();
    for (name, rates) in rates {
        record.plan.rounds = record.plan.rounds.max(rates.len() as u32);
        for (round, rate) in (1..).zip(rates) {
            let mut trial = sound.clone();
            trial.id = format!("r{round}-{name}");
            trial.contender = (*name).to_owned();
            trial.round = round;
            if name.ends_with('~') {
                trial.kind = ContenderKind::Control;
            }
            set_rate(&mut trial, *rate);
            record.trials.push(trial);
        }
    }
    record
}

fn set_rate(trial: &mut TrialRecord, rate: f64) {
    let result = trial.result.as_mut().expect("the sound trial was measured");
    result.requests.ok = (rate * result.measured_s) as u64;
}

/// Puts an open loop in place of the closed one, with all latencies of a trial the same.
fn open_loop(record: &mut Record, latency_ns: impl Fn(&TrialRecord) -> u64) {
    let model = LoadModel::Open {
        rate_per_s: 500.0,
        arrival: Arrival::Constant,
        clients: 10,
    };
    record.plan.loads[0].model = model.clone();
    for trial in &mut record.trials {
        let latency_ns = latency_ns(trial);
        trial.load.model = model.clone();
        let result = trial.result.as_mut().expect("the sound trial was measured");
        result.load.model = model.clone();
        result.latency = Histogram::new();
        result.latency.record_n(latency_ns, 2_500);
        result.at_least = Histogram::new();
    }
}

/// Rounds about `level`, 1 % apart, the same for the same seed.
fn rounds(count: usize, level: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| level * (1.0 + 0.02 * (random.unit() - 0.5)))
        .collect()
}

fn valid() -> Judgement {
    Judgement {
        verdict: Verdict::Valid,
        verdicts: Verdicts::all(Verdict::Valid),
        checks: Vec::new(),
    }
}

/// A judgement in which one check makes the rate suspect; what the machine took of it apart, the
/// rounds are left to be shown.
fn suspect(code: Code) -> Judgement {
    let level = match code {
        Code::RoundsAgree => Level::NotRun,
        Code::NotSteady | Code::Drift | Code::FailedShare | Code::OriginAsked => Level::Suspect,
        _ => Level::Disturbed,
    };
    weakened(Number::Rate, code, level)
}

/// A judgement in which one check weakens one number.
fn weakened(number: Number, code: Code, level: Level) -> Judgement {
    let mut verdicts = Verdicts::all(Verdict::Valid);
    match number {
        Number::Cpu => verdicts.cpu = Verdict::Suspect,
        _ => verdicts.rate = Verdict::Suspect,
    }
    Judgement {
        verdict: Verdict::Suspect,
        verdicts,
        checks: vec![Check {
            code,
            rule: code.rule(),
            level,
            numbers: vec![(number, level)],
            value: None,
            limit: None,
            text: String::new(),
        }],
    }
}

/// Compares with the judgement that `judge` gives each contender.
fn compared(record: &Record, judge: impl Fn(&str) -> Judgement) -> Compared {
    let equivalence = equivalences(&record.plan, &record.trials);
    compare(record, &judged(record, judge), &equivalence)
}

fn judged(record: &Record, judge: impl Fn(&str) -> Judgement) -> Vec<JudgedCell<'_>> {
    cells(record)
        .into_iter()
        .map(|cell| {
            let judgement = judge(&cell.key.contender);
            let trials = cell.trials.iter().map(|trial| (*trial, judgement.clone()));
            JudgedCell {
                trials: trials.collect(),
                judgement,
                cell,
                bottleneck: None,
                rate_bound: None,
                idle_server: None,
            }
        })
        .collect()
}

fn of(compared: &Compared, metric: Metric) -> &Comparison {
    let mut found = compared.comparisons.iter();
    found
        .find(|one| one.metric == metric)
        .expect("every metric is compared")
}

fn rate_of(rates: &[(&str, Vec<f64>)], judge: impl Fn(&str) -> Judgement) -> Comparison {
    of(&compared(&campaign(rates), judge), Metric::RatePerS).clone()
}

#[test]
fn three_rounds_are_enough_for_a_factor_of_four() {
    let rates = [("a", rounds(3, 10_000.0, 1)), ("b", rounds(3, 40_000.0, 2))];
    let one = rate_of(&rates, |_| valid());
    assert_eq!(
        (one.conclusion, one.evidence),
        (Conclusion::Higher, Evidence::Test)
    );
    let ratio = one.ratio.unwrap();
    assert_eq!(ratio.interval, IntervalKind::Pooled95);
    assert!(ratio.low > 3.5 && ratio.high < 4.5, "{ratio:?}");
    assert!(
        one.phrase().starts_with("4 times as fast ("),
        "{}",
        one.phrase()
    );
}

#[test]
fn rounds_that_are_far_apart_say_how_many_would_decide() {
    // Half as fast again to six times as fast.
    let rates = [("a", vec![1e4, 1e4, 1e4]), ("b", vec![1.6e4, 6e4, 2.2e4])];
    let one = rate_of(&rates, |_| valid());
    assert_eq!(one.conclusion, Conclusion::CannotTell);
    assert!(one.rounds_needed.unwrap() > 3);
    let phrase = one.phrase();
    assert!(phrase.starts_with("cannot tell; about "), "{phrase}");
}

#[test]
fn ten_rounds_show_ten_percent_and_the_reverse() {
    let rates = [
        ("a", rounds(10, 10_000.0, 1)),
        ("b", rounds(10, 11_000.0, 2)),
    ];
    let one = rate_of(&rates, |_| valid());
    assert_eq!(
        (one.conclusion, one.evidence),
        (Conclusion::Higher, Evidence::Test)
    );
    assert_eq!(one.ratio.unwrap().interval, IntervalKind::Pooled95);
    assert!(one.p_value.unwrap() <= 0.05);
    let rates = [
        ("a", rounds(10, 11_000.0, 1)),
        ("b", rounds(10, 10_000.0, 2)),
    ];
    let one = rate_of(&rates, |_| valid());
    assert_eq!(one.conclusion, Conclusion::Lower);
    assert!(one.phrase().starts_with("slower by 9"), "{}", one.phrase());
}

#[test]
fn equals_are_equal_within_what_the_rounds_hold() {
    let rates = [
        ("a", rounds(10, 10_000.0, 1)),
        ("b", rounds(10, 10_010.0, 2)),
    ];
    let one = rate_of(&rates, |_| valid());
    assert_eq!(one.conclusion, Conclusion::Equal);
    assert!(
        one.phrase().starts_with("equal within "),
        "{}",
        one.phrase()
    );
}

/// It says how far a number can be trusted: the rounds of the pair have that noise already.
#[test]
fn a_server_that_differs_from_itself_takes_no_conclusion_away() {
    let noise = [0.7, 1.4, 0.75, 1.35, 0.8, 1.3, 0.7, 1.4, 0.8, 1.3];
    let control = noise.iter().map(|one| 10_000.0 * one).collect();
    let rates = [
        ("a", rounds(10, 10_000.0, 1)),
        ("a~", control),
        ("b", rounds(10, 10_010.0, 2)),
    ];
    let found = compared(&campaign(&rates), |_| valid());
    let one = of(&found, Metric::RatePerS);
    assert_eq!((one.floor, one.conclusion), (0.01, Conclusion::Equal));
    assert!(found.floors[0].floor > 0.10, "{:?}", found.floors);
}

#[test]
fn noisy_rounds_say_what_they_would_have_shown_or_how_many_would() {
    let noise = [0.8, 1.25, 0.9, 1.1, 1.22, 0.82, 1.05, 0.95];
    let noisy = |level: f64| noise.iter().map(|one| level * one).collect::<Vec<_>>();
    let rates = [("a", vec![1e4; 8]), ("b", noisy(1e4))];
    let one = rate_of(&rates, |_| valid());
    assert_eq!(one.conclusion, Conclusion::NoDifferenceShown);
    assert!((0.1..0.6).contains(&one.smallest_shown.unwrap()), "{one:?}");
    let rates = [("a", vec![1e4; 8]), ("b", noisy(1.15e4))];
    let one = rate_of(&rates, |_| valid());
    assert_eq!(one.conclusion, Conclusion::CannotTell);
    assert!(one.rounds_needed.unwrap() > 8, "{one:?}");
}

#[test]
fn one_round_cannot_tell() {
    let rates = [("a", vec![1e4]), ("b", vec![4e4])];
    let mut record = campaign(&rates);
    record.plan.rounds = 1;
    let found = compared(&record, |_| valid());
    let one = of(&found, Metric::RatePerS);
    assert_eq!(
        (one.conclusion, one.p_value),
        (Conclusion::CannotTell, None)
    );
    assert_eq!(one.phrase(), "cannot tell; about 3 rounds would");
}

#[test]
fn what_the_load_made_is_shown_and_not_compared() {
    let rates = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 1e4, 1))];
    let mut record = campaign(&rates);
    let closed = compared(&record, |_| valid());
    for metric in [
        Metric::LatencyP50Ns,
        Metric::LatencyP90Ns,
        Metric::LatencyP99Ns,
    ] {
        let one = of(&closed, metric);
        assert_eq!(
            (one.conclusion, one.evidence, one.reason),
            (
                Conclusion::NotCompared,
                Evidence::Descriptive,
                Some(Reason::ClosedLoop)
            )
        );
    }
    open_loop(&mut record, |trial| {
        if trial.contender == "a" {
            1_000_000
        } else {
            2_000_000
        }
    });
    let open = compared(&record, |_| valid());
    let rate = of(&open, Metric::RatePerS);
    assert_eq!(
        (rate.conclusion, rate.reason),
        (Conclusion::NotCompared, Some(Reason::OpenLoop))
    );
    let p99 = of(&open, Metric::LatencyP99Ns);
    assert_eq!(
        (p99.conclusion, p99.evidence),
        (Conclusion::Higher, Evidence::Test)
    );
    let p50 = of(&open, Metric::LatencyP50Ns);
    assert_eq!(
        (p50.conclusion, p50.evidence),
        (Conclusion::Higher, Evidence::Indication)
    );
}

#[test]
fn a_large_difference_is_plain_although_too_few_rounds_can_be_believed() {
    let weak = |one: &str| match one {
        "b" => suspect(Code::Drift),
        _ => valid(),
    };
    let with = |fast: Vec<f64>| rate_of(&[("a", rounds(7, 1e4, 1)), ("b", fast)], weak);
    let one = with(rounds(7, 4.2e4, 2));
    let plain = Conclusion::PlainNotProven(Direction::Higher);
    assert_eq!(
        (one.conclusion, one.reason),
        (plain, Some(Reason::NotValid))
    );
    let phrase = one.phrase();
    let why = "plain in all 7 rounds, too few of which can be believed to prove it";
    assert!(phrase.contains(why), "{phrase}");
    // One round that does not show it, a smaller difference, or a few rounds: nothing is said.
    let mut but_one = rounds(7, 4.2e4, 2);
    but_one[3] = 1.2e4;
    for fast in [but_one, rounds(7, 2.6e4, 2), rounds(3, 4.2e4, 2)] {
        assert_eq!(with(fast).conclusion, Conclusion::NotComparable);
    }
    // Other programs took a part of both, and cannot have made it; an engine at its limit can, and
    // so can the server itself.
    let up = [("a", rounds(7, 1e4, 1)), ("b", rounds(7, 4.2e4, 2))];
    for (code, expected) in [
        (Code::OtherLoad, plain),
        (Code::Steal, plain),
        (Code::GeneratorCeiling, Conclusion::NotComparable),
        (Code::BackendBound, Conclusion::NotComparable),
        (Code::FailedShare, Conclusion::NotComparable),
        (Code::OriginAsked, Conclusion::NotComparable),
        (Code::NotSteady, Conclusion::NotComparable),
    ] {
        let one = rate_of(&up, |_| suspect(code));
        assert_eq!((one.conclusion, one.bound), (expected, None), "{code:?}");
    }
}

#[test]
fn attempts_that_do_not_count_weaken_no_comparison() {
    let rates = [("a", rounds(7, 1e4, 1)), ("b", rounds(7, 4.2e4, 2))];
    let record = campaign(&rates);
    let mut judged = judged(&record, |name| match name {
        "b" => suspect(Code::OtherLoad),
        _ => valid(),
    });
    for one in &mut judged {
        // No yardstick was beside the attempt that was set aside.
        let set_aside = (one.trials[0].0, suspect(Code::GeneratorCeiling));
        one.trials.push(set_aside);
    }
    let found = compare(&record, &judged, &[]);
    let plain = Conclusion::PlainNotProven(Direction::Higher);
    let higher = [plain, Conclusion::Higher];
    let one = of(&found, Metric::RatePerS);
    assert!(higher.contains(&one.conclusion), "{one:?}");
}

#[test]
fn what_is_needed_counts_the_rounds_that_give_no_value() {
    let mut rates = [("a", vec![1e4; 10]), ("b", vec![1.6e4; 10])];
    for (round, rate) in rates[1].1.iter_mut().enumerate() {
        *rate *= if round % 2 == 0 { 1.0 } else { 0.55 };
    }
    let whole = rate_of(&rates, |_| valid());
    let mut lossy = campaign(&rates);
    lossy
        .trials
        .retain(|trial| trial.contender == "a" || trial.round <= 8);
    let lossy = of(&compared(&lossy, |_| valid()), Metric::RatePerS).clone();
    for one in [&whole, &lossy] {
        assert!(
            one.rounds_needed.is_none_or(|rounds| rounds > 10),
            "{one:?}"
        );
    }
    let pairs = lossy.ratio.unwrap().n;
    assert_eq!(pairs, 8);
    assert!(lossy.rounds_needed.is_some(), "{lossy:?}");
    // Rounds that were never begun are none that are lost.
    let mut broken_off = campaign(&rates);
    broken_off.trials.retain(|trial| trial.round <= 8);
    let broken_off = of(&compared(&broken_off, |_| valid()), Metric::RatePerS).clone();
    let expected = lossy.rounds_needed.map(|rounds| rounds - 2);
    assert_eq!(broken_off.rounds_needed, expected, "{broken_off:?}");
}

#[test]
fn a_number_that_is_withheld_is_in_no_comparison() {
    let rates = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 2e4, 2))];
    let invalid = |name: &str| Judgement {
        verdicts: Verdicts {
            rate: if name == "a" {
                Verdict::Invalid
            } else {
                Verdict::Valid
            },
            ..Verdicts::all(Verdict::Valid)
        },
        ..valid()
    };
    let found = compared(&campaign(&rates), invalid);
    let rate = of(&found, Metric::RatePerS);
    assert_eq!(
        (rate.conclusion, rate.reason, rate.ratio),
        (Conclusion::NotComparable, Some(Reason::Withheld), None)
    );
    // The other numbers of the same cells stand.
    assert!(of(&found, Metric::CpuNsPerRequest).ratio.is_some());
}

#[test]
fn latencies_of_different_shares_of_the_requests_do_not_compare() {
    let rates = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 1e4, 2))];
    let mut record = campaign(&rates);
    open_loop(&mut record, |_| 1_000_000);
    for trial in record
        .trials
        .iter_mut()
        .filter(|trial| trial.contender == "b")
    {
        let requests = &mut trial.result.as_mut().unwrap().requests;
        requests.ok = requests.completed / 2;
    }
    let found = compared(&record, |_| valid());
    assert_eq!(
        of(&found, Metric::LatencyP99Ns).reason,
        Some(Reason::ErrorsApart)
    );
}

#[test]
fn a_control_says_what_is_noise_and_is_no_contender() {
    let twin: Vec<f64> = rounds(10, 1e4, 1).iter().map(|rate| rate * 1.04).collect();
    let rates = [
        ("a", rounds(10, 1e4, 1)),
        ("b", rounds(10, 1.03e4, 2)),
        ("a~", twin),
    ];
    let found = compared(&campaign(&rates), |_| valid());
    let names = |one: &Comparison| (one.pair.first.clone(), one.pair.second.clone());
    assert!(
        found
            .comparisons
            .iter()
            .all(|one| names(one) == ("a".into(), "b".into()))
    );
    let floor = found
        .floors
        .iter()
        .find(|one| one.metric == Metric::RatePerS)
        .unwrap();
    assert_eq!((floor.n, floor.shown), (10, true), "{floor:?}");
    assert!((0.039..0.041).contains(&floor.floor), "{floor:?}");
}

#[test]
fn without_a_control_the_floor_is_the_fixed_one() {
    let rates = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 1e4, 2))];
    let found = compared(&campaign(&rates), |_| valid());
    let fixed = |one: &bakeoff_audit::Floor| one.floor == FLOOR_UNMEASURED && one.n == 0;
    assert!(found.floors.iter().all(fixed));
}

#[test]
fn equal_work_silences_only_where_the_plan_asks_for_it() {
    let rates = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 2e4, 2))];
    let mut record = campaign(&rates);
    for trial in record
        .trials
        .iter_mut()
        .filter(|trial| trial.contender == "b")
    {
        for answer in &mut trial.answers {
            answer.body_sha256 = "another".to_owned();
            answer.decoded_sha256 = None;
        }
    }
    let configured = compared(&record, |_| valid());
    let one = of(&configured, Metric::RatePerS);
    assert_eq!(one.conclusion, Conclusion::Higher);
    assert!(
        !one.causes.is_empty(),
        "the difference in work is named beside it"
    );
    record.plan.compare = CompareMode::EqualWork;
    let equal = compared(&record, |_| valid());
    let one = of(&equal, Metric::RatePerS);
    assert_eq!(
        (one.conclusion, one.reason),
        (Conclusion::NotComparable, Some(Reason::UnequalWork))
    );
    assert!(one.ratio.is_some(), "the ratio is shown all the same");
    // What would be plain is of unequal work, too.
    let plain = |record: &Record| {
        let found = compared(record, |_| suspect(Code::Drift));
        of(&found, Metric::RatePerS).conclusion
    };
    for trial in record.trials.iter_mut().filter(|it| it.contender == "b") {
        set_rate(trial, 5e4);
    }
    assert_eq!(plain(&record), Conclusion::NotComparable);
    record.plan.compare = CompareMode::AsConfigured;
    assert!(matches!(
        plain(&record),
        Conclusion::PlainNotProven(Direction::Higher)
    ));
}

#[test]
fn the_widest_interval_is_of_what_is_tested() {
    let rates = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 1.1e4, 2))];
    let found = compared(&campaign(&rates), |_| valid());
    let widest = widest_interval(&found.comparisons).unwrap();
    assert!((0.001..0.03).contains(&widest), "{widest}");
    assert_eq!(widest_interval(&[]), None);
}
