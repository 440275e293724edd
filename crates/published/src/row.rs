//! One published measurement, whatever wrote it.

use crate::figure::Figure;

/// A row of a table, or the whole of a tool's output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// Line, counted from 1 with the header.
    pub line: usize,
    /// What names it: columns and their cells, in the order of the file.
    pub name: Vec<(String, String)>,
    /// Whether a column says which repetition it is: rows of one name are then repetitions,
    /// whatever else distinguishes them.
    pub is_repetition: bool,
    /// How hard it was loaded.
    pub load: Load,
    /// What became of its requests.
    pub counts: Counts,
    /// How long they took.
    pub latency: Latency,
    /// What was moved.
    pub transfer: Transfer,
}

/// How hard a server was loaded, and for how long.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Load {
    /// Clients, each of which waits for its answers.
    pub clients: Option<f64>,
    /// Requests that each may have in flight.
    pub streams: Option<f64>,
    /// How each client may have had several at once, where the file does not say how many.
    pub hidden: Option<Hidden>,
    /// Whether each client rested between requests, for as long as the file does not say.
    pub rests: bool,
    /// Whether requests were sent on a schedule, also where the file does not say at which rate.
    pub scheduled: bool,
    /// Requests a second that were asked for.
    pub planned_per_s: Option<f64>,
    /// Requests that were due and never sent.
    pub unsent: Option<f64>,
    /// Length of the measurement.
    pub duration_s: Option<f64>,
    /// One unit of the last digit of that length, seconds; 0 where it was given exactly.
    pub duration_step_s: f64,
    /// Repetitions that the row sums up.
    pub runs: Option<f64>,
    /// Mean time that a client took to connect inside the measurement, ns; 0 if all did before.
    pub connect_ns: Option<f64>,
    /// CPU use of the server, in processors.
    pub server_cpus: Option<f64>,
    /// CPU use of the generator, in processors.
    pub client_cpus: Option<f64>,
}

/// How a client has several requests in flight, which the file does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// On streams: as soon as a request has ended, the next one takes its place.
    Streams,
    /// In batches: the next ones begin when all have ended, so from one to all are in flight.
    Batches,
}

/// What became of a row's requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counts {
    /// Requests that ended, however they did.
    pub ended: Option<f64>,
    /// Requests that came out right.
    pub ok: Option<f64>,
    /// Requests that failed: no answer, or one with the wrong status.
    pub failed: Option<f64>,
    /// The same as a share of those that ended.
    pub failed_share: Option<f64>,
    /// Requests that came out right as a share of those that ended.
    pub ok_share: Option<f64>,
    /// Requests a second that ended.
    pub rate_per_s: Option<Figure>,
    /// Right answers a second.
    pub ok_per_s: Option<Figure>,
    /// Failures a second.
    pub failed_per_s: Option<Figure>,
    /// Requests that ended and have no part in the latencies: refused connections, and answers
    /// that the tool took for too late.
    pub untimed: f64,
    /// Failed requests whose latencies are among the others'; where it is `None`, all of them.
    pub failed_timed: Option<f64>,
    /// What a script checked of the answers itself.
    pub checks: Option<Checks>,
    /// Seconds until all had ended, where the tool waits for answers after it has sent the last
    /// request. The duration is how long it sent, then.
    pub ended_within_s: Option<f64>,
}

/// Checks of a script, of which an answer may have several or none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checks {
    /// All that were made.
    pub all: f64,
    /// Those that failed.
    pub failed: f64,
}

/// How long requests took, ns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    /// Shortest.
    pub min: Option<Figure>,
    /// Mean.
    pub mean: Option<Figure>,
    /// Longest.
    pub max: Option<Figure>,
    /// Whether the tool prints these quantiles of every run, so that nobody chose to publish them.
    pub is_set_of_tool: bool,
    /// Quantiles by rising share.
    pub quantiles: Vec<Quantile>,
    /// Whether the tool adds latencies of requests that it did not get to send.
    pub corrected: bool,
    /// Whether the mean may be of other requests than the quantiles.
    pub is_mean_apart: bool,
}

/// One quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// Share of the requests that took no longer: 0.99 for p99.
    pub share: f64,
    /// How long, ns.
    pub value: Figure,
}

/// What was moved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transfer {
    /// Bytes of a right answer's body.
    pub body_bytes: Option<f64>,
    /// Bytes that were read, as far as the tool counts them.
    pub read_bytes: Option<f64>,
    /// The same if the file's kB, MB and so on are of 1,024s; `None` where that is no question.
    pub read_bytes_most: Option<f64>,
    /// Bytes that were read a second.
    pub read_bytes_per_s: Option<f64>,
    /// The same if kB, MB and so on are of 1,024s.
    pub read_bytes_per_s_most: Option<f64>,
}

impl Load {
    /// One of this length, in ns.
    pub(crate) fn lasting(time: Figure) -> Self {
        Self {
            duration_s: Some(time.value / 1e9).filter(|seconds| *seconds > 0.0),
            duration_step_s: time.step / 1e9,
            ..Self::default()
        }
    }
}

impl Counts {
    /// The same with the rate that the tool states. It leaves out requests without a latency, so
    /// where there are some it is of others.
    pub(crate) fn stating(self, rate_per_s: Option<Figure>) -> Self {
        let rate_per_s = rate_per_s.filter(|_| self.untimed == 0.0);
        Self { rate_per_s, ..self }
    }
}

impl Latency {
    /// The same if it is of any request: the zeros that a tool prints of none are no times.
    pub(crate) fn of_any(self, requests: f64) -> Self {
        if requests > 0.0 {
            self
        } else {
            Self::default()
        }
    }

    /// Adds a quantile in its place.
    pub(crate) fn push(&mut self, share: f64, value: Figure) {
        let at = self.quantiles.partition_point(|one| one.share < share);
        self.quantiles.insert(at, Quantile { share, value });
    }
}

impl Row {
    /// Its name on one line: `clients=10 server=nginx`.
    pub fn label(&self) -> String {
        let cells = self.name.iter().filter(|(_, cell)| !cell.is_empty());
        let cells = cells.map(|(column, cell)| format!("{column}={cell}"));
        cells.collect::<Vec<_>>().join(" ")
    }
}
