//! A log of requests is read and counted, whatever its format.
//!
//! Its length does not matter: what is kept is bounded by different requests, not by lines.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use super::{Logged, caddy, combined, har};
use crate::file::LogFormat;

/// Longest line, bytes; a longer one is not understood.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Most different requests that are counted; later ones that are new are left out.
const DIFFERENT_MAX: usize = 200_000;
/// Most different sizes of one request's answers; later ones that are new do not count.
const SIZES_MAX: usize = 64;

/// What makes requests of a log different.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) status: u16,
}

/// How often a kind of request came.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) times: u64,
    /// Bytes of the answers' bodies, each with how often it came.
    sizes: Vec<(u64, u64)>,
}

/// Why a request is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftOut {
    NotUnderstood,
    Unsafe,
    OtherHost,
    NoTarget,
    Status,
    Failed,
    NoName,
    Folder,
    TooLarge,
    NoRoom,
    Rare,
    TooMany,
}

/// The requests of a log, counted.
#[derive(Debug, Default)]
pub struct AccessLog {
    /// Lines, or entries, that hold something.
    total: u64,
    pub(super) kinds: BTreeMap<Kind, Count>,
    pub(super) left_out: BTreeMap<LeftOut, u64>,
    /// Number of the first line or entry that was not understood.
    pub(super) first_not_understood: Option<u64>,
    /// The host whose requests these are, where the format has it.
    pub(super) host: Option<String>,
}

/// Requests by the host that was asked.
type ByHost = BTreeMap<Option<String>, BTreeMap<Kind, Count>>;

impl AccessLog {
    /// Reads a log. Of several hosts one is kept: the one that is named, or else the first of an
    /// HTTP Archive, whose page is its own, and the one that was asked most in a server's log.
    ///
    /// # Errors
    /// Those of `reader`, and a document that is not of this format.
    pub fn read(
        format: LogFormat,
        host: Option<&str>,
        reader: &mut dyn BufRead,
    ) -> io::Result<Self> {
        let mut log = Self::default();
        let mut hosts = ByHost::new();
        let mut first = None;
        let mut different = 0;
        let mut take = |log: &mut Self, at: u64, logged: Option<Logged>| {
            log.total += 1;
            let Some(logged) = logged else {
                log.first_not_understood.get_or_insert(at);
                return log.leave_out(LeftOut::NotUnderstood, 1);
            };
            let asked = logged.host.as_ref().map(|host| host.to_ascii_lowercase());
            first.get_or_insert_with(|| asked.clone());
            log.count(&mut hosts, asked, logged, &mut different);
        };
        if format == LogFormat::Har {
            for (at, logged) in (1..).zip(har::parse(reader)?) {
                take(&mut log, at, logged);
            }
        } else {
            let parse = match format {
                LogFormat::Caddy => caddy::parse,
                _ => combined::parse,
            };
            let (mut line, mut at) = (Vec::new(), 0);
            while let Some(whole) = next_line(reader, &mut line)? {
                at += 1;
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_ascii();
                if !whole || !text.is_empty() {
                    take(&mut log, at, whole.then(|| parse(text)).flatten());
                }
            }
        }
        let kept = match (host, format) {
            (Some(host), _) => hosts.keys().find(|other| is_host(other, host)).cloned(),
            (None, LogFormat::Har) => first,
            (None, _) => most_asked(&hosts),
        };
        log.keep(hosts, kept);
        Ok(log)
    }

    /// Lines, or entries, that hold something.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Requests that may be replayed.
    pub fn kept(&self) -> u64 {
        self.kinds.values().map(|count| count.times).sum()
    }

    /// Requests, and lines that are none, that are not replayed.
    pub fn left_out(&self) -> u64 {
        self.left_out.values().sum()
    }

    pub(super) fn leave_out(&mut self, why: LeftOut, times: u64) {
        *self.left_out.entry(why).or_default() += times;
    }

    fn count(
        &mut self,
        hosts: &mut ByHost,
        host: Option<String>,
        logged: Logged,
        different: &mut usize,
    ) {
        // RFC 9110, 9.2.1: these ask for nothing but an answer.
        let safe = ["GET", "HEAD", "OPTIONS", "TRACE"].contains(&logged.method.as_str());
        if !safe {
            return self.leave_out(LeftOut::Unsafe, 1);
        }
        if crate::rules::target(&logged.target).is_err() || logged.target.contains('\\') {
            return self.leave_out(LeftOut::NoTarget, 1);
        }
        let kind = Kind {
            method: logged.method,
            target: logged.target,
            status: logged.status,
        };
        let known = hosts
            .get(&host)
            .is_some_and(|kinds| kinds.contains_key(&kind));
        if !known {
            if *different == DIFFERENT_MAX {
                return self.leave_out(LeftOut::TooMany, 1);
            }
            *different += 1;
        }
        let count = hosts.entry(host).or_default().entry(kind).or_default();
        count.add(logged.bytes);
    }

    /// Keeps what `host` was asked.
    fn keep(&mut self, hosts: ByHost, host: Option<Option<String>>) {
        for (other, kinds) in hosts {
            if host.as_ref() == Some(&other) {
                self.host = other;
                self.kinds = kinds;
            } else {
                self.leave_out(LeftOut::OtherHost, times(&kinds));
            }
        }
    }
}

impl Count {
    fn add(&mut self, bytes: Option<u64>) {
        self.times += 1;
        let Some(bytes) = bytes else {
            return;
        };
        let known = self.sizes.iter_mut().find(|(size, _)| *size == bytes);
        if let Some((_, times)) = known {
            *times += 1;
        } else if self.sizes.len() < SIZES_MAX {
            self.sizes.push((bytes, 1));
        }
    }

    /// The sizes of the answers, each with how often it came.
    pub(super) fn sizes(&self) -> &[(u64, u64)] {
        &self.sizes
    }
}

fn times(kinds: &BTreeMap<Kind, Count>) -> u64 {
    kinds.values().map(|count| count.times).sum()
}

/// The host with most requests; of equals the first by name.
fn most_asked(hosts: &ByHost) -> Option<Option<String>> {
    let most = hosts.iter().rev().max_by_key(|(_, kinds)| times(kinds));
    most.map(|(host, _)| host.clone())
}

/// Whether `logged` is `host`, with its port or without.
fn is_host(logged: &Option<String>, host: &str) -> bool {
    let Some(logged) = logged else {
        return false;
    };
    let without_port = logged
        .rsplit_once(':')
        .map_or(logged.as_str(), |(name, _)| name);
    logged.eq_ignore_ascii_case(host) || without_port.eq_ignore_ascii_case(host)
}

/// Reads a line without its end; `None` at the end of all, `false` where it is too long and was
/// passed over.
fn next_line(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let (mut whole, mut begun) = (true, false);
    loop {
        let available = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if available.is_empty() {
            return Ok(begun.then_some(whole));
        }
        begun = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available
            .get(..end.unwrap_or(available.len()))
            .unwrap_or_default();
        whole &= line.len() + part.len() <= LINE_BYTES_MAX;
        if whole {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(whole));
        }
    }
}
