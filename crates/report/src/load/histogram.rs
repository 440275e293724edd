//! Latencies as a histogram of text: a row for each range, with its count, its share and a bar.
//!
//! Ranges are of equal length where the latencies lie close together, and else grow by steps of
//! 1, 2 and 5, so that both the bulk and a tail that is a hundred times longer can be seen.

use std::fmt::Write as _;

use bakeoff_record::Histogram;

use crate::number::{count, counted, percent};
use crate::style::bar;

/// Fewer latencies than this are no distribution.
const COUNT_LEAST: u64 = 10;
/// From the shortest latency to the longest by this factor at the most, ranges are equal.
const EQUAL_UP_TO: f64 = 4.0;
/// Rows that are wanted; there may be a few more or fewer.
const ROWS: f64 = 11.0;
/// Columns of the longest bar.
const BAR: usize = 28;
/// The shortest, as a share of it: an eighth of a column.
const BAR_LEAST: f64 = 1.0 / (BAR * 8) as f64;
/// Steps of a decade, from the coarsest scale to the finest.
const SCALES: [&[f64]; 3] = [
    &[1.0],
    &[1.0, 2.0, 5.0],
    &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
];

/// A range of latencies, nanoseconds, from `from` to below `to`, and how many lie in it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    from: f64,
    to: f64,
    times: u64,
}

/// Writes the histogram; nothing where there are too few latencies for one.
pub(super) fn histogram(text: &mut String, latency: &Histogram) {
    let rows = rows(latency);
    if rows.is_empty() {
        return;
    }
    let most = rows.iter().map(|row| row.times).max().unwrap_or(0).max(1);
    // What is not nothing is seen.
    let share_of_most = |times: u64| match times {
        0 => 0.0,
        times => (times as f64 / most as f64).max(BAR_LEAST),
    };
    let of = counted(latency.count(), "ok response");
    let _ = writeln!(text, "histogram    latency of {of}");
    let _ = writeln!(text, "{:>22} ms{:>15}{:>9}", "", "count", "%");
    for row in &rows {
        let range = format!("{} - {}", edge(row.from), edge(row.to));
        let line = format!(
            "{range:>25}{:>15}{:>9}  {}",
            count(row.times),
            percent(row.times as f64 / latency.count() as f64),
            bar(share_of_most(row.times), BAR),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if let Some(beyond) = Some(latency.over_range()).filter(|n| *n > 0) {
        let share = percent(beyond as f64 / latency.count() as f64);
        let _ = writeln!(
            text,
            "{:>25}{:>15}{share:>9}",
            "over 73 minutes",
            count(beyond)
        );
    }
    text.push('\n');
}

/// The ranges from the first with a latency to the last, with what lies in each.
fn rows(latency: &Histogram) -> Vec<Row> {
    let (Some(least), Some(most)) = (latency.buckets().next(), latency.buckets().last()) else {
        return Vec::new();
    };
    if latency.count() < COUNT_LEAST {
        return Vec::new();
    }
    // What is counted is known by the middles of its buckets.
    let (least, most) = (least.0.max(1) as f64, most.0.max(1) as f64);
    let edges = if most / least <= EQUAL_UP_TO {
        equal(least, most)
    } else {
        growing(least, most)
    };
    let mut rows: Vec<Row> = edges
        .windows(2)
        .map(|edge| Row {
            from: edge[0],
            to: edge[1],
            times: 0,
        })
        .collect();
    let mut at = 0;
    for (middle, times) in latency.buckets() {
        while at + 1 < rows.len() && middle as f64 >= rows[at].to {
            at += 1;
        }
        rows[at].times += times;
    }
    rows
}

/// Edges that are multiples of 1, 2 or 5 times a power of ten.
fn equal(least: f64, most: f64) -> Vec<f64> {
    // Latencies that are all the same still have a range.
    let raw = ((most - least) / ROWS).max(most * 1e-3).max(1.0);
    let decade = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter();
    let step = step
        .map(|step| step * decade)
        .find(|step| *step >= raw * 0.999);
    let step = step.unwrap_or(10.0 * decade);
    let first = (least / step).floor() as u64;
    let last = (most / step).floor() as u64 + 1;
    (first..=last).map(|edge| edge as f64 * step).collect()
}

/// Edges that grow, on the scale that comes nearest to the rows that are wanted.
fn growing(least: f64, most: f64) -> Vec<f64> {
    let (first, last) = (least.log10().floor() as i32, most.log10().floor() as i32);
    let edges = |steps: &[f64]| -> Vec<f64> {
        let all = (first..=last + 1).flat_map(|decade| {
            let scale = 10_f64.powi(decade);
            steps.iter().map(move |step| step * scale)
        });
        let all: Vec<f64> = all.collect();
        let from = all.iter().rposition(|edge| *edge <= least).unwrap_or(0);
        let to = all.iter().position(|edge| *edge > most);
        all[from..=to.unwrap_or(all.len() - 1)].to_vec()
    };
    let scales = SCALES.iter().map(|steps| edges(steps));
    let off = |edges: &Vec<f64>| ((edges.len() as f64 - 1.0) / ROWS).ln().abs();
    scales
        .min_by(|a, b| off(a).total_cmp(&off(b)))
        .unwrap_or_default()
}

/// An edge in milliseconds, without zeros at its end.
fn edge(ns: f64) -> String {
    let text = format!("{:.6}", ns / 1e6);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies_us: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for (us, times) in latencies_us {
            histogram.record_n(us * 1_000, *times);
        }
        histogram
    }

    #[track_caller]
    fn check(histogram: &Histogram, edges_ms: &[f64]) {
        let rows = rows(histogram);
        let mut edges: Vec<f64> = rows.iter().map(|row| row.from / 1e6).collect();
        edges.extend(rows.last().map(|row| row.to / 1e6));
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * b.max(1.0);
        let are_near = edges.len() == edges_ms.len() && edges.iter().zip(edges_ms).all(near);
        assert!(are_near, "{edges:?}");
        let counted: u64 = rows.iter().map(|row| row.times).sum();
        assert_eq!(counted, histogram.count() - histogram.over_range());
        assert!(
            rows[0].times > 0 && rows[rows.len() - 1].times > 0,
            "{rows:?}"
        );
    }

    #[test]
    fn latencies_that_lie_close_together_have_equal_ranges() {
        let near = of(&[(1_000, 10), (1_500, 50), (2_400, 5), (2_950, 1)]);
        check(
            &near,
            &[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0],
        );
        let times: Vec<u64> = rows(&near).iter().map(|row| row.times).collect();
        assert_eq!(times, [10, 0, 50, 0, 0, 0, 0, 5, 0, 1]);
    }

    #[test]
    fn a_long_tail_makes_ranges_grow() {
        check(
            &of(&[(670, 100), (3_000, 1_000), (57_000, 3)]),
            &[0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0],
        );
        check(
            &of(&[(30, 100), (9_000_000, 1)]),
            &[
                0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0,
                1e3, 2e3, 5e3, 1e4,
            ],
        );
        check(
            &of(&[(130, 100), (740, 1)]),
            &[0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8],
        );
    }

    #[test]
    fn equal_latencies_have_a_row_and_few_have_none() {
        let mut text = String::new();
        histogram(&mut text, &of(&[(5_000, 9)]));
        assert_eq!(text, "");
        assert!((1..=3).contains(&rows(&of(&[(5_000, 10)])).len()));
        assert!((1..=3).contains(&rows(&of(&[(0, 10)])).len()));
        let mut far = of(&[(1, 10), (1 << 32, 10)]);
        far.record(u64::MAX);
        assert!(rows(&far).len() < 30, "{}", rows(&far).len());
    }

    #[test]
    fn no_line_is_wider_than_a_terminal_and_every_count_has_a_bar() {
        let mut long = of(&[(1, 4_000_000_000), (2_000_000_000, 1)]);
        long.record(u64::MAX);
        for latencies in [long, of(&[(30, 1_000_000), (90_000, 1)]), of(&[(999, 500)])] {
            let mut text = String::new();
            histogram(&mut text, &latencies);
            let shown = text.lines().all(|line| line.chars().count() < 80);
            assert!(shown, "{text}");
            let bars = text
                .lines()
                .filter(|line| line.contains(['█', '▏']))
                .count();
            let counted = rows(&latencies).iter().filter(|row| row.times > 0).count();
            assert_eq!(bars, counted, "{text}");
        }
    }
}
