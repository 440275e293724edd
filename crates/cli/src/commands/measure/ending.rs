//! How a campaign ends: its exit code, and in the last line why it is no valid measurement.

use std::collections::BTreeMap;
use std::path::Path;

use bakeoff_plan::distinct;
use bakeoff_record::shell_path;
use bakeoff_report::{FindReport, FoundRow, Report};

use crate::commands::report::{self, Drawn};
use crate::flags::Format;
use crate::{exit, output};

/// The exit code of a campaign that was carried out to its end; where it is 4, the last line says
/// why.
pub(super) fn print(report: &Drawn, strict: bool, format: Format) -> u8 {
    let why = match report {
        Drawn::Rounds(report) => not_valid(report, strict, format),
        Drawn::Search(report) => report.why_not_valid(strict),
        Drawn::Overload(report) => report.why_not_valid(strict),
    };
    match why {
        None => exit::DONE,
        Some(why) => {
            output::note(&format!("not a valid measurement: {why}"));
            exit::NOT_VALID
        }
    }
}

/// Why rounds are no valid measurement.
fn not_valid(found: &Report, strict: bool, format: Format) -> Option<String> {
    why(found).or_else(|| report::no_answer(found)).or_else(|| {
        match (report::exit_code(found, strict), strict) {
            (exit::NOT_VALID, true) => Some("not every cell is valid, as --strict asks".to_owned()),
            (exit::NOT_VALID, false) => {
                let why = "no rate, latency or CPU time of any contender can be relied on";
                Some(why.to_owned())
            }
            _ => report::failures(found, format),
        }
    })
}

/// Why nothing of it can be relied on; `None` where each contender gave right answers.
fn why(report: &Report) -> Option<String> {
    let contenders = || report.cells.iter().filter(|cell| cell.is_contender());
    let mut reasons = Vec::new();
    for name in distinct(contenders().map(|cell| cell.contender.as_str())) {
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

/// What goes on with a search at `path`: with twice the time where time ended before its bounds
/// were near enough and confirmed, and with the same where a contender ceased to run.
/// `needed_again` is the flags that it takes besides. `None` where nothing is left.
pub(super) fn longer(report: &FindReport, path: &Path, needed_again: &str) -> Option<String> {
    let resume = format!("bakeoff find --resume {}", shell_path(path));
    let mut rows = report.contenders.iter();
    let Some(spent) = rows.find(|row| row.takes_more_time()) else {
        let is_open = report.contenders.iter().any(FoundRow::is_unfinished);
        return is_open.then(|| format!("{resume}{needed_again}"));
    };
    let search = &spent.goal.search;
    // Its goals share the time of a contender at a workload.
    let cells = report.contenders.iter();
    let cells = cells.filter(|row| row.goal.search == *search);
    let cells = cells.map(|row| ((&row.contender, &row.workload), row.behind.budget_s));
    let cells: BTreeMap<_, _> = cells.collect();
    let minutes = (cells.values().sum::<f64>() * 2.0 / 60.0).ceil().max(1.0);
    Some(format!("{resume} --budget {minutes}m{needed_again}"))
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
