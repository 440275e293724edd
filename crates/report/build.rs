//! Embeds the built page, `page/index.html`, if there is one. In the repository `page` is a link to
//! `web/dist`; in a package it is a folder.
//!
//! It builds nothing: without the page the library falls back to static tables.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads files; the library does not"
)]

use std::path::PathBuf;

/// Where the record goes in the page; `html.rs` looks for the same.
const SLOT: &str = "<script type=\"application/json\" id=\"record\">null</script>";

fn main() -> std::io::Result<()> {
    let variable = |name| PathBuf::from(std::env::var_os(name).unwrap_or_default());
    let page = variable("CARGO_MANIFEST_DIR").join("page/index.html");
    // While there is no page this runs at every build, so that a page is taken up when it comes.
    println!("cargo::rerun-if-changed={}", page.display());
    let text = std::fs::read_to_string(&page).unwrap_or_default();
    let slots = text.matches(SLOT).count();
    // Whoever installs the program gets another report than was meant.
    if text.is_empty() && std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!(
            "cargo::warning=the page of reports is not built, so they will be plain tables: run \
             `make page`, which needs Node.js, or build from a release's sources, which hold it"
        );
    }
    if !text.is_empty() && slots != 1 {
        println!("cargo::warning=page/index.html holds {slots} slots for the record, not 1");
    }
    let built = if slots == 1 { text } else { String::new() };
    std::fs::write(variable("OUT_DIR").join("page.html"), built)
}
