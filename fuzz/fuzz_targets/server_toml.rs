//! Any text read as a server's description: refused or understood, never a panic; and what it
//! knows of versions cannot become another word of a command line.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| bakeoff_stage::fuzzing::server_description(text));
