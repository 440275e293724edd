//! The feed: one entry for each record, the newest first, in Atom (RFC 4287), whose links may be
//! relative.

use std::fmt::Write as _;

use super::record::SiteRecord;
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

/// Whether a text is a time of RFC 3339 in UTC, as records have it: `2026-11-22T07:26:59Z`, with or
/// without parts of a second.
pub(super) fn is_time(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd";
    let Some((seconds, rest)) = text.split_at_checked(form.len()) else {
        return false;
    };
    let digits = rest.strip_prefix('.').and_then(|it| it.strip_suffix('Z'));
    let has_end = match digits {
        Some(digits) => {
            (1..=9).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit())
        }
        None => rest == "Z",
    };
    let pairs = seconds.bytes().zip(form.bytes());
    let is_formed = pairs.into_iter().all(|(byte, wanted)| match wanted {
        b'd' => byte.is_ascii_digit(),
        other => byte == other,
    });
    let within = |from: usize, least: u32, most: u32| {
        let number = seconds.get(from..from + 2).and_then(|it| it.parse().ok());
        number.is_some_and(|number: u32| (least..=most).contains(&number))
    };
    let is_day = within(5, 1, 12) && within(8, 1, 31);
    has_end && is_formed && is_day && within(11, 0, 23) && within(14, 0, 59) && within(17, 0, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_are_times() {
        for time in ["2026-11-22T07:26:59Z", "2026-11-22T07:26:59.123456789Z"] {
            assert!(is_time(time), "{time}");
        }
        for other in [
            "",
            "now",
            "2026-11-22",
            "2026-13-22T07:26:59Z",
            "2026-11-22T07:26:59",
            "2026-11-22T07:26:59.Z",
            "2026-11-22T07:26:59Z<script>",
            "2026-11-22T07:26:5\u{e9}Z",
        ] {
            assert!(!is_time(other), "{other}");
        }
    }
}
