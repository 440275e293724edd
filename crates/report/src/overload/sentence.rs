//! The answer in sentences.

use bakeoff_audit::overload::{ClassSeen, OverloadClass};

use super::view::OverloadRow;
use crate::number::{plain, share, whole};

/// One sentence for each contender, then what cannot be said of it, and its ladder.
pub(super) fn answer(rows: &[OverloadRow]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        let name = named(row, rows);
        match &row.lost {
            Some(why) => lines.push(format!("{name} was not measured: {}.", plain(why))),
            None => lines.push(one(row, &name)),
        }
        let ladder = row.ladder.iter().flat_map(|ladder| &ladder.summary);
        lines.extend(ladder.map(|line| format!("{name}, closed loop: {}.", plain(line))));
        if row.lost.is_none() {
            // The first one is in the sentence already where nothing was seen.
            let unsaid = row.beyond.unsaid.iter();
            let unsaid = unsaid.skip(usize::from(undecided(row).is_some()));
            lines.extend(unsaid.map(|why| format!("Not known of {name}: {}.", plain(why))));
        }
    }
    lines
}

/// The contender, with the workload and the overload where there are several.
pub(super) fn named(row: &OverloadRow, rows: &[OverloadRow]) -> String {
    let workload = rows.iter().any(|it| it.workload != row.workload);
    let workload = workload.then(|| plain(&row.workload));
    let overload = has_several(rows).then(|| plain(&row.overload));
    let at: Vec<String> = workload.into_iter().chain(overload).collect();
    let name = plain(&row.contender);
    match at.is_empty() {
        true => name,
        false => format!("{name} ({})", at.join(", ")),
    }
}

/// Whether a contender goes through several overloads at a workload.
pub(super) fn has_several(rows: &[OverloadRow]) -> bool {
    rows.iter().any(|row| row.overload != rows[0].overload)
}

/// Why it cannot be said whether the contender shows any sign of overload; `None` where it can.
pub(super) fn undecided(row: &OverloadRow) -> Option<&str> {
    let why = row.beyond.unsaid.first()?;
    let is_empty = row.beyond.classes.is_empty();
    is_empty.then(|| why.trim_start_matches("no class: "))
}

/// Whether a line of the answer says what is not known.
pub(super) fn is_unknown(line: &str) -> bool {
    line.starts_with("Not known") || line.contains("not measured") || line.contains(CANNOT_SAY)
}

/// What stands in a sentence that cannot say what a contender does.
const CANNOT_SAY: &str = "cannot be said";

fn one(row: &OverloadRow, name: &str) -> String {
    let beyond = &row.beyond;
    let mut by_step: Vec<&ClassSeen> = beyond.classes.iter().collect();
    by_step.sort_by_key(|seen| seen.step);
    let does: Vec<String> = by_step.into_iter().map(does).collect();
    let does = match does.split_last() {
        None => "shows no sign of overload".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    };
    let has = |class| beyond.classes.iter().any(|one| one.class == class);
    let is_ill = has(OverloadClass::Metastable);
    // A server that ended for good is one that never recovers.
    let ended = has(OverloadClass::Crash) && beyond.recovery.starts_with("never");
    let back = match has(OverloadClass::Crash) && !ended {
        true => " It comes back after that.",
        false => "",
    };
    let goodput = beyond.goodput_at_twice.and_then(|share| share.median);
    let goodput = goodput.map_or(String::new(), |of_peak| {
        format!(
            " At twice its capacity it gives {} % of its peak.",
            share(of_peak)
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
        (false, recovery) if recovery.starts_with("at once") => format!(" It recovers {recovery}."),
        (false, "never") => " It does not recover.".to_owned(),
        (false, recovery) => match recovery.strip_prefix("never") {
            Some(range) => format!(" In half of the rounds or more it does not recover{range}."),
            None => format!(" It recovers in {recovery}."),
        },
    };
    let peak = beyond.peak_per_s.and_then(|peak| peak.median);
    let peak = peak.map_or(String::new(), |peak| format!(" (peak {}/s)", whole(peak)));
    let seldom: String = beyond
        .seldom
        .iter()
        .map(|seen| also(seen, beyond.rounds))
        .collect();
    let said = match undecided(row) {
        Some(why) => {
            let why = plain(why);
            format!("What {name}{peak} does beyond its capacity {CANNOT_SAY}: {why}.")
        }
        None => {
            let is_below = beyond.classes.iter().any(|one| one.step == 0);
            let at = match is_below {
                true => "Below its capacity already",
                false => "Beyond its capacity",
            };
            format!("{at} {name}{peak} {does}.")
        }
    };
    format!("{said}{back}{goodput}{recovery}{seldom}")
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
