//! Header by header: who sends one that the others do not, and where values differ.
//!
//! Neither makes a comparison unfair; a few bytes more are a fact that the reader may want.

use std::collections::BTreeSet;

use super::{Class, Equivalence, FactRow, Side, before, shortened};

/// Headers whose values say when or how long, not what the server does.
const PASSING: [&str; 8] = [
    "age",
    "content-encoding",
    "content-length",
    "date",
    "etag",
    "expires",
    "last-modified",
    "set-cookie",
];

/// Adds a row of header names that not all send, and one for each value that differs.
pub(super) fn add(table: &mut Equivalence, sides: &[Side<'_>]) {
    let names: Vec<BTreeSet<String>> = sides.iter().map(names).collect();
    let all: BTreeSet<&String> = names.iter().flatten().collect();
    let (common, partial): (Vec<&String>, Vec<&String>) = all
        .into_iter()
        .partition(|name| names.iter().all(|sent| sent.contains(*name)));
    if !partial.is_empty() {
        let own = |sent: &BTreeSet<String>| {
            let own: Vec<&str> = partial
                .iter()
                .filter(|name| sent.contains(**name))
                .map(|name| name.as_str())
                .collect();
            let own = if own.is_empty() {
                "none of these".to_owned()
            } else {
                own.join(", ")
            };
            Some(shortened(&own))
        };
        table.rows.push(FactRow {
            fact: "header-names".to_owned(),
            title: "headers not sent by all".to_owned(),
            class: Class::Differs,
            values: names.iter().map(own).collect(),
        });
    }
    for name in common {
        if PASSING.contains(&name.as_str()) {
            continue;
        }
        let values: Option<Vec<String>> = sides.iter().map(|side| stable(side, name)).collect();
        let Some(values) = values.filter(|values| values.iter().any(|one| *one != values[0]))
        else {
            continue;
        };
        table.rows.push(FactRow {
            fact: format!("header:{name}"),
            title: format!("header {name}"),
            class: Class::Differs,
            values: values.iter().map(|value| Some(shortened(value))).collect(),
        });
    }
}

fn names(side: &Side<'_>) -> BTreeSet<String> {
    let answer = side.trials.iter().find_map(|trial| before(trial));
    let headers = answer.map(|answer| answer.headers.iter());
    let names = headers.into_iter().flatten();
    names.map(|(name, _)| name.to_ascii_lowercase()).collect()
}

/// The header's value, if it is the same in every answer.
fn stable(side: &Side<'_>, name: &str) -> Option<String> {
    let answers = side.trials.iter().flat_map(|trial| &trial.answers);
    let mut headers = answers
        .flat_map(|answer| &answer.headers)
        .filter(|(key, _)| key.eq_ignore_ascii_case(name));
    let (_, first) = headers.next()?;
    headers
        .all(|(_, value)| value == first)
        .then(|| first.clone())
}
