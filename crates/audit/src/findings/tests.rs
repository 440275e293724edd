//! Which finding comes first, and what a sentence says of its cells.

use bakeoff_stats::{Estimate, IntervalKind};

use super::*;
use crate::conclusion::PairKey;

/// A rate in a cell that has no difference.
fn rate(conclusion: Conclusion, rounds_needed: Option<u32>) -> Comparison {
    Comparison {
        pair: PairKey {
            workload: "html-small".to_owned(),
            load: "10 clients".to_owned(),
            first: "a".to_owned(),
            second: "b".to_owned(),
        },
        metric: Metric::RatePerS,
        ratio: None,
        bound: None,
        evidence: Evidence::Test,
        conclusion,
        p_value: None,
        floor: 0.01,
        rounds_needed,
        smallest_shown: None,
        causes: Vec::new(),
        reason: None,
    }
}

/// Rates of two contenders at a workload, the second one's over the first one's.
fn rates(workload: usize, pair: [&str; 2], ratio: f64, conclusion: Conclusion) -> Comparison {
    Comparison {
        pair: PairKey {
            workload: format!("w{workload}"),
            load: "10 clients".to_owned(),
            first: pair[0].to_owned(),
            second: pair[1].to_owned(),
        },
        ratio: Some(Estimate {
            point: ratio,
            low: ratio * 0.99,
            high: ratio * 1.01,
            n: 10,
            interval: IntervalKind::Walsh95,
        }),
        ..rate(conclusion, None)
    }
}

#[test]
fn four_times_as_fast_comes_before_level() {
    use Conclusion::{CannotTell, Equal, Higher, NoDifferenceShown, PlainNotProven};
    let plain = PlainNotProven(Direction::Higher);
    for (last, ratio, rest) in [
        (
            NoDifferenceShown,
            1.01,
            "7 of 8 cells, no difference shown in 1",
        ),
        (CannotTell, 1.3, "7 of 8 cells, not decided in 1"),
        (plain, 4.0, "8 cells, plain in 1 of them"),
    ] {
        let mut comparisons = Vec::new();
        for workload in 0..8 {
            let (conclusion, ratio) = match workload {
                7 => (last, ratio),
                _ => (Higher, 4.0),
            };
            comparisons.push(rates(workload, ["a", "b"], 1.0, Equal));
            comparisons.push(rates(workload, ["a", "c"], ratio, conclusion));
            comparisons.push(rates(workload, ["b", "c"], ratio, conclusion));
        }
        let found = find(&comparisons, &[]);
        let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        let expected = [
            format!("c is faster than a: 4x the requests/s in {rest}"),
            format!("c is faster than b: 4x the requests/s in {rest}"),
            "a and b are level: the same requests/s within 3 % in 8 cells".to_owned(),
        ];
        assert_eq!(texts, expected);
        assert_eq!(found[0].grade, Grade::Shown);
    }
}

#[test]
fn of_twenty_contenders_the_one_that_is_ten_times_as_fast_comes_first() {
    let names: Vec<String> = (1..=20).map(|number| format!("c{number}")).collect();
    let speed = |place: usize| match place {
        19 => 10.0,
        place => 1.0 + 0.003 * place as f64,
    };
    let mut comparisons = Vec::new();
    for first in 0..20 {
        for second in first + 1..20 {
            let ratio = speed(second) / speed(first);
            let pair = [names[first].as_str(), names[second].as_str()];
            comparisons.push(rates(1, pair, ratio, Conclusion::Higher));
        }
    }
    let found = find(&comparisons, &[]);
    assert_eq!(found.len(), 190);
    let first = "c20 is faster than c1: 10x the requests/s in 1 cell";
    assert_eq!(found[0].text, first);
    assert!(found[..19].iter().all(|one| one.second == "c20"));
}

/// The answer for a load at a given rate was its CPU time alone.
#[test]
fn under_a_given_rate_the_answer_begins_with_p99_whatever_it_comes_to() {
    use Conclusion::{CannotTell, Equal, Higher, NotCompared};
    for (p99, rounds_needed, text) in [
        (
            Equal,
            None,
            "a and b are level: the same p99 latency within 3 % in 1 cell",
        ),
        (
            CannotTell,
            Some(14),
            "a and b: no difference in p99 latency is shown in 1 cell; \
             about 14 rounds would decide",
        ),
    ] {
        let of = |metric, ratio, conclusion| Comparison {
            metric,
            ..rates(1, ["a", "b"], ratio, conclusion)
        };
        let comparisons = [
            of(Metric::RatePerS, 1.0, NotCompared),
            of(Metric::LatencyP50Ns, 1.0, Equal),
            Comparison {
                rounds_needed,
                ..of(Metric::LatencyP99Ns, 1.01, p99)
            },
            of(Metric::CpuNsPerRequest, 1.2, Higher),
        ];
        let found = find(&comparisons, &[]);
        let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        let cpu = "b needs 20 % more CPU time per request than a in 1 cell";
        assert_eq!(texts, [text, cpu]);
    }
}

#[test]
fn a_finding_has_the_grade_of_most_of_its_cells_and_counts_the_others() {
    use Conclusion::{Higher, Lower, PlainNotProven};
    let plain = PlainNotProven(Direction::Higher);
    let plain_lower = PlainNotProven(Direction::Lower);
    let first = |cells: &[(f64, Conclusion)]| {
        let cells = cells.iter().enumerate();
        let each = cells.map(|(workload, (ratio, one))| rates(workload, ["a", "b"], *ratio, *one));
        let found = find(&each.collect::<Vec<_>>(), &[]).remove(0);
        (found.grade, found.text)
    };
    let faster = "b is faster than a: 2x the requests/s in";
    let differ = "b and a differ by cell: b has 2x the requests/s in";
    for (cells, grade, text) in [
        (
            vec![(2.0, Higher), (2.0, plain), (2.0, Higher)],
            Grade::Shown,
            format!("{faster} 3 cells, plain in 1 of them"),
        ),
        // The weaker one, where there are as many of both.
        (
            vec![(2.0, Higher), (2.0, plain)],
            Grade::Plain,
            format!("{faster} 2 cells, shown in 1 of them"),
        ),
        (
            vec![(2.0, plain), (2.0, plain)],
            Grade::Plain,
            format!("{faster} 2 cells"),
        ),
        (
            vec![(2.0, Higher), (2.0, Higher), (0.5, plain_lower)],
            Grade::Shown,
            format!("{differ} 2 of 3 cells, a 2x in 1, plain"),
        ),
        (
            vec![(2.0, Higher), (2.0, plain), (2.0, Higher), (0.5, Lower)],
            Grade::Shown,
            format!("{differ} 3 of 4 cells, plain in 1 of them, a 2x in 1"),
        ),
    ] {
        assert_eq!(first(&cells), (grade, text));
    }
}

#[test]
fn what_is_alike_says_of_how_many_cells() {
    use Conclusion::{CannotTell, Equal, NoDifferenceShown, NotComparable};
    let alike = |cells: &[(Conclusion, Option<u32>)]| {
        let cells = cells.iter().map(|(one, rounds)| rate(*one, *rounds));
        find(&cells.collect::<Vec<_>>(), &[]).remove(0).text
    };
    let equal = (Equal, None);
    let level = "a and b are level: the same requests/s within 3 % in 2 cells";
    assert_eq!(alike(&[equal, equal]), level);
    let ignored = (NotComparable, None);
    assert_eq!(
        alike(&[equal, ignored, equal, ignored, ignored]),
        format!("{level}, not ranked in 3")
    );
    let open = |cells: &[(Conclusion, Option<u32>)]| {
        let text = alike(cells);
        let none = "a and b: no difference in requests/s is shown in ";
        text.strip_prefix(none).expect(none).to_owned()
    };
    let [near, far, unknown] = [Some(14), Some(60), None].map(|it| (CannotTell, it));
    let none = (NoDifferenceShown, None);
    for (cells, text) in [
        (vec![near], "1 cell; about 14 rounds would decide"),
        (vec![near, near], "2 cells; about 14 rounds would decide"),
        (
            vec![near, none],
            "2 cells; about 14 rounds would decide 1 of them",
        ),
        (
            vec![near, unknown, ignored],
            "2 cells, not ranked in 1; about 14 rounds would decide 1 of them",
        ),
        (
            vec![near, far],
            "2 cells; about 14 rounds would decide 1 of them; 1 needs more than 40",
        ),
        (vec![far], "1 cell; more than 40 rounds would decide"),
        (vec![none, none], "2 cells"),
    ] {
        assert_eq!(open(&cells), text);
    }
}

#[test]
fn ratios_are_spelled_as_a_reader_would() {
    for (ratio, text) in [
        (1.8, "1.8x"),
        (6.0, "6x"),
        (12.4, "12x"),
        (2.04, "2x"),
        (10.0, "10x"),
    ] {
        assert_eq!(times(ratio), text);
    }
    for (share, text) in [
        (0.45, "45 %"),
        (0.031, "3.1 %"),
        (0.05, "5 %"),
        (0.0995, "10 %"),
    ] {
        assert_eq!(percent(share), text);
    }
}
