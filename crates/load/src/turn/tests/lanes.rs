//! Loads in which something is done to the server: kept connections and fresh ones, and what is
//! noted of them.

use bakeoff_plan::{Action, Actions};

use super::frames::{NO_ERROR, go_away};
use super::*;
use crate::driver::invented::{Act, Door};
use crate::ledger::Noted;

/// An open loop of a second, 1,000 requests, a fifth of them on fresh connections.
fn change() -> LoadSpec {
    let mut spec = open(1_000.0, 10);
    spec.load = spec.load.with_actions(Actions {
        action: Action::None,
        times: 1,
        every: Duration::from_secs(1),
        kept: 0.8,
    });
    spec
}

/// What is noted of a lane of the load, and what it comes to.
fn noted(spec: &LoadSpec, lane: usize, server: Server<'_>) -> (Noted, LoadResult) {
    let lanes = spec.lanes();
    let lane = &lanes[lane];
    let control = Control::noting_all(10_000);
    let pace = engine::pace(&lane.spec, lane.requests, ALONE, None);
    let driver = Invented::new(server, Costs::default(), true);
    let mut thread = Thread::new(&lane.spec, driver, None, ALONE, pace);
    thread.ledger.log = control.log(ALONE).map(Box::new);
    let made = Loop::new(thread, lane.spec.load.clients(), &control);
    let mut counts = made.play();
    let noted = std::mem::take(&mut counts.observed.noted).sorted();
    (noted, result(&lane.spec, vec![counts]))
}

fn firsts(noted: &Noted) -> usize {
    noted.requests.iter().filter(|one| one.is_first).count()
}

#[test]
fn a_fresh_request_has_a_connection_of_its_own_that_this_side_closes() {
    let h1 = (change(), false);
    let h2 = (over_h2(change(), 4), true);
    for (spec, is_h2) in [h1, h2] {
        let server = Server::after(ms(1));
        let server = if is_h2 { server.over_h2() } else { server };
        let (noted, result) = noted(&spec, 1, server);
        let links = &result.connections;
        assert_eq!(result.outcomes.of(Outcome::Ok), 200);
        assert_eq!(
            (links.opened, links.reused, links.closed_by_server),
            (200, 0, 0)
        );
        assert_eq!((noted.requests.len(), firsts(&noted)), (200, 200));
        assert!(noted.closed_ns.is_empty());
    }
}

#[test]
fn kept_requests_share_connections_and_a_client_that_lost_its_own_comes_back() {
    // Three of eight connections are closed while they are at rest, in the middle of the window.
    let at = zero(8) + SECOND / 2;
    let closes = |asked: server::Asked| {
        let mut acts = asked.hello(ms(1));
        if asked.link < 3 && (at..at + ms(10)).contains(&asked.now) {
            acts.push(Act::Close(ms(4)));
        }
        acts
    };
    let (noted, result) = noted(&change(), 0, Server::new(closes));
    let links = &result.connections;
    assert_eq!(result.outcomes.of(Outcome::Ok), 800);
    assert_eq!((links.opened, links.closed_by_server), (11, 3));
    assert_eq!(noted.closed_ns.len(), 3);
    let within = SECOND / 2 + ms(4)..SECOND / 2 + ms(15);
    assert!(
        noted.closed_ns.iter().all(|at| within.contains(at)),
        "{noted:?}"
    );
    assert_eq!(firsts(&noted), 8 + 3);
    // Each comes back with the next request that is due, and not when connections run short.
    let came_back = noted.requests.iter().filter(|one| one.is_first);
    let last = came_back.map(|one| one.done_ns).max().unwrap_or_default();
    assert!(last < SECOND / 2 + ms(20), "{last}");
}

#[test]
fn a_server_that_says_that_it_leaves_has_closed_the_connection() {
    let at = zero(8) + SECOND / 2;
    let leaves = |asked: server::Asked| {
        let mut acts = asked.hello(ms(1));
        if asked.link < 3 && (at..at + ms(10)).contains(&asked.now) {
            acts.push(Act::Send(ms(4), go_away(asked.stream, NO_ERROR)));
        }
        acts
    };
    let (noted, result) = noted(&over_h2(change(), 1), 0, Server::h2(leaves));
    assert_eq!(result.outcomes.of(Outcome::Ok), 800);
    assert_eq!(noted.closed_ns.len(), 3);
    assert_eq!(firsts(&noted), 8 + 3);
}

#[test]
fn what_holds_up_fresh_connections_does_not_delay_kept_ones_and_is_noted() {
    // From the middle of the window on, nobody is let in.
    let at = BEGIN + SECOND / 2;
    let door = |_, now| {
        if now < at {
            Door::Opens(server::DOOR)
        } else {
            Door::Silent
        }
    };
    let mut spec = change();
    spec.load.timeout_s = 0.1;
    let (kept, _) = noted(&spec, 0, Server::after(ms(1)).at_door(door));
    assert!(kept.requests.iter().all(|one| one.latency_ns < ms(2)));
    let (fresh, result) = noted(&spec, 1, Server::after(ms(1)).at_door(door));
    // Two clients wait for a tenth of a second each: not all come to their turn, and all are noted.
    assert_eq!(fresh.requests.len(), 200);
    let lost = fresh
        .requests
        .iter()
        .filter(|one| one.outcome != Outcome::Ok);
    assert_eq!(lost.count(), 100);
    assert!(result.requests.unended.unwrap_or_default() > 0);
}
