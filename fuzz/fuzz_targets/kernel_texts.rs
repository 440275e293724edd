//! What the kernel reports, as any bytes: read or refused, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| bakeoff_probe::fuzzing::texts(data));
