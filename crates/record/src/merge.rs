//! Adds up what several threads of one engine, or several engines that shared a load, saw in the
//! same window.
//!
//! All histograms have the same buckets, so their sums are exact. A percentile of the sum is the
//! one that a single engine would have measured. Nothing is averaged.

use std::collections::BTreeMap;

use crate::histogram::Histogram;
use crate::load::{
    Bytes, Connections, EngineUsage, HeaderBytes, Interval, LoadResult, Negotiated, Requests,
    UrlResult,
};
use crate::observed::{Clients, DuePart, InFlight, Observed, ScheduleKept, SetUp};
use crate::outcome::Outcome;
use crate::peer::{AddressUse, Said};
use crate::samples::Samples;

/// Why results cannot be added up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is no result.
    #[error("there is no result to add up")]
    Nothing,
    /// They are not of one load.
    #[error("part 1 and part {part} are not of one load: they differ in {what}")]
    Differs {
        /// Which part differs from the first, counted from 1.
        part: usize,
        /// What they differ in.
        what: &'static str,
    },
}

impl LoadResult {
    /// The result of a load that several engines carried out together, from what each of them
    /// saw. Counts, histograms and bytes are sums; the window is as long as the longest, so the
    /// rate is the sum of the rates. `rss_bytes_max` is that of the largest engine.
    ///
    /// # Errors
    /// When there is no part, or the parts are not of one load.
    pub fn merge(parts: &[Self]) -> Result<Self, MergeError> {
        let (first, others) = parts.split_first().ok_or(MergeError::Nothing)?;
        let mut all = first.clone();
        for (index, other) in others.iter().enumerate() {
            if let Some(what) = difference(first, other) {
                let part = index + 2;
                return Err(MergeError::Differs { part, what });
            }
            all.add(other);
        }
        let usual_ns = all.latency.quantile(0.5).unwrap_or(0);
        let clients: Vec<&Clients> = parts.iter().map(|part| &part.observed.clients).collect();
        all.observed.clients = Clients::merge(&clients, usual_ns, all.measured_s);
        Ok(all)
    }

    /// Adds another part, but for the clients. Every field is named, so that a new one is not
    /// forgotten.
    fn add(&mut self, other: &Self) {
        let Self {
            load: _,
            shape: _,
            url: _,
            threads,
            seed: _,
            measured_s,
            requests,
            balance,
            schedule,
            outcomes,
            status,
            latency: _,
            service: _,
            first_byte: _,
            error_latencies,
            at_least: _,
            connect: _,
            handshake: _,
            send_lag: _,
            blocked: _,
            carried: _,
            bytes,
            header_bytes,
            connections,
            quic,
            negotiated,
            engine,
            intervals,
            warmup,
            observed,
            settings: _,
            bodies_checked,
            urls,
            warnings,
            error_samples,
        } = other.clone();
        self.add_histograms(other);
        self.threads += threads;
        self.measured_s = self.measured_s.max(measured_s);
        self.requests.merge(&requests);
        self.balance.merge(balance);
        merge_some(&mut self.schedule, schedule, |mine, other| {
            mine.merge(&other)
        });
        self.outcomes.merge(&outcomes);
        for (status, n) in status {
            *self.status.entry(status).or_default() += n;
        }
        self.add_errors(error_latencies, error_samples);
        self.bytes.merge(&bytes);
        merge_some(&mut self.header_bytes, header_bytes, HeaderBytes::merge);
        self.connections.merge(&connections);
        merge_some(&mut self.quic, quic, |mine, other| mine.merge(&other));
        self.negotiated.merge(negotiated);
        self.engine.merge(engine);
        Interval::merge(&mut self.intervals, intervals);
        Interval::merge(&mut self.warmup, warmup);
        self.observed.merge(observed);
        self.bodies_checked += bodies_checked;
        for (mine, other) in self.urls.iter_mut().zip(&urls) {
            mine.merge(other);
        }
        let known = self.warnings.clone();
        let new = warnings.into_iter().filter(|it| !known.contains(it));
        self.warnings.extend(new);
    }

    fn add_errors(
        &mut self,
        latencies: BTreeMap<Outcome, Histogram>,
        samples: BTreeMap<String, String>,
    ) {
        for (outcome, ages) in latencies {
            let mine = self.error_latencies.entry(outcome);
            mine.or_default().merge(&ages);
        }
        for (kind, sample) in samples {
            self.error_samples.entry(kind).or_insert(sample);
        }
    }

    fn add_histograms(&mut self, other: &Self) {
        let mut other = other.clone();
        let theirs = other.histograms_mut();
        for (mine, theirs) in self.histograms_mut().into_iter().zip(theirs) {
            mine.merge(theirs);
        }
    }
}

/// What two results differ in that are not of one load.
fn difference(one: &LoadResult, other: &LoadResult) -> Option<&'static str> {
    let names = |result: &LoadResult| -> Vec<String> {
        result.urls.iter().map(|each| each.url.clone()).collect()
    };
    [
        ("the load", one.load == other.load),
        ("the shape of the rate", one.shape == other.shape),
        ("the URL", one.url == other.url),
        ("the seed", one.seed == other.seed),
        ("the engine's settings", one.settings == other.settings),
        ("the list of requests", names(one) == names(other)),
    ]
    .into_iter()
    .find_map(|(what, same)| (!same).then_some(what))
}

fn merge_some<T>(mine: &mut Option<T>, other: Option<T>, merge: impl FnOnce(&mut T, T)) {
    match (mine, other) {
        (Some(mine), Some(other)) => merge(mine, other),
        (mine @ None, other) => *mine = other,
        (Some(_), None) => {}
    }
}

impl Requests {
    /// Adds another part of the same load.
    fn merge(&mut self, other: &Self) {
        let sum = |mine: &mut Option<u64>, other: Option<u64>| {
            merge_some(mine, other, |mine, other| *mine += other);
        };
        sum(&mut self.planned, other.planned);
        sum(&mut self.due, other.due);
        sum(&mut self.unended, other.unended);
        self.started += other.started;
        self.carried_in += other.carried_in;
        self.begun += other.begun;
        self.completed += other.completed;
        self.ok += other.ok;
        self.in_flight_at_end += other.in_flight_at_end;
        self.shed += other.shed;
    }
}

impl UrlResult {
    /// Adds what another thread or engine had of the same URL.
    pub fn merge(&mut self, other: &Self) {
        self.outcomes.merge(&other.outcomes);
        self.latency.merge(&other.latency);
    }
}

impl Bytes {
    fn merge(&mut self, other: &Self) {
        self.read += other.read;
        self.written += other.written;
        self.body += other.body;
    }
}

impl HeaderBytes {
    /// Adds what another thread or engine counted.
    pub fn merge(&mut self, other: Self) {
        self.wire += other.wire;
        self.decoded += other.decoded;
    }
}

impl Connections {
    /// Adds what another thread or engine counted.
    pub fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.failed += other.failed;
        self.closed_by_server += other.closed_by_server;
        self.goaways += other.goaways;
        self.streams_withdrawn += other.streams_withdrawn;
        self.reused += other.reused;
        self.handshakes_full += other.handshakes_full;
        self.handshakes_resumed += other.handshakes_resumed;
    }
}

impl Negotiated {
    /// What the first engine that had an answer agreed on.
    fn merge(&mut self, other: Self) {
        if self.protocol.is_empty() {
            *self = other;
        }
    }
}

impl EngineUsage {
    fn merge(&mut self, other: Self) {
        self.cpu_user_s += other.cpu_user_s;
        self.cpu_system_s += other.cpu_system_s;
        self.rss_bytes_max = self.rss_bytes_max.max(other.rss_bytes_max);
        self.busy_share.extend(other.busy_share);
        self.threads.extend(other.threads);
    }
}

impl ScheduleKept {
    fn merge(&mut self, other: &Self) {
        self.slip.merge(&other.slip);
        self.wait.merge(&other.wait);
        self.punctual.merge(&other.punctual);
        DuePart::merge(&mut self.parts, &other.parts);
    }
}

impl DuePart {
    /// Adds another thread's or engine's parts of the same window.
    pub fn merge(mine: &mut Vec<Self>, others: &[Self]) {
        for (index, other) in others.iter().enumerate() {
            match mine.get_mut(index) {
                Some(mine) => {
                    mine.due += other.due;
                    mine.begun += other.begun;
                    mine.ended += other.ended;
                }
                None => mine.push(*other),
            }
        }
    }
}

impl Interval {
    /// Joins neighbours in pairs.
    pub fn join(parts: &mut Vec<Self>) {
        let fine = std::mem::take(parts);
        for (index, part) in fine.into_iter().enumerate() {
            match parts.last_mut() {
                Some(last) if index % 2 == 1 => {
                    last.length_s += part.length_s;
                    last.add(&part);
                }
                _ => parts.push(part),
            }
        }
    }

    /// Adds what ended in another part, and not its length.
    pub fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        self.errors += other.errors;
        let mut latency = Histogram::new();
        latency.merge(&self.latency);
        latency.merge(&other.latency);
        self.latency = latency.trimmed();
        match (&mut self.failed, &other.failed) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, Some(theirs)) => self.failed = Some(theirs.clone()),
            (_, None) => {}
        }
    }

    /// Adds another thread's or engine's parts of the same stretch, by their place in it. Where
    /// one has longer parts, those of the other are joined first.
    pub fn merge(mine: &mut Vec<Self>, mut others: Vec<Self>) {
        let length = |parts: &[Self]| parts.first().map_or(0.0, |part| part.length_s);
        while mine.len() > 1 && length(mine) < length(&others) * 0.75 {
            Self::join(mine);
        }
        while others.len() > 1 && length(&others) < length(mine) * 0.75 {
            Self::join(&mut others);
        }
        for (index, other) in others.into_iter().enumerate() {
            match mine.get_mut(index) {
                Some(mine) => {
                    mine.length_s = mine.length_s.max(other.length_s);
                    mine.add(&other);
                }
                None => mine.push(other),
            }
        }
    }
}

impl InFlight {
    /// Forgets every other look, from the second on.
    pub fn thin(counts: &mut Vec<u64>) {
        let mut keep = false;
        counts.retain(|_| {
            keep = !keep;
            keep
        });
    }

    /// Forgets looks until they are about as far apart as those of another.
    fn thin_to(&mut self, step_s: f64) {
        while self.step_s < step_s * 0.75 && self.counts.len() > 1 {
            Self::thin(&mut self.counts);
            self.step_s *= 2.0;
        }
    }

    /// Adds another thread's or engine's looks, which began at the same time. Without a time from
    /// one look to the next, which an agent may say, there is nothing to add them by.
    pub fn merge(&mut self, mut other: Self) {
        if self.counts.is_empty() || other.counts.is_empty() {
            if self.counts.is_empty() {
                *self = other;
            }
            return;
        }
        let is_length = |step_s: f64| step_s.is_finite() && step_s > 0.0;
        if !is_length(self.step_s) || !is_length(other.step_s) {
            return;
        }
        self.thin_to(other.step_s);
        other.thin_to(self.step_s);
        self.counts.truncate(other.counts.len());
        for (mine, other) in self.counts.iter_mut().zip(other.counts) {
            *mine += other;
        }
    }
}

impl SetUp {
    /// Adds what another thread's or engine's connections spent.
    pub fn merge(&mut self, other: Self) {
        self.connecting_s += other.connecting_s;
        self.handshaking_s += other.handshaking_s;
        self.resting_s += other.resting_s;
    }
}

impl Observed {
    /// Adds another part, but for the clients.
    fn merge(&mut self, other: Self) {
        let Self {
            in_flight,
            clients: _,
            set_up,
            engine_lag,
            send_gaps_ns,
            latencies_ns,
            closed_early_after,
            interrupted,
            bodies_wrong,
            unasked,
            opening_s,
            addresses,
            said,
        } = other;
        self.in_flight.merge(in_flight);
        self.set_up.merge(set_up);
        self.engine_lag.merge(&engine_lag);
        self.send_gaps_ns.append(send_gaps_ns);
        self.latencies_ns.append(latencies_ns);
        self.closed_early_after.merge(&closed_early_after);
        merge_some(&mut self.interrupted, interrupted, |mine, other| {
            mine.cut_off += other.cut_off;
        });
        self.bodies_wrong += bodies_wrong;
        self.unasked += unasked;
        self.opening_s = opening_s.into_iter().chain(self.opening_s).reduce(f64::max);
        AddressUse::merge(&mut self.addresses, addresses);
        Said::merge(&mut self.said, said);
    }
}

impl Clients {
    /// How answers were spread over clients, each given by its answers and its longest wait in
    /// nanoseconds, in a window of `measured_s` with a median latency of `usual_ns`. With
    /// `keeps_each` the figures of each are kept, so that several engines' clients can be added up.
    pub fn of(
        clients: &[(u64, u64)],
        usual_ns: u64,
        measured_s: f64,
        oldest_age_s: Option<f64>,
        keeps_each: bool,
    ) -> Self {
        let quarter_ns = quarter(measured_s);
        let answers: Vec<u64> = clients.iter().map(|(answers, _)| *answers).collect();
        let waits = clients.iter().map(|(_, longest)| *longest);
        let waits: Vec<u64> = waits.filter(|wait| *wait > quarter_ns).collect();
        let spread = Self::spread(answers, waits, usual_ns, quarter_ns);
        let kept = if keeps_each {
            spread
        } else {
            spread.without_each()
        };
        Self {
            oldest_age_s,
            ..kept
        }
    }

    /// The spread over the clients of several engines. Where one did not keep the figures of each
    /// client, ranks between the least and the most are not known: `p5` is then that of the
    /// engine whose clients had least, and so is the median.
    fn merge(parts: &[&Self], usual_ns: u64, measured_s: f64) -> Self {
        let oldest = parts.iter().filter_map(|part| part.oldest_age_s);
        let oldest_age_s = oldest.reduce(f64::max);
        let keep_each = |part: &&Self| part.answers.values().len() as u64 == part.count;
        if parts.iter().all(keep_each) {
            let each = |of: fn(&Self) -> &Samples| -> Vec<u64> {
                let steps = parts.iter().map(|part| of(part).values());
                steps.flat_map(summed).collect()
            };
            let (answers, waits) = (each(|part| &part.answers), each(|part| &part.long_waits_ns));
            let spread = Self::spread(answers, waits, usual_ns, quarter(measured_s));
            return Self {
                oldest_age_s,
                ..spread.without_each()
            };
        }
        let least = |of: fn(&Self) -> u64| parts.iter().map(|part| of(part)).min().unwrap_or(0);
        let sum = |of: fn(&Self) -> u64| parts.iter().map(|part| of(part)).sum();
        Self {
            count: sum(|part| part.count),
            min: least(|part| part.min),
            p5: least(|part| part.p5),
            median: least(|part| part.median),
            max: parts.iter().map(|part| part.max).max().unwrap_or(0),
            none: sum(|part| part.none),
            waiting_long: sum(|part| part.waiting_long),
            oldest_age_s,
            answers: Samples::default(),
            long_waits_ns: Samples::default(),
        }
    }

    fn spread(mut answers: Vec<u64>, mut waits: Vec<u64>, usual_ns: u64, quarter_ns: u64) -> Self {
        answers.sort_unstable();
        waits.sort_unstable();
        let rank = |q: f64| {
            let at = (q * answers.len() as f64).ceil() as usize;
            answers.get(at.max(1) - 1).copied().unwrap_or(0)
        };
        let long_ns = quarter_ns.max(usual_ns.saturating_mul(10));
        let waited = waits.iter().filter(|wait| **wait > long_ns);
        Self {
            count: answers.len() as u64,
            min: rank(0.0),
            p5: rank(0.05),
            median: rank(0.5),
            max: rank(1.0),
            none: answers.iter().filter(|each| **each == 0).count() as u64,
            waiting_long: waited.count() as u64,
            oldest_age_s: None,
            answers: steps(&answers),
            long_waits_ns: steps(&waits),
        }
    }

    fn without_each(self) -> Self {
        Self {
            answers: Samples::default(),
            long_waits_ns: Samples::default(),
            ..self
        }
    }
}

/// A quarter of a window, nanoseconds.
fn quarter(measured_s: f64) -> u64 {
    (measured_s * 1e9).round() as u64 / 4
}

/// Ascending values as the steps between them, which take less room.
fn steps(ascending: &[u64]) -> Samples {
    let (mut steps, mut last) = (Samples::default(), 0);
    for value in ascending {
        steps.push_up_to(usize::MAX, value - last);
        last = *value;
    }
    steps
}

/// Ascending values from the steps between them.
fn summed(steps: &[u64]) -> impl Iterator<Item = u64> + '_ {
    steps.iter().scan(0_u64, |sum, step| {
        *sum = sum.saturating_add(*step);
        Some(*sum)
    })
}

#[cfg(test)]
mod tests;
