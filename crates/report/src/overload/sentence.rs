//! The answer in sentences.

use bakeoff_audit::list;
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
        let own = row.own_limit.iter();
        lines.extend(own.map(|limit| format!("{name}: {}.", plain(limit))));
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
    if at.is_empty() {
        name
    } else {
        format!("{name} ({})", at.join(", "))
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
    let does = if beyond.classes.is_empty() {
        "shows no sign of overload".to_owned()
    } else {
        list(&does(&beyond.classes))
    };
    let has = |class| beyond.classes.iter().any(|one| one.class == class);
    let is_ill = has(OverloadClass::Metastable);
    // A server that ended for good is one that never recovers.
    let ended = has(OverloadClass::Crash) && beyond.recovery.starts_with("never");
    let back = if has(OverloadClass::Crash) && !ended {
        " It comes back after that."
    } else {
        ""
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
        (false, recovery) if recovery.starts_with("at once") => format!(" It recovers {recovery}."),
        (false, "never") => " It does not recover.".to_owned(),
        (false, recovery) => match (recovery.strip_prefix("> "), recovery.strip_prefix("never")) {
            (Some(_), _) if is_ill => String::new(),
            (Some(within), _) => format!(" It was not back to normal within {within}."),
            (_, Some(range)) => {
                format!(" In half of the rounds or more it does not recover{range}.")
            }
            (None, None) => format!(" It recovers in {recovery}."),
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
            let at = if is_below {
                "Below its capacity already"
            } else {
                "Beyond its capacity"
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

/// What it does, in the order of the steps: `refuses connections and slows down from 150 % on`.
fn does(classes: &[ClassSeen]) -> Vec<String> {
    let mut by_step: Vec<&ClassSeen> = classes.iter().collect();
    by_step.sort_by_key(|seen| seen.step);
    let is_apart =
        |seen: &ClassSeen| matches!(seen.class, OverloadClass::Crash | OverloadClass::Metastable);
    let together = |one: &&ClassSeen, next: &&ClassSeen| {
        one.step == next.step && !is_apart(one) && !is_apart(next)
    };
    let clause = |seen: &[&ClassSeen]| {
        let verbs: Vec<&str> = seen.iter().map(|one| one.class.verb()).collect();
        let (verbs, from) = (list(&verbs), share(seen[0].from_share));
        match seen[0].class {
            OverloadClass::Crash => format!("{verbs} at {from} %"),
            OverloadClass::Metastable => "does not recover after the load has gone back".to_owned(),
            _ => format!("{verbs} from {from} % on"),
        }
    };
    by_step.chunk_by(together).map(clause).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_begin_in_one_step_share_it() {
        let seen = |class, step, from_share| ClassSeen {
            class,
            rounds: 1,
            step,
            from_share,
            evidence: String::new(),
        };
        let queue = seen(OverloadClass::Queue, 1, 1.1);
        let unanswered = seen(OverloadClass::Drop, 1, 1.1);
        let collapse = seen(OverloadClass::Collapse, 3, 2.0);
        let crash = seen(OverloadClass::Crash, 3, 2.0);
        assert_eq!(
            list(&does(&[
                unanswered.clone(),
                queue.clone(),
                collapse.clone()
            ])),
            "leaves connections unanswered and slows down from 110 % on and collapses from 200 % on"
        );
        assert_eq!(
            list(&does(&[unanswered, queue, collapse, crash])),
            "leaves connections unanswered and slows down from 110 % on, collapses from 200 % on \
             and crashes at 200 %"
        );
    }
}
