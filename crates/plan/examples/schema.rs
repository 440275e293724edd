//! Prints the JSON Schema of plan files, or of `workload` or `hosts` files when asked for these.
//!
//! `make` and contributors write `docs/schema/` with it; a test holds both equal.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program, not the library"
)]

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("workload") => print!("{}", bakeoff_plan::workload_schema()),
        Some("hosts") => print!("{}", bakeoff_plan::hosts_schema()),
        _ => print!("{}", bakeoff_plan::plan_schema()),
    }
}
