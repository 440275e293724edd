//! What two contenders of one server say differently in their configurations.

use std::collections::BTreeMap;

use bakeoff_record::{ConfigChange, ConfigFile, ContenderKind, Record, ServerFacts, TrialRecord};
use diffy::{DiffOptions, Line};
use schemars::JsonSchema;
use serde::Serialize;

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;

/// The configurations of two contenders of one server, line by line.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConfigDiff {
    /// Folder name of the server.
    pub server: String,
    /// Workloads at which they differ so.
    pub workloads: Vec<String>,
    /// The contender whose lines are marked `-`.
    pub first: String,
    /// The contender whose lines are marked `+`.
    pub second: String,
    /// Lines that only one of them has.
    pub changed: usize,
    /// Unified diff, as at the first of the workloads. Ports and folders that bakeoff filled in
    /// stand as `{{ port }}`.
    pub text: String,
}

/// Pairs in the plan's order; those that are equal are left out.
pub(super) fn draw(record: &Record) -> Vec<ConfigDiff> {
    let mut diffs: Vec<ConfigDiff> = Vec::new();
    let names: Vec<&String> = record.plan.contenders.iter().map(|one| &one.name).collect();
    for (index, first) in names.iter().enumerate() {
        for second in &names[index + 1..] {
            for workload in &record.plan.workloads {
                let trial = |name: &str| used(record, name, &workload.name);
                let Some((left, right)) = trial(first).zip(trial(second)) else {
                    continue;
                };
                let Some(diff) = compare(left, right) else {
                    continue;
                };
                let pair = |one: &&mut ConfigDiff| {
                    one.first == diff.first && one.second == diff.second && is_same(one, &diff)
                };
                match diffs.iter_mut().find(pair) {
                    Some(known) => known.workloads.extend(diff.workloads),
                    None => diffs.push(diff),
                }
            }
        }
    }
    diffs
}

/// Whether the same lines differ; what stands around them may not be the same.
fn is_same(one: &ConfigDiff, other: &ConfigDiff) -> bool {
    let changes = |diff: &ConfigDiff| -> Vec<String> {
        let lines = diff
            .text
            .lines()
            .filter(|line| line.starts_with(['+', '-']));
        lines.map(str::to_owned).collect()
    };
    changes(one) == changes(other)
}

/// The contender's first trial of the workload whose configuration is known.
fn used<'r>(record: &'r Record, contender: &str, workload: &str) -> Option<&'r TrialRecord> {
    record.trials.iter().find(|trial| {
        trial.kind == ContenderKind::Contender
            && trial.contender == contender
            && trial.workload == workload
            && trial
                .server
                .as_ref()
                .is_some_and(|it| !it.configs.is_empty())
    })
}

fn compare(left: &TrialRecord, right: &TrialRecord) -> Option<ConfigDiff> {
    let (old, new) = (left.server.as_ref()?, right.server.as_ref()?);
    if old.server != new.server {
        return None;
    }
    let (old, new) = (as_written(old), as_written(new));
    let mut options = DiffOptions::new();
    options
        .set_context_len(CONTEXT)
        .set_original_filename(left.contender.clone())
        .set_modified_filename(right.contender.clone());
    let patch = options.create_patch(&old, &new);
    let lines = patch.hunks().iter().flat_map(|hunk| hunk.lines());
    let changed = lines
        .filter(|line| !matches!(line, Line::Context(_)))
        .count();
    (changed > 0).then(|| ConfigDiff {
        server: right
            .server
            .as_ref()
            .map_or(String::new(), |it| it.server.clone()),
        workloads: vec![left.workload.clone()],
        first: left.contender.clone(),
        second: right.contender.clone(),
        changed,
        text: patch.to_string(),
    })
}

/// What the configuration says without what bakeoff did to it for the trial.
fn as_written(server: &ServerFacts) -> String {
    let file = |config: &ConfigFile| {
        let text = unchanged(&config.text, &server.config_changes);
        with_variables(&text, &config.filled)
    };
    server.configs.iter().map(file).collect()
}

/// The text with a user's own lines back in the place of those that were changed, which stand in
/// their order.
fn unchanged(used: &str, changes: &[ConfigChange]) -> String {
    let mut text = String::new();
    let mut rest = used;
    for change in changes {
        let after = format!("{}\n", change.after);
        if let Some(at) = rest.find(&after) {
            text += &format!("{}{}\n", &rest[..at], change.before);
            rest = &rest[at + after.len()..];
        }
    }
    text + rest
}

/// The text with the template's variables back in the place of what was filled in.
pub(super) fn with_variables(text: &str, filled: &BTreeMap<String, String>) -> String {
    let mut values: Vec<(&String, &String)> = filled.iter().collect();
    // A folder may hold another, and an address a port.
    values.sort_by_key(|(name, value)| (std::cmp::Reverse(value.len()), *name));
    let mut text = text.to_owned();
    for (name, value) in values {
        text = replaced(&text, value, &format!("{{{{ {name} }}}}"));
    }
    text
}

/// Replaces a value where it is not a part of a longer number.
fn replaced(text: &str, value: &str, by: &str) -> String {
    if value.is_empty() {
        return text.to_owned();
    }
    let is_digit = |one: Option<char>| one.is_some_and(|one| one.is_ascii_digit());
    let ends_in_digit = is_digit(value.chars().next_back());
    let begins_in_digit = is_digit(value.chars().next());
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(value) {
        let (before, after) = (&rest[..at], &rest[at + value.len()..]);
        let is_part = begins_in_digit && is_digit(before.chars().next_back())
            || ends_in_digit && is_digit(after.chars().next());
        out.push_str(before);
        out.push_str(if is_part { value } else { by });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_in_is_taken_out_again() {
        let filled = [
            ("port", "80"),
            ("origin", "127.0.0.1:8081"),
            ("run", "/t/trial-1-2/run"),
        ];
        let filled = filled.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let text = "listen 127.0.0.1:80; pass 127.0.0.1:8081; keep 1800; pid /t/trial-1-2/run/p;";
        let expected = "listen 127.0.0.1:{{ port }}; pass {{ origin }}; keep 1800; \
                        pid {{ run }}/p;";
        assert_eq!(with_variables(text, &filled.into()), expected);
    }

    #[test]
    fn lines_of_a_user_stand_as_they_were() {
        let change = |before: &str, after: &str| ConfigChange {
            file: "nginx.conf".into(),
            line: 1,
            before: before.into(),
            after: after.into(),
            why: String::new(),
        };
        let changes = [
            change("listen 80;", "listen 127.0.0.1:4001;"),
            change("of another file", "changed there"),
            change("pid /run/p;", "pid /t/p;\n# twice"),
        ];
        let used = "http {\nlisten 127.0.0.1:4001;\n}\npid /t/p;\n# twice\n";
        let expected = "http {\nlisten 80;\n}\npid /run/p;\n";
        assert_eq!(unchanged(used, &changes), expected);
    }
}
