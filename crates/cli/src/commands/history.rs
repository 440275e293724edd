//! `bakeoff history`: numbers over many records, and where they changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bakeoff_record::Record;
use bakeoff_report::{
    HistoryRecord, HistorySource, Redacted, history_csv, history_html, history_json, history_text,
    history_view, set_copies_aside,
};

use super::found::Found;
use super::report::text_options_of;
use crate::flags::{HistoryFlags, HistoryFormat};
use crate::{exit, output};

pub(super) mod index;

use index::Index;

pub(crate) fn carry_out(flags: &HistoryFlags) -> anyhow::Result<u8> {
    let paths = records(&flags.folders)?;
    let mut sources = Vec::new();
    let index = if flags.no_index {
        Index::none()
    } else {
        Index::open(index::path())
    };
    for (path, name) in paths.iter().zip(names(&paths)) {
        let record = index.or_read(path, read);
        sources.push(HistorySource { name, record });
    }
    index.finish();
    set_copies_aside(&mut sources);
    let metrics: Vec<_> = flags.metric.iter().map(|one| one.ready()).collect();
    let history = history_view(&sources, &metrics);
    let text = match flags.format {
        HistoryFormat::Text => history_text(&history, text_options_of(flags.output.is_none())),
        HistoryFormat::Json => history_json(&history),
        HistoryFormat::Html => history_html(&history),
        HistoryFormat::Csv => history_csv(&history),
    };
    output::document_to(flags.output.as_deref(), &text)?;
    if history.has_points() {
        return Ok(exit::DONE);
    }
    output::note("no record has a number that can be believed; what is left out says why");
    Ok(exit::NOT_VALID)
}

/// What a history needs of a record, or why it is left out.
fn read(path: &Path) -> Result<HistoryRecord, String> {
    let record = Record::read(path).map_err(|error| error.to_string())?;
    let question = record.plan.question();
    let taken = HistoryRecord::of(&Redacted::hidden(record));
    taken.ok_or_else(|| format!("{} has no rounds to compare", question.name()))
}

/// The record folders, each once, in the order given; and behind them those below a named folder
/// that may not be looked into, which are left out, with the reason, when they are read.
fn records(folders: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let found = Found::below(folders)?;
    for line in found.passed_over() {
        output::note(&line);
    }
    let none = match found.empty.first() {
        Some(folder) => format!("{} holds no record", folder.display()),
        None => "there is no record".to_owned(),
    };
    let mut records = found.records;
    for (folder, error) in found.unreadable {
        if folders.contains(&folder) {
            return Err(super::folder_error(error));
        }
        records.push(folder);
    }
    if found.empty.is_empty() && !records.is_empty() {
        return Ok(records);
    }
    Err(exit::usage(format!(
        "{none}; name folders that `bakeoff run` made, or folders that hold some"
    )))
}

/// What records are called: the folder's own name, with as many of the folders above it as two need
/// to differ. Histories tell records apart by it.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let whole = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let whole: Vec<PathBuf> = paths.iter().map(whole).collect();
    let mut lengths = vec![1; whole.len()];
    loop {
        let each = whole.iter().zip(&lengths);
        let names: Vec<String> = each.map(|(path, length)| end_of(path, *length)).collect();
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for name in &names {
            *uses.entry(name).or_default() += 1;
        }
        let mut is_last = true;
        for ((name, path), length) in names.iter().zip(&whole).zip(&mut lengths) {
            if uses[name.as_str()] > 1 && *length < path.components().count() {
                *length += 1;
                is_last = false;
            }
        }
        if is_last {
            return names;
        }
    }
}

/// `nightly/quick-20261122T072659Z`: the last components of a path, so many.
fn end_of(path: &Path, length: usize) -> String {
    let before = path.components().count().saturating_sub(length);
    let end: PathBuf = path.components().skip(before).collect();
    end.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_name_are_called_by_where_they_differ() {
        let paths = [
            "/absent/ci/1/speed/record",
            "/absent/ci/2/speed/record",
            "/absent/mine/record",
            "/absent/other",
            "/record",
        ];
        assert_eq!(
            names(&paths.map(PathBuf::from)),
            [
                "1/speed/record",
                "2/speed/record",
                "mine/record",
                "other",
                "/record",
            ]
        );
    }
}
