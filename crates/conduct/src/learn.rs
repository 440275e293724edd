//! What the contenders' first answers make of a plan that leaves the right answer open.
//!
//! Where all give the same, that is right for all. Where they differ, each is compared with itself,
//! and what differs is said. Of a body that changes from answer to answer, status and length are
//! compared, and what stays of it with what stays of the others'. Nothing is asked here.

mod changing;

use bakeoff_plan::{
    Changing, Content, Encoding, Expected, KnownBy, OwnAnswer, Plan, SentBody, Workload,
};
use bakeoff_record::AnswerCheck;

use crate::contestant::Answered;
use changing::{is_of_word, rests};

/// Longest body that is written into a plan as text, bytes. A longer one is written as its digest.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a body that are kept, to show where two differ.
const KEPT_BYTES: usize = 1 << 20;
/// Characters of a difference that are shown.
const SHOWN_CHARS: usize = 32;
/// Characters of a redirect's target that are shown.
const TARGET_CHARS: usize = 200;

/// What a contender answers to one request, from several answers.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The first answer.
    check: AnswerCheck,
    /// The beginnings of the bodies: the first, and those that differ from it.
    bodies: Vec<Vec<u8>>,
    /// Shortest and longest of them, bytes.
    lengths: [u64; 2],
    /// The first thing that changed from one answer to another.
    change: Option<String>,
    /// Whether the upstream had a part in one of them.
    of_upstream: bool,
}

/// A contender and a workload, by their positions in the plan.
pub(crate) type Pair = (usize, usize);

/// What a contender answered to the requests of a workload whose answers are open.
pub(crate) type Answers = Vec<(usize, Seen)>;

impl Seen {
    pub(crate) fn of(first: Answered) -> Self {
        let mut body = first.fetched.body;
        body.truncate(KEPT_BYTES);
        Self {
            lengths: [first.fetched.check.body_bytes; 2],
            check: first.fetched.check,
            bodies: vec![body],
            change: None,
            of_upstream: first.of_upstream,
        }
    }

    /// The beginning of the first body.
    fn body(&self) -> &[u8] {
        &self.bodies[0]
    }

    /// Takes another answer to the same request in.
    pub(crate) fn meet(&mut self, other: &Answered) {
        self.of_upstream |= other.of_upstream;
        let other = &other.fetched;
        let (first, check) = (&self.check, &other.check);
        let text = if first.status != check.status {
            format!("status {}, then {}", first.status, check.status)
        } else if first.body_sha256 != check.body_sha256 {
            // No more was kept of the first one.
            let other = &other.body[..other.body.len().min(KEPT_BYTES)];
            let text = difference(self.body(), other);
            self.bodies.push(other.to_vec());
            text.map_or_else(|| "behind its first 1 MiB".to_owned(), |it| it.then())
        } else {
            return;
        };
        let [least, most] = self.lengths;
        self.lengths = [least.min(check.body_bytes), most.max(check.body_bytes)];
        self.change.get_or_insert(text);
    }

    /// `200, 1234 bytes of text/html`.
    fn described(&self) -> String {
        let kind = self.check.header("Content-Type");
        let kind = kind.map_or(String::new(), |kind| format!(" of {kind}"));
        let encoding = self.check.header("Content-Encoding");
        let encoding = encoding.map_or(String::new(), |it| format!(", encoded as {it}"));
        format!(
            "{}, {} bytes{kind}{encoding}",
            self.check.status, self.check.body_bytes
        )
    }

    /// The right answer that this is.
    fn expected(&self) -> Expected {
        let is_whole = self.check.body_bytes == self.body().len() as u64;
        let text = std::str::from_utf8(self.body()).ok();
        let text = text.filter(|text| self.is_plain() && is_whole && text.len() <= TEXT_BYTES_MAX);
        Expected {
            status: self.check.status,
            body: text.map(|text| Content::Text(text.to_owned())),
            encoding: Encoding::Identity,
            known_by: match text {
                Some(_) => KnownBy::Plan,
                None => KnownBy::Sent(self.sent(None)),
            },
        }
    }

    /// What references answer where each contender is compared with itself: the same, if its text
    /// is known. Without references no rate of a server with time to spare is ranked.
    fn of_references(&self) -> Expected {
        let expected = self.expected();
        if expected.body.is_some() {
            return expected;
        }
        Expected {
            status: self.check.status,
            known_by: KnownBy::Plan,
            ..Expected::first_answer()
        }
    }

    /// Whether its body is as it is sent.
    fn is_plain(&self) -> bool {
        self.check.header("Content-Encoding").is_none()
    }

    /// What is known of its bodies, and by this digest of what stays of them where they change.
    fn sent(&self, rest: Option<&String>) -> SentBody {
        let [least, most] = self.lengths;
        if self.change.is_some() {
            return SentBody {
                changing: Some(Changing::seen(least, most, rest.cloned())),
                ..SentBody::default()
            };
        }
        SentBody {
            bytes: Some(self.check.body_bytes),
            sha256: Some(self.check.body_sha256.clone()),
            changing: None,
        }
    }
}

/// Where two bodies part.
#[derive(Debug, PartialEq)]
struct Difference {
    at: usize,
    one: String,
    other: String,
}

impl Difference {
    fn then(&self) -> String {
        format!("at byte {}: {:?}, then {:?}", self.at, self.one, self.other)
    }
}

fn difference(one: &[u8], other: &[u8]) -> Option<Difference> {
    let mut pairs = one.iter().zip(other);
    let at = pairs
        .position(|(one, other)| one != other)
        .or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))?;
    // From where the word begins, so that all of a time or a token is seen.
    let begins = one[..at].iter().rev().take(SHOWN_CHARS / 2);
    let from = at - begins.take_while(|byte| is_of_word(byte)).count();
    let shown = |body: &[u8]| {
        let part = &body[from.min(body.len())..];
        let text = String::from_utf8_lossy(&part[..part.len().min(4 * SHOWN_CHARS)]).into_owned();
        text.chars().take(SHOWN_CHARS).collect()
    };
    Some(Difference {
        at,
        one: shown(one),
        other: shown(other),
    })
}

/// The plan with the right answers that it left open, and what is to say of them.
pub(crate) fn learn(plan: &Plan, answers: &[(Pair, Answers)]) -> (Plan, Vec<String>) {
    let (mut learned, mut notes) = (plan.clone(), Vec::new());
    for (position, workload) in plan.workloads.iter().enumerate() {
        for (index, request) in workload.requests.iter().enumerate() {
            if !request.expect.is_open() {
                continue;
            }
            let seen = seen_of(answers, position, index);
            let Some((_, first)) = seen.first() else {
                continue;
            };
            let found = Found {
                name: request.name(),
                is_secure: workload.protocol.is_secure(),
                is_get: request.method == "GET",
                varies: request.placeholders,
                sent: sent_by(&seen, request.placeholders),
                seen: named(plan, &seen),
            };
            let expected = if found.is_the_same() {
                first.expected()
            } else {
                for ((contender, seen), sent) in seen.iter().zip(&found.sent) {
                    learned.contenders[*contender].answers.push(OwnAnswer {
                        workload: workload.name.clone(),
                        request: u32::try_from(index).unwrap_or(u32::MAX),
                        status: seen.check.status,
                        body: sent.clone(),
                    });
                }
                first.of_references()
            };
            let workload = &mut learned.workloads[position];
            workload.requests = workload.requests.changed(index, |request| {
                request.expect = expected.clone();
            });
            let said = found.notes();
            workload.notes.extend(said.iter().cloned());
            notes.extend(said);
        }
        if asks_no_upstream(workload, position, answers) {
            // Who passes nothing on is a server of pages, whatever else its files say.
            let workload = &mut learned.workloads[position];
            workload.proxied = false;
            let said = format!(
                "no answer to `{}` came from the upstream, so it is measured without one",
                workload.requests.first().name()
            );
            workload.notes.push(said.clone());
            notes.push(said);
        }
    }
    (learned, notes)
}

/// Whether a workload was taken to be for proxies, and the upstream had no part in any answer. What
/// is demanded of the upstream says that it is meant.
fn asks_no_upstream(workload: &Workload, position: usize, answers: &[(Pair, Answers)]) -> bool {
    let of_workload = answers.iter().filter(|((_, it), _)| *it == position);
    let mut seen = of_workload.flat_map(|(_, seen)| seen).peekable();
    workload.proxied
        && workload.origin.is_none()
        && seen.peek().is_some()
        && seen.all(|(_, seen)| !seen.of_upstream)
}

/// What the contenders answered to one request, each with its position.
fn seen_of(answers: &[(Pair, Answers)], workload: usize, request: usize) -> Vec<(usize, &Seen)> {
    let of_workload = answers.iter().filter(|((_, it), _)| *it == workload);
    let of_request = of_workload.filter_map(|((contender, _), seen)| {
        let (_, seen) = seen.iter().find(|(index, _)| *index == request)?;
        Some((*contender, seen))
    });
    of_request.collect()
}

/// What is known of the bodies of each. What a few of many variants have in length says nothing of
/// the others.
fn sent_by(seen: &[(usize, &Seen)], varies: bool) -> Vec<SentBody> {
    let of_all = || {
        let bodies = seen.iter().map(|(_, seen)| seen.bodies.as_slice());
        rests(&bodies.collect::<Vec<_>>())
    };
    let changes = seen.iter().any(|(_, seen)| seen.change.is_some());
    let is_plain = seen.iter().all(|(_, seen)| seen.is_plain());
    let rests = (changes && is_plain).then(of_all).flatten();
    let each = seen.iter().enumerate();
    let sent = each.map(|(at, (_, seen))| {
        let mut sent = seen.sent(rests.as_ref().and_then(|rests| rests.get(at)));
        if let Some(changing) = sent.changing.as_mut().filter(|_| varies) {
            changing.bytes = None;
        }
        sent
    });
    sent.collect()
}

fn named<'p>(plan: &'p Plan, seen: &[(usize, &'p Seen)]) -> Vec<(&'p str, &'p Seen)> {
    let name = |contender: usize| plan.contenders[contender].name.as_str();
    seen.iter()
        .map(|(contender, seen)| (name(*contender), *seen))
        .collect()
}

/// Answers of all contenders to one request.
struct Found<'p> {
    /// The request's.
    name: String,
    /// Whether it was asked over TLS.
    is_secure: bool,
    /// Whether it asks for a body.
    is_get: bool,
    /// Whether it has variants.
    varies: bool,
    /// What is known of the bodies of each.
    sent: Vec<SentBody>,
    seen: Vec<(&'p str, &'p Seen)>,
}

impl Found<'_> {
    /// Whether one right answer is that of all.
    fn is_the_same(&self) -> bool {
        let first = &self.seen[0].1.check;
        let mut each = self.seen.iter().map(|(_, seen)| seen);
        each.all(|seen| {
            let check = &seen.check;
            let body = (check.status, &check.body_sha256) == (first.status, &first.body_sha256);
            body && seen.change.is_none()
        })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_the_same() {
            notes.extend(self.other_headers());
            notes.extend(self.no_pages());
            return notes;
        }
        notes.extend(self.differs());
        notes.extend(self.no_pages());
        for ((name, seen), sent) in self.seen.iter().zip(&self.sent) {
            let Some(text) = &seen.change else { continue };
            let compared = match sent.changing.as_ref().and_then(|it| it.bytes) {
                Some(_) => "its status and about its length are compared",
                None => "only its status is compared",
            };
            let request = &self.name;
            notes.push(if self.varies {
                format!(
                    "the answers of {name} to variants of `{request}` differ ({text}): {compared}"
                )
            } else {
                format!("the answer of {name} to `{request}` changes ({text}): {compared}")
            });
        }
        notes
    }

    /// Whether an answer differs from the first contender's in more than what changes in both.
    fn is_other(&self, at: usize) -> bool {
        let ((_, first), (_, seen)) = (&self.seen[0], &self.seen[at]);
        let rest = match (&self.sent[0].changing, &self.sent[at].changing) {
            (Some(first), Some(other)) => match (&first.rest_sha256, &other.rest_sha256) {
                (Some(first), Some(other)) => first != other,
                _ => !first.may_have(seen.check.body_bytes as f64),
            },
            _ => self.sent[0] != self.sent[at],
        };
        first.check.status != seen.check.status || rest
    }

    /// How answers differ that are each stable, or differ in more than what changes.
    fn differs(&self) -> Option<String> {
        let other = (1..self.seen.len()).find(|at| self.is_other(*at))?;
        let ((_, first), (_, other)) = (self.seen[0], self.seen[other]);
        let each = self.seen.iter();
        let each: Vec<String> = each
            .map(|(name, seen)| format!("{name} {}", seen.described()))
            .collect();
        let changes = first.change.is_some() || other.change.is_some();
        let from = match difference(first.body(), other.body()) {
            // What changes is named by itself.
            Some(from) if !changes => format!(
                "; the first difference is at byte {}: {:?} and {:?}",
                from.at, from.one, from.other
            ),
            _ => String::new(),
        };
        Some(format!(
            "the answers to `{}` differ: {}{from}. Each contender is compared with its own first \
             answer, and they may do unequal work",
            self.name,
            each.join("; "),
        ))
    }

    /// Who answers with an error, a redirect or nothing: that is right if nothing says what is,
    /// and rarely what somebody wants to measure.
    fn no_pages(&self) -> Option<String> {
        let each = self.seen.iter();
        let is_none = |check: &AnswerCheck| check.status >= 300 || self.is_empty(check);
        let none: Vec<_> = each.filter(|(_, seen)| is_none(&seen.check)).collect();
        if none.is_empty() {
            return None;
        }
        let mut advice: Vec<String> = Vec::new();
        for (_, seen) in &none {
            let one = self.advice(&seen.check);
            if !advice.contains(&one) {
                advice.push(one);
            }
        }
        let with = |(name, seen): &&(&str, &Seen)| {
            let body = if self.is_empty(&seen.check) {
                " and no body"
            } else {
                ""
            };
            format!("{name} with {}{body}", seen.check.status)
        };
        let none: Vec<String> = none.iter().map(with).collect();
        Some(format!(
            "`{}` is answered by {}: that answer is what is measured; to measure a page, {}",
            self.name,
            none.join(", "),
            advice.join("; ")
        ))
    }

    /// Whether a page was asked for and nothing came.
    fn is_empty(&self, check: &AnswerCheck) -> bool {
        self.is_get && check.status == 200 && check.body_bytes == 0
    }

    /// What to ask in place of what was answered so.
    fn advice(&self, check: &AnswerCheck) -> String {
        let to = check.header("Location").unwrap_or_default();
        // What follows a path may be secret, and a target may be long.
        let to: String = to
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .chars()
            .take(TARGET_CHARS)
            .collect();
        match check.status {
            200 => "name its site with -H 'Host: ...', or ask for another path: Caddy answers so \
                    where no site or route fits"
                .to_owned(),
            300..=399 if to.starts_with("https://") && !self.is_secure => {
                format!("give the https URL, or --protocol h2 or h1-tls, as it redirects to {to:?}")
            }
            300..=399 if !to.is_empty() => format!("ask for {to:?}, to which it redirects"),
            401 | 407 => "add what it asks for with -H 'Authorization: ...'".to_owned(),
            429 => "raise the limit of how often it may be asked".to_owned(),
            _ => "ask for the path of one".to_owned(),
        }
    }

    /// Headers that say something else of the same body.
    fn other_headers(&self) -> Option<String> {
        let different = ["Content-Type", "Content-Encoding"]
            .into_iter()
            .find(|name| {
                let (_, first) = self.seen[0];
                let mut each = self.seen.iter();
                each.any(|(_, seen)| seen.check.header(name) != first.check.header(name))
            })?;
        let each = self.seen.iter();
        let each: Vec<String> = each
            .map(|(name, seen)| {
                format!(
                    "{name} {:?}",
                    seen.check.header(different).unwrap_or("none")
                )
            })
            .collect();
        Some(format!(
            "the bodies of the answers to `{}` are the same, and {different} differs: {}",
            self.name,
            each.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests;
