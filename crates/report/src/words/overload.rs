//! What servers do beyond their capacity, in sentences.

use bakeoff_audit::list;
use bakeoff_audit::overload::{ClassSeen, OverloadClass, Recovery};

use crate::number::{plain, share, whole};
use crate::overload::view::OverloadRow;
use crate::view::Tone;
use crate::words;

/// One sentence for each contender, then what cannot be said of it, and its ladder.
pub(crate) fn answer(rows: &[OverloadRow]) -> Vec<(Tone, String)> {
    let mut lines = Vec::new();
    for row in rows {
        let name = named(row, rows);
        let why = undecided(row);
        lines.push(match &row.lost {
            Some(why) => (
                Tone::Note,
                format!("{name} was not measured: {}.", plain(why)),
            ),
            None => one(row, &name, why.as_deref()),
        });
        if let Some(ladder) = &row.ladder {
            // Rungs that were not measured come last.
            let lost = ladder.rungs.iter().filter(|rung| rung.rounds == 0).count();
            let known = ladder.summary.len().saturating_sub(lost);
            for (place, line) in ladder.summary.iter().enumerate() {
                let tone = if place < known {
                    Tone::Good
                } else {
                    Tone::Note
                };
                lines.push((tone, format!("{name}, closed loop: {}.", plain(line))));
            }
        }
        let own = row.own_limit.iter();
        lines.extend(own.map(|limit| (Tone::Good, format!("{name}: {}.", plain(limit)))));
        if row.lost.is_none() {
            // The first one is in the sentence already where nothing was seen.
            let unsaid = row.beyond.unsaid.iter().skip(usize::from(why.is_some()));
            let line = |why: String| format!("Not known of {name}: {}.", plain(&why));
            lines.extend(unsaid.map(|why| (Tone::Note, line(why.to_string()))));
        }
    }
    lines
}

/// The contender, with the workload and the overload where there are several.
pub(crate) fn named(row: &OverloadRow, rows: &[OverloadRow]) -> String {
    let has_several_workloads = rows.iter().any(|it| it.workload != row.workload);
    let workload = (has_several_workloads, &row.workload);
    words::named(
        &row.contender,
        [workload, (has_several(rows), &row.overload)],
    )
}

/// Whether a contender goes through several overloads at a workload.
pub(crate) fn has_several(rows: &[OverloadRow]) -> bool {
    rows.iter().any(|row| row.overload != rows[0].overload)
}

/// Why it cannot be said whether the contender shows any sign of overload; `None` where it can.
pub(crate) fn undecided(row: &OverloadRow) -> Option<String> {
    let why = row.beyond.unsaid.first()?;
    row.beyond.classes.is_empty().then(|| why.of_no_class())
}

fn one(row: &OverloadRow, name: &str, undecided: Option<&str>) -> (Tone, String) {
    let beyond = &row.beyond;
    let does = if beyond.classes.is_empty() {
        "shows no sign of overload".to_owned()
    } else {
        list(&does(&beyond.classes))
    };
    let has = |class| beyond.classes.iter().any(|one| one.class == class);
    let is_ill = has(OverloadClass::Metastable);
    // A server that ended for good is one that never recovers.
    let middle = beyond.recovery.map(|it| it.middle);
    let ended = has(OverloadClass::Crash) && middle == Some(Recovery::Never);
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
    let is_said = !ended && !beyond.classes.is_empty();
    let recovery = beyond.recovery.filter(|_| is_said);
    let recovery = recovery.map_or(String::new(), |it| match (it.middle, it.range_text()) {
        (Recovery::Never, range) if range.is_empty() => " It does not recover.".to_owned(),
        (Recovery::Never, range) => {
            format!(" In half of the rounds or more it does not recover{range}.")
        }
        (Recovery::NotWithin { .. }, _) if is_ill => String::new(),
        (Recovery::NotWithin { seconds }, range) => {
            format!(" It was not back to normal within {seconds:.0} s{range}.")
        }
        (after, _) if after.is_at_once() => format!(" It recovers {}.", it.text()),
        (Recovery::After { .. }, _) => format!(" It recovers in {}.", it.text()),
    });
    let peak = beyond.peak_per_s.and_then(|peak| peak.median);
    let peak = peak.map_or(String::new(), |peak| format!(" (peak {}/s)", whole(peak)));
    let seldom: String = beyond
        .seldom
        .iter()
        .map(|seen| also(seen, beyond.rounds))
        .collect();
    let (tone, said) = match undecided {
        Some(why) => {
            let why = plain(why);
            let said = format!("What {name}{peak} does beyond its capacity cannot be said: {why}.");
            (Tone::Note, said)
        }
        None => {
            let is_below = beyond.classes.iter().any(|one| one.step == 0);
            let at = if is_below {
                "Below its capacity already"
            } else {
                "Beyond its capacity"
            };
            (Tone::Good, format!("{at} {name}{peak} {does}."))
        }
    };
    (tone, format!("{said}{back}{goodput}{recovery}{seldom}"))
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
