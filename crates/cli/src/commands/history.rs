//! `bakeoff history`: numbers over many records, and where they changed.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_record::{Record, RecordFolder};
use bakeoff_report::{
    HistoryRecord, HistorySource, Redacted, history_csv, history_html, history_json, history_text,
    history_view, set_copies_aside,
};

use super::report::text_options_of;
use crate::flags::{HistoryFlags, HistoryFormat};
use crate::{exit, output};

pub(super) mod index;

use index::Index;

/// Names that are looked at in a folder of records.
const ENTRIES_MAX: usize = 100_000;

pub(crate) fn carry_out(flags: &HistoryFlags) -> anyhow::Result<u8> {
    let paths = records(&flags.folders)?;
    let mut sources = Vec::new();
    let index = match flags.no_index {
        true => Index::none(),
        false => Index::open(index::path()),
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
    let taken = HistoryRecord::of(&Redacted::hidden(record));
    taken.ok_or_else(|| "a search or an overload has no rounds to compare".to_owned())
}

/// The record folders, each once, in the order given.
fn records(folders: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for folder in folders {
        let here = match is_record(folder)? {
            true => vec![folder.clone()],
            false => inside(folder)?,
        };
        for path in here {
            let whole = path.canonicalize();
            if known.insert(whole.unwrap_or_else(|_| path.clone())) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn is_record(path: &Path) -> anyhow::Result<bool> {
    RecordFolder::is_at(path).map_err(super::folder_error)
}

/// The records in a folder, by name.
fn inside(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder)
        .map_err(|cause| exit::usage(format!("failed to read the folder {shown}: {cause}")))?;
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("failed to read the folder {shown}"))?;
        if paths.len() == ENTRIES_MAX {
            return Err(exit::usage(format!(
                "{shown} has more than {ENTRIES_MAX} entries; name folders with fewer records"
            )));
        }
        paths.push(entry.path());
    }
    paths.sort();
    let mut records = Vec::new();
    for path in paths.into_iter().filter(|path| path.is_dir()) {
        // One that may not be looked into is left out, with the reason, when it is read.
        if is_record(&path).unwrap_or(true) {
            records.push(path);
        }
    }
    if records.is_empty() {
        return Err(exit::usage(format!(
            "{shown} holds no record and no folder with one; name folders that `bakeoff run` made, \
             or the folder that holds them"
        )));
    }
    Ok(records)
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
