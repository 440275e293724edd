//! The report as one offline HTML file: the built page with the view model in it.
//!
//! The page itself is made in `web/`. Where it was not built, static tables take its place.

use std::fmt::Write as _;

use crate::changes;
use crate::equal;
use crate::table::{COLUMNS, beyond_range, errors_by_kind, groups, lost_trials, told_by_peers};
use crate::view::Report;

/// The built page; empty when `make page` had not been run.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// Where the record goes in the page.
const SLOT: &str = "<script type=\"application/json\" id=\"record\">null</script>";

/// The report as one HTML file that loads nothing from anywhere.
pub fn html(report: &Report) -> String {
    match PAGE.split_once(SLOT) {
        Some((before, after)) => {
            let json = script_safe(&serde_json::to_string(report).unwrap_or_default());
            let slot = SLOT.trim_end_matches("null</script>");
            [before, slot, &json, "</script>", after].concat()
        }
        None => fallback(report),
    }
}

/// JSON that cannot end the script element it stands in, nor begin another: `<` never appears,
/// and the two line ends that JSON allows and scripts did not are escaped too.
fn script_safe(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Static tables, with a word on how to get the page.
fn fallback(report: &Report) -> String {
    let title = format!("bakeoff: {}", report.campaign.name);
    let mut out = String::new();
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
    out.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n",
    );
    let _ = writeln!(
        out,
        "<title>{}</title>\n<style>{STYLE}</style>",
        escaped(&title)
    );
    let _ = writeln!(out, "<h1>{}</h1>", escaped(&title));
    out.push_str(
        "<p>Plain tables: the page with charts was not built into this bakeoff. Run \
         <code>make page</code>, build again, and draw the report anew with <code>bakeoff report \
         DIR</code>.</p>\n<ul>\n",
    );
    for sentence in &report.summary {
        let _ = writeln!(out, "<li>{}</li>", escaped(&sentence.text));
    }
    out.push_str("</ul>\n");
    tables(&mut out, report);
    equal_work(&mut out, report);
    configurations(&mut out, report);
    for lost in &report.lost {
        let _ = writeln!(out, "<p>{}</p>", escaped(&lost_trials(lost)));
    }
    out
}

fn tables(out: &mut String, report: &Report) {
    for group in groups(report) {
        let _ = writeln!(out, "<h2>{}</h2>\n<table>\n<tr>", escaped(&group.title));
        for column in &COLUMNS {
            let _ = writeln!(
                out,
                "<th>{} <small>{}</small></th>",
                column.title, column.unit
            );
        }
        out.push_str("</tr>\n");
        for cell in group.cells {
            out.push_str("<tr>");
            for column in &COLUMNS {
                let class = if column.numeric { " class=\"n\"" } else { "" };
                let _ = write!(out, "<td{class}>{}</td>", escaped(&(column.text)(cell)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
        for cell in group.cells {
            if let Some(kinds) = errors_by_kind(cell) {
                let _ = writeln!(out, "<p>{}: {kinds}</p>", escaped(&cell.contender));
            }
            if let Some(beyond) = beyond_range(cell) {
                let _ = writeln!(out, "<p>{}: {beyond}</p>", escaped(&cell.contender));
            }
        }
        let lines = told_by_peers(report, &group);
        if !lines.is_empty() {
            let _ = writeln!(out, "<pre>{}</pre>", escaped(&lines.join("\n")));
        }
    }
}

fn equal_work(out: &mut String, report: &Report) {
    for facts in &report.equivalence {
        let _ = writeln!(
            out,
            "<h2>Equal work: {}</h2>\n<table>",
            escaped(&facts.workload)
        );
        for row in [equal::titles(facts)]
            .into_iter()
            .chain(facts.rows.iter().map(equal::fields))
        {
            let fields: String = row
                .iter()
                .map(|field| format!("<td>{}</td>", escaped(field)))
                .collect();
            let _ = writeln!(out, "<tr>{fields}</tr>");
        }
        out.push_str("</table>\n");
        for one in &facts.inequalities {
            let _ = writeln!(out, "<p>{}</p>", escaped(&equal::inequality_line(one)));
        }
    }
}

fn configurations(out: &mut String, report: &Report) {
    for one in &report.config_changes {
        let title = escaped(&changes::title(one));
        let lines = escaped(&changes::lines(one).join("\n"));
        let _ = writeln!(out, "<h2>{title}</h2>\n<pre>{lines}</pre>");
    }
    for diff in &report.diffs {
        let title = escaped(&equal::diff_title(diff));
        let _ = writeln!(out, "<h2>{title}</h2>\n<pre>{}</pre>", escaped(&diff.text));
    }
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}\
                     table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:left;\
                     border-bottom:1px solid #8884}.n{text-align:right;\
                     font-variant-numeric:tabular-nums}small{opacity:.6}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_cannot_end_its_script_element() {
        let hostile = "{\"server\":\"</script><script>alert(1)</script>\u{2028}<!--\"}";
        let safe = script_safe(hostile);
        assert!(!safe.contains('<') && !safe.contains('\u{2028}'), "{safe}");
        let read: serde_json::Value = serde_json::from_str(&safe).unwrap();
        assert_eq!(
            read,
            serde_json::from_str::<serde_json::Value>(hostile).unwrap()
        );
    }
}
