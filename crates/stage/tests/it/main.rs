//! Real and scripted servers: started, asked, watched and stopped.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod contacts;
mod faults;
mod keeper;
mod life;
mod listening;
mod own;
mod real;
mod support;
