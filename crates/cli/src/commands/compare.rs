//! `bakeoff compare`: two contenders of a record, or two records, with gates for CI; or two loads.

use std::path::Path;

use bakeoff_record::{Record, read_regular_text, shell_path};
use bakeoff_report::{
    Compare, CompareError, Gates, LoadDocument, Redacted, Ruling, compare_across, compare_json,
    compare_junit, compare_loads, compare_markdown, compare_text, compare_within, plain_lines,
};

use super::report::{name_of, redacted, text_options_of};
use crate::flags::{CompareFlags, CompareFormat};
use crate::{exit, output};

/// Longest document of a load, bytes.
const LOAD_BYTES_MAX: u64 = 64 << 20;

pub(crate) fn carry_out(flags: &CompareFlags) -> anyhow::Result<u8> {
    if flags.record.is_file() && flags.second.is_none() {
        return loads(flags, Path::new(&flags.first));
    }
    let gates = flags.gate.clone().unwrap_or_default();
    let compare = match &flags.second {
        Some(second) => {
            if flags.force {
                return Err(exit::usage(
                    "--force is for two records; two contenders of one record need none",
                ));
            }
            within(flags, second, &gates)?
        }
        None => across(flags, Path::new(&flags.first), &gates)?,
    };
    let text = draw(&compare, flags.format, flags.output.is_none());
    output::document_to(flags.output.as_deref(), &text)?;
    Ok(exit_code(compare.ruling))
}

/// Two loads, each as `load --json` prints it.
fn loads(flags: &CompareFlags, second: &Path) -> anyhow::Result<u8> {
    if flags.gate.is_some() || flags.format != CompareFormat::Text {
        return Err(exit::usage(
            "two loads have no rounds, which gates and formats other than text need: compare with \
             `bakeoff race URL URL`",
        ));
    }
    let read = |path: &Path| {
        let text = read_regular_text(path, LOAD_BYTES_MAX).map_err(|error| error.to_string());
        let load = text.and_then(|text| LoadDocument::read(&text));
        load.map_err(|error| exit::usage(format!("failed to read {}: {error}", path.display())))
    };
    let (one, two) = (read(&flags.record)?, read(second)?);
    let names = [flags.record.as_path(), second].map(|path| path.display().to_string());
    let text = compare_loads([(names[0].as_str(), &one), (names[1].as_str(), &two)]);
    output::document_to(flags.output.as_deref(), &plain_lines(&text))?;
    Ok(exit::DONE)
}

fn within(flags: &CompareFlags, second: &str, gates: &Gates) -> anyhow::Result<Compare> {
    let record = read(&flags.record, flags.show_secrets)?;
    let mut compare = compare_within(&record, &flags.first, &[second], gates).map_err(refused)?;
    compare.first.record = name_of(&flags.record);
    compare.second.record.clone_from(&compare.first.record);
    Ok(compare)
}

fn across(flags: &CompareFlags, second: &Path, gates: &Gates) -> anyhow::Result<Compare> {
    if !second.exists() {
        return Err(exit::usage(format!(
            "there is no record {}; give a second record, or two contenders of the first: \
             bakeoff compare {} A B",
            second.display(),
            shell_path(&flags.record)
        )));
    }
    let records = [
        read(&flags.record, flags.show_secrets)?,
        read(second, flags.show_secrets)?,
    ];
    if let Some(why) = same(flags, second, [&records[0], &records[1]]) {
        return Err(exit::usage(why));
    }
    let compare = compare_across(&records[0], &records[1], gates, flags.force);
    let mut compare = compare.map_err(refused)?;
    compare.first.record = name_of(&flags.record);
    compare.second.record = name_of(second);
    Ok(compare)
}

/// Why the two are no two records: a record is no worse than itself, whatever its gate.
fn same(flags: &CompareFlags, second: &Path, records: [&Redacted; 2]) -> Option<String> {
    let folders = [
        flags.record.canonicalize().ok()?,
        second.canonicalize().ok()?,
    ];
    if folders[0] == folders[1] {
        let shown = second.display();
        return Some(format!("{shown} is compared with itself; name two records"));
    }
    let is_same = is_of_same_campaign(records[0].record(), records[1].record());
    (is_same && !flags.force).then(|| {
        format!(
            "{} and {} are of the same campaign, so that it is compared with itself; name two \
             records, or give --force",
            flags.record.display(),
            second.display()
        )
    })
}

/// Whether both are records of one campaign, as a record and its shared copy are.
pub(super) fn is_of_same_campaign(one: &Record, other: &Record) -> bool {
    let (here, there) = (&one.machine, &other.machine);
    one.plan.name == other.plan.name
        && here.host == there.host
        && here.started_at == there.started_at
}

fn read(path: &Path, show_secrets: bool) -> anyhow::Result<Redacted> {
    let record = Record::read(path).map_err(super::folder_error)?;
    refuse_without_rounds(&record, path)?;
    Ok(redacted(record, show_secrets))
}

/// Refuses a record without rounds: what its trials show is not held against each other.
pub(super) fn refuse_without_rounds(record: &Record, path: &Path) -> anyhow::Result<()> {
    let question = record.plan.question();
    if question.has_rounds() {
        return Ok(());
    }
    Err(exit::usage(format!(
        "{} is of {}, which has no rounds to compare; `bakeoff report {}` shows what was found",
        path.display(),
        question.name(),
        shell_path(path)
    )))
}

/// What the user can do otherwise.
pub(super) fn refused(error: CompareError) -> anyhow::Error {
    exit::usage(error)
}

/// A comparison in a format. Text that is printed suits the terminal that standard output is.
fn draw(compare: &Compare, format: CompareFormat, is_printed: bool) -> String {
    match format {
        CompareFormat::Text => compare_text(compare, text_options_of(is_printed)),
        CompareFormat::Md => compare_markdown(compare),
        CompareFormat::Json => compare_json(compare),
        CompareFormat::Junit => compare_junit(compare),
    }
}

/// 3 where a gate is breached, 4 where one is not decided.
pub(super) fn exit_code(ruling: Ruling) -> u8 {
    match ruling {
        Ruling::Shown | Ruling::Passed => exit::DONE,
        Ruling::CannotTell => exit::NOT_VALID,
        Ruling::Breached => exit::BREACHED,
    }
}
