//! What follows from a row's figures and the rig.

use bakeoff_published::{Figure, Row};

use super::clients::Clients;
use super::ended::Ended;
use super::length::{Length, all_per_s};
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
    /// How many of its requests ended, and how many failed.
    pub(super) ended: Ended,
    /// How its requests, its rate and its duration belong together.
    pub(super) length: Length,
}

impl<'a> Subject<'a> {
    pub(super) fn new(row: &'a Row, rig: &'a Rig) -> Self {
        let length = Length::new(row, rig);
        Self {
            row,
            rig,
            ended: Ended::new(row, &length),
            length,
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
        self.rate().map(|rate| rate.value)
    }

    /// Requests a second that ended: as stated, or else as counted. Right answers alone say nothing
    /// of it.
    fn rate(&self) -> Option<Figure> {
        let by_count = || {
            let all = self.ended.requests.filter(|_| self.ended.are_all)?;
            let of_one_run = all * self.length.run_share?;
            Some(Figure::exact(of_one_run / self.length.seconds?))
        };
        let stated = self.length.rate;
        let of_all = || all_per_s(&self.row.counts);
        stated.or_else(by_count).or_else(of_all)
    }

    /// The same until the last had ended. It is less where the tool waited for answers after it had
    /// sent the last request.
    pub(super) fn ended_per_s(&self) -> Option<f64> {
        let by_end = || Some(self.ended.requests? / self.row.counts.ended_within_s?);
        by_end().or_else(|| self.rate_per_s())
    }

    /// Whether nothing came to an end, as at a server that never answers.
    pub(super) fn is_empty(&self) -> bool {
        self.ended.requests.or(self.rate_per_s()) == Some(0.0)
    }

    /// Share of the requests that failed.
    pub(super) fn failed_share(&self) -> Option<f64> {
        let counts = &self.row.counts;
        let by_count = || {
            let ended = self.ended.requests.filter(|ended| *ended > 0.0)?;
            Some((self.ended.failed? / ended).min(1.0))
        };
        let of_rate = |failed: f64| {
            let all = self.rate_per_s().filter(|all| *all > 0.0)?;
            Some((failed / all).min(1.0))
        };
        let by_failures = || of_rate(counts.failed_per_s?.value);
        let failures_least = || of_rate(counts.failed_per_s?.low());
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
        // A share that is printed is rounded, a count is not. Of several runs either may be of one.
        let is_of_one = self.row.load.runs.is_none_or(|runs| runs <= 1.0);
        let counted = by_count().filter(|_| counts.failed.is_some() && is_of_one);
        let stated = counts.failed_share;
        let by_number = stated.map(|share| share.max(counted.unwrap_or(0.0)));
        let by_number = by_number.or_else(by_count);
        // Where the number says none, and a rate of failures some, some failed.
        let by_number = by_number.map(|share| share.max(failures_least().unwrap_or(0.0)));
        by_number.or_else(by_failures).or_else(by_rates)
    }

    pub(super) fn ok_per_s(&self) -> Option<f64> {
        let by_share = || Some(self.ended_per_s()? * (1.0 - self.failed_share()?));
        let by_count = || {
            let within_s = self.row.counts.ended_within_s.or(self.length.seconds);
            Some(self.row.counts.ok? * self.length.run_share? / within_s?)
        };
        let stated = self.row.counts.ok_per_s.map(|right| right.value);
        stated.or_else(by_share).or_else(by_count)
    }

    /// The same; where nothing says that any failed, all of them.
    pub(super) fn answered_per_s(&self) -> Option<f64> {
        self.ok_per_s().or_else(|| self.ended_per_s())
    }

    /// Requests that the latencies are of.
    pub(super) fn timed(&self) -> Option<f64> {
        Some((self.ended.requests? - self.row.counts.untimed).max(0.0))
    }

    /// Requests a second that the latencies are of.
    fn timed_per_s(&self) -> Option<Figure> {
        let rate = self.rate()?;
        match (self.timed(), self.ended.requests) {
            (Some(timed), Some(ended)) if timed < ended => {
                Some(Figure::exact(rate.value * timed / ended))
            }
            _ => Some(rate),
        }
    }

    /// Rate times mean latency, with what rounding leaves open.
    pub(super) fn in_flight(&self) -> Option<Figure> {
        let (rate, mean) = (self.timed_per_s()?, self.row.latency.mean?);
        Some(Figure {
            value: rate.value * mean.value / 1e9,
            step: (rate.value * mean.step + rate.step * mean.value) / 1e9,
        })
    }

    /// Rate and mean latency in seconds.
    pub(super) fn rate_and_mean(&self) -> Option<(f64, f64)> {
        Some((
            self.timed_per_s()?.value,
            self.row.latency.mean?.value / 1e9,
        ))
    }

    pub(super) fn clients(&self) -> Clients {
        Clients::of(self.row, self.rig)
    }

    pub(super) fn planned_per_s(&self) -> Option<f64> {
        let planned = self.row.load.planned_per_s.or(self.rig.planned_per_s);
        planned.filter(|planned| *planned > 0.0)
    }

    /// Whether requests were sent on a schedule, so that as many are in flight as it takes.
    pub(super) fn is_scheduled(&self) -> bool {
        let is_by_tool = self.row.load.scheduled && !self.is_without_rate();
        self.planned_per_s().is_some() || is_by_tool
    }

    /// Whether the user says that no rate was asked for. Only a tool that prints no clients may
    /// have gone without a schedule, as vegeta does with `-rate=0`; wrk2 always has one.
    pub(super) fn is_without_rate(&self) -> bool {
        let load = &self.row.load;
        let is_without = self.rig.planned_per_s.is_some_and(|rate| rate <= 0.0);
        is_without && load.planned_per_s.is_none() && load.clients.is_none()
    }

    /// The mean, where it is of the very requests that the quantiles are of: where the tool has
    /// added latencies, it is not, and of wrk2's it may not be.
    pub(super) fn plain_mean(&self) -> Option<Figure> {
        let latency = &self.row.latency;
        let is_plain = !latency.corrected && !latency.is_mean_apart;
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
        let length = &self.length;
        let within_s = self.row.counts.ended_within_s.or(length.seconds);
        let by_count = || Some(transfer.read_bytes? * length.run_share? / within_s?);
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
        let clients = self.clients();
        let overlaps = self.is_scheduled() || clients.are_streams_hidden();
        let in_flight = clients.in_flight_most().filter(|_| !overlaps)?;
        // Where the tool has added latencies, the mean is longer than requests were.
        let latency = &self.row.latency;
        let mean = latency.mean.filter(|_| !latency.corrected)?;
        Some(self.timed()? * self.length.run_share? * mean.low() / 1e9 / in_flight)
    }

    fn duration_min_s(&self) -> Option<f64> {
        let longest = self.longest().map(|(_, longest)| longest.low() / 1e9);
        let on_link = || {
            let ended = self.ended.requests? * self.length.run_share?;
            let ok = ended * (1.0 - self.failed_share().unwrap_or(0.0));
            Some(ok * self.body_bytes()? * 8.0 / self.rig.link_bits_per_s?)
        };
        [longest, self.back_to_back_s(), on_link()]
            .into_iter()
            .flatten()
            .reduce(f64::max)
    }
}
