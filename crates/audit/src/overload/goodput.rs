//! Right answers beyond the capacity, as a share of the peak: at twice the capacity, and where they
//! collapsed.

use super::ends;
use super::series::{Kind, PARTS_LEAST, Part, SHARE, Series, Step};
use crate::figures::{percent, rate};

/// Shares of the capacity that count as twice.
const TWICE: std::ops::RangeInclusive<f64> = 1.8..=2.2;
/// How many times what was taken as its capacity a server gives whose capacity is more. The usual
/// step of 110 % is below it, whatever chance adds; and two by it is about the least of [`TWICE`].
/// One that gives so many times less has a capacity that is less.
const MISJUDGED: f64 = 1.15;
/// Share of its peak below which goodput has collapsed at twice the capacity (R38).
const COLLAPSED_AT_TWICE: f64 = 0.8;
/// The same at any other share of the capacity, of which R38 says nothing.
const COLLAPSED: f64 = 0.5;
/// Share of what was offered that a server carries that is not beyond its capacity.
pub(super) const CARRIED: f64 = 0.95;

/// What was taken as a server's capacity, requests per second, where the steps are no shares of its
/// capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Misjudged {
    /// It gave more.
    TooLow(f64),
    /// It gave less, though it was asked for as much. What a closed loop showed is never too high:
    /// the server gave it.
    TooHigh(f64),
}

/// Whether what was taken as the capacity is none, at this peak.
pub(super) fn misjudged(series: &Series, peak_per_s: Option<f64>) -> Option<Misjudged> {
    let (taken, peak) = (series.capacity_per_s()?, peak_per_s?);
    let asked = |step: &Step| {
        let is_whole = ends::before_its_end(series, step).len() == series.parts_of(step).len();
        let is_sound = !step.is_engine_busy() && step.share_of(Kind::Local) < SHARE;
        step.is_measured() && is_whole && is_sound && step.rate_per_s >= CARRIED * taken
    };
    match peak {
        peak if peak > MISJUDGED * taken => Some(Misjudged::TooLow(taken)),
        peak if series.shown_per_s().is_none() && peak * MISJUDGED < taken => {
            let is_asked = series.steps.iter().any(asked);
            is_asked.then_some(Misjudged::TooHigh(taken))
        }
        _ => None,
    }
}

/// The last step at about twice the capacity, with its place.
pub(super) fn twice(series: &Series) -> Option<(usize, &Step)> {
    let mut steps = series.steps.iter().enumerate();
    steps.rfind(|(_, step)| TWICE.contains(&step.share))
}

/// Right answers at twice the capacity as a share of their peak.
pub(super) fn at_twice(series: &Series) -> Option<f64> {
    let (_, step) = twice(series)?;
    let peak = series.peak_per_s().filter(|peak| *peak > 0.0)?;
    let is_known = step.is_measured() && !step.is_engine_busy();
    (is_known && misjudged(series, Some(peak)).is_none()).then_some(step.ok_per_s? / peak)
}

/// Right answers are far below their peak, though as many were asked for.
pub(super) fn collapse(series: &Series, step: &Step) -> Option<String> {
    let peak = series.peak_per_s().filter(|peak| *peak > 0.0)?;
    // What is missing because it ended is no other class.
    let (own, lived) = (series.parts_of(step), ends::before_its_end(series, step));
    let ok = match lived.len() {
        all if all == own.len() => step.ok_per_s?,
        few if few < PARTS_LEAST => return None,
        _ => per_s(lived)?,
    };
    let asked_enough = step.rate_per_s >= CARRIED * peak;
    // Requests that the load engine could not send are missing from its right answers.
    let all_sent = step.share_of(Kind::Local) < SHARE;
    let has_collapsed = ok < COLLAPSED * peak || has_collapsed_at_twice(series, step, ok / peak);
    (asked_enough && all_sent && has_collapsed).then(|| {
        format!(
            "right answers fell to {}/s, {} of the peak of {}/s,",
            rate(ok),
            percent(ok / peak),
            rate(peak)
        )
    })
}

/// Whether goodput at twice the capacity is below 80 % of its peak, and stays there: one pause, or
/// one good moment at the peak, is no collapse. So even the better half of the step must be below
/// 80 % of a rate that another step kept up in both of its halves, or the closed loop.
fn has_collapsed_at_twice(series: &Series, step: &Step, of_peak: f64) -> bool {
    let is_twice = TWICE.contains(&step.share) && misjudged(series, series.peak_per_s()).is_none();
    if !is_twice || of_peak >= COLLAPSED_AT_TWICE {
        return false;
    }
    let kept = series.steps.iter().filter(|one| one.is_measured());
    let kept = kept.filter_map(|one| halves(series, one));
    let kept = kept.map(|(first, second)| first.min(second));
    let kept = kept.chain(series.shown_per_s()).reduce(f64::max);
    let kept = kept.unwrap_or(0.0);
    halves(series, step)
        .is_some_and(|(first, second)| first.max(second) < COLLAPSED_AT_TWICE * kept)
}

/// Right answers per second in the first and in the second half of a step.
fn halves(series: &Series, step: &Step) -> Option<(f64, f64)> {
    let parts = ends::before_its_end(series, step);
    let (first, second) = parts.split_at(parts.len() / 2);
    per_s(first).zip(per_s(second))
}

/// Right answers per second in parts.
fn per_s(parts: &[Part]) -> Option<f64> {
    let length_s: f64 = parts.iter().map(|part| part.length_s).sum();
    let ok: u64 = parts.iter().map(|part| part.ok).sum();
    (length_s > 0.0).then(|| ok as f64 / length_s)
}
