//! The report as Markdown, for an issue or a page of notes.

use std::fmt::Write as _;

use bakeoff_audit::Level;

use crate::changes;
use crate::equal;
use crate::number::plain;
use crate::table::{
    COLUMNS, beyond_range, errors_by_kind, groups, lost_trials, median_of, told_by_peers,
};
use crate::view::{Report, Tone};

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = String::new();
    heading(&mut out, report);
    for group in groups(report) {
        let _ = writeln!(out, "\n## {}\n", escaped(&group.title));
        let titles = COLUMNS.iter().map(|column| match column.unit {
            "" => column.title.to_owned(),
            unit => format!("{} ({unit})", column.title),
        });
        row(&mut out, titles);
        row(
            &mut out,
            COLUMNS
                .iter()
                .map(|c| if c.numeric { "--:" } else { "---" }.to_owned()),
        );
        for cell in group.cells {
            row(
                &mut out,
                COLUMNS.iter().map(|column| escaped(&(column.text)(cell))),
            );
        }
        let lines = group.cells.iter().flat_map(|cell| {
            let errors = errors_by_kind(cell).map(|kinds| ("Errors", cell, kinds));
            let beyond = beyond_range(cell).map(|words| ("Latencies", cell, words));
            errors.into_iter().chain(beyond)
        });
        for (index, (what, cell, words)) in lines.enumerate() {
            let gap = if index == 0 { "\n" } else { "" };
            let name = escaped(&cell.contender);
            let _ = writeln!(out, "{gap}- {what} of {name}: {words}");
        }
        let lines = told_by_peers(report, &group);
        if !lines.is_empty() {
            // A code block takes no mark-up, and its words hold no line of their own.
            let _ = writeln!(out, "\n```text\n{}\n```", lines.join("\n"));
        }
    }
    equal_work(&mut out, report);
    configurations(&mut out, report);
    notes(&mut out, report);
    without_result(&mut out, report);
    out
}

fn heading(out: &mut String, report: &Report) {
    let campaign = &report.campaign;
    let machine = &campaign.machine;
    let _ = writeln!(
        out,
        "# {} on {}\n",
        escaped(&campaign.name),
        escaped(&machine.host)
    );
    let _ = writeln!(
        out,
        "{} {} CPUs ({}), Linux {}, started {}.\n",
        escaped(&campaign.description),
        machine.cpus,
        escaped(machine.cpu_model.as_deref().unwrap_or("model unknown")),
        escaped(&machine.kernel),
        escaped(&machine.started_at),
    );
    for sentence in report
        .summary
        .iter()
        .filter(|sentence| sentence.note.is_none())
    {
        let mark = match sentence.tone {
            Tone::Good | Tone::Note => "",
            Tone::Warning => "**Careful:** ",
            Tone::Bad => "**Not to be used:** ",
        };
        let _ = writeln!(out, "- {mark}{}", escaped(&sentence.text));
    }
    let _ = writeln!(
        out,
        "\nEach number is {}; low to high is the {}. Latencies are of ok \
         responses only; requests are of one round, errors of all.",
        median_of(campaign.rounds),
        campaign.interval.text
    );
}

fn row(out: &mut String, fields: impl Iterator<Item = String>) {
    let _ = writeln!(out, "| {} |", fields.collect::<Vec<_>>().join(" | "));
}

fn equal_work(out: &mut String, report: &Report) {
    for (index, table) in report.equivalence.iter().enumerate() {
        if index == 0 {
            out.push_str("\n## Equal work\n");
        }
        let _ = writeln!(out, "\n### {}\n", escaped(&table.workload));
        if !table.rows.is_empty() {
            let titles = equal::titles(table);
            row(out, titles.iter().map(|title| escaped(title)));
            row(out, titles.iter().map(|_| "---".to_owned()));
            for fact in &table.rows {
                row(out, equal::fields(fact).iter().map(|field| escaped(field)));
            }
            out.push('\n');
        }
        for line in equal::equal_line(table)
            .iter()
            .chain(&equal::unknown_lines(table))
        {
            let _ = writeln!(out, "- {}", escaped(line));
        }
        for one in &table.inequalities {
            let _ = writeln!(
                out,
                "- **Unfair:** {}",
                escaped(&equal::inequality_line(one))
            );
            for line in equal::remedy_lines(one) {
                let _ = writeln!(out, "  - {}", escaped(&line));
            }
        }
    }
}

fn configurations(out: &mut String, report: &Report) {
    if !report.diffs.is_empty() || !report.config_changes.is_empty() {
        out.push_str("\n## Configurations\n");
    }
    // Four spaces begin a code block that no text inside can end.
    for one in &report.config_changes {
        let _ = writeln!(out, "\n{}\n", escaped(&changes::title(one)));
        for line in changes::lines(one) {
            let _ = writeln!(out, "    {line}");
        }
    }
    for diff in &report.diffs {
        let _ = writeln!(out, "\n{}\n", escaped(&equal::diff_title(diff)));
        for line in diff.text.lines() {
            let _ = writeln!(out, "    {}", plain(line));
        }
    }
}

fn notes(out: &mut String, report: &Report) {
    let bad: Vec<_> = report
        .notes
        .iter()
        .filter(|note| note.level > Level::Note)
        .collect();
    if bad.is_empty() {
        return;
    }
    out.push_str("\n## Notes\n\n");
    for note in bad {
        let _ = writeln!(out, "- [{}] {} ({})", note.number, note.code, note.rule);
        for cell in &note.cells {
            let _ = writeln!(
                out,
                "  - {}, {}, {}: {}",
                escaped(&cell.contender),
                escaped(&cell.workload),
                escaped(&cell.load),
                escaped(&cell.text)
            );
        }
    }
}

fn without_result(out: &mut String, report: &Report) {
    for (index, lost) in report.lost.iter().enumerate() {
        if index == 0 {
            out.push_str("\n## Trials without a result\n\n");
        }
        let _ = writeln!(out, "- {}", escaped(&lost_trials(lost)));
    }
}

/// Text that neither ends a table's cell nor begins markup.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for character in plain(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '\\' => {
                safe.push('\\');
                safe.push(character);
            }
            usual => safe.push(usual),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(escaped("a|b<script>`*"), "a\\|b&lt;script&gt;\\`\\*");
    }
}
