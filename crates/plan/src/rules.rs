//! Rules that hold wherever a value comes from, a file or a flag.
//!
//! A broken rule is a [`Fault`] without a place; the caller knows the place.

use std::time::Duration;

use crate::error::{Place, PlanError};

/// Clients that one load may have.
pub(crate) const CLIENTS: std::ops::RangeInclusive<u32> = 1..=CLIENTS_MAX;
/// The most of them.
pub const CLIENTS_MAX: u32 = 10_000;
/// Requests per second that an open loop may have.
pub(crate) const RATE: std::ops::RangeInclusive<f64> = 0.001..=1e7;
/// Requests in flight on each connection that a load may have.
pub(crate) const STREAMS: std::ops::RangeInclusive<u32> = 1..=1_000;
/// Requests that a load may end after.
pub(crate) const REQUESTS: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;
/// Rounds that a plan may have.
pub(crate) const ROUNDS: std::ops::RangeInclusive<u32> = 1..=1000;
/// Largest seed: TOML's integers are signed.
pub(crate) const SEED_MAX: u64 = i64::MAX as u64;
/// Longest single duration: a day. Whoever needs more mistyped a unit.
pub const DURATION_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Most trials in a campaign; beyond, a plan is a mistake and its order would fill the memory.
pub(crate) const TRIALS_MAX: usize = 100_000;
/// Longest name: three of them and a load still make one folder name.
const NAME_MAX: usize = 64;

/// What is wrong with a value, and what to do.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl Fault {
    pub(crate) fn new(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            fix: fix.into(),
        }
    }

    /// The error at `place`.
    pub(crate) fn at(self, place: Box<Place>) -> PlanError {
        PlanError::BadValue {
            place,
            problem: self.problem,
            fix: self.fix,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}; {}", self.problem, self.fix)
    }
}

/// Holds the value of a key against its range; the fault comes with the key.
pub(crate) fn in_range<T: PartialOrd>(
    key: &'static str,
    value: &T,
    range: &std::ops::RangeInclusive<T>,
    fix: &str,
) -> Result<(), (&'static str, Fault)> {
    if range.contains(value) {
        return Ok(());
    }
    Err((key, Fault::new(format!("`{key}` is out of range"), fix)))
}

/// A name that is safe as a part of a folder name.
pub(crate) fn name(name: &str) -> Result<(), Fault> {
    let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.len() <= NAME_MAX && name.chars().all(safe) {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{}` cannot be a name", name.escape_debug()),
        format!(
            "use up to {NAME_MAX} letters, digits, `.`, `_`, `-`; begin with a letter or digit"
        ),
    ))
}

/// A path below the document root.
pub(crate) fn file_path(path: &str) -> Result<(), Fault> {
    let visible = |c: char| c.is_ascii_graphic() && !"\\?#%".contains(c);
    let inside = |part: &str| !part.is_empty() && part != "." && part != "..";
    if path.chars().all(visible) && path.split('/').all(inside) && path.len() <= 200 {
        return Ok(());
    }
    Err(Fault::new(
        format!(
            "`{}` is not a path below the document root",
            path.escape_debug()
        ),
        "write it without a leading slash, `..` or blanks, such as `index.html`",
    ))
}

/// A length of time that may be nothing.
pub(crate) fn pause(key: &str, duration: Duration) -> Result<(), Fault> {
    if duration <= DURATION_MAX {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{key}` is longer than a day"),
        "write at most `24h`",
    ))
}

/// A length of time that must be something.
pub(crate) fn length(key: &str, duration: Duration) -> Result<(), Fault> {
    if duration.is_zero() {
        return Err(Fault::new(
            format!("`{key}` is 0"),
            "write a time above 0, such as `2s`",
        ));
    }
    pause(key, duration)
}

/// Clients of a load.
pub(crate) fn clients(clients: u32) -> Result<(), Fault> {
    within("clients", &clients, &CLIENTS)
}

/// Requests in flight on each connection.
pub(crate) fn streams(streams: u32) -> Result<(), Fault> {
    within("streams", &streams, &STREAMS)
}

/// Requests that a load ends after.
pub(crate) fn requests(requests: u64) -> Result<(), Fault> {
    within("requests", &requests, &REQUESTS)
}

/// Requests per second of an open loop.
pub(crate) fn rate(rate_per_s: f64) -> Result<(), Fault> {
    within("rate", &rate_per_s, &RATE)
}

/// Rounds of a plan.
pub(crate) fn rounds(rounds: u32) -> Result<(), Fault> {
    within("rounds", &rounds, &ROUNDS)
}

/// The seed of a plan.
pub(crate) fn seed(seed: u64) -> Result<(), Fault> {
    within("seed", &seed, &(0..=SEED_MAX))
}

/// A method in capitals.
pub(crate) fn method(method: &str) -> Result<(), Fault> {
    if (1..=32).contains(&method.len()) && method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{}` is not a request method", method.escape_debug()),
        "write it in capitals, such as `method = \"GET\"`",
    ))
}

/// A request target in origin form.
pub(crate) fn target(path: &str) -> Result<(), Fault> {
    let visible = path
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'#');
    if path.starts_with('/') && visible && path.len() <= 4096 {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{}` is not a request target", path.escape_debug()),
        "begin with a slash, and write blanks and other signs as %20 and so on",
    ))
}

pub(crate) fn within<N>(
    key: &str,
    number: &N,
    range: &std::ops::RangeInclusive<N>,
) -> Result<(), Fault>
where
    N: PartialOrd + std::fmt::Display,
{
    if range.contains(number) {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{key}` is {number}"),
        format!("write a number from {} to {}", range.start(), range.end()),
    ))
}
