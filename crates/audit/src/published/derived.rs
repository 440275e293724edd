//! What follows from a row's figures and the rig.

use bakeoff_published::{Figure, Row};

use super::rig::Rig;
use super::sentence::quantile;

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

/// What went through the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    pub(super) per_s: f64,
    /// Whether the tool counted it; otherwise it follows from the answers.
    pub(super) is_read: bool,
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
        let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
        let ok = counts.ok.or_else(|| by_rate(value(counts.ok_per_s)));
        // What ended, from whichever figures say it.
        let ended = counts
            .ended
            .or_else(|| Some(ok? + counts.failed?))
            .or_else(|| by_rate(value(counts.rate_per_s)))
            .or_else(|| Some(ok? / (1.0 - counts.failed_share?)))
            .or(ok)
            .filter(|ended| ended.is_finite());
        // What rounding the rate and the length explains is no failure.
        let longest_s = stated_s.map(|s| s + row.load.duration_step_s / 2.0);
        let ok_most = counts
            .ok
            .or_else(|| Some(counts.ok_per_s?.high() * longest_s?));
        let by_ok = || {
            let (all, right) = (counts.ended?, ok?);
            let is_apart = ok_most? < all;
            Some(if is_apart {
                (all - right).max(0.0)
            } else {
                0.0
            })
        };
        let failed = counts
            .failed
            .or_else(|| Some(ended? * counts.failed_share?))
            .or_else(by_ok);
        let rate = value(counts.rate_per_s).filter(|rate| *rate > 0.0);
        let by_count = || Some(counts.ended? / rate?);
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
        by_count().or(self.stated_per_s())
    }

    /// The rate that the row states.
    fn stated_per_s(&self) -> Option<f64> {
        self.row.counts.rate_per_s.map(|rate| rate.value)
    }

    /// Whether nothing came to an end, as at a server that never answers.
    pub(super) fn is_empty(&self) -> bool {
        self.ended.or(self.stated_per_s()) == Some(0.0)
    }

    /// Share of the requests that failed.
    pub(super) fn failed_share(&self) -> Option<f64> {
        let counts = &self.row.counts;
        let by_count = || {
            let ended = self.ended.filter(|ended| *ended > 0.0)?;
            Some((self.failed? / ended).min(1.0))
        };
        let by_rates = || {
            let all = counts.rate_per_s.filter(|all| all.value > 0.0)?;
            let right = counts.ok_per_s?;
            // Both are rounded: what rounding explains is no failure.
            let is_apart = right.high() < all.low();
            Some(if is_apart {
                1.0 - right.value / all.value
            } else {
                0.0
            })
        };
        counts.failed_share.or_else(by_count).or_else(by_rates)
    }

    pub(super) fn ok_per_s(&self) -> Option<f64> {
        let by_share = || Some(self.rate_per_s()? * (1.0 - self.failed_share()?));
        let stated = self.row.counts.ok_per_s.map(|right| right.value);
        stated.or_else(by_share)
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
        by_count().or(self.stated_per_s())
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

    /// Whether requests were sent on a schedule, so that as many are in flight as it takes.
    pub(super) fn is_scheduled(&self) -> bool {
        self.planned_per_s().is_some() || self.row.load.scheduled
    }

    /// Whether each client may have had more requests in flight than is known.
    pub(super) fn are_streams_hidden(&self) -> bool {
        let load = &self.row.load;
        load.streams_hidden && load.streams.or(self.rig.streams).is_none()
    }

    /// The mean, where it is of the very requests that the quantiles are of: where the tool has
    /// added latencies or counts from a schedule, it may not be.
    pub(super) fn plain_mean(&self) -> Option<Figure> {
        let latency = &self.row.latency;
        let is_plain = !latency.corrected && !self.row.load.scheduled;
        latency.mean.filter(|_| is_plain)
    }

    /// The longest latency that was published: what it is called, and how long.
    pub(super) fn longest(&self) -> Option<(String, Figure)> {
        let latency = &self.row.latency;
        let max = latency.max;
        let max = max.map(|max| ("the longest request".to_owned(), max));
        let highest = || {
            let one = latency.quantiles.last()?;
            Some((quantile(one.share), one.value))
        };
        max.or_else(highest)
    }

    /// How long requests take at the end of the measurement, seconds: p99, or the quantile nearest
    /// to it that was published, but no longer than p99 can be by the mean.
    pub(super) fn tail_s(&self) -> Option<f64> {
        let latency = &self.row.latency;
        let beyond = latency.quantiles.iter().find(|one| one.share >= 0.99);
        let below = || latency.quantiles.iter().rfind(|one| one.share >= 0.9);
        if let Some(one) = beyond.or_else(below) {
            let most = self
                .plain_mean()
                .map_or(f64::INFINITY, |mean| mean.value * 100.0);
            return Some(one.value.value.min(most) / 1e9);
        }
        let by_mean = latency.mean?.value * 100.0;
        let longest = latency.max.map_or(by_mean, |max| max.value.min(by_mean));
        Some(longest / 1e9)
    }

    pub(super) fn body_bytes(&self) -> Option<f64> {
        let flagged = || self.rig.body_bytes(&self.row.name);
        self.row.transfer.body_bytes.or_else(flagged)
    }

    /// Bytes a second: of right answers' bodies, or what the tool counted, with heads and bodies of
    /// errors. Both went through the link, so it is what is more.
    pub(super) fn moved(&self) -> Option<Moved> {
        let transfer = &self.row.transfer;
        let bodies = || Some(self.answered_per_s()? * self.body_bytes()?);
        let by_count = || Some(transfer.read_bytes? / self.duration_s?);
        let (bodies, read) = (bodies(), transfer.read_bytes_per_s.or_else(by_count));
        // Nothing is less than something.
        let is_read = read > bodies;
        let per_s = if is_read { read } else { bodies }?;
        Some(Moved { per_s, is_read })
    }

    pub(super) fn link_share(&self) -> Option<f64> {
        let link = self.rig.link_bits_per_s.filter(|link| *link > 0.0)?;
        Some(self.moved()?.per_s * 8.0 / link)
    }

    /// Time that the clients need for all requests, one after the other.
    pub(super) fn back_to_back_s(&self) -> Option<f64> {
        // Sent on a schedule, or on streams that nothing counts, requests overlap as they like.
        let clients = self
            .in_flight_most()
            .filter(|_| !self.is_scheduled() && !self.are_streams_hidden())?;
        // Where the tool has added latencies, the mean is longer than requests were.
        let latency = &self.row.latency;
        let mean = latency.mean.filter(|_| !latency.corrected)?;
        Some(self.timed()? * mean.low() / 1e9 / clients)
    }

    fn duration_min_s(&self) -> Option<f64> {
        let longest = self.longest().map(|(_, longest)| longest.low() / 1e9);
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
