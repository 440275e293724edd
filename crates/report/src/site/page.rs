//! The page of a record: the one that `bakeoff report --format html` draws, with a line above it
//! that leads back and to the record's files.
//!
//! The built page is 700 KB of script and style. All records share them: they stand once in
//! `assets/`, under a name that changes with what they hold, so that no cache mixes versions.

use bakeoff_record::hex;
use sha2::{Digest as _, Sha256};

use super::record::SiteRecord;
use super::{POLICY, Preview, SiteFile, SiteOptions, shown_text};
use crate::html::{Built, html, record_element};
use crate::view::Report;

/// The way from a record's page to the site's folder.
const UP: &str = "../../";

/// The style and script that the pages share; nothing where the page was not built.
pub(super) fn assets() -> Vec<SiteFile> {
    let Some(built) = Built::parts() else {
        return Vec::new();
    };
    let name = name_of(&built);
    // A module would not be loaded from a disk. As a plain script it must keep its names to itself.
    let script = format!(
        "(function () {{\n\"use strict\";\n{}\n}})();\n",
        built.script
    );
    let style = format!("{}\n", built.style.trim_end());
    vec![
        SiteFile::new(format!("assets/{name}.css"), style),
        SiteFile::new(format!("assets/{name}.js"), script),
    ]
}

fn name_of(built: &Built) -> String {
    let mut digest = Sha256::new();
    digest.update(built.style);
    digest.update(built.script);
    format!("page-{}", hex(&digest.finalize()[..4]))
}

/// The page of a campaign, with its style and script in `assets/`.
pub(super) fn of_rounds(report: &Report) -> String {
    let Some(built) = Built::parts() else {
        return html(report);
    };
    let assets = format!("{UP}assets/{}", name_of(&built));
    let record = record_element(report);
    let style = format!("<link rel=\"stylesheet\" href=\"{assets}.css\">");
    let script = format!("<script defer src=\"{assets}.js\"></script>");
    let policy = format!("http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"");
    let (before, body) = (built.head, built.body);
    [
        built.start,
        &policy,
        before,
        &style,
        body,
        &record,
        built.between,
        &script,
        built.end,
    ]
    .concat()
}

/// A drawn page with what the site adds to it.
pub(super) fn framed(page: &str, record: &SiteRecord, options: &SiteOptions) -> String {
    let at = record.folder();
    let title = format!("{}, {}", record.title, record.day());
    let preview = options.preview(&Preview {
        page: &format!("{at}/index.html"),
        up: UP,
        title: &title,
        text: record.headline(),
    });
    // All of it stands in the page's own markup, before any other text of the record.
    let (head, rest) = page.split_once("<title>").unwrap_or(("", page));
    let (_, rest) = rest.split_once("</title>").unwrap_or(("", rest));
    let title = shown_text(&format!("{title}: {}", options.title));
    let mark = if rest.contains("<body>") {
        "<body>"
    } else {
        "</style>"
    };
    let (before, after) = rest.split_once(mark).unwrap_or(("", rest));
    let line = above(options);
    [
        head,
        "<title>",
        &title,
        "</title>\n",
        &preview,
        before,
        mark,
        "\n",
        &line,
        after,
    ]
    .concat()
}

/// The line above a report.
fn above(options: &SiteOptions) -> String {
    let title = shown_text(&options.title);
    format!(
        "<nav aria-label=\"Site\" style=\"padding:10px 24px;font-size:14px\"><a \
         href=\"{UP}index.html\">{title}</a> · <a href=\"plan.toml\">plan</a> · <a \
         href=\"machine.json\">machine</a></nav>\n"
    )
}
