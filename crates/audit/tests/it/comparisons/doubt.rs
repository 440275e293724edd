//! What may not be said: of one server that differs from itself, of few rounds, of many pairs, and
//! of a server that is itself to blame.

use super::*;
use bakeoff_audit::Floor;

fn floor_of(compared: &Compared) -> &Floor {
    let mut floors = compared.floors.iter();
    floors
        .find(|one| one.metric == Metric::RatePerS)
        .expect("every metric has a floor")
}

/// One server under two names, 0.58 to 1.7 times of each other, and another that is 1.56 times as
/// fast in each round.
fn restless() -> Record {
    let twin = [1.0, 1.65, 0.6, 1.7, 0.58, 1.68, 0.61];
    campaign(&[
        ("a", rounds(7, 1e4, 1)),
        ("a~", twin.iter().map(|one| 1e4 * one).collect()),
        ("b", rounds(7, 1.56e4, 2)),
    ])
}

#[test]
fn nothing_is_plain_within_what_one_server_differs_from_itself_by() {
    let record = restless();
    let found = compared(&record, |_| valid());
    assert!(floor_of(&found).floor > 0.56, "{:?}", floor_of(&found));
    // What its own rounds show stands, and how far it can be trusted is said of the number.
    assert_eq!(of(&found, Metric::RatePerS).conclusion, Conclusion::Higher);
    // Nothing is plain where disturbances take the conclusion away.
    let mut far = restless();
    for trial in far.trials.iter_mut() {
        match trial.contender.as_str() {
            "a~" if trial.round % 2 == 0 => set_rate(trial, 5e4),
            "b" => set_rate(trial, 3.5e4),
            _ => {}
        }
    }
    let found = compared(&far, |name| match name {
        "b" => suspect(Code::Drift),
        _ => valid(),
    });
    assert!(floor_of(&found).floor > 3.0, "{:?}", floor_of(&found));
    let one = of(&found, Metric::RatePerS);
    assert_eq!(one.conclusion, Conclusion::NotComparable, "{one:?}");
}

#[test]
fn a_floor_of_doubtful_rounds_is_what_was_seen_of_them() {
    let weak = |control: Judgement| {
        let record = restless();
        let found = compared(&record, move |name| match name {
            "a~" => control.clone(),
            _ => valid(),
        });
        floor_of(&found).clone()
    };
    let seen = weak(suspect(Code::NotSteady));
    assert!(seen.doubtful && seen.n == 7, "{seen:?}");
    assert!(seen.floor > 0.56, "{seen:?}");
    let mut withheld = suspect(Code::NotSteady);
    withheld.verdicts.rate = Verdict::Invalid;
    let assumed = weak(withheld);
    assert!(assumed.doubtful && assumed.n == 0, "{assumed:?}");
    assert_eq!(assumed.floor, FLOOR_UNMEASURED);
    let measured = weak(valid());
    assert!(!measured.doubtful && measured.n == 7, "{measured:?}");
    // Twins that agree in rounds that nobody believes are no reason for a lower one.
    let alike = [
        ("a", rounds(7, 1e4, 1)),
        ("a~", rounds(7, 1e4, 3)),
        ("b", rounds(7, 1e4, 2)),
    ];
    let record = campaign(&alike);
    let found = compared(&record, |name| match name {
        "a~" => suspect(Code::NotSteady),
        _ => valid(),
    });
    let floor = floor_of(&found);
    assert_eq!((floor.floor, floor.doubtful), (FLOOR_UNMEASURED, true));
}

#[test]
fn one_or_two_rounds_of_one_pair_say_how_many_are_needed() {
    let few = |first: Vec<f64>, second: Vec<f64>, code: Code| {
        let rounds = first.len() as u32;
        let mut record = campaign(&[("a", first), ("b", second)]);
        record.plan.rounds = rounds;
        of(&compared(&record, |_| suspect(code)), Metric::RatePerS).clone()
    };
    let agree = Code::RoundsAgree;
    for (first, second) in [
        (vec![1e4], vec![4e4]),
        (vec![1e4, 1e4], vec![4e4, 4.01e4]),
        (vec![1e4, 1e4], vec![1.01e4, 1.0e4]),
    ] {
        let one = few(first, second, agree);
        assert_eq!(one.conclusion, Conclusion::CannotTell, "{one:?}");
        assert_eq!(one.rounds_needed, Some(3), "{one:?}");
    }
    // What else weakens them stays.
    let one = few(vec![1e4, 1e4], vec![4e4, 4.01e4], Code::NotSteady);
    assert_eq!(one.conclusion, Conclusion::NotComparable, "{one:?}");
}

#[test]
fn what_is_equal_is_equal_in_the_whole_family() {
    let a = vec![1e4; 10];
    let spread = [-1.0, 1.2, -0.4, 0.9, -1.3, 0.3, 1.1, -0.7, 0.5, -0.6];
    let b: Vec<f64> = spread
        .iter()
        .map(|one| 1e4 * (0.012_f64 + 0.012 * one).exp())
        .collect();
    let alone = rate_of(&[("a", a.clone()), ("b", b.clone())], |_| valid());
    assert_eq!(alone.conclusion, Conclusion::Equal, "{alone:?}");
    assert_eq!(alone.phrase(), "equal within 3 %");
    let names = ["c", "d", "e", "f", "g", "h"];
    let others = (3..).zip(names).map(|(seed, name)| {
        let noisy = rounds(10, 1e4, seed);
        (
            name,
            noisy.iter().map(|one| 1e4 + (one - 1e4) * 8.0).collect(),
        )
    });
    let many: Vec<(&str, Vec<f64>)> = [("a", a), ("b", b)].into_iter().chain(others).collect();
    let among = rate_of(&many, |_| valid());
    assert_eq!(among.conclusion, Conclusion::NoDifferenceShown, "{among:?}");
}

#[test]
fn cpu_time_beside_errors_of_one_side_is_never_plain() {
    let cpu = |failed: u64| {
        let mut record = campaign(&[("a", rounds(7, 1e4, 1)), ("b", rounds(7, 4.2e4, 2))]);
        for trial in &mut record.trials {
            let is_b = trial.contender == "b";
            let result = trial.result.as_mut().expect("the sound trial was measured");
            result.requests.completed = result.requests.ok;
            if is_b {
                result.requests.ok -= result.requests.ok * failed / 100;
            }
        }
        let found = compared(&record, |name| match name {
            "b" => weakened(Number::Cpu, Code::Drift, Level::Suspect),
            _ => valid(),
        });
        of(&found, Metric::CpuNsPerRequest).conclusion
    };
    assert_eq!(cpu(0), Conclusion::PlainNotProven(Direction::Lower));
    assert_eq!(cpu(40), Conclusion::NotComparable);
}

/// Ten rounds of which six are `up` times the level and four are `below` it, in turns, so that
/// neighbouring rounds do not resemble each other.
fn two_modes(up: f64, below: f64) -> Vec<f64> {
    let is_up = [1, 0, 1, 1, 0, 1, 0, 1, 1, 0];
    is_up
        .map(|one| 1e4 * if one == 1 { up } else { below })
        .to_vec()
}

#[test]
fn nothing_is_faster_or_slower_while_the_interval_beside_it_holds_one() {
    let level = vec![1e4; 10];
    let mut shown = 0;
    for up in [1.02, 1.05, 1.08, 1.12, 1.2, 1.4] {
        for below in [0.9, 0.95, 0.996, 1.01, 1.05] {
            let modes = two_modes(up, below);
            for sides in [[&level, &modes], [&modes, &level]] {
                let [a, b] = sides.map(Clone::clone);
                let one = rate_of(&[("a", a), ("b", b)], |_| valid());
                let ratio = one.ratio.expect("both have values");
                match one.conclusion {
                    Conclusion::Higher => assert!(ratio.low > 1.0, "{one:?}"),
                    Conclusion::Lower => assert!(ratio.high < 1.0, "{one:?}"),
                    _ => continue,
                }
                shown += 1;
            }
        }
    }
    assert!(shown > 10, "{shown}");
}

/// Two runs of one server that differ beyond chance by so much.
#[test]
fn what_one_server_differs_by_beyond_chance_is_no_difference_of_others() {
    let with = |twin: f64| {
        let record = campaign(&[
            ("a", rounds(10, 1e4, 1)),
            ("a~", rounds(10, 1e4 * twin, 3)),
            ("b", rounds(10, 1.2e4, 2)),
        ]);
        let found = compared(&record, |_| valid());
        assert_eq!(floor_of(&found).shown, twin > 1.1);
        of(&found, Metric::RatePerS).conclusion
    };
    assert_eq!(with(1.0), Conclusion::Higher);
    assert_eq!(with(1.15), Conclusion::Higher);
    assert_eq!(with(1.3), Conclusion::CannotTell);
}
