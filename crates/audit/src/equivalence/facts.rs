//! The facts that are compared: how each is read, when a difference is unfair, and to what.

use bakeoff_record::{Crew, GrownFile, TrialRecord, Work};

use super::{Class, Side, Value, before, work};
use crate::figures::count;
use crate::limits::{
    BODY_BYTES_SHARE, LOG_BYTES_PER_REQUEST, LOGGED_ERRORS_SHARE, UPSTREAM_NEW_SHARE,
    UPSTREAM_REQUESTS_MIN,
};

/// A fact.
pub(crate) struct Fact {
    /// Name, which remedies go by.
    pub(super) name: &'static str,
    /// Code of the check that it is.
    pub(crate) code: &'static str,
    /// Requirement in `docs/checks.md`.
    pub(crate) rule: &'static str,
    /// What it is, for people.
    pub(crate) title: &'static str,
    /// Field of [`Work`] that it is read from, for the reason why it is not known.
    pub(super) field: &'static str,
    /// The value in a trial.
    pub(super) read: fn(&TrialRecord, &Side<'_>) -> Option<Value>,
    /// What a difference between two does.
    pub(super) class: fn((&Side<'_>, &Value), (&Side<'_>, &Value)) -> Class,
    /// The value to which the others are to be changed.
    pub(super) fix: Fix,
    /// What the difference means for a comparison.
    pub(crate) meaning: &'static str,
}

/// The value to which the others are to be changed.
#[derive(Clone, Copy)]
pub(super) enum Fix {
    /// This one.
    To(&'static str),
    /// The one that most have; the plan's first of those that are equally frequent.
    ToMost,
    /// The largest.
    ToLargest,
    /// As many as the processors that it may use; the largest where that is not known.
    ToProcessors,
}

/// Where the body is read from, which is not known where it changes too much.
pub(super) const BODY_FIELD: &str = "body";
const CLOSED: &str = "closed after each answer";
const KEPT: &str = "kept open";
const NEW: &str = "a new one for each request";
const SOME: &str = "often a new one under load";

/// A fact whose differences are unfair, to be filled in.
macro_rules! fact {
    ($name:literal, $title:literal, $field:expr) => {
        Fact {
            name: $name,
            code: concat!("equal-", $name),
            rule: "R16",
            title: $title,
            field: $field,
            read: |_, _| None,
            class: |_, _| Class::Unfair,
            fix: Fix::ToMost,
            meaning: "",
        }
    };
}

/// The facts, in the order in which they are shown.
pub(crate) const FACTS: [Fact; 19] = [
    Fact {
        read: |trial, _| {
            let server = trial.server.as_ref()?;
            Some(Value::new(format!("{} {}", server.server, server.version)))
        },
        class: differs,
        ..fact!("version", "server", "server")
    },
    Fact {
        read: |trial, _| Some(Value::new(before(trial)?.status.to_string())),
        rule: "R15",
        meaning: "another status is another answer",
        ..fact!("status", "status", "answers")
    },
    Fact {
        read: |trial, side| {
            let answer = before(trial)?;
            let decoded = answer.decoded_sha256.as_ref();
            let (hash, what) = match side.changing {
                Some(changing) => (changing.rest_sha256.as_ref()?, "changes; the rest "),
                None => (decoded.unwrap_or(&answer.body_sha256), ""),
            };
            let text = format!("{what}{hash:.12}");
            let key = hash.clone();
            Some(Value { key, text })
        },
        rule: "R15",
        meaning: "another body is another answer, of the same length or not",
        ..fact!("body", "body, SHA-256", BODY_FIELD)
    },
    Fact {
        // Where nothing is compressed, the body itself says whether the two are alike.
        read: |trial, _| {
            let answer = before(trial)?;
            answer
                .header("Content-Encoding")
                .map(|_| number(answer.body_bytes))
        },
        class: |(side, _), (other, _)| {
            let (left, right) = (side.body_bytes(), other.body_bytes());
            let apart = (left - right).abs() > BODY_BYTES_SHARE * left.max(right);
            // An id is longer or shorter.
            let may_be = side.changing.is_some_and(|it| it.may_have(right));
            if apart && !may_be {
                Class::Unfair
            } else {
                Class::Differs
            }
        },
        meaning: "one side compresses harder, or not at all",
        ..fact!("body-bytes", "body as sent, bytes", "answers")
    },
    Fact {
        read: |trial, _| {
            let encoding = before(trial)?.header("Content-Encoding");
            Some(Value::new(encoding.unwrap_or("none")))
        },
        meaning: "compressing is work, and what is compressed is quicker to send",
        ..fact!("encoding", "content encoding", "answers")
    },
    Fact {
        read: |trial, _| negotiated(trial, |it| Some(it.protocol.clone())),
        meaning: "it is not the same protocol",
        ..fact!("protocol", "protocol", "answers")
    },
    Fact {
        read: |trial, _| negotiated(trial, |it| it.tls_version.clone()),
        fix: Fix::To("TLSv1.3"),
        meaning: "handshakes and records of TLS versions cost differently",
        ..fact!("tls-version", "TLS version", "answers")
    },
    Fact {
        // Suites of TLS 1.2 name key exchange and signature too, which other facts report.
        read: |trial, _| {
            let suite = negotiated(trial, |it| it.cipher.clone())?;
            let key = bulk_cipher(&suite.key).to_owned();
            let text = suite.text;
            Some(Value { key, text })
        },
        fix: Fix::To("AES_128_GCM"),
        meaning: "each byte is encrypted by another cipher",
        ..fact!("cipher", "cipher", "answers")
    },
    Fact {
        read: |trial, _| negotiated(trial, |it| it.group.clone()),
        class: differs,
        ..fact!("group", "key exchange group", "answers")
    },
    Fact {
        read: |trial, _| {
            let facts = work(trial)?.certificate.as_ref()?;
            let bits = facts.bits.map(|bits| format!(" {bits}"));
            Some(Value::new(facts.key.clone() + &bits.unwrap_or_default()))
        },
        meaning: "a signature by another key costs another time in each handshake",
        ..fact!("certificate", "certificate key", "certificate")
    },
    Fact {
        read: |trial, _| {
            let work = work(trial)?;
            let kept = work.connections? <= work.requests.div_ceil(2);
            Some(Value::new(if kept { KEPT } else { CLOSED }))
        },
        fix: Fix::To(KEPT),
        meaning: "one side has a connection to set up for each request",
        ..fact!("keep-alive", "client connection", "connections")
    },
    Fact {
        read: |trial, _| {
            let work = work(trial)?;
            let (asked, made) = (work.upstream?.requests, u64::from(work.requests));
            // More requests than were made are retries or probes, which R32 reports.
            let key = if asked >= made { "asked" } else { "cached" };
            let text = format!("asked for {} of {made} requests", asked.min(made));
            let key = key.to_owned();
            Some(Value { key, text })
        },
        rule: "R32",
        fix: Fix::To("asked"),
        meaning: "a cache answers in place of the upstream",
        ..fact!("cache", "upstream", "upstream")
    },
    Fact {
        read: |trial, _| {
            let upstream = work(trial)?.upstream.filter(|it| it.requests > 0)?;
            let old = upstream.http_1_0 > 0;
            Some(Value::new(if old { "HTTP/1.0" } else { "HTTP/1.1" }))
        },
        fix: Fix::To("HTTP/1.1"),
        meaning: "HTTP/1.0 ends the upstream's connection with each answer",
        ..fact!(
            "upstream-version",
            "HTTP version to the upstream",
            "upstream"
        )
    },
    Fact {
        read: |trial, _| upstream_connections(trial),
        fix: Fix::To(KEPT),
        meaning: "one side connects to the upstream for each request",
        ..fact!(
            "upstream-connections",
            "connection to the upstream",
            "upstream"
        )
    },
    Fact {
        read: access_log,
        fix: Fix::To("off"),
        meaning: "a line for each request is work that only one side does",
        ..fact!("access-log", "access log", "grown")
    },
    Fact {
        read: |trial, _| {
            let crew = crew(trial)?;
            Some(number(u64::from(crew.loops.max(crew.listening))))
        },
        // How many workers another server has says nothing about it: one may do with threads.
        class: |(side, _), (other, _)| {
            if side.server == other.server {
                Class::Unfair
            } else {
                Class::Differs
            }
        },
        fix: Fix::ToProcessors,
        meaning: "the same server runs with fewer workers on one side",
        ..fact!("workers", "workers that accept", "crew")
    },
    Fact {
        read: |trial, _| {
            let crew = crew(trial).filter(|crew| crew.processors > 0)?;
            let usable = crew.listening_threads.min(crew.processors);
            Some(number(u64::from(usable)))
        },
        fix: Fix::ToLargest,
        meaning: "one side has too few workers to use the processors that it was given",
        ..fact!("processors", "processors it can use", "crew")
    },
    Fact {
        read: |trial, _| Some(number(crew(trial)?.open_files?)),
        class: |(side, left), (other, right)| {
            let is_below = |side: &Side<'_>, value: &Value| {
                value
                    .number()
                    .is_some_and(|limit| limit < side.files_needed())
            };
            if is_below(side, left) != is_below(other, right) {
                Class::Unfair
            } else {
                Class::Differs
            }
        },
        fix: Fix::ToLargest,
        meaning: "one side may not open as many files as the load needs",
        ..fact!("open-files", "limit of open files", "crew")
    },
    Fact {
        read: |trial, _| {
            let headers = &before(trial)?.headers;
            let bytes: usize = headers
                .iter()
                .map(|(name, value)| name.len() + value.len() + ": \r\n".len())
                .sum();
            Some(Value::new(format!("{}, {bytes} bytes", headers.len())))
        },
        class: differs,
        ..fact!("headers", "headers", "answers")
    },
];

fn differs(_: (&Side<'_>, &Value), _: (&Side<'_>, &Value)) -> Class {
    Class::Differs
}

fn number(value: u64) -> Value {
    Value {
        key: value.to_string(),
        text: count(value),
    }
}

fn crew(trial: &TrialRecord) -> Option<&Crew> {
    work(trial)?.crew.as_ref()
}

fn negotiated(
    trial: &TrialRecord,
    part: fn(&bakeoff_record::Negotiated) -> Option<String>,
) -> Option<Value> {
    part(&before(trial)?.negotiated).map(Value::new)
}

/// What encrypts the bytes, of a suite such as `TLS13_AES_128_GCM_SHA256` or
/// `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`.
fn bulk_cipher(suite: &str) -> &str {
    let rest = suite.split_once("_WITH_").map(|(_, rest)| rest);
    let rest = rest.unwrap_or_else(|| suite.trim_start_matches("TLS13_"));
    rest.rsplit_once("_SHA").map_or(rest, |(cipher, _)| cipher)
}

/// Whether connections to the upstream are kept: those of the quiet requests, and those of the
/// load, under which a server may find none of those that it keeps free.
fn upstream_connections(trial: &TrialRecord) -> Option<Value> {
    let quiet = work(trial)?.upstream.filter(|it| it.requests > 0)?;
    if quiet.connections > quiet.requests / 2 {
        return Some(Value::new(NEW));
    }
    let loaded = trial.origin.as_ref();
    let loaded = loaded.filter(|it| it.requests >= UPSTREAM_REQUESTS_MIN);
    let share = loaded.map_or(0.0, |it| it.connections as f64 / it.requests as f64);
    if share <= UPSTREAM_NEW_SHARE {
        return Some(Value::new(KEPT));
    }
    Some(Value {
        key: SOME.to_owned(),
        text: format!("{SOME}, {:.1} for each request", share),
    })
}

/// Whether a file grows by a line or more with each request, before the load or under it.
fn access_log(trial: &TrialRecord, _: &Side<'_>) -> Option<Value> {
    let Work {
        grown,
        grown_under_load,
        requests,
        ..
    } = work(trial)?;
    // Requests that fail may be reported by a line each in a log of errors, which is no access log.
    let result = trial.result.as_ref().filter(|result| {
        let outcomes = &result.outcomes;
        outcomes.errors() as f64 <= LOGGED_ERRORS_SHARE * outcomes.completed() as f64
    });
    let under_load = result.map_or(0, |result| result.requests.completed);
    let seen = [
        (grown.as_deref()?, u64::from(*requests)),
        (grown_under_load.as_deref().unwrap_or_default(), under_load),
    ];
    for (files, requests) in seen {
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        if requests == 0 || bytes < requests.saturating_mul(LOG_BYTES_PER_REQUEST) {
            continue;
        }
        let names: Vec<&str> = files.iter().map(file_name).collect();
        return Some(Value {
            key: "on".to_owned(),
            text: format!(
                "on, {} bytes a request in {}",
                count(bytes / requests),
                names.join(", ")
            ),
        });
    }
    Some(Value::new("off"))
}

fn file_name(file: &GrownFile) -> &str {
    file.path.rsplit('/').next().unwrap_or(&file.path)
}
