//! How a campaign ends: its exit code, and in the last line why it is no valid measurement.

use std::collections::BTreeMap;

use bakeoff_report::Report;

use crate::commands::report;
use crate::flags::Format;
use crate::{exit, output};

/// The exit code of a campaign that was carried out to its end; where it is 4, the last line says
/// why.
pub(super) fn print(report: &Report, strict: bool, format: Format) -> u8 {
    let said = why(report).or_else(|| report::no_answer(report));
    let why = match (said, report::exit_code(report, strict)) {
        (Some(why), _) => why,
        (None, exit::NOT_VALID) if strict => "not every cell is valid, as --strict asks".to_owned(),
        (None, exit::NOT_VALID) => {
            "no rate, latency or CPU time of any contender can be relied on".to_owned()
        }
        (None, code) => match report::failures(report, format) {
            Some(why) => why,
            None => return code,
        },
    };
    output::note(&format!("not a valid measurement: {why}"));
    exit::NOT_VALID
}

/// Why nothing of it can be relied on; `None` where each contender gave right answers.
fn why(report: &Report) -> Option<String> {
    let contenders = || report.cells.iter().filter(|cell| cell.is_contender());
    let mut names: Vec<&str> = Vec::new();
    for cell in contenders() {
        if !names.contains(&cell.contender.as_str()) {
            names.push(&cell.contender);
        }
    }
    let mut reasons = Vec::new();
    for name in names {
        let cells: Vec<_> = contenders().filter(|cell| cell.contender == name).collect();
        let completed: u64 = cells.iter().map(|cell| cell.completed).sum();
        let errors: u64 = cells.iter().map(|cell| cell.errors).sum();
        if cells.iter().all(|cell| cell.rounds_measured == 0) {
            let lost = report.lost.iter().find(|lost| lost.contender == name);
            let cause = lost.map_or("no trial was measured", |lost| lost.text.as_str());
            reasons.push((name, format!("{name} never ran: {cause}")));
        } else if completed == errors {
            let outcomes = cells.iter().flat_map(|cell| &cell.outcomes);
            let outcomes = outcomes.map(|(name, count)| (*name, *count));
            let why = no_answer(completed, outcomes);
            reasons.push((name, format!("{name}: {why}")));
        }
    }
    let ((_, first), others) = reasons.split_first()?;
    let others: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    if others.is_empty() {
        Some(first.clone())
    } else {
        Some(format!(
            "{first}; and no right answer from {} either",
            others.join(", ")
        ))
    }
}

/// That no answer was right, and what most requests came to instead.
pub(super) fn no_answer<'n>(
    completed: u64,
    outcomes: impl Iterator<Item = (&'n str, u64)>,
) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in outcomes.filter(|(name, _)| *name != "ok") {
        *sums.entry(name).or_default() += count;
    }
    match sums.into_iter().max_by_key(|(_, count)| *count) {
        Some((name, count)) if count > 0 => {
            format!("no answer was right; {count} of {completed} requests ended as `{name}`")
        }
        _ => "no request ended in its window".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_outcome_says_why_no_answer_was_right() {
        let said = |outcomes: &[(&'static str, u64)]| no_answer(960, outcomes.iter().copied());
        assert_eq!(
            said(&[("ok", 0), ("refused", 900), ("timeout", 60)]),
            "no answer was right; 900 of 960 requests ended as `refused`"
        );
        assert_eq!(said(&[("ok", 0)]), "no request ended in its window");
    }
}
