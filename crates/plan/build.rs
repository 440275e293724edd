//! Lists the files of `plans/`, `plans/published/` and `workloads/` as constants for `library.rs`.
//! In the repository these are links to the folders at its root; in a package they are the folders
//! themselves.

#![allow(
    clippy::disallowed_methods,
    reason = "a build script reads the files that it lists"
)]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let here = env::var("CARGO_MANIFEST_DIR")?;
    let mut code = String::new();
    for (constant, folder, extension) in [
        ("PLANS", "plans", "toml"),
        ("PUBLISHED", "plans/published", "csv"),
        ("WORKLOADS", "workloads", "toml"),
    ] {
        let folder = Path::new(&here).join(folder).canonicalize()?;
        // A folder stands for what is in it: added and removed files count too.
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut paths = Vec::new();
        for entry in fs::read_dir(&folder)? {
            paths.push(entry?.path());
        }
        paths.retain(|path| path.extension().is_some_and(|it| it == extension));
        paths.sort();
        writeln!(code, "static {constant}: &[(&str, &str)] = &[")?;
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let path = path
                .to_str()
                .ok_or("the path of the source tree is not UTF-8")?;
            writeln!(code, "    ({name:?}, include_str!({path:?})),")?;
        }
        writeln!(code, "];")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("builtin.rs"), code)?;
    Ok(())
}
