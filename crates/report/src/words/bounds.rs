//! How far the bounds of a search can be trusted: each by itself, with its reasons.

use bakeoff_search::{Found, Irregular, Tally};
use serde::Serialize;

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

/// Weighs what was found, of which so many trials count although they were disturbed.
pub(crate) fn weigh(found: &Found, disturbed: usize) -> BoundsTrust {
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
        Some(_) if disturbed > 0 => Some(format!("{disturbed} disturbed trials count")),
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
