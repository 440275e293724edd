//! Servers that do anything: whatever comes, each request ends once, and the counts add up.

use std::cell::Cell;

use super::frames::{
    DATA, END_HEADERS, HEADERS, NO_ERROR, RST_STREAM, STATUS_200, frame, go_away, settings,
};
use super::*;
use crate::driver::invented::{Act, Door};

const CANCEL: u32 = 8;
const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Draws what happens: the same again for the same seed.
struct Dice(Cell<u64>);

impl Dice {
    fn throw(&self, sides: u64) -> u64 {
        // Knuth's multiplicative generator (MMIX).
        let next = self.0.get().wrapping_mul(6_364_136_223_846_793_005);
        self.0.set(next.wrapping_add(1_442_695_040_888_963_407));
        (self.0.get() >> 33) % sides
    }

    fn delay(&self) -> u64 {
        match self.throw(4) {
            0 => 0,
            1 => us(self.throw(50)),
            2 => us(self.throw(2_000)),
            _ => ms(self.throw(30)),
        }
    }

    fn door(&self) -> Door {
        match self.throw(16) {
            0 => Door::Silent,
            1 => Door::Refuses(self.delay()),
            _ => Door::Opens(self.delay()),
        }
    }

    /// The connection's end, in some way, or none.
    fn end(&self, after: u64) -> Option<Act> {
        match self.throw(3) {
            0 => Some(Act::Close(after)),
            1 => Some(Act::Reset(after)),
            _ => None,
        }
    }

    fn opened(&self, first: Vec<u8>) -> Vec<Act> {
        let after = self.delay();
        let mut acts = vec![Act::Send(after, first)];
        match self.throw(24) {
            0 => acts.clear(),
            1 => acts.push(Act::Send(after, HELLO.to_vec())),
            2 => acts.push(Act::Send(after, go_away(0, NO_ERROR))),
            3 => acts.extend(self.end(after)),
            _ => {}
        }
        acts
    }

    /// What a server of HTTP/1.1 does with a request.
    fn serial(&self, asked: server::Asked) -> Vec<Act> {
        let after = self.delay();
        let mut acts = asked.hello(after);
        match self.throw(24) {
            0 => acts.clear(),
            1 => acts = vec![Act::Send(after, HELLO[..self.throw(40) as usize].to_vec())],
            2 => acts.push(Act::Send(after + self.delay(), b"x".to_vec())),
            3 => acts = vec![Act::Send(after, b"garbage\r\n\r\n".to_vec())],
            _ => return acts,
        }
        acts.extend(self.end(after + self.delay()));
        acts
    }

    /// What a server of HTTP/2 does with a request.
    fn streams(&self, asked: server::Asked) -> Vec<Act> {
        let (after, stream) = (self.delay(), asked.stream);
        let reset = |code: u32| frame(RST_STREAM, 0, stream, &code.to_be_bytes());
        let bytes = match self.throw(32) {
            0 => reset(CANCEL),
            1 => reset(REFUSED_STREAM),
            2 => return Vec::new(),
            3 => go_away(stream, NO_ERROR),
            4 => go_away(stream.saturating_sub(2), ENHANCE_YOUR_CALM),
            5 => return self.end(after).into_iter().collect(),
            6 => frame(DATA, 0, 0, b"x"),
            7 => frame(HEADERS, END_HEADERS, stream, STATUS_200),
            8 => [go_away(stream, NO_ERROR), frames::answer(stream, b"hello")].concat(),
            9 => frames::answer(stream, b"hell"),
            _ => return asked.hello(after),
        };
        let mut acts = vec![Act::Send(after, bytes)];
        acts.extend(self.end(after + self.delay()));
        acts
    }
}

/// Plays the load against a server that draws from `seed` what it does.
fn play_whims(spec: &LoadSpec, seed: u64) -> Played {
    let dice = Dice(Cell::new(seed));
    let control = Arc::new(Control::default());
    let stops_at = (dice.throw(4) == 0).then(|| dice.throw(300));
    let answer = |asked: server::Asked| {
        if stops_at == Some(asked.number) {
            control.stop();
        }
        match asked.stream {
            0 => dice.serial(asked),
            _ => dice.streams(asked),
        }
    };
    let (server, first) = match spec.speaking {
        Speaking::H2c => (Server::h2(answer), settings(&[])),
        _ => (Server::new(answer), Vec::new()),
    };
    let server = server
        .at_door(|_, _| dice.door())
        .on_open(|_, _| dice.opened(first.clone()));
    let costs = Costs {
        call_ns: dice.throw(2) * us(1),
        byte_ns: dice.throw(3),
        look_ns: 0,
    };
    play_at(spec, server, costs, &control)
}

/// Loads of all kinds: closed and open, by time and by count, connecting first or as needed.
fn loads() -> Vec<LoadSpec> {
    let mut loads = Vec::new();
    for kind in 0..16 {
        let mut spec = match kind % 2 {
            0 => closed(6),
            _ => open(1000.0, 6),
        };
        if kind & 2 != 0 {
            spec.load.connect = Connect::First;
            spec.load.warmup_s = 0.05;
        }
        if kind & 4 != 0 {
            spec.count = Some(200);
        }
        if kind & 8 != 0 {
            spec.connections.requests_per_connection = Some(7);
        }
        spec.load.timeout_s = 0.02;
        spec.load.duration_s = 0.3;
        loads.push(spec);
    }
    loads
}

/// What is rare is looked for in all of them together.
#[track_caller]
fn check_whims(loads: &[LoadSpec], expected: &[Outcome]) {
    let mut seen = bakeoff_record::OutcomeCounts::default();
    for (kind, spec) in loads.iter().enumerate() {
        for seed in 0..8 {
            let played = play_whims(spec, seed * 16 + kind as u64);
            let result = &played.result;
            let links = &result.connections;
            assert!(links.closed_by_server <= links.opened, "{links:?}");
            assert_eq!(result.outcomes.of(Outcome::Local), 0);
            let wait = if spec.load.connect == Connect::First {
                11.0
            } else {
                0.4
            };
            let end_s = (played.end() - BEGIN) as f64 / 1e9;
            assert!(end_s < 0.35 + wait, "kind {kind}, seed {seed}: {end_s}");
            seen.merge(&result.outcomes);
        }
    }
    for outcome in expected {
        assert!(seen.of(*outcome) > 0, "no {} in {seen:?}", outcome.name());
    }
}

/// What either protocol comes to.
const BY_ANY: [Outcome; 7] = [
    Outcome::Ok,
    Outcome::Refused,
    Outcome::ConnectTimeout,
    Outcome::Timeout,
    Outcome::Reset,
    Outcome::Protocol,
    Outcome::Truncated,
];

#[test]
fn whatever_a_server_does_each_request_ends_once() {
    let expected = [&BY_ANY[..], &[Outcome::ClosedEarly, Outcome::TooLong]];
    check_whims(&loads(), &expected.concat());
}

#[test]
fn whatever_a_server_does_with_streams_each_request_ends_once() {
    let loads: Vec<_> = loads().into_iter().map(|spec| over_h2(spec, 5)).collect();
    let expected = [&BY_ANY[..], &[Outcome::RefusedStream, Outcome::WrongBody]];
    check_whims(&loads, &expected.concat());
}
