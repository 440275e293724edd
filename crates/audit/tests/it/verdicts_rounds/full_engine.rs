//! A server that the load engine could not load: its rate is a lower bound.

use bakeoff_audit::{Comparison, Reason, Side};
use bakeoff_record::ThreadUsage;

use super::*;
use crate::planted::idle_server;

/// Fills the engine in all trials of a contender, and lets the server rest for half of the time.
fn fill_the_engine(record: &mut Record, contender: &str) {
    for trial in of(record, contender) {
        idle_server(trial);
        let result = trial.result.as_mut().expect("it was measured");
        result.engine.threads = vec![ThreadUsage {
            cpu_s: 0.95 * result.measured_s,
            kept_s: 0.0,
            longest_turn_s: 0.0,
        }];
    }
}

/// How the rate of `nginx-optimized` and that of `caddy-default`, half of it, compare.
fn compared(judged: &Judged<'_>) -> Comparison {
    let mut found = judged.comparisons.iter().filter(|one| {
        let pair = &one.pair;
        one.metric == Metric::RatePerS
            && pair.workload == "synthetic"
            && (pair.first.as_str(), pair.second.as_str()) == (CONTENDER, "caddy-default")
    });
    found.next().expect("the two are compared").clone()
}

#[test]
fn a_full_engine_leaves_a_rate_that_counts_where_it_is_the_higher_one() {
    let mut record = rounds(10);
    fill_the_engine(&mut record, CONTENDER);
    let judged = judge(&record);
    let one = cell(&judged, (CONTENDER, "synthetic", "c10"));
    let why = Code::EngineBusy;
    assert_eq!(one.rate_bound, Some(why));
    let rate = one.estimate(Metric::RatePerS).expect("it is shown");
    assert!((44_000.0..47_000.0).contains(&rate.point), "{rate:?}");
    assert_eq!(one.judgement.verdicts.rate, Verdict::Suspect);
    // What the engine did to each request is in the latencies.
    assert_eq!(one.judgement.verdicts.latency, Verdict::Invalid);
    let pair = compared(&judged);
    assert_eq!(
        (pair.conclusion, pair.bound),
        (Conclusion::Lower, Some(Side::AtMost))
    );
}

#[test]
fn a_full_engine_hides_how_fast_the_slower_one_is() {
    let mut record = rounds(10);
    fill_the_engine(&mut record, "caddy-default");
    let pair = compared(&judge(&record));
    assert_eq!(
        (pair.conclusion, pair.reason),
        (Conclusion::NotComparable, Some(Reason::BoundWeakens))
    );
}
