//! What a search found, in sentences. Contenders are compared only where their bounds do not
//! overlap.

use bakeoff_search::{Irregular, Purpose};

use crate::find::view::{Disturbed, FoundRow, GoalFacts};
use crate::number::plain;

/// Contenders of one workload and goal that are compared in a sentence, at the most.
const COMPARED_MAX: usize = 8;

/// A sentence for each workload and goal, and one for each comparison that the bounds allow.
pub(crate) fn answer(rows: &[FoundRow]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = rows;
    let several_workloads = rows.iter().any(|row| row.workload != rows[0].workload);
    let several_searches = searches_have_a_goal_in_common(rows);
    while let Some(first) = rest.first() {
        let same = |row: &&FoundRow| (&row.workload, &row.goal) == (&first.workload, &first.goal);
        let count = rest.iter().take_while(same).count();
        let (group, more) = rest.split_at(count);
        rest = more;
        let workload = several_workloads.then(|| plain(&first.workload));
        let search = several_searches.then(|| first.goal.search.clone());
        let at: Vec<String> = workload.into_iter().chain(search).collect();
        let at = if at.is_empty() {
            String::new()
        } else {
            format!("{}: ", at.join(", "))
        };
        // The goal stands with the first, which the others follow.
        let goals = std::iter::once(Some(met(&first.goal))).chain(std::iter::repeat(None));
        let carried = group.iter().zip(goals);
        let carried: Vec<String> = carried.map(|(row, goal)| carries(row, goal)).collect();
        lines.push(format!("{at}{}.", carried.join("; ")));
        lines.extend(compared(group).map(|line| format!("{at}{line}")));
    }
    lines.extend(all_disturbed(rows, several_searches));
    lines
}

/// A sentence for each contender and search that disturbed trials count for.
fn all_disturbed(rows: &[FoundRow], several_searches: bool) -> Vec<String> {
    let (mut known, mut lines) = (Vec::new(), Vec::new());
    for row in rows {
        let search = &row.goal.search;
        let key = (&row.contender, &row.workload, search);
        // The goals of a search have their trials in common.
        if known.contains(&key) {
            continue;
        }
        known.push(key);
        lines.extend(disturbed(row).map(|line| {
            if several_searches {
                format!("{search}: {line}")
            } else {
                line
            }
        }));
    }
    lines
}

/// What the bounds rest on where too many trials were disturbed to set them all aside.
fn disturbed(row: &FoundRow) -> Option<String> {
    let Disturbed {
        of,
        trials,
        counted,
        most_by,
    } = row.behind.disturbed;
    let by = most_by.filter(|_| counted > 0)?.source();
    let (name, workload) = (plain(&row.contender), plain(&row.workload));
    Some(format!(
        "{trials} of {of} trials of {name} at {workload} were disturbed, most by {by}. {counted} \
         of them count, so it may carry more on a quiet machine."
    ))
}

/// Whether the goal does not name the search, as where two differ in their connections alone.
pub(crate) fn searches_have_a_goal_in_common(rows: &[FoundRow]) -> bool {
    rows.iter().any(|row| {
        let mut others = rows.iter();
        others.any(|it| it.goal.text == row.goal.text && it.goal.search != row.goal.search)
    })
}

/// `goal` stands with the first of several alone.
fn carries(row: &FoundRow, goal: Option<String>) -> String {
    let goal = |before: &str| {
        goal.as_ref()
            .map_or(String::new(), |it| format!("{before}{it}"))
    };
    let name = plain(&row.contender);
    let why = row
        .why
        .as_ref()
        .map_or(String::new(), |why| format!(": {}", plain(why)));
    let irregular = row.irregular;
    let named = irregular.map_or(String::new(), |it| format!(" ({}{why})", it.name()));
    let end = format!("{}{named}{}", goal(" with "), confirmation(row));
    match (row.lower_per_s, row.upper_per_s, irregular) {
        (_, _, Some(Irregular::Failed)) => format!("{name} was not measured{named}"),
        (Some(lower), Some(upper), irregular) if irregular.is_none_or(is_between) => {
            let (lower, upper) = (rate(lower), rate(upper));
            format!("{name} carries {lower} to {upper} requests/s{end}")
        }
        (Some(lower), _, _) => {
            let lower = rate(lower);
            format!("{name} carries at least {lower} requests/s{end}")
        }
        (
            None,
            Some(upper),
            Some(
                Irregular::Budget
                | Irregular::Unfinished
                | Irregular::NotConfirmed
                | Irregular::Inversion,
            ),
        ) => {
            let upper = rate(upper);
            format!("{name} carries less than {upper} requests/s{end}")
        }
        (None, _, Some(Irregular::NoLower)) => {
            let goal = goal(" of ");
            format!("{name} misses the goal{goal} at every rate tried{named}")
        }
        (None, _, Some(Irregular::TooFewRequests)) => {
            let goal = goal(" of ");
            format!("{name} is not shown to meet the goal{goal} at any rate{named}")
        }
        (None, _, _) => format!("no rate of {name} is known{end}"),
    }
}

/// Whether an upper bound is the server's, so that both bounds stand.
fn is_between(irregular: Irregular) -> bool {
    irregular != Irregular::NoUpper
}

fn confirmation(row: &FoundRow) -> String {
    // Where there is no bound to confirm, what is irregular says why.
    if row.lower_per_s.is_none() {
        return String::new();
    }
    let lowered = row.behind.lowered_from_per_s.map_or(String::new(), |from| {
        format!(
            ", lowered from {}, because trials there or below missed the goal",
            rate(from)
        )
    });
    let is_said = row.irregular == Some(Irregular::GeneratorLimited);
    let spoiled = match row.confirmed {
        Some(false) if row.behind.confirmation_spoiled && !is_said => {
            ", and the load engine was too late or too busy for longer trials to confirm it"
        }
        _ => "",
    };
    format!("{lowered}{spoiled}")
}

/// `p99 below 10 ms and at most 0.001 % failed`.
fn met(goal: &GoalFacts) -> String {
    let failed = format!("at most {} % failed", (goal.errors * 1e8).round() / 1e6);
    match (goal.quantile, goal.below_ns) {
        (Some(quantile), Some(below)) => {
            let percent = (quantile * 1e6).round() / 1e4;
            // It is what somebody asked for, so nothing of it is rounded.
            let below = below as f64 / 1e6;
            format!("p{percent} below {below} ms and {failed}")
        }
        _ => failed,
    }
}

/// Length from which a full trial shows as much as trials are usually asked for, seconds.
const FULL_S: f64 = 10.0;
/// How far above the upper bound of one search the lower bound of another search of the same server
/// is allowed to lie by chance. In simulated searches it never did.
const SEARCHES_APART: f64 = 1.05;
/// The same where full trials are shorter. By chance alone the bounds of five searches with trials
/// of 2 s then lie up to 5.4 % apart.
const SHORT_SEARCHES_APART: f64 = 1.08;

/// How far, as a factor, the bounds of another search of the same server may lie from these.
pub(crate) fn searches_apart(row: &FoundRow) -> f64 {
    let own = row.trials.iter().filter(|it| it.purpose == Purpose::Search);
    // Bounds rest on full trials, which are the longest.
    match own.map(|it| it.length_s).reduce(f64::max) {
        Some(full_s) if full_s >= FULL_S => SEARCHES_APART,
        _ => SHORT_SEARCHES_APART,
    }
}

/// A rate with four digits, and its thousands apart.
pub(crate) fn rate(rate: f64) -> String {
    match rate {
        rate if rate >= 1000.0 => crate::number::whole(rate),
        rate => format!("{rate}"),
    }
}

/// A comparison of each contender with the next lower one, where the bounds leave no doubt.
fn compared(group: &[FoundRow]) -> impl Iterator<Item = String> {
    let mut known: Vec<&FoundRow> = group
        .iter()
        .filter(|row| !matches!(row.irregular, Some(Irregular::Inversion)))
        .filter(|row| sure_lower(row).or(row.upper_per_s).is_some())
        .collect();
    // One without a lower bound comes last: nothing carries more than it does for certain.
    let lower = |row: &FoundRow| sure_lower(row).unwrap_or(0.0);
    known.sort_by(|left, right| lower(right).total_cmp(&lower(left)));
    let pairs: Vec<String> = known
        .windows(2)
        .filter_map(|pair| pair_of(pair[0], pair[1]))
        .take(COMPARED_MAX)
        .collect();
    pairs.into_iter()
}

/// A lower bound that longer trials did not refute. That the load engine spoiled them refutes
/// nothing: its lateness is in the latencies, and the trials of the search met the goal with it.
fn sure_lower(row: &FoundRow) -> Option<f64> {
    let is_sure = row.behind.held != Some(false) || row.behind.confirmation_spoiled;
    row.lower_per_s.filter(|_| is_sure)
}

/// `None` where a bound is missing and the others show nothing.
fn pair_of(more: &FoundRow, less: &FoundRow) -> Option<String> {
    let (name, other) = (plain(&more.contender), plain(&less.contender));
    let between = sure_lower(more).zip(less.upper_per_s);
    let beyond = more.upper_per_s.zip(sure_lower(less));
    let (lower, upper) = between?;
    let text = if lower <= upper {
        beyond?;
        format!("The bounds of {name} and {other} overlap: no difference is shown.")
    } else if lower <= upper * searches_apart(more).max(searches_apart(less)) {
        let apart = (lower / upper - 1.0) * 100.0;
        format!(
            "The bounds of {name} and {other} are {apart:.1} % apart, which two searches of one \
             server may be: no difference is shown."
        )
    } else {
        let ratio = lower / upper;
        match beyond {
            Some((most, least)) => {
                let most = most / least;
                format!("{name} carries {ratio:.2} to {most:.2} times as much as {other}.")
            }
            None => format!("{name} carries at least {ratio:.2} times as much as {other}."),
        }
    };
    Some(text)
}

/// How far the bounds of each row can be trusted.
pub(crate) fn trust(rows: &[FoundRow]) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.007 % was 0.007000000000000001 %, and 12.34 ms were 12.3 ms.
    #[test]
    fn a_goal_is_named_as_it_was_asked_for() {
        let rows = [
            (
                12_340_000,
                0.000_07,
                "p99 below 12.34 ms and at most 0.007 % failed",
            ),
            (
                10_000_000,
                0.000_01,
                "p99 below 10 ms and at most 0.001 % failed",
            ),
            (250_000, 0.005, "p99 below 0.25 ms and at most 0.5 % failed"),
        ];
        for (below_ns, errors, text) in rows {
            let goal = GoalFacts {
                search: "search".to_owned(),
                text: String::new(),
                quantile: Some(0.99),
                below_ns: Some(below_ns),
                errors,
            };
            assert_eq!(met(&goal), text);
        }
    }
}
