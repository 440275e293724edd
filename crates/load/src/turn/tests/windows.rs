//! The window's edges and parts, loads by count, and requests to stop.

use std::cell::RefCell;

use super::*;

fn parts(parts: &[bakeoff_record::Interval]) -> Vec<(f64, u64)> {
    parts.iter().map(|part| (part.length_s, part.ok)).collect()
}

/// A warm-up and a window of a quarter of a second.
fn quarters() -> LoadSpec {
    let mut spec = closed(1);
    (spec.load.warmup_s, spec.load.duration_s) = (0.25, 0.25);
    spec
}

#[test]
fn each_answer_is_in_the_part_in_which_it_ended() {
    // Answers come at 10.05, 20.05, .. ms.
    let result = play(&quarters(), Server::after(ms(10))).result;
    assert_eq!(parts(&result.warmup), [(0.1, 9), (0.1, 10), (0.05, 5)]);
    assert_eq!(parts(&result.intervals), [(0.1, 10), (0.1, 10), (0.05, 5)]);
    let balance = result.balance;
    assert_eq!((balance.carried_in, balance.begun), (1, 25));
    assert_eq!((balance.ended, balance.in_flight), (25, 1));
    assert_eq!(
        (result.requests.started, result.requests.in_flight_at_end),
        (26, 1)
    );
    assert_eq!(result.measured_s, 0.25);
    assert_eq!(
        (result.latency.min(), result.latency.max()),
        (Some(ms(10)), Some(ms(10)))
    );
    assert_eq!(
        result.observed.in_flight.counts, [1; 25],
        "one in each step"
    );
}

#[test]
fn streams_are_counted_by_the_same_edges() {
    let mut spec = over_h2(quarters(), 4);
    spec.pacing.gather = false;
    let result = play(&spec, Server::h2(|asked| asked.hello(ms(10)))).result;
    assert_eq!(parts(&result.warmup), [(0.1, 36), (0.1, 40), (0.05, 20)]);
    let balance = result.balance;
    assert_eq!((balance.carried_in, balance.begun), (4, 100));
    assert_eq!((balance.ended, balance.in_flight), (100, 4));
}

#[test]
fn a_turn_that_straddles_an_edge_counts_what_is_on_either_side() {
    let mut spec = closed(64);
    (spec.load.warmup_s, spec.load.duration_s) = (0.1, 0.1);
    spec.load.connect = Connect::First;
    // Sixty-four answers take 20 us each to read and to follow: a turn is longer than what is
    // between two of them, and one of them holds each edge.
    let costs = Costs {
        call_ns: us(10),
        byte_ns: 0,
        look_ns: 0,
    };
    let played = play_at(&spec, Server::after(us(700)), costs, &Control::default());
    let balance = played.result.balance;
    assert_eq!((balance.carried_in, balance.in_flight), (64, 64));
    assert_eq!(balance.begun, balance.ended);
    assert!(played.result.engine.threads[0].longest_turn_s > 0.000_5);
}

#[test]
fn a_load_by_count_ends_at_its_last_answer() {
    let played = check(&counted(1, 7), Server::after(ms(10)), &[(Outcome::Ok, 7)]);
    assert_eq!(played.result.measured_s, 0.070_05);
    assert_eq!(played.end(), BEGIN + us(70_050));
    assert_eq!(played.result.requests.in_flight_at_end, 0);
    // Two clients share an odd number; the one that has the last to itself does not wait for
    // the other.
    let played = check(&counted(2, 7), Server::after(ms(10)), &[(Outcome::Ok, 7)]);
    assert_eq!(played.end(), BEGIN + us(40_050));
}

/// An open loop of so many requests, over so many threads: how long it was measured.
#[track_caller]
fn counted_open(
    mut spec: LoadSpec,
    count: u64,
    threads: usize,
    server: fn() -> Server<'static>,
) -> f64 {
    (spec.count, spec.load.duration_s) = (Some(count), 600.0);
    spec.threads.count = threads as u32;
    let control = Control::default();
    let counts = (0..threads).map(|thread| {
        let share = Share { thread, threads };
        prepared(&spec, server(), share, Costs::default(), &control).play()
    });
    let result = result(&spec, counts.collect());
    let requests = &result.requests;
    assert_eq!((requests.due, requests.ok), (Some(count), count));
    assert_eq!((requests.unended, requests.in_flight_at_end), (Some(0), 0));
    result.measured_s
}

#[test]
fn an_open_loop_by_count_lasts_as_many_gaps_as_it_has_requests() {
    let short: fn() -> Server<'static> = || Server::after(ms(1));
    // Whether its answers are long in coming is no matter: they are waited for after the window.
    let long: fn() -> Server<'static> = || Server::after(ms(350));
    for server in [short, long] {
        for threads in [1, 2, 3, 8] {
            assert_eq!(counted_open(open(10.0, 80), 1, threads, server), 0.1);
            assert_eq!(counted_open(open(1.0, 80), 2, threads, server), 2.0);
            assert_eq!(counted_open(open(10.0, 80), 3, threads, server), 0.3);
            assert_eq!(counted_open(open(100.0, 80), 7, threads, server), 0.07);
        }
    }
    // Where no connection is free for the last ones, too.
    assert_eq!(counted_open(open(10.0, 1), 10, 1, long), 1.0);
}

#[test]
fn a_count_of_a_shaped_or_random_rate_ends_with_the_next_request() {
    let mut ramp = open(10.0, 80);
    ramp.shape = RateShape::Ramp { to_per_s: 1_210.0 };
    let mut steps = open(10.0, 80);
    steps.shape = RateShape::Steps {
        then_per_s: vec![40.0],
    };
    let mut poisson = open(10.0, 80);
    poisson.load.model = LoadModel::Open {
        rate_per_s: 10.0,
        arrival: Arrival::Poisson,
        clients: 80,
    };
    for spec in [ramp, steps, poisson] {
        for threads in [1, 3] {
            let mut all = spec.clone();
            all.load.duration_s = 600.0;
            let next = super::schedule::planned(&all)[20];
            let measured_s = counted_open(spec.clone(), 20, threads, || Server::after(ms(1)));
            assert_eq!(measured_s, next as f64 / 1e9);
        }
    }
}

#[test]
fn a_count_that_a_warm_up_uses_up_leaves_nothing_to_measure() {
    let mut spec = open(100.0, 2);
    (spec.count, spec.load.warmup_s) = (Some(7), 0.5);
    let played = check(&spec, Server::after(ms(1)), &[]);
    assert_eq!(played.result.measured_s, 0.0);
    // One that it does not use up has the rest of its gaps.
    spec.count = Some(70);
    let played = check(&spec, Server::after(ms(1)), &[(Outcome::Ok, 20)]);
    assert_eq!(played.result.measured_s, 0.2);
}

#[test]
fn a_request_to_stop_ends_the_load_at_once() {
    for spec in [closed(3), over_h2(closed(3), 2), open(1000.0, 3)] {
        let control = Arc::new(Control::default());
        let (stopping, stopped) = (control.clone(), RefCell::new(0));
        let answer = |asked: server::Asked| {
            if asked.number == 100 {
                *stopped.borrow_mut() = asked.now;
                stopping.stop();
            }
            asked.hello(us(900))
        };
        let server = match spec.speaking {
            Speaking::H2c => Server::h2(answer),
            _ => Server::new(answer),
        };
        let played = play_at(&spec, server, Costs::default(), &control);
        assert_eq!(played.end(), *stopped.borrow());
        let requests = &played.result.requests;
        assert!((95..=100).contains(&requests.ok), "{requests:?}");
        let interrupted = played.result.observed.interrupted.as_ref();
        let interrupted = interrupted.expect("it was asked to stop");
        assert_eq!(interrupted.planned_s, Some(1.0));
        let left = requests.in_flight_at_end + interrupted.cut_off;
        assert!(left > 0, "{requests:?}");
        assert!(played.result.measured_s < 0.2);
    }
}

/// An open loop of 100 requests a second that is asked to stop when the request with the number
/// `last` comes; each is answered after `answer_ms`, if it is.
fn stopped_at(spec: &LoadSpec, last: u64, answer_ms: fn(u64) -> Option<u64>) -> LoadResult {
    let control = Arc::new(Control::default());
    let stopping = control.clone();
    let server = Server::new(move |asked| {
        if asked.number == last {
            stopping.stop();
        }
        answer_ms(asked.number).map_or(Vec::new(), |after| asked.hello(ms(after)))
    });
    play_at(spec, server, Costs::default(), &control).result
}

#[test]
fn what_a_stop_cuts_off_is_no_failure_of_the_server() {
    // Answers take 100 ms: nine or ten of them are on their way when it stops.
    let result = stopped_at(&open(100.0, 50), 49, |_| Some(100));
    let requests = &result.requests;
    let interrupted = result.observed.interrupted.as_ref().expect("it stopped");
    assert_eq!(
        (interrupted.planned_s, interrupted.cut_off),
        (Some(1.0), 10)
    );
    assert_eq!((requests.due, requests.begun), (Some(40), 40));
    assert_eq!((requests.ok, requests.unended), (40, Some(0)));
    assert_eq!(requests.error_share(), Some(0.0));
    assert_eq!(result.at_least.count(), 0);
    let parts = &result
        .schedule
        .as_ref()
        .expect("an open loop has one")
        .parts;
    let sum = |of: fn(&bakeoff_record::DuePart) -> u64| parts.iter().map(of).sum::<u64>();
    assert_eq!((sum(|part| part.due), sum(|part| part.begun)), (40, 40));
    // By the clock they were in flight when the window closed.
    assert_eq!(result.balance.in_flight, 10);
    // Nor is what waits for a connection that is busy.
    let result = stopped_at(&open(100.0, 1), 19, |_| Some(15));
    let interrupted = result.observed.interrupted.as_ref().expect("it stopped");
    assert!(interrupted.cut_off > 1, "{interrupted:?}");
    assert_eq!(result.requests.unended, Some(0));
}

#[test]
fn what_had_time_to_end_before_a_stop_is_unended() {
    // One request in ten is never answered.
    let result = stopped_at(&open(100.0, 50), 49, |n| (n % 10 != 0).then_some(5));
    let requests = &result.requests;
    let interrupted = result.observed.interrupted.as_ref().expect("it stopped");
    assert_eq!(interrupted.cut_off, 1, "the last one");
    assert_eq!((requests.due, requests.ok), (Some(49), 44));
    assert_eq!(requests.unended, Some(5));
    assert_eq!(result.at_least.count(), 5);
    // Of a server that answers nothing, too, but for the one that has just been sent.
    let result = stopped_at(&open(100.0, 50), 29, |_| None);
    let requests = &result.requests;
    assert_eq!((requests.due, requests.unended), (Some(29), Some(29)));
    assert_eq!(result.at_least.count(), 29);
}

#[test]
fn a_stop_after_the_window_cuts_off_what_is_waited_for() {
    // One connection, and fifteen milliseconds for each answer: what was due in half a second
    // takes three quarters of one.
    let mut spec = open(100.0, 1);
    spec.load.duration_s = 0.5;
    let result = stopped_at(&spec, 45, |_| Some(15));
    let interrupted = result.observed.interrupted.as_ref();
    assert_eq!(interrupted.map(|it| it.cut_off), Some(5));
    let requests = &result.requests;
    assert_eq!(
        (requests.due, requests.ok, requests.unended),
        (Some(45), 45, Some(0))
    );
    assert_eq!(result.measured_s, 0.5);
    // One that comes when all is over interrupts nothing.
    let result = stopped_at(&spec, 50, |_| Some(15));
    assert_eq!(
        (result.observed.interrupted, result.requests.ok),
        (None, 50)
    );
}

#[test]
fn a_stop_while_connecting_ends_it_too() {
    let control = Arc::new(Control::default());
    let stopping = control.clone();
    let server = Server::silent().at_door(move |number, _| {
        if number == 5 {
            stopping.stop();
        }
        crate::driver::invented::Door::Silent
    });
    let mut spec = closed(10);
    spec.load.connect = Connect::First;
    let played = play_at(&spec, server, Costs::default(), &control);
    assert_eq!(played.end(), BEGIN + 5 * us(50));
    assert_eq!(played.result.requests.completed, 0);
}

/// When each request was sent by a load whose connections are opened first, after the start of
/// connecting, and when connections were attempted.
fn connecting(
    spec: &LoadSpec,
    door: impl Fn(usize) -> crate::driver::invented::Door,
) -> (Vec<u64>, Vec<u64>, LoadResult) {
    let (sent, attempts) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let server = Server::new(|asked| {
        sent.borrow_mut().push(asked.now - BEGIN);
        asked.hello(ms(10))
    })
    .at_door(|number, now| {
        attempts.borrow_mut().push(now - BEGIN);
        door(number)
    });
    let result = play(spec, server).result;
    (sent.into_inner(), attempts.into_inner(), result)
}

fn first() -> LoadSpec {
    let mut spec = closed(4);
    spec.load.connect = Connect::First;
    spec.load.timeout_s = 1.0;
    spec
}

#[test]
fn connections_are_open_before_the_first_request() {
    use crate::driver::invented::Door;
    let (sent, attempts, result) = connecting(&first(), |_| Door::Opens(ms(2)));
    assert_eq!(attempts, [0, us(50), us(100), us(150)]);
    assert_eq!(sent[..8], [[us(2_150); 4], [us(12_150); 4]].concat());
    assert_eq!((result.connections.opened, result.requests.ok), (4, 396));
    assert_eq!(
        result.observed.set_up.connecting_s, 0.0,
        "none is in the window"
    );
}

#[test]
fn as_needed_each_request_waits_for_its_own_connection() {
    use crate::driver::invented::Door;
    let mut spec = first();
    spec.load.connect = Connect::AsNeeded;
    let (sent, attempts, result) = connecting(&spec, |_| Door::Opens(ms(2)));
    assert_eq!(attempts, [0, us(50), us(100), us(150)]);
    assert_eq!(sent[..4], [2_000, 2_050, 2_100, 2_150].map(us));
    let connecting_s = result.observed.set_up.connecting_s;
    assert!((connecting_s - 0.008).abs() < 1e-9, "{connecting_s}");
}

#[test]
fn what_is_refused_beforehand_connects_in_the_load() {
    use crate::driver::invented::Door;
    let door = |number| match number {
        1 => Door::Refuses(us(10)),
        _ => Door::Opens(DOOR),
    };
    let (sent, attempts, result) = connecting(&first(), door);
    assert_eq!(attempts, [0, us(50), us(100), us(150), us(200)]);
    assert_eq!(sent[..4], [200, 200, 200, 250].map(us));
    assert_eq!(
        (result.connections.opened, result.connections.failed),
        (4, 1)
    );
    assert_eq!(result.outcomes.errors(), 0, "no request had begun");
}

#[test]
fn one_that_never_settles_delays_the_start_by_a_quarter_of_a_second() {
    use crate::driver::invented::Door;
    let door = |number| match number {
        1 => Door::Silent,
        _ => Door::Opens(DOOR),
    };
    let (sent, _, result) = connecting(&first(), door);
    // The last one that opened did so 200 us after the start.
    assert_eq!(sent[..3], [us(250_200); 3]);
    // Its client waits from the load's start, and its connection since it was begun.
    assert_eq!(result.outcomes.of(Outcome::ConnectTimeout), 1);
    let mut hasty = first();
    hasty.load.timeout_s = 0.1;
    let (sent, _, _) = connecting(&hasty, door);
    assert_eq!(sent[..3], [us(100_200); 3], "not longer than the timeout");
    // Over HTTP/2 the settings belong to it.
    let sent = RefCell::new(Vec::new());
    let server = Server::h2(|asked| {
        sent.borrow_mut().push(asked.now - BEGIN);
        asked.hello(ms(10))
    })
    .on_open(|number, _| match number {
        1 => Vec::new(),
        _ => vec![crate::driver::invented::Act::Send(
            us(500),
            frames::settings(&[]),
        )],
    });
    play(&over_h2(first(), 1), server);
    assert_eq!(sent.borrow()[..3], [us(250_700); 3]);
}
