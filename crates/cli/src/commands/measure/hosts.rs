//! `bakeoff hosts`: what is there before a campaign on other hosts.

pub(crate) mod addresses;
mod check;
pub(crate) mod links;
pub(crate) mod listens;
mod manifest;
mod reached;

pub(crate) use check::{Found, Reached, aligned, carry_out as check, offset, reach};
pub(crate) use manifest::carry_out as manifest;
pub(crate) use reached::{
    Wanted, aliases, at_once, expanded, generators, half, kernels, limits, opened, own, owner, read,
};
