//! What a server does beyond its capacity and on the way back (R38, R39): classes with their
//! figures, goodput at twice the capacity, and the time until it has recovered.
//!
//! ```text
//! TrialRecord ─► Series (parts and steps) ─► classes step by step ─┐
//!                        └─► recovery after the last step ─────────┴─► Ramp ─► Beyond (rounds)
//! TrialRecord ─► Rung (one closed loop) ─► who refuses, who slows
//! ```
//!
//! If the load engine may have been the limit, nothing is said that depends on latency or goodput.
//! A refusal or an error is the server's in any case.

mod before;
mod classes;
mod ends;
mod goodput;
mod ladder;
mod pace;
mod recovery;
mod rounds;
mod series;
mod unsaid;

use bakeoff_plan::Overload;
use bakeoff_record::{TrialEnd, TrialRecord};
use before::Before;
use recovery::NotRecovered;
use serde::Serialize;

pub use crate::ended::WorkersEnded;
use bakeoff_plan::named;
pub use ladder::{Ladder, Rung, judge_ladder};
pub use recovery::{Recoveries, Recovery};
pub use rounds::{Beyond, ClassSeen, Spread, judge_rounds};
pub use series::{ClosedLoop, Kind, Kinds, Part, Series, Step};
pub use unsaid::{Unsaid, UnsaidOf};

named! {
    /// What a server does beyond its capacity.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum OverloadClass {
        /// It refuses connections.
        Refuse = "refuse",
        /// Connections are never made: the attempts time out.
        Drop = "drop",
        /// It closes connections, or resets them, instead of answering.
        Reset = "reset",
        /// It answers quickly that it is too busy: 429 or 5xx.
        Shed = "shed",
        /// It answers, and answers take longer.
        Queue = "queue",
        /// For seconds it answers nothing, and requests wait.
        Stall = "stall",
        /// Right answers fall far below their peak: at twice the capacity below 80 % of it,
        /// elsewhere below half.
        Collapse = "collapse",
        /// It ends, or a process of it that does the work.
        Crash = "crash",
        /// It does not recover after the load has gone back.
        Metastable = "metastable",
    }
}

impl OverloadClass {
    /// What the server does, after its name: `nginx refuses connections`.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Refuse => "refuses connections",
            Self::Drop => "leaves connections unanswered",
            Self::Reset => "closes connections without an answer",
            Self::Shed => "answers quickly that it is too busy",
            Self::Queue => "slows down",
            Self::Stall => "stalls",
            Self::Collapse => "collapses",
            Self::Crash => "crashes",
            Self::Metastable => "does not recover",
        }
    }
}

/// A class with the figures that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverloadFound {
    /// The class.
    pub class: OverloadClass,
    /// Step in which it was first seen, by its place, from 0.
    pub step: usize,
    /// The figures, as a part of a sentence.
    pub evidence: String,
}

/// One trial beyond the capacity and back.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OverloadRamp {
    /// Round, from 1.
    pub round: u32,
    /// Id in the record.
    pub id: String,
    /// What was measured; null where the trial did not come to its load.
    pub series: Option<Series>,
    /// Classes, each once, with the step in which it was first seen.
    pub classes: Vec<OverloadFound>,
    /// Most right answers per second in a step, or in the closed loop that showed the capacity.
    pub peak_per_s: Option<f64>,
    /// Right answers per second at about twice the capacity, as a share of that; null where what
    /// was taken as the capacity was too little or too much.
    pub goodput_at_twice: Option<f64>,
    /// When it recovered.
    pub recovery: Option<Recovery>,
    /// What cannot be said, and why.
    pub unsaid: Vec<Unsaid>,
}

/// Judges one trial of a ramp of an overload, whose capacity that closed loop showed.
pub fn judge_ramp(
    record: &TrialRecord,
    overload: &Overload,
    closed_loop: Option<&TrialRecord>,
) -> OverloadRamp {
    let series = Series::of(record, overload, closed_loop);
    let mut judged = match &series {
        Ok(series) => judge_series(series),
        Err(why) => OverloadRamp {
            unsaid: vec![Unsaid::All(why.clone())],
            ..OverloadRamp::default()
        },
    };
    if series.is_ok() {
        judged.unsaid.extend(failed_beside(record));
    }
    (judged.round, judged.id) = (record.round, record.id.clone());
    judged.series = series.ok();
    judged
}

/// What cannot be said of a trial that was measured and failed, though the server did not end by
/// itself: its upstream failed, or it could not be stopped.
fn failed_beside(record: &TrialRecord) -> Option<Unsaid> {
    match &record.end {
        TrialEnd::Failed { cause, .. } if record.server_died().is_none() => {
            Some(Unsaid::Failed(record.id.clone(), cause.clone()))
        }
        _ => None,
    }
}

/// Judges what was measured; without a round, an id and the series.
pub fn judge_series(series: &Series) -> OverloadRamp {
    let before = Before::of(series);
    let crash = ends::crash(series);
    let mut unsaid = classes::unsaid(series, before.as_ref());
    let mut found: Vec<OverloadFound> = Vec::new();
    for one in before.iter().flat_map(|it| classes::of_steps(series, it)) {
        if !found.iter().any(|known| known.class == one.class) {
            found.push(one);
        }
    }
    found.extend(classes::stall(series));
    let ended_in = crash.as_ref().map(|crash| crash.step);
    let recovery = match (&crash, &before) {
        (Some(_), _) => Some(Recovery::Never),
        (None, before) => before
            .as_ref()
            .and_then(|it| recovery::recovery(series, it)),
    };
    found.extend(crash.or_else(|| ends::restarted(series)));
    let at_end = recovery::not_recovered(series, recovery.as_ref(), before.as_ref());
    let (metastable, open) = match at_end {
        Some(NotRecovered::Metastable(one)) => (Some(one), None),
        Some(NotRecovered::Unsaid(why)) => (None, Some(why)),
        None => (None, None),
    };
    found.extend(metastable);
    found.sort_by_key(|one| one.class);
    if recovery.is_none() {
        unsaid.extend(before.as_ref().and_then(|before| before.unsaid(series)));
    }
    unsaid.extend(open);
    if let Some(before) = &before
        && !found.iter().any(|one| one.class == OverloadClass::Shed)
    {
        unsaid.extend(pace::unsaid(series, before));
    }
    if found.is_empty() && before.is_some() {
        unsaid.extend(classes::wrong_answers(series).or_else(|| classes::never_beyond(series)));
    }
    // What came before its end is not what it gives there.
    let ended = goodput::twice(series)
        .is_some_and(|(index, _)| ended_in.is_some_and(|ended| ended <= index));
    unsaid.extend(ended.then_some(Unsaid::EndedBeforeTwice));
    OverloadRamp {
        classes: found,
        peak_per_s: series.peak_per_s(),
        goodput_at_twice: goodput::at_twice(series).filter(|_| !ended),
        recovery,
        unsaid,
        ..OverloadRamp::default()
    }
}

#[cfg(test)]
mod tests;
