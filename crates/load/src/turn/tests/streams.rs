//! Many requests at once on a connection of HTTP/2: its limit, its end, and what waits for both.

use std::cell::{Cell, RefCell};

use super::frames::{
    DATA, END_HEADERS, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, NO_ERROR, RST_STREAM,
    STATUS_200, frame, go_away, settings,
};
use super::*;
use crate::driver::invented::Act;

const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Says so many streams may be open.
fn limit(streams: u32) -> Vec<Act> {
    vec![Act::Send(0, settings(&[(MAX_CONCURRENT_STREAMS, streams)]))]
}

#[test]
fn as_many_streams_are_in_flight_as_asked_for() {
    for streams in [1, 4, 100] {
        let spec = over_h2(counted(1, 300), streams);
        let sent = RefCell::new(Vec::new());
        let server = Server::h2(|asked| {
            sent.borrow_mut().push((asked.now - BEGIN - DOOR) / ms(10));
            asked.hello(ms(10))
        });
        let played = check(&spec, server, &[(Outcome::Ok, 300)]);
        let sent = sent.into_inner();
        let first = sent.iter().filter(|batch| **batch == 0).count();
        assert_eq!(first, streams as usize);
        assert_eq!(played.result.blocked.count(), 0, "no limit was reached");
    }
}

#[test]
fn the_servers_limit_of_streams_is_kept_and_the_wait_is_reported() {
    let (open, most) = (Cell::new(0), Cell::new(0));
    let ends = RefCell::new(std::collections::VecDeque::new());
    let server = Server::h2(|asked| {
        while ends.borrow().front().is_some_and(|end| *end <= asked.now) {
            ends.borrow_mut().pop_front();
            open.set(open.get() - 1);
        }
        open.set(open.get() + 1);
        most.set(most.get().max(open.get()));
        ends.borrow_mut().push_back(asked.now + ms(10));
        asked.hello(ms(10))
    })
    .on_open(|_, _| limit(2));
    let mut spec = over_h2(counted(1, 80), 8);
    spec.pacing.gather = false;
    let result = check(&spec, server, &[(Outcome::Ok, 80)]).result;
    assert_eq!(most.get(), 2);
    // Six of eight wait for three answers of 10 ms each; in a closed loop a request begins when
    // its stream does, and its wait is counted apart.
    assert_eq!(result.blocked.max(), Some(ms(30)));
    assert_eq!(result.latency.max(), Some(ms(10)));
    let said = result.negotiated.settings.expect("they came");
    assert_eq!(said.max_concurrent_streams, Some(2));
}

#[test]
fn a_withdrawn_request_keeps_its_time() {
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 1) => vec![Act::Send(ms(50), go_away(0, NO_ERROR)), Act::Close(ms(50))],
        (0, _) => Vec::new(),
        _ => asked.hello(ms(10)),
    });
    let mut spec = over_h2(counted(1, 8), 4);
    spec.pacing.gather = false;
    let result = check(&spec, server, &[(Outcome::Ok, 8)]).result;
    assert_eq!(result.connections.streams_withdrawn, 4);
    // They were taken by the second connection, after the rest of a client whose first one took
    // nothing.
    let withdrawn = ms(50) + ms(1) + DOOR + ms(10);
    assert_eq!(
        (result.latency.max(), result.latency.min()),
        (Some(withdrawn), Some(ms(10)))
    );
}

#[test]
fn what_was_withdrawn_goes_on_where_the_rest_is_cut() {
    // It would take the first stream, and closes before it has answered it.
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 1) => vec![Act::Send(ms(1), go_away(1, NO_ERROR)), Act::Close(ms(1))],
        (0, _) => Vec::new(),
        _ => asked.hello(ms(1)),
    });
    let expected = [(Outcome::Ok, 29), (Outcome::ClosedEarly, 1)];
    let result = check(&over_h2(counted(1, 30), 4), server, &expected).result;
    assert_eq!(result.connections.streams_withdrawn, 3);
}

#[test]
fn a_stream_that_a_goaway_takes_and_that_is_refused_is_not_sent_again() {
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 1) => {
            let refused = frame(RST_STREAM, 0, 1, &REFUSED_STREAM.to_be_bytes());
            vec![Act::Send(0, [go_away(7, NO_ERROR), refused].concat())]
        }
        _ => asked.hello(ms(1)),
    });
    let expected = [(Outcome::Ok, 29), (Outcome::RefusedStream, 1)];
    let result = check(&over_h2(counted(1, 30), 4), server, &expected).result;
    assert_eq!(result.connections.streams_withdrawn, 0);
}

#[test]
fn of_an_answer_that_is_withdrawn_nothing_is_kept() {
    let begun = |stream| {
        let head = frame(HEADERS, END_HEADERS, stream, STATUS_200);
        [head, frame(DATA, 0, stream, b"hel")].concat()
    };
    // The first withdrawal is followed by answers, the second one by the end of the connection.
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 3) => vec![Act::Send(0, [begun(3), go_away(1, NO_ERROR)].concat())],
        (0, 1) => asked.hello(ms(1)),
        (0, _) => Vec::new(),
        (1, 1) => vec![Act::Close(ms(1))],
        (1, _) => Vec::new(),
        _ => asked.hello(ms(1)),
    });
    let expected = [(Outcome::Ok, 26), (Outcome::ClosedEarly, 4)];
    let result = check(&over_h2(counted(1, 30), 4), server, &expected).result;
    assert_eq!(result.connections.streams_withdrawn, 3);
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 3) => vec![Act::Send(0, [begun(3), go_away(1, NO_ERROR)].concat())],
        _ => asked.hello(ms(1)),
    });
    check(&over_h2(counted(1, 30), 4), server, &[(Outcome::Ok, 30)]);
}

#[test]
fn what_is_due_does_not_wait_for_a_connection_that_ends() {
    // One answer holds the first connection for half a second after its GOAWAY.
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 1) => [
            vec![Act::Send(0, go_away(1, NO_ERROR))],
            asked.hello(ms(500)),
        ]
        .concat(),
        _ => asked.hello(ms(1)),
    });
    let spec = over_h2(open(500.0, 2), 32);
    let result = check(&spec, server, &[(Outcome::Ok, 500)]).result;
    assert_eq!(result.latency.max(), Some(ms(500)));
    assert_eq!(result.latency.quantile(0.99), result.latency.quantile(0.5));
    assert_eq!(result.schedule.map(|kept| kept.slip.max()), Some(Some(0)));
}

#[test]
fn what_waits_on_a_connection_that_ends_waits_for_the_server() {
    // One stream at a time; the first answer holds its connection for half a second after a GOAWAY,
    // which comes when another request waits for the stream.
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 1) => [
            vec![Act::Send(ms(15), go_away(1, NO_ERROR))],
            asked.hello(ms(500)),
        ]
        .concat(),
        _ => asked.hello(ms(1)),
    })
    .on_open(|_, _| limit(1));
    let spec = over_h2(open(100.0, 1), 4);
    let result = check(&spec, server, &[(Outcome::Ok, 100)]).result;
    let kept = result.schedule.as_ref().expect("an open loop has one");
    assert_eq!(kept.slip.max(), Some(0));
    // It was due after 10 ms.
    assert!(kept.wait.max() >= Some(ms(490)), "{:?}", kept.wait.max());
}

#[test]
fn an_open_loop_goes_on_after_each_goaway_and_sends_nothing_twice() {
    let carried = RefCell::new(Vec::new());
    let server = Server::h2(|asked| {
        let mut carried = carried.borrow_mut();
        let links = carried.len().max(asked.link + 1);
        carried.resize(links, 0);
        carried[asked.link] += 1;
        let mut acts = asked.hello(ms(1));
        if carried[asked.link] == 10 {
            acts.push(Act::Send(ms(1), go_away(asked.stream, NO_ERROR)));
            acts.push(Act::Close(ms(1)));
        }
        acts
    });
    let result = check(&over_h2(open(300.0, 2), 4), server, &[(Outcome::Ok, 300)]).result;
    assert_eq!(carried.into_inner().iter().sum::<u64>(), 300);
    assert_eq!((result.send_lag.count(), result.requests.begun), (300, 300));
    assert_eq!(result.connections.goaways, 30);
    assert_eq!(
        (result.carried.min(), result.carried.max()),
        (Some(10), Some(10))
    );
}

#[test]
fn a_frozen_server_is_in_the_latency_and_not_in_the_service_time() {
    for streams in [1, 4] {
        let spec = over_h2(open(1000.0, 1), streams);
        let thaw = zero(1) + ms(700);
        let server = Server::h2(|asked| match asked.now - zero(1) {
            0..200_000_000 => asked.hello(us(100)),
            _ => asked.hello((asked.now + us(100)).max(thaw) - asked.now),
        });
        let result = play(&spec, server).result;
        // As many met the freeze as there were streams; the others were due in it, and waited.
        assert_eq!(result.requests.ok, 1000);
        assert_eq!(
            (result.latency.max(), result.service.max()),
            (Some(ms(500)), Some(ms(500)))
        );
        let p90 = |times: &bakeoff_record::Histogram| times.quantile(0.9).expect("of 1,000");
        assert!(p90(&result.latency) > ms(390), "{}", p90(&result.latency));
        assert!(
            p90(&result.service).abs_diff(us(100)) < us(1),
            "{}",
            p90(&result.service)
        );
        let kept = result.schedule.expect("an open loop has one");
        assert_eq!(kept.slip.max(), Some(0));
    }
}

#[test]
fn a_goaway_with_an_error_refuses_what_it_does_not_take() {
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 1) => {
            let said = [go_away(1, ENHANCE_YOUR_CALM), frames::answer(1, b"hello")].concat();
            vec![Act::Send(ms(1), said), Act::Close(ms(1))]
        }
        (0, _) => Vec::new(),
        _ => asked.hello(ms(1)),
    });
    let expected = [(Outcome::Ok, 27), (Outcome::RefusedStream, 3)];
    let result = check(&over_h2(counted(1, 30), 4), server, &expected).result;
    assert_eq!(
        (result.connections.goaways, result.connections.opened),
        (1, 2)
    );
    assert_eq!(result.connections.streams_withdrawn, 0);
    let sample = &result.error_samples["refused_stream"];
    assert!(sample.contains("(GOAWAY: ENHANCE_YOUR_CALM)"), "{sample}");
}

#[test]
fn the_error_of_a_goaway_is_named_with_what_it_says() {
    let debug = [b"too many \x1b[2J\xff".as_slice(), &[b'x'; 500]].concat();
    let said = frames::go_away_saying(ENHANCE_YOUR_CALM, &debug);
    // Before any stream, and in place of the answer that it takes.
    let first = [frames::settings(&[]), said.clone()].concat();
    let at_once = Server::h2(|_| Vec::new())
        .on_open(move |_, _| vec![Act::Send(0, first.clone()), Act::Close(0)]);
    let taken = frames::go_away_saying(ENHANCE_YOUR_CALM, b"");
    let taken = [&taken[..9], &7_u32.to_be_bytes(), &taken[13..]].concat();
    let later = Server::h2(move |_| vec![Act::Send(ms(1), taken.clone()), Act::Close(ms(1))]);
    for (server, words) in [
        (at_once, "(GOAWAY: ENHANCE_YOUR_CALM, \"too many [2Jxxx"),
        (later, "(GOAWAY: ENHANCE_YOUR_CALM)"),
    ] {
        let expected = [(Outcome::ClosedEarly, 4)];
        let result = check(&over_h2(counted(1, 4), 1), server, &expected).result;
        let sample = &result.error_samples["closed_early"];
        assert!(sample.contains(words), "{sample}");
        assert!(sample.len() < 250, "{sample}");
    }
}

#[test]
fn that_a_server_allows_no_streams_is_said() {
    let server = Server::h2(|_| Vec::new()).on_open(|_, _| {
        let none = [(frames::MAX_CONCURRENT_STREAMS, 0)];
        vec![Act::Send(0, frames::settings(&none))]
    });
    let mut spec = over_h2(counted(2, 6), 2);
    spec.load.connect = Connect::First;
    let result = check(&spec, server, &[(Outcome::Timeout, 6)]).result;
    let sample = &result.error_samples["timeout"];
    let words = "the server allows none (SETTINGS_MAX_CONCURRENT_STREAMS is 0), within 0.2 s";
    assert!(sample.contains(words), "{sample}");
}

#[test]
fn that_a_server_lets_no_body_through_is_said() {
    // Its settings come before the load: 0 bytes of each stream.
    let server = Server::h2(|_| Vec::new())
        .on_open(|_, _| vec![Act::Send(0, frames::settings(&[(INITIAL_WINDOW_SIZE, 0)]))]);
    let mut spec = over_h2(counted(2, 6), 2);
    spec.load.connect = Connect::First;
    let request = crate::h2::Request::new("POST", "http", "a", "/", &[], b"body".to_vec());
    spec.exchanges[0].h2 = Some(request.expect("it may be sent"));
    let result = check(&spec, server, &[(Outcome::Timeout, 6)]).result;
    let sample = &result.error_samples["timeout"];
    let words = "the server's window is used up (no WINDOW_UPDATE), within 0.2 s";
    assert!(sample.contains(words), "{sample}");
}

#[test]
fn a_wrong_window_of_one_stream_ends_its_request_alone() {
    // Four streams; the first one's window is enlarged by nothing.
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 1) => vec![Act::Send(us(100), frame(8, 0, 1, &[0; 4]))],
        _ => asked.hello(ms(1)),
    });
    let expected = [(Outcome::Ok, 29), (Outcome::Protocol, 1)];
    let result = check(&over_h2(counted(1, 30), 4), server, &expected).result;
    assert_eq!(result.connections.opened, 1);
}

#[test]
fn a_close_without_goaway_ends_what_was_in_flight() {
    let server = Server::h2(|asked| match (asked.link, asked.stream) {
        (0, 3) => {
            let head = frame(HEADERS, END_HEADERS, 3, STATUS_200);
            let begun = [head, frame(DATA, 0, 3, b"hel")].concat();
            vec![Act::Send(ms(1), begun), Act::Close(ms(1))]
        }
        (0, _) => Vec::new(),
        _ => asked.hello(ms(1)),
    });
    let expected = [
        (Outcome::Ok, 26),
        (Outcome::Truncated, 1),
        (Outcome::ClosedEarly, 3),
    ];
    let result = check(&over_h2(counted(1, 30), 4), server, &expected).result;
    assert_eq!(
        (
            result.connections.opened,
            result.connections.closed_by_server
        ),
        (2, 1)
    );
    assert_eq!(result.carried.max(), Some(4));
}

#[test]
fn a_closed_loop_goes_on_after_each_goaway_said_once_or_twice() {
    for is_twice in [false, true] {
        let carried = RefCell::new(vec![0; 100]);
        let server = Server::h2(|asked| {
            let carried = &mut carried.borrow_mut()[asked.link];
            *carried += 1;
            let mut acts = match *carried {
                ..=10 => asked.hello(ms(1)),
                _ => Vec::new(),
            };
            if *carried == 10 {
                // As servers do that let requests come for a round trip more.
                let early = go_away(u32::MAX >> 1, NO_ERROR);
                let early = if is_twice { early } else { Vec::new() };
                let said = [early, go_away(asked.stream, NO_ERROR)].concat();
                acts.extend([Act::Send(ms(1), said), Act::Close(ms(1))]);
            }
            acts
        });
        let spec = over_h2(counted(1, 101), 4);
        let result = check(&spec, server, &[(Outcome::Ok, 101)]).result;
        let links = &result.connections;
        assert_eq!(
            (links.goaways, links.closed_by_server, links.opened),
            (10, 10, 11)
        );
        assert_eq!(
            (result.carried.min(), result.carried.max()),
            (Some(10), Some(10))
        );
        // Two of twelve were on their way each time, but for the last.
        assert!(links.streams_withdrawn >= 10, "{links:?}");
    }
}

#[test]
fn a_rule_broken_on_a_connection_is_named() {
    for (bytes, message) in [
        (&b"\0\0\x01\0\x01\0\0\0\0x"[..], "RFC 9113, 6)"),
        (b"\0\0\x01\0\x01\0\0\0\x63x", "not open"),
        (b"\0\0\x01\x01\x05\0\0\0\x01\xff", "header"),
        (b"\x01\0\0\0\0\0\0\0\x01", "SETTINGS_MAX_FRAME_SIZE"),
        (b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0", "increment of 0"),
        (b"\0\0\x04\x05\x04\0\0\0\x01\0\0\0\x02", "pushes"),
    ] {
        let server = Server::h2(|asked| match asked.stream {
            3 => vec![Act::Send(us(100), bytes.to_vec())],
            _ => Vec::new(),
        });
        check_broken(server, message, 15);
    }
    let not_h2 = Act::Send(0, HELLO.to_vec());
    let server = Server::h2(|_| Vec::new()).on_open(|_, _| vec![not_h2.clone()]);
    check_broken(server, "it answers in HTTP/1.1, so use the protocol h1", 30);
    // And the other way round, over HTTP/1.1.
    for (bytes, words) in [
        (frames::settings(&[]), "use the protocol h2c"),
        (b"\x15\x03\x01\0\x02\x02\x46".to_vec(), "use https"),
    ] {
        let server = Server::new(move |_| vec![Act::Send(0, bytes.clone())]);
        let result = check(&counted(1, 3), server, &[(Outcome::Protocol, 3)]).result;
        let sample = &result.error_samples["protocol"];
        assert!(sample.contains(words), "{sample}");
    }
}

/// All thirty requests break on the protocol, on so many connections.
#[track_caller]
fn check_broken(server: Server<'_>, message: &str, opened: u64) {
    let spec = over_h2(counted(1, 30), 2);
    let result = check(&spec, server, &[(Outcome::Protocol, 30)]).result;
    let sample = &result.error_samples["protocol"];
    assert!(sample.contains(message), "no {message} in {sample}");
    assert_eq!(result.connections.opened, opened);
}
