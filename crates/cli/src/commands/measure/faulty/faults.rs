//! When a server's fault is on, and what it remembers from one start to the next.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::flags::{Fault, FaultyServerFlags};

/// Requests from which the load has begun: before it a trial asks fewer.
const LOAD_FROM: u64 = 40;
/// One answer in so many is wrong.
const ONE_IN: u64 = 20;
/// Growth of the work for each second since the first start.
const DRIFT_A_SECOND: f64 = 0.01;

/// The fault of one server, by the requests that it has got.
#[derive(Debug)]
pub(super) struct Planted {
    fault: Option<Fault>,
    at: Duration,
    lasts: Duration,
    requests: AtomicU64,
    began: OnceLock<Instant>,
}

impl Planted {
    pub(super) fn new(flags: &FaultyServerFlags) -> Self {
        Self {
            fault: flags.fault,
            at: flags.at,
            lasts: flags.lasts,
            requests: AtomicU64::new(0),
            began: OnceLock::new(),
        }
    }

    /// Counts a request and returns its number, from 0.
    pub(super) fn count(&self) -> u64 {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        if number + 1 >= LOAD_FROM {
            self.began.get_or_init(Instant::now);
        }
        number
    }

    /// Whether this fault is on.
    pub(super) fn is_on(&self, fault: Fault) -> bool {
        let on = || {
            let since = self.began.get().map(Instant::elapsed);
            since.is_some_and(|since| since >= self.at && since < self.at + self.lasts)
        };
        self.is(fault) && on()
    }

    /// Whether this is its fault, on or not.
    pub(super) fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Whether this fault is on, and the request with this number meets it.
    pub(super) fn meets(&self, fault: Fault, number: u64) -> bool {
        self.is_on(fault) && number.is_multiple_of(ONE_IN)
    }

    /// Until when nobody is answered.
    pub(super) fn stopped_until(&self) -> Option<Instant> {
        let began = self.began.get().filter(|_| self.is_on(Fault::Stop))?;
        Some(*began + self.at + self.lasts)
    }
}

/// The work of each answer of this start: some faults are in which start it is.
pub(super) fn work_of_this_start(flags: &FaultyServerFlags) -> anyhow::Result<Duration> {
    let Some(folder) = &flags.folder else {
        return Ok(flags.work);
    };
    match flags.fault {
        Some(Fault::Modes) if start_number(folder)? % 2 == 1 => Ok(flags.work.mul_f64(1.5)),
        Some(Fault::Fail) if start_number(folder)? % 2 == 1 => {
            Err(anyhow::anyhow!("this start fails, as was asked for"))
        }
        Some(Fault::Drift) => {
            let since = since_first_start(folder)?;
            let grown = 1.0 + DRIFT_A_SECOND * since.as_secs_f64();
            Ok(flags.work.mul_f64(grown))
        }
        _ => Ok(flags.work),
    }
}

/// How often a server with this folder has started before.
fn start_number(folder: &Path) -> io::Result<u64> {
    let mut starts = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("starts"))?;
    let before = starts.metadata()?.len();
    starts.write_all(b".")?;
    Ok(before)
}

/// Time since the first start of any server with this folder.
fn since_first_start(folder: &Path) -> anyhow::Result<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let path = folder.join("first");
    match std::fs::File::create_new(&path) {
        Ok(mut file) => {
            write!(file, "{}", now.as_millis())?;
            Ok(Duration::ZERO)
        }
        Err(_) => {
            let first: u64 = bakeoff_record::read_regular_text(&path, 64)?.parse()?;
            Ok(now.saturating_sub(Duration::from_millis(first)))
        }
    }
}
