//! The file of an invented machine: what every server does, what one does that is named, and what
//! it does in some trials only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bakeoff_plan::{Change, Pinning};
use bakeoff_record::{Outcome, When};
use serde::Deserialize;
use toml::{Table, Value};

use super::changed::Changed;
use crate::roles::{Roles, RolesError, RolesHere};

/// Why there is no invented machine.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The file cannot be read.
    #[error("failed to read {0}: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// It is none of an invented machine.
    #[error("{0} describes no invented machine: {1}")]
    Wrong(PathBuf, toml::de::Error),
    /// Its processors cannot be divided.
    #[error(transparent)]
    Roles(RolesError),
}

/// An invented machine with its servers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct World {
    /// Processors.
    pub(super) processors: usize,
    /// Files that a server may open.
    pub(super) open_files: Option<u64>,
    /// Loads after which somebody stops the campaign, in the next one.
    pub(super) stop_after: Option<u32>,
    /// What every server does.
    server: Table,
    /// What a contender does otherwise, by its name; `yardstick` and `origin` are names, too.
    contender: BTreeMap<String, Table>,
    /// What is otherwise in trials whose ids match `id`, in which `*` is any text.
    trial: Vec<Table>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            processors: 4,
            open_files: None,
            stop_after: None,
            server: Table::new(),
            contender: BTreeMap::new(),
            trial: Vec::new(),
        }
    }
}

/// What a server does in a trial.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Server {
    /// Right answers per second in a closed loop, and the most in an open one.
    pub(super) rate: f64,
    /// Standard deviation of that from trial to trial, as a share.
    pub(super) noise: f64,
    pub(super) latency: Latency,
    /// What it does with more requests than it can answer.
    pub(super) beyond: Beyond,
    /// Share of the requests that end otherwise than `ok`, by outcome.
    pub(super) failing: BTreeMap<Outcome, f64>,
    pub(super) answer: Answer,
    pub(super) fate: Fate,
    pub(super) usage: Used,
    pub(super) machine: Disturbed,
    pub(super) work: Worked,
    /// What an action costs its clients.
    pub(super) change: Changed,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            rate: 10_000.0,
            noise: 0.002,
            latency: Latency::default(),
            beyond: Beyond::default(),
            failing: BTreeMap::new(),
            answer: Answer::default(),
            fate: Fate::default(),
            usage: Used::default(),
            machine: Disturbed::default(),
            work: Worked::default(),
            change: Changed::default(),
        }
    }
}

/// How long answers take. In a closed loop their mean follows from the rate.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Latency {
    /// Mean of a server with nothing else to do, milliseconds.
    pub(super) mean_ms: f64,
    /// Spread: sigma of their logarithm.
    pub(super) spread: f64,
    /// Share of them that take longer, and how many times as long: a heavy tail or a second mode.
    pub(super) slow: (f64, f64),
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            mean_ms: 0.5,
            spread: 0.3,
            slow: (0.004, 3.0),
        }
    }
}

/// What a server does with more requests than it can answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Beyond {
    /// They wait.
    #[default]
    Queue,
    /// It has no such limit.
    Hold,
    /// Their connections are refused.
    Refuse,
    /// They are answered with status 503.
    Shed,
    /// It ends.
    Crash,
    /// They wait, and from then on it is slow.
    Stick,
}

/// What it answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Answer {
    /// Body, where the plan does not say what is right.
    pub(super) body: String,
    /// Status, where the plan does not say what is right.
    pub(super) status: u16,
    /// Whether its body is another one each time, where the plan does not say what is right.
    pub(super) changes: bool,
    /// On which side of the window its answers are wrong.
    pub(super) wrong: Option<When>,
    /// Whether it gives no answer after the load.
    pub(super) silent: bool,
    /// Protocol that is agreed on; else the workload's.
    pub(super) protocol: Option<String>,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            body: "invented\n".to_owned(),
            status: 200,
            changes: false,
            wrong: None,
            silent: false,
            protocol: None,
        }
    }
}

/// What happens to it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Fate {
    /// Why it cannot do any workload.
    pub(super) unsupported: Option<String>,
    /// Why it does not start.
    pub(super) fails: Option<String>,
    /// How long after the start of the window it dies, seconds.
    pub(super) dies_s: Option<f64>,
    /// The host that is lost before the load.
    pub(super) lost: Option<String>,
}

/// What it uses in a closed loop; in an open one the share of its rate that is asked for.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Used {
    /// Processors.
    pub(super) cores: f64,
    /// Resident memory, megabytes.
    pub(super) memory_mb: f64,
}

impl Default for Used {
    fn default() -> Self {
        Self {
            cores: 0.8,
            memory_mb: 20.0,
        }
    }
}

/// What else happens on the machine.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Disturbed {
    /// Share of its time that each thread of the engine works.
    pub(super) engine_busy: f64,
    /// Share of its time in which a thread of the engine has no processor.
    pub(super) engine_kept: f64,
    /// Share of each processor that the hypervisor takes.
    pub(super) steal: f64,
    /// Processors that other programs use.
    pub(super) other_load: f64,
}

impl Default for Disturbed {
    fn default() -> Self {
        Self {
            engine_busy: 0.3,
            engine_kept: 0.0,
            steal: 0.0,
            other_load: 0.0,
        }
    }
}

/// What it does for an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Worked {
    /// Whether it keeps connections of clients open.
    pub(super) keeps_clients: bool,
    /// Whether it asks its upstream at all.
    pub(super) asks_upstream: bool,
    /// Whether it keeps connections to its upstream open.
    pub(super) keeps_upstream: bool,
    /// Whether it asks its upstream by HTTP/1.0.
    pub(super) http_1_0: bool,
    /// Bytes that its log grows by with a request.
    pub(super) log_bytes: u64,
    /// Processes that wait for connections; else one for each of its processors.
    pub(super) workers: Option<u32>,
    /// Text of its configuration.
    pub(super) config: Option<String>,
}

impl Default for Worked {
    fn default() -> Self {
        Self {
            keeps_clients: true,
            asks_upstream: true,
            keeps_upstream: true,
            http_1_0: false,
            log_bytes: 0,
            workers: None,
            config: None,
        }
    }
}

impl World {
    /// Reads the file of a machine.
    pub(super) fn read(file: &Path) -> Result<Self, WorldError> {
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|error| WorldError::Unreadable(file.to_owned(), error))?;
        Self::parse(&text).map_err(|error| WorldError::Wrong(file.to_owned(), error))
    }

    pub(super) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let world: Self = toml::from_str(text)?;
        if world.trial.iter().any(|rule| !rule.contains_key("id")) {
            return Err(serde::de::Error::custom("a [[trial]] has no `id`"));
        }
        // Wrong keys are found before the first trial.
        let of_names = world.contender.values().cloned();
        let of_trials = world.trial.iter().map(without_id);
        for table in of_names.chain(of_trials).chain([world.server.clone()]) {
            table.try_into::<Server>()?;
        }
        Ok(world)
    }

    /// Processors of each role.
    pub(super) fn roles(&self, pinning: &Pinning, here: RolesHere) -> Result<Roles, RolesError> {
        let all: Vec<usize> = (0..self.processors).collect();
        Roles::divide_among(pinning, &all, here)
    }

    /// The server that a contender is in a trial; outside of trials the id is empty.
    pub(super) fn server(&self, contender: &str, id: &str) -> Server {
        let plain = Change::of_name(contender).map_or(contender, |(plain, _)| plain);
        let plain = plain.trim_end_matches(bakeoff_plan::CONTROL_MARK);
        let mut table = match contender {
            // Far above the others, as the real one is.
            "yardstick" => toml::toml! { rate = 100_000.0 },
            "origin" => toml::toml! { rate = 80_000.0 },
            _ => Table::new(),
        };
        merge(&mut table, &self.server);
        for name in [plain, contender] {
            if let Some(own) = self.contender.get(name) {
                merge(&mut table, own);
            }
        }
        for rule in &self.trial {
            let pattern = rule.get("id").and_then(Value::as_str);
            if pattern.is_some_and(|pattern| matches(pattern, id)) {
                merge(&mut table, &without_id(rule));
            }
        }
        table.try_into().unwrap_or_default()
    }
}

fn without_id(rule: &Table) -> Table {
    let mut rule = rule.clone();
    rule.remove("id");
    rule
}

/// Adds what is in `other` to a table, in its tables too.
fn merge(table: &mut Table, other: &Table) {
    for (key, value) in other {
        match (table.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Whether a text is what a pattern says, in which `*` is any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, rest)) => text.strip_prefix(before).is_some_and(|left| {
            let ends = left.char_indices().map(|(at, _)| at).chain([left.len()]);
            ends.into_iter().any(|at| matches(rest, &left[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, expected) in [
            ("r1-a", "r1-a", true),
            ("r1-a", "r1-ab", false),
            ("r1-*", "r1-ab-c10", true),
            ("*-c10", "r1-ab-c10", true),
            ("r*-ab-*", "r12-ab-c10", true),
            ("r*-ab-*", "r12-a-c10", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_trial_changes_what_its_contender_and_all_do() {
        let text = "server.rate = 100\n[contender.a]\nrate = 200\nusage.cores = 0.5\n\
                    [[trial]]\nid = \"r2-*\"\nusage.memory_mb = 7\n";
        let world = World::parse(text).unwrap();
        let found = |name: &str, id: &str| {
            let server = world.server(name, id);
            (server.rate, server.usage.cores, server.usage.memory_mb)
        };
        assert_eq!(found("b", "r1-b-w-c10"), (100.0, 0.8, 20.0));
        assert_eq!(found("a", "r2-a-w-c10"), (200.0, 0.5, 7.0));
        assert_eq!(found("a~", "r1-a~-w-c10"), (200.0, 0.5, 20.0));
        assert_eq!(found("yardstick", "r1-yardstick-w-c10").0, 100.0);
        assert_eq!(World::default().server("yardstick", "").rate, 100_000.0);
    }

    #[test]
    fn a_key_that_nobody_knows_is_refused() {
        for wrong in [
            "rates = 1",
            "[contender.a]\nrats = 1",
            "[[trial]]\nrate = 1",
            "[[trial]]\nid = \"*\"\nrate = \"a\"",
        ] {
            assert!(World::parse(wrong).is_err(), "{wrong}");
        }
    }
}
