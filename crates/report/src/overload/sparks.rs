//! A trial over time in characters: a line each for what was offered and for the results.

use bakeoff_audit::overload::{Kind, Part, Series};

use crate::number::{bytes, digits, share, whole};

/// Eighths of a line, from nothing to full.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Characters that the time takes at the most.
const WIDTH: usize = 60;
/// Width of the names before the lines.
const NAME: usize = 14;

/// The lines of a trial.
pub(super) fn lines(series: &Series) -> Vec<String> {
    let joined = series.parts.len().div_ceil(WIDTH).max(1);
    let groups: Vec<&[Part]> = series.parts.chunks(joined).collect();
    let per_s = |value: &dyn Fn(&Part) -> u64| -> Vec<Option<f64>> {
        let rate = |group: &&[Part]| {
            let length_s: f64 = group.iter().map(|part| part.length_s).sum();
            let sum: u64 = group.iter().map(value).sum();
            (length_s > 0.0).then(|| sum as f64 / length_s)
        };
        groups.iter().map(rate).collect()
    };
    let offered = per_s(&|part| part.due);
    let most = offered.iter().flatten().copied().fold(0.0, f64::max);
    let mut lines = vec![
        axis(series, groups.len()),
        line("offered", &offered, most, &format!("{}/s", whole(most))),
    ];
    let ok = per_s(&|part| part.ok);
    lines.push(line("goodput", &ok, most, "same scale"));
    for kind in Kind::ALL {
        let values = per_s(&|part| part.failed.of(kind));
        let highest = values.iter().flatten().copied().fold(0.0, f64::max);
        if highest > 0.0 {
            let scale = format!("same scale, at most {}/s", whole(highest));
            lines.push(line(kind.name(), &values, most, &scale));
        }
    }
    lines.extend(latency(&groups));
    let memory = groups.iter();
    let memory: Vec<Option<f64>> = memory
        .map(|group| group.iter().filter_map(|part| part.memory_bytes).max())
        .map(|most| most.map(|bytes| bytes as f64))
        .collect();
    let most = memory.iter().flatten().copied().fold(0.0, f64::max);
    if most > 0.0 {
        lines.push(line("memory", &memory, most, &bytes(most)));
    }
    lines
}

/// p99 on a logarithmic scale: overload takes it from milliseconds to seconds.
fn latency(groups: &[&[Part]]) -> Option<String> {
    let p99 = |group: &&[Part]| group.iter().filter_map(|part| part.p99_ns).max();
    let values: Vec<Option<f64>> = groups
        .iter()
        .map(p99)
        .map(|ns| ns.map(|it| it as f64))
        .collect();
    let known = values.iter().flatten().copied();
    let least = known.clone().reduce(f64::min)?.max(1.0);
    let most = known.reduce(f64::max)?.max(least);
    let wide = (most / least).ln().max(f64::MIN_POSITIVE);
    let shares: Vec<Option<f64>> = values
        .iter()
        .map(|value| value.map(|ns| 0.1 + 0.9 * (ns / least).ln() / wide))
        .collect();
    let scale = format!(
        "{} to {} ms, logarithmic",
        digits(least / 1e6),
        digits(most / 1e6)
    );
    Some(line("p99", &shares, 1.0, &scale))
}

fn line(name: &str, values: &[Option<f64>], most: f64, scale: &str) -> String {
    let drawn: String = values.iter().map(|value| level(*value, most)).collect();
    format!("{name:<NAME$}|{drawn}| {scale}")
}

/// What is more than nothing shows.
fn level(value: Option<f64>, most: f64) -> char {
    match value {
        Some(value) if value > 0.0 && most > 0.0 => {
            let eighths = (value / most * 8.0).round() as usize;
            LEVELS[eighths.clamp(1, 8)]
        }
        Some(_) => LEVELS[0],
        None => '·',
    }
}

/// The steps, each above its part of the time.
fn axis(series: &Series, width: usize) -> String {
    let end_s = series.steps.last().map_or(0.0, |step| step.end_s);
    let parts_end = series
        .parts
        .last()
        .map_or(0.0, |it| it.start_s + it.length_s);
    let mut axis = String::new();
    for step in series.steps.iter().filter(|step| step.start_s < parts_end) {
        let at = (step.start_s / parts_end.min(end_s).max(1e-9) * width as f64).round() as usize;
        while axis.chars().count() < at {
            axis.push(' ');
        }
        axis.push_str(&format!("{}%", share(step.share)));
    }
    format!("{:NAME$}|{axis}", "of capacity")
}
