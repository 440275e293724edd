//! Searches of a server that carries more than the engine can send, such as the null server.

use super::*;

/// A search with `--quick`.
pub(super) fn quick(slo: &str) -> (Load, f64) {
    let objectives = [slo.parse().unwrap()];
    let search = Search {
        goals: goals(&objectives, &[0.001]),
        arrival: Arrival::Poisson,
        clients: 100,
        sum: Duration::from_secs(12),
        exceed: 0.5,
        width: 0.02,
        budget: Duration::from_secs(144),
        confirm: Duration::from_secs(6),
        curve: vec![0.25, 0.5, 0.75, 0.9],
    };
    let budget = search.budget.as_secs_f64();
    let load = Load::sought(search, Duration::from_secs(2), Duration::from_millis(500));
    (load, budget)
}

/// The engine's own end, requests per second. A closed loop shows half as much again.
const ENGINE_PER_S: f64 = 100_000.0;

/// A trial in which every answer is right, and late where the engine spoils it: never at half of
/// what it can send, always beyond its end, and in between the more often the more it sends.
fn trial(random: &mut Random, step: &Step) -> Seen {
    let mut seen = threshold(1.5 * ENGINE_PER_S, 0.0, random, step);
    let share = seen.rate_per_s / ENGINE_PER_S;
    let is_spoiled = random.unit() < 2.0 * (share - 0.5);
    if let (Came::Measured(measured), true) = (&mut seen.came, is_spoiled) {
        measured.engine.busy = Some(0.95);
        measured.latency.record_n(50_000_000, measured.due);
    }
    seen
}

#[test]
fn a_quick_search_that_the_engine_spoils_has_a_rate_that_the_server_carries() {
    let (load, budget) = quick("p99<10ms");
    let mut spoiled = 0;
    for seed in 1..=40 {
        let mut random = Random::new(seed);
        let trials = run(&load, budget, |step, _| trial(&mut random, step));
        let spent_s: f64 = trials.iter().map(|trial| trial.took_s).sum();
        assert!(spent_s <= budget, "{spent_s} s");
        let progress = Progress::new(&load, trials, budget).unwrap();
        let found = &progress.found(None)[0];
        let standing = found.standing;
        let lower = standing.lower_per_s;
        assert!(
            lower.is_some_and(|lower| lower >= 0.4 * ENGINE_PER_S),
            "seed {seed}: {lower:?}"
        );
        assert_eq!(standing.upper_per_s, None, "seed {seed}");
        let expected = Some(Irregular::GeneratorLimited);
        assert_eq!(found.irregular, expected, "seed {seed}");
        let why = found.why.as_deref().unwrap();
        let is_said = why.contains("in the confirming trials");
        assert_eq!(is_said, found.is_confirmation_spoiled, "seed {seed}: {why}");
        spoiled += u32::from(is_said);
    }
    assert!((1..40).contains(&spoiled), "{spoiled}");
}
