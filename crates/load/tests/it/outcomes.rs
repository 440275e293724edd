//! The engine against servers that behave and misbehave on purpose: each way to fail has one
//! outcome, and the counts add up whatever happens.
//!
//! On real sockets, because refusals, resets, closings and dropping what was not read are the
//! kernel's, and threads and a request to stop are the machine's. What happens when is tested in
//! invented time.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bakeoff_load::{BodyCheck, ConnectTo, Control, LoadSpec, Target, Waiting, run};
use bakeoff_plan::{Arrival, LoadModel};
use bakeoff_record::{LoadResult, Outcome};

use crate::support::{HELLO, always, load, once, read_request, server, spec};

/// Thirty requests against `address` all come out as `outcome`.
fn check(address: SocketAddr, outcome: Outcome) -> LoadResult {
    let result = load(&spec(address));
    assert_eq!(result.outcomes.of(outcome), 30, "{:?}", result.outcomes);
    result
}

#[test]
fn a_good_server_gives_ok() {
    let result = check(always(HELLO), Outcome::Ok);
    assert_eq!(result.connections.opened, 3);
    assert_eq!(result.connections.reused, 27);
    assert_eq!(result.bytes.body, 150);
    assert_eq!(result.bytes.read, 30 * HELLO.len() as u64);
    assert_eq!(result.bodies_checked, 30);
    assert_eq!(result.status[&200], 30);
}

#[test]
fn a_port_without_listener_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let result = check(address, Outcome::Refused);
    assert_eq!(result.latency.count(), 0);
    assert_eq!(result.error_latency().count(), 30);
    assert_eq!(result.connections.failed, 30);
}

#[test]
fn closing_before_inside_and_after_a_response_are_distinguished() {
    check(once(b""), Outcome::ClosedEarly);
    check(once(b"HTTP/1.1 200 OK\r\nContent-Le"), Outcome::Truncated);
    check(
        once(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"),
        Outcome::Truncated,
    );
    let result = check(once(b"HTTP/1.1 200 OK\r\n\r\nhello"), Outcome::Ok);
    assert_eq!(result.connections.opened, 30);
    assert_eq!(result.connections.closed_by_server, 30);
}

#[test]
fn a_reset_is_a_reset() {
    let address = server(|mut stream| {
        // Closing with a part of the request unread makes the kernel reset the connection.
        let _ = stream.read_exact(&mut [0]);
    });
    check(address, Outcome::Reset);
}

#[test]
fn garbage_breaks_the_protocol() {
    let result = check(always(b"SSH-2.0-OpenSSH_9.2\r\n"), Outcome::Protocol);
    assert!(result.error_samples["protocol"].contains("RFC 9112"));
}

#[test]
fn bodies_shorter_longer_or_other_than_expected_are_not_ok() {
    check(
        always(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell"),
        Outcome::WrongBody,
    );
    check(
        always(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellO"),
        Outcome::WrongBody,
    );
    check(
        always(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!"),
        Outcome::TooLong,
    );
}

#[test]
fn an_unexpected_status_is_counted_by_status() {
    let result = check(
        always(b"HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nhello"),
        Outcome::Status,
    );
    assert_eq!(result.status[&503], 30);
    assert_eq!(
        result.connections.opened, 3,
        "a whole response keeps its connection"
    );
}

#[test]
fn connection_close_in_mid_run_is_no_error() {
    let served = Arc::new(AtomicU64::new(0));
    let address = server(move |mut stream| {
        while read_request(&mut stream) {
            let last = served.fetch_add(1, Ordering::Relaxed) % 5 == 4;
            let close = if last { "Connection: close\r\n" } else { "" };
            let answer = format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 5\r\n\r\nhello");
            if stream.write_all(answer.as_bytes()).is_err() || last {
                return;
            }
        }
    });
    let result = check(address, Outcome::Ok);
    assert_eq!(result.connections.closed_by_server, 6);
}

#[test]
fn connections_are_closed_after_their_share_of_requests() {
    let mut spec = spec(always(HELLO));
    spec.connections.requests_per_connection = Some(1);
    let result = load(&spec);
    assert_eq!(result.outcomes.of(Outcome::Ok), 30);
    assert_eq!(result.connections.opened, 30);
    assert_eq!(result.connections.closed_by_server, 0);
    assert_eq!(result.connections.reused, 0);
}

#[test]
fn a_thread_that_spins_uses_the_processor_while_it_waits() {
    let mut spec = spec(always(HELLO));
    spec.load.model = LoadModel::Open {
        rate_per_s: 30.0,
        arrival: Arrival::Constant,
        clients: 8,
    };
    spec.load.duration_s = 1.0;
    spec.load.timeout_s = 5.0;
    spec.count = None;
    spec.pacing.waiting = Waiting::Spin;
    let result = load(&spec);
    assert_eq!(result.requests.planned, Some(30));
    assert_eq!(result.outcomes.of(Outcome::Ok), 30);
    // A thread that sleeps between 30 requests uses next to nothing of its second; one that spins
    // has the share that a busy machine leaves it.
    let cpu_s = result.engine.cpu_user_s + result.engine.cpu_system_s;
    assert!(cpu_s > 0.02, "it slept: {cpu_s} s of processor");
}

#[test]
fn threads_share_clients_and_merge_their_counts() {
    let mut spec = spec(always(HELLO));
    spec.threads.count = 2;
    spec.load.model = LoadModel::Closed { clients: 5 };
    spec.count = Some(101);
    let result = load(&spec);
    assert_eq!(result.outcomes.of(Outcome::Ok), 101);
    assert_eq!(result.connections.opened, 5);
    assert_eq!(result.engine.busy_share.len(), 2);
}

#[test]
fn a_load_can_be_stopped() {
    let mut spec = spec(always(HELLO));
    spec.count = None;
    let control = Arc::new(Control::default());
    let stopping = control.clone();
    std::thread::spawn(move || {
        while stopping.live().ok() == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        stopping.stop();
    });
    let result = run(&spec, &control).expect("the load can be carried out");
    assert!(result.measured_s < 20.0);
    assert!(result.requests.ok > 0);
}

#[test]
fn an_engine_that_is_held_has_connected_when_it_is_ready() {
    let connections = Arc::new(AtomicU64::new(0));
    let seen = connections.clone();
    let mut spec = spec(server(move |mut stream| {
        seen.fetch_add(1, Ordering::SeqCst);
        while read_request(&mut stream) && stream.write_all(HELLO).is_ok() {}
    }));
    spec.threads.count = 2;
    spec.load.model = LoadModel::Closed { clients: 4 };
    spec.load.connect = bakeoff_plan::Connect::First;
    let control = Arc::new(Control::held());
    let engine = {
        let (spec, control) = (spec.clone(), control.clone());
        std::thread::spawn(move || run(&spec, &control))
    };
    while !control.is_ready() && !engine.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The server takes them one after the other.
    while connections.load(Ordering::SeqCst) < 4 && !engine.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((control.began_ns(), control.window()), (None, None));
    let start = bakeoff_load::monotonic_ns() + 200_000_000;
    control.begin_at(start);
    let result = engine.join().expect("no panic").expect("a result");
    assert_eq!(result.outcomes.of(Outcome::Ok), 30);
    assert!(control.began_ns().is_some_and(|began| began >= start));
    assert_eq!(connections.load(Ordering::SeqCst), 4);
}

#[test]
fn an_engine_that_is_held_can_be_stopped() {
    let (spec, control) = (spec(always(HELLO)), Arc::new(Control::held()));
    let engine = {
        let control = control.clone();
        std::thread::spawn(move || run(&spec, &control))
    };
    while !control.is_ready() {
        std::thread::sleep(Duration::from_millis(1));
    }
    control.stop();
    let result = engine.join().expect("no panic").expect("a result");
    assert_eq!(result.requests.started, 0);
}

#[test]
fn a_large_body_is_dropped_unread_and_still_counted() {
    const BODY: usize = 3_000_000;
    let address = server(|mut stream| {
        let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").into_bytes();
        answer.resize(answer.len() + BODY, b'x');
        while read_request(&mut stream) && stream.write_all(&answer).is_ok() {}
    });
    let mut spec = spec(address);
    spec.load.timeout_s = 10.0;
    spec.exchanges[0].body = Some(vec![b'x'; BODY].into());
    spec.check = BodyCheck::OneIn(10);
    let result = load(&spec);
    assert_eq!(
        result.outcomes.of(Outcome::Ok),
        30,
        "{:?}",
        result.error_samples
    );
    assert_eq!(result.bytes.body, 30 * BODY as u64);
    assert_eq!(result.bodies_checked, 3);
}

/// A socket file on which one connection waits to be accepted, and no other finds room. The
/// connection, the socket and its file are the caller's to keep.
fn full_queue(name: &str) -> (UnixListener, UnixStream, PathBuf) {
    let name = format!("bakeoff-{name}-{}.sock", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket file");
    rustix::net::listen(&listener, 0).expect("a shorter queue");
    let first = UnixStream::connect(&path).expect("room for one");
    (listener, first, path)
}

fn over_socket_file(path: &Path) -> LoadSpec {
    let mut spec = spec(([127, 0, 0, 1], 80).into());
    let to = ConnectTo::Unix(path.to_owned());
    let target = Target::resolve("http://localhost/", &to);
    spec.target = target.expect("nothing is to be looked up");
    spec
}

#[test]
fn a_socket_file_whose_queue_stays_full_is_a_connect_timeout() {
    let (_listener, _first, path) = full_queue("full");
    let mut spec = over_socket_file(&path);
    spec.count = Some(6);
    spec.load.timeout_s = 0.1;
    let result = load(&spec);
    let seen = (&result.outcomes, &result.error_samples);
    assert_eq!(result.outcomes.of(Outcome::ConnectTimeout), 6, "{seen:?}");
    assert_eq!(result.connections.failed, 6);
    assert_eq!(result.connections.opened, 0);
    let _ = std::fs::remove_file(path);
}

#[test]
fn a_socket_file_whose_queue_is_full_for_a_while_lets_its_clients_in() {
    let (listener, first, path) = full_queue("filled");
    let mut spec = over_socket_file(&path);
    spec.connections.requests_per_connection = Some(1);
    std::thread::spawn(move || {
        // Clients that come later than that meet a queue for one, too.
        std::thread::sleep(Duration::from_millis(20));
        drop(first);
        for mut stream in listener.incoming().flatten() {
            if read_request(&mut stream) {
                let _ = stream.write_all(HELLO);
            }
        }
    });
    let result = load(&spec);
    let seen = (&result.outcomes, &result.error_samples);
    assert_eq!(result.outcomes.of(Outcome::Ok), 30, "{seen:?}");
    assert_eq!(result.connections.failed, 0);
    let _ = std::fs::remove_file(path);
}
