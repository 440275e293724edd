//! Rules over rows of the same name: repetitions of one measurement.

use std::collections::BTreeMap;

use bakeoff_published::Row;

use super::code::Code;
use super::sentence::{amount, lines_of, percent, rate};
use super::{AuditedRow, Finding};
use crate::limits::{RATE_VARIATION, ROUNDS_MIN};

/// Adds findings to rows whose repetitions differ, and gives those of the whole table.
pub(super) fn find(rows: &[Row], audited: &mut [AuditedRow]) -> Vec<Finding> {
    let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        same.entry(row.label()).or_default().push(index);
    }
    for group in same.values().filter(|group| group.len() > 1) {
        differs(group, audited);
    }
    let runs = |group: &Vec<usize>| -> f64 {
        let runs = group
            .iter()
            .map(|index| rows[*index].load.runs.unwrap_or(1.0));
        runs.sum()
    };
    let few: Vec<f64> = same
        .values()
        .map(runs)
        .filter(|runs| *runs < ROUNDS_MIN as f64)
        .collect();
    let Some(fewest) = few.iter().copied().reduce(f64::min) else {
        return Vec::new();
    };
    let most = few.iter().copied().fold(fewest, f64::max);
    let often = match most {
        1.0 => "once".to_owned(),
        most => format!("at most {} times", amount(most)),
    };
    let which = match (few.len(), same.len()) {
        (1, 1) => "the one measurement was".to_owned(),
        (few, all) => format!("{few} of {all} measurements were"),
    };
    let text = format!(
        "{which} made {often}: nothing says how far the next run would be off ({ROUNDS_MIN} runs \
         with a fresh server do)"
    );
    vec![Finding {
        code: Code::OneRun,
        value: fewest,
        limit: ROUNDS_MIN as f64,
        text,
    }]
}

/// R25: repetitions whose rates vary too much speak for none of them.
fn differs(group: &[usize], audited: &mut [AuditedRow]) {
    let rates: Vec<f64> = group
        .iter()
        .filter_map(|index| {
            audited[*index]
                .derived
                .ok_per_s
                .or(audited[*index].derived.rate_per_s)
        })
        .collect();
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    if rates.len() < 2 || mean <= 0.0 {
        return;
    }
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let variation = (squares / (count - 1.0)).sqrt() / mean;
    if variation < RATE_VARIATION {
        return;
    }
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let lines = lines_of(group.iter().map(|index| audited[*index].line));
    let text = format!(
        "{lines} are the same measurement and come to {} to {}, a variation of {}",
        rate(least),
        rate(most),
        percent(variation)
    );
    for index in group {
        audited[*index].findings.push(Finding {
            code: Code::RepeatDiffers,
            value: variation,
            limit: RATE_VARIATION,
            text: text.clone(),
        });
    }
}
