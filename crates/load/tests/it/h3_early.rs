//! Requests before the end of a resumed handshake: taken, refused, and lost with it.
//!
//! On real sockets, because the engine's invented driver has no datagrams and the server's QUIC
//! runs on a clock of its own.

use bakeoff_load::LoadSpec;
use bakeoff_plan::{Arrival, LoadModel};
use bakeoff_record::{LoadResult, Outcome};

use crate::quic_server::{Act, HELLO, Ways, serve, serve_in, spec};
use crate::support::load;

/// Thirty requests one after the other, each on a connection of its own.
fn one_by_one(port: u16) -> LoadSpec {
    let mut spec = spec(port);
    spec.connections.requests_per_connection = Some(1);
    spec.load.model = LoadModel::Closed { clients: 1 };
    spec.load.streams = 1;
    if let Some(tls) = spec.speaking.tls_mut() {
        tls.resumption = true;
        tls.early_data = true;
    }
    spec
}

fn check_ok(spec: &LoadSpec) -> LoadResult {
    let result = load(spec);
    let seen = (&result.outcomes, &result.error_samples);
    assert_eq!(result.outcomes.errors(), 0, "{seen:?}");
    result
}

fn early() -> Ways {
    Ways {
        takes_early_data: true,
        ..Ways::default()
    }
}

#[test]
fn requests_go_early_on_resumed_connections() {
    let result = check_ok(&one_by_one(serve_in(early(), |_| Act::Answer(HELLO))));
    assert_eq!(result.outcomes.of(Outcome::Ok), 30);
    assert_eq!(result.bodies_checked, 30);
    // A connection that ends with its first answer is over before new tickets come: each full
    // handshake lasts for as many others as it brought tickets, and those are two.
    let links = &result.connections;
    assert_eq!(links.opened, 30);
    assert!(links.handshakes_resumed >= 20, "{links:?}");
    let early = result.quic.expect("a ledger").early_data;
    assert_eq!(
        (early.accepted, early.rejected),
        (links.handshakes_resumed, 0)
    );
    assert_eq!((early.requests, early.sent_again), (early.accepted, 0));
}

#[test]
fn requests_go_late_unless_asked_or_where_the_server_offers_nothing() {
    let mut spec = one_by_one(serve_in(early(), |_| Act::Answer(HELLO)));
    if let Some(tls) = spec.speaking.tls_mut() {
        tls.early_data = false;
    }
    let unasked = check_ok(&spec);
    let unoffered = check_ok(&one_by_one(serve(|_| Act::Answer(HELLO))));
    for result in [unasked, unoffered] {
        assert_eq!(result.connections.handshakes_resumed, 29);
        let early = result.quic.expect("a ledger").early_data;
        assert_eq!((early.requests, early.accepted, early.rejected), (0, 0, 0));
    }
}

#[test]
fn what_is_refused_early_is_sent_again_and_counted_once() {
    // The server loses the secrets of its tickets before each connection.
    let ways = Ways {
        loses_tickets: true,
        ..early()
    };
    let mut spec = one_by_one(serve_in(ways, |_| Act::Answer(HELLO)));
    spec.load.streams = 3;
    spec.connections.requests_per_connection = Some(3);
    let result = check_ok(&spec);
    assert_eq!(result.requests.started, 30);
    assert_eq!(result.outcomes.of(Outcome::Ok), 30);
    let links = &result.connections;
    assert_eq!((links.opened, links.handshakes_full), (10, 10), "{links:?}");
    let early = result.quic.expect("a ledger").early_data;
    assert_eq!((early.accepted, early.rejected), (0, 9));
    assert_eq!((early.requests, early.sent_again), (27, 27));
}

#[test]
fn an_open_loop_goes_early_too() {
    let mut spec = one_by_one(serve_in(early(), |_| Act::Answer(HELLO)));
    spec.count = None;
    spec.load.duration_s = 0.5;
    spec.load.model = LoadModel::Open {
        rate_per_s: 100.0,
        arrival: Arrival::Constant,
        clients: 2,
    };
    let result = check_ok(&spec);
    assert_eq!(result.requests.planned, Some(50));
    let early = result.quic.expect("a ledger").early_data;
    assert!(early.accepted >= 25, "{early:?}");
    assert_eq!(early.requests, early.accepted);
}
