//! The keeper as a program of its own, for this crate's tests; bakeoff becomes one when it is
//! started by the name `keeper`.

fn main() {
    std::process::exit(bakeoff_stage::keeper::main());
}
