//! Whether generators with equal shares of one load saw the same.

use bakeoff_record::{LoadResult, Requests};

use crate::check::Level;
use crate::limits::GENERATORS_SHARE;

/// A generator's host, and what it saw.
pub(crate) type Part<'p> = (&'p str, &'p LoadResult);

/// How far generators are apart.
pub(crate) struct Agreement {
    pub(crate) level: Level,
    /// How far the least figure is below the most, as a share.
    pub(crate) apart: f64,
    pub(crate) text: String,
}

/// How far two starts can be apart at the most, each a time with the error of its clock;
/// nanoseconds. `None` for one generator.
pub fn start_spread_ns(starts: &[(i64, u64)]) -> Option<u64> {
    let apart = |(index, one): (usize, &(i64, u64))| {
        let others = starts[index + 1..].iter();
        others
            .map(|other| one.0.abs_diff(other.0) + one.1 + other.1)
            .max()
    };
    starts.iter().enumerate().filter_map(apart).max()
}

/// Generators with equal shares of the load see equal rates and latencies, unless one of them or
/// the network to it is slower. `None` where there is one generator, or nothing to compare.
pub(crate) fn agreement(parts: &[Part<'_>]) -> Option<Agreement> {
    if parts.len() < 2 {
        return None;
    }
    let has_some = parts.iter().find(|(_, result)| result.requests.ok > 0);
    // A short schedule may hold no request for one of many.
    let has_none = |(_, result): &&Part<'_>| {
        let Requests { ok, due, .. } = result.requests;
        ok == 0 && due != Some(0)
    };
    if let (Some((none, _)), Some((some, _))) = (parts.iter().find(has_none), has_some) {
        return Some(Agreement {
            level: Level::Invalid,
            apart: 1.0,
            text: format!(
                "{none} had no answer while {some} had some: the load was not the whole one"
            ),
        });
    }
    let rate = |result: &LoadResult| {
        // What is divided: in a closed loop the clients, in an open one the schedule by threads.
        let weight = match result.requests.due {
            None => result.observed.clients.count,
            Some(_) => u64::from(result.threads),
        };
        Some(result.requests.ok as f64 / result.measured_s / weight.max(1) as f64)
    };
    let p50 = |result: &LoadResult| Some(result.latency.quantile(0.5)? as f64);
    let found = [
        apart(parts, "rate for each share", rate),
        apart(parts, "median latency", p50),
    ];
    let (apart, text) = found
        .into_iter()
        .flatten()
        .max_by(|left, right| left.0.total_cmp(&right.0))?;
    let level = match apart > GENERATORS_SHARE {
        true => Level::Suspect,
        false => Level::Passed,
    };
    Some(Agreement { level, apart, text })
}

/// How far the least of the generators' figures is below the most, as a share, and what it is of;
/// `None` where one has none.
fn apart(
    parts: &[Part<'_>],
    what: &str,
    figure: impl Fn(&LoadResult) -> Option<f64>,
) -> Option<(f64, String)> {
    let each = parts
        .iter()
        .map(|(host, result)| Some((figure(result)?, *host)));
    let each: Vec<(f64, &str)> = each.collect::<Option<_>>()?;
    let by_figure = |left: &&(f64, &str), right: &&(f64, &str)| left.0.total_cmp(&right.0);
    let (least, most) = (
        each.iter().min_by(by_figure)?,
        each.iter().max_by(by_figure)?,
    );
    let share = (most.0 > 0.0).then(|| 1.0 - least.0 / most.0)?;
    let text = format!(
        "{what}: that of {} is {:.0} % below that of {}",
        least.1,
        share * 100.0,
        most.1
    );
    Some((share, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_as_far_apart_as_both_their_clocks_allow() {
        assert_eq!(start_spread_ns(&[(10, 7), (0, 5)]), Some(22));
        assert_eq!(start_spread_ns(&[(0, 1), (10, 1), (5, 100)]), Some(106));
        assert_eq!(start_spread_ns(&[(0, 5)]), None);
    }
}
