//! What one thread counts: outcomes, durations and bytes of the measured window.
//!
//! The window opens and closes by the time a request ended, not by when the loop looked: each
//! request is put in the right part exactly. Before the window counts are kept and thrown away
//! when it opens; after it nothing is counted.

use std::collections::BTreeMap;

use bakeoff_record::{
    Bytes, CloseKind, Connections, HeaderBytes, Histogram, Interval, Outcome, OutcomeCounts,
    QuicLedger, UrlResult,
};
use bakeoff_wire::h2::PeerSettings;

use crate::tls::Agreed;
use crate::usage::{CpuTime, thread_cpu};

/// The four times of a request that ended, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) intended: u64,
    pub(crate) sent: u64,
    pub(crate) first_byte: u64,
    pub(crate) done: u64,
}

/// Start and end of the window and the length of its parts, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) interval: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Open,
    Closed,
}

/// What one thread counts.
pub(crate) struct Tally {
    window: Window,
    stage: Stage,
    /// When the next part begins, or the window opens or closes.
    boundary: u64,
    part_start: u64,
    part: Histogram,
    part_ok: u64,
    part_errors: u64,
    /// Status of the last `ok` response and how often it came in a row: a map looked up for each
    /// response would cost as much as its head.
    usual_status: (u16, u64),
    /// In a closed loop service time and latency are the same and are counted once.
    is_open_loop: bool,
    in_flight: u64,
    /// Latency of the last `ok` response, nanoseconds.
    last_latency: u64,
    closed_at: u64,
    cpu_at_start: CpuTime,
    pub(crate) counts: Counts,
}

/// What remains of a tally, and what is merged over threads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) outcomes: OutcomeCounts,
    pub(crate) status: BTreeMap<u16, u64>,
    pub(crate) service: Histogram,
    pub(crate) first_byte: Histogram,
    pub(crate) error_latencies: BTreeMap<Outcome, Histogram>,
    /// Ages of what had no end: timed out, in flight or unsent at the end of the window.
    pub(crate) at_least: Histogram,
    pub(crate) shed: u64,
    pub(crate) handshake: Histogram,
    pub(crate) agreed: Option<Agreed>,
    /// For each exchange, where there are several.
    pub(crate) urls: Vec<UrlResult>,
    pub(crate) connect: Histogram,
    pub(crate) send_lag: Histogram,
    pub(crate) blocked: Histogram,
    pub(crate) carried: Histogram,
    pub(crate) header_bytes: HeaderBytes,
    pub(crate) peer_settings: Option<PeerSettings>,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) bytes: Bytes,
    pub(crate) connections: Connections,
    pub(crate) quic: QuicLedger,
    pub(crate) bodies_checked: u64,
    pub(crate) in_flight_at_end: u64,
    pub(crate) cpu: CpuTime,
    pub(crate) measured_ns: u64,
    /// Time in which the thread had nothing to do; not merged, as it is of one thread.
    pub(crate) waited_ns: u64,
    pub(crate) error_samples: BTreeMap<String, String>,
}

/// Each made by itself: a clone would write its memory and so make it resident.
fn new_urls(exchanges: usize) -> Vec<UrlResult> {
    std::iter::repeat_with(UrlResult::default)
        .take(exchanges)
        .collect()
}

impl Tally {
    pub(crate) fn new(window: Window, exchanges: usize, is_open_loop: bool) -> Self {
        let urls = if exchanges > 1 {
            new_urls(exchanges)
        } else {
            Vec::new()
        };
        Self {
            window,
            stage: Stage::Before,
            boundary: window.start,
            part_start: window.start,
            part: Histogram::new(),
            part_ok: 0,
            part_errors: 0,
            usual_status: (0, 0),
            is_open_loop,
            in_flight: 0,
            last_latency: 0,
            closed_at: window.end,
            cpu_at_start: CpuTime::default(),
            counts: Counts {
                urls,
                ..Counts::default()
            },
        }
    }

    /// Sets the window, once it is known.
    pub(crate) fn set_window(&mut self, window: Window) {
        self.window = window;
        self.boundary = window.start;
        self.part_start = window.start;
        self.closed_at = window.end;
    }

    /// A request began.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.in_flight += 1;
    }

    /// A whole response with the right status and body ended a request.
    #[inline]
    pub(crate) fn end_ok(&mut self, exchange: u32, times: Times, status: u16, body_bytes: u64) {
        self.advance(times.done);
        self.in_flight -= 1;
        if self.stage == Stage::Closed {
            return self.still_in_flight(times.intended);
        }
        self.counts.outcomes.add(Outcome::Ok);
        if status == self.usual_status.0 {
            self.usual_status.1 += 1;
        } else {
            self.count_usual_status();
            self.usual_status = (status, 1);
        }
        self.counts.bytes.body += body_bytes;
        self.part_ok += 1;
        self.last_latency = times.done.saturating_sub(times.intended);
        self.part.record(self.last_latency);
        if self.is_open_loop {
            self.counts
                .service
                .record(times.done.saturating_sub(times.sent));
        }
        self.counts
            .first_byte
            .record(times.first_byte.saturating_sub(times.sent));
        if let Some(url) = self.counts.urls.get_mut(exchange as usize) {
            url.outcomes.add(Outcome::Ok);
            url.latency
                .record(times.done.saturating_sub(times.intended));
        }
    }

    /// Anything else ended a request. `status` is that of a whole response.
    pub(crate) fn end_error(
        &mut self,
        exchange: u32,
        outcome: Outcome,
        intended: u64,
        done: u64,
        status: Option<u16>,
        words: impl FnOnce() -> String,
    ) {
        self.advance(done);
        self.in_flight -= 1;
        if self.stage == Stage::Closed {
            return self.still_in_flight(intended);
        }
        self.counts.outcomes.add(outcome);
        if let Some(url) = self.counts.urls.get_mut(exchange as usize) {
            url.outcomes.add(outcome);
        }
        if let Some(status) = status {
            *self.counts.status.entry(status).or_default() += 1;
        }
        self.part_errors += 1;
        let age = done.saturating_sub(intended);
        self.counts
            .error_latencies
            .entry(outcome)
            .or_default()
            .record(age);
        if matches!(outcome, Outcome::Timeout | Outcome::ConnectTimeout) {
            self.counts.at_least.record(age);
        }
        let samples = &mut self.counts.error_samples;
        if !samples.contains_key(outcome.name()) {
            samples.insert(outcome.name().to_owned(), words());
        }
    }

    /// A request had not ended when the window closed.
    pub(crate) fn still_in_flight(&mut self, intended: u64) {
        self.counts
            .at_least
            .record(self.closed_at.saturating_sub(intended));
    }

    /// A request was due in the window and was not sent.
    pub(crate) fn never_sent(&mut self, intended: u64) {
        if intended >= self.window.start {
            self.still_in_flight(intended);
        }
    }

    /// A TLS handshake ended well; `agreed` is asked for the first one only.
    pub(crate) fn handshake(
        &mut self,
        took_ns: u64,
        resumed: bool,
        agreed: impl FnOnce() -> Agreed,
    ) {
        if self.stage == Stage::Closed {
            return;
        }
        self.counts.handshake.record(took_ns);
        self.counts.agreed.get_or_insert_with(agreed);
        let connections = &mut self.counts.connections;
        connections.handshakes_full += u64::from(!resumed);
        connections.handshakes_resumed += u64::from(resumed);
    }

    /// A request was sent `lag_ns` after it was due.
    #[inline]
    pub(crate) fn sent_late(&mut self, lag_ns: u64) {
        if self.stage != Stage::Closed {
            self.counts.send_lag.record(lag_ns);
        }
    }

    /// A request waited `ns` for a limit of streams; none that did not wait is counted.
    #[inline]
    pub(crate) fn blocked(&mut self, ns: u64) {
        if ns > 0 && self.stage != Stage::Closed {
            self.counts.blocked.record(ns);
        }
    }

    /// A connection has read header blocks, since it was opened.
    pub(crate) fn read_headers(&mut self, wire: u64, decoded: u64) {
        self.counts.header_bytes.wire += wire;
        self.counts.header_bytes.decoded += decoded;
    }

    /// A QUIC connection ended that this side had not ended in order.
    pub(crate) fn count_close(&mut self, kind: CloseKind) {
        *self.counts.quic.closes.entry(kind).or_default() += 1;
    }

    #[inline]
    pub(crate) fn read(&mut self, bytes: usize) {
        if self.stage != Stage::Closed {
            self.counts.bytes.read += bytes as u64;
        }
    }

    #[inline]
    pub(crate) fn wrote(&mut self, bytes: usize) {
        if self.stage != Stage::Closed {
            self.counts.bytes.written += bytes as u64;
        }
    }

    /// Requests that ended in the window so far, or in the warm-up before it opened.
    pub(crate) fn outcomes(&self) -> &OutcomeCounts {
        &self.counts.outcomes
    }

    /// Latency of the last `ok` response, nanoseconds; 0 before.
    pub(crate) fn last_latency(&self) -> u64 {
        self.last_latency
    }

    /// Requests that have begun and not ended.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// When the window's next boundary is.
    pub(crate) fn boundary(&self) -> u64 {
        self.boundary
    }

    /// The thread had nothing to do for so long.
    #[inline]
    pub(crate) fn waited(&mut self, ns: u64) {
        if self.stage == Stage::Open {
            self.counts.waited_ns += ns;
        }
    }

    /// When the window closed; before that, when it is to.
    pub(crate) fn closed_at(&self) -> u64 {
        self.closed_at
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stage == Stage::Closed
    }

    /// Passes every boundary up to `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: u64) {
        while now >= self.boundary {
            self.pass_boundary();
        }
    }

    fn pass_boundary(&mut self) {
        match self.stage {
            Stage::Before => self.open(),
            Stage::Open => {
                self.finish_part(self.boundary);
                if self.boundary >= self.window.end {
                    self.close(self.window.end);
                }
            }
            Stage::Closed => self.boundary = u64::MAX,
        }
        if self.stage == Stage::Open {
            let next = self.part_start.saturating_add(self.window.interval);
            self.boundary = next.min(self.window.end);
        }
    }

    fn count_usual_status(&mut self) {
        let (status, times) = std::mem::take(&mut self.usual_status);
        if times > 0 {
            *self.counts.status.entry(status).or_default() += times;
        }
    }

    /// Throws away the warm-up's counts, except those of connections.
    fn open(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        self.counts.connections = counts.connections;
        self.counts.quic = counts.quic;
        self.counts.connect = counts.connect;
        self.counts.handshake = counts.handshake;
        self.counts.agreed = counts.agreed;
        self.counts.peer_settings = counts.peer_settings;
        self.counts.header_bytes = counts.header_bytes;
        self.counts.urls = new_urls(counts.urls.len());
        self.usual_status = (0, 0);
        self.part.clear();
        self.part_ok = 0;
        self.part_errors = 0;
        self.part_start = self.window.start;
        self.stage = Stage::Open;
        self.cpu_at_start = thread_cpu();
    }

    fn finish_part(&mut self, end: u64) {
        self.counts.intervals.push(Interval {
            start_s: (self.part_start - self.window.start) as f64 / 1e9,
            length_s: (end - self.part_start) as f64 / 1e9,
            ok: self.part_ok,
            errors: self.part_errors,
            latency: self.part.clone(),
        });
        self.part.clear();
        self.part_ok = 0;
        self.part_errors = 0;
        self.part_start = end;
    }

    fn close(&mut self, at: u64) {
        self.stage = Stage::Closed;
        self.closed_at = at;
        self.boundary = u64::MAX;
        self.count_usual_status();
        self.counts.in_flight_at_end = self.in_flight;
        self.counts.measured_ns = at - self.window.start;
        self.counts.cpu = thread_cpu().since(self.cpu_at_start);
    }

    /// Closes the window early: the count was reached, or somebody asked to stop.
    pub(crate) fn close_now(&mut self, now: u64) {
        self.advance(now);
        if self.stage == Stage::Before {
            self.window.start = self.window.start.min(now);
            self.open();
        }
        if self.stage == Stage::Open {
            if now > self.part_start {
                self.finish_part(now);
            }
            self.close(now);
        }
    }
}

impl Counts {
    /// Share of the window in which one thread was at work or was kept from it.
    ///
    /// Time not spent waiting is one measure. A thread that a quota stops is stopped where the
    /// kernel returns from a wait as well, so what it ran and was kept from running is another;
    /// neither can be too large.
    pub(crate) fn busy_share(&self) -> f64 {
        let measured_s = (self.measured_ns as f64 / 1e9).max(1e-9);
        let not_waiting = 1.0 - self.waited_ns as f64 / 1e9 / measured_s;
        let wanted = (self.cpu.user_s + self.cpu.system_s + self.cpu.kept_s) / measured_s;
        not_waiting.max(wanted).clamp(0.0, 1.0)
    }

    /// Adds what another thread counted in the same window.
    pub(crate) fn merge(&mut self, other: Self) {
        self.outcomes.merge(&other.outcomes);
        for (status, n) in other.status {
            *self.status.entry(status).or_default() += n;
        }
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
        for (outcome, ages) in other.error_latencies {
            self.error_latencies
                .entry(outcome)
                .or_default()
                .merge(&ages);
        }
        self.at_least.merge(&other.at_least);
        self.shed += other.shed;
        self.handshake.merge(&other.handshake);
        self.agreed = self.agreed.take().or(other.agreed);
        self.merge_urls(other.urls);
        self.connect.merge(&other.connect);
        self.send_lag.merge(&other.send_lag);
        self.blocked.merge(&other.blocked);
        self.carried.merge(&other.carried);
        self.header_bytes.wire += other.header_bytes.wire;
        self.header_bytes.decoded += other.header_bytes.decoded;
        self.peer_settings = self.peer_settings.or(other.peer_settings);
        self.merge_intervals(other.intervals);
        self.bytes.read += other.bytes.read;
        self.bytes.written += other.bytes.written;
        self.bytes.body += other.bytes.body;
        self.merge_connections(&other.connections);
        self.quic.merge(&other.quic);
        self.bodies_checked += other.bodies_checked;
        self.in_flight_at_end += other.in_flight_at_end;
        self.cpu.user_s += other.cpu.user_s;
        self.cpu.system_s += other.cpu.system_s;
        self.cpu.kept_s += other.cpu.kept_s;
        self.measured_ns = self.measured_ns.max(other.measured_ns);
        for (kind, words) in other.error_samples {
            self.error_samples.entry(kind).or_insert(words);
        }
    }

    fn merge_urls(&mut self, others: Vec<UrlResult>) {
        if self.urls.is_empty() {
            self.urls = others;
            return;
        }
        for (mine, other) in self.urls.iter_mut().zip(others) {
            mine.outcomes.merge(&other.outcomes);
            mine.latency.merge(&other.latency);
        }
    }

    fn merge_intervals(&mut self, others: Vec<Interval>) {
        for (index, other) in others.into_iter().enumerate() {
            match self.intervals.get_mut(index) {
                Some(mine) => {
                    mine.ok += other.ok;
                    mine.errors += other.errors;
                    mine.length_s = mine.length_s.max(other.length_s);
                    mine.latency.merge(&other.latency);
                }
                None => self.intervals.push(other),
            }
        }
    }

    fn merge_connections(&mut self, other: &Connections) {
        let mine = &mut self.connections;
        mine.opened += other.opened;
        mine.failed += other.failed;
        mine.closed_by_server += other.closed_by_server;
        mine.goaways += other.goaways;
        mine.streams_withdrawn += other.streams_withdrawn;
        mine.reused += other.reused;
        mine.handshakes_full += other.handshakes_full;
        mine.handshakes_resumed += other.handshakes_resumed;
    }
}

#[cfg(test)]
mod tests;
