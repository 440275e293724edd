//! What cannot be said of an overload, and why: each reason with its figures, and as text.
//!
//! Rounds that cannot say something for one reason differ in its figures alone.

use std::fmt::{Display, Formatter, Result};

use serde::{Serialize, Serializer};

use super::goodput::Misjudged;
use crate::figures::{amount, milliseconds, percent, rate};
use crate::figures::{in_rounds, named_rounds};

/// What cannot be said of a trial, or of all of them, and why.
#[derive(Debug, Clone, PartialEq)]
pub enum Unsaid {
    /// Anything: there is no series, for this reason.
    All(String),
    /// What the failure of this trial has changed, for this cause.
    Failed(String, String),
    /// The first step, at this share, was not sound.
    NoClass(f64),
    /// What the load engine hid: shares of the capacity at which it was so busy.
    EngineBusy(Vec<(f64, f64)>),
    /// The load engine sent so late, nanoseconds.
    Late(f64),
    /// So many requests could not be sent.
    Local(u64),
    /// At this share of the capacity so many answers were wrong.
    Wrong(f64, f64),
    /// It carried so many per second, at this share of what was taken as its capacity.
    Carried(f64, f64),
    /// How soon it answered 429 or 5xx at these shares of the capacity.
    Pace(Vec<f64>),
    /// It ended at twice its capacity or before.
    EndedBeforeTwice,
    /// It was not well at this share, the first, but in a closed loop of so many at a time.
    NeverWell(f64, Ill, u32),
    /// It was well between these times after the load had gone back, seconds.
    WellOnce(f64, f64),
    /// Half of the answers took so long when the load had gone back, and at the end, nanoseconds.
    Draining(f64, f64),
    /// These rounds, or all, had steps that are no shares of a capacity, at this peak.
    NotTwice(Misjudged, f64, Vec<u32>),
}

/// How a server was ill in the first step, at a lower rate than the closed loop showed. Such a
/// server gives less with more connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ill {
    /// The share of the requests that failed, there and in the closed loop.
    Failed(f64, f64),
    /// What half of the answers took, nanoseconds, and those of the closed loop on average.
    Queued(f64, f64),
}

/// What rounds cannot say for one reason, with the figures of the first of them.
#[derive(Debug, Clone, PartialEq)]
pub struct UnsaidOf {
    pub(super) why: Unsaid,
    /// None where it is all of them.
    pub(super) rounds: Vec<u32>,
    /// The round whose figures these are, where another one has others.
    pub(super) figures_of: Option<u32>,
}

impl Unsaid {
    fn of_recovery(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::NeverWell(share, ill, at_a_time) => {
                let (already, closed) = match ill {
                    Ill::Failed(first, closed) => (
                        format!("{} of the requests failed", percent(*first)),
                        match closed {
                            0.0 => "none".to_owned(),
                            share => percent(*share),
                        },
                    ),
                    Ill::Queued(p50_ns, mean_ns) => (
                        format!("half of the answers took {}", milliseconds(*p50_ns)),
                        format!("{} on average", milliseconds(*mean_ns)),
                    ),
                };
                write!(
                    out,
                    "whether it recovers: at {} of the capacity {already} already, and {closed} in \
                     the closed loop of {at_a_time} requests at a time that showed the capacity; \
                     it may give less with more of them, so take a lower --capacity",
                    percent(*share)
                )
            }
            Self::WellOnce(from_s, to_s) => write!(
                out,
                "whether it recovers: it was well from {from_s:.1} s to {to_s:.1} s after the load \
                 had gone back, and ill again when the step ended; take more --rounds"
            ),
            Self::Draining(from_ns, to_ns) => write!(
                out,
                "whether it recovers: half of the answers took {} when the load had gone back and \
                 {} when the step ended, so its queue was draining; take a longer --step",
                milliseconds(*from_ns),
                milliseconds(*to_ns)
            ),
            _ => Ok(()),
        }
    }

    /// Whether both are for one reason, whatever the figures.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All(one), Self::All(other)) => one == other,
            (Self::Failed(_, one), Self::Failed(_, other)) => one == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl UnsaidOf {
    /// Why no class is seen, to follow "cannot be said".
    pub fn of_no_class(&self) -> String {
        match self.why {
            Unsaid::NoClass(share) => unsound(share) + &self.behind(),
            _ => self.to_string(),
        }
    }

    fn behind(&self) -> String {
        let rounds =
            (!self.rounds.is_empty()).then(|| format!("in {}", named_rounds(&self.rounds)));
        let figures = self.figures_of.map(|it| format!("figures of round {it}"));
        let behind: Vec<String> = rounds.into_iter().chain(figures).collect();
        match behind.is_empty() {
            true => String::new(),
            false => format!(" ({})", behind.join("; ")),
        }
    }
}

fn percents(shares: &[f64]) -> String {
    let shares: Vec<String> = shares.iter().map(|share| percent(*share)).collect();
    shares.join(", ")
}

fn unsound(share: f64) -> String {
    format!(
        "at {} of the capacity requests failed already, or too little of it was seen; take a \
         lower --capacity",
        percent(share)
    )
}

impl Display for Unsaid {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::All(why) => out.write_str(why),
            Self::Failed(id, cause) => {
                write!(out, "what the failure of trial {id} has changed: {cause}")
            }
            Self::NoClass(share) => write!(out, "no class: {}", unsound(*share)),
            Self::EngineBusy(steps) => {
                let step = |(share, used): &(f64, f64)| {
                    format!(
                        "{} of the capacity ({} busy)",
                        percent(*share),
                        percent(*used)
                    )
                };
                let steps: Vec<String> = steps.iter().map(step).collect();
                write!(
                    out,
                    "whether it queues, drops or collapses at {}: the load engine was at its own \
                     limit there; take a workload that costs the server more, or more processors \
                     for the engine",
                    steps.join(", ")
                )
            }
            Self::Late(ns) => write!(
                out,
                "how long short answers took: the load engine sent up to {} late",
                milliseconds(*ns)
            ),
            Self::Local(requests) => write!(
                out,
                "what {requests} requests would have come to: this machine had no file, port or \
                 memory for them"
            ),
            Self::Wrong(share, wrong) => write!(
                out,
                "what it does beyond its capacity: at {} of it {} of the requests were answered \
                 wrongly (status or body), and nothing says why",
                percent(*share),
                percent(*wrong)
            ),
            Self::Carried(per_s, share) => write!(
                out,
                "what it does beyond its capacity: it carried {}/s, {} of what was taken as its \
                 capacity; take a higher --capacity",
                rate(*per_s),
                percent(*share)
            ),
            Self::Pace(shares) => write!(
                out,
                "whether it answers quickly that it is too busy at {} of the capacity: too many \
                 requests failed there in other ways to tell how long its answers 429 and 5xx took",
                percents(shares)
            ),
            Self::EndedBeforeTwice => out.write_str(
                "what it gives at twice its capacity: it ended in that step or before it",
            ),
            Self::NeverWell(..) | Self::WellOnce(..) | Self::Draining(..) => self.of_recovery(out),
            Self::NotTwice(misjudged, peak, rounds) => {
                let shown = amount(*peak, 1);
                let (gave, taken) = match misjudged {
                    Misjudged::TooLow(taken) => (format!("it gave {shown}/s"), taken),
                    Misjudged::TooHigh(taken) => {
                        (format!("no step gave more than {shown}/s"), taken)
                    }
                };
                let within = in_rounds(rounds);
                let advised = shown.replace(',', "");
                write!(
                    out,
                    "what it does at twice its capacity{within}: {gave}, and {}/s was taken as its \
                     capacity; take --capacity {advised}",
                    amount(*taken, 1)
                )
            }
        }
    }
}

impl Display for UnsaidOf {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{}{}", self.why, self.behind())
    }
}

impl Serialize for Unsaid {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for UnsaidOf {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
