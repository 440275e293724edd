//! Estimates to terminal table, HTML, Markdown, CSV and JSON.
//!
//! [`Redacted`] is a record without its secrets. [`view()`] draws one view model from it; each
//! format is a function from that to text. A format chooses and arranges, and computes nothing.
//! Nothing here prints or writes a file.

mod before;
mod changes;
mod csv;
pub mod document;
mod equal;
mod h2load;
mod holdings;
mod html;
mod json;
mod load;
mod markdown;
mod number;
mod pack;
mod redaction;
mod safe;
mod schema;
mod style;
mod terminal;
mod text;
mod vegeta;
pub mod view;
mod widest;

pub use bakeoff_audit::{Verdict, judge_load};
pub use before::Warnings;
pub use csv::csv;
pub use holdings::holdings;
pub use html::html;
pub use json::json;
pub use load::{LOAD_SCHEMA, load_json, load_text};
pub use markdown::{MarkdownOptions, markdown};
pub use pack::{packed, unpacked};
pub use redaction::{Redacted, Redaction};
pub use safe::{json_safe, plain, plain_lines};
pub use schema::report_schema;
pub use text::{TextOptions, text};
pub use view::{Report, view, view_of};
pub use widest::widest;
