//! What remains of a ledger, by what it is about. Each part adds another thread's to its own.

use std::collections::BTreeMap;

use bakeoff_record::{
    AddressUse, Balance, CloseKind, Connections, DuePart, HeaderBytes, Histogram, InFlight,
    Interval, Outcome, OutcomeCounts, QuicLedger, Samples, SetUp, UrlResult,
};
use bakeoff_wire::h2::PeerSettings;

use super::Noted;
use crate::answers::Answers;
use crate::end::End;
use crate::tls::Agreed;
use crate::usage::CpuTime;

/// What one thread counted, and what is merged over threads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) requests: RequestCounts,
    pub(crate) schedule: ScheduleCounts,
    pub(crate) links: LinkCounts,
    pub(crate) clock: ClockCounts,
    pub(crate) meter: Meter,
    pub(crate) observed: ObservedCounts,
}

impl Counts {
    /// Those of so many requests, each of which has so many variants.
    pub(super) fn new(requests: usize, variants: usize) -> Self {
        let urls = if requests > 1 { requests } else { 0 };
        Self {
            requests: RequestCounts {
                urls: vec![UrlResult::default(); urls],
                variants,
                ..RequestCounts::default()
            },
            ..Self::default()
        }
    }

    /// Adds what another thread counted in the same window.
    pub(crate) fn merge(&mut self, other: Self) {
        self.requests.merge(other.requests);
        self.schedule.merge(other.schedule);
        self.links.merge(other.links);
        self.clock.merge(other.clock);
        self.meter.merge(other.meter);
        self.observed.merge(other.observed);
    }
}

/// The window's requests: those that ended in it, or in an open loop those due in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestCounts {
    pub(crate) outcomes: OutcomeCounts,
    pub(crate) status: BTreeMap<u16, u64>,
    /// Of an open loop; in a closed loop it is the sum of the parts'.
    pub(crate) latency: Histogram,
    pub(crate) service: Histogram,
    pub(crate) first_byte: Histogram,
    pub(crate) error_latencies: BTreeMap<Outcome, Histogram>,
    /// Ages of what had no end: timed out, in flight or unsent at the end.
    pub(crate) at_least: Histogram,
    /// For each request, where there are several.
    pub(crate) urls: Vec<UrlResult>,
    /// Exchanges that are variants of one request.
    variants: usize,
    pub(crate) error_samples: BTreeMap<String, String>,
    pub(crate) body_bytes: u64,
    pub(crate) bodies_checked: u64,
    pub(super) usual: UsualStatus,
}

impl RequestCounts {
    /// What is counted of the request that an exchange is of, where there are several.
    #[inline]
    pub(super) fn url(&mut self, exchange: u32) -> Option<&mut UrlResult> {
        if self.urls.is_empty() {
            return None;
        }
        self.urls.get_mut(exchange as usize / self.variants.max(1))
    }

    /// A request had not ended at `until`, when it was no longer waited for.
    pub(super) fn unended(&mut self, intended: u64, until: u64) {
        self.at_least.record(until.saturating_sub(intended));
    }

    pub(super) fn fail(&mut self, exchange: u32, end: &End, status: Option<u16>, age: u64) {
        let outcome = end.outcome();
        self.outcomes.add(outcome);
        if let Some(url) = self.url(exchange) {
            url.outcomes.add(outcome);
        }
        if let Some(status) = status {
            *self.status.entry(status).or_default() += 1;
        }
        self.error_latencies.entry(outcome).or_default().record(age);
        if outcome.is_timeout() {
            self.at_least.record(age);
        }
        if !self.error_samples.contains_key(outcome.name()) {
            let sample = (outcome.name().to_owned(), end.to_string());
            self.error_samples.extend([sample]);
        }
    }

    /// The longest that a request took that ended otherwise than by its timeout, nanoseconds.
    pub(super) fn longest_ns(&self) -> u64 {
        let failed = self.error_latencies.iter();
        let failed = failed.filter(|(outcome, _)| !outcome.is_timeout());
        let ended = failed.map(|(_, ages)| ages).chain([&self.latency]);
        ended.filter_map(Histogram::max).max().unwrap_or(0)
    }

    fn merge(&mut self, mut other: Self) {
        self.outcomes.merge(&other.outcomes);
        for (status, n) in other.status {
            *self.status.entry(status).or_default() += n;
        }
        self.latency.merge(&other.latency);
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
        for (outcome, ages) in other.error_latencies {
            let mine = self.error_latencies.entry(outcome).or_default();
            mine.merge(&ages);
        }
        self.at_least.merge(&other.at_least);
        // Thousands of them are moved where they can be: a copy would double the peak.
        let others = if self.urls.is_empty() {
            std::mem::swap(&mut self.urls, &mut other.urls);
            Vec::new()
        } else {
            other.urls
        };
        for (mine, other) in self.urls.iter_mut().zip(others) {
            mine.merge(&other);
        }
        for (kind, sample) in other.error_samples {
            self.error_samples.entry(kind).or_insert(sample);
        }
        self.body_bytes += other.body_bytes;
        self.bodies_checked += other.bodies_checked;
    }
}

/// How the schedule of an open loop was kept, and how long the limit of streams blocked.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScheduleCounts {
    /// Due in the window.
    pub(crate) due: u64,
    /// Of them, those that were begun.
    pub(crate) begun: u64,
    /// Not begun because they had waited past their deadline, warm-up included.
    pub(crate) shed: u64,
    /// Due in a window that a request to stop cut off, before they had time to end; in no other
    /// count.
    pub(crate) cut_off: u64,
    pub(crate) send_lag: Histogram,
    pub(crate) slip: Histogram,
    pub(crate) wait: Histogram,
    pub(crate) punctual: Histogram,
    pub(crate) blocked: Histogram,
    pub(crate) parts: Vec<DuePart>,
}

impl ScheduleCounts {
    /// A request that had begun was cut off: it counts as one that was never due in its `part`.
    pub(super) fn take_back(&mut self, part: &mut DuePart) {
        self.due -= 1;
        self.begun -= 1;
        self.cut_off += 1;
        part.due -= 1;
        part.begun -= 1;
    }

    fn merge(&mut self, other: Self) {
        self.due += other.due;
        self.begun += other.begun;
        self.shed += other.shed;
        self.cut_off += other.cut_off;
        self.send_lag.merge(&other.send_lag);
        self.slip.merge(&other.slip);
        self.wait.merge(&other.wait);
        self.punctual.merge(&other.punctual);
        self.blocked.merge(&other.blocked);
        DuePart::merge(&mut self.parts, &other.parts);
    }
}

/// What became of connections, warm-up included.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkCounts {
    pub(crate) connections: Connections,
    pub(crate) connect: Histogram,
    pub(crate) handshake: Histogram,
    /// What the first handshake agreed on.
    pub(crate) agreed: Option<Agreed>,
    /// What was spoken on the first connection that was ready.
    pub(crate) protocol: Option<&'static str>,
    pub(crate) peer_settings: Option<PeerSettings>,
    pub(crate) header_bytes: HeaderBytes,
    /// Requests that connections ended by the server had carried.
    pub(crate) carried: Histogram,
    pub(crate) closed_early_after: Histogram,
    pub(crate) quic: QuicLedger,
}

impl LinkCounts {
    /// A handshake ended well; `agreed` is asked for the first one only.
    pub(crate) fn handshake(
        &mut self,
        took_ns: u64,
        resumed: bool,
        agreed: impl FnOnce() -> Agreed,
    ) {
        self.handshake.record(took_ns);
        self.agreed.get_or_insert_with(agreed);
        self.connections.handshakes_full += u64::from(!resumed);
        self.connections.handshakes_resumed += u64::from(resumed);
    }

    /// A QUIC connection ended that this side had not ended in order.
    pub(crate) fn count_close(&mut self, kind: CloseKind) {
        *self.quic.closes.entry(kind).or_default() += 1;
    }

    fn merge(&mut self, other: Self) {
        self.connections.merge(&other.connections);
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.agreed = self.agreed.take().or(other.agreed);
        self.protocol = self.protocol.or(other.protocol);
        self.peer_settings = self.peer_settings.or(other.peer_settings);
        self.header_bytes.merge(other.header_bytes);
        self.carried.merge(&other.carried);
        self.closed_early_after.merge(&other.closed_early_after);
        self.quic.merge(&other.quic);
    }
}

/// What was counted by the clock, whoever's requests it was for.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClockCounts {
    pub(crate) balance: Balance,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) warmup: Vec<Interval>,
    pub(crate) measured_ns: u64,
    /// Of the window's requests, those that had not ended when they were no longer waited for.
    pub(crate) in_flight_at_end: u64,
    /// How old a request may be that a request to stop cut off, nanoseconds; `None` where the load
    /// came to its end.
    pub(crate) grace_ns: Option<u64>,
    pub(crate) cpu_at_start: CpuTime,
    pub(crate) cpu: CpuTime,
}

impl ClockCounts {
    /// Whether a request that was due at `intended` and did not end until `until` had no time to.
    pub(super) fn is_cut_off(&self, intended: u64, until: u64) -> bool {
        let age_ns = until.saturating_sub(intended);
        self.grace_ns.is_some_and(|grace_ns| age_ns <= grace_ns)
    }

    /// Share of the window in which one thread was at work or was kept from it.
    ///
    /// Time not spent waiting is one measure. A thread that a quota stops is stopped where the
    /// kernel returns from a wait as well, so what it ran and was kept from running is another;
    /// neither can be too large.
    pub(crate) fn busy_share(&self, waited_ns: u64) -> f64 {
        let measured_s = (self.measured_ns as f64 / 1e9).max(1e-9);
        let not_waiting = 1.0 - waited_ns as f64 / 1e9 / measured_s;
        let wanted = (self.cpu.user_s + self.cpu.system_s + self.cpu.kept_s) / measured_s;
        not_waiting.max(wanted).clamp(0.0, 1.0)
    }

    fn merge(&mut self, other: Self) {
        self.balance.merge(other.balance);
        Interval::merge(&mut self.intervals, other.intervals);
        Interval::merge(&mut self.warmup, other.warmup);
        self.in_flight_at_end += other.in_flight_at_end;
        self.grace_ns = self.grace_ns.max(other.grace_ns);
        self.measured_ns = self.measured_ns.max(other.measured_ns);
        self.cpu.user_s += other.cpu.user_s;
        self.cpu.system_s += other.cpu.system_s;
        self.cpu.kept_s += other.cpu.kept_s;
    }
}

/// What passed through a thread while the window was open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    pub(super) is_open: bool,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    /// From an answer's arrival in the kernel to its reading.
    pub(crate) engine_lag: Histogram,
    /// Time that one thread waited; not merged, nor is its longest turn.
    pub(crate) waited_ns: u64,
    pub(crate) longest_turn_ns: u64,
}

impl Meter {
    #[inline]
    pub(crate) fn read(&mut self, bytes: usize) {
        if self.is_open {
            self.bytes_read += bytes as u64;
        }
    }

    #[inline]
    pub(crate) fn wrote(&mut self, bytes: usize) {
        if self.is_open {
            self.bytes_written += bytes as u64;
        }
    }

    /// An answer lay in the kernel for `ns` before it was read.
    #[cold]
    pub(crate) fn lagged(&mut self, ns: u64) {
        if self.is_open {
            self.engine_lag.record(ns);
        }
    }

    /// The thread waited from `before` to `woke`.
    #[inline]
    pub(crate) fn waited(&mut self, before: u64, woke: u64) {
        if self.is_open {
            self.waited_ns += woke.saturating_sub(before);
        }
    }

    /// A turn of the loop took from `woke` to `now`.
    #[inline]
    pub(crate) fn turned(&mut self, woke: u64, now: u64) {
        if self.is_open {
            self.longest_turn_ns = self.longest_turn_ns.max(now.saturating_sub(woke));
        }
    }

    fn merge(&mut self, other: Self) {
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.engine_lag.merge(&other.engine_lag);
    }
}

/// The status of the last `ok` response and how often it came in a row: a map looked up for each
/// response would cost as much as its head.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsualStatus {
    status: u16,
    times: u64,
}

impl UsualStatus {
    #[inline]
    pub(super) fn count(&mut self, status: u16, all: &mut BTreeMap<u16, u64>) {
        if status != self.status {
            self.finish(all);
            self.status = status;
        }
        self.times += 1;
    }

    /// Adds what is counted apart to all statuses.
    pub(super) fn finish(&mut self, all: &mut BTreeMap<u16, u64>) {
        let times = std::mem::take(&mut self.times);
        if times > 0 {
            *all.entry(self.status).or_default() += times;
        }
    }
}

/// Latencies kept one by one.
const LATENCIES_MAX: usize = 10_000;

/// What was observed beside requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObservedCounts {
    pub(crate) in_flight: InFlight,
    /// For each slot, its `ok` answers and the longest wait for one, nanoseconds.
    pub(crate) clients: Vec<(u64, u64)>,
    pub(crate) oldest_age_ns: Option<u64>,
    pub(crate) set_up: SetUp,
    /// Bodies that were compared and were wrong.
    pub(crate) bodies_wrong: u64,
    /// Connections at rest on which the server sent something.
    pub(crate) unasked: u64,
    pub(crate) send_gaps: Samples,
    pub(crate) latencies: Samples,
    /// Requests noted one by one.
    pub(crate) noted: Noted,
    /// How long connections were opened ahead of the load, nanoseconds.
    pub(crate) opening_ns: u64,
    pub(crate) addresses: Vec<AddressUse>,
    pub(crate) said: Answers,
}

impl ObservedCounts {
    /// Keeps one of the first latencies by itself. Returns whether more are kept.
    #[cold]
    pub(super) fn sample(&mut self, latency: u64) -> bool {
        self.latencies.push_up_to(LATENCIES_MAX, latency);
        self.latencies.values().len() < LATENCIES_MAX
    }

    fn merge(&mut self, mut other: Self) {
        self.in_flight.merge(other.in_flight);
        self.clients.append(&mut other.clients);
        self.oldest_age_ns = self.oldest_age_ns.max(other.oldest_age_ns);
        self.set_up.merge(other.set_up);
        self.bodies_wrong += other.bodies_wrong;
        self.unasked += other.unasked;
        self.send_gaps.append(other.send_gaps);
        self.latencies.append(other.latencies);
        self.noted.merge(other.noted);
        self.opening_ns = self.opening_ns.max(other.opening_ns);
        AddressUse::merge(&mut self.addresses, other.addresses);
        self.said.merge(other.said);
    }
}
