//! Connections that are opened ahead of the load: a server that sends without end holds it no
//! longer than one that says nothing.

use std::cell::RefCell;

use super::frames::{PING, SETTINGS, frame};
use super::*;
use crate::driver::invented::{Act, Door};

/// What a load takes whose four connections are opened first, and of which all are flooded, or all
/// but the last, on which nothing comes; beside its 50 ms.
#[track_caller]
fn opened_within(spec: &LoadSpec, flood: &[u8], has_silent: bool) -> u64 {
    let mut spec = spec.clone();
    spec.load.connect = Connect::First;
    spec.load.timeout_s = 5.0;
    spec.load.duration_s = 0.05;
    let begun = RefCell::new(Vec::new());
    // It takes little of what has to be acknowledged.
    let server = Server::new(|_| Vec::new())
        .with_room(1_000)
        .on_open(|link, _| match link {
            3 if has_silent => Vec::new(),
            _ => vec![Act::Flood(us(10), flood.to_vec())],
        })
        .at_door(|_, now| {
            begun.borrow_mut().push(now - BEGIN);
            Door::Opens(DOOR)
        });
    let costs = Costs {
        call_ns: us(1),
        byte_ns: 5,
        look_ns: 0,
    };
    let played = play_at(&spec, server, costs, &Control::default());
    let opened = played.end() - BEGIN - ms(50);
    // A turn or two more than the load took.
    let turns = ms(20);
    let begun = begun.borrow();
    let ahead = begun.iter().filter(|at| **at + turns < opened);
    assert!(ahead.count() <= 4, "each is opened once");
    opened
}

#[test]
fn what_is_flooded_is_neither_waited_for_nor_opened_again_ahead_of_the_load() {
    let h2 = over_h2(closed(4), 1);
    for flood in [frame(PING, 0, 0, b"12345678"), frame(SETTINGS, 0, 0, &[])] {
        let opened = opened_within(&h2, &flood, false);
        assert!(opened < ms(20), "{opened}");
        let opened = opened_within(&h2, &flood, true);
        assert!(opened < ms(250) + ms(20), "{opened}");
    }
    let opened = opened_within(&closed(4), b"HTTP/1.1 100 Continue\r\n\r\n", false);
    assert!(opened < ms(20), "{opened}");
}

#[test]
fn an_opening_that_takes_more_than_a_second_is_said() {
    let mut spec = closed(5);
    spec.load.connect = Connect::First;
    spec.load.timeout_s = 5.0;
    let usual = play(&spec, Server::after(ms(1))).result;
    assert_eq!(usual.observed.opening_s, None);
    // Each has a quarter of a second from when the one before it was ready.
    let slow = |number: usize, _: u64| Door::Opens(ms(240) * (number as u64 + 1));
    let slow = play(&spec, Server::after(ms(1)).at_door(slow)).result;
    assert_eq!(slow.observed.opening_s, Some(1.200_2));
}
