//! Puts the folders of `servers/` into the binary, so that it needs nothing beside itself. In the
//! repository `servers` is a link to the folder at its root; in a package it is the folder itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let servers = here.join("servers").canonicalize()?;
    let mut files = Vec::new();
    collect(&servers, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file
            .strip_prefix(&servers)
            .map_err(io::Error::other)?
            .display()
            .to_string();
        let path = file.display().to_string();
        writeln!(table, "    ({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    fs::write(out.join("servers.rs"), table)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
