//! What `bakeoff load --log` writes: a line for each request, of up to 100,000 of them.

use std::fmt::Write as _;

use bakeoff_load::Logged;
use bakeoff_record::LoadResult;
use bakeoff_report::csv_field;

/// Lines at the most: of more requests, every second is left out, or more of them.
pub(super) const LINES_MAX: usize = 100_000;

/// The requests as CSV, with a head; `result` has their URLs, fit to be shown.
pub(super) fn csv(requests: &[Logged], result: &LoadResult) -> String {
    let head = "end_s,latency_ms,service_ms,first_byte_ms,outcome,status,body_bytes,url\n";
    let mut text = head.to_owned();
    let ms = |ns: Option<u64>| ns.map_or(String::new(), |ns| format!("{:.3}", ns as f64 / 1e6));
    for one in requests {
        let url = result.urls.get(one.exchange as usize);
        let url = csv_field(url.map_or(&result.url, |it| &it.url));
        let status = one.status.map(|status| status.to_string());
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{:.6},{},{},{},{},{},{},{url}",
            one.done_ns as f64 / 1e9,
            ms(Some(one.latency_ns)),
            ms(one.service_ns),
            ms(one.first_byte_ns),
            one.outcome.name(),
            status.unwrap_or_default(),
            one.body_bytes,
        );
    }
    text
}
