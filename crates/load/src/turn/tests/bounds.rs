//! A server that sends without end keeps the loop from nothing: not from its other connections,
//! not from its timeouts, not from the end of the window.

use super::frames::{INITIAL_WINDOW_SIZE, PING, WINDOW_UPDATE, frame, settings};
use super::*;
use crate::driver::invented::Act;

/// What a call takes, and what a byte takes to be read and looked at.
const COSTS: Costs = Costs {
    call_ns: us(1),
    byte_ns: 5,
    look_ns: 0,
};

/// What a server does with the fourth connection.
struct Fourth {
    /// Its settings, over HTTP/2.
    settings: Vec<u8>,
    /// What it does when the connection opens, behind them.
    opened: Vec<Act>,
    /// What it does with a request.
    asked: Vec<Act>,
}

/// Requests that came out as `ok` where three connections are served well, and a fourth, if
/// there is one, by `fourth`.
#[track_caller]
fn ok_with(spec: &LoadSpec, clients: u32, fourth: &Fourth) -> Played {
    let mut spec = spec.clone();
    spec.load.model = LoadModel::Closed { clients };
    let answer = |asked: server::Asked| match asked.link {
        0..3 => asked.hello(us(300)),
        _ => fourth.asked.clone(),
    };
    let server = match spec.speaking {
        Speaking::H2c => Server::h2(answer).on_open(|link, _| match link {
            0..3 => vec![Act::Send(0, settings(&[]))],
            _ => {
                let first = [Act::Send(0, fourth.settings.clone())];
                [&first, &fourth.opened[..]].concat()
            }
        }),
        _ => Server::new(answer),
    };
    play_at(&spec, server, COSTS, &Control::default())
}

/// What is said without end in answer to a request takes little from others.
#[track_caller]
fn check_bounded(spec: &LoadSpec, endless: &[u8]) {
    let fourth = Fourth {
        settings: settings(&[]),
        opened: Vec::new(),
        asked: vec![Act::Flood(ms(1), endless.to_vec())],
    };
    check_bounded_by(spec, &fourth);
}

/// The endless one takes no more than a tenth from the others, and ends by its timeout, and the
/// load by its window.
#[track_caller]
fn check_bounded_by(spec: &LoadSpec, fourth: &Fourth) {
    let alone = ok_with(spec, 3, fourth).result.requests.ok;
    let played = ok_with(spec, 4, fourth);
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

/// A load over HTTP/2 whose one request has a body of so many bytes.
fn upload(mut spec: LoadSpec, bytes: usize) -> LoadSpec {
    spec = over_h2(spec, 1);
    let body = vec![b'x'; bytes];
    let request = crate::h2::Request::new("POST", "http", "a", "/", &[], body);
    spec.exchanges[0].h2 = Some(request.expect("it may be sent"));
    spec
}

fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

#[test]
fn endless_windows_that_let_nothing_through_take_little_from_others() {
    // The stream has no window, and it is the connection's that grows.
    let fourth = Fourth {
        settings: settings(&[(INITIAL_WINDOW_SIZE, 0)]),
        opened: vec![Act::Flood(ms(1), window_update(0, 1).repeat(1_000))],
        asked: Vec::new(),
    };
    check_bounded_by(&upload(closed(4), 1_000), &fourth);
}

#[test]
fn an_upload_goes_as_fast_as_its_windows_come() {
    // A window of 100 bytes each 10 us, for the stream and for the connection: what the server
    // sends comes to 26 bytes for each of them, more than 200 KB in all.
    const WINDOWS: u32 = 8_000;
    let body = 65_535 + 100 * WINDOWS as usize;
    let step = us(10);
    let windows = (1..=WINDOWS).map(|number| {
        let both = [window_update(0, 100), window_update(1, 100)].concat();
        Act::Send(u64::from(number) * step, both)
    });
    let windows: Vec<_> = windows.collect();
    let server = Server::h2(|asked| asked.hello(0)).on_open(|_, _| {
        let mut acts = vec![Act::Send(0, settings(&[]))];
        acts.extend(windows.iter().cloned());
        acts
    });
    let mut spec = upload(counted(1, 1), body);
    spec.pacing.gather = false;
    let played = check(&spec, server, &[(Outcome::Ok, 1)]);
    let last = u64::from(WINDOWS) * step;
    assert_eq!(played.end(), BEGIN + DOOR + last);
}
