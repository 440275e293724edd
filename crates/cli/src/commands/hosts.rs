//! `bakeoff hosts`: what is there before a campaign on other hosts.

mod check;
pub(crate) mod links;
mod manifest;
mod reached;

pub(crate) use check::carry_out as check;
pub(crate) use manifest::carry_out as manifest;
pub(crate) use reached::{Wanted, aliases, expanded, generators, open_all, own, owner, read};
