//! A line of `trials.jsonl` from anywhere: read or refused, and what was read can be looked at,
//! never a panic.

use bakeoff_record::{Histogram, LoadResult, Machine, OwnLimits, TrialRecord};

pub(crate) fn check(data: &str) {
    if let Ok(trial) = serde_json::from_str::<TrialRecord>(data) {
        let _ = trial.server.as_ref().map(OwnLimits::of);
        trial.result.iter().for_each(look_at_result);
    }
    if let Ok(result) = serde_json::from_str::<LoadResult>(data) {
        look_at_result(&result);
    }
    let _ = serde_json::from_str::<Machine>(data);
    // As it stands in a line, and as the counts of each interval and URL.
    if let Ok(histogram) = serde_json::from_str::<Histogram>(data) {
        look_at(&histogram);
    }
    if let Ok(sketch) = serde_json::from_str::<bakeoff_record::Sketch>(data) {
        look_at(&sketch.histogram());
    }
}

fn look_at_result(result: &LoadResult) {
    let mut result = result.clone();
    for histogram in result.histograms_mut() {
        look_at(histogram);
    }
    look_at(&result.error_latency());
    look_at(&result.latency_with_unended());
    let _ = (result.latency_bounds(0.5), result.latency_bounds(0.99));
    for interval in &result.intervals {
        look_at(&interval.latency);
    }
}

fn look_at(histogram: &Histogram) {
    for q in [0.0, 0.5, 0.99, 1.0] {
        if let Some(value) = histogram.quantile(q) {
            assert!(histogram.min() <= Some(value) && Some(value) <= histogram.max());
        }
    }
    let _ = (
        histogram.mean(),
        histogram.sd(),
        histogram.share_within_sd(),
    );
    let mut both = histogram.clone();
    both.merge(histogram);
    assert_eq!(both.quantile(0.5), histogram.quantile(0.5));
    let written = serde_json::to_string(histogram).expect("it is written");
    let read = serde_json::from_str::<Histogram>(&written).expect("it reads again");
    assert_eq!(read, *histogram);
}
