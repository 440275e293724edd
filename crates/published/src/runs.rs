//! What tools print for eyes: labels with figures behind them, one run after the other.

use serde_json::Value;

use crate::ROWS_MOST;
use crate::error::{ReadError, excerpt};
use crate::figure::{Figure, number, time_ns};
use crate::row::Row;

/// The lines of one run, without what surrounds them.
#[derive(Default)]
pub(crate) struct Run<'a> {
    lines: Vec<(usize, &'a str)>,
}

/// The runs of a file. A run begins where one of these beginnings of lines comes again.
///
/// # Errors
/// There is none, or there are too many.
pub(crate) fn runs<'a>(
    text: &'a str,
    begins: &[&'static str],
    expected: &str,
) -> Result<Vec<Run<'a>>, ReadError> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_matches(|c: char| c.is_whitespace() || "✓✗█".contains(c));
        let begin = begins.iter().find(|begin| line.starts_with(**begin));
        if let Some(begin) = begin {
            if runs.is_empty() || seen.contains(begin) {
                if runs.len() == ROWS_MOST {
                    let problem = format!("more than {ROWS_MOST} runs: split the file");
                    return Err(ReadError::new(index + 1, problem));
                }
                runs.push(Run::default());
                seen.clear();
            }
            seen.push(begin);
        }
        if let Some(run) = runs.last_mut() {
            run.lines.push((index + 1, line));
        }
    }
    if runs.is_empty() {
        return Err(ReadError::new(
            1,
            format!("expected {expected}, found none"),
        ));
    }
    Ok(runs)
}

/// The rows of runs, each read as the document that the same run has.
pub(crate) fn as_documents(
    runs: &[Run<'_>],
    whose: &str,
    document: impl Fn(&Run<'_>) -> Value,
    row: impl Fn(&Value) -> Result<Row, String>,
) -> Result<Vec<Row>, ReadError> {
    let rows = runs.iter().map(|run| {
        let line = run.line();
        let fail = |problem: String| ReadError::new(line, format!("{whose}: {problem}"));
        let read = row(&document(run)).map_err(fail)?;
        Ok(Row { line, ..read })
    });
    rows.collect()
}

impl<'a> Run<'a> {
    /// Where it begins.
    pub(crate) fn line(&self) -> usize {
        self.lines.first().map_or(1, |(line, _)| *line)
    }

    /// Its lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().map(|(_, line)| *line)
    }

    /// What stands behind the first of its lines that begins so.
    pub(crate) fn after(&self, label: &str) -> Option<&'a str> {
        let mut rest = self.lines().filter_map(|line| line.strip_prefix(label));
        rest.next().map(str::trim)
    }

    /// The number behind a label; `None` without such a line.
    pub(crate) fn number(&self, label: &str) -> Result<Option<Figure>, ReadError> {
        let first = |rest: &str| number(rest.split_whitespace().next()?);
        self.read(label, "a number", first)
    }

    /// The same, which must be there.
    pub(crate) fn needed(&self, label: &str) -> Result<Figure, ReadError> {
        self.number(label)?.ok_or_else(|| self.cut_off(label))
    }

    /// The time behind a label, in ns; `None` without such a line, and of no request.
    pub(crate) fn time(&self, label: &str) -> Result<Option<Figure>, ReadError> {
        if self
            .after(label)
            .is_some_and(|rest| rest.starts_with("NaN"))
        {
            return Ok(None);
        }
        self.read(label, "a time", time_ns)
    }

    /// The same, which must be there.
    pub(crate) fn needed_time(&self, label: &str) -> Result<Figure, ReadError> {
        self.time(label)?.ok_or_else(|| self.cut_off(label))
    }

    fn read<T>(
        &self,
        label: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ReadError> {
        let of_label = |(_, line): &&(usize, &'a str)| line.starts_with(label);
        let Some((line, text)) = self.lines.iter().find(of_label) else {
            return Ok(None);
        };
        let rest = text[label.len()..].trim();
        parse(rest).map(Some).ok_or_else(|| {
            let found = excerpt(rest);
            let problem = format!("expected {expected} behind `{label}`, found `{found}`");
            ReadError::new(*line, problem)
        })
    }

    fn cut_off(&self, label: &str) -> ReadError {
        let problem = format!("this run has no line `{label}`: it was cut off");
        ReadError::new(self.line(), problem)
    }
}
