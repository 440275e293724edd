//! An engine that sends late in an open loop: the delay is in the latencies.

use super::*;

#[test]
fn the_engine_answers_for_its_own_delay_and_not_for_the_servers() {
    let slow_server = judge_open(|result| {
        let kept = result.schedule.as_mut().expect("it is an open loop");
        kept.wait.record_n(1_000_000_000, 500);
        result.send_lag.record_n(1_000_000_000, 500);
    });
    assert_eq!(reported(&slow_server), [""; 0]);
    let late_engine = judge_open(|result| {
        let due = result.requests.due.unwrap_or(0);
        let kept = result.schedule.as_mut().expect("it is an open loop");
        kept.slip.record_n(1_000_000_000, due);
    });
    assert_eq!(reported(&late_engine), ["send-lag: latency suspect"]);
    let unknown = judge_open(|result| {
        let kept = result.schedule.as_mut().expect("it is an open loop");
        std::mem::swap(&mut kept.slip, &mut kept.wait);
    });
    assert_eq!(reported(&unknown), ["send-lag: latency not-run"]);
}

/// Makes the p99 of the slip this share of that of the latency.
fn slip(result: &mut LoadResult, share: f64) {
    let p99 = result.latency.quantile(0.99).unwrap_or(0) as f64;
    let due = result.requests.due.unwrap_or(0);
    let kept = result.schedule.as_mut().expect("it is an open loop");
    kept.slip.clear();
    kept.slip.record_n((p99 * share) as u64, due);
}

/// A p99 of less than a millisecond is no more the server's where a third of it is the engine's.
#[test]
fn a_short_latency_allows_little_lateness() {
    let late = |share: f64| judge_open(move |result| slip(result, share));
    assert_eq!(reported(&late(0.2)), [""; 0]);
    assert_eq!(reported(&late(0.34)), ["send-lag: latency suspect"]);
    let text = text_of(&late(0.34), Code::SendLag).to_owned();
    assert!(text.ends_with("a lag is in it, 34 % of its p99"), "{text}");
}

#[test]
fn a_load_by_itself_is_warned_of_by_the_same_limit() {
    for (share, expected) in [(0.2, ""), (0.34, "schedule-behind")] {
        let mut trial = bakeoff_testing::open_loop_trial();
        slip(result(&mut trial), share);
        let said = bakeoff_audit::judge_load(result(&mut trial));
        let codes: Vec<&str> = said.iter().map(|one| one.code.as_str()).collect();
        assert_eq!(codes.join(" "), expected, "{share}");
    }
}
