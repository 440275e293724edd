//! Why a campaign, or a report that is drawn again, has no answer that can be relied on.

use std::collections::BTreeMap;

use bakeoff_plan::distinct;
use bakeoff_report::Report;

/// Why nothing of it can be relied on; `None` where each contender gave right answers.
pub(crate) fn unanswered(report: &Report) -> Option<String> {
    let contenders = || report.cells.iter().filter(|cell| cell.is_contender());
    let mut reasons = Vec::new();
    for name in distinct(contenders().map(|cell| cell.contender.as_str())) {
        let cells: Vec<_> = contenders().filter(|cell| cell.contender == name).collect();
        let completed: u64 = cells.iter().map(|cell| cell.completed).sum();
        let errors: u64 = cells.iter().map(|cell| cell.errors).sum();
        if cells.iter().all(|cell| cell.rounds_measured == 0) {
            // A campaign that was broken off has not come to all of them.
            let mut lost = report.lost.iter().filter(|lost| lost.contender == name);
            if let Some(lost) = lost.next() {
                reasons.push((name, format!("{name} never ran: {}", lost.text)));
            }
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
pub(crate) fn no_answer<'n>(
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
