//! Plan files, workloads and logs: what they mean, and the messages where they are wrong.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod containers;
mod messages;
mod properties;
mod replay;
mod schema;
mod workload_messages;
