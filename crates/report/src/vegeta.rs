//! Cells at a constant rate in Vegeta's form, and how far they are apart, as lines of text that fit
//! 80 columns with an indent.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use bakeoff_stats::{Estimate, Metric};

use crate::number::{count, counted, digits, milliseconds, percent, plain, whole};
use crate::style::folded;
use crate::view::{Cell, Difference, MEASURES, Report, Vegeta};

/// Columns of a line.
const WIDTH: usize = 78;

/// The lines of a group's cells; empty unless they were measured at a constant rate.
pub(crate) fn lines(report: &Report, cells: &[Cell]) -> Vec<String> {
    let mut lines = Vec::new();
    for cell in cells {
        if let Some(figures) = &cell.vegeta {
            lines.push(format!("{}:", plain(&cell.contender)));
            lines.extend(attack(figures));
        }
    }
    let Some(first) = cells.first().filter(|_| !lines.is_empty()) else {
        return lines;
    };
    lines.insert(0, "As Vegeta prints it, latencies in ms:".to_owned());
    lines.extend(holes(cells));
    let of_group = |it: &&Difference| it.workload == first.workload && it.load == first.load;
    for difference in report.differences.iter().filter(of_group) {
        lines.extend(against(difference));
    }
    lines
}

fn attack(figures: &Vegeta) -> Vec<String> {
    let seconds = |s: Option<f64>| shown(s, |s| format!("{s:.3} s"));
    let (requests, duration) = (&figures.requests, &figures.duration);
    let (latencies, bytes_in, bytes_out) =
        (&figures.latencies, &figures.bytes_in, &figures.bytes_out);
    let amount = |all, mean| {
        let each = |bytes| match bytes {
            0.0 => "0".to_owned(),
            some => digits(some),
        };
        [shown(all, whole), shown(mean, each)].join(", ")
    };
    let rows = [
        (
            "Requests      [total, rate, throughput]",
            [
                shown(requests.total, whole),
                shown(requests.rate_per_s, |rate| format!("{rate:.2}")),
                shown(requests.throughput_per_s, |rate| format!("{rate:.2}")),
            ]
            .join(", "),
        ),
        (
            "Duration      [total, attack, wait]",
            [
                seconds(duration.total_s),
                seconds(duration.attack_s),
                shown(duration.wait_s, |s| format!("{} ms", digits(s * 1e3))),
            ]
            .join(", "),
        ),
        (
            "Latencies     [mean, 50, 95, 99, max]",
            [
                latencies.mean_ns,
                latencies.p50_ns,
                latencies.p95_ns,
                latencies.p99_ns,
                latencies.max_ns,
            ]
            .map(|ns| shown(ns, milliseconds))
            .join(", "),
        ),
        (
            "Bytes In      [total, mean]",
            amount(bytes_in.total, bytes_in.mean),
        ),
        (
            "Bytes Out     [total, mean]",
            amount(bytes_out.total, bytes_out.mean),
        ),
        (
            "Success       [ratio]",
            shown(figures.success_share, |share| {
                format!("{} %", percent(share))
            }),
        ),
        ("Status Codes  [code:count]", counts(&figures.status_codes)),
        ("Error Set     [error:count]", counts(&figures.errors)),
    ];
    let rows = rows.map(|(title, values)| format!("  {title:<39}  {values}"));
    rows.to_vec()
}

/// A line for each figure that there is none of, and of whom; latencies that are all withheld are
/// reported with the main table.
fn holes(cells: &[Cell]) -> Vec<String> {
    let reported: Vec<(&Cell, &Vegeta)> = cells
        .iter()
        .filter_map(|cell| Some((cell, cell.vegeta.as_ref()?)))
        .collect();
    let mut lines = Vec::new();
    for (name, title) in [
        ("p95_ns", "95"),
        ("p99_ns", "99"),
        ("wait_s", "wait"),
        ("bytes_in.mean", "mean of Bytes In"),
        ("bytes_out", "Bytes Out"),
    ] {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (cell, figures) in &reported {
            let withheld = figures.latencies.p50_ns.is_none() && name.ends_with("_ns");
            if let Some(reason) = figures.missing.get(name).filter(|_| !withheld) {
                let names = reasons.entry(reason).or_default();
                names.push(plain(&cell.contender));
            }
        }
        for (reason, names) in reasons {
            let whose = if names.len() == reported.len() {
                String::new()
            } else {
                format!(" of {}", names.join(", "))
            };
            let text = format!("no {title}{whose}: {}", plain(reason));
            lines.extend(folded(&text, "", WIDTH));
        }
    }
    lines
}

/// `200:5,000 503:2`; `none` without any.
fn counts<K: Display>(all: &BTreeMap<K, u64>) -> String {
    let pairs: Vec<String> = all
        .iter()
        .map(|(key, n)| format!("{key}:{}", count(*n)))
        .collect();
    if pairs.is_empty() {
        "none".into()
    } else {
        pairs.join(" ")
    }
}

fn against(difference: &Difference) -> Vec<String> {
    let base = plain(&difference.base);
    let mut lines = vec![format!(
        "{} against {base}, in % of {base}:",
        plain(&difference.other)
    )];
    let mut head = format!("  {:<9}", "");
    for measure in MEASURES {
        let _ = write!(head, " {:>10}", title(measure));
    }
    lines.push(head);
    let shares = MEASURES.map(|measure| difference.shares.get(&measure)?.as_ref());
    let rounds = shares.iter().flatten().map(|share| share.n).max();
    let row = |name: String, end: fn(&Estimate) -> f64| {
        let mut line = format!("  {name:<9}");
        for share in &shares {
            let _ = write!(line, " {:>10}", shown(share.map(end), signed_percent));
        }
        line
    };
    let rounds = rounds.unwrap_or(0);
    lines.push(row(counted(rounds as u64, "round"), |share| share.point));
    if rounds > 1 {
        lines.push(row("low".into(), |share| share.low));
        lines.push(row("high".into(), |share| share.high));
    }
    for (measure, share) in MEASURES.into_iter().zip(shares) {
        // Rounds with too thin a tail have no percentile to compare.
        if let Some(share) = share.filter(|share| share.n < rounds) {
            let of = counted(share.n as u64, "round");
            lines.push(format!("  {} of {of} alone", title(measure)));
        }
    }
    for (reason, titles) in reasons(difference) {
        let text = format!("no {}: {}", titles.join(", "), plain(reason));
        lines.extend(folded(&text, "  ", WIDTH));
    }
    if let Some(caution) = &difference.caution {
        lines.extend(folded(&plain(caution), "  ", WIDTH));
    }
    lines
}

/// Why there is no share of what.
fn reasons(difference: &Difference) -> BTreeMap<&str, Vec<&'static str>> {
    let mut reasons: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
    for measure in MEASURES {
        if let Some(reason) = difference.missing.get(&measure) {
            reasons.entry(reason).or_default().push(title(measure));
        }
    }
    reasons
}

fn title(measure: Metric) -> &'static str {
    match measure {
        Metric::LatencyMeanNs => "mean",
        Metric::LatencyP50Ns => "50",
        Metric::LatencyP95Ns => "95",
        Metric::LatencyP99Ns => "99",
        Metric::LatencyMaxNs => "max",
        _ => "throughput",
    }
}

/// A share with its sign as a percentage without its own: `+14.3`, `-12.5`, `0.0`, `+1,204`.
fn signed_percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        none if none.abs() < 0.05 => "0.0".into(),
        large if large >= 999.95 => format!("+{}", whole(large)),
        usual => format!("{usual:+.1}"),
    }
}

fn shown(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or("-".to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_reported_with_its_sign() {
        // The published means: 385.502 over 337.36 us is 14 % more, and the other way 12 % less.
        let rows = [
            (385.502 / 337.36 - 1.0, "+14.3"),
            (337.36 / 385.502 - 1.0, "-12.5"),
            (4.165_685 / 1.670_566 - 1.0, "+149.4"),
            (11.04, "+1,104"),
            (-0.000_1, "0.0"),
        ];
        for (share, text) in rows {
            assert_eq!(signed_percent(share), text);
        }
    }
}
