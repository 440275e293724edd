//! Users' own configurations with upstreams and listeners that no rule knows, run by a script.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crate::support::{PATIENCE, Theatre, fetch, hello, origin, wait_until};
use bakeoff_plan::Contender;
use bakeoff_record::{Step, When};
use bakeoff_stage::{Cause, Surroundings};

/// Answers and, from the answer `FROM` on, keeps a connection to the upstream.
const KEEPS: &str = r#"
listener = socket.socket()
listener.bind(("AT", 0))
listener.listen(64)
kept = []
for count in range(1000000):
    connection, _ = listener.accept()
    connection.recv(65536)
    if count == FROM:
        kept.append(socket.create_connection(("127.0.0.1", UPSTREAM)))
        kept[0].recv(1)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    connection.close()
"#;

/// A user's file of a server with a rule, which keeps a connection to `upstream`.
fn keeps(theatre: &Theatre, at: &str, from: u32, upstream: SocketAddr) -> Contender {
    let script = KEEPS
        .replace("AT", at)
        .replace("FROM", &from.to_string())
        .replace("UPSTREAM", &upstream.port().to_string());
    let contender = theatre.own_file(&script);
    let path = theatre.folder.path().join("servers/script/server.toml");
    let mut server = std::fs::File::options().append(true).open(path).unwrap();
    let rule = "[[own.change]]\npattern = '^upstream .*'\nto = ''\nwhy = 'a test'\n";
    server.write_all(rule.as_bytes()).unwrap();
    contender
}

/// Says a byte to whoever connects, and keeps the connection.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"a");
            kept.push(stream);
        }
    });
    address
}

#[test]
fn a_server_that_asks_a_foreign_upstream_is_not_ready() {
    let theatre = Theatre::new();
    let upstream = upstream();
    let contender = keeps(&theatre, "127.0.0.1", 0, upstream);
    let error = theatre.start(&contender, PATIENCE).unwrap_err();
    assert_eq!(error.step, Step::Start);
    match &*error.cause {
        Cause::ForeignPeer { server, peer } => {
            assert_eq!((server.as_str(), *peer), ("Script", upstream));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_server_that_asks_a_foreign_upstream_later_is_stopped() {
    let theatre = Theatre::new();
    let upstream = upstream();
    let contender = keeps(&theatre, "127.0.0.1", 2, upstream);
    let mut running = theatre.start(&contender, PATIENCE).unwrap();
    assert_eq!(running.strayed(), None);
    assert!(fetch(&running, &hello(), When::Before).unwrap().check.right);
    let error = fetch(&running, &hello(), When::After).unwrap_err();
    assert_eq!(error.step, Step::CheckAgain);
    assert!(matches!(*error.cause, Cause::ForeignPeer { .. }), "{error}");
    let why = running.strayed().unwrap();
    let expected = format!("Script is connected to {upstream}, ");
    assert!(why.starts_with(&expected), "{why}");
    assert!(running.pids().is_empty(), "it was ended");
    running.stop().unwrap();
}

#[test]
fn under_load_a_server_is_looked_at_again_and_again() {
    let theatre = Theatre::new();
    let contender = keeps(&theatre, "127.0.0.1", 1, upstream());
    let mut running = theatre.start(&contender, PATIENCE).unwrap();
    assert_eq!(running.strayed(), None);
    // As a client of the load.
    let mut client = std::net::TcpStream::connect(running.address()).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    wait_until("it is stopped", || {
        running
            .strayed()
            .is_some_and(|why| why.contains("is connected to"))
    });
}

#[test]
fn the_origin_is_no_foreign_upstream() {
    let theatre = Theatre::new();
    let origin = origin();
    let surroundings = Surroundings {
        origin: Some(origin),
        boxed: None,
        ..theatre.surroundings()
    };
    let contender = keeps(&theatre, "127.0.0.1", 1, origin);
    let prepared = theatre.stage.prepare(&contender, &hello(), &surroundings);
    let mut running = prepared.unwrap().start(PATIENCE).unwrap();
    // The origin waits for a request, and so this answer never comes.
    let first = hello();
    let first = first.requests.first();
    let asked = running.fetch(
        first,
        hello().protocol,
        When::Before,
        Duration::from_millis(300),
    );
    let error = asked.unwrap_err();
    assert!(matches!(*error.cause, Cause::Fetch { .. }), "{error}");
    assert_eq!(running.strayed(), None);
    running.stop().unwrap();
}

#[test]
fn a_server_that_other_machines_reach_is_not_ready() {
    let theatre = Theatre::new();
    let contender = keeps(&theatre, "0.0.0.0", 9, upstream());
    let error = theatre.start(&contender, PATIENCE).unwrap_err();
    match &*error.cause {
        Cause::OpenListener { address, .. } => assert!(address.ip().is_unspecified()),
        other => panic!("{other}"),
    }
}
