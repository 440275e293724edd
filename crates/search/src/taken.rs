//! Whether a rate ends at the connections of the load, and not at the server.
//!
//! A server that takes 20 ms for an answer carries 5,000 requests a second over 100 connections,
//! whatever it could carry over more. Beyond that, requests wait for a connection, which looks like
//! the queue of a server. It is none where all connections are taken, the server has time left, and
//! its answers take no longer than at lower rates.

use bakeoff_plan::Goal;

use crate::bounds::shown;
use crate::judged::Judged;
use crate::progress::{Progress, of_servers};

/// Why the upper bound of a goal is that of the connections: in most of the trials that missed it
/// all of them were taken, while the server had time left.
pub(crate) fn why_taken(progress: &Progress<'_>, goal: &Goal, upper: f64) -> Option<String> {
    let of_rates = || {
        let all = of_servers(progress, goal);
        all.filter_map(|(trial, judged)| Some((trial.rate_per_s, judged, trial.measured()?)))
    };
    let quickest_ns = of_rates().filter_map(|(_, _, measured)| measured.places.service_ns);
    let quickest_ns = quickest_ns.min()?;
    let is_missed = |judged: &Judged| matches!(judged, Judged::Exceeds(_));
    let missed = of_rates().filter(|(rate, judged, _)| *rate == upper && is_missed(judged));
    let missed: Vec<Option<f64>> = missed
        .map(|(_, _, measured)| measured.places.busy_beside_taken(quickest_ns))
        .collect();
    let busy: Vec<f64> = missed.iter().copied().flatten().collect();
    let most = busy.iter().copied().reduce(f64::max)?;
    let connections = match (progress.search.clients, progress.load.streams) {
        (clients, 1) => format!("all {clients} connections"),
        (clients, streams) => format!("all {clients} connections with {streams} streams each"),
    };
    (busy.len() * 2 > missed.len()).then(|| {
        format!(
            "at {} requests/s {connections} were taken, while the server was {:.0} % busy; take a \
             higher -c",
            shown(upper),
            most * 100.0
        )
    })
}
