//! `bakeoff report`: a stored record drawn again. What is drawn is recomputed from raw.

use std::io::IsTerminal;

use anyhow::Context;
use bakeoff_record::Record;
use bakeoff_report::{Report, TextOptions, Verdict};

use crate::flags::{Format, ReportFlags};
use crate::{exit, output};

/// Columns of a terminal that does not tell its width.
const WIDTH: usize = 120;

pub(crate) fn carry_out(flags: &ReportFlags) -> anyhow::Result<u8> {
    let record = Record::read(&flags.record).map_err(super::folder_error)?;
    let text = draw(&bakeoff_report::view(&record), flags.format, flags.diffs);
    match &flags.output {
        Some(path) => std::fs::write(path, text)
            .with_context(|| format!("failed to write {}", path.display()))?,
        None => output::result(&text)?,
    }
    Ok(exit::DONE)
}

/// A report in a format; text suits the terminal that standard output is.
pub(crate) fn draw(report: &Report, format: Format, diffs: bool) -> String {
    match format {
        Format::Text => {
            let terminal = std::io::stdout().is_terminal();
            let width = output::terminal_width()
                .filter(|_| terminal)
                .unwrap_or(WIDTH);
            bakeoff_report::text(
                report,
                TextOptions {
                    width,
                    colour: terminal,
                    diffs,
                },
            )
        }
        Format::Html => bakeoff_report::html(report),
        Format::Md => bakeoff_report::markdown(report),
        Format::Csv => bakeoff_report::csv(report),
        Format::Json => bakeoff_report::json(report),
    }
}

/// 0 when something was measured that can be looked at; 4 when nothing was, and with `strict`
/// when the cell of any contender is not valid.
pub(crate) fn exit_code(report: &Report, strict: bool) -> u8 {
    let verdicts: Vec<Verdict> = report
        .cells
        .iter()
        .filter(|cell| cell.is_contender())
        .map(|cell| cell.verdict.verdict)
        .collect();
    let shown = |verdict: &Verdict| matches!(verdict, Verdict::Valid | Verdict::Suspect);
    let all_valid = verdicts.iter().all(|verdict| *verdict == Verdict::Valid);
    let accepted = if strict {
        all_valid
    } else {
        verdicts.iter().any(shown)
    };
    if accepted {
        exit::DONE
    } else {
        exit::NOT_VALID
    }
}
