//! What in a record is secret, and a record without it. Only this module decides that.
//!
//! A secret is the value of a header or setting whose name says so, a value that a workload marks
//! with `secret = true`, or a text that looks like a credential. Each is replaced wherever its
//! value occurs in the record. Equal values get equal numbers, so that readers see what is the
//! same: `[secret-1]`. The mark has no blank in it, so that a URL, a request target or a command
//! that holds one can be read again.
//!
//! It reads no file and shows nothing. What it does not find it cannot hide: a secret without a
//! name and without a form of its own stays.

mod asks;
mod command;
mod fields;
mod homes;
mod known;
mod names;
mod shapes;
mod spots;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_plan::Plan;
use bakeoff_record::{LoadResult, Record, TrialRecord};

use fields::Field;
use homes::without_homes;
use known::Known;
use spots::{Kind, merged, spots};

/// What begins the text that stands in the place of a secret.
const HIDDEN: &str = "[secret";
/// What stands in the place of the text of a configuration in a shared record.
pub(crate) const LEFT_OUT: &str = "(left out of the shared copy)";
/// What stands in the place of a header's value in a shared record.
const NOT_SHARED: &str = "[left out]";
/// Headers with values that say how an answer is sent, which the judgement needs, and nothing
/// about who asks: a shared record keeps them.
const KEPT_HEADERS: [&str; 24] = [
    "accept",
    "accept-encoding",
    "accept-ranges",
    "age",
    "allow",
    "alt-svc",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "expires",
    "if-none-match",
    "keep-alive",
    "last-modified",
    "range",
    "retry-after",
    "server",
    "transfer-encoding",
    "upgrade",
    "vary",
];

/// Headers of bakeoff's own workloads, which everybody can read there: a shared record keeps these
/// values. Without them no two copies of the usual plans could be compared.
const PUBLIC_HEADERS: [(&str, &str); 1] = [("x-hotdogs", "aplenty")];

/// The secrets of a record, by their values and by the names that announce them.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Whether secrets are shown instead.
    shown: bool,
    /// Headers that workloads mark, in lower case.
    marked: BTreeSet<String>,
    /// Names that tables and trials go by: a value that is a part of one is hidden only where a
    /// secret is announced, as else the record would fall apart.
    names: BTreeSet<String>,
    /// Number of each value.
    numbers: BTreeMap<String, usize>,
    /// Values that are looked for everywhere.
    known: Known,
}

/// A record that may be drawn: its secrets are hidden, or are shown because somebody asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Redacted {
    record: Record,
    secrets: usize,
    /// What each workload asks, by its name: a digest from before anything was left out of a copy.
    asks: BTreeMap<String, String>,
}

impl Redacted {
    /// The record with its secrets hidden.
    pub fn hidden(mut record: Record) -> Self {
        let redaction = Redaction::of(&mut record);
        redaction.hide(&mut record);
        let secrets = redaction.numbers.len();
        let asks = asks::of(&record.plan);
        Self {
            record,
            secrets,
            asks,
        }
    }

    /// The record as it is: for `--show-secrets`.
    pub fn shown(record: Record) -> Self {
        let asks = asks::of(&record.plan);
        Self {
            record,
            secrets: 0,
            asks,
        }
    }

    /// The record to give away: without secrets, texts of configuration files, names of home
    /// folders, the folders in the command that began it, and values of headers that say more than
    /// how an answer is sent.
    pub fn shared(mut record: Record) -> Self {
        let redaction = Redaction::of(&mut record);
        let asks = asks::of(&redaction.plan(&record.plan));
        fields::of_record(&mut record, &mut |field, text| match field {
            Field::Configuration if !text.is_empty() => *text = LEFT_OUT.to_owned(),
            Field::Header { name, sent } if !is_kept(name, text) && !is_hidden(text) => {
                let instead = redaction.placeholder(text).unwrap_or(NOT_SHARED.to_owned());
                *text = if sent {
                    as_long(&instead, text)
                } else {
                    instead
                };
            }
            Field::Prose | Field::Configuration | Field::Setting { .. } => {
                redaction.hide_field(field, text);
                *text = without_homes(text);
            }
            _ => redaction.hide_field(field, text),
        });
        // Folders and ports explain texts that are left out, and folders may name a user.
        let trials = record.trials.iter_mut().chain(&mut record.confirming);
        for server in trials.filter_map(|trial| trial.server.as_mut()) {
            server.configs.iter_mut().for_each(|it| it.filled.clear());
        }
        command::share(&mut record.machine.command);
        record.is_copy = true;
        let secrets = redaction.numbers.len();
        Self {
            record,
            secrets,
            asks,
        }
    }

    /// The record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// A digest of what a workload asks and expects, headers that are left out of a shared copy
    /// included; `None` where they were left out before. It is never written anywhere: short values
    /// can be guessed from it.
    pub(crate) fn asks(&self, workload: &str) -> Option<&str> {
        self.asks.get(workload).map(String::as_str)
    }

    /// How many different values were taken for secrets.
    pub fn secrets(&self) -> usize {
        self.secrets
    }
}

impl Redaction {
    /// Hides nothing: for `--show-secrets`.
    pub fn nothing() -> Self {
        Self {
            shown: true,
            ..Self::default()
        }
    }

    /// The secrets of a whole record, which is left as it is.
    pub fn of(record: &mut Record) -> Self {
        let mut redaction = Self::default();
        redaction.mark(&record.plan);
        fields::of_record(record, &mut |field, text| redaction.learn(field, text));
        redaction
    }

    /// The secrets of a plan.
    pub fn of_plan(plan: &Plan) -> Self {
        let mut redaction = Self::default();
        redaction.mark(plan);
        let mut plan = plan.clone();
        fields::of_plan(&mut plan, &mut |field, text| redaction.learn(field, text));
        redaction
    }

    /// Takes in what a trial brought: its configurations, answers and messages.
    pub fn learn_trial(&mut self, trial: &TrialRecord) {
        if self.shown {
            return;
        }
        let (mut server, mut end) = (trial.server.clone(), trial.end.clone());
        let mut answers = trial.answers.clone();
        let mut see = |field: Field<'_>, text: &mut String| self.learn(field, text);
        server
            .iter_mut()
            .for_each(|it| fields::of_server(it, &mut see));
        answers
            .iter_mut()
            .for_each(|it| fields::of_answer(it, &mut see));
        fields::of_end(&mut end, &mut see);
    }

    /// A line for a person, without secrets.
    pub fn line(&self, text: &str) -> String {
        self.without(text, Kind::Prose)
    }

    /// The text of a configuration, or lines of it, without secrets.
    pub fn configuration(&self, text: &str) -> String {
        self.without(text, Kind::Configuration)
    }

    /// A command line as its arguments, without secrets.
    pub fn command(&self, arguments: &[String]) -> Vec<String> {
        let mut arguments = arguments.to_vec();
        fields::of_command(&mut arguments, &mut |field, text| {
            self.hide_field(field, text);
        });
        arguments
    }

    /// A plan without secrets.
    pub fn plan(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        fields::of_plan(&mut plan, &mut |field, text| self.hide_field(field, text));
        plan
    }

    /// Hides the secrets of a load's result, which are learned from it first.
    pub fn hide_in_load(&mut self, result: &mut LoadResult) {
        fields::of_load(result, &mut |field, text| self.learn(field, text));
        fields::of_load(result, &mut |field, text| self.hide_field(field, text));
    }

    fn hide(&self, record: &mut Record) {
        fields::of_record(record, &mut |field, text| self.hide_field(field, text));
    }

    /// Takes in what the workloads mark.
    fn mark(&mut self, plan: &Plan) {
        let requests = plan.workloads.iter().flat_map(|it| it.requests.iter());
        let marked = requests.flat_map(|request| &request.secret_headers);
        self.marked
            .extend(marked.map(|name| name.to_ascii_lowercase()));
    }

    fn is_secret_name(&self, name: &str) -> bool {
        self.marked.contains(&name.to_ascii_lowercase()) || names::class(name).is_some()
    }

    fn learn(&mut self, field: Field<'_>, text: &str) {
        match field {
            Field::Name => {
                self.names.insert(text.to_ascii_lowercase());
            }
            Field::Header { name, .. } | Field::Setting { name } if self.is_secret_name(name) => {
                self.learn_value(text);
            }
            _ => {
                let kind = kind_of(field, text);
                for range in spots(text, kind, &self.marked) {
                    let value = &text[range];
                    // A sentence may say `token: expired`.
                    if kind != Kind::Prose || shapes::looks_coded(value) {
                        self.learn_value(value);
                    }
                }
            }
        }
    }

    /// Takes in a value, and the parts of it that somebody may write alone.
    fn learn_value(&mut self, value: &str) {
        let value = trimmed(value);
        if value.is_empty() || is_hidden(value) {
            return;
        }
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry(value.to_owned()).or_insert(next);
        self.known.learn(value, number);
    }

    fn hide_field(&self, field: Field<'_>, text: &mut String) {
        match field {
            Field::Name => {}
            _ if self.shown => {}
            Field::Header { name, .. } | Field::Setting { name }
                if self.is_secret_name(name) && !trimmed(text).is_empty() && !is_hidden(text) =>
            {
                let placeholder = self.placeholder(text);
                let instead = placeholder.unwrap_or_else(|| format!("{HIDDEN}]"));
                let sent = matches!(field, Field::Header { sent: true, .. });
                *text = if sent {
                    as_long(&instead, text)
                } else {
                    instead
                };
            }
            Field::Body => {
                let hidden = self.without(text, kind_of(field, text));
                if hidden != *text {
                    *text = as_long(&hidden, text);
                }
            }
            _ => {
                let hidden = self.without(text, kind_of(field, text));
                if hidden != *text {
                    *text = hidden;
                }
            }
        }
    }

    /// What stands in the place of this value.
    fn placeholder(&self, value: &str) -> Option<String> {
        let number = self.numbers.get(trimmed(value));
        number.map(|number| format!("{HIDDEN}-{number}]"))
    }

    fn without(&self, text: &str, kind: Kind) -> String {
        if self.shown {
            return text.to_owned();
        }
        let known = self.known.find(text, |value| self.is_part_of_name(value));
        let mut ranges = spots(text, kind, &self.marked);
        ranges.extend(known.iter().map(|(range, _)| range.clone()));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for range in merged(ranges) {
            out.push_str(&text[at..range.start]);
            let within = known
                .iter()
                .find(|(one, _)| range.start <= one.start && one.end <= range.end);
            let number = self.placeholder(&text[range.clone()]);
            let number = number.or_else(|| within.map(|(_, n)| format!("{HIDDEN}-{n}]")));
            out.push_str(&number.unwrap_or_else(|| format!("{HIDDEN}]")));
            at = range.end;
        }
        out.push_str(&text[at..]);
        out
    }

    fn is_part_of_name(&self, value: &str) -> bool {
        let value = value.to_ascii_lowercase();
        self.names.iter().any(|name| name.contains(&value))
    }
}

fn kind_of(field: Field<'_>, text: &str) -> Kind {
    match field {
        // In a page a blank between `token` and the next word is that of a sentence.
        Field::Body if text.trim_start().starts_with('<') => Kind::Prose,
        Field::Configuration | Field::Body | Field::Setting { .. } => Kind::Configuration,
        Field::Target => Kind::Target,
        Field::Prose | Field::Header { .. } | Field::Name => Kind::Prose,
    }
}

/// Whether a shared record keeps this value of this header.
fn is_kept(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    KEPT_HEADERS.contains(&name.as_str()) || PUBLIC_HEADERS.contains(&(name.as_str(), value))
}

/// Whether the text stands in the place of a secret.
fn is_hidden(text: &str) -> bool {
    text.starts_with(HIDDEN) || text.starts_with("[left out")
}

fn trimmed(value: &str) -> &str {
    value.trim_matches(|c: char| c.is_whitespace() || c == '"')
}

/// The text in as many bytes as `like` has, which are counted where it was sent.
fn as_long(text: &str, like: &str) -> String {
    let mut end = text.len().min(like.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = &text[..end];
    format!("{kept}{}", "*".repeat(like.len() - kept.len()))
}

#[cfg(test)]
mod tests;
