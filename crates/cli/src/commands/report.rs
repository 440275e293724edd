//! `bakeoff report`: a stored record drawn again. What is drawn is recomputed from raw.

mod files;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use bakeoff_plan::Question;
use bakeoff_record::{Record, TrialEnd};
use bakeoff_report::{MarkdownOptions, OwnReport, Redacted, Report, TextOptions, Verdict, plain};
use clap::ValueEnum;

use super::unanswered::unanswered;
use crate::flags::{Format, ReportFlags};
use crate::{exit, output};

/// The page in the record folder.
pub(super) const PAGE_FILE: &str = "report.html";
/// Columns of a terminal that does not report its width.
const WIDTH: usize = 120;

pub(crate) fn carry_out(flags: &ReportFlags) -> anyhow::Result<u8> {
    let record = Record::read(&flags.record).map_err(super::folder_error)?;
    let shown = Shown {
        format: flags.format,
        // What names the lines of configurations is part of the whole.
        full: flags.full || flags.diffs,
        diffs: flags.diffs,
        record: flags.record.display().to_string(),
        page: Some(flags.record.join(PAGE_FILE)).filter(|page| page.is_file()),
        needed_again: None,
        is_printed: flags.output.is_none(),
    };
    let redacted = redacted(record, flags.show_secrets);
    let report = Drawn::of(&redacted, &flags.record);
    if let (Format::Hgrm, Drawn::Rounds(report)) = (flags.format, &report) {
        return files::write(&bakeoff_report::hgrm(report, &redacted), flags);
    }
    let text = report.shown(&shown)?;
    output::document_to(flags.output.as_deref(), &text)?;
    // What a campaign that was broken off has not measured, it may still measure.
    let trials = &redacted.record().trials;
    let is_broken_off = trials.iter().any(|it| it.end == TrialEnd::Interrupted);
    Ok(ending(&report, flags.format, is_broken_off))
}

/// What a report that is drawn again ends with: what the campaign ended with, where it has no
/// answer.
fn ending(report: &Drawn, format: Format, is_broken_off: bool) -> u8 {
    let code = gaps(report, format);
    if let (exit::DONE, Drawn::Rounds(report)) = (code, report)
        && let Some(why) = unanswered(report)
            .filter(|_| !is_broken_off)
            .or_else(|| no_answer(report))
            .or_else(|| failures(report, format))
    {
        output::note(&format!("not a valid measurement: {why}"));
        return exit::NOT_VALID;
    }
    code
}

/// Why what was asked has no answer, as the report says it.
pub(super) fn no_answer(report: &Report) -> Option<String> {
    let no_finding = report.answer.no_finding.as_ref();
    let text = no_finding.filter(|it| it.is_no_answer())?.text();
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    Some(first.into_iter().chain(letters).collect())
}

/// That a file of verdicts holds failures, so that no build passes by its exit code alone.
pub(super) fn failures(report: &Report, format: Format) -> Option<String> {
    let count = match format {
        Format::Junit => bakeoff_report::junit_failures(report),
        _ => 0,
    };
    let counted = bakeoff_report::counted(count as u64, "test case");
    (count > 0).then(|| format!("{counted} of the JUnit file failed"))
}

/// Says what a file for another tool lacks; 4 where no number stands in it.
pub(super) fn gaps(report: &Drawn, format: Format) -> u8 {
    let Drawn::Rounds(report) = report else {
        return exit::DONE;
    };
    let (rates, others) = bakeoff_report::exported(report);
    let numbers = match format {
        Format::Otava => return holes(report),
        Format::GithubBigger => rates,
        Format::GithubSmaller => others,
        Format::Bencher | Format::Gobench => rates + others,
        _ => return exit::DONE,
    };
    if numbers > 0 {
        return exit::DONE;
    }
    let value = format.to_possible_value().expect("no format is skipped");
    let name = value.get_name();
    output::note(&format!(
        "no number of this record stands in {name}, because none is valid or its loads have none \
         for this format; the tool that reads it may refuse an empty file, so leave it out. \
         `bakeoff report RECORD` says why"
    ));
    exit::NOT_VALID
}

/// Says which values of Otava's line are missing; 4 where all are.
fn holes(report: &Report) -> u8 {
    let (holes, values) = bakeoff_report::otava_holes(report);
    if holes > 0 {
        output::note(&format!(
            "{holes} of {values} values are nan, because no number is valid there, or it is a \
             bound; Otava finds no change in a column with a nan, so leave out this line, or \
             columns that always have one"
        ));
    }
    if holes < values {
        exit::DONE
    } else {
        exit::NOT_VALID
    }
}

/// Refuses a format that has a file for each cell where one text is printed.
pub(super) fn refuse_files(format: Format) -> anyhow::Result<()> {
    match format {
        Format::Hgrm => Err(for_each_cell()),
        _ => Ok(()),
    }
}

fn for_each_cell() -> anyhow::Error {
    exit::usage(
        "hgrm has a file for each cell: make them of the record, with `bakeoff report DIR --format \
         hgrm --output FOLDER`",
    )
}

/// The record folder's own name: what a page that is passed on may say of where it came from.
pub(crate) fn name_of(record: &Path) -> Option<String> {
    let whole = record.canonicalize().ok()?;
    Some(whole.file_name()?.to_string_lossy().into_owned())
}

/// The record as it may be shown.
pub(crate) fn redacted(record: Record, show_secrets: bool) -> Redacted {
    if show_secrets {
        Redacted::shown(record)
    } else {
        Redacted::hidden(record)
    }
}

/// A record as its report shows it: comparisons of rounds, or the answer to another question.
pub(crate) enum Drawn {
    Rounds(Box<Report>),
    Own(Box<dyn OwnReport>),
}

impl Drawn {
    /// The report of a record, which lies in the folder `path`.
    pub(crate) fn of(redacted: &Redacted, path: &Path) -> Self {
        if let Some(report) = bakeoff_report::own_view(redacted) {
            return Self::Own(report);
        }
        let mut report = bakeoff_report::view_of(redacted);
        report.answer.record = name_of(path);
        Self::Rounds(Box::new(report))
    }

    /// The page.
    pub(crate) fn page(&self) -> String {
        match self {
            Self::Rounds(report) => bakeoff_report::html(report),
            Self::Own(report) => report.html(),
        }
    }

    /// In a format.
    ///
    /// # Errors
    /// The format is one for comparisons, and this is none.
    pub(crate) fn shown(&self, shown: &Shown) -> anyhow::Result<String> {
        match self {
            Self::Rounds(report) => draw(report, shown),
            Self::Own(report) => own(&**report, shown),
        }
    }
}

fn own(report: &dyn OwnReport, shown: &Shown) -> anyhow::Result<String> {
    Ok(match shown.format {
        Format::Text => report.text(text_options(shown)),
        Format::Html => report.html(),
        Format::Md => report.markdown(shown.full),
        Format::Csv => report.csv(),
        Format::Json => report.json(),
        _ => return Err(for_comparisons()),
    })
}

/// Refuses a format that has no place for the answer to another question.
pub(crate) fn refuse_without_rounds(format: Format, question: Question) -> anyhow::Result<()> {
    let has_place = matches!(
        format,
        Format::Text | Format::Html | Format::Md | Format::Csv | Format::Json
    );
    if has_place || question.has_rounds() {
        Ok(())
    } else {
        Err(for_comparisons())
    }
}

fn for_comparisons() -> anyhow::Error {
    exit::usage(
        "this format is for comparisons; for a search, an overload or a change, --format is text, \
         html, md, csv or json",
    )
}

/// What is shown of a report.
pub(crate) struct Shown {
    pub(crate) format: Format,
    /// All tables, not only the answer.
    pub(crate) full: bool,
    /// Differences of configurations whole.
    pub(crate) diffs: bool,
    /// The record folder as the user would name it.
    pub(crate) record: String,
    /// Its page, where there is one.
    pub(crate) page: Option<PathBuf>,
    /// Flags that going on with it takes; `None` where they are not known.
    pub(crate) needed_again: Option<String>,
    /// Whether it goes to standard output, whose terminal a text then suits.
    pub(crate) is_printed: bool,
}

fn text_options(shown: &Shown) -> TextOptions<'_> {
    TextOptions {
        full: shown.full,
        diffs: shown.diffs,
        record: Some(&shown.record),
        needed_again: shown.needed_again.as_deref(),
        ..text_options_of(shown.is_printed)
    }
}

/// Of a text that is not about one record; what is written to a file suits no terminal.
pub(super) fn text_options_of(is_printed: bool) -> TextOptions<'static> {
    let terminal = is_printed && std::io::stdout().is_terminal();
    let width = output::terminal_width().filter(|_| terminal);
    TextOptions {
        width: width.unwrap_or(WIDTH),
        colour: terminal,
        full: false,
        diffs: false,
        record: None,
        needed_again: None,
    }
}

/// A report in a format.
pub(crate) fn draw(report: &Report, shown: &Shown) -> anyhow::Result<String> {
    Ok(match shown.format {
        Format::Text => {
            let page = shown.page.iter();
            let page = page.map(|page| format!("report: {}\n", plain(&page.display().to_string())));
            bakeoff_report::text(report, text_options(shown)) + &page.collect::<String>()
        }
        Format::Html => bakeoff_report::html(report),
        Format::Md => bakeoff_report::markdown(report, MarkdownOptions { full: shown.full }),
        Format::Csv => bakeoff_report::csv(report),
        Format::Json => bakeoff_report::json(report),
        Format::Summary => bakeoff_report::summary(report, shown.full),
        Format::Junit => bakeoff_report::junit(report),
        Format::Bencher => bakeoff_report::bencher(report),
        Format::GithubBigger => bakeoff_report::github_bigger(report),
        Format::GithubSmaller => bakeoff_report::github_smaller(report),
        Format::Openmetrics => bakeoff_report::openmetrics(report),
        Format::Gobench => bakeoff_report::gobench(report),
        Format::Otava => bakeoff_report::otava(report),
        Format::Hgrm => return Err(for_each_cell()),
    })
}

/// 0 when some number of a contender can be looked at; 4 when none can, and with `strict` when any
/// number of any contender is not valid.
pub(crate) fn exit_code(report: &Report, strict: bool) -> u8 {
    let verdicts: Vec<Verdict> = report
        .cells
        .iter()
        .filter(|cell| cell.is_contender())
        .map(|cell| cell.verdict.verdict)
        .collect();
    let mut all = report.cells.iter().filter(|cell| cell.is_contender());
    // Counts and memory stand even where everything that rests on time is withheld.
    let shown = all.any(|cell| {
        let verdicts = &cell.verdicts;
        verdicts.rate.min(verdicts.latency).min(verdicts.cpu) <= Verdict::Suspect
    });
    let all_valid = verdicts.iter().all(|verdict| *verdict == Verdict::Valid);
    let accepted = if strict { all_valid } else { shown };
    if accepted {
        exit::DONE
    } else {
        exit::NOT_VALID
    }
}
