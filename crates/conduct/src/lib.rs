//! Runs a campaign, step by step: stage, warm up, measure, probe, record.
//!
//! ```text
//! Plan ─► Sequence::next ─► each: prepare ─► origin ─► check ─► start ─► warm up ─► measure
//!                                   ─► check again ─► stop ─► TrialRecord ─► RecordFolder
//!              └─ Event ─► the display, which changes nothing
//! ```
//!
//! A trial that fails is recorded with its step and cause, and the campaign goes on. A request to
//! stop ends the running trial cleanly and keeps the earlier ones.
//!
//! This crate judges nothing. What a number is worth is derived from the record alone.

mod actions;
mod answers;
mod apart;
mod campaign;
mod clock;
mod confirm;
mod contestant;
mod counters;
mod event;
mod find;
mod first;
mod generators;
mod here;
mod invented;
mod learn;
mod measure;
mod overload;
mod preflight;
mod programs;
mod roles;
mod rounds;
#[cfg(test)]
mod scripts;
mod sequence;
mod setting;
mod site;
mod skip;
mod spec;
mod timed;
mod trial;

pub use apart::Apart;
pub use campaign::{CampaignEnd, Options, Rules, carry_out};
pub use clock::Clock;
pub use confirm::{CONFIRM_ROUNDS, Experiments, Means, confirm};
pub use contestant::{Answered, Contestant, start_for_debugging};
pub use event::Event;
pub use find::Searches;
pub use first::{Approach, first_answers};
pub use generators::{Generated, Generators, Lacking, OwnEngine, UnderWay};
pub use here::Here;
pub use invented::{INVENTED, Invented, WorldError};
pub use overload::Overloads;
pub use preflight::{Depth, Finding, preflight};
pub use programs::{ProgramChanged, Programs};
pub use roles::{Roles, RolesError, RolesHere, allowed_cpus};
pub use rounds::{Rounds, Widest};
pub use sequence::{Left, Sequence};
pub use site::{
    Answer, Ask, Edge, FirstAnswers, Part, Reached, Site, SiteError, Staged, StartFailed,
    StartOrder, Started,
};
pub use spec::{Encoded, LoadOrder};
pub use timed::NextTimed;

/// Why a campaign had to end.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// A trial could not be recorded; going on would lose more.
    #[error(transparent)]
    Record(#[from] bakeoff_record::FolderError),
    /// A trial's files could not be written; as a failure of its server it would never be run
    /// again.
    #[error(
        "failed to {0}; the trials before it are kept: make room, then continue the record with \
         --resume"
    )]
    FullDisk(String),
    /// The processors asked for are not there.
    #[error(transparent)]
    Roles(#[from] RolesError),
}
