//! Decides, fact by fact, whether contenders do equal work for an answer (R15, R16, R32).
//!
//! The facts that a trial collected before its load are compared with those of the other contenders
//! at the same workload. Equal facts are listed. Some differences make a comparison unfair; they
//! are reported as checks of the comparison, never of a contender's own number. An unknown fact
//! never counts as a difference.

mod facts;
mod headers;

use bakeoff_plan::{Changing, Contender, Plan, Workload, distinct, grouped};
use bakeoff_record::{AnswerCheck, ContenderKind, TrialRecord, When, Work};
use serde::Serialize;

use crate::check::Check;
use crate::code::Code;
use crate::figures::list;
pub(crate) use facts::FACTS;
use facts::{BODY_FIELD, Fact, Fix};

/// Characters of a value that are shown.
const VALUE_LENGTH: usize = 60;

/// How the contenders of one workload compare in what they do for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Equivalence {
    /// Workload's name; its protocol is a part of it.
    pub workload: String,
    /// Contenders whose work was observed, in the plan's order.
    pub contenders: Vec<String>,
    /// Facts that differ, those that make a comparison unfair first.
    pub rows: Vec<FactRow>,
    /// Facts that are the same for all.
    pub equal: Vec<EqualFact>,
    /// Facts that are not known of some.
    pub unknown: Vec<UnknownFact>,
    /// What makes comparisons unfair, in the order of the rows.
    pub inequalities: Vec<Inequality>,
}

/// A fact that differs.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FactRow {
    /// Name, such as `access-log`.
    pub fact: String,
    /// What it is, for people.
    pub title: String,
    /// What the difference does.
    pub class: Class,
    /// Value of each contender; null where it is not known.
    pub values: Vec<Option<String>>,
}

/// What a difference does to a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// One side has more to do for the same answer.
    Unfair,
    /// To be known; no reason not to compare.
    Differs,
}

/// A fact that is the same for all.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct EqualFact {
    /// Name.
    pub fact: String,
    /// What it is, for people.
    pub title: String,
    /// The value.
    pub value: String,
}

/// A fact that is not known of some contenders.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct UnknownFact {
    /// Name.
    pub fact: String,
    /// What it is, for people.
    pub title: String,
    /// Contenders of which it is not known.
    pub contenders: Vec<String>,
    /// Why, of the first of them.
    pub reason: String,
}

/// A difference that makes comparisons unfair.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Inequality {
    /// Name of the fact.
    pub fact: &'static str,
    /// What it is, for people.
    #[serde(skip)]
    pub title: &'static str,
    /// The check that did not pass.
    pub check: Check,
    /// Pairs of contenders whose comparison it makes unfair.
    pub pairs: Vec<[String; 2]>,
    /// What to change in whose configuration.
    pub remedies: Vec<Remedy>,
}

/// What to change in a contender's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Remedy {
    /// Contender's name.
    pub contender: String,
    /// Folder name of its server.
    pub server: String,
    /// The line; null where the server's folder knows none.
    pub line: Option<String>,
}

/// Holds the contenders of each workload against each other. Trials that ended before anything
/// was observed take no part, and a workload with fewer than two contenders left has no table.
pub fn equivalences<'r>(
    plan: &'r Plan,
    trials: impl IntoIterator<Item = &'r TrialRecord> + Clone,
) -> Vec<Equivalence> {
    let of_workload = |workload: &Workload| {
        let sides: Vec<Side<'_>> = plan
            .contenders
            .iter()
            .filter_map(|contender| Side::new(contender, workload, trials.clone()))
            .collect();
        (sides.len() > 1).then(|| compare(workload, &sides))
    };
    plan.workloads.iter().filter_map(of_workload).collect()
}

impl Equivalence {
    /// What makes a comparison of these two unfair.
    pub fn between<'e>(
        &'e self,
        first: &'e str,
        second: &'e str,
    ) -> impl Iterator<Item = &'e Inequality> {
        let is_pair =
            move |[a, b]: &[String; 2]| (a == first && b == second) || (a == second && b == first);
        self.inequalities
            .iter()
            .filter(move |one| one.pairs.iter().any(is_pair))
    }
}

/// One contender at one workload.
struct Side<'r> {
    contender: &'r str,
    server: &'r str,
    proxied: bool,
    /// What is known of its body where that changes from answer to answer.
    changing: Option<&'r Changing>,
    /// Its trials with something observed, in order.
    trials: Vec<&'r TrialRecord>,
}

/// A value of a fact.
#[derive(Debug, Clone, PartialEq)]
struct Value {
    /// What decides whether two are the same.
    key: String,
    /// What is shown.
    text: String,
}

impl Value {
    fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let key = text.clone();
        Self { key, text }
    }

    fn number(&self) -> Option<f64> {
        self.key.parse().ok()
    }
}

impl<'r> Side<'r> {
    fn new(
        contender: &'r Contender,
        workload: &Workload,
        trials: impl IntoIterator<Item = &'r TrialRecord>,
    ) -> Option<Self> {
        let trials: Vec<&TrialRecord> = trials
            .into_iter()
            .filter(|trial| trial.kind == ContenderKind::Contender)
            .filter(|trial| trial.contender == contender.name && trial.workload == workload.name)
            .filter(|trial| trial.work.is_some() || before(trial).is_some())
            .collect();
        let server = &trials.first()?.server;
        let own = contender.own_answer(&workload.name, 0);
        Some(Self {
            contender: &contender.name,
            changing: own.and_then(|own| own.body.changing.as_ref()),
            server: server.as_ref().map_or("", |facts| &facts.server),
            proxied: workload.proxied,
            trials,
        })
    }

    /// The fact in all trials; where they disagree, all values.
    fn value(&self, read: impl Fn(&TrialRecord) -> Option<Value>) -> Option<Value> {
        let mut values: Vec<Value> = Vec::new();
        for value in self.trials.iter().filter_map(|trial| read(trial)) {
            if values.iter().all(|known| known.key != value.key) {
                values.push(value);
            }
        }
        let joined = |part: fn(&Value) -> &str| {
            let parts: Vec<&str> = values.iter().map(part).collect();
            parts.join(" or ")
        };
        (!values.is_empty()).then(|| Value {
            key: joined(|value| &value.key),
            text: shortened(&joined(|value| &value.text)),
        })
    }

    /// The longest body that was compared before a load, bytes.
    fn body_bytes(&self) -> f64 {
        let answers = self.trials.iter().filter_map(|trial| before(trial));
        answers.map(|answer| answer.body_bytes).max().unwrap_or(0) as f64
    }

    /// Open files that the server needs under the largest load that it met.
    fn files_needed(&self) -> f64 {
        let clients = self.trials.iter().map(|trial| trial.load.clients()).max();
        let each = if self.proxied { 2 } else { 1 };
        f64::from(clients.unwrap_or(0)) * f64::from(each)
    }

    fn remedy(&self, fact: &Fact) -> Remedy {
        let facts = self.trials.iter().find_map(|trial| trial.server.as_ref());
        let line = facts.and_then(|facts| facts.remedies.get(fact.name).cloned());
        let fitting = match (fact.fix, self.processors()) {
            (Fix::ToProcessors, Some(processors)) => line.map(|line| fitted(&line, processors)),
            _ => line,
        };
        Remedy {
            contender: self.contender.to_owned(),
            server: self.server.to_owned(),
            line: fitting,
        }
    }

    /// Processors that the server may use.
    fn processors(&self) -> Option<u32> {
        let crews = self
            .trials
            .iter()
            .filter_map(|trial| work(trial)?.crew.as_ref());
        crews
            .map(|crew| crew.processors)
            .find(|processors| *processors > 0)
    }

    /// Why the field of [`Work`] is not known.
    fn reason(&self, field: &str) -> String {
        if field == BODY_FIELD && self.changing.is_some() {
            return "it changes from answer to answer".to_owned();
        }
        let works = self.trials.iter().map(|trial| trial.work.as_ref());
        let mut reasons = works.map(|work| match work {
            Some(work) => work.unknown.get(field).cloned(),
            None => Some("nothing was observed before the load".to_owned()),
        });
        let reason = reasons.find_map(|reason| reason);
        reason.unwrap_or_else(|| "it did not say".to_owned())
    }
}

/// The answer that was compared before the load.
fn before(trial: &TrialRecord) -> Option<&AnswerCheck> {
    let mut answers = trial.answers.iter();
    answers.find(|answer| answer.when == When::Before)
}

fn work(trial: &TrialRecord) -> Option<&Work> {
    trial.work.as_ref()
}

fn compare(workload: &Workload, sides: &[Side<'_>]) -> Equivalence {
    let mut table = Equivalence {
        workload: workload.name.clone(),
        contenders: sides.iter().map(|side| side.contender.to_owned()).collect(),
        rows: Vec::new(),
        equal: Vec::new(),
        unknown: Vec::new(),
        inequalities: Vec::new(),
    };
    for fact in &FACTS {
        let read = |side: &Side<'_>| side.value(|trial| (fact.read)(trial, side));
        let values: Vec<Option<Value>> = sides.iter().map(read).collect();
        add(&mut table, fact, sides, &values);
    }
    headers::add(&mut table, sides);
    table.rows.sort_by_key(|row| row.class);
    table
}

/// Puts a fact where it belongs: among the rows, the equal ones or the unknown ones.
fn add(table: &mut Equivalence, fact: &Fact, sides: &[Side<'_>], values: &[Option<Value>]) {
    let Some(first) = values.iter().flatten().next() else {
        // It does not apply here, such as a cipher in the clear.
        return;
    };
    let absent: Vec<&Side<'_>> = sides
        .iter()
        .zip(values)
        .filter_map(|(side, value)| value.is_none().then_some(side))
        .collect();
    if let Some(side) = absent.first() {
        table.unknown.push(UnknownFact {
            fact: fact.name.to_owned(),
            title: fact.title.to_owned(),
            contenders: absent.iter().map(|one| one.contender.to_owned()).collect(),
            reason: side.reason(fact.field),
        });
    }
    if values.iter().flatten().all(|value| value.key == first.key) {
        if absent.is_empty() {
            table.equal.push(EqualFact {
                fact: fact.name.to_owned(),
                title: fact.title.to_owned(),
                value: first.text.clone(),
            });
        }
        return;
    }
    let pairs = unfair_pairs(fact, sides, values);
    table.rows.push(FactRow {
        fact: fact.name.to_owned(),
        title: fact.title.to_owned(),
        class: if pairs.is_empty() {
            Class::Differs
        } else {
            Class::Unfair
        },
        values: values
            .iter()
            .map(|value| value.as_ref().map(|value| value.text.clone()))
            .collect(),
    });
    if !pairs.is_empty() {
        table
            .inequalities
            .push(inequality(fact, sides, values, &pairs));
    }
}

/// Positions of the contenders whose comparison the fact makes unfair.
fn unfair_pairs(fact: &Fact, sides: &[Side<'_>], values: &[Option<Value>]) -> Vec<(usize, usize)> {
    let known: Vec<(usize, &Side<'_>, &Value)> = sides
        .iter()
        .zip(values)
        .enumerate()
        .filter_map(|(index, (side, value))| Some((index, side, value.as_ref()?)))
        .collect();
    let mut pairs = Vec::new();
    for (position, (left, side, value)) in known.iter().enumerate() {
        for (right, other_side, other) in &known[position + 1..] {
            let differ = value.key != other.key;
            if differ && (fact.class)((side, value), (other_side, other)) == Class::Unfair {
                pairs.push((*left, *right));
            }
        }
    }
    pairs
}

fn inequality(
    fact: &Fact,
    sides: &[Side<'_>],
    values: &[Option<Value>],
    pairs: &[(usize, usize)],
) -> Inequality {
    let concerned: Vec<(&Side<'_>, &Value)> = sides
        .iter()
        .zip(values)
        .enumerate()
        .filter(|(index, _)| pairs.iter().any(|(a, b)| a == index || b == index))
        .filter_map(|(_, (side, value))| Some((side, value.as_ref()?)))
        .collect();
    let to_change = to_change(fact.fix, &concerned);
    let crowded = crowded(fact, &concerned);
    let name = |index: usize| sides[index].contender.to_owned();
    Inequality {
        fact: fact.name,
        title: fact.title,
        check: Check {
            rule: fact.rule,
            ..Check::note(
                Code::Equal(fact.code),
                format!(
                    "{}: {}; {}{crowded}",
                    fact.title,
                    named(&concerned),
                    fact.meaning
                ),
            )
        },
        pairs: pairs.iter().map(|(a, b)| [name(*a), name(*b)]).collect(),
        remedies: to_change
            .into_iter()
            .map(|side| side.remedy(fact))
            .collect(),
    }
}

/// A line that sets a number of workers, with the number that fits: `auto` counts the processors of
/// the machine, not those that a server may use.
fn fitted(line: &str, processors: u32) -> String {
    let number = processors.to_string();
    if line.contains("auto") {
        return line.replace("auto", &number);
    }
    let Some(end) = line.rfind(|letter: char| letter.is_ascii_digit()) else {
        return line.to_owned();
    };
    let digits = line[..=end]
        .bytes()
        .rev()
        .take_while(u8::is_ascii_digit)
        .count();
    format!("{}{number}{}", &line[..=end - digits], &line[end + 1..])
}

/// Who runs more workers than there are processors for them: they take turns, which costs, and is
/// likelier the cause of a lower rate than anything else.
fn crowded(fact: &Fact, concerned: &[(&Side<'_>, &Value)]) -> String {
    if !matches!(fact.fix, Fix::ToProcessors) {
        return String::new();
    }
    let mut text = String::new();
    for (side, value) in concerned {
        let (Some(workers), Some(processors)) = (value.number(), side.processors()) else {
            continue;
        };
        if workers > f64::from(processors) {
            text += &format!(
                "; {} runs {workers} workers on {processors} of its processors, where they take \
                 turns: a likely cause of a lower rate",
                side.contender
            );
        }
    }
    text
}

/// Each value once, with those that have it. Values that count as one, such as suites with the same
/// cipher, stand together.
fn named<'s>(concerned: &[(&'s Side<'_>, &'s Value)]) -> String {
    let by_key = |(side, value): &(&'s Side<'_>, &'s Value)| {
        (&value.key, (value.text.as_str(), side.contender))
    };
    let part = |(_, values): (&String, Vec<(&str, &str)>)| {
        let (texts, names): (Vec<&str>, Vec<&str>) = values.into_iter().unzip();
        format!("{} in {}", distinct(texts).join(" or "), list(&names))
    };
    let groups = grouped(concerned.iter().map(by_key));
    let parts: Vec<String> = groups.into_iter().map(part).collect();
    parts.join("; ")
}

/// Those whose configuration is to be changed so that all do the same.
fn to_change<'s, 'r>(fix: Fix, concerned: &[(&'s Side<'r>, &Value)]) -> Vec<&'s Side<'r>> {
    let votes = |key: &str| concerned.iter().filter(|(_, it)| it.key == key).count();
    if let Fix::ToProcessors = fix {
        let fits = |(side, value): &&(&Side<'_>, &Value)| {
            side.processors().map(f64::from) == value.number()
        };
        if concerned.iter().any(|one| fits(&one)) {
            return concerned
                .iter()
                .filter(|one| !fits(one))
                .map(|(side, _)| *side)
                .collect();
        }
    }
    let wanted = match fix {
        Fix::To(key) => Some(key.to_owned()),
        // The plan's first counts of equal votes: max_by_key takes the last, so go backwards.
        Fix::ToMost => concerned
            .iter()
            .rev()
            .max_by_key(|(_, value)| votes(&value.key))
            .map(|(_, value)| value.key.clone()),
        Fix::ToLargest | Fix::ToProcessors => concerned
            .iter()
            .max_by(|a, b| {
                a.1.number()
                    .partial_cmp(&b.1.number())
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
            .map(|(_, value)| value.key.clone()),
    };
    concerned
        .iter()
        .filter(|(_, value)| Some(&value.key) != wanted.as_ref())
        .map(|(side, _)| *side)
        .collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(VALUE_LENGTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
