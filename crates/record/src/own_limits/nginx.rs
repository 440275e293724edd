//! Limits of nginx: they hold in the block that they are in, so what is around them is read, too.
//!
//! What a file takes in from another one is taken to be in no block: that limit may hold anywhere.

use super::{OwnLimits, Statement};
use crate::trial::ServerFacts;

/// Connections that a worker of nginx holds where its files do not say.
const CONNECTIONS: u64 = 512;
/// Status with which nginx refuses what a limit forbids, where its files do not say.
const REFUSES_WITH: u16 = 503;
/// Blocks in blocks that are read.
const DEPTH_MAX: usize = 64;
/// Limits of one kind that are kept.
const LIMITS_MAX: usize = 100;

/// A limit of how often, or by how many, it may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLimit {
    /// What sets it.
    pub(super) said: Statement,
    /// The status with which it refuses.
    status: u16,
    /// The blocks around it that say what it holds for.
    around: Vec<Block>,
}

impl RequestLimit {
    /// Whether it may be what answered a request for `path` with `status`.
    pub(super) fn may_refuse(&self, status: u16, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or(path);
        self.status == status && self.around.iter().all(|block| block.may_hold_for(path))
    }
}

/// A block that says what is in it for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    Location {
        place: Place,
        /// Those beside it.
        others: Vec<Place>,
    },
    /// A server that listens elsewhere than where it was asked.
    OtherServer,
}

impl Block {
    fn may_hold_for(&self, path: &str) -> bool {
        let Self::Location { place, others } = self else {
            return false;
        };
        let is_better = |other: &Place| other.fits(path) > place.fits(path);
        let is_beaten = *place != Place::Any && others.iter().any(is_better);
        place.fits(path).is_some() && !is_beaten
    }
}

/// What a location is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Exact(String),
    Prefix(String),
    /// A pattern, or a name: it may be for anything.
    Any,
}

impl Place {
    fn of(words: &[String]) -> Self {
        match words {
            [_, sign, path] if sign == "=" => Self::Exact(path.clone()),
            [_, sign, path] if sign == "^~" => Self::Prefix(path.clone()),
            [_, path] if path.starts_with('/') => Self::Prefix(path.clone()),
            _ => Self::Any,
        }
    }

    /// How well it fits a path; `None` where it does not.
    fn fits(&self, path: &str) -> Option<usize> {
        match self {
            Self::Exact(own) => (own == path).then_some(usize::MAX),
            Self::Prefix(own) => path.starts_with(own.as_str()).then_some(own.len()),
            Self::Any => Some(0),
        }
    }
}

/// What ends a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Statement,
    Opening,
    Closing,
}

/// A block that was opened, with what stands in it.
struct Opened {
    words: Vec<String>,
    parent: Option<usize>,
    listens: Vec<u16>,
}

/// The limits of the files that it ran with.
pub(super) fn limits(facts: &ServerFacts) -> OwnLimits {
    let mut blocks: Vec<Opened> = Vec::new();
    let mut told: Vec<(Vec<String>, String, Option<usize>)> = Vec::new();
    for file in &facts.configs {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let mut inside = None;
        for (words, end, line) in parts(&file.text) {
            match end {
                End::Closing => inside = inside.and_then(|at: usize| blocks[at].parent),
                End::Opening if depth(&blocks, inside) < DEPTH_MAX => {
                    blocks.push(Opened {
                        words,
                        parent: inside,
                        listens: Vec::new(),
                    });
                    inside = Some(blocks.len() - 1);
                }
                // Deeper than any file of a person's: no more is known of it.
                End::Opening => break,
                End::Statement => {
                    let port = port_of(&words);
                    if let Some(block) = inside.and_then(|at: usize| blocks.get_mut(at)) {
                        block.listens.extend(port);
                    }
                    told.push((words, format!("{name}:{line}"), inside));
                }
            }
        }
    }
    let of = |name: &'static str| told.iter().filter(move |(words, ..)| words[0] == name);
    let number = |words: &[String]| words.get(1)?.parse().ok();
    let said = |(words, place, _): &(Vec<String>, String, _)| Statement {
        text: words.join(" "),
        place: Some(place.clone()),
    };
    let connections = of("worker_connections").find_map(|it| Some((number(&it.0)?, said(it))));
    let by_default = || {
        let text = format!("worker_connections {CONNECTIONS}");
        (CONNECTIONS, Statement { text, place: None })
    };
    let asked = facts.address.rsplit(':').next();
    let asked = asked.and_then(|port| port.parse().ok());
    let limits = [
        ("limit_req", "limit_req_status"),
        ("limit_conn", "limit_conn_status"),
    ];
    let requests = limits.into_iter().flat_map(|(limit, status)| {
        let status = of(status).find_map(|it| it.0.get(1)?.parse().ok());
        let (blocks, said) = (&blocks, &said);
        of(limit).take(LIMITS_MAX).map(move |it| RequestLimit {
            said: said(it),
            status: status.unwrap_or(REFUSES_WITH),
            around: around(blocks, it.2, asked),
        })
    });
    let has_head = |block: &Opened| block.words.iter().any(|word| !word.is_empty());
    let is_known = !told.is_empty() || blocks.iter().any(has_head);
    OwnLimits {
        requests: requests.collect(),
        // Without a file nothing is known of what it ran with.
        connections: is_known.then(|| connections.unwrap_or_else(by_default)),
        is_for_each_worker: true,
    }
}

fn depth(blocks: &[Opened], inside: Option<usize>) -> usize {
    std::iter::successors(inside, |at| blocks[*at].parent).count()
}

/// The blocks from `inside` outwards that say what a statement in them is for.
fn around(blocks: &[Opened], inside: Option<usize>, asked: Option<u16>) -> Vec<Block> {
    let all = std::iter::successors(inside, |at| blocks[*at].parent);
    let found = all.filter_map(|at| {
        let block = &blocks[at];
        match block.words.first()?.as_str() {
            "location" => {
                let beside = blocks.iter().enumerate().filter(|(other, it)| {
                    let is_location = it.words.first().is_some_and(|word| word == "location");
                    *other != at && is_location && it.parent == block.parent
                });
                Some(Block::Location {
                    place: Place::of(&block.words),
                    others: beside.map(|(_, it)| Place::of(&it.words)).collect(),
                })
            }
            "server" => {
                let is_here = asked.is_none_or(|port| block.listens.contains(&port));
                (!is_here && !block.listens.is_empty()).then_some(Block::OtherServer)
            }
            _ => None,
        }
    });
    found.collect()
}

/// The port of `listen 127.0.0.1:8080`.
fn port_of(words: &[String]) -> Option<u16> {
    let [name, address, ..] = words else {
        return None;
    };
    let port = address.rsplit(':').next()?.parse().ok();
    port.filter(|_| name == "listen")
}

/// The statements of a text and the heads and ends of its blocks, with the lines on which they end.
fn parts(text: &str) -> Vec<(Vec<String>, End, usize)> {
    let mut found = Vec::new();
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut quote = None;
    let mut is_variable = false;
    for (line, text) in (1..).zip(text.lines()) {
        for letter in text.chars() {
            let end = match (quote, letter) {
                (Some(mark), _) => {
                    if letter == mark {
                        quote = None;
                    } else {
                        word.push(letter);
                    }
                    continue;
                }
                (None, '"' | '\'') if word.is_empty() => {
                    quote = Some(letter);
                    continue;
                }
                (None, '#') if word.is_empty() => break,
                (None, '{') if word.ends_with('$') => {
                    is_variable = true;
                    None
                }
                (None, '}') if is_variable => {
                    is_variable = false;
                    None
                }
                (None, ';') => Some(End::Statement),
                (None, '{') => Some(End::Opening),
                (None, '}') => Some(End::Closing),
                (None, _) => None,
            };
            if end.is_none() && !letter.is_whitespace() {
                word.push(letter);
                continue;
            }
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            if let Some(end) = end {
                let words = std::mem::take(&mut words);
                if end == End::Closing || !words.is_empty() {
                    found.push((words, end, line));
                } else if end == End::Opening {
                    found.push((vec![String::new()], end, line));
                }
            }
        }
        words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
    }
    found
}
