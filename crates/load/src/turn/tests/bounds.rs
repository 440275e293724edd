//! A server that sends without end keeps the loop from nothing: not from its other connections,
//! not from its timeouts, not from the end of the window.

use super::frames::{PING, frame, settings};
use super::*;
use crate::driver::invented::Act;

/// What a call takes, and what a byte takes to be read and looked at.
const COSTS: Costs = Costs {
    call_ns: us(1),
    byte_ns: 5,
    look_ns: 0,
};

/// Requests that came out as `ok` where three connections are served well, and a fourth, if
/// there is one, by `fourth`.
#[track_caller]
fn ok_with(spec: &LoadSpec, clients: u32, fourth: &Act) -> Played {
    let mut spec = spec.clone();
    spec.load.model = LoadModel::Closed { clients };
    let answer = |asked: server::Asked| match asked.link {
        0..3 => asked.hello(us(300)),
        _ => vec![fourth.clone()],
    };
    let server = match spec.speaking {
        Speaking::H2c => Server::h2(answer).on_open(|_, _| vec![Act::Send(0, settings(&[]))]),
        _ => Server::new(answer),
    };
    play_at(&spec, server, COSTS, &Control::default())
}

/// The endless one takes no more than a tenth from the others, and ends by its timeout, and the
/// load by its window.
#[track_caller]
fn check_bounded(spec: &LoadSpec, endless: &[u8]) {
    let alone = ok_with(spec, 3, &Act::Close(0)).result.requests.ok;
    let played = ok_with(spec, 4, &Act::Flood(ms(1), endless.to_vec()));
    let (ok, outcomes) = (played.result.requests.ok, &played.result.outcomes);
    assert!(ok * 10 >= alone * 9, "{ok} of {alone}: {outcomes:?}");
    assert!(outcomes.errors() > 0, "{outcomes:?}");
    // Each of its requests but the last ended by its timeout, to a turn.
    let ages = played.result.error_latency();
    assert!(ages.max() <= Some(ms(200) + ms(25)), "{ages:?}");
    assert!(
        played.end() <= BEGIN + ms(1_250) + ms(5),
        "{}",
        played.end()
    );
    assert_eq!(played.result.measured_s, 1.0);
    assert!(played.result.engine.threads[0].longest_turn_s < 0.005);
}

#[test]
fn endless_chunks_of_a_byte_take_little_from_others() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut spec = closed(4);
    spec.exchanges[0].body = None;
    let chunks = [&head[..], &b"1\r\nx\r\n".repeat(1_000_000)].concat();
    check_bounded(&spec, &chunks);
}

#[test]
fn endless_interim_responses_take_little_from_others() {
    check_bounded(&closed(4), b"HTTP/1.1 100 Continue\r\n\r\n");
}

#[test]
fn endless_pings_take_little_from_others() {
    let spec = over_h2(closed(4), 1);
    check_bounded(&spec, &frame(PING, 0, 0, b"12345678"));
}
