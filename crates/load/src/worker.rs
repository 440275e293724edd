//! The loop of one engine thread: waits, reads, records, begins what is next.
//!
//! Sockets are edge-triggered, so a ready socket is read until a short read, or until its end if
//! the kernel said that there is one. One clock reading serves the response just read and the
//! request sent right after it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use bakeoff_plan::{Arrival, LoadModel, Schedule};
use bakeoff_record::Outcome;
use bakeoff_wire::h1::HeadMemo;
use bakeoff_wire::h2;

use crate::choice::Choice;
use crate::clock::{nanos, now, real_time_ahead};
use crate::connection::{Connection, Phase};
use crate::control::Control;
use crate::nap::{Gathering, Nap};
use crate::pace::{OpenPace, Pace};
use crate::poll::Poll;
use crate::quic::Quic;
use crate::spec::{BodyCheck, LoadSpec, Protocol, Waiting};
use crate::tally::{Counts, Tally, Window};
use crate::tls::{TlsClient, TlsSide};

mod exchange;
mod quic;
mod secure;
mod sockets;
mod streams;

/// How often live counters are written and a request to stop is seen.
const TICK_NS: u64 = 100_000_000;
/// Longest time that an open loop waits for its connections before the schedule begins.
const PREPARE_NS_MAX: u64 = 5_000_000_000;
/// Longest time after the window in which answers may still arrive, uncounted.
const DRAIN_NS_MAX: u64 = 250_000_000;
/// What one read takes at most. Large bodies are dropped unread, so more would seldom be used.
const READ_BYTES: usize = 64 * 1024;

/// One engine thread.
pub(crate) struct Worker<'a> {
    spec: &'a LoadSpec,
    control: &'a Control,
    tls: Option<TlsClient>,
    poll: Poll,
    connections: Vec<Connection>,
    pace: Pace,
    choice: Choice,
    tally: Tally,
    memo: HeadMemo,
    buffer: Box<[u8]>,
    /// Bytes made for the connection that is worked on, until they are written.
    made: Vec<u8>,
    /// What HTTP/2 connections have in common; `None` where none can come up.
    h2: Option<H2>,
    /// What QUIC connections have in common; `None` where none are asked for.
    quic: Option<Quic>,
    nap: Nap,
    /// Whether a closed loop of many streams lets answers gather.
    gathers: bool,
    gathering: Gathering,
    /// How long past its due time a request may be sent.
    slack_ns: u64,
    /// Whether the last answer came whole in one read: then a nap delays no body.
    answers_are_short: bool,
    /// How far the kernel's stamps are ahead of this clock, nanoseconds; none are asked for in a
    /// closed loop, whose next request begins when the answer was read.
    stamps_ahead: Option<u64>,
    /// Connections that are being opened.
    opening: usize,
    /// When connections that rest, or have not started yet, go on.
    wakes: BinaryHeap<Reverse<(u64, u32)>>,
    /// No request can time out before this.
    next_sweep: u64,
    next_tick: u64,
    /// When the last turn of the loop ended.
    turned: u64,
    timeout_ns: u64,
    /// Requests this thread may still begin.
    quota: u64,
    /// Requests until the next body is compared.
    until_check: u32,
    next_connection: usize,
    /// Ended requests, `ok` and others, already told to the display.
    told: (u64, u64),
    /// Whether requests may begin: from the start of the load to the end of the window.
    running: bool,
}

/// What the HTTP/2 connections of a thread have in common.
struct H2 {
    config: h2::Config,
    requests: Arc<h2::Requests>,
    /// Frames made for the connection that is worked on, before TLS.
    frames: Vec<u8>,
    events: Vec<h2::Event>,
    /// What a server said together with the end of its handshake.
    early: Vec<u8>,
}

impl H2 {
    fn new(spec: &LoadSpec) -> Option<Self> {
        let may_come_up = !matches!(spec.protocol, Protocol::H1 | Protocol::H3);
        may_come_up.then(|| Self {
            config: spec.h2_config(),
            requests: spec.h2_requests(),
            frames: Vec::new(),
            events: Vec::new(),
            early: Vec::new(),
        })
    }
}

/// Which thread of how many this is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) thread: usize,
    pub(crate) threads: usize,
}

impl Share {
    /// This thread's part of `whole`: parts differ by one at most.
    pub(crate) fn of(self, whole: u64) -> u64 {
        let (thread, threads) = (self.thread as u64, self.threads as u64);
        whole / threads + u64::from(thread < whole % threads)
    }
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        spec: &'a LoadSpec,
        control: &'a Control,
        tls: Option<TlsSide>,
        share: Share,
    ) -> std::io::Result<Self> {
        let (tls, quic) = match tls {
            None => (None, None),
            Some(TlsSide::Tcp(tls)) => (Some(tls), None),
            Some(TlsSide::Quic(tls)) => (None, Some(Quic::new(spec, &tls))),
        };
        let pace = match &spec.load.model {
            LoadModel::Closed { .. } => Pace::Closed,
            LoadModel::Open { .. } => {
                let deadline = spec.deadline.map_or(u64::MAX, nanos);
                let mine = schedule(spec).skip(share.thread).step_by(share.threads);
                Pace::Open(OpenPace::new(Box::new(mine), deadline))
            }
        };
        let is_open_loop = matches!(pace, Pace::Open(_));
        let clients = share.of(u64::from(spec.load.clients()));
        let window = Window {
            start: u64::MAX,
            end: u64::MAX,
            interval: nanos(spec.interval),
        };
        Ok(Self {
            spec,
            control,
            tls,
            poll: Poll::new()?,
            connections: (0..clients).map(|_| Connection::default()).collect(),
            pace,
            choice: Choice::new(&spec.exchanges, spec.seed, share.thread),
            tally: Tally::new(window, spec.exchanges.len(), is_open_loop),
            memo: HeadMemo::default(),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            made: Vec::new(),
            h2: H2::new(spec),
            quic,
            nap: Nap::default(),
            gathers: spec.gather && !is_open_loop && spec.load.streams > 1,
            gathering: Gathering::default(),
            slack_ns: match spec.waiting {
                Waiting::Slack(slack) => nanos(slack),
                Waiting::Nap | Waiting::Spin => 0,
            },
            answers_are_short: false,
            stamps_ahead: is_open_loop.then(real_time_ahead),
            opening: 0,
            wakes: BinaryHeap::new(),
            next_sweep: u64::MAX,
            next_tick: 0,
            turned: now(),
            timeout_ns: (spec.load.timeout_s * 1e9) as u64,
            quota: spec.count.map_or(u64::MAX, |count| share.of(count)),
            until_check: 0,
            next_connection: share.thread,
            told: (0, 0),
            running: false,
        })
    }

    /// Connects ahead of the schedule, in an open loop; a closed loop connects as it begins.
    pub(crate) fn prepare(&mut self) -> std::io::Result<()> {
        if matches!(self.pace, Pace::Closed) {
            return Ok(());
        }
        let start = now();
        self.turned = start;
        self.spread_wakes(start);
        let deadline = start + PREPARE_NS_MAX.min(self.timeout_ns);
        while now() < deadline && !self.control.is_stopping() {
            if self.opening == 0 && self.wakes.is_empty() {
                break;
            }
            self.turn(deadline)?;
        }
        self.wakes.clear();
        self.spare_the_unconnected();
        Ok(())
    }

    /// Carries out the load from `zero`, and returns what was counted in the window.
    pub(crate) fn run(mut self, zero: u64) -> std::io::Result<Counts> {
        let start = zero + (self.spec.load.warmup_s * 1e9) as u64;
        let end = start + (self.spec.load.duration_s * 1e9) as u64;
        self.tally.set_window(Window {
            start,
            end,
            interval: nanos(self.spec.interval),
        });
        self.running = true;
        self.turned = now();
        match &mut self.pace {
            Pace::Closed => self.spread_wakes(zero),
            Pace::Open(pace) => pace.begin_at(zero, end),
        }
        loop {
            self.turn(end)?;
            let now = now();
            self.tally.advance(now);
            if self.control.is_stopping() || self.has_ended_all() {
                self.tally.close_now(now);
            }
            if self.tally.is_closed() {
                break;
            }
        }
        self.count_unsent();
        self.drain()?;
        for slot in 0..self.connections.len() as u32 {
            self.note_streams(slot);
            self.close_quic(slot);
        }
        if let Some(quic) = &self.quic {
            let bytes = quic.memo.header_bytes();
            self.tally.read_headers(bytes.wire, bytes.text);
        }
        for connection in &self.connections {
            if connection.has_request {
                self.tally.still_in_flight(connection.intended);
            }
            let places = connection.places.iter();
            places
                .flat_map(|places| places.unended())
                .for_each(|intended| self.tally.still_in_flight(intended));
        }
        Ok(self.tally.counts)
    }

    /// What was due in the window and never sent has waited until its end, at least.
    fn count_unsent(&mut self) {
        let Pace::Open(pace) = &mut self.pace else {
            return;
        };
        let end = self.tally.closed_at();
        while let Some(due) = pace.next_due().filter(|due| *due < end) {
            self.tally.never_sent(due);
            pace.skip();
        }
        self.tally.counts.shed = pace.shed();
    }

    /// Begins nothing more and lets answers arrive, so that the server sees few broken requests.
    fn drain(&mut self) -> std::io::Result<()> {
        self.running = false;
        self.wakes.clear();
        let deadline = now() + DRAIN_NS_MAX;
        while self.tally.in_flight() > 0 && now() < deadline {
            self.turn(deadline)?;
        }
        Ok(())
    }

    /// One turn of the loop: waits until something is ready or due, at most until `deadline`.
    fn turn(&mut self, deadline: u64) -> std::io::Result<()> {
        let before = self.turned;
        let ready = self.wait(deadline)?;
        let woke = now();
        self.tally.waited(woke.saturating_sub(before));
        if let Some(ahead) = &mut self.stamps_ahead
            && ready > 0
        {
            *ahead = real_time_ahead();
        }
        for index in 0..ready {
            let event = self.poll.ready(index);
            self.handle_ready(event);
        }
        let now = now();
        self.handle_wakes(now);
        self.handle_quic_timers(now);
        if now >= self.next_sweep {
            self.sweep_timeouts(now);
        }
        self.begin_due(now);
        if now >= self.next_tick {
            self.next_tick = now + TICK_NS;
            self.tell_display();
        }
        self.drive_quic(now);
        self.turned = now;
        Ok(())
    }

    /// Waits until a socket is ready or something is due; see [`Nap`] for the third way.
    fn wait(&mut self, deadline: u64) -> std::io::Result<usize> {
        if self.spec.waiting == Waiting::Spin {
            return self.poll.wait(0);
        }
        let wake = self.next_wake(deadline);
        let gap = wake.saturating_sub(self.turned);
        if self.answers_are_short && self.is_next_send(wake) && self.nap.suits(gap) {
            if self.slack_ns == 0 {
                self.nap.until(wake);
            } else {
                Nap::past(wake);
            }
            return self.poll.wait(0);
        }
        if self.gathers
            && let Some(gather) = self.gathering.next(self.tally.last_latency())
            && gather < gap
        {
            // From the first answer on: one that comes alone would be a turn of its own.
            if self.poll.until_ready(gap - gather)? {
                Nap::past(now() + gather);
            }
            return self.poll.wait(0);
        }
        self.poll.wait(gap)
    }

    /// Whether it is a request of the schedule that is due at `wake`.
    fn is_next_send(&mut self, wake: u64) -> bool {
        match &mut self.pace {
            Pace::Open(pace) => {
                let due = pace.next_due();
                self.running && due.map(|due| due.saturating_add(self.slack_ns)) == Some(wake)
            }
            Pace::Closed => false,
        }
    }

    /// When the loop must look again, even if no socket is ready.
    fn next_wake(&mut self, deadline: u64) -> u64 {
        let mut wake = deadline.min(self.next_tick).min(self.next_sweep);
        wake = wake.min(self.tally.boundary());
        if let Some(Reverse((at, _))) = self.wakes.peek() {
            wake = wake.min(*at);
        }
        wake = wake.min(self.next_quic_timer().unwrap_or(u64::MAX));
        if let Pace::Open(pace) = &mut self.pace
            && self.running
            && pace.has_free()
            && let Some(due) = pace.next_due()
        {
            wake = wake.min(due.saturating_add(self.slack_ns));
        }
        wake
    }

    /// Lets every connection start in turn, a ramp gap apart.
    fn spread_wakes(&mut self, from: u64) {
        let gap = nanos(self.spec.opening.ramp_gap) * u64::from(self.spec.threads.max(1));
        for slot in 0..self.connections.len() as u64 {
            self.wakes.push(Reverse((from + slot * gap, slot as u32)));
        }
    }

    fn handle_wakes(&mut self, now: u64) {
        while let Some(Reverse((at, slot))) = self.wakes.peek().copied() {
            if at > now {
                return;
            }
            self.wakes.pop();
            if self.has_waiting(slot) {
                self.connect(slot, now);
                continue;
            }
            match &mut self.pace {
                Pace::Closed => self.begin_next(slot, now),
                Pace::Open(pace) if self.running => pace.put_spare(slot),
                Pace::Open(_) => self.connect(slot, now),
            }
        }
    }

    /// Begins what the schedule says is due, as long as connections are free.
    #[inline]
    fn begin_due(&mut self, now: u64) {
        if !self.running {
            return;
        }
        while self.quota > 0
            && let Pace::Open(pace) = &mut self.pace
            && let Some((due, slot)) = pace.take(now)
        {
            self.begin(slot, due, now);
            self.open_waiting(slot, now);
        }
    }

    /// In a closed loop: the client's next request begins now.
    fn begin_next(&mut self, slot: u32, now: u64) {
        if self.running && !self.tally.is_closed() && self.quota > 0 {
            self.begin(slot, now, now);
        }
    }

    /// Ends requests older than the timeout, and finds out when the next one could be.
    fn sweep_timeouts(&mut self, now: u64) {
        let mut next = u64::MAX;
        // Requests that follow those that end here bring it forward again.
        self.next_sweep = u64::MAX;
        for slot in 0..self.connections.len() {
            if self.connections[slot].places.is_some() {
                next = next.min(self.sweep_streams(slot as u32, now));
            }
            let connection = &self.connections[slot];
            if !connection.phase.waits() {
                continue;
            }
            let deadline = connection.begun.saturating_add(self.timeout_ns);
            if deadline > now {
                next = next.min(deadline);
                continue;
            }
            let (outcome, what) = match connection.phase {
                Phase::InFlight => (Outcome::Timeout, "whole response"),
                Phase::Handshaking if self.quic.is_some() => {
                    (Outcome::ConnectTimeout, "QUIC handshake")
                }
                Phase::Handshaking => (Outcome::ConnectTimeout, "TLS handshake"),
                _ => (Outcome::ConnectTimeout, "connection"),
            };
            let seconds = self.spec.load.timeout_s;
            let words = || format!("no {what} within {seconds} s");
            self.fail(slot as u32, outcome, now, words);
        }
        self.next_sweep = self.next_sweep.min(next);
    }

    fn has_ended_all(&self) -> bool {
        self.quota == 0 && self.tally.in_flight() == 0
    }

    /// Whether the next body is to be compared byte by byte.
    fn take_check(&mut self, exchange: u32) -> bool {
        if self.spec.exchanges[exchange as usize].body.is_none() {
            return false;
        }
        match self.spec.check {
            BodyCheck::All => true,
            BodyCheck::OneIn(_) if self.until_check > 0 => {
                self.until_check -= 1;
                false
            }
            BodyCheck::OneIn(each) => {
                self.until_check = each.saturating_sub(1);
                true
            }
        }
    }

    fn spare_the_unconnected(&mut self) {
        let Pace::Open(pace) = &mut self.pace else {
            return;
        };
        for (slot, connection) in self.connections.iter_mut().enumerate() {
            if !matches!(connection.phase, Phase::Idle | Phase::Multiplexed) {
                connection.phase = Phase::Spare;
                connection.socket = None;
                connection.tls = None;
                connection.quic = None;
                self.opening = 0;
                pace.remove_spare(slot as u32);
                pace.put_spare(slot as u32);
            }
        }
    }

    fn tell_display(&mut self) {
        let outcomes = self.tally.outcomes();
        let now = (outcomes.of(Outcome::Ok), outcomes.errors());
        // Counts start again when the window opens; what the display sums up does not.
        let since = |now: u64, told: u64| if now >= told { now - told } else { now };
        let live = self.control.live();
        live.add(since(now.0, self.told.0), since(now.1, self.told.1));
        self.told = now;
    }
}

/// The due times of the whole load, for all threads together.
pub(crate) fn schedule(spec: &LoadSpec) -> Schedule {
    let length_s = spec.load.warmup_s + spec.load.duration_s;
    match &spec.load.model {
        LoadModel::Closed { .. } => Schedule::new(1.0, Arrival::Constant, spec.seed),
        LoadModel::Open {
            rate_per_s,
            arrival,
            ..
        } => Schedule::shaped(*rate_per_s, &spec.shape, length_s, *arrival, spec.seed),
    }
}
