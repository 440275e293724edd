//! Reports: draws a judged record as terminal text, HTML, Markdown, CSV or JSON.
//!
//! [`Redacted`] is a record without its secrets. [`view()`] makes one view model from it, and each
//! format is a function from the view model to text. A format selects and arranges; it computes
//! nothing. This crate prints nothing and writes no files.

mod change;
mod changes;
mod compare;
mod conditions;
mod csv;
pub mod document;
mod equal;
mod export;
mod find;
mod h2load;
mod history;
mod holdings;
mod html;
mod json;
mod live;
mod load;
mod machine;
mod markdown;
mod number;
mod overload;
mod own;
mod pack;
mod published;
mod redaction;
mod safe;
mod schema;
mod selftest;
mod site;
mod style;
mod svg;
mod terminal;
mod text;
mod unequal_work;
mod vegeta;
mod verify;
pub mod view;
mod widest;
pub(crate) mod words;
mod xml;

pub use bakeoff_audit::published::{Rig, audit};
pub use bakeoff_audit::suspected;
pub use bakeoff_audit::{
    Condition, Course, GateError, Gates, LoadHosts, Mismatch, Ruling, Settled, Undecidable,
    Verdict, fits, judge_load, start_spread_ns, undecidable,
};
pub use bakeoff_stats::Metric;
pub use change::{CHANGE_SCHEMA, ChangeReport, change_view};
pub use compare::{
    COMPARE_SCHEMA, Compare, CompareError, CompareValue, baseline_mismatches, compare_across,
    compare_json, compare_junit, compare_markdown, compare_text, compare_within, contenders_of,
};
pub use conditions::{Conditions, conditions_of, conditions_of_load};
pub use csv::{csv, quoted as csv_field};
pub use export::{
    HGRM_ENDING, HGRM_MARK, HgrmFile, bencher, exported, github_bigger, github_smaller, gobench,
    hgrm, junit, junit_failures, openmetrics, otava, otava_holes, summary,
};
pub use find::{
    BoundsTrust, CurveRow, Disturbed, FIND_SCHEMA, FindReport, FoundRow, GoalFacts, QuantileRow,
    Servers, TrialRow, find_view,
};
pub use history::{
    EXTRACT_SCHEMA, HISTORY_SCHEMA, History, HistoryCell, HistoryMetric, HistoryNumber,
    HistoryRecord, HistorySource, history_csv, history_html, history_json, history_text,
    history_view, set_copies_aside,
};
pub use holdings::holdings;
pub use html::html;
pub use json::json;
pub use live::{LiveCampaign, LiveLoad, LiveTrial, live_campaign, live_load};
pub use load::{LOAD_SCHEMA, LoadDocument, compare_loads, load_csv, load_json, load_text};
pub use markdown::{MarkdownOptions, markdown};
pub use number::{bytes, count, counted, digits, milliseconds, share, trimmed, whole};
pub use overload::{OVERLOAD_SCHEMA, OverloadReport, OverloadRow, overload_view};
pub use own::{Answered, OwnReport, own_view};
pub use pack::{packed, unpacked};
pub use published::{PUBLISHED_SCHEMA, published_json, published_markdown, published_text};
pub use redaction::{Redacted, Redaction};
pub use safe::{json_safe, plain, plain_lines};
pub use schema::report_schema;
pub use selftest::{
    Doubts, FaultRow, Pairs, SELFTEST_SCHEMA, SelfTest, SelfTestRig, Tally, selftest_json,
    selftest_markdown, selftest_text,
};
pub use site::{
    SITE_MARK, SITE_SCHEMA, SiteFile, SiteOptions, SiteRecord, site_files, site_record,
};
pub use terminal::text;
pub use text::TextOptions;
pub use unequal_work::UnequalWork;
pub use verify::{Difference, differences, is_drawn_around, stored_document};
pub use view::{Report, view, view_of};
pub use widest::{awaits_rounds, widest};
