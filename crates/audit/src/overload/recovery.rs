//! When a server has recovered after the load went back, in the shape of RFC 2544's recovery test.

use serde::Serialize;

use super::before::{Before, failed_share, is_ill, median_p50_ns};
use super::series::{Part, SHARE, Series};
use super::unsaid::Unsaid;
use super::{OverloadClass, OverloadFound};
use crate::figures::percent;

/// Share of the requests that may fail in a part in which all is well (R38).
const FAILED: f64 = 0.001;
/// How much longer than before answers may take: twice the usual p99, and somewhat more than its
/// highest, so that a part which chance made slow is not held against the server.
const SLOWER: f64 = 2.0;
const SLOWER_THAN_MAX: f64 = 1.5;
/// What an answer may take longer in any case, nanoseconds.
const SLOWER_NS: f64 = 5e6;
/// Share of the parts after recovery that may be bad again.
const BAD_AGAIN: f64 = 0.1;
/// Share of the way back that must follow recovery, and parts.
const FOLLOWS: f64 = 0.2;
const FOLLOWS_PARTS: usize = 3;
/// Part of the way back, at its end, that shows whether the server is still ill.
const STILL: usize = 4;
/// What is left of the latency at the end of the way back where a queue drains.
const DRAINED: f64 = 0.8;

/// When a server recovered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Recovery {
    /// The server recovered this long after the load had gone back.
    After {
        /// Seconds.
        seconds: f64,
    },
    /// The server did not recover while it was watched.
    NotWithin {
        /// Seconds.
        seconds: f64,
    },
    /// The server ended.
    Never,
}

impl Recovery {
    /// Whether it did so with the load.
    pub fn is_at_once(self) -> bool {
        matches!(self, Self::After { seconds } if seconds < 0.05)
    }

    /// The text in a table: `at once`, `3.2 s`, `> 60 s`.
    pub fn text(self) -> String {
        match self {
            _ if self.is_at_once() => "at once".to_owned(),
            Self::After { seconds } => format!("{seconds:.1} s"),
            Self::NotWithin { seconds } => format!("> {seconds:.0} s"),
            Self::Never => "never".to_owned(),
        }
    }

    /// A number that orders: what was not seen to end is beyond everything.
    pub(super) fn seconds(self) -> f64 {
        match self {
            Self::After { seconds } => seconds,
            Self::NotWithin { .. } | Self::Never => f64::INFINITY,
        }
    }
}

/// When it recovered over several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recoveries {
    /// The median, of an even number of rounds the later one of the two in the middle, so that one
    /// recovery does not speak for one that was never seen.
    pub middle: Recovery,
    /// The first and the last, where they differ.
    pub range: Option<(Recovery, Recovery)>,
}

impl Recoveries {
    pub(super) fn of(mut all: Vec<Recovery>) -> Option<Self> {
        let is_never = |one: &Recovery| matches!(one, Recovery::Never);
        all.sort_by(|one, other| {
            let seconds = one.seconds().total_cmp(&other.seconds());
            seconds.then(is_never(one).cmp(&is_never(other)))
        });
        let (first, last) = (*all.first()?, *all.last()?);
        Some(Self {
            middle: *all.get(all.len() / 2)?,
            range: (first != last).then_some((first, last)),
        })
    }

    /// ` (2.0 s to never)`, where they differ.
    pub fn range_text(&self) -> String {
        let range = self.range;
        range.map_or(String::new(), |(first, last)| {
            format!(" ({} to {})", first.text(), last.text())
        })
    }

    /// The text in a table: `4.0 s (2.0 s to never)`.
    pub fn text(&self) -> String {
        self.middle.text() + &self.range_text()
    }
}

/// When it recovered; `None` where the way back was not reached or too short, or where it was well
/// neither there nor in the first step: then nothing shows that it can be.
pub(super) fn recovery(series: &Series, before: &Before) -> Option<Recovery> {
    let back = series.steps.last()?;
    if back.is_engine_busy() {
        return None;
    }
    let parts = series.parts_of(back);
    let follows = follows(parts);
    if parts.len() < follows {
        return None;
    }
    let slow_ns = slow_ns(before);
    let is_bad: Vec<bool> = parts.iter().map(|part| bad(part, slow_ns)).collect();
    let mut starts = 0..=parts.len() - follows;
    let well = |from: &usize| {
        let rest = &is_bad[*from..];
        let again = rest.iter().filter(|bad| **bad).count();
        !rest[0] && again as f64 <= BAD_AGAIN * rest.len() as f64
    };
    if let Some(index) = starts.find(well) {
        let seconds = (parts[index].start_s - back.start_s).max(0.0);
        return Some(Recovery::After { seconds });
    }
    let last = parts.last()?;
    let seconds = last.start_s + last.length_s - back.start_s;
    before.is_well().then_some(Recovery::NotWithin { seconds })
}

/// Parts of the way back that must follow recovery.
fn follows(parts: &[Part]) -> usize {
    FOLLOWS_PARTS.max((parts.len() as f64 * FOLLOWS).ceil() as usize)
}

/// The p99 above which a part is slower than what was usual before.
fn slow_ns(before: &Before) -> f64 {
    (SLOWER * before.p99_ns)
        .max(SLOWER_THAN_MAX * before.p99_max_ns)
        .max(before.p99_ns + SLOWER_NS)
}

fn bad(part: &Part, slow_ns: f64) -> bool {
    let failed = part.failed.sum() as f64 > FAILED * part.due as f64;
    let slow = part.p99_ns.is_some_and(|p99| p99 as f64 > slow_ns);
    failed || slow || (part.ok == 0 && part.due > 0)
}

/// What a server that did not recover is found to be, or what cannot be said of it.
pub(super) enum NotRecovered {
    /// It is still ill when the load has long gone back, and was never well in between. One that
    /// ended never recovers, which is a crash.
    Metastable(OverloadFound),
    /// It was well on the way back and is ill again at its end: a pause of the machine there looks
    /// the same. Or it was ill and got better until the end.
    Unsaid(Unsaid),
}

/// Looks at the end of the way back of a server that did not recover there; `None` where it did,
/// or is not ill at the end. What other load on the machine slows a little is not ill.
pub(super) fn not_recovered(
    series: &Series,
    recovery: Option<&Recovery>,
    before: Option<&Before>,
) -> Option<NotRecovered> {
    let Some(Recovery::NotWithin { seconds }) = recovery else {
        return None;
    };
    let (before, back) = (before?, series.steps.last()?);
    let parts = series.parts_of(back);
    let at_end = &parts[parts.len() - parts.len() / STILL..];
    if !is_ill(at_end, before) {
        return None;
    }
    if let Some((from_s, to_s)) = well(parts, before) {
        let (from_s, to_s) = (from_s - back.start_s, to_s - back.start_s);
        return Some(NotRecovered::Unsaid(Unsaid::WellOnce(from_s, to_s)));
    }
    if let Some((from_ns, to_ns)) = draining(parts) {
        return Some(NotRecovered::Unsaid(Unsaid::Draining(from_ns, to_ns)));
    }
    Some(NotRecovered::Metastable(OverloadFound {
        class: OverloadClass::Metastable,
        step: series.steps.len().saturating_sub(1),
        evidence: format!(
            "{seconds:.0} s after the load had gone back to {}, answers still failed or took \
             longer than before",
            percent(back.share)
        ),
    }))
}

/// What half of the answers took in the first and in the last part of the way back, nanoseconds,
/// where that fell and no more requests fail at the end than in a server that is well.
fn draining(parts: &[Part]) -> Option<(f64, f64)> {
    let length = parts.len() / STILL;
    let (first, last) = (&parts[..length], &parts[parts.len() - length..]);
    let (from_ns, to_ns) = median_p50_ns(first).zip(median_p50_ns(last))?;
    let is_draining = to_ns <= DRAINED * from_ns && failed_share(last) <= SHARE;
    is_draining.then_some((from_ns, to_ns))
}

/// The first stretch in which the server was well for as many parts with answers as must follow
/// recovery, from and to.
fn well(parts: &[Part], before: &Before) -> Option<(f64, f64)> {
    let slow_ns = slow_ns(before);
    let mut runs = parts.split(|part| bad(part, slow_ns));
    let answered = |run: &&[Part]| run.iter().filter(|part| part.ok > 0).count();
    let run = runs.find(|run| answered(run) >= follows(parts))?;
    let last = run.last()?;
    Some((run.first()?.start_s, last.start_s + last.length_s))
}
