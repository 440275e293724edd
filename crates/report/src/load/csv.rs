//! What `bakeoff load --csv` writes: a line for each second of the window.

use bakeoff_record::{Histogram, LoadResult};

/// The window as CSV, with a head. The last line is that of what is left of a second. A quantile
/// with fewer than ten requests beyond it is empty.
pub fn load_csv(result: &LoadResult) -> String {
    let mut text = "start_s,length_s,ok,errors,ok_per_s,p50_ms,p99_ms,max_ms\n".to_owned();
    // Parts of a short window are tenths of a second; those of a long one are several seconds.
    let second = |start_s: f64| (start_s + 1e-6).floor();
    for parts in result
        .intervals
        .chunk_by(|one, next| second(one.start_s) == second(next.start_s))
    {
        let Some(first) = parts.first() else { continue };
        let length_s: f64 = parts.iter().map(|part| part.length_s).sum();
        let ok: u64 = parts.iter().map(|part| part.ok).sum();
        let errors: u64 = parts.iter().map(|part| part.errors).sum();
        let mut latency = Histogram::new();
        parts.iter().for_each(|part| latency.merge(&part.latency));
        let ms = |ns: Option<u64>| ns.map_or(String::new(), |ns| format!("{:.3}", ns as f64 / 1e6));
        let rate = match length_s > 0.0 {
            true => format!("{:.1}", ok as f64 / length_s),
            false => String::new(),
        };
        text.push_str(&format!(
            "{:.1},{length_s:.3},{ok},{errors},{rate},{},{},{}\n",
            first.start_s,
            ms(latency.supported_quantile(0.5)),
            ms(latency.supported_quantile(0.99)),
            ms(latency.max()),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Load, LoadModel};
    use bakeoff_record::Interval;

    use super::*;

    #[test]
    fn tenths_are_joined_to_seconds() {
        let load = Load {
            timeout_s: 1.0,
            ..Load::new(LoadModel::Closed { clients: 1 }, 1.5)
        };
        let mut result = LoadResult::empty(load, 1.5);
        for part in 0..15_u64 {
            let mut latency = Histogram::new();
            latency.record_n(1_000_000 * (1 + part / 10), 3);
            result.intervals.push(Interval {
                start_s: part as f64 * 0.1,
                length_s: 0.1,
                ok: 3,
                errors: u64::from(part == 14),
                latency,
                failed: None,
            });
        }
        let lines: Vec<String> = load_csv(&result).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].starts_with("0.0,1.000,30,0,30.0,1.0"), "{lines:?}");
        assert!(lines[2].starts_with("1.0,0.500,15,1,30.0,"), "{lines:?}");
        assert!(lines[2].ends_with(",,2.000"), "too few for p99: {lines:?}");
    }
}
