//! Any text read as a file of hosts: refused with a place or understood, never a panic; and what
//! is understood names no host that it does not have.

use bakeoff_plan::{HOME, Hosts};

pub(crate) fn check(text: &str) {
    let hosts = match Hosts::parse(text, "hosts.toml") {
        Ok(hosts) => hosts,
        Err(error) => {
            assert!(error.place().position.is_some(), "{error}");
            return;
        }
    };
    let roles = &hosts.roles;
    for name in [&roles.server, &roles.origin]
        .into_iter()
        .chain(&roles.generators)
    {
        assert!(name == HOME || hosts.named(name).is_some(), "{name}");
    }
}
