//! The end of a server: that it ended, and which requests failed because of that.
//!
//! A server on another host ends where nobody sees its process. That nothing listens any more until
//! the load ends says the same.

use super::series::{Kind, Kinds, Part, Series, Step};
use super::{OverloadClass, OverloadFound};

/// Share of what fails in a part that is refused where nobody listens.
const GONE: f64 = 0.9;
/// Parts at the end of a server in which its death may be why requests failed.
const LOST_PARTS: usize = 2;

/// The server ended by itself, or nothing listens any more until the end.
pub(super) fn crash(series: &Series) -> Option<OverloadFound> {
    let last_s = series
        .parts
        .last()
        .map_or(0.0, |part| part.start_s + part.length_s);
    let step_at = |at_s: f64| {
        let before = series.steps.iter().rposition(|step| step.start_s <= at_s);
        before.unwrap_or(0)
    };
    if let Some(died) = &series.died {
        return Some(OverloadFound {
            class: OverloadClass::Crash,
            step: step_at(last_s - 1e-6),
            evidence: format!("{died}, {last_s:.1} s after the start"),
        });
    }
    let first = series.parts.get(gone_from(series)?)?;
    Some(OverloadFound {
        class: OverloadClass::Crash,
        step: step_at(first.start_s),
        evidence: format!(
            "from {:.1} s on every connection was refused, also after the load had gone back",
            first.start_s
        ),
    })
}

/// Place of the part from which on nothing listens until the end. It begins at the latest where the
/// load goes back; and connections are refused after that, too.
pub(super) fn gone_from(series: &Series) -> Option<usize> {
    if series.died.is_some() {
        return None;
    }
    let back_s = series.steps.last()?.start_s;
    let refused = |part: &Part| part.failed.of(Kind::Refused);
    let is_gone = |part: &&Part| {
        let failed = part.failed.sum();
        // Where nothing is due nothing is refused either.
        let is_idle = part.due == 0 && failed == 0;
        part.ok == 0 && (is_idle || refused(part) as f64 >= GONE * failed.max(1) as f64)
    };
    let gone = series.parts.iter().rev().take_while(is_gone).count();
    let from = series.parts.len() - gone;
    let from = from + series.parts[from..].iter().position(|it| refused(it) > 0)?;
    let mut back = series.parts[from..].iter();
    let is_refused_after = back.any(|it| it.start_s >= back_s - 1e-6 && refused(it) > 0);
    (series.parts[from].start_s <= back_s + 1e-6 && is_refused_after).then_some(from)
}

/// Place of the part from which on requests may have failed because the server had ended: the part
/// before those in which nothing listens is the one in which it ended.
fn lost_from(series: &Series) -> Option<usize> {
    match series.died {
        Some(_) => Some(series.parts.len().saturating_sub(LOST_PARTS)),
        None => Some(gone_from(series)?.saturating_sub(1)),
    }
}

/// Parts of a step in which the server had not ended yet.
pub(super) fn before_its_end<'s>(series: &'s Series, step: &Step) -> &'s [Part] {
    let own = series.parts_of(step);
    let lost = lost_from(series).and_then(|from| series.parts.get(from));
    let lives = |part: &Part| lost.is_none_or(|lost| part.start_s < lost.start_s - 1e-6);
    &own[..own.partition_point(lives)]
}

/// What failed because the server ended, or a process of it: connections that were open are closed,
/// and new ones are refused, until the load is stopped or others answer.
pub(super) fn lost_at_its_end(series: &Series, step: &Step) -> Kinds {
    let mut lost = Kinds::default();
    let (own, lived) = (series.parts_of(step), before_its_end(series, step).len());
    let own = own.iter().enumerate();
    let own = own.filter(|(at, part)| *at >= lived || series.is_after_crash(part));
    own.for_each(|(_, part)| lost.merge(&part.failed));
    lost
}

/// A process that did the work ended and took its requests with it, and the server came back: by a
/// master process of its own, or by whatever starts it again.
pub(super) fn restarted(series: &Series) -> Option<OverloadFound> {
    let first = series.crashes.first()?;
    let mut steps = series.steps.iter();
    let step = steps.rposition(|step| step.start_s <= first.gone_s);
    let times = match series.crashes.len() {
        1 => String::new(),
        several => format!(", the first of {several} times"),
    };
    Some(OverloadFound {
        class: OverloadClass::Crash,
        step: step.unwrap_or(0),
        evidence: format!(
            "{} ended {:.1} s after the start with the loss of {}, and the server came back{times}",
            first.what(),
            first.gone_s,
            first.lost()
        ),
    })
}
