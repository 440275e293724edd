//! The answer in sentences.

use bakeoff_audit::overload::{ClassSeen, OverloadClass};

use super::view::OverloadRow;
use crate::number::{percent, plain, share, whole};

/// One sentence for each contender, then what cannot be said of it, and its ladder.
pub(super) fn answer(rows: &[OverloadRow]) -> Vec<String> {
    let several = rows.iter().any(|row| row.workload != rows[0].workload);
    let mut lines = Vec::new();
    for row in rows {
        let name = named(row, several);
        match &row.lost {
            Some(why) => lines.push(format!("{name} was not measured: {}.", plain(why))),
            None => lines.push(one(row, &name)),
        }
        let ladder = row.ladder.iter().flat_map(|ladder| &ladder.summary);
        lines.extend(ladder.map(|line| format!("{name}, closed loop: {}.", plain(line))));
        if row.lost.is_none() {
            let unsaid = row.beyond.unsaid.iter();
            lines.extend(unsaid.map(|why| format!("Not known of {name}: {}.", plain(why))));
        }
    }
    lines
}

fn named(row: &OverloadRow, several: bool) -> String {
    let name = plain(&row.contender);
    match several {
        true => format!("{name} ({})", plain(&row.workload)),
        false => name,
    }
}

fn one(row: &OverloadRow, name: &str) -> String {
    let beyond = &row.beyond;
    let does: Vec<String> = beyond.classes.iter().map(does).collect();
    let does = match does.split_last() {
        None => "shows no sign of overload".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    };
    let ended = beyond
        .classes
        .iter()
        .any(|one| one.class == OverloadClass::Crash);
    let is_ill = beyond
        .classes
        .iter()
        .any(|one| one.class == OverloadClass::Metastable);
    let goodput = beyond.goodput_at_twice.and_then(|share| share.median);
    let goodput = goodput.map_or(String::new(), |share| {
        format!(
            " At twice its capacity it gives {} % of its peak.",
            percent(share)
        )
    });
    let recovery = match (ended, beyond.recovery.as_str()) {
        (true, _) => String::new(),
        (false, "not known") => String::new(),
        (false, _) if beyond.classes.is_empty() => String::new(),
        (false, recovery) if recovery.starts_with('>') && !is_ill => {
            format!(" It was not back to normal: {recovery}.")
        }
        (false, recovery) if recovery.starts_with('>') => String::new(),
        (false, "at once") => " It recovers at once.".to_owned(),
        (false, recovery) => format!(" It recovers in {recovery}."),
    };
    let peak = beyond.peak_per_s.and_then(|peak| peak.median);
    let peak = peak.map_or(String::new(), |peak| format!(" (peak {}/s)", whole(peak)));
    let seldom: String = beyond
        .seldom
        .iter()
        .map(|seen| also(seen, beyond.rounds))
        .collect();
    format!("Beyond its capacity {name}{peak} {does}.{goodput}{recovery}{seldom}")
}

/// What fewer rounds show must not be overlooked: a server that ends once has ended.
fn also(seen: &ClassSeen, rounds: usize) -> String {
    format!(
        " In {} of {rounds} rounds it {}.",
        seen.rounds,
        seen.class.verb()
    )
}

/// `refuses connections from 150 % of the capacity on`.
fn does(seen: &ClassSeen) -> String {
    let verb = seen.class.verb();
    match seen.class {
        OverloadClass::Crash => format!("{verb} at {} %", share(seen.from_share)),
        OverloadClass::Metastable => "does not recover after the load has gone back".to_owned(),
        _ => format!("{verb} from {} % on", share(seen.from_share)),
    }
}
