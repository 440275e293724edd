//! Flags of `bakeoff load` that would have no effect, or that this machine cannot honour. They are
//! refused before the load, because otherwise the numbers would be taken for those of the flags.

use std::time::Duration;

use bakeoff_conduct::allowed_cpus;
use bakeoff_load::{LoadSpec, Target, shown_url};
use bakeoff_plan::{Load, RateShape};
use bakeoff_report::Undecidable;

use crate::exit;
use crate::flags::{LoadFlags, PrintFlags, Switch};

/// Longest time that a flag may name, a year: the clock's nanoseconds must have room for it.
const TIME_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Refuses times that are longer than anybody waits.
pub(super) fn endless_times(flags: &LoadFlags) -> anyhow::Result<()> {
    let (amount, pace, connection) = (&flags.amount, &flags.pace, &flags.connection);
    let times = [
        ("--duration", amount.duration),
        ("--warmup", Some(amount.warmup)),
        ("--timeout", Some(amount.timeout)),
        ("--deadline", pace.deadline),
        ("--slack", pace.slack),
        ("--ramp-gap", connection.ramp_gap),
        ("--retry-pause", connection.retry_pause),
    ];
    let is_endless = |time: &Option<Duration>| time.is_some_and(|time| time > TIME_MAX);
    match times.iter().find(|(_, time)| is_endless(time)) {
        Some((flag, _)) => Err(exit::usage(format!(
            "{flag} is longer than a year; expected a shorter time, such as 10s or 24h"
        ))),
        None => Ok(()),
    }
}

/// Refuses conditions that a load by itself can never decide: those of what only a campaign
/// measures, and of a percentile that takes more requests.
pub(in crate::commands::measure) fn conditions_without_an_answer(
    flags: &LoadFlags,
    spec: &LoadSpec,
) -> anyhow::Result<()> {
    let load = Load {
        requests: spec.count,
        ..spec.load.clone()
    };
    // How many a rate that changes comes to is not worked out here.
    let is_known = spec.count.is_some() || spec.shape == RateShape::Level;
    for condition in &flags.checks.conditions.fail_if {
        let few = Undecidable::of_percentile(&load, condition.metric()).filter(|_| is_known);
        let why = if !condition.is_seen_by_load() {
            "a load alone does not see the server's process; use `bakeoff race` or `bakeoff run`"
                .to_owned()
        } else if let Some(few) = few {
            few.to_string()
        } else {
            continue;
        };
        return Err(exit::usage(format!("--fail-if '{condition}': {why}")));
    }
    Ok(())
}

/// Refuses files that cannot be written, before a load whose result they are to take.
pub(in crate::commands::measure) fn files_that_cannot_be_written(
    flags: &PrintFlags,
) -> anyhow::Result<()> {
    let files = [
        ("--output", &flags.output),
        ("--csv", &flags.csv),
        ("--log", &flags.log),
    ];
    for (flag, file) in files {
        let Some(file) = file else { continue };
        let open = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(file);
        open.map_err(|error| {
            exit::usage(format!(
                "{flag}: failed to write {}: {error}",
                file.display()
            ))
        })?;
    }
    Ok(())
}

/// Refuses flags of TLS for a URL without TLS. `--insecure` is accepted: it changes nothing there,
/// and scripts pass it for every URL.
pub(super) fn tls_in_the_clear(flags: &LoadFlags, target: &Target) -> anyhow::Result<()> {
    let tls = &flags.tls;
    let given = [
        ("--cacert", tls.cacert.is_some()),
        ("--tls-version", tls.tls_version.is_some()),
        ("--ciphers", !tls.ciphers.is_empty()),
        ("--groups", !tls.groups.is_empty()),
        ("--server-name", tls.server_name.is_some()),
        ("--resumption", tls.resumption == Switch::On),
        ("--cert", tls.cert.is_some()),
    ];
    let names: Vec<&str> = given
        .iter()
        .filter(|(_, given)| *given)
        .map(|(name, _)| *name)
        .collect();
    if target.secure || names.is_empty() {
        return Ok(());
    }
    Err(exit::usage(format!(
        "{} {} TLS, but {} has none: use an https URL, or leave {} out",
        names.join(", "),
        if names.len() == 1 { "needs" } else { "need" },
        shown_url(&target.url),
        if names.len() == 1 { "it" } else { "them" },
    )))
}

/// Refuses a time of nothing.
pub(super) fn no_time(flag: &str, time: Duration) -> anyhow::Result<()> {
    if time.is_zero() {
        let text = format!("{flag} is 0s; expected a longer time, such as 5s or 200ms");
        return Err(exit::usage(text));
    }
    Ok(())
}

/// Refuses a rate that changes over a time that nobody named. It would be spread over the longest
/// time that a count of requests may take, and the requests would end long before.
pub(super) fn change_without_end(flags: &LoadFlags) -> anyhow::Result<()> {
    let amount = &flags.amount;
    let rate = amount.rate.as_ref();
    let changes = rate.is_some_and(|rate| rate.shape != RateShape::Level);
    if !changes || amount.requests.is_none() || amount.duration.is_some() {
        return Ok(());
    }
    Err(exit::usage(
        "--rate changes over the time of the load, and --requests alone leaves that open: add \
         --duration, such as --duration 30s, or give a single rate",
    ))
}

/// Refuses to pin to processors that this process may not use.
pub(super) fn absent_processors(flags: &LoadFlags) -> anyhow::Result<()> {
    let allowed = allowed_cpus();
    let asked = flags.pace.pin.iter().flatten();
    let absent = asked.copied().find(|cpu| !allowed.contains(cpu));
    match absent {
        Some(cpu) if !allowed.is_empty() => Err(exit::usage(format!(
            "--pin names processor {cpu}, but this process may only use {}: choose among these",
            ranges(&allowed)
        ))),
        _ => Ok(()),
    }
}

/// What is said of more threads than processors: `-t 20` is a time in hey and ab.
pub(super) fn crowded_threads(flags: &LoadFlags) -> Option<String> {
    let (threads, processors) = (flags.pace.threads?, allowed_cpus().len());
    (processors > 0 && threads as usize > processors && !flags.print.quiet).then(|| {
        format!(
            "-t {threads} means threads, of which {processors} can run at a time; a measured time \
             is -d {threads}s, and a timeout --timeout {threads}s"
        )
    })
}

/// Refuses a source address for connections that have none.
pub(super) fn source_of_a_unix_socket(flags: &LoadFlags) -> anyhow::Result<()> {
    match &flags.way.unix_socket {
        Some(path) if !flags.way.source.is_empty() => Err(exit::usage(format!(
            "--source is an IP address, but connections to the Unix socket {} have none: leave it \
             out",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Ascending numbers as `0-3,6`.
fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let text = |(first, last): &(usize, usize)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_named_as_they_are_written() {
        for (numbers, text) in [
            (&[0][..], "0"),
            (&[0, 1], "0-1"),
            (&[0, 1, 2, 6, 8, 9], "0-2,6,8-9"),
        ] {
            assert_eq!(ranges(numbers), text);
        }
    }
}
