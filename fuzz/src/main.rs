//! libFuzzer on the target that the variable `FUZZ_TARGET` names.
#![no_main]

use std::sync::LazyLock;

use bakeoff_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let names = TARGETS.map(|target| target.name).join(", ");
    let chosen = TARGETS.into_iter().find(|target| target.name == name);
    chosen.unwrap_or_else(|| panic!("FUZZ_TARGET is {name:?}, expected one of {names}"))
});

fuzz_target!(|data: &[u8]| (CHOSEN.check)(data));
