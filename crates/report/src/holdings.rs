//! What a record holds that somebody may not want to give away, in one line.

use std::collections::BTreeSet;

use bakeoff_audit::list;

use crate::number::{count, counted, plain};
use crate::redaction::Redacted;

/// Names that the line lists before it only counts.
const NAMES_MOST: usize = 4;

/// What texts of configuration files and values of headers the record holds, and how many values
/// of them are taken for secrets; `None` where it holds none.
pub fn holdings(redacted: &Redacted) -> Option<String> {
    let record = redacted.record();
    let mut files = BTreeSet::new();
    let mut sent = BTreeSet::new();
    for trial in &record.trials {
        for config in trial.server.iter().flat_map(|server| &server.configs) {
            // Below the folder of its trial, a file has the same path in every round.
            let path = config.path.split_once(trial.id.as_str());
            let path = path.map_or(config.path.as_str(), |(_, path)| path);
            files.insert((&trial.contender, path.trim_start_matches('/')));
        }
        let headers = trial.answers.iter().flat_map(|answer| &answer.headers);
        sent.extend(headers.map(|(name, _)| name.to_ascii_lowercase()));
    }
    let requests = record
        .plan
        .workloads
        .iter()
        .flat_map(|it| it.requests.iter());
    let asked = requests.flat_map(|request| &request.headers);
    let asked: BTreeSet<&str> = asked.map(|(name, _)| name.as_str()).collect();
    let names: BTreeSet<&str> = files.iter().map(|(_, path)| *path).collect();
    let secrets = match redacted.secrets() {
        0 => "no value in it looks secret".to_owned(),
        1 => "1 value looks secret and is hidden in reports".to_owned(),
        n => format!(
            "{} values look secret and are hidden in reports",
            count(n as u64)
        ),
    };
    let kinds = [
        (
            files.len(),
            "the text of ",
            "configuration file",
            listed(&names),
        ),
        (asked.len(), "", "request header", listed(&asked)),
        (sent.len(), "", "header", " of answers".to_owned()),
    ];
    let held = kinds.into_iter().filter(|(n, ..)| *n > 0);
    let held = held.map(|(n, of, noun, which)| format!("{of}{}{which}", counted(n as u64, noun)));
    let held: Vec<String> = held.collect();
    (!held.is_empty()).then(|| format!("the record holds {}; {secrets}", list(&held)))
}

/// ` (a, b and 3 more)`; nothing where there is no name.
fn listed(names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = names
        .iter()
        .take(NAMES_MOST)
        .map(|name| plain(name))
        .collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(" ({}{more})", shown.join(", "))
}
