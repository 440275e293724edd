//! Estimates to terminal table, HTML, Markdown, CSV and JSON.
