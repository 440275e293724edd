//! Embeds the built page, `web/dist/index.html`, if there is one.
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
    let page = variable("CARGO_MANIFEST_DIR").join("../../web/dist/index.html");
    // While there is no page this runs at every build, so that a page is taken up when it comes.
    println!("cargo::rerun-if-changed={}", page.display());
    let text = std::fs::read_to_string(&page).unwrap_or_default();
    let slots = text.matches(SLOT).count();
    if !text.is_empty() && slots != 1 {
        println!("cargo::warning=web/dist/index.html holds {slots} slots for the record, not 1");
    }
    let built = if slots == 1 { text } else { String::new() };
    std::fs::write(variable("OUT_DIR").join("page.html"), built)
}
