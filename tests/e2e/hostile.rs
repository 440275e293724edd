//! `bakeoff load` against servers that want to do harm (`support/hostile`): the load ends in
//! time, each request has the outcome that is right, and memory stays small.
//!
//! Times are held with seconds of slack; `perf/hostile.py` measures them. A test goes on after
//! what fails and reports all of it at its end.

use std::time::Duration;

use rustix::process::{Resource, Signal};
use serde_json::Value;

use crate::support::files::assert_accounted;
use crate::support::hostile::{Act, Edge, Flood, Protocol, Server};
use crate::support::scene::{Running, Scene};
use crate::support::wait_until;

/// What a load may take beyond its duration here, where the machine has more to do.
const SLACK: Duration = Duration::from_secs(30);
/// What a load of a flood lasts: a handshake on a busy machine, and a time-out behind it.
const FLOOD: Duration = Duration::from_millis(600);
/// More memory than any flood may make the engine take, bytes.
const MEMORY: u64 = 64 << 20;
/// Requests to a server that ends each connection at an edge.
const EDGE_REQUESTS: u64 = 40;

/// What went wrong so far.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    /// Remembers why `about` failed, if it did.
    fn add(&mut self, about: &str, result: Result<(), String>) {
        if let Err(words) = result {
            self.0.push(format!("{about}: {words}"));
        }
    }

    #[track_caller]
    fn report(self) {
        assert!(self.0.is_empty(), "\n{}\n", self.0.join("\n"));
    }
}

fn check(holds: bool, words: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(words()) }
}

fn start<'s>(scene: &'s Scene, server: &Server, protocol: Protocol, more: &[&str]) -> Running<'s> {
    let url = server.url();
    let spoken = match protocol {
        Protocol::H1 | Protocol::H1Tls => "h1",
        Protocol::H2c => "h2c",
        Protocol::H2 => "h2",
    };
    let mut flags = vec!["load", &url, "--json", "--protocol", spoken];
    flags.extend(protocol.is_secure().then_some("-k"));
    flags.extend(more);
    scene.start(&flags)
}

/// Loads a server for `duration`, and checks what holds of every load: it ends in time, all
/// requests are accounted for, and memory stays small.
fn load(protocol: Protocol, act: Act, duration: Duration, more: &[&str]) -> Result<Value, String> {
    let (scene, server) = (Scene::new(), Server::start(protocol, act));
    let length = format!("{}ms", duration.as_millis());
    let flags = [&["-d", &length], more].concat();
    let running = start(&scene, &server, protocol, &flags);
    let finished = running.finish_within(duration + SLACK);
    let finished = finished.map_err(|words| format!("no end in time {words}"))?;
    finish(finished.expect_loaded().json())
}

fn finish(load: Value) -> Result<Value, String> {
    assert_accounted(&load);
    let memory = load["engine"]["rss_bytes_max"].as_u64().unwrap();
    // Thousands of connections take more than a flood may.
    let is_small = memory < MEMORY || load["load"]["clients"].as_u64() > Some(1000);
    check(is_small, || format!("{memory} bytes of memory"))?;
    Ok(load)
}

fn outcomes(load: &Value) -> impl Iterator<Item = (&str, u64)> {
    let outcomes = load["outcomes"].as_object().unwrap().iter();
    outcomes.map(|(name, count)| (name.as_str(), count.as_u64().unwrap()))
}

fn count(load: &Value, name: &str) -> u64 {
    load["outcomes"][name].as_u64().unwrap()
}

/// Every flood of a protocol: on one connection beside others until the end, and on every
/// connection until requests time out.
#[track_caller]
fn check_floods(protocol: Protocol) {
    let mut failures = Failures::default();
    for &flood in Flood::over(protocol) {
        let about = format!("{} over {}", flood.name(), protocol.name());
        failures.add(&format!("beside {about}"), beside(protocol, flood));
        failures.add(&about, flooded(protocol, flood));
    }
    failures.report();
}

fn flooded(protocol: Protocol, flood: Flood) -> Result<(), String> {
    let streams = if protocol.is_h2() { "8" } else { "1" };
    let flags = ["-c", "2", "-t", "1", "-m", streams, "--timeout", "200ms"];
    let load = load(protocol, Act::Flood(flood), FLOOD, &flags)?;
    let requests = &load["requests"];
    let (started, completed) = (requests["started"].as_u64(), requests["completed"].as_u64());
    check(count(&load, "ok") == 0, || {
        "a flood is no answer".to_owned()
    })?;
    check(started > Some(0), || "nothing was started".to_owned())?;
    check(completed > Some(0), || "no request timed out".to_owned())
}

/// One connection of four is flooded; the three others are answered after a millisecond.
fn beside(protocol: Protocol, flood: Flood) -> Result<(), String> {
    let act = Act::Beside(flood, Duration::from_millis(1));
    let flags = ["-c", "4", "-t", "1", "--timeout", "10s"];
    let load = load(protocol, act, FLOOD, &flags)?;
    let (ok, timeouts) = (count(&load, "ok"), count(&load, "timeout"));
    // How many it takes from them is judged in invented time (`load/src/turn/tests/bounds.rs`).
    check(ok > 0, || format!("{ok} answers beside it"))?;
    check(timeouts == 0, || format!("{timeouts} time-outs"))
}

#[test]
fn floods_over_http1_end_with_the_load_and_starve_no_other_connection() {
    check_floods(Protocol::H1);
    check_floods(Protocol::H1Tls);
}

#[test]
fn floods_over_http2_end_with_the_load_and_starve_no_other_connection() {
    check_floods(Protocol::H2c);
    check_floods(Protocol::H2);
}

#[test]
fn ctrl_c_ends_a_flood() {
    let mut failures = Failures::default();
    for (protocol, flood) in [
        (Protocol::H1, Flood::Chunks),
        (Protocol::H1Tls, Flood::Interim),
        (Protocol::H2c, Flood::Ping),
        (Protocol::H2c, Flood::UnreadPing),
        (Protocol::H2, Flood::Settings),
    ] {
        let about = format!("{} over {}", flood.name(), protocol.name());
        failures.add(&about, interrupted(protocol, flood));
    }
    failures.report();
}

fn interrupted(protocol: Protocol, flood: Flood) -> Result<(), String> {
    let (scene, server) = (Scene::new(), Server::start(protocol, Act::Flood(flood)));
    let flags = ["-d", "60s", "--timeout", "60s", "-c", "4"];
    let running = start(&scene, &server, protocol, &flags);
    wait_until("it is flooded", || server.accepted() >= 4);
    running.signal_group(Signal::INT);
    let finished = running.finish_within(SLACK);
    let finished = finished.map_err(|words| format!("no end in time {words}"))?;
    finish(finished.expect(130).json()).map(|_| ())
}

/// The only outcomes that requests to `edge` may have.
fn right_outcomes(protocol: Protocol, edge: Edge) -> &'static [&'static str] {
    match edge {
        Edge::Busy => &["status"],
        Edge::Fin => &["closed_early"],
        Edge::Reset | Edge::ResetInBody => &["reset"],
        Edge::GoAway => &["refused_stream", "closed_early"],
        Edge::Garbage if protocol.is_secure() => &["tls"],
        Edge::Garbage => &["protocol"],
        // In the clear the request may have left before the answer to nothing was read.
        Edge::Early if protocol == Protocol::H1 => &["ok", "protocol", "timeout", "too_long"],
        Edge::Early => &["protocol", "timeout", "too_long"],
        Edge::Unasked => &["ok"],
    }
}

/// Every edge of a protocol, with these flags beside its own.
#[track_caller]
fn check_edges(protocol: Protocol, variants: &[&[&str]]) {
    let mut failures = Failures::default();
    for more in variants {
        let edges = Edge::over(protocol).iter();
        // What nobody asked for is seen only while nothing is in flight: it has its own test.
        for &edge in edges.filter(|edge| **edge != Edge::Unasked) {
            let about = format!("{} {}", edge.name(), more.join(" "));
            failures.add(&about, met_at(protocol, edge, more));
        }
    }
    failures.report();
}

fn met_at(protocol: Protocol, edge: Edge, more: &[&str]) -> Result<(), String> {
    let requests = EDGE_REQUESTS.to_string();
    // What waits for nothing gives up soon.
    let timeout = if edge == Edge::Early { "200ms" } else { "2s" };
    let mut flags = vec!["-n", &requests, "-c", "4", "--timeout", timeout];
    flags.extend(more);
    let load = load(protocol, Act::Edge(edge), Duration::from_secs(60), &flags)?;
    let right = right_outcomes(protocol, edge);
    let wrong = outcomes(&load).filter(|(name, count)| *count > 0 && !right.contains(name));
    let wrong: Vec<_> = wrong.collect();
    check(wrong.is_empty(), || {
        format!("{wrong:?} {}", load["error_samples"])
    })?;
    let completed = load["requests"]["completed"].as_u64();
    check(completed == Some(EDGE_REQUESTS), || {
        format!("{completed:?} of {EDGE_REQUESTS} requests have ended")
    })?;
    // No connection brings more than the one answer that came on it.
    let (opened, ok) = (load["connections"]["opened"].as_u64(), count(&load, "ok"));
    check(opened >= Some(ok), || {
        format!("{ok} ok on {opened:?} connections")
    })
}

/// Whatever is done has a name of its own, so that a failure says what it is.
#[track_caller]
fn check_names() {
    for protocol in Protocol::ALL {
        let acts = Act::all(protocol).into_iter();
        let mut names: Vec<_> = acts.map(|(name, _)| name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{} {names:?}", protocol.name());
    }
}

#[test]
fn edges_of_http1_and_http2_have_their_outcomes() {
    check_names();
    let versions: [&[&str]; 2] = [&["--tls-version", "1.2"], &["--tls-version", "1.3"]];
    check_edges(Protocol::H1, &[&[]]);
    check_edges(Protocol::H1Tls, &versions);
    check_edges(Protocol::H2c, &[&[], &["-m", "8"]]);
    check_edges(Protocol::H2, &versions);
}

#[test]
fn an_answer_that_nobody_asked_for_is_no_answer_to_the_next_request() {
    let mut failures = Failures::default();
    for protocol in [Protocol::H1, Protocol::H1Tls] {
        failures.add(protocol.name(), unasked(protocol));
    }
    failures.report();
}

/// A request every second; 400 ms after each answer there is another one. One read that finds both
/// is another outcome, so neither may be late by this much.
fn unasked(protocol: Protocol) -> Result<(), String> {
    let flags = ["-n", "4", "-r", "1", "-c", "1", "--timeout", "5s"];
    let act = Act::Edge(Edge::Unasked);
    let load = load(protocol, act, Duration::from_secs(20), &flags)?;
    check(count(&load, "ok") == 4, || format!("{}", load["outcomes"]))?;
    let opened = load["connections"]["opened"].as_u64();
    check(opened >= Some(4), || {
        format!("4 answers on {opened:?} connections")
    })
}

/// Raises the limit of open files, here and for what is started from here, as far as it may be.
fn allow_files(least: u64) {
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(Resource::Nofile, limit).unwrap();
    let enough = limit.current.is_none_or(|most| most >= least);
    assert!(enough, "at most {:?} open files are allowed", limit.current);
}

#[test]
fn thousands_of_silent_connections_end_with_the_load() {
    allow_files(4_000);
    let flags = ["-c", "3000", "-n", "3000", "--timeout", "4s"];
    let mut failures = Failures::default();
    let silent = || {
        let load = load(Protocol::H1, Act::Silent, Duration::from_secs(60), &flags)?;
        let opened = load["connections"]["opened"].as_u64();
        check(opened >= Some(3000), || {
            format!("{opened:?} connections were opened")
        })?;
        let timeouts = count(&load, "timeout");
        let completed = load["requests"]["completed"].as_u64();
        check(timeouts == 3000 && completed == Some(timeouts), || {
            format!("{} {}", load["outcomes"], load["requests"])
        })
    };
    failures.add("silent", silent());
    failures.report();
}
