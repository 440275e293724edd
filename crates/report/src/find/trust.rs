//! How far the bounds of a search can be trusted: each by itself, with its reasons.

use bakeoff_search::{Found, Irregular, Tally};
use serde::Serialize;

use super::view::{Disturbed, FoundRow};
use crate::number::plain;

/// How far the bounds of a contender can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundsTrust {
    /// Whether the server carries the lower one: longer trials confirmed it, and no trial at or
    /// below it missed the goal.
    pub lower: bool,
    /// Whether it does not carry the upper one.
    pub upper: bool,
    /// What speaks for the lower bound and against either, in parts of a sentence.
    pub reasons: Vec<String>,
}

/// Weighs what was found. `disturbed` is of the trials that bounds may rest on.
pub(super) fn weigh(found: &Found, disturbed: Disturbed) -> BoundsTrust {
    let standing = found.standing;
    let lower = found.confirmed == Some(true);
    let unconfirmed = match found.held {
        _ if standing.lower_per_s.is_none() => Some("there is no lower bound".to_owned()),
        None => Some("no longer trials confirmed the lower bound".to_owned()),
        Some(false) if found.is_confirmation_spoiled => Some(
            "the load engine was too late or too busy in the trials that confirm it".to_owned(),
        ),
        Some(false) => Some("longer trials did not confirm the lower bound".to_owned()),
        Some(true) => None,
    };
    let doubt = match standing.upper_per_s {
        None => Some("there is no upper bound".to_owned()),
        Some(_) if found.irregular == Some(Irregular::Inversion) => {
            Some("a rate above one that missed the goal met it".to_owned())
        }
        Some(_) if disturbed.counted > 0 => {
            Some(format!("{} disturbed trials count", disturbed.counted))
        }
        Some(_) => None,
    };
    let upper = doubt.is_none();
    let all = [unconfirmed, counted(found.tally), doubt];
    BoundsTrust {
        lower,
        upper,
        reasons: all.into_iter().flatten().collect(),
    }
}

/// The trials at or below a lower bound, with those that missed the goal.
fn counted(tally: Tally) -> Option<String> {
    let Tally {
        of,
        missed,
        set_aside,
        set_aside_missed,
    } = tally;
    let what = match (missed, set_aside_missed, set_aside) {
        _ if of == 0 => return None,
        (0, 0, 0) => format!("all {of} trials at or below the lower bound met the goal"),
        (0, 0, aside) => format!(
            "all {of} trials at or below the lower bound met the goal, with {aside} that were set \
             aside as disturbed"
        ),
        (short, aside, _) => {
            let short = (short > 0).then(|| format!("{short} of them short"));
            let aside = (aside > 0).then(|| format!("{aside} of them set aside as disturbed"));
            let kinds: Vec<String> = short.into_iter().chain(aside).collect();
            format!(
                "{} of {of} trials at or below the lower bound missed the goal, {}",
                tally.all_missed(),
                kinds.join(" and ")
            )
        }
    };
    Some(what)
}

/// A line for each row.
pub(super) fn lines(rows: &[FoundRow]) -> Vec<String> {
    let word = |is: bool| if is { "yes" } else { "no" };
    let differ = |of: fn(&FoundRow) -> &str| rows.iter().any(|row| of(row) != of(&rows[0]));
    let (workloads, goals) = (differ(|row| &row.workload), differ(|row| &row.goal.text));
    let line = |row: &FoundRow| {
        let workload = workloads.then_some(&row.workload);
        let goal = goals.then_some(&row.goal.text);
        let names = [Some(&row.contender), workload, goal].into_iter().flatten();
        let names: Vec<String> = names.map(|name| plain(name)).collect();
        let trust = &row.trust;
        format!(
            "{}: lower bound {}, upper bound {}: {}",
            names.join(", "),
            word(trust.lower),
            word(trust.upper),
            trust.reasons.join("; ")
        )
    };
    rows.iter().map(line).collect()
}
