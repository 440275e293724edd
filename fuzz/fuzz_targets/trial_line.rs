//! A line of `trials.jsonl` from anywhere: read or refused, never a panic.

#![no_main]

use bakeoff_record::{Histogram, Machine, TrialRecord};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let _ = serde_json::from_str::<TrialRecord>(data);
    let _ = serde_json::from_str::<Machine>(data);
    if let Ok(histogram) = serde_json::from_str::<Histogram>(data) {
        let _ = histogram.quantile(0.99);
    }
});
