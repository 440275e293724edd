//! The feed: one entry for each record, the newest first, in Atom (RFC 4287), whose links may be
//! relative.

use std::fmt::Write as _;

use super::record::{SiteRecord, is_time};
use super::{SITE_SCHEMA, SiteOptions};
use crate::xml::escaped;

/// Entries of the feed: readers have those before.
const ENTRIES: usize = 100;
/// Sentences of an answer that an entry has; the rest is in the report.
const SENTENCES: usize = 3;
/// When a feed without entries was updated.
const NEVER: &str = "1970-01-01T00:00:00Z";

/// The feed. Records that do not say when they began have no place in it.
pub(super) fn draw(records: &[SiteRecord], options: &SiteOptions) -> String {
    let dated = || {
        records
            .iter()
            .filter(|one| is_time(&one.started_at))
            .take(ENTRIES)
    };
    let updated = dated().next().map_or(NEVER, |one| &one.started_at);
    let title = escaped(&options.title);
    let link = |path: &str| escaped(&options.address(path, ""));
    // An identity that stays while the address may change.
    let own = match &options.url {
        Some(url) => escaped(url),
        None => format!("urn:{}", SITE_SCHEMA.replace(['.', '/'], ":")),
    };
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <title>{title}</title>\n\
         <id>{own}</id>\n\
         <updated>{updated}</updated>\n\
         <author><name>bakeoff</name></author>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{}\"/>\n\
         <link href=\"{}\"/>\n",
        link("feed.xml"),
        link("index.html")
    );
    for record in dated() {
        let shown = record.answer.len().min(SENTENCES);
        let text = record.answer[..shown].join(" ");
        let _ = write!(
            out,
            "<entry>\n<title>{}, {}</title>\n<id>urn:bakeoff:record:{}</id>\n\
             <updated>{}</updated>\n<link href=\"{}\"/>\n<summary>{}</summary>\n</entry>\n",
            escaped(&record.title),
            escaped(record.day()),
            record.name,
            record.started_at,
            link(&format!("{}/index.html", record.folder())),
            escaped(&text)
        );
    }
    out + "</feed>\n"
}
