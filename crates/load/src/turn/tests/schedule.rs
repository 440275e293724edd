//! Open loops: when requests are due, when they are sent, and how they are counted.

use std::cell::RefCell;

use bakeoff_plan::Schedule;

use super::*;
use crate::driver::invented::{Act, Door};

/// When a load begins its requests, after its start.
pub(super) fn planned(spec: &LoadSpec) -> Vec<u64> {
    let LoadModel::Open {
        rate_per_s,
        arrival,
        ..
    } = spec.load.model
    else {
        panic!("an open loop");
    };
    let length_s = spec.load.warmup_s + spec.load.duration_s;
    let all = Schedule::shaped(rate_per_s, &spec.shape, length_s, arrival, spec.seed);
    all.take_while(|at| *at < (length_s * 1e9) as u64).collect()
}

/// Plays the load against a server that answers after a millisecond: every request is sent when
/// it is due, and `due` of them are the window's.
#[track_caller]
fn check_kept(spec: &LoadSpec, due: u64) -> LoadResult {
    let clients = u64::from(spec.load.clients());
    let times = RefCell::new(Vec::new());
    let server = Server::new(|asked| {
        times.borrow_mut().push(asked.now - zero(clients));
        asked.hello(ms(1))
    });
    let result = play(spec, server).result;
    assert_eq!(times.into_inner(), planned(spec));
    check_all_served(&result, due);
    result
}

/// All that was due was sent when it was due, and answered after a millisecond.
#[track_caller]
fn check_all_served(result: &LoadResult, due: u64) {
    let requests = &result.requests;
    assert_eq!((requests.planned, requests.due), (Some(due), Some(due)));
    assert_eq!((requests.begun, requests.ok), (due, due));
    assert_eq!((requests.unended, requests.shed), (Some(0), 0));
    let kept = result.schedule.as_ref().expect("an open loop has one");
    assert_eq!((kept.slip.count(), kept.slip.max()), (due, Some(0)));
    assert_eq!(kept.wait.count(), 0);
    assert_eq!(result.latency.min(), Some(ms(1)));
    assert_eq!(result.latency.max(), Some(ms(1)));
    assert_eq!(result.service.max(), Some(ms(1)));
}

fn due_parts(result: &LoadResult) -> Vec<u64> {
    let kept = result.schedule.as_ref().expect("an open loop has one");
    kept.parts.iter().map(|part| part.due).collect()
}

fn ramp(from_per_s: f64, to_per_s: f64) -> LoadSpec {
    let mut spec = open(from_per_s, 8);
    spec.shape = RateShape::Ramp { to_per_s };
    spec
}

fn steps(rate_per_s: f64, then: &[f64]) -> LoadSpec {
    let mut spec = open(rate_per_s, 8);
    spec.shape = RateShape::Steps {
        then_per_s: then.to_vec(),
    };
    spec
}

#[test]
fn what_is_due_is_counted_in_the_same_parts_as_what_ended() {
    // A load has at most 100 parts; beyond that they are joined in pairs.
    for (hundredths, parts) in [(99_u32, 99), (100, 50), (101, 51)] {
        let mut spec = open(1000.0, 8);
        spec.load.duration_s = f64::from(hundredths) / 100.0;
        spec.interval = Duration::from_millis(10);
        let result = check_kept(&spec, u64::from(hundredths) * 10);
        let (due, ended) = (due_parts(&result), &result.intervals);
        assert_eq!((due.len(), ended.len()), (parts, parts));
        let near = |(due, ended): (&u64, &bakeoff_record::Interval)| due.abs_diff(ended.ok) <= 1;
        assert!(due.iter().zip(ended).all(near), "{due:?} {ended:?}");
    }
}

#[test]
fn a_level_rate_is_kept_to_the_nanosecond() {
    let result = check_kept(&open(1000.0, 8), 1000);
    assert_eq!(due_parts(&result), [100; 10]);
    let ended = result.intervals.iter().map(|part| part.ok);
    // What was due in the last millisecond ended after the window.
    assert_eq!(
        ended.collect::<Vec<_>>(),
        [99, 100, 100, 100, 100, 100, 100, 100, 100, 100]
    );
}

#[test]
fn a_warm_up_is_part_of_the_schedule_and_not_of_the_window() {
    let mut spec = open(1000.0, 8);
    spec.load.warmup_s = 0.5;
    let result = check_kept(&spec, 1000);
    let warmup: u64 = result.warmup.iter().map(|part| part.ok).sum();
    assert_eq!(warmup, 499, "the last of 500 ends in the window");
    assert_eq!(result.requests.carried_in, 1);
}

#[test]
fn a_ramp_plans_the_area_below_it() {
    check_kept(&ramp(200.0, 600.0), 400);
    check_kept(&ramp(1000.0, 600.0), 800);
    // The ramp begins with the warm-up: the window holds its second half, from 400 on.
    let mut late = ramp(200.0, 600.0);
    (late.load.warmup_s, late.load.duration_s) = (0.5, 0.5);
    check_kept(&late, 250);
}

#[test]
fn steps_plan_the_sum_of_their_parts() {
    check_kept(&steps(100.0, &[300.0]), 200);
    let result = check_kept(&steps(800.0, &[400.0, 200.0, 600.0]), 500);
    let tenths = [80, 80, 60, 40, 40, 20, 20, 40, 60, 60];
    assert_eq!(due_parts(&result), tenths);
}

#[test]
fn chance_plans_the_same_again() {
    let mut spec = open(1000.0, 8);
    spec.load.model = LoadModel::Open {
        rate_per_s: 1000.0,
        arrival: Arrival::Poisson,
        clients: 100,
    };
    let due = planned(&spec).len() as u64;
    check_kept(&spec, due);
    assert!((900..1100).contains(&due), "{due}");
}

#[test]
fn threads_share_a_schedule_without_gap_or_overlap() {
    let mut spec = ramp(100.0, 500.0);
    spec.threads.count = 2;
    let times = RefCell::new(Vec::new());
    let control = Control::default();
    let counts = (0..2).map(|thread| {
        let share = Share { thread, threads: 2 };
        let server = Server::new(|asked| {
            times.borrow_mut().push(asked.now - zero(4) - 3 * us(50));
            asked.hello(ms(1))
        });
        let prepared = prepared(&spec, server, share, Costs::default(), &control);
        assert_eq!(prepared.slots.len(), 4);
        prepared.play()
    });
    let counts: Vec<Counts> = counts.collect();
    assert_eq!([counts[0].schedule.due, counts[1].schedule.due], [150; 2]);
    let result = result(&spec, counts);
    let mut times = times.into_inner();
    times.sort_unstable();
    assert_eq!(times, planned(&spec));
    check_all_served(&result, 300);
    assert_eq!(result.threads, 2);
}

#[test]
fn slack_sends_late_by_itself_and_not_later() {
    let mut spec = open(100.0, 8);
    spec.pacing.waiting = Waiting::Slack(Duration::from_millis(2));
    let times = RefCell::new(Vec::new());
    let server = Server::new(|asked| {
        times.borrow_mut().push(asked.now - zero(8));
        asked.hello(ms(1))
    });
    let result = play(&spec, server).result;
    let mut late: Vec<u64> = planned(&spec).iter().map(|due| due + ms(2)).collect();
    // The loop turns when the window opens, whatever is due.
    late[0] = 0;
    assert_eq!(times.into_inner(), late);
    let kept = result.schedule.expect("an open loop has one");
    assert_eq!((kept.slip.max(), kept.wait.count()), (Some(ms(2)), 0));
    assert_eq!(result.send_lag.max(), Some(ms(2)));
    assert_eq!(result.latency.max(), Some(ms(3)));
    assert_eq!(result.service.max(), Some(ms(1)));
    assert_eq!(kept.punctual.count(), 100);
    let bounds = (kept.punctual.min(), kept.punctual.max());
    assert_eq!(
        bounds,
        (Some(ms(1)), Some(ms(1))),
        "the engine's part is not in it"
    );
}

/// A server that takes one request at a time: what was sent late pushes back all that follow until
/// nothing is left to do, and is taken off each of them; what the server itself takes is not.
#[test]
fn what_a_late_request_pushes_back_is_known_too() {
    let mut spec = open(1000.0, 8);
    let on_time = play(&spec, Server::new(|asked| asked.hello(us(900))));
    spec.pacing.waiting = Waiting::Slack(Duration::from_micros(2500));
    let free_at = RefCell::new(0);
    let late = play(
        &spec,
        Server::new(|asked| {
            let ends = asked.now.max(*free_at.borrow()) + us(900);
            free_at.replace(ends);
            asked.hello(ends - asked.now)
        }),
    );
    let least = on_time.result.latency;
    let kept = late.result.schedule.expect("an open loop has one");
    assert_eq!((least.min(), least.max()), (Some(us(900)), Some(us(900))));
    assert!(late.result.latency.quantile(0.9) > Some(ms(2)));
    assert!(kept.punctual.max() <= least.max(), "{:?}", kept.punctual);
    assert_eq!(kept.punctual.count(), 1000);
}

#[test]
fn slack_sends_what_is_due_by_then_together() {
    let mut spec = open(1000.0, 8);
    spec.pacing.waiting = Waiting::Slack(Duration::from_micros(2500));
    let times = RefCell::new(Vec::new());
    let server = Server::new(|asked| {
        times.borrow_mut().push(asked.now - zero(8));
        asked.hello(us(100))
    });
    let result = play(&spec, server).result;
    assert_eq!(result.requests.ok, 1000);
    let kept = result.schedule.expect("an open loop has one");
    assert_eq!((kept.slip.max(), kept.wait.count()), (Some(us(2500)), 0));
    // What is due at 1 is sent 2.5 ms late, and with it what is due at 2 and 3. The answers to
    // it are read before anything else is due.
    let first = [0, 35, 35, 35, 65, 65, 65].map(|tenths| us(tenths * 100));
    assert_eq!(times.into_inner()[..7], first);
}

#[test]
fn slip_is_the_engines_and_wait_the_servers() {
    let mut spec = open(1000.0, 1);
    spec.load.duration_s = 0.1;
    let result = play(&spec, Server::after(us(1500))).result;
    assert_eq!(result.requests.ok, 100);
    let kept = result.schedule.as_ref().expect("an open loop has one");
    assert_eq!((kept.slip.count(), kept.slip.max()), (1, Some(0)));
    // Each one waits half a millisecond longer for the only connection.
    assert_eq!(kept.wait.count(), 99);
    assert_eq!(
        (kept.wait.min(), kept.wait.max()),
        (Some(us(500)), Some(us(99 * 500)))
    );
    assert_eq!(result.latency.max(), Some(us(99 * 500 + 1500)));
    assert_eq!(
        (result.service.min(), result.service.max()),
        (Some(us(1500)), Some(us(1500)))
    );
}

/// An engine that takes 180 us for a request, of which one is due every 100. The server answers at
/// once: whoever waits for a client waits for the engine to read an answer.
#[test]
fn what_waits_for_an_engine_at_its_limit_has_a_slip_and_no_wait() {
    let mut spec = open(10_000.0, 8);
    spec.load.duration_s = 0.1;
    let costs = Costs {
        call_ns: us(60),
        ..Costs::default()
    };
    let played = play_at(&spec, Server::after(us(1)), costs, &Control::default());
    let requests = &played.result.requests;
    assert_eq!((requests.due, requests.ok), (Some(1000), 1000));
    let kept = played.result.schedule.expect("an open loop has one");
    assert_eq!((kept.slip.count(), kept.wait.count()), (1000, 0));
    assert!(kept.slip.max() > Some(ms(10)), "{:?}", kept.slip.max());
    assert_eq!(kept.slip.max(), played.result.send_lag.max());
}

/// A hundred a second, each on a connection of its own that takes 5 ms to be let in.
fn each_on_its_own(waiting: Waiting) -> LoadResult {
    let mut spec = open(100.0, 8);
    spec.load.connect = Connect::AsNeeded;
    spec.connections.requests_per_connection = Some(1);
    spec.pacing.waiting = waiting;
    let server = Server::after(ms(1)).at_door(|_, _| Door::Opens(ms(5)));
    let result = play(&spec, server).result;
    assert_eq!((result.requests.ok, result.connections.opened), (100, 100));
    result
}

#[test]
fn connecting_is_a_wait_and_no_slip() {
    let result = each_on_its_own(Waiting::Nap);
    let kept = result.schedule.as_ref().expect("an open loop has one");
    assert_eq!((kept.slip.count(), kept.slip.max()), (100, Some(0)));
    assert_eq!(kept.wait.count(), 100);
    assert_eq!(
        (kept.wait.min(), kept.wait.max()),
        (Some(ms(5)), Some(ms(5)))
    );
    assert_eq!(result.send_lag.max(), Some(ms(5)));
    assert_eq!(result.latency.max(), Some(ms(6)));
    assert_eq!(kept.punctual.min(), Some(ms(6)), "the engine was on time");
}

#[test]
fn who_begins_late_and_then_connects_has_a_slip_and_a_wait() {
    let result = each_on_its_own(Waiting::Slack(Duration::from_millis(2)));
    let kept = result.schedule.as_ref().expect("an open loop has one");
    // All but the first are begun 2 ms late: the loop turns when the window opens.
    assert_eq!((kept.slip.count(), kept.slip.max()), (100, Some(ms(2))));
    assert_eq!(
        (kept.wait.count(), kept.wait.min(), kept.wait.max()),
        (100, Some(ms(5)), Some(ms(5)))
    );
    assert_eq!(result.send_lag.max(), Some(ms(7)));
    assert_eq!(result.latency.max(), Some(ms(8)));
    assert_eq!(
        (kept.punctual.min(), kept.punctual.max()),
        (Some(ms(6)), Some(ms(6)))
    );
}

#[test]
fn past_its_deadline_a_request_is_shed_and_counted() {
    let mut spec = open(400.0, 2);
    spec.pacing.deadline = Some(Duration::from_millis(100));
    let played = play(&spec, Server::after(ms(50)));
    let requests = &played.result.requests;
    // One connection begins a request at 0, 50, .. 1050 ms and the other at 2.5, 52.5, .. 1052.5;
    // the last one that is due, at 997.5, may be begun until 1097.5.
    assert_eq!(
        (requests.due, requests.begun, requests.ok),
        (Some(400), 44, 44)
    );
    assert_eq!((requests.shed, requests.unended), (356, Some(356)));
    assert_eq!(played.result.send_lag.max(), Some(ms(100)));
    assert_eq!(played.end(), zero(2) + us(1_102_500));

    spec.pacing.deadline = None;
    spec.load.timeout_s = 20.0;
    let patient = play(&spec, Server::after(ms(50)));
    assert_eq!(
        (patient.result.requests.ok, patient.result.requests.shed),
        (400, 0)
    );
    // Request number n waits for n / 2 others on its connection.
    assert_eq!(patient.result.send_lag.max(), Some(199 * (ms(50) - ms(5))));
    assert_eq!(patient.end(), zero(2) + us(2500) + 200 * ms(50));
}

/// A thousand a second for three seconds, over a thousand connections, to a server that stands
/// still for the last half second of it, until `thaw`.
fn frozen(spec: &LoadSpec, thaw: Option<u64>) -> Played {
    let (freeze, thaw) = (zero(1000) + us(2_500_000), thaw.map(|at| zero(1000) + at));
    let server = Server::new(|asked| match thaw {
        _ if asked.now < freeze => asked.hello(ms(1) / 2),
        Some(thaw) => asked.hello((asked.now + ms(1) / 2).max(thaw) - asked.now),
        None => Vec::new(),
    });
    play(spec, server)
}

fn three_seconds() -> LoadSpec {
    let mut spec = open(1000.0, 1000);
    spec.load.duration_s = 3.0;
    spec.load.timeout_s = 2.0;
    spec.interval = Duration::from_secs(1);
    spec
}

#[test]
fn what_a_server_owes_at_the_end_of_the_window_is_in_its_latencies() {
    let played = frozen(&three_seconds(), Some(us(3_500_000)));
    let result = &played.result;
    assert_eq!(
        (result.requests.ok, result.requests.unended),
        (3000, Some(0))
    );
    assert_eq!(result.requests.in_flight_at_end, 0);
    assert_eq!(result.balance.in_flight, 500);
    // 30 of 3,000 are longer: those due from 2.5 s on wait 1 s, 0.999 s and so on.
    let p99 = result.latency.quantile(0.99).expect("there were answers");
    assert!(p99.abs_diff(ms(970)) <= ms(970) / 128, "{p99}");
    assert_eq!(result.latency.max(), Some(SECOND));
    assert_eq!(result.at_least.count(), 0);
    assert_eq!(
        played.end(),
        zero(1000) + us(3_500_000),
        "when the last answer came"
    );
    let parts = result.schedule.as_ref().map(|kept| kept.parts.as_slice());
    let parts = parts.expect("an open loop has one").iter();
    let parts: Vec<_> = parts
        .map(|part| (part.due, part.begun, part.ended))
        .collect();
    assert_eq!(parts, [(1000, 1000, 1000); 3]);
}

#[test]
fn a_server_that_never_answers_again_is_waited_for_no_longer_than_the_timeout() {
    let played = frozen(&three_seconds(), None);
    let result = &played.result;
    assert_eq!(
        (result.requests.ok, result.requests.unended),
        (2500, Some(0))
    );
    assert_eq!(result.outcomes.of(Outcome::Timeout), 500);
    assert_eq!(result.at_least.count(), 500);
    let low = result
        .latency_bounds(0.99)
        .expect("there were requests")
        .low;
    assert!(low >= ms(2000), "{low}");
    assert_eq!(
        played.end(),
        zero(1000) + us(4_999_000),
        "two seconds after the last one"
    );
}

#[test]
fn what_was_due_and_not_sent_counts_at_its_age_too() {
    // A hundred connections: a hundred requests are sent to a server that stands still, and end
    // by their timeout from 4.5 s on; connections made then carry others, which never end.
    let mut spec = three_seconds();
    spec.load.model = LoadModel::Open {
        rate_per_s: 1000.0,
        arrival: Arrival::Constant,
        clients: 100,
    };
    let freeze = zero(100) + us(2_500_000);
    let server = Server::new(|asked| {
        if asked.now < freeze {
            asked.hello(ms(1) / 2)
        } else {
            Vec::new()
        }
    });
    let played = play(&spec, server);
    let requests = &played.result.requests;
    assert_eq!(
        (requests.due, requests.ok, requests.begun),
        (Some(3000), 2500, 2700)
    );
    assert_eq!(played.result.outcomes.of(Outcome::Timeout), 100);
    assert_eq!(
        (requests.unended, requests.in_flight_at_end),
        (Some(400), 100)
    );
    assert_eq!(played.result.at_least.count(), 500);
    let low = played
        .result
        .latency_bounds(0.99)
        .expect("there were requests")
        .low;
    assert!(low >= ms(400), "{low}");
    assert_eq!(
        played.end(),
        zero(100) + us(5_000_000),
        "the window's end and the timeout"
    );
}

#[test]
fn streams_keep_a_schedule_as_connections_do() {
    let spec = over_h2(open(1000.0, 2), 4);
    let result = play(&spec, Server::h2(|asked| asked.hello(ms(1)))).result;
    check_all_served(&result, 1000);
    assert_eq!(result.connections.opened, 2);
    // One place of four: requests wait for it, and none slips.
    let spec = over_h2(open(1000.0, 1), 1);
    let result = play(&spec, Server::h2(|asked| asked.hello(us(1500)))).result;
    let kept = result.schedule.expect("an open loop has one");
    assert_eq!((kept.slip.count(), kept.slip.max()), (1, Some(0)));
    assert_eq!(
        (kept.wait.count(), kept.wait.max()),
        (999, Some(us(999 * 500)))
    );
}

#[test]
fn an_open_loop_that_connects_as_needed_has_as_many_connections_as_answers_take() {
    let opened = |after| {
        let mut spec = open(100.0, 50);
        spec.load.connect = Connect::AsNeeded;
        let result = play(&spec, Server::after(after)).result;
        assert_eq!(result.requests.ok, 100);
        result.connections.opened
    };
    // One is due every 10 ms. An answer that takes 25 ms, connecting aside, keeps three busy.
    assert_eq!(opened(ms(25)), 3);
    assert_eq!(opened(ms(195)), 20);
}

/// Each call takes 100 us, so an answer is read so long after it arrived. Its head and its body
/// come apart, and a body that is not compared is dropped in the kernel.
#[test]
fn an_answer_ends_when_it_arrived_also_where_its_body_is_dropped() {
    let costs = Costs {
        call_ns: us(100),
        byte_ns: 0,
        look_ns: 0,
    };
    let (head, body) = HELLO.split_at(HELLO.len() - 5);
    for body_is_compared in [true, false] {
        let mut spec = open(10.0, 1);
        if !body_is_compared {
            spec.exchanges[0].body = None;
        }
        let server = Server::new(|_| {
            let head = Act::Send(ms(1), head.to_vec());
            vec![head, Act::Send(ms(2), body.to_vec())]
        });
        let result = play_at(&spec, server, costs, &Control::default()).result;
        assert_eq!(result.requests.ok, 10);
        // Sending takes 100 us, too.
        let arrived = (Some(us(2_100)), Some(us(2_100)));
        assert_eq!((result.latency.min(), result.latency.max()), arrived);
    }
}

#[test]
fn each_part_of_the_window_says_how_its_requests_failed() {
    let spec = open(10.0, 10);
    let result = play(
        &spec,
        Server::new(|_| {
            let sorry = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
            vec![Act::Send(ms(1), sorry.to_vec())]
        }),
    )
    .result;
    let failed = result.intervals.iter().filter_map(|it| it.failed.as_ref());
    let counts: Vec<u64> = failed.map(|it| it.status[&503]).collect();
    assert_eq!(counts.iter().sum::<u64>(), 10, "{counts:?}");
    assert_eq!(result.outcomes.of(Outcome::Status), 10);
}

/// Answers that lie in the kernel while the engine is at work are in flight no longer: what the
/// looks see agrees with what the requests took.
#[test]
fn looks_see_what_has_not_arrived_however_late_it_is_read() {
    let mut spec = open(900.0, 100);
    spec.load.duration_s = 19.0;
    if let LoadModel::Open { arrival, .. } = &mut spec.load.model {
        *arrival = bakeoff_plan::Arrival::Poisson;
    }
    // A turn takes many times as long as an answer.
    let costs = Costs {
        call_ns: us(300),
        byte_ns: 0,
        look_ns: 0,
    };
    let (mut seen, mut took) = (0.0, 0.0);
    for seed in 1..=5 {
        spec.seed = seed;
        let server = Server::after(us(20));
        let result = play_at(&spec, server, costs, &Control::default()).result;
        let counts = &result.observed.in_flight.counts;
        seen += counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let mean_ns = result.service.mean().expect("there are answers");
        let total_s = mean_ns * result.service.count() as f64 / 1e9;
        took += total_s / result.measured_s;
    }
    assert!(
        (0.95..1.05).contains(&(seen / took)),
        "{seen} seen, {took} expected"
    );
}
