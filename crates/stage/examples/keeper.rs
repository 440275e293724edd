//! The keeper as a program of its own, for this crate's tests; bakeoff has it as a subcommand.

fn main() {
    let code = bakeoff_stage::keeper::main(std::env::args().skip(1));
    std::process::exit(code);
}
