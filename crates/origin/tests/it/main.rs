//! The built-in upstream over each protocol, asked by clients that share no code with it.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod demand;
mod fastcgi;
mod files;
mod h2;
mod h3;
mod secure;
mod serve;
mod support;
