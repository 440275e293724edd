//! Estimates to terminal table, HTML, Markdown, CSV and JSON.

mod load;
mod number;

pub use load::{LOAD_SCHEMA, load_json, load_text};
