//! A request that gets lost shows in the balance; and answers that are taken together.

use std::cell::RefCell;

use super::*;
use crate::flights::Requests;
use crate::ledger::Stage;

/// Plays the load and drops a request of the first slot once its window is open.
fn play_with_loss<W: World>(
    mut prepared: Loop<'_, Invented<W>>,
    mut lose: impl FnMut(&mut Requests) -> bool,
) -> Counts {
    prepared.begin(BEGIN);
    let mut is_lost = false;
    while prepared.goes_on().expect("nothing fails in memory") {
        if !is_lost && prepared.thread.ledger.stage == Stage::Open {
            is_lost = lose(&mut prepared.slots[0].requests);
        }
    }
    assert!(is_lost, "there was nothing to lose");
    prepared.end().expect("nothing fails in memory")
}

#[track_caller]
fn check_shows(counts: &Counts) {
    let balance = counts.clock.balance;
    assert!(!balance.holds(), "{balance:?}");
    let missing = balance.carried_in + balance.begun - balance.ended - balance.in_flight;
    assert_eq!(missing, 1, "{balance:?}");
}

#[test]
fn a_request_lost_on_a_serial_connection_shows() {
    let (spec, control) = (closed(2), Control::default());
    let costs = Costs::default();
    let prepared = prepared(&spec, Server::after(ms(10)), ALONE, costs, &control);
    let counts = play_with_loss(prepared, |requests| match requests {
        Requests::One(one) => one.take().is_some(),
        Requests::Many(_) => false,
    });
    check_shows(&counts);
}

#[test]
fn a_request_lost_among_streams_shows() {
    // One stream of four is allowed: three requests wait. HTTP/3 keeps its requests in the same
    // `Flights`, and ends them by the same ledger; what a session of QUIC may forget, such as a
    // stream that ended, is a place that is never freed, which is in flight at the end.
    let (spec, control) = (over_h2(closed(1), 4), Control::default());
    let server = Server::h2(|asked| asked.hello(ms(10))).on_open(|_, _| {
        let limit = [(frames::MAX_CONCURRENT_STREAMS, 1)];
        vec![crate::driver::invented::Act::Send(
            0,
            frames::settings(&limit),
        )]
    });
    let prepared = prepared(&spec, server, ALONE, Costs::default(), &control);
    let counts = play_with_loss(prepared, |requests| match requests {
        Requests::Many(flights) if flights.has_waiting() && flights.in_flight() > 0 => {
            flights.lose_one();
            true
        }
        _ => false,
    });
    check_shows(&counts);
}

/// Eight streams, answered every 10 ms and 20 us after each other: when the last eight requests
/// were sent, after the first of the answers that they follow.
fn last_sent(gather: bool) -> (Vec<u64>, LoadResult) {
    let mut spec = over_h2(closed(1), 8);
    spec.pacing.gather = gather;
    // By then what the engine knows of the latency has come to 10 ms.
    spec.load.duration_s = 3.0;
    let times = RefCell::new(Vec::new());
    let server = Server::h2(|asked| {
        times.borrow_mut().push((asked.now - BEGIN) % ms(10));
        let at = (asked.now / ms(10) + 1) * ms(10) + asked.number % 8 * us(20);
        asked.hello(at - asked.now)
    });
    let result = play(&spec, server).result;
    let times = times.into_inner();
    (times[times.len() - 8..].to_vec(), result)
}

#[test]
fn answers_of_a_wide_spread_are_taken_together_after_a_64th_of_the_latency() {
    let (sent, alone) = last_sent(false);
    assert_eq!(sent, [0, 20, 40, 60, 80, 100, 120, 140].map(us));
    assert_eq!(alone.requests.ok, 8 * 299);
    let (sent, together) = last_sent(true);
    // They are taken when the first one has waited for a 64th of 10 ms; a little less, because
    // the answers in which live counters are written, ten times a second, gather no others.
    assert_eq!(sent, [sent[0]; 8]);
    let part = ms(10) / 64;
    assert!(
        (part - 200..=part).contains(&sent[0]),
        "{sent:?}, not {part}"
    );
    assert_eq!(together.requests.ok, 8 * 299);
}
