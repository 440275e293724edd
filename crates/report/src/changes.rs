//! Changes of users' own configurations, in lines that the formats share.

use bakeoff_plan::grouped;
use bakeoff_record::ConfigChange;

use crate::number::{counted, plain};
use crate::view::ConfigChanges;

/// How many lines were changed in whose configuration.
pub(crate) fn title(one: &ConfigChanges) -> String {
    format!(
        "{} ({}): {} of its own files changed for a trial",
        plain(&one.contender),
        plain(&one.server),
        counted(one.changes.len() as u64, "line")
    )
}

/// A line for each reason, with the places that were changed for it.
pub(crate) fn by_reason(one: &ConfigChanges) -> Vec<String> {
    let reasons = grouped(one.changes.iter().map(|change| (&change.why, change)));
    let line = |(why, here): (&String, Vec<&ConfigChange>)| {
        format!("{}: {}", plain(why), places(here.into_iter()))
    };
    reasons.into_iter().map(line).collect()
}

/// `nginx.conf:3,7 sites/www.conf:1`.
fn places<'c>(changes: impl Iterator<Item = &'c ConfigChange>) -> String {
    let mut places = String::new();
    let mut file = None;
    for change in changes {
        if file == Some(&change.file) {
            places.push_str(&format!(",{}", change.line));
            continue;
        }
        let gap = if file.is_some() { " " } else { "" };
        places.push_str(&format!("{gap}{}:{}", plain(&change.file), change.line));
        file = Some(&change.file);
    }
    places
}

/// Every change as in a diff: its place and reason, the line before, and what stands there now.
pub(crate) fn lines(one: &ConfigChanges) -> Vec<String> {
    let mut lines = Vec::new();
    for change in &one.changes {
        let place = format!("{}:{} ({})", change.file, change.line, change.why);
        lines.push(plain(&place));
        lines.push(format!("- {}", plain(&change.before)));
        // What was left out has nothing in its place.
        let after = change.after.lines().filter(|it| !it.trim().is_empty());
        lines.extend(after.map(|line| format!("+ {}", plain(line))));
    }
    lines
}
