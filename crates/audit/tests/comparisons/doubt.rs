//! What may not be said: of one server that differs from itself, of few rounds, of many pairs, and
//! of a server that is itself to blame.

use super::*;

#[test]
fn what_is_equal_is_equal_in_the_whole_family() {
    let a = vec![1e4; 10];
    let spread = [-1.0, 1.2, -0.4, 0.9, -1.3, 0.3, 1.1, -0.7, 0.5, -0.6];
    let b: Vec<f64> = spread
        .iter()
        .map(|one| 1e4 * (0.018_f64 + 0.012 * one).exp())
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
    // The interval that is shown is the pair's own.
    assert_eq!(among.ratio, alone.ratio);
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
