//! Copies: records of one campaign, such as a backup or what was shared of it.

use std::collections::BTreeMap;

use super::extract::{HistoryNumber, HistoryRecord};
use super::view::HistorySource;

/// Leaves out all records of a campaign but the one with the most rounds, the first of them where
/// several have as many: two copies would count as two nights that agree.
pub fn set_copies_aside(sources: &mut [HistorySource]) {
    let mut campaigns: BTreeMap<[String; 3], Vec<usize>> = BTreeMap::new();
    for (place, source) in sources.iter().enumerate() {
        let Ok(record) = &source.record else { continue };
        let campaign = [&record.plan, &record.machine.host, &record.started_at];
        let places = campaigns.entry(campaign.map(String::clone)).or_default();
        places.push(place);
    }
    for places in campaigns.into_values().filter(|all| all.len() > 1) {
        let rounds = |place: &usize| sources[*place].record.as_ref().map_or(0, rounds);
        let Some(kept) = places
            .iter()
            .rev()
            .max_by_key(|place| rounds(place))
            .copied()
        else {
            continue;
        };
        let name = sources[kept].name.clone();
        for place in places.into_iter().filter(|place| *place != kept) {
            sources[place].record = Err(format!("it is of the same campaign as {name}"));
        }
    }
}

/// Rounds behind all numbers together.
fn rounds(record: &HistoryRecord) -> usize {
    let numbers = record.cells.iter().flat_map(|cell| cell.numbers.values());
    let known = numbers.map(|number| match number {
        HistoryNumber::Known { n, .. } => *n,
        HistoryNumber::Missing(_) => 0,
    });
    known.sum()
}
