//! Any text read as a server's description: refused or understood, never a panic; and what it
//! knows of versions cannot become another word of a command line.

pub(crate) fn check(text: &str) {
    bakeoff_stage::fuzzing::server_description(text);
}
