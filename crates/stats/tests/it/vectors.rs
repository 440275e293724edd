//! The arithmetic against SciPy and ruptures, by vectors that `vectors/make.py` stored.

use bakeoff_stats::{
    changes, discoveries, estimate, neighbour_correlation, student_point, student_tail, walsh,
};
use serde_json::Value;

fn vectors(of: &str) -> Value {
    let all: Value =
        serde_json::from_str(include_str!("../vectors/scipy.json")).expect("stored JSON");
    all[of].clone()
}

fn cases(of: &Value) -> &Vec<Value> {
    of.as_array().expect("a list")
}

fn number(of: &Value) -> f64 {
    of.as_f64().expect("a number")
}

fn numbers(of: &Value) -> Vec<f64> {
    cases(of).iter().map(number).collect()
}

#[track_caller]
fn near(found: f64, expected: f64, what: &Value) {
    let off = (found - expected).abs();
    assert!(
        off <= 1e-9 * expected.abs().max(1e-3),
        "{found} for {expected}: {what}"
    );
}

#[test]
fn student_has_the_tails_and_points_of_scipy() {
    let student = vectors("student");
    for case in cases(&student["tails"]) {
        let found = student_tail(number(&case["t"]), number(&case["degrees"]));
        near(found, number(&case["tail"]), case);
    }
    for case in cases(&student["points"]) {
        let found = student_point(number(&case["tail"]), number(&case["degrees"]));
        near(found, number(&case["t"]), case);
    }
}

#[test]
fn walsh_intervals_are_where_the_exact_test_stops_rejecting() {
    for case in cases(&vectors("walsh")) {
        let found = walsh(&numbers(&case["values"])).unwrap();
        near(found.point, number(&case["point"]), case);
        near(found.low, number(&case["low"]), case);
        near(found.high, number(&case["high"]), case);
    }
}

#[test]
fn medians_have_the_interval_of_scipys_quantile_test() {
    for case in cases(&vectors("medians")) {
        let found = estimate(&numbers(&case["values"])).unwrap();
        near(found.point, number(&case["point"]), case);
        near(found.low, number(&case["low"]), case);
        near(found.high, number(&case["high"]), case);
    }
}

#[test]
fn neighbours_have_spearmans_correlation() {
    for case in cases(&vectors("neighbours")) {
        let found = neighbour_correlation(&numbers(&case["values"])).unwrap();
        near(found, number(&case["correlation"]), case);
    }
}

#[test]
fn discoveries_are_those_of_benjamini_and_hochberg() {
    for case in cases(&vectors("discoveries")) {
        let found = discoveries(&numbers(&case["chances"]));
        for (found, expected) in found.into_iter().zip(numbers(&case["corrected"])) {
            near(found, expected, case);
        }
    }
}

#[test]
fn changes_are_those_of_pelt_in_ruptures() {
    for case in cases(&vectors("changes")) {
        let expected: Vec<usize> = numbers(&case["changes"])
            .iter()
            .map(|one| *one as usize)
            .collect();
        assert_eq!(changes(&numbers(&case["series"])), expected, "{case}");
    }
}
