//! What follows from a row's figures and the rig.

use bakeoff_published::{Figure, Row};

use super::rig::Rig;

/// Figures that a table does not show and that follow from it; `None` where something is missing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Derived {
    /// Requests a second that ended, right or not.
    pub rate_per_s: Option<f64>,
    /// Right answers a second.
    pub ok_per_s: Option<f64>,
    /// Requests in flight on average: rate times mean latency.
    pub in_flight: Option<f64>,
    /// Bytes moved over what the link can carry.
    pub link_share: Option<f64>,
    /// The shortest time in which all of it can have happened.
    pub duration_min_s: Option<f64>,
}

/// A row and its rig, with the questions that rules ask.
pub(super) struct Subject<'a> {
    pub(super) row: &'a Row,
    pub(super) rig: &'a Rig,
    /// Requests that ended, right or not.
    pub(super) ended: Option<f64>,
    pub(super) failed: Option<f64>,
    pub(super) duration_s: Option<f64>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(row: &'a Row, rig: &'a Rig) -> Self {
        let counts = &row.counts;
        let stated_s = row.load.duration_s.or(rig.duration_s);
        let by_rate = |rate: Option<f64>| Some(rate? * stated_s?);
        let ok = counts.ok.or_else(|| by_rate(counts.ok_per_s));
        // What ended, from whichever figures say it.
        let ended = counts
            .ended
            .or_else(|| Some(ok? + counts.failed?))
            .or_else(|| by_rate(counts.rate_per_s))
            .or_else(|| Some(ok? / (1.0 - counts.failed_share?)))
            .or(ok)
            .filter(|ended| ended.is_finite());
        let failed = counts
            .failed
            .or_else(|| Some(ended? * counts.failed_share?))
            .or_else(|| Some((ended? - ok.filter(|_| counts.ended.is_some())?).max(0.0)));
        let by_count = || Some(counts.ended? / counts.rate_per_s.filter(|rate| *rate > 0.0)?);
        Self {
            row,
            rig,
            ended,
            failed,
            duration_s: stated_s.or_else(by_count),
        }
    }

    pub(super) fn derived(&self) -> Derived {
        Derived {
            rate_per_s: self.rate_per_s(),
            ok_per_s: self.ok_per_s(),
            in_flight: self.in_flight().map(|figure| figure.value),
            link_share: self.link_share(),
            duration_min_s: self.duration_min_s(),
        }
    }

    pub(super) fn rate_per_s(&self) -> Option<f64> {
        let by_count = || Some(self.ended? / self.duration_s?);
        by_count().or(self.row.counts.rate_per_s)
    }

    /// Share of the requests that failed.
    pub(super) fn failed_share(&self) -> Option<f64> {
        let by_count = || {
            let ended = self.ended.filter(|ended| *ended > 0.0)?;
            Some((self.failed? / ended).min(1.0))
        };
        self.row.counts.failed_share.or_else(by_count)
    }

    pub(super) fn ok_per_s(&self) -> Option<f64> {
        let by_share = || Some(self.rate_per_s()? * (1.0 - self.failed_share()?));
        self.row.counts.ok_per_s.or_else(by_share)
    }

    /// The same; where nothing says that any failed, all of them.
    pub(super) fn answered_per_s(&self) -> Option<f64> {
        self.ok_per_s().or_else(|| self.rate_per_s())
    }

    /// Requests that the latencies are of.
    pub(super) fn timed(&self) -> Option<f64> {
        Some((self.ended? - self.row.counts.untimed).max(0.0))
    }

    fn timed_per_s(&self) -> Option<f64> {
        let by_count = || Some(self.timed()? / self.duration_s?);
        by_count().or(self.row.counts.rate_per_s)
    }

    /// Rate times mean latency, with what rounding the mean leaves open.
    pub(super) fn in_flight(&self) -> Option<Figure> {
        let (rate, mean) = (self.timed_per_s()?, self.row.latency.mean?);
        Some(Figure {
            value: rate * mean.value / 1e9,
            step: rate * mean.step / 1e9,
        })
    }

    /// Rate and mean latency in seconds.
    pub(super) fn rate_and_mean(&self) -> Option<(f64, f64)> {
        Some((self.timed_per_s()?, self.row.latency.mean?.value / 1e9))
    }

    pub(super) fn clients(&self) -> Option<f64> {
        let clients = self.row.load.clients.or(self.rig.clients);
        clients.filter(|clients| *clients > 0.0)
    }

    /// Requests that the clients can have in flight together.
    pub(super) fn in_flight_most(&self) -> Option<f64> {
        let streams = self.row.load.streams.or(self.rig.streams).unwrap_or(1.0);
        Some(self.clients()? * streams)
    }

    pub(super) fn planned_per_s(&self) -> Option<f64> {
        let planned = self.row.load.planned_per_s.or(self.rig.planned_per_s);
        planned.filter(|planned| *planned > 0.0)
    }

    /// How long requests take at the end of the measurement, seconds: p99, or the quantile nearest
    /// to it that was published; without any, the most that p99 can be by the mean.
    pub(super) fn tail_s(&self) -> Option<f64> {
        let latency = &self.row.latency;
        let beyond = latency.quantiles.iter().find(|one| one.share >= 0.99);
        let below = || latency.quantiles.iter().rfind(|one| one.share >= 0.9);
        if let Some(one) = beyond.or_else(below) {
            return Some(one.value.value / 1e9);
        }
        let by_mean = latency.mean?.value * 100.0;
        let longest = latency.max.map_or(by_mean, |max| max.value.min(by_mean));
        Some(longest / 1e9)
    }

    pub(super) fn body_bytes(&self) -> Option<f64> {
        let flagged = || self.rig.body_bytes(&self.row.name);
        self.row.transfer.body_bytes.or_else(flagged)
    }

    /// Bytes a second of right answers: bodies where their size is known, else what the tool
    /// counted, which holds heads, and bodies of errors too.
    pub(super) fn bytes_per_s(&self) -> Option<f64> {
        let bodies = || Some(self.answered_per_s()? * self.body_bytes()?);
        let counted = || {
            let transfer = &self.row.transfer;
            let by_count = || Some(transfer.read_bytes? / self.duration_s?);
            transfer.read_bytes_per_s.or_else(by_count)
        };
        bodies().or_else(counted)
    }

    pub(super) fn link_share(&self) -> Option<f64> {
        let link = self.rig.link_bits_per_s.filter(|link| *link > 0.0)?;
        Some(self.bytes_per_s()? * 8.0 / link)
    }

    /// Time that the clients need for all requests, one after the other.
    pub(super) fn back_to_back_s(&self) -> Option<f64> {
        // Sent on a schedule, requests overlap as they like.
        let clients = self
            .in_flight_most()
            .filter(|_| self.planned_per_s().is_none())?;
        // Where the tool has added latencies, the mean is longer than requests were.
        let latency = &self.row.latency;
        let mean = latency.mean.filter(|_| !latency.corrected)?;
        Some(self.timed()? * mean.low() / 1e9 / clients)
    }

    fn duration_min_s(&self) -> Option<f64> {
        let longest = self.row.latency.max.map(|max| max.low() / 1e9);
        let on_link = || {
            let ok = self.ended? * (1.0 - self.failed_share().unwrap_or(0.0));
            Some(ok * self.body_bytes()? * 8.0 / self.rig.link_bits_per_s?)
        };
        [longest, self.back_to_back_s(), on_link()]
            .into_iter()
            .flatten()
            .reduce(f64::max)
    }
}
