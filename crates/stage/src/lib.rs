//! Starts, checks and stops servers.
//!
//! A [`Stage`] prepares a contender ([`Prepared`]): it finds the program, renders the configuration
//! from the server's folder or takes the user's own file, and creates the files to be served. A
//! running server ([`Running`]) has already answered as this contender.
//!
//! ```text
//! bakeoff ── pipes ── keeper ── guard ── server ── workers, daemons, ...
//!                                        └────── a cgroup of its own ──┘
//! ```
//!
//! No process outlives bakeoff: every server has a [`keeper`], which ends the server when bakeoff
//! ends, in any way.
//!
//! [`install`](install()) gets a server's program in advance, with the user's own tools.
//!
//! This crate does not measure, sample or schedule. A new server needs no change in it: a server is
//! a folder in `servers/`.

pub mod fuzzing;
pub mod host;
pub mod keeper;
pub mod leftovers;

mod already;
mod belonging;
mod between;
mod bounded;
mod boxed;
mod certificates;
mod cgroup;
mod change;
mod command;
mod compose;
mod configuration;
mod contacts;
mod container;
mod contender;
mod crew;
mod engine;
mod environment;
mod error;
mod fetch;
mod files;
mod found;
#[cfg(test)]
mod golden;
mod held;
mod helper;
mod hidden;
mod holdings;
mod install;
mod installed;
mod kept;
mod keys;
mod known;
mod listeners;
mod listening;
mod log;
mod look;
mod misplaced;
mod overlay;
mod own;
mod prepared;
mod program;
mod ready;
mod recognise;
mod run_folder;
mod running;
mod server;
mod servers;
mod source;
mod stage;
mod statements;
mod template;
mod tree;
mod trial_folder;
mod user;
mod variables;
mod version;

pub use boxed::Boxed;
pub use cgroup::{CgroupKind, cgroup_kind};
pub use command::check_command;
pub use compose::{Service, compose};
pub use container::check_container;
pub use engine::pull;
pub use error::{Cause, StageError};
pub use fetch::speaks_tls;
pub use found::{
    Choice, Found as FileFound, Listener, ListenerKind, Named, Place, Problem, Upstream,
    UpstreamKind,
};
pub use helper::Helper;
pub use holdings::{Holding, HoldingKind, bytes_in, holdings, left_by_others, runs_from};
pub use install::{InstallError, InstallOrder, Installation, Reason, Refusal, install};
pub use listening::Listening;
pub use log::is_about_failure;
pub use misplaced::{Misplaced, misplaced};
pub use own::{Along, AlongFile, Leads, with_leads};
pub use prepared::Prepared;
pub use program::{Found, Program, find as find_program, sha256};
pub use recognise::Recognised;
pub use run_folder::{RunFolder, without_trial_folders};
pub use running::{Changing, Fetched, Root, Running, Tree, Written};
pub use server::{Asks, Server};
pub use servers::{Listed, Servers};
pub use source::SourceKind;
pub use stage::{Stage, StageOptions, Surroundings};
pub use user::{peer, user_name};
