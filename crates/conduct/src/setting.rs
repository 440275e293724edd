//! What every trial of a campaign shares.

use std::sync::atomic::AtomicBool;

use crate::generators::Generators;
use crate::roles::Roles;
use crate::site::Site;

/// What every trial of a campaign shares.
pub(crate) struct Setting<'a> {
    pub(crate) site: &'a dyn Site,
    pub(crate) roles: &'a Roles,
    pub(crate) generators: &'a dyn Generators,
    pub(crate) seed: u64,
    pub(crate) stop: &'a AtomicBool,
}
