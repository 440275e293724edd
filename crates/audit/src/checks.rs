//! The checks, one file for each family.

use crate::check::Check;
use crate::subject::Subject;

mod consistency;
mod correctness;
mod environment;
mod generator;
mod hosts;
mod kernel;
pub(crate) mod knee;
mod own_limits;
pub(crate) mod rounds;
mod schedule;
mod steady;

pub(crate) use environment::{own_overflows, window_growth, worst_on};
pub(crate) use generator::working;
pub use hosts::link_has_changed;
pub(crate) use hosts::{LinkUse, fullest_link};
pub(crate) use own_limits::limited_text;
pub use own_limits::own_limit;

/// Every check of one measured trial, in the order in which they are shown.
pub(crate) fn all(subject: &Subject<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    correctness::check(subject, &mut checks);
    generator::check(subject, &mut checks);
    schedule::check(subject, &mut checks);
    consistency::check(subject, &mut checks);
    steady::check(subject, &mut checks);
    environment::check(subject, &mut checks);
    kernel::check(subject, &mut checks);
    own_limits::check(subject, &mut checks);
    hosts::check(subject, &mut checks);
    checks
}
