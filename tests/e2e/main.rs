//! The binary from end to end: real servers, servers that misbehave on purpose, full disks and
//! deaths by force. What only asks what a campaign says, writes or returns is in `tests/campaigns`.
//!
//! Every test works in a scene of its own (`support/scene.rs`), which at its end looks for
//! processes that bakeoff left behind. Tests wait for conditions, never for a time, and judge no
//! speed. What needs much of the machine, or its clock, runs one at a time (`support::alone`).
//! A program that is missing is said and passed over, but not where `CI=true`: there it fails.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]
#![allow(clippy::print_stderr, reason = "the output says what was passed over")]

mod boxes;
mod change;
mod commands;
mod confirm;
mod contacts;
mod containers;
mod contributing;
mod deaths;
mod demand;
mod documents;
mod equal;
mod faults;
mod find;
mod gates;
mod h2;
mod hostile;
mod hosts;
mod install;
mod interrupts;
mod limits;
mod load;
mod load_ends;
mod load_view;
mod locks;
mod metrics;
mod overload;
mod own;
mod packaging;
mod paths;
mod privileges;
mod protocols;
mod race;
mod run;
mod run_hosts;
mod selftest;
mod share;
mod site;
mod support;
mod transport;
mod truth;
mod trying;
mod workloads;
