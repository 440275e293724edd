//! The readers of results that other tools print and that others publish.

mod doubt;
mod markdown;
mod readers;
mod support;
mod tables;
mod tools;
