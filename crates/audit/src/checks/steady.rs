//! Whether the window is one level (R24): a mean over two levels is of neither.

use bakeoff_record::{
    FOREIGN_DISTURBED_CPUS, FOREIGN_SUSPECT_CPUS, Interval, TreeTick, foreign_cpus,
    foreign_over_time,
};
use bakeoff_stats::{Better, Number, Steady, SteadyClass, server_tree, steady};

use crate::check::{Check, Level};
use crate::code::Code;
use crate::figures::amount;
use crate::limits::{STEADY_SHARE, STEADY_TAIL_SHARE};
use crate::subject::Subject;

/// Shortest window that is cut into whole seconds, seconds.
const SECONDS_FROM_S: f64 = 10.0;
/// Server CPU below this many processors is too little to have a level.
const CPU_LEAST: f64 = 0.05;

pub(super) fn check(subject: &Subject<'_>, checks: &mut Vec<Check>) {
    // By count the clients of a closed loop run out of requests one by one, so that the end is
    // never level. An open loop by count has a window as any other.
    let load = &subject.result.load;
    if load.requests.is_some() && !load.model.is_open() {
        return;
    }
    let parts = joined(&subject.result.intervals, subject.result.measured_s);
    let rates: Vec<f64> = parts
        .iter()
        .map(|part| part.ok as f64 / part.length_s)
        .collect();
    let Some(rate) = steady(&rates, Better::Larger) else {
        let text = "the window has too few parts to say whether it came to rest";
        checks.push(Check::not_run(Code::NotSteady, text));
        return;
    };
    let away = off(&rate);
    if away > STEADY_SHARE {
        let numbers = [
            (Number::Rate, Level::Invalid),
            (Number::Latency, Level::Invalid),
            (Number::Cpu, Level::Suspect),
            (Number::Memory, Level::Note),
        ];
        let text = format!(
            "the rate is not level: {}",
            levels(&rate, parts[0].length_s, 1.0, "/s")
        );
        checks.push(Check::graded(Code::NotSteady, numbers, text).figures(away, STEADY_SHARE));
        return;
    }
    let found = foreign(subject)
        .or_else(|| tail(&parts))
        .or_else(|| cpu(subject));
    checks.push(found.unwrap_or_else(|| {
        Check::passed(Code::NotSteady, "the window is one level").figures(away, STEADY_SHARE)
    }));
}

/// Other programs that ran in a part of the window: too little for the mean, and enough for the
/// slowest requests. What weighs on the mean is the business of `other-load`.
fn foreign(subject: &Subject<'_>) -> Option<Check> {
    let whole = foreign_cpus(subject.trial)?.worst();
    let found = steady(&foreign_over_time(subject.trial)?, Better::Smaller)?;
    let parts = found.segments.iter();
    let most = parts.map(|one| one.mean).fold(f64::MIN, f64::max);
    (whole <= FOREIGN_SUSPECT_CPUS && most > FOREIGN_DISTURBED_CPUS).then(|| {
        let readings = found.segments.last().map_or(1, |one| one.end);
        let step_s = subject.result.measured_s / readings as f64;
        let text = format!(
            "other programs ran in a part of the window: {}",
            levels(&found, step_s, 1.0, " processors")
        );
        let numbers = [(Number::Latency, Level::Suspect)];
        Check::graded(Code::NotSteady, numbers, text).figures(most, FOREIGN_DISTURBED_CPUS)
    })
}

/// The 99th percentile over time; noisier than a rate by its nature.
fn tail(parts: &[Interval]) -> Option<Check> {
    let tails = parts.iter().map(|part| part.latency.quantile(0.99));
    let tails: Vec<f64> = tails
        .map(|ns| ns.map(|ns| ns as f64))
        .collect::<Option<_>>()?;
    let found = steady(&tails, Better::Smaller)?;
    let away = off(&found);
    (away > STEADY_TAIL_SHARE).then(|| {
        let levels = levels(&found, parts[0].length_s, 1e6, " ms");
        let text = format!("p99 latency is not level: {levels}");
        let numbers = [(Number::Latency, Level::Suspect)];
        Check::graded(Code::NotSteady, numbers, text).figures(away, STEADY_TAIL_SHARE)
    })
}

/// CPU use of the server over time.
fn cpu(subject: &Subject<'_>) -> Option<Check> {
    let tree = server_tree(&subject.trial.usage)?;
    let used = |tick: &TreeTick| tick.cpu_user_s + tick.cpu_system_s;
    let inside: Vec<&TreeTick> = tree.in_window(subject.result.measured_s).collect();
    let cores: Vec<f64> = inside
        .windows(2)
        .map(|pair| (used(pair[1]) - used(pair[0])) / (pair[1].at_s - pair[0].at_s))
        .collect();
    let found = steady(&cores, Better::Smaller)?;
    let (away, last) = (off(&found), found.segments.last()?.mean);
    (away > STEADY_TAIL_SHARE && last > CPU_LEAST).then(|| {
        let step_s = subject.result.measured_s / cores.len() as f64;
        let text = format!(
            "the server's CPU use is not level: {}",
            levels(&found, step_s, 1.0, " processors")
        );
        let numbers = [(Number::Cpu, Level::Suspect)];
        Check::graded(Code::NotSteady, numbers, text).figures(away, STEADY_TAIL_SHARE)
    })
}

/// How far the mean of the whole series is from the level that it ended at, as a share; where it
/// did not settle, how far its levels are apart.
fn off(found: &Steady) -> f64 {
    let Some(last) = found.segments.last().map(|one| one.mean) else {
        return 0.0;
    };
    let length = |start: usize, end: usize| (end - start) as f64;
    let total: f64 = found
        .segments
        .iter()
        .map(|one| length(one.start, one.end))
        .sum();
    let sums = found
        .segments
        .iter()
        .map(|one| one.mean * length(one.start, one.end));
    let mean = sums.sum::<f64>() / total;
    let share = |value: f64| {
        if last != 0.0 {
            (value / last - 1.0).abs()
        } else if value == 0.0 {
            0.0
        } else {
            1.0
        }
    };
    match found.class {
        SteadyClass::Flat => 0.0,
        SteadyClass::WarmUp | SteadyClass::Slowdown => share(mean),
        SteadyClass::NoSteadyState => {
            let means = found.segments.iter().map(|one| share(one.mean));
            means.fold(0.0, f64::max)
        }
    }
}

/// The levels in order, the first and the last at least: `1,200/s for 1.2 s, then 600/s`.
fn levels(found: &Steady, step_s: f64, unit: f64, words: &str) -> String {
    let one = |segment: &bakeoff_stats::Segment| {
        let value = amount(segment.mean / unit, 2);
        let length_s = (segment.end - segment.start) as f64 * step_s;
        format!("{value}{words} for {length_s:.1} s")
    };
    match &found.segments[..] {
        [first, .., last] if found.segments.len() > 3 => format!(
            "{}, and in the end {} ({} levels)",
            one(first),
            one(last),
            found.segments.len()
        ),
        few => few.iter().map(one).collect::<Vec<_>>().join(", then "),
    }
}

/// Parts as they are, or joined to seconds in a long window; a last one that is cut short is left
/// out.
fn joined(parts: &[Interval], measured_s: f64) -> Vec<Interval> {
    let wanted_s = if measured_s < SECONDS_FROM_S {
        0.0
    } else {
        0.999
    };
    let mut joined: Vec<Interval> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if last.length_s < wanted_s => {
                last.length_s += part.length_s;
                last.ok += part.ok;
                last.errors += part.errors;
                last.latency.merge(&part.latency);
            }
            _ => joined.push(part.clone()),
        }
    }
    let usual_s = joined.first().map_or(0.0, |part| part.length_s);
    if joined
        .last()
        .is_some_and(|last| last.length_s < 0.9 * usual_s)
    {
        joined.pop();
    }
    joined.retain(|part| part.length_s > 0.0);
    joined
}
