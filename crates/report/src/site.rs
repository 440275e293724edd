//! Many records as pages to publish: an index with filters and rankings, a page for each record
//! at an address that stays, and a feed.
//!
//! Everything is drawn from shared copies ([`Redacted::shared`]), and nothing depends on the time
//! or on the order in which records come, so the same records give the same bytes. Numbers are
//! ranked only where they are valid and where `bakeoff compare` would take the two records
//! (`ranking.rs`). Where files go is up to the caller.

mod feed;
mod index;
mod page;
mod ranking;
mod record;

use serde::Serialize;

use crate::find::find_view;
use crate::own::{OwnReport, own_view};
use crate::redaction::Redacted;
use crate::safe::{plain, pretty_json};
use crate::svg::escaped;
use crate::view::view_of;

pub use record::SiteRecord;

/// Version of [`SITE_MARK`].
pub const SITE_SCHEMA: &str = "bakeoff.site/1";
/// The file that marks a folder as such a site, and lists its records for scripts.
pub const SITE_MARK: &str = "bakeoff-site.json";

/// Script of the index.
const SCRIPT: &str = include_str!("site/site.js");
/// Style of the index, and of what stands above each report.
const STYLE: &str = include_str!("site/site.css");
/// What a page of the site may load: files of the site itself, also where it is opened from a
/// disk, where browsers differ in what `'self'` is.
const POLICY: &str = "default-src 'none'; script-src 'self' file:; style-src-elem 'self' file:; \
                      style-src-attr 'unsafe-inline'; img-src 'self' file: data:; \
                      connect-src 'none'; base-uri 'none'; form-action 'none'";

/// What the caller decides of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteOptions {
    /// Its title.
    pub title: String,
    /// Address of its folder, with a `/` at the end; without it links are relative.
    pub url: Option<String>,
}

/// A file of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// Path below the site's folder, with `/` between names.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl SiteFile {
    fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (path, bytes) = (path.into(), bytes.into());
        Self { path, bytes }
    }
}

impl SiteOptions {
    /// The address of a path of the site: absolute where the site has one, else from the page
    /// that is `up` to the site's folder.
    fn address(&self, path: &str, up: &str) -> String {
        format!("{}{path}", self.url.as_deref().unwrap_or(up))
    }

    /// What a link to a page shows elsewhere, as elements of its head.
    fn preview(&self, shown: &Preview<'_>) -> String {
        let Preview { title, text, .. } = shown;
        let page = self.address(shown.page, shown.up);
        let mut all = vec![
            ("og:type", "website"),
            ("og:title", title),
            ("og:description", text),
        ];
        if self.url.is_some() {
            all.push(("og:url", &page));
        }
        let mut out = format!(
            "<meta name=\"description\" content=\"{}\">\n",
            shown_text(text)
        );
        for (property, content) in all {
            let content = shown_text(content);
            out += &format!("<meta property=\"{property}\" content=\"{content}\">\n");
        }
        out
    }
}

/// What a link to a page shows elsewhere.
struct Preview<'a> {
    /// Path of the page.
    page: &'a str,
    /// The way from the page to the site's folder.
    up: &'a str,
    title: &'a str,
    text: &'a str,
}

/// The facts of a record for the site, and the files that are its own. The record must be a
/// shared copy, as [`Redacted::shared`] makes it.
pub fn site_record(shared: &Redacted, options: &SiteOptions) -> (SiteRecord, Vec<SiteFile>) {
    let (record, drawn) = if let Some(report) = find_view(shared) {
        let record = SiteRecord::of_search(shared, &report);
        (record, report.html())
    } else if let Some(report) = own_view(shared) {
        (SiteRecord::of_own(shared, &*report), report.html())
    } else {
        let report = view_of(shared);
        let record = SiteRecord::of_rounds(shared, &report);
        (record, page::of_rounds(&report))
    };
    let at = record.folder();
    let machine = pretty_json(&shared.record().machine) + "\n";
    let files = vec![
        SiteFile::new(
            format!("{at}/index.html"),
            page::framed(&drawn, &record, options),
        ),
        SiteFile::new(format!("{at}/plan.toml"), shared.record().plan.to_toml()),
        SiteFile::new(format!("{at}/machine.json"), machine),
    ];
    (record, files)
}

/// The files that all records have in common. The order of the records does not matter.
pub fn site_files(mut records: Vec<SiteRecord>, options: &SiteOptions) -> Vec<SiteFile> {
    records.sort_by(|left, right| {
        let newest = right.started_at.cmp(&left.started_at);
        newest.then_with(|| left.name.cmp(&right.name))
    });
    let rankings = ranking::rankings(&records);
    let mut files = vec![
        SiteFile::new("index.html", index::draw(&records, &rankings, options)),
        SiteFile::new("feed.xml", feed::draw(&records, options)),
        SiteFile::new("assets/site.css", STYLE),
        SiteFile::new("assets/site.js", SCRIPT),
        SiteFile::new(SITE_MARK, mark(&records, options)),
    ];
    files.extend(page::assets());
    files
}

/// The list of records for scripts.
fn mark(records: &[SiteRecord], options: &SiteOptions) -> String {
    #[derive(Serialize)]
    struct Mark<'a> {
        schema: &'static str,
        title: &'a str,
        records: Vec<Entry<'a>>,
    }
    #[derive(Serialize)]
    struct Entry<'a> {
        name: &'a str,
        plan: &'a str,
        started_at: &'a str,
        page: String,
        answer: &'a [String],
    }
    let mark = Mark {
        schema: SITE_SCHEMA,
        title: &options.title,
        records: records
            .iter()
            .map(|record| Entry {
                name: &record.name,
                plan: &record.title,
                started_at: &record.started_at,
                page: format!("{}/index.html", record.folder()),
                answer: &record.answer,
            })
            .collect(),
    };
    pretty_json(&mark) + "\n"
}

/// Text of a record in HTML: on one line, and without what acts on a reader's screen.
fn shown_text(text: &str) -> String {
    escaped(&plain(text))
}
