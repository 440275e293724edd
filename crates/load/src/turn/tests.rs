//! The loop in invented time, against peers in memory: what it does when, to the nanosecond.
//!
//! A test is a [`LoadSpec`], a [`Server`] that says what it does with each connection and each
//! request, and figures without tolerance. No test here sleeps, opens a socket or tries again.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bakeoff_plan::{Arrival, Connect, Load, LoadModel, RateShape};
use bakeoff_record::{LoadResult, Outcome};

use super::Loop;
use crate::control::Control;
use crate::driver::Driver;
use crate::driver::invented::{BEGIN, Costs, Invented, Notes, World};
use crate::engine;
use crate::lanes::Requests;
use crate::ledger::Counts;
use crate::result::Merged;
use crate::share::Share;
use crate::spec::{
    BodyCheck, ConnectionUse, Exchange, ExpectedStatus, LoadSpec, Order, Pacing, Speaking, Threads,
    Waiting,
};
use crate::target::Target;
use crate::thread::Thread;

mod addresses;
mod answers;
mod bounds;
mod closing;
mod counts;
mod edges;
mod frames;
mod lanes;
mod naps;
mod opening;
mod schedule;
mod server;
mod streams;
mod timeouts;
mod together;
mod whims;
mod windows;

use server::{DOOR, Server};

const SECOND: u64 = 1_000_000_000;
const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const ALONE: Share = Share {
    thread: 0,
    threads: 1,
};

const fn ms(n: u64) -> u64 {
    n * 1_000_000
}

const fn us(n: u64) -> u64 {
    n * 1_000
}

/// A closed loop of a second over HTTP/1.1 that connects as needed, one connection a 50 us.
fn closed(clients: u32) -> LoadSpec {
    let address = ([127, 0, 0, 1], 80).into();
    let exchange = Exchange {
        name: "/".to_owned(),
        request: b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice().into(),
        h2: None,
        to_head_request: false,
        status: ExpectedStatus::Success,
        body: Some(b"hello".as_slice().into()),
        weight: 1,
    };
    LoadSpec {
        target: Target::at(address, "/"),
        speaking: Speaking::H1 { tls: None },
        exchanges: vec![exchange],
        load: Load {
            timeout_s: 0.2,
            connect: Connect::AsNeeded,
            ..Load::new(LoadModel::Closed { clients }, 1.0)
        },
        shape: RateShape::Level,
        count: None,
        connections: ConnectionUse {
            ramp_gap: Duration::from_micros(50),
            retry_pause: Duration::from_millis(1),
            ..ConnectionUse::default()
        },
        threads: Threads {
            count: 1,
            pin: Vec::new(),
            part: None,
        },
        seed: 1,
        check: BodyCheck::All,
        pacing: Pacing {
            order: Order::ByWeight,
            variants: 1,
            deadline: None,
            waiting: Waiting::Nap,
            gather: true,
        },
        interval: Duration::from_millis(100),
    }
}

/// The same with several requests of these weights.
pub(crate) fn several(weights: &[u32], order: Order) -> LoadSpec {
    let mut spec = closed(1);
    let one = spec.exchanges.remove(0);
    let each = weights.iter().map(|weight| Exchange {
        weight: *weight,
        ..one.clone()
    });
    spec.exchanges = each.collect();
    spec.pacing.order = order;
    spec
}

/// The same by count.
fn counted(clients: u32, count: u64) -> LoadSpec {
    let mut spec = closed(clients);
    spec.count = Some(count);
    spec.load.duration_s = 100.0;
    spec
}

/// An open loop of a second over HTTP/1.1, evenly spaced.
fn open(rate_per_s: f64, clients: u32) -> LoadSpec {
    let mut spec = closed(clients);
    spec.load.model = LoadModel::Open {
        rate_per_s,
        arrival: Arrival::Constant,
        clients,
    };
    spec.load.connect = Connect::First;
    spec.load.timeout_s = 5.0;
    spec
}

/// The load over HTTP/2 in the clear, so many streams on each connection.
fn over_h2(mut spec: LoadSpec, streams: u32) -> LoadSpec {
    spec.speaking = Speaking::H2c;
    spec.load.streams = streams;
    let request = crate::h2::Request::new("GET", "http", "a", "/", &[], Vec::new());
    spec.exchanges[0].h2 = Some(request.expect("it may be sent"));
    spec
}

/// When the load begins that connects so many clients first, all of which are let in.
fn zero(clients: u64) -> u64 {
    BEGIN + (clients - 1) * us(50) + DOOR
}

/// What a load came to.
struct Played {
    result: LoadResult,
    notes: Rc<Notes>,
}

impl Played {
    /// When the loop ended.
    fn end(&self) -> u64 {
        self.notes.now.get()
    }
}

/// A loop that is about to connect.
fn prepared<'a, W: World>(
    spec: &'a LoadSpec,
    world: W,
    share: Share,
    costs: Costs,
    control: &'a Control,
) -> Loop<'a, Invented<W>> {
    let length = engine::length(spec, control);
    let pace = engine::pace(spec, Requests::All, share, length);
    let driver = Invented::new(world, costs, !pace.is_closed());
    let clients = share.of(u64::from(spec.load.clients())) as u32;
    let thread = Thread::new(spec, driver, None, share, pace);
    Loop::new(thread, clients, control)
}

impl<W: World> Loop<'_, Invented<W>> {
    /// Connects, if it is to, and carries out the load.
    fn play(mut self) -> Counts {
        self.prepare().expect("nothing fails in memory");
        let zero = self.thread.driver.now();
        self.run(zero).expect("nothing fails in memory")
    }
}

/// Carries out the load on one thread.
#[track_caller]
fn play(spec: &LoadSpec, server: Server<'_>) -> Played {
    play_at(spec, server, Costs::default(), &Control::default())
}

/// The same where calls take time, or somebody may ask to stop.
#[track_caller]
fn play_at(spec: &LoadSpec, server: Server<'_>, costs: Costs, control: &Control) -> Played {
    let prepared = prepared(spec, server, ALONE, costs, control);
    let notes = prepared.thread.driver.notes.clone();
    let counts = prepared.play();
    let result = result(spec, vec![counts]);
    Played { result, notes }
}

/// The result of what the threads counted, after what is true of every result.
#[track_caller]
fn result(spec: &LoadSpec, counts: Vec<Counts>) -> LoadResult {
    let result = Merged::of(counts).result(spec);
    let requests = &result.requests;
    assert_eq!(
        requests.started,
        requests.completed + requests.in_flight_at_end,
        "{requests:?}"
    );
    assert_eq!(requests.completed, result.outcomes.completed());
    assert_eq!(result.latency.count(), requests.ok);
    assert_eq!(result.service.count(), requests.ok);
    let balance = result.balance;
    assert!(balance.holds(), "{balance:?}");
    let parts = result.intervals.iter();
    let by_clock: u64 = parts.map(|part| part.ok + part.errors).sum();
    assert_eq!(by_clock, balance.ended);
    let by_due = result.schedule.as_ref().map(|kept| &kept.parts);
    let ended = by_due.map_or(by_clock, |parts| parts.iter().map(|part| part.ended).sum());
    assert_eq!(ended, requests.completed);
    result
}

/// The load comes out with these outcomes, and no others.
#[track_caller]
fn check(spec: &LoadSpec, server: Server<'_>, expected: &[(Outcome, u64)]) -> Played {
    let played = play(spec, server);
    let (outcomes, samples) = (&played.result.outcomes, &played.result.error_samples);
    for (outcome, count) in expected {
        assert_eq!(outcomes.of(*outcome), *count, "{outcomes:?} {samples:?}");
    }
    let sum: u64 = expected.iter().map(|(_, count)| count).sum();
    assert_eq!(outcomes.completed(), sum, "{outcomes:?} {samples:?}");
    played
}
