//! What a hostile server can send on and on: memory and work stay bounded, and it is turned away.

use super::*;

fn ping() -> Vec<u8> {
    frame(kind::PING, 0, 0, b"12345678")
}

#[test]
fn acknowledgements_are_counted_and_nothing_else_is() {
    let mut pair = Pair::new(&config(), &[GET]);
    assert_eq!(pair.client.take_ack_bytes(), 0);
    pair.handle(&settings(&[])).unwrap();
    assert_eq!(pair.client.take_ack_bytes(), 9);
    assert_eq!(pair.client.take_ack_bytes(), 0, "reported of once");
    pair.out.clear();
    let answered = [ping(), settings(&[(3, 5)]), ping()].concat();
    pair.handle(&answered).unwrap();
    assert_eq!(pair.client.take_ack_bytes() as usize, pair.out.len());
    let others = [
        ack(),
        frame(kind::PING, flag::ACK, 0, b"12345678"),
        window_update(0, 1),
        window_update(1, 1),
        frame(kind::PRIORITY, 0, 1, b"12345"),
        frame(0xbe, 0, 0, b"unknown"),
        headers(1, EARLY_HINTS, false),
        headers(1, OK, false),
        data(1, b"", false),
        data(1, b"a", true),
    ];
    pair.handle(&others.concat()).unwrap();
    assert_eq!(pair.client.take_ack_bytes(), 0);
}

#[test]
fn a_flood_is_ended_by_the_caller() {
    let mut pair = Pair::new(&config(), &[GET]);
    pair.handle(&[settings(&[]), ping()].concat()).unwrap();
    pair.out.clear();
    assert_eq!(pair.client.calm(&mut pair.out), Violation::Flood);
    assert_eq!(pair.out, goaway(0, ErrorCode::ENHANCE_YOUR_CALM.0));
    assert!(pair.client.is_going_away());
    let opened = pair.client.open(GET, 1, &mut pair.out);
    assert_eq!(opened, Err(Blocked::GoingAway));
    pair.out.clear();
    assert_eq!(pair.handle(&ping()), Err(Violation::Flood));
    assert_eq!(pair.client.calm(&mut pair.out), Violation::Flood);
    assert!(pair.out.is_empty(), "it is said once");
}

#[test]
fn an_earlier_end_is_the_one_that_counts() {
    let mut pair = Pair::new(&config(), &[GET]);
    assert_eq!(pair.handle(b"HTTP/1.1 "), Err(Violation::Http1));
    pair.out.clear();
    assert_eq!(pair.client.calm(&mut pair.out), Violation::Http1);
    assert!(pair.out.is_empty());
}

#[test]
fn windows_that_are_enlarged_make_nothing_pile_up() {
    // A server that grants gigabytes, again and again, and reads nothing.
    let mut pair = Pair::with_settings(&config(), &[(4, 1)]);
    for token in 0..100 {
        pair.client.open(LONG_POST, token, &mut pair.out).unwrap();
    }
    pair.out.clear();
    let mut events = Vec::new();
    let flood = |number: u32| {
        [
            settings(&[(4, 1 << 20 | number)]),
            window_update(0, 1 << 10),
        ]
    };
    for number in 0..1000 {
        let bytes = flood(number).concat();
        let taken = pair.client.handle(&bytes, &mut events, &mut pair.out);
        assert_eq!(taken, Ok(bytes.len()));
    }
    assert_eq!(pair.out.len() as u32, pair.client.take_ack_bytes());
    assert!(pair.client.has_to_send(), "when the caller has room for it");
}

#[test]
fn floods_that_need_no_answer_leave_nothing_behind() {
    let mut pair = Pair::new(&config(), &[GET]);
    let begin = [settings(&[]), headers(1, EARLY_HINTS, false)].concat();
    pair.handle(&begin).unwrap();
    pair.handle(&headers(1, OK, false)).unwrap();
    pair.out.clear();
    for one in [
        data(1, b"", false),
        frame(kind::PRIORITY, 0, 1, b"12345"),
        frame(kind::PING, flag::ACK, 0, b"12345678"),
        frame(0xbe, 0, 0, &[7; 1000]),
    ] {
        let (many, mut events) = (one.repeat(5_000), Vec::new());
        // In pieces that no frame fits into: what is between two of them is bounded too.
        for part in many.chunks(4_001) {
            let taken = pair.client.handle(part, &mut events, &mut pair.out);
            assert_eq!(taken, Ok(part.len()));
        }
        assert_eq!((events.len(), pair.out.len()), (0, 0));
    }
}

#[test]
fn interim_responses_without_end_leave_nothing_behind() {
    let mut pair = Pair::new(&config(), &[GET]);
    pair.handle(&settings(&[])).unwrap();
    pair.out.clear();
    let (many, mut events) = (headers(1, EARLY_HINTS, false).repeat(1_000), Vec::new());
    for _ in 0..100 {
        let taken = pair.client.handle(&many, &mut events, &mut pair.out);
        assert_eq!(taken, Ok(many.len()));
        assert_eq!(events.len(), 1_000);
        events.clear();
    }
    assert!(pair.out.is_empty());
}
